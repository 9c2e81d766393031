/* What a schedule takes in the long run: the slope of its makespan over micro-batches, exact.
 */
#pragma once
#include "analysis/run.h"

typedef struct {
	guint ranks;
	/* FALSE: no period was proven; three steps, of @microbatches, twice and three times as
	 * many, grow by the same @time. Then @transient is 0 and @period is @microbatches. */
	gboolean proven;
	char *layers; /* pipesim_split_describe(), or NULL */
	/* Beyond the transient a step that is @period micro-batches longer takes @time longer:
	 * the cycle mean of the schedule's max-plus matrix is time / period. */
	guint64 transient;          /* micro-batches, at most */
	guint64 period;             /* micro-batches */
	gint64 time;                /* ns of one period */
	PipesimFraction microbatch; /* time / period, ns, in lowest terms */
	gint64 step; /* makespan of M micro-batches, ns; without a barrier their period (engine/period.h) */
	/* That minus M * time / period, of the M that was simulated:
	 * filling and draining the pipeline; ns, exact as the time is. */
	PipesimFraction fixed;
	guint64 microbatches; /* that M */
	/* Share of its time that each rank is idle in the long run, and that all ranks are. */
	PipesimFraction *idle; /* by rank */
	PipesimFraction ratio;
} PipesimSteadyState;

/** pipesim_steady_state_new: of @schedule in @scenario, by data dependencies and P2P or links,
 * and the rules of its runtime.
 * @scenario: microbatches 0 = a number that the schedule takes and that is long enough; where
 *   nothing can be proven, over links or where an order names its micro-batches one by one,
 *   growth is then measured
 * Returns: (transfer full): for pipesim_steady_state_free(). NULL with
 *   PIPESIM_ERROR_CONSTRAINT where the schedule refuses the shape, nothing repeats within
 *   the micro-batches that were given, or growth is not constant; PIPESIM_ERROR_LIMIT.
 *   Messages begin "NAME: ". */
PipesimSteadyState *pipesim_steady_state_new(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);
PIPESIM_FREED(PipesimSteadyState, pipesim_steady_state_free)
