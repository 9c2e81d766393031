#include "config.h"

#include <math.h>
#include <string.h>

#include "output/figures.h"
#include "output/picture.h"

/* Height of a panel's title, and of the gap below a panel, in lanes of 22 pixels. */
#define TITLE_PIXELS  34
#define TOP_PIXELS    6
#define BOTTOM_PIXELS 112
#define LEFT_PIXELS   64
#define RIGHT_PIXELS  22

/* Block names, and what the legend calls them. */
typedef struct {
	const char *name, *colours[2], *text[2], *title;
} Look;

/* Okabe and Ito's hues; lightness falls from F to W and differs between the shades, so that a
 * grey print and every kind of colour vision keep them apart. */
static const Look looks[PIPESIM_FB] = {
	[PIPESIM_F] = {"F", {"#F5B335", "#FCE5B4"}, {"black", "black"}, "forward"},
	[PIPESIM_I] = {"I", {"#56B4E9", "#B5E0F7"}, {"black", "black"}, "backward for input"},
	[PIPESIM_W] = {"W", {"#1B3F7A", "#5A7FC0"}, {"white", "white"}, "backward for weights"},
	[PIPESIM_B] = {"B", {"#00795A", "#5DB894"}, {"white", "black"}, "full backward"},
};

static guint lane_pixels(const PipesimLayout *layout)
{
	guint ranks = 0;

	for (guint i = 0; i < layout->n_panels; i++)
		ranks = MAX(ranks, layout->panels[i].run->shape.ranks);
	return ranks <= 16 ? 22 : ranks <= 64 ? 14 : ranks <= 256 ? 6 : 3;
}

/* Room for a two-digit number in a box of average length. */
static guint picture_width(const PipesimLayout *layout)
{
	double boxes_a_lane = (double)layout->n_boxes / MAX(1, layout->lanes);

	return (guint)CLAMP(boxes_a_lane * 30 + LEFT_PIXELS + RIGHT_PIXELS, 1000, 1600);
}

/* Top of the first lane of panel @i, in lanes from the top of the drawing. */
static double panel_top(const PipesimLayout *layout, guint i)
{
	return layout->panels[i].first_lane +
	       (i + 1) * (double)TITLE_PIXELS / lane_pixels(layout);
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

/* Data ----------------------------------------------------------------------------------- */

static void append_box(GString *out, const PipesimBox *box, double lane)
{
	PipesimNumber start, end;

	g_string_append_printf(out, "%u %u %s %s ", box->rank, box->microbatch,
		pipesim_print_ms(start, box->start), pipesim_print_ms(end, box->end));
	pipesim_figure_short(out, lane, 3);
	g_string_append_c(out, '\n');
}

/* Boxes of one kind and shade, or, where @kind is PIPESIM_FB, the outlines of pairs. */
static void append_block(const PipesimLayout *layout, guint kind, guint shade, GString *out)
{
	PipesimBox boxes[2];

	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimRun *run = layout->panels[p].run;
		double top = panel_top(layout, p) + 0.5;

		for (guint32 op = 0; op < run->program->n_ops; op++) {
			guint n = pipesim_layout_boxes(run, op, boxes);

			if (kind == PIPESIM_FB && n > 0 && boxes[0].paired) {
				boxes[0].end = boxes[n - 1].end;
				append_box(out, &boxes[0], top + boxes[0].rank);
				continue;
			}
			for (guint i = 0; i < n; i++)
				if (boxes[i].kind == kind && boxes[i].shade == shade)
					append_box(out, &boxes[i], top + boxes[i].rank);
		}
	}
	g_string_append(out, "\n\n");
}

void pipesim_gnuplot_data(const PipesimLayout *layout, GString *out)
{
	g_string_append(
		out, "# rank, micro-batch, start (ms), end (ms), lane (from the top)\n");
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint shade = 0; shade < 2; shade++) {
			if (!layout->shown[kind][shade])
				continue;
			g_string_append_printf(out, "# %s%u\n", looks[kind].name, shade);
			append_block(layout, kind, shade, out);
		}
	if (layout->pairs) {
		g_string_append(out, "# pairs\n");
		append_block(layout, PIPESIM_FB, 0, out);
	}
}

