/* Orders with ops beyond F, I, W, B and pairs: recomputation, copies to the host and back, passes over
 * parts of the vocabulary and their collectives. */
#pragma once
#include "engine/timeline.h"

/** pipesim_mixed_run: every rank runs its list one by one, as far as what its ops wait for lets
 * it, and messages arrive P2P after the op that they come from. What does not compute
 * (pipesim_op_rows) is begun by its rank, which goes on: a copy once the engine of its rank is
 * free, one for both directions or, with @times->engines 2, one each; a collective once the
 * last rank has come to it. Its start is then when the rank begins it, its end when it is over.
 * A collective is waited for where it stands before what needs it. A pass of a micro-batch
 * beyond M, which generators list too, takes no time; of M itself it does. OFFLOAD_END waits
 * for the copy out, OFFLOAD for one that began as its F ended, B and I for the copy back and
 * for their R; F of stage 0 for ALLREDUCE_E; S(i) and T(i-1) for BCAST_H(i), T(i) also for
 * REDUCE_S(i) and BCAST_T(i), EB for BCAST_E, LOSS for REDUCE_S; the backward of the last stage
 * for REDUCE_S(i), with two barriers for that of i + 1 or REDUCE_T(i). OFFLOAD_BARRIER is not
 * waited for.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK, which names the first op that
 *   cannot run, or PIPESIM_ERROR_LIMIT. */
PipesimTimeline *pipesim_mixed_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);

/** pipesim_mixed_barriers: how many collectives of a micro-batch the last backward of @program waits for, one after the
 * other, where it passes over parts of the vocabulary: 1 or 2; 0: it has no passes. */
guint pipesim_mixed_barriers(const PipesimProgram *program);
