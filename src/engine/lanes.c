#include "config.h"

#include "base/arena.h"
#include "base/parallel.h"
#include "engine/fast.h"
#include "engine/lanes-kernel.h"
#include "model/random.h"
#include <string.h>

/* Slots that always stand: time 0, and where goes what nobody waits for. */
enum {
	ZERO,
	NOWHERE,
	N_FIXED
};

/* What is needed while the ops are put in order; by op of the program but for free. */
typedef struct {
	PipesimLanes *lanes;
	const PipesimProgram *program;
	guint32 *rank;
	guint32 *level;  /* wavefront */
	guint32 *slot;   /* where its end goes */
	guint8 *readers; /* ops of other ranks that have not read it */
	guint32 *free;   /* slots free again, a stack */
	guint n_free;
} Builder;

static gboolean fail_memory(guint n_ops, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops do not fit in memory; take fewer ranks or micro-batches", n_ops);
}

/* @scratch: for what is of no use any more when the ops are in order. */
static gboolean allocate(Builder *b, PipesimArena *scratch, GError **error)
{
	const gsize n = b->program->n_ops;
	PipesimLanes *lanes = b->lanes;

	lanes->ops = pipesim_arena_array(lanes->arena, PipesimLaneOp, n);
	lanes->order = pipesim_arena_array(lanes->arena, guint32, n);
	lanes->example = pipesim_arena_array(lanes->arena, guint32, n);
	lanes->example_rank = pipesim_arena_array(lanes->arena, guint32, n);
	b->rank = pipesim_arena_array(scratch, guint32, n);
	b->level = pipesim_arena_array(scratch, guint32, n);
	b->slot = pipesim_arena_array(scratch, guint32, n);
	b->readers = pipesim_arena_array(scratch, guint8, n);
	b->free = pipesim_arena_array(scratch, guint32, n);
	return (lanes->example_rank != NULL && b->free != NULL) ||
	       fail_memory(b->program->n_ops, error);
}

static void find_ranks(Builder *b)
{
	const PipesimProgram *program = b->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++)
			b->rank[i] = rank;
}

static guint inputs_of(const Builder *b, guint32 op, guint32 inputs[2])
{
	return pipesim_program_inputs(b->program, b->rank[op], &b->program->ops[op], inputs);
}

/* Each op one level above what it waits for. */
static guint32 find_levels(Builder *b)
{
	const PipesimProgram *program = b->program;
	guint32 inputs[2], highest = 0;

	for (guint i = 0; i < program->n_ops; i++) {
		const guint32 op = b->lanes->order[i];
		const guint n = inputs_of(b, op, inputs);
		guint32 level =
			op > program->rank_begin[b->rank[op]] ? b->level[op - 1] + 1 : 0;

		for (guint k = 0; k < n; k++) {
			level = MAX(level, b->level[inputs[k]] + 1);
			b->readers[inputs[k]] += b->rank[inputs[k]] != b->rank[op];
		}
		b->level[op] = level;
		highest = MAX(highest, level);
	}
	return highest;
}

static gboolean sort_by_level(Builder *b, guint32 highest, GError **error)
{
	g_autofree guint32 *begin = g_try_new0(guint32, (gsize)highest + 2);

	if (begin == NULL)
		return fail_memory(b->program->n_ops, error);
	for (guint32 op = 0; op < b->program->n_ops; op++)
		begin[b->level[op] + 1]++;
	for (guint32 level = 0; level < highest; level++)
		begin[level + 1] += begin[level];
	for (guint32 op = 0; op < b->program->n_ops; op++)
		b->lanes->order[begin[b->level[op]]++] = op;
	return TRUE;
}

