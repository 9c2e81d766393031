/* Steps without a barrier: how far apart they come where each rank begins the next one as soon as it can.
 *
 * A rank begins step k + 1 when it is done with step k and with the optimizer, which it runs before the
 * ranks know of all gradients (post-validation; Qi et al., Zero Bubble Pipeline Parallelism,
 * arXiv:2401.10241, section 4). What decides - the norm, whether a number is not finite - goes from rank to
 * rank: each waits for the partial result of the one before it, adds its own and sends it on, then runs its
 * optimizer by that. The whole result comes back from the last rank while the next step warms up.
 *
 * So the starts of a step are sums and largest values of those of the step before it: x' = A x in max-plus
 * algebra, where A[r][q] is the longest path from the start of rank q to that of the next step on rank r.
 * Steps come, in the long run, its eigenvalue apart, the largest mean of a cycle (Karp, A characterization of
 * the minimum cycle mean in a digraph, 1978): exact, whatever they began from. */
#pragma once
#include "engine/step.h"

typedef struct {
	PipesimFraction exact; /* ns */
	gint64 time;           /* the same, rounded up */
	gint64 check;          /* of it what the messages of the check cost, ns */
	/* What one failed check costs, ns: all ranks undo the optimizer, drop what they have run of the next
	 * step and run both again, from when they know: how much later that step ends. */
	gint64 rollback;
} PipesimPeriod;

/** pipesim_period_find: of steps like @step, which ran over no links, one after the other. Ops
 * take what they take in @step, where that hangs on when they run.
 * @between: by rank, ns of the optimizer
 * @whole: with what the check costs, else 0
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where there are too many ops or ranks to follow,
 * or as pipesim_step_run(). */
gboolean pipesim_period_find(const PipesimStep *step, const gint64 *between, gboolean whole,
	PipesimPeriod *period, GError **error);
