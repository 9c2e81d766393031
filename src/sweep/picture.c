#include "sweep/picture.h"
#include "output/gnuplot.h"
#include "sweep/series.h"

#define MAX_PANELS 24
/* Pixels: of a panel, of the room in it for its title, its axes and its right edge. */
#define PANEL_WIDTH  420
#define PANEL_HEIGHT 320
#define TITLE_PIXELS 32
#define LEFT_PIXELS  76
#define FOOT_PIXELS  60
#define EDGE_PIXELS  18
/* Above all panels, and a line of the legend below them. */
#define HEAD_PIXELS 36
#define KEY_PIXELS  20
#define KEY_WIDTH   190
/* Of a letter in a cell, and the cells that have room for a number. */
#define LETTER_PIXELS 6.5
#define CELL_WIDTH    40
#define CELL_HEIGHT   16
/* Swept values that grow by a factor stand at equal distances where they grow as much in all. */
#define LEAST_LOG 4
/* Of how much the fastest is faster: less is a tie. */
#define LEAST_LEAD 0.0005

static const struct {
	const char *title;
	PipesimFigureId figure;
} metrics[] = {
	/* in the order of the words of --metric */
	{"bubble, % of all ranks' time", PIPESIM_FIGURE_RATIO},
	{"makespan, ms", PIPESIM_FIGURE_MAKESPAN},
	{"makespan over micro-batches, ms", PIPESIM_FIGURE_MICROBATCH},
	{"peak activations, whole stages", PIPESIM_FIGURE_HELD},
};

/* Of a result that is one, in the unit of the title. */
static double value_of(const PipesimSweepResult *result, guint metric)
{
	const PipesimFigure *figure = pipesim_figure(metrics[metric].figure);
	const PipesimValue value = result->values[figure->id];

	if (figure->kind == PIPESIM_TIME)
		return (double)value.integer / 1e6;
	return figure->kind == PIPESIM_SHARE ? 100 * value.number : value.number;
}

/* What all kinds of picture are drawn from. */
typedef struct {
	PipesimSweepPicture kind;
	const PipesimSweepTitles *titles;
	const GPtrArray *blocks;
	guint metric;
	guint n_swept;    /* axes with more than one value */
	guint across, up; /* the last of them, and the one before; axis 0 where there is none */
	guint third;      /* the one before these, where three are swept */
	guint n_schedules;
	guint64 n_panels;
	guint columns, rows; /* of panels */
	guint width, height; /* of a panel, pixels */
	guint key;           /* height of the legend, pixels */
	guint whole_width, whole_height;
	gboolean words;     /* cells of a map have room for them */
	double least, most; /* of all values */
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

/* "pipeline ranks", "FB, ms". For g_free(). */
static char *axis_words(const Drawing *drawing, guint number)
{
	static const struct {
		const char *name, *words, *unit;
	} known[] = {
		{"pp", "pipeline ranks", ""},
		{"microbatches", "micro-batches per step", ""},
		{"chunks", "stages per rank", ""},
		{"group", "micro-batches per group", ""},
		{"pipelines", "pipelines, both directions together", ""},
		{"max_activations", "activations that a rank may hold", "stages"},
		{"times_", "%s", "ms"},
		{"model_times_", "%s of the whole model", "ms"},
		{"layers", "layers", ""},
		{"stage_scale_", "relative length of stage %s", ""},
		{"slow_rank_", "slowdown of rank %s", ""},
		{"activation_bytes", "activations of a micro-batch", "bytes"},
		{"parameter_bytes", "parameters of a rank", "bytes"},
		{"memory_limit", "memory of a rank", "bytes"},
		{"message_bytes", "size of a message", "bytes"},
		{"link_latency", "latency of a link", "ms"},
		{"link_bandwidth", "bandwidth of a link", "bytes/s"},
		{"interference", "slowdown of compute beside a message", ""},
	};
	const PipesimAxis *axis = g_ptr_array_index(drawing->titles->grid->axes, number);
	GString *text = g_string_new(axis->name);
	const char *unit = axis->unit;

	for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
		const gsize length = strlen(known[i].name);
		const char *rest = axis->name + length;

		if (!g_str_has_prefix(axis->name, known[i].name) ||
			(*rest != '\0' && known[i].name[length - 1] != '_'))
			continue;
		g_string_assign(text, known[i].words);
		g_string_replace(text, "%s", rest, 1);
		unit = *unit != '\0' ? unit : known[i].unit;
	}
	if (*unit != '\0')
		g_string_append_printf(text, ", %s", unit);
	return g_string_free(text, FALSE);
}

