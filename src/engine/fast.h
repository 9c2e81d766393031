/* The same timeline without a queue of events: where the order on ranks is fixed and no link is
 * shared, starts are the longest paths of the program. */
#pragma once
#include "engine/engine.h"

/**
 * pipesim_fast_run: every rank runs as far as its inputs let it, then the next one; a start is
 * the largest of what it waits for. Same bytes as pipesim_engine_run(), but for
 * timeline->events, which is 0.
 *
 * Memory: 16 bytes an op for the timeline, and O(ranks * chunks) while it runs. Where costs are
 * so large that a sum could pass 2^62 ns, pipesim_engine_run() itself runs instead, which looks
 * at every step. Errors as pipesim_engine_run().
 */
PipesimTimeline *pipesim_fast_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);
