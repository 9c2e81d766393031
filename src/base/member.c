#include "base/base.h"

const char *pipesim_kind_words(PipesimFigureKind kind)
{
	static const char *const words[] = {
		[PIPESIM_TIME] = "ms",
		[PIPESIM_NS] = "ns",
		[PIPESIM_US] = "us",
		[PIPESIM_BYTES] = "bytes",
		[PIPESIM_MILLIONTHS] = "ppm",
		[PIPESIM_YES_OR_NO] = "true or false",
		[PIPESIM_OP] = "op",
		[PIPESIM_LINK] = "link",
		[PIPESIM_SHARE] = "share",
		[PIPESIM_FACTOR] = "number",
		[PIPESIM_MS] = "ms",
		[PIPESIM_ACTIVATIONS] = "stages of a micro-batch",
		[PIPESIM_TEXT] = "text",
		[PIPESIM_TEXTS] = "texts",
		[PIPESIM_NESTED] = "texts",
	};

	return kind < G_N_ELEMENTS(words) && words[kind] != NULL ? words[kind] : "count";
}

PipesimValue pipesim_value_nothing(PipesimFigureKind kind)
{
	if (kind >= PIPESIM_TEXT)
		return (PipesimValue){.text = NULL};
	return kind >= PIPESIM_SHARE ? (PipesimValue){.number = NAN}
				     : (PipesimValue){.integer = PIPESIM_NOTHING};
}

gboolean pipesim_value_known(PipesimFigureKind kind, PipesimValue value)
{
	if (kind >= PIPESIM_TEXT)
		return value.text != NULL;
	return kind >= PIPESIM_SHARE ? isfinite(value.number)
				     : value.integer != PIPESIM_NOTHING;
}

/* Exact. */
static void append_us(GString *out, gint64 ns)
{
	gint64 rest = ns % 1000;
	int digits = 3;

	g_string_append_printf(out, "%" G_GINT64_FORMAT, ns / 1000);
	if (rest == 0)
		return;
	for (; rest % 10 == 0; digits--)
		rest /= 10;
	g_string_append_printf(out, ".%0*d", digits, (int)rest);
}

void pipesim_value_plain(GString *out, PipesimFigureKind kind, PipesimValue value)
{
	if (!pipesim_value_known(kind, value))
		return;
	if (kind == PIPESIM_TIME)
		g_string_append(out, pipesim_ms(value.integer));
	else if (kind == PIPESIM_US)
		append_us(out, value.integer);
	else if (kind == PIPESIM_YES_OR_NO)
		g_string_append(out, value.integer ? "true" : "false");
	else if (kind < PIPESIM_SHARE)
		g_string_append_printf(out, "%" G_GINT64_FORMAT, value.integer);
	else if (kind == PIPESIM_WIDE && value.number < 9e15)
		g_string_append_printf(out, "%" G_GINT64_FORMAT, (gint64)value.number);
	else if (kind < PIPESIM_TEXT)
		g_string_append(out, pipesim_double(value.number));
	else
		g_string_append(out, value.text);
}

void pipesim_csv_quote(GString *out, const char *text)
{
	if (strpbrk(text, ",\"\r\n") == NULL) {
		g_string_append(out, text);
		return;
	}
	g_string_append_c(out, '"');
	for (; *text != '\0'; text++) {
		if (*text == '"')
			g_string_append_c(out, '"');
		g_string_append_c(out, *text);
	}
	g_string_append_c(out, '"');
}
