#include "config.h"

#include "runtime/sharding.h"
#include <string.h>

/* All chunks of a rank by their next use, nearest first. */
typedef struct {
	guint8 chunk[PIPESIM_MAX_CHUNKS];
	guint32 at[PIPESIM_MAX_CHUNKS]; /* the op that uses it */
	guint n;
} Uses;

static void use(Uses *uses, guint8 chunk, guint32 op)
{
	guint place = 0;

	while (place < uses->n && uses->chunk[place] != chunk)
		place++;
	if (place == uses->n)
		uses->n++;
	memmove(uses->chunk + 1, uses->chunk, place * sizeof *uses->chunk);
	memmove(uses->at + 1, uses->at, place * sizeof *uses->at);
	uses->chunk[0] = chunk;
	uses->at[0] = op;
}

typedef struct {
	const PipesimProgram *program;
	guint rank;
	GArray *out;
	guint8 open[PIPESIM_MAX_CHUNKS]; /* the unsharded chunks, as they should be resharded */
	guint n_open;
} Walk;

static void add(Walk *walk, guint32 before, guint chunk, PipesimShardingKind kind)
{
	const guint chunks = walk->program->shape.chunks;
	const PipesimSharding sharding = {
		.before = before,
		.rank = walk->rank,
		.stage = walk->program->stage_of[(gsize)walk->rank * chunks + chunk],
		.kind = (guint8)kind,
	};

	g_array_append_val(walk->out, sharding);
}

static void unshard(Walk *walk, guint32 before, guint8 chunk, gboolean by_age)
{
	guint place = walk->n_open;

	if (memchr(walk->open, chunk, walk->n_open) != NULL)
		return;
	while (!by_age && place > 0 && walk->open[place - 1] > chunk)
		place--;
	memmove(walk->open + place + 1, walk->open + place, walk->n_open - place);
	walk->open[place] = chunk;
	walk->n_open++;
	add(walk, before, chunk, PIPESIM_UNSHARD);
}

/* Those that are not among the next @n. */
static void reshard(Walk *walk, guint32 before, const guint8 *next, guint n)
{
	guint kept = 0;

	for (guint i = 0; i < walk->n_open; i++) {
		if (memchr(next, walk->open[i], n) != NULL)
			walk->open[kept++] = walk->open[i];
		else
			add(walk, before, walk->open[i], PIPESIM_RESHARD);
	}
	walk->n_open = kept;
}

gboolean pipesim_sharding_add(const PipesimProgram *program, guint rank,
	const PipesimShardingRules *rules, GArray *out, GError **error)
{
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	/* By op: the chunks that come next, nearest first, behind their number. */
	const gsize width = MIN(rules->active, program->shape.chunks) + 2;
	g_autofree guint8 *ahead = g_try_malloc_n((gsize)(end - begin) + 1, width);
	Walk walk = {.program = program, .rank = rank, .out = out};
	guint32 gradients[PIPESIM_MAX_CHUNKS] = {0};
	Uses uses = {.n = 0};

	if (ahead == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	ahead[(end - begin) * width] = 0;
	for (guint32 i = end; i-- > begin;) {
		const PipesimOp *op = &program->ops[i];
		guint8 *next = &ahead[(i - begin) * width];
		guint n;

		if (op->kind == PIPESIM_FB)
			use(&uses, op->b_chunk, i);
		use(&uses, op->chunk, i);
		n = MIN(uses.n, rules->active);
		if (n < uses.n && uses.at[n] == uses.at[n - 1])
			n++;
		next[0] = (guint8)n;
		memcpy(next + 1, uses.chunk, n);
	}
	for (guint32 i = begin; i <= end; i++) {
		const guint8 *next = &ahead[(i - begin) * width];
		const PipesimOp *op = &program->ops[i];
		guint chunk;

		reshard(&walk, i, next + 1, next[0]);
		for (guint k = 0; k < next[0]; k++)
			unshard(&walk, i, next[k + 1], rules->by_age);
		if (i == end || (op->kind != PIPESIM_W && op->kind != PIPESIM_B &&
					op->kind != PIPESIM_FB))
			continue;
		chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;
		if (++gradients[chunk] < pipesim_shape_per_chunk(&program->shape))
			continue;
		add(&walk, i + 1, chunk, PIPESIM_REDUCE_GRAD);
		if (rules->waits)
			add(&walk, i + 1, chunk, PIPESIM_WAIT_REDUCE_GRAD);
	}
	return TRUE;
}
