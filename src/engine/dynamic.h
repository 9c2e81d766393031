/* The simulator of links: messages wait for each other, and slow what runs beside them. */
#pragma once
#include "engine/timeline.h"

/** pipesim_dynamic_run: as pipesim_fast_run(), but messages between ranks take the links of
 * @network, as engine/traffic.h says, instead of P2P.
 * An op of a kind with slowdown num / den, while some message moves out of its rank or into it
 * (from when it begins to move until it is there), does den / num of the work that it would do
 * otherwise; several messages slow it no more than one. Work is counted in units of 1 / num ns,
 * exactly; an op ends at the first whole nanosecond at which none is left.
 * The queue holds the end of the op that each rank runs: when a message will be there is known
 * when it is ready, and what slows an op later is added when it would have ended. Messages that
 * end ops at the same time come in the order (rank, op index).
 * @flags: of PipesimTrafficFlags, or 0
 * @states: as for pipesim_comm_run(): no receive ever waits here, since a message moves as soon
 *   as it is ready
 * Returns: (transfer full): a timeline with traffic, for which @network must outlive it;
 *   NULL with PIPESIM_ERROR_DEADLOCK or PIPESIM_ERROR_LIMIT, as there. */
PipesimTimeline *pipesim_dynamic_run(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimNetwork *network, guint flags, PipesimPowerState *states, GError **error);
