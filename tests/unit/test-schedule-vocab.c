/* Schedules with passes over parts of the vocabulary, which engines of plain ops do not run. */
#include "analysis/best-order.h"
#include "analysis/run.h"
#include "grid.h"
#include "order/more.h"
#include "runtime/csv.h"
#include "shipped.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <string.h>

static const guint shapes[][2] = {{1, 1}, {1, 4}, {2, 1}, {2, 2}, {2, 3}, {2, 9}, {3, 1},
	{3, 3}, {3, 7}, {4, 2}, {4, 4}, {4, 5}, {4, 12}, {5, 3}, {5, 13}, {7, 15}, {8, 3},
	{8, 8}, {8, 10}, {8, 24}, {13, 40}, {16, 64}};

static const char *const times[] = {"F=1,B=2,S=0.3,T=0.3", "F=1,B=1,S=0.1,T=0.7",
	"F=1.1,B=3.7,S=0.9,T=0.2", "F=2,B=2,S=2,T=1", "F=1,I=1,W=1"};

static PipesimCosts *costs_of(const char *text)
{
	PipesimCosts *costs = pipesim_costs_default();

	ck_assert(pipesim_costs_parse_times(costs, text, "x", 0, NULL));
	return costs;
}

static void assert_complete(const PipesimProgram *program, const char *what)
{
	g_autoptr(GString) csv = g_string_new(NULL);
	g_autoptr(GString) again = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimProgram) read = NULL;

	/* Reading checks that each pass is there, and all ranks are in each collective. */
	pipesim_schedule_write_csv(program, csv);
	read = parse_program(csv->str, csv->len, "x", &error);
	ck_assert_msg(read != NULL, "%s: %s", what, error != NULL ? error->message : "");
	pipesim_schedule_write_csv(read, again);
	ck_assert_msg(strcmp(csv->str, again->str) == 0, "%s", what);
}

/* Where collectives take no time, ranks idle as long as the published bubble, and hold as much. */
static void assert_published(const PipesimRun *run, const char *what)
{
	const PipesimReport *report = run->report;

	ck_assert_msg(report->bubble.max_idle == report->published.bubble ||
			      run->shape.microbatches + 1 < run->shape.ranks,
		"%s: %" G_GINT64_FORMAT " idle", what, report->bubble.max_idle);
	ck_assert_msg(report->held.max_peak * report->published.activations.den ==
			      report->published.activations.num * report->held.unit.den,
		"%s: %u held", what, report->held.max_peak);
}

START_TEST(orders_do_what_they_say)
{
	const PipesimScenario scenario = {.ranks = shapes[_i][0],
		.microbatches = shapes[_i][1],
		.keep = PIPESIM_KEEP_OPS};

	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
		for (guint k = 0; k < G_N_ELEMENTS(times) && (*s)->barriers > 0; k++) {
			g_autofree char *what = g_strdup_printf("%s at %u/%u, %s", (*s)->name,
				scenario.ranks, scenario.microbatches, times[k]);
			g_autoptr(PipesimCosts) costs = costs_of(times[k]);
			g_autoptr(PipesimRun) run = pipesim_run_schedule(*s, &scenario, costs);

			ck_assert_msg(run->error == NULL, "%s: %s", what,
				run->error != NULL ? run->error->message : "");
			assert_complete(run->step->whole, what);
			if ((*s)->placement != PIPESIM_V)
				assert_published(run, what);
		}
}
END_TEST

/* On every rank a micro-batch more than V-Half for each barrier: two chunks. */
START_TEST(barriers_hold_activations)
{
	static const char *const names[] = {"v-half", "v-half-vocab-2", "v-half-vocab-1"};
	const PipesimScenario scenario = {
		.ranks = (guint)_i, .microbatches = 2 * (guint)_i + (guint)_i % 3};
	g_autoptr(PipesimCosts) costs = costs_of("F=1,B=2,S=0.3,T=0.3");
	guint plain = 0;

	for (guint barriers = 0; barriers <= 2; barriers++) {
		g_autoptr(PipesimRun) run = pipesim_run_schedule(
			pipesim_schedule_find(names[barriers], NULL), &scenario, costs);

		plain = barriers == 0 ? run->report->held.max_peak : plain;
		for (guint rank = 0; rank < scenario.ranks; rank++)
			ck_assert_uint_eq(run->report->held.peak[rank], plain + 2 * barriers);
	}
}
END_TEST

