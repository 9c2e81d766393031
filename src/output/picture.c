/* Timelines as gnuplot draws them. */
#include "config.h"

#include <string.h>

#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/picture.h"
#include "output/sink.h"

/* Most lanes that a picture has. */
#define MAX_LANES 3000
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
#define LINE_PIXELS   17 /* between lines of words */
#define LEFT_PIXELS   64 /* where ranks have three digits */
#define RIGHT_PIXELS  24
#define LETTER_PIXELS 11

typedef struct {
	const PipesimComparison *comparison;
	const PipesimLayout *layout;
	PipesimDetail detail;
	const GPtrArray *captions; /* lines of words below the colours */
	PipesimGnuplot *gnuplot;
	GString *out;       /* its script */
	const char *before; /* the next part of its plot */
} Picture;

/* Sizes -------------------------------------------------------------------------------------- */

void pipesim_detail_init(PipesimDetail *detail, const PipesimLayout *layout)
{
	guint ranks = 0, lanes = 0, digits = 3, lane = 1, k = 0, left, across, height, fine;
	double most = 0; /* boxes of a lane, were its panel as long as the longest */

	for (guint i = 0; i < layout->n_panels; i++) {
		const PipesimRun *run = layout->panels[i].run;
		const double share =
			(double)layout->end / (double)MAX(1, run->step->timeline->makespan);

		ranks = MAX(ranks, run->shape.ranks);
		lanes = MAX(lanes, layout->panels[i].lanes);
		most = MAX(most, share * run->step->program->n_ops / run->shape.ranks);
	}
	if (layout->lanes <= 1000)
		lane = lanes <= 16 ? 22 : lanes <= 64 ? 14 : lanes <= 256 ? 6 : 3;
	/* Strips of messages take a third. */
	if (layout->lanes <= 1000 && layout->n_messages > 0 && lanes <= 256)
		lane = lane * 3 / 2;
	/* Room for the longest name of a rank. */
	for (; ranks > 1000; ranks /= 10)
		digits++;
	left = LEFT_PIXELS + (digits - 3) * 8;
	/* Room for a number in an average box of the panel that has most boxes a lane. */
	across =
		(guint)CLAMP(most * 30 + left + RIGHT_PIXELS, 1100, 2000) - left - RIGHT_PIXELS;
	height = layout->lanes * lane + layout->n_panels * TITLE_PIXELS;
	*detail = (PipesimDetail){
		.lane = lane,
		.left = left,
		.across = across,
		.title = (double)TITLE_PIXELS / lane,
		.lanes = layout->lanes + layout->n_panels * (double)TITLE_PIXELS / lane,
		.messages = layout->n_messages > 0 && lane > 3 && layout->share == 1,
	};
	if (layout->n_boxes + 2 * layout->n_messages <= MAX_BOXES && layout->share == 1)
		return;
	while (k < 62 && (layout->n_long[k] > MAX_BOXES ||
				 (gint64)1 << k < layout->end / across * LEAST_PIXELS))
		k++;
	fine = (guint64)across * height <= FINE_PIXELS ? 2 : 1;
	detail->least = (gint64)1 << k;
	detail->width = across * fine;
	detail->height = height * fine;
}

/* Data --------------------------------------------------------------------------------------- */

/* The blocks of the file: of each kind and shade, the outlines of pairs and of the critical path,
 * and strips below the boxes of a rank: what it sends and what it receives, where messages wait for
 * each other. Pale: from the moment an end is issued to that at which the message moves. Those
 * that move come last: they are short. */
enum {
	PAIRS = 2 * PIPESIM_FB,
	CRITICAL,
	STRIPS,
};

/* None begins with another. */
static const char *const block_names[PIPESIM_N_BLOCKS] = {"F0", "F1", "I0", "I1", "W0", "W1",
	"B0", "B1", "pairs", "critical", "waiting-sends", "waiting-receives", "sends",
	"receives"};

static void append_box(GString *out, const PipesimBox *box, double lane)
{
	PipesimNumber start, end, middle;

	g_string_append_printf(out, "%u %u %s %s %s\n", box->rank, box->microbatch,
		pipesim_print_ms(start, box->start), pipesim_print_ms(end, box->end),
		pipesim_figure_short(middle, lane, 3));
}

/* Around all @n boxes of an op, if that can be seen. */
static void append_outline(GString *out, const PipesimBox *boxes, guint n,
	const PipesimDetail *detail, double lane)
{
	PipesimBox whole = boxes[0];

	whole.end = boxes[n - 1].end;
	if (whole.end - whole.start >= detail->least)
		append_box(out, &whole, lane);
}

