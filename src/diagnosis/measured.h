/* A step as it was measured beside the same simulated, for pictures, traces and pages. */
#pragma once
#include "diagnosis/diagnosis.h"

/** pipesim_measured_comparison: two runs of the executed order, "measured" and "simulated",
 * with the times of each op; both without what is outside the pipeline.
 * Returns: (transfer full): its costs are those of @diagnosis, which must outlive it; NULL
 *   with PIPESIM_ERROR_LIMIT. */
PipesimComparison *pipesim_measured_comparison(
	const PipesimDiagnosis *diagnosis, GError **error);