/* The results of one point, by schedule; NULL where it has none, as a point of another shard. */
static const PipesimSweepResult *results_of(const Drawing *drawing, guint64 point)
{
	const PipesimSweepBlock *block = g_ptr_array_index(drawing->blocks, 0);
	/* All blocks but the last are as long as the first; before it the number wraps around. */
	const guint64 number = (point - block->first) / block->n_points;

	if (number >= drawing->blocks->len)
		return NULL;
	block = g_ptr_array_index(drawing->blocks, number);
	return point < block->first + block->n_points
		       ? &block->results[(gsize)(point - block->first) * block->width]
		       : NULL;
}

/* Of one schedule at one point; NaN where it has no result. Returns: whether it has one. */
static gboolean append_value(
	const Drawing *drawing, guint64 point, guint schedule, GString *out)
{
	const PipesimSweepResult *results = results_of(drawing, point);
	const gboolean known = results != NULL && results[schedule].error == NULL;

	g_string_append(out,
		known ? pipesim_double(value_of(&results[schedule], drawing->metric)) : "NaN");
	return known;
}

/* A range of gnuplot's from @share of the scale below it to as much above. */
static void append_scale(const Drawing *drawing, const char *set, double share, GString *out)
{
	const double room = share * (drawing->most - drawing->least);

	if (drawing->least >= drawing->most) /* gnuplot wants a range that is one */
		return;
	g_string_append_printf(out, "set %s [%s:%s]\n", set,
		pipesim_double(drawing->least - room), pipesim_double(drawing->most + room));
}

/* Script --------------------------------------------------------------------------------- */

static gboolean is_map(const Drawing *drawing)
{
	return drawing->kind != PIPESIM_SWEEP_LINES;
}

/* What is drawn of which axes; points count up along the last that is swept, as those behind it
 * have one value. */
static void drawing_init(
	Drawing *drawing, PipesimSweepPicture kind, const PipesimSweepTitles *titles)
{
	*drawing = (Drawing){
		.kind = kind,
		.titles = titles,
		.n_schedules = g_strv_length((char **)titles->names),
		.columns = 1,
	};
	for (guint axis = 0; axis < titles->grid->axes->len; axis++)
		if (n_values(drawing, axis) > 1) {
			drawing->third = drawing->up;
			drawing->up = drawing->across;
			drawing->across = axis;
			drawing->n_swept++;
		}
	drawing->n_panels = titles->grid->points / n_values(drawing, drawing->across);
	if (kind != PIPESIM_SWEEP_LINES)
		drawing->n_panels /= n_values(drawing, drawing->up);
	if (kind == PIPESIM_SWEEP_HEAT_MAP)
		drawing->n_panels *= drawing->n_schedules;
}

/* What a cell of the map of winners says: who wins, and by how much over whom. */
typedef struct {
	int best;   /* -1: nothing fits */
	guint like; /* whose tint it has: where two of a family tie, that of its first */
	char *name, *lead;
} Winner;

static void winner_clear(Winner *winner)
{
	pipesim_free_all(winner->name, winner->lead);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Winner, winner_clear)

