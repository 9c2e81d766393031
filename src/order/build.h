/* Somewhere to begin where no order made by hand fits. */
#pragma once
#include "order/instance.h"

/** pipesim_build: one micro-batch after the other: on each rank its forwards as its stages lie, then what comes back. Any
 * instance has room for that.
 * @codes: (out): per_rank of each rank */
void pipesim_build(const PipesimInstance *instance, guint8 *codes);
