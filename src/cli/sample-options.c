#include "config.h"

#include "cli/sample-options.h"
#include "model/jitter.h"

void pipesim_sample_entries(GOptionContext *context, PipesimSampleOptions *options)
{
	const GOptionEntry entries[] = {
		{"samples", 0, 0, G_OPTION_ARG_STRING, &options->samples,
			"steps to draw at random, from what was measured", "N"},
		{"seed", 0, 0, G_OPTION_ARG_STRING, &options->seed,
			"another seed draws other steps (default: 1)", "N"},
		{"jitter", 0, 0, G_OPTION_ARG_STRING, &options->jitter,
			"draw normal times of this relative sd instead: 0.03", "SD"},
		{0},
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static gboolean read_jitter(const char *text, PipesimFraction *jitter, GError **error)
{
	if (!pipesim_parse_fraction(text, "--jitter", jitter, error))
		return FALSE;
	return (double)jitter->num <= PIPESIM_MAX_JITTER * (double)jitter->den ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--jitter: '%s'; a relative standard deviation from 0 to %g", text,
		       PIPESIM_MAX_JITTER);
}

gboolean pipesim_sample_options_read(
	const PipesimSampleOptions *options, PipesimScenario *scenario, GError **error)
{
	guint64 samples;

	if (options->samples == NULL && (options->seed != NULL || options->jitter != NULL))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s is for steps drawn at random; add --samples, for example --samples "
			"1000",
			options->jitter != NULL ? "--jitter" : "--seed");
	if (options->samples == NULL)
		return TRUE;
	if (!pipesim_parse_count(
		    options->samples, "--samples", 1, PIPESIM_MAX_SAMPLES, &samples, error))
		return FALSE;
	scenario->samples = (guint)samples;
	scenario->seed = 1;
	if (options->seed != NULL && !pipesim_parse_count(options->seed, "--seed", 0,
					     G_MAXUINT64, &scenario->seed, error))
		return FALSE;
	return options->jitter == NULL ||
	       read_jitter(options->jitter, &scenario->jitter, error);
}

gboolean pipesim_sample_options_check(
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	return scenario->samples == 0 || scenario->jitter.den > 0 ||
	       pipesim_jitter_check(costs, error);
}

void pipesim_sample_options_clear(PipesimSampleOptions *options)
{
	g_free(options->samples);
	g_free(options->seed);
	g_free(options->jitter);
}
