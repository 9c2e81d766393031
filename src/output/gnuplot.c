#include "config.h"

#include <string.h>

#include "output/figures.h"
#include "output/picture.h"

/* A box takes 600 bytes of an SVG, 800 with its number. */
#define MAX_BOXES 25000
/* Beyond these a box is drawn over the raster. */
#define LEAST_PIXELS 4
/* A raster of up to so many pixels has two to one of the picture either way. */
#define FINE_PIXELS 1500000

/* Pixels. The title of a panel stands above its lanes. */
#define TITLE_PIXELS  34
#define TOP_PIXELS    4
#define BOTTOM_PIXELS 104
#define SOURCE_PIXELS 17
#define LEFT_PIXELS   64 /* where ranks have three digits */
#define RIGHT_PIXELS  24
#define LETTER_PIXELS 11
/* Of titles, axis and legend. */
#define FONT_PIXELS 13

/* Room for the longest name of a rank. */
guint pipesim_gnuplot_left(const PipesimLayout *layout)
{
	guint ranks = 0, digits = 3;

	for (guint i = 0; i < layout->n_panels; i++)
		ranks = MAX(ranks, layout->panels[i].run->shape.ranks);
	for (; ranks > 1000; ranks /= 10)
		digits++;
	return LEFT_PIXELS + (digits - 3) * 8;
}

static guint lane_pixels(const PipesimLayout *layout)
{
	guint lanes = 0, pixels;

	if (layout->lanes > 1000)
		return 1;
	for (guint i = 0; i < layout->n_panels; i++)
		lanes = MAX(lanes, layout->panels[i].lanes);
	pixels = lanes <= 16 ? 22 : lanes <= 64 ? 14 : lanes <= 256 ? 6 : 3;
	/* Strips of messages take a third. */
	return layout->n_messages > 0 && lanes <= 256 ? pixels * 3 / 2 : pixels;
}

/* Room for a number in an average box of the panel that has most boxes a lane. */
static guint picture_width(const PipesimLayout *layout)
{
	double most = 0;

	for (guint i = 0; i < layout->n_panels; i++) {
		const PipesimRun *run = layout->panels[i].run;
		double share =
			(double)layout->end / (double)MAX(1, run->step->timeline->makespan);

		most = MAX(most, share * run->step->program->n_ops / run->shape.ranks);
	}
	return (guint)CLAMP(
		most * 30 + pipesim_gnuplot_left(layout) + RIGHT_PIXELS, 1100, 2000);
}

static guint plot_width(const PipesimLayout *layout)
{
	return picture_width(layout) - pipesim_gnuplot_left(layout) - RIGHT_PIXELS;
}

double pipesim_gnuplot_height(const PipesimLayout *layout)
{
	return layout->lanes + layout->n_panels * (double)TITLE_PIXELS / lane_pixels(layout);
}

void pipesim_gnuplot_detail(const PipesimLayout *layout, PipesimDetail *detail)
{
	const guint width = plot_width(layout);
	const guint height =
		layout->lanes * lane_pixels(layout) + layout->n_panels * TITLE_PIXELS;
	const guint fine = (guint64)width * height <= FINE_PIXELS ? 2 : 1;
	guint k = 0;

	*detail = (PipesimDetail){0};
	detail->messages =
		layout->n_messages > 0 && lane_pixels(layout) > 3 && layout->share == 1;
	if (layout->n_boxes + 2 * layout->n_messages <= MAX_BOXES && layout->share == 1)
		return;
	while (k < 62 && (layout->n_long[k] > MAX_BOXES ||
				 (gint64)1 << k < layout->end / width * LEAST_PIXELS))
		k++;
	detail->least = (gint64)1 << k;
	detail->width = width * fine;
	detail->height = height * fine;
}

double pipesim_gnuplot_top(const PipesimLayout *layout, guint panel)
{
	double title = (double)TITLE_PIXELS / lane_pixels(layout);

	return layout->panels[panel].first_lane + (panel + 1) * title;
}

