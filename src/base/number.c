#include "base/base.h"

gboolean pipesim_parse_count(const char *text, const char *what, guint64 min, guint64 max,
	guint64 *out, GError **error)
{
	guint64 value = 0;
	const char *p = text;

	for (; g_ascii_isdigit(*p); p++) {
		guint64 digit = (guint64)(*p - '0');

		if (value > (G_MAXUINT64 - digit) / 10)
			return pipesim_refuse(error,
				"%s: '%s' is too large; at most %" G_GUINT64_FORMAT, what, text,
				max);
		value = value * 10 + digit;
	}
	if (p == text || *p != '\0')
		return pipesim_refuse(error,
			"%s: '%s' is not a whole number; write decimal digits only", what,
			text);
	if (value < min || value > max)
		return pipesim_refuse(error,
			"%s: '%s' is out of range; from %" G_GUINT64_FORMAT
			" to %" G_GUINT64_FORMAT,
			what, text, min, max);
	*out = value;
	return TRUE;
}

typedef struct {
	const char *name;
	gint64 size;
} Unit;

static gboolean parse_with_unit(const char *text, const char *what, const char *kind,
	const char *remedy, const Unit *units, gint64 max, gint64 *out, GError **error)
{
	PipesimDecimal decimal;
	const char *end = text + pipesim_decimal_read(text, strlen(text), &decimal);
	const char *name;
	const Unit *unit;

	if (*text == '-')
		return pipesim_refuse(
			error, "%s: '%s' is negative; %s is 0 or more", what, text, kind);
	/* Neither "+1" nor "1." nor "1e". */
	if (end == text || *text == '+' || end[-1] == '.' || *end == 'e' || *end == 'E')
		return pipesim_refuse(
			error, "%s: '%s' is not %s; %s", what, text, kind, remedy);
	for (name = end; *name == ' ';)
		name++;
	for (unit = units; unit->name != NULL && strcmp(unit->name, name) != 0;)
		unit++;
	if (unit->name == NULL)
		return pipesim_refuse(
			error, "%s: '%s' has unknown unit '%s'; %s", what, text, end, remedy);
	if (!pipesim_decimal_scale(&decimal, unit->size, max, out))
		return pipesim_refuse(error, "%s: '%s' is too large", what, text);
	return TRUE;
}

gboolean pipesim_parse_time(const char *text, const char *what, gint64 *ns, GError **error)
{
	static const Unit units[] = {
		{"", 1000000},
		{"ns", 1},
		{"us", 1000},
		{"ms", 1000000},
		{"s", 1000000000},
		{NULL, 0},
	};

	return parse_with_unit(text, what, "a time",
		"write 1.5 (ms) or 1500us, with ns, us, ms or s", units, PIPESIM_MAX_TIME_NS,
		ns, error);
}

gboolean pipesim_parse_bytes(const char *text, const char *what, gint64 *bytes, GError **error)
{
	static const Unit units[] = {
		{"", 1},
		{"B", 1},
		{"kB", 1000},
		{"KB", 1000},
		{"MB", 1000000},
		{"GB", 1000000000},
		{"TB", 1000000000000},
		{"KiB", G_GINT64_CONSTANT(1) << 10},
		{"MiB", G_GINT64_CONSTANT(1) << 20},
		{"GiB", G_GINT64_CONSTANT(1) << 30},
		{"TiB", G_GINT64_CONSTANT(1) << 40},
		{NULL, 0},
	};

	return parse_with_unit(text, what, "a size",
		"write bytes, or 58.7MB, 80GiB with kB, MB, GB, TB, KiB, MiB, GiB or TiB",
		units, PIPESIM_MAX_TIME_NS, bytes, error);
}

gboolean pipesim_parse_bandwidth(
	const char *text, const char *what, gint64 *bytes_per_second, GError **error)
{
	g_autofree char *amount = g_strdup(text);

	if (g_str_has_suffix(amount, "/s"))
		amount[strlen(amount) - 2] = '\0';
	gboolean bits = g_str_has_suffix(amount, "bit");
	if (bits)
		strcpy(amount + strlen(amount) - 3, "B");
	if (!pipesim_parse_bytes(amount, what, bytes_per_second, NULL))
		return pipesim_refuse(error,
			"%s: '%s' is not a bandwidth; write bytes per second, for example "
			"50GB/s or 400Gbit/s",
			what, text);
	if (bits)
		*bytes_per_second /= 8;
	return *bytes_per_second > 0 ||
	       pipesim_refuse(error,
		       "%s: '%s' is no bandwidth; leave it out for an unlimited one", what,
		       text);
}

