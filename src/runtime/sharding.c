#include "runtime/sharding.h"

/* All chunks of a rank by their next use, nearest first. */
typedef struct {
	guint8 chunk[PIPESIM_MAX_CHUNKS];
	guint32 at[PIPESIM_MAX_CHUNKS]; /* the op that uses it */
	guint n;
} Uses;

static void use(Uses *uses, guint8 chunk, guint32 op)
{
	guint place = 0;

	if (uses->n > 0 && uses->chunk[0] == chunk) {
		uses->at[0] = op;
		return;
	}
	while (place < uses->n && uses->chunk[place] != chunk)
		place++;
	if (place == uses->n)
		uses->n++;
	memmove(uses->chunk + 1, uses->chunk, place * sizeof *uses->chunk);
	memmove(uses->at + 1, uses->at, place * sizeof *uses->at);
	uses->chunk[0] = chunk;
	uses->at[0] = op;
}

/* How many of the nearest are looked at where @n are to be: both stages of a pair, or neither. */
static guint count(const Uses *uses, guint n)
{
	n = MIN(uses->n, n);
	return n + (n < uses->n && uses->at[n] == uses->at[n - 1]);
}

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimShardingRules *rules;
	guint rank;
	guint32 at; /* the op before which that is done */
	PipesimList *out;
	guint8 open[PIPESIM_MAX_CHUNKS]; /* the unsharded chunks, as they should be resharded */
	guint n_open;
	gboolean pending; /* a reduction has not been waited for, that of @last */
	guint last;
} Walk;

static void add_of_chunk(Walk *walk, guint kind, guint chunk)
{
	const PipesimProgram *program = walk->lowerer->program;
	const gsize at = (gsize)walk->rank * program->shape.chunks + chunk;

	pipesim_lower_take(walk->lowerer, walk->out,
		&(PipesimAction){.stage = program->stage_of[at],
			.wait = walk->at,
			.kind = (guint8)kind});
}

static void unshard(Walk *walk, guint8 chunk)
{
	guint place = walk->n_open;

	if (memchr(walk->open, chunk, walk->n_open) != NULL)
		return;
	while (!walk->rules->by_age && place > 0 && walk->open[place - 1] > chunk)
		place--;
	memmove(walk->open + place + 1, walk->open + place, walk->n_open - place);
	walk->open[place] = chunk;
	walk->n_open++;
	add_of_chunk(walk, PIPESIM_ACTION_UNSHARD, chunk);
}

static void wait_for_reduction(Walk *walk)
{
	if (walk->pending)
		add_of_chunk(walk, PIPESIM_ACTION_WAIT_REDUCE_GRAD, walk->last);
	walk->pending = FALSE;
}

/* To what @window of an op says. */
static void change_open(Walk *walk, const guint8 *window)
{
	guint kept = 0;

	/* Where all that are still used stay open, nothing changes until one is used no more. */
	if (walk->rules->ahead == walk->rules->active && window[0] < walk->rules->active &&
		window[0] == walk->n_open)
		return;
	/* Those that are not among the next. */
	for (guint k = 0; k < walk->n_open; k++) {
		if (memchr(window + 2, walk->open[k], window[0]) != NULL)
			walk->open[kept++] = walk->open[k];
		else
			add_of_chunk(walk, PIPESIM_ACTION_RESHARD, walk->open[k]);
	}
	walk->n_open = kept;
	for (guint k = 0; k < window[1]; k++)
		unshard(walk, window[2 + k]);
}

void pipesim_chunk_uses_add(PipesimChunkUses *uses, const PipesimShape *shape,
	const PipesimOp *op, guint32 rounds, guint32 last)
{
	const guint8 chunks[] = {op->chunk, pipesim_op_backward_chunk(op)};

	for (guint i = 0; i < (op->kind == PIPESIM_FB ? 2 : 1); i++) {
		if (uses->n_gone[chunks[i]] == 0)
			uses->order[uses->n++] = chunks[i];
		uses->n_gone[chunks[i]] = last + 1;
	}
	if (op->kind != PIPESIM_W && op->kind != PIPESIM_B && op->kind != PIPESIM_FB)
		return;
	uses->gradients[chunks[1]] += rounds;
	if (uses->gradients[chunks[1]] == pipesim_shape_per_chunk(shape))
		uses->n_reduced[chunks[1]] = last + 1;
}

