/* What must not depend on how a step is simulated: reports with and without single ops, steps
 * with a leap and without, vector code of every width. */
#include "engine/stream.h"
#include "grid.h"
#include "model/costs-file.h"
#include "suites.h"
#include <string.h>

/* Costs of many sorts -------------------------------------------------------------------- */

/* A part of the model a rank, each with times of its own. */
static void give_parts(PipesimCosts *costs, guint ranks, GRand *random)
{
	g_autoptr(GString) text = g_string_new("stage,F,I,W\n");
	g_autoptr(GError) error = NULL;

	for (guint part = 0; part < ranks; part++)
		g_string_append_printf(text, "%u,%dns,%dns,%dns\n", part,
			g_rand_int_range(random, 0, 3000000),
			g_rand_int_range(random, part > 0, 3000000),
			g_rand_int_range(random, 0, 2000000));
	ck_assert_msg(
		pipesim_costs_read_stages(costs,
			pipesim_input_new_memory("parts", text->str, text->len), ranks, &error),
		"%s", error != NULL ? error->message : "");
}

#define SORTS 7

static PipesimCosts *sort_of_costs(guint sort, guint32 seed, guint ranks)
{
	GRand *random = g_rand_new_with_seed(seed);
	const gint64 some = g_rand_int_range(random, 1, 1000003);
	PipesimCosts *costs;

	switch (sort) {
	case 0:
		costs = grid_random_costs(seed, ranks, FALSE);
		break;
	case 1: /* lengths of stages and, at every fourth seed, speeds of ranks */
		costs = grid_random_costs(seed | 1, ranks, TRUE);
		break;
	case 2: /* pairs that take longer than their parts */
		costs = grid_costs(some, 2 * some, some / 2, 4 * some + 17, some / 3);
		break;
	case 3: /* nothing but messages */
		costs = grid_costs(0, 0, 0, 0, some);
		break;
	case 4: /* nothing at all, or forwards alone */
		costs = grid_costs(seed % 2 * some, 0, 0, -1, 0);
		break;
	case 5: /* messages longer than ops, pairs without time */
		costs = grid_costs(some, some / 3, some, 0, 5 * some);
		break;
	default:
		costs = grid_costs(some, some, some, -1, seed % 2 * (some / 7));
		give_parts(costs, ranks, random);
	}
	costs->bytes_until_input = g_rand_int_range(random, 0, 3) * 1000003;
	costs->bytes_until_weight = g_rand_int_range(random, 0, 3) * 700001;
	costs->parameter_bytes = g_rand_int_range(random, 0, 2) * 12345678;
	g_rand_free(random);
	return costs;
}

/* Reports -------------------------------------------------------------------------------- */

static void assert_array(
	const void *a, const void *b, gsize size, const char *field, const char *what)
{
	ck_assert_msg((a == NULL) == (b == NULL) && (a == NULL || memcmp(a, b, size) == 0),
		"%s: %s differs", what, field);
}

static void assert_reasons(const GPtrArray *a, const GPtrArray *b, const char *what)
{
	ck_assert_msg((a == NULL) == (b == NULL), "%s: reasons for one only", what);
	if (a == NULL)
		return;
	ck_assert_msg(a->len == b->len, "%s: %u reasons and %u", what, a->len, b->len);
	for (guint i = 0; i < a->len; i++)
		ck_assert_str_eq(g_ptr_array_index(a, i), g_ptr_array_index(b, i));
}

#define ASSERT_FIELD(field)                                                     \
	ck_assert_msg(a->field == b->field, "%s: " #field " %ld and %ld", what, \
		(long)a->field, (long)b->field)
#define ASSERT_FRACTION(field)           \
	do {                             \
		ASSERT_FIELD(field.num); \
		ASSERT_FIELD(field.den); \
	} while (0)
