#include "config.h"

#include "analysis/samples.h"
#include "base/parallel.h"
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

/* Samples that threads take one after another. */
typedef struct {
	const PipesimStep *step;
	const PipesimDraw *draw;
	guint64 seed;
	PipesimOutcome *results;
} Work;

static gpointer new_durations(gpointer data, GError **error)
{
	const Work *work = data;
	const guint n_ops = work->draw->program->n_ops;
	gint64 *durations = g_try_new(gint64, MAX(n_ops, 1u));

	if (durations == NULL)
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory", n_ops);
	return durations;
}

static gboolean run_sample(gsize sample, gpointer own, gpointer data, GError **error)
{
	const Work *work = data;
	PipesimTimes drawn = *work->step->job.times;
	g_autoptr(PipesimTimeline) timeline = NULL;

	drawn.drawn = own;
	pipesim_draw_durations(work->draw, work->seed, sample, own);
	timeline = pipesim_step_again(work->step, &drawn, 0, error);
	if (timeline == NULL)
		return FALSE;
	pipesim_lane_result_of(&work->results[sample], work->draw->program, timeline);
	return TRUE;
}

/* Side by side where the step is a longest path, else one a thread at a time. */
static gboolean run_all(const PipesimStep *step, const PipesimDraw *draw, guint64 seed,
	PipesimSamples *samples, GError **error)
{
	Work work = {step, draw, seed, samples->results};
	const PipesimParallel parallel = {.n_items = samples->n,
		.begin = new_durations,
		.run = run_sample,
		.end = g_free,
		.data = &work};

	if (pipesim_runtime_waits(step->job.runtime) || step->job.network != NULL)
		return pipesim_parallel(&parallel, error);
	return pipesim_draw_run(draw, seed, 0, samples->n, 0, samples->results, error);
}

PipesimSamples *pipesim_samples_new(const PipesimStep *step, const PipesimCosts *costs,
	const PipesimScenario *scenario, GError **error)
{
	g_autoptr(PipesimSamples) samples = g_new0(PipesimSamples, 1);
	g_autofree PipesimJitter *jitter =
		scenario->jitter.den > 0
			? pipesim_jitter_normal(scenario->jitter)
			: pipesim_jitter_measured(costs, &step->program->shape, error);
	g_autoptr(PipesimDraw) draw = NULL;

	if (jitter == NULL)
		return NULL;
	draw = pipesim_draw_new(step->program, step->job.times, jitter, error);
	if (draw == NULL)
		return NULL;
	samples->n = scenario->samples;
	samples->results = g_try_new(PipesimOutcome, samples->n);
	if (samples->results == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u samples do not fit in memory; take fewer", samples->n);
		return NULL;
	}
	if (!run_all(step, draw, scenario->seed, samples, error) ||
		!summarize(samples, step->program->shape.ranks, error))
		return NULL;
	return g_steal_pointer(&samples);
}

void pipesim_samples_free(PipesimSamples *samples)
{
	if (samples == NULL)
		return;
	g_free(samples->results);
	g_free(samples);
}
