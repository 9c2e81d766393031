/* Timelines as gnuplot draws them. */

#include "output/picture.h"
#include "output/figures.h"
#include "output/gnuplot.h"

/* Most lanes that a picture has. */
#define MAX_LANES 3000
/* Pixels, at the usual size of font. */
#define TOP_PIXELS  4
#define HEAD_PIXELS 30 /* of the title */
/* The least that can be read of a time axis and of a lane, pixels. */
#define LEAST_ACROSS 200
#define LEAST_LANE   2

typedef struct {
	const PipesimComparison *comparison;
	const PipesimLayout *layout;
	const PipesimView *view;
	PipesimDetail detail;
	GString *legend;
	guint top, bottom; /* margins, pixels */
	PipesimGnuplot *gnuplot;
	GString *out;       /* its script */
	const char *before; /* the next part of its plot */
} Picture;

/* Script ------------------------------------------------------------------------------------- */

static void append_comment(GString *out, const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		g_string_append_c(out, g_ascii_iscntrl(*p) ? '?' : *p);
	g_string_append_c(out, '\n');
}

static void append_header(const Picture *picture)
{
	const char *command = picture->comparison->command;
	const char *path = picture->gnuplot->path;
	g_autofree char *script = g_path_get_basename(picture->gnuplot->script_path);
	g_autofree char *raster = pipesim_path_beside(path, "rgb");
	GString *out = picture->out;

	g_string_append(out, "# Pipeline timeline, made by: ");
	append_comment(out, command != NULL ? command : "pipesim");
	for (guint i = 0; i < picture->layout->n_panels; i++) {
		g_string_append(out, "#   ");
		append_comment(out, picture->layout->panels[i].title);
	}
	g_string_append(out, "# To draw it again, in this folder: gnuplot ");
	append_comment(out, script);
	g_string_append(out, "# The boxes are in the .dat file; what is below may be edited. "
			     "For another format\n"
			     "# change the terminal (svg, pngcairo; pdfcairo counts in inches) "
			     "and the picture's\n"
			     "# name.\n\n");
	pipesim_gnuplot_files(picture->gnuplot);
	if (picture->detail.width == 0)
		return;
	g_string_append_printf(out,
		"\n# All boxes, %u x %u pixels; those in the .dat file are drawn over it.\n",
		picture->detail.width, picture->detail.height);
	pipesim_gnuplot_set_file(out, "raster", raster);
}