/* Of ops that take long enough to be seen, and the outlines of pairs. */
static void add_boxes_of(
	GString **blocks, const PipesimRun *run, double top, const PipesimDetail *detail)
{
	const guint32 *begin = run->step->program->rank_begin;

	for (guint rank = 0; rank < run->shape.ranks; rank++)
		for (guint32 op = begin[rank]; op < begin[rank + 1]; op++) {
			PipesimBox boxes[2];
			const guint n = pipesim_layout_boxes(run, rank, op, boxes);

			for (guint i = 0; i < n; i++)
				if (boxes[i].end - boxes[i].start >= detail->least)
					append_box(blocks[2 * boxes[i].kind + boxes[i].shade],
						&boxes[i], top + rank);
			if (n > 0 && boxes[0].paired)
				append_outline(blocks[PAIRS], boxes, n, detail, top + rank);
		}
}

/* An op of the critical path, whole. */
static void add_critical_of(
	GString *out, const PipesimRun *run, double top, const PipesimDetail *detail)
{
	const PipesimCriticalPath *path = &run->report->path;

	for (guint i = 0; i < path->n_ops; i++) {
		const guint rank = pipesim_program_rank(run->step->program, path->ops[i]);
		PipesimBox boxes[2];
		const guint n = pipesim_layout_boxes(run, rank, path->ops[i], boxes);

		if (n > 0)
			append_outline(out, boxes, n, detail, top + rank);
	}
}

static void add_messages_of(GString **strips, const PipesimRun *run, double top)
{
	const PipesimTimeline *timeline = run->step->timeline;

	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *t = &timeline->transfers[i];
		const PipesimOp *to = &run->step->program->ops[t->to];
		const guint ranks[] = {t->from_rank, t->to_rank};
		const gint64 times[][2] = {{t->sent, t->start}, {t->received, t->start},
			{t->start, t->end}, {t->start, t->end}};

		for (guint k = 0; k < G_N_ELEMENTS(times); k++) {
			const PipesimBox box = {
				.start = times[k][0],
				.end = times[k][1],
				.rank = ranks[k % 2],
				.microbatch = to->kind == PIPESIM_FB && t->backward
						      ? to->b_microbatch
						      : to->microbatch,
			};

			if (box.start < box.end)
				append_box(strips[k], &box, top + box.rank);
		}
	}
}

void pipesim_picture_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out)
{
	GString *blocks[PIPESIM_N_BLOCKS];

	for (guint i = 0; i < PIPESIM_N_BLOCKS; i++)
		blocks[i] = g_string_new(NULL);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimRun *run = layout->panels[p].run;
		const double top = pipesim_detail_top(detail, layout, p) + 0.5;

		/* Of ranks that share a lane no box stands for itself. */
		if (layout->share == 1)
			add_boxes_of(blocks, run, top, detail);
		if (layout->share == 1 && layout->critical)
			add_critical_of(blocks[CRITICAL], run, top, detail);
		/* A raster has them already. */
		if (detail->messages && detail->width == 0)
			add_messages_of(&blocks[STRIPS], run, top);
	}
	g_string_append(
		out, "# rank, micro-batch, start (ms), end (ms), lane (from the top)\n");
	for (guint i = 0; i < PIPESIM_N_BLOCKS; i++) {
		detail->drawn[i] = blocks[i]->len > 0;
		if (detail->drawn[i]) {
			g_string_append_printf(out, "# %s\n", block_names[i]);
			g_string_append_len(out, blocks[i]->str, (gssize)blocks[i]->len);
			g_string_append(out, "\n\n");
		}
		g_string_free(blocks[i], TRUE);
	}
}

/* Legend ------------------------------------------------------------------------------------- */

#define SWATCH_PIXELS 18
/* An average letter of the legend's height. */
#define GLYPH_PIXELS 6.3
/* From the axis down: the colours, and the first line of words. */
#define LEGEND_PIXELS  66
#define CAPTION_PIXELS 90

