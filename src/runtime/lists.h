/* What runtimes fill their lists with, and what derived and written lists share. Private to the
 * room. */
#pragma once
#include "runtime/lowering.h"

/* A lowering while it is made: lists of the right length that fill up. */
typedef struct _PipesimLowerer {
	PipesimLowering *lowering;
	const PipesimProgram *program;
	gboolean waited; /* of every message (PipesimAction) */
	guint32 *next;   /* by rank: where its next action goes */
	/* By 2 * the op that needs a message, + 1 where it is a gradient: the one end that is
	 * there, once both are the receive. */
	guint32 *end_of;
} PipesimLowerer;

/** pipesim_lower_end_of: where @lowerer keeps the end of @message. */
static inline guint32 *pipesim_lower_end_of(
	const PipesimLowerer *lowerer, const PipesimMessage *message)
{
	return &lowerer->end_of[2 * (gsize)message->to + message->backward];
}

/** pipesim_lower_op: @op goes to the end of the list of @rank. */
void pipesim_lower_op(PipesimLowerer *lowerer, guint rank, guint32 op);

/** pipesim_lower_end: one end of @message, its @send or its receive, goes to the end of the list
 * of its rank, in one group with what stands there if @joined. */
void pipesim_lower_end(
	PipesimLowerer *lowerer, const PipesimMessage *message, gboolean send, gboolean joined);

/** pipesim_lower_receives: those of @op, of one group; of what stands there too if @joined. */
void pipesim_lower_receives(PipesimLowerer *lowerer, guint rank, guint32 op, gboolean joined);

/** pipesim_lower_sends: those of @op, one by one or of one group if @joined. Returns how many. */
guint pipesim_lower_sends(PipesimLowerer *lowerer, guint rank, guint32 op, gboolean joined);

/** pipesim_lowering_new: an empty lowering of @n_actions, its rank_begin not filled in. NULL
 * with PIPESIM_ERROR_LIMIT. */
PipesimLowering *pipesim_lowering_new(const PipesimProgram *program,
	const PipesimRuntime *runtime, guint64 n_actions, GError **error);

/** pipesim_lowering_set_waits: fills in what ops wait for; @end_of as above. */
void pipesim_lowering_set_waits(PipesimLowering *lowering, const guint32 *end_of);
