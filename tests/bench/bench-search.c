/* Searches: time from costs to order, and how near the order is to what none can be below. */
#include "bench.h"
#include "optimize/bound.h"
#include "optimize/state.h"
#include "schedule/schedule.h"
#include "schedule/search/zb-search.h"

typedef struct {
	const PipesimSchedule *schedule;
	PipesimShape shape;
	PipesimTimes *times;
	PipesimFraction most;   /* activations held */
	gint64 work;            /* of one micro-batch on a rank, ns */
	PipesimZbResult result; /* of the last run */
} Case;

/* The times that the zero-bubble authors' repository searches at; half of an activation is
 * freed by I. */
static PipesimCosts *authors_costs(void)
{
	PipesimCosts *costs =
		pipesim_costs_new(5478000, 5806000, 3534000, 14818000, 200000, NULL);

	costs->bytes_until_input = costs->bytes_until_weight = 1;
	return costs;
}

/* @quarters: activations held, of PP / 4. */
static Case begin(const char *name, guint ranks, guint microbatches, guint quarters)
{
	const PipesimScenario scenario = {.ranks = ranks,
		.microbatches = microbatches,
		.max_activations = {(gint64)ranks * quarters, 4}};
	g_autoptr(PipesimCosts) costs = authors_costs();
	Case at = {.schedule = pipesim_schedule_find(name, NULL),
		.most = scenario.max_activations,
		.work = costs->time[PIPESIM_F] + costs->time[PIPESIM_I] +
			costs->time[PIPESIM_W]};

	g_assert(pipesim_schedule_shape(at.schedule, &scenario, &at.shape, NULL));
	at.times = pipesim_times_new(costs, &at.shape);
	return at;
}

static void end(Case *at)
{
	pipesim_times_free(at->times);
}

static void run_search(gpointer data)
{
	static const PipesimCosts none = {0};
	Case *at = data;
	const PipesimInstanceOf of = {.shape = &at->shape,
		.times = at->times,
		.costs = &none,
		.max_activations = at->most};
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimInstance) x = pipesim_instance_new(&of, NULL);

	g_assert(x != NULL);
	g_assert(pipesim_zb_search(arena, x, FALSE, &at->result, NULL));
}

static void run_order(gpointer data)
{
	Case *at = data;

	pipesim_order_unref(pipesim_schedule_order(at->schedule, &at->shape, at->times, NULL));
}

static double ops(const Case *at)
{
	return 3.0 * at->shape.stages * at->shape.microbatches;
}

static void measure_zb(guint ranks, guint microbatches, guint quarters)
{
	Case at = begin("zb-auto", ranks, microbatches, quarters);
	const gint64 ns = bench_median(run_search, &at);
	const double busy = (double)microbatches * (double)at.work;
	g_autofree char *what = g_strdup_printf("%u/%u, %.1f PP: %.2f %% >= %.2f %%", ranks,
		microbatches, quarters / 4.0, 100 * ((double)at.result.span - busy) / busy,
		100 * ((double)at.result.span_bound - busy) / busy);

	bench_row(&(BenchRow){.what = what, .ns = ns, .n = ops(&at), .unit = "ops"});
	end(&at);
}

static void measure_order(const char *name, guint ranks, guint microbatches)
{
	Case at = begin(name, ranks, microbatches, 4);
	g_autofree char *what = g_strdup_printf("%s %u/%u", name, ranks, microbatches);

	bench_row(&(BenchRow){.what = what,
		.ns = bench_median(run_order, &at),
		.n = ops(&at),
		.unit = "ops"});
	end(&at);
}

/* Moves of optimize, of which some are taken. */
#define MOVES 100000

typedef struct {
	PipesimInstance *instance;
	PipesimWalk walk;
	PipesimQueueWalk queue_walk;
	gint64 heat;
} Moves;

static void run_moves(gpointer data)
{
	Moves *moves = data;

	pipesim_walk_run(&moves->walk, MOVES, (double)moves->heat, -1);
}

static void run_queue_moves(gpointer data)
{
	Moves *moves = data;

	pipesim_queue_walk_run(&moves->queue_walk, MOVES, (double)moves->heat);
}

static void run_bound(gpointer data)
{
	Moves *moves = data;

	pipesim_bound_free(pipesim_bound_new(moves->instance, FALSE, NULL, NULL));
}

