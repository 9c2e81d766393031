/* Long orders out of short ones: a stretch of a short order in which every code of every rank runs equally
 * often is repeated. */
#pragma once
#include "optimize/walk.h"

/* What is missing of the longer order can be divided into so many equal parts, if its micro-batches are chosen so; and those
 * of a stretch, at most. */
#define PIPESIM_STRETCH_PARTS 12
#define PIPESIM_STRETCH_UNIT  6

/** pipesim_stretch: the order of @walk with a stretch of @unit micro-batches of each chunk,
 * that about @time, repeated until it is one of @instance.
 * @instance: as that of @walk, with more micro-batches
 * @codes: (out): per_rank of each rank of @instance
 * Returns: FALSE where some rank has no such stretch, or @unit does not divide what is
 *   missing. The order holds no more than that of @walk, but may have a cycle. */
gboolean pipesim_stretch(const PipesimWalk *walk, const PipesimInstance *instance, guint unit,
	gint64 time, guint8 *codes);

/* How long @codes are, ns; G_MAXINT64 where they are of no use, and less than 0 where it is too late to go on. */
typedef gint64 (*PipesimStretchJudge)(const guint8 *codes, gpointer data);

/** pipesim_stretch_best: the shortest of the orders that pipesim_stretch() makes with a stretch
 * of up to @most micro-batches, about as many times as there is effort for.
 * @codes: (out): as of pipesim_stretch()
 * Returns: how long it is by @judge; G_MAXINT64: there is none, and @codes are not written. */
gint64 pipesim_stretch_best(const PipesimWalk *walk, const PipesimInstance *instance,
	guint most, PipesimStretchJudge judge, gpointer data, guint8 *codes);
