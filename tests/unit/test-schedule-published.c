/* What papers and READMEs print, in ms at PP = 8 unless it says otherwise. */
#include "grid.h"
#include "suites.h"

#define US G_GINT64_CONSTANT(1000)

typedef struct {
	const char *name;
	guint microbatches;
	gint64 idle, span, formula; /* us; -1: not asked */
	double peak;
} Row;

/* F = I = W = 1, F&B = 3 */
static const Row table_a[] = {
	{"gpipe", 20, 21000, -1, 21000, 20},
	{"1f1b", 20, 21000, -1, 21000, 8},
	{"interleaved-1f1b", 20, 10500, -1, 10500, 12.5},
	{"looped-bfs", 20, 10500, -1, 10500, 20},
	{"interleaved-zb", 20, 3500, -1, 3500, 9},
	{"zb-h1", 20, 7000, -1, 7000, 8},
	{"zb-h2", 20, 7000, 0, 0, 15},
	{"zb-v", 20, 3500, 0, 0, 8},
	{"chimera-doubling", 16, 9000, -1, 9000, 16},
	{"chimera-halving", 16, 6000, -1, 6000, 8},
	{"chimera", 16, 18000, -1, -1, 8},
	{"dualpipe", 20, 6000, 6000, 6000, 9},
	{"dualpipev", 20, 7000, -1, 7000, 8.5},
};

/* F = 1, I = 1.3, W = 0.8, F&B = 3.1 */
static const Row table_c[] = {
	{"gpipe", 20, 21700, -1, 21700, 20},
	{"1f1b", 20, 21700, -1, 21700, 8},
	{"interleaved-1f1b", 20, 10850, -1, 10850, 12.5},
	{"looped-bfs", 20, 10850, -1, 10850, 20},
	{"interleaved-zb", 20, 5250, -1, 5250, 9},
	{"zb-h1", 20, 10500, -1, 10500, 8},
	{"zb-h2", 20, 7000, 4900, 4900, 15},
	{"zb-v", 20, 4550, 3500, 0, 8},
	{"chimera-doubling", 16, 9300, -1, 9300, 16},
	{"chimera-halving", 16, 6600, -1, 6150, 8},
	{"chimera", 16, 19200, -1, -1, 8},
	{"dualpipe", 20, 7500, -1, 8400, 9},
	{"dualpipev", 20, 9300, -1, 9800, 8.5},
};

static void assert_row(const Row *row, const PipesimCosts *costs)
{
	g_autoptr(PipesimRun) run = named_run(row->name, 8, row->microbatches, costs);
	const PipesimReport *report = run->report;
	double peak = 0;

	ck_assert_int_eq(report->bubble.max_idle, row->idle * US);
	if (row->span >= 0)
		ck_assert_int_eq(report->bubble.max_span_idle, row->span * US);
	if (row->formula >= 0) {
		ck_assert(report->published.has_bubble);
		ck_assert_int_eq(report->published.bubble, row->formula * US);
	}
	for (guint rank = 0; rank < 8; rank++)
		peak = MAX(peak, pipesim_run_peak_activations(run, rank));
	ck_assert_double_eq_tol(peak, row->peak, 1e-12);
}

START_TEST(timing_a)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	assert_row(&table_a[_i], costs);
}
END_TEST

START_TEST(timing_c)
{
	g_autoptr(PipesimCosts) costs =
		grid_costs(1000 * US, 1300 * US, 800 * US, 3100 * US, 0);

	assert_row(&table_c[_i], costs);
}
END_TEST

/* DualPipe: (PP/2-1)(F&B+B-3W)
 * ------------------------------------------------------------------ */

static const struct {
	const char *name;
	guint ranks, microbatches;
} sizes[] = {{"dualpipe", 4, 8}, {"dualpipe", 6, 14}, {"dualpipe", 8, 20}, {"dualpipe", 16, 64},
	{"dualpipev", 4, 10}, {"dualpipev", 5, 13}};