static Winner find_winner(const Drawing *drawing, guint64 point)
{
	const PipesimSweepResult *results = results_of(drawing, point);
	const int best = results != NULL ? pipesim_rows_best(drawing->titles, results) : -1;
	const int next = pipesim_rows_next(drawing->titles, results, best);
	const char *const *names = drawing->titles->names;

	if (best < 0)
		return (Winner){best, 0, g_strdup("none fits"), g_strdup("")};
	Winner winner = {best, (guint)best,
		pipesim_printable(pipesim_series(names, (guint)best).name), NULL};
	g_strdelimit(winner.name, "\"", '\'');
	double ahead =
		next < 0 ? 0
			 : pipesim_rows_ahead(drawing->titles, &results[best], &results[next]);
	if (next < 0) {
		winner.lead = g_strdup("alone");
	} else if (ahead < LEAST_LEAD) {
		winner.lead = g_strdup_printf("ties with %s", names[next]);
		if (pipesim_series_akin(names, (guint)best, (guint)next))
			winner.like = MIN((guint)best, (guint)next);
	} else {
		winner.lead = g_strdup_printf(
			"+%s %% %s", pipesim_fixed(100 * ahead, 1), names[next]);
	}
	g_strdelimit(winner.lead, "\"", '\'');
	return winner;
}

/* Panels are as large as what stands in the cells of a map wants them, within reason. */
static void choose_sizes(Drawing *drawing)
{
	const guint across = n_values(drawing, drawing->across);
	const guint up = n_values(drawing, drawing->up);
	const guint thirds = drawing->n_swept == 3 ? n_values(drawing, drawing->third) : 1;
	const gboolean winners = drawing->kind == PIPESIM_SWEEP_WINNERS;
	double wide = CELL_WIDTH, high = winners ? 2 * CELL_HEIGHT : CELL_HEIGHT + 6;

	for (guint64 i = 0; winners && i < drawing->titles->grid->points; i++) {
		g_auto(Winner) winner = find_winner(drawing, i);
		const double letters = (double)MAX(strlen(winner.name), strlen(winner.lead));

		wide = MAX(wide, ceil(LETTER_PIXELS * letters) + 8);
	}
	drawing->columns = (guint)MIN(drawing->n_panels, 3);
	if (is_map(drawing) && !winners && thirds > 1 && thirds <= 4)
		drawing->columns = thirds;
	drawing->rows = (guint)((drawing->n_panels + drawing->columns - 1) / drawing->columns);
	drawing->width = drawing->n_panels > 1 ? PANEL_WIDTH : PANEL_WIDTH * 3 / 2;
	drawing->height = drawing->n_panels > 1 ? PANEL_HEIGHT : PANEL_HEIGHT * 3 / 2;
	if (is_map(drawing)) {
		drawing->width = (guint)CLAMP(
			across * wide + LEFT_PIXELS + EDGE_PIXELS, PANEL_WIDTH, 1200);
		drawing->height =
			(guint)CLAMP(up * high + TITLE_PIXELS + FOOT_PIXELS, PANEL_HEIGHT, 900);
		drawing->words =
			(drawing->width - LEFT_PIXELS - EDGE_PIXELS) / across >= wide &&
			(drawing->height - TITLE_PIXELS - FOOT_PIXELS) / up >=
				(winners ? 2 * CELL_HEIGHT : CELL_HEIGHT);
	}
	drawing->whole_width = drawing->columns * drawing->width;
	/* Heat maps have their scale at the right; cells with words need no legend. */
	if (drawing->kind == PIPESIM_SWEEP_HEAT_MAP) {
		drawing->whole_width += LEFT_PIXELS;
	} else if (!drawing->words) {
		const guint fit = drawing->whole_width / KEY_WIDTH;

		drawing->key =
			KEY_PIXELS * ((drawing->n_schedules + fit - 1) / fit) + KEY_PIXELS / 2;
	}
	drawing->whole_height = HEAD_PIXELS + drawing->rows * drawing->height + drawing->key;
}

