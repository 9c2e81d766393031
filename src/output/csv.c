#include "output/figures.h"
#include "output/samples.h"

static void write_csv(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_autoptr(GString) notices = g_string_new(NULL);

	for (guint i = 0; comparison->notices != NULL && i < comparison->notices->len; i++)
		g_string_append_printf(notices, "%s%s", i > 0 ? "; " : "",
			(char *)g_ptr_array_index(comparison->notices, i));
	for (guint k = 0; k <= comparison->runs->len; k++) {
		const PipesimRun *run = k > 0 ? comparison->runs->pdata[k - 1] : NULL;
		g_autoptr(PipesimJson) csv = pipesim_json_new_csv(out, run == NULL);

		PIPESIM_MEMBER(csv, "schedule", TEXT, run->name);
		for (guint i = 0; i < pipesim_n_figures; i++) {
			const PipesimFigure *figure = &pipesim_figures[i];

			if (figure->csv != NULL && pipesim_figure_asked(figure, comparison))
				pipesim_figure_member(
					csv, figure->csv, figure, comparison, run, 0);
		}
		pipesim_samples_columns(csv, comparison, run);
		PIPESIM_MEMBER(csv, "notices", TEXT, notices->str);
		pipesim_json_end_line(csv);
	}
}

const PipesimOutput pipesim_output_csv = {
	.name = "csv",
	.extension = "csv",
	.summary = "one line a schedule, for spreadsheets",
	.keep = PIPESIM_KEEP_NOTHING,
	.write = write_csv,
};
