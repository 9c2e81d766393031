/* Options of the links between ranks. */
#pragma once
#include "model/costs.h"

typedef struct {
	char *link_latency, *link_bandwidth, *message_bytes, *topology, *interference;
} PipesimNetworkOptions;

/** pipesim_network_entries: adds the options to @context; they fill @options. */
void pipesim_network_entries(GOptionContext *context, PipesimNetworkOptions *options);

/**
 * pipesim_network_options_read: gives @costs the network that @options describe, and as P2P its
 * slowest hop between neighbours of @ranks; nothing where none was given. Latency and bandwidth
 * that are not given are those of the costs.
 * @times: what --times says, or NULL
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE, PIPESIM_ERROR_LIMIT, or what reading a file gives.
 */
gboolean pipesim_network_options_read(const PipesimNetworkOptions *options, guint ranks,
	const char *times, PipesimCosts *costs, GError **error);
void pipesim_network_options_clear(PipesimNetworkOptions *options);
