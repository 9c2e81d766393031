/* Costs as an .ini file that people can read and edit: docs/formats.md has every group and key.
 */
#pragma once
#include "model/costs.h"

/** pipesim_costs_write: @costs appended to @out; reading it back gives the same costs. */
void pipesim_costs_write(const PipesimCosts *costs, GString *out);

/**
 * pipesim_costs_read: the file at @path ("-" = standard input).
 *
 * F, I and W must be there; what else is missing follows: B = I + W, FB = F + B, the rest
 * unknown. A group or key that is not of the format is refused, so that a misspelt one is not
 * passed over.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE ("path:line:column: [group] key:
 * ..."), PIPESIM_ERROR_LIMIT for a file that is too large, or an error of pipesim_input_open().
 */
PipesimCosts *pipesim_costs_read(const char *path, GError **error);

/** pipesim_costs_parse: the same for @length bytes in memory; @path for messages. */
PipesimCosts *pipesim_costs_parse(
	const char *text, gsize length, const char *path, GError **error);