/* Lines of words below the colours. For g_ptr_array_unref(). */
static GPtrArray *make_captions(const Picture *picture)
{
	const PipesimLayout *layout = picture->layout;
	const PipesimDetail *detail = &picture->detail;
	const char *source = picture->comparison->costs->source;
	const PipesimRuntime *runtime = picture->comparison->scenario.runtime;
	GPtrArray *captions = g_ptr_array_new_with_free_func(g_free);
	GString *text = g_string_new(NULL);

	pipesim_figure_times(text, picture->comparison->costs, ", ");
	if (pipesim_runtime_waits(runtime))
		g_string_append_printf(text, "; --comm %s", runtime->name);
	g_ptr_array_add(captions, g_string_free(text, FALSE));
	if (source != NULL)
		g_ptr_array_add(captions, g_strconcat("Times from: ", source, NULL));
	if (detail->width == 0)
		return captions;
	text = g_string_new(
		detail->height >= 6 * detail->lanes
			? "Boxes too short to be drawn: in each column of pixels the height of "
			  "a colour is its share of the time, white is idle"
			: "Boxes too short to be drawn: each pixel has the mean colour of what "
			  "runs in it, white is idle");
	if (layout->share > 1)
		g_string_append_printf(text, "; a lane is %u ranks", layout->share);
	if (layout->n_messages > 0 && !detail->messages)
		g_string_append(text, "; messages are too thin to be seen");
	g_ptr_array_add(captions, g_string_free(text, FALSE));
	return captions;
}

/* A swatch of the legend, @x pixels from the left, @line lines below its first. */
static void append_swatch(GString *out, double x, guint line, const char *fill)
{
	const guint below = LEGEND_PIXELS + line * LINE_PIXELS;
	PipesimNumber left, right;

	g_string_append_printf(out,
		"set object rectangle from screen x(%s),screen y(bottom - %u) "
		"to screen x(%s),screen y(bottom - %u) %s\n",
		pipesim_figure_short(left, x, 1), below + 6,
		pipesim_figure_short(right, x + SWATCH_PIXELS, 1), below - 7, fill);
}

/* Returns where the next entry begins. */
static double append_words(GString *out, double x, guint line, const char *words)
{
	PipesimNumber left;

	pipesim_gnuplot_quote(out, "set label ", words,
		" at screen x(%s),screen y(bottom - %u)\n", pipesim_figure_short(left, x, 1),
		LEGEND_PIXELS + line * LINE_PIXELS);
	return x + (double)strlen(words) * GLYPH_PIXELS + 20;
}

/* A swatch and its words; returns where the next entry begins. */
static double append_entry(
	GString *out, double x, guint line, const char *fill, const char *words)
{
	append_swatch(out, x, line, fill);
	return append_words(out, x + SWATCH_PIXELS + 6, line, words);
}

static void append_legend(const Picture *picture)
{
	const PipesimLayout *layout = picture->layout;
	GString *out = picture->out;
	double x = picture->detail.left;
	guint below = CAPTION_PIXELS + (picture->detail.messages ? LINE_PIXELS : 0);

	for (guint kind = 0; kind < PIPESIM_FB; kind++) {
		for (guint shade = 0; shade < 2; shade++) {
			g_autofree char *fill = g_strdup_printf(
				"fs solid border rgb '%s' lw 0.5 fc rgb %s%u",
				pipesim_looks[kind].edge, pipesim_kind_letter(kind), shade);

			if (!layout->shown[kind][shade])
				continue;
			append_swatch(out, x, 0, fill);
			x += SWATCH_PIXELS;
		}
		if (layout->shown[kind][0] || layout->shown[kind][1])
			x = append_words(out, x + 6, 0, pipesim_looks[kind].title);
	}
	if (layout->pairs)
		x = append_entry(
			out, x, 0, "fs empty border rgb 'black' lw 1.5", "overlapped pair");
	if (layout->critical)
		x = append_entry(
			out, x, 0, "fs empty border rgb critical lw 2", "critical path");
	if (layout->shade_name != NULL) {
		g_autofree char *words =
			g_strdup_printf("light, italic: %s 1", layout->shade_name);

		append_words(out, x, 0, words);
	}
	if (picture->detail.messages) {
		x = append_entry(
			out, picture->detail.left, 1, "fs solid noborder fc rgb S0", "sends");
		append_entry(out, x, 1, "fs solid noborder fc rgb R0",
			"receives; pale: one end waits for the other, dark: the message moves");
	}
	for (guint i = 0; i < picture->captions->len; i++, below += LINE_PIXELS)
		pipesim_gnuplot_quote(out, "set label ",
			g_ptr_array_index(picture->captions, i),
			" at screen x(left),screen y(bottom - %u) textcolor rgb '#606060'\n",
			below);
}

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
	const guint lane = detail->lane;
	const guint body = detail->messages ? lane * 2 / 3 : lane;
	const guint bottom =
		BOTTOM_PIXELS + (picture->captions->len - 1 + detail->messages) * LINE_PIXELS;
	const guint height =
		layout->lanes * lane + layout->n_panels * TITLE_PIXELS + TOP_PIXELS + bottom;
	const double box =
		detail->across * (double)layout->lanes / (double)MAX(1, layout->n_boxes);

	GString *out = picture->out;
	PipesimNumber unit, end;

	g_string_append_printf(picture->out,
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
		detail->left + detail->across + RIGHT_PIXELS, height, detail->left,
		RIGHT_PIXELS, TOP_PIXELS, bottom, body >= 14 ? MIN(LETTER_PIXELS, body - 4) : 0,
		box < 5 ? "0" : "0.5", detail->messages ? "0.14" : "0.46");
	g_string_append_printf(out,
		"\n# Time: the .dat file has ms, the axis %s.\n"
		"unit = %s\n"
		"end = unit * %s\n"
		"\n# Colours by kind and shade.\n",
		layout->unit->name,
		pipesim_figure_short(unit, 1e6 / (double)layout->unit->ns, 9),
		pipesim_figure_short(end, (double)layout->end / 1e6, 6));
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		g_string_append_printf(out, "%s0 = '%s'; %s1 = '%s'\n",
			pipesim_kind_letter(kind), pipesim_looks[kind].colours[0],
			pipesim_kind_letter(kind), pipesim_looks[kind].colours[1]);
	if (layout->critical)
		g_string_append_printf(out, "critical = '%s'\n", PIPESIM_CRITICAL_LOOK);
	if (layout->n_messages > 0)
		g_string_append_printf(out,
			"# Messages: dark while they move, pale while they wait.\n"
			"S0 = '%s'; S1 = '%s'\n"
			"R0 = '%s'; R1 = '%s'\n",
			pipesim_message_looks[0][0], pipesim_message_looks[0][1],
			pipesim_message_looks[1][0], pipesim_message_looks[1][1]);
}

