/* Figures of a sample of durations: the only doubles of the model room. */
#pragma once
#include "base/base.h"

/* Quantiles are kept every 5 %: enough to draw samples from. */
#define PIPESIM_QUANTILES 21

/* All times in ns. */
typedef struct {
	guint samples;
	gint64 median, mean, sd, min, max;
	gint64 quantile[PIPESIM_QUANTILES]; /* [i] at i * 5 %; [0] = min, [20] = max */
	gint64 p99;
	double lag1; /* autocorrelation of neighbours in order of capture; 0 below three samples
		      */
} PipesimDistribution;

/** pipesim_distribution_init: figures of @n >= 1 durations in order of capture. Quantiles
 * interpolate between neighbours (the median of two is their mean); sd has n - 1. */
void pipesim_distribution_init(PipesimDistribution *out, const gint64 *values, guint n);

/** pipesim_lag1_within: autocorrelation of neighbours of the same @origin, each against the
 * mean of its origin: what is left of that of all where several ranks were measured in turn. 0
 * where nothing varies. */
double pipesim_lag1_within(const gint64 *values, const gint64 *origin, guint n);

/** pipesim_distribution_between: the figures a part @part (0 to 1) of the way from @a to @b. */
PipesimDistribution pipesim_distribution_between(
	const PipesimDistribution *a, const PipesimDistribution *b, double part);

/* y = base + slope * x by least squares. */
typedef struct {
	double base, slope;
	double residual; /* sd of what the line leaves, n - 2 */
	guint points;
} PipesimFit;

/** pipesim_fit_line: FALSE where fewer than three points or fewer than two different x.
 * @relative: every point counts by 1/y^2, so that what is small is met as well as what is
 * large; y > 0 then. */
gboolean pipesim_fit_line(
	PipesimFit *out, const gint64 *x, const gint64 *y, guint n, gboolean relative);
