/* Long orders out of short ones: a stretch of a short order in which every code of every rank runs equally
 * often is repeated. */
#pragma once
#include "search/walk.h"

/**
 * pipesim_stretch: the order of @walk with a stretch of @unit micro-batches of each chunk, that about @time,
 * repeated until it is one of @instance.
 * @instance: as that of @walk, with more micro-batches
 * @codes: (out): per_rank of each rank of @instance
 *
 * Returns: FALSE where some rank has no such stretch, or @unit does not divide what is missing. The order
 *   holds no more than that of @walk, but may have a cycle.
 */
gboolean pipesim_stretch(const PipesimWalk *walk, const PipesimInstance *instance, guint unit,
	gint64 time, guint8 *codes);
