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

const char *pipesim_sharding_name(PipesimShardingKind kind)
{
	static const char *const names[] = {"UNSHARD", "RESHARD", "REDUCE_GRAD"};

	return names[kind];
}

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

static Ahead look(const Uses *uses)
{
	Ahead ahead = {.n = (guint8)MIN(uses->n, AHEAD)};

	if (uses->n >= MOST && uses->at[AHEAD] == uses->at[AHEAD - 1])
		ahead.n = MOST;
	memcpy(ahead.chunk, uses->chunk, ahead.n);
	return ahead;
}

static void look_ahead(const PipesimProgram *program, guint rank, Ahead *ahead)
{
	const guint32 begin = program->rank_begin[rank];
	Uses uses = {.n = 0};

	for (guint32 i = program->rank_begin[rank + 1]; i-- > begin;) {
		const PipesimOp *op = &program->ops[i];

		if (op->kind == PIPESIM_FB)
			use(&uses, op->b_chunk, i);
		use(&uses, op->chunk, i);
		ahead[i - begin] = look(&uses);
	}
}

typedef struct {
	const PipesimProgram *program;
	guint rank;
	GArray *out;
	gboolean open[PIPESIM_MAX_CHUNKS];
	guint32 gradients[PIPESIM_MAX_CHUNKS];
} Walk;

static void add(Walk *walk, guint32 before, guint chunk, PipesimShardingKind kind)
{
	const PipesimSharding sharding = {
		.before = before,
		.rank = walk->rank,
		.stage = walk->program
				 ->stage_of[(gsize)walk->rank * walk->program->shape.chunks +
					    chunk],
		.kind = (guint8)kind,
	};

	g_array_append_val(walk->out, sharding);
	if (kind != PIPESIM_REDUCE_GRAD)
		walk->open[chunk] = kind == PIPESIM_UNSHARD;
}

static void reshard_others(Walk *walk, guint32 op, const Ahead *ahead)
{
	for (guint chunk = 0; chunk < walk->program->shape.chunks; chunk++)
		if (walk->open[chunk] && memchr(ahead->chunk, (int)chunk, ahead->n) == NULL)
			add(walk, op, chunk, PIPESIM_RESHARD);
}

static void unshard_next(Walk *walk, guint32 op, const Ahead *ahead)
{
	for (guint i = 0; i < ahead->n; i++)
		if (!walk->open[ahead->chunk[i]])
			add(walk, op, ahead->chunk[i], PIPESIM_UNSHARD);
}

static void reduce(Walk *walk, guint32 index)
{
	const PipesimOp *op = &walk->program->ops[index];
	const guint chunk = op->kind == PIPESIM_FB ? op->b_chunk : op->chunk;

	if (op->kind != PIPESIM_W && op->kind != PIPESIM_B && op->kind != PIPESIM_FB)
		return;
	if (++walk->gradients[chunk] == pipesim_shape_per_chunk(&walk->program->shape))
		add(walk, index + 1, chunk, PIPESIM_REDUCE_GRAD);
}

gboolean pipesim_sharding_add(
	const PipesimProgram *program, guint rank, GArray *out, GError **error)
{
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	g_autofree Ahead *ahead = g_try_new(Ahead, MAX(end - begin, 1u));
	Walk walk = {.program = program, .rank = rank, .out = out};
	const Ahead none = {.n = 0};

	if (ahead == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	look_ahead(program, rank, ahead);
	for (guint32 op = begin; op < end; op++) {
		reshard_others(&walk, op, &ahead[op - begin]);
		unshard_next(&walk, op, &ahead[op - begin]);
		reduce(&walk, op);
	}
	reshard_others(&walk, end, &none);
	return TRUE;
}
