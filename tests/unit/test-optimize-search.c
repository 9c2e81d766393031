/* The search for the shortest order: never above what it begins from, never below what is possible. */
#include "exact.h"
#include "grid.h"
#include "optimize/search.h"
#include "optimize/stretch.h"
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
	{PIPESIM_V, 4, 2, 3},
	{PIPESIM_LOOPED, 2, 3, 5},
	{PIPESIM_WAVE, 3, 4, 4},
	{PIPESIM_BIDIRECTIONAL, 4, 2, 8},
	{PIPESIM_BIDIRECTIONAL, 4, 4, 8},
	{PIPESIM_LOOPED, 2, 1, 40}, /* by a short order that is stretched */
	{PIPESIM_V, 2, 2, 30},
};

/* Costs and limits of all sorts. */
static PipesimSearchOf make_search(
	guint shape, guint seed, PipesimScenario *scenario, PipesimCosts **costs)
{
	*costs = grid_random_costs(seed, shapes[shape].ranks, seed % 2 == 1);
	(*costs)->bytes_until_input = seed % 3 * 500;
	(*costs)->bytes_until_weight = 1000;
	/* Full backwards as long as their halves, shorter, and longer. */
	(*costs)->time[PIPESIM_B] += ((gint64)seed % 3 - 1) * (*costs)->time[PIPESIM_B] / 5;
	*scenario = (PipesimScenario){.ranks = shapes[shape].ranks,
		.microbatches = shapes[shape].m,
		.max_activations = {2 + seed % (2 * shapes[shape].ranks + 1), 2}};
	if (seed % 5 == 4)
		scenario->max_activations.num = 0;
	return (PipesimSearchOf){.scenario = scenario,
		.costs = *costs,
		.placement = shapes[shape].placement,
		.chunks = shapes[shape].chunks,
		.whole = seed % 4 == 3,
		.moves = 4000,
		.seed = seed};
}

static void assert_fits(const PipesimInstance *x, const PipesimProgram *program)
{
	g_autofree guint8 *codes = g_new(guint8, (gsize)x->ranks * x->per_rank);

	ck_assert(pipesim_instance_codes(x, program, codes));
	for (guint rank = 0; rank < x->ranks; rank++)
		ck_assert(pipesim_instance_fits(x, rank, codes + (gsize)rank * x->per_rank));
}

/* One micro-batch after the other is an order that is complete, fits and runs, whatever the limit. */
START_TEST(built_orders_run)
{
	const guint every = grid_every(13);

	for (guint seed = (guint)_i % every; seed < 20; seed += every) {
		PipesimScenario scenario;
		g_autoptr(PipesimFound) found = NULL;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(_i, seed, &scenario, &costs);
		g_autofree guint8 *codes = NULL;
		g_autoptr(PipesimOrder) order = NULL;

		of.moves = 0;
		found = pipesim_search(&of, NULL);
		ck_assert_ptr_nonnull(found);
		codes = g_new(
			guint8, (gsize)found->instance->ranks * found->instance->per_rank);
		pipesim_build(found->instance, codes);
		order = pipesim_instance_order(found->instance, codes, NULL);
		ck_assert_ptr_nonnull(order);
		assert_fits(found->instance, order->program);
		ck_assert(pipesim_program_check_order(order->program, NULL, NULL, NULL));
		pipesim_costs_free(costs);
	}
}
END_TEST

/* What a walk says of its order is what the engine finds. */
START_TEST(walks_are_simulated)
{
	const guint every = grid_every(5);
	guint64 taken = 0, cases = 0;

	for (guint seed = (guint)_i % every; seed < 12; seed += every, cases++) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(_i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) found = NULL;
		g_autoptr(PipesimTimes) times = NULL;
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		g_autofree guint8 *codes = NULL;
		PipesimWalk walk;

		of.moves = 0;
		found = pipesim_search(&of, NULL);
		times = pipesim_times_new(costs, &found->instance->shape);
		codes = g_new(
			guint8, (gsize)found->instance->ranks * found->instance->per_rank);
		pipesim_build(found->instance, codes);
		pipesim_walk_init(&walk, found->instance, seed, 0, arena);
		ck_assert(pipesim_walk_begin(&walk, codes));
		for (guint i = 0; i < 20; i++) {
			g_autoptr(PipesimOrder) order = NULL;
			g_autoptr(PipesimStep) step = NULL;
			PipesimJob job = {.times = times};

			pipesim_walk_run(&walk, 200, 1e5, 0);
			pipesim_walk_codes(&walk, codes);
			order = pipesim_instance_order(found->instance, codes, NULL);
			ck_assert_ptr_nonnull(order);
			assert_fits(found->instance, order->program);
			job.order = order;
			step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, NULL);
			ck_assert_ptr_nonnull(step);
			ck_assert_int_eq(step->makespan, walk.makespan);
			ck_assert_int_ge(walk.makespan, walk.best_makespan);
		}
		taken += walk.taken;
		pipesim_costs_free(costs);
	}
	ck_assert_uint_gt(taken, 80 * cases);
}
END_TEST

