/* Schedules that are found by a search, against what the peers' searches find. */
#include "grid.h"
#include "references.h"
#include "runtime/csv.h"
#include "schedule/search/zb-search.h"
#include "suites.h"
#include <stdio.h>

/* What rank @rank of @run holds at most, by the bytes that I and W free. */
static gint64 most_bytes(const PipesimRun *run, guint rank, const PipesimCosts *costs)
{
	const PipesimProgram *program = run->step->program;
	gint64 held = 0, most = 0;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		if (program->ops[i].kind == PIPESIM_F)
			held += costs->bytes_until_input + costs->bytes_until_weight;
		else
			held -= program->ops[i].kind == PIPESIM_I ? costs->bytes_until_input
								  : costs->bytes_until_weight;
		most = MAX(most, held);
	}
	return most;
}

/* The peers' own orders -----------------------------------------------------------------------
 */

/* Their names tell ranks, micro-batches and, in ms of a chunk, costs. */
static void read_name(const char *path, PipesimScenario *scenario)
{
	ck_assert_int_eq(sscanf(strstr(path, "_pp"), "_pp%u_mb%u.csv", &scenario->ranks,
				 &scenario->microbatches),
		2);
}

static PipesimCosts *costs_of(const char *path, guint chunks)
{
	const gint64 n = (gint64)chunks * 1000000;
	const gint64 i = strstr(path, "_c1-1.3-0.8") != NULL ? 13 : 10;
	const gint64 w = i == 13 ? 8 : 10;
	const gint64 p2p = strstr(path, "-comm0.1") != NULL ? 100000 : 0;

	return grid_costs(n, n / 10 * i, n / 10 * w, n + n / 10 * (i + w), p2p);
}

static void assert_equals_file(const char *name, const char *path)
{
	g_autofree char *reference = NULL;
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs = costs_of(path, 2);
	g_autoptr(PipesimRun) run = NULL;
	PipesimScenario scenario = {0};

	read_name(path, &scenario);
	costs->bytes_until_input = costs->bytes_until_weight = 1;
	run = named_run(name, scenario.ranks, scenario.microbatches, costs);
	ck_assert(g_file_get_contents(path, &reference, NULL, NULL));
	pipesim_schedule_write_csv(run->step->program, ours);
	ck_assert_msg(g_str_equal(ours->str, reference), "%s differs", path);
}

static const char *const slot_prefixes[] = {"vhalf_", "vmin_", NULL};

START_TEST(slots_equal_reference)
{
	g_autoptr(GPtrArray) files = references_find(slot_prefixes);
	const char *path = files->pdata[_i];

	assert_equals_file(strstr(path, "/vhalf_") != NULL ? "v-half" : "v-min", path);
}
END_TEST

static const char *const v_prefixes[] = {"zbv_", NULL};

START_TEST(v_equals_reference)
{
	g_autoptr(GPtrArray) files = references_find(v_prefixes);

	assert_equals_file("zb-v-auto", files->pdata[_i]);
}
END_TEST

/* Their names also tell the limit, as a multiple of PP, and how memory is freed. */
static const char *const zb_prefixes[] = {"zbauto_", NULL};

static void read_limit(const char *path, PipesimScenario *scenario, PipesimCosts *costs)
{
	const char *times = strstr(path, "_x") + 2;

	scenario->max_activations = (PipesimFraction){scenario->ranks, 1};
	if (g_str_has_prefix(times, "1.5"))
		scenario->max_activations = (PipesimFraction){3 * scenario->ranks, 2};
	else if (times[0] == '2')
		scenario->max_activations = (PipesimFraction){2 * scenario->ranks, 1};
	costs->bytes_until_weight = 1;
	costs->bytes_until_input = strstr(path, "_m2-1-1_") != NULL;
}

/* The same order where it is no better. */
START_TEST(zb_is_never_worse)
{
	g_autoptr(GPtrArray) files = references_find(zb_prefixes);
	const char *path = files->pdata[_i];
	g_autoptr(PipesimCosts) costs = costs_of(path, 1);
	g_autoptr(PipesimRun) ours = NULL, theirs = NULL;
	g_autoptr(GString) a = g_string_new(NULL), b = g_string_new(NULL);
	g_autoptr(PipesimProgram) reference = read_program(path, NULL);
	PipesimScenario scenario = {0};

	read_name(path, &scenario);
	read_limit(path, &scenario, costs);
	ck_assert_ptr_nonnull(reference);
	theirs = pipesim_run_program(path, reference, NULL, &scenario, costs);
	ours = pipesim_run_schedule(pipesim_schedule_find("zb-auto", NULL), &scenario, costs);
	ck_assert_int_le(ours->report->makespan, theirs->report->makespan);
	ck_assert_int_le(
		ours->report->bubble.max_span_idle, theirs->report->bubble.max_span_idle);
	if (ours->report->bubble.max_span_idle == theirs->report->bubble.max_span_idle) {
		pipesim_schedule_write_csv(ours->step->program, a);
		pipesim_schedule_write_csv(theirs->step->program, b);
		ck_assert_msg(g_str_equal(a->str, b->str), "%s differs", path);
	}
	for (guint rank = 0; rank < scenario.ranks; rank++)
		ck_assert_int_le(most_bytes(ours, rank, costs) * scenario.max_activations.den,
			scenario.max_activations.num *
				(costs->bytes_until_input + costs->bytes_until_weight));
}
END_TEST

