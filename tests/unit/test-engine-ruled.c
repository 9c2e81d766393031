/* Lists under a runtime's rules against the plainest simulator of them: every schedule of the grid, random
 * orders (test-engine-random.c), costs at which much ends at the same time, and none. */
#include "engine/comm.h"
#include "engine/draw.h"
#include "engine/ruled.h"
#include "grid.h"
#include "reference-comm.h"
#include "suites.h"
#include <string.h>

/* Of stages, ns; all alike at every second @seed. */
static gint64 *new_times(guint stages, gint64 ns, guint32 seed)
{
	gint64 *times = g_new(gint64, stages);

	for (guint i = 0; i < stages; i++)
		times[i] = seed % 2 == 0 ? ns : ns + 137 * (i * seed % 7);
	return times;
}

static PipesimTimes *draw_times(const PipesimProgram *program, guint32 seed)
{
	static const gint64 p2p[] = {0, 1000, 250, 700};
	const PipesimShape *shape = &program->shape;
	g_autoptr(PipesimCosts) costs =
		seed % 2 == 0 ? grid_costs(1000, 1000, seed % 22 == 0 ? 0 : 1000, 3000,
					p2p[seed / 2 % 4])
			      : grid_random_costs(seed, shape->ranks, seed % 4 == 1);
	PipesimTimes *times;

	if (seed % 5 == 1) {
		costs->sharding.unshard = seed % 3 == 0 ? 0 : 1000;
		costs->sharding.reduce = 2000;
	}
	times = pipesim_times_new_placed(costs, shape, program->stage_of);
	if (seed % 7 == 3)
		times->p2p = 0;
	if (seed % 13 == 5) {
		times->has_edges = TRUE;
		times->begin = 500;
		for (guint edge = 0; edge < PIPESIM_N_EDGES; edge++)
			times->edge[edge] = new_times(shape->stages, 300, seed);
	}
	return times;
}

static guint differences(const PipesimTimeline *a, const PipesimTimeline *b)
{
	guint n = 0;

	for (guint i = 0; i < a->n_ops; i++)
		n += a->start[i] != b->start[i] || a->end[i] != b->end[i] ||
		     a->cause[i] != b->cause[i];
	for (guint32 i = 0; i < a->n_transfers; i++) {
		const PipesimTransfer *x = &a->transfers[i], *y = &b->transfers[i];

		n += x->from != y->from || x->to != y->to || x->sent != y->sent ||
		     x->received != y->received || x->start != y->start || x->end != y->end ||
		     x->cause != y->cause || a->arrivals[i] != b->arrivals[i];
	}
	for (guint32 i = 0; i < a->n_shards; i++) {
		const PipesimShard *x = &a->shards[i], *y = &b->shards[i];

		n += x->stage != y->stage || x->issued != y->issued || x->start != y->start ||
		     x->end != y->end || x->cause != y->cause;
	}
	return n;
}

/* The figures of @ruled are those of @timeline, NULL where it does not run to its end. */
static void assert_figures(const PipesimRuled *ruled, const PipesimTimes *times,
	const PipesimTimeline *timeline, const char *message)
{
	const PipesimProgram *program = ruled->lowering->program;
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *of_ranks = g_new0(gint64, 3 * ranks);
	PipesimRuledFigures figures = {.busy = of_ranks,
		.first_start = of_ranks + ranks,
		.last_end = of_ranks + 2 * ranks};
	g_autoptr(GError) error = NULL;
	guint32 op = 0;
	gboolean done;

	ck_assert_int_eq(
		pipesim_ruled_figures(ruled, times, &figures, &done, &error), timeline != NULL);
	ck_assert(done);
	if (timeline == NULL) {
		ck_assert_str_eq(error->message, message);
		return;
	}
	ck_assert_int_eq(figures.makespan, timeline->makespan);
	for (guint rank = 0; rank < ranks; rank++) {
		const guint32 first = op;
		gint64 busy = 0;

		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++)
			for (guint half = 0;
				half <= (ruled->split && program->ops[i].kind == PIPESIM_FB);
				half++, op++)
				busy += timeline->end[op] - timeline->start[op];
		if (op == first)
			continue;
		ck_assert_int_eq(figures.busy[rank], busy);
		ck_assert_int_eq(figures.first_start[rank], timeline->start[first]);
		ck_assert_int_eq(figures.last_end[rank], timeline->end[op - 1]);
	}
}