/* A slot is free for others when the last op that waits for it has read it. */
static void place_messages(Builder *b, guint32 op, PipesimLaneOp *out)
{
	guint32 inputs[2];
	const guint n = inputs_of(b, op, inputs);
	guint used = 0;

	for (guint k = 0; k < n; k++)
		if (b->rank[inputs[k]] != b->rank[op]) {
			out->inputs[used++] = b->slot[inputs[k]];
			if (--b->readers[inputs[k]] == 0)
				b->free[b->n_free++] = b->slot[inputs[k]];
		}
	out->output = NOWHERE;
	if (b->readers[op] > 0)
		out->output = b->n_free > 0 ? b->free[--b->n_free] : b->lanes->n_slots++;
	b->slot[op] = out->output;
}

static guint chain_group(PipesimKind kind)
{
	if (kind == PIPESIM_F || kind == PIPESIM_FB)
		return 0;
	return kind == PIPESIM_W ? 2 : 1;
}

/* Random numbers belong to stage and micro-batch, chains to the chunk that goes through them.
 */
static void place_numbers(const Builder *b, guint32 op, PipesimLaneOp *out)
{
	const PipesimShape *shape = &b->program->shape;
	const PipesimOp *from = &b->program->ops[op];
	const guint group = chain_group(from->kind);
	const gsize cell = (gsize)group * shape->stages * shape->microbatches +
			   pipesim_op_forward_slot(b->program, b->rank[op], from);

	out->place = (guint32)(cell + 1) * PIPESIM_PLACE_STEP;
	out->microbatch = from->microbatch;
	out->chain = (group * shape->ranks + b->rank[op]) * shape->chunks + from->chunk;
}

/* One table for each kind and chunk of a rank, or pair of chunks. The ops of a rank stand
 * together: an entry of the rank before is one below @first. */
static void find_tables(Builder *b, guint32 *table_of)
{
	const PipesimProgram *program = b->program;
	const guint chunks = program->shape.chunks;
	PipesimLanes *lanes = b->lanes;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint first = lanes->n_tables;

		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];
			const gsize row =
				op->kind == PIPESIM_FB ? PIPESIM_FB + op->b_chunk : op->kind;
			guint32 *table = &table_of[row * chunks + op->chunk];

			if (*table < first || *table >= lanes->n_tables) {
				lanes->example[lanes->n_tables] = i;
				lanes->example_rank[lanes->n_tables] = rank;
				*table = lanes->n_tables++;
			}
			b->slot[i] = *table; /* until it is its slot */
		}
	}
}

static void build(Builder *b)
{
	PipesimLanes *lanes = b->lanes;

	lanes->n_slots = N_FIXED;
	for (guint i = 0; i < lanes->n_ops; i++) {
		const guint32 op = lanes->order[i];
		PipesimLaneOp *out = &lanes->ops[i];

		*out = (PipesimLaneOp){.rank = b->rank[op], .table = b->slot[op] & 0x3fffffff};
		place_messages(b, op, out);
		place_numbers(b, op, out);
	}
	lanes->n_chains = 3 * b->program->shape.ranks * b->program->shape.chunks;
}

static gboolean fill(Builder *b, GError **error)
{
	const guint chunks = b->program->shape.chunks;
	const gsize n_kinds = (gsize)(PIPESIM_FB + chunks) * chunks;
	g_autofree guint32 *table_of = g_new(guint32, n_kinds);
	g_autoptr(PipesimArena) scratch = pipesim_arena_new();
	guint32 done;

	memset(table_of, 0xff, n_kinds * sizeof *table_of);
	if (!allocate(b, scratch, error))
		return FALSE;
	done = pipesim_program_sequence(b->program, b->lanes->order, error);
	if (done == G_MAXUINT32)
		return FALSE;
	if (done < b->program->n_ops)
		return pipesim_program_check_order(b->program, NULL, NULL, error);
	find_ranks(b);
	if (!sort_by_level(b, find_levels(b), error))
		return FALSE;
	find_tables(b, table_of);
	build(b);
	return TRUE;
}