/* No longer than what it begins from, no shorter than the bound, and the same on any number of threads. */
START_TEST(found_between_start_and_bound)
{
	const guint every = grid_every(8);

	for (guint seed = (guint)_i % every; seed < 8; seed += every) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(_i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) one = NULL, three = NULL;

		of.moves = 2000;
		of.threads = 1;
		one = pipesim_search(&of, NULL);
		of.threads = 3;
		three = pipesim_search(&of, NULL);
		ck_assert_int_ge(one->makespan, one->bound->time);
		for (guint i = 0; i < one->starts->len; i++) {
			const PipesimRun *run = one->starts->pdata[i];

			ck_assert_int_le(one->makespan, run->report->makespan);
		}
		ck_assert_int_eq(one->makespan, three->makespan);
		ck_assert_uint_eq(one->moves, three->moves);
		ck_assert_mem_eq(one->program->ops, three->program->ops,
			one->program->n_ops * sizeof(PipesimOp));
		assert_fits(one->instance, one->program);
		pipesim_costs_free(costs);
	}
}
END_TEST

/* By the rules of a runtime, and over links: what is said is what the engine finds, and no order that it
 * begins from is shorter. */
START_TEST(found_by_rules)
{
	static const char *const runtimes[] = {"queue", "grouped", "single", "pytorch-2.15"};

	for (guint seed = 0; seed < 4; seed++) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(1 + _i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) found = NULL;
		g_autoptr(PipesimRun) run = NULL;
		g_autoptr(GError) error = NULL;

		of.whole = FALSE;
		costs->p2p = 200000;
		if (seed % 2 == 0)
			scenario.runtime = pipesim_runtime_find(
				runtimes[(seed + (guint)_i) % 4], "--comm", NULL);
		if (seed % 3 != 0) {
			costs->network = pipesim_network_new();
			costs->network->message_bytes = 1000000;
			costs->network->intra.bandwidth = 5000000000;
			costs->network->share = PIPESIM_LINK_NODE;
			costs->p2p =
				pipesim_network_slowest_hop(costs->network, scenario.ranks);
		}
		found = pipesim_search(&of, &error);
		ck_assert_msg(found != NULL, "%s", error != NULL ? error->message : "");
		run = pipesim_run_program("found", found->program, NULL, &scenario, costs);
		ck_assert_int_eq(run->report->makespan, found->makespan);
		ck_assert_int_ge(found->makespan, found->bound->time);
		for (guint i = 0; i < found->starts->len; i++) {
			const PipesimRun *start = found->starts->pdata[i];

			if (start->step->split || start->schedule == NULL ||
				strcmp(pipesim_schedule_name(start->schedule), "dualpipev") ==
					0)
				continue;
			ck_assert_int_le(found->makespan, start->report->makespan);
		}
		pipesim_costs_free(costs);
	}
}
END_TEST

/* A percentile of samples: what is said is what they come to, and no order that it begins from has less. */
START_TEST(found_by_quantile)
{
	const guint every = grid_every(3);

	for (guint seed = (guint)_i % every; seed < 4; seed += every) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(1 + _i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) found = NULL;
		g_autoptr(PipesimRun) run = NULL;
		g_autoptr(GError) error = NULL;

		of.by_quantile = TRUE;
		of.quantile = seed % 2 == 0 ? PIPESIM_MEDIAN : PIPESIM_P95;
		scenario.samples = 20;
		scenario.jitter = (PipesimFraction){1, 10};
		scenario.seed = seed;
		found = pipesim_search(&of, &error);
		ck_assert_msg(found != NULL, "%s", error != NULL ? error->message : "");
		run = pipesim_run_program("found", found->program, NULL, &scenario, costs);
		ck_assert_int_eq(
			(gint64)run->samples->makespan[of.quantile].value, found->makespan);
		for (guint i = 0; i < found->starts->len; i++) {
			const PipesimRun *start = found->starts->pdata[i];

			if (strcmp(pipesim_schedule_name(start->schedule), "dualpipev") != 0)
				ck_assert_int_le(found->makespan,
					pipesim_search_start_value(&of, start));
		}
		pipesim_costs_free(costs);
	}
}
END_TEST

