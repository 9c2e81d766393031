/* What stands below timelines: what colours mean, and words on what is drawn. */
#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/moments.h"
#include "output/picture.h"
#include "output/table.h"

/* Pixels, at the usual size of font. */
#define SWATCH_PIXELS 18
#define LINE_PIXELS   17
/* From the axis down: the colours; from the last of them to the words, and to the edge. */
#define LEGEND_PIXELS  66
#define CAPTION_PIXELS 24
#define EDGE_PIXELS    14
/* An average letter, of a font of one pixel. */
#define GLYPH 0.52

typedef struct {
	const PipesimLayout *layout;
	const PipesimDetail *detail;
	GString *out;
	double x;    /* where the next entry begins, pixels */
	guint below; /* of the line that it is on, pixels below the axis */
} Legend;

static double words_pixels(const Legend *legend, const char *words)
{
	return (double)g_utf8_strlen(words, -1) * GLYPH * legend->detail->font;
}

static void begin_line(Legend *legend)
{
	legend->x = legend->detail->left;
	legend->below += pipesim_detail_pixels(legend->detail, LINE_PIXELS);
}

/* An entry of @swatches and @words begins: on the next line where this one has no room. */
static void begin_entry(Legend *legend, guint swatches, const char *words)
{
	const PipesimDetail *detail = legend->detail;
	const double width = swatches * pipesim_detail_pixels(detail, SWATCH_PIXELS) +
			     words_pixels(legend, words);

	if (legend->x > detail->left && legend->x + width > detail->left + detail->across)
		begin_line(legend);
}

/* A swatch @from to @to of its height, as gnuplot fills it. */
static void append_part(Legend *legend, double from, double to, double width, const char *fill)
{
	const double height = pipesim_detail_pixels(legend->detail, 13);

	g_string_append_printf(legend->out,
		"set object rectangle from screen x(%s),screen y(bottom - %s) to screen "
		"x(%s),screen y(bottom - %s) %s\n",
		pipesim_short(legend->x, 1),
		pipesim_short(legend->below + height * (to - 0.5), 1),
		pipesim_short(legend->x + width, 1),
		pipesim_short(legend->below + height * (from - 0.5), 1), fill);
}

static void append_swatch(Legend *legend, double from, double to, const char *fill)
{
	const guint width = pipesim_detail_pixels(legend->detail, SWATCH_PIXELS);

	append_part(legend, from, to, width, fill);
	legend->x += width;
}

static void append_words(Legend *legend, const char *words)
{
	legend->x += 0.4 * legend->detail->font;
	pipesim_gnuplot_quote(legend->out, "set label ", words,
		" at screen x(%s),screen y(bottom - %u) textcolor rgb ink\n",
		pipesim_short(legend->x, 1), legend->below);
	legend->x += words_pixels(legend, words) + 1.3 * legend->detail->font;
}

/* A swatch and its words. */
static void append_entry(Legend *legend, const char *fill, const char *words)
{
	begin_entry(legend, 1, words);
	append_swatch(legend, 0, 1, fill);
	append_words(legend, words);
}

static void append_kinds(Legend *legend)
{
	const PipesimLayout *layout = legend->layout;

	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		const PipesimLook *look = &legend->detail->theme->looks[kind];

		if (!pipesim_layout_shows(layout, kind))
			continue;
		begin_entry(legend, PIPESIM_SHADES, pipesim_layout_title(layout, kind));
		for (guint shade = 0; shade < PIPESIM_SHADES; shade++) {
			g_autofree char *fill =
				g_strdup_printf("fs solid border rgb '%s' lw 0.5 fc rgb %s%u",
					look->edge, pipesim_kind_letter(kind), shade);

			if (layout->shown[kind][shade])
				append_swatch(legend, 0, 1, fill);
		}
		append_words(legend, pipesim_layout_title(layout, kind));
	}
}

