#include "config.h"

#include "base/decimal.h"
#include "measure/cluster.h"

#include <math.h>
#include <string.h>

#define MILLION G_GINT64_CONSTANT(1000000)

/* All that was chosen, once; PIPESIM_UNKNOWN where some of it was not measured on @origin. */
static gint64 total_of(const GPtrArray *chosen, gint64 origin)
{
	gint64 total = 0;

	for (guint i = 0; i < chosen->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(chosen, i);
		PipesimDistribution figures;

		if (!pipesim_trace_group_figures(group,
			    G_STRUCT_OFFSET(PipesimRepetition, service), origin, &figures) ||
			figures.median > PIPESIM_MAX_TIME_NS / chosen->len)
			return PIPESIM_UNKNOWN;
		total += figures.median;
	}
	return total;
}

void pipesim_cluster_ranks(PipesimCosts *costs, const GPtrArray *chosen)
{
	g_autoptr(GArray) origins = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GHashTable) known = g_hash_table_new(g_int64_hash, g_int64_equal);
	gint64 mean = 0;

	if (chosen->len == 0)
		return;
	/* In order of first appearance. */
	const PipesimTraceGroup *first = g_ptr_array_index(chosen, 0);
	for (guint i = 0; i < first->repetitions->len; i++) {
		PipesimRepetition *repetition =
			&g_array_index(first->repetitions, PipesimRepetition, i);
		if (repetition->kept && g_hash_table_add(known, &repetition->origin))
			g_array_append_val(origins, repetition->origin);
	}
	const guint n = origins->len;
	g_autofree gint64 *totals = g_new0(gint64, MAX(n, 1u));
	for (guint i = 0; i < n; i++) {
		totals[i] = total_of(chosen, g_array_index(origins, gint64, i));
		if (totals[i] < 0)
			return;
		mean += totals[i] / n;
	}
	if (n < 2 || n > PIPESIM_MAX_MEASURED_RANKS || mean == 0)
		return;
	for (guint i = 0; i < n; i++)
		totals[i] = pipesim_time_scale(totals[i], MILLION, mean);
	costs->measured_ranks = g_steal_pointer(&totals);
	costs->n_measured_ranks = n;
}

gint64 pipesim_cluster_message_bytes(PipesimTrace *const *traces, guint n)
{
	for (guint t = 0; t < n; t++) {
		const gint64 told = pipesim_trace_get_count(traces[t], "pp_message_bytes");
		const gint64 tokens = pipesim_trace_get_count(traces[t], "tokens");
		gint64 hidden = pipesim_trace_get_count(traces[t], "hidden");
		const char *model = pipesim_trace_get(traces[t], "model");
		const char *found = model != NULL ? strstr(model, "hidden=") : NULL;
		gsize used;
		/* Or in "model,deepseek-v3 hidden=7168 ...". */
		if (hidden < 0 && found != NULL)
			pipesim_decimal_scan(
				found + 7, strspn(found + 7, "0123456789"), 0, &hidden, &used);
		if (told > 0)
			return told;
		if (hidden > 0 && tokens > 0 && hidden < G_MAXINT32 && tokens < G_MAXINT32)
			return 2 * hidden * tokens;
	}
	return PIPESIM_UNKNOWN;
}

void pipesim_cluster_link(
	PipesimCosts *costs, const GPtrArray *messages, gint64 bytes, GPtrArray *notices)
{
	g_autofree gint64 *size = g_new(gint64, messages->len);
	g_autofree gint64 *time = g_new(gint64, messages->len);
	const PipesimTraceGroup *exact = NULL;
	const PipesimTraceGroup *largest = g_ptr_array_index(messages, 0);
	PipesimFit fit;

	for (guint i = 0; i < messages->len; i++) {
		const PipesimTraceGroup *group = g_ptr_array_index(messages, i);
		size[i] = group->what.payload_bytes;
		time[i] = group->figures.median;
		if (exact == NULL && group->what.payload_bytes == bytes)
			exact = group;
		if (group->what.payload_bytes > largest->what.payload_bytes)
			largest = group;
	}
	/* Latency and bandwidth through the medians by size. */
	const gboolean fitted =
		pipesim_fit_line(&fit, size, time, messages->len, TRUE) && fit.slope > 0;
	if (fitted) {
		costs->link_latency = (gint64)llround(MAX(0, fit.base));
		costs->link_bandwidth = (gint64)llround(MIN(1e9 / fit.slope, 9e18));
	}
	if (exact != NULL) {
		costs->p2p = exact->figures.median;
	} else if (fitted && bytes > 0) {
		costs->p2p = costs->link_latency +
			     pipesim_time_scale(bytes, 1000000000, costs->link_bandwidth);
		pipesim_notice(notices,
			"P2P of %" G_GINT64_FORMAT " bytes follows from the latency and "
			"bandwidth fitted to %u other sizes",
			bytes, messages->len);
	} else {
		costs->p2p = largest->figures.median;
		if (largest->what.payload_bytes >= 0)
			pipesim_notice(notices,
				"P2P is that of the largest message measured, %" G_GINT64_FORMAT
				" bytes",
				largest->what.payload_bytes);
	}
	if (strstr(largest->what.impl, "loopback") != NULL)
		pipesim_notice(
			notices, "P2P was measured as a copy inside one GPU, not over a link");
}
