/* Where two orders of the same work part, and what that costs. */
#pragma once
#include "analysis/run.h"

/* What is known of one rank. */
typedef struct {
	gboolean same; /* the rank runs the same ops in the same order */
	guint n_same;  /* ops from the first on that are the same */
	/* The first op that differs, by op index; PIPESIM_NO_OP: this one is at its end. */
	guint32 a, b;
	gint64 idle_change; /* bubble in B less bubble in A, ns */
	/* Makespan less that of A where this rank alone runs as in B, all others as in A, ns.
	 */
	gboolean has_alone; /* FALSE: the rank has other stages in B, or that cannot run */
	gint64 alone;
} PipesimRankDifference;

typedef struct {
	guint ranks;
	gboolean same; /* all ranks are */
	guint first;   /* the rank whose first difference comes first, by time in A */
	gint64 change; /* makespan of B less that of A, ns */
	PipesimRankDifference *rank;
} PipesimDifference;

/**
 * pipesim_difference_new: compares @a and @b, which both have results.
 *
 * Returns: (transfer full): for pipesim_difference_free(); NULL with PIPESIM_ERROR_CONSTRAINT
 * where ranks or micro-batches are not the same, or PIPESIM_ERROR_LIMIT.
 */
PipesimDifference *pipesim_difference_new(
	const PipesimRun *a, const PipesimRun *b, GError **error);
void pipesim_difference_free(PipesimDifference *difference);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimDifference, pipesim_difference_free)
