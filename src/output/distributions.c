/* How measured times are spread. */
#include "output/gnuplot.h"
#include "output/output.h"

/* Quarters and twentieths among the quantiles. */
enum {
	P5 = 1,
	P25 = 5,
	P75 = 15,
	P95 = 19
};

static void append_script(
	const PipesimCosts *costs, guint n, const char *tics, PipesimGnuplot *picture)
{
	GString *out = picture->script;

	g_string_append(out, "# Spread of measured times. To draw it again, in this folder, "
			     "run gnuplot on this file.\n");
	pipesim_gnuplot_begin(picture, 900, 130 + 26 * n);
	pipesim_gnuplot_quote(out, "\nset title ", costs->source != NULL ? costs->source : "",
		"\nset xlabel 'against the median, %% (box: quarters; line: 5 to 95 %%; dots: "
		"extremes)'\n"
		"set yrange [%u.5:0.5]\n"
		"set grid xtics\n"
		"set style fill solid 0.4\n"
		"unset key\n"
		"set ytics (%s)\n",
		n, tics);
	g_string_append(out, "plot data using 2:1:2:5 with xerrorbars pointsize 0 linecolor "
			     "rgb '#404040', \\\n"
			     "\tdata using (0):1:3:4:($1-0.3):($1+0.3) with boxxyerror "
			     "linecolor rgb '#4477aa', \\\n"
			     "\tdata using (0):($1-0.3):(0):(0.6) with vectors nohead "
			     "linewidth 2 linecolor rgb '#aa3377', \\\n"
			     "\tdata using 6:1 with points pointtype 7 pointsize 0.3 linecolor "
			     "rgb '#404040', \\\n"
			     "\tdata using 7:1 with points pointtype 7 pointsize 0.3 linecolor "
			     "rgb '#404040'\n");
}

gboolean pipesim_distributions_write(
	const PipesimCosts *costs, const char *path, const char *gnuplot, GError **error)
{
	g_autoptr(GString) tics = g_string_new(NULL);
	g_autoptr(GString) data = g_string_new(
		"# place 5% 25% 75% 95% minimum maximum, per cent of the median\n");
	guint n = 0;

	pipesim_each_in (const PipesimComponent, component, costs->components) {
		const PipesimDistribution *figures = &component->figures;
		const gint64 *quantile = figures->quantile;
		const gint64 drawn[] = {quantile[P5], quantile[P25], quantile[P75],
			quantile[P95], figures->min, figures->max};
		const double median = (double)figures->median;

		if (figures->samples <= 1 || figures->median <= 0)
			continue;
		g_string_append_printf(data, "%u", ++n);
		for (guint k = 0; k < G_N_ELEMENTS(drawn); k++)
			g_string_append_printf(data, " %s",
				pipesim_double(
					100 * (double)(drawn[k] - figures->median) / median));
		g_string_append_c(data, '\n');
		g_autofree char *label = g_strdup_printf("%s %s  %s ms", component->component,
			component->phase, pipesim_ms_fixed(figures->median, 3));
		pipesim_gnuplot_quote(tics, n > 1 ? ", \\\n\t" : " \\\n\t", label, " %u", n);
	}
	if (n == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"nothing to draw: no component was measured more than once");
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	if (picture == NULL)
		return FALSE;
	g_string_append(picture->data, data->str);
	append_script(costs, n, tics->str, picture);
	return pipesim_gnuplot_draw(picture, gnuplot, error);
}
