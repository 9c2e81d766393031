/* The parts of an explanation that follow from one shape. */
#pragma once
#include "cli/options.h"

/** pipesim_explain_placement: appends which stages each rank holds, chunk by chunk. */
void pipesim_explain_placement(const PipesimShape *shape, GString *out);

/** pipesim_explain_phases: appends what the first, a middle and the last rank of @order run,
 * phase by phase, with loops as counts: "steady  5 x (F I W)". */
void pipesim_explain_phases(const PipesimOrder *order, GString *out);
