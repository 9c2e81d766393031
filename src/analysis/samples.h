/* Many steps with durations drawn at random, and what they come to. */
#pragma once
#include "engine/step.h"

enum {
	PIPESIM_P5,
	PIPESIM_MEDIAN,
	PIPESIM_P95,
	PIPESIM_P99,
	PIPESIM_N_QUANTILES
};

/** pipesim_quantile_name: "p5", "median", "p95", "p99". */
const char *pipesim_quantile_name(guint quantile);

/* A quantile of the samples: the least value that at least this share of them does not pass.
 * With a probability of 95 % that of all steps lies from @low to @high: two other values of the
 * samples (order statistics, whatever the distribution; their ranks by the normal
 * approximation of the binomial). Where the samples are too few for a bound it is their least
 * or largest, and @is_bounded FALSE. */
typedef struct {
	double value, low, high;
	gboolean is_bounded;
} PipesimQuantile;

/* Times in ns, the ratio as in PipesimReport. */
typedef struct {
	guint n;
	PipesimOutcome *results; /* by sample */
	PipesimQuantile makespan[PIPESIM_N_QUANTILES];
	PipesimQuantile max_idle[PIPESIM_N_QUANTILES];
	PipesimQuantile ratio[PIPESIM_N_QUANTILES];
	guint wins; /* samples in which no other schedule of the comparison is faster */
} PipesimSamples;

/** pipesim_samples_new: scenario->samples times @step, which has ops, drawn from the normal
 * distribution of scenario->jitter, or else from what @costs has measured.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE where @costs has no distributions,
 *   or PIPESIM_ERROR_LIMIT. */
PipesimSamples *pipesim_samples_new(const PipesimStep *step, const PipesimCosts *costs,
	const PipesimScenario *scenario, GError **error);
PIPESIM_FREED(PipesimSamples, pipesim_samples_free)