#define ASSERT_RANKS(field) \
	assert_array(a->field, b->field, a->ranks * sizeof *a->field, #field, what)

static void assert_bubbles(const PipesimReport *a, const PipesimReport *b, const char *what)
{
	ASSERT_FIELD(ranks);
	ASSERT_FIELD(makespan);
	ASSERT_RANKS(bubble.busy);
	ASSERT_RANKS(bubble.idle);
	ASSERT_RANKS(bubble.span_idle);
	ASSERT_FIELD(bubble.max_idle);
	ASSERT_FIELD(bubble.max_span_idle);
	ASSERT_FRACTION(bubble.ratio);
}

static void assert_holdings(const PipesimReport *a, const PipesimReport *b, const char *what)
{
	ASSERT_RANKS(held.peak);
	ASSERT_RANKS(held.peak_until_input);
	ASSERT_FRACTION(held.unit);
	ASSERT_FIELD(held.max_peak);
	ASSERT_RANKS(memory.peak);
	for (guint rank = 0; a->memory.fullest != NULL && rank < a->ranks; rank++)
		ck_assert_msg(memcmp(a->memory.fullest[rank].part, b->memory.fullest[rank].part,
				      sizeof a->memory.fullest->part) == 0,
			"%s: memory.fullest of rank %u", what, rank);
	ASSERT_RANKS(memory.parameters);
	ASSERT_FIELD(memory.max);
	ASSERT_FIELD(memory.fits);
}

static void assert_formulae(const PipesimReport *a, const PipesimReport *b, const char *what)
{
	ASSERT_FIELD(published.has_bubble);
	ASSERT_FIELD(published.bubble);
	ASSERT_FIELD(published.difference);
	ASSERT_FIELD(published.has_activations);
	ASSERT_FRACTION(published.activations);
	assert_reasons(a->published.reasons, b->published.reasons, what);
}

/* What does not depend on how stages are cut. */
static void assert_counted(const PipesimReport *a, const PipesimReport *b, const char *what)
{
	assert_bubbles(a, b, what);
	ASSERT_RANKS(held.peak);
	ASSERT_RANKS(held.peak_until_input);
	if (b->path.has_bound)
		ASSERT_FIELD(path.lower_bound);
}

/* @a with single ops, @b without. */
static void assert_reports(const PipesimReport *a, const PipesimReport *b, const char *what)
{
	assert_bubbles(a, b, what);
	assert_holdings(a, b, what);
	assert_formulae(a, b, what);
	ck_assert_msg(a->path.has_bound, "%s: no lower bound", what);
	if (b->path.has_bound)
		ASSERT_FIELD(path.lower_bound);
	ck_assert_msg(a->path.ops != NULL || a->makespan == 0, "%s: no critical path", what);
}

static void assert_keeping(const PipesimSchedule *schedule, const PipesimScenario *asked,
	const PipesimCosts *costs, guint sort)
{
	PipesimScenario scenario = *asked;
	g_autofree char *what = g_strdup_printf("%s %u/%u, chunks %u, pipelines %u, costs %u",
		schedule->name, scenario.ranks, scenario.microbatches, scenario.chunks,
		scenario.pipelines, sort);
	g_autoptr(PipesimRun) all = NULL, fitting = NULL, none = NULL;
	g_autoptr(PipesimRun) plain = NULL;

	scenario.memory_limit = 9000009;
	scenario.critical = TRUE;
	scenario.keep = PIPESIM_KEEP_OPS;
	all = pipesim_run_schedule(schedule, &scenario, costs);
	scenario.keep = PIPESIM_KEEP_FITTING;
	fitting = pipesim_run_schedule(schedule, &scenario, costs);
	scenario.keep = PIPESIM_KEEP_NOTHING;
	none = pipesim_run_schedule(schedule, &scenario, costs);
	ck_assert_msg((all->error == NULL) == (none->error == NULL), "%s: %s", what,
		all->error != NULL ? all->error->message : none->error->message);
	if (all->error != NULL) {
		ck_assert_str_eq(all->error->message, none->error->message);
		return;
	}
	ck_assert_ptr_nonnull(all->step->program);
	ck_assert_ptr_nonnull(fitting->step->program);
	assert_reports(all->report, none->report, what);
	assert_reports(all->report, fitting->report, what);
	/* from the ops alone, as of a file */
	plain = pipesim_run_program(what, all->step->program, NULL, &scenario, costs);
	assert_counted(plain->report, none->report, what);
}

#define PARTS 16 /* of the grid: a test each */

START_TEST(reports_need_no_ops)
{
	int count;
	const GridCase *grid = grid_accepted(&count);

	for (int i = _i; i < count; i += PARTS)
		for (guint sort = (guint)i % 2; sort < SORTS; sort += 2) {
			const PipesimScenario scenario = grid_scenario(&grid[i]);
			g_autoptr(PipesimCosts) costs =
				sort_of_costs(sort, (guint32)i * SORTS + sort, grid[i].ranks);

			assert_keeping(grid[i].schedule, &scenario, costs, sort);
		}
}
END_TEST

/* Without the lower bound being there nothing above would compare it. */
START_TEST(bounds_need_no_ops)
{
	static const char *const with[] = {
		"gpipe", "1f1b", "interleaved-1f1b", "zb-h1", "zb-v"};
	g_autoptr(PipesimCosts) costs = grid_random_costs(5, 4, TRUE);

	for (guint i = 0; i < G_N_ELEMENTS(with); i++) {
		const PipesimScenario scenario = {.ranks = 4,
			.microbatches = 12,
			.keep = PIPESIM_KEEP_NOTHING,
			.critical = TRUE};
		g_autoptr(PipesimRun) run = pipesim_run_schedule(
			pipesim_schedule_find(with[i], NULL), &scenario, costs);

		ck_assert_ptr_null(run->step->program);
		ck_assert_msg(run->report->path.has_bound, "%s", with[i]);
	}
}
END_TEST

/* Leaps ---------------------------------------------------------------------------------- */

static PipesimStep *run(const PipesimOrder *order, const PipesimTimes *times, PipesimWant want)
{
	g_autoptr(GError) error = NULL;
	PipesimStep *step =
		pipesim_step_run(&(PipesimJob){.order = order, .times = times}, want, &error);

	ck_assert_msg(step != NULL, "%s", error != NULL ? error->message : "");
	return step;
}

static void assert_steps(const PipesimStep *a, const PipesimStep *b, const char *what)
{
	const gsize size = a->job.order->shape.ranks * sizeof(gint64);

	ASSERT_FIELD(makespan);
	assert_array(a->busy, b->busy, size, "busy", what);
	assert_array(a->first_start, b->first_start, size, "first_start", what);
	assert_array(a->last_end, b->last_end, size, "last_end", what);
}

/* @seed 0: all alike; 1 to 9: one rank slower by so little that what waits for it is long the
 * larger of two times before it is not. */
static PipesimCosts *costs_to_leap(guint ranks, guint32 seed)
{
	PipesimCosts *costs;
	g_autofree char *slow = g_strdup_printf("%u=1.000%u", seed % ranks, seed);

	if (seed > 9)
		return grid_random_costs(seed, ranks, seed % 2 == 1);
	costs = pipesim_costs_default();
	if (seed > 0)
		ck_assert(pipesim_costs_parse_slow(costs, slow, "x", ranks, NULL));
	return costs;
}

/* Whether at most a tenth of the step was simulated before what repeats was leapt over. */
static gboolean leaps(const PipesimSchedule *schedule, guint ranks, guint m, guint32 seed)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = m};
	g_autofree char *what =
		g_strdup_printf("%s %u/%u, seed %u", schedule->name, ranks, m, seed);
	g_autoptr(PipesimCosts) costs = costs_to_leap(ranks, seed);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimStep) all = NULL, leap = NULL;
	PipesimShape shape;

	if (!pipesim_schedule_shape(schedule, &scenario, &shape, NULL))
		return FALSE;
	times = pipesim_times_new(costs, &shape);
	if (schedule->generate == NULL)
		return FALSE;
	order = pipesim_schedule_order(schedule, &shape, times, NULL);
	if (!pipesim_stream_takes(order))
		return FALSE;
	all = run(order, times, PIPESIM_WANT_OPS);
	leap = run(order, times, PIPESIM_WANT_FIGURES);
	ck_assert_ptr_null(leap->program);
	assert_steps(all, leap, what);
	return leap->steady.found && leap->steady.transient < m / 10;
}

