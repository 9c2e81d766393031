/* The layout of layers that is best for a schedule, chosen before it runs. */
#pragma once
#include "analysis/run.h"

/** pipesim_layout_choose: @costs with the layout that is shortest for @schedule in @scenario, and words of how good it is.
 * Where the order follows from the times, layers are balanced alone.
 *
 * Returns: (transfer full): NULL where @costs leave no layout open, or the run will say why there is none: run with
 *   @costs themselves. */
PipesimCosts *pipesim_layout_choose(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs);

/** pipesim_layout_run_points: pipesim_run_points() with the layout that is chosen for each. */
void pipesim_layout_run_points(const PipesimSchedule *schedule, const PipesimPoint *points,
	guint n, PipesimRun **runs);
