#include "config.h"

#include "sweep/range.h"
#include <string.h>

#define MAX_VALUES 1000000

/* A number times 10^9: exact for 9 decimals, and wide enough for bytes. */
__extension__ typedef __int128 Nano;
#define DECIMALS 9
#define ONE      ((Nano)1000000000)
#define MOST     ((Nano)G_MAXINT64 * ONE)

static gboolean parse(const char *text, Nano *out)
{
	guint decimals = 0;
	gboolean point = FALSE, any = FALSE;

	*out = 0;
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '.' && !point) {
			point = TRUE;
			continue;
		}
		if (!g_ascii_isdigit(*c) || *out > MOST || (point && ++decimals > DECIMALS))
			return FALSE;
		*out = *out * 10 + (*c - '0');
		any = TRUE;
	}
	for (; decimals < DECIMALS; decimals++)
		*out *= 10;
	return any && *out <= MOST;
}

/* Without zeros behind the point. */
static char *print(Nano value)
{
	gint64 whole = (gint64)(value / ONE), rest = (gint64)(value % ONE);
	int decimals = DECIMALS;

	for (; rest != 0 && rest % 10 == 0; rest /= 10)
		decimals--;
	if (rest == 0)
		return g_strdup_printf("%" G_GINT64_FORMAT, whole);
	return g_strdup_printf(
		"%" G_GINT64_FORMAT ".%0*" G_GINT64_FORMAT, whole, decimals, rest);
}

/* From one number to the next, by adding or multiplying. */
typedef struct {
	Nano by;
	gboolean multiply;
} Step;

/* A number that does not grow never comes to the end. */
static gboolean parse_step(const char *text, Step *step)
{
	step->multiply = *text == '*';
	if (*text == '*' || *text == '+')
		text++;
	return parse(text, &step->by) && step->by > (step->multiply ? ONE : 0);
}

static Nano next(Nano value, const Step *step)
{
	if (!step->multiply)
		return value + step->by;
	return MAX(value + 1,
		(value / ONE) * step->by + ((value % ONE) * step->by + ONE / 2) / ONE);
}

static gboolean expand(Nano from, Nano to, const Step *step, const char *what,
	GPtrArray *values, GError **error)
{
	for (Nano value = from; value <= to; value = next(value, step)) {
		if (values->len == MAX_VALUES)
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"%s: more than %d values; take larger steps", what, MAX_VALUES);
		g_ptr_array_add(values, print(value));
	}
	return TRUE;
}

gboolean pipesim_range_expand(
	const char *text, const char *what, GPtrArray *values, GError **error)
{
	g_auto(GStrv) parts = g_strsplit(text, ":", 3);
	const guint n = g_strv_length(parts);
	Step step = {ONE, FALSE};
	Nano from, to;

	if (n == 0 || !parse(parts[0], &from) || (n > 1 && !parse(parts[1], &to)))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: '%s' is no number or range; write 8, 4:64:*2 or 1:2:0.25", what,
			text);
	if (n == 1)
		to = from;
	if (n == 3 && !parse_step(parts[2], &step))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: '%s' is no step; more than 0, or '*' and more than 1", what,
			parts[2]);
	if (to < from)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: range '%s' ends before it begins", what, text);
	if (step.multiply && from == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: range '%s' multiplies 0; begin above it", what, text);
	return expand(from, to, &step, what, values, error);
}