START_TEST(leaps_are_taken)
{
	static const char *const names[] = {"1f1b", "zb-h1", "dualpipe"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		for (guint32 seed = 10; seed < 14; seed += grid_every(2))
			ck_assert_msg(leaps(pipesim_schedule_find(names[i], NULL), 8,
					      300000 / grid_every(4), seed),
				"%s, seed %u: no leap", names[i], seed);
}
END_TEST

START_TEST(leaps_change_nothing)
{
	const guint shorter = grid_every(4);
	guint n = 0;

	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++) {
		n += leaps(*s, 4, 100000 / shorter, (guint32)_i);
		leaps(*s, 5, 20003 / shorter, (guint32)_i + 100);
		leaps(*s, 3, 30000 / shorter, (guint32)_i + 200);
	}
	ck_assert_uint_ge(n, 7);
}
END_TEST

/* All micro-batches go through one chunk after the other: what a chunk sends is leapt over before any of
 * it is taken, and then while it is. The same as op by op, and no more than its beginning is simulated. */
START_TEST(chunk_after_chunk_leaps)
{
	static const guint chunks[] = {1, 2, 3, 5, 8, 13};
	const guint ranks = 2 + (guint)_i % 4, m = 3000 + 17 * (guint)_i;
	const PipesimScenario scenario = {.ranks = ranks,
		.microbatches = m,
		.chunks = chunks[_i % (int)G_N_ELEMENTS(chunks)]};
	const PipesimSchedule *schedule = pipesim_schedule_find("looped-bfs", NULL);
	g_autofree char *what =
		g_strdup_printf("%u chunks of %u ranks", scenario.chunks, ranks);
	g_autoptr(PipesimCosts) costs = costs_to_leap(ranks, (guint32)_i);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimStep) all = NULL, leap = NULL;
	PipesimShape shape;

	ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	order = pipesim_schedule_order(schedule, &shape, times, NULL);
	all = run(order, times, PIPESIM_WANT_OPS);
	leap = run(order, times, PIPESIM_WANT_FIGURES);
	ck_assert_ptr_null(leap->program);
	assert_steps(all, leap, what);
}
END_TEST

