#include "config.h"

#include "cli/network-options.h"
#include "measure/interference.h"
#include "model/network-file.h"

#include <string.h>

void pipesim_network_entries(GOptionContext *context, PipesimNetworkOptions *options)
{
	const GOptionEntry entries[] = {
		{"message-bytes", 0, 0, G_OPTION_ARG_STRING, &options->message_bytes,
			"size of a message between stages: messages queue on links", "N"},
		{"link-latency", 0, 0, G_OPTION_ARG_STRING, &options->link_latency,
			"of a link (default: the costs')", "TIME"},
		{"link-bandwidth", 0, 0, G_OPTION_ARG_STRING, &options->link_bandwidth,
			"of a link, 50GB/s or 400Gbit/s (default: the costs')", "N"},
		{"topology", 0, 0, G_OPTION_ARG_FILENAME, &options->topology,
			"nodes, links and NICs, instead of one sort of link", "FILE.ini"},
		{"interference", 0, 0, G_OPTION_ARG_STRING, &options->interference,
			"what an op takes beside a message: 1.08, or 'measured'", "FACTOR"},
		{0},
	};

	g_option_context_add_main_entries(context, entries, NULL);
}

static gboolean any_given(const PipesimNetworkOptions *options)
{
	return options->link_latency != NULL || options->link_bandwidth != NULL ||
	       options->message_bytes != NULL || options->topology != NULL ||
	       options->interference != NULL;
}

static gboolean check_together(
	const PipesimNetworkOptions *options, const char *times, GError **error)
{
	if (times != NULL && strstr(times, "P2P") != NULL)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--times P2P and the links' options both say what a hop takes; give "
			"one of them");
	if (options->topology != NULL &&
		(options->link_latency != NULL || options->link_bandwidth != NULL))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--topology has latency and bandwidth of its links; leave out --%s",
			options->link_latency != NULL ? "link-latency" : "link-bandwidth");
	return TRUE;
}

static gboolean read_links(const PipesimNetworkOptions *options, const PipesimCosts *costs,
	PipesimNetwork *network, GError **error)
{
	PipesimLinkSpeed *speed = &network->intra;

	speed->latency = costs->link_latency;
	speed->bandwidth = costs->link_bandwidth;
	if (options->link_latency != NULL && !pipesim_parse_time(options->link_latency,
						     "--link-latency", &speed->latency, error))
		return FALSE;
	if (options->link_bandwidth != NULL &&
		!pipesim_parse_bandwidth(
			options->link_bandwidth, "--link-bandwidth", &speed->bandwidth, error))
		return FALSE;
	if (options->link_latency != NULL || options->link_bandwidth != NULL ||
		speed->latency > 0 || speed->bandwidth > 0)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"%s needs links; give --link-bandwidth and --link-latency, --topology, or a "
		"costs file that has them",
		options->message_bytes != NULL ? "--message-bytes" : "--interference");
}

static gboolean read_message(
	const PipesimNetworkOptions *options, PipesimNetwork *network, GError **error)
{
	if (options->message_bytes != NULL)
		return pipesim_parse_bytes(options->message_bytes, "--message-bytes",
			&network->message_bytes, error);
	if (network->intra.bandwidth == 0 && network->inter.bandwidth == 0)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"a link with a bandwidth needs to know how large a message is; give "
		"--message-bytes, for example 32MiB");
}

static gboolean read_interference(const PipesimNetworkOptions *options,
	const PipesimCosts *costs, PipesimNetwork *network, GError **error)
{
	PipesimFraction factor;

	if (options->interference == NULL)
		return TRUE;
	if (strcmp(options->interference, "measured") == 0)
		return pipesim_costs_interference(costs, network->slowdown, error);
	if (!pipesim_parse_fraction(options->interference, "--interference", &factor, error))
		return FALSE;
	if (factor.num < factor.den || factor.num / factor.den >= 1000)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--interference: '%s' is out of range; what an op takes beside a "
			"message against alone, from 1 to 1000, or 'measured'",
			options->interference);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = factor;
	return TRUE;
}

gboolean pipesim_network_options_read(const PipesimNetworkOptions *options, guint ranks,
	const char *times, PipesimCosts *costs, GError **error)
{
	g_autoptr(PipesimNetwork) network = NULL;

	if (!any_given(options))
		return TRUE;
	if (!check_together(options, times, error))
		return FALSE;
	network = options->topology != NULL ? pipesim_network_read(options->topology, error)
					    : pipesim_network_new();
	if (network == NULL ||
		(options->topology == NULL && !read_links(options, costs, network, error)) ||
		!read_message(options, network, error) ||
		!read_interference(options, costs, network, error) ||
		!pipesim_network_check(network, error))
		return FALSE;
	costs->p2p = pipesim_network_slowest_hop(network, ranks);
	pipesim_network_free(costs->network);
	costs->network = g_steal_pointer(&network);
	return TRUE;
}

void pipesim_network_options_clear(PipesimNetworkOptions *options)
{
	g_free(options->link_latency);
	g_free(options->link_bandwidth);
	g_free(options->message_bytes);
	g_free(options->topology);
	g_free(options->interference);
}
