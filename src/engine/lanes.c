#include "engine/fast.h"
#include "engine/lanes-kernel.h"

/* Slots that always stand: time 0, and where goes what nobody waits for. */
enum {
	ZERO,
	NOWHERE,
	N_FIXED
};

/* What is needed while nodes are put in order. */
typedef struct {
	PipesimLanes *lanes;
	const PipesimLaneGraph *graph;
	guint32 *rank;  /* by op */
	guint32 *order; /* nodes by level */
	guint32 *slot;  /* by node: where its end goes; of an op, until it has one, its table */
	guint32 *readers; /* by node: those that have not read it */
	guint32 *free;    /* slots free again, a stack */
	guint n_free;
} Builder;

static gboolean fail_memory(guint n_ops, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops do not fit in memory; take fewer ranks or micro-batches", n_ops);
}

/* Sorts nodes by level, of one level moves first, each kind by number; and counts who reads
 * them. Level 0 has no ops. */
static gboolean sort_by_level(Builder *b)
{
	const PipesimLaneGraph *graph = b->graph;
	const guint32 n_ops = graph->program->n_ops;
	guint32 highest = 0;

	for (guint32 i = 1; i < graph->n_nodes; i++)
		highest = MAX(highest, graph->nodes[i].level);
	g_autofree guint32 *begin = g_try_new0(guint32, 2 * ((gsize)highest + 2));
	if (begin == NULL)
		return FALSE;
#define PLACE(i) (2 * (gsize)graph->nodes[i].level + ((i) <= n_ops))
	for (guint32 i = 1; i < graph->n_nodes; i++)
		begin[PLACE(i) + 1]++;
	for (gsize at = 0; at <= 2 * (gsize)highest; at++)
		begin[at + 1] += begin[at];
	for (guint32 i = 1; i < graph->n_nodes; i++)
		b->order[begin[PLACE(i)]++] = i;
#undef PLACE
	b->readers[graph->latest]++;
	for (guint32 i = graph->n_nodes - 1; i-- > 0;) {
		const guint32 node = b->order[i];

		/* What nothing comes behind reads nothing. */
		for (guint k = 0; k < 2 && (node <= n_ops || b->readers[node] > 0); k++)
			b->readers[graph->nodes[node].inputs[k]]++;
	}
	return TRUE;
}

/* One table for each kind and chunk of a rank, or pair of chunks. The ops of a rank stand
 * together: an entry of the rank before is one below @first. */
static void find_tables(Builder *b, guint32 *table_of)
{
	const PipesimProgram *program = b->graph->program;
	const guint chunks = program->shape.chunks;
	PipesimLanes *lanes = b->lanes;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint first = lanes->n_tables;

		pipesim_each_of (i, program->rank_begin, rank) {
			const PipesimOp *op = &program->ops[i];
			const gsize row =
				op->kind == PIPESIM_FB ? PIPESIM_FB + op->b_chunk : op->kind;
			guint32 *table = &table_of[row * chunks + op->chunk];

			if (*table < first || *table >= lanes->n_tables) {
				lanes->example[lanes->n_tables] = i;
				lanes->example_rank[lanes->n_tables] = rank;
				*table = lanes->n_tables++;
			}
			b->slot[i + 1] = *table;
		}
	}
}

/* A slot for the end of @node, if anything reads it. */
static guint32 give_slot(Builder *b, guint32 node)
{
	guint32 slot = NOWHERE;

	if (b->readers[node] > 0)
		slot = b->n_free > 0 ? b->free[--b->n_free] : b->lanes->n_slots++;
	return b->slot[node] = slot;
}

/* Where what @node comes behind arrives. A slot is free for others when the last that waits for
 * it has read it. */
static void read_inputs(Builder *b, guint32 node, guint32 slots[2])
{
	const guint32 *inputs = b->graph->nodes[node].inputs;

	for (guint k = 0; k < 2; k++) {
		slots[k] = b->slot[inputs[k]];
		if (inputs[k] > 0 && --b->readers[inputs[k]] == 0)
			b->free[b->n_free++] = slots[k];
	}
}

