/* Units that are repeated: their periods are what long steps grow by, and their steps are whole orders. */
#include "grid.h"
#include "optimize/fold.h"
#include "optimize/search.h"
#include "optimize/timetable.h"
#include "optimize/units.h"
#include "optimize/walk.h"
#include "order/build.h"
#include "order/instance.h"
#include "suites.h"
#include <math.h>
#include <string.h>

static const struct {
	PipesimPlacement placement;
	guint ranks, chunks;
} shapes[] = {
	{PIPESIM_LOOPED, 1, 1},
	{PIPESIM_LOOPED, 4, 1},
	{PIPESIM_V, 3, 2},
	{PIPESIM_LOOPED, 2, 3},
	{PIPESIM_WAVE, 3, 4},
	{PIPESIM_BIDIRECTIONAL, 4, 2},
};

#define FEW  120 /* micro-batches */
#define MANY 240

typedef struct {
	PipesimCosts *costs;
	PipesimTimes *times;
	PipesimInstance *x;
} Case;

/* Even or uneven stages, messages or none, halves or full backwards, any limit. */
static Case make_case(guint shape, guint seed)
{
	const PipesimScenario scenario = {.ranks = shapes[shape].ranks, .microbatches = MANY};
	PipesimInstanceOf of = {
		.max_activations = {2 + seed % (2 * shapes[shape].ranks + 1), 2},
		.whole = seed % 4 == 3};
	PipesimShape pipes;
	Case c = {.costs = grid_random_costs(seed, shapes[shape].ranks, seed % 2 == 1)};

	if (seed % 3 == 0) {
		pipesim_costs_free(c.costs);
		c.costs = grid_costs(1200, 1200, 1200, 3600, seed % 2 * 600);
	}
	c.costs->bytes_until_input = seed % 3 * 500;
	c.costs->bytes_until_weight = 1000;
	ck_assert(pipesim_shape_init(
		&pipes, &scenario, shapes[shape].chunks, shapes[shape].placement, NULL));
	c.times = pipesim_times_new(c.costs, &pipes);
	of.shape = &pipes;
	of.times = c.times;
	of.costs = c.costs;
	c.x = pipesim_instance_new(&of, NULL);
	ck_assert_ptr_nonnull(c.x);
	return c;
}

static void clear_case(Case *c)
{
	pipesim_instance_free(c->x);
	pipesim_times_free(c->times);
	pipesim_costs_free(c->costs);
}

/* How long a step of @count micro-batches of each lane is that the unit makes; it is complete and fits. */
static gint64 step_of(const PipesimCycle *cycle, guint count, guint first)
{
	PipesimInstance x = *cycle->x;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *codes = NULL;
	PipesimWalk walk;

	x.count = count;
	x.per_rank = x.chunks * x.kinds * count;
	codes = g_new(guint8, (gsize)x.ranks * x.per_rank);
	pipesim_cycle_unroll(cycle, &x, first, codes);
	for (guint rank = 0; rank < x.ranks; rank++)
		ck_assert(pipesim_instance_fits(&x, rank, codes + (gsize)rank * x.per_rank));
	pipesim_walk_init(&walk, &x, 1, 0, arena);
	ck_assert(pipesim_walk_begin(&walk, codes));
	return walk.makespan;
}

/* That much longer are steps of so many more units. */
static void assert_period(const PipesimCycle *cycle, guint first)
{
	const guint ways = cycle->x->shape.copies;
	const guint few = FEW / ways, many = MANY / ways;
	const double units = (double)(many - few) / cycle->unit;
	const double grown = (double)(step_of(cycle, many, first) - step_of(cycle, few, first));

	ck_assert_msg(fabs(grown - units * cycle->period) <= cycle->period + 1,
		"%g after %g units of %g", grown, units, cycle->period);
}

START_TEST(periods_are_what_steps_grow_by)
{
	guint drawn = 0;

	for (guint seed = 0; seed < 12; seed++) {
		Case c = make_case(_i, seed);

		for (guint unit = 1; unit <= 4; unit++) {
			g_autoptr(PipesimArena) arena = pipesim_arena_new();
			PipesimCycle cycle;

			pipesim_cycle_init(&cycle, c.x, unit, seed, unit, arena);
			ck_assert(pipesim_cycle_begin(&cycle, PIPESIM_BUILDS - 1));
			assert_period(&cycle, 0);
			pipesim_cycle_run(&cycle, 200, 0.5, 0);
			assert_period(&cycle, unit - 1);
			for (guint i = 0; i < 20; i++)
				if (pipesim_cycle_draw(
					    &cycle, cycle.best_period * (40 + i) / 60.0)) {
					assert_period(&cycle, i % unit);
					drawn++;
				}
			pipesim_cycle_restart(&cycle);
			ck_assert_double_le(
				fabs(cycle.period - cycle.best_period), cycle.op * 1e-3);
			assert_period(&cycle, 0);
		}
		clear_case(&c);
	}
	ck_assert_uint_gt(drawn, 20);
}
END_TEST

