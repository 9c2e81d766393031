/* The search where an order may hold less than its activations: some of them are computed once more, or wait on the
 * host, or sequences are cut into slices. Ops are of kinds that codes do not tell (order/instance.h), so the engine
 * runs every order that is tried. */
#pragma once
#include "optimize/search.h"

/** pipesim_mixed_wanted: whether @scenario asks for such orders. */
static inline gboolean pipesim_mixed_wanted(const PipesimScenario *scenario)
{
	return scenario->recompute > 0 || scenario->offload > 0 || scenario->slices > 1;
}

/** pipesim_mixed_search: as pipesim_search(), which it is where no such orders are wanted, with
 * forwards of the first scenario->recompute chunks of each rank that may be computed once more,
 * and of the first scenario->offload whose activations may wait on the host, each of them
 * micro-batch by micro-batch, one way or the other; and with every micro-batch in so many
 * slices, of which each may be spared by itself. The result is never longer than that without
 * recomputation, or without copies, in a part of the moves: a half, or a third where there are
 * both; nor than any schedule of the placement with as much of one of them or less, or with
 * both, that fits; none of found->starts has less. Where there are slices, of a schedule that
 * does not cut sequences each op is cut. The bound is pipesim_mixed_bound().
 * Returns: (transfer full): without an instance where they are. NULL with
 *   PIPESIM_ERROR_USAGE where ranks or ops are not as the engine takes them,
 *   PIPESIM_ERROR_CONSTRAINT where no known order fits, or PIPESIM_ERROR_LIMIT. */
PipesimFound *pipesim_mixed_search(const PipesimSearchOf *of, GError **error);

/** pipesim_mixed_bound: no such order within the limit is shorter, ns; 0 where memory does not
 * suffice.
 * Without its R and copies an order of which no rank has more than n takes no longer, and holds
 * no more than n activations above the limit: it is not below the bound of that (bound.h). An
 * order of which some rank has more runs some of these forwards once more on it, and has its
 * engine of copies move the rest. Of all n the best counts.
 * Slices: where all go one way, from when the first of them can have come to a rank, that
 * runs all of its ops, and when the last backward is over, its gradient goes on to the first
 * stage. Within a limit of activations, as above, each is besides taken for a micro-batch of
 * its own, as short as the shortest (PipesimInstance.together), and so within one of bytes,
 * where gradients of keys and values that wait for earlier slices are not counted. */
gint64 pipesim_mixed_bound(
	const PipesimSearchOf *of, const PipesimShape *shape, const PipesimTimes *times);