gboolean assert_equals_reference_comm(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing asked = {.communicators = PIPESIM_COMMUNICATOR_RANK + seed % 3,
		.active_stages = 2 + seed % 3,
		.defer_reduce_wait = seed % 8 == 3,
		.defer_recv = seed % 9 == 4,
		.max_sends = seed % 10 == 7 ? 2 : 0,
		.no_overlap = seed % 6 == 2,
		.overlap_flush = seed % 6 == 3,
		.keep_outputs = seed % 4 == 3,
		.no_host_sync = seed % 16 == 5,
		.delay_wgrad = seed % 3 == 1 ? 400 : 0,
		.host_time = seed % 5 == 2 ? 90 : 0};
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &asked);
	g_autoptr(PipesimTimes) times = draw_times(program, seed);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autoptr(GError) error = NULL, same = NULL;
	g_autoptr(PipesimTimeline) timeline = NULL, reference = NULL;
	g_autoptr(PipesimRuled) ruled = NULL;

	if (lowering == NULL)
		return FALSE;
	timeline = pipesim_comm_run(lowering, &issuing, times, NULL, 0, NULL, &error);
	reference = reference_comm_run(lowering, &issuing, times, NULL, 0, NULL, &same);
	ruled = pipesim_ruled_new(lowering, &issuing, NULL);
	ck_assert_int_eq(timeline == NULL, reference == NULL);
	assert_figures(ruled, times, reference, same != NULL ? same->message : NULL);
	if (timeline == NULL) {
		ck_assert_int_eq(error->code, same->code);
		ck_assert_str_eq(error->message, same->message);
		return FALSE;
	}
	ck_assert_int_eq(timeline->makespan, reference->makespan);
	ck_assert_uint_eq(timeline->n_ops, reference->n_ops);
	ck_assert_uint_eq(timeline->n_transfers, reference->n_transfers);
	ck_assert_uint_eq(timeline->n_shards, reference->n_shards);
	ck_assert_uint_eq(differences(timeline, reference), 0);
	return TRUE;
}

START_TEST(equals_reference)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimProgram) program = grid_program(point);
	const guint every = point->ranks * point->microbatches > 400 ? grid_every(7) : 1;

	for (guint32 i = 0; pipesim_runtime_list()[i] != NULL; i++)
		for (guint32 k = (guint32)_i % every; k < 4; k += every)
			if (pipesim_runtime_list()[i]->waits)
				assert_equals_reference_comm(program, pipesim_runtime_list()[i],
					(guint32)_i * 5 + i + 1000 * k + 11 * (guint32)_i * k);
}
END_TEST

/* Side by side: as one by one. --- */

#define RUNS 22

static void assert_lanes(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing asked = {.communicators = PIPESIM_COMMUNICATOR_RANK + seed % 3,
		.active_stages = 2 + seed % 3,
		.delay_wgrad = seed % 3 == 1 ? 400 : 0,
		.host_time = seed % 5 == 2 ? 90 : 0};
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &asked);
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *of_ranks = g_new0(gint64, 6 * RUNS * (gsize)ranks);
	/* By step, as samples have it. */
	const gsize n_drawn = 2 * (gsize)program->n_ops;
	g_autofree gint64 *drawn = g_new(gint64, RUNS * n_drawn);
	PipesimTimes *times[RUNS];
	PipesimRuledFigures lanes[RUNS], one[RUNS];
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autoptr(PipesimRuled) ruled =
		lowering != NULL ? pipesim_ruled_new(lowering, &issuing, NULL) : NULL;
	gboolean done, runs = TRUE;

	if (ruled == NULL)
		return;
	for (gsize i = 0; i < RUNS * n_drawn; i++)
		drawn[i] = 500 + (gint64)(i * 2654435761u >> 7) % 1000;
	for (guint i = 0; i < RUNS; i++) {
		gint64 *own = &of_ranks[6 * (gsize)ranks * i];

		/* All with edges, or none; some with shards, of one or both kinds. */
		times[i] = draw_times(program, seed + i * 13);
		if (seed % 4 == 2)
			times[i]->drawn = &drawn[i * n_drawn];
		lanes[i] = (PipesimRuledFigures){
			.busy = own, .first_start = own + ranks, .last_end = own + 2 * ranks};
		own += 3 * ranks;
		one[i] = (PipesimRuledFigures){
			.busy = own, .first_start = own + ranks, .last_end = own + 2 * ranks};
		runs = runs && pipesim_ruled_figures(ruled, times[i], &one[i], &done, NULL);
	}
	ck_assert_int_eq(
		pipesim_ruled_lanes(ruled, (const PipesimTimes *const *)times, RUNS, lanes),
		runs);
	for (guint i = 0; i < RUNS; i++) {
		if (runs) {
			ck_assert_int_eq(lanes[i].makespan, one[i].makespan);
			ck_assert_mem_eq(
				lanes[i].busy, one[i].busy, 3 * ranks * sizeof(gint64));
		}
		pipesim_times_free(times[i]);
	}
}

