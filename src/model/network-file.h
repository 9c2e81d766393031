/* The topology file: docs/formats.md says what may stand in it. */
#pragma once
#include "model/network.h"

/**
 * pipesim_network_parse: the network that @length bytes at @text describe.
 * @path: for messages
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE, up to 20 faults at once, each with
 *   its place.
 */
PipesimNetwork *pipesim_network_parse(
	const char *text, gsize length, const char *path, GError **error);

/** pipesim_network_read: the same of the file @path, "-" for standard input. Also G_FILE_ERROR,
 * and PIPESIM_ERROR_LIMIT for a file above 1 MiB. */
PipesimNetwork *pipesim_network_read(const char *path, GError **error);
