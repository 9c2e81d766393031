/* Units that are repeated: their periods are what long steps grow by, and their steps are whole orders. */
#include "grid.h"
#include "optimize/search.h"
#include "optimize/walk.h"
#include "order/instance.h"
#include "schedule/search/fold.h"
#include "suites.h"
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

/* How long a step of @count micro-batches of each lane is that unit @i makes; it is complete and fits. */
static gint64 step_of(const PipesimInstance *of, const PipesimFold *fold, guint i, guint count)
{
	const PipesimInstance x = pipesim_instance_with_count(of, count);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *codes = g_new(guint8, (gsize)x.ranks * x.per_rank);
	PipesimWalk walk;

	pipesim_fold_unroll(fold, i, &x, codes);
	ck_assert(pipesim_instance_all_fit(&x, codes));
	pipesim_walk_init(&walk, &x, 1, 0, arena);
	ck_assert(pipesim_walk_begin(&walk, codes));
	return walk.makespan;
}

/* Steps grow by no more than @period a unit. */
static void assert_period(const Case *c, const PipesimFold *fold, guint i, gint64 period)
{
	const gint64 grown = step_of(c->x, fold, i, MANY) - step_of(c->x, fold, i, FEW);

	ck_assert_int_le(grown, (MANY - FEW + 1) * period);
}

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
	PipesimFold *fold = pipesim_fold_new(c.x);
	guint64 visits = 0;
	const guint n = pipesim_fold_find(fold, folds[_i].period, &visits);

	ck_assert_uint_gt(n, 0);
	for (guint i = 0; i < n; i += 50)
		assert_period(&c, fold, i, folds[_i].period);
	ck_assert_uint_eq(pipesim_fold_find(fold, folds[_i].period - 1, &visits), 0);
	ck_assert(pipesim_fold_is_complete(fold));
	pipesim_fold_free(fold);
	clear_case(&c);
}
END_TEST

/* The least period of which there is a unit. */
static gint64 shortest(PipesimFold *fold, gint64 most)
{
	gint64 least = 0;
	guint64 visits = 0;

	ck_assert_uint_gt(pipesim_fold_find(fold, most, &visits), 0);
	while (most - least > 1) {
		const gint64 period = (least + most) / 2;

		*(pipesim_fold_find(fold, period, &visits) > 0 ? &most : &least) = period;
	}
	return most;
}

/* A unit of two ranks and full backwards: what each runs in a period, and in which one counted from the first op of
 * rank 0, by code. */
typedef struct {
	guint8 seq[2][4];
	gint32 turn[2][4];
} Unit;

/* The i-th order of the ops of a rank behind its first one, and in which periods they are. */
static void set_rank(Unit *unit, guint rank, guint i)
{
	static const guint8 orders[][3] = {
		{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}};
	gint32 *turn = unit->turn[rank];

	unit->seq[rank][0] = 0;
	memcpy(&unit->seq[rank][1], orders[i % 6], 3);
	i /= 6;
	turn[0] = 0;
	turn[1] = (gint32)(i % 5);
	turn[2] = (gint32)(i / 5 % 3);
	turn[3] = (gint32)(i / 15 % 4);
}

/* Whether @rank runs each op after its own forward, and holds no more than @limit chunks: in turn F and B of either. */
static gboolean unit_fits(const Unit *unit, guint rank, guint limit)
{
	const gint32 *turn = unit->turn[rank];
	gint32 held = turn[1] - turn[0] + turn[3] - turn[2];
	guint place[4];

	for (guint i = 0; i < 4; i++)
		place[unit->seq[rank][i]] = i;
	for (guint chunk = 0; chunk < 4; chunk += 2)
		if (turn[chunk + 1] < turn[chunk] ||
			(turn[chunk + 1] == turn[chunk] && place[chunk + 1] < place[chunk]))
			return FALSE;
	for (guint i = 0; i < 4; i++) {
		held += unit->seq[rank][i] % 2 == 0 ? 1 : -1;
		if (unit->seq[rank][i] % 2 == 0 && held > (gint32)limit)
			return FALSE;
	}
	return TRUE;
}

