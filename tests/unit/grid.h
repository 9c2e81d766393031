/* What the suites loop over: every schedule at every shape of a grid, and random costs. */
#pragma once
#include "analysis/run.h"

typedef struct {
	const PipesimSchedule *schedule;
	guint ranks, microbatches;
	guint chunks, group, pipelines; /* 0: the schedule's own */
	gboolean pairs;
	guint slices; /* 0: the schedule's own */
} GridCase;

/** grid_scenario: what @point asks for. */
PipesimScenario grid_scenario(const GridCase *point);

/** grid_accepted, grid_refused: every (schedule, shape) of the grid that its schedule takes or
 * refuses, and at some shapes with other chunks, groups and pipelines; *count of them. Static.
 */
const GridCase *grid_accepted(int *count);
const GridCase *grid_refused(int *count);

/** grid_every: a test goes through each @n-th of its random cases, from its own place in a loop on (_i % n); or through
 * all, 1, with PIPESIM_LONG, as .ci/run has it. @n is prime to what the cases depend on, so that all sorts are seen. */
guint grid_every(guint n);

/** scenario_program: what @schedule gives in @scenario at equal times, errors passed on. */
PipesimProgram *scenario_program(
	const PipesimSchedule *schedule, const PipesimScenario *scenario, GError **error);

/** make_program: what @schedule gives at its default chunks and equal times, errors passed on.
 */
PipesimProgram *make_program(
	const PipesimSchedule *schedule, guint ranks, guint microbatches, GError **error);

/** read_program, parse_program: the program of a schedule file alone; parameters and errors of
 * pipesim_schedule_file_read() and pipesim_schedule_file_parse(). */
PipesimProgram *read_program(const char *path, GError **error);
PipesimProgram *parse_program(const char *text, gsize length, const char *path, GError **error);

/** make_shape: fails the test where it is refused. */
PipesimShape make_shape(
	guint ranks, guint chunks, guint microbatches, PipesimPlacement placement);

/** make_run: the schedule of that name simulated; a refusal is in the run's error. */
PipesimRun *make_run(
	const char *name, guint ranks, guint microbatches, const PipesimCosts *costs);

/** grid_is_extended: whether the authors' own runtime would refuse @shape, and may hang on it.
 */
gboolean grid_is_extended(const GridCase *point, const PipesimShape *shape);

/** grid_program: the program of @point; fails the test where there is none. */
PipesimProgram *grid_program(const GridCase *point);

/** grid_order: the order that it is of, with its loops, at equal times. */
PipesimOrder *grid_order(const GridCase *point);

/** grid_costs: costs in ns; fails the test where they are refused. */
PipesimCosts *grid_costs(gint64 f, gint64 i, gint64 w, gint64 fb, gint64 p2p);

/** grid_random_costs: reproducible from @seed; lengths of stages differ where @uneven,
 * and at every second such @seed the speed of ranks. */
PipesimCosts *grid_random_costs(guint32 seed, guint ranks, gboolean uneven);

/** grid_run: @point simulated and analysed; fails the test where that fails. */
PipesimRun *grid_run(const GridCase *point, const PipesimCosts *costs);

/** grid_timeline: @program run with @costs; fails the test where that fails. */
PipesimTimeline *grid_timeline(const PipesimProgram *program, const PipesimCosts *costs);

/** named_run: grid_run() of a schedule by name. */
PipesimRun *named_run(
	const char *name, guint ranks, guint microbatches, const PipesimCosts *costs);
