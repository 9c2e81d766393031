/* Orders that a search has found, op by op, as verbs. */
#pragma once
#include "order/emit.h"

/* What one code of a sequence stands for: F, B, I or W of the next micro-batch of a chunk. */
typedef struct {
	PipesimKind kind;
	guint chunk;
} PipesimVerb;

/* The codes of a rank of a V with split backwards, in the order in which a micro-batch runs
 * them; 1 is the chunk on the way back. */
typedef enum {
	PIPESIM_V_F0,
	PIPESIM_V_F1,
	PIPESIM_V_I1,
	PIPESIM_V_I0,
	PIPESIM_V_W1,
	PIPESIM_V_W0,
	PIPESIM_V_CODES,
} PipesimVCode;

extern const PipesimVerb pipesim_v_verbs[PIPESIM_V_CODES];

/* A verb at a step of an order that is laid out on paper, with no two of a rank at the same. */
typedef struct {
	guint64 at;
	PipesimVerb verb;
} PipesimStepVerb;

/** pipesim_sort_steps: by their steps. */
void pipesim_sort_steps(PipesimStepVerb *steps, guint n);

/** pipesim_emit_verb: W is that of the oldest I of the verb's chunk that has none yet. */
void pipesim_emit_verb(PipesimEmitter *out, const PipesimVerb *verb);

/** pipesim_emit_sequences: writes the orders of all ranks: that of rank r is @verbs[@codes[r
 * * @n]] to @verbs[@codes[(r + 1) * @n - 1]]. What repeats becomes a loop. Phases: warm-up
 * until the first I, steady until the last F, cool-down. */
void pipesim_emit_sequences(PipesimEmitter *out, const guint8 *codes, guint ranks, gsize n,
	const PipesimVerb *verbs);
