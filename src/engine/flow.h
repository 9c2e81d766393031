/* Runs without lists: what a runtime issues is told as it runs. What all that are told share; private to ruled-flow.c
 * and to who tells. */
#pragma once
#include "engine/durations.h"
#include "engine/step.h"
#include "runtime/sharding.h"

/* One more than the ns at which something is there, by the rules and where messages wait for nothing; 0: it has not
 * been told. */
typedef struct {
	gint64 ruled, free;
} PipesimMoment;

/* Messages that were leapt over, @length behind the first @at of a pile: they go on as the last @n of these do, each as
 * much later than the one @n before it as that one was. */
typedef struct {
	guint32 at, n;
	guint64 length;
} PipesimStretched;

/* What a stage gets, first in, first out, where as many messages pile up as there are micro-batches: all that were sent
 * stay there. */
typedef struct {
	GArray *all;                  /* PipesimMoment */
	GArray *stretches;            /* PipesimStretched */
	guint32 sent, taken;          /* of @all */
	guint32 n_stretches, stretch; /* there are, and have been taken; of the next one */
	guint64 gone;
	guint64 n_in, n_out; /* messages in all */
	PipesimMoment front; /* the next one, where it has been looked at; else not told */
} PipesimPile;

/* A stage on its rank; arrays by direction: 0 activations and forwards, 1 gradients and backwards. */
typedef struct {
	gint64 took[PIPESIM_FB];
	PipesimMoment *in[2];  /* what it needs, by micro-batch & mask; NULL: nothing */
	PipesimMoment *out[2]; /* what it gives to the stage that needs it; NULL: none does */
	PipesimPile *pile[2], *gives[2]; /* instead of these */
	guint32 to[2];                   /* the rank of that */
	guint32 giver[2];                /* the place that gives what it needs */
	guint32 n[2];                    /* how many ran */
} PipesimPlace;

/* Where a rank stands in its order. */
typedef struct {
	const PipesimOp *verb, *first, *end;
	guint32 rounds; /* of the loop from @first to @end, this one too; 0: it has ended */
	guint32 loop;   /* that comes next */
	guint32 at;     /* ops that ran */
	guint32 limit;  /* that may run for the time being */
	gint64 now;     /* when all that its list has so far is done, but for messages */
	gint64 free;    /* when its ops are, where messages wait for nothing */
	gint64 last_end;
	gint64 queue;    /* PyTorch's: when its messages are done, too */
	guint32 n_todo;  /* things that were done to its stages, */
	guint32 todo_at; /* and ops before the next one */
} PipesimFlowRank;

typedef struct {
	const PipesimOrder *order; /* that is told */
	guint64 cut; /* supersteps that are not in it, and are put back where others are left out */
	gboolean counts;         /* verbs count their micro-batches */
	gboolean leaps;          /* it is told only where what repeats can be left out */
	PipesimProgram *program; /* shape and stages; where they do not also the ops */
	/* The verbs of rank r are those of loops[loop_begin[r]] to loops[loop_begin[r + 1] - 1]. */
	const PipesimOp *verbs;
	const PipesimLoop *loops, *whole; /* without what was cut away, and with it */
	const guint32 *loop_begin;
	guint32 per_chunk, slices;
	gint64 p2p;
	PipesimDurations durations;
	PipesimPlace *places; /* by rank and chunk */
	PipesimFlowRank *ranks;
	PipesimMoment *moments; /* of all places */
	PipesimPile *piles;     /* by 2 * place + direction; NULL: messages do not pile up */
	gsize stride;           /* from those of one stage to those of the next */
	guint32 mask; /* of micro-batches: moments of those that lie that far apart share a place */
	guint64 n_done;
	PipesimStep *step;
	PipesimArena *arena;
} PipesimFlow;

/* What leaps over what repeats. Whoever tells a run looks for that as the first rank's turn begins or, where it does not
 * matter whose turn it is, each time that all ranks have come to their limits; and says what of its own there is to
 * compare, and to move: visit() does so for a rank, before its place in the order is moved, by the functions below, and
 * returns whether all of them did. */
typedef struct _PipesimLeap PipesimLeap;