static void put_op(Builder *b, guint32 op, PipesimLaneOp *out)
{
	const PipesimProgram *program = b->graph->program;
	const PipesimShape *shape = &program->shape;
	const gsize n_cells = (gsize)shape->stages * shape->microbatches;
	const guint rank = b->rank[op];
	const PipesimOp *from = &program->ops[op];
	const gsize cell = pipesim_op_forward_slot(program, rank, from);
	const guint of_backward = from->kind == PIPESIM_W ? 2 : 1;
	const guint group = pipesim_op_has_forward(from) ? 0 : of_backward;

	/* Random numbers belong to stage and micro-batch, chains to the chunk that goes through
	 * them. */
	*out = (PipesimLaneOp){
		.rank = rank,
		.table = b->slot[op + 1] & 0x3fffffff,
		.place = (guint32)(group * n_cells + cell + 1) * PIPESIM_PLACE_STEP,
		.microbatch = from->microbatch,
		.chain = (group * shape->ranks + rank) * shape->chunks + from->chunk,
	};
	read_inputs(b, op + 1, out->inputs);
	/* When the first op of a rank started is told by its slot in the end. */
	if (op == program->rank_begin[rank]) {
		b->lanes->first[rank] = (guint32)(out - b->lanes->ops);
		b->readers[op + 1]++;
	}
	out->output = give_slot(b, op + 1);
}

static void build(Builder *b)
{
	const PipesimLaneGraph *graph = b->graph;
	const guint32 n_ops = graph->program->n_ops;
	PipesimLanes *lanes = b->lanes;
	PipesimLaneMove *move = lanes->moves;
	guint32 level = G_MAXUINT32, n = 0;

	lanes->n_slots = N_FIXED;
	lanes->n_chains = 3 * graph->program->shape.ranks * graph->program->shape.chunks;
	b->slot[0] = ZERO;
	for (guint32 i = 0; i + 1 < graph->n_nodes; i++) {
		const guint32 node = b->order[i];

		if (node > n_ops && b->readers[node] == 0)
			continue;
		if (lanes->n_waves == 0 ||
			(n_ops + 1 < graph->n_nodes && level != graph->nodes[node].level))
			lanes->n_waves++;
		level = graph->nodes[node].level;
		if (node > n_ops) {
			move->span = graph->nodes[node].span;
			read_inputs(b, node, move->inputs);
			move++->output = give_slot(b, node);
			lanes->n_moves++;
			lanes->waves[lanes->n_waves - 1].n_moves++;
		} else {
			lanes->order[n] = node - 1;
			put_op(b, node - 1, &lanes->ops[n++]);
			lanes->waves[lanes->n_waves - 1].n_ops++;
		}
	}
	lanes->latest = b->slot[graph->latest];
}

PipesimLanes *pipesim_lanes_of(const PipesimLaneGraph *graph, GError **error)
{
	const PipesimProgram *program = graph->program;
	const gsize n = program->n_ops, chunks = program->shape.chunks,
		    n_nodes = graph->n_nodes;
	const gsize n_moves = n_nodes - 1 - n;
	const gsize n_kinds = (PIPESIM_FB + chunks) * chunks;
	const gsize n_examples = MIN(n, n_kinds * program->shape.ranks);
	g_autoptr(PipesimLanes) lanes = g_new0(PipesimLanes, 1);
	g_autoptr(PipesimArena) scratch = pipesim_arena_new();
	g_autofree guint32 *table_of = g_new(guint32, n_kinds);
	PipesimArena *arena = lanes->arena = pipesim_arena_new();
	Builder b = {
		.lanes = lanes,
		.graph = graph,
		.rank = pipesim_arena_array(scratch, guint32, n),
		.order = pipesim_arena_array(scratch, guint32, n_nodes),
		.slot = pipesim_arena_array(scratch, guint32, n_nodes),
		.readers = pipesim_arena_array(scratch, guint32, n_nodes),
		.free = pipesim_arena_array(scratch, guint32, n_nodes),
	};

	lanes->program = program;
	lanes->n_ops = program->n_ops;
	lanes->n_spans = graph->n_spans;
	lanes->host = graph->host;
	lanes->kernels = pipesim_lane_kernels_list()[0];
	lanes->ops = pipesim_arena_array(arena, PipesimLaneOp, n);
	lanes->order = pipesim_arena_array(arena, guint32, n);
	lanes->example = pipesim_arena_array(arena, guint32, n_examples);
	lanes->example_rank = pipesim_arena_array(arena, guint32, n_examples);
	lanes->first = pipesim_arena_array(arena, guint32, program->shape.ranks);
	lanes->moves = pipesim_arena_array(arena, PipesimLaneMove, n_moves);
	/* No more waves than nodes. */
	lanes->waves = pipesim_arena_array(arena, PipesimLaneWave, n_moves > 0 ? n_nodes : 1);
	if (lanes->waves == NULL || b.free == NULL || !sort_by_level(&b)) {
		fail_memory(program->n_ops, error);
		return NULL;
	}
	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks)
		b.rank[i] = rank;
	memset(table_of, 0xff, n_kinds * sizeof *table_of);
	find_tables(&b, table_of);
	build(&b);
	return g_steal_pointer(&lanes);
}

