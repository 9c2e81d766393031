/* Long steps under a runtime's rules: what repeats is run a few times and multiplied. */
#pragma once
#include "engine/ruled.h"

/** pipesim_ruled_leap: figures of @step, whose order has loops, under the rules of its job, with nothing that
 * varies with what runs.
 *
 * The long loops are cut short, by as many micro-batches on every rank, and their lists run. Where then, in
 * neighbouring stretches of all lists, each of one period of each rank, everything is as in the stretch before:
 * what is issued, who meets whom, what waits for what, and every time later by the same, so that no message or
 * wait reaches further back than the stretches that were compared, each further stretch is as much later
 * again: those that were cut away are put back by multiplying.
 * @done: (out): FALSE where that does not pay or nothing repeats so
 *
 * Where a list cut short stops before any rank has come to what was cut away, all of it stops there too.
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where time would pass 2^62 ns, with PIPESIM_ERROR_CONSTRAINT where the
 * runtime does not run such an order, and with PIPESIM_ERROR_DEADLOCK, the same that a run of all has. */
gboolean pipesim_ruled_leap(PipesimStep *step, gboolean *done, GError **error);