static void append_settings(const Picture *picture)
{
	const PipesimLayout *layout = picture->layout;
	const PipesimDetail *detail = &picture->detail;
	const PipesimTheme *theme = detail->theme;
	const guint lane = detail->lane;
	const guint height =
		(guint)(detail->lanes * lane + 0.5) + picture->top + picture->bottom;
	const double box =
		detail->across * (double)layout->lanes / (double)MAX(1, layout->n_boxes);

	GString *out = picture->out;
	char beside[8];

	g_string_append_printf(picture->out,
		"\n# Sizes, pixels.\n"
		"width = %u.0\n"
		"height = %u.0\n"
		"left = %u; right = %u; top = %u; bottom = %u  # margins\n"
		"letters = %u; turned = %u  # height of the numbers, upright and turned; 0: "
		"none\n"
		"digits = %u  # of the longest number; a box too small for these has none\n"
		"edge = %s; thick = %s  # width of the lines around a box and in a pair\n"
		"head = %s; foot = %s  # of boxes above and below the middle of a lane, lanes\n"
		"x(pixels) = pixels / width\n"
		"y(pixels) = pixels / height\n",
		detail->left + detail->across + detail->right,
		picture->view->height > 0 ? picture->view->height : height, detail->left,
		detail->right, picture->top,
		picture->view->height > 0 ? picture->bottom + picture->view->height - height
					  : picture->bottom,
		detail->letters, detail->turned, detail->widest, box < 5 ? "0" : "0.5",
		box < 5    ? "0"
		: box < 12 ? "0.75"
			   : "1.5",
		detail->speeds ? "0.26" : "0.46",
		detail->messages || detail->asides ? "0.14" : "0.46");
	g_string_append_printf(out,
		"\n# Time: the .dat file has ms, the axis %s.\n"
		"unit = %s\n"
		"begin = unit * %s; end = unit * %s\n"
		"\n# Colours, and those of kinds by shade.\n"
		"ink = '%s'; quiet = '%s'; frame = '%s'; pair = '%s'\n",
		layout->unit->name, pipesim_short(1e6 / (double)layout->unit->ns, 9),
		pipesim_short((double)layout->begin / 1e6, 6),
		pipesim_short((double)layout->end / 1e6, 6), theme->ink, theme->quiet,
		theme->frame, theme->pair);
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint i = 0; i < PIPESIM_SHADES; i++)
			g_string_append_printf(out, "%s%u = '%s'%s", pipesim_kind_letter(kind),
				i, theme->looks[kind].colours[i],
				i + 1 < PIPESIM_SHADES ? "; " : "\n");
	if (layout->critical || picture->detail.held_limit > 0)
		g_string_append_printf(out, "critical = '%s'\n", theme->critical);
	if (detail->speeds) {
		g_string_append(out,
			"# Of ops by their time against the sustained one, least first.\n");
		for (guint i = 0; i < PIPESIM_SPEEDS; i++)
			g_string_append_printf(out, "V%u = '%s'%s", i,
				pipesim_theme_speed(theme, i, beside),
				i + 1 < PIPESIM_SPEEDS ? "; " : "\n");
	}
	if (layout->n_messages > 0)
		g_string_append_printf(out,
			"# Messages: dark while they move, pale while they wait, receives "
			"beside ops in between.\n"
			"S0 = '%s'; S1 = '%s'\n"
			"R0 = '%s'; R1 = '%s'; R2 = '%s'\n",
			theme->messages[0][0], theme->messages[0][1], theme->messages[1][0],
			theme->messages[1][1], pipesim_theme_beside(theme, beside));
	if (detail->asides)
		g_string_append_printf(out,
			"# Copies to the host and back, collectives.\n"
			"H0 = '%s'; H1 = '%s'; C0 = C1 = '%s'\n",
			theme->asides[0], theme->asides[1], theme->asides[2]);
}

/* Lanes of one byte or activation that ranks hold. */
static double held_scale(const PipesimDetail *detail)
{
	return (detail->memory / (double)detail->lane) / (detail->held_to - detail->held_from);
}

static void append_axes(const Picture *picture)
{
	const PipesimLayout *layout = picture->layout;
	const PipesimDetail *detail = &picture->detail;
	const guint step = (detail->lane + detail->font) / detail->lane;
	GString *out = picture->out;
	const char *before = "set ytics (";

	g_string_append_printf(picture->out,
		"set lmargin at screen x(left)\n"
		"set rmargin at screen 1 - x(right)\n"
		"set tmargin at screen 1 - y(top)\n"
		"set bmargin at screen y(bottom)\n"
		"set xrange [begin:end]\n"
		"set yrange [%s:0]\n"
		"set border 1 lc rgb ink\n"
		"set xtics out nomirror scale 0.5 offset 0,0.4 textcolor rgb ink\n"
		"set label 'time, %s' at screen 0.5,screen y(bottom - %u) center textcolor rgb "
		"ink\n"
		"set ytics scale 0 textcolor rgb ink\n"
		"unset key\n",
		pipesim_short(detail->lanes, 3), layout->unit->name,
		pipesim_detail_pixels(detail, 40));
	if (picture->view->title != NULL)
		pipesim_gnuplot_quote(out, "set label ", picture->view->title,
			" at screen x(left),screen 1 - y(%u) textcolor rgb ink font "
			"sprintf('Arial Bold,%%g', %u * point)\n",
			picture->top / 2, detail->font * 5 / 4);
	for (guint p = 0; p < layout->n_panels; p++)
		for (guint lane = 0; lane < layout->panels[p].lanes; lane += step) {
			const double middle =
				pipesim_detail_top(detail, layout, p) + lane + 0.5;

			g_string_append_printf(out, "%s'rank %u' %s", before,
				layout->panels[p].first_rank + lane * layout->share,
				pipesim_short(middle, 3));
			before = ", ";
		}
	/* What the ends of the scale of what ranks hold are. */
	for (guint p = 0; detail->memory > 0 && p < layout->n_panels; p++)
		for (guint i = 0; i < 2; i++) {
			const double end = i == 0 ? detail->held_from : detail->held_most;
			const double at = pipesim_detail_top(detail, layout, p) +
					  layout->panels[p].lanes + detail->below -
					  held_scale(detail) * (end - detail->held_from);
			PipesimNumber value;

			g_string_append_printf(out, "%s'%s' %s", before,
				layout->bytes ? pipesim_print_bytes(value, (gint64)end)
					      : pipesim_figure_short(value, end, 2),
				pipesim_short(at, 3));
			before = ", ";
		}
	g_string_append(out, ")\n");
}

