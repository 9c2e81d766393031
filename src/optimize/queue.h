/* How long an order takes where all messages of a rank go by one queue, in the order in which PyTorch lists them
 * (runtime/pytorch.c): many times faster than the engine, which has the last word, and told again from where an
 * order differs from the one before.
 *
 * PyTorch lists ops in rounds; in each every rank in turn takes its next op, if what that needs has been taken. A send,
 * and the receive at its other end, stand where the op before them is taken. So the order in which ops are taken is one
 * in which all that they and their messages wait for is known: a message moves once its op has run, all that its
 * receiver has taken by then has run, and the message before it has moved, at both ends. */
#pragma once
#include "order/instance.h"
#include "runtime/runtime.h"

typedef struct _PipesimQueueState PipesimQueueState;

/* Of a rank. */
typedef struct {
	guint32 source; /* the code whose count must be above */
	guint32 before; /* of the same rank: the last that its micro-batch comes through on the way; as source */
	guint32 input;  /* of its first op: in arrival */
	guint32 target; /* of what gets its output: the same; none: where nobody looks */
	guint32 sent; /* of an I that waits for what its forward has sent: of what gets that; none: where 0 stays */
	guint16 rank, from; /* from: of source; rank itself where there is none */
	guint16 to; /* the other rank that target is of; none: one behind the last, where nobody looks */
	/* It has a target; that is of another rank; it is one; it has such a message. */
	guint8 sends, apart, receives, waits;
	gint64 lag; /* of the message to target */
	gint64 time;
} PipesimQueueCode;

/* Of the order taken last: the longest paths to its end from where the input of an op is there, and for the op that waits
 * for it to be sent; the places of the first ops on them. */
typedef struct {
	gint64 from_input, from_sent;
	guint32 input_place, sent_place;
	guint32 input_differs, sent_differs; /* at work: 1 where one is not what it was */
} PipesimQueueMessage;

/* An op that has been taken. */
typedef struct {
	guint32 place;                /* NO_OP: of what runs as one with the op before it */
	guint32 own : 31, joined : 1; /* rank * codes + code */
} PipesimQueueTurn;

typedef struct {
	const PipesimInstance *x;
	guint codes;  /* of a rank */
	guint mask;   /* pipesim_instance_code_mask() */
	guint joined; /* the flag of codes that full backwards have; 0: nothing is joined */
	guint behind; /* rounds that a rank passes with the gradients of a chunk that is done */
	/* [place]: rounds that its rank passes behind that op as other chunks come next; where it has so many. Of the last
	 * run; of the rank that it changed, before it. */
	guint8 *passes, *passed;
	/* The last run: what it told, and of that what was not as before. */
	const guint8 *codes_run;
	guint changed_rank, changed_end;
	PipesimQueueCode *of; /* [rank * codes + code] */
	gint64 *settled;      /* the same as arrival of the order taken last */
	gint64 *arrival; /* [(rank * codes + code) * count + k]: of the input of an op, ns */
	gint64 *soonest; /* at work: the same, no later than that */
	PipesimQueueMessage *message; /* the same, of the order taken last */
	guint n_differ;
	gint64 *rest; /* [place]: at least as long it goes on from the start of that op, whatever the queues */
	gint64 *busy;  /* [rank * (per_rank + 1) + i]: what ops before its i-th take */
	guint32 *next; /* [place]: on the longest path from its end; NO_OP: none */
	guint32 first; /* of one that is as long as the order */
	PipesimQueueTurn *turns; /* [n_ops] */
	gboolean knows;          /* all of these */
	guint32 n_ops;
	PipesimQueueTurn *fresh_turns; /* of the last run */
	gsize size;                    /* of a state, bytes */
	guint every, n_known, n_fresh; /* states are kept after so many rounds; states */
	guint begun,
		met; /* the known states that the last run has begun with, and that all went on from */
	PipesimQueueState **known,
		**fresh; /* of the order that was taken last; of the last run */
	PipesimQueueState *now;
	guint32 *changed; /* arrivals of the last run */
	guint n_changed;
} PipesimQueue;

/** pipesim_queue_takes: whether messages go by such a queue; what else makes steps longer, such as links, it leaves
 * out. @issuing: what was asked of @runtime. */
gboolean pipesim_queue_takes(const PipesimInstance *instance, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing);

/** pipesim_queue_init: everything in @arena, whose memory sufficed or not the caller asks. */
void pipesim_queue_init(PipesimQueue *queue, const PipesimInstance *instance,
	const PipesimRuntime *runtime, PipesimArena *arena);

/** pipesim_queue_forget: the order taken last: the next is run from its beginning. */
void pipesim_queue_forget(PipesimQueue *queue);

/** pipesim_queue_run: the makespan of @codes, which fit and are tidy, ns; G_MAXINT64 where it does not end, or, maybe, is
 * longer than @most.
 * @place, @end: of @rank: the first that differs from the order taken last, and behind the last */
gint64 pipesim_queue_run(PipesimQueue *queue, const guint8 *codes, guint rank, guint place,
	guint end, gint64 most);

/** pipesim_queue_take, pipesim_queue_leave: what to do with the order that was run last; one of them comes before the
 * next run. */
void pipesim_queue_take(PipesimQueue *queue);
void pipesim_queue_leave(PipesimQueue *queue);

/** pipesim_queue_critical: places, rank * per_rank + i, of one chain of ops that makes the order taken last as long
 * as it is, from its end; @places has room for all. Returns how many. */
guint pipesim_queue_critical(const PipesimQueue *queue, guint32 *places);
