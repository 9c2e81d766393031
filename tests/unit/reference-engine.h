/* The plainest simulator: one queue of events, one total order. What the library's engines are
 * compared with. */
#pragma once
#include "engine/timeline.h"

/**
 * reference_run: op completions and message arrivals leave one queue in the order (time, rank, op
 * index); a rank starts its next op when its inputs are there. Messages never wait.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK (the message shows the cycle) or
 *   PIPESIM_ERROR_LIMIT where time would pass 2^62 ns or memory does not suffice.
 */
PipesimTimeline *reference_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);
