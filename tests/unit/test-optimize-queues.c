/* Orders under the rules of PyTorch's queues: told quickly they are as long as the engine says, and so found short. */
#include "grid.h"
#include "optimize/queue-walk.h"
#include "optimize/search.h"
#include "optimize/walk.h"
#include "optimize/within.h"
#include "suites.h"
#include <string.h>

static const struct {
	PipesimPlacement placement;
	guint ranks, chunks, m;
} shapes[] = {
	{PIPESIM_LOOPED, 1, 1, 5},
	{PIPESIM_LOOPED, 4, 1, 9},
	{PIPESIM_V, 3, 2, 7},
	{PIPESIM_V, 4, 2, 12},
	{PIPESIM_LOOPED, 2, 3, 5},
	{PIPESIM_LOOPED, 8, 1, 40},
	{PIPESIM_WAVE, 3, 4, 6},
	{PIPESIM_LOOPED, 2, 5, 4},
};

typedef struct {
	const PipesimRuntime *runtime;
	PipesimCosts *costs;
	PipesimTimes *times;
	PipesimInstance *x;
} Case;

/* Even or uneven stages, full backwards as long as their halves, shorter, longer or alone, any limit. */
static Case make_case(guint shape, guint seed)
{
	const PipesimScenario scenario = {
		.ranks = shapes[shape].ranks, .microbatches = shapes[shape].m};
	PipesimInstanceOf of = {
		.max_activations = {2 + seed % (2 * shapes[shape].ranks + 1), 2},
		.whole = seed % 4 == 3};
	PipesimShape pipes;
	Case c = {.costs = grid_random_costs(seed, shapes[shape].ranks, seed % 2 == 1),
		.runtime = pipesim_runtime_find(
			seed % 2 == 0 ? "pytorch-2.11" : "pytorch-2.15", "--runtime", NULL)};

	c.costs->bytes_until_input = seed % 3 * 500;
	c.costs->bytes_until_weight = 1000;
	c.costs->p2p = seed % 5 * 30000;
	c.costs->time[PIPESIM_B] += ((gint64)seed % 3 - 1) * c.costs->time[PIPESIM_B] / 5;
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

static void free_case(Case *c)
{
	pipesim_instance_free(c->x);
	pipesim_times_free(c->times);
	pipesim_costs_free(c->costs);
}

/* By the engine. */
static gint64 simulate(const Case *c, const guint8 *codes)
{
	const PipesimIssuing asked = {0};
	g_autoptr(PipesimOrder) order = pipesim_instance_order(c->x, codes, NULL);
	g_autoptr(PipesimStep) step = NULL;
	PipesimJob job = {.order = order,
		.times = c->times,
		.runtime = c->runtime,
		.issuing = pipesim_runtime_asked(c->runtime, &asked)};

	ck_assert_ptr_nonnull(order);
	ck_assert(c->runtime->only != NULL ||
		  pipesim_queue_takes(c->x, c->runtime, &job.issuing));
	step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
	return step != NULL ? step->makespan : G_MAXINT64;
}

START_TEST(queues_are_simulated)
{
	guint moved = 0, joined = 0, may_join = 0;

	for (guint seed = 0; seed < 12; seed++) {
		Case c = make_case((guint)_i, seed);
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		g_autofree guint8 *codes = g_new(guint8, (gsize)c.x->ranks * c.x->per_rank);
		g_autoptr(PipesimBound) bound = NULL;
		PipesimQueueWalk walk, anew;

		pipesim_build(c.x, codes);
		pipesim_queue_walk_init(&anew, c.x, c.runtime, seed, 0, arena);
		pipesim_queue_walk_init(&walk, c.x, c.runtime, seed, 0, arena);
		ck_assert(pipesim_queue_walk_begin(&walk, codes));
		ck_assert_int_eq(walk.makespan, simulate(&c, codes));
		for (guint i = 0; i < 10; i++) {
			const gint64 before = walk.makespan;

			pipesim_queue_walk_run(&walk, 60, 3e5);
			for (guint rank = 0; rank < c.x->ranks; rank++)
				ck_assert(pipesim_instance_fits(
					c.x, rank, walk.codes + (gsize)rank * c.x->per_rank));
			memcpy(codes, walk.codes, walk.n);
			pipesim_instance_tidy(c.x, codes);
			ck_assert_mem_eq(codes, walk.codes, walk.n);
			ck_assert_int_eq(walk.makespan, simulate(&c, walk.codes));
			/* What is known of each place is as if moves had not made the order. */
			ck_assert(pipesim_queue_walk_begin(&anew, codes));
			ck_assert_mem_eq(anew.nth, walk.nth, walk.n * sizeof *walk.nth);
			for (guint room = 0; room < c.x->n_rooms; room++)
				ck_assert_mem_eq(anew.level[room], walk.level[room],
					walk.n * sizeof *walk.level[room]);
			ck_assert_int_ge(walk.makespan, walk.best_makespan);
			moved += walk.makespan != before;
			for (gsize op = 0; op < walk.n && c.x->whole != NULL; op++)
				joined += (walk.codes[op] & PIPESIM_CODE_JOINED) != 0;
		}
		may_join += c.x->whole != NULL;
		c.x->queued = c.x->in_rounds = TRUE;
		bound = pipesim_bound_new(c.x, FALSE, NULL, NULL);
		ck_assert_int_le(bound->time, walk.best_makespan);
		ck_assert_int_eq(walk.best_makespan, simulate(&c, walk.best));
		free_case(&c);
	}
	ck_assert(moved > 20 || shapes[_i].ranks == 1);
	/* Halves are joined too, where a full backward is worth more than both. */
	ck_assert(joined > 20 || may_join == 0);
}
END_TEST

/* Moves one op of @rank of @codes to another place: FALSE, with nothing changed, where that is no order. Tells the first place
 * that differs then, and behind the last. */
static gboolean move_op(const Case *c, guint8 *codes, guint rank, guint from, guint to,
	guint *place, guint *end)
{
	guint8 *own = codes + (gsize)rank * c->x->per_rank;
	const gsize n = (gsize)c->x->ranks * c->x->per_rank;
	g_autofree guint8 *before = g_memdup2(codes, n), *tidy = NULL;
	const guint8 moved = own[from];

	if (from < to)
		memmove(own + from, own + from + 1, to - from);
	else
		memmove(own + to + 1, own + to, from - to);
	own[to] = moved;
	*place = MIN(from, to);
	*end = MAX(from, to) + 1;
	tidy = g_memdup2(codes, n);
	if (pipesim_instance_fits(c->x, rank, own)) {
		pipesim_instance_tidy(c->x, tidy);
		if (memcmp(tidy, codes, n) == 0)
			return TRUE;
	}
	memcpy(codes, before, n);
	return FALSE;
}

/* Whatever is taken or left in between: an order is as long as the engine says, or longer than it may be. */
START_TEST(orders_are_judged)
{
	const guint every = grid_every(7);
	guint longer = 0, equal = 0, stuck = 0;

	for (guint seed = (guint)_i % every; seed < 60; seed += every) {
		Case c = make_case((guint)_i, seed);
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		const PipesimSampleKey key = pipesim_sample_key(seed, (guint)_i);
		g_autofree guint8 *codes = g_new(guint8, (gsize)c.x->ranks * c.x->per_rank);
		PipesimQueue queue;
		PipesimWalk walk;
		gint64 makespan;

		pipesim_walk_init(&walk, c.x, 0, 0, arena);
		pipesim_build(c.x, codes);
		pipesim_queue_init(&queue, c.x, c.runtime, arena);
		makespan = pipesim_queue_run(&queue, codes, 0, 0, c.x->per_rank, G_MAXINT64);
		ck_assert_int_eq(makespan, simulate(&c, codes));
		pipesim_queue_take(&queue);
		for (guint i = 0, drawn = 0; i < 400; i++) {
			const guint rank = pipesim_random_below(key, drawn++, c.x->ranks);
			const guint from = pipesim_random_below(key, drawn++, c.x->per_rank);
			const guint to = MIN(from + pipesim_random_below(key, drawn++, 16),
						 c.x->per_rank + 6) -
					 MIN(from, 7u);
			const gint64 most =
				makespan + pipesim_random_below(key, drawn++, 4) * 300000;
			g_autofree guint8 *before =
				g_memdup2(codes, (gsize)c.x->ranks * c.x->per_rank);
			guint place, end;
			gint64 judged, told;

			if (to >= c.x->per_rank || to == from ||
				!move_op(&c, codes, rank, from, to, &place, &end))
				continue;
			told = pipesim_walk_begin(&walk, codes) ? simulate(&c, codes)
								: G_MAXINT64;
			judged = pipesim_queue_run(&queue, codes, rank, place, end, most);
			stuck += told == G_MAXINT64;
			if (judged < G_MAXINT64)
				ck_assert_int_eq(judged, told);
			else
				ck_assert_int_gt(told, most);
			longer += told > most;
			equal += told <= most;
			if (judged <= most && pipesim_random_below(key, drawn++, 3) > 0) {
				pipesim_queue_take(&queue);
				makespan = judged;
			} else {
				pipesim_queue_leave(&queue);
				memcpy(codes, before, (gsize)c.x->ranks * c.x->per_rank);
			}
		}
		free_case(&c);
	}
	ck_assert_uint_gt(equal, 100);
	ck_assert(shapes[_i].ranks == 1 || (longer > 100 && stuck > 0));
}
END_TEST

/* All orders of rank 0, and of each rank behind it for each of these, from @n ops on: the least that one takes. */
static gint64 shortest(PipesimQueueWalk *walk, guint8 *codes, guint n)
{
	const PipesimInstance *x = walk->x;
	const guint count = x->count, per_rank = x->per_rank;
	guint done[PIPESIM_CODE_KINDS] = {0};
	gint64 least = G_MAXINT64;

	if (n == x->ranks * per_rank)
		return pipesim_queue_walk_begin(walk, codes) ? walk->makespan : G_MAXINT64;
	for (guint i = n / per_rank * per_rank; i < n; i++)
		done[codes[i]]++;
	for (guint kind = 0; kind < x->kinds; kind++) {
		const guint most = kind > 0 ? done[kind - 1] : count;
		gint64 time;

		if (done[kind] == most)
			continue;
		codes[n] = (guint8)kind;
		time = shortest(walk, codes, n + 1);
		least = MIN(least, time);
	}
	return least;
}

/* Messages that take long are most of the step: no order is below the bound that has them go one after the other. Nor is
 * one where they take little, and forwards come in turn: to the second of three ranks, as slow as the first. */
START_TEST(queues_bound_steps)
{
	const PipesimScenario scenario = {.ranks = 2 + (guint)_i, .microbatches = 3};
	guint by_queue = 0, by_turn = 0, met = 0;

	for (guint p2p = 0; p2p <= (_i > 0 ? 4 : 8); p2p++) {
		PipesimShape shape;
		Case c = {.costs = grid_costs(100, 130, 90, 220, p2p * (_i > 0 ? 9 : 50)),
			.runtime = pipesim_runtime_find(
				p2p % 2 == 0 ? "pytorch-2.11" : "pytorch-2.15", "--runtime",
				NULL)};
		PipesimInstanceOf of = {
			.shape = &shape, .costs = c.costs, .max_activations = {3, 1}};
		g_autoptr(PipesimBound) bound = NULL;
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		g_autofree guint8 *codes = NULL;
		PipesimQueueWalk walk;
		gint64 least;

		if (_i > 0) {
			c.costs->n_scale = scenario.ranks;
			c.costs->scale = g_new(PipesimFraction, scenario.ranks);
			for (guint i = 0; i < scenario.ranks; i++)
				c.costs->scale[i] =
					(PipesimFraction){i < 2 ? 10 : 4 - 2 * (p2p % 2), 4};
		}
		ck_assert(pipesim_shape_init(&shape, &scenario, 1, PIPESIM_LOOPED, NULL));
		of.times = c.times = pipesim_times_new(c.costs, &shape);
		c.x = pipesim_instance_new(&of, NULL);
		c.x->queued = c.x->in_rounds = TRUE;
		codes = g_new(guint8, (gsize)c.x->ranks * c.x->per_rank);
		pipesim_queue_walk_init(&walk, c.x, c.runtime, 0, 0, arena);
		bound = pipesim_bound_new(c.x, TRUE, NULL, NULL);
		least = shortest(&walk, codes, 0);
		ck_assert_int_le(bound->time, least);
		by_queue += g_array_index(bound->steps, PipesimBoundStep, bound->steps->len - 1)
				    .rule == PIPESIM_BY_QUEUE;
		for (guint i = 0; i < bound->steps->len; i++)
			by_turn += g_array_index(bound->steps, PipesimBoundStep, i).rule ==
				   PIPESIM_BY_TURN;
		met += bound->time == least;
		free_case(&c);
	}
	ck_assert_uint_ge(_i > 0 ? by_turn : by_queue, 4);
	ck_assert_uint_ge(met, _i > 0 ? 1 : 2);
}
END_TEST

/* All orders of full backwards, from op @n on: how many run, and the least that one takes. */
static guint run_all(const Case *c, guint8 *codes, guint n, gint64 *least)
{
	const guint per_rank = c->x->per_rank, from = n / per_rank * per_rank;
	guint done[2] = {0}, runs = 0;

	if (n == c->x->ranks * per_rank) {
		const gint64 makespan = simulate(c, codes);

		*least = MIN(*least, makespan);
		return makespan < G_MAXINT64;
	}
	for (guint i = from; i < n; i++)
		done[codes[i]]++;
	for (guint8 kind = 0; kind < 2; kind++) {
		if (done[kind] == (kind > 0 ? done[0] : c->x->count))
			continue;
		codes[n] = kind;
		runs += run_all(c, codes, n + 1, least);
	}
	return runs;
}

/* With one stage a rank Megatron-LM runs one of all orders, and what that takes is the bound. */
START_TEST(one_order_runs)
{
	for (guint seed = 0; seed < 12; seed++) {
		const PipesimScenario scenario = {.ranks = 2 + seed % 2,
			.microbatches = 1 + seed % 4,
			.max_activations = {4, 1},
			.runtime = pipesim_runtime_find("megatron", "--runtime", NULL)};
		Case c = {.costs = grid_random_costs(seed, scenario.ranks, seed % 2 == 1),
			.runtime = scenario.runtime};
		const PipesimSearchOf of = {.scenario = &scenario,
			.costs = c.costs,
			.placement = PIPESIM_LOOPED,
			.chunks = 1,
			.whole = TRUE};
		g_autofree guint8 *codes = NULL;
		g_autoptr(PipesimBound) bound = NULL, free_of_rules = NULL;
		gint64 least = G_MAXINT64;

		c.costs->p2p = 10000 + seed * 20000;
		c.x = pipesim_search_instance(&of, NULL);
		c.times = pipesim_times_new(c.costs, &c.x->shape);
		codes = g_new(guint8, (gsize)c.x->ranks * c.x->per_rank);
		bound = pipesim_search_bound(&of, c.x, FALSE, NULL);
		free_of_rules = pipesim_bound_new(c.x, FALSE, NULL, NULL);
		ck_assert_uint_eq(run_all(&c, codes, 0, &least), 1);
		ck_assert_int_eq(bound->time, least);
		ck_assert(seed % 4 < 2 || free_of_rules->time < least);
		free_case(&c);
	}
}
END_TEST

/* The same order whatever the number of threads, and no shorter one than the bound. */
START_TEST(queues_are_searched)
{
	const PipesimScenario scenario = {.ranks = 4,
		.microbatches = 12,
		.max_activations = {2, 1},
		.runtime = pipesim_runtime_find("queue", "--comm", NULL)};
	PipesimCosts *costs = grid_random_costs(7, 4, TRUE);
	PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = PIPESIM_LOOPED,
		.chunks = 1,
		.moves = 30000};
	g_autoptr(PipesimFound) one = NULL, two = NULL, none = NULL;

	costs->p2p = 50000;
	of.threads = 1;
	one = pipesim_search(&of, NULL);
	of.threads = 3;
	two = pipesim_search(&of, NULL);
	of.moves = 0;
	none = pipesim_search(&of, NULL);
	ck_assert_ptr_nonnull(one);
	ck_assert_int_eq(one->makespan, two->makespan);
	ck_assert_uint_eq(one->moves, two->moves);
	ck_assert_mem_eq(
		one->program->ops, two->program->ops, one->program->n_ops * sizeof(PipesimOp));
	ck_assert_int_ge(one->makespan, one->bound->time);
	ck_assert_int_lt(one->makespan, none->makespan);
	pipesim_costs_free(costs);
}
END_TEST

