/* Lower bounds of a step over all layouts by how many layers groups of stages hold. Whole layers do not divide evenly over
 * ranks, and no mean of cuts knows that: what a rank may hold at most, where no cut is to reach a limit, is found from each
 * cut by itself, given what others may hold, until nothing changes. Where ranks together may hold less than all layers, or
 * one must hold more than it may, no layout is below the limit. Which layers they are, and on which of its stages, is
 * left open. */
#pragma once
#include "base/base.h"

typedef struct _PipesimLayoutCounts PipesimLayoutCounts;

/** pipesim_layout_counts_new: of layouts of @items items over @stages stages, none of them empty; stages <= items.
 * @like: of each item, whether it is one of the many that are alike: those are counted, others go where they cost least
 * @group: of each stage, below @groups, none of them empty: stages whose layers are counted together */
PipesimLayoutCounts *pipesim_layout_counts_new(
	guint stages, guint items, const guint8 *like, const guint *group, guint groups);
PIPESIM_FREED(PipesimLayoutCounts, pipesim_layout_counts_free)

/** pipesim_layout_counts_add: a cut: @fixed and @cost[stage * items + item] for each item in its stage, the same for all that
 * are alike. @most: INFINITY: ns; else what no layout may be above, all in whatever unit: a cap. */
void pipesim_layout_counts_add(
	PipesimLayoutCounts *counts, double most, double fixed, const double *cost);

/** pipesim_layout_counts_leaves: whether a layout may be left that all cuts say to be below @limit, ns,
 * and no cap to be above it. */
gboolean pipesim_layout_counts_leaves(PipesimLayoutCounts *counts, double limit);

/** pipesim_layout_counts_bound: what no layout within all caps is below, ns, between @low, below which none is, and @high. */
double pipesim_layout_counts_bound(PipesimLayoutCounts *counts, double low, double high);

/** pipesim_layout_counts_most: after pipesim_layout_counts_leaves() was TRUE, how many items @stage may hold at most. */
guint pipesim_layout_counts_most(const PipesimLayoutCounts *counts, guint stage);

/** pipesim_layout_counts_number: then how many ways there are to give each stage a number of the items that are alike. */
double pipesim_layout_counts_number(const PipesimLayoutCounts *counts);
