#include "config.h"

#include "analysis/samples.h"
#include "engine/draw.h"
#include <math.h>
#include <stdlib.h>

static const struct {
	const char *name;
	guint percent;
} quantiles[PIPESIM_N_QUANTILES] = {{"p5", 5}, {"median", 50}, {"p95", 95}, {"p99", 99}};

const char *pipesim_quantile_name(guint quantile)
{
	return quantiles[quantile].name;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 1.96 standard deviations of how many of @n samples lie below the quantile. Square roots are
 * rounded alike on every machine. */
static double margin(guint n, guint percent)
{
	return 1.96 * sqrt((double)n * percent * (100 - percent)) / 100;
}

static void find_quantiles(PipesimQuantile *out, double *sorted, guint n)
{
	qsort(sorted, n, sizeof *sorted, by_value);
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

static gboolean run_one_by_one(PipesimSamples *samples, const PipesimDraw *draw,
	const PipesimTimes *times, guint64 seed, PipesimSimulate simulate, gconstpointer data,
	GError **error)
{
	g_autofree gint64 *durations = g_try_new(gint64, MAX(draw->program->n_ops, 1u));
	PipesimTimes drawn = *times;

	if (durations == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			draw->program->n_ops);
	drawn.drawn = durations;
	for (guint i = 0; i < samples->n; i++) {
		g_autoptr(PipesimTimeline) timeline = NULL;

		pipesim_draw_durations(draw, seed, i, durations);
		timeline = simulate(data, &drawn, error);
		if (timeline == NULL)
			return FALSE;
		pipesim_lane_result_of(&samples->results[i], draw->program, timeline);
	}
	return TRUE;
}

PipesimSamples *pipesim_samples_new(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimCosts *costs, const PipesimScenario *scenario, PipesimSimulate simulate,
	gconstpointer data, GError **error)
{
	g_autoptr(PipesimSamples) samples = g_new0(PipesimSamples, 1);
	g_autofree PipesimJitter *jitter =
		scenario->jitter.den > 0
			? pipesim_jitter_normal(scenario->jitter)
			: pipesim_jitter_measured(costs, &program->shape, error);
	g_autoptr(PipesimDraw) draw = NULL;
	gboolean ok;

	if (jitter == NULL)
		return NULL;
	draw = pipesim_draw_new(program, times, jitter, error);
	if (draw == NULL)
		return NULL;
	samples->n = scenario->samples;
	samples->results = g_try_new(PipesimOutcome, samples->n);
	if (samples->results == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u samples do not fit in memory; take fewer", samples->n);
		return NULL;
	}
	ok = simulate == NULL ? pipesim_draw_run(draw, scenario->seed, 0, samples->n, 0,
					samples->results, error)
			      : run_one_by_one(samples, draw, times, scenario->seed, simulate,
					data, error);
	return ok && summarize(samples, program->shape.ranks, error) ? g_steal_pointer(&samples)
								     : NULL;
}

void pipesim_samples_free(PipesimSamples *samples)
{
	if (samples == NULL)
		return;
	g_free(samples->results);
	g_free(samples);
}