void pipesim_gnuplot_quote(GString *out, const char *text)
{
	g_string_append_c(out, '\'');
	for (const char *p = text; *p != '\0'; p++) {
		if (*p == '\'')
			g_string_append_c(out, '\'');
		g_string_append_c(out, g_ascii_iscntrl(*p) ? '?' : *p);
	}
	g_string_append_c(out, '\'');
}

static void append_comment(GString *out, const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		g_string_append_c(out, g_ascii_iscntrl(*p) ? '?' : *p);
	g_string_append_c(out, '\n');
}

static void append_name(GString *out, const char *variable, const char *path)
{
	g_autofree char *name = g_path_get_basename(path);

	g_string_append_printf(out, "%s = ", variable);
	/* gnuplot takes a name that begins with | or < for a command, with $ for a datablock.
	 */
	if (strchr("|<-$", name[0]) != NULL) {
		g_autofree char *safe = g_strconcat("./", name, NULL);

		pipesim_gnuplot_quote(out, safe);
	} else {
		pipesim_gnuplot_quote(out, name);
	}
	g_string_append_c(out, '\n');
}

void pipesim_gnuplot_files(const PipesimPicturePaths *paths, GString *out)
{
	g_string_append(out, "if (!exists('picture')) ");
	append_name(out, "picture", paths->picture);
	append_name(out, "data", paths->data);
}

static void append_header(GString *out, const PipesimLayout *layout,
	const PipesimDetail *detail, const PipesimComparison *comparison,
	const PipesimPicturePaths *paths)
{
	g_autofree char *script = g_path_get_basename(paths->script);

	g_string_append(out, "# Pipeline timeline, made by: ");
	append_comment(out, comparison->command != NULL ? comparison->command : "pipesim");
	for (guint i = 0; i < layout->n_panels; i++) {
		g_string_append(out, "#   ");
		append_comment(out, layout->panels[i].title);
	}
	g_string_append(out, "# To draw it again, in this folder: gnuplot ");
	append_comment(out, script);
	g_string_append(out, "# The boxes are in the .dat file; what is below may be edited. "
			     "For another format\n"
			     "# change the terminal (svg, pngcairo; pdfcairo counts in inches) "
			     "and the picture's\n"
			     "# name.\n\n");
	pipesim_gnuplot_files(paths, out);
	if (detail->width == 0)
		return;
	g_string_append_printf(out,
		"\n# All boxes, %u x %u pixels; those in the .dat file are drawn over it.\n",
		detail->width, detail->height);
	append_name(out, "raster", paths->raster);
}

/* Sizes are pixels throughout; each terminal counts in its own unit. */
void pipesim_gnuplot_terminal(const char *terminal, GString *out)
{
	const char *size = "width,height", *point = "1";

	if (strcmp(terminal, "pngcairo") == 0) {
		size = "2 * width,2 * height fontscale 2 linewidth 2";
		point = "0.75";
	} else if (strcmp(terminal, "pdfcairo") == 0) {
		size = "width / 96,height / 96 fontscale 0.75";
		point = "0.75";
	}
	g_string_append_printf(out,
		"\npoint = %s  # size of a font that is one pixel high\n"
		"set terminal %s size %s \\\n"
		"	font sprintf('Arial,%%g', %u * point) background 'white' noenhanced\n"
		"set output picture\n",
		point, terminal, size, FONT_PIXELS);
}

