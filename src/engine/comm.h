/* The simulator for runtimes whose sends and receives wait for each other. */
#pragma once
#include "engine/timeline.h"
#include "runtime/runtime.h"

/** pipesim_comm_run: runs @lowering, of a runtime where messages wait, by the rules of
 * runtime/lowering.h, its messages over the communicators of @issuing, whose host time passes
 * behind each group that is waited for.
 * @times: of its program's shape; durations drawn are by index of the ops of the result
 * @network: (nullable): whose links messages take, as engine/traffic.h says; a message is ready
 *   when both of its ends have been issued. Its transfer starts when it begins to move. Ops are
 *   slowed as in engine/dynamic.h. NULL = every message takes times->p2p
 * @flags: of PipesimTrafficFlags; PIPESIM_KEEP_MOVES is not needed
 * @states: (nullable) (inout): by rank: of its chip at the begin, then at the end of the step;
 *   NULL: they have rested. Where @times have power alone; how ops then depend on it says
 *   engine/slowdown.h
 * Where its runtime splits pairs, an overlapped pair runs as F and then B, each as long as
 * alone, F waiting for the forward's receive and B for the backward's; the sends of both follow
 * behind B. Ops of the result are then those of pipesim_program_split_pairs(), else those of
 * the program.
 * Returns: (transfer full): a timeline with transfers, causes and the traffic over @network,
 *   which must outlive it; NULL with PIPESIM_ERROR_DEADLOCK, as pipesim_lowering_check()
 *   tells it, or PIPESIM_ERROR_LIMIT where time would pass 2^62 ns or memory does not
 *   suffice. */
PipesimTimeline *pipesim_comm_run(const PipesimLowering *lowering,
	const PipesimIssuing *issuing, const PipesimTimes *times, const PipesimNetwork *network,
	guint flags, PipesimPowerState *states, GError **error);