/* V-Half and V-Min ----------------------------------------------------------------------------
 */

/* What the descriptors say was counted on the orders, in halves of F. */
static gint64 counted_bubble(const char *name, gint64 p)
{
	if (strcmp(name, "v-half") == 0)
		return MAX(3 * p - (p % 2 == 0 ? 7 : 4), p - 1);
	return MAX(4 * p - (p % 3 == 0 ? 7 : 5), p - 1);
}

static gint64 counted_activations(const char *name, gint64 p)
{
	return strcmp(name, "v-half") == 0 ? p / 2 + 1 : (p + 1) / 3 + 1;
}

/* Complete and without deadlock at every shape; bubble and memory as the descriptors say. */
START_TEST(slots_at_every_shape)
{
	static const char *const names[] = {"v-half", "v-min"};
	g_autoptr(PipesimCosts) costs = grid_costs(2000, 2000, 2000, 6000, 0);
	const guint ranks = 1 + (guint)_i;

	for (guint n = 0; n < G_N_ELEMENTS(names); n++)
		for (guint m = 1; m <= 3 * ranks + 1; m++) {
			g_autoptr(PipesimRun) run = named_run(names[n], ranks, m, costs);
			const PipesimReport *report = run->report;

			ck_assert_int_le((gint64)report->held.max_peak * report->held.unit.num,
				counted_activations(names[n], ranks) * report->held.unit.den);
			if (m >= 2 * ranks)
				ck_assert_msg(report->bubble.max_idle ==
						      1000 * counted_bubble(names[n], ranks),
					"%s %u/%u", names[n], ranks, m);
		}
}
END_TEST

/* The order does not depend on the times. */
START_TEST(slots_ignore_times)
{
	g_autoptr(PipesimCosts) equal = pipesim_costs_default();
	g_autoptr(PipesimCosts) other = grid_random_costs(7, 6, TRUE);
	g_autoptr(PipesimRun) a = named_run("v-half", 6, 15, equal);
	g_autoptr(PipesimRun) b = named_run("v-half", 6, 15, other);

	ck_assert_mem_eq(a->step->program->ops, b->step->program->ops,
		a->step->program->n_ops * sizeof(PipesimOp));
}
END_TEST

/* Limits and determinism ----------------------------------------------------------------------
 */

/* Half activations are freed by I in every second case, a third in every third. */
static void divide_bytes(PipesimCosts *costs, guint seed)
{
	costs->bytes_until_input = seed % 3 == 1 ? 1000 : seed % 3 == 2 ? 700 : 0;
	costs->bytes_until_weight = seed % 3 == 2 ? 1400 : 1000;
}

static PipesimRun *limited_run(
	const char *name, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	PipesimRun *run =
		pipesim_run_schedule(pipesim_schedule_find(name, NULL), scenario, costs);

	ck_assert_msg(run->error == NULL, "%s", run->error != NULL ? run->error->message : "");
	return run;
}

/* No rank holds more than was asked for, and the same is found twice. */
static void assert_limit_kept(const char *name, const PipesimScenario *scenario, guint seed)
{
	g_autoptr(PipesimCosts) costs = grid_random_costs(seed, scenario->ranks, seed % 4 == 3);
	g_autoptr(PipesimRun) run = NULL, again = NULL;
	const PipesimFraction *most = &scenario->max_activations;
	gint64 unit;

	divide_bytes(costs, seed);
	unit = costs->bytes_until_input + costs->bytes_until_weight;
	run = limited_run(name, scenario, costs);
	again = limited_run(name, scenario, costs);
	for (guint rank = 0; rank < scenario->ranks; rank++)
		ck_assert_msg(most_bytes(run, rank, costs) * most->den <=
				      most->num * unit * (gint64)run->shape.chunks,
			"%s %u/%u limit %d/%d seed %u", name, scenario->ranks,
			scenario->microbatches, (int)most->num, (int)most->den, seed);
	ck_assert_mem_eq(run->step->program->ops, again->step->program->ops,
		run->step->program->n_ops * sizeof(PipesimOp));
}