static gint64 p95_of_others(const PipesimProgram *program, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	PipesimScenario other = *scenario;
	g_autoptr(PipesimRun) run = NULL;

	other.seed = 12345;
	other.samples = 3000;
	run = pipesim_run_program("order", program, NULL, &other, costs);
	return (gint64)run->samples->makespan[PIPESIM_P95].value;
}

/* Robust in fact: by samples that the search has not seen, too, the order is not worse than that which is the shortest
 * at usual times, and better where there is something to gain. */
START_TEST(quantiles_hold_elsewhere)
{
	static const struct {
		PipesimPlacement placement;
		guint ranks, chunks, m, limit;
		gint64 i, w;
	} cases[] = {{PIPESIM_LOOPED, 4, 1, 12, 3, 1000000, 1000000},
		{PIPESIM_V, 4, 2, 8, 4, 1000000, 1000000},
		{PIPESIM_LOOPED, 6, 1, 18, 6, 1600000, 850000}};
	gint64 sum_robust = 0, sum_plain = 0;

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(PipesimCosts) costs = grid_costs(
			1000000, cases[i].i, cases[i].w, 1000000 + cases[i].i + cases[i].w, 0);
		const PipesimScenario scenario = {.ranks = cases[i].ranks,
			.microbatches = cases[i].m,
			.max_activations = {cases[i].limit, 1},
			.samples = 100,
			.jitter = {15, 100},
			.seed = 1};
		PipesimSearchOf of = {.scenario = &scenario,
			.costs = costs,
			.placement = cases[i].placement,
			.chunks = cases[i].chunks,
			.moves = 200000 / grid_every(8),
			.seed = 1};
		g_autoptr(PipesimFound) plain = pipesim_search(&of, NULL), robust = NULL;
		gint64 of_plain, of_robust;

		of.by_quantile = TRUE;
		of.quantile = PIPESIM_P95;
		robust = pipesim_search(&of, NULL);
		of_plain = p95_of_others(plain->program, &scenario, costs);
		of_robust = p95_of_others(robust->program, &scenario, costs);
		ck_assert_int_le(of_robust, of_plain + of_plain / 400);
		sum_plain += of_plain;
		sum_robust += of_robust;
	}
	ck_assert_int_lt(sum_robust, sum_plain - sum_plain / 1000);
}
END_TEST

/* Whatever is repeated, all ops are there, and nothing is held above the limit. */
START_TEST(stretched_orders_are_complete)
{
	const guint every = grid_every(3);
	guint stretched = 0;

	for (guint seed = (guint)_i % every; seed < 12; seed += every) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(1 + _i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) found = pipesim_search_within(&of, NULL, NULL),
					longer = NULL;
		g_autoptr(PipesimArena) arena = pipesim_arena_new();
		g_autofree guint8 *codes = NULL, *stretch = NULL;
		const PipesimInstance *x = found->instance;
		PipesimWalk walk;

		scenario.microbatches += 12 * x->shape.copies;
		of.moves = 0;
		longer = pipesim_search_within(&of, NULL, NULL);
		codes = g_new(guint8, (gsize)x->ranks * x->per_rank);
		stretch = g_new(guint8, (gsize)x->ranks * longer->instance->per_rank);
		ck_assert(pipesim_instance_codes(x, found->program, codes));
		pipesim_walk_init(&walk, x, 1, 0, arena);
		ck_assert(pipesim_walk_begin(&walk, codes));
		ck_assert(!pipesim_stretch(&walk, longer->instance, 5, 0, stretch));
		for (guint unit = 1; unit <= 3; unit++) {
			g_autoptr(PipesimOrder) order = NULL;
			gboolean fits = TRUE;

			if (!pipesim_stretch(
				    &walk, longer->instance, unit, walk.makespan / 2, stretch))
				continue;
			stretched++;
			order = pipesim_instance_order(longer->instance, stretch, NULL);
			ck_assert_ptr_nonnull(order);
			for (guint rank = 0; rank < x->ranks; rank++)
				fits &= pipesim_instance_fits(longer->instance, rank,
					stretch + (gsize)rank * longer->instance->per_rank);
			/* What is held after each repetition is what was held before. */
			ck_assert(fits);
		}
		pipesim_costs_free(costs);
	}
	ck_assert_uint_gt(stretched, 0);
}
END_TEST

