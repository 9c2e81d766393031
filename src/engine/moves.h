/* The messages of a run over a network, one by one. */
#pragma once
#include "engine/engine.h"

/** pipesim_timeline_add_transfers: from timeline->moving: a message is sent when the op that it
 * comes from ends, and its receive stands ready when it moves. FALSE without memory. */
gboolean pipesim_timeline_add_transfers(PipesimTimeline *timeline,
	const PipesimProgram *program, const PipesimNetwork *network);
