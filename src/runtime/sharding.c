#include "config.h"

#include "runtime/sharding.h"
#include <string.h>

/* Stages that are kept unsharded ahead of an op. */
#define AHEAD 3
/* A pair that is reached with one to go brings both of its stages. */
#define MOST (AHEAD + 1)

/* The chunks that come next, nearest first. */
typedef struct {
	guint8 chunk[MOST];
	guint8 n;
} Ahead;

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
	gboolean open[PIPESIM_MAX_CHUNKS];
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
	if (kind != PIPESIM_REDUCE_GRAD)
		walk->open[chunk] = kind == PIPESIM_UNSHARD;
}

gboolean pipesim_sharding_add(
	const PipesimProgram *program, guint rank, GArray *out, GError **error)
{
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	g_autofree Ahead *ahead = g_try_new(Ahead, end - begin + 1);
	Walk walk = {.program = program, .rank = rank, .out = out};
	guint32 gradients[PIPESIM_MAX_CHUNKS] = {0};
	Uses uses = {.n = 0};

	if (ahead == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	ahead[end - begin].n = 0;
	for (guint32 i = end; i-- > begin;) {
		const PipesimOp *op = &program->ops[i];
		Ahead *next = &ahead[i - begin];

		if (op->kind == PIPESIM_FB)
			use(&uses, op->b_chunk, i);
		use(&uses, op->chunk, i);
		next->n = (guint8)MIN(uses.n, AHEAD);
		if (uses.n >= MOST && uses.at[AHEAD] == uses.at[AHEAD - 1])
			next->n = MOST;
		memcpy(next->chunk, uses.chunk, next->n);
	}
	for (guint32 i = begin; i <= end; i++) {
		const Ahead *next = &ahead[i - begin];
		const PipesimOp *op = &program->ops[i];
		guint chunk;

		for (chunk = 0; chunk < program->shape.chunks; chunk++)
			if (walk.open[chunk] &&
				memchr(next->chunk, (int)chunk, next->n) == NULL)
				add(&walk, i, chunk, PIPESIM_RESHARD);
		for (guint k = 0; k < next->n; k++)
			if (!walk.open[next->chunk[k]])
				add(&walk, i, next->chunk[k], PIPESIM_UNSHARD);
		if (i == end || (op->kind != PIPESIM_W && op->kind != PIPESIM_B &&
					op->kind != PIPESIM_FB))
			continue;
		chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;
		if (++gradients[chunk] == pipesim_shape_per_chunk(&program->shape))
			add(&walk, i + 1, chunk, PIPESIM_REDUCE_GRAD);
	}
	return TRUE;
}
