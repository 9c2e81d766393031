/* What a runtime issues: for every rank one list of ops, sends, receives and what belongs to
 * them, in the order in which the rank issues them under its rules.
 * The rules that such a list is run by (pipesim_lowering_check() does so without times):
 * - What a rank computes runs one after the other, in the order of its list: its ops, and what
 * makes them wait, which takes no time: the WAITs, and the end of a group with `waited` set.
 * These are the stops of the list.
 * - Neighbouring messages with `joined` set form a group with the one before them; any other
 * message is a group of its own. Every message of a rank belongs to one of its communicators
 * (PipesimCommunicators), each a queue. Messages of a group that share a communicator are
 * issued together, when every stop before them in the list is done and so is what comes before
 * them in the communicator.
 * - A message moves when both of its ends have been issued (rendezvous). What was issued
 * together is done when all of it has moved.
 * - Where it is asked for (PipesimIssuing.delay_wgrad) the last part of an overlapped pair runs
 * behind its sends: what stands behind the pair and before the next stop is issued before that
 * part, the next stop waits for it.
 * - An op waits for the messages that `wait` and `b_wait` name; a WAIT for its message; the end
 * of a waited group for all of that group.
 * What is done to whole stages takes no time unless costs say so; engine/shards.h has the rules
 * then.
 * The lists of a runtime where nothing waits (async) are written, but never run. */
#pragma once
#include "order/program.h"

typedef enum {
	PIPESIM_ACTION_OP,
	PIPESIM_ACTION_SEND_F, /* a stage's output leaves for the rank of the next stage */
	PIPESIM_ACTION_RECV_F,
	PIPESIM_ACTION_SEND_B, /* a gradient leaves for the rank of the stage before */
	PIPESIM_ACTION_RECV_B,
	/* What comes behind in the list waits for the message of the same rank. PyTorch has
	 * those for sends, since 2.15. */
	PIPESIM_ACTION_WAIT_SEND_F,
	PIPESIM_ACTION_WAIT_RECV_F,
	PIPESIM_ACTION_WAIT_SEND_B,
	PIPESIM_ACTION_WAIT_RECV_B,
	/* What PyTorch does to the parameters and gradients of a stage that several
	 * data-parallel ranks share (FSDP). */
	PIPESIM_ACTION_UNSHARD,     /* gather the parameters */
	PIPESIM_ACTION_RESHARD,     /* let go of them */
	PIPESIM_ACTION_REDUCE_GRAD, /* reduce and scale the gradients, once a step */
	PIPESIM_ACTION_WAIT_REDUCE_GRAD,
	PIPESIM_N_ACTIONS,
} PipesimActionKind;

/* A wait is its message plus this. */
#define PIPESIM_ACTION_TO_WAIT (PIPESIM_ACTION_WAIT_SEND_F - PIPESIM_ACTION_SEND_F)

static inline gboolean pipesim_action_is_message(guint kind)
{
	return kind - PIPESIM_ACTION_SEND_F <= PIPESIM_ACTION_RECV_B - PIPESIM_ACTION_SEND_F;
}

static inline gboolean pipesim_action_is_send(guint kind)
{
	return kind == PIPESIM_ACTION_SEND_F || kind == PIPESIM_ACTION_SEND_B;
}

static inline gboolean pipesim_action_is_wait(guint kind)
{
	return kind - PIPESIM_ACTION_WAIT_SEND_F <=
	       PIPESIM_ACTION_WAIT_RECV_B - PIPESIM_ACTION_WAIT_SEND_F;
}

/* Whether it is about a whole stage. */
static inline gboolean pipesim_action_is_sharding(guint kind)
{
	return kind >= PIPESIM_ACTION_UNSHARD;
}

/* Whether what a message or a wait is about is a gradient. */
static inline gboolean pipesim_action_is_backward(guint kind)
{
	return ((kind - PIPESIM_ACTION_SEND_F) & 2) != 0;
}

typedef struct {
	union {
		guint32 op; /* itself; of a send, or the wait for it, the op whose result leaves; of
			       a receive, or the wait for it, the op that needs it */
		guint32 stage; /* of what is about a whole one */
	};
	union {
		guint32 peer; /* of a message: the action at its other end, by index; of a wait: its
				 message */
		guint32 wait; /* of an op: the receive that must be done before its start, or
				 before that of the forward half of a pair; PIPESIM_NO_OP: none */
	};
	union {
		guint32 peer_rank; /* of a message: the rank at its other end */
		guint32 b_wait; /* of an op: the same as wait for the backward half of a pair;
				   of others PIPESIM_NO_OP */
	};
	guint8 kind;   /* PipesimActionKind */
	guint8 joined; /* a message that is issued in one group with the action before it */
	guint8 waited; /* a message whose group everything behind it waits for */
} PipesimAction;
G_STATIC_ASSERT(sizeof(PipesimAction) == 16);

