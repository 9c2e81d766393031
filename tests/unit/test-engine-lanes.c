/* Runs side by side and steps drawn at random: the same nanoseconds as one run after another.
 */
#include "engine/draw.h"
#include "engine/lanes-kernel.h"
#include "grid.h"
#include "output/figures.h"
#include "reference-engine.h"
#include "suites.h"
#include <math.h>
#include <string.h>

static const GridCase *accepted_case(int i)
{
	int count;

	return &grid_accepted(&count)[i];
}

/* Wide spreads whose numbers stay with probabilities of their own. */
static PipesimJitter *make_jitter(guint32 seed)
{
	PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){1 + seed % 5, 20});

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		jitter->kind[kind].stay = (kind * 9001 + seed * 7001) % 32768 * (seed % 3 > 0);
		jitter->kind[kind].mirrors = (kind + seed) % 2;
	}
	jitter->n_speeds = seed % 4;
	for (guint i = 0; i < jitter->n_speeds; i++)
		jitter->speed[i] =
			(1 << PIPESIM_SPEED_BITS) + (seed * 40503 + i * 77777) % 200000;
	return jitter;
}

static PipesimDraw *make_draw(
	const PipesimProgram *program, const PipesimTimes *times, const PipesimJitter *jitter)
{
	g_autoptr(GError) error = NULL;
	PipesimDraw *draw = pipesim_draw_new(program, times, jitter, &error);

	ck_assert_msg(draw != NULL, "%s", error != NULL ? error->message : "no error");
	return draw;
}

static void assert_result(
	const PipesimOutcome *result, const PipesimProgram *program, const PipesimTimes *times)
{
	g_autoptr(PipesimTimeline) timeline = reference_run(program, times, NULL);
	PipesimOutcome expected;

	ck_assert_ptr_nonnull(timeline);
	pipesim_lane_result_of(&expected, program, timeline);
	ck_assert_int_eq(result->makespan, expected.makespan);
	ck_assert_int_eq(result->max_idle, expected.max_idle);
	ck_assert_int_eq(result->idle, expected.idle);
}

#define SAMPLES 37

static void assert_samples(PipesimDraw *draw, PipesimTimes *times, guint64 seed)
{
	g_autofree gint64 *durations = g_new(gint64, draw->program->n_ops);
	PipesimOutcome first[SAMPLES], results[SAMPLES];
	const PipesimLaneKernels *const *kernels = pipesim_lane_kernels_list();

	ck_assert(pipesim_draw_run(draw, seed, 0, SAMPLES, 1, first, NULL));
	for (guint sample = (guint)seed % 3; sample < SAMPLES; sample += 9) {
		pipesim_draw_durations(draw, seed, sample, durations);
		times->drawn = durations;
		assert_result(&first[sample], draw->program, times);
		times->drawn = NULL;
	}
	for (guint i = 1; kernels[i] != NULL; i++) {
		draw->lanes->kernels = kernels[i];
		ck_assert(pipesim_draw_run(draw, seed, 0, SAMPLES, 1, results, NULL));
		ck_assert_msg(memcmp(results, first, sizeof first) == 0, "%s differs from %s",
			kernels[i]->name, kernels[0]->name);
	}
}

START_TEST(samples_equal_the_engine)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);

	for (guint32 seed = 0; seed < 2; seed++) {
		const guint32 number = (guint32)_i * 2 + seed;
		g_autoptr(PipesimCosts) costs =
			grid_random_costs(number, point->ranks, seed % 2 == 1);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
		g_autofree PipesimJitter *jitter = make_jitter(number);
		g_autoptr(PipesimDraw) draw = make_draw(program, times, jitter);

		assert_samples(draw, times, number);
	}
}
END_TEST

START_TEST(costs_equal_the_engine)
{
	const GridCase *point = accepted_case(_i);
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimLanes) lanes = pipesim_lanes_new(program, NULL);
	g_autoptr(GPtrArray) costs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_costs_free);
	PipesimOutcome results[21];

	for (guint i = 0; i < G_N_ELEMENTS(results); i++)
		g_ptr_array_add(costs,
			grid_random_costs((guint32)_i * 8 + i, point->ranks, i % 2 == 1));
	ck_assert(pipesim_lanes_evaluate(lanes, (const PipesimCosts *const *)costs->pdata,
		costs->len, 1, results, NULL));
	for (guint i = 0; i < G_N_ELEMENTS(results); i += 5) {
		g_autoptr(PipesimTimes) times =
			pipesim_times_new(g_ptr_array_index(costs, i), &program->shape);

		assert_result(&results[i], program, times);
	}
}
END_TEST

