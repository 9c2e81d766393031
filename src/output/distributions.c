/* How measured times are spread. */
#include "config.h"

#include "output/gnuplot.h"
#include "output/output.h"

/* Quarters and twentieths among the quantiles. */
enum {
	P5 = 1,
	P25 = 5,
	P75 = 15,
	P95 = 19
};

static gboolean is_spread(const PipesimComponent *component)
{
	return component->figures.samples > 1 && component->figures.median > 0;
}

/* @ns against the median, per cent. */
static void append_share(GString *out, const PipesimComponent *component, gint64 ns)
{
	PipesimNumber text;

	g_string_append_printf(out, " %s",
		pipesim_print_double(text, 100 * (double)(ns - component->figures.median) /
						   (double)component->figures.median));
}

static void append_data(const GPtrArray *components, GString *out)
{
	guint place = 0;

	g_string_append(
		out, "# place 5% 25% 75% 95% minimum maximum, per cent of the median\n");
	for (guint i = 0; i < components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(components, i);
		if (!is_spread(component))
			continue;
		g_string_append_printf(out, "%u", ++place);
		append_share(out, component, component->figures.quantile[P5]);
		append_share(out, component, component->figures.quantile[P25]);
		append_share(out, component, component->figures.quantile[P75]);
		append_share(out, component, component->figures.quantile[P95]);
		append_share(out, component, component->figures.min);
		append_share(out, component, component->figures.max);
		g_string_append_c(out, '\n');
	}
}

static void append_tics(const GPtrArray *components, GString *out)
{
	guint place = 0;

	g_string_append(out, "set ytics (");
	for (guint i = 0; i < components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(components, i);
		PipesimNumber median;
		if (!is_spread(component))
			continue;
		g_autofree char *label =
			g_strdup_printf("%s %s  %s ms", component->component, component->phase,
				pipesim_print_ms_fixed(median, component->figures.median, 3));
		g_string_append(out, place > 0 ? ", \\\n\t" : " \\\n\t");
		pipesim_gnuplot_quote(out, label);
		g_string_append_printf(out, " %u", ++place);
	}
	g_string_append(out, ")\n");
}

static void append_script(const PipesimCosts *costs, guint n, PipesimGnuplot *picture)
{
	GString *out = picture->script;

	g_string_append(out,
		"# Spread of measured times. To draw it again, in this folder, run gnuplot "
		"on this file.\n");
	pipesim_gnuplot_files(picture);
	g_string_append_printf(out, "\nwidth = 900.0\nheight = %u.0\n", 130 + 26 * n);
	pipesim_gnuplot_terminal(picture);
	g_string_append(out, "\nset title ");
	pipesim_gnuplot_quote(out, costs->source != NULL ? costs->source : "");
	g_string_append_printf(out,
		"\nset xlabel 'against the median, %% (box: quarters; line: 5 to 95 %%; dots: "
		"extremes)'\n"
		"set yrange [%u.5:0.5]\n"
		"set grid xtics\n"
		"set style fill solid 0.4\n"
		"unset key\n",
		n);
	append_tics(costs->components, out);
	g_string_append(out,
		"plot data using 2:1:2:5 with xerrorbars pointsize 0 linecolor rgb '#404040', "
		"\\\n"
		"\tdata using (0):1:3:4:($1-0.3):($1+0.3) with boxxyerror linecolor rgb "
		"'#4477aa', \\\n"
		"\tdata using (0):($1-0.3):(0):(0.6) with vectors nohead linewidth 2 linecolor "
		"rgb '#aa3377', \\\n"
		"\tdata using 6:1 with points pointtype 7 pointsize 0.3 linecolor rgb "
		"'#404040', \\\n"
		"\tdata using 7:1 with points pointtype 7 pointsize 0.3 linecolor rgb "
		"'#404040'\n");
}

gboolean pipesim_distributions_write(
	const PipesimCosts *costs, const char *path, const char *gnuplot, GError **error)
{
	g_autoptr(PipesimGnuplot) picture = NULL;
	guint n = 0;

	for (guint i = 0; i < costs->components->len; i++)
		n += is_spread(g_ptr_array_index(costs->components, i));

	if (n == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"nothing to draw: no component was measured more than once");
	picture = pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	if (picture == NULL)
		return FALSE;
	append_data(costs->components, picture->data);
	append_script(costs, n, picture);
	return pipesim_gnuplot_draw(picture, gnuplot, error);
}
