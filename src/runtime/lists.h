/* What runtimes fill their lists with, and what derived and written lists share. Private to the
 * room. */
#pragma once
#include "runtime/lowering.h"

/* What one rank issues, while it is made. */
typedef struct {
	/* Op or stage, kind, joined and waited are set; of messages also the rank of the other end and, in `peer`, the op
	 * there. */
	PipesimAction *actions;
	guint32 n, room;
} PipesimList;

/* A lowering while it is made. */
typedef struct _PipesimLowerer {
	const PipesimProgram *program;
	const PipesimRuntime *runtime;
	const PipesimIssuing *issuing;
	gboolean waited; /* of every message (PipesimAction) */
	PipesimLowering
		*lowering; /* all lists, with links, as far as they go; NULL: none yet */
	/* By 2 * the op whose result leaves, or that needs it, + 1 of a gradient: 1 + the action that sends it, or
	 * receives it; 0: none yet. */
	guint32 *sends, *receives;
	guint32 room;        /* actions that the lowering has room for */
	PipesimArena *arena; /* of what is here */
	PipesimList *lists;  /* by rank: what goes there behind passes over all of them */
	gboolean no_memory;  /* something did not fit */
} PipesimLowerer;

/** pipesim_lower_grow: room for more in @list, a new one for @lowerer, which remembers where memory does not
 * suffice: FALSE. */
gboolean pipesim_lower_grow(PipesimLowerer *lowerer, PipesimList *list);

/** pipesim_lower_take: @action goes to the end of @list. */
static inline void pipesim_lower_take(
	PipesimLowerer *lowerer, PipesimList *list, const PipesimAction *action)
{
	if (list->n < list->room || pipesim_lower_grow(lowerer, list))
		list->actions[list->n++] = *action;
}

/** pipesim_lower_begin: a lowering with room for @most actions; 0: for all ops and messages, and a wait for each
 * end of these. FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_lower_begin(PipesimLowerer *lowerer, guint64 most, GError **error);

/** pipesim_lower_put: @action, as a PipesimList has it, goes to the end of the list of @rank, and is linked with what
 * stands there. Ranks come in order; a receive stands before what waits for it, a send too. */
static inline void pipesim_lower_put(PipesimLowerer *lowerer, guint rank, PipesimAction action)
{
	PipesimLowering *lowering = lowerer->lowering;
	const guint32 index = lowering->n_actions;
	const gboolean gradient = pipesim_action_is_backward(action.kind);
	const guint32 *own = &lowerer->receives[2 * (gsize)action.op];

	if (index == lowerer->room) {
		lowerer->no_memory = TRUE;
		return;
	}
	if (pipesim_action_is_message(action.kind)) {
		const gboolean send = pipesim_action_is_send(action.kind);
		guint32 *ends = send ? lowerer->sends : lowerer->receives;
		const guint32 *others = send ? lowerer->receives : lowerer->sends;

		ends[2 * (gsize)action.op + gradient] = index + 1;
		action.peer = others[2 * (gsize)action.peer + gradient] - 1;
		if (action.peer != PIPESIM_NO_OP)
			lowering->actions[action.peer].peer = index;
	} else if (action.kind == PIPESIM_ACTION_OP) {
		const gboolean pair = lowerer->program->ops[action.op].kind == PIPESIM_FB;

		/* None is PIPESIM_NO_OP. */
		action.wait = own[pair || own[0] > 0 ? 0 : 1] - 1;
		action.b_wait = pair ? own[1] - 1 : PIPESIM_NO_OP;
	} else if (pipesim_action_is_wait(action.kind)) {
		if (pipesim_action_is_send(action.kind - PIPESIM_ACTION_TO_WAIT))
			own = &lowerer->sends[2 * (gsize)action.op];
		action.peer = own[gradient] - 1;
	}
	lowering->actions[index] = action;
	lowering->n_actions = lowering->rank_begin[rank + 1] = index + 1;
}

/** pipesim_lower_action: one of @kind about @op, or about a whole stage, the same way. */
static inline void pipesim_lower_action(
	PipesimLowerer *lowerer, guint rank, guint kind, guint32 op)
{
	pipesim_lower_put(lowerer, rank, (PipesimAction){.op = op, .kind = (guint8)kind});
}

/** pipesim_lower_op: @op the same way. */
static inline void pipesim_lower_op(PipesimLowerer *lowerer, guint rank, guint32 op)
{
	pipesim_lower_action(lowerer, rank, PIPESIM_ACTION_OP, op);
}

/** pipesim_lower_end: one end of @message, its @send or its receive, the same way, in one group with what stands
 * there if @joined. */
static inline void pipesim_lower_end(
	PipesimLowerer *lowerer, const PipesimMessage *message, gboolean send, gboolean joined)
{
	pipesim_lower_put(lowerer, send ? message->from_rank : message->to_rank,
		(PipesimAction){
			.op = send ? message->from : message->to,
			.peer = send ? message->to : message->from,
			.peer_rank = send ? message->to_rank : message->from_rank,
			.kind = (guint8)((send ? PIPESIM_ACTION_SEND_F
					       : PIPESIM_ACTION_RECV_F) +
					 (message->backward ? 2 : 0)),
			.joined = (guint8)joined,
			.waited = (guint8)lowerer->waited,
		});
}

/** pipesim_lowering_new: an empty lowering of @n_actions, its rank_begin not filled in. NULL
 * with PIPESIM_ERROR_LIMIT. */
PipesimLowering *pipesim_lowering_new(const PipesimProgram *program,
	const PipesimRuntime *runtime, guint64 n_actions, GError **error);
