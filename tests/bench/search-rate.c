/* The searches alone: time from costs to order, and how far the order is from a bound. */
#include "schedule/schedule.h"
#include "schedule/zb-search.h"
#include <stdio.h>

#define RUNS 9

static int by_time(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static gint64 median(gint64 *took)
{
	qsort(took, RUNS, sizeof took[0], by_time);
	return MAX(took[RUNS / 2], 1);
}

/* The times that the zero-bubble authors' repository searches at, us; half of an activation is
 * freed by I. */
static PipesimCosts *measured_costs(void)
{
	PipesimCosts *costs =
		pipesim_costs_new(5478000, 5806000, 3534000, 14818000, 200000, NULL);

	costs->bytes_until_input = costs->bytes_until_weight = 1;
	return costs;
}

/* @quarters: of PP activations. */
static void measure_zb(guint ranks, guint microbatches, guint quarters)
{
	const PipesimScenario scenario = {.ranks = ranks,
		.microbatches = microbatches,
		.max_activations = {(gint64)ranks * quarters, 4}};
	g_autoptr(PipesimCosts) costs = measured_costs();
	g_autoptr(PipesimTimes) times = NULL;
	g_auto(PipesimProblem) problem = {0};
	PipesimShape shape;
	gint64 took[RUNS], us;
	double busy, idle, bound;

	g_assert(pipesim_schedule_shape(
		pipesim_schedule_find("zb-auto", NULL), &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	g_assert(pipesim_problem_init(&problem, &shape, times, NULL));
	busy = (double)(problem.time[0] + problem.time[1] + problem.time[2]) * microbatches;
	for (guint i = 0; i < RUNS; i++) {
		const gint64 begin = g_get_monotonic_time();
		g_auto(PipesimZbResult) result = {0};

		g_assert(pipesim_zb_search(&problem, &result, NULL));
		took[i] = g_get_monotonic_time() - begin;
		idle = ((double)result.span - busy) / busy;
		bound = ((double)result.span_bound - busy) / busy;
	}
	us = median(took);
	printf("  zb-auto    %4u ranks %6u micro-batches, %4.2f PP held %9.2f ms  bubble %.2f "
	       "%%, "
	       "bound %.2f %%\n",
		ranks, microbatches, quarters / 4.0, (double)us / 1000, 100 * idle,
		100 * bound);
}

static void measure(const char *name, guint ranks, guint microbatches)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	g_autoptr(PipesimCosts) costs = measured_costs();
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;
	gint64 took[RUNS];

	g_assert(pipesim_schedule_shape(schedule, &scenario, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	for (guint i = 0; i < RUNS; i++) {
		const gint64 begin = g_get_monotonic_time();

		pipesim_order_free(pipesim_schedule_order(schedule, &shape, times, NULL));
		took[i] = g_get_monotonic_time() - begin;
	}
	printf("  %-10s %4u ranks %6u micro-batches %23.2f ms\n", name, ranks, microbatches,
		(double)median(took) / 1000);
}

int main(void)
{
	static const guint shapes[][2] = {{8, 16}, {8, 32}, {64, 1024}};

	for (guint i = 0; i < G_N_ELEMENTS(shapes); i++)
		for (guint quarters = 2; quarters <= 8; quarters += 2)
			measure_zb(shapes[i][0], shapes[i][1], quarters);
	measure("zb-auto", 64, 1024);
	measure("zb-v-auto", 64, 1024);
	measure("v-half", 64, 1024);
	measure("v-min", 64, 1024);
	return 0;
}
