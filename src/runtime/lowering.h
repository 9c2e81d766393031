/* What a runtime issues: for every rank one list of ops, sends and receives, in the
 * order in which the rank issues them under its rules.
 *
 * The rules that such a list is run by (pipesim_lowering_check() does so without times):
 *
 * - Ops of a rank run one after the other, in the order of its list.
 * - Neighbouring messages with `joined` set form a group with the one before them; any other
 *   message is a group of its own. A rank issues a group when every op before it in the list is
 *   done and the group before it is done: one queue a rank, in order.
 * - A message moves when both of its ends have been issued (rendezvous). A group is done when
 *   all of its messages are.
 * - An op waits for the groups that `wait` and `b_wait` name, and through the queue for every
 *   group before them: those of the messages that it needs, and those with `waited` set.
 *
 * The lists of a runtime where nothing waits (async) are written, but never run. */
#pragma once
#include "model/scenario.h"
#include "order/program.h"
#include "runtime/sharding.h"

typedef enum {
	PIPESIM_ACTION_OP,
	PIPESIM_ACTION_SEND_F, /* a stage's output leaves for the rank of the next stage */
	PIPESIM_ACTION_RECV_F,
	PIPESIM_ACTION_SEND_B, /* a gradient leaves for the rank of the stage before */
	PIPESIM_ACTION_RECV_B,
	PIPESIM_N_ACTIONS,
} PipesimActionKind;

static inline gboolean pipesim_action_is_send(guint kind)
{
	return kind == PIPESIM_ACTION_SEND_F || kind == PIPESIM_ACTION_SEND_B;
}

typedef struct {
	guint32 op; /* itself; of a send the op whose result leaves, of a receive the op that
		       needs it */
	union {
		guint32 peer; /* of a message: the action at its other end, by index */
		guint32 wait; /* of an op: the last message action of its rank that must be done
				 before its start, or before that of the forward half of a pair;
				 PIPESIM_NO_OP: none */
	};
	union {
		guint32 peer_rank; /* of a message: the rank at its other end */
		guint32 b_wait; /* of an op: the same as wait for the backward half of a pair;
				   of others PIPESIM_NO_OP */
	};
	guint8 kind;   /* PipesimActionKind */
	guint8 joined; /* a message that is issued in one group with the action before it */
	guint8 waited; /* a message whose group every op behind it waits for */
} PipesimAction;
G_STATIC_ASSERT(sizeof(PipesimAction) == 16);

/* Rank r issues actions[rank_begin[r]] to actions[rank_begin[r + 1] - 1] in that order. Every
 * op of the program stands there once; every dependency that crosses ranks has one send, behind
 * the op that it comes from, and one receive, before the op that needs it. */
typedef struct {
	const PipesimRuntime *runtime; /* whose rules; never native */
	gboolean from_file;            /* messages as a file lists them, not derived */
	const PipesimProgram *program; /* the caller's; must outlive the lowering */
	guint32 n_actions;
	PipesimAction *actions;
	guint32 *rank_begin; /* ranks + 1 */
	/* PipesimSharding, rank by rank, each before an action: as the file says, or of
	 * the runtime queue; NULL: none. */
	GArray *shardings;
} PipesimLowering;

void pipesim_lowering_free(PipesimLowering *lowering);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimLowering, pipesim_lowering_free)

/**
 * pipesim_lowering_check: whether @lowering runs to its end, whatever its times.
 * @locate: (nullable): told an op, or an action where the lowering is from a file
 *
 * Returns: FALSE with PIPESIM_ERROR_DEADLOCK: the message goes once round the cycle, action by
 * action. With @locate every action stands on a line of its own behind its place, and so does
 * the swap of two neighbours on one rank that repairs it, where there is one.
 */
gboolean pipesim_lowering_check(
	const PipesimLowering *lowering, PipesimLocate locate, gpointer data, GError **error);

/** pipesim_action_print: appends "0F7", "1SEND_F7", "0RECV_B3"; @action stands on @rank. */
void pipesim_action_print(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action, GString *out);

/** pipesim_lowering_print: appends all of @lowering in the form of a schedule file, a line a
 * rank; a group of several messages, or one that ops wait for, as "(0SEND_F1;0RECV_B0)GROUP".
 * Shardings stand where they are. */
void pipesim_lowering_print(const PipesimLowering *lowering, GString *out);

/* A dependency that crosses ranks: what op @from of @from_rank sends to op @to of @to_rank. */
typedef struct {
	guint32 from, to;
	guint from_rank, to_rank;
	guint backward; /* 1 of a gradient, 0 of an activation */
} PipesimMessage;

/** pipesim_messages: what @op of @rank sends, or else receives, forward before backward. Returns how
 * many: 0 to 2. */
guint pipesim_messages(const PipesimProgram *program, guint rank, guint32 op, gboolean send,
	PipesimMessage messages[2]);