PipesimLanes *pipesim_lanes_new(const PipesimProgram *program, GError **error)
{
	g_autoptr(PipesimLanes) lanes = g_new0(PipesimLanes, 1);
	Builder b = {.lanes = lanes, .program = program};

	lanes->program = program;
	lanes->n_ops = program->n_ops;
	lanes->arena = pipesim_arena_new();
	lanes->kernels = pipesim_lane_kernels_list()[0];
	return fill(&b, error) ? g_steal_pointer(&lanes) : NULL;
}

void pipesim_lanes_free(PipesimLanes *lanes)
{
	if (lanes == NULL)
		return;
	pipesim_arena_free(lanes->arena);
	g_free(lanes);
}

/* Blocks of runs --------------------------------------------------------------------------- */

gboolean pipesim_lanes_sum_fits(const PipesimLanes *lanes, gint64 longest, gint64 p2p)
{
	const guint64 steps = (guint64)lanes->n_ops * lanes->program->shape.ranks;

	return longest < PIPESIM_MAX_END / 2 && p2p < PIPESIM_MAX_END / 2 &&
	       (guint64)(longest + p2p) < (guint64)PIPESIM_MAX_END / MAX(steps, 1);
}

/* Its own memory is of its arena too. */
static void free_block(gpointer own)
{
	const PipesimLaneBlock *block = own;

	pipesim_arena_free(block->arena);
}

/* FALSE where memory does not suffice. */
static gboolean allocate_block(PipesimLaneBlock *block, const PipesimLaneWork *work)
{
	const PipesimLanes *lanes = work->lanes;
	const gsize ranks = lanes->program->shape.ranks;
	PipesimArena *arena = block->arena;

	block->clock = pipesim_arena_array(arena, PipesimLanePair, ranks);
	block->busy = pipesim_arena_array(arena, PipesimLanePair, ranks);
	block->slot = pipesim_arena_array(arena, PipesimLanePair, lanes->n_slots);
	if (!work->draws) {
		block->duration = pipesim_arena_array(arena, PipesimLanePair, lanes->n_tables);
		return block->duration != NULL;
	}
	block->chain = pipesim_arena_array(arena, PipesimLaneWords, lanes->n_chains);
	block->speed = pipesim_arena_array(arena, PipesimLaneWords, ranks);
	return block->speed != NULL;
}

static gpointer new_block(gpointer data, GError **error)
{
	const PipesimLaneWork *work = data;
	PipesimArena *arena = pipesim_arena_new();
	PipesimLaneBlock *block = pipesim_arena_array(arena, PipesimLaneBlock, 1);

	if (block != NULL) {
		block->arena = arena;
		if (allocate_block(block, work))
			return block;
	}
	pipesim_arena_free(arena);
	pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u runs of %u ops side by side do not fit in memory; take fewer ranks",
		PIPESIM_LANES, work->lanes->n_ops);
	return NULL;
}

static gboolean run_block(gsize item, gpointer own, gpointer data, GError **error G_GNUC_UNUSED)
{
	const PipesimLaneWork *work = data;
	PipesimLaneBlock *block = own;
	const PipesimLanes *lanes = work->lanes;
	const guint ranks = lanes->program->shape.ranks;
	const gsize first = item * PIPESIM_LANES;
	const guint n = (guint)MIN(work->n - first, PIPESIM_LANES);

	memset(block->clock, 0, ranks * sizeof *block->clock);
	memset(block->busy, 0, ranks * sizeof *block->busy);
	work->fill(work->data, block, first, n);
	(work->draws ? lanes->kernels->drawn : lanes->kernels->given)(lanes, block);
	for (guint i = 0; i < n; i++) {
		const gint64 makespan = *pipesim_lane_at(&block->makespan, i);

		work->results[first + i] = (PipesimOutcome){
			.makespan = makespan,
			.max_idle = makespan - *pipesim_lane_at(&block->least_busy, i),
			.idle = makespan * ranks - *pipesim_lane_at(&block->all_busy, i),
		};
	}
	return TRUE;
}

