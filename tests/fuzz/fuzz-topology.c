/* A topology file: no crash; what is taken can be routed between any two ranks. */
#include "model/network.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const guint ranks[] = {0, 1, 7, 8, 1000, PIPESIM_MAX_RANKS - 1};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimNetwork) network = pipesim_network_read_ini(
		pipesim_ini_parse((const char *)data, size, "x", &error), &error);
	g_autoptr(GString) name = g_string_new(NULL);

	g_assert((network == NULL) == (error != NULL));
	if (network == NULL)
		return 0;
	network->message_bytes = 32 << 20;
	if (!pipesim_network_check(network, NULL))
		return 0;
	for (guint from = 0; from < G_N_ELEMENTS(ranks); from++)
		for (guint to = 0; to < G_N_ELEMENTS(ranks); to++) {
			PipesimRoute route;

			if (from == to)
				continue;
			route = pipesim_network_route(network, ranks[from], ranks[to]);
			g_assert(route.n_links >= 1 && route.n_links <= 2);
			g_assert(route.hold >= 0 && route.latency >= 0);
			for (guint i = 0; i < route.n_links; i++)
				pipesim_link_print(route.link[i], name);
		}
	return 0;
}