static void reduce(Walk *walk, guint chunk)
{
	wait_for_reduction(walk);
	add_of_chunk(walk, PIPESIM_ACTION_REDUCE_GRAD, chunk);
	walk->pending = walk->rules->waits;
	walk->last = chunk;
	if (!walk->rules->defers)
		wait_for_reduction(walk);
}

/* Where all chunks stay until they are used no more. */
static void keep_all(Walk *walk, const PipesimChunkUses *uses)
{
	const guint32 begin = walk->at;
	guint32 at = 0, next;

	for (guint k = 0; k < uses->n; k++)
		unshard(walk, uses->order[k]);
	for (; at < G_MAXUINT32; at = next) {
		guint kept = 0;

		next = G_MAXUINT32;
		walk->at = begin + at;
		for (guint k = 0; k < uses->n; k++) {
			const guint32 ends[] = {
				uses->n_reduced[uses->order[k]], uses->n_gone[uses->order[k]]};

			if (at > 0 && ends[0] == at)
				reduce(walk, uses->order[k]);
			for (guint i = 0; i < 2; i++)
				next = ends[i] > at ? MIN(next, ends[i]) : next;
		}
		for (guint k = 0; k < walk->n_open; k++) {
			if (uses->n_gone[walk->open[k]] == at)
				add_of_chunk(walk, PIPESIM_ACTION_RESHARD, walk->open[k]);
			else
				walk->open[kept++] = walk->open[k];
		}
		walk->n_open = kept;
	}
}

/* By what comes next of the ops @begin to @end. FALSE without memory. */
static gboolean walk_windows(Walk *walk, guint32 begin, guint32 end)
{
	const PipesimProgram *program = walk->lowerer->program;
	/* By op: how many chunks stay, how many are brought, and the chunks that come next, nearest
	 * first. */
	const gsize width = MIN(walk->rules->active, program->shape.chunks) + 3;
	g_autofree guint8 *windows = g_try_malloc_n((gsize)(end - begin) + 1, width);
	guint32 gradients[PIPESIM_MAX_CHUNKS] = {0};
	Uses uses = {.n = 0};

	if (windows == NULL)
		return FALSE;
	memset(&windows[(end - begin) * width], 0, 2);
	for (guint32 i = end; i-- > begin;) {
		const PipesimOp *op = &program->ops[i];
		guint8 *window = &windows[(i - begin) * width];

		if (op->kind == PIPESIM_FB)
			use(&uses, op->b_chunk, i);
		use(&uses, op->chunk, i);
		window[0] = (guint8)count(&uses, walk->rules->active);
		window[1] = (guint8)count(&uses, walk->rules->ahead);
		memcpy(window + 2, uses.chunk, window[0]);
	}
	for (guint32 i = begin; i <= end; i++) {
		const PipesimOp *op = &program->ops[i];

		walk->at = i;
		change_open(walk, &windows[(i - begin) * width]);
		if (i == end)
			break;
		walk->at = i + 1;
		if (op->kind != PIPESIM_W && op->kind != PIPESIM_B && op->kind != PIPESIM_FB)
			continue;
		guint chunk = pipesim_op_backward_chunk(op);
		if (++gradients[chunk] >= pipesim_shape_per_chunk(&program->shape))
			reduce(walk, chunk);
	}
	return TRUE;
}

gboolean pipesim_sharding_list(PipesimLowerer *lowerer, guint rank,
	const PipesimShardingRules *rules, const PipesimChunkUses *uses, PipesimList *out,
	GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	Walk walk = {.lowerer = lowerer, .rules = rules, .rank = rank, .at = begin, .out = out};
	PipesimChunkUses own = {0};
	gboolean ok = TRUE;

	if (pipesim_sharding_keeps_all(&program->shape, rules)) {
		for (guint32 i = begin; uses == NULL && i < end; i++)
			pipesim_chunk_uses_add(
				&own, &program->shape, &program->ops[i], 1, i - begin);
		keep_all(&walk, uses != NULL ? uses : &own);
	} else {
		ok = walk_windows(&walk, begin, end);
	}
	wait_for_reduction(&walk);
	return (ok && !lowerer->no_memory) ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
		       program->n_ops);
}