/* At three quarters of 1F1B's memory. */
static PipesimInstance *moved(
	const PipesimCosts *costs, PipesimPlacement placement, guint ranks, guint microbatches)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	g_assert(pipesim_shape_init(
		&shape, &scenario, placement == PIPESIM_V ? 2 : 1, placement, NULL));
	times = pipesim_times_new(costs, &shape);
	return pipesim_instance_new(&(PipesimInstanceOf){.shape = &shape,
					    .times = times,
					    .costs = costs,
					    .max_activations = {(gint64)ranks * 3 / 4, 1}},
		NULL);
}

/* By the rules of @runtime, whose messages go by queues. */
static void measure_queue_moves(
	PipesimPlacement placement, guint ranks, guint microbatches, const char *runtime)
{
	g_autoptr(PipesimCosts) costs = authors_costs();
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimInstance) x = moved(costs, placement, ranks, microbatches);
	Moves moves = {.instance = x};
	g_autofree guint8 *codes = g_new(guint8, (gsize)x->ranks * x->per_rank);

	pipesim_queue_walk_init(&moves.queue_walk, x,
		pipesim_runtime_find(runtime, "--runtime", NULL), 1, 0, arena);
	pipesim_build_justified(x, codes);
	g_assert(pipesim_queue_walk_begin(&moves.queue_walk, codes));
	for (guint cold = 10; cold <= 1000; cold *= 10) {
		g_autofree char *what = NULL;
		gint64 ns;

		moves.heat = costs->time[PIPESIM_F] / x->chunks / cold;
		ns = bench_median(run_queue_moves, &moves);
		what = g_strdup_printf("%s %u/%u, heat F/%u, %s",
			x->chunks == 2 ? "v" : "single", ranks, microbatches, cold, runtime);
		bench_row(&(BenchRow){.what = what, .ns = ns, .n = MOVES, .unit = "moves"});
	}
}

static void measure_moves(PipesimPlacement placement, guint ranks, guint microbatches)
{
	const guint chunks = placement == PIPESIM_V ? 2 : 1;
	g_autoptr(PipesimCosts) costs = authors_costs();
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *codes = NULL;
	Moves moves;

	moves.instance = moved(costs, placement, ranks, microbatches);
	pipesim_walk_init(&moves.walk, moves.instance, 1, 0, arena);
	codes = g_new(guint8, moves.walk.n);
	pipesim_build_justified(moves.instance, codes);
	g_assert(pipesim_walk_begin(&moves.walk, codes));
	for (guint cold = 10; cold <= 1000; cold *= 10) {
		gint64 ns;
		g_autofree char *what = NULL;

		moves.heat = costs->time[PIPESIM_F] / chunks / cold;
		ns = bench_median(run_moves, &moves);
		what = g_strdup_printf("%s %u/%u, heat F/%u, %.0f %% taken",
			chunks == 2 ? "v" : "single", ranks, microbatches, cold,
			100.0 * (double)moves.walk.taken / (double)moves.walk.moves);
		moves.walk.taken = moves.walk.moves = 0;
		bench_row(&(BenchRow){.what = what, .ns = ns, .n = MOVES, .unit = "moves"});
	}
	{
		g_autofree char *what = g_strdup_printf(
			"%s %u/%u, bound", chunks == 2 ? "v" : "single", ranks, microbatches);

		bench_row(&(BenchRow){.what = what,
			.ns = bench_median(run_bound, &moves),
			.n = moves.walk.n,
			.unit = "ops"});
	}
	pipesim_instance_free(moves.instance);
}

void bench_search(void)
{
	static const guint shapes[][2] = {{8, 16}, {8, 32}, {64, 1024}};
	static const char *const names[] = {"zb-auto", "zb-v-auto", "v-half", "v-min"};

	bench_title("zb-auto: PP/M, activations held: span bubble >= bound (aim: 20 ms)");
	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
		for (guint quarters = 2; quarters <= 8; quarters += 2)
			measure_zb(shapes[i][0], shapes[i][1], quarters);
	bench_title("Orders found by a search, with their loops");
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		measure_order(names[i], 64, 1024);
	bench_title(
		"Moves of optimize on one core, at 0.75 of 1F1B's memory (aim: 1 M a second)");
	measure_moves(PIPESIM_LOOPED, 8, 32);
	measure_moves(PIPESIM_V, 8, 32);
	measure_moves(PIPESIM_V, 16, 64);
	bench_title("The same by the rules of PyTorch's queues");
	measure_queue_moves(PIPESIM_LOOPED, 8, 32, "pytorch-2.11");
	measure_queue_moves(PIPESIM_LOOPED, 8, 32, "pytorch-2.15");
	measure_queue_moves(PIPESIM_V, 8, 32, "pytorch-2.15");
}
