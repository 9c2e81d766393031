/* Lists that hold nothing between two ops of a rank but what the one sends and what the other one needs, all of a rank
 * in one queue: played as they are told, without being written. Private to the room. */
#pragma once
#include "runtime/runtime.h"

typedef enum {
	PIPESIM_FATE_UNKNOWN, /* its lists say */
	PIPESIM_FATE_RUNS,
	PIPESIM_FATE_HANGS,
} PipesimFate;

/** pipesim_between_play: whether @program runs under @runtime as @issuing asks, by the rules of lowering.h; a list that runs
 * so also has the right messages meet, as ops that send or receive two are left to lists. */
PipesimFate pipesim_between_play(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing);
