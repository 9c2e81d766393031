/* Orders that a search has found, op by op, as verbs. */
#pragma once
#include "order/emit.h"

/* What one code of a sequence stands for: F, I or W of the next micro-batch of a chunk. */
typedef struct {
	PipesimKind kind;
	guint chunk;
} PipesimVerb;

/**
 * pipesim_emit_sequence: writes the order of one rank: @verbs[@codes[0]] to
 * @verbs[@codes[@n - 1]]. What repeats becomes a loop. Phases: warm-up until the first I,
 * steady until the last F, cool-down.
 */
void pipesim_emit_sequence(
	PipesimEmitter *out, const guint8 *codes, gsize n, const PipesimVerb *verbs);
