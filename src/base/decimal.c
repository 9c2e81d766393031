#include "config.h"

#include "base/decimal.h"

static const char out_of_range[] = "out of range";
static const char not_a_number[] = "not a number";

static gboolean push_digit(gint64 *value, guint digit)
{
	if (*value > (G_MAXINT64 - digit) / 10)
		return FALSE;
	*value = *value * 10 + digit;
	return TRUE;
}

/* The exponent behind the digits; 0 where none stands there. *at moves over it. */
static gint scan_exponent(const char *text, gsize length, gsize *at)
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
		value = MIN(value * 10 + (text[i] - '0'), 10000);
	*at = i;
	return negative ? -value : value;
}

/* The digits from @begin to @end times 10^@shift, where the point stands for nothing. */
static const char *scale_digits(
	const char *text, gsize begin, gsize end, gint digits, gint shift, gint64 *out)
{
	gint64 value = 0;
	gint keep = digits + shift; /* leading digits that lie before the new point */
	gboolean round_up = FALSE;

	for (gsize i = begin; i < end && keep >= 0; i++) {
		if (text[i] == '.')
			continue;
		if (keep-- == 0)
			round_up = text[i] >= '5';
		else if (!push_digit(&value, (guint)(text[i] - '0')))
			return out_of_range;
	}
	for (; keep > 0 && value > 0; keep--)
		if (!push_digit(&value, 0))
			return out_of_range;
	if (round_up && value == G_MAXINT64)
		return out_of_range;
	*out = value + round_up;
	return NULL;
}

const char *pipesim_decimal_scan(
	const char *text, gsize length, guint decimals, gint64 *out, gsize *used)
{
	gsize at = 0;
	gint digits = 0, behind = 0;
	gboolean point = FALSE, negative = FALSE;

	if (length > 0 && (text[0] == '-' || text[0] == '+'))
		negative = text[at++] == '-';
	const gsize begin = at;
	for (; at < length && digits < 10000; at++) {
		if (text[at] == '.' && !point) {
			point = TRUE;
			continue;
		}
		if (!g_ascii_isdigit(text[at]))
			break;
		digits++;
		behind += point;
	}
	const gsize end = at;
	if (digits == 0)
		return not_a_number;
	const gint shift = scan_exponent(text, length, &at) - behind + (gint)decimals;
	const char *why = scale_digits(text, begin, end, digits, shift, out);
	if (why == NULL && negative)
		*out = -*out;
	*used = at;
	return why;
}

const char *pipesim_decimal_parse(const char *text, gsize length, guint decimals, gint64 *out)
{
	gsize used = 0;
	const char *why = pipesim_decimal_scan(text, length, decimals, out, &used);

	return why == NULL && used != length ? not_a_number : why;
}