typedef struct {
	gboolean (*visit)(PipesimLeap *leap, gpointer data, guint rank);
	gpointer data;
	gboolean limits; /* ranks have some from the begin */
	/* Messages of a stage that may be looked at behind the last one received, and before the next one sent. */
	guint32 ahead, behind;
} PipesimLeapState;

/** pipesim_leap_new: for pipesim_leap_free(); NULL where @flow has no loops whose micro-batches can be counted. */
PipesimLeap *pipesim_leap_new(PipesimFlow *flow, PipesimLeapState state);
void pipesim_leap_free(PipesimLeap *leap);

/** pipesim_leap_look: leaps, if all is as it was some supersteps ago.
 *
 * Returns: FALSE where enough was told of a flow that only leaps. */
gboolean pipesim_leap_look(PipesimLeap *leap);

/** pipesim_leap_next: nobody goes on: looks, and sets the limits of all ranks to a superstep later. @leap: (nullable)
 *
 * Returns: FALSE where there were no limits, or enough was told. */
gboolean pipesim_leap_next(PipesimLeap *leap);

/** pipesim_leap_word, _count, _microbatch, _message, _time: @value is always the same; grows by @by a superstep; by as
 * many as there are micro-batches in one; points to a micro-batch's; is a moment by the rules, or where messages wait for
 * nothing. Returns: FALSE where it did not. */
gboolean pipesim_leap_word(PipesimLeap *leap, gint64 value);
gboolean pipesim_leap_count(PipesimLeap *leap, guint32 *value, gint64 by);
gboolean pipesim_leap_microbatch(PipesimLeap *leap, guint32 *value);
gboolean pipesim_leap_message(PipesimLeap *leap, PipesimMoment **message);
gboolean pipesim_leap_time(PipesimLeap *leap, gint64 *time, gboolean free);

/** pipesim_leap_limit: no more than @supersteps are alike for another reason. */
void pipesim_leap_limit(PipesimLeap *leap, guint64 supersteps);

/** pipesim_leap_added: micro-batches in a superstep. */
guint32 pipesim_leap_added(const PipesimLeap *leap);

/** pipesim_leap_ops: of a superstep of @rank. */
guint32 pipesim_leap_ops(const PipesimLeap *leap, guint rank);

/* What leaps over what repeats where messages pile up. */
typedef struct _PipesimPileLeap PipesimPileLeap;

/** pipesim_pile_leap_new: of @flow, before its first op; NULL without memory. For pipesim_pile_leap_free(). */
PipesimPileLeap *pipesim_pile_leap_new(PipesimFlow *flow);
void pipesim_pile_leap_free(PipesimPileLeap *leap);

/** pipesim_pile_leap_look: a round begins: looks, and leaps.
 *
 * Returns: FALSE where enough was told of a flow that only leaps. */
gboolean pipesim_pile_leap_look(PipesimPileLeap *leap);

/** pipesim_pile_front: the next message of @pile; ruled is 0 where there is none. */
PipesimMoment *pipesim_pile_front(PipesimPile *pile);

/** pipesim_pile_put: @moment is sent. */
void pipesim_pile_put(PipesimPile *pile, PipesimMoment moment);

/** pipesim_flow_scan: what @rank, before its first op, runs by its verbs: how long, and when which chunk. FALSE where
 * verbs do not say. */
gboolean pipesim_flow_scan(PipesimFlow *flow, guint rank, PipesimChunkUses *uses);

/** pipesim_flow_lay: who gives what to whom, all in one pipeline or each chunk in its own, with room for the moments of
 * @room micro-batches of each stage; 0: of as many as are between their forward and their backward. FALSE where a stage
 * is in two places, or without memory. */
gboolean pipesim_flow_lay(PipesimFlow *flow, guint32 room);

/** pipesim_flow_rounds, pipesim_flow_megatron: runs @flow as PyTorch or Megatron tells it.
 * @done: (out): FALSE where that is not to be told so, or comes to no end
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_flow_rounds(PipesimFlow *flow, gboolean *done, GError **error);
gboolean pipesim_flow_megatron(PipesimFlow *flow, gboolean *done, GError **error);

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