/* Two halves in a frame, as in the timeline. */
static void append_pair(Legend *legend)
{
	const double half = pipesim_detail_pixels(legend->detail, SWATCH_PIXELS) * 0.75;

	begin_entry(legend, 2, "overlapped pair");
	append_part(legend, 0, 1, half, "fs solid noborder fc rgb F0");
	legend->x += half;
	append_part(legend, 0, 1, half, "fs solid noborder fc rgb B0");
	legend->x -= half - 1;
	append_part(legend, 0.08, 0.92, 2 * half - 2, "fs empty border rgb pair lw 1.5");
	legend->x += 2 * half - 1;
	append_words(legend, "overlapped pair");
}

static void append_shades(Legend *legend)
{
	const PipesimLayout *layout = legend->layout;
	g_autoptr(GString) words = g_string_new(NULL);
	g_autofree char *second = pipesim_layout_shade(layout);

	if (layout->most_shades <= 2) {
		g_string_printf(words, "light, italic: %s", second);
	} else {
		g_string_printf(words, "shades: %s ", layout->shade_of);
		for (guint i = 0; i < MIN(layout->most_shades, PIPESIM_SHADES); i++)
			g_string_append_printf(words, "%s%u", i > 0 ? ", " : "", i);
		if (layout->most_shades > PIPESIM_SHADES)
			g_string_append(words, " and so on, modulo 4");
	}
	begin_entry(legend, 0, words->str);
	append_words(legend, words->str);
}

/* How long ops took, above their boxes: all levels side by side. */
static void append_speeds(Legend *legend)
{
	const double width = pipesim_detail_pixels(legend->detail, SWATCH_PIXELS) * 0.6;
	g_autofree char *words =
		g_strdup_printf("above each op, what it took: from %u %% less than its "
				"sustained time, over as long, to %u %% more",
			PIPESIM_SPEED_SUSTAINED * PIPESIM_SPEED_PERCENT,
			(PIPESIM_SPEEDS - 1 - PIPESIM_SPEED_SUSTAINED) * PIPESIM_SPEED_PERCENT);

	begin_line(legend);
	begin_entry(legend, PIPESIM_SPEEDS, words);
	for (guint i = 0; i < PIPESIM_SPEEDS; i++) {
		g_autofree char *fill =
			g_strdup_printf("fs solid border rgb frame lw 0.25 fc rgb V%u", i);

		append_part(legend, 0.2, 0.8, width, fill);
		legend->x += width;
	}
	append_words(legend, words);
}

/* What ranks hold: by colour, from the first to the last. */
static void append_ranks(Legend *legend)
{
	static const char *const names[] = {"first rank", "middle rank", "last rank"};

	begin_line(legend);
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		char colour[8];
		g_autofree char *fill = g_strdup_printf("fs solid noborder fc rgb '%s'",
			pipesim_theme_rank(legend->detail->theme, i, 3, colour));

		begin_entry(legend, 1, names[i]);
		append_swatch(legend, 0.4, 0.6, fill);
		append_words(legend, names[i]);
	}
	append_words(legend, legend->layout->most_ranks > PIPESIM_MEMORY_LINES
				     ? "(of what ranks hold: 16 of them, evenly chosen)"
				     : "(of what ranks hold)");
}

/* What the bytes of the fullest rank are of: the kinds that ranks have at their fullest. */
static void append_held(Legend *legend)
{
	begin_line(legend);
	for (guint part = 0; part < PIPESIM_N_HELD; part++) {
		char colour[8];
		g_autofree char *fill = g_strdup_printf("fs solid noborder fc rgb '%s'",
			pipesim_theme_part(legend->detail->theme, part, colour));
		const PipesimPanel *panels = legend->layout->panels;

		if (pipesim_any(p, legend->layout->n_panels,
			    pipesim_any(rank, panels[p].run->report->ranks,
				    panels[p].run->report->memory.fullest[rank].part[part] >
					    0)))
			append_entry(legend, fill, pipesim_held_names[part]);
	}
	append_words(legend, "(of the fullest rank)");
}

