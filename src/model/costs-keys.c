#include "config.h"

#include "model/costs-keys.h"

#define TIME(kind)   G_STRUCT_OFFSET(PipesimCosts, time) + (kind) * sizeof(gint64)
#define COSTS(f)     G_STRUCT_OFFSET(PipesimCosts, f)
#define COMPONENT(f) G_STRUCT_OFFSET(PipesimComponent, f)

#define NS   PIPESIM_KEY_INT64
#define REAL PIPESIM_KEY_DOUBLE

const PipesimKey pipesim_costs_keys[] = {
	{"times", "F", NS, TIME(PIPESIM_F), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{"times", "I", NS, TIME(PIPESIM_I), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{"times", "W", NS, TIME(PIPESIM_W), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{"times", "B", NS, TIME(PIPESIM_B), FALSE, FALSE, 2 * PIPESIM_MAX_TIME_NS},
	{"times", "FB", NS, TIME(PIPESIM_FB), FALSE, FALSE, 3 * PIPESIM_MAX_TIME_NS},
	{"times", "P2P", NS, COSTS(p2p), FALSE, FALSE, PIPESIM_MAX_TIME_NS},
	{"bytes", "activation_until_input", NS, COSTS(bytes_until_input), FALSE, FALSE,
		G_MAXINT64},
	{"bytes", "activation_until_weight", NS, COSTS(bytes_until_weight), FALSE, FALSE,
		G_MAXINT64},
	{"bytes", "parameters", NS, COSTS(parameter_bytes), FALSE, FALSE, G_MAXINT64},
	{"link", "latency_ns", NS, COSTS(link_latency), FALSE, FALSE, PIPESIM_MAX_TIME_NS},
	{"link", "bytes_per_second", NS, COSTS(link_bandwidth), FALSE, FALSE, G_MAXINT64},
	{"source", "text", PIPESIM_KEY_TEXT, COSTS(source), FALSE, FALSE, 0},
	{"source", "layers", PIPESIM_KEY_GUINT, COSTS(layers), FALSE, FALSE, G_MAXINT32},
	{NULL, NULL, NS, 0, FALSE, FALSE, 0},
};

const PipesimKey pipesim_component_keys[] = {
	{NULL, "component", PIPESIM_KEY_TEXT, COMPONENT(component), TRUE, FALSE, 0},
	{NULL, "phase", PIPESIM_KEY_TEXT, COMPONENT(phase), TRUE, FALSE, 0},
	{NULL, "impl", PIPESIM_KEY_TEXT, COMPONENT(impl), FALSE, FALSE, 0},
	{NULL, "samples", PIPESIM_KEY_GUINT, COMPONENT(samples), FALSE, FALSE, G_MAXINT32},
	{NULL, "dropped", PIPESIM_KEY_GUINT, COMPONENT(dropped), FALSE, FALSE, G_MAXINT32},
	{NULL, "median_ns", NS, COMPONENT(median), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "mean_ns", NS, COMPONENT(mean), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "sd_ns", NS, COMPONENT(sd), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "min_ns", NS, COMPONENT(min), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "max_ns", NS, COMPONENT(max), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "p99_ns", NS, COMPONENT(p99), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "lag1", REAL, COMPONENT(lag1), FALSE, FALSE, 0},
	{NULL, "busy_mean_ns", NS, COMPONENT(busy_mean), TRUE, FALSE, PIPESIM_MAX_TIME_NS},
	{NULL, "move_ns", NS, COMPONENT(move), TRUE, TRUE, PIPESIM_MAX_TIME_NS},
	{NULL, "wait_ns", NS, COMPONENT(wait), TRUE, TRUE, PIPESIM_MAX_TIME_NS},
	{NULL, "in_pair", REAL, COMPONENT(in_pair), FALSE, FALSE, 0},
	{NULL, "rows", NS, COMPONENT(rows), TRUE, TRUE, G_MAXINT64},
	{NULL, "fit_base_ns", REAL, COMPONENT(fit_base), FALSE, FALSE, 0},
	{NULL, "fit_per_row_ns", REAL, COMPONENT(fit_per_row), FALSE, FALSE, 0},
	{NULL, "fit_residual_ns", REAL, COMPONENT(fit_residual), FALSE, FALSE, 0},
	{NULL, NULL, NS, 0, FALSE, FALSE, 0},
};

const PipesimKey *pipesim_key_find(const char *group, const char *name)
{
	const gboolean component = g_str_has_prefix(group, PIPESIM_COMPONENT_PREFIX);
	const PipesimKey *keys = component ? pipesim_component_keys : pipesim_costs_keys;

	for (; keys->name != NULL; keys++)
		if (g_str_equal(keys->name, name) &&
			(component || g_str_equal(keys->group, group)))
			return keys;
	return NULL;
}