/* Exact on the largest idle where F = I, W <= F and B <= F&B <= F+B: 90 of 90. */
START_TEST(dualpipe_exact)
{
	static const gint64 weights[] = {0, 250, 500, 800, 1000};
	const gint64 weight = weights[_i % 5];
	const gint64 b = 1000 + weight;
	const gint64 pair = b + 500 * (_i / 5 % 3);
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, weight, pair, 0);
	g_autoptr(PipesimRun) run = named_run(
		sizes[_i / 15].name, sizes[_i / 15].ranks, sizes[_i / 15].microbatches, costs);

	ck_assert_int_eq(run->report->published.difference, 0);
	ck_assert_int_eq(run->report->bubble.max_idle, run->report->published.bubble);
}
END_TEST

/* I > F >= W at F&B = F+B: the formula less min((PP/2-1)(I-F), F). */
START_TEST(dualpipe_longer_input)
{
	static const gint64 inputs[] = {1100, 1300, 1700};
	const gint64 input = inputs[_i % 3];
	const guint ranks = sizes[_i / 3].ranks;
	const gint64 weight = 800;
	g_autoptr(PipesimCosts) costs =
		grid_costs(1000, input, weight, 1000 + input + weight, 0);
	g_autoptr(PipesimRun) run =
		named_run("dualpipe", ranks, sizes[_i / 3].microbatches, costs);
	const gint64 less = MIN((ranks / 2 - 1) * (input - 1000), 1000);

	ck_assert_int_eq(run->report->published.bubble - run->report->bubble.max_idle, less);
	ck_assert_uint_gt(run->report->published.reasons->len, 0);
}
END_TEST

static gboolean has_reason(const PipesimReport *report, const char *text)
{
	for (guint i = 0; i < report->published.reasons->len; i++)
		if (strstr(report->published.reasons->pdata[i], text) != NULL)
			return TRUE;
	return FALSE;
}

/* F&B > F+B, as measured pairs may be: the ranks with fewest pairs, at the ends, idle longest;
 * the formula is the idle time of those in the middle. */
START_TEST(dualpipe_longer_pair)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, 4000, 0);
	g_autoptr(PipesimRun) run = named_run("dualpipe", 8, 20, costs);
	const PipesimReport *report = run->report;

	ck_assert_int_eq(report->published.bubble, 9000);
	ck_assert_int_eq(report->bubble.idle[3], 9000);
	ck_assert_int_eq(report->bubble.idle[0], 11000);
	ck_assert_int_eq(report->bubble.max_idle, 11000);
	ck_assert_uint_eq(report->published.reasons->len, 1);
	ck_assert(has_reason(report, "F&B <= F+B does not hold"));
}
END_TEST

/* Half a nanosecond is not a reason: a chunk of DualPipeV is half of a share of odd length. */
START_TEST(dualpipe_odd_nanoseconds)
{
	static const gint64 pairs[] = {-1, 3003, 2400};
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(1001, 1001, 1001, pairs[_i], 0, NULL);
	g_autoptr(PipesimRun) run = named_run("dualpipev", 8, 20, costs);

	ck_assert_int_eq(run->report->published.difference, 0);
	ck_assert_uint_eq(run->report->published.reasons->len, pairs[_i] == 2400);
}
END_TEST

/* Which side of F = I is broken decides what is said. */
START_TEST(dualpipe_says_what_happens)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1300, 1000, 800, 3100, 0);
	g_autoptr(PipesimRun) run = named_run("dualpipe", 8, 20, costs);

	ck_assert_int_gt(run->report->published.difference, 0);
	ck_assert_uint_eq(run->report->published.reasons->len, 1);
	ck_assert(has_reason(run->report, "F > I adds"));
}
END_TEST

/* W > I alone leaves the span of ZB-H2 where the formula has it: then only the two definitions
 * differ. */
START_TEST(zb_h2_within_its_span)
{
	g_autoptr(PipesimCosts) costs = grid_costs(3000, 1000, 2000, -1, 0);
	g_autoptr(PipesimRun) run = named_run("zb-h2", 8, 20, costs);

	ck_assert_int_eq(run->report->bubble.max_span_idle, run->report->published.bubble);
	ck_assert_int_ne(run->report->published.difference, 0);
	ck_assert_uint_eq(run->report->published.reasons->len, 1);
	ck_assert(has_reason(run->report, "the formula gives the span bubble"));
}
END_TEST