static PipesimFound *search_v(PipesimCosts *costs, guint ranks, guint count, guint activations,
	guint64 moves, guint64 seed)
{
	const PipesimScenario scenario = {
		.ranks = ranks, .microbatches = count, .max_activations = {activations, 1}};
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = PIPESIM_V,
		.chunks = 2,
		.moves = moves,
		.seed = seed};

	return pipesim_search(&of, NULL);
}

/* A long order is as good as its part: proven, where rounds made by rules are not. */
START_TEST(long_ones_are_solved)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1000000, 1200000, 800000, 3000000, 0);
	g_autoptr(PipesimFound) found = search_v(costs, 4, 32, 3, 600000, 1);

	ck_assert_int_eq(found->bound->time, 99500000);
	ck_assert_int_eq(found->makespan, 99500000);
	ck_assert_ptr_null(found->from);
}
END_TEST

/* Forwards and backwards that stand apart come together in pairs: 62.7 ms at least where only neighbours do. */
START_TEST(pairs_come_together)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1500000, 1800000, 600000, 2700000, 0);
	g_autoptr(PipesimFound) found = search_v(costs, 6, 16, 6, 100000, (guint64)_i);

	ck_assert_int_lt(found->makespan, 62700000);
}
END_TEST

/* Half an activation less than DualPipeV holds costs a few of its pairs, not all: 164.1 ms without them. */
START_TEST(pairs_have_less_room)
{
	g_autoptr(PipesimCosts) costs = grid_costs(1500000, 1800000, 600000, 2700000, 0);
	g_autoptr(PipesimFound) found = search_v(costs, 8, 40, 8, 0, 1);

	ck_assert_int_le(found->makespan, 142950000);
}
END_TEST

/* Small ones are solved: the best of all orders. */
START_TEST(small_ones_are_solved)
{
	static const struct {
		PipesimPlacement placement;
		guint ranks, chunks, m;
	} small[] = {{PIPESIM_LOOPED, 2, 1, 5}, {PIPESIM_LOOPED, 3, 1, 4},
		{PIPESIM_LOOPED, 4, 1, 3}, {PIPESIM_V, 2, 2, 3}};
	const guint every = grid_every(8);
	guint solved = 0, known = 0, seeds = 0;

	for (guint seed = (guint)_i % every; seed < 16; seed += every, seeds++) {
		g_autoptr(PipesimCosts) costs =
			grid_random_costs(seed, small[_i].ranks, seed % 2 == 1);
		const PipesimScenario scenario = {.ranks = small[_i].ranks,
			.microbatches = small[_i].m,
			.max_activations = {2 + seed % (2 * small[_i].ranks), 2}};
		const PipesimSearchOf of = {.scenario = &scenario,
			.costs = costs,
			.placement = small[_i].placement,
			.chunks = small[_i].chunks,
			.moves = 200000 / grid_every(4),
			.seed = 1};
		g_autoptr(PipesimFound) found = NULL;
		gint64 least;

		/* Full backwards as long as their halves, longer, and shorter. */
		costs->time[PIPESIM_B] += ((gint64)seed % 3 - 1) * costs->time[PIPESIM_B] / 8;
		found = pipesim_search(&of, NULL);
		least = exact_makespan(found->instance, found->makespan + 1, 400000);
		if (least < 0)
			continue;
		known++;
		ck_assert_int_ge(found->makespan, least);
		ck_assert_int_le(found->bound->time, least);
		solved += found->makespan <= least;
	}
	ck_assert_uint_ge(4 * known, 3 * seeds);
	ck_assert_uint_ge(solved + 1, known);
}
END_TEST

