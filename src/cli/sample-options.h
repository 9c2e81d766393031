/* Options that say how often a step is drawn at random, and from what. */
#pragma once
#include "cli/options.h"

typedef struct {
	char *samples, *seed, *jitter; /* as written, for GOption to fill */
} PipesimSampleOptions;

/** pipesim_sample_entries: adds the options to @context; they fill @options, which must outlive
 * the parse. */
void pipesim_sample_entries(GOptionContext *context, PipesimSampleOptions *options);

/** pipesim_sample_options_read: what was written into @scenario. FALSE with
 * PIPESIM_ERROR_USAGE.
 */
gboolean pipesim_sample_options_read(
	const PipesimSampleOptions *options, PipesimScenario *scenario, GError **error);

/** pipesim_sample_options_check: FALSE with PIPESIM_ERROR_USAGE where samples are asked for
 * that neither --jitter nor @costs say how to draw. */
gboolean pipesim_sample_options_check(
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);

void pipesim_sample_options_clear(PipesimSampleOptions *options);
