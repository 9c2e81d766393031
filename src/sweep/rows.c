#include "config.h"

#include "base/json.h"
#include "output/table.h"

#include "setup/setting.h"
#include "sweep/rows.h"
#include <string.h>

static void append_text(GString *out, PipesimRowFormat format, const char *text)
{
	if (format == PIPESIM_ROWS_JSONL) {
		g_autoptr(PipesimJson) json = pipesim_json_new(out);

		pipesim_json_string(json, text);
	} else {
		pipesim_csv_quote(out, text);
	}
}

static gboolean is_column(const PipesimSweepTitles *titles, const PipesimFigure *figure)
{
	return figure->sweep != NULL && (!figure->of_training || titles->training) &&
	       (!figure->of_power || titles->power) && (!figure->of_host || titles->host);
}

void pipesim_rows_header(const PipesimSweepTitles *titles, GString *out)
{
	if (titles->format != PIPESIM_ROWS_CSV)
		return;
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		g_string_append_printf(
			out, "%s,", pipesim_grid_axis(titles->grid, axis)->column);
	g_string_append(out, "schedule");
	for (guint i = 0; i < pipesim_n_figures; i++)
		if (is_column(titles, &pipesim_figures[i]))
			g_string_append_printf(out, ",%s", pipesim_figures[i].sweep);
	g_string_append(out, ",error,notices\n");
}

void pipesim_rows_key(
	const PipesimSweepTitles *titles, guint64 point, guint schedule, GString *out)
{
	const gboolean json = titles->format == PIPESIM_ROWS_JSONL;

	g_string_append(out, json ? "{" : "");
	for (guint i = 0; i < pipesim_grid_axes(titles->grid); i++) {
		const PipesimAxis *axis = pipesim_grid_axis(titles->grid, i);
		const char *value = g_ptr_array_index(
			axis->values, pipesim_grid_index(titles->grid, point, i));

		if (json)
			g_string_append_printf(out, "\"%s\": %s, ", axis->column, value);
		else
			g_string_append_printf(out, "%s,", value);
	}
	g_string_append(out, json ? "\"schedule\": " : "");
	append_text(out, titles->format, titles->names[schedule]);
}

/* Once a sweep, not once a row. */
static void append_notices(const PipesimSweepTitles *titles, gboolean first, GString *out)
{
	const guint n = first && titles->notices != NULL ? titles->notices->len : 0;
	const gboolean json = titles->format == PIPESIM_ROWS_JSONL;
	g_autoptr(GString) all = g_string_new(NULL);

	for (guint i = 0; i < n; i++) {
		const char *notice = g_ptr_array_index(titles->notices, i);

		g_string_append(all, i == 0 ? "" : json ? ", " : "; ");
		if (json)
			append_text(all, titles->format, notice);
		else
			g_string_append(all, notice);
	}
	if (json && first) {
		g_string_append_printf(out, ", \"notices\": [%s]", all->str);
	} else if (!json) {
		g_string_append_c(out, ',');
		pipesim_csv_quote(out, all->str);
	}
}

/* In JSON a schedule that refused has no figures. */
static void append_result(const PipesimSweepTitles *titles, gboolean first,
	const PipesimSweepResult *result, GString *out)
{
	const PipesimRowFormat format = titles->format;
	const gboolean json = format == PIPESIM_ROWS_JSONL;

	for (guint i = 0; i < pipesim_n_figures; i++) {
		const PipesimFigure *figure = &pipesim_figures[i];

		if (!is_column(titles, figure) || (json && result->error != NULL))
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
	append_notices(titles, first, out);
	g_string_append(out, json ? "}\n" : "\n");
}

void pipesim_rows_append(
	const PipesimSweepTitles *titles, const PipesimSweepBlock *block, GString *out)
{
	for (guint i = 0; i < block->n_points; i++)
		for (guint k = 0; k < block->width; k++) {
			pipesim_rows_key(titles, block->first + i, k, out);
			append_result(titles, block->first + i == 0 && k == 0,
				&block->results[(gsize)i * block->width + k], out);
		}
}

static void put_header(gconstpointer data, GString *out)
{
	pipesim_rows_header(data, out);
}

static void put_key(gconstpointer data, guint64 point, guint line, GString *out)
{
	pipesim_rows_key(data, point, line, out);
}

static void put_rows(gconstpointer data, const PipesimSweepBlock *block, GString *out)
{
	pipesim_rows_append(data, block, out);
}

PipesimRows pipesim_rows_of_sweep(const PipesimSweepTitles *titles)
{
	return (PipesimRows){.width = g_strv_length((char **)titles->names),
		.titled = titles->format == PIPESIM_ROWS_CSV,
		.header = put_header,
		.key = put_key,
		.append = put_rows,
		.data = titles};
}

gboolean pipesim_rows_format(
	const char *format, const char *path, PipesimRowFormat *rows, GError **error)
{
	static const char *const names[] = {"text", "csv", "jsonl"};

	*rows = PIPESIM_ROWS_TEXT;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *extension = g_strconcat(".", names[i], NULL);

		if (format != NULL
				? strcmp(format, names[i]) == 0
				: path != NULL && i > 0 && g_str_has_suffix(path, extension)) {
			*rows = (PipesimRowFormat)i;
			return TRUE;
		}
	}
	return format == NULL || pipesim_fail(error, PIPESIM_ERROR_USAGE,
					 "unknown format '%s'; text, csv or jsonl", format);
}

