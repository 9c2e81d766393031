/* The plainest simulator of a runtime's rules: all that ends leaves one queue in one order of time, and
 * lets its rank issue and run more. What pipesim_comm_run() is compared with. */
#pragma once
#include "engine/timeline.h"
#include "model/power.h"
#include "runtime/runtime.h"

/** reference_comm_run: as pipesim_comm_run(). */
PipesimTimeline *reference_comm_run(const PipesimLowering *lowering,
	const PipesimIssuing *issuing, const PipesimTimes *times, const PipesimNetwork *network,
	guint flags, PipesimPowerState *states, GError **error);

/** assert_equals_reference_comm: @program under @runtime, at costs, communicators and whatever else @seed asks for:
 * every time, cause and message of both are the same. Returns whether it runs to its end. */
gboolean assert_equals_reference_comm(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed);