START_TEST(dualpipe_pairs_differ_by_rank)
{
	static const gint64 idle[] = {3000, 3600, 4200, 4200, 4200, 4200, 3600, 3000};
	g_autoptr(PipesimCosts) costs =
		grid_costs(1000 * US, 1000 * US, 1000 * US, 2400 * US, 0);
	g_autoptr(PipesimRun) run = named_run("dualpipe", 8, 20, costs);

	for (guint rank = 0; rank < 8; rank++)
		ck_assert_int_eq(run->report->bubble.idle[rank], idle[rank] * US);
	ck_assert_int_eq(run->report->makespan, 57600 * US);
	ck_assert_int_eq(run->report->published.bubble, 4200 * US);
}
END_TEST

static const struct {
	guint ranks, microbatches;
	gint64 idle, makespan;
} equal_ranks[] = {{4, 8, 2, 26}, {8, 20, 6, 66}, {16, 64, 14, 206}};

START_TEST(dualpipe_equal_on_every_rank)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1, 1, 1, 3, 0);
	g_autoptr(PipesimRun) run = named_run(
		"dualpipe", equal_ranks[_i].ranks, equal_ranks[_i].microbatches, costs);

	ck_assert_int_eq(run->report->makespan, equal_ranks[_i].makespan);
	for (guint rank = 0; rank < equal_ranks[_i].ranks; rank++) {
		ck_assert_int_eq(run->report->bubble.idle[rank], equal_ranks[_i].idle);
		ck_assert_uint_eq(run->report->held.peak[rank], equal_ranks[_i].ranks + 1);
		ck_assert_uint_eq(
			run->report->held.peak_until_input[rank], equal_ranks[_i].ranks + 1);
	}
}
END_TEST

/* Fused pairs of a rank, counted in the original. */
START_TEST(dualpipe_pairs)
{
	static const guint pairs[] = {9, 10, 11, 11, 11, 11, 10, 9};
	const GridCase point = {
		pipesim_schedule_find("dualpipe", NULL), 8, 20, 0, 0, 0, FALSE, 0};
	g_autoptr(PipesimProgram) program = grid_program(&point);

	for (guint rank = 0; rank < 8; rank++) {
		guint found = 0;

		for (guint i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++)
			found += program->ops[i].kind == PIPESIM_FB;
		ck_assert_uint_eq(found, pairs[rank]);
	}
}
END_TEST

/* Chimera
 * --------------------------------------------------------------------------------------- */

static const gint64 direct_idle[] = {12, 18, 24, 30}; /* (D-2)(N/D+1)F at D = 8, N = 8 .. 32 */

START_TEST(chimera_direct)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1, 1, 1, 3, 0);
	g_autoptr(PipesimRun) run = named_run("chimera", 8, 8 * ((guint)_i + 1), costs);

	ck_assert_int_eq(run->report->bubble.max_idle, direct_idle[_i]);
	for (guint rank = 0; rank < 8; rank++) {
		ck_assert_uint_ge(run->report->held.peak[rank], 5);
		ck_assert_uint_le(run->report->held.peak[rank], 8);
	}
	ck_assert_uint_eq(run->report->held.peak[0], 5);
	ck_assert_uint_eq(run->report->held.peak[7], 5);
}
END_TEST

/* (D-2)/(1.5N+D-2) at N = D and B = 2F. */
START_TEST(chimera_one_unit)
{
	const guint d = 2 * ((guint)_i + 1);
	g_autoptr(PipesimCosts) costs = grid_costs(1, 1, 1, 3, 0);
	g_autoptr(PipesimRun) run = named_run("chimera", d, d, costs);

	ck_assert_int_eq(run->report->bubble.max_idle * (3 * d + 2 * (d - 2)),
		2 * (d - 2) * run->report->makespan);
}
END_TEST

/* (D/2-1)(F+B) at B = 2F, whatever the number of units. */
START_TEST(chimera_doubling)
{
	const guint d = 2 * ((guint)_i + 1);

	for (guint units = 1; units <= 3; units++) {
		g_autoptr(PipesimCosts) costs = grid_costs(10, 12, 8, 30, 0);
		g_autoptr(PipesimRun) run =
			named_run("chimera-doubling", d, 2 * d * units, costs);

		ck_assert_int_eq(run->report->bubble.max_idle, (d / 2 - 1) * 30);
		ck_assert_uint_le(run->report->held.max_peak, 2 * d);
		if (d > 2)
			ck_assert_uint_gt(run->report->held.max_peak, d);
	}
}
END_TEST