static void append_sizes(
	GString *out, const PipesimLayout *layout, const PipesimDetail *detail, guint lines)
{
	guint lane = lane_pixels(layout);
	guint body = detail->messages ? lane * 2 / 3 : lane;
	guint bottom = BOTTOM_PIXELS + (lines - 1) * SOURCE_PIXELS;
	guint width = picture_width(layout);
	guint height =
		layout->lanes * lane + layout->n_panels * TITLE_PIXELS + TOP_PIXELS + bottom;
	double box =
		plot_width(layout) * (double)layout->lanes / (double)MAX(1, layout->n_boxes);

	g_string_append_printf(out,
		"\n# Sizes, pixels.\n"
		"width = %u.0\n"
		"height = %u.0\n"
		"left = %u; right = %u; top = %u; bottom = %u  # margins\n"
		"letters = %u  # height of the numbers; a box too small for its own has none\n"
		"edge = %s  # width of the line around a box\n"
		"head = 0.46; foot = %s  # of boxes above and below the middle of a lane, "
		"lanes\n"
		"x(pixels) = pixels / width\n"
		"y(pixels) = pixels / height\n",
		width, height, pipesim_gnuplot_left(layout), RIGHT_PIXELS, TOP_PIXELS, bottom,
		body >= 14 ? MIN(LETTER_PIXELS, body - 4) : 0, box < 5 ? "0" : "0.5",
		detail->messages ? "0.14" : "0.46");
}

static void append_settings(GString *out, const PipesimLayout *layout)
{
	g_string_append_printf(out,
		"\n# Time: the .dat file has ms, the axis %s.\nunit = ", layout->unit->name);
	pipesim_figure_short(out, 1e6 / (double)layout->unit->ns, 9);
	g_string_append(out, "\nend = unit * ");
	pipesim_figure_short(out, (double)layout->end / 1e6, 6);
	g_string_append(out, "\n\n# Colours by kind and shade.\n");
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		g_string_append_printf(out, "%s0 = '%s'; %s1 = '%s'\n",
			pipesim_kind_letter(kind), pipesim_looks[kind].colours[0],
			pipesim_kind_letter(kind), pipesim_looks[kind].colours[1]);
	if (layout->n_messages > 0)
		g_string_append_printf(out,
			"# Messages: dark while they move, pale while they wait.\n"
			"S0 = '%s'; S1 = '%s'\n"
			"R0 = '%s'; R1 = '%s'\n",
			pipesim_message_looks[0][0], pipesim_message_looks[0][1],
			pipesim_message_looks[1][0], pipesim_message_looks[1][1]);
}

static void append_axes(GString *out, const PipesimLayout *layout)
{
	g_string_append(out, "set lmargin at screen x(left)\n"
			     "set rmargin at screen 1 - x(right)\n"
			     "set tmargin at screen 1 - y(top)\n"
			     "set bmargin at screen y(bottom)\n"
			     "set xrange [0:end]\n"
			     "set yrange [");
	pipesim_figure_short(out, pipesim_gnuplot_height(layout), 3);
	g_string_append_printf(out,
		":0]\n"
		"set border 1\n"
		"set xtics out nomirror scale 0.5 offset 0,0.4\n"
		"set label 'time, %s' at screen 0.5,screen y(bottom - 40) center\n"
		"set ytics scale 0\n"
		"unset key\n",
		layout->unit->name);
}

static void append_ranks(GString *out, const PipesimLayout *layout)
{
	guint step = (lane_pixels(layout) + 13) / lane_pixels(layout);
	const char *before = "set ytics (";

	for (guint p = 0; p < layout->n_panels; p++)
		for (guint lane = 0; lane < layout->panels[p].lanes; lane += step) {
			g_string_append_printf(
				out, "%s'rank %u' ", before, lane * layout->share);
			pipesim_figure_short(
				out, pipesim_gnuplot_top(layout, p) + lane + 0.5, 3);
			before = ", ";
		}
	g_string_append(out, ")\n");
}

