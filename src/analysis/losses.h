/* What waiting for links and slowdown cost a run. */
#pragma once
#include "analysis/run.h"

/**
 * pipesim_run_losses: simulates @run, whose timeline is over a network, again without slowdown
 * and without waiting for links, and notes the differences in its traffic.
 * @lowering: that it was run by; NULL for PIPESIM_COMM_ASYNC
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT.
 */
gboolean pipesim_run_losses(PipesimRun *run, const PipesimLowering *lowering, GError **error);
