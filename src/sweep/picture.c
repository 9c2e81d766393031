#include "config.h"

#include "output/gnuplot.h"
#include "sweep/picture.h"
#include <string.h>

#define MAX_PANELS   24
#define PANEL_WIDTH  420
#define PANEL_HEIGHT 320

static const struct {
	const char *name, *title;
	PipesimFigureId figure;
} metrics[] = {
	{"bubble", "bubble, % of all ranks' time", PIPESIM_FIGURE_RATIO},
	{"makespan", "makespan, ms", PIPESIM_FIGURE_MAKESPAN},
	{"microbatch", "makespan over micro-batches, ms", PIPESIM_FIGURE_MICROBATCH},
	{"activations", "peak activations, whole stages", PIPESIM_FIGURE_HELD},
};

gboolean pipesim_metric_find(const char *name, PipesimMetric *metric, GError **error)
{
	*metric = 0;
	for (guint i = 0; name != NULL && i < G_N_ELEMENTS(metrics); i++)
		if (strcmp(metrics[i].name, name) == 0) {
			*metric = i;
			return TRUE;
		}
	return name == NULL || pipesim_fail(error, PIPESIM_ERROR_USAGE,
				       "unknown metric '%s'; bubble, makespan, microbatch or "
				       "activations",
				       name);
}

/* Of a result that is one, in the unit of the title. */
static double value_of(const PipesimSweepResult *result, PipesimMetric metric)
{
	const PipesimFigure *figure = pipesim_figure(metrics[metric].figure);
	const PipesimValue value = result->values[figure->id];

	if (figure->kind == PIPESIM_TIME)
		return (double)value.integer / 1e6;
	return figure->kind == PIPESIM_SHARE ? 100 * value.number : value.number;
}

/* What both kinds of picture are drawn from. */
typedef struct {
	const PipesimSweepTitles *titles;
	const GPtrArray *blocks;
	PipesimMetric metric;
	guint across, up; /* axes; up = across where there is one only */
	guint n_schedules;
	guint64 n_panels;
	PipesimGnuplot *picture;
} Drawing;

static guint n_values(const Drawing *drawing, guint axis)
{
	return pipesim_grid_axis(drawing->titles->grid, axis)->values->len;
}

static const char *axis_text(const Drawing *drawing, guint axis, guint index)
{
	return g_ptr_array_index(pipesim_grid_axis(drawing->titles->grid, axis)->values, index);
}

/* One scale for all panels, so that they can be compared. */
static void append_scale(const Drawing *drawing, const char *set, GString *out)
{
	PipesimNumber from, to;
	double least = G_MAXDOUBLE, most = -G_MAXDOUBLE;

	for (guint i = 0; i < drawing->blocks->len; i++) {
		const PipesimSweepBlock *block = g_ptr_array_index(drawing->blocks, i);

		for (gsize k = 0; k < (gsize)block->n_points * block->width; k++) {
			double value;

			if (block->results[k].error != NULL)
				continue;
			value = value_of(&block->results[k], drawing->metric);
			least = MIN(least, value);
			most = MAX(most, value);
		}
	}
	if (least >= most) /* gnuplot wants a range that is one */
		return;
	g_string_append_printf(out, "set %s [%s:%s]\n", set, pipesim_print_double(from, least),
		pipesim_print_double(to, most));
}

/* Of one schedule at one point; NaN where it has no result. */
static void append_value(const Drawing *drawing, guint64 point, guint schedule, GString *out)
{
	const PipesimSweepBlock *block;
	const PipesimSweepResult *result = NULL;
	guint low = 0, high = drawing->blocks->len;
	PipesimNumber number;

	/* The last block that begins by the point. */
	while (high - low > 1) {
		const guint middle = low + (high - low) / 2;

		block = g_ptr_array_index(drawing->blocks, middle);
		if (block->first <= point)
			low = middle;
		else
			high = middle;
	}
	block = g_ptr_array_index(drawing->blocks, low);
	if (point >= block->first && point < block->first + block->n_points)
		result = &block->results[(gsize)(point - block->first) * block->width +
					 schedule];
	if (result == NULL || result->error != NULL)
		g_string_append(out, "NaN");
	else
		g_string_append(
			out, pipesim_print_double(number, value_of(result, drawing->metric)));
}

/* Script --------------------------------------------------------------------------------- */

