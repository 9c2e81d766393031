#include "config.h"

#include "cli/calibration-table.h"

#include <math.h>
#include <string.h>

static void append_ms(GString *out, gint64 ns)
{
	PipesimNumber text;

	g_string_append_printf(
		out, "  %8s", ns < 0 ? "-" : pipesim_print_ms_fixed(text, ns, 3));
}

/* sd as a share of the mean. */
static void append_spread(GString *out, const PipesimComponent *component)
{
	if (component->mean > 0)
		g_string_append_printf(out, "  %5.1f%%",
			100 * (double)component->sd / (double)component->mean);
	else
		g_string_append_printf(out, "  %6s", "-");
}

static void append_component(const PipesimComponent *component, gboolean full, GString *out)
{
	g_string_append_printf(out, "%-14s  %-5s", component->component, component->phase);
	append_ms(out, component->median);
	append_spread(out, component);
	g_string_append_printf(out, "  %7u  %7u", component->samples, component->dropped);
	if (full) {
		append_ms(out, component->mean);
		append_ms(out, component->sd);
		append_ms(out, component->quantile[1]);
		append_ms(out, component->quantile[PIPESIM_QUANTILES - 2]);
		append_ms(out, component->p99);
		append_ms(out, component->min);
		append_ms(out, component->max);
		append_ms(out, component->busy_mean);
		append_ms(out, component->move);
		append_ms(out, component->wait);
		g_string_append_printf(out, "  %5.2f", component->lag1);
		if (component->in_pair > 0)
			g_string_append_printf(out, "  %7.3f", component->in_pair);
		else
			g_string_append_printf(out, "  %7s", "-");
	}
	/* Last, as it is of any length. */
	if (component->impl[0] != '\0')
		g_string_append_printf(out, "  %s", component->impl);
	g_string_append_c(out, '\n');
}

static gboolean has_fit(const PipesimComponent *component)
{
	return fabs(component->fit_base) > 0 || fabs(component->fit_per_row) > 0;
}

static void append_fits(const GPtrArray *components, GString *out)
{
	for (guint i = 0; i < components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(components, i);
		if (has_fit(component))
			g_string_append_printf(out,
				"%s %s = %.4f ms + %.3f ns * rows, residual %.4f ms (median "
				"%" G_GINT64_FORMAT " rows)\n",
				component->component, component->phase,
				component->fit_base / 1e6, component->fit_per_row,
				component->fit_residual / 1e6, component->rows);
	}
}

static void append_link(const PipesimCosts *costs, GString *out)
{
	PipesimNumber latency;

	if (costs->link_bandwidth > 0)
		g_string_append_printf(out, "link: %s ms + bytes / %.1f GB/s\n",
			pipesim_print_ms(latency, costs->link_latency),
			(double)costs->link_bandwidth / 1e9);
}

static void append_times(const PipesimCosts *costs, GString *out)
{
	static const PipesimKind order[] = {
		PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B, PIPESIM_FB};
	static const char *const names[] = {"F", "I", "W", "B", "FB"};
	PipesimNumber text;

	if (costs->layers > 0)
		g_string_append_printf(
			out, "%u layer%s, ms:", costs->layers, costs->layers == 1 ? "" : "s");
	else
		g_string_append(out, "a rank's share, ms:");
	for (guint i = 0; i < G_N_ELEMENTS(order); i++)
		g_string_append_printf(out, " %s=%s%s", names[i],
			pipesim_print_ms_fixed(text, costs->time[order[i]], 3),
			order[i] == PIPESIM_FB && !costs->has_pair ? " (F + B)" : "");
	g_string_append_printf(out, " P2P=%s\n", pipesim_print_ms_fixed(text, costs->p2p, 3));
}

void pipesim_calibration_table(
	const PipesimCalibration *calibration, gboolean full, GString *out)
{
	const PipesimCosts *costs = calibration->costs;

	g_string_append_printf(out, "%s\n\n", costs->source);
	g_string_append_printf(out, "%-14s  %-5s  %8s  %6s  %7s  %7s", "component", "phase",
		"ms", "spread", "samples", "dropped");
	if (full)
		g_string_append_printf(out,
			"  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %8s  %5s  %7s", "mean",
			"sd", "p5", "p95", "p99", "min", "max", "busy", "move", "wait", "lag-1",
			"in pair");
	g_string_append(out, "  implementation\n");
	for (guint i = 0; i < costs->components->len; i++)
		append_component(g_ptr_array_index(costs->components, i), full, out);
	g_string_append_c(out, '\n');
	if (full)
		append_fits(costs->components, out);
	append_link(costs, out);
	append_times(costs, out);
}
