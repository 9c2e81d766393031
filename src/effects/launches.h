/* CPU launch overhead: what hosts take to launch ops, from the rows of traces that time it (PIPESIM_HOST_COMPONENT). */
#pragma once
#include "measure/trace.h"

/** pipesim_launches_calibrate: into @costs, which have the times of @stages stages, what the
 * host takes to launch F, I, W and B of each: medians. B that was not timed is I + W; I and W
 * follow from B as their times do. Where a stage lacks more nothing is kept, and a notice says
 * so; so does one where some host takes longer than its GPU.
 * @stages: 0: times are of no stages, and nothing is kept */
void pipesim_launches_calibrate(PipesimTrace *const *traces, guint n, guint stages,
	PipesimCosts *costs, GPtrArray *notices);