/* Fills the node of op @index of @rank: it comes behind what its rank ran before, and behind
 * messages of others. */
static void put_node(PipesimLaneGraph *graph, guint rank, guint32 index)
{
	const PipesimProgram *program = graph->program;
	const guint32 *begin = &program->rank_begin[rank];
	PipesimLaneNode *node = &graph->nodes[index + 1];
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, &program->ops[index], inputs);

	if (index > begin[0])
		node->level = node[-1].level;
	for (guint k = 0, used = 0; k < n; k++) {
		node->level = MAX(node->level, graph->nodes[inputs[k] + 1].level);
		if (inputs[k] < begin[0] || inputs[k] >= begin[1])
			node->inputs[used++] = inputs[k] + 1;
	}
	node->level++;
}

PipesimLanes *pipesim_lanes_new(const PipesimProgram *program, GError **error)
{
	const gsize n = program->n_ops;
	g_autoptr(PipesimArena) scratch = pipesim_arena_new();
	guint32 *order = pipesim_arena_array(scratch, guint32, n);
	guint32 *rank = pipesim_arena_array(scratch, guint32, n);
	PipesimLaneGraph graph = {.program = program,
		.nodes = pipesim_arena_array(scratch, PipesimLaneNode, n + 1),
		.n_nodes = program->n_ops + 1};

	if (graph.nodes == NULL) {
		fail_memory(program->n_ops, error);
		return NULL;
	}
	guint32 done = pipesim_program_sequence(program, order, error);
	if (done == G_MAXUINT32)
		return NULL;
	if (done < program->n_ops) {
		pipesim_program_check_order(program, NULL, NULL, error);
		return NULL;
	}
	pipesim_each_rank_of (op, program->rank_begin, i, program->shape.ranks)
		rank[op] = i;
	for (guint32 i = 0; i < n; i++)
		put_node(&graph, rank[order[i]], order[i]);
	return pipesim_lanes_of(&graph, error);
}

PIPESIM_FREES(PipesimLanes, pipesim_lanes_free, lanes)
{
	pipesim_arena_free(lanes->arena);
	g_free(lanes);
}

/* Blocks of runs --------------------------------------------------------------------------- */

static gint64 span_at(const PipesimLanes *lanes, const PipesimTimes *times, guint span)
{
	const guint stages = lanes->program->shape.stages;

	if (span < PIPESIM_SPAN_SHARDS)
		return span == PIPESIM_SPAN_P2P    ? times->p2p
		       : span == PIPESIM_SPAN_HOST ? lanes->host
						   : 0;
	span -= PIPESIM_SPAN_SHARDS;
	const gint64 *of = span < stages ? times->unshard : times->reduce;
	return of != NULL ? of[span % stages] : 0;
}