/* The limit, and where the fullest rank first holds more; @bottom: of the scale, in lanes. */
static void append_limit(
	const Picture *picture, const PipesimPanel *panel, double bottom, const char *end)
{
	const PipesimDetail *detail = &picture->detail;
	const PipesimMemory *memory = &panel->run->report->memory;
	const double scale = held_scale(detail);
	const PipesimMoment *worst = NULL;
	PipesimNumber at, time;
	guint rank = 0;

	if (detail->held_limit <= 0)
		return;
	pipesim_figure_short(at, bottom - scale * (detail->held_limit - detail->held_from), 3);
	g_string_append_printf(picture->out,
		"set arrow from begin,%s to %s,%s nohead dt 2 lc rgb critical front\n"
		"set label 'limit %s ' at %s,%s right offset 0,0.5 front textcolor rgb "
		"critical\n",
		at, end, at, pipesim_bytes((gint64)detail->held_limit), end, at);
	for (guint i = 0; memory->over != NULL && i < panel->run->report->ranks; i++)
		if (memory->over[i].bytes > 0 && memory->over[i].op != PIPESIM_NO_OP &&
			(worst == NULL || memory->peak[i] > memory->peak[rank])) {
			worst = &memory->over[i];
			rank = i;
		}
	if (worst == NULL ||
		panel->run->step->timeline->start[worst->op] < picture->layout->begin ||
		panel->run->step->timeline->start[worst->op] > picture->layout->end)
		return;
	pipesim_figure_short(
		time, (double)panel->run->step->timeline->start[worst->op] / 1e6, 6);
	g_string_append_printf(picture->out,
		"set label 'x' at unit * %s,%s center front textcolor rgb critical\n"
		"set label '  out of memory: rank %u, micro-batch %u: %s' at unit * %s,%s "
		"offset 0,%s front textcolor rgb critical\n",
		time,
		pipesim_short(bottom - scale * ((double)worst->bytes - detail->held_from), 3),
		rank, worst->microbatch, pipesim_bytes(worst->bytes), time, at, "-0.6");
}