START_TEST(v_keeps_limit)
{
	const guint ranks = 1 + (guint)_i;

	for (guint seed = 0; seed < 36; seed++) {
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 1 + seed * ranks / 9,
			.max_activations = {ranks * (4 + seed % 3), 4}};

		assert_limit_kept("zb-v-auto", &scenario, seed);
	}
}
END_TEST

START_TEST(zb_keeps_limit)
{
	const guint ranks = 1 + (guint)_i;

	for (guint seed = 0; seed < 36; seed++) {
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 1 + seed * ranks / 9,
			.max_activations = {4 + ranks * (seed % 9), 4}};

		assert_limit_kept("zb-auto", &scenario, seed);
	}
}
END_TEST

/* What the search says of its order is what the engine finds, and no bound is broken. */
START_TEST(zb_result_is_simulated)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("zb-auto", NULL);
	const guint ranks = 1 + (guint)_i;

	for (guint seed = 0; seed < 36; seed++) {
		g_autoptr(PipesimCosts) costs = grid_random_costs(seed, ranks, seed % 2 == 1);
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 1 + seed * ranks / 9,
			.max_activations = {4 + ranks * (seed % 9), 4}};
		g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		PipesimProblem problem;
		PipesimZbResult result;
		gint64 span = 0;

		ck_assert(pipesim_problem_init(&problem, arena, &run->shape, run->times, NULL));
		ck_assert(pipesim_zb_search(arena, &problem, &result, NULL));
		for (guint rank = 0; rank < ranks; rank++)
			span = MAX(span, run->report->bubble.span_idle[rank] +
						 run->report->bubble.busy[rank]);
		ck_assert_int_eq(result.makespan, run->report->makespan);
		ck_assert_int_eq(result.span, span);
		ck_assert_int_ge(result.span, result.span_bound);
		ck_assert_int_ge(result.makespan, result.makespan_bound);
	}
}
END_TEST

/* At 1F1B's memory nothing is better where W is the shortest: the bubble is the bound. */
START_TEST(zb_reaches_bound)
{
	const guint ranks = 2 + (guint)_i;

	for (guint32 seed = 0; seed < 40; seed++) {
		GRand *random = g_rand_new_with_seed(seed);
		const gint64 w = g_rand_int_range(random, 0, 1000000);
		const gint64 f = g_rand_int_range(random, (gint32)w, 1500000);
		const gint64 i = g_rand_int_range(random, (gint32)w, 2000000);
		const guint m = ranks * (2 + seed % 3) + seed % 5;
		g_autoptr(PipesimCosts) costs = grid_costs(f, i, w, f + i + w, 0);
		g_autoptr(PipesimRun) run = named_run("zb-auto", ranks, m, costs);

		g_rand_free(random);
		ck_assert_msg(run->report->bubble.max_span_idle == (ranks - 1) * (f + i - w),
			"%u/%u F=%d I=%d W=%d: %d", ranks, m, (int)f, (int)i, (int)w,
			(int)run->report->bubble.max_span_idle);
		ck_assert_int_eq(
			run->report->bubble.max_span_idle, run->report->published.bubble);
	}
}
END_TEST

START_TEST(v_refuses_less_than_pp)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimScenario scenario = {
		.ranks = 4, .microbatches = 8, .max_activations = {7, 2}};
	g_autoptr(PipesimRun) run = pipesim_run_schedule(
		pipesim_schedule_find("zb-v-auto", NULL), &scenario, costs);

	ck_assert(g_error_matches(run->error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	ck_assert_ptr_nonnull(strstr(run->error->message, "--max-activations 4"));
}
END_TEST

static void add_references(TCase *tcase, const TTest *test, const char *const *prefixes)
{
	g_autoptr(GPtrArray) files = references_find(prefixes);

	tcase_add_loop_test(tcase, test, 0, (int)files->len);
}

Suite *search_suite(void)
{
	Suite *suite = suite_create("search");
	TCase *references = tcase_create("references");
	TCase *slots = tcase_create("slots");
	TCase *limits = tcase_create("limits");

	add_references(references, slots_equal_reference, slot_prefixes);
	add_references(references, zb_is_never_worse, zb_prefixes);
	add_references(references, v_equals_reference, v_prefixes);
	tcase_add_loop_test(slots, slots_at_every_shape, 0, 17);
	tcase_add_test(slots, slots_ignore_times);
	tcase_add_loop_test(limits, v_keeps_limit, 0, 9);
	tcase_add_loop_test(limits, zb_keeps_limit, 0, 9);
	tcase_add_loop_test(limits, zb_result_is_simulated, 0, 9);
	tcase_add_loop_test(limits, zb_reaches_bound, 0, 11);
	tcase_add_test(limits, v_refuses_less_than_pp);
	suite_add_tcase(suite, references);
	suite_add_tcase(suite, slots);
	suite_add_tcase(suite, limits);
	return suite;
}
