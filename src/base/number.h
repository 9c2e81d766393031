/* Text to number and back: decimal only, whatever the locale, and exact. */
#pragma once
#include "base/error.h"

/* A ratio kept exact until it is printed. den > 0. */
typedef struct {
	gint64 num, den;
} PipesimFraction;

/* No single time or size may exceed this: 36 years in ns. */
#define PIPESIM_MAX_TIME_NS G_GINT64_CONSTANT(1152921504606846976) /* 2^60 */
/* No op or message may end at or after this, so that one more of either cannot overflow. */
#define PIPESIM_MAX_END (G_GINT64_CONSTANT(1) << 62)
/* Later than any end; one more does not overflow. */
#define PIPESIM_NEVER (G_MAXINT64 - 1)

/** pipesim_add_capped: the sum, or G_MAXINT64 where it is larger; neither is below 0. */
static inline gint64 pipesim_add_capped(gint64 a, gint64 b)
{
	gint64 sum;

	return __builtin_add_overflow(a, b, &sum) ? G_MAXINT64 : sum;
}

/* What follows reads all of @text, which messages call @what ("--pp"), into the last argument before
 * @error. Returns: FALSE with PIPESIM_ERROR_USAGE. */

/** pipesim_parse_count: a decimal whole number from @min to @max. "010" is ten. Signs, blanks, a
 * point, an exponent, 0x: refused. */
gboolean pipesim_parse_count(const char *text, const char *what, guint64 min, guint64 max,
	guint64 *out, GError **error);

/** pipesim_parse_time: "1", "0.25", "1e3": ms; "100us", "5 ns", "1.5s" with their unit. Rounded
 * to the nearest nanosecond. Negative, nan, inf, empty and larger than PIPESIM_MAX_TIME_NS are
 * refused. */
gboolean pipesim_parse_time(const char *text, const char *what, gint64 *ns, GError **error);

/** pipesim_parse_bytes: "58700000", "58.7MB" (powers of 1000), "56MiB" (powers of 1024). */
gboolean pipesim_parse_bytes(const char *text, const char *what, gint64 *bytes, GError **error);

/** pipesim_parse_bandwidth: bytes per second, above 0: "300GB/s", "56GiB" (a second),
 * "400Gbit/s" (kbit, Mbit, Gbit, Tbit). */
gboolean pipesim_parse_bandwidth(
	const char *text, const char *what, gint64 *bytes_per_second, GError **error);

/** pipesim_parse_fraction: a decimal such as "1.25" kept exact (5/4), >= 0, at most 9 decimals
 * and at most 1e9. */
gboolean pipesim_parse_fraction(
	const char *text, const char *what, PipesimFraction *out, GError **error);

/* Room for any number that the functions below print. */
#define PIPESIM_NUMBER_LENGTH 48
typedef char PipesimNumber[PIPESIM_NUMBER_LENGTH];

/** pipesim_print_ms: @ns as ms, shortest exact decimal ("57.6", "0", "-1.234567"). Returns
 * @out. */
const char *pipesim_print_ms(PipesimNumber out, gint64 ns);

/** pipesim_print_ms_fixed: @ns as ms rounded half away from zero to @decimals (0 to 6). */
const char *pipesim_print_ms_fixed(PipesimNumber out, gint64 ns, guint decimals);

/** pipesim_print_double: shortest text that reads back as @value; finite only. */
const char *pipesim_print_double(PipesimNumber out, double value);

/** pipesim_print_bytes: "43.6 GiB" (powers of 1024), three significant digits; below 1024 "512
 * B". */
const char *pipesim_print_bytes(PipesimNumber out, gint64 bytes);

/** pipesim_print_least_bytes: the same for a limit to be given: "43.6GiB" where that reads back as no less than
 * @bytes, else all digits. */
const char *pipesim_print_least_bytes(PipesimNumber out, gint64 bytes);

/* The same as text that lives as long as the block it is made in: arguments of a printf, say. */
#define pipesim_ms(ns)                 pipesim_print_ms((PipesimNumber){0}, ns)
#define pipesim_ms_fixed(ns, decimals) pipesim_print_ms_fixed((PipesimNumber){0}, ns, decimals)
#define pipesim_double(value)          pipesim_print_double((PipesimNumber){0}, value)
#define pipesim_bytes(bytes)           pipesim_print_bytes((PipesimNumber){0}, bytes)
#define pipesim_least_bytes(bytes)     pipesim_print_least_bytes((PipesimNumber){0}, bytes)

/** pipesim_gcd: greatest common divisor of @a and @b, >= 0; of one with 0, the other. */
gint64 pipesim_gcd(gint64 a, gint64 b);

#define PIPESIM_PPM 1000000 /* what shares and ratios in millionths are of */

/** pipesim_time_scale: @ns * @num / @den, rounded to the nearest ns, half up; arguments >= 0,
 * @den > 0. Saturates at G_MAXINT64. */
gint64 pipesim_time_scale(gint64 ns, gint64 num, gint64 den);
