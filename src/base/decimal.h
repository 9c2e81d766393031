/* Decimal digits to a scaled 64-bit integer without passing through a double: a double
 * at 1.7e15 us (a profiler's clock) is a quarter of a microsecond wide. */
#pragma once
#include <glib.h>

/**
 * pipesim_decimal_scan: reads [-+]digits[.digits][e[-+]digits] from the front of @text.
 * @length: bytes at @text; it need not end with NUL
 * @decimals: the result is the value times 10^@decimals, at most 18; what is finer is rounded
 * half away from zero
 * @used: (out): bytes read
 *
 * Returns: NULL and @out, or why not: "not a number" (nan and inf too), "out of range". Both
 * are literals.
 */
const char *pipesim_decimal_scan(
	const char *text, gsize length, guint decimals, gint64 *out, gsize *used);

/** pipesim_decimal_parse: the same for the whole of @text; what follows the number is refused.
 */
const char *pipesim_decimal_parse(const char *text, gsize length, guint decimals, gint64 *out);
