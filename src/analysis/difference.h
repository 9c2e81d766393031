/* Where two orders of the same work, and their messages, part, and what that costs. */
#pragma once
#include "analysis/run.h"

/* Where the list of a rank is when it first differs from the other's. */
typedef struct {
	/* The op that differs, by index of step->whole, or the message, by index of its list;
	 * PIPESIM_NO_OP: it is the other. Both are where this list is at its end. */
	guint32 op, message;
	gint64 at; /* start of the op; of a message when the ops before it are done; ns */
} PipesimDifferencePlace;

/* What is known of one rank. */
typedef struct {
	gboolean same; /* the rank runs the same ops in the same order, and the same messages
			  between them where they are compared */
	guint n_same;  /* ops from the first on that are the same */
	PipesimDifferencePlace a, b;
	gint64 idle_change; /* bubble in B minus bubble in A, ns */
	/* Makespan minus that of A where this rank alone runs as in B, all others as in A, ns.
	 */
	gboolean has_alone; /* FALSE: the rank has other stages in B, that deadlocks, a file
			       lists the messages, or it would take too long */
	gint64 alone;
} PipesimRankDifference;

typedef struct {
	guint ranks;
	/* What each issues, as its file lists it or as the rules say; NULL: ops alone. Messages
	 * are compared where both are there. */
	const PipesimLowering *list_a, *list_b;
	gboolean same; /* all ranks are */
	guint first;   /* the rank whose first difference comes first, by time in A */
	gint64 change; /* makespan of B minus that of A, ns */
	PipesimRankDifference *rank;
} PipesimDifference;

/** pipesim_difference_same_ops: of two with as many ranks, which have ops, how many stand in
 * both in the same order, of each rank from its first on. */
guint32 pipesim_difference_same_ops(const PipesimRun *a, const PipesimRun *b);

/** pipesim_difference_new: compares @a and @b, which both have results.
 * Returns: (transfer full): for pipesim_difference_free(); NULL with
 * PIPESIM_ERROR_CONSTRAINT where ranks or micro-batches are not the same, or
 * PIPESIM_ERROR_LIMIT. */
PipesimDifference *pipesim_difference_new(
	const PipesimRun *a, const PipesimRun *b, GError **error);
PIPESIM_FREED(PipesimDifference, pipesim_difference_free)