/* The title of each panel, and a frame around the time that its schedule takes. */
static void append_panels(const Picture *picture)
{
	const PipesimDetail *detail = &picture->detail;
	const PipesimLayout *layout = picture->layout;
	GString *out = picture->out;

	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const double top = pipesim_detail_top(detail, layout, p);
		const gint64 stop = MIN(panel->run->step->timeline->makespan, layout->end);
		/* Smaller where the whole would not fit. */
		const double room = (detail->across + detail->right) /
				    (0.6 * (double)g_utf8_strlen(panel->title, -1));
		g_autofree char *end =
			g_strdup_printf("unit * %s", pipesim_short((double)stop / 1e6, 6));

		pipesim_gnuplot_quote(out, "set label ", panel->title,
			" at begin,%s%s textcolor rgb ink font sprintf('Arial Bold,%%g', %s * "
			"point)\n",
			pipesim_short(
				top - pipesim_detail_pixels(detail, 11) / (double)detail->lane,
				3),
			detail->width > 0 ? " front" : "",
			pipesim_short(MIN(detail->font, room), 1));
		if (stop > layout->begin)
			g_string_append_printf(out,
				"set object rectangle from begin,%s to %s,%s %s fs empty "
				"border rgb frame lw 0.5\n",
				pipesim_short(top, 3), end,
				pipesim_short(top + panel->lanes, 3),
				detail->width > 0 ? "front" : "behind");
		if (stop > layout->begin && detail->memory > 0) {
			/* Words above and a frame, as the timeline has. */
			const double below = top + panel->lanes + detail->below;
			const double height = (double)detail->memory / detail->lane;

			g_string_append_printf(out,
				"set label '%s' at begin,%s front textcolor rgb quiet\n"
				"set object rectangle from begin,%s to %s,%s behind fs empty "
				"border rgb frame lw 0.5\n",
				detail->held_from > 0 ? "memory of each rank: parameters and "
							"activations; the scale begins above 0"
				: layout->bytes
					? "memory of each rank: parameters and activations"
					: "activations that each rank holds, whole stages",
				pipesim_short(
					top + panel->lanes + (detail->below - height) * 0.6, 3),
				pipesim_short(below - height, 3), end, pipesim_short(below, 3));
			append_limit(picture, panel, below, end);
		}
	}
}