/* Of four uneven stages, by 30000 moves. */
static PipesimFound *search_uneven(
	guint chunks, PipesimFraction activations, guint count, guint threads)
{
	static const PipesimFraction scale[] = {{3, 2}, {1, 1}, {1, 1}, {9, 5}};
	const PipesimScenario scenario = {.ranks = 4,
		.microbatches = count,
		.max_activations = activations,
		.runtime = pipesim_runtime_find("queue", "--comm", NULL)};
	PipesimCosts *costs = grid_costs(1000000, 1200000, 800000, 3000000, 50000);
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = chunks > 1 ? PIPESIM_V : PIPESIM_LOOPED,
		.chunks = chunks,
		.threads = threads,
		.moves = 30000};
	PipesimFound *found;

	costs->n_scale = G_N_ELEMENTS(scale);
	costs->scale = g_memdup2(scale, sizeof scale);
	found = pipesim_search(&of, NULL);
	ck_assert_ptr_nonnull(found);
	ck_assert_int_ge(found->makespan, found->bound->time);
	pipesim_costs_free(costs);
	return found;
}

/* Grown from a few micro-batches they are shorter than moves of all of them at once make them with three times as many moves:
 * 172.64 ms. The last ones are repeated at once. */
START_TEST(orders_grow)
{
	g_autoptr(PipesimFound) one = search_uneven(1, (PipesimFraction){2, 1}, 24, 1);
	g_autoptr(PipesimFound) two = search_uneven(1, (PipesimFraction){2, 1}, 24, 2);

	ck_assert_int_le(one->makespan, 172500000);
	ck_assert_int_eq(one->makespan, two->makespan);
	ck_assert_uint_eq(one->moves, two->moves);
	ck_assert_mem_eq(
		one->program->ops, two->program->ops, one->program->n_ops * sizeof(PipesimOp));
}
END_TEST

/* In a V most of it is done by moves: with a third as many orders told for a move it was 126 ms. */
START_TEST(moves_are_worth_their_time)
{
	g_autoptr(PipesimFound) found = search_uneven(2, (PipesimFraction){3, 1}, 24, 1);

	ck_assert_int_le(found->makespan, 124500000);
}
END_TEST

Suite *optimize_queues_suite(void)
{
	Suite *suite = suite_create("optimize-queues");
	TCase *tests = tcase_create("queues");

	tcase_add_loop_test(tests, queues_are_simulated, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(tests, orders_are_judged, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(tests, queues_bound_steps, 0, 2);
	tcase_add_test(tests, one_order_runs);
	tcase_add_test(tests, queues_are_searched);
	tcase_add_test(tests, orders_grow);
	tcase_add_test(tests, moves_are_worth_their_time);
	suite_add_tcase(suite, tests);
	return suite;
}