static void begin_script(const Drawing *drawing)
{
	const char *title = drawing->kind == PIPESIM_SWEEP_WINNERS
				    ? drawing->words
					      ? "the fastest schedule, its lead, and the next"
					      : "the fastest schedule"
				    : metrics[drawing->metric].title;
	g_autofree char *across = axis_words(drawing, drawing->across);
	GString *out = drawing->picture->script;

	g_string_append(
		out, "# gnuplot script; the rows of the sweep are in the .dat beside it\n");
	pipesim_gnuplot_begin(drawing->picture, drawing->whole_width, drawing->whole_height);
	g_string_append(out, "set datafile missing 'NaN'\nset tics nomirror out scale 0.6\n"
			     "unset key\nset multiplot\n");
	pipesim_gnuplot_quote(out, "set label 1 ", title,
		" at screen 0.5,screen 1 - %u / height center font sprintf('Arial Bold,%%g', "
		"%u * point)\n",
		HEAD_PIXELS / 2, PIPESIM_GNUPLOT_FONT + 1);
	pipesim_gnuplot_quote(out, "set xlabel ", across, "\n");
}

/* Where panel @number stands, and what it is of. */
static void place_panel(const Drawing *drawing, guint64 number, const char *title)
{
	const guint left = (guint)(number % drawing->columns) * drawing->width;
	const guint top = HEAD_PIXELS + (guint)(number / drawing->columns) * drawing->height;

	g_string_append_printf(drawing->picture->script,
		"\nset lmargin at screen %u / width\nset rmargin at screen %u / width\n"
		"set tmargin at screen 1 - %u / height\nset bmargin at screen 1 - %u / "
		"height\n",
		left + LEFT_PIXELS, left + drawing->width - EDGE_PIXELS, top + TITLE_PIXELS,
		top + drawing->height - FOOT_PIXELS);
	pipesim_gnuplot_quote(drawing->picture->script, "set title ", title, "\n");
	if (number > 0)
		g_string_append(drawing->picture->script, "unset label 1\n");
}

/* The values of all axes before @end at @point that are swept: "micro-batches per step 8". For
 * g_free(). */
static char *name_values(const Drawing *drawing, guint64 point, guint end)
{
	const PipesimGrid *grid = drawing->titles->grid;
	GString *text = g_string_new(NULL);

	for (guint axis = 0; axis < end; axis++) {
		const char *value = pipesim_grid_value(grid, point, axis);
		g_autofree char *words = axis_words(drawing, axis);
		char *unit = strstr(words, ", ");

		if (n_values(drawing, axis) < 2)
			continue;
		if (unit != NULL)
			*unit = '\0';
		pipesim_list_more(text, "%s %s%s%s", words, value, unit != NULL ? " " : "",
			unit != NULL ? unit + 2 : "");
	}
	return g_string_free(text, FALSE);
}

/* A legend of all schedules below the panels. */
static void append_key(const Drawing *drawing)
{
	GString *out = drawing->picture->script;

	g_string_append_printf(out,
		"\n# Legend.\nunset border\nunset tics\nunset xlabel\nunset ylabel\n"
		"unset title\nunset logscale\nunset grid\nunset label\n"
		"set lmargin at screen 0\nset rmargin at screen 1\n"
		"set bmargin at screen 0\nset tmargin at screen %u / height\n"
		"set xrange [0:1]\nset yrange [0:1]\n"
		"set key at screen 0.5,screen %u / height center center horizontal maxcols %u "
		"samplen 3 Left reverse noenhanced\nplot 2 with lines notitle",
		drawing->key, drawing->key / 2, drawing->whole_width / KEY_WIDTH);
	for (guint i = 0; i < drawing->n_schedules; i++) {
		const PipesimSeries series = pipesim_series(drawing->titles->names, i);
		char tint[8];

		g_string_append(out, ", \\\n    keyentry ");
		if (drawing->kind == PIPESIM_SWEEP_WINNERS)
			g_string_append_printf(out, "with boxes fs solid noborder fc rgb '%s' ",
				pipesim_series_tint(&series, tint));
		else
			g_string_append_printf(out,
				"with linespoints lc rgb '%s' dt %u pt %u lw 1.5 ps 0.9 ",
				series.colour, series.dash, series.point);
		pipesim_gnuplot_quote(out, "title ", series.name, "%s", "");
	}
	g_string_append_c(out, '\n');
}

