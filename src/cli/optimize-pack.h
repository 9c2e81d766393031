/* pipesim optimize --pack: which sequences share a micro-batch, and which micro-batches run when. */
#pragma once
#include "cli/optimize-order.h"

/** pipesim_packed_check: FALSE with PIPESIM_ERROR_USAGE where other settings do not go with --pack, if that is given; else there are
 * lengths. */
gboolean pipesim_packed_check(PipesimSetup *setup, GError **error);

/** pipesim_packed_new: the best packing of the sequences of --lengths into micro-batches of
 * --pack tokens, as many as --microbatches or as are best, in the best of @choices.
 * Returns: (transfer full): for pipesim_ordered_free(); NULL with PIPESIM_ERROR_USAGE,
 *   PIPESIM_ERROR_CONSTRAINT or PIPESIM_ERROR_LIMIT, or what reading the lengths gives. */
PipesimOrdered *pipesim_packed_new(
	PipesimSetup *setup, const GPtrArray *choices, guint64 moves, GError **error);