/* Whether ops can start so that the unit repeats every @period: no waits go round in longer. */
static gboolean repeats_in(const PipesimInstance *x, const Unit *unit, gint64 period)
{
	/* Down the V and up again: which op waits for which. */
	static const struct {
		guint rank, code, from, from_code;
	} waits[] = {{1, 0, 0, 0}, {1, 2, 1, 0}, {0, 2, 1, 2}, {0, 3, 0, 2}, {1, 3, 0, 3},
		{1, 1, 1, 3}, {0, 1, 1, 1}};
	gint64 start[2][4] = {{0}};
	gboolean more = TRUE;

	for (guint round = 0; more; round++) {
		if (round > 8)
			return FALSE;
		more = FALSE;
		for (guint i = 0; i < 8 + G_N_ELEMENTS(waits); i++) {
			guint rank = i / 4, code, from = rank, from_code;
			gint64 hop = 0, at;

			if (i < 8) {
				code = unit->seq[rank][(i + 1) % 4];
				from_code = unit->seq[rank][i % 4];
				hop = i % 4 == 3 ? -period : 0;
			} else {
				rank = waits[i - 8].rank;
				code = waits[i - 8].code;
				from = waits[i - 8].from;
				from_code = waits[i - 8].from_code;
				hop = (unit->turn[from][from_code] - unit->turn[rank][code]) *
				      period;
				if (from != rank)
					hop += (code % 2 == 0
							? x->hop
							: x->hop_back)[rank * 2 + code / 2];
			}
			at = start[from][from_code] +
			     x->time[from_code % 2][from * 2 + from_code / 2] + hop;
			if (at > start[rank][code]) {
				start[rank][code] = at;
				more = TRUE;
			}
		}
	}
	return TRUE;
}

/* Of all units of two ranks and full backwards, at uneven stages and with messages, none is shorter. */
START_TEST(folds_are_the_shortest_of_all)
{
	const guint limit = 2 + (guint)_i % 3, all = 6 * 60;
	Case c = make_fold(2, 100, 30 + 60 * _i / 3, 20, limit, TRUE);
	PipesimFold *fold;
	gint64 period;

	for (guint lane = 0; lane < 4; lane++) {
		c.x->time[PIPESIM_CODE_F][lane] += 7 * lane * (guint)(_i / 3);
		c.x->time[PIPESIM_CODE_I][lane] += 11 * (3 - lane);
	}
	fold = pipesim_fold_new(c.x);
	period = shortest(fold, 4000);
	ck_assert(pipesim_fold_is_complete(fold));
	for (guint a = 0; a < all * all; a++) {
		Unit unit;

		set_rank(&unit, 0, a % all);
		set_rank(&unit, 1, a / all);
		if (unit_fits(&unit, 0, limit) && unit_fits(&unit, 1, limit))
			ck_assert(!repeats_in(c.x, &unit, period - 1));
	}
	pipesim_fold_free(fold);
	clear_case(&c);
}
END_TEST

/* Uneven stages, messages, halves or full backwards: what is found fits and is no longer than was asked for. */
START_TEST(folds_fit)
{
	for (guint seed = 0; seed < 12; seed++) {
		Case c = make_case(2, seed);
		PipesimFold *fold = pipesim_fold_new(c.x);
		guint64 visits = 0;
		gint64 trip = 0, period;
		guint n;

		for (guint lane = 0; lane < c.x->lanes; lane++) {
			trip += c.x->hop[lane] + c.x->hop_back[lane];
			for (guint kind = 0; kind < c.x->kinds; kind++)
				trip += c.x->time[kind][lane];
		}
		period = shortest(fold, trip);
		n = pipesim_fold_find(fold, period, &visits);
		for (guint i = 0; i < MIN(n, 20); i++)
			assert_period(&c, fold, i, period);
		pipesim_fold_free(fold);
		clear_case(&c);
	}
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
	tcase_add_loop_test(units, tight_ones_are_solved, 0, G_N_ELEMENTS(tight));
	tcase_add_loop_test(units, folds_are_the_shortest, 0, G_N_ELEMENTS(folds));
	tcase_add_loop_test(units, folds_are_the_shortest_of_all, 0, 9);
	tcase_add_test(units, folds_fit);
	tcase_add_loop_test(units, only_a_v_folds, 0, G_N_ELEMENTS(shapes));
	suite_add_tcase(suite, units);
	return suite;
}