/* (D/2-1)(F+B/2) at B = 2F, whatever the number of units; the activations of plain Chimera. */
START_TEST(chimera_halving)
{
	const guint d = 2 * ((guint)_i + 1);

	for (guint units = 1; units <= 3; units++) {
		g_autoptr(PipesimCosts) costs = grid_costs(20, 24, 16, 60, 0);
		g_autoptr(PipesimRun) run = named_run("chimera-halving", d, d * units, costs);

		ck_assert_int_eq(run->report->bubble.max_idle, (d / 2 - 1) * 40);
		ck_assert_int_eq(run->report->published.difference, 0);
		ck_assert_uint_eq(pipesim_shape_whole(&run->shape), d * units);
		for (guint rank = 0; rank < d; rank++) {
			const double held = pipesim_run_peak_activations(run, rank);

			ck_assert_double_le(held, d);
			ck_assert_double_ge(held, 0.75 * d + 0.5);
		}
	}
}
END_TEST

/* A stage begins with a forward when the stage before has ended all of it, and both halves run
 * without a gap, whatever the times. */
START_TEST(chimera_halving_whole_forwards)
{
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, 6, TRUE);
	g_autoptr(PipesimRun) run = named_run("chimera-halving", 6, 12, costs);
	const PipesimProgram *program = run->step->program;
	const gint64 *start = run->step->timeline->start, *end = run->step->timeline->end;
	const guint m = program->shape.microbatches;

	for (guint stage = 0; stage < 6; stage++)
		for (guint k = 0; k < m; k += 2) {
			const guint32 *half = &program->forward[stage * m + k];
			const guint32 *before = half - m;

			ck_assert_int_eq(MAX(start[half[0]], start[half[1]]),
				MIN(end[half[0]], end[half[1]]));
			if (stage > 0)
				ck_assert_int_ge(MIN(start[half[0]], start[half[1]]),
					MAX(end[before[0]], end[before[1]]) + costs->p2p);
		}
}
END_TEST

/* Twice as many micro-batches of half the time are as fast: rates count whole ones. */
START_TEST(chimera_halving_throughput)
{
	g_autoptr(PipesimCosts) costs = grid_costs(20, 24, 16, 60, 0);
	const PipesimScenario scenario = {.ranks = 8, .microbatches = 16};
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	PipesimRun *run = named_run("chimera-halving", 8, 16, costs);

	g_ptr_array_add(comparison->runs, run);
	pipesim_comparison_finish(comparison);
	ck_assert_double_eq_tol(pipesim_throughput(comparison, run),
		(double)comparison->baseline / (double)run->report->makespan, 1e-12);
}
END_TEST

/* Halves of parts of the model with times of their own, and of messages over links. */
START_TEST(chimera_halving_shares)
{
	g_autoptr(PipesimCosts) costs = grid_costs(20, 24, 16, 60, 0);
	const PipesimSchedule *schedule = pipesim_schedule_find("chimera-halving", NULL);
	g_autoptr(PipesimRun) run = NULL;

	costs->n_parts = 4;
	costs->part = g_new(gint64, 4 * PIPESIM_FB);
	for (guint i = 0; i < 4 * PIPESIM_FB; i++)
		costs->part[i] = 100 + 2 * (gint64)i;
	costs->network = pipesim_network_new();
	costs->network->message_bytes = 1001;
	costs->network->intra = (PipesimLinkSpeed){70, 1000000000, FALSE};
	run = grid_run(&(GridCase){schedule, 4, 8, 0, 0, 0, FALSE, 0}, costs);
	for (guint stage = 0; stage < 4; stage++)
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			ck_assert_int_eq(run->times->stage[kind][stage],
				costs->part[stage * PIPESIM_FB + kind] / 2);
	ck_assert_int_eq(run->network->message_bytes, 501);
	ck_assert_int_eq(run->times->p2p, 70 + 501);
	ck_assert_int_eq(costs->network->message_bytes, 1001);
}
END_TEST

