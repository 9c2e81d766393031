#include "config.h"

#include <string.h>

#include "output/figures.h"

double pipesim_figure_fraction(PipesimFraction value)
{
	return (double)value.num / (double)value.den;
}

double pipesim_figure_activations(const PipesimReport *report, guint chunks)
{
	return chunks * pipesim_figure_fraction(report->held.unit);
}

const char *pipesim_figure_extension(const PipesimRun *run)
{
	if (run->schedule == NULL || run->schedule->extension == NULL)
		return NULL;
	return run->schedule->extension(&run->shape);
}

const char *pipesim_figure_search(const PipesimRun *run)
{
	return run->order != NULL ? run->order->note : NULL;
}

void pipesim_figure_fixed(GString *out, double value, guint decimals)
{
	char format[] = "%.0f";
	char text[G_ASCII_DTOSTR_BUF_SIZE * 10];

	format[2] = (char)('0' + MIN(decimals, 9));
	g_string_append(out, g_ascii_formatd(text, sizeof(text), format, value));
}

void pipesim_figure_short(GString *out, double value, guint decimals)
{
	gsize begin = out->len;

	pipesim_figure_fixed(out, value, decimals);
	if (strchr(out->str + begin, '.') == NULL)
		return;
	while (out->str[out->len - 1] == '0')
		g_string_truncate(out, out->len - 1);
	if (out->str[out->len - 1] == '.')
		g_string_truncate(out, out->len - 1);
}