/* More room, fewer rules and shorter ops never make what is found longer, from the tighter case on. */
START_TEST(found_is_monotone)
{
	g_autoptr(PipesimCosts) costs = grid_random_costs((guint32)_i, 4, _i % 2 == 1);
	g_autoptr(GPtrArray) programs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_program_unref);
	PipesimScenario scenario = {.ranks = 4, .microbatches = 10};
	const PipesimSearchOf of = {.scenario = &scenario,
		.costs = costs,
		.placement = _i % 3 == 0 ? PIPESIM_V : PIPESIM_LOOPED,
		.chunks = _i % 3 == 0 ? 2 : 1,
		.programs = programs,
		.moves = 3000 / grid_every(4),
		.seed = 1};
	gint64 last = G_MAXINT64, bound = G_MAXINT64;

	costs->p2p = 100000;
	scenario.runtime = pipesim_runtime_find("queue", "--comm", NULL);
	for (guint halves = 2; halves < 14; halves += grid_every(2)) {
		g_autoptr(PipesimFound) found = NULL;

		scenario.max_activations = (PipesimFraction){MIN(halves, 9u), 2};
		if (halves == 10)
			scenario.runtime = NULL;
		if (halves > 10)
			for (guint kind = 0; kind <= PIPESIM_FB; kind++)
				costs->time[kind] -= costs->time[kind] / 10;
		found = pipesim_search(&of, NULL);
		ck_assert_int_le(found->makespan, last);
		ck_assert_int_le(found->bound->time, bound);
		last = found->makespan;
		bound = found->bound->time;
		g_ptr_array_set_size(programs, 0);
		g_ptr_array_add(programs, pipesim_program_ref(found->program));
	}
}
END_TEST

/* G_MAXINT64: there is no room for any order. */
static gint64 found_within(const PipesimSearchOf *of)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimFound) found = pipesim_search(of, &error);

	if (found != NULL)
		return found->makespan;
	ck_assert_msg(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT), "%s",
		error->message);
	return G_MAXINT64;
}

/* Costs of which activations are given back in whole, in halves, in thirds, or in odd parts. */
static void set_parts(PipesimCosts *costs, guint32 draw)
{
	costs->bytes_until_input = (gint64[]){0, 18000, 12000, 12345}[draw % 4];
	costs->bytes_until_weight = 36000 - costs->bytes_until_input;
	costs->parameter_bytes = draw % 5 * 1000;
}

/* At whichever two limits: more room never makes what is found longer, by itself; nor does it that backwards
 * may be split. In whole activations where I frees an odd part. */
START_TEST(more_room_is_never_worse)
{
	const guint every = grid_every(4);

	for (guint32 turn = (guint)_i % every; turn < 4; turn += every) {
		const guint32 seed = 100 * (guint32)_i + turn;
		const guint32 draw = pipesim_random(pipesim_sample_key(seed, 0), 0);
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of =
			make_search(draw % G_N_ELEMENTS(shapes), seed, &scenario, &costs);
		const gboolean bytes = turn % 2 == 1;
		const guint parts = seed % 4 == 3 ? 1 : 12;
		const guint least = draw / 16 % 24;
		gint64 last = G_MAXINT64;

		set_parts(costs, seed);
		of.whole = FALSE;
		of.moves = 400 / grid_every(2);
		if (draw / 512 % 4 == 0)
			scenario.runtime = pipesim_runtime_find("queue", "--comm", NULL);
		for (guint i = 0; i < 4; i++) {
			const gint64 limit = 12 + least + i * (1 + draw / 1024 % 7);
			PipesimSearchOf full = of;
			gint64 makespan;

			full.whole = TRUE;
			scenario.max_activations =
				(PipesimFraction){limit / (12 / parts), parts};
			scenario.memory_limit = 0;
			if (bytes) {
				scenario.max_activations.num = 0;
				scenario.memory_limit = costs->parameter_bytes +
							36000 * (limit / (12 / parts)) / parts;
			}
			makespan = found_within(&of);
			ck_assert_msg(makespan <= last, "%u: longer at %" G_GINT64_FORMAT, seed,
				limit);
			ck_assert_int_le(makespan, found_within(&full));
			last = makespan;
		}
		pipesim_costs_free(costs);
	}
}
END_TEST

/* Where messages take memory: what is found, and what is shown beside it, has room for them by the simulation's own
 * count; and where nothing known has, as much as is said is enough. */