/* Script --------------------------------------------------------------------------------- */

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
	/* gnuplot takes a name that begins with | or < for a command. */
	if (strchr("|<-", name[0]) != NULL) {
		g_autofree char *safe = g_strconcat("./", name, NULL);

		pipesim_gnuplot_quote(out, safe);
	} else {
		pipesim_gnuplot_quote(out, name);
	}
	g_string_append_c(out, '\n');
}

static void append_header(GString *out, const PipesimLayout *layout,
	const PipesimComparison *comparison, const PipesimPicturePaths *paths)
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
			     "# name.\n\n"
			     "if (!exists('picture')) ");
	append_name(out, "picture", paths->picture);
	append_name(out, "data", paths->data);
}

static void append_settings(
	GString *out, const PipesimLayout *layout, const PipesimPicturePaths *paths)
{
	guint lane = lane_pixels(layout);
	guint width = picture_width(layout);
	guint height = layout->lanes * lane + layout->n_panels * TITLE_PIXELS + TOP_PIXELS +
		       BOTTOM_PIXELS;
	double box = (width - LEFT_PIXELS - RIGHT_PIXELS) * (double)layout->lanes /
		     (double)MAX(1, layout->n_boxes);

	g_string_append_printf(out,
		"\n# Sizes, pixels.\n"
		"width = %u\nheight = %u\n"
		"left = %u; right = %u; top = %u; bottom = %u  # margins\n"
		"letters = %u  # size of the micro-batch numbers, which stay out of smaller "
		"boxes\n"
		"edge = %s  # width of the line around a box\n",
		width, height, LEFT_PIXELS, RIGHT_PIXELS, TOP_PIXELS, BOTTOM_PIXELS,
		lane >= 14 ? lane / 2 : 0, box < 5 ? "0" : "0.5");
	g_string_append_printf(out,
		"\n# Time: the .dat file has ms, the axis %s.\nunit = ", layout->unit->name);
	pipesim_figure_short(out, 1e6 / (double)layout->unit->ns, 9);
	g_string_append(out, "\nend = ");
	pipesim_figure_short(out, (double)layout->end / 1e6, 6);
	g_string_append(out, " * unit\n\n# Colours of kind and shade.\n");
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		g_string_append_printf(out, "%s0 = '%s'; %s1 = '%s'\n", looks[kind].name,
			looks[kind].colours[0], looks[kind].name, looks[kind].colours[1]);
	if (strcmp(paths->terminal, "pdfcairo") == 0)
		g_string_append(out,
			"\nset terminal pdfcairo size width / 100.0,height / 100.0 "
			"font 'Arial,9' background 'white' noenhanced\n");
	else
		g_string_append_printf(out,
			"\nset terminal %s size width,height font 'Arial,%s' background "
			"'white' "
			"noenhanced\n",
			paths->terminal, strcmp(paths->terminal, "svg") == 0 ? "12" : "9");
}

static void append_axes(GString *out, const PipesimLayout *layout)
{
	const double title = (double)TITLE_PIXELS / lane_pixels(layout);

	g_string_append(out, "set output picture\n"
			     "set lmargin at screen left / (width * 1.0)\n"
			     "set rmargin at screen 1 - right / (width * 1.0)\n"
			     "set tmargin at screen 1 - top / (height * 1.0)\n"
			     "set bmargin at screen bottom / (height * 1.0)\n"
			     "set xrange [0:end]\n");
	g_string_append(out, "set yrange [");
	pipesim_figure_short(out, layout->lanes + layout->n_panels * title, 3);
	g_string_append_printf(out,
		":0]\n"
		"set border 1\n"
		"set xtics out nomirror\n"
		"set xlabel 'time, %s' offset 0,0.4\n"
		"set ytics scale 0\n"
		"set key at screen 0.5,screen 26.0 / height center bottom horizontal maxrows 2 "
		"samplen 1.6\n",
		layout->unit->name);
}

static void append_ranks(GString *out, const PipesimLayout *layout)
{
	guint step = (lane_pixels(layout) + 13) / lane_pixels(layout);
	const char *before = "set ytics (";

	for (guint p = 0; p < layout->n_panels; p++)
		for (guint rank = 0; rank < layout->panels[p].run->shape.ranks; rank += step) {
			g_string_append_printf(out, "%s'rank %u' ", before, rank);
			pipesim_figure_short(out, panel_top(layout, p) + rank + 0.5, 3);
			before = ", ";
		}
	g_string_append(out, ")\n");
}

