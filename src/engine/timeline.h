/* When everything ran: what every simulator gives. */
#pragma once
#include "engine/traffic.h"
#include "order/program.h"

/* In PipesimTimeline.cause and PipesimTransfer.cause: what is left is a transfer, not an op. */
#define PIPESIM_BY_TRANSFER (G_GUINT64_CONSTANT(1) << 32)
#define PIPESIM_BY_SHARD    (G_GUINT64_CONSTANT(1) << 33) /* or a shard */
#define PIPESIM_NO_CAUSE    G_MAXUINT64

/* A message on its way between two ranks, ns from the start of the step. It moves from @start
 * to @end; before that the end that was issued first waited for the other. */
typedef struct {
	guint32 from, to; /* ops: whose result it is, and which needs it */
	guint32 from_rank, to_rank;
	guint32 backward;      /* 1 of a gradient, 0 of an activation */
	gint64 sent, received; /* when its two ends were issued */
	gint64 start, end;     /* start: the later of the two; over links when it begins to
				  move after that */
	guint64 cause;         /* what let it start: see PipesimTimeline */
} PipesimTransfer;

/* What was done to the parameters or gradients of a stage beside the ops of its rank, ns from
 * the start of the step. Between @issued and @start it waited for the one before it. */
typedef struct {
	guint32 stage;
	guint32 reduces; /* 1: gradients were reduced; 0: parameters gathered */
	gint64 issued, start, end;
	guint64 cause; /* what let it start: see PipesimTimeline */
} PipesimShard;

/* When each op ran, by op index, ns from the start of the step. end - start is the op's
 * duration, no two ops of a rank overlap, and an op starts when its rank is free and every
 * input is there: P2P later than its end where the input comes from another rank. */
typedef struct {
	guint n_ops;
	gint64 *start, *end;
	gint64 makespan; /* last end; the first start is 0; see shards */
	guint64 events;  /* completions and arrivals that left the queue */

	/* By rank: how long it waited for copies to the host and back that were not over; NULL: after
	 * pipesim_mixed_run() alone. */
	gint64 *exposed;

	/* What follows is there where messages wait for each other, else NULL and 0. */

	/* Every message, by sending rank and there in the order of the sends: what rank r sends
	 * is transfers[send_begin[r]] to transfers[send_begin[r + 1] - 1]. What it receives, in
	 * the order in which the receives were issued, are the transfers of index
	 * arrivals[receive_begin[r]] to arrivals[receive_begin[r + 1] - 1]. */
	guint32 n_transfers;
	PipesimTransfer *transfers;
	guint32 *arrivals;
	guint32 *send_begin, *receive_begin; /* ranks + 1 */
	/* By op: what ended at the moment it started and let it start: an op by index, or
	 * PIPESIM_BY_TRANSFER | the index of a transfer, PIPESIM_BY_SHARD | that of a shard;
	 * PIPESIM_NO_CAUSE: it started at 0. After pipesim_comm_run() alone. */
	guint64 *cause;
	/* Where stages are gathered and reduced in time, else 0 and NULL: of rank r those of
	 * index shard_begin[r] to shard_begin[r + 1] - 1, in order. The step ends no earlier
	 * than the last reduction. */
	guint32 n_shards;
	PipesimShard *shards;
	guint32 *shard_begin;
	/* Of runs over a network alone, else NULL. end - start is then the duration with what
	 * messages slowed. */
	PipesimTraffic *traffic; /* owned */
	/* When the message of input i of an op (pipesim_program_inputs()) began to move, ns;
	 * -1 where none did. [1] is NULL where no op has two inputs. */
	gint64 *moving[2];
} PipesimTimeline;

PIPESIM_FREED(PipesimTimeline, pipesim_timeline_free)

/** pipesim_timeline_cause: of @cause, as above, what let the op or transfer start that let a
 * shard start. */
static inline guint64 pipesim_timeline_cause(const PipesimTimeline *timeline, guint64 cause)
{
	while (cause != PIPESIM_NO_CAUSE && (cause & PIPESIM_BY_SHARD) != 0)
		cause = timeline->shards[(guint32)cause].cause;
	return cause;
}

/** pipesim_timeline_add_transfers: for runs over @network, from timeline->moving: a message is
 * sent when the op that it comes from ends, and its receive stands ready when it moves. FALSE
 * without memory. */
gboolean pipesim_timeline_add_transfers(PipesimTimeline *timeline,
	const PipesimProgram *program, const PipesimNetwork *network);