/* Rank r issues actions[rank_begin[r]] to actions[rank_begin[r + 1] - 1] in that order. Every
 * op of the program stands there once; every dependency that crosses ranks has one send, behind
 * the op that it comes from, and one receive, before the op that needs it. */
typedef struct {
	const PipesimRuntime *runtime; /* whose rules; never native */
	PipesimIssuing issuing;        /* what was asked of it */
	gboolean from_file;            /* messages as a file lists them, not derived */
	const PipesimProgram *program; /* the caller's; must outlive the lowering */
	guint32 n_actions;
	PipesimAction *actions;
	guint32 *rank_begin; /* ranks + 1 */
	gint holders;        /* besides the first */
} PipesimLowering;

/** pipesim_lower_count: adds to @n[rank + 1] how many messages @rank sends and receives. */
void pipesim_lower_count(const PipesimProgram *program, guint64 *n);

/** pipesim_lowering_ref: @lowering, for one pipesim_lowering_free() more. From any thread. */
PipesimLowering *pipesim_lowering_ref(PipesimLowering *lowering);
PIPESIM_FREED(PipesimLowering, pipesim_lowering_free)

/** pipesim_lowering_check: whether @lowering runs to its end over @communicators, whatever its
 * times, and whether the right messages meet.
 * @locate: (nullable): told an op, or an action where the lowering is from a file
 * Messages between two ranks are matched by their order, not by name: where the sends of the
 * one and the receives of the other name them in different orders, each of these receives takes
 * what is meant for another, without an error.
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE where that is so: up to 20 receives that take
 * the wrong message, each on a line of its own behind its place; with PIPESIM_ERROR_DEADLOCK
 * where it does not run to its end: the message goes once round the cycle, action by action.
 * With @locate every action stands on a line of its own behind its place, and so does the
 * swap of two neighbours on one rank that repairs it, where there is one. */
gboolean pipesim_lowering_check(const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimLocate locate, gpointer data,
	GError **error);

/** pipesim_lowering_stops: FALSE with the PIPESIM_ERROR_DEADLOCK of @lowering, a run of which has come to a stop
 * before its end. */
gboolean pipesim_lowering_stops(
	const PipesimLowering *lowering, PipesimCommunicators communicators, GError **error);

/** pipesim_action_print: appends "0F7", "1SEND_F7", "0RECV_B3"; @action stands on @rank. */
void pipesim_action_print(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action, GString *out);

/** pipesim_lowering_print: appends all of @lowering in the form of a schedule file, a line a
 * rank; a group of several messages, or one that is waited for, as
 * "(0SEND_F1;0RECV_B0)GROUP". */
void pipesim_lowering_print(const PipesimLowering *lowering, GString *out);

/* A dependency that crosses ranks: what op @from of @from_rank sends to op @to of @to_rank. */
typedef struct {
	guint32 from, to;
	guint from_rank, to_rank;
	guint backward; /* 1 of a gradient, 0 of an activation */
} PipesimMessage;

/* The op that @op of @rank sends to, or else receives from; PIPESIM_NO_OP: there is none. It may be of @rank. */
static inline guint32 pipesim_message_end(
	const PipesimProgram *program, guint rank, guint32 op, gboolean send, gboolean backward)
{
	const PipesimOp *own = &program->ops[op];
	const gsize m = program->shape.microbatches;
	gsize slot;

	if (!(backward ? pipesim_op_has_backward(own) : pipesim_op_has_forward(own)))
		return PIPESIM_NO_OP;
	slot = backward ? pipesim_op_backward_slot(program, rank, own)
			: pipesim_op_forward_slot(program, rank, own);
	/* What lies before the first slot is above the last one, as it has no sign. */
	slot = send != backward ? slot + m : slot - m;
	return slot >= program->shape.stages * m ? PIPESIM_NO_OP
	       : backward                        ? program->backward[slot]
						 : program->forward[slot];
}

/** pipesim_messages: what @op of @rank sends, or else receives, forward before backward.
 * Returns how many: 0 to 2. */
guint pipesim_messages(const PipesimProgram *program, guint rank, guint32 op, gboolean send,
	PipesimMessage messages[2]);

/** pipesim_message_of: what @action of @rank, a message or a wait, is about; there is one. */
PipesimMessage pipesim_message_of(
	const PipesimProgram *program, guint rank, const PipesimAction *action);