void pipesim_lane_fill(const PipesimLanes *lanes, const PipesimTimes *times,
	PipesimLaneBlock *block, guint lane)
{
	*pipesim_lane_at(&block->p2p, lane) = lanes->n_spans > 0 ? 0 : times->p2p;
	for (guint i = 0; i < lanes->n_spans; i++)
		*pipesim_lane_at(&block->span[i], lane) = span_at(lanes, times, i);
}

gboolean pipesim_lanes_sum_fits(
	const PipesimLanes *lanes, gint64 longest, const PipesimTimes *times)
{
	const guint64 steps =
		((guint64)lanes->n_ops + lanes->n_moves) * lanes->program->shape.ranks;
	const gint64 p2p = lanes->n_spans > 0 ? 0 : times->p2p;

	for (guint i = 0; i < lanes->n_spans; i++) {
		const gint64 span = span_at(lanes, times, i);

		longest = MAX(longest, span);
	}
	return longest < PIPESIM_MAX_END / 2 && p2p < PIPESIM_MAX_END / 2 &&
	       (guint64)(longest + p2p) < (guint64)PIPESIM_MAX_END / MAX(steps, 1);
}

/* Its own memory is of its arena too. */
static void free_block(gpointer own)
{
	const PipesimLaneBlock *block = own;

	pipesim_arena_free(block->arena);
}

static gpointer new_block(gpointer data, GError **error)
{
	const PipesimLaneWork *work = data;
	const PipesimLanes *lanes = work->lanes;
	const gsize ranks = lanes->program->shape.ranks;
	PipesimArena *arena = pipesim_arena_new();
	PipesimLaneBlock *block = pipesim_arena_array(arena, PipesimLaneBlock, 1);

	if (block != NULL) {
		block->arena = arena;
		block->clock = pipesim_arena_array(arena, PipesimLanePair, ranks);
		block->busy = pipesim_arena_array(arena, PipesimLanePair, ranks);
		block->slot = pipesim_arena_array(arena, PipesimLanePair, lanes->n_slots);
		block->span = pipesim_arena_array(arena, PipesimLanePair, lanes->n_spans);
		if (work->draws) {
			block->chain =
				pipesim_arena_array(arena, PipesimLaneWords, lanes->n_chains);
			block->speed = pipesim_arena_array(arena, PipesimLaneWords, ranks);
		} else {
			block->duration =
				pipesim_arena_array(arena, PipesimLanePair, lanes->n_tables);
		}
	}
	if (pipesim_arena_check(arena, NULL, "-"))
		return block;
	pipesim_arena_free(arena);
	return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
		"%u runs of %u ops side by side do not fit in memory; take fewer ranks",
		PIPESIM_LANES, lanes->n_ops);
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
	if (work->take != NULL) {
		work->take(work->data, block, first, n);
		return TRUE;
	}
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
	const PipesimCosts *const
		*costs;            /* of each run; NULL: the times of the job of @steps */
	PipesimStep *const *steps; /* what is filled where no costs are given */
	guint8 *too_long;          /* by run: sums might not fit, and all of its times are 0 */
} Given;

static void fill_given(gconstpointer data, PipesimLaneBlock *block, gsize first, guint n)
{
	const Given *given = data;
	const PipesimLanes *lanes = given->lanes;
	const PipesimProgram *program = lanes->program;

	for (guint lane = 0; lane < n; lane++) {
		const gsize run = first + lane;
		g_autoptr(PipesimTimes) own =
			given->costs != NULL
				? pipesim_times_new(given->costs[run], &program->shape)
				: NULL;
		const PipesimTimes *times = own != NULL ? own : given->steps[run]->job.times;
		gint64 longest = 0;

		pipesim_lane_fill(lanes, times, block, lane);
		for (guint table = 0; table < lanes->n_tables; table++) {
			const gint64 ns =
				pipesim_op_duration(program, times, lanes->example_rank[table],
					&program->ops[lanes->example[table]]);

			*pipesim_lane_at(&block->duration[table], lane) = ns;
			longest = MAX(longest, ns);
		}
		given->too_long[run] = !pipesim_lanes_sum_fits(lanes, longest, times);
		if (!given->too_long[run])
			continue;
		*pipesim_lane_at(&block->p2p, lane) = 0;
		for (guint i = 0; i < lanes->n_spans; i++)
			*pipesim_lane_at(&block->span[i], lane) = 0;
		for (guint table = 0; table < lanes->n_tables; table++)
			*pipesim_lane_at(&block->duration[table], lane) = 0;
	}
}

