/* Ranges of decimal numbers. Private to the room. */
#pragma once
#include "base/number.h"

/**
 * pipesim_range_expand: appends the numbers that @text stands for to @values, as text: "3",
 * "4:64:*2", "1:2:0.25". At most 9 decimals; at most 1,000,000 numbers.
 * @what: how messages call it
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE.
 */
gboolean pipesim_range_expand(
	const char *text, const char *what, GPtrArray *values, GError **error);
