/* Lower bounds of a step over all layouts. A path through the ops of an order, with messages, is no longer than the
 * step, whatever the layout; what it takes is a sum over stages and the items that they hold. So each path is a cut:
 * a linear function of the layout that no step is below, and so is every mean of cuts, whose smallest value is found
 * stage by stage. The best mean is looked for by multiplicative weights (Lagrange multipliers of the cuts). */
#pragma once
#include "base/base.h"

/* Cuts that are kept. */
#define PIPESIM_LAYOUT_CUTS 96

typedef struct _PipesimLayoutCuts PipesimLayoutCuts;

/** pipesim_layout_cuts_new: of layouts of @items items over @stages stages, none of them empty; stages <= items. */
PipesimLayoutCuts *pipesim_layout_cuts_new(guint stages, guint items);
PIPESIM_FREED(PipesimLayoutCuts, pipesim_layout_cuts_free)

/** pipesim_layout_cuts_add: @fixed ns and @cost[stage * items + item] for each item in its stage. Of more cuts than are
 * kept that goes which has the smallest share in the mean. */
void pipesim_layout_cuts_add(PipesimLayoutCuts *cuts, double fixed, const double *cost);

/** pipesim_layout_cuts_value: the largest of the cuts at the layout whose stages end before items @ends; ns, 0 without
 * cuts. */
double pipesim_layout_cuts_value(const PipesimLayoutCuts *cuts, const guint *ends);

/** pipesim_layout_cuts_bound: what no layout that is left is below, ns, in @rounds steps towards the best mean; it goes on
 * where the last call ended. @ends: (out caller-allocates): a layout that is smallest of the mean. */
double pipesim_layout_cuts_bound(PipesimLayoutCuts *cuts, guint rounds, guint *ends);

/** pipesim_layout_cuts_narrow: leaves out layouts of which a cut or the best mean says that none is below @limit, by
 * where a stage begins and ends. FALSE where none is left: none is below @limit. */
gboolean pipesim_layout_cuts_narrow(PipesimLayoutCuts *cuts, double limit);

/** pipesim_layout_cuts_limit: leaves out layouts in which @stage has more than @most items. */
void pipesim_layout_cuts_limit(PipesimLayoutCuts *cuts, guint stage, guint most);

/** pipesim_layout_cuts_ends: where @stage may end that begins at item @begin, of the layouts that are left: from *@first to
 * *@last, none where that is smaller. */
void pipesim_layout_cuts_ends(
	const PipesimLayoutCuts *cuts, guint stage, guint begin, guint *first, guint *last);

/** pipesim_layout_cuts_start: into @sums, PIPESIM_LAYOUT_CUTS + 1 of them, what cuts and their best mean are without an
 * item; pipesim_layout_cuts_take: into @next, what @sums are with items @begin to @end - 1 in @stage;
 * pipesim_layout_cuts_rest: ns that no layout that is left is below whose stages before @stage have made @sums what they
 * are, where that stage begins at item @begin; @stage may be behind the last. */
void pipesim_layout_cuts_start(PipesimLayoutCuts *cuts, double *sums);
double pipesim_layout_cuts_rest(
	PipesimLayoutCuts *cuts, const double *sums, guint stage, guint begin);
void pipesim_layout_cuts_take(PipesimLayoutCuts *cuts, const double *sums, guint stage,
	guint begin, guint end, double *next);