START_TEST(lanes_equal_one)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 400 && (guint)_i % grid_every(7) != 0)
		return;
	program = grid_program(point);
	for (guint32 i = 0; pipesim_runtime_list()[i] != NULL; i++)
		if (pipesim_runtime_list()[i]->waits)
			assert_lanes(program, pipesim_runtime_list()[i], (guint32)_i * 7 + i);
}
END_TEST

static guint n_recorded;

/* Runs at given times through what is written down: as one by one. */
static void assert_recorded_given(
	const PipesimRuled *ruled, const PipesimLanes *recorded, guint32 seed)
{
	const guint ranks = recorded->program->shape.ranks;
	g_autofree gint64 *of_ranks = g_new0(gint64, 3 * (RUNS + 1) * (gsize)ranks);
	const gsize bytes = 3 * ranks * sizeof *of_ranks;
	gint64 *one = &of_ranks[3 * RUNS * (gsize)ranks];
	PipesimRuledFigures figures = {
		.busy = one, .first_start = one + ranks, .last_end = one + 2 * ranks};
	PipesimStep room[RUNS] = {0}, *steps[RUNS];
	gboolean done;

	for (guint i = 0; i < RUNS; i++) {
		gint64 *own = &of_ranks[3 * (gsize)ranks * i];

		/* None has edges, and all are gathered or none. */
		room[i] = (PipesimStep){
			.job.times = draw_times(ruled->lowering->program, seed + 5 * 13 * i),
			.busy = own,
			.first_start = own + ranks,
			.last_end = own + 2 * ranks};
		steps[i] = &room[i];
	}
	ck_assert(pipesim_lanes_run(recorded, steps, RUNS));
	for (guint i = 0; i < RUNS; i++) {
		memset(one, 0, bytes);
		ck_assert(pipesim_ruled_figures(
				  ruled, room[i].job.times, &figures, &done, NULL) &&
			  done);
		ck_assert_int_eq(room[i].makespan, figures.makespan);
		ck_assert_mem_eq(room[i].busy, one, bytes);
		pipesim_times_free((PipesimTimes *)room[i].job.times);
	}
}

