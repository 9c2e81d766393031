/* What stands below a timeline: what the colours mean, and what the times are. */
#include "config.h"

#include <string.h>

#include "output/figures.h"
#include "output/picture.h"
#include "runtime/lower.h"

#define SWATCH_PIXELS 18
/* An average letter of the legend's height. */
#define GLYPH_PIXELS 6.3
/* Between lines of words. */
#define LINE_PIXELS 17
/* From the axis down: the colours, and the first line of words. */
#define LEGEND_PIXELS  66
#define CAPTION_PIXELS 90

/* Orange, sky blue, blue and green, as Okabe and Ito chose them for every kind of colour
 * vision, moved so that the eight lie far apart in lightness: L* 83 94, 67 78, 16 32,
 * 46 61. A grey print then keeps them apart. */
const PipesimLook pipesim_looks[PIPESIM_FB] = {
	[PIPESIM_F] = {{"#FFC44F", "#FFEDC4"}, {"black", "black"}, "#303030", "forward"},
	[PIPESIM_I] = {{"#52ACE8", "#8FCBE0"}, {"black", "black"}, "#303030",
		"backward for input"},
	[PIPESIM_W] = {{"#15225A", "#3F4690"}, {"white", "white"}, "#A6ACDC",
		"backward for weights"},
	[PIPESIM_B] = {{"#007C55", "#53A37B"}, {"white", "black"}, "#303030", "full backward"},
};

const char *const pipesim_message_looks[2][2] = {
	{"#B0400A", "#F4C9B0"},
	{"#8A2F74", "#E6C8DF"},
};

static void append_caption(GString *out, const char *text, guint below)
{
	g_string_append(out, "set label ");
	pipesim_gnuplot_quote(out, text);
	g_string_append_printf(out,
		" at screen x(left),screen y(bottom - %u) textcolor rgb '#606060'\n", below);
}

guint pipesim_gnuplot_captions(const PipesimDetail *detail, const PipesimComparison *comparison)
{
	return 1 + (comparison->costs->source != NULL) + (detail->width > 0) + detail->messages;
}

static void append_source(GString *out, const PipesimLayout *layout,
	const PipesimDetail *detail, const PipesimComparison *comparison)
{
	static const PipesimKind order[] = {
		PIPESIM_F, PIPESIM_I, PIPESIM_W, PIPESIM_B, PIPESIM_FB};
	const PipesimCosts *costs = comparison->costs;
	g_autoptr(GString) text = g_string_new("Times, ms:");
	PipesimNumber number;
	guint below = CAPTION_PIXELS + (detail->messages ? LINE_PIXELS : 0);

	for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
		g_string_append_printf(text, " %s %s,", pipesim_kind_letter(order[i]),
			pipesim_print_ms(number, costs->time[order[i]]));
	g_string_append_printf(text, " P2P %s", pipesim_print_ms(number, costs->p2p));
	if (comparison->scenario.comm != PIPESIM_COMM_ASYNC)
		g_string_append_printf(
			text, "; --comm %s", pipesim_comm_name(comparison->scenario.comm));
	append_caption(out, text->str, below);
	if (costs->source != NULL) {
		g_string_printf(text, "Times from: %s", costs->source);
		append_caption(out, text->str, below += LINE_PIXELS);
	}
	if (detail->width == 0)
		return;
	g_string_assign(text,
		detail->height >= 6 * pipesim_gnuplot_height(layout)
			? "Boxes too short to be drawn: in each column of pixels the height of "
			  "a colour is its share of the time, white is idle"
			: "Boxes too short to be drawn: each pixel has the mean colour of what "
			  "runs in it, white is idle");
	if (layout->share > 1)
		g_string_append_printf(text, "; a lane is %u ranks", layout->share);
	if (layout->n_messages > 0 && !detail->messages)
		g_string_append(text, "; messages are too thin to be seen");
	append_caption(out, text->str, below + LINE_PIXELS);
}

/* A swatch of the legend, @x pixels from the left, @line lines below its first. */
static void append_swatch(GString *out, double x, guint line, const char *fill)
{
	const guint below = LEGEND_PIXELS + line * LINE_PIXELS;

	g_string_append(out, "set object rectangle from screen x(");
	pipesim_figure_short(out, x, 1);
	g_string_append_printf(out, "),screen y(bottom - %u) to screen x(", below + 6);
	pipesim_figure_short(out, x + SWATCH_PIXELS, 1);
	g_string_append_printf(out, "),screen y(bottom - %u) %s\n", below - 7, fill);
}

/* Returns where the next entry begins. */
static double append_words(GString *out, double x, guint line, const char *words)
{
	g_string_append(out, "set label ");
	pipesim_gnuplot_quote(out, words);
	g_string_append(out, " at screen x(");
	pipesim_figure_short(out, x, 1);
	g_string_append_printf(
		out, "),screen y(bottom - %u)\n", LEGEND_PIXELS + line * LINE_PIXELS);
	return x + (double)strlen(words) * GLYPH_PIXELS + 20;
}

static double append_kind(GString *out, const PipesimLayout *layout, guint kind, double x)
{
	for (guint shade = 0; shade < 2; shade++) {
		g_autofree char *fill =
			g_strdup_printf("fs solid border rgb '%s' lw 0.5 fc rgb %s%u",
				pipesim_looks[kind].edge, pipesim_kind_letter(kind), shade);

		if (!layout->shown[kind][shade])
			continue;
		append_swatch(out, x, 0, fill);
		x += SWATCH_PIXELS;
	}
	return append_words(out, x + 6, 0, pipesim_looks[kind].title);
}

static void append_legend(
	GString *out, const PipesimLayout *layout, const PipesimDetail *detail)
{
	double x = pipesim_gnuplot_left(layout);

	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		if (layout->shown[kind][0] || layout->shown[kind][1])
			x = append_kind(out, layout, kind, x);
	if (layout->pairs) {
		append_swatch(out, x, 0, "fs empty border rgb 'black' lw 1.5");
		x = append_words(out, x + SWATCH_PIXELS + 6, 0, "overlapped pair");
	}
	if (layout->shade_name != NULL) {
		g_autofree char *words =
			g_strdup_printf("light, italic: %s 1", layout->shade_name);

		append_words(out, x, 0, words);
	}
	if (!detail->messages)
		return;
	x = pipesim_gnuplot_left(layout);
	append_swatch(out, x, 1, "fs solid noborder fc rgb S0");
	x = append_words(out, x + SWATCH_PIXELS + 6, 1, "sends");
	append_swatch(out, x, 1, "fs solid noborder fc rgb R0");
	append_words(out, x + SWATCH_PIXELS + 6, 1,
		"receives; pale: one end waits for the other, dark: the message moves");
}

void pipesim_gnuplot_legend(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimComparison *comparison, GString *out)
{
	append_legend(out, layout, detail);
	append_source(out, layout, detail, comparison);
}
