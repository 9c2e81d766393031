/* Orders out of a way in which micro-batches pass each other, and bounds by parts of what these need. */
#include "exact.h"
#include "grid.h"
#include "model/random.h"
#include "optimize/bound-busy.h"
#include "optimize/passing.h"
#include "optimize/walk.h"
#include "suites.h"

typedef struct {
	PipesimShape shape;
	PipesimCosts *costs;
	PipesimTimes *times;
	PipesimInstance *x;
	PipesimBound *bound;
} Case;

static void make_case(
	Case *c, guint ranks, guint m, guint limit, gboolean whole, PipesimCosts *costs)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = m};
	PipesimInstanceOf of = {.shape = &c->shape,
		.costs = costs,
		.whole = whole,
		.max_activations = {limit, 1}};

	c->costs = costs;
	ck_assert(pipesim_shape_init(&c->shape, &scenario, 1, PIPESIM_LOOPED, NULL));
	of.times = c->times = pipesim_times_new(costs, &c->shape);
	c->x = pipesim_instance_new(&of, NULL);
	c->bound = pipesim_bound_new(c->x, FALSE, NULL, NULL);
}

static void clear_case(Case *c)
{
	pipesim_bound_free(c->bound);
	pipesim_instance_free(c->x);
	pipesim_times_free(c->times);
	pipesim_costs_free(c->costs);
}

/* The makespan of the order, which must fit; -1: there is none. */
static gint64 makespan_of(const Case *c)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *codes = g_new(guint8, (gsize)c->x->ranks * c->x->per_rank);
	PipesimWalk walk;

	if (!pipesim_pass(c->x, c->bound, codes))
		return -1;
	for (guint rank = 0; rank < c->x->ranks; rank++)
		if (!pipesim_instance_fits(c->x, rank, &codes[rank * c->x->per_rank]))
			return -1;
	pipesim_walk_init(&walk, c->x, 0, 0, arena);
	ck_assert(pipesim_walk_begin(&walk, codes));
	return walk.makespan;
}

/* Without weight gradients: with two micro-batches on their way the shortest of all, with more little longer
 * than what no order is below. */
START_TEST(orders_of_whole_backwards_are_short)
{
	static const guint limits[] = {2, 3, 4, 6};
	const gint64 hop = _i * 5, meeting = 100 + 130 + 2 * hop;

	for (guint i = 0; i < G_N_ELEMENTS(limits); i++)
		for (guint m = 8; m <= 24; m += 8) {
			Case c;
			gint64 longer;

			make_case(&c, 8, m, limits[i], TRUE, grid_costs(100, 60, 70, 230, hop));
			longer = makespan_of(&c) - c.bound->time;
			ck_assert_int_ge(longer, 0);
			ck_assert_int_le(longer, limits[i] == 2 ? 0 : 2 * meeting);
			clear_case(&c);
		}
}
END_TEST

/* Weight gradients go where ranks wait, at any costs; and there is no order of what no bound has asked for. */
START_TEST(orders_fit)
{
	GRand *random = g_rand_new_with_seed(7);
	guint orders = 0;

	for (guint i = 0; i < 40; i++) {
		const gint64 f = g_rand_int_range(random, 1, 100);
		const guint ranks = g_rand_int_range(random, 2, 8);
		Case c;
		gint64 makespan;

		make_case(&c, ranks, 12, g_rand_int_range(random, 1, ranks + 1), FALSE,
			grid_costs(f, g_rand_int_range(random, 1, 100),
				g_rand_int_range(random, 1, 100), 300,
				g_rand_int_range(random, 0, 9)));
		makespan = makespan_of(&c);
		ck_assert(makespan >= c.bound->time ||
			  (makespan == -1 && c.bound->first == NULL));
		orders += makespan > 0;
		clear_case(&c);
	}
	g_rand_free(random);
	ck_assert_uint_ge(orders, 20);
}
END_TEST

/* I frees a part, and room is not for whole micro-batches alone: no bound is above the best of all orders, and all
 * states of rank 0 say that so much lies between. */
