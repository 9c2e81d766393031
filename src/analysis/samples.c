#include "analysis/samples.h"

static const struct {
	const char *name;
	guint percent;
} quantiles[PIPESIM_N_QUANTILES] = {{"p5", 5}, {"median", 50}, {"p95", 95}, {"p99", 99}};

const char *pipesim_quantile_name(guint quantile)
{
	return quantiles[quantile].name;
}

/* 1.96 standard deviations of how many of @n samples lie below the quantile. Square roots are
 * rounded alike on every machine. */
static double margin(guint n, guint percent)
{
	return 1.96 * sqrt((double)n * percent * (100 - percent)) / 100;
}

static void find_quantiles(PipesimQuantile *out, double *sorted, guint n)
{
	qsort(sorted, n, sizeof *sorted, pipesim_compare_double);
	for (guint q = 0; q < PIPESIM_N_QUANTILES; q++) {
		const guint percent = quantiles[q].percent;
		const double middle = (double)n * percent / 100;
		const double low = floor(middle - margin(n, percent));
		const double high = ceil(middle + margin(n, percent)) + 1;

		out[q] = (PipesimQuantile){
			.value = sorted[(guint)ceil(middle) - 1],
			.low = sorted[low >= 1 ? (guint)low - 1 : 0],
			.high = sorted[high <= n ? (guint)high - 1 : n - 1],
			.is_bounded = low >= 1 && high <= n,
		};
	}
}

static gboolean summarize(PipesimSamples *samples, guint ranks, GError **error)
{
	const guint n = samples->n;
	g_autofree double *values = g_try_new(double, n);

	if (values == NULL)
		return pipesim_fail(
			error, PIPESIM_ERROR_LIMIT, "%u samples do not fit in memory", n);
	for (guint i = 0; i < n; i++)
		values[i] = (double)samples->results[i].makespan;
	find_quantiles(samples->makespan, values, n);
	for (guint i = 0; i < n; i++)
		values[i] = (double)samples->results[i].max_idle;
	find_quantiles(samples->max_idle, values, n);
	for (guint i = 0; i < n; i++)
		values[i] = (double)samples->results[i].idle / ranks /
			    (double)MAX(samples->results[i].makespan, 1);
	find_quantiles(samples->ratio, values, n);
	return TRUE;
}

PipesimSamples *pipesim_samples_new(const PipesimStep *step, const PipesimCosts *costs,
	const PipesimScenario *scenario, GError **error)
{
	g_autoptr(PipesimSamples) samples = g_new0(PipesimSamples, 1);
	g_autofree PipesimJitter *jitter =
		scenario->jitter.den > 0
			? pipesim_jitter_normal(scenario->jitter)
			: pipesim_jitter_measured(costs, &step->program->shape, error);

	if (jitter == NULL)
		return NULL;
	samples->n = scenario->samples;
	samples->results = g_try_new(PipesimOutcome, samples->n);
	if (samples->results == NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%u samples do not fit in memory; take fewer", samples->n);
	if (!pipesim_step_sample(
		    step, jitter, scenario->seed, samples->n, samples->results, error) ||
		!summarize(samples, step->program->shape.ranks, error))
		return NULL;
	return g_steal_pointer(&samples);
}

void pipesim_samples_free(PipesimSamples *samples)
{
	if (samples != NULL)
		pipesim_free_all(samples->results, samples);
}
