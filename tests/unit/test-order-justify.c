/* Orders that are put together once more by their own times. */
#include "grid.h"
#include "optimize/search.h"
#include "optimize/walk.h"
#include "order/justify.h"
#include "suites.h"

static PipesimInstance *make_instance(PipesimPlacement placement, guint ranks, guint chunks,
	guint m, PipesimFraction limit, gboolean whole, const PipesimCosts *costs)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = m};
	PipesimShape shape;
	g_autoptr(PipesimTimes) times = NULL;
	PipesimInstanceOf of = {.shape = &shape,
		.costs = costs,
		.whole = whole,
		.pairs = TRUE,
		.max_activations = limit};

	ck_assert(pipesim_shape_init(&shape, &scenario, chunks, placement, NULL));
	of.times = times = pipesim_times_new(costs, &shape);
	return pipesim_instance_new(&of, NULL);
}

static void assert_fits(const PipesimInstance *x, const guint8 *codes)
{
	for (guint rank = 0; rank < x->ranks; rank++)
		ck_assert(pipesim_instance_fits(x, rank, &codes[(gsize)rank * x->per_rank]));
}

/* From the order @codes: never longer, always an order that fits, which takes no longer than its times say. Returns by
 * how much it is shorter then. @paired: (inout): orders with overlapped pairs */
static gint64 justify(const PipesimInstance *x, guint8 *codes, guint seed, guint *paired)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimJustifier j;
	PipesimWalk walk;
	gint64 first, before;

	pipesim_walk_init(&walk, x, 0, 0, arena);
	pipesim_justifier_init(&j, x, seed, 0, arena);
	ck_assert(pipesim_walk_begin(&walk, codes));
	first = before = walk.makespan;
	pipesim_justifier_begin(&j, codes, walk.head, walk.makespan);
	for (guint i = 0; i < 12; i++) {
		const gboolean shorter = pipesim_justifier_run(&j, i > 1);

		ck_assert(shorter ? j.makespan < before : j.makespan == before);
		before = j.makespan;
		pipesim_justifier_codes(&j, codes);
		assert_fits(x, codes);
		ck_assert(pipesim_walk_begin(&walk, codes));
		ck_assert_int_le(walk.makespan, j.makespan);
	}
	for (guint i = 0; i < x->ranks * x->per_rank; i++)
		if ((codes[i] & PIPESIM_CODE_PAIRED) != 0) {
			++*paired;
			break;
		}
	return first - before;
}

static const struct {
	PipesimPlacement placement;
	guint chunks;
} placements[] = {
	{PIPESIM_LOOPED, 1},
	{PIPESIM_V, 2},
	{PIPESIM_LOOPED, 2},
	{PIPESIM_WAVE, 4},
	{PIPESIM_BIDIRECTIONAL, 2},
};

/* Lets every second backward run as one with its W where that stands behind it. */
static void join(const PipesimInstance *x, guint8 *codes)
{
	for (guint i = 0; x->whole != NULL && i < x->ranks * x->per_rank; i++)
		if (codes[i] % x->kinds == PIPESIM_CODE_I && i % 2 == 0)
			codes[i] |= PIPESIM_CODE_JOINED;
	pipesim_instance_tidy(x, codes);
}

/* Of all placements and ways to begin, with messages, other limits, full backwards that are shorter than their halves,
 * backwards that are not split, and overlapped pairs, which some orders come to. */
START_TEST(orders_get_no_longer)
{
	GRand *random = g_rand_new_with_seed((guint32)_i);
	guint shorter = 0, orders = 0, paired = 0;

	for (guint seed = 0; seed < 32; seed++) {
		const guint ranks = 2 * (guint)g_rand_int_range(random, 1, 4);
		const gint64 unit = 60 * placements[_i].chunks;
		const gint64 f = unit * g_rand_int_range(random, 1, 5);
		const gint64 i = unit * g_rand_int_range(random, 1, 5);
		const gint64 w = unit * g_rand_int_range(random, 1, 5);
		g_autoptr(PipesimCosts) costs = grid_costs(
			f, i, w, f + i + w, seed % 2 * g_rand_int_range(random, 0, 50));
		g_autoptr(PipesimInstance) x = NULL;
		g_autofree guint8 *codes = NULL;

		costs->time[PIPESIM_B] -= seed % 3 * unit / 4;
		costs->time[PIPESIM_FB] = f + costs->time[PIPESIM_B];
		if (seed >= 24)
			costs->time[PIPESIM_FB] -= unit * g_rand_int_range(random, 1, 3) / 2;
		x = make_instance(placements[_i].placement, ranks, placements[_i].chunks, 8,
			(PipesimFraction){
				g_rand_int_range(random, (gint)ranks, 4 * (gint)ranks), 2},
			seed % 4 == 3, costs);

		if (x == NULL)
			continue;
		codes = g_new(guint8, (gsize)x->ranks * x->per_rank);
		pipesim_build(x, codes);
		join(x, codes);
		orders++;
		shorter += justify(x, codes, seed, &paired) > 0;
	}
	g_rand_free(random);
	ck_assert_uint_ge(orders, 12);
	ck_assert_uint_ge(paired, 2);
	ck_assert_uint_ge(3 * shorter, orders);
}
END_TEST

/* What known schedules leave open in a V at three quarters of 1F1B's memory is closed by this alone. */
START_TEST(known_schedules_become_optimal)
{
	const PipesimScenario scenario = {
		.ranks = 8, .microbatches = 16, .max_activations = {6, 1}};
	g_autoptr(PipesimCosts) costs = grid_costs(100, 100, 100, 300, 0);
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = PIPESIM_V,
		.chunks = 2,
		.threads = 1,
		.moves = 1};
	g_autoptr(PipesimFound) found = pipesim_search(&of, NULL);

	ck_assert_int_eq(found->bound->time, 5350);
	ck_assert_int_eq(found->makespan, 5350);
}
END_TEST

Suite *order_justify_suite(void)
{
	Suite *suite = suite_create("order-justify");
	TCase *orders = tcase_create("orders");

	tcase_add_loop_test(orders, orders_get_no_longer, 0, (int)G_N_ELEMENTS(placements));
	tcase_add_test(orders, known_schedules_become_optimal);
	suite_add_tcase(suite, orders);
	return suite;
}