void pipesim_lane_result_by(
	PipesimOutcome *result, gint64 makespan, const gint64 *busy, guint ranks)
{
	*result = (PipesimOutcome){.makespan = makespan};
	for (guint rank = 0; rank < ranks; rank++) {
		const gint64 idle = makespan - busy[rank];

		result->max_idle = MAX(result->max_idle, idle);
		result->idle = pipesim_add_capped(result->idle, idle);
	}
}

void pipesim_lane_result_of(
	PipesimOutcome *result, const PipesimProgram *program, const PipesimTimeline *timeline)
{
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *busy = g_new0(gint64, MAX(ranks, 1u));

	pipesim_each_rank_of (i, program->rank_begin, rank, ranks)
		busy[rank] += timeline->end[i] - timeline->start[i];
	pipesim_lane_result_by(result, timeline->makespan, busy, ranks);
}

gboolean pipesim_lanes_evaluate(const PipesimLanes *lanes, const PipesimCosts *const *costs,
	gsize n, guint threads, PipesimOutcome *results, GError **error)
{
	g_autofree guint8 *too_long = g_try_malloc(MAX(n, 1));
	const Given given = {lanes, costs, NULL, too_long};
	const PipesimLaneWork work = {
		.lanes = lanes, .n = n, .fill = fill_given, .data = &given, .results = results};

	if (too_long == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GSIZE_FORMAT " runs do not fit in memory", n);
	if (!pipesim_lane_work_run(&work, threads, error))
		return FALSE;
	/* Sums that might not fit are left to the engine that notices where they do not. */
	for (gsize i = 0; i < n; i++) {
		if (!too_long[i])
			continue;
		g_autoptr(PipesimTimes) times =
			pipesim_times_new(costs[i], &lanes->program->shape);
		g_autoptr(PipesimTimeline) timeline =
			pipesim_fast_run(lanes->program, times, error);
		if (timeline == NULL)
			return FALSE;
		pipesim_lane_result_of(&results[i], lanes->program, timeline);
	}
	return TRUE;
}

/* Whole runs ----------------------------------------------------------------------------- */

static void take_whole(gconstpointer data, PipesimLaneBlock *block, gsize first, guint n)
{
	const Given *given = data;
	const PipesimLanes *lanes = given->lanes;
	const PipesimProgram *program = lanes->program;

	for (guint lane = 0; lane < n; lane++) {
		PipesimStep *step = given->steps[first + lane];

		step->makespan = *pipesim_lane_at(&block->makespan, lane);
		for (guint rank = 0; rank < program->shape.ranks; rank++) {
			const PipesimLaneOp *op = &lanes->ops[lanes->first[rank]];

			if (program->rank_begin[rank] == program->rank_begin[rank + 1])
				continue;
			step->busy[rank] = *pipesim_lane_at(&block->busy[rank], lane);
			step->last_end[rank] = *pipesim_lane_at(&block->clock[rank], lane);
			step->first_start[rank] =
				*pipesim_lane_at(&block->slot[op->output], lane) -
				*pipesim_lane_at(&block->p2p, lane) -
				*pipesim_lane_at(&block->duration[op->table], lane);
		}
	}
}

gboolean pipesim_lanes_run(const PipesimLanes *lanes, PipesimStep *const *steps, gsize n)
{
	g_autofree guint8 *too_long = g_try_malloc(MAX(n, 1));
	const Given given = {lanes, NULL, steps, too_long};
	const PipesimLaneWork work = {
		.lanes = lanes, .n = n, .fill = fill_given, .take = take_whole, .data = &given};

	return too_long != NULL && pipesim_lane_work_run(&work, 1, NULL) &&
	       memchr(too_long, TRUE, n) == NULL;
}