/* Runs side by side share an order only where it does not go by their times. */
START_TEST(points_have_orders_of_their_own)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("vocab-2", NULL);
	const PipesimScenario scenario = {.ranks = 8, .microbatches = 16};
	g_autoptr(PipesimCosts) a = costs_of("F=1,B=1,S=0.2,T=0.2,BCAST_H=0.1,REDUCE_S=0.1");
	g_autoptr(PipesimCosts) b = costs_of("F=1,B=3.5,S=0.2,T=0.2,BCAST_H=0.1,REDUCE_S=0.1");
	const PipesimPoint points[] = {{&scenario, a, NULL}, {&scenario, b, NULL}};
	g_autoptr(PipesimRun) alone = pipesim_run_schedule(schedule, &scenario, b);
	g_autoptr(PipesimProgram) of_a = pipesim_best_program(schedule, &scenario, a, NULL);
	g_autoptr(PipesimProgram) of_b = pipesim_best_program(schedule, &scenario, b, NULL);
	PipesimRun *runs[2];

	ck_assert_mem_ne(of_a->ops, of_b->ops, of_a->n_ops * sizeof *of_a->ops);
	pipesim_run_points(schedule, points, 2, runs);
	ck_assert_int_eq(runs[1]->report->makespan, alone->report->makespan);
	pipesim_run_free(runs[0]);
	pipesim_run_free(runs[1]);
}
END_TEST

/* A described model as a whole is the same work, wherever its vocabulary is, and the same parameters. */
START_TEST(cut_vocabulary_is_all_of_it)
{
	static const char *const names[] = {"1f1b", "vocab-1", "vocab-2", "v-half-vocab-2"};
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 8};
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	PipesimTraining training = pipesim_training_on_one(2048, 1);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimRates rates;
	double busy[4] = {0}, parameters[4] = {0};
	gint64 highest[4] = {0};

	training.vocab_parallel = TRUE;
	rates = pipesim_device_rates(shipped_device("h100"), &training);
	costs->p2p = 1000;
	ck_assert(pipesim_cutter_take(
		pipesim_cutter_new(pipesim_transformer_copy(model), &training, NULL, &rates),
		scenario.ranks, costs, NULL));
	for (guint i = 0; i < 4; i++) {
		g_autoptr(PipesimRun) run = pipesim_run_schedule(
			pipesim_schedule_find(names[i], NULL), &scenario, costs);

		ck_assert_msg(run->error == NULL, "%s", names[i]);
		for (guint rank = 0; rank < scenario.ranks; rank++) {
			busy[i] += (double)run->report->bubble.busy[rank];
			parameters[i] += (double)run->report->memory.parameters[rank];
			highest[i] = MAX(highest[i], run->report->bubble.busy[rank]);
		}
		/* All ranks look up the embedding; they hold two hidden states and logits. */
		ck_assert_double_ge(busy[i], busy[0] * 0.999);
		ck_assert_double_le(busy[i], busy[0] * 1.01);
		ck_assert_double_ge(parameters[i], parameters[0]);
		ck_assert_double_le(parameters[i], parameters[0] * 1.05);
		ck_assert(i == 0 || highest[i] < highest[0] * 0.85);
	}
	training.vocab_parallel = FALSE;
	ck_assert(pipesim_cutter_take(
		pipesim_cutter_new(pipesim_transformer_copy(model), &training, NULL, &rates),
		scenario.ranks, costs, NULL));
	for (guint i = 1; i < 4; i++) {
		g_autoptr(PipesimRun) run = pipesim_run_schedule(
			pipesim_schedule_find(names[i], NULL), &scenario, costs);

		ck_assert(g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	}
}
END_TEST

Suite *schedule_vocab_suite(void)
{
	Suite *suite = suite_create("schedule-vocab");
	TCase *tcase = tcase_create("passes");

	tcase_add_loop_test(tcase, orders_do_what_they_say, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(tcase, barriers_hold_activations, 2, 13);
	tcase_add_test(tcase, cut_vocabulary_is_all_of_it);
	tcase_add_test(tcase, points_have_orders_of_their_own);
	suite_add_tcase(suite, tcase);
	return suite;
}
