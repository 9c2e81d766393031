/* Bounds by what a rank holds for how long, added up another way: stage by stage, in doubles and in many small steps. */
#pragma once
#include "optimize/bound.h"

/** room_check: whether what @step says of its rank does not fit, but for what small steps count too much. */
gboolean room_check(const PipesimInstance *instance, const PipesimBoundStep *step);