gboolean pipesim_sweep_picture_check(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const char *path, GError **error)
{
	static const char *const names[] = {"heat map", NULL, "map of winners"};
	Drawing drawing;

	if (path == NULL)
		return TRUE;
	drawing_init(&drawing, kind, titles);
	if (is_map(&drawing) && (drawing.n_swept < 2 || drawing.n_swept > 3))
		return pipesim_refuse(error,
			"a %s needs two or three swept numbers; this sweep has %u", names[kind],
			drawing.n_swept);
	if (!is_map(&drawing) && drawing.n_swept == 0)
		return pipesim_refuse(error, "lines need a swept number; this sweep has none");
	if (drawing.n_panels > MAX_PANELS)
		return pipesim_refuse(error,
			"%" G_GUINT64_FORMAT " panels, one a %s: at most %d", drawing.n_panels,
			kind == PIPESIM_SWEEP_HEAT_MAP
				? "schedule and third number"
				: "combination of all swept numbers but those of the axes",
			MAX_PANELS);
	return pipesim_gnuplot_check(path, error);
}

/* Maps ----------------------------------------------------------------------------------- */

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

static void append_map_axes(const Drawing *drawing)
{
	g_autofree char *up = axis_words(drawing, drawing->up);
	GString *out = drawing->picture->script;

	pipesim_gnuplot_quote(out, "set ylabel ", up, "\n");
	append_tics(drawing, drawing->across, "xtics", out);
	append_tics(drawing, drawing->up, "ytics", out);
	g_string_append_printf(out, "set xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n",
		n_values(drawing, drawing->across) - 1, n_values(drawing, drawing->up) - 1);
}

/* A block of data a panel: a line a value of the axis upwards. */
static void append_heat(const Drawing *drawing, guint64 panel)
{
	const guint64 thirds = drawing->n_panels / drawing->n_schedules;
	const guint schedule = (guint)(panel / thirds);
	const guint width = n_values(drawing, drawing->across);
	const guint height = n_values(drawing, drawing->up);
	const guint64 first = panel % thirds * width * height;
	GString *data = drawing->picture->data, *script = drawing->picture->script;
	g_autofree char *values = name_values(drawing, first, drawing->up);
	g_autofree char *title = g_strconcat(
		drawing->titles->names[schedule], *values != '\0' ? ", " : "", values, NULL);

	for (guint row = 0; row < height; row++)
		for (guint column = 0; column < width; column++) {
			append_value(
				drawing, first + (guint64)row * width + column, schedule, data);
			g_string_append_c(data, column + 1 < width ? ' ' : '\n');
		}
	g_string_append(data, "\n\n");
	place_panel(drawing, panel, title);
	if (panel > 0)
		g_string_append(script, "unset colorbox\n");
	g_string_append_printf(
		script, "plot data index %" G_GUINT64_FORMAT " matrix with image", panel);
	if (drawing->words)
		g_string_append_printf(script,
			", \\\n    data index %" G_GUINT64_FORMAT
			" matrix using 1:2:(cell($3)):(ink($3)) with labels font "
			"sprintf('Arial,%%g', 11 * point) tc rgb variable",
			panel);
	g_string_append_c(script, '\n');
}

static void draw_heat(const Drawing *drawing)
{
	const guint width = drawing->whole_width, height = drawing->whole_height;
	GString *out = drawing->picture->script;

	append_map_axes(drawing);
	g_string_append_printf(out,
		"set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 "
		"'#fde725')\n"
		"set colorbox user origin screen %u / width,screen %u / height size screen 14 "
		"/ width,screen %u / height\n",
		width - LEFT_PIXELS + 4, FOOT_PIXELS,
		height - HEAD_PIXELS - TITLE_PIXELS - FOOT_PIXELS);
	if (drawing->words)
		g_string_append_printf(out,
			"cell(value) = value == value ? sprintf(%s, value) : ''\n"
			"ink(value) = value > %s ? 0x000000 : 0xFFFFFF\n",
			drawing->most < 100 ? "'%.1f'" : "'%.4g'",
			pipesim_double(drawing->least / 2 + drawing->most / 2));
	append_scale(drawing, "cbrange", 0, out);
	for (guint64 i = 0; i < drawing->n_panels; i++)
		append_heat(drawing, i);
}