static void append_title(const Drawing *drawing, guint axis, const char *set, GString *out)
{
	g_string_append_printf(out, "set %s ", set);
	pipesim_gnuplot_quote(out, pipesim_grid_axis(drawing->titles->grid, axis)->name);
	g_string_append_c(out, '\n');
}

/* Names @axis by its values: at most 12 of them. */
static void append_tics(const Drawing *drawing, guint axis, const char *set, GString *out)
{
	const guint n = n_values(drawing, axis), step = (n + 11) / 12;

	g_string_append_printf(out, "set %s (", set);
	for (guint i = 0; i < n; i += step) {
		if (i > 0)
			g_string_append(out, ", ");
		pipesim_gnuplot_quote(out, axis_text(drawing, axis, i));
		g_string_append_printf(out, " %u", i);
	}
	g_string_append(out, ")\n");
}

static void begin_script(const Drawing *drawing)
{
	GString *out = drawing->picture->script;
	const guint columns = (guint)MIN(drawing->n_panels, 3);
	const guint rows = (guint)((drawing->n_panels + columns - 1) / columns);

	g_string_append(
		out, "# gnuplot script; the rows of the sweep are in the .dat beside it\n");
	pipesim_gnuplot_files(drawing->picture);
	g_string_append_printf(out, "width = %u\nheight = %u\n", columns * PANEL_WIDTH + 60,
		rows * PANEL_HEIGHT + 60);
	pipesim_gnuplot_terminal(drawing->picture);
	g_string_append(out, "set datafile missing 'NaN'\nset tics nomirror out\n");
	g_string_append_printf(out, "set multiplot layout %u,%u title ", rows, columns);
	pipesim_gnuplot_quote(out, metrics[drawing->metric].title);
	g_string_append_c(out, '\n');
}

static gboolean check_path(const char *path, GError **error)
{
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);

	return picture != NULL;
}

static guint count_schedules(const PipesimSweepTitles *titles)
{
	return g_strv_length((char **)titles->names);
}

/* Heat map ------------------------------------------------------------------------------- */

/* The axes with more than one value. */
static guint find_swept(const PipesimSweepTitles *titles, guint swept[2])
{
	guint n = 0;

	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		if (pipesim_grid_axis(titles->grid, axis)->values->len > 1) {
			if (n < 2)
				swept[n] = axis;
			n++;
		}
	return n;
}

gboolean pipesim_sweep_heat_map_check(
	const PipesimSweepTitles *titles, const char *path, GError **error)
{
	guint swept[2];
	const guint n = find_swept(titles, swept);

	if (n != 2)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"a heat map is over two swept numbers, here are %u", n);
	if (count_schedules(titles) > MAX_PANELS)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"a heat map of %u schedules: at most %d", count_schedules(titles),
			MAX_PANELS);
	return check_path(path, error);
}

gboolean pipesim_sweep_heat_map(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	PipesimMetric metric, const char *path, const char *gnuplot, GError **error)
{
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	Drawing drawing = {
		.titles = titles, .blocks = blocks, .metric = metric, .picture = picture};
	guint swept[2];

	if (picture == NULL)
		return FALSE;
	find_swept(titles, swept);
	drawing.up = swept[0];
	drawing.across = swept[1];
	drawing.n_panels = drawing.n_schedules = count_schedules(titles);
	begin_script(&drawing);
	append_title(&drawing, drawing.across, "xlabel", picture->script);
	append_title(&drawing, drawing.up, "ylabel", picture->script);
	append_tics(&drawing, drawing.across, "xtics", picture->script);
	append_tics(&drawing, drawing.up, "ytics", picture->script);
	g_string_append_printf(picture->script,
		"set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', "
		"4 '#fde725')\nset xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n",
		n_values(&drawing, drawing.across) - 1, n_values(&drawing, drawing.up) - 1);
	append_scale(&drawing, "cbrange", picture->script);
	for (guint i = 0; i < drawing.n_schedules; i++) {
		const guint width = n_values(&drawing, drawing.across);

		/* A block a schedule: a line a value of the axis upwards. Other axes have one value, so that
		 * points count up in the same order. */
		for (guint row = 0; row < n_values(&drawing, drawing.up); row++) {
			for (guint column = 0; column < width; column++) {
				if (column > 0)
					g_string_append_c(picture->data, ' ');
				append_value(&drawing, (guint64)row * width + column, i,
					picture->data);
			}
			g_string_append_c(picture->data, '\n');
		}
		g_string_append(picture->data, "\n\n");
		g_string_append(picture->script, "set title ");
		pipesim_gnuplot_quote(picture->script, titles->names[i]);
		g_string_append_printf(
			picture->script, "\nplot data index %u matrix with image notitle\n", i);
	}
	g_string_append(picture->script, "unset multiplot\n");
	return pipesim_gnuplot_draw(picture, gnuplot, error);
}