/* The title of each panel, and a frame around the time that its schedule takes. */
static void append_panels(
	GString *out, const PipesimLayout *layout, const PipesimDetail *detail)
{
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		double top = pipesim_gnuplot_top(layout, p);

		g_string_append(out, "set label ");
		pipesim_gnuplot_quote(out, panel->title);
		g_string_append(out, " at 0,");
		pipesim_figure_short(out, top - 11.0 / lane_pixels(layout), 3);
		g_string_append_printf(out, "%s font sprintf('Arial Bold,%%g', %u * point)",
			detail->width > 0 ? " front" : "", FONT_PIXELS);
		g_string_append(out, "\nset object rectangle from 0,");
		pipesim_figure_short(out, top, 3);
		g_string_append(out, " to unit * ");
		pipesim_figure_short(
			out, (double)panel->run->step->timeline->makespan / 1e6, 6);
		g_string_append_c(out, ',');
		pipesim_figure_short(out, top + panel->lanes, 3);
		g_string_append_printf(out, " %s fs empty border rgb '#909090' lw 0.5\n",
			detail->width > 0 ? "front" : "behind");
	}
}

/* Pixels lie between the ends of both axes, the first line of them at the top. */
static void append_raster(
	GString *out, const PipesimLayout *layout, const PipesimDetail *detail)
{
	g_string_append_printf(out, "dx = end / %u.0; dy = ", detail->width);
	pipesim_figure_short(out, pipesim_gnuplot_height(layout) / detail->height, 9);
	g_string_append_printf(out,
		"\npixels = sprintf('binary array=(%u,%u) format=\"%%%%uchar\" dx=%%.12g "
		"dy=%%.12g ' \\\n"
		"	.'origin=(%%.12g,%%.12g) with rgbimage', dx, dy, dx / 2, dy / 2)\n",
		detail->width, detail->height);
}

static void append_plots(GString *out, const PipesimLayout *layout, const PipesimDetail *detail)
{
	const char *before = "plot ";

	g_string_append(out,
		"\n# Columns of the .dat file: 1 rank, 2 micro-batch, 3 start, 4 end, 5 lane.\n"
		"place = 'using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit)"
		":($5 - head):($5 + foot)'\n"
		"box = '@place with boxxyerror lw edge fs solid'\n"
		"fits(time, text) = letters > 0 && \\\n"
		"	time * unit / end * (width - left - right) > letters * 0.56 * "
		"strlen(text) + 1\n"
		"number = \"using (($3 + $4) / 2 * unit):($5 + (foot - head) / 2):"
		"(fits($4 - $3, strcol(2)) ? strcol(2) : '') with labels\"\n");
	if (detail->width > 0) {
		append_raster(out, layout, detail);
		g_string_append(out, "plot raster @pixels");
		before = ", \\\n	";
	}
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint shade = 0; shade < 2; shade++) {
			const char *letter = pipesim_kind_letter(kind);

			if (!detail->drawn[kind][shade])
				continue;
			g_string_append_printf(out,
				"%sdata index '%s%u' @box border rgb '%s' fc rgb %s%u", before,
				letter, shade, pipesim_looks[kind].edge, letter, shade);
			before = ", \\\n	";
		}
	if (detail->pairs)
		g_string_append_printf(out,
			"%sdata index 'pairs' @place with boxxyerror fs empty "
			"fc rgb 'black' lw 3 * edge",
			before);
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint shade = 0; shade < 2; shade++)
			if (detail->drawn[kind][shade])
				g_string_append_printf(out,
					"%sdata index '%s%u' @number \\\n"
					"	font sprintf('Arial%s,%%g', letters * point) "
					"tc "
					"rgb '%s'",
					before, pipesim_kind_letter(kind), shade,
					shade ? " Italic" : "",
					pipesim_looks[kind].text[shade]);
	if (detail->messages)
		pipesim_gnuplot_messages_plots(detail, out);
	g_string_append(out, "\n");
}

void pipesim_gnuplot_script(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, const PipesimPicturePaths *paths, GString *out)
{
	append_header(out, layout, detail, comparison, paths);
	append_sizes(out, layout, detail, pipesim_gnuplot_captions(detail, comparison));
	append_settings(out, layout);
	pipesim_gnuplot_terminal(paths->terminal, out);
	append_axes(out, layout);
	append_ranks(out, layout);
	append_panels(out, layout, detail);
	pipesim_gnuplot_legend(layout, detail, comparison, out);
	append_plots(out, layout, detail);
}