START_TEST(what_if_equals_a_run)
{
	static const char *const names[] = {
		"gpipe", "zb-h2", "dualpipe", "dualpipev", "zb-auto"};
	const PipesimSchedule *schedule = pipesim_schedule_find(names[_i], NULL);
	g_autoptr(GPtrArray) costs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_costs_free);
	PipesimOutcome outcomes[40];

	for (guint i = 0; i < G_N_ELEMENTS(outcomes); i++)
		g_ptr_array_add(costs, grid_random_costs(i, 6, i % 2 == 1));
	for (guint i = 0; i < G_N_ELEMENTS(outcomes); i += 8) {
		g_autoptr(PipesimWhatif) whatif =
			pipesim_whatif_new(schedule, 6, 12, costs->pdata[i], NULL);
		g_autoptr(PipesimRun) run =
			pipesim_simulate(schedule, 6, 12, costs->pdata[i], NULL);

		ck_assert(pipesim_whatif_run(whatif, (const PipesimCosts *const *)costs->pdata,
			costs->len, 1 + i % 3, outcomes, NULL));
		ck_assert_int_eq(outcomes[i].makespan, pipesim_run_makespan(run));
		ck_assert_int_eq(outcomes[i].max_idle, run->report->bubble.max_idle);
	}
}
END_TEST

#define POINTS 40

/* Two shapes, each at many costs; the first step whose sums do not fit is of the second. */
static void make_points(PipesimScenario scenarios[2], GPtrArray *costs, PipesimPoint *points)
{
	for (guint i = 0; i < POINTS; i++) {
		PipesimCosts *own = grid_random_costs(i, 8, i % 2 == 1);

		g_ptr_array_add(costs, own);
		if (i == 30)
			own->time[PIPESIM_F] = PIPESIM_MAX_TIME_NS;
		if (i > 10 && i < 15)
			own->bytes_until_weight = i;
		points[i] = (PipesimPoint){&scenarios[i >= 25], own, NULL};
	}
}

START_TEST(points_equal_runs)
{
	const PipesimSchedule *schedule = pipesim_schedule_list()[_i];
	PipesimScenario scenarios[] = {{.ranks = 8, .microbatches = 20, .memory_limit = 100},
		{.ranks = 8, .microbatches = 16, .compare_at = PIPESIM_AT_STAGES}};
	g_autoptr(GPtrArray) costs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_costs_free);
	PipesimPoint points[POINTS];
	PipesimRun *runs[POINTS];

	for (guint i = 0; i < G_N_ELEMENTS(scenarios); i++)
		scenarios[i].keep = PIPESIM_KEEP_NOTHING;
	make_points(scenarios, costs, points);
	pipesim_run_points(schedule, points, POINTS, runs);
	for (guint i = 0; i < POINTS; i++) {
		g_autoptr(PipesimRun) alone =
			pipesim_run_schedule(schedule, points[i].scenario, points[i].costs);
		PipesimValue expected[PIPESIM_N_SWEPT], values[PIPESIM_N_SWEPT];

		ck_assert_str_eq(runs[i]->error != NULL ? runs[i]->error->message : "",
			alone->error != NULL ? alone->error->message : "");
		if (alone->error == NULL) {
			pipesim_figures_of_point(alone, expected);
			pipesim_figures_of_point(runs[i], values);
			ck_assert_mem_eq(values, expected, sizeof expected);
			ck_assert_mem_eq(runs[i]->report->bubble.span_idle,
				alone->report->bubble.span_idle,
				alone->shape.ranks * sizeof(gint64));
		}
		pipesim_run_free(runs[i]);
	}
}
END_TEST

static PipesimProgram *make_named(const char *name, guint ranks, guint microbatches)
{
	const GridCase point = {
		.schedule = pipesim_schedule_find(name, NULL),
		.ranks = ranks,
		.microbatches = microbatches,
	};

	return grid_program(&point);
}

START_TEST(threads_change_nothing)
{
	g_autoptr(PipesimProgram) program = make_named("dualpipe", 8, 20);
	g_autoptr(PipesimCosts) costs = grid_random_costs(5, 8, TRUE);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autofree PipesimJitter *jitter = make_jitter(7);
	g_autoptr(PipesimDraw) draw = make_draw(program, times, jitter);
	PipesimOutcome alone[500], several[500];

	ck_assert(pipesim_draw_run(draw, 3, 0, 500, 1, alone, NULL));
	for (guint threads = 0; threads <= 3; threads++) {
		memset(several, 0, sizeof several);
		ck_assert(pipesim_draw_run(draw, 3, 0, 500, threads, several, NULL));
		ck_assert_mem_eq(several, alone, sizeof alone);
	}
	/* The same samples, however they are cut. */
	ck_assert(pipesim_draw_run(draw, 3, 123, 77, 2, several, NULL));
	ck_assert_mem_eq(several, alone + 123, 77 * sizeof *alone);
	ck_assert(pipesim_draw_run(draw, 4, 0, 500, 1, several, NULL));
	ck_assert_mem_ne(several, alone, sizeof alone);
}
END_TEST