/* The others
 * -------------------------------------------------------------------------------------- */

START_TEST(one_f_one_b_activations)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const guint ranks = (guint)_i;

	for (guint m = 1; m <= 2 * ranks; m++) {
		g_autoptr(PipesimRun) run = named_run("1f1b", ranks, m, costs);
		g_autoptr(PipesimRun) all = named_run("gpipe", ranks, m, costs);

		for (guint rank = 0; rank < ranks; rank++) {
			ck_assert_uint_eq(run->report->held.peak[rank], MIN(m, ranks - rank));
			ck_assert_uint_eq(all->report->held.peak[rank], m);
		}
		ck_assert_int_eq(run->report->makespan, all->report->makespan);
	}
}
END_TEST

/* Freed at I rank r holds p - r; held to W every rank holds p. */
START_TEST(zb_h1_activations)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimRun) run = named_run("zb-h1", 8, 20, costs);

	for (guint rank = 0; rank < 8; rank++) {
		ck_assert_uint_eq(run->report->held.peak[rank], 8);
		ck_assert_uint_eq(run->report->held.peak_until_input[rank], 8 - rank);
	}
}
END_TEST

/* W longer than I or F: (PP-1)(F+B-2W) is too low, and the report says why. */
START_TEST(zb_h1_long_weights)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 800, 1300, -1, 0);
	g_autoptr(PipesimRun) run = named_run("zb-h1", 8, 20, costs);

	ck_assert_int_eq(run->report->published.bubble, 3500);
	ck_assert_int_eq(run->report->bubble.max_idle, 7000);
	ck_assert_int_eq(run->report->bubble.max_span_idle, 5600);
	ck_assert_uint_gt(run->report->published.reasons->len, 0);
}
END_TEST

Suite *schedule_published_suite(void)
{
	Suite *suite = suite_create("schedule-published");
	TCase *tables = tcase_create("tables");
	TCase *dualpipe = tcase_create("dualpipe");
	TCase *chimera = tcase_create("chimera");
	TCase *others = tcase_create("others");

	tcase_add_loop_test(tables, timing_a, 0, G_N_ELEMENTS(table_a));
	tcase_add_loop_test(tables, timing_c, 0, G_N_ELEMENTS(table_c));
	tcase_add_loop_test(dualpipe, dualpipe_exact, 0, 15 * G_N_ELEMENTS(sizes));
	tcase_add_loop_test(dualpipe, dualpipe_longer_input, 0, 3 * 4);
	tcase_add_test(dualpipe, dualpipe_longer_pair);
	tcase_add_loop_test(dualpipe, dualpipe_odd_nanoseconds, 0, 3);
	tcase_add_test(dualpipe, dualpipe_says_what_happens);
	tcase_add_test(dualpipe, zb_h2_within_its_span);
	tcase_add_test(dualpipe, dualpipe_pairs_differ_by_rank);
	tcase_add_loop_test(
		dualpipe, dualpipe_equal_on_every_rank, 0, G_N_ELEMENTS(equal_ranks));
	tcase_add_test(dualpipe, dualpipe_pairs);
	tcase_add_loop_test(chimera, chimera_direct, 0, G_N_ELEMENTS(direct_idle));
	tcase_add_loop_test(chimera, chimera_one_unit, 0, 8);
	tcase_add_loop_test(chimera, chimera_doubling, 0, 8);
	tcase_add_loop_test(chimera, chimera_halving, 0, 8);
	tcase_add_loop_test(chimera, chimera_halving_whole_forwards, 0, 8);
	tcase_add_test(chimera, chimera_halving_throughput);
	tcase_add_test(chimera, chimera_halving_shares);
	tcase_add_loop_test(others, one_f_one_b_activations, 1, 9);
	tcase_add_test(others, zb_h1_activations);
	tcase_add_test(others, zb_h1_long_weights);
	suite_add_tcase(suite, tables);
	suite_add_tcase(suite, dualpipe);
	suite_add_tcase(suite, chimera);
	suite_add_tcase(suite, others);
	return suite;
}
