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
		const guint kind = program->ops[i].kind;

		if (kind == PIPESIM_F)
			held += costs->bytes_until_input + costs->bytes_until_weight;
		if (kind == PIPESIM_I || kind == PIPESIM_B)
			held -= costs->bytes_until_input;
		if (kind == PIPESIM_W || kind == PIPESIM_B)
			held -= costs->bytes_until_weight;
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

/* What the schedule finds itself, whatever orders made by hand come to. */
static void assert_equals_file(const char *name, const char *path)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	g_autofree char *reference = NULL;
	g_autoptr(GString) ours = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs = costs_of(path, 2);
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	PipesimScenario scenario = {0};
	PipesimShape shape;

	read_name(path, &scenario);
	costs->bytes_until_input = costs->bytes_until_weight = 1;
	ck_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	order = pipesim_schedule_order(schedule, &shape, times, NULL);
	program = pipesim_order_expand(order, NULL);
	ck_assert(g_file_get_contents(path, &reference, NULL, NULL));
	pipesim_schedule_write_csv(program, ours);
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

/* The authors' order where none is shorter. */
START_TEST(v_is_never_longer)
{
	g_autoptr(GPtrArray) files = references_find(v_prefixes);
	const char *path = files->pdata[_i];
	g_autoptr(PipesimCosts) costs = costs_of(path, 2);
	g_autoptr(PipesimRun) ours = NULL, theirs = NULL;
	g_autoptr(PipesimProgram) reference = read_program(path, NULL);
	PipesimScenario scenario = {0};

	read_name(path, &scenario);
	ck_assert_ptr_nonnull(reference);
	costs->bytes_until_input = costs->bytes_until_weight = 1;
	theirs = pipesim_run_program(path, reference, NULL, &scenario, costs);
	ours = pipesim_run_schedule(pipesim_schedule_find("zb-v-auto", NULL), &scenario, costs);
	ck_assert_int_le(ours->report->held.max_peak, 2 * scenario.ranks);
	if (ours->report->makespan >= theirs->report->makespan)
		assert_equals_file("zb-v-auto", path);
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
	const guint every = grid_every(11);

	for (guint seed = (guint)_i % every; seed < 36; seed += every) {
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
	const guint every = grid_every(11);

	for (guint seed = (guint)_i % every; seed < 36; seed += every) {
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 1 + seed * ranks / 9,
			.max_activations = {4 + ranks * (seed % 9), 4}};

		assert_limit_kept("zb-auto", &scenario, seed);
	}
}
END_TEST

/* What the search says of its order is what the engine finds, and no bound is broken, not by an
 * order made by hand either; a full backward may be rounded to a nanosecond less. */
