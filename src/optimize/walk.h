/* One order under way: ops are moved within their ranks, and what that makes of the makespan is known from
 * the longest paths through the ops moved. Messages never wait for each other here. */
#pragma once
#include "model/random.h"
#include "order/instance.h"

typedef struct {
	const PipesimInstance *x;
	guint n, per_rank; /* ops */
	guint most_shift;  /* ops that one is moved past */
	gboolean glues;    /* some ops may run as one; else step is took and glued NULL */
	/* [op]; an op is (lane * kinds + kind) * count + micro-batch. */
	gint64 *took; /* until its output leaves */
	gint64 *step; /* until the next op of its rank may start */
	/* Runs as one with the op behind it on its rank: an I with its W, which then takes nothing, or an F
	 * with the I of its pair, which starts when it does. */
	guint8 *glued;
	guint32 *input, *output; /* on another rank or not next to it; NO_OP: none */
	gint64 *lag;             /* of the message from input */
	gint64 *head, *tail;     /* longest paths to its start and from its end */
	guint32 *place;          /* in seq */
	guint32 *turn;           /* in turns */
	guint32 *seq;            /* [rank * per_rank + i]: ops of ranks in their order */
	guint32 *turns;          /* all ops, each after what it waits for */
	gint64 *level[PIPESIM_MAX_ROOMS]; /* [place]: held before that op */
	gint64 makespan;
	guint8 *best; /* codes of the shortest so far */
	gint64 best_makespan;
	guint64 moves; /* looked at */
	guint64 taken;
	PipesimSampleKey key; /* of its random numbers */
	guint32 drawn;
	/* At work. */
	guint32 *window, *queue;
	gint64 *window_head;
	guint8 *waits;
	guint64 *dirty; /* a bit a turn: its op may have another head, or tail */
} PipesimWalk;

/** pipesim_walk_init: everything in @arena, whose memory sufficed or not the caller asks. */
void pipesim_walk_init(PipesimWalk *walk, const PipesimInstance *instance, guint64 seed,
	guint64 number, PipesimArena *arena);

/** pipesim_walk_begin: from the order @codes, which fits. FALSE where it has a cycle. */
gboolean pipesim_walk_begin(PipesimWalk *walk, const guint8 *codes);

/** pipesim_walk_run: looks at @n moves; takes one that makes the order longer by d with probability
 * exp(-d / @heat). Stops where walk->best_makespan is @bound. */
void pipesim_walk_run(PipesimWalk *walk, guint n, double heat, gint64 bound);

/** pipesim_walk_step: looks at moves until one is taken that makes the order no longer than @most; FALSE
 * where none of many is. */
gboolean pipesim_walk_step(PipesimWalk *walk, gint64 most);

/** pipesim_walk_codes: the order as it is now; @codes as for pipesim_walk_begin(). */
void pipesim_walk_codes(const PipesimWalk *walk, guint8 *codes);
