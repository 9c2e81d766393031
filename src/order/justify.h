/* Orders put together once more by their own times. Every op of an order has a time at which it
 * ends. Taken from the last one on, each is put as late as its rank, what waits for it and what
 * the rank may hold let it be, gaps between others included; of the times that this gives,
 * taken from the first one on, each is put as early as can be. Neither makes the order longer
 * ("justification" of schedules with limited resources: Valls, Ballestin and Quintanilla,
 * 2005); with times that are a little off at random it may come out shorter. Overlapped pairs are put as one; with those
 * times some are taken apart, and some forwards become pairs with a backward near them. */
#pragma once
#include "model/random.h"
#include "order/instance.h"

/* What a rank runs, or what it begins and ends to hold, in the order of times. */
typedef struct {
	gint64 from, to;
} PipesimStay;

typedef struct {
	gint64 at;
	gint64 change[PIPESIM_MAX_ROOMS];
} PipesimTurnover;

/* The ops of one code of a lane, looking one way. */
typedef struct {
	guint rank;
	/* The codes that they wait for, of the same micro-batch, and what lies between the end
	 * of these and their start. */
	guint n_inputs, input[2];
	gint64 lag[2];
	gint64 takes
		[PIPESIM_MAX_ROOMS]; /* when they start; given back is as much looking the other way */
} PipesimPutting;

/* What can be put, by its time. */
typedef struct {
	gint64 key;
	guint32 code;
} PipesimNextPut;

typedef struct {
	const PipesimInstance *x;
	guint n;
	PipesimPutting *putting[2]; /* [lane * kinds + kind]: forwards, and looking backwards */
	/* [op], as in PipesimWalk: (lane * kinds + kind) * count + micro-batch. */
	gint64 *start, *other, *key;
	gint64 *took; /* until what it runs as one with is over */
	/* The first op of those that it runs as one with, and the next one of these, round;
	 * itself where it runs alone. They are put together. */
	guint32 *first, *next;
	/* The same and took before pairs were changed; NULL: there are none. */
	guint32 *was_first, *was_next;
	gint64 *was_took;
	gint64 makespan;
	gint64 op; /* what one takes on average, ns */
	PipesimSampleKey random;
	guint32 drawn;
	/* At work. */
	PipesimStay *stays;           /* [rank * per_rank + i] */
	PipesimTurnover *turnovers;   /* [2 * rank * per_rank + i] */
	guint *n_stays, *n_turnovers; /* [rank] */
	gint64 *held;                 /* [rank * PIPESIM_MAX_ROOMS + room]: after all of them */
	guint32 *done;                /* [code of all lanes]: micro-batches put */
	PipesimNextPut *heap;         /* the first first */
	guint n_heap;
	/* [code of all lanes], of the first of what runs as one: in the heap; has to wait for
	 * room. */
	guint8 *queued, *blocked;
} PipesimJustifier;

/** pipesim_justifier_init: everything in @arena, whose memory sufficed or not the caller asks. */
void pipesim_justifier_init(PipesimJustifier *justifier, const PipesimInstance *instance,
	guint64 seed, guint64 number, PipesimArena *arena);

/** pipesim_justifier_begin: from the order @codes, tidy, which fits; @starts of its ops, ns.
 * What runs as one in it does so in all that become of it, but for overlapped pairs. */
void pipesim_justifier_begin(PipesimJustifier *justifier, const guint8 *codes,
	const gint64 *starts, gint64 makespan);

/** pipesim_justifier_run: there and back once, @noise: with times that are off at random. What
 * comes out longer is forgotten. Returns whether it is shorter. */
gboolean pipesim_justifier_run(PipesimJustifier *justifier, gboolean noise);

/** pipesim_justifier_codes: the order as it is now. */
void pipesim_justifier_codes(PipesimJustifier *justifier, guint8 *codes);

/** pipesim_justify: puts @codes, which fit and have no flags, together anew so many @times, the first by their own times.
 * They stay as they are where that is not shorter.
 * @makespan, @span: (out): what the order then takes, and the longest time between a rank's first start and its last
 *   end, ns; as they were where memory does not suffice */
void pipesim_justify(const PipesimInstance *instance, guint8 *codes, guint times,
	gint64 *makespan, gint64 *span);