START_TEST(zb_result_is_simulated)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("zb-auto", NULL);
	const guint ranks = 1 + (guint)_i;
	const guint every = grid_every(11);

	for (guint seed = (guint)_i % every; seed < 36; seed += every) {
		g_autoptr(PipesimCosts) costs = grid_random_costs(seed, ranks, seed % 2 == 1);
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 1 + seed * ranks / 9,
			.max_activations = {4 + ranks * (seed % 9), 4}};
		g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);
		g_autoptr(PipesimOrder) order =
			pipesim_schedule_order(schedule, &run->shape, run->times, NULL);
		const PipesimJob job = {.order = order, .times = run->times};
		g_autoptr(PipesimStep) own = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
		const PipesimInstanceOf of = {.shape = &run->shape,
			.times = run->times,
			.costs = costs,
			.max_activations = run->shape.max_activations};
		g_autoptr(PipesimInstance) x = pipesim_instance_new(&of, NULL);
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		PipesimZbResult result;
		gint64 span = 0;

		ck_assert(pipesim_zb_search(arena, x, FALSE, &result, NULL));
		for (guint rank = 0; rank < ranks; rank++)
			span = MAX(span, own->last_end[rank] - own->first_start[rank]);
		ck_assert_int_eq(result.makespan, own->makespan);
		ck_assert_int_le(run->report->makespan, own->makespan);
		ck_assert_int_ge(run->report->makespan + 2 * scenario.microbatches,
			result.makespan_bound);
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
	const guint every = grid_every(7);

	for (guint32 seed = (guint)_i % every; seed < 40; seed += every) {
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

/* Less than V-Min holds; and at that there is an order, at every shape. */
START_TEST(v_refuses_less_than_least)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimSchedule *schedule = pipesim_schedule_find("zb-v-auto", NULL);
	const guint ranks = 1 + (guint)_i;
	const guint every = grid_every(5);

	for (guint m = 2 + (guint)_i % every; m < 2 * ranks + 2; m += every) {
		const guint least = MIN((ranks + 1) / 3 + 1, m);
		PipesimScenario scenario = {
			.ranks = ranks, .microbatches = m, .max_activations = {least, 1}};
		g_autoptr(PipesimRun) run = pipesim_run_schedule(schedule, &scenario, costs);
		g_autoptr(PipesimRun) refused = NULL;
		g_autofree char *remedy = g_strdup_printf("--max-activations %u", least);

		ck_assert_msg(run->error == NULL, "%u/%u", ranks, m);
		ck_assert_int_le(run->report->held.max_peak, 2 * least);
		scenario.max_activations = (PipesimFraction){2 * least - 1, 2};
		refused = pipesim_run_schedule(schedule, &scenario, costs);
		ck_assert(g_error_matches(
			refused->error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
		ck_assert_ptr_nonnull(strstr(refused->error->message, remedy));
	}
}
END_TEST

/* Three quarters of what 1F1B holds: rules alone leave 65 ms of unit times, 61 is proven (docs/optima.md). */
START_TEST(zb_is_put_together_anew)
{
	const PipesimScenario scenario = {
		.ranks = 8, .microbatches = 16, .max_activations = {6, 1}};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 3000, 0);
	g_autoptr(PipesimRun) run = limited_run("zb-auto", &scenario, costs);

	ck_assert_int_le(run->report->held.max_peak, 6);
	ck_assert_int_eq(run->report->makespan, 61000);
}
END_TEST

/* At half of what 1F1B holds, where no order by hand comes near: a micro-batch more takes what the shortest unit does
 * (tests/least-unit.py), of short and of long steps. */
START_TEST(v_repeats_the_shortest_unit)
{
	static const struct {
		guint ranks, microbatches;
		gint64 i, w, unit; /* of a rank's share, us; F is 1000 */
	} cases[] = {
		{8, 64, 1600, 850, 3900}, {8, 64, 830, 900, 2830}, {8, 400, 1600, 850, 3900}};
	const guint ranks = cases[_i].ranks, m = cases[_i].microbatches;
	g_autoptr(PipesimCosts) costs = grid_costs(1000, cases[_i].i, cases[_i].w, 5000, 0);
	gint64 makespan[2];

	for (guint k = 0; k < 2; k++) {
		const PipesimScenario scenario = {.ranks = ranks,
			.microbatches = m * (k + 1),
			.max_activations = {ranks, 2}};
		g_autoptr(PipesimRun) run = limited_run("zb-v-auto", &scenario, costs);

		ck_assert_int_le(run->report->held.max_peak, ranks);
		makespan[k] = run->report->makespan;
	}
	ck_assert_int_le(makespan[1] - makespan[0], m * cases[_i].unit * 1002 / 1000);
}
END_TEST

/* Against orders made by hand -----------------------------------------------------------------
 */

/* A search, and what it is never to lose to. */
typedef struct {
	const char *name;
	const char *hand[5];
} Rivals;

static const Rivals rivals[] = {
	{"zb-auto", {"gpipe", "1f1b", "zb-h1", "zb-h2", NULL}},
	{"zb-v-auto", {"1f1b-v", "zb-v", "v-half", "v-min", NULL}},
};

/* Even stages, stages +-10 %, slow ranks; with and without P2P; a fourth of the time full backwards
 * that are shorter than their halves. */
static PipesimCosts *draw_costs(guint32 seed, guint ranks)
{
	GRand *random = g_rand_new_with_seed(seed);
	const gint64 f = g_rand_int_range(random, 500, 3000);
	const gint64 i = g_rand_int_range(random, 500, 3000);
	const gint64 w = seed % 2 == 0 ? f : g_rand_int_range(random, 100, 3000);
	const gint64 p2p = seed % 5 < 3 ? 0 : g_rand_int_range(random, 1, 700);
	PipesimCosts *costs = grid_costs(f, i, w, f + i + w, p2p);
	g_autoptr(GString) scale = g_string_new(NULL);
	g_autoptr(GArray) parts = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint rank = 0; rank < ranks; rank++)
		g_string_append_printf(scale, "%s%u=%.3f", rank > 0 ? "," : "", rank,
			g_rand_double_range(random, 0.9, 1.1));
	if (seed % 3 == 1)
		ck_assert(pipesim_costs_parse_scale(costs, scale->str, "x", ranks, NULL));
	g_string_printf(scale, "%u=1.%u", g_rand_int_range(random, 0, (gint32)ranks), seed % 7);
	if (seed % 3 == 2)
		ck_assert(pipesim_costs_parse_slow(costs, scale->str, "x", ranks, NULL));
	if (seed % 4 == 3)
		costs->time[PIPESIM_B] -= MIN(i, w) / 10;
	costs->bytes_until_input = seed % 6 < 2 ? 0 : 700;
	costs->bytes_until_weight = 1000;
	costs->parameter_bytes = 12345;
	/* Longer stages hold no more. */
	for (guint part = 0; part < ranks; part++) {
		const gint64 bytes[PIPESIM_N_BYTES] = {costs->bytes_until_input,
			costs->bytes_until_weight, costs->parameter_bytes};

		g_array_append_vals(parts, bytes, PIPESIM_N_BYTES);
	}
	ck_assert(pipesim_costs_set_part_bytes(costs, parts, ranks, NULL));
	g_rand_free(random);
	return costs;
}