/* Samples through what is written down of a list, at the times that pipesim_draw_durations() draws. */
static void assert_recorded(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing asked = {.communicators = PIPESIM_COMMUNICATOR_RANK + seed % 3,
		.active_stages = 2 + seed % 3,
		.defer_reduce_wait = seed % 8 == 3,
		.defer_recv = seed % 9 == 4,
		.max_sends = seed % 10 == 7 ? 2 : 0,
		.no_overlap = seed % 6 == 2,
		.overlap_flush = seed % 6 == 3,
		.host_time = seed % 5 == 2 ? 90 : 0};
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &asked);
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *of_ranks = g_new0(gint64, 3 * (gsize)ranks);
	PipesimRuledFigures figures = {.busy = of_ranks,
		.first_start = of_ranks + ranks,
		.last_end = of_ranks + 2 * ranks};
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){1, 10});
	g_autoptr(PipesimTimes) times = draw_times(program, seed);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autoptr(PipesimRuled) ruled = NULL;
	g_autoptr(PipesimProgram) halves = NULL;
	g_autoptr(PipesimDraw) draw = NULL;
	g_autofree gint64 *drawn = NULL;
	PipesimOutcome lanes[RUNS], one;
	PipesimLanes *recorded;
	gboolean done;

	if (lowering == NULL ||
		!pipesim_lowering_check(lowering, issuing.communicators, NULL, NULL, NULL))
		return;
	ruled = pipesim_ruled_new(lowering, &issuing, NULL);
	halves = ruled->split ? pipesim_program_split_pairs(program, NULL)
			      : pipesim_program_ref(program);
	recorded = pipesim_ruled_record(ruled, halves, times);
	n_recorded++;
	ck_assert_int_eq(recorded == NULL, times->has_edges);
	if (recorded == NULL)
		return;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		jitter->kind[kind].stay = seed % 3 * 4000;
	assert_recorded_given(ruled, recorded, seed);
	draw = pipesim_draw_of(recorded, times, jitter, NULL);
	times->drawn = drawn = g_new(gint64, halves->n_ops);
	ck_assert(pipesim_draw_run(draw, seed, 0, RUNS, 1, lanes, NULL));
	for (guint i = 0; i < RUNS; i++) {
		pipesim_draw_durations(draw, seed, i, drawn);
		ck_assert(pipesim_ruled_figures(ruled, times, &figures, &done, NULL) && done);
		pipesim_lane_result_by(&one, figures.makespan, figures.busy, ranks);
		ck_assert_int_eq(lanes[i].makespan, one.makespan);
		ck_assert_int_eq(lanes[i].max_idle, one.max_idle);
		ck_assert_int_eq(lanes[i].idle, one.idle);
	}
}

START_TEST(recorded_equal_one)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 400 && (guint)_i % grid_every(7) != 0)
		return;
	program = grid_program(point);
	n_recorded = 0;
	for (guint32 i = 0; pipesim_runtime_list()[i] != NULL; i++)
		if (pipesim_runtime_list()[i]->waits)
			assert_recorded(
				program, pipesim_runtime_list()[i], (guint32)_i * 7 + i);
	/* else this would test nothing */
	ck_assert_uint_gt(n_recorded, 0);
}
END_TEST

/* As one by one; gives their times back. */
static void assert_beside(const PipesimJob *jobs, guint n, PipesimShared **kept)
{
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);

	ck_assert(pipesim_step_run_beside(jobs, n, kept, steps));
	for (guint i = 0; i < n; i++) {
		g_autoptr(PipesimStep) one =
			pipesim_step_run(&jobs[i], PIPESIM_WANT_FIGURES, NULL);

		ck_assert_int_eq(steps[i]->makespan, one->makespan);
		ck_assert_mem_eq(steps[i]->busy, one->busy,
			jobs->order->shape.ranks * sizeof *one->busy);
		pipesim_step_free(steps[i]);
		pipesim_times_free((PipesimTimes *)jobs[i].times);
	}
}

/* What is kept of an order is not taken for another one of the same shape, nor for what is asked
 * in the same place. */
START_TEST(kept_by_order)
{
	static const char *const names[] = {"looped-bfs", "looped-bfs", "interleaved-1f1b",
		"looped-bfs", "looped-bfs", "looped-bfs"};
	const PipesimRuntime *runtime = pipesim_runtime_find("pytorch-2.15", "-", NULL);
	guint32 ahead[4];
	PipesimShared *kept = NULL, *before = NULL;

	for (guint k = 0; k < G_N_ELEMENTS(names); k++) {
		enum {
			N = 100
		};
		const GridCase point = {.schedule = pipesim_schedule_find(names[k], NULL),
			.ranks = 4,
			.microbatches = 8};
		g_autoptr(PipesimOrder) order = grid_order(&point);
		PipesimJob jobs[N];
		const PipesimIssuing asked = {.active_stages = 2,
			.ahead = k < 4 ? PIPESIM_AHEAD_FULL : PIPESIM_AHEAD_LIST,
			.ahead_of = k < 4 ? NULL : ahead,
			.n_ahead = k < 4 ? 0 : 4};

		for (guint rank = 0; rank < 4; rank++)
			ahead[rank] = k % 2 + 1;
		for (guint i = 0; i < N; i++) {
			g_autoptr(PipesimCosts) costs = grid_random_costs(N * k + i, 4, FALSE);

			costs->sharding.unshard = 1000000;
			jobs[i] = (PipesimJob){.order = order,
				.times = pipesim_times_new(costs, &order->shape),
				.runtime = runtime,
				.issuing = pipesim_runtime_asked(runtime, &asked)};
		}
		assert_beside(jobs, N, &kept);
		ck_assert(k != 1 || kept == before);
		before = kept;
	}
	pipesim_shared_free(kept);
}
END_TEST