static void append_axes(const Picture *picture)
{
	const PipesimLayout *layout = picture->layout;
	const guint step = (picture->detail.lane + 13) / picture->detail.lane;
	GString *out = picture->out;
	const char *before = "set ytics (";
	PipesimNumber lanes, number;

	g_string_append_printf(picture->out,
		"set lmargin at screen x(left)\n"
		"set rmargin at screen 1 - x(right)\n"
		"set tmargin at screen 1 - y(top)\n"
		"set bmargin at screen y(bottom)\n"
		"set xrange [0:end]\n"
		"set yrange [%s:0]\n"
		"set border 1\n"
		"set xtics out nomirror scale 0.5 offset 0,0.4\n"
		"set label 'time, %s' at screen 0.5,screen y(bottom - 40) center\n"
		"set ytics scale 0\n"
		"unset key\n",
		pipesim_figure_short(lanes, picture->detail.lanes, 3),
		picture->layout->unit->name);
	for (guint p = 0; p < layout->n_panels; p++)
		for (guint lane = 0; lane < layout->panels[p].lanes; lane += step) {
			const double middle =
				pipesim_detail_top(&picture->detail, layout, p) + lane + 0.5;

			g_string_append_printf(out, "%s'rank %u' %s", before,
				lane * layout->share, pipesim_figure_short(number, middle, 3));
			before = ", ";
		}
	g_string_append(out, ")\n");
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
		PipesimNumber title, first, last, end;

		pipesim_gnuplot_quote(out, "set label ", panel->title,
			" at 0,%s%s font sprintf('Arial Bold,%%g', %u * point)\n"
			"set object rectangle from 0,%s to unit * %s,%s %s "
			"fs empty border rgb '#909090' lw 0.5\n",
			pipesim_figure_short(title, top - 11.0 / detail->lane, 3),
			detail->width > 0 ? " front" : "", PIPESIM_GNUPLOT_FONT,
			pipesim_figure_short(first, top, 3),
			pipesim_figure_short(
				end, (double)panel->run->step->timeline->makespan / 1e6, 6),
			pipesim_figure_short(last, top + panel->lanes, 3),
			detail->width > 0 ? "front" : "behind");
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
	g_string_append_printf(
		picture->out, "%sdata index '%s' ", picture->before, block_names[block]);
	picture->before = ", \\\n	";
	va_start(args, format);
	g_string_append_vprintf(picture->out, format, args);
	va_end(args);
}