/* The same steps on any number of threads. */
START_TEST(steps_are_the_same)
{
	Case c = make_case(_i, 5);
	PipesimUnitsOf of = {.instance = c.x, .seed = 3, .threads = 1, .visits = 3000000};
	g_autoptr(GPtrArray) one = pipesim_units(&of, NULL), many = NULL;

	of.threads = 3;
	many = pipesim_units(&of, NULL);
	ck_assert_uint_gt(one->len, 0);
	ck_assert_uint_eq(one->len, many->len);
	for (guint i = 0; i < one->len; i++) {
		ck_assert_mem_eq(
			one->pdata[i], many->pdata[i], (gsize)c.x->ranks * c.x->per_rank);
		for (guint rank = 0; rank < c.x->ranks; rank++)
			ck_assert(pipesim_instance_fits(c.x, rank,
				(guint8 *)one->pdata[i] + (gsize)rank * c.x->per_rank));
	}
	clear_case(&c);
}
END_TEST

/* Below 1F1B's memory: forwards two and two, so that no micro-batch that comes up waits for one that goes
 * down. */
static const struct {
	PipesimPlacement placement;
	guint chunks, limit;
	gint64 least;
} tight[] = {
	{PIPESIM_LOOPED, 1, 6, 109},
	{PIPESIM_V, 2, 4, 108},
};

START_TEST(tight_ones_are_solved)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1000000, 1000000, 3000000, 0);
	const PipesimScenario scenario = {
		.ranks = 8, .microbatches = 32, .max_activations = {tight[_i].limit, 1}};
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = tight[_i].placement,
		.chunks = tight[_i].chunks,
		.moves = 1000000,
		.seed = 1};
	g_autoptr(PipesimFound) found = pipesim_search(&of, NULL);

	ck_assert_int_eq(found->makespan, found->bound->time);
	ck_assert_int_le(found->makespan, tight[_i].least * 1000000);
}
END_TEST

/* The shortest unit of one micro-batch ------------------------------------------------------- */

/* A V of @ranks with times of F, I and W and room for @limit / 2 activations. */
static Case make_fold(guint ranks, gint64 f, gint64 i, gint64 w, guint limit, gboolean whole)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = MANY};
	PipesimInstanceOf of = {.max_activations = {limit, 2}, .whole = whole};
	PipesimShape pipes;
	Case c = {.costs = grid_costs(f, i, w, f + i + w, 0)};

	ck_assert(pipesim_shape_init(&pipes, &scenario, 2, PIPESIM_V, NULL));
	c.times = pipesim_times_new(c.costs, &pipes);
	of.shape = &pipes;
	of.times = c.times;
	of.costs = c.costs;
	c.x = pipesim_instance_new(&of, NULL);
	ck_assert_ptr_nonnull(c.x);
	return c;
}

/* The ends of periods that are proven: one of this length there is, and it is a unit that fits; none is shorter. */
static const struct {
	gint64 f, i, w;
	gint64 period;
} folds[] = {
	{1000000, 1000000, 1000000, 3000000},
	{1000000, 830000, 900000, 2830000},
	{1000000, 1600000, 850000, 3900000},
};

START_TEST(folds_are_the_shortest)
{
	Case c = make_fold(8, folds[_i].f, folds[_i].i, folds[_i].w, 8, FALSE);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimFold *fold = pipesim_fold_new(c.x);
	PipesimCycle cycle;
	guint64 visits = 0;
	guint n;

	pipesim_cycle_init(&cycle, c.x, 1, 1, 0, arena);
	ck_assert(pipesim_cycle_begin(&cycle, PIPESIM_BUILDS - 1));
	n = pipesim_fold_find(fold, folds[_i].period, &visits);
	ck_assert_uint_gt(n, 0);
	for (guint i = 0; i < n; i++) {
		pipesim_fold_take(fold, i, cycle.seq, cycle.offset);
		ck_assert(pipesim_cycle_take(&cycle));
		ck_assert_double_le(fabs(cycle.period - (double)folds[_i].period), 1);
		if (i % 50 == 0)
			assert_period(&cycle, 0);
	}
	ck_assert_uint_eq(pipesim_fold_find(fold, folds[_i].period - 1, &visits), 0);
	ck_assert(pipesim_fold_is_complete(fold));
	pipesim_fold_free(fold);
	clear_case(&c);
}
END_TEST