/* Table for people ------------------------------------------------------------------------- */

#define WIDTH 120

/* Figures of the best, between the columns of its name and of the next one. */
static const struct {
	PipesimFigureId id;
	PipesimColumn column;
} figures[] = {
	{PIPESIM_FIGURE_MAKESPAN, {"makespan", "ms", FALSE}},
	{PIPESIM_FIGURE_IDLE, {"bubble", "max ms", FALSE}},
	{PIPESIM_FIGURE_RATIO, {"bubble", "%", FALSE}},
	{PIPESIM_FIGURE_HELD, {"peak", "activations", FALSE}},
	{PIPESIM_FIGURE_MEMORY, {"peak", "memory", FALSE}},
};

enum {
	BEST,
	FIGURES,
	NEXT = FIGURES + G_N_ELEMENTS(figures),
	BEHIND,
	N_COLUMNS
};

/* Work done a second and rank: larger is better; -1 where there is nothing to compare. */
static double rate(const PipesimSweepResult *result)
{
	const PipesimValue *values = result->values;

	if (result->error != NULL || values[PIPESIM_FIGURE_FITS].integer == FALSE)
		return -1;
	return (double)values[PIPESIM_FIGURE_MICROBATCHES].integer /
	       ((double)MAX(values[PIPESIM_FIGURE_MAKESPAN].integer, 1) *
		       (double)values[PIPESIM_FIGURE_RANKS].integer);
}

int pipesim_rows_best(const PipesimSweepResult *results, guint width, int without)
{
	int best = -1;

	for (guint i = 0; i < width; i++)
		if ((int)i != without && rate(&results[i]) >= 0 &&
			(best < 0 || rate(&results[i]) > rate(&results[best])))
			best = (int)i;
	return best;
}

double pipesim_rows_ahead(const PipesimSweepResult *best, const PipesimSweepResult *next)
{
	return rate(best) / rate(next) - 1;
}

static void add_point(const PipesimSweepTitles *titles, PipesimTable *table, guint64 point,
	const PipesimSweepResult *results, guint width)
{
	static const PipesimNumbers numbers = {.decimals = 3, .activations = 2};
	const guint axes = pipesim_grid_axes(titles->grid);
	g_autofree char **cells = g_new0(char *, axes + N_COLUMNS);
	const int best = pipesim_rows_best(results, width, -1);
	const int next = pipesim_rows_best(results, width, best);
	PipesimNumber number;

	for (guint axis = 0; axis < axes; axis++)
		cells[axis] = g_strdup(
			g_ptr_array_index(pipesim_grid_axis(titles->grid, axis)->values,
				pipesim_grid_index(titles->grid, point, axis)));
	cells[axes + BEST] = g_strdup(best < 0 ? "none runs or fits" : titles->names[best]);
	for (guint i = 0; best >= 0 && i < G_N_ELEMENTS(figures); i++)
		cells[axes + FIGURES + i] =
			pipesim_value_print(pipesim_figure(figures[i].id)->kind,
				results[best].values[figures[i].id], &numbers);
	if (best >= 0 && next >= 0) {
		cells[axes + NEXT] = g_strdup(titles->names[next]);
		cells[axes + BEHIND] = g_strdup(pipesim_figure_fixed(
			number, 100 * pipesim_rows_ahead(&results[best], &results[next]), 1));
	}
	pipesim_table_add(table, PIPESIM_ROW_PLAIN, cells);
}

