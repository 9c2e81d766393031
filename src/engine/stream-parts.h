/* The parts of the streaming engine, one file each. Private to the room. */
#pragma once
#include "engine/durations.h"
#include "engine/stream.h"
#include "order/order.h"

#define PIPESIM_NO_CHANNEL G_MAXUINT32

/* What one chunk of a rank sends to the next stage, or to the one before: the n-th message that
 * is sent is the n-th that is taken. Times at which messages are there. */
typedef struct {
	gint64 *ring;
	guint32 mask;
	guint32 produced, consumed;
} PipesimChannel;

/* A verb with its durations and channels looked up. Index 0: forward half, 1: backward half. */
typedef struct {
	gint64 duration;
	guint32 in[2], out[2];
	gint64 hop[2];    /* what a message takes */
	guint32 place[2]; /* rank * chunks + chunk that it counts for, or NO_CHANNEL */
	guint8 kind;
	guint8 chunk, b_chunk;
} PipesimStreamVerb;

/* Chunks of the I that have no W yet, where W of different chunks take different times. */
typedef struct {
	guint8 *ring; /* NULL: not kept */
	guint32 mask, head, tail;
} PipesimPending;

typedef struct {
	guint32 loop, verb, round;
	guint32 long_loop;
	guint32 step;  /* rounds of it that one superstep adds */
	guint64 limit; /* so many ops may run */
	guint64 n_ran;
	gint64 time, first_start;
	PipesimPending pending;
} PipesimStreamRank;

/* One op of a recorded superstep. */
typedef struct {
	guint32 rank, verb;
	guint32 consumed[2], produced[2]; /* numbers of its messages in their channels */
	gint64 duration;
} PipesimTapeOp;

typedef struct {
	PipesimTapeOp *ops;
	gsize n, size;
	gboolean too_long;
} PipesimTape;

typedef struct {
	const PipesimOrder *order;
	const PipesimProgram *places; /* shape and stage_of, no ops */
	PipesimDurations durations;
	gint64 p2p;
	guint n_places; /* ranks * chunks */
	PipesimStreamVerb *verbs;
	PipesimChannel *channels; /* [2 * n_places]: forward of each place, then backward */
	guint32 *done;            /* [2 * n_places]: how many ran */
	PipesimStreamRank *ranks;
	guint32 full;    /* a channel that somebody found full, or NO_CHANNEL */
	gboolean faulty; /* a backward came before its forward */
	gboolean no_memory;
	PipesimTape *tape;             /* (nullable): records */
	PipesimTimeline *timeline;     /* (nullable): starts and ends are kept */
	const guint32 *timeline_begin; /* by rank */
} PipesimStreaming;

/** pipesim_streaming_init: FALSE with PIPESIM_ERROR_LIMIT, PIPESIM_ERROR_INCOMPLETE, or
 * PIPESIM_ERROR_CONSTRAINT where the order cannot be streamed. Ended with
 * pipesim_streaming_clear() in any case. */
gboolean pipesim_streaming_init(PipesimStreaming *s, const PipesimOrder *order,
	const PipesimProgram *places, const PipesimTimes *times, GError **error);
void pipesim_streaming_clear(PipesimStreaming *s);

/** pipesim_streaming_settle: runs every rank as far as inputs and limits let it. */
void pipesim_streaming_settle(PipesimStreaming *s);

/** pipesim_streaming_ended: whether every rank is at its end. */
gboolean pipesim_streaming_ended(const PipesimStreaming *s);

/* A superstep as a list of steps without any branch: what it reads and writes is known. */
typedef struct _PipesimPeriod PipesimPeriod;

/** pipesim_period_new: what @tape did to @s, which stands right after it. NULL where that would
 * not pay or does not fit. */
PipesimPeriod *pipesim_period_new(const PipesimStreaming *s, const PipesimTape *tape);
void pipesim_period_free(PipesimPeriod *period);

/** pipesim_period_unroll: supersteps of one pass. */
guint pipesim_period_unroll(const PipesimPeriod *period);

/** pipesim_period_skew: how many ops each rank should be ahead of where a pass begins, so that
 * as many ranks as possible run at once: ASAP with ops that all take one unit. @ahead: by rank.
 * FALSE where that takes more than @work steps. */
gboolean pipesim_period_skew(const PipesimPeriod *period, guint64 work, guint64 *ahead);

/** pipesim_period_load, pipesim_period_store: state of @s from and to rings and ranks; @passes
 * went by between the two. */
void pipesim_period_load(PipesimPeriod *period, const PipesimStreaming *s);
void pipesim_period_store(const PipesimPeriod *period, PipesimStreaming *s, guint64 passes);

/** pipesim_period_run: @passes passes, one op after the other in vectors. */
void pipesim_period_run(PipesimPeriod *period, guint64 passes);

/** pipesim_period_keep: the same, starts and ends kept in the timeline of @s. FALSE where
 * memory does not suffice: nothing ran then. */
gboolean pipesim_period_keep(PipesimPeriod *period, const PipesimStreaming *s, guint64 passes);

/** pipesim_period_jump: @passes passes, with a leap over those that repeat. FALSE where nothing
 * repeats within some seconds: the state is then of no use. */
gboolean pipesim_period_jump(PipesimPeriod *period, guint64 passes, PipesimSteady *steady);

/* One run. */
typedef struct {
	PipesimStreaming s;
	gboolean leap;
	gboolean kept;     /* some supersteps were compiled for the timeline */
	gboolean too_long; /* more is left to run op by op than anybody waits for */
	PipesimSteady steady;
} PipesimStreamRunner;

/** pipesim_stream_phases: runs what repeats in the long loops of all ranks; what is left is for
 * pipesim_streaming_settle(). */
void pipesim_stream_phases(PipesimStreamRunner *runner);