gboolean pipesim_parse_fraction(
	const char *text, const char *what, PipesimFraction *out, GError **error)
{
	static const Unit plain[] = {{"", 1000000000}, {NULL, 0}};
	const gint64 limit = G_GINT64_CONSTANT(1000000000) * 1000000000;
	gint64 value;

	if (!parse_with_unit(text, what, "a factor", "write a decimal such as 1.25", plain,
		    limit, &value, error))
		return FALSE;
	*out = (PipesimFraction){value, 1000000000};
	for (int i = 0; i < 9 && out->num % 10 == 0; i++) {
		out->num /= 10;
		out->den /= 10;
	}
	return TRUE;
}

const char *pipesim_print_ms(PipesimNumber out, gint64 ns)
{
	pipesim_print_ms_fixed(out, ns, 6);
	char *p = out + strlen(out);
	while (p[-1] == '0')
		*--p = '\0';
	if (p[-1] == '.')
		*--p = '\0';
	return out;
}

const char *pipesim_print_ms_fixed(PipesimNumber out, gint64 ns, guint decimals)
{
	static const guint64 unit[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
	const guint64 magnitude = ns < 0 ? -(guint64)ns : (guint64)ns;
	const guint64 ticks =
		magnitude / unit[decimals] +
		(magnitude % unit[decimals] >= (unit[decimals] + 1) / 2 && decimals < 6);
	const guint64 per_ms = 1000000 / unit[decimals];
	const char *sign = ns < 0 && ticks > 0 ? "-" : "";

	if (decimals == 0)
		g_snprintf(out, PIPESIM_NUMBER_LENGTH, "%s%" G_GUINT64_FORMAT, sign, ticks);
	else
		g_snprintf(out, PIPESIM_NUMBER_LENGTH,
			"%s%" G_GUINT64_FORMAT ".%0*" G_GUINT64_FORMAT, sign, ticks / per_ms,
			(int)decimals, ticks % per_ms);
	return out;
}

const char *pipesim_print_double(PipesimNumber out, double value)
{
	g_return_val_if_fail(isfinite(value), NULL);
	/* %g would write 20 as 2e+01, which is no shorter. */
	if (value == trunc(value) && fabs(value) < 1e15)
		return g_ascii_formatd(out, PIPESIM_NUMBER_LENGTH, "%.0f", value);
	/* Whatever has up to 15 digits comes back at 15, and %g drops zeros at the end. */
	for (int digits = 15; digits <= 17; digits++) {
		char format[8];

		g_snprintf(format, sizeof format, "%%.%dg", digits);
		g_ascii_formatd(out, PIPESIM_NUMBER_LENGTH, format, value);
		if (g_ascii_strtod(out, NULL) == value)
			break;
	}
	return out;
}

const char *pipesim_print_bytes(PipesimNumber out, gint64 bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	guint unit = 0;

	if (ABS(value) < 1024) {
		g_snprintf(out, PIPESIM_NUMBER_LENGTH, "%" G_GINT64_FORMAT " B", bytes);
		return out;
	}
	for (value /= 1024; ABS(value) >= 999.5 && unit + 1 < G_N_ELEMENTS(units); unit++)
		value /= 1024;
	g_ascii_formatd(out, PIPESIM_NUMBER_LENGTH,
		ABS(value) < 9.995   ? "%.2f"
		: ABS(value) < 99.95 ? "%.1f"
				     : "%.0f",
		value);
	g_strlcat(out, " ", PIPESIM_NUMBER_LENGTH);
	g_strlcat(out, units[unit], PIPESIM_NUMBER_LENGTH);
	return out;
}

const char *pipesim_print_least_bytes(PipesimNumber out, gint64 bytes)
{
	gint64 shown;

	pipesim_print_bytes(out, bytes);
	char *space = strchr(out, ' ');
	if (space != NULL)
		memmove(space, space + 1, strlen(space));
	if (!pipesim_parse_bytes(out, "", &shown, NULL) || shown < bytes)
		g_snprintf(out, PIPESIM_NUMBER_LENGTH, "%" G_GINT64_FORMAT, bytes);
	return out;
}

gint64 pipesim_time_scale(gint64 ns, gint64 num, gint64 den)
{
	__extension__ typedef __int128 Wide;

	if (num == den || ns == 0)
		return ns;
	Wide value = ((Wide)ns * num + den / 2) / den;
	return value > G_MAXINT64 ? G_MAXINT64 : (gint64)value;
}

gint64 pipesim_gcd(gint64 a, gint64 b)
{
	while (b != 0) {
		const gint64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}
