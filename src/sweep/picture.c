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
	guint n_swept;    /* axes with more than one value */
	guint across, up; /* the last of them, and the one before; axis 0 where there is none */
	guint n_schedules;
	guint64 n_panels;
	PipesimGnuplot *picture;
} Drawing;

static guint n_values(const Drawing *drawing, guint axis)
{
	return pipesim_grid_axis(drawing->titles->grid, axis)->values->len;
}

static const char *axis_name(const Drawing *drawing, guint axis)
{
	return pipesim_grid_axis(drawing->titles->grid, axis)->name;
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

/* Of one schedule at one point; NaN where it has no result, as a point of another shard. */
static void append_value(const Drawing *drawing, guint64 point, guint schedule, GString *out)
{
	const PipesimSweepBlock *block = g_ptr_array_index(drawing->blocks, 0);
	/* All blocks but the last are as long as the first. */
	const guint64 number = (point - block->first) / block->n_points;
	const PipesimSweepResult *result = NULL;
	PipesimNumber text;

	if (point >= block->first && number < drawing->blocks->len) {
		block = g_ptr_array_index(drawing->blocks, number);
		if (point < block->first + block->n_points)
			result = &block->results[(gsize)(point - block->first) * block->width +
						 schedule];
	}
	if (result == NULL || result->error != NULL)
		g_string_append(out, "NaN");
	else
		g_string_append(
			out, pipesim_print_double(text, value_of(result, drawing->metric)));
}

/* Script --------------------------------------------------------------------------------- */

/* Names @axis by its values: at most 12 of them. */
static void append_tics(const Drawing *drawing, guint axis, const char *set, GString *out)
{
	const guint n = n_values(drawing, axis), step = (n + 11) / 12;

	g_string_append_printf(out, "set %s (", set);
	for (guint i = 0; i < n; i += step)
		pipesim_gnuplot_quote(
			out, i > 0 ? ", " : "", axis_text(drawing, axis, i), " %u", i);
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
	g_string_append_printf(out, "set multiplot layout %u,%u ", rows, columns);
	pipesim_gnuplot_quote(out, "title ", metrics[drawing->metric].title, "\n");
	pipesim_gnuplot_quote(out, "set xlabel ", axis_name(drawing, drawing->across), "\n");
}

/* What is drawn of which axes; points count up along the last that is swept, as those behind it
 * have one value. */
static void drawing_init(
	Drawing *drawing, PipesimSweepPicture kind, const PipesimSweepTitles *titles)
{
	*drawing = (Drawing){
		.titles = titles, .n_schedules = g_strv_length((char **)titles->names)};
	for (guint axis = 0; axis < pipesim_grid_axes(titles->grid); axis++)
		if (n_values(drawing, axis) > 1) {
			drawing->up = drawing->across;
			drawing->across = axis;
			drawing->n_swept++;
		}
	drawing->n_panels = kind == PIPESIM_SWEEP_HEAT_MAP
				    ? drawing->n_schedules
				    : pipesim_grid_points(titles->grid) /
					      n_values(drawing, drawing->across);
}

gboolean pipesim_sweep_picture_check(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const char *path, GError **error)
{
	const gboolean is_map = kind == PIPESIM_SWEEP_HEAT_MAP;
	g_autoptr(PipesimGnuplot) picture = NULL;
	Drawing drawing;

	if (path == NULL)
		return TRUE;
	drawing_init(&drawing, kind, titles);
	if (is_map && drawing.n_swept != 2)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"a heat map is over two swept numbers, here are %u", drawing.n_swept);
	if (!is_map && drawing.n_swept == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"lines are over a swept number, here is none");
	if (is_map && drawing.n_panels > MAX_PANELS)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"a heat map of %u schedules: at most %d", drawing.n_schedules,
			MAX_PANELS);
	if (drawing.n_panels > MAX_PANELS)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%" G_GUINT64_FORMAT
			" panels, one a combination of all swept numbers but "
			"the last: at most %d",
			drawing.n_panels, MAX_PANELS);
	picture = pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	return picture != NULL;
}

/* Heat map ------------------------------------------------------------------------------- */

/* A block of data a schedule: a line a value of the axis upwards. */
static void append_map(const Drawing *drawing, guint schedule)
{
	const guint width = n_values(drawing, drawing->across);
	GString *data = drawing->picture->data, *script = drawing->picture->script;

	for (guint row = 0; row < n_values(drawing, drawing->up); row++)
		for (guint column = 0; column < width; column++) {
			append_value(drawing, (guint64)row * width + column, schedule, data);
			g_string_append_c(data, column + 1 < width ? ' ' : '\n');
		}
	g_string_append(data, "\n\n");
	pipesim_gnuplot_quote(script, "set title ", drawing->titles->names[schedule],
		"\nplot data index %u matrix with image notitle\n", schedule);
}

static void draw_map(const Drawing *drawing)
{
	GString *out = drawing->picture->script;

	pipesim_gnuplot_quote(out, "set ylabel ", axis_name(drawing, drawing->up), "\n");
	append_tics(drawing, drawing->across, "xtics", out);
	append_tics(drawing, drawing->up, "ytics", out);
	g_string_append_printf(out,
		"set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', "
		"4 '#fde725')\nset xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n",
		n_values(drawing, drawing->across) - 1, n_values(drawing, drawing->up) - 1);
	append_scale(drawing, "cbrange", out);
	for (guint i = 0; i < drawing->n_schedules; i++)
		append_map(drawing, i);
}

/* Lines ---------------------------------------------------------------------------------- */

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
			axis_name(drawing, axis),
			axis_text(drawing, axis, pipesim_grid_index(grid, panel * n, axis)));
	pipesim_gnuplot_quote(script, "set title ", title->str, "\nplot");
	for (guint i = 0; i < drawing->n_schedules; i++) {
		g_string_append_printf(script,
			"%s data index %" G_GUINT64_FORMAT
			" using 1:%u with linespoints lw 1.5 ps 0.6 ",
			i > 0 ? ", \\\n    " : "", panel, i + 2);
		pipesim_gnuplot_quote(script, "title ", drawing->titles->names[i], "%s", "");
	}
	g_string_append_c(script, '\n');
}

static void draw_lines(const Drawing *drawing)
{
	GString *out = drawing->picture->script;

	g_string_append(out, "set key below noenhanced\nset grid ytics\nset offsets graph "
			     "0, graph 0, graph 0.03, graph 0.03\n");
	append_scale(drawing, "yrange", out);
	for (guint64 panel = 0; panel < drawing->n_panels; panel++)
		append_panel(drawing, panel);
}

gboolean pipesim_sweep_picture_draw(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const GPtrArray *blocks, PipesimMetric metric, const char *path, GError **error)
{
	g_autoptr(PipesimGnuplot) picture = NULL;
	Drawing drawing;

	if (path == NULL)
		return TRUE;
	picture = pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	if (picture == NULL)
		return FALSE;
	drawing_init(&drawing, kind, titles);
	drawing.blocks = blocks;
	drawing.metric = metric;
	drawing.picture = picture;
	begin_script(&drawing);
	if (kind == PIPESIM_SWEEP_HEAT_MAP)
		draw_map(&drawing);
	else
		draw_lines(&drawing);
	g_string_append(picture->script, "unset multiplot\n");
	return pipesim_gnuplot_draw(picture, "gnuplot", error);
}
