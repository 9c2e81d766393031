/* How fast the ranks of a run are, and how their clocks swing: what the same kernels take on each, and when. */
#pragma once
#include "measure/join.h"

/** pipesim_rank_speeds: of @traces, which are profiles of one rank each, what the kernels that
 * all ranks run take on each rank, in millionths of what they take on the lower median of ranks
 * (of two the faster). A stage that holds more runs more kernels, or others; a rank that is
 * slow runs the same ones longer.
 * @bursts: (out): by rank too, what its kernels take in the mean of what each takes at its
 *   shortest at the same place in such an op, in millionths: more than clocks swing where
 *   something else has the chip now and then; set where speeds are
 * Returns: (transfer full): by rank, for g_free(); NULL where not every rank has its
 *   profile, or the kernels that all ranks run at the same sizes are less than a quarter of
 *   the time of some rank. */
gint64 *pipesim_rank_speeds(
	PipesimTrace *const *traces, guint n, const PipesimJoined *joined, gint64 **bursts);

/** pipesim_clock_swing: how far the chips of @traces swing, in millionths: of a chip at its
 * power limit all kernels that compute take longer together after work, and less after
 * idling. A kernel counts by its name and what it takes, within 8 %, at least eight times;
 * its usual time is the median over all ranks. Of stretches of 10 ms, each with what its
 * kernels took against what they usually take, the swing of a rank is that of nine of ten
 * against one of ten; the largest of all ranks. 0: nothing tells it. */
gint64 pipesim_clock_swing(PipesimTrace *const *traces, guint n);
