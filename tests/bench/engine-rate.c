/* The engine alone: ops a second over the largest schedule of the README. */
#include "analysis/run.h"
#include <stdio.h>

#define RUNS 15

static int by_time(const void *a, const void *b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static gint64 median_us(const PipesimProgram *program, const PipesimTimes *times)
{
	gint64 took[RUNS];

	for (guint i = 0; i < RUNS; i++) {
		const gint64 begin = g_get_monotonic_time();

		pipesim_timeline_free(pipesim_engine_run(program, times, NULL));
		took[i] = g_get_monotonic_time() - begin;
	}
	qsort(took, RUNS, sizeof took[0], by_time);
	return MAX(took[RUNS / 2], 1);
}

static void measure(const PipesimSchedule *schedule, guint ranks, guint microbatches)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimTimes) times = NULL;
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimShape shape;
	gint64 us;

	if (!pipesim_schedule_shape(schedule, &scenario, &shape, NULL))
		return;
	times = pipesim_times_new(costs, &shape);
	program = pipesim_schedule_program(schedule, &shape, times, NULL);
	us = median_us(program, times);
	printf("  %-18s %8u ops  %8.2f ms  %6.1f M ops/s\n", schedule->name, program->n_ops,
		(double)us / 1000, (double)program->n_ops / (double)us);
}

int main(void)
{
	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
		measure(*s, 64, 1024);
	return 0;
}