/* Steps that come one or two at a time share a list where it would be written for each, unless they are long enough to
 * leap. */
START_TEST(kept_of_single_steps)
{
	static const char *const names[][2] = {
		{"1f1b", "single"}, {"dualpipe", "deepseek"}, {"interleaved-1f1b", "megatron"}};
	const PipesimRuntime *runtime = pipesim_runtime_find(names[_i % 3][1], "-", NULL);
	const GridCase point = {.schedule = pipesim_schedule_find(names[_i % 3][0], NULL),
		.ranks = 16,
		.microbatches = _i < 3 ? 32 : 320};
	g_autoptr(PipesimOrder) order = grid_order(&point);
	PipesimShared *kept = NULL, *before = NULL;

	for (guint k = 0; k < 20; k++) {
		const guint n = 1 + k % 2;
		PipesimJob jobs[2];

		for (guint i = 0; i < n; i++) {
			g_autoptr(PipesimCosts) costs = grid_random_costs(2 * k + i, 16, FALSE);

			jobs[i] = (PipesimJob){.order = order,
				.times = pipesim_times_new(costs, &order->shape),
				.runtime = runtime,
				.most_ops = G_MAXUINT32};
			jobs[i].issuing = pipesim_runtime_asked(runtime, &jobs[i].issuing);
		}
		if (_i < 3) {
			assert_beside(jobs, n, &kept);
			ck_assert(k == 0 || kept == before);
			before = kept;
			continue;
		}
		ck_assert(!pipesim_step_run_beside(jobs, n, &kept, NULL));
		for (guint i = 0; i < n; i++)
			pipesim_times_free((PipesimTimes *)jobs[i].times);
	}
	pipesim_shared_free(kept);
}
END_TEST

/* Told as it runs: as its list does. --- */

static guint n_told;

/* Also what the step takes without waits, where that is told on the way. */
static void assert_told(const PipesimOrder *order, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing asked = {.communicators = seed / 4 % 4,
		.active_stages = seed % 3 == 0 ? 0 : 1 + seed % 5,
		.ahead = seed % 7 == 1 ? PIPESIM_AHEAD_AUTO : PIPESIM_AHEAD_FULL,
		.defer_reduce_wait = seed % 8 == 3,
		.no_overlap = seed % 6 == 2,
		.overlap_flush = seed % 5 == 3,
		.keep_outputs = seed % 4 == 3,
		.host_time = seed % 5 == 2 ? 90 : 0};
	const guint ranks = order->shape.ranks;
	g_autoptr(PipesimCosts) costs = grid_random_costs(seed, ranks, seed % 4 == 1);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimStep) step = NULL, listed = NULL, free_step = NULL;
	g_autoptr(PipesimOrder) split = NULL;
	g_autoptr(GError) error = NULL, same = NULL;
	PipesimJob job = {.order = order,
		.runtime = runtime,
		.issuing = pipesim_runtime_asked(runtime, &asked),
		.most_ops = G_MAXUINT32};

	costs->sharding.unshard = costs->sharding.reduce = 0;
	job.times = times = pipesim_times_new(costs, &order->shape);
	step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, &error);
	job.most_ops = 0;
	listed = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, &same);
	ck_assert_int_eq(step == NULL, listed == NULL);
	if (step == NULL) {
		ck_assert_str_eq(error->message, same->message);
		return;
	}
	ck_assert_int_eq(step->makespan, listed->makespan);
	ck_assert_int_eq(step->split, listed->split);
	ck_assert_mem_eq(step->busy, listed->busy, ranks * sizeof *step->busy);
	ck_assert_mem_eq(step->first_start, listed->first_start, ranks * sizeof *step->busy);
	ck_assert_mem_eq(step->last_end, listed->last_end, ranks * sizeof *step->busy);
	if (step->free == 0)
		return;
	n_told++;
	split = pipesim_order_of_program(listed->program);
	job = (PipesimJob){.order = split, .times = times};
	free_step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
	ck_assert_int_eq(step->free, free_step->makespan);
}

