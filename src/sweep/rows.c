#include "config.h"

#include "base/json.h"
#include "sweep/rows.h"

static void append_text(GString *out, PipesimRowFormat format, const char *text)
{
	if (format == PIPESIM_ROWS_JSONL) {
		g_autoptr(GString) line = g_string_new(NULL);
		PipesimJson *json = pipesim_json_new(line);

		pipesim_json_open_line(json);
		pipesim_json_member_string(json, "s", text);
		pipesim_json_close(json);
		pipesim_json_free(json);
		/* {"s": "..."} */
		g_string_append_len(out, line->str + 6, (gssize)line->len - 8);
	} else {
		pipesim_figure_quote(out, text);
	}
}

void pipesim_rows_header(
	const PipesimSweepTitles *titles, PipesimRowFormat format, GString *out)
{
	if (format != PIPESIM_ROWS_CSV)
		return;
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		g_string_append_printf(out, "%s,", pipesim_grid_axis(titles->grid, axis)->name);
	g_string_append(out, "schedule");
	for (guint i = 0; i < pipesim_n_figures; i++)
		if (pipesim_figures[i].sweep != NULL)
			g_string_append_printf(out, ",%s", pipesim_figures[i].sweep);
	g_string_append(out, ",error\n");
}

void pipesim_rows_key(const PipesimSweepTitles *titles, PipesimRowFormat format, guint64 point,
	guint schedule, GString *out)
{
	const gboolean json = format == PIPESIM_ROWS_JSONL;

	g_string_append(out, json ? "{" : "");
	for (guint i = 0; i < pipesim_grid_axes(titles->grid); i++) {
		const PipesimAxis *axis = pipesim_grid_axis(titles->grid, i);
		const char *value = g_ptr_array_index(
			axis->values, pipesim_grid_index(titles->grid, point, i));

		if (json)
			g_string_append_printf(out, "\"%s\": %s, ", axis->name, value);
		else
			g_string_append_printf(out, "%s,", value);
	}
	g_string_append(out, json ? "\"schedule\": " : "");
	append_text(out, format, titles->names[schedule]);
}

/* In JSON a schedule that refused has no figures. */
static void append_result(
	GString *out, PipesimRowFormat format, const PipesimSweepResult *result)
{
	const gboolean json = format == PIPESIM_ROWS_JSONL;

	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];

		if (figure->sweep == NULL || (json && result->error != NULL))
			continue;
		if (json)
			g_string_append_printf(out, ", \"%s\": ", figure->sweep);
		else
			g_string_append_c(out, ',');
		if (result->error == NULL &&
			pipesim_value_known(figure->kind, result->values[figure->id]))
			pipesim_value_plain(out, figure->kind, result->values[figure->id]);
		else if (json)
			g_string_append(out, "null");
	}
	g_string_append(out, json ? ", \"error\": " : ",");
	if (result->error != NULL)
		append_text(out, format, result->error);
	else
		g_string_append(out, json ? "null" : "");
	g_string_append(out, json ? "}\n" : "\n");
}

void pipesim_rows_append(const PipesimSweepTitles *titles, PipesimRowFormat format,
	const PipesimSweepBlock *block, GString *out)
{
	for (guint i = 0; i < block->n_points; i++)
		for (guint k = 0; k < block->width; k++) {
			pipesim_rows_key(titles, format, block->first + i, k, out);
			append_result(
				out, format, &block->results[(gsize)i * block->width + k]);
		}
}
