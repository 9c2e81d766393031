/* Limits of memory, however they are told: search, bound and report count alike. */
#include "grid.h"
#include "model/random.h"
#include "optimize/search.h"
#include "optimize/within.h"
#include "shipped.h"
#include "suites.h"
#include "transformer/cutter.h"
#include <string.h>

static const struct {
	PipesimPlacement placement;
	guint ranks, chunks, m;
} shapes[] = {
	{PIPESIM_LOOPED, 4, 1, 5},
	{PIPESIM_LOOPED, 2, 1, 1},
	{PIPESIM_LOOPED, 2, 2, 4},
	{PIPESIM_LOOPED, 2, 3, 4},
	{PIPESIM_V, 4, 2, 2},
	{PIPESIM_V, 2, 2, 5},
	{PIPESIM_V, 3, 2, 1},
	{PIPESIM_WAVE, 2, 4, 3},
	{PIPESIM_BIDIRECTIONAL, 4, 2, 4},
	{PIPESIM_BIDIRECTIONAL, 4, 4, 8},
};

/* What is known of memory. */
enum {
	COUNTS,
	COUNTS_IN_PARTS, /* of which I frees one */
	BYTES,
	ODD_BYTES, /* that chunks have no whole share of */
	UNEVEN_BYTES,
	STAGE_BYTES,
	MODEL,
	MODEL_AGAIN, /* recomputed */
	SORTS,
};

static void describe(PipesimCosts *costs, guint ranks, gboolean again)
{
	PipesimTraining training = pipesim_training_on_one(2048, 1);
	PipesimRates rates;

	training.mfu = 0.5;
	if (again)
		ck_assert(pipesim_training_parse_recompute(&training, "full", "-", NULL));
	rates = pipesim_device_rates(shipped_device("h100"), &training);
	ck_assert(pipesim_cutter_take(
		pipesim_cutter_new(read_shipped(again ? "mixtral-8x7b" : "llama-3-8b"),
			&training, NULL, &rates),
		ranks, costs, NULL));
}

static PipesimCosts *costs_of(guint sort, guint ranks, guint32 seed)
{
	PipesimCosts *costs = seed % 2 == 0
				      ? grid_costs(60, 60, 60, 180, 0)
				      : grid_random_costs(seed, ranks, sort == UNEVEN_BYTES);
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));

	switch (sort) {
	case COUNTS:
		break;
	case COUNTS_IN_PARTS:
	case BYTES:
	case UNEVEN_BYTES:
		costs->bytes_until_input = seed % 3 * 12000;
		costs->bytes_until_weight = 24000;
		costs->parameter_bytes = 5000;
		break;
	case ODD_BYTES:
		costs->bytes_until_input = 1001;
		costs->bytes_until_weight = 2003;
		costs->parameter_bytes = 5001;
		break;
	case STAGE_BYTES:
		for (guint i = 0; i < ranks * PIPESIM_N_BYTES; i++) {
			const gint64 bytes = 1000 + (seed + 7 * i) % 11 * 97;

			g_array_append_val(parts, bytes);
		}
		ck_assert(pipesim_costs_set_part_bytes(costs, parts, ranks, NULL));
		break;
	default:
		describe(costs, ranks, sort == MODEL_AGAIN);
	}
	return costs;
}

/* Every schedule of the placement, without a limit. */
static GPtrArray *run_all(const PipesimSearchOf *of)
{
	GPtrArray *runs = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	PipesimScenario scenario = *of->scenario;

	scenario.keep = PIPESIM_KEEP_OPS;
	scenario.chunks = scenario.pipelines = of->chunks;
	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++) {
		PipesimRun *run;

		if ((*at)->placement != of->placement || (*at)->parts > 1 ||
			!pipesim_schedule_is_plain(*at))
			continue;
		run = pipesim_run_schedule(*at, &scenario, of->costs);
		if (run->error == NULL && run->shape.chunks == of->chunks)
			g_ptr_array_add(runs, run);
		else
			pipesim_run_free(run);
	}
	ck_assert_uint_gt(runs->len, 0);
	return runs;
}