static void append_plots(Picture *picture)
{
	static const struct {
		const char *colour, *from, *to; /* gnuplot variable; edges, from the lane */
	} strips[] = {
		{"S1", "0.18", "0.31"},
		{"R1", "0.33", "0.46"},
		{"S0", "0.18", "0.31"},
		{"R0", "0.33", "0.46"},
	};
	const PipesimDetail *detail = &picture->detail;
	PipesimNumber dy;

	picture->before = "plot ";
	g_string_append(picture->out,
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
		/* Pixels lie between the ends of both axes, the first line of them at the top. */
		g_string_append_printf(picture->out,
			"dx = end / %u.0; dy = %s\n"
			"pixels = sprintf('binary array=(%u,%u) format=\"%%%%uchar\" dx=%%.12g "
			"dy=%%.12g ' \\\n"
			"	.'origin=(%%.12g,%%.12g) with rgbimage', dx, dy, dx / 2, dy / "
			"2)\n"
			"plot raster @pixels",
			detail->width,
			pipesim_figure_short(dy, detail->lanes / detail->height, 9),
			detail->width, detail->height);
		picture->before = ", \\\n	";
	}
	for (guint i = 0; i < PAIRS; i++)
		append_plot(picture, i, "@box border rgb '%s' fc rgb %s",
			pipesim_looks[i / 2].edge, block_names[i]);
	append_plot(
		picture, PAIRS, "@place with boxxyerror fs empty fc rgb 'black' lw 3 * edge");
	append_plot(picture, CRITICAL, "@place with boxxyerror fs empty fc rgb critical lw 2");
	for (guint i = 0; i < PAIRS; i++)
		append_plot(picture, i,
			"@number \\\n"
			"	font sprintf('Arial%s,%%g', letters * point) tc rgb '%s'",
			i % 2 ? " Italic" : "", pipesim_looks[i / 2].text[i % 2]);
	for (guint i = 0; i < G_N_ELEMENTS(strips); i++)
		append_plot(picture, STRIPS + i,
			"using (($3 + $4) / 2 * unit):5:($3 * unit):($4 * unit):($5 + %s):"
			"($5 + %s) \\\n"
			"	with boxxyerror lw 0.25 fs solid border rgb %s fc rgb %s",
			strips[i].from, strips[i].to, strips[i].colour, strips[i].colour);
	g_string_append(picture->out, "\n");
}

/* Writing ------------------------------------------------------------------------------------ */

gboolean pipesim_picture_write(const PipesimComparison *comparison, const char *path,
	const PipesimStyle *style, const char *program, GError **error)
{
	g_autoptr(PipesimGnuplot) gnuplot = NULL;
	g_autoptr(PipesimLayout) layout = NULL;
	g_autoptr(GPtrArray) captions = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	Picture picture;

	if (g_ascii_strcasecmp(pipesim_path_extension(path), "txt") == 0 ||
		strcmp(path, "-") == 0) {
		pipesim_timeline_text(comparison, style, text);
		return pipesim_write_file(path, text->str, text->len, error);
	}
	gnuplot = pipesim_gnuplot_new(path, "a timeline is .svg, .png, .pdf or .txt", error);
	if (gnuplot == NULL)
		return FALSE;
	layout = pipesim_layout_new(comparison, MAX_LANES);
	if (layout->n_boxes == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT, "nothing to draw: %s",
			layout->n_panels == 0 ? "no schedule has a result"
					      : "no op takes any time");
	picture = (Picture){.comparison = comparison,
		.layout = layout,
		.gnuplot = gnuplot,
		.out = gnuplot->script};
	pipesim_detail_init(&picture.detail, layout);
	pipesim_picture_data(layout, &picture.detail, gnuplot->data);
	picture.captions = captions = make_captions(&picture);
	append_header(&picture);
	append_settings(&picture);
	pipesim_gnuplot_terminal(gnuplot);
	append_axes(&picture);
	append_panels(&picture);
	append_legend(&picture);
	append_plots(&picture);
	if (picture.detail.width > 0) {
		g_autofree char *raster = pipesim_path_beside(path, "rgb");
		g_autofree guint8 *pixels =
			pipesim_raster_paint(layout, &picture.detail, error);
		const gsize size = 3 * (gsize)picture.detail.width * picture.detail.height;

		if (pixels == NULL ||
			!pipesim_write_file(raster, (const char *)pixels, size, error))
			return FALSE;
	}
	return pipesim_gnuplot_draw(gnuplot, program, error);
}