START_TEST(messages_take_room)
{
	static const char *const runtimes[] = {
		"pytorch-2.11", "pytorch-2.15", "deepseek", "megatron", "single", "pair"};
	const guint every = grid_every(11);
	guint found_some = 0, refused = 0, cases = 0;

	for (guint seed = (guint)_i % every; seed < 24; seed += every, cases++) {
		PipesimScenario scenario;
		PipesimCosts *costs;
		PipesimSearchOf of = make_search(1 + _i, seed, &scenario, &costs);
		g_autoptr(PipesimFound) found = NULL;
		g_autoptr(PipesimRun) run = NULL;
		g_autoptr(GError) error = NULL;

		of.moves = 500;
		costs->network = pipesim_network_new();
		costs->network->message_bytes = 200 + seed * 37;
		costs->p2p = pipesim_network_slowest_hop(costs->network, scenario.ranks);
		scenario.max_activations.num = 0;
		scenario.memory_limit = 500 + 1700 * (gint64)seed;
		scenario.runtime = pipesim_runtime_find(
			runtimes[(seed + (guint)_i) % G_N_ELEMENTS(runtimes)], "--comm", NULL);
		found = pipesim_search(&of, &error);
		/* Of what any order holds, and then of its messages. */
		for (guint i = 0;
			i < 2 && found == NULL &&
			g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT);
			i++) {
			const char *limit = strstr(error->message, "--memory-limit ");

			refused++;
			ck_assert_msg(limit != NULL, "%s", error->message);
			ck_assert(pipesim_parse_bytes(limit + strlen("--memory-limit "), "",
				&scenario.memory_limit, NULL));
			g_clear_error(&error);
			found = pipesim_search(&of, &error);
		}
		if (g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK)) {
			pipesim_costs_free(costs);
			continue;
		}
		ck_assert_msg(found != NULL, "%u: %s", seed, error ? error->message : "");
		found_some++;
		run = pipesim_run_program("found", found->program, NULL, &scenario, costs);
		ck_assert_ptr_nonnull(run->report);
		ck_assert(run->report->memory.fits);
		ck_assert_int_eq(run->report->makespan, found->makespan);
		for (guint i = 0; i < found->starts->len; i++)
			ck_assert(((PipesimRun *)found->starts->pdata[i])->report->memory.fits);
		pipesim_costs_free(costs);
	}
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_gt(3 * found_some, cases);
}
END_TEST

/* By the clock: no longer than what it begins from, which is all that is promised. A busy machine may need longer until
 * there is time for a move. */
START_TEST(time_ends)
{
	PipesimScenario scenario;
	PipesimCosts *costs;
	PipesimSearchOf of = make_search(9, 1, &scenario, &costs);
	g_autoptr(PipesimFound) found = NULL;

	scenario.max_activations = (PipesimFraction){3, 2};
	of.moves = 0;
	for (gint64 span = G_TIME_SPAN_SECOND / 2; found == NULL || found->moves == 0;
		span *= 2) {
		ck_assert_int_lt(span, G_TIME_SPAN_MINUTE);
		g_clear_pointer(&found, pipesim_found_free);
		of.deadline = g_get_monotonic_time() + span;
		found = pipesim_search(&of, NULL);
	}
	ck_assert_int_ge(found->makespan, found->bound->time);
	assert_fits(found->instance, found->program);
	for (guint i = 0; i < found->starts->len; i++)
		ck_assert_int_le(found->makespan,
			((PipesimRun *)found->starts->pdata[i])->report->makespan);
	pipesim_costs_free(costs);
}
END_TEST

static gboolean stop_at_once(
	const PipesimSearchNews *news G_GNUC_UNUSED, gpointer data G_GNUC_UNUSED)
{
	return FALSE;
}

/* Told to stop, or with no time from the beginning, every order made by hand has been looked at all the same, and the
 * bound is one. */