START_TEST(parts_that_stay_are_below_all_orders)
{
	static const struct {
		guint ranks, m;
	} sizes[] = {{2, 5}, {3, 5}, {3, 6}, {4, 5}};
	const guint ranks = sizes[_i].ranks, every = _i == 3 ? grid_every(9) : 1;
	guint waits = 0, solved = 0;

	for (guint seed = 0; seed < 40; seed += every) {
		const PipesimSampleKey key = pipesim_sample_key(seed, (guint)_i);
		const PipesimScenario scenario = {.ranks = ranks, .microbatches = sizes[_i].m};
		const gint64 freed = 1 + pipesim_random_below(key, 0, 5);
		const gint64 rest = 1 + pipesim_random_below(key, 1, 5);
		g_autoptr(PipesimCosts) costs =
			grid_costs(20 + pipesim_random_below(key, 2, 80),
				20 + pipesim_random_below(key, 3, 120),
				10 + pipesim_random_below(key, 4, 90), 900,
				pipesim_random_below(key, 5, 10));
		PipesimShape shape;
		PipesimInstanceOf of = {.shape = &shape,
			.costs = costs,
			.memory_limit = (freed + rest) * (1 + (gint64)ranks / 2) -
					pipesim_random_below(key, 6, (guint32)rest)};
		g_autoptr(PipesimTimes) times = NULL;
		g_autoptr(PipesimBound) bound = NULL;
		const PipesimBoundStep *last;
		PipesimInstance *x;
		gint64 least;

		costs->bytes_until_input = freed;
		costs->bytes_until_weight = rest;
		ck_assert(pipesim_shape_init(&shape, &scenario, 1, PIPESIM_LOOPED, NULL));
		of.times = times = pipesim_times_new(costs, &shape);
		x = pipesim_instance_new(&of, NULL);
		ck_assert_ptr_nonnull(x);
		bound = pipesim_bound_new(x, TRUE, NULL, NULL);
		least = exact_makespan(x, G_MAXINT64, 60000);
		if (least >= 0)
			ck_assert_int_le(bound->time, least);
		solved += least >= 0;
		last = &g_array_index(bound->steps, PipesimBoundStep, bound->steps->len - 1);
		waits += last->rule == PIPESIM_BY_PASSING && last->kind == PIPESIM_CODE_I &&
			 last->from > 0;
		pipesim_instance_free(x);
	}
	ck_assert_uint_ge(waits * every, 3);
	ck_assert_uint_ge(solved * every, 5);
}
END_TEST

/* Where I frees a half: before the third forward is a W or a second I, whichever is shorter. What is found is as short. */
START_TEST(parts_that_stay_are_waited_for)
{
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 6};
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1260000, 930000, 3190000, 0);
	PipesimShape shape;
	PipesimInstanceOf of = {.shape = &shape, .costs = costs, .memory_limit = 8000};
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimBound) bound = NULL;
	PipesimInstance *x;

	costs->bytes_until_input = costs->bytes_until_weight = 2000;
	ck_assert(pipesim_shape_init(&shape, &scenario, 1, PIPESIM_LOOPED, NULL));
	of.times = times = pipesim_times_new(costs, &shape);
	x = pipesim_instance_new(&of, NULL);
	bound = pipesim_bound_new(x, TRUE, NULL, NULL);
	ck_assert_int_eq(bound->time, 34030000);
	ck_assert_int_eq(
		g_array_index(bound->steps, PipesimBoundStep, bound->steps->len - 1).from,
		930000);
	pipesim_instance_free(x);
}
END_TEST

/* One after the other in the order of their starts. */
static gint64 run_in_turn(const gint64 *at, const gint64 *took, guint n)
{
	g_autofree gboolean *over = g_new0(gboolean, n);
	gint64 end = 0;

	for (guint i = 0; i < n; i++) {
		guint next = n;

		for (guint k = 0; k < n; k++)
			if (!over[k] && (next == n || at[k] < at[next]))
				next = k;
		over[next] = TRUE;
		end = MAX(end, at[next]) + took[next];
	}
	return end;
}

START_TEST(busy_ranks_end_in_time)
{
	GRand *random = g_rand_new_with_seed((guint32)_i);
	gint64 at[60], took[60];
	PipesimBusy busy = {0};

	ck_assert_int_eq(pipesim_busy_end(&busy), 0);
	for (guint i = 0; i < 60; i++) {
		at[i] = g_rand_int_range(random, 0, 40 * (_i + 1));
		took[i] = g_rand_int_range(random, 0, 60);
		pipesim_busy_add(&busy, at[i], took[i]);
		ck_assert_int_eq(pipesim_busy_end(&busy), run_in_turn(at, took, i + 1));
	}
	pipesim_busy_free(&busy);
	g_rand_free(random);
}
END_TEST

Suite *optimize_passing_suite(void)
{
	Suite *suite = suite_create("optimize-passing");
	TCase *orders = tcase_create("orders");

	tcase_add_loop_test(orders, orders_of_whole_backwards_are_short, 0, 2);
	tcase_add_test(orders, orders_fit);
	tcase_add_test(orders, parts_that_stay_are_waited_for);
	tcase_add_loop_test(orders, parts_that_stay_are_below_all_orders, 0, 4);
	tcase_add_loop_test(orders, busy_ranks_end_in_time, 0, 50);
	suite_add_tcase(suite, orders);
	return suite;
}
