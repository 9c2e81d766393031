/* How long a rank takes at least from its first start to its last end. */
#pragma once
#include "order/instance.h"

/** pipesim_span_bounds: by rank, what no order is below, ns. Before the first I nothing but F runs, of which memory holds so
 * many, after the last F nothing but I and W of what is held beside it; no more can be held in all than up to the limit
 * for the whole time; and the last W of a rank comes after all F and I of any later one. Of pairs, and of two
 * directions, work alone counts. */
void pipesim_span_bounds(const PipesimInstance *instance, gint64 *bounds);
