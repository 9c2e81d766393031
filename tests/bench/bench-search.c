/* Searches: time from costs to order, and how near the order is to what none can be below. */
#include "bench.h"
#include "schedule/schedule.h"
#include "schedule/search/zb-search.h"

typedef struct {
	const PipesimSchedule *schedule;
	PipesimShape shape;
	PipesimTimes *times;
	PipesimArena *arena; /* of the problem */
	PipesimProblem problem;
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
	Case at = {.schedule = pipesim_schedule_find(name, NULL), .arena = pipesim_arena_new()};

	g_assert(pipesim_schedule_shape(at.schedule, &scenario, &at.shape, NULL));
	at.times = pipesim_times_new(costs, &at.shape);
	g_assert(pipesim_problem_init(&at.problem, at.arena, &at.shape, at.times, NULL));
	return at;
}

static void end(Case *at)
{
	pipesim_arena_free(at->arena);
	pipesim_times_free(at->times);
}

static void run_search(gpointer data)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Case *at = data;

	g_assert(pipesim_zb_search(arena, &at->problem, &at->result, NULL));
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
	const double busy =
		(double)microbatches *
		(double)(at.problem.time[0] + at.problem.time[1] + at.problem.time[2]);
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
}
