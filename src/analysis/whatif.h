/* One order at many costs, for callers inside the library: see pipesim.h. */
#pragma once
#include "model/scenario.h"
#include "schedule/schedule.h"

/** pipesim_whatif_for: pipesim_whatif_new() for whatever @scenario asks for besides, of shape.
 * Messages that wait for each other, and comparison at equal stages, are not of this engine:
 * PIPESIM_ERROR_CONSTRAINT. */
PipesimWhatif *pipesim_whatif_for(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);
