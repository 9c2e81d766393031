/* What runtimes fill their lists with, and what derived and written lists share. Private to the
 * room. */
#pragma once
#include "base/arena.h"
#include "runtime/lowering.h"

/* What one rank issues, while it is made. */
typedef struct {
	/* Op or stage, kind, joined and waited are set; of messages also the rank of the other end, and of sends in
	 * `peer` the op that needs them. */
	PipesimAction *actions;
	guint32 n, room;
} PipesimList;

/* A lowering while it is made. */
typedef struct _PipesimLowerer {
	const PipesimProgram *program;
	const PipesimRuntime *runtime;
	const PipesimIssuing *issuing;
	PipesimLowering *joined; /* in the end: all, with links; NULL: follows from the lists */
	gboolean waited;         /* of every message (PipesimAction) */
	PipesimList *lists;      /* by rank */
	gboolean no_memory;      /* something did not fit */
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

/** pipesim_lower_action: one of @kind about @op, or about a whole stage, goes to the end of the
 * list of @rank. */
void pipesim_lower_action(PipesimLowerer *lowerer, guint rank, guint kind, guint32 op);

/** pipesim_lower_op: @op goes to the end of the list of @rank. */
void pipesim_lower_op(PipesimLowerer *lowerer, guint rank, guint32 op);

/** pipesim_lower_end: one end of @message, its @send or its receive, goes to the end of the
 * list of its rank, in one group with what stands there if @joined. */
void pipesim_lower_end(
	PipesimLowerer *lowerer, const PipesimMessage *message, gboolean send, gboolean joined);

/** pipesim_lowering_new: an empty lowering of @n_actions, its rank_begin not filled in. NULL
 * with PIPESIM_ERROR_LIMIT. */
PipesimLowering *pipesim_lowering_new(const PipesimProgram *program,
	const PipesimRuntime *runtime, guint64 n_actions, GError **error);

/* Which end of which message stands where: by 2 * the op that needs it, + 1 where it is a
 * gradient, the one end that is there, by index; the receive once both are. PIPESIM_NO_OP:
 * none. */
typedef guint32 PipesimEnds;

/** pipesim_ends_new: room for the ends of all messages of @program, from @arena; may be
 * NULL. */
PipesimEnds *pipesim_ends_new(const PipesimProgram *program, PipesimArena *arena);

/** pipesim_end_of: where @ends keeps the end of @message. */
static inline PipesimEnds *pipesim_end_of(PipesimEnds *ends, const PipesimMessage *message)
{
	return &ends[2 * (gsize)message->to + message->backward];
}

/** pipesim_lowering_meet: action @index of @lowering is an end of @message: the second one
 * learns of the first, and the first of it. */
void pipesim_lowering_meet(PipesimLowering *lowering, guint32 index,
	const PipesimMessage *message, PipesimEnds *ends);

/** pipesim_lowering_set_waits: what ops and WAITs wait for, once all messages have met. */
void pipesim_lowering_set_waits(PipesimLowering *lowering, PipesimEnds *ends);