/* One part of the plot, of block @block if there is such. */
static void append_plot(Picture *picture, guint block, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
static void append_plot(Picture *picture, guint block, const char *format, ...)
{
	va_list args;

	if (!picture->detail.drawn[block])
		return;
	g_string_append_printf(picture->out, "%sdata index '%s' ", picture->before,
		pipesim_block_names[block]);
	picture->before = ", \\\n	";
	va_start(args, format);
	g_string_append_vprintf(picture->out, format, args);
	va_end(args);
}

/* Numbers of micro-batches in the boxes of a block. */
static void append_numbers(Picture *picture, guint block, PipesimNumbering numbering)
{
	const PipesimDetail *detail = &picture->detail;
	const guint shade = block % PIPESIM_SHADES;

	if (!detail->numbered[block][numbering])
		return;
	append_plot(picture, block,
		"@%s \\\n"
		"	font sprintf('Arial%s,%%g', %s * point) tc rgb '%s'",
		numbering == PIPESIM_NUMBER_UPRIGHT ? "number" : "sidewise",
		shade == 1 && picture->layout->most_shades <= 2 ? " Italic" : "",
		numbering == PIPESIM_NUMBER_UPRIGHT ? "letters" : "turned",
		pipesim_theme_text(
			detail->theme->looks[block / PIPESIM_SHADES].colours[shade]));
}

static void append_plots(Picture *picture)
{
	static const struct {
		const char *colour, *from, *to; /* gnuplot variable; edges, from the lane */
	} strips[PIPESIM_N_STRIPS] = {
		{"S1", "0.18", "0.31"},
		{"R1", "0.33", "0.46"},
		{"R2", "0.33", "0.46"},
		{"S0", "0.18", "0.31"},
		{"R0", "0.33", "0.46"},
		{"H0", "0.18", "0.31"},
		{"H1", "0.33", "0.46"},
		{"C0", "0.18", "0.31"},
		{"C1", "0.33", "0.46"},
	};
	const PipesimDetail *detail = &picture->detail;

	picture->before = "plot ";
	g_string_append(picture->out,
		"\n# Columns of the .dat file: 1 rank, 2 micro-batch, 3 start, 4 end, 5 lane.\n"
		"place = 'using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 - "
		"head):($5 + foot)'\n"
		"box = '@place with boxxyerror lw edge fs solid'\n"
		"pixels(time) = time * unit / (end - begin) * (width - left - right)\n"
		"upright(time) = letters > 0 && pixels(time) > letters * 0.56 * digits + 1\n"
		"sideways(time) = turned > 0 && !upright(time) && pixels(time) > turned * 0.75 "
		"+ 1\n"
		"at = 'using (($3 + $4) / 2 * unit):($5 + (foot - head) / 2)'\n"
		"number = '@at:(upright($4 - $3) ? strcol(2) : \"\") with labels'\n"
		"sidewise = '@at:(sideways($4 - $3) ? strcol(2) : \"\") with labels rotate by "
		"90'\n");
	if (picture->layout->pairs)
		g_string_append(picture->out,
			"# The frame of a pair is inside it: what is between two is idle.\n"
			"inset(time) = (pixels(time) > 8 ? 1 : pixels(time) / 8) * time / "
			"pixels(time) * unit\n"
			"framed = 'using (($3 + $4) / 2 * unit):5:($3 * unit + inset($4 - "
			"$3)):($4 * unit - inset($4 - $3))' \\\n"
			"	.':($5 - head * 0.93):($5 + foot * 0.93) with boxxyerror'\n");
	if (detail->width > 0) {
		/* Pixels lie between the ends of both axes, the first line of them at the top. */
		g_string_append_printf(picture->out,
			"dx = (end - begin) / %u.0; dy = %s\n"
			"pixels = sprintf('binary array=(%u,%u) format=\"%%%%uchar\" dx=%%.12g "
			"dy=%%.12g ' \\\n"
			"	.'origin=(%%.12g,%%.12g) with rgbimage', dx, dy, begin + dx / "
			"2, dy / 2)\n"
			"plot raster @pixels",
			detail->width, pipesim_short(detail->lanes / detail->height, 9),
			detail->width, detail->height);
		picture->before = ", \\\n	";
	}
	for (guint i = 0; i < PIPESIM_BLOCK_PAIRS; i++)
		append_plot(picture, i, "@box border rgb '%s' fc rgb %s",
			detail->theme->looks[i / PIPESIM_SHADES].edge, pipesim_block_names[i]);
	append_plot(picture, PIPESIM_BLOCK_PAIRS, "@framed fs empty fc rgb pair lw thick");
	append_plot(picture, PIPESIM_BLOCK_CRITICAL,
		"@place with boxxyerror fs empty fc rgb critical lw 2");
	for (guint i = 0; i < PIPESIM_BLOCK_PAIRS; i++) {
		append_numbers(picture, i, PIPESIM_NUMBER_UPRIGHT);
		append_numbers(picture, i, PIPESIM_NUMBER_TURNED);
	}
	for (guint i = 0; i < G_N_ELEMENTS(strips); i++)
		append_plot(picture, PIPESIM_BLOCK_STRIPS + i,
			"using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + %s):($5 "
			"+ %s) \\\n"
			"	with boxxyerror lw 0.25 fs solid border rgb %s fc rgb %s",
			strips[i].from, strips[i].to, strips[i].colour, strips[i].colour);
	for (guint i = 0; i < PIPESIM_SPEEDS; i++)
		append_plot(picture, PIPESIM_BLOCK_SPEEDS + i,
			"using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 - "
			"0.46):($5 - 0.28) \\\n"
			"	with boxxyerror lw 0.25 fs solid border rgb frame fc rgb V%u",
			i);
	append_plot(picture, PIPESIM_BLOCK_PARTS,
		"using (($2 + $3) / 2 * unit):(($4 + $5) / 2):($2 * unit):($3 * unit):4:5:6 "
		"\\\n"
		"	with boxxyerror fs solid noborder lc rgb variable");
	append_plot(picture, PIPESIM_BLOCK_MEMORY,
		"using ($3 * unit):5:4 with lines lw 1.25 lc rgb variable");
	g_string_append(picture->out, "\n");
}

/* Writing ------------------------------------------------------------------------------------ */

/* The size that is asked for, or what is too small about it. */
static gboolean set_size(Picture *picture, GError **error)
{
	const PipesimView *view = picture->view;
	PipesimDetail *detail = &picture->detail;

	pipesim_detail_init(detail, picture->layout, view, 0);
	if (view->width > 0 && view->width < LEAST_ACROSS + detail->left + detail->right)
		return pipesim_refuse(error,
			"--size: a width of %u leaves no room for the time axis; at least %u",
			view->width, LEAST_ACROSS + detail->left + detail->right);
	picture->top = pipesim_detail_pixels(
		detail, TOP_PIXELS + (view->title != NULL ? HEAD_PIXELS : 0));
	picture->bottom = pipesim_legend_append(
		picture->layout, detail, picture->comparison, picture->legend);
	if (view->height == 0)
		return TRUE;
	double fixed = (detail->lanes - picture->layout->lanes) * detail->lane + picture->top +
		       picture->bottom + 1;
	if (view->height < fixed + LEAST_LANE * picture->layout->lanes)
		return pipesim_refuse(error,
			"--size: a height of %u leaves no room for %u lanes; at least %u",
			view->height, picture->layout->lanes,
			(guint)fixed + LEAST_LANE * picture->layout->lanes + 1);
	pipesim_detail_init(detail, picture->layout, view,
		(guint)((view->height - fixed) / picture->layout->lanes));
	g_string_truncate(picture->legend, 0);
	picture->bottom = pipesim_legend_append(
		picture->layout, detail, picture->comparison, picture->legend);
	return TRUE;
}

static gboolean has_boxes(const PipesimLayout *layout, GError **error)
{
	return layout->n_boxes > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT, "nothing to draw: %s",
		       layout->n_panels == 0 ? "no schedule has a result"
					     : "no op takes any time there");
}