gboolean pipesim_lane_work_run(const PipesimLaneWork *work, guint threads, GError **error)
{
	const PipesimParallel blocks = {
		.n_items = (work->n + PIPESIM_LANES - 1) / PIPESIM_LANES,
		.threads = threads,
		.begin = new_block,
		.run = run_block,
		.end = free_block,
		.data = (gpointer)work,
	};

	return pipesim_parallel(&blocks, error);
}

/* Given times ---------------------------------------------------------------------------- */

typedef struct {
	const PipesimLanes *lanes;
	const PipesimCosts *const *costs;
	guint8 *too_long; /* by run */
} Given;

static gint64 longest_of(const PipesimLanes *lanes, const PipesimTimes *times,
	PipesimLaneBlock *block, guint lane)
{
	gint64 longest = 0;

	for (guint table = 0; table < lanes->n_tables; table++) {
		const guint32 op = lanes->example[table];
		const gint64 ns = pipesim_op_duration(lanes->program, times,
			lanes->example_rank[table], &lanes->program->ops[op]);

		*pipesim_lane_at(&block->duration[table], lane) = ns;
		longest = MAX(longest, ns);
	}
	return longest;
}

static void fill_given(gconstpointer data, PipesimLaneBlock *block, gsize first, guint n)
{
	const Given *given = data;
	const PipesimLanes *lanes = given->lanes;

	for (guint lane = 0; lane < n; lane++) {
		g_autoptr(PipesimTimes) times =
			pipesim_times_new(given->costs[first + lane], &lanes->program->shape);
		const gint64 longest = longest_of(lanes, times, block, lane);

		*pipesim_lane_at(&block->p2p, lane) = times->p2p;
		given->too_long[first + lane] =
			!pipesim_lanes_sum_fits(lanes, longest, times->p2p);
		if (!given->too_long[first + lane])
			continue;
		*pipesim_lane_at(&block->p2p, lane) = 0;
		for (guint table = 0; table < lanes->n_tables; table++)
			*pipesim_lane_at(&block->duration[table], lane) = 0;
	}
}

void pipesim_lane_result_of(
	PipesimOutcome *result, const PipesimProgram *program, const PipesimTimeline *timeline)
{
	*result = (PipesimOutcome){.makespan = timeline->makespan};
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		gint64 idle = timeline->makespan;

		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++)
			idle -= timeline->end[i] - timeline->start[i];
		result->max_idle = MAX(result->max_idle, idle);
		result->idle =
			result->idle > G_MAXINT64 - idle ? G_MAXINT64 : result->idle + idle;
	}
}

/* Sums that might not fit are left to the engine that notices where they do not. */
static gboolean run_alone(const Given *given, gsize i, PipesimOutcome *result, GError **error)
{
	const PipesimProgram *program = given->lanes->program;
	g_autoptr(PipesimTimes) times = pipesim_times_new(given->costs[i], &program->shape);
	g_autoptr(PipesimTimeline) timeline = pipesim_fast_run(program, times, error);

	if (timeline == NULL)
		return FALSE;
	pipesim_lane_result_of(result, program, timeline);
	return TRUE;
}

gboolean pipesim_lanes_evaluate(const PipesimLanes *lanes, const PipesimCosts *const *costs,
	gsize n, guint threads, PipesimOutcome *results, GError **error)
{
	g_autofree guint8 *too_long = g_try_malloc(MAX(n, 1));
	const Given given = {lanes, costs, too_long};
	const PipesimLaneWork work = {
		.lanes = lanes, .n = n, .fill = fill_given, .data = &given, .results = results};

	if (too_long == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT " runs do not fit in memory", n);
	if (!pipesim_lane_work_run(&work, threads, error))
		return FALSE;
	for (gsize i = 0; i < n; i++)
		if (too_long[i] && !run_alone(&given, i, &results[i], error))
			return FALSE;
	return TRUE;
}