/* Half of 1F1B's memory and so many eighths of it more, in activations or in bytes. */
static PipesimScenario limited(
	guint ranks, guint m, guint eighths, gboolean in_bytes, const PipesimCosts *costs)
{
	const gint64 each = costs->bytes_until_input + costs->bytes_until_weight;
	PipesimScenario scenario = {
		.ranks = ranks, .microbatches = m, .max_activations = {2 * ranks, 1}};

	if (in_bytes)
		scenario.memory_limit =
			costs->parameter_bytes + each * ranks * (4 + eighths) / 8;
	else
		scenario.max_activations = (PipesimFraction){ranks * (4 + eighths), 8};
	return scenario;
}

static gboolean is_within(
	const PipesimRun *run, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const gint64 each = costs->bytes_until_input + costs->bytes_until_weight;
	const PipesimFraction *most = &scenario->max_activations;

	return run->report->memory.fits &&
	       run->report->memory.even * most->den <= most->num * each;
}

/* The makespan of a search at one limit, at most @before and at most that of each that fits; @before
 * where it is refused or nothing fits. */
static gint64 assert_not_beaten(const Rivals *search, const PipesimScenario *scenario,
	const PipesimCosts *costs, guint seed, gint64 before)
{
	g_autoptr(PipesimRun) run = pipesim_run_schedule(
		pipesim_schedule_find(search->name, NULL), scenario, costs);
	const gboolean fits = run->error == NULL && is_within(run, scenario, costs);

	for (guint i = 0; search->hand[i] != NULL; i++) {
		g_autoptr(PipesimRun) hand = pipesim_run_schedule(
			pipesim_schedule_find(search->hand[i], NULL), scenario, costs);

		/* Under rules that messages block each other by it may not run. */
		if (hand->error != NULL || !is_within(hand, scenario, costs))
			continue;
		ck_assert_msg(fits && run->report->makespan <= hand->report->makespan,
			"%s loses to %s: %u/%u limit %d/%d, %d bytes, seed %u", search->name,
			search->hand[i], scenario->ranks, scenario->microbatches,
			(int)scenario->max_activations.num, (int)scenario->max_activations.den,
			(int)scenario->memory_limit, seed);
	}
	ck_assert(fits || before == G_MAXINT64);
	if (!fits)
		return before;
	ck_assert_msg(run->report->makespan <= before,
		"%s is worse with more memory: %u/%u limit %d/%d, %d bytes, seed %u",
		search->name, scenario->ranks, scenario->microbatches,
		(int)scenario->max_activations.num, (int)scenario->max_activations.den,
		(int)scenario->memory_limit, seed);
	return run->report->makespan;
}