static void append_winner(
	const Drawing *drawing, guint64 point, guint column, guint row, GString *out)
{
	g_auto(Winner) winner = find_winner(drawing, point);
	char tint[8] = "#FFFFFF";

	if (winner.best >= 0) {
		const PipesimSeries series =
			pipesim_series(drawing->titles->names, winner.like);

		pipesim_series_tint(&series, tint);
	}
	g_string_append_printf(out, "%u %u 0x%s \"%s\" \"%s\"\n", column, row, tint + 1,
		winner.name, winner.lead);
}

static void draw_winners(const Drawing *drawing)
{
	const guint width = n_values(drawing, drawing->across);
	const guint height = n_values(drawing, drawing->up);
	GString *data = drawing->picture->data, *script = drawing->picture->script;

	append_map_axes(drawing);
	for (guint64 panel = 0; panel < drawing->n_panels; panel++) {
		const guint64 first = panel * width * height;
		g_autofree char *title = name_values(drawing, first, drawing->up);

		for (guint i = 0; i < width * height; i++)
			append_winner(drawing, first + i, i % width, i / width, data);
		g_string_append(data, "\n\n");
		place_panel(drawing, panel, title);
		g_string_append_printf(script,
			"plot data index %" G_GUINT64_FORMAT
			" using 1:2:(0.5):(0.5):3 with boxxyerror fs solid border rgb 'white' "
			"lc rgb variable",
			panel);
		for (guint line = 0; drawing->words && line < 2; line++)
			g_string_append_printf(script,
				", \\\n    data index %" G_GUINT64_FORMAT
				" using 1:2:(strcol(%u)) with labels offset 0,%s font "
				"sprintf('Arial%s,%%g', 11 * point)",
				panel, 4 + line, line == 0 ? "0.45" : "-0.55",
				line == 0 ? " Bold" : "");
		g_string_append_c(script, '\n');
	}
	if (drawing->key > 0)
		append_key(drawing);
}

/* Lines ---------------------------------------------------------------------------------- */

/* Each value as many times the one before, and the last many times the first. */
static gboolean is_geometric(const Drawing *drawing, guint axis)
{
	const guint n = n_values(drawing, axis);
	double ratio = 0;

	for (guint i = 1; i < n; i++) {
		const double before = g_ascii_strtod(axis_text(drawing, axis, i - 1), NULL);
		const double value = g_ascii_strtod(axis_text(drawing, axis, i), NULL);

		if (before <= 0 || value <= before ||
			(ratio > 0 && (value / before > ratio * 1.01 ||
					      value / before < ratio / 1.01)))
			return FALSE;
		ratio = value / before;
	}
	return n > 2 && pow(ratio, n - 1) >= LEAST_LOG;
}

/* A block of data a panel: a line a value, a column a schedule; and the commands to draw it. */
static void append_panel(const Drawing *drawing, guint64 panel)
{
	const guint n = n_values(drawing, drawing->across);
	GString *data = drawing->picture->data, *script = drawing->picture->script;
	g_autofree char *title = name_values(drawing, panel * n, drawing->across);
	gboolean empty = TRUE;

	for (guint i = 0; i < n; i++) {
		g_string_append(data, axis_text(drawing, drawing->across, i));
		for (guint schedule = 0; schedule < drawing->n_schedules; schedule++) {
			g_string_append_c(data, ' ');
			empty &= !append_value(drawing, panel * n + i, schedule, data);
		}
		g_string_append_c(data, '\n');
	}
	g_string_append(data, "\n\n");
	place_panel(drawing, panel, title);
	/* gnuplot refuses a plot without any value: a line far above the panel is one. */
	g_string_append(script, empty ? "plot 1e300 notitle, \\\n    " : "plot ");
	for (guint i = 0; i < drawing->n_schedules; i++) {
		const PipesimSeries series = pipesim_series(drawing->titles->names, i);

		g_string_append_printf(script,
			"%sdata index %" G_GUINT64_FORMAT
			" using 1:%u with linespoints lc rgb '%s' dt %u pt %u lw 1.5 ps 0.9",
			i > 0 ? ", \\\n    " : "", panel, i + 2, series.colour, series.dash,
			series.point);
	}
	g_string_append_c(script, '\n');
}

