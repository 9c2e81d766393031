/* The long run: a step that is longer by whole periods takes longer by whole periods. */
#include "analysis/steady.h"
#include "engine/stream.h"
#include "grid.h"
#include "suites.h"

/* The slope says what steps of the plain engine, op by op, differ by beyond the transient. */
static void assert_slope(
	const PipesimSchedule *schedule, guint ranks, const PipesimCosts *costs)
{
	const PipesimScenario scenario = {.ranks = ranks};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimSteadyState) state =
		pipesim_steady_state_new(schedule, &scenario, costs, &error);
	guint64 step, first;
	g_autoptr(PipesimRun) shorter = NULL, longer = NULL;

	if (state == NULL) {
		ck_assert_msg(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT),
			"%s", error->message);
		return;
	}
	ck_assert_uint_gt(state->period, 0);
	/* A multiple of the period and of what rules divide by. */
	step = state->period * 4 * ranks;
	first = (state->transient / (4 * ranks) + 1) * 4 * ranks;
	if (first + step > 6000)
		return; /* too long to be run op by op */
	shorter = make_run(schedule->name, ranks, (guint)first, costs);
	longer = make_run(schedule->name, ranks, (guint)(first + step), costs);
	ck_assert_ptr_null(shorter->error);
	ck_assert_ptr_null(longer->error);
	ck_assert_msg((longer->report->makespan - shorter->report->makespan) *
				      (gint64)state->period ==
			      state->time * (gint64)step,
		"%s: %" G_GUINT64_FORMAT " micro-batches take %" G_GINT64_FORMAT
		" ns, the slope is %" G_GINT64_FORMAT "/%" G_GUINT64_FORMAT,
		schedule->name, step, longer->report->makespan - shorter->report->makespan,
		state->time, state->period);
	for (guint rank = 0; rank < ranks; rank++)
		ck_assert_int_le(state->idle[rank].num, state->idle[rank].den);
}

static const gint64 timings[][5] = {{1000, 1000, 1000, 3000, 0}, {1000, 1300, 800, 2500, 70},
	{1500, 1000, 1000, 3100, 0}, {997, 1009, 503, 2203, 31}};

START_TEST(slope_is_what_steps_differ_by)
{
	static const guint ranks[] = {1, 2, 4, 6};
	const PipesimSchedule *schedule = pipesim_schedule_list()[_i];

	for (guint t = 0; t < G_N_ELEMENTS(timings); t++) {
		const gint64 *time = timings[t];
		g_autoptr(PipesimCosts) costs =
			grid_costs(time[0], time[1], time[2], time[3], time[4]);

		assert_slope(schedule, ranks[(t + (guint)_i) % G_N_ELEMENTS(ranks)], costs);
	}
}
END_TEST

/* By hand: the slowest stage of 1F1B decides, (1 + 2) * 1.5 ms a micro-batch. */
START_TEST(slowest_stage_decides)
{
	const PipesimScenario scenario = {.ranks = 4};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimSteadyState) state = NULL;

	ck_assert(pipesim_costs_parse_scale(costs, "2=1.5", "x", 4, NULL));
	state = pipesim_steady_state_new(
		pipesim_schedule_find("1f1b", NULL), &scenario, costs, NULL);
	ck_assert_ptr_nonnull(state);
	ck_assert_int_eq(state->microbatch.num, 4500000);
	ck_assert_int_eq(state->microbatch.den, 1);
	ck_assert_int_eq(state->idle[2].num, 0);
	ck_assert_int_eq(state->idle[0].num * 3, state->idle[0].den);
}
END_TEST

/* By hand: three ranks work for 33 of 35 ns, one always; over odd numbers of micro-batches too.
 */
START_TEST(bubble_of_all_is_exact)
{
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 1001};
	g_autoptr(PipesimCosts) costs = grid_costs(11, 11, 11, -1, 0);
	g_autoptr(PipesimSteadyState) state = NULL;

	ck_assert(pipesim_costs_parse_scale(costs, "2=1.05", "x", 4, NULL));
	state = pipesim_steady_state_new(
		pipesim_schedule_find("1f1b", NULL), &scenario, costs, NULL);
	ck_assert_ptr_nonnull(state);
	ck_assert_int_eq(state->idle[2].num, 0);
	ck_assert_int_eq(state->idle[0].num, 2);
	ck_assert_int_eq(state->idle[0].den, 35);
	ck_assert_int_eq(state->ratio.num, 3);
	ck_assert_int_eq(state->ratio.den, 70);
}
END_TEST

START_TEST(nothing_to_wait_for)
{
	const PipesimScenario scenario = {.ranks = 4};
	g_autoptr(PipesimCosts) costs = grid_costs(0, 0, 0, -1, 0);
	g_autoptr(PipesimSteadyState) state = pipesim_steady_state_new(
		pipesim_schedule_find("1f1b", NULL), &scenario, costs, NULL);

	ck_assert_ptr_nonnull(state);
	ck_assert_int_eq(state->time, 0);
	ck_assert_int_eq(state->ratio.num, 0);
	ck_assert_int_eq(state->idle[1].num, 0);
}
END_TEST

START_TEST(phases_after_each_other_have_no_steady_state)
{
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 400};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_steady_state_new(
		pipesim_schedule_find("gpipe", NULL), &scenario, costs, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
}
END_TEST

Suite *analysis_steady_suite(void)
{
	Suite *suite = suite_create("analysis-steady");
	TCase *tcase = tcase_create("slope");
	int n = 0;

	while (pipesim_schedule_list()[n] != NULL)
		n++;
	tcase_add_loop_test(tcase, slope_is_what_steps_differ_by, 0, n);
	tcase_add_test(tcase, slowest_stage_decides);
	tcase_add_test(tcase, bubble_of_all_is_exact);
	tcase_add_test(tcase, nothing_to_wait_for);
	tcase_add_test(tcase, phases_after_each_other_have_no_steady_state);
	suite_add_tcase(suite, tcase);
	return suite;
}
