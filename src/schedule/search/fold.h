/* Units of one micro-batch in a V, with proof. Ranks are put together from the fold outwards: the last rank, which
 * has two stages that follow each other, first. What a rank runs in a period is one of the orders of its six ops in
 * a circle, and how many periods apart these are of one micro-batch. Of all the ranks behind it a rank needs to know
 * four times alone: how much later than its F of the way down and its I of the way back up to the fold those of the
 * other way can be at the earliest, since messages come from further in to these and go from those to further in.
 * Of two ways to put ranks together one that has none of these later, and leaves as much room, is as good: so all
 * ways there are can be looked at, rank by rank, for a period that is given. */
#pragma once
#include "order/instance.h"

typedef struct _PipesimFold PipesimFold;

/** pipesim_fold_new: for pipesim_fold_free(). NULL where the placement is not a V. */
PipesimFold *pipesim_fold_new(const PipesimInstance *instance);
void pipesim_fold_free(PipesimFold *fold);

/** pipesim_fold_find: units of @period ns, of which there is none that fits where none is found.
 * @visits: (inout): more by ops looked at
 * Returns: how many are kept, the one that leaves most room first. */
guint pipesim_fold_find(PipesimFold *fold, gint64 period, guint64 *visits);

/** pipesim_fold_is_complete: whether all ways were looked at the last time. */
gboolean pipesim_fold_is_complete(const PipesimFold *fold);

/** pipesim_fold_unroll: the unit @i of those kept, repeated.
 * @instance: that of the fold, with any number of micro-batches
 * @codes: (out): per_rank of each rank of @instance */
void pipesim_fold_unroll(
	const PipesimFold *fold, guint i, const PipesimInstance *instance, guint8 *codes);

/* How long to look for a step, and what takes those that are found. */
typedef struct {
	guint64 most_visits;              /* of ops, of about 10 ns each; 0: any number */
	gboolean (*go_on)(gpointer data); /* NULL: always */
	void (*look)(gpointer data, const guint8 *codes);
	gpointer data;
} PipesimFoldLook;

/** pipesim_fold_search: looks at the steps of units whose period is the shortest, or near it, all that fit.
 * @codes: per_rank of each rank, which @how looks at
 * Returns: how many were looked at. */
guint64 pipesim_fold_search(PipesimFold *fold, guint8 *codes, const PipesimFoldLook *how);
