/* Runs without lists: what a runtime issues is told as it runs. What all that are told share; private to ruled-flow.c
 * and to who tells. */
#pragma once
#include "base/arena.h"
#include "engine/durations.h"
#include "engine/step.h"
#include "runtime/sharding.h"

/* One more than the ns at which something is there, by the rules and where messages wait for nothing; 0: it has not
 * been told. */
typedef struct {
	gint64 ruled, free;
} PipesimMoment;

/* A stage on its rank; arrays by direction: 0 activations and forwards, 1 gradients and backwards. */
typedef struct {
	gint64 took[PIPESIM_FB];
	const PipesimMoment *in[2]; /* what it needs, by micro-batch; NULL: nothing */
	PipesimMoment *out[2]; /* what it gives to the stage that needs it; NULL: none does */
	guint32 to[2];         /* the rank of that */
	guint32 from[2];       /* the rank that gives what it needs */
	guint32 n[2];          /* how many ran */
} PipesimPlace;

/* Where a rank stands in its order. */
typedef struct {
	const PipesimOp *verb, *first, *end;
	guint32 rounds; /* of the loop from @first to @end, this one too; 0: it has ended */
	guint32 loop;   /* that comes next */
	guint32 at;     /* ops that ran */
	gint64 now;     /* when all that its list has so far is done, but for messages */
	gint64 free;    /* when its ops are, where messages wait for nothing */
	gint64 last_end;
} PipesimFlowRank;

typedef struct {
	gboolean counts;         /* verbs count their micro-batches */
	PipesimProgram *program; /* shape and stages; where they do not also the ops */
	/* The verbs of rank r are those of loops[loop_begin[r]] to loops[loop_begin[r + 1] - 1]. */
	const PipesimOp *verbs;
	const PipesimLoop *loops;
	const guint32 *loop_begin;
	guint32 per_chunk, slices;
	gint64 p2p;
	PipesimDurations durations;
	PipesimPlace *places; /* by rank and chunk */
	PipesimFlowRank *ranks;
	PipesimMoment *moments; /* of all places */
	guint64 n_done;
	PipesimStep *step;
	PipesimArena *arena;
} PipesimFlow;

/** pipesim_flow_scan: what @rank, before its first op, runs by its verbs: how long, and when which chunk. FALSE where
 * verbs do not say. */
gboolean pipesim_flow_scan(PipesimFlow *flow, guint rank, PipesimChunkUses *uses);

/** pipesim_flow_lay: who gives what to whom, all in one pipeline or each chunk in its own, with room for the moments of
 * @window micro-batches of each stage. FALSE where a stage is in two places, or without memory. */
gboolean pipesim_flow_lay(PipesimFlow *flow, guint32 window);

/** pipesim_flow_rounds, pipesim_flow_megatron, pipesim_flow_between: runs @flow as PyTorch or Megatron tells it, or a
 * runtime that says what stands between two ops.
 * @done: (out): FALSE where that is not to be told so, or comes to no end
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_flow_rounds(PipesimFlow *flow, gboolean *done, GError **error);
gboolean pipesim_flow_megatron(PipesimFlow *flow, gboolean *done, GError **error);
gboolean pipesim_flow_between(PipesimFlow *flow, gboolean *done, GError **error);

/** pipesim_flow_loop: @rank comes to its next loop. */
static inline void pipesim_flow_loop(PipesimFlow *flow, guint rank)
{
	PipesimFlowRank *r = &flow->ranks[rank];

	if (r->loop == flow->loop_begin[rank + 1])
		return;
	r->first = r->verb = flow->verbs + flow->loops[r->loop].first;
	r->end = r->first + flow->loops[r->loop].n;
	r->rounds = flow->loops[r->loop++].count;
}

/** pipesim_flow_verb: @rank has run what it stood at. */
static inline void pipesim_flow_verb(PipesimFlow *flow, guint rank)
{
	PipesimFlowRank *r = &flow->ranks[rank];

	r->at++;
	flow->n_done++;
	if (++r->verb < r->end)
		return;
	r->verb = r->first;
	if (--r->rounds == 0)
		pipesim_flow_loop(flow, rank);
}

/** pipesim_flow_number: the micro-batch of @place that the next forward, or backward, is of, where @written stands; pipesim_order_expand()
 * counts the same. */
static inline guint32 pipesim_flow_number(
	const PipesimFlow *flow, const PipesimPlace *place, guint backward, guint32 written)
{
	const guint32 n = place->n[backward];

	if (G_LIKELY(written == PIPESIM_NEXT))
		return backward && flow->slices > 1
			       ? n + flow->slices - 1 - 2 * (n % flow->slices)
			       : n;
	return written == PIPESIM_LAST ? flow->per_chunk - 1 - n : written;
}
