/* Figures of steps drawn at random. */
#include "engine/draw.h"
#include "grid.h"
#include "suites.h"

static PipesimSamples *make_samples(const GridCase *point, const PipesimTimes *times,
	const PipesimNetwork *network, guint n)
{
	const PipesimScenario scenario = {.samples = n, .seed = 9, .jitter = {1, 20}};
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimStep) step = pipesim_step_run(
		&(PipesimJob){.order = order, .times = times, .network = network},
		PIPESIM_WANT_OPS, &error);
	PipesimSamples *samples = NULL;

	if (step != NULL)
		samples = pipesim_samples_new(step, costs, &scenario, &error);
	ck_assert_msg(samples != NULL, "%s", error != NULL ? error->message : "no error");
	return samples;
}

/* Over links that hold any number of messages in no time each sample is simulated by itself. */
START_TEST(one_by_one_is_the_same)
{
	const GridCase point = {.schedule = pipesim_schedule_find("dualpipe", NULL),
		.ranks = 4,
		.microbatches = 8};
	g_autoptr(PipesimProgram) program = grid_program(&point);
	g_autoptr(PipesimCosts) costs = grid_random_costs(3, 4, TRUE);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	g_autoptr(PipesimSamples) beside = NULL, after = NULL;

	times->p2p = 0;
	beside = make_samples(&point, times, NULL, 50);
	after = make_samples(&point, times, network, 50);
	ck_assert_mem_eq(beside->results, after->results, 50 * sizeof *beside->results);
}
END_TEST

static guint count_upto(const PipesimSamples *samples, double value)
{
	guint n = 0;

	for (guint i = 0; i < samples->n; i++)
		n += (double)samples->results[i].makespan <= value;
	return n;
}

START_TEST(quantiles_are_order_statistics)
{
	const GridCase point = {
		.schedule = pipesim_schedule_find("1f1b", NULL), .ranks = 4, .microbatches = 8};
	g_autoptr(PipesimProgram) program = grid_program(&point);
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, -1, 0);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimSamples) samples = make_samples(&point, times, NULL, 400);
	const PipesimQuantile *step = samples->makespan;

	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_P5].value), 20);
	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_MEDIAN].value), 200);
	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_P99].value), 396);
	/* 200 -+ 1.96 sqrt(400 / 4) = 180.4 and 219.6 */
	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_MEDIAN].low), 180);
	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_MEDIAN].high), 221);
	ck_assert(step[PIPESIM_MEDIAN].is_bounded);
	/* 396 + 1.96 sqrt(400 * 0.01 * 0.99) = 399.9: there is no sample 401 */
	ck_assert(!step[PIPESIM_P99].is_bounded);
	ck_assert_uint_eq(count_upto(samples, step[PIPESIM_P99].high), 400);
}
END_TEST

static void assert_no_jitter(const PipesimRun *run)
{
	ck_assert_ptr_nonnull(run->samples);
	for (guint i = 0; i < run->samples->n; i++) {
		ck_assert_int_eq(run->samples->results[i].makespan, run->report->makespan);
		ck_assert_int_eq(
			run->samples->results[i].max_idle, run->report->bubble.max_idle);
	}
}

/* Under every way of communicating, with slow ranks, pairs whole and in halves, without links
 * and over a bus that all messages share. */
START_TEST(no_jitter_is_no_jitter)
{
	static const PipesimRuntime *const runtimes[] = {&pipesim_runtime_async,
		&pipesim_runtime_pytorch_2_11, &pipesim_runtime_single,
		&pipesim_runtime_deepseek, &pipesim_native_runtime};
	static const char *const names[] = {"1f1b", "zb-h1", "dualpipe", "dualpipev"};
	PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .samples = 20, .seed = 1, .jitter = {0, 1}};
	g_autoptr(PipesimCosts) costs = grid_random_costs(7, 4, TRUE);
	guint n = 0;

	scenario.runtime = runtimes[_i / 2];
	if (_i % 2 == 1) {
		costs->network = pipesim_network_new();
		costs->network->intra = (PipesimLinkSpeed){5000, 1000000000, TRUE};
		costs->network->share = PIPESIM_LINK_NODE;
		costs->network->message_bytes = 100000;
		costs->network->slowdown[PIPESIM_F] = (PipesimFraction){11, 10};
	}
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		PipesimRun *run = pipesim_run_schedule(
			pipesim_schedule_find(names[i], NULL), &scenario, costs);

		if (run->error == NULL) { /* some deadlock */
			assert_no_jitter(run);
			n++;
		}
		pipesim_run_free(run);
	}
	ck_assert_uint_ge(n, 2);
}
END_TEST

/* Where no link is shared and takes P2P, samples are those without links, drawn side by side.
 */
START_TEST(links_of_their_own_change_nothing)
{
	static const char *const names[] = {"1f1b", "zb-h1", "dualpipe", "dualpipev"};
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .samples = 30, .seed = 4, .jitter = {1, 10}};
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1100000, 900000, 2700000, 70000);
	const PipesimSchedule *schedule = pipesim_schedule_find(names[_i], NULL);
	PipesimRun *plain = pipesim_run_schedule(schedule, &scenario, costs), *links;

	costs->network = pipesim_network_new();
	costs->network->intra.latency = 70000;
	links = pipesim_run_schedule(schedule, &scenario, costs);
	ck_assert_ptr_nonnull(links->network);
	ck_assert_mem_eq(plain->samples->results, links->samples->results,
		30 * sizeof *plain->samples->results);
	pipesim_run_free(plain);
	pipesim_run_free(links);
}
END_TEST

START_TEST(somebody_wins_every_sample)
{
	static const char *const names[] = {"1f1b", "gpipe", "zb-h1", "zb-h2", "dualpipe"};
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .samples = 300, .seed = 1, .jitter = {1, 5}};
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, -1, 0);
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	guint wins = 0, best = 0;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		g_ptr_array_add(comparison->runs,
			pipesim_run_schedule(
				pipesim_schedule_find(names[i], NULL), &scenario, costs));
	pipesim_comparison_finish(comparison);
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		wins += run->samples->wins;
		best = MAX(best, run->samples->wins);
	}
	ck_assert_uint_eq(wins, 300);
	ck_assert_uint_lt(best, 300);
}
END_TEST

Suite *analysis_samples_suite(void)
{
	Suite *suite = suite_create("analysis-samples");
	TCase *samples = tcase_create("samples");

	tcase_add_test(samples, one_by_one_is_the_same);
	tcase_add_test(samples, quantiles_are_order_statistics);
	tcase_add_loop_test(samples, no_jitter_is_no_jitter, 0, 10);
	tcase_add_loop_test(samples, links_of_their_own_change_nothing, 0, 4);
	tcase_add_test(samples, somebody_wins_every_sample);
	suite_add_tcase(suite, samples);
	return suite;
}
