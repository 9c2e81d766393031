/* Orders put together op by op, for whatever limit: somewhere to begin where no order made by
 * hand fits. */
#pragma once
#include "order/instance.h"

/** pipesim_build: whatever can run next runs, backwards first; one of PIPESIM_BUILDS ways to
 * decide between the others. The last of them runs one micro-batch after the other: any
 * instance has room for that.
 * @codes: (out): per_rank of each rank
 *
 * Returns: FALSE where pipelines take each other's room until nothing can run. */
gboolean pipesim_build(const PipesimInstance *instance, guint way, guint8 *codes);

#define PIPESIM_BUILDS 13