START_TEST(numbers_stay_as_they_are)
{
	/* of seed 1: what earlier versions drew, on any machine */
	const PipesimSampleKey key = pipesim_sample_key(1, 0);
	g_autoptr(PipesimProgram) program = make_named("1f1b", 4, 8);
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, -1, 50000);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){3, 100});
	g_autoptr(PipesimDraw) draw = make_draw(program, times, jitter);
	PipesimOutcome results[2];

	ck_assert_uint_eq(pipesim_random(key, 5 * PIPESIM_PLACE_STEP), 463869093);
	ck_assert(pipesim_draw_run(draw, 1, 0, 2, 1, results, NULL));
	ck_assert_int_eq(results[0].makespan, 33624811);
	ck_assert_int_eq(results[1].idle, 39285333);
}
END_TEST

/* Figures of what one rank's ops of one kind take. */
typedef struct {
	double mean, sd, lag;
} Drawn;

static Drawn draw_many(const PipesimSpread *spread)
{
	enum {
		M = 512,
		N = 200
	};
	g_autoptr(PipesimProgram) program = make_named("gpipe", 1, M);
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 500000, 500000, -1, 0);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){0, 1});
	g_autoptr(PipesimDraw) draw = NULL;
	g_autofree gint64 *ns = g_new(gint64, program->n_ops);
	double sum = 0, squares = 0, products = 0, mean, variance;

	jitter->kind[PIPESIM_F] = *spread;
	draw = make_draw(program, times, jitter);
	for (guint sample = 0; sample < N; sample++) {
		pipesim_draw_durations(draw, 11, sample, ns);
		for (guint i = 0; i < M; i++) {
			const double x = (double)ns[program->forward[i]] / 1e6 - 1;

			sum += x;
			squares += x * x;
			if (i > 0)
				products += x * ((double)ns[program->forward[i - 1]] / 1e6 - 1);
		}
	}
	mean = sum / (M * N);
	variance = squares / (M * N) - mean * mean;
	return (Drawn){
		1 + mean, sqrt(variance), (products / ((M - 1) * N) - mean * mean) / variance};
}

START_TEST(draws_have_the_spread)
{
	static const double lags[] = {0, 0.3, 0.76, -0.4};
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){3, 100});
	PipesimSpread spread = jitter->kind[PIPESIM_F];
	Drawn drawn;

	spread.stay = (guint32)(fabs(lags[_i]) * 32768);
	spread.mirrors = lags[_i] < 0;
	drawn = draw_many(&spread);
	/* some standard errors of 100,000 draws */
	ck_assert_double_eq_tol(drawn.mean, 1, 0.001);
	ck_assert_double_eq_tol(drawn.sd, 0.03, 0.0005);
	ck_assert_double_eq_tol(drawn.lag, lags[_i], 0.015);
}
END_TEST

/* A component of @mean with quantiles of an exponential-like right tail. */
static PipesimComponent *make_component(
	const char *name, const char *phase, gint64 mean, double lag1)
{
	PipesimComponent *component = g_new0(PipesimComponent, 1);

	component->component = g_strdup(name);
	component->phase = g_strdup(phase);
	component->impl = g_strdup("");
	component->figures.samples = 1000;
	component->figures.mean = mean;
	component->figures.median = mean * 98 / 100;
	component->figures.sd = mean / 20;
	for (guint i = 0; i < PIPESIM_QUANTILES; i++)
		component->figures.quantile[i] =
			mean * 94 / 100 + mean * (gint64)(i * i * (i == 20 ? 2 : 1)) / 4000;
	component->figures.min = component->figures.quantile[0];
	component->figures.max = component->figures.quantile[20];
	component->figures.p99 = (component->figures.quantile[19] + component->figures.max) / 2;
	component->figures.lag1 = lag1;
	return component;
}

static PipesimCosts *make_measured(guint layers, double lag1)
{
	PipesimCosts *costs = grid_costs(4000000, 3000000, 2000000, -1, 0);

	costs->layers = layers;
	costs->components =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_component_free);
	g_ptr_array_add(costs->components, make_component("attn", "F", 3000000, lag1));
	g_ptr_array_add(costs->components, make_component("mlp", "F", 1000000, lag1));
	g_ptr_array_add(costs->components, make_component("attn", "I", 3000000, lag1));
	g_ptr_array_add(costs->components, make_component("attn", "W", 2000000, lag1));
	return costs;
}

