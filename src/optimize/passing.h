/* Orders out of a way in which micro-batches pass each other, as the bound has found it. */
#pragma once
#include "optimize/bound.h"

/** pipesim_pass: forwards and backwards of each rank in the order of bound->first, and weight gradients where the
 * rank would wait, or where the next forward must wait for them.
 * @codes: (out): per_rank of each rank
 *
 * Returns: FALSE where the bound knows of no such way, or ops wait for each other in a circle. */
gboolean pipesim_pass(
	const PipesimInstance *instance, const PipesimBound *bound, guint8 *codes);
