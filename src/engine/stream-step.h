/* Ranks that run verb by verb and pass each other times. Private to the streaming engine. */
#pragma once
#include "engine/durations.h"
#include "engine/step.h"

#define PIPESIM_NO_COMMUNICATOR G_MAXUINT32

/* Messages that were leapt over while nobody took them: the i-th of the k-th @n is there at
 * first[i] + k * rate[i]. */
typedef struct _PipesimStretch {
	struct _PipesimStretch *next;
	guint32 at;            /* of the ring: the message that comes after them */
	guint32 length, taken; /* messages: of them all, and no longer there */
	guint32 n;
	gint64 *first, *rate;
} PipesimStretch;

/* What one chunk of a rank sends to the next stage, or to the one before: the n-th message that
 * is sent is the n-th that is taken. Times at which messages are there. */
typedef struct {
	gint64 *ring;
	guint32 mask;
	guint32 produced, consumed; /* of the ring */
	PipesimStretch *stretch;    /* that are not in the ring, in order; NULL = none */
} PipesimCommunicator;

/* A verb with its durations and communicators looked up. Index 0: forward half, 1: backward half. */
typedef struct {
	gint64 duration;
	guint32 in[2], out[2];
	gint64 hop[2];    /* what a message takes */
	guint32 place[2]; /* rank * chunks + chunk that it counts for, or NO_COMMUNICATOR */
	guint8 kind;
	guint8 chunk, b_chunk;
} PipesimStreamVerb;

typedef struct {
	guint32 loop, verb, round;
	guint32 long_loop;
	guint32 step;  /* rounds of it that one superstep adds */
	guint64 limit; /* so many ops may run */
	guint64 n_ran;
	gint64 time, first_start;
	/* Chunks of the I that have no W yet, where W of different chunks take different times;
	 * else its ring is NULL. */
	PipesimCommunicator pending;
} PipesimStreamRank;

/* One op of a recorded superstep. */
typedef struct {
	guint32 rank, verb;
	gint64 duration;
} PipesimTapeOp;

typedef struct {
	PipesimTapeOp *ops;
	gsize n, size;
	gboolean too_long;
} PipesimTape;

typedef struct {
	const PipesimOrder *order;
	PipesimProgram *places; /* shape and stage_of, no ops */
	PipesimDurations durations;
	gint64 p2p;
	guint n_places; /* ranks * chunks */
	PipesimStreamVerb *verbs;
	PipesimCommunicator
		*communicators; /* [2 * n_places]: forward of each place, then backward */
	guint32 *done;          /* [2 * n_places]: how many ran */
	PipesimStreamRank *ranks;
	guint32 full;    /* a communicator that somebody found full, or NO_COMMUNICATOR */
	gboolean faulty; /* a backward came before its forward */
	gboolean no_memory;
	PipesimTape *tape;   /* (nullable): records */
	PipesimArena *arena; /* of all arrays here */
} PipesimStreaming;

/** pipesim_communicator_waiting: messages that were sent and not taken. */
guint64 pipesim_communicator_waiting(const PipesimCommunicator *communicator);

/** pipesim_communicator_find: the stretch that the message is in before which @ahead more are
 * waiting, and *@index of it there; NULL where it is the one of the ring with that number. It
 * has been sent. */
const PipesimStretch *pipesim_communicator_find(
	const PipesimCommunicator *communicator, guint32 ahead, guint32 *index);

/** pipesim_communicator_peek: when that message is there. */
gint64 pipesim_communicator_peek(const PipesimCommunicator *communicator, guint32 ahead);

/** pipesim_communicator_skip: takes @n messages, which have been sent. */
void pipesim_communicator_skip(PipesimCommunicator *communicator, guint32 n);

/** pipesim_streaming_put: sends one that is there at @time. FALSE where memory does not
 * suffice. */
gboolean pipesim_streaming_put(
	PipesimStreaming *s, PipesimCommunicator *communicator, gint64 time);

/** pipesim_streaming_init: FALSE with PIPESIM_ERROR_LIMIT. Ended with pipesim_streaming_clear()
 * in any case. */
gboolean pipesim_streaming_init(PipesimStreaming *s, const PipesimOrder *order,
	const PipesimTimes *times, GError **error);
void pipesim_streaming_clear(PipesimStreaming *s);

/** pipesim_streaming_settle: runs every rank as far as inputs and limits let it. */
void pipesim_streaming_settle(PipesimStreaming *s);

/** pipesim_streaming_ended: whether every rank is at its end. */
gboolean pipesim_streaming_ended(const PipesimStreaming *s);

/** pipesim_period_run: up to @supersteps further ones of @s, each like the last, which @tape
 * has; those that repeat are leapt over. Does nothing where that would not pay or does not fit.
 * @steady: what repeats, in supersteps from the first of these
 * Returns: FALSE where nothing repeats within some seconds: @s is then of no use. */
gboolean pipesim_period_run(PipesimStreaming *s, const PipesimTape *tape, guint64 supersteps,
	PipesimSteady *steady);
