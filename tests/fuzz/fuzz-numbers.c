/* Every text that an option may hold: no crash; a time that is taken prints and reads back. */
#include "model/costs.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_times(const char *text)
{
	PipesimNumber printed;
	gint64 ns = -1, again = -1;
	guint64 count = 0;

	if (pipesim_parse_time(text, "x", &ns, NULL)) {
		g_assert(ns >= 0 && ns <= PIPESIM_MAX_TIME_NS);
		g_assert(pipesim_parse_time(pipesim_print_ms(printed, ns), "x", &again, NULL));
		g_assert_cmpint(ns, ==, again);
	}
	if (pipesim_parse_count(text, "x", 3, 1000, &count, NULL))
		g_assert(count >= 3 && count <= 1000);
}

static void parse_sizes(const char *text)
{
	PipesimNumber printed;
	PipesimFraction fraction;
	gint64 bytes = -1;

	if (pipesim_parse_bytes(text, "x", &bytes, NULL)) {
		g_assert(bytes >= 0);
		pipesim_print_bytes(printed, bytes);
	}
	if (pipesim_parse_fraction(text, "x", &fraction, NULL))
		g_assert(fraction.num >= 0 && fraction.den > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();

	parse_times(text);
	parse_sizes(text);
	pipesim_costs_parse_times(costs, text, "x", 0, NULL);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		g_assert(
			costs->time[kind] >= 0 && costs->time[kind] <= 4 * PIPESIM_MAX_TIME_NS);
	pipesim_costs_parse_scale(costs, text, "x", 8, NULL);
	return 0;
}