/* Lines ---------------------------------------------------------------------------------- */

/* The last axis with more than one value; those behind it have one, so that points still count
 * up along it. */
static guint last_swept(const PipesimSweepTitles *titles)
{
	guint last = pipesim_grid_axes(titles->grid) - 1;

	while (last > 0 && pipesim_grid_axis(titles->grid, last)->values->len == 1)
		last--;
	return last;
}

static guint64 count_panels(const PipesimSweepTitles *titles)
{
	return pipesim_grid_points(titles->grid) /
	       pipesim_grid_axis(titles->grid, last_swept(titles))->values->len;
}

gboolean pipesim_sweep_lines_check(
	const PipesimSweepTitles *titles, const char *path, GError **error)
{
	if (pipesim_grid_points(titles->grid) == 1)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"lines are over a swept number, here is none");
	if (count_panels(titles) > MAX_PANELS)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%" G_GUINT64_FORMAT
			" panels, one a combination of all swept numbers but "
			"the last: at most %d",
			count_panels(titles), MAX_PANELS);
	return check_path(path, error);
}

/* A block of data a panel: a line a value, a column a schedule; and the commands to draw it. */
static void append_panel(const Drawing *drawing, guint64 panel)
{
	const PipesimGrid *grid = drawing->titles->grid;
	const guint n = n_values(drawing, drawing->across);
	GString *data = drawing->picture->data, *script = drawing->picture->script;
	g_autoptr(GString) title = g_string_new(NULL);

	for (guint i = 0; i < n; i++) {
		g_string_append(data, axis_text(drawing, drawing->across, i));
		for (guint schedule = 0; schedule < drawing->n_schedules; schedule++) {
			g_string_append_c(data, ' ');
			append_value(drawing, panel * n + i, schedule, data);
		}
		g_string_append_c(data, '\n');
	}
	g_string_append(data, "\n\n");
	for (guint axis = 0; axis < drawing->across; axis++)
		g_string_append_printf(title, "%s%s %s", axis > 0 ? ", " : "",
			pipesim_grid_axis(grid, axis)->name,
			axis_text(drawing, axis, pipesim_grid_index(grid, panel * n, axis)));
	g_string_append(script, "set title ");
	pipesim_gnuplot_quote(script, title->str);
	g_string_append(script, "\nplot");
	for (guint i = 0; i < drawing->n_schedules; i++) {
		g_string_append_printf(script,
			"%s data index %" G_GUINT64_FORMAT
			" using 1:%u with linespoints lw 1.5 ps 0.6 title ",
			i > 0 ? ", \\\n    " : "", panel, i + 2);
		pipesim_gnuplot_quote(script, drawing->titles->names[i]);
	}
	g_string_append_c(script, '\n');
}

gboolean pipesim_sweep_lines(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	PipesimMetric metric, const char *path, const char *gnuplot, GError **error)
{
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	Drawing drawing = {
		.titles = titles, .blocks = blocks, .metric = metric, .picture = picture};

	if (picture == NULL)
		return FALSE;
	drawing.across = last_swept(titles);
	drawing.n_schedules = count_schedules(titles);
	drawing.n_panels = count_panels(titles);
	begin_script(&drawing);
	append_title(&drawing, drawing.across, "xlabel", picture->script);
	g_string_append(picture->script,
		"set key below noenhanced\nset grid ytics\nset offsets graph "
		"0, graph 0, graph 0.03, graph 0.03\n");
	append_scale(&drawing, "yrange", picture->script);
	for (guint64 panel = 0; panel < drawing.n_panels; panel++)
		append_panel(&drawing, panel);
	g_string_append(picture->script, "unset multiplot\n");
	return pipesim_gnuplot_draw(picture, gnuplot, error);
}
