/* Steps whose ops depend on what their rank did before, on receives that wait, and on hosts that launch them,
 * by the plainest way: one nanosecond after the other, the means of chips in floating point. */
#pragma once
#include "model/costs.h"
#include "runtime/runtime.h"

typedef struct {
	guint n_ops; /* the halves of a pair that is run one after the other count as two */
	gint64 *start, *end;
	gint64 makespan;
	gint64 beside; /* ns of ops that ran while a receive waited on their rank, of all ranks */
	gboolean stuck; /* nothing moves any more: a deadlock */
} PowerOracle;

/**
 * power_oracle_new: @lowering at @times, each message of P2P, in one queue a rank, or one for each other
 * rank where @pairs.
 * @host_time: of a host that waits for groups: from the end of one until it goes on; -1: hosts wait for nothing
 * @mean: (inout): by rank and time constant: x of the chips at the begin, then at the end
 */
PowerOracle *power_oracle_new(const PipesimLowering *lowering, const PipesimTimes *times,
	gboolean pairs, gint64 host_time, double (*mean)[PIPESIM_POWER_CONSTANTS]);
void power_oracle_free(PowerOracle *oracle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PowerOracle, power_oracle_free)
