/* Which sequences share a micro-batch: against all packings, run by rules written down here. */
#include "analysis/best-order.h"
#include "grid.h"
#include "model/random.h"
#include "optimize/packing.h"
#include "suites.h"
#include <math.h>
#include <string.h>

#define MOST 8
#define MANY 12

typedef struct {
	const char *schedule;
	guint ranks;
	guint last; /* times longer is the last stage */
	PipesimSequences of;
	gint64 tokens[3 * MOST];
} Case;

static Case draw_case(guint number, guint n)
{
	const PipesimSampleKey key = pipesim_sample_key(7, number);
	Case c = {.schedule = number % 2 == 0 ? "1f1b" : "gpipe",
		.ranks = 2 + number % 3,
		.last = 1 + number / 6 % 2 * 4};

	c.of = (PipesimSequences){.n = n,
		.limit = 20,
		.cost = {.a = number % 3 * 0.25, .b = 1, .c = number % 4},
		.whole = 8};
	for (guint i = 0; i < n; i++)
		c.tokens[i] = 1 + pipesim_random_below(key, i, 16);
	return c;
}

static PipesimDeal *new_deal(const Case *c, guint m)
{
	const PipesimScenario scenario = {.ranks = c->ranks, .microbatches = m};
	g_autofree char *scale = g_strdup_printf("%u=%u", c->ranks - 1, c->last);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	ck_assert(pipesim_costs_parse_scale(costs, scale, "scale", c->ranks, NULL));
	g_autoptr(PipesimProgram) program = pipesim_best_program(
		pipesim_schedule_find(c->schedule, NULL), &scenario, costs, NULL);
	g_autoptr(PipesimTimes) times =
		pipesim_times_new_placed(costs, &program->shape, program->stage_of);
	PipesimDeal *deal = pipesim_deal_new(program, times, NULL);

	ck_assert_ptr_nonnull(deal);
	return deal;
}

/* The makespan of micro-batches that take @share of F = 1 ms and B = 2 ms: rank r of 1F1B runs PP - r forwards ahead. */
static gint64 run_plainly(const Case *c, const double *share, guint m)
{
	gint64 end[2][4][MANY] = {0}, before = -1, last = 0;

	while (before != last) {
		before = last;
		for (guint r = 0; r < c->ranks; r++) {
			const guint ahead =
				strcmp(c->schedule, "gpipe") == 0 ? m : MIN(m, c->ranks - r);
			gint64 free = 0;

			for (guint i = 0, f = 0, b = 0; i < 2 * m; i++) {
				const gboolean forward = f < m && f < b + ahead;
				const guint k = forward ? f++ : b++;
				const gint64 takes =
					(gint64)round(share[k] * (forward ? 1e6 : 2e6) *
						      (r + 1 == c->ranks ? c->last : 1));
				gint64 ready = forward ? (r > 0 ? end[0][r - 1][k] : 0)
					       : r + 1 < c->ranks ? end[1][r + 1][k]
								  : end[0][r][k];

				ready = MAX(ready, free);
				free = end[!forward][r][k] = ready + takes;
				last = MAX(last, free);
			}
		}
	}
	return last;
}

static gint64 best_of_all(const Case *c, guint m)
{
	const PipesimSequences *of = &c->of;
	guint place[MOST] = {0};
	gint64 best = G_MAXINT64;
	guint at = 0;

	while (at < of->n) {
		gint64 tokens[MOST] = {0};
		double share[MOST] = {0};
		gboolean fits = TRUE;

		for (guint i = 0; i < of->n; i++) {
			const double x = (double)of->tokens[i];

			tokens[place[i]] += of->tokens[i];
			share[place[i]] += (of->cost.b * x + of->cost.a * x * x) / of->whole;
		}
		for (guint k = 0; k < m; k++) {
			share[k] += of->cost.c / of->whole;
			fits &= tokens[k] > 0 && tokens[k] <= of->limit;
		}
		if (fits) {
			const gint64 makespan = run_plainly(c, share, m);

			best = MIN(best, makespan);
		}
		for (at = 0; at < of->n && ++place[at] == m; at++)
			place[at] = 0;
	}
	return best;
}

static gint64 check_packing(const PipesimSequences *of, guint m, const guint *place)
{
	g_autofree gint64 *tokens = g_new0(gint64, m);
	gint64 most = 0;

	for (guint i = 0; i < of->n; i++) {
		ck_assert_uint_lt(place[i], m);
		tokens[place[i]] += of->tokens[i];
	}
	for (guint k = 0; k < m; k++) {
		ck_assert_int_gt(tokens[k], 0);
		most = MAX(most, tokens[k]);
	}
	ck_assert_int_le(most, of->limit);
	return most;
}

