/* What loops without pause show that single ops do not: a capture of two GPUs that work as ranks of a pipeline do, and what
 * a step takes at its begin and its end. */
#pragma once
#include "measure/trace.h"

/* What was found, for reports; what simulations need of it is in the costs. */
typedef struct {
	guint exchange_ops, beside_ops, rested_ops,
		step_ops;   /* rows that say so; 0 = not measured */
	gint64 beside_left; /* what the ops of the loop that tell the load are off it, ppm */
	gint64 slowdown[PIPESIM_N_KINDS]; /* beside a receive, at the same clock, ppm */
} PipesimLoops;

/** pipesim_loops_calibrate: from @traces, with @costs as the other series made them:
 * - exchange: B, I and W of blocks that exchange messages beside each F, against the same of
 *   blocks that do not: what messages cost chips at their power limit, in the power of @costs.
 * - resident, of load mode steady: ops of one loop beside a waiting receive and alone, in
 *   turns. The chip draws less beside it, so that it is faster than in a loop without: the load
 *   that tells the ops alone best, least squares over whole percents; then what ops beside it
 *   take longer at the same clock. Into power and contention. Rows of load mode rested are
 *   short bursts after pauses, at full clock beside the receive and alone: their ratio is what
 *   ops take longer, and then all ops of the loop tell the load.
 * - step: the first backward of each stage against a later one, what scales gradients, and the
 *   begin. Into step of @costs, where there are as many stages as times.
 * What is missing is left as it is; @notices say what cannot be. */
void pipesim_loops_calibrate(PipesimTrace *const *traces, guint n, PipesimCosts *costs,
	GPtrArray *notices, PipesimLoops *loops);
