#include "model/statistics.h"

/* The value @num/@den of the way through the sorted values. */
static gint64 quantile(const gint64 *sorted, guint n, guint num, guint den)
{
	const guint64 place = (guint64)(n - 1) * num;
	const guint index = (guint)(place / den);
	const double part = (double)(place % den) / den;

	if (part == 0)
		return sorted[index];
	return sorted[index] +
	       (gint64)llround(part * (double)(sorted[index + 1] - sorted[index]));
}

void pipesim_distribution_init(PipesimDistribution *out, const gint64 *values, guint n)
{
	g_autofree gint64 *sorted = g_memdup2(values, n * sizeof *values);
	const double mean = pipesim_sum(i, n, (double)values[i]) / n;
	double previous = 0;
	double square = 0, product = 0; /* sums about the mean: of squares, of neighbours */

	g_assert(n > 0);
	qsort(sorted, n, sizeof *sorted, pipesim_compare_int64);
	for (guint i = 0; i < n; i++) {
		const double d = (double)values[i] - mean;
		square += d * d;
		product += i > 0 ? d * previous : 0;
		previous = d;
	}
	*out = (PipesimDistribution){
		.samples = n,
		.mean = (gint64)llround(mean),
		.sd = n > 1 ? (gint64)llround(sqrt(square / (n - 1))) : 0,
		.min = sorted[0],
		.max = sorted[n - 1],
		.p99 = quantile(sorted, n, 99, 100),
		.lag1 = n > 2 && square > 0 ? product / square : 0,
	};
	for (guint i = 0; i < PIPESIM_QUANTILES; i++)
		out->quantile[i] = quantile(sorted, n, i, PIPESIM_QUANTILES - 1);
	out->median = out->quantile[PIPESIM_QUANTILES / 2];
}

static gint64 between(gint64 a, gint64 b, double part)
{
	return a + (gint64)llround(part * (double)(b - a));
}

PipesimDistribution pipesim_distribution_between(
	const PipesimDistribution *a, const PipesimDistribution *b, double part)
{
	PipesimDistribution out = {
		.samples = MIN(a->samples, b->samples),
		.median = between(a->median, b->median, part),
		.mean = between(a->mean, b->mean, part),
		.sd = between(a->sd, b->sd, part),
		.min = between(a->min, b->min, part),
		.max = between(a->max, b->max, part),
		.p99 = between(a->p99, b->p99, part),
		.lag1 = a->lag1 + part * (b->lag1 - a->lag1),
	};

	for (guint i = 0; i < PIPESIM_QUANTILES; i++)
		out.quantile[i] = between(a->quantile[i], b->quantile[i], part);
	return out;
}

/* What one origin has come to. */
typedef struct {
	double mean, last;
	guint n;
	gboolean seen;
} Origin;

double pipesim_lag1_within(const gint64 *values, const gint64 *origin, guint n)
{
	g_autoptr(GHashTable) origins =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	double product = 0, square = 0;

	for (guint i = 0; i < n; i++) {
		Origin *of = g_hash_table_lookup(origins, &origin[i]);

		if (of == NULL) {
			of = g_new0(Origin, 1);
			g_hash_table_insert(origins, (gpointer)&origin[i], of);
		}
		of->n++;
		of->mean += ((double)values[i] - of->mean) / of->n;
	}
	for (guint i = 0; i < n; i++) {
		Origin *of = g_hash_table_lookup(origins, &origin[i]);
		const double d = (double)values[i] - of->mean;

		square += d * d;
		product += of->seen ? d * of->last : 0;
		of->last = d;
		of->seen = TRUE;
	}
	return square > 0 ? product / square : 0;
}

static double weight_of(gint64 y, gboolean relative)
{
	return relative ? 1 / ((double)y * (double)y) : 1;
}

gboolean pipesim_fit_line(
	PipesimFit *out, const gint64 *x, const gint64 *y, guint n, gboolean relative)
{
	double weights = 0, x_mean = 0, y_mean = 0, xx = 0, xy = 0, left = 0;

	if (n < 3 || pipesim_all(i, n, x[i] == x[0]))
		return FALSE;
	for (guint i = 0; i < n; i++) {
		const double w = weight_of(y[i], relative);
		weights += w;
		x_mean += w * (double)x[i];
		y_mean += w * (double)y[i];
	}
	x_mean /= weights;
	y_mean /= weights;
	for (guint i = 0; i < n; i++) {
		const double dx = (double)x[i] - x_mean, w = weight_of(y[i], relative);
		xx += w * dx * dx;
		xy += w * dx * ((double)y[i] - y_mean);
	}
	*out = (PipesimFit){.slope = xy / xx, .points = n};
	out->base = y_mean - out->slope * x_mean;
	for (guint i = 0; i < n; i++) {
		const double d = (double)y[i] - out->base - out->slope * (double)x[i];
		left += d * d;
	}
	out->residual = sqrt(left / (n - 2));
	return TRUE;
}