START_TEST(as_short_as_the_best_of_all)
{
	Case c = draw_case((guint)_i, 5);
	guint some = 0;

	c.of.tokens = c.tokens;
	for (guint m = pipesim_pack_fewest(&c.of); m <= c.of.n; m++) {
		g_autoptr(PipesimDeal) deal = new_deal(&c, m);
		const gint64 best = best_of_all(&c, m);
		guint place[MOST];
		gboolean all;

		ck_assert_int_eq(
			pipesim_pack_search(deal, &c.of, 100000, 1, place, &all), best);
		ck_assert(all);
		if (best == G_MAXINT64)
			continue;
		some++;
		check_packing(&c.of, m, place);
		ck_assert_int_le(pipesim_pack_bound(deal, &c.of, G_MAXINT64, 10000000), best);
		/* Moves alone come near it. */
		ck_assert_int_le(pipesim_pack_search(deal, &c.of, 900, 1, place, &all),
			best + best / 20);
		ck_assert(!all);
		check_packing(&c.of, m, place);
	}
	ck_assert_uint_gt(some, 0);
}
END_TEST

START_TEST(bounds_larger_ones)
{
	Case c = draw_case((guint)_i, 3 * MOST);

	c.of.tokens = c.tokens;
	for (guint m = pipesim_pack_fewest(&c.of) + 1; m <= c.of.n; m += 4) {
		g_autoptr(PipesimDeal) deal = new_deal(&c, m);
		guint place[3 * MOST];
		gboolean all;
		const gint64 found = pipesim_pack_search(deal, &c.of, 4000, 1, place, &all);
		gint64 bound;

		if (found == G_MAXINT64) /* hardly any room is left */
			continue;
		bound = pipesim_pack_bound(deal, &c.of, G_MAXINT64, 100000000);
		check_packing(&c.of, m, place);
		ck_assert_int_eq(pipesim_pack_run(deal, &c.of, place), found);
		ck_assert_int_le(bound, found);
		ck_assert_int_gt(bound, found - found / 4);
	}
}
END_TEST

START_TEST(rules)
{
	Case c = draw_case((guint)_i, 3 * MOST);
	guint place[3 * MOST];

	c.of.tokens = c.tokens;
	for (PipesimPackRule rule = 0; rule < PIPESIM_N_PACK_RULES; rule++)
		check_packing(&c.of, pipesim_pack_arrange(&c.of, rule, 0, place), place);
}
END_TEST

/* Karmarkar and Karp's own example: 8, 7, 6, 5, 4 in two differ by 2. */
START_TEST(differences)
{
	const gint64 tokens[] = {8, 7, 6, 5, 4};
	const PipesimSequences of = {
		.n = 5, .tokens = tokens, .limit = 16, .cost = {.b = 1}, .whole = 1};
	guint place[5];

	ck_assert_uint_eq(pipesim_pack_arrange(&of, PIPESIM_PACK_BALANCED, 0, place), 2);
	ck_assert_int_eq(check_packing(&of, 2, place), 16);
}
END_TEST

/* Of few micro-batches no order is shorter than the bound, nor than what is found; of many neither the rules' orders nor any
 * drawn are, and what is found is not far above what none is shorter than. */
START_TEST(orders_of_microbatches)
{
	const guint m = _i < 6 ? 3 + _i : 9 + _i % 4;
	const Case c = draw_case(_i, m);
	g_autoptr(PipesimDeal) deal = new_deal(&c, m);
	guint order[MANY], tried[MANY], seen = 0;
	double share[MANY], own[MANY];
	gint64 found, makespan, bound;

	for (guint i = 0; i < m; i++) {
		order[i] = i;
		share[i] = (double)c.tokens[i] / 8;
		pipesim_deal_set_share(deal, i, share[i]);
	}
	found = pipesim_deal_search(deal, 2000, 1, order);
	for (guint i = 0; i < m; i++) {
		own[i] = share[order[i]];
		seen |= 1u << order[i];
	}
	ck_assert_uint_eq(seen, (1u << m) - 1);
	ck_assert_int_eq(run_plainly(&c, own, m), found);
	makespan = found;
	bound = pipesim_deal_bound(deal, &makespan, order);
	ck_assert_int_eq(pipesim_deal_run(deal, order), makespan);
	ck_assert_int_le(makespan, found);
	ck_assert_int_le(bound, makespan);
	/* 0.81 to 1 of it. */
	ck_assert_int_ge(5 * bound, 4 * makespan);
	for (guint i = 0; i < 200 + PIPESIM_N_BATCH_RULES; i++) {
		memcpy(tried, order, sizeof tried);
		if (i < PIPESIM_N_BATCH_RULES)
			pipesim_deal_arrange(deal, i, tried);
		else
			pipesim_deal_shuffle(deal, 3, i, tried);
		ck_assert_int_ge(pipesim_deal_run(deal, tried), makespan);
	}
}
END_TEST

Suite *optimize_packing_suite(void)
{
	Suite *suite = suite_create("optimize-packing");
	TCase *tcase = tcase_create("all");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, as_short_as_the_best_of_all, 0, 24);
	tcase_add_loop_test(tcase, bounds_larger_ones, 0, 12);
	tcase_add_loop_test(tcase, rules, 0, 24);
	tcase_add_loop_test(tcase, orders_of_microbatches, 0, 18);
	tcase_add_test(tcase, differences);
	suite_add_tcase(suite, tcase);
	return suite;
}