gboolean pipesim_picture_check(const PipesimComparison *comparison, const char *path,
	const PipesimView *view, GError **error)
{
	if (strcmp(path, "-") == 0 || pipesim_path_is_text(path))
		return TRUE;
	g_autoptr(PipesimLayout) layout = pipesim_layout_new(comparison, view, MAX_LANES);
	return has_boxes(layout, error);
}

gboolean pipesim_picture_write(const PipesimComparison *comparison, const char *path,
	const PipesimStyle *style, const PipesimView *view, const char *program, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL), legend = g_string_new(NULL);

	if (pipesim_path_is_text(path)) {
		pipesim_timeline_text(comparison, view, style, text);
		return pipesim_write_file(path, text->str, text->len, error);
	}
	g_autoptr(PipesimGnuplot) gnuplot =
		pipesim_gnuplot_new(path, "a timeline is .svg, .png, .pdf or .txt", error);
	if (gnuplot == NULL)
		return FALSE;
	gnuplot->boxes = TRUE;
	g_autoptr(PipesimLayout) layout = pipesim_layout_new(comparison, view, MAX_LANES);
	if (!has_boxes(layout, error))
		return FALSE;
	Picture picture = (Picture){.comparison = comparison,
		.layout = layout,
		.view = view,
		.legend = legend,
		.gnuplot = gnuplot,
		.out = gnuplot->script};
	if (!set_size(&picture, error))
		return FALSE;
	gnuplot->paper = picture.detail.theme->paper;
	gnuplot->font = picture.detail.font;
	picture.detail.held_limit = (double)comparison->scenario.memory_limit;
	pipesim_picture_data(layout, &picture.detail, gnuplot->data);
	if (picture.detail.memory > 0)
		pipesim_picture_memory(layout, &picture.detail,
			layout->bytes ? comparison->costs : NULL, gnuplot->data);
	append_header(&picture);
	append_settings(&picture);
	pipesim_gnuplot_terminal(gnuplot);
	append_axes(&picture);
	append_panels(&picture);
	g_string_append(picture.out, legend->str);
	append_plots(&picture);
	if (picture.detail.width > 0) {
		const gsize size = 3 * (gsize)picture.detail.width * picture.detail.height;
		g_autofree char *raster = pipesim_path_beside(path, "rgb");
		g_autofree guint8 *pixels =
			pipesim_raster_paint(layout, &picture.detail, error);

		if (pixels == NULL ||
			!pipesim_write_file(raster, (const char *)pixels, size, error))
			return FALSE;
	}
	return pipesim_gnuplot_draw(gnuplot, program, error);
}