/* The title of each panel, and a frame around the time that its schedule takes. */
static void append_panels(GString *out, const PipesimLayout *layout)
{
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		double top = panel_top(layout, p);

		g_string_append(out, "set label ");
		pipesim_gnuplot_quote(out, panel->title);
		g_string_append(out, " at 0,");
		pipesim_figure_short(out, top - 11.0 / lane_pixels(layout), 3);
		g_string_append(out, "\nset object rectangle from 0,");
		pipesim_figure_short(out, top, 3);
		g_string_append(out, " to unit * ");
		pipesim_figure_short(out, (double)panel->run->timeline->makespan / 1e6, 6);
		g_string_append_c(out, ',');
		pipesim_figure_short(out, top + panel->run->shape.ranks, 3);
		g_string_append(out, " behind fs empty border rgb '#909090' lw 0.5\n");
	}
}

static void append_source(GString *out, const PipesimComparison *comparison)
{
	static const PipesimKind order[] = {
		PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B, PIPESIM_FB};
	const PipesimCosts *costs = comparison->costs;
	g_autoptr(GString) text = g_string_new("Times, ms:");
	PipesimNumber number;

	for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
		g_string_append_printf(text, " %s %s,", pipesim_kind_letter(order[i]),
			pipesim_print_ms(number, costs->time[order[i]]));
	g_string_append_printf(text, " P2P %s", pipesim_print_ms(number, costs->p2p));
	if (costs->source != NULL)
		g_string_append_printf(text, "; from %s", costs->source);
	g_string_append(out, "set label ");
	pipesim_gnuplot_quote(out, text->str);
	g_string_append(out, " at screen left / (width * 1.0),screen 12.0 / height "
			     "textcolor rgb '#606060'\n");
}

static void append_title(GString *out, const PipesimLayout *layout, guint kind, guint shade)
{
	g_string_append(out, "title '");
	g_string_append(out, looks[kind].title);
	if (layout->shade_name != NULL)
		g_string_append_printf(out, ", %s %u", layout->shade_name, shade);
	g_string_append(out, "'");
}

static void append_plots(GString *out, const PipesimLayout *layout)
{
	const char *before = "plot ";

	g_string_append(out,
		"\n# Columns of the .dat file: 1 rank, 2 micro-batch, 3 start, 4 end, 5 lane.\n"
		"box = \"using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 - "
		"0.46):\\\n"
		"($5 + 0.46) with boxxyerror fs solid border rgb '#303030' lw edge fc rgb\"\n"
		"fits(from, to, text) = (to - from) * unit / end * (width - left - right) > "
		"\\\n"
		"	letters * (0.62 * strlen(text)) + 2\n"
		"number = \"using (($3 + $4) / 2 * unit):5:\\\n"
		"(letters > 0 && fits($3, $4, strcol(2)) ? strcol(2) : '') with labels\"\n");
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint shade = 0; shade < 2; shade++) {
			if (!layout->shown[kind][shade])
				continue;
			g_string_append_printf(out, "%sdata index '%s%u' @box %s%u ", before,
				looks[kind].name, shade, looks[kind].name, shade);
			append_title(out, layout, kind, shade);
			before = ", \\\n	";
		}
	if (layout->pairs)
		g_string_append_printf(out,
			"%sdata index 'pairs' using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * "
			"unit):($5 - 0.46):($5 + 0.46) \\\n"
			"	with boxxyerror fs empty border rgb 'black' lw 3 * edge fc rgb "
			"'black' title 'overlapped pair'",
			before);
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint shade = 0; shade < 2; shade++)
			if (layout->shown[kind][shade])
				g_string_append_printf(out,
					"%sdata index '%s%u' @number font "
					"sprintf('Arial%s,%%g', "
					"letters) tc rgb '%s' notitle",
					before, looks[kind].name, shade, shade ? ":Italic" : "",
					looks[kind].text[shade]);
	g_string_append(out, "\n");
}

void pipesim_gnuplot_script(const PipesimLayout *layout, const PipesimComparison *comparison,
	const PipesimPicturePaths *paths, GString *out)
{
	append_header(out, layout, comparison, paths);
	append_settings(out, layout, paths);
	append_axes(out, layout);
	append_ranks(out, layout);
	append_panels(out, layout);
	append_source(out, comparison);
	append_plots(out, layout);
}
