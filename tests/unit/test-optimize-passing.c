/* Orders out of a way in which micro-batches pass each other. */
#include "grid.h"
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

Suite *optimize_passing_suite(void)
{
	Suite *suite = suite_create("optimize-passing");
	TCase *orders = tcase_create("orders");

	tcase_add_loop_test(orders, orders_of_whole_backwards_are_short, 0, 2);
	tcase_add_test(orders, orders_fit);
	suite_add_tcase(suite, orders);
	return suite;
}
