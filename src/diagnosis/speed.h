/* How fast the ranks of a run are: what the same kernels take on each. */
#pragma once
#include "measure/join.h"

/**
 * pipesim_rank_speeds: of @traces, which are profiles of one rank each, what the kernels that all ranks
 * run take on each rank, in millionths of what they take on the lower median of ranks (of two the
 * faster). A stage that holds more runs more kernels, or others; a rank that is slow runs the same ones
 * longer.
 *
 * Returns: (transfer full): by rank, for g_free(); NULL where not every rank has its profile, or the
 *   kernels that all ranks run are less than half of the time of some rank.
 */
gint64 *pipesim_rank_speeds(PipesimTrace *const *traces, guint n, const PipesimJoined *joined);