/* Lines of words below the colours, on what is drawn and on how. */
static void append_captions(Legend *legend, const PipesimComparison *comparison)
{
	const PipesimLayout *layout = legend->layout;
	const PipesimDetail *detail = legend->detail;
	const PipesimRuntime *runtime = comparison->scenario.runtime;
	const guint letters = (guint)(detail->across / (1.05 * GLYPH * detail->font));
	g_autoptr(GString) text = g_string_new(NULL);

	pipesim_figure_times(text, comparison->costs, ", ");
	if (pipesim_runtime_waits(runtime))
		g_string_append_printf(text, "; --runtime %s", runtime->name);
	if (comparison->costs->source != NULL)
		g_string_append_printf(text, "\nTimes from: %s", comparison->costs->source);
	if (detail->thin_speeds)
		g_string_append(text, "\nLanes are too low to show how fast ops ran");
	for (guint p = 0; p < layout->n_panels && detail->memory > 0; p++) {
		const PipesimRun *run = layout->panels[p].run;
		g_autofree char *words =
			pipesim_moment_over(run, comparison->scenario.memory_limit);

		if (words != NULL)
			g_string_append_printf(text, "\n%s: %s", run->name, words);
	}
	if (detail->width > 0) {
		g_string_append_printf(text, "\nBoxes too short to be drawn: %s is idle",
			detail->height >= 6 * detail->lanes
				? "in each column of pixels the height of a colour is its "
				  "share of the time, what is bare"
				: "each pixel has the mean colour of what runs in it, what is "
				  "bare");
		if (layout->share > 1)
			g_string_append_printf(text, "; a lane is %u ranks", layout->share);
		if (layout->n_messages > 0 && !detail->messages)
			g_string_append(text, "; messages are too thin to be seen");
		if (layout->n_asides > 0 && !detail->asides)
			g_string_append(
				text, "; copies and collectives are too thin to be seen");
	}
	legend->below += pipesim_detail_pixels(detail, CAPTION_PIXELS - LINE_PIXELS);
	g_auto(GStrv) paragraphs = g_strsplit(text->str, "\n", -1);
	for (char **paragraph = paragraphs; *paragraph != NULL; paragraph++) {
		g_autoptr(GString) wrapped = g_string_new(NULL);

		pipesim_wrap(wrapped, *paragraph, 4, 0, letters);
		g_auto(GStrv) lines = g_strsplit(wrapped->str, "\n", -1);
		for (char **line = lines; line[1] != NULL; line++) {
			begin_line(legend);
			pipesim_gnuplot_quote(legend->out, "set label ", *line,
				" at screen x(left),screen y(bottom - %u) textcolor rgb "
				"quiet\n",
				legend->below);
		}
	}
}

guint pipesim_legend_append(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, GString *out)
{
	Legend legend = {.layout = layout,
		.detail = detail,
		.out = out,
		.x = detail->left,
		.below = pipesim_detail_pixels(detail, LEGEND_PIXELS)};

	append_kinds(&legend);
	if (layout->pairs)
		append_pair(&legend);
	if (layout->critical)
		append_entry(&legend, "fs empty border rgb critical lw 2", "critical path");
	if (layout->shade_of != NULL)
		append_shades(&legend);
	if (detail->speeds)
		append_speeds(&legend);
	if (detail->memory > 0)
		append_ranks(&legend);
	if (detail->memory > 0 && layout->bytes)
		append_held(&legend);
	if (detail->messages) {
		begin_line(&legend);
		append_entry(&legend, "fs solid noborder fc rgb S0", "sends");
		append_entry(&legend, "fs solid noborder fc rgb R0",
			"receives; dark: the message moves, pale: one end waits for the "
			"other;");
		append_entry(&legend, "fs solid noborder fc rgb R2",
			"a receive that waits sits beside an op");
	}
	if (detail->asides) {
		begin_line(&legend);
		if (layout->asides[PIPESIM_ASIDE_OUT])
			append_entry(
				&legend, "fs solid noborder fc rgb H0", "copies to the host");
		if (layout->asides[PIPESIM_ASIDE_IN])
			append_entry(&legend, "fs solid noborder fc rgb H1", "copies back");
		if (layout->asides[PIPESIM_ASIDE_BROADCAST] ||
			layout->asides[PIPESIM_ASIDE_REDUCE])
			append_entry(&legend, "fs solid noborder fc rgb C0",
				"collectives: broadcasts above, reductions below");
	}
	append_captions(&legend, comparison);
	return legend.below + pipesim_detail_pixels(detail, EDGE_PIXELS);
}
