/* Orders that a search has found, op by op, as verbs. */
#pragma once
#include "order/emit.h"

/* What one code of a sequence stands for: F, I or W of the next micro-batch of a chunk. */
typedef struct {
	PipesimKind kind;
	guint chunk;
} PipesimVerb;

/**
 * pipesim_emit_sequences: writes the orders of all ranks: that of rank r is @verbs[@codes[r * @n]]
 * to @verbs[@codes[(r + 1) * @n - 1]]. What repeats becomes a loop. Phases: warm-up until the
 * first I, steady until the last F, cool-down.
 */
void pipesim_emit_sequences(PipesimEmitter *out, const guint8 *codes, guint ranks, gsize n,
	const PipesimVerb *verbs);
