/* Lists that hold nothing between two ops of a rank but what the one sends and what the other one needs, all of a rank
 * in one queue: played as they are told, without being written. Private to the room. */
#pragma once
#include "runtime/runtime.h"

typedef enum {
	PIPESIM_FATE_UNKNOWN, /* its lists say */
	PIPESIM_FATE_RUNS,
	PIPESIM_FATE_HANGS,
} PipesimFate;

/** pipesim_between_tells: whether ops of @program are of the kinds that are played so. */
gboolean pipesim_between_tells(const PipesimProgram *program);

/** pipesim_between_play: whether @program runs under @runtime as @issuing asks, by the rules of lowering.h; a list that runs
 * so also has the right messages meet, as ops that send or receive two are left to lists.
 * @proven: (inout) (nullable): of @program; NULL: pipesim_between_tells(), and no other runtime is asked */
PipesimFate pipesim_between_play(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, PipesimProven *proven);

/* Of a message, where both of its ends have been issued. */
#define PIPESIM_MOVED G_MAXUINT32

/* What a stage exchanges with other ranks, by micro-batch: [0] activations, [1] gradients; [0] received, [1] sent. Both
 * ends are one word, 0 at first. NULL: nothing. */
typedef struct {
	guint32 *of[2][2];
} PipesimEnds;

/** pipesim_between_ends: by rank and chunk of @program, each of whose stages stands on one rank. Memory from @arena, which
 * says whether it sufficed. */
PipesimEnds *pipesim_between_ends(const PipesimProgram *program, PipesimArena *arena);
