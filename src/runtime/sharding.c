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

/* Where all chunks of a rank stay while they are used: those that are from op @at on, by the first use of each. */
static void fill(guint8 *window, const Uses *uses, const guint32 *last, guint32 at)
{
	guint8 n = 0;

	for (guint k = 0; k < uses->n; k++)
		if (last[uses->chunk[k]] >= at)
			window[2 + n++] = uses->chunk[k];
	window[0] = window[1] = n;
}

/* Whether @op, which stands there, is the last to use one of its chunks. */
static gboolean is_last(const PipesimOp *op, const guint32 *last, guint32 at)
{
	return last[op->chunk] == at || last[pipesim_op_backward_chunk(op)] == at;
}

gboolean pipesim_sharding_list(PipesimLowerer *lowerer, guint rank,
	const PipesimShardingRules *rules, PipesimList *out, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint32 begin = program->rank_begin[rank], end = program->rank_begin[rank + 1];
	/* By op: how many chunks stay, how many are brought, and the chunks that come next, nearest
	 * first. */
	const gsize width = MIN(rules->active, program->shape.chunks) + 3;
	/* Then these change only where a chunk is used no more, and one is kept. */
	const gboolean all =
		program->shape.chunks <= rules->active && rules->ahead == rules->active;
	g_autofree guint8 *windows = g_try_malloc_n(all ? 1 : (gsize)(end - begin) + 1, width);
	Walk walk = {.lowerer = lowerer, .rules = rules, .rank = rank, .out = out};
	guint32 gradients[PIPESIM_MAX_CHUNKS] = {0}, last[PIPESIM_MAX_CHUNKS] = {0};
	Uses uses = {.n = 0};

	if (windows == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	memset(&windows[all ? 0 : (end - begin) * width], 0, 2);
	for (guint32 i = end; i-- > begin;) {
		const PipesimOp *op = &program->ops[i];
		guint8 *window = &windows[all ? 0 : (i - begin) * width];

		if (op->kind == PIPESIM_FB)
			use(&uses, op->b_chunk, i);
		use(&uses, op->chunk, i);
		if (all) {
			last[op->chunk] = MAX(last[op->chunk], i);
			if (op->kind == PIPESIM_FB)
				last[op->b_chunk] = MAX(last[op->b_chunk], i);
			continue;
		}
		window[0] = (guint8)count(&uses, rules->active);
		window[1] = (guint8)count(&uses, rules->ahead);
		memcpy(window + 2, uses.chunk, window[0]);
	}
	for (guint32 i = begin; i <= end; i++) {
		guint8 *window = &windows[all ? 0 : (i - begin) * width];
		const PipesimOp *op = &program->ops[i];
		const gboolean changes = !all || i == begin || is_last(op - 1, last, i - 1);
		guint chunk;

		walk.at = i;
		if (all && changes)
			fill(window, &uses, last, i);
		if (changes)
			change_open(&walk, window);
		if (i == end)
			break;
		walk.at = i + 1;
		if (op->kind != PIPESIM_W && op->kind != PIPESIM_B && op->kind != PIPESIM_FB)
			continue;
		chunk = pipesim_op_backward_chunk(op);
		if (++gradients[chunk] < pipesim_shape_per_chunk(&program->shape))
			continue;
		wait_for_reduction(&walk);
		add_of_chunk(&walk, PIPESIM_ACTION_REDUCE_GRAD, chunk);
		walk.pending = rules->waits;
		walk.last = chunk;
		if (!rules->defers)
			wait_for_reduction(&walk);
	}
	wait_for_reduction(&walk);
	return !lowerer->no_memory || pipesim_fail(error, PIPESIM_ERROR_LIMIT,
					      "%u ops do not fit in memory", program->n_ops);
}