START_TEST(searches_are_not_beaten)
{
	const guint ranks = 1 + (guint)_i;
	const guint every = grid_every(11);

	for (guint seed = (guint)_i % every; seed < 24; seed += every) {
		g_autoptr(PipesimCosts) costs = draw_costs(seed, ranks);
		const Rivals *search = &rivals[seed / 2 % 2];
		const guint m = 1 + seed * 5 * ranks / 24;
		gint64 makespan = G_MAXINT64;

		for (guint eighths = 0; eighths <= 12; eighths += 2) {
			const PipesimScenario scenario =
				limited(ranks, m, eighths, seed / 4 % 2 == 0, costs);

			makespan = assert_not_beaten(search, &scenario, costs, seed, makespan);
		}
	}
}
END_TEST

/* Where what is found without a limit fits into one, nothing longer is found within it. */
START_TEST(limits_that_fit_cost_nothing)
{
	const guint ranks = 2 + (guint)_i;
	const guint every = grid_every(13);

	for (guint seed = (guint)_i % every; seed < 60; seed += every) {
		g_autoptr(PipesimCosts) costs = draw_costs(seed, ranks);
		const char *name = rivals[seed % 2].name;
		PipesimScenario scenario = {
			.ranks = ranks, .microbatches = 1 + seed * ranks / 8};
		g_autoptr(PipesimRun) free = limited_run(name, &scenario, costs), tight = NULL;
		gint64 fullest = 0;

		for (guint rank = 0; rank < ranks; rank++)
			fullest = MAX(fullest, most_bytes(free, rank, costs));
		if (seed / 2 % 2 == 0)
			scenario.memory_limit = free->report->memory.max;
		else
			scenario.max_activations = (PipesimFraction){fullest,
				(costs->bytes_until_input + costs->bytes_until_weight) *
					free->shape.chunks};
		tight = limited_run(name, &scenario, costs);
		ck_assert_msg(tight->report->makespan <= free->report->makespan,
			"%s %u/%u seed %u: %" G_GINT64_FORMAT " > %" G_GINT64_FORMAT, name,
			ranks, scenario.microbatches, seed, tight->report->makespan,
			free->report->makespan);
	}
}
END_TEST

/* Where memory is that of each stage, too. */
START_TEST(searches_heed_bytes_of_stages)
{
	for (guint seed = 1; seed < 36; seed += 3 * grid_every(3)) {
		const guint ranks = 1 + seed % 8;
		g_autoptr(PipesimCosts) costs = draw_costs(seed, ranks);
		PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 2 * ranks,
			.max_activations = {2 * ranks, 1}};

		g_clear_pointer(&costs->part_bytes, g_free);
		for (guint n = 1; n <= 4; n++) {
			scenario.memory_limit = 14000 + 400 * (gint64)n * ranks;
			assert_not_beaten(&rivals[n % 2], &scenario, costs, seed, G_MAXINT64);
		}
	}
}
END_TEST