START_TEST(sums_of_components)
{
	static const struct {
		guint layers, chunks;
		double lag1, sd, lag;
	} cases[] = {
		/* sd of one layer: hypot(3, 1) / 20 of a median of 3.92 */
		{1, 1, 0, 0.040335, 0},
		{1, 1, 0.5, 0.040335, 0.5},
		{4, 1, 0, 0.020168, 0},
		/* 4 + 2 (3/2 + 2/4 + 1/8) = 8.25 instead of 16 and 4; 1/2 (15/8)^2 = 1.758 */
		{4, 1, 0.5, 0.028963, 0.213},
		{1, 1, -0.5, 0.040335, -0.5},
		/* An op is of the layers of a chunk, not of a rank. */
		{8, 2, 0, 0.020168, 0},
		{2, 2, 0.5, 0.040335, 0.5},
	};
	const PipesimShape shape = make_shape(4, cases[_i].chunks, 8, PIPESIM_LOOPED);
	g_autoptr(PipesimCosts) costs = make_measured(cases[_i].layers, cases[_i].lag1);
	g_autofree PipesimJitter *jitter = pipesim_jitter_measured(costs, &shape, NULL);
	const PipesimSpread *spread = &jitter->kind[PIPESIM_F];
	const Drawn drawn = draw_many(spread);

	ck_assert_double_eq_tol(drawn.mean, 1 / 0.98, 0.001);
	ck_assert_double_eq_tol(drawn.sd, cases[_i].sd, 0.0006);
	ck_assert_double_eq_tol((double)spread->stay / 32768 * (spread->mirrors ? -1 : 1),
		cases[_i].lag, 0.001);
	/* What was not measured spreads as what it is made of. */
	ck_assert_int_lt(jitter->kind[PIPESIM_B].knot[1], jitter->kind[PIPESIM_B].knot[31]);
	ck_assert_int_lt(jitter->kind[PIPESIM_FB].knot[1], jitter->kind[PIPESIM_FB].knot[31]);
}
END_TEST

START_TEST(nothing_to_draw_from)
{
	const PipesimShape shape = make_shape(4, 1, 8, PIPESIM_LOOPED);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_jitter_measured(costs, &shape, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
}
END_TEST

START_TEST(too_long_to_draw)
{
	g_autoptr(PipesimProgram) program = make_named("gpipe", 4, 8);
	g_autoptr(PipesimCosts) costs = grid_costs(PIPESIM_MAX_TIME_NS / 64, 0, 0, -1, 0);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autofree PipesimJitter *jitter = make_jitter(1);
	g_autoptr(PipesimLanes) lanes = pipesim_lanes_new(program, NULL);
	const PipesimCosts *const list[] = {costs};
	PipesimOutcome result;
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_draw_new(program, times, jitter, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
	/* given times run by themselves, until they too are too long */
	ck_assert(pipesim_lanes_evaluate(lanes, list, 1, 1, &result, NULL));
	assert_result(&result, program, times);
	costs->time[PIPESIM_F] = PIPESIM_MAX_TIME_NS;
	g_clear_error(&error);
	ck_assert(!pipesim_lanes_evaluate(lanes, list, 1, 1, &result, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
}
END_TEST

Suite *engine_lanes_suite(void)
{
	Suite *suite = suite_create("engine-lanes");
	TCase *grid = tcase_create("grid");
	TCase *draws = tcase_create("draws");
	int count, n_schedules = 0;

	grid_accepted(&count);
	while (pipesim_schedule_list()[n_schedules] != NULL)
		n_schedules++;
	tcase_add_loop_test(grid, samples_equal_the_engine, 0, count);
	tcase_add_loop_test(grid, costs_equal_the_engine, 0, count);
	tcase_add_loop_test(draws, what_if_equals_a_run, 0, 5);
	tcase_add_loop_test(draws, points_equal_runs, 0, n_schedules);
	tcase_add_test(draws, threads_change_nothing);
	tcase_add_test(draws, numbers_stay_as_they_are);
	tcase_add_loop_test(draws, draws_have_the_spread, 0, 4);
	tcase_add_loop_test(draws, sums_of_components, 0, 7);
	tcase_add_test(draws, nothing_to_draw_from);
	tcase_add_test(draws, too_long_to_draw);
	suite_add_tcase(suite, grid);
	suite_add_tcase(suite, draws);
	return suite;
}