START_TEST(told)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimOrder) order = grid_order(point);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(order, NULL);
	g_autoptr(PipesimOrder) numbers = pipesim_order_of_program(program);
	const gboolean interleaved = strcmp(point->schedule->name, "interleaved-1f1b") == 0;
	const gboolean plain = strcmp(point->schedule->name, "1f1b") == 0;

	if (point->ranks * point->microbatches > 400 && (guint)_i % grid_every(7) != 0)
		return;
	n_told = 0;
	for (guint32 i = 0; pipesim_runtime_list()[i] != NULL; i++)
		for (guint32 k = 0; pipesim_runtime_list()[i]->waits && k < 6; k++)
			assert_told(k % 3 == 0 ? numbers : order, pipesim_runtime_list()[i],
				(guint32)_i * 11 + i + 137 * k);
	/* else this would test nothing */
	ck_assert(!(plain || interleaved) || n_told > 0);
}
END_TEST

static PipesimOrder *order_of(const char *name, guint ranks, guint chunks, guint microbatches)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	const PipesimScenario scenario = {
		.ranks = ranks, .chunks = chunks, .microbatches = microbatches};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	return pipesim_schedule_order(schedule, &shape, times, NULL);
}

/* What repeats is left out of a step of more than 2^20 ops, or it is told whole once nothing has been by then. */
START_TEST(told_long)
{
	g_autoptr(PipesimOrder) order =
		order_of(_i == 0 ? "interleaved-1f1b" : "looped-bfs", 2, 0, 140000);

	ck_assert_uint_gt(order->n_ops, 1u << 20);
	n_told = 0;
	assert_told(order, pipesim_runtime_find("pytorch-2.15", "-", NULL), 6);
	ck_assert_uint_eq(n_told, 1);
}
END_TEST

/* Where messages pile up ranks go on at rates of their own, each as fast as costs drawn let it. */
START_TEST(piles)
{
	static const guint ranks[] = {2, 3, 4, 7, 9};
	static const guint microbatches[] = {103, 250, 1301};

	n_told = 0;
	for (guint32 i = 0; i < G_N_ELEMENTS(ranks); i++)
		for (guint32 k = 0; k < G_N_ELEMENTS(microbatches); k++) {
			const guint chunks = 1 + (i + k) % 4;
			g_autoptr(PipesimOrder) order =
				order_of(chunks == 1 ? "gpipe" : "looped-bfs", ranks[i], chunks,
					microbatches[k]);

			for (guint32 seed = 0; seed < 12; seed++)
				assert_told(order,
					pipesim_runtime_find(
						_i == 0 ? "pytorch-2.11" : "pytorch-2.15", "-",
						NULL),
					seed + 12 * k + 101 * i + 7919 * (guint32)_i);
		}
	ck_assert_uint_gt(n_told, 90);
}
END_TEST

/* A billion micro-batches grow from some thousands as these do from fewer. */
START_TEST(billions)
{
	static const char *const names[] = {"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs"};
	static const guint sizes[] = {24000, 36000, 999996000};
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, 4, TRUE);
	const char *name = names[(guint)_i % G_N_ELEMENTS(names)];
	const PipesimRuntime *runtime =
		pipesim_runtime_find(_i < 4 ? "pytorch-2.15" : "megatron", "-", NULL);
	gint64 took[G_N_ELEMENTS(sizes)] = {0};
	g_autoptr(GError) error = NULL;

	costs->sharding.unshard = costs->sharding.reduce = 0;
	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(PipesimOrder) order = order_of(name, 4, 0, sizes[i]);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &order->shape);
		const PipesimJob job = {.order = order,
			.times = times,
			.runtime = runtime,
			.issuing = pipesim_runtime_asked(runtime, &(PipesimIssuing){0}),
			.most_ops = i == 2 ? 1 : 0};
		g_autoptr(PipesimStep) step =
			pipesim_step_run(&job, PIPESIM_WANT_FIGURES, &error);

		took[i] = step != NULL ? step->makespan : -1;
		g_clear_error(&error);
	}
	ck_assert_int_eq(took[2] - took[1],
		(took[1] - took[0]) * ((sizes[2] - sizes[1]) / (sizes[1] - sizes[0])));
	ck_assert_int_eq(took[2] < 0, _i == 4 || _i == 7);
}
END_TEST