/* Where messages wait, by a runtime's rules or for links, too. */
START_TEST(searches_are_not_beaten_by_messages)
{
	for (guint seed = 0; seed < 12; seed++) {
		const guint ranks = 2 + seed % 5;
		g_autoptr(PipesimCosts) costs = draw_costs(3 + 5 * seed, ranks);
		PipesimScenario scenario = {.ranks = ranks,
			.microbatches = 3 * ranks,
			.max_activations = {ranks, 1}};

		if (seed % 3 == 0) {
			costs->network = pipesim_network_new();
			costs->network->message_bytes = 1000;
			costs->network->intra.bandwidth = 2000000000;
			costs->p2p = pipesim_network_slowest_hop(costs->network, ranks);
		} else {
			scenario.runtime = pipesim_runtime_find(
				seed % 3 == 1 ? "pytorch-2.11" : "deepseek", "x", NULL);
		}
		for (guint i = 0; i < G_N_ELEMENTS(rivals); i++)
			assert_not_beaten(&rivals[i], &scenario, costs, seed, G_MAXINT64);
	}
}
END_TEST

/* Nothing fits: what it would be without the limit, and that it does not. */
START_TEST(nothing_fits)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimScenario scenario = {.ranks = 6, .microbatches = 12};

	costs->bytes_until_weight = 1000;
	for (guint i = 0; i < G_N_ELEMENTS(rivals); i++) {
		g_autoptr(PipesimRun) free = NULL, tight = NULL;

		scenario.memory_limit = 0;
		free = limited_run(rivals[i].name, &scenario, costs);
		scenario.memory_limit = 999;
		tight = limited_run(rivals[i].name, &scenario, costs);
		ck_assert(!tight->report->memory.fits);
		ck_assert_int_eq(tight->report->makespan, free->report->makespan);
		ck_assert_ptr_nonnull(
			strstr(tight->step->job.order->note, "no known order fits"));
	}
}
END_TEST

static void add_references(TCase *tcase, const TTest *test, const char *const *prefixes)
{
	g_autoptr(GPtrArray) files = references_find(prefixes);

	tcase_add_loop_test(tcase, test, 0, (int)files->len);
}

Suite *schedule_search_suite(void)
{
	Suite *suite = suite_create("schedule-search");
	TCase *references = tcase_create("references");
	TCase *slots = tcase_create("slots");
	TCase *limits = tcase_create("limits");
	TCase *starts = tcase_create("starts");

	add_references(references, slots_equal_reference, slot_prefixes);
	add_references(references, zb_is_never_worse, zb_prefixes);
	add_references(references, v_is_never_longer, v_prefixes);
	tcase_add_loop_test(slots, slots_at_every_shape, 0, 17);
	tcase_add_test(slots, slots_ignore_times);
	tcase_add_loop_test(limits, v_keeps_limit, 0, 9);
	tcase_add_loop_test(limits, zb_keeps_limit, 0, 9);
	tcase_add_loop_test(limits, zb_result_is_simulated, 0, 9);
	tcase_add_loop_test(limits, zb_reaches_bound, 0, 11);
	tcase_add_loop_test(limits, v_refuses_less_than_least, 0, 12);
	tcase_add_test(limits, zb_is_put_together_anew);
	tcase_add_loop_test(limits, v_repeats_the_shortest_unit, 0, 3);
	tcase_add_loop_test(starts, searches_are_not_beaten, 0, 8);
	tcase_add_loop_test(starts, limits_that_fit_cost_nothing, 0, 7);
	tcase_add_test(starts, searches_heed_bytes_of_stages);
	tcase_add_test(starts, searches_are_not_beaten_by_messages);
	tcase_add_test(starts, nothing_fits);
	suite_add_tcase(suite, references);
	suite_add_tcase(suite, slots);
	suite_add_tcase(suite, limits);
	suite_add_tcase(suite, starts);
	return suite;
}
