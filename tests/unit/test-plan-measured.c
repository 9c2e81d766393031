/* Steps that were run correct what is described. */
#include "plan/planner.h"
#include "schedule/schedule.h"
#include "shipped.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <math.h>

/* Sizes whose messages are a little or much of the step. */
static const struct {
	gint64 tp, dp;
	guint ranks, microbatches;
	const char *schedule;
} runs[] = {{1, 4, 4, 16, "1f1b"}, {8, 1, 2, 32, "1f1b"}, {2, 2, 4, 24, "gpipe"},
	{4, 2, 2, 32, "zb-h1"}, {8, 2, 1, 16, "1f1b"}};

static PipesimWish wish_of(const PipesimTransformer *model, PipesimDevice *device)
{
	return (PipesimWish){.model = model,
		.training = pipesim_training_on_one(4096, 1),
		.device = device,
		.gpus = 16,
		.per_node = 8,
		.memory = G_GINT64_CONSTANT(80) << 30};
}

/* ms of run @i. */
static double step_of(const PipesimWish *wish, guint i)
{
	PipesimCandidate candidate = {.training = wish->training,
		.schedule = pipesim_schedule_find(runs[i].schedule, NULL),
		.ranks = runs[i].ranks,
		.microbatches = runs[i].microbatches};
	const PipesimScenario scenario = pipesim_planner_scenario(wish, &candidate);
	g_autoptr(PipesimCosts) costs = NULL;
	g_autoptr(PipesimRun) run = NULL;

	candidate.training.tp = runs[i].tp;
	candidate.training.dp = runs[i].dp;
	candidate.training.sequence_parallel = runs[i].tp > 1;
	costs = pipesim_planner_costs(wish, &candidate, NULL);
	ck_assert(costs != NULL);
	run = pipesim_run_schedule(candidate.schedule,
		&(PipesimScenario){.ranks = candidate.ranks,
			.microbatches = candidate.microbatches,
			.keep = scenario.keep,
			.seed = 1},
		costs);
	ck_assert(run->error == NULL);
	return (double)run->report->training.step / 1e6;
}

/* A GPU whose kernels and messages are slower than described: as many factors as its steps can
 * tell apart, which then predict the steps that were held out. */
START_TEST(finds_what_was_slower)
{
	const guint n = _i == 0 ? 1 : 4;
	const double slower[] = {1.2, _i == 0 ? 1.2 : 1.7};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimDevice *device = shipped_device("h100");
	PipesimWish wish = wish_of(model, device);
	double real[G_N_ELEMENTS(runs)];
	g_autoptr(GString) file = g_string_new("tp,dp,pp,microbatches,schedule,step_ms\n");
	g_autofree char *path = NULL;
	const gint opened = g_file_open_tmp("pipesim-XXXXXX.csv", &path, NULL);
	PipesimPlanMeasured found;
	GError *error = NULL;

	for (guint i = 0; i < 2; i++)
		wish.training.pace[i] = slower[i];
	for (guint i = 0; i < G_N_ELEMENTS(runs); i++)
		real[i] = step_of(&wish, i);
	for (guint i = 0; i < 2; i++)
		wish.training.pace[i] = 0;
	for (guint i = 0; i < n; i++)
		g_string_append_printf(file, "%d,%d,%u,%u,%s,%.6f\n", (int)runs[i].tp,
			(int)runs[i].dp, runs[i].ranks, runs[i].microbatches, runs[i].schedule,
			real[i]);
	ck_assert(g_file_set_contents(path, file->str, -1, NULL));
	ck_assert_msg(pipesim_planner_measure(&wish, path, &found, &error), "%s",
		error != NULL ? error->message : "");
	g_close(opened, NULL);
	g_unlink(path);
	ck_assert_uint_eq(found.steps, n);
	ck_assert_uint_eq(found.factors, n == 1 ? 1 : 2);
	ck_assert_double_gt(found.before, 0.1);
	ck_assert_double_lt(found.after, 0.005);
	ck_assert_double_eq_tol(found.pace[0], slower[0], 0.03);
	if (n > 1)
		ck_assert_double_eq_tol(found.pace[1], slower[1], 0.05);
	memcpy(wish.training.pace, found.pace, sizeof found.pace);
	for (guint i = n; i < G_N_ELEMENTS(runs); i++)
		ck_assert_double_eq_tol(step_of(&wish, i) / real[i], 1, 0.03);
}
END_TEST

Suite *plan_measured_suite(void)
{
	Suite *suite = suite_create("plan-measured");
	TCase *tests = tcase_create("measured");

	tcase_add_loop_test(tests, finds_what_was_slower, 0, 2);
	suite_add_tcase(suite, tests);
	return suite;
}