/* Long steps: what is multiplied is what a run of all has. --- */

static guint n_leapt, n_long, n_grown, n_stopped;

/* Steps of @schedule grow by the time of a period from one that is a period shorter. */
static void assert_steady(const PipesimSchedule *schedule, const PipesimStep *step)
{
	const PipesimJob *job = &step->job;
	const PipesimShape *shape = &job->order->shape;
	/* Periods are of slices. */
	const guint slices = pipesim_shape_slices(shape);
	const guint32 left = shape->microbatches - (guint32)step->steady.period;
	const PipesimScenario scenario = {
		.ranks = shape->ranks, .microbatches = left / slices, .slices = slices};
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimStep) shorter = NULL;
	g_autoptr(GError) error = NULL;
	PipesimJob whole = *job;
	PipesimShape narrow;

	if (left < step->steady.transient || left % slices > 0 ||
		!pipesim_schedule_shape(schedule, &scenario, &narrow, NULL))
		return;
	whole.order = order = pipesim_schedule_order(schedule, &narrow, job->times, NULL);
	whole.most_ops = 0; /* op by op */
	ck_assert_ptr_nonnull(order);
	shorter = pipesim_step_run(&whole, PIPESIM_WANT_FIGURES, &error);
	if (shorter == NULL) { /* Megatron refuses groups that are too small */
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
		return;
	}
	ck_assert_int_eq(step->makespan - shorter->makespan, step->steady.time);
	n_grown++;
}

/* Whether it is known what stops @job with @error, too, where it is too long to be run. */
static gboolean assert_stops(const PipesimJob *job, const GError *error)
{
	g_autoptr(GError) same = NULL;
	PipesimJob longer = *job;

	longer.most_ops = longer.order->n_ops - 1;
	ck_assert_ptr_null(pipesim_step_run(&longer, PIPESIM_WANT_FIGURES, &same));
	if (same->code == PIPESIM_ERROR_LIMIT)
		return FALSE;
	ck_assert_int_eq(same->code, error->code);
	ck_assert_str_eq(same->message, error->message);
	return TRUE;
}

static void assert_leap(const PipesimSchedule *schedule, const PipesimOrder *order,
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const PipesimIssuing asked = {.communicators = PIPESIM_COMMUNICATOR_RANK + seed % 3,
		.no_overlap = seed % 6 == 2,
		.overlap_flush = seed % 6 == 3,
		.host_time = seed % 5 == 2 ? 90 : 0};
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &asked);
	const guint ranks = program->shape.ranks;
	g_autofree gint64 *of_ranks = g_new0(gint64, 3 * ranks);
	PipesimRuledFigures figures = {.busy = of_ranks,
		.first_start = of_ranks + ranks,
		.last_end = of_ranks + 2 * ranks};
	g_autoptr(PipesimTimes) times = draw_times(program, seed);
	const PipesimJob job = {.order = order,
		.times = times,
		.runtime = runtime,
		.issuing = issuing,
		.most_ops = 1u << 24,
		.period = seed % 4 > 0};
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autoptr(PipesimRuled) ruled =
		lowering != NULL ? pipesim_ruled_new(lowering, &issuing, NULL) : NULL;
	g_autoptr(PipesimStep) step = NULL;
	g_autoptr(GError) error = NULL, same = NULL;
	gboolean done, stops;

	step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, &error);
	if (ruled == NULL || !pipesim_ruled_figures(ruled, times, &figures, &done, &same)) {
		ck_assert_ptr_null(step);
		if (same != NULL)
			ck_assert_str_eq(error->message, same->message);
		stops = assert_stops(&job, error);
		n_stopped += stops;
		/* Whatever it is that comes behind all its first forwards. */
		ck_assert(stops || schedule != &pipesim_schedule_looped_bfs ||
			  issuing.communicators != PIPESIM_COMMUNICATOR_RANK ||
			  program->shape.microbatches < 150);
		return;
	}
	ck_assert_ptr_nonnull(step);
	ck_assert_int_eq(step->makespan, figures.makespan);
	for (guint rank = 0; rank < ranks; rank++) {
		ck_assert_int_eq(step->busy[rank], figures.busy[rank]);
		ck_assert_int_eq(step->first_start[rank], figures.first_start[rank]);
		ck_assert_int_eq(step->last_end[rank], figures.last_end[rank]);
	}
	n_long++;
	n_leapt += step->steady.found;
	ck_assert(!step->steady.found || step->program == NULL);
	if (step->steady.found && seed % 4 == 1)
		assert_steady(schedule, step);
}

