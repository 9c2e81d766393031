/* Orders with loops, simulated in memory that does not grow with micro-batches: ranks pass each
 * other times, no op is kept. */
#pragma once
#include "engine/step.h"

/** pipesim_stream_takes: whether @order can be streamed: it counts its micro-batches, backwards
 * all one way. */
gboolean pipesim_stream_takes(const PipesimOrder *order);

/** pipesim_stream_run: figures of the ranks of @step, whose order can be streamed, and what
 * repeats: the same times as pipesim_fast_run() of the expanded order has. What repeats exactly
 * is simulated once and multiplied.
 * Memory: O(ranks * chunks + verbs of the order + messages on their way). Leaps are exact. A
 * superstep adds the same number of rounds to the longest loop of every rank. It maps times to
 * times by sums and largest values only. Where a state is an earlier one with a constant added
 * to all times of a rank, the superstep is run once more with growth rates beside times: rates
 * that reproduce themselves, and no largest value of which a smaller one grows faster, prove
 * that everything goes on so; and a smaller one that grows faster says until when.
 * Returns: FALSE with PIPESIM_ERROR_INCOMPLETE, PIPESIM_ERROR_DEADLOCK, or
 *   PIPESIM_ERROR_LIMIT where memory does not suffice or times could pass 2^62 ns: checked
 *   before the run. */
gboolean pipesim_stream_run(PipesimStep *step, GError **error);
