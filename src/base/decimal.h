/* Decimal digits to integers without passing through a double: a double at 1.7e15 us (a
 * profiler's clock) is a quarter of a microsecond wide. */
#pragma once
#include <glib.h>

/* A decimal as it was written: digits * 10^-decimals. Of more than 19 significant digits the
 * rest is cut off. */
typedef struct {
	guint64 digits;
	gint decimals;
	gboolean negative;
} PipesimDecimal;

/** pipesim_decimal_read: reads [-+]digits[.digits][e[-+]digits] from the front of the @length
 * bytes at @text, which need not end with NUL. Returns: bytes read; 0 where no number stands
 * there (nan and inf too). */
gsize pipesim_decimal_read(const char *text, gsize length, PipesimDecimal *out);

/** pipesim_decimal_scale: |@in| * @unit, rounded half up; FALSE where it exceeds @max. @unit
 * and @max below 2^62. */
gboolean pipesim_decimal_scale(const PipesimDecimal *in, gint64 unit, gint64 max, gint64 *out);

/** pipesim_decimal_scan: both of them: the number at the front of @text.
 * @decimals: the result is the value times 10^@decimals, at most 18; what is finer is rounded
 * half away from zero
 * @used: (out): bytes read
 * Returns: NULL and @out, or why not: "not a number", "out of range". Both are literals. */
const char *pipesim_decimal_scan(
	const char *text, gsize length, guint decimals, gint64 *out, gsize *used);

/** pipesim_decimal_parse: the same for the whole of @text; what follows the number is refused.
 */
const char *pipesim_decimal_parse(const char *text, gsize length, guint decimals, gint64 *out);
