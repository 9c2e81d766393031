/* Blocks of runs, on several threads, and the runs whose times are given. */
#include "config.h"

#include "engine/fast.h"
#include "engine/timeline.h"
#include "engine/lanes-kernel.h"
#include <string.h>

#define LINE 64
/* What the largest possible sum of times stays below. */

gboolean pipesim_lanes_sum_fits(const PipesimLanes *lanes, gint64 longest, gint64 p2p)
{
	const guint64 steps = (guint64)lanes->n_ops * lanes->program->shape.ranks;

	return longest < PIPESIM_MAX_END / 2 && p2p < PIPESIM_MAX_END / 2 &&
	       (guint64)(longest + p2p) < (guint64)PIPESIM_MAX_END / MAX(steps, 1);
}

static gboolean block_init(PipesimLaneBlock *block, const PipesimLaneWork *work)
{
	const PipesimLanes *lanes = work->lanes;
	const gsize ranks = lanes->program->shape.ranks;
	const gsize tables = work->draws ? 0 : lanes->n_tables;
	const gsize chains = work->draws ? lanes->n_chains : 0;
	const gsize speeds = work->draws ? ranks : 0;
	const gsize bytes = (2 * ranks + lanes->n_slots + tables) * sizeof(PipesimLanePair) +
			    (chains + speeds) * sizeof(PipesimLaneWords) + LINE;

	memset(block, 0, sizeof *block);
	block->memory = g_try_malloc0(bytes);
	if (block->memory == NULL)
		return FALSE;
	block->clock = (PipesimLanePair *)(((gsize)block->memory + LINE - 1) / LINE * LINE);
	block->busy = block->clock + ranks;
	block->slot = block->busy + ranks;
	block->duration = block->slot + lanes->n_slots;
	block->chain = (PipesimLaneWords *)(block->duration + tables);
	block->speed = block->chain + chains;
	return TRUE;
}

static void run_block(const PipesimLaneWork *work, PipesimLaneBlock *block, gsize first)
{
	const PipesimLanes *lanes = work->lanes;
	const guint ranks = lanes->program->shape.ranks;
	const guint n = (guint)MIN(work->n - first, PIPESIM_LANES);

	memset(block->clock, 0, 2 * (gsize)ranks * sizeof *block->clock);
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
}

typedef struct {
	const PipesimLaneWork *work;
	gsize next;     /* block that nobody has taken; atomic */
	gint no_memory; /* atomic */
} Shared;

static gpointer run_blocks(gpointer data)
{
	Shared *shared = data;
	const PipesimLaneWork *work = shared->work;
	PipesimLaneBlock block;

	if (!block_init(&block, work)) {
		g_atomic_int_set(&shared->no_memory, TRUE);
		return NULL;
	}
	for (;;) {
		const gsize first =
			__atomic_fetch_add(&shared->next, PIPESIM_LANES, __ATOMIC_RELAXED);

		if (first >= work->n)
			break;
		run_block(work, &block, first);
	}
	g_free(block.memory);
	return NULL;
}

gboolean pipesim_lane_work_run(const PipesimLaneWork *work, guint threads, GError **error)
{
	const guint wanted = threads > 0 ? threads : g_get_num_processors();
	const guint n = (guint)MIN(wanted, (work->n + PIPESIM_LANES - 1) / PIPESIM_LANES);
	g_autofree GThread **helpers = g_new0(GThread *, MAX(n, 1u));
	Shared shared = {.work = work};

	/* A thread that cannot be had leaves its blocks to the others. */
	for (guint i = 1; i < n; i++)
		helpers[i] = g_thread_try_new("pipesim-lanes", run_blocks, &shared, NULL);
	run_blocks(&shared);
	for (guint i = 1; i < n; i++)
		if (helpers[i] != NULL)
			g_thread_join(helpers[i]);
	if (!g_atomic_int_get(&shared.no_memory))
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u runs of %u ops side by side do not fit in memory; take fewer ranks",
		PIPESIM_LANES, work->lanes->n_ops);
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
