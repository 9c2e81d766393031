/* How fast the ranks that were measured are, one against the other. */
#include "config.h"

#include "measure/calibrate-parts.h"

#define MILLION G_GINT64_CONSTANT(1000000)

static gint64 origin_of(const PipesimTraceGroup *group, guint i)
{
	return g_array_index(group->origin, gint64, i);
}

/* Median of what @origin took; PIPESIM_UNKNOWN where it measured nothing of @group. */
static gint64 median_of(const PipesimTraceGroup *group, gint64 origin)
{
	g_autofree gint64 *values = g_new(gint64, MAX(group->service->len, 1u));
	PipesimDistribution figures;
	guint n = 0;

	for (guint i = 0; i < group->service->len; i++)
		if (origin_of(group, i) == origin)
			values[n++] = g_array_index(group->service, gint64, i);
	if (n == 0)
		return PIPESIM_UNKNOWN;
	pipesim_distribution_init(&figures, values, n);
	return figures.median;
}

/* In order of first appearance. */
static GArray *list_origins(const PipesimTraceGroup *group)
{
	GArray *origins = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);

	for (guint i = 0; i < group->origin->len; i++)
		if (g_hash_table_add(known, &g_array_index(group->origin, gint64, i)))
			g_array_append_vals(
				origins, &g_array_index(group->origin, gint64, i), 1);
	return origins;
}

/* All that was chosen, once; PIPESIM_UNKNOWN where some of it was not measured on @origin. */
static gint64 total_of(const PipesimCalibrating *c, gint64 origin)
{
	gint64 total = 0;

	for (guint i = 0; i < c->chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(c->chosen, i);
		const gint64 median = median_of(group, origin);

		if (median < 0 || median > PIPESIM_MAX_TIME_NS / c->chosen->len)
			return PIPESIM_UNKNOWN;
		total += median;
	}
	return total;
}

void pipesim_calibrate_ranks(PipesimCalibrating *c)
{
	g_autoptr(GArray) origins = NULL;
	g_autofree gint64 *totals = NULL;
	gint64 mean = 0;
	guint n;

	if (c->chosen->len == 0)
		return;
	origins = list_origins(g_ptr_array_index(c->chosen, 0));
	n = origins->len;
	totals = g_new0(gint64, MAX(n, 1u));
	for (guint i = 0; i < n; i++) {
		totals[i] = total_of(c, g_array_index(origins, gint64, i));
		if (totals[i] < 0)
			return;
		mean += totals[i] / n;
	}
	if (n < 2 || n > PIPESIM_MAX_MEASURED_RANKS || mean == 0)
		return;
	for (guint i = 0; i < n; i++)
		totals[i] = pipesim_time_scale(totals[i], MILLION, mean);
	c->costs->measured_ranks = g_steal_pointer(&totals);
	c->costs->n_measured_ranks = n;
}