/* What @run holds: bytes, or activations in parts of one. */
static gint64 held_by(const PipesimRun *run, guint sort)
{
	const PipesimReport *report = run->report;

	return sort == COUNTS            ? report->held.max_peak * report->held.unit.num
	       : sort == COUNTS_IN_PARTS ? report->memory.even
					 : report->memory.max;
}

static void set_limit(PipesimScenario *scenario, const PipesimRun *run,
	const PipesimCosts *costs, guint sort, gint64 limit)
{
	if (sort == COUNTS)
		scenario->max_activations =
			(PipesimFraction){limit, run->report->held.unit.den};
	else if (sort == COUNTS_IN_PARTS)
		scenario->max_activations = (PipesimFraction){
			limit, costs->bytes_until_input + costs->bytes_until_weight};
	else
		scenario->memory_limit = limit;
}

/* The instance takes the codes of @run where the report says that this very order fits, and only there. */
static void check_count(const PipesimSearchOf *of, const PipesimInstance *x,
	const PipesimRun *run, guint sort, gint64 limit)
{
	g_autofree guint8 *codes = g_new(guint8, (gsize)x->ranks * x->per_rank);
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimRun) again = NULL;
	gboolean fits;

	ck_assert(pipesim_instance_codes(x, run->step->whole, codes));
	fits = pipesim_instance_all_fit(x, codes);
	ck_assert_msg(fits || held_by(run, sort) > limit, "%s: fits %" G_GINT64_FORMAT,
		run->name, limit);
	order = pipesim_instance_order(x, codes, NULL);
	again = pipesim_run_program("again", order->program, NULL, of->scenario, of->costs);
	ck_assert_msg((held_by(again, sort) <= limit) == fits,
		"%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, run->name,
		held_by(again, sort), limit);
}

/* With room for what @giver holds, or one less: of all that fit none is shorter than the bound, nor than what is
 * found, which fits too and is no longer than what is shown beside it. */
static void check_limit(PipesimSearchOf *of, const GPtrArray *runs, const PipesimRun *giver,
	guint sort, gint64 less)
{
	const gint64 limit = held_by(giver, sort) - less;
	PipesimScenario scenario = *of->scenario;
	PipesimSearchOf own = *of;
	g_autoptr(PipesimInstance) x = NULL;
	g_autoptr(PipesimFound) found = NULL;
	g_autoptr(PipesimRun) run = NULL;
	g_autoptr(GError) error = NULL;

	own.scenario = &scenario;
	set_limit(&scenario, giver, of->costs, sort, limit);
	if (limit <= 0)
		return;
	x = pipesim_search_instance(&own, NULL);
	found = pipesim_search(&own, &error);
	for (guint i = 0; i < runs->len; i++) {
		const PipesimRun *known = runs->pdata[i];

		if (x != NULL)
			check_count(&own, x, known, sort, limit);
		if (held_by(known, sort) > limit)
			continue;
		ck_assert_msg(found != NULL, "%s fits: %s", known->name,
			error != NULL ? error->message : "");
		ck_assert_msg(found->bound->time <= known->report->makespan,
			"%s takes %" G_GINT64_FORMAT ", the bound is %" G_GINT64_FORMAT,
			known->name, known->report->makespan, found->bound->time);
		ck_assert_msg(found->makespan <= known->report->makespan,
			"%s takes %" G_GINT64_FORMAT ", found %" G_GINT64_FORMAT, known->name,
			known->report->makespan, found->makespan);
	}
	if (found == NULL)
		return;
	run = pipesim_run_program("found", found->program, NULL, &scenario, of->costs);
	ck_assert_int_le(held_by(run, sort), limit);
	ck_assert_int_eq(run->report->makespan, found->makespan);
	ck_assert_int_ge(found->makespan, found->bound->time);
	for (guint i = 0; i < found->starts->len; i++)
		ck_assert_int_le(found->makespan,
			((PipesimRun *)found->starts->pdata[i])->report->makespan);
}

