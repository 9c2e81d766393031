#include "grid.h"
#include "model/slice-plan.h"
#include "shipped.h"
#include "suites.h"
#include <stdio.h>
#include <string.h>

/* The least latency of all ways to cut @left units behind @before, by looking at each. */
static gint64 look_at_all(const PipesimSliceAsk *ask, gint64 before, gint64 sum, gint64 longest)
{
	gint64 best = G_MAXINT64;

	if (before == ask->tokens)
		return sum + ask->hops * longest;
	for (gint64 x = MIN(ask->align, ask->tokens - before); x <= ask->tokens - before;
		x += x + ask->align <= ask->tokens - before || before + x == ask->tokens
			     ? ask->align
			     : ask->tokens - before - x) {
		const gint64 takes = pipesim_slice_time(&ask->times, before, x);
		const gint64 sent =
			takes + pipesim_slice_message(&ask->times, x) + (gint64)ask->times.send;

		best = MIN(best, look_at_all(ask, before + x, sum + takes, MAX(longest, sent)));
	}
	return best;
}

static void assert_planned(const PipesimSliceAsk *ask, gint64 expected)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GError) error = NULL;
	gint64 latency, bound, before = 0, sum = 0, longest = 0;

	ck_assert_msg(pipesim_slice_plan(ask, slices, &latency, &bound, &error), "%s",
		error != NULL ? error->message : "");
	ck_assert_int_eq(latency, expected);
	ck_assert_int_eq(bound, expected);
	for (guint i = 0; i < slices->len; i++) {
		const gint64 x = g_array_index(slices, gint64, i);
		const gint64 takes = pipesim_slice_time(&ask->times, before, x);

		ck_assert(x % ask->align == 0 || before + x == ask->tokens);
		sum += takes;
		longest = MAX(longest, takes + pipesim_slice_message(&ask->times, x) +
					       (gint64)ask->times.send);
		before += x;
	}
	ck_assert_int_eq(before, ask->tokens);
	ck_assert_int_eq(sum + ask->hops * longest, latency);
}

START_TEST(no_cut_is_better)
{
	const PipesimSliceTimes times[] = {{.a = 50000, .b = 500000, .c = 2000000},
		{.b = 1e6, .c = 1e6}, {.a = 1e5, .b = 1e6, .c = 5e5, .gamma = 4e5},
		{.a = 3e5, .b = 1e6, .c = 1e5, .gamma = 1e6, .send = 7e5},
		{.a = 1e4, .b = 3e5, .c = 9e5, .send = 1e5, .send_token = 2e5}};

	for (guint i = 0; i < G_N_ELEMENTS(times); i++)
		for (gint64 tokens = 1; tokens <= 12; tokens++)
			for (guint hops = 0; hops <= 15; hops += 3) {
				const PipesimSliceAsk ask = {
					times[i], tokens, 1 + tokens % 3, hops, 1};

				assert_planned(&ask, look_at_all(&ask, 0, 0, 0));
			}
}
END_TEST

/* TeraPipe's own program (commit in ../shared/oracles/INDEX.csv) and brute force of all compositions. */
START_TEST(terapipe)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *path = g_build_filename(
		shared != NULL ? shared : "../shared", "oracles", "cases-terapipe.json", NULL);
	g_autofree char *text = NULL;
	g_auto(GStrv) lines = NULL;
	guint n = 0;

	if (!g_file_get_contents(path, &text, NULL, NULL)) {
		printf("SKIP: %s is not here\n", path);
		return;
	}
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] != NULL; i++) {
		PipesimSliceAsk ask = {.align = 1, .over = 1};
		double c, b, a, best;
		long units;
		guint ranks;

		if (sscanf(lines[i],
			    "{\"units\": %ld, \"pp\": %u, \"c\": %lf, \"b\": %lf, \"a\": %lf, "
			    "\"best\": %lf",
			    &units, &ranks, &c, &b, &a, &best) != 6)
			continue;
		ask.tokens = units;
		ask.hops = ranks - 1;
		ask.times = (PipesimSliceTimes){.a = 1e6 * a, .b = 1e6 * b, .c = 1e6 * c};
		assert_planned(&ask, (gint64)(1e6 * best + 0.5));
		n++;
	}
	ck_assert_uint_eq(n, 37);
}
END_TEST

/* A prompt that has 1048576 places to cut. */
START_TEST(large_is_proven)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(gint64));
	const PipesimSliceAsk ask = {
		{.a = 0.325, .b = 6030, .c = 26.1e6, .gamma = 539}, 1 << 20, 1, 7, 1};
	gint64 latency, bound;

	ck_assert(pipesim_slice_plan(&ask, slices, &latency, &bound, NULL));
	ck_assert_int_eq(latency, bound);
	ck_assert_uint_gt(slices->len, 20);
}
END_TEST