/* Halves of pairs are the same in loops and op by op. */
static void assert_parts(const PipesimOrder *order, const PipesimProgram *program)
{
	g_autoptr(PipesimOrder) loops = pipesim_order_split_pairs(order);
	g_autoptr(PipesimOrder) listed = pipesim_order_of_program(program);
	g_autoptr(PipesimProgram) a = pipesim_order_expand(loops, NULL);
	g_autoptr(PipesimProgram) b = pipesim_program_split_pairs(program, NULL);

	ck_assert_uint_eq(loops->n_ops, b->n_ops);
	ck_assert_uint_eq(a->n_ops, b->n_ops);
	ck_assert_mem_eq(a->ops, b->ops, a->n_ops * sizeof *a->ops);
	ck_assert_int_eq(pipesim_order_has_pairs(order), b->n_ops > program->n_ops);
	ck_assert_int_eq(pipesim_order_has_pairs(listed), b->n_ops > program->n_ops);
}

/* Of each schedule, with as many micro-batches as its loops need to be long. */
START_TEST(leaps)
{
	static const guint shapes[][2] = {
		{2, 600}, {4, 384}, {4, 515}, {7, 128}, {8, 320}, {8, 807}};
	const PipesimScenario scenario = {
		.ranks = shapes[_i][0], .microbatches = shapes[_i][1]};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	n_leapt = n_long = n_grown = n_stopped = 0;
	for (guint32 i = 0; pipesim_schedule_list()[i] != NULL; i++) {
		const PipesimSchedule *schedule = pipesim_schedule_list()[i];
		g_autoptr(PipesimTimes) times = NULL;
		g_autoptr(PipesimOrder) order = NULL;
		g_autoptr(PipesimProgram) program = NULL;
		PipesimShape shape;

		if (!pipesim_schedule_shape(schedule, &scenario, &shape, NULL) ||
			pipesim_schedule_is_search(schedule))
			continue;
		times = pipesim_times_new(costs, &shape);
		order = pipesim_schedule_order(schedule, &shape, times, NULL);
		program = pipesim_order_expand(order, NULL);
		if (order->is_closed)
			assert_parts(order, program);
		for (guint32 k = 0; pipesim_runtime_list()[k] != NULL; k++)
			for (guint32 seed = 0; seed < 24; seed += grid_every(24))
				if (pipesim_runtime_list()[k]->waits)
					assert_leap(schedule, order, program,
						pipesim_runtime_list()[k],
						seed + 7 * k + 31 * i + 1009 * (guint32)_i);
	}
	/* else this would test one side only */
	ck_assert_uint_gt(n_leapt, n_long / 4);
	ck_assert_uint_lt(n_leapt, n_long);
	ck_assert_uint_gt(n_grown, 0);
	ck_assert_uint_gt(n_stopped, 0);
}
END_TEST

Suite *engine_ruled_suite(void)
{
	Suite *suite = suite_create("engine-ruled");
	TCase *tcase = tcase_create("grid");
	int count;

	grid_accepted(&count);
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, equals_reference, 0, count);
	tcase_add_loop_test(tcase, lanes_equal_one, 0, count);
	tcase_add_loop_test(tcase, recorded_equal_one, 0, count);
	tcase_add_test(tcase, kept_by_order);
	tcase_add_loop_test(tcase, kept_of_single_steps, 0, 6);
	tcase_add_loop_test(tcase, told, 0, count);
	tcase_add_loop_test(tcase, told_long, 0, 2);
	tcase_add_loop_test(tcase, piles, 0, 2);
	tcase_add_loop_test(tcase, billions, 0, 8);
	tcase_add_loop_test(tcase, leaps, 0, grid_every(2) > 1 ? 4 : 6);
	suite_add_tcase(suite, tcase);
	return suite;
}