START_TEST(all_count_alike)
{
	for (guint sort = 0; sort < SORTS; sort++) {
		const guint32 seed = (guint32)_i * 5 + sort;
		const guint32 draw = pipesim_random(pipesim_sample_key(seed, 0), 0);
		PipesimScenario scenario = {
			.ranks = shapes[_i].ranks, .microbatches = shapes[_i].m};
		g_autoptr(PipesimCosts) costs = costs_of(sort, scenario.ranks, seed);
		PipesimSearchOf of = {.scenario = &scenario,
			.costs = costs,
			.placement = shapes[_i].placement,
			.chunks = shapes[_i].chunks,
			.moves = seed % 3 * 100,
			.seed = 1};
		g_autoptr(GPtrArray) runs = run_all(&of);
		const guint every = MIN(grid_every(7), runs->len);

		for (guint i = draw % every; i < runs->len; i += every)
			for (gint64 less = 0; less < 2; less++)
				check_limit(&of, runs, runs->pdata[i], sort, less);
	}
}
END_TEST

static gboolean go_on(const PipesimSearchNews *news G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
	return TRUE;
}

/* Of long orders the first schedule that fits is all that is looked at where the time is over, or a signal has come: that,
 * and what a rank has to do at least. */
START_TEST(long_ones_end_in_time)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimScenario scenario = {.ranks = shapes[_i].ranks,
		.microbatches = PIPESIM_SEARCH_LONG / 2 / shapes[_i].ranks / shapes[_i].chunks};
	const gint stop = 1;
	PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = shapes[_i].placement,
		.chunks = shapes[_i].chunks,
		.tell = go_on,
		.deadline = 1};

	for (guint stops = 0; stops < 2; stops++) {
		g_autoptr(PipesimFound) found = NULL;

		if (stops) {
			of.deadline = 0;
			of.moves = 1000;
			of.stop = &stop;
		}
		found = pipesim_search(&of, NULL);
		ck_assert_ptr_nonnull(found);
		ck_assert_int_eq(found->stopped, stops);
		ck_assert_uint_eq(found->starts->len, 1);
		ck_assert_uint_eq(found->moves, 0);
		ck_assert_int_eq(found->makespan,
			((PipesimRun *)found->starts->pdata[0])->report->makespan);
		ck_assert_int_ge(found->makespan, found->bound->time);
		ck_assert_int_ge(found->bound->time / 99 * 100,
			scenario.microbatches *
				(costs->time[PIPESIM_F] + costs->time[PIPESIM_B]));
	}
}
END_TEST

/* What memory would not suffice for is refused before it is taken. */
START_TEST(huge_ones_are_refused)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++) {
		const PipesimScenario scenario = {
			.ranks = shapes[i].ranks, .microbatches = 40000000 / shapes[i].ranks};
		const PipesimSearchOf of = {.scenario = &scenario,
			.costs = costs,
			.placement = shapes[i].placement,
			.chunks = shapes[i].chunks};
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(pipesim_search(&of, &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
		ck_assert(strstr(error->message, "take fewer ranks or micro-batches") != NULL);
	}
}
END_TEST

/* Times of the zero-bubble paper, below 1F1B's memory: where orders are not put together anew by their times it is 1432 ms
 * after 25000 moves. */
START_TEST(periods_are_put_together_anew)
{
	g_autoptr(PipesimCosts) costs =
		grid_costs(18522000, 18086000, 9337000, 45945000, 601000);
	const PipesimScenario scenario = {
		.ranks = 8, .microbatches = 24, .max_activations = {7, 1}};
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = PIPESIM_LOOPED,
		.chunks = 1,
		.moves = 25000,
		.seed = 1};
	g_autoptr(PipesimFound) found = NULL;

	costs->post_validation = TRUE;
	found = pipesim_search(&of, NULL);
	ck_assert_ptr_nonnull(found);
	ck_assert_int_ge(found->makespan, found->bound->time);
	ck_assert_int_le(found->makespan, 1391000000);
}
END_TEST

Suite *optimize_limits_suite(void)
{
	Suite *suite = suite_create("optimize-limits");
	TCase *memory = tcase_create("memory");
	TCase *size = tcase_create("size");

	tcase_add_loop_test(memory, all_count_alike, 0, G_N_ELEMENTS(shapes));
	tcase_add_test(memory, periods_are_put_together_anew);
	tcase_add_loop_test(size, long_ones_end_in_time, 0, grid_every(2) > 1 ? 3 : 5);
	tcase_add_test(size, huge_ones_are_refused);
	suite_add_tcase(suite, memory);
	suite_add_tcase(suite, size);
	return suite;
}