/* By hand: M (F + B) and a bubble of (PP - 1) (F + B) / V, at any size. */
START_TEST(a_billion_chunk_after_chunk)
{
	const PipesimScenario scenario = {.ranks = 16,
		.microbatches = 1u << 30,
		.chunks = 32,
		.keep = PIPESIM_KEEP_NOTHING};
	g_autoptr(PipesimCosts) costs = grid_costs(3200, 6400, 3200, -1, 0);
	g_autoptr(PipesimRun) run = pipesim_run_schedule(
		pipesim_schedule_find("looped-bfs", NULL), &scenario, costs);

	ck_assert_msg(run->error == NULL, "%s", run->error->message);
	ck_assert_int_eq(
		run->report->makespan, (G_GINT64_CONSTANT(1) << 30) * 12800 + 15 * 400);
	ck_assert_int_eq(run->report->bubble.max_idle, 15 * 400);
}
END_TEST

/* A billion: the formula of the paper, (PP - 1) (F + B) beside M (F + B). */
START_TEST(a_billion_microbatches)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1300, 700, -1, 0);
	g_autoptr(PipesimRun) run = pipesim_simulate(
		pipesim_schedule_find("1f1b", NULL), 8, 1000000000, costs, NULL);

	ck_assert_ptr_nonnull(run);
	ck_assert_int_eq(
		pipesim_run_makespan(run), G_GINT64_CONSTANT(1000000007) * (1000 + 1300 + 700));
	ck_assert_int_eq(pipesim_run_bubble(run, 3), 7 * (1000 + 1300 + 700));
}
END_TEST

Suite *engine_equal_suite(void)
{
	Suite *suite = suite_create("engine-equal");
	TCase *tcase = tcase_create("equal");

	tcase_add_loop_test(tcase, reports_need_no_ops, 0, PARTS);
	tcase_add_test(tcase, bounds_need_no_ops);
	tcase_add_test(tcase, leaps_are_taken);
	tcase_add_loop_test(tcase, leaps_change_nothing, 0, 3);
	tcase_add_test(tcase, a_billion_microbatches);
	tcase_add_test(tcase, a_billion_chunk_after_chunk);
	tcase_add_loop_test(tcase, chunk_after_chunk_leaps, 0, 72);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