START_TEST(little_time_is_enough)
{
	PipesimScenario scenario;
	PipesimCosts *costs;
	PipesimSearchOf of = make_search(9, 1, &scenario, &costs);
	g_autoptr(PipesimFound) all = NULL;

	scenario.max_activations = (PipesimFraction){3, 2};
	of.moves = 0;
	all = pipesim_search(&of, NULL);
	for (guint stops = 0; stops < 2; stops++) {
		g_autoptr(PipesimFound) found = NULL;
		gint64 least = G_MAXINT64;

		of.tell = stops ? stop_at_once : NULL;
		of.deadline = stops ? 0 : 1;
		found = pipesim_search(&of, NULL);
		ck_assert_int_eq(found->stopped, stops);
		ck_assert_int_le(found->bound->time, all->bound->time);
		ck_assert_int_gt(found->bound->time, 0);
		ck_assert_uint_eq(found->starts->len, all->starts->len);
		for (guint i = 0; i < found->starts->len; i++)
			least = MIN(least,
				((PipesimRun *)found->starts->pdata[i])->report->makespan);
		ck_assert_int_le(found->makespan, least);
		assert_fits(found->instance, found->program);
	}
	pipesim_costs_free(costs);
}
END_TEST

/* Nor is anything found that is longer than an order given to begin from, though no order made by hand is as short. */
START_TEST(little_time_keeps_what_is_known)
{
	g_autoptr(GPtrArray) programs =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_program_unref);
	g_autoptr(PipesimFound) known = NULL, found = NULL;
	PipesimScenario scenario;
	PipesimCosts *costs;
	PipesimSearchOf of = make_search(9, 1, &scenario, &costs);

	scenario.max_activations = (PipesimFraction){3, 2};
	of.moves = 20000;
	known = pipesim_search(&of, NULL);
	g_ptr_array_add(programs, pipesim_program_ref(known->program));
	of.moves = 0;
	of.deadline = 1;
	found = pipesim_search(&of, NULL);
	ck_assert_int_gt(found->makespan, known->makespan);
	g_clear_pointer(&found, pipesim_found_free);
	of.programs = programs;
	found = pipesim_search(&of, NULL);
	ck_assert_int_le(found->makespan, known->makespan);
	pipesim_costs_free(costs);
}
END_TEST

/* Room for one micro-batch is the least, and enough. */
START_TEST(limits_are_refused)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimScenario scenario = {.ranks = 4, .microbatches = 8, .max_activations = {3, 4}};
	PipesimSearchOf of = {.scenario = &scenario, .costs = costs, .chunks = 1};
	g_autoptr(GError) error = NULL;

	of.placement = PIPESIM_V;
	of.chunks = 2;
	ck_assert_ptr_null(pipesim_search(&of, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	g_clear_error(&error);
	scenario.max_activations.num = 0;
	costs->bytes_until_weight = 1000;
	costs->parameter_bytes = 500;
	scenario.memory_limit = 1499;
	ck_assert_ptr_null(pipesim_search(&of, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	scenario.memory_limit = 1500;
	pipesim_found_free(pipesim_search(&of, NULL));
}
END_TEST

Suite *optimize_search_suite(void)
{
	Suite *suite = suite_create("optimize-search");
	TCase *walks = tcase_create("walks");
	TCase *searches = tcase_create("searches");
	TCase *quantiles = tcase_create("quantiles");

	tcase_add_loop_test(walks, built_orders_run, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(walks, walks_are_simulated, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(searches, found_between_start_and_bound, 0, G_N_ELEMENTS(shapes));
	tcase_add_loop_test(searches, found_by_rules, 0, 3);
	tcase_add_loop_test(quantiles, found_by_quantile, 0, 3);
	tcase_add_test(quantiles, quantiles_hold_elsewhere);
	tcase_add_loop_test(searches, stretched_orders_are_complete, 0, 6);
	tcase_add_test(searches, long_ones_are_solved);
	tcase_add_test(searches, pairs_have_less_room);
	tcase_add_loop_test(searches, pairs_come_together, 1, 1 + (int)(2 / grid_every(2)));
	tcase_add_loop_test(searches, small_ones_are_solved, 0, 4);
	tcase_add_loop_test(searches, found_is_monotone, 0, grid_every(2) > 1 ? 3 : 6);
	tcase_add_loop_test(searches, more_room_is_never_worse, 0, 8);
	tcase_add_loop_test(searches, messages_take_room, 0, 4);
	tcase_add_test(searches, time_ends);
	tcase_add_test(searches, little_time_is_enough);
	tcase_add_test(searches, little_time_keeps_what_is_known);
	tcase_add_test(searches, limits_are_refused);
	suite_add_tcase(suite, walks);
	suite_add_tcase(suite, searches);
	suite_add_tcase(suite, quantiles);
	return suite;
}