/* Whether @axis is of what one chooses, the shape of the job and its runtime, not of what its ops are. */
static gboolean is_choice(const PipesimAxis *axis)
{
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		g_autofree char *name = g_strdup(setting->name + strlen("--"));
		const gsize length = strlen(name);

		g_strdelimit(name, "-", '_');
		if (strncmp(axis->name, name, length) == 0 &&
			(axis->name[length] == '\0' || axis->name[length] == '_') &&
			(setting->group == PIPESIM_ALL_SHAPE ||
				setting->group == PIPESIM_ALL_RUNTIME))
			return TRUE;
	}
	return FALSE;
}

/* The point and schedule with most work done a second and rank, the first of equals, where choices alone are
 * swept. */
static void append_best(const PipesimSweepTitles *titles, const GPtrArray *blocks, GString *out)
{
	static const PipesimNumbers numbers = {.decimals = 3};
	const PipesimSweepResult *found = NULL;
	guint64 at = 0;
	guint schedule = 0;
	g_autofree char *makespan = NULL;
	g_autoptr(GString) line = g_string_new("Best:");

	for (guint i = 0; i < blocks->len; i++) {
		const PipesimSweepBlock *block = g_ptr_array_index(blocks, i);

		for (guint k = 0; k < block->n_points * block->width; k++) {
			const PipesimSweepResult *result = &block->results[k];

			if (rate(result) < 0 || (found != NULL && rate(result) <= rate(found)))
				continue;
			found = result;
			at = block->first + k / block->width;
			schedule = k % block->width;
		}
	}
	if (found == NULL || pipesim_grid_points(titles->grid) == 1)
		return;
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++) {
		const PipesimAxis *swept = pipesim_grid_axis(titles->grid, axis);

		if (swept->values->len > 1 && !is_choice(swept))
			return;
	}
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++) {
		const PipesimAxis *swept = pipesim_grid_axis(titles->grid, axis);

		if (swept->values->len > 1)
			g_string_append_printf(line, " %s %s,", swept->column,
				(const char *)g_ptr_array_index(swept->values,
					pipesim_grid_index(titles->grid, at, axis)));
	}
	makespan = pipesim_value_print(
		PIPESIM_TIME, found->values[PIPESIM_FIGURE_MAKESPAN], &numbers);
	g_string_append_printf(line, " %s, %s ms (most work per second and rank)",
		titles->names[schedule], makespan);
	g_string_append_c(out, '\n');
	pipesim_wrap(out, line->str, 2, 0, WIDTH);
	g_string_append_c(out, '\n');
}

void pipesim_rows_table(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	const PipesimStyle *style, GString *out)
{
	const guint axes = pipesim_grid_axes(titles->grid);
	g_autofree PipesimColumn *columns = g_new(PipesimColumn, axes + N_COLUMNS);
	g_autoptr(PipesimTable) table = NULL;

	for (guint axis = 0; axis < axes; axis++)
		columns[axis] = (PipesimColumn){
			NULL, pipesim_grid_axis(titles->grid, axis)->column, FALSE};
	columns[axes + BEST] = (PipesimColumn){NULL, "best", TRUE};
	for (guint i = 0; i < G_N_ELEMENTS(figures); i++)
		columns[axes + FIGURES + i] = figures[i].column;
	columns[axes + NEXT] = (PipesimColumn){"next", "schedule", TRUE};
	columns[axes + BEHIND] = (PipesimColumn){"next", "by %", FALSE};
	table = pipesim_table_new(columns, axes + N_COLUMNS);
	for (guint i = 0; i < blocks->len; i++) {
		const PipesimSweepBlock *block = g_ptr_array_index(blocks, i);

		for (guint k = 0; k < block->n_points; k++)
			add_point(titles, table, block->first + k,
				&block->results[(gsize)k * block->width], block->width);
	}
	pipesim_table_print(table, WIDTH, style, out);
	append_best(titles, blocks, out);
}
