#include "config.h"

#include "output/figures.h"
#include "output/samples.h"

static gboolean is_column(const PipesimFigure *figure, const PipesimComparison *comparison)
{
	return figure->csv != NULL && pipesim_figure_asked(figure, comparison);
}

static void write_csv(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_autoptr(GString) notices = g_string_new(NULL);

	for (guint i = 0; comparison->notices != NULL && i < comparison->notices->len; i++)
		g_string_append_printf(notices, "%s%s", i > 0 ? "; " : "",
			(char *)g_ptr_array_index(comparison->notices, i));
	g_string_append(out, "schedule");
	for (guint i = 0; i < pipesim_n_figures; i++)
		if (is_column(&pipesim_figures[i], comparison))
			g_string_append_printf(out, ",%s", pipesim_figures[i].csv);
	pipesim_samples_csv_titles(comparison, out);
	g_string_append(out, ",notices\n");
	for (guint k = 0; k < comparison->runs->len; k++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, k);

		pipesim_csv_quote(out, run->name);
		for (guint i = 0; i < pipesim_n_figures; i++) {
			const PipesimFigure *figure = &pipesim_figures[i];
			PipesimValue value;

			if (!is_column(figure, comparison))
				continue;
			value = pipesim_figure_value(figure, comparison, run, 0);

			g_string_append_c(out, ',');
			if (figure->kind == PIPESIM_TEXT && value.text != NULL)
				pipesim_csv_quote(out, value.text);
			else
				pipesim_value_plain(out, figure->kind, value);
		}
		pipesim_samples_csv_run(comparison, run, out);
		g_string_append_c(out, ',');
		pipesim_csv_quote(out, notices->str);
		g_string_append_c(out, '\n');
	}
}

const PipesimOutput pipesim_output_csv = {
	.name = "csv",
	.extension = "csv",
	.summary = "one line a schedule, for spreadsheets",
	.keep = PIPESIM_KEEP_NOTHING,
	.write = write_csv,
};
