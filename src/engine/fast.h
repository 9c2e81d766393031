/* The same timeline without a queue of events: where the order on ranks is fixed and no link is
 * shared, starts are the longest paths of the program. */
#pragma once
#include "engine/timeline.h"

/** pipesim_fast_run: every rank runs as far as its inputs let it, then the next one; a start is
 * the largest of what it waits for. timeline->events is 0.
 * Memory: 16 bytes an op for the timeline, and O(ranks * chunks) while it runs.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK (the message shows the cycle)
 *   or PIPESIM_ERROR_LIMIT where time would pass 2^62 ns or memory does not suffice. */
PipesimTimeline *pipesim_fast_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);
