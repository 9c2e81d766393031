#include "base/decimal.h"

/* Below 10^18 one more digit fits. */
#define MAX_SIGNIFICANT G_GUINT64_CONSTANT(1000000000000000000)
/* Exponents beyond are as good as this one. */
#define MAX_EXPONENT 10000

static void read_digits(
	const char *text, gsize length, gsize *at, PipesimDecimal *out, gint point)
{
	for (; *at < length && g_ascii_isdigit(text[*at]); ++*at) {
		if (out->digits < MAX_SIGNIFICANT) {
			out->digits = out->digits * 10 + (guint64)(text[*at] - '0');
			out->decimals += point;
		} else {
			out->decimals += point - 1;
		}
	}
}

/* The exponent behind the digits; 0 where none stands there. *at moves over it. */
static gint read_exponent(const char *text, gsize length, gsize *at)
{
	gsize i = *at;
	gboolean negative = FALSE;
	gint value = 0;

	if (i >= length || (text[i] != 'e' && text[i] != 'E'))
		return 0;
	i++;
	if (i < length && (text[i] == '-' || text[i] == '+'))
		negative = text[i++] == '-';
	if (i >= length || !g_ascii_isdigit(text[i]))
		return 0;
	for (; i < length && g_ascii_isdigit(text[i]); i++)
		value = MIN(value * 10 + (text[i] - '0'), MAX_EXPONENT);
	*at = i;
	return negative ? -value : value;
}

gsize pipesim_decimal_read(const char *text, gsize length, PipesimDecimal *out)
{
	gsize at = 0, begin, n_digits;

	*out = (PipesimDecimal){0};
	if (length > 0 && (text[0] == '-' || text[0] == '+'))
		out->negative = text[at++] == '-';
	begin = at;
	read_digits(text, length, &at, out, 0);
	n_digits = at - begin;
	if (at < length && text[at] == '.') {
		begin = ++at;
		read_digits(text, length, &at, out, 1);
		n_digits += at - begin;
	}
	if (n_digits == 0)
		return 0;
	out->decimals -= read_exponent(text, length, &at);
	return at;
}

gboolean pipesim_decimal_scale(const PipesimDecimal *in, gint64 unit, gint64 max, gint64 *out)
{
	__extension__ typedef unsigned __int128 Wide;
	Wide value = (Wide)in->digits * (Wide)unit;
	gint shift = in->decimals;

	for (; shift < 0 && value > 0 && value <= (Wide)max; shift++)
		value *= 10;
	for (; shift > 1 && value > 0; shift--)
		value /= 10;
	if (shift > 0)
		value = (value + 5) / 10;
	if (value > (Wide)max)
		return FALSE;
	*out = (gint64)value;
	return TRUE;
}

const char *pipesim_decimal_scan(
	const char *text, gsize length, guint decimals, gint64 *out, gsize *used)
{
	PipesimDecimal decimal;

	*used = pipesim_decimal_read(text, length, &decimal);
	if (*used == 0)
		return "not a number";
	decimal.decimals -= (gint)decimals;
	if (!pipesim_decimal_scale(&decimal, 1, G_MAXINT64, out))
		return "out of range";
	if (decimal.negative)
		*out = -*out;
	return NULL;
}

const char *pipesim_decimal_parse(const char *text, gsize length, guint decimals, gint64 *out)
{
	gsize used = 0;
	const char *why = pipesim_decimal_scan(text, length, decimals, out, &used);

	return why == NULL && used != length ? "not a number" : why;
}