/* The values themselves are marked, at most 12 of them; lines end inside of the frame. */
static void draw_lines(const Drawing *drawing)
{
	const guint n = n_values(drawing, drawing->across), step = (n + 11) / 12;
	const gboolean log = is_geometric(drawing, drawing->across);
	GString *out = drawing->picture->script;
	double least = G_MAXDOUBLE, most = -G_MAXDOUBLE;

	g_string_append(out, "set xtics (");
	for (guint i = 0; i < n; i++) {
		const char *text = axis_text(drawing, drawing->across, i);
		const double value = g_ascii_strtod(text, NULL);

		least = MIN(least, value);
		most = MAX(most, value);
		if (i % step == 0)
			pipesim_gnuplot_quote(out, i > 0 ? ", " : "", text, " %s", text);
	}
	g_string_append_printf(out, ")\n%s", log ? "set logscale x\n" : "");
	if (least < most && log)
		g_string_append_printf(out, "set xrange [%s / 1.15:%s * 1.15]\n",
			pipesim_double(least), pipesim_double(most));
	else if (least < most)
		g_string_append_printf(out, "set xrange [%s:%s]\n",
			pipesim_double(least - 0.04 * (most - least)),
			pipesim_double(most + 0.04 * (most - least)));
	append_scale(drawing, "yrange", 0.06, out);
	if (drawing->least > drawing->most) /* no point runs */
		g_string_append(out, "set yrange [0:1]\n");
	pipesim_gnuplot_quote(out, "set ylabel ", metrics[drawing->metric].title, "\n");
	g_string_append(out, "set grid ytics lc rgb '#C0C0C0' lw 0.75\nset border 3\n");
	for (guint64 panel = 0; panel < drawing->n_panels; panel++)
		append_panel(drawing, panel);
	append_key(drawing);
}

gboolean pipesim_sweep_picture_draw(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const GPtrArray *blocks, guint metric, const char *path, GError **error)
{
	static void (*const draw[])(const Drawing *) = {
		[PIPESIM_SWEEP_HEAT_MAP] = draw_heat,
		[PIPESIM_SWEEP_LINES] = draw_lines,
		[PIPESIM_SWEEP_WINNERS] = draw_winners,
	};
	Drawing drawing;

	if (path == NULL)
		return TRUE;
	g_autoptr(PipesimGnuplot) picture =
		pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error);
	if (picture == NULL)
		return FALSE;
	drawing_init(&drawing, kind, titles);
	drawing.blocks = blocks;
	drawing.metric = metric;
	drawing.picture = picture;
	choose_sizes(&drawing);
	/* One scale for all panels, so that they can be compared. */
	drawing.least = G_MAXDOUBLE;
	drawing.most = -G_MAXDOUBLE;
	pipesim_each_in (const PipesimSweepBlock, block, blocks) {
		for (gsize k = 0; k < (gsize)block->n_points * block->width; k++)
			if (block->results[k].error == NULL) {
				const double value = value_of(&block->results[k], metric);

				drawing.least = MIN(drawing.least, value);
				drawing.most = MAX(drawing.most, value);
			}
	}
	begin_script(&drawing);
	draw[kind](&drawing);
	g_string_append(picture->script, "unset multiplot\n");
	return pipesim_gnuplot_draw(picture, "gnuplot", error);
}