START_TEST(refuses)
{
	g_autoptr(GArray) slices = g_array_new(FALSE, FALSE, sizeof(gint64));
	PipesimSliceAsk ask = {{.b = 1, .c = 1, .gamma = 2}, 8, 1, 3, 1};
	g_autoptr(GError) error = NULL;
	gint64 latency, bound;

	ck_assert(!pipesim_slice_plan(&ask, slices, &latency, &bound, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	g_clear_error(&error);
	ask = (PipesimSliceAsk){{.a = 1e15}, PIPESIM_MAX_SLICED, 64, 3, 1};
	ck_assert(!pipesim_slice_plan(&ask, slices, &latency, &bound, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT));
}
END_TEST

START_TEST(reads_times)
{
	static const char *const bad[] = {
		"a", "d=1", "a=1,a=2", "a=", "a=1x", "b=-1", "c=1e10", "c=1e999", "b=nan"};
	PipesimSliceTimes times = {0}, shares = {0};

	ck_assert(pipesim_slice_times_parse(&shares, "b=1,a=0.001", "t", TRUE, NULL));
	ck_assert_double_eq_tol(shares.a, 0.001, 1e-15);
	ck_assert(!pipesim_slice_times_parse(&shares, "send=1", "t", TRUE, NULL));
	shares = (PipesimSliceTimes){0};
	ck_assert(!pipesim_slice_times_parse(&shares, "c=1", "t", TRUE, NULL));
	ck_assert(pipesim_slice_times_parse(
		&times, "a=3.25e-7, b=6.03e-3,c=26.1,gamma=5.39e-4", "t", FALSE, NULL));
	ck_assert_double_eq_tol(times.a, 0.325, 1e-12);
	/* Slices of a sequence have one sum, however it is cut. */
	ck_assert_int_eq(pipesim_slice_time(&times, 0, 777) +
				 pipesim_slice_time(&times, 777, 223) -
				 pipesim_slice_time(&times, 0, 1000),
		pipesim_slice_fixed(&times, 777));
	for (guint i = 0; i < G_N_ELEMENTS(bad); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert(!pipesim_slice_times_parse(&times, bad[i], "t", FALSE, &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	}
}
END_TEST

static gint64 busy_of(const PipesimRun *run)
{
	gint64 busy = run->report->makespan * run->report->ranks;

	for (guint rank = 0; rank < run->report->ranks; rank++)
		busy -= run->report->bubble.idle[rank];
	return busy;
}

/* Where the @n-th F, or backward, of @rank has its times; -1 = it has no such op. */
static gssize nth_of(const PipesimProgram *program, guint rank, gint64 n, PipesimKind kind)
{
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1] && n >= 0;
		i++) {
		const PipesimOp *op = &program->ops[i];

		if (op->kind == kind && n-- == 0)
			return (gssize)program->stage_of[rank * program->shape.chunks +
							 op->chunk] *
				       program->shape.microbatches +
			       op->microbatch;
	}
	return -1;
}

/* Messages of a sequence that queries and outputs, and keys and values, of all layers are as large as. */
#define QUERIES 64
#define KEYS    16

/* What two slices of a stage move, ns, where a message takes @p2p. */
static gint64 moved(const PipesimShape *shape, gint64 p2p, gssize a, gssize b, PipesimKind kind)
{
	const gint64 slices = shape->parts, more = ABS(a % slices - b % slices) / 2;

	return more == 0 ? 0
			 : p2p * (QUERIES + more * KEYS) * (kind == PIPESIM_F ? 1 : 2) /
				   shape->stages / slices;
}

/* At a step at which all ranks work those with the i-th shortest and the i-th longest slice take as long as each other,
 * and as what they move. */
static void assert_pairs(const PipesimProgram *program, const gint64 *alone,
	const gint64 *shared, PipesimKind kind, gint64 p2p)
{
	const guint ranks = program->shape.ranks, slices = program->shape.parts;
	const gint64 units = (gint64)program->shape.microbatches * program->shape.chunks;

	for (gint64 step = 0; step < units + ranks - 1; step++) {
		const gboolean all = step >= ranks - 1 && step < units;
		gssize at[8], in_order[8];
		guint n = 0;

		for (guint rank = 0; rank < ranks; rank++)
			at[rank] = nth_of(program, rank,
				step - (kind == PIPESIM_F ? rank : ranks - 1 - rank), kind);
		for (guint slice = 0; slice < slices; slice++)
			for (guint rank = 0; rank < ranks; rank++)
				if (at[rank] >= 0 && at[rank] % slices == slice)
					in_order[n++] = at[rank] * PIPESIM_FB + kind;
		ck_assert(!all || n == ranks);
		for (guint i = 0; i < n; i++) {
			const gint64 own = alone[in_order[i]],
				     other = alone[in_order[n - 1 - i]];

			const gint64 wait =
				moved(&program->shape, p2p, in_order[i] / PIPESIM_FB,
					in_order[n - 1 - i] / PIPESIM_FB, kind);

			ck_assert_int_le(ABS(shared[in_order[i]] -
						 (all ? (own + other) / 2 + wait : own)),
				2);
		}
	}
}

START_TEST(context_exchange)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("slimpipe", NULL);
	const guint ranks = 2 + (guint)_i;
	g_autoptr(PipesimCosts) even = grid_costs(12000000, 12000000, 12000000, -1, 0);
	g_autoptr(PipesimCosts) costs = pipesim_costs_copy(even);

	costs->slicing = g_new0(PipesimSlicing, 1);
	costs->slicing->cost = (PipesimSliceTimes){.b = 1, .a = 0.01};
	costs->slicing->tokens = 512;
	costs->slicing->queries = QUERIES;
	costs->slicing->keys = KEYS;
	for (guint k = 0; k < 36; k++) {
		const PipesimScenario alone = {.ranks = ranks,
			.chunks = 1 + k % 3,
			.microbatches = 3 + k / 3 % 3,
			.slices = ranks + k / 9 * 2};
		PipesimScenario shared = alone;
		g_autoptr(PipesimRun) low = pipesim_run_schedule(schedule, &alone, even);
		g_autoptr(PipesimRun) high = pipesim_run_schedule(schedule, &alone, costs);
		g_autoptr(PipesimProgram) program = scenario_program(schedule, &alone, NULL);
		g_autoptr(PipesimTimes) before = NULL, after = NULL, moving = NULL;
		g_autoptr(PipesimRun) run = NULL;

		shared.exchange = TRUE;
		run = pipesim_run_schedule(schedule, &shared, costs);
		ck_assert_int_ge(run->report->makespan, low->report->makespan - 1000);
		ck_assert_int_lt(run->report->makespan, high->report->makespan);
		ck_assert_int_le(ABS(busy_of(run) - busy_of(high)), 1000);
		before = pipesim_times_new(costs, &high->shape);
		after = pipesim_times_new(costs, &run->shape);
		costs->p2p = 100000;
		moving = pipesim_times_new(costs, &run->shape);
		costs->p2p = 0;
		for (guint back = 0; back < 2; back++) {
			const PipesimKind kind = back ? PIPESIM_B : PIPESIM_F;

			assert_pairs(program, before->each, after->each, kind, 0);
			assert_pairs(program, before->each, moving->each, kind, 100000);
		}
	}
}
END_TEST

/* Slices of a described model take the same whether their number is told or the schedule's own, and more than the
 * micro-batch that is not cut. */
START_TEST(own_slices_take_as_long)
{
	g_autoptr(PipesimTransformer) model = read_shipped("llama-3-8b");
	const PipesimTraining training = pipesim_training_on_one(4096, 1);
	const PipesimRates rates = pipesim_device_rates(shipped_device("h100"), &training);
	guint cut = 0;

	for (const PipesimSchedule *const *at = pipesim_schedule_list(); *at != NULL; at++) {
		g_autoptr(PipesimCosts) costs = pipesim_costs_default();
		PipesimScenario scenario = {.ranks = 8, .microbatches = 8};
		g_autoptr(PipesimRun) own = NULL, told = NULL;

		if ((*at)->slices == 0)
			continue;
		ck_assert(
			pipesim_cutter_take(pipesim_cutter_new(pipesim_transformer_copy(model),
						    &training, NULL, &rates),
				scenario.ranks, costs, NULL));
		own = pipesim_run_schedule(*at, &scenario, costs);
		scenario.slices = own->shape.parts;
		ck_assert_uint_gt(scenario.slices, 1);
		told = pipesim_run_schedule(*at, &scenario, costs);
		ck_assert_int_eq(own->report->makespan, told->report->makespan);
		/* Each slice launches and adds to gradients as often as a whole one. */
		ck_assert_int_gt(busy_of(own),
			scenario.microbatches * scenario.ranks *
				(costs->time[PIPESIM_F] + costs->time[PIPESIM_B]) * 11 / 10);
		cut++;
	}
	ck_assert_uint_eq(cut, 3);
}
END_TEST

Suite *model_slices_suite(void)
{
	Suite *suite = suite_create("model-slices");
	TCase *tcase = tcase_create("all");

	tcase_add_test(tcase, no_cut_is_better);
	tcase_add_test(tcase, terapipe);
	tcase_add_test(tcase, large_is_proven);
	tcase_add_test(tcase, refuses);
	tcase_add_test(tcase, reads_times);
	tcase_add_test(tcase, own_slices_take_as_long);
	tcase_add_loop_test(tcase, context_exchange, 0, 7);
	suite_add_tcase(suite, tcase);
	return suite;
}