/* The i-th order of the ops of a rank behind its first one, and in which periods they are. */
static void set_rank(PipesimCycle *cycle, guint rank, guint i)
{
	static const guint8 orders[][3] = {
		{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
	gint32 *offset = &cycle->offset[rank * 4];

	cycle->seq[rank * 4] = PIPESIM_CODE_F;
	memcpy(&cycle->seq[rank * 4 + 1], orders[i % 6], 3);
	i /= 6;
	offset[0] = 0;
	offset[1] = -(gint32)(i % 5);
	offset[2] = -(gint32)(i / 5 % 3);
	offset[3] = -(gint32)(i / 15 % 4);
}

/* Of all units of two ranks and full backwards the shortest. */
START_TEST(folds_are_the_shortest_of_all)
{
	static const gint64 times[][3] = {{100, 83, 90}, {70, 30, 11}, {50, 200, 10}};
	const guint limit = 2 + (guint)_i % 3, all = 6 * 60;
	Case c =
		make_fold(2, times[_i / 3][0], times[_i / 3][1], times[_i / 3][2], limit, TRUE);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimFold *fold = pipesim_fold_new(c.x);
	PipesimCycle cycle;
	guint64 visits = 0;
	gint64 shortest;

	pipesim_cycle_init(&cycle, c.x, 1, 1, 0, arena);
	ck_assert(pipesim_cycle_begin(&cycle, PIPESIM_BUILDS - 1));
	for (guint a = 0; a < all; a++)
		for (guint b = 0; b < all; b++) {
			set_rank(&cycle, 0, a);
			set_rank(&cycle, 1, b);
			pipesim_cycle_take(&cycle);
		}
	shortest = (gint64)ceil(cycle.best_period - 1e-3);
	ck_assert_uint_gt(pipesim_fold_find(fold, shortest, &visits), 0);
	ck_assert_uint_eq(pipesim_fold_find(fold, shortest - 1, &visits), 0);
	ck_assert(pipesim_fold_is_complete(fold));
	pipesim_fold_free(fold);
	clear_case(&c);
}
END_TEST

/* Uneven stages, messages, halves or full backwards: what is found fits and is no longer than was asked for, and moves
 * find nothing shorter where there is said to be nothing. */
START_TEST(folds_are_no_longer_than_units_that_moves_find)
{
	guint found = 0;

	for (guint seed = 0; seed < 12; seed++) {
		Case c = make_case(2, seed);
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		PipesimFold *fold = pipesim_fold_new(c.x);
		PipesimCycle cycle;
		guint64 visits = 0;
		gint64 moved;
		guint n;

		pipesim_cycle_init(&cycle, c.x, 1, seed, 1, arena);
		ck_assert(pipesim_cycle_begin(&cycle, PIPESIM_BUILDS - 1));
		pipesim_cycle_run(&cycle, 1000, 0.5, 0);
		moved = (gint64)ceil(cycle.best_period);
		n = pipesim_fold_find(fold, moved, &visits);
		/* Where not all ways are kept one may be lost. */
		ck_assert(n > 0 || !pipesim_fold_is_complete(fold));
		for (guint i = 0; i < MIN(n, 20); i++, found++) {
			pipesim_fold_take(fold, i, cycle.seq, cycle.offset);
			ck_assert(pipesim_cycle_take(&cycle));
			ck_assert_double_le(cycle.period, (double)moved + 1);
			assert_period(&cycle, 0);
		}
		pipesim_fold_free(fold);
		clear_case(&c);
	}
	ck_assert_uint_gt(found, 12);
}
END_TEST

START_TEST(only_a_v_folds)
{
	Case c = make_case(_i, 1);
	PipesimFold *fold = pipesim_fold_new(c.x);

	ck_assert_int_eq(fold != NULL, shapes[_i].placement == PIPESIM_V);
	pipesim_fold_free(fold);
	clear_case(&c);
}
END_TEST

Suite *optimize_units_suite(void)
{
	Suite *suite = suite_create("optimize-units");
	TCase *units = tcase_create("units");

	tcase_set_timeout(units, 60);
	tcase_add_loop_test(units, periods_are_what_steps_grow_by, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(units, steps_are_the_same, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(units, tight_ones_are_solved, 0, G_N_ELEMENTS(tight));
	tcase_add_loop_test(units, folds_are_the_shortest, 0, G_N_ELEMENTS(folds));
	tcase_add_loop_test(units, folds_are_the_shortest_of_all, 0, 9);
	tcase_add_test(units, folds_are_no_longer_than_units_that_moves_find);
	tcase_add_loop_test(units, only_a_v_folds, 0, G_N_ELEMENTS(shapes));
	suite_add_tcase(suite, units);
	return suite;
}
