/* Where the boxes of timelines stand, and the data that they are drawn from. */
#include "analysis/stays.h"
#include "output/figures.h"
#include "output/gnuplot.h"
#include "output/picture.h"

/* A box takes 600 bytes of an SVG, 800 with its number. */
#define MAX_BOXES 25000
/* Beyond these a box is drawn over the raster. */
#define LEAST_PIXELS 4
/* A raster of up to so many pixels has two to one of the picture either way. */
#define FINE_PIXELS 1500000

/* Pixels, at the usual size of font. The title of a panel stands above its lanes. */
#define TITLE_PIXELS  34
#define LEFT_PIXELS   64 /* where ranks have three digits */
#define RIGHT_PIXELS  24
#define LETTER_PIXELS 11
#define TURNED_PIXELS 8
#define MEMORY_PIXELS 96 /* what ranks hold */
#define WORDS_PIXELS  24 /* above it */

/* Sizes -------------------------------------------------------------------------------------- */

guint pipesim_detail_pixels(const PipesimDetail *detail, guint pixels)
{
	return (pixels * detail->font + PIPESIM_GNUPLOT_FONT / 2) / PIPESIM_GNUPLOT_FONT;
}

/* The height of a lane, and that of the numbers in it. */
static void choose_lane(
	PipesimDetail *detail, const PipesimLayout *layout, gboolean speeds, guint lane)
{
	guint lanes = 0, body;

	for (guint i = 0; i < layout->n_panels; i++)
		lanes = MAX(lanes, layout->panels[i].lanes);
	detail->lane = lane;
	if (lane == 0) {
		lane = 1;
		if (layout->lanes <= 1000)
			lane = lanes <= 16 ? 22 : lanes <= 64 ? 14 : lanes <= 256 ? 6 : 3;
		/* Strips of messages or copies take a third. */
		if (layout->lanes <= 1000 && layout->n_messages + layout->n_asides > 0 &&
			lanes <= 256)
			lane = lane * 3 / 2;
		/* Those of speeds a fifth. */
		if (layout->lanes <= 1000 && speeds && lanes <= 256)
			lane = lane * 5 / 4;
		detail->lane = MAX(1, pipesim_detail_pixels(detail, lane));
	}
	detail->messages = layout->n_messages > 0 && detail->lane > 3 && layout->share == 1;
	detail->asides = layout->n_asides > 0 && detail->lane > 3 && layout->share == 1;
	detail->speeds = speeds && detail->lane > 3 && layout->share == 1;
	detail->thin_speeds = speeds && !detail->speeds;
	body = detail->messages || detail->asides ? detail->lane * 2 / 3 : detail->lane;
	if (detail->speeds)
		body -= detail->lane / 5;
	if (body >= 14)
		detail->letters = MIN(pipesim_detail_pixels(detail, LETTER_PIXELS), body - 4);
	detail->turned = pipesim_detail_pixels(detail, TURNED_PIXELS);
	if (0.6 * detail->turned * detail->widest + 3 > 0.92 * body)
		detail->turned = 0;
}

void pipesim_detail_init(
	PipesimDetail *detail, const PipesimLayout *layout, const PipesimView *view, guint lane)
{
	const double length = (double)MAX(1, layout->end - layout->begin);
	double most = 0; /* boxes of a lane, were its panel as long as the window */
	guint ranks = 0, digits = 3, k = 0, margins, height, fine;

	*detail = (PipesimDetail){
		.theme = pipesim_theme(view->theme),
		.font = view->font > 0 ? view->font : PIPESIM_GNUPLOT_FONT,
		.widest = 1,
	};
	for (guint i = 0; i < layout->n_panels; i++)
		ranks = MAX(ranks, layout->panels[i].run->shape.ranks);
	/* Room for the longest name of a rank. */
	for (; ranks > 1000; ranks /= 10)
		digits++;
	for (guint n = layout->microbatches; n > 10; n = (n + 9) / 10)
		detail->widest++;
	choose_lane(detail, layout, view->speed, lane);
	detail->left = pipesim_detail_pixels(detail, LEFT_PIXELS + (digits - 3) * 8);
	detail->right = pipesim_detail_pixels(detail, RIGHT_PIXELS);
	margins = detail->left + detail->right;
	/* Room for a number in an average box of the panel that has most boxes a lane. */
	for (guint i = 0; i < layout->n_panels; i++) {
		const PipesimPanel *panel = &layout->panels[i];
		const gint64 end = MIN(panel->run->step->timeline->makespan, layout->end);

		if (panel->ranks > 0)
			most = MAX(most, length / (double)MAX(1, end - layout->begin) *
						 (double)panel->n_boxes / panel->ranks);
	}
	detail->across =
		(view->width > 0 ? view->width
				 : (guint)CLAMP(
					   most * pipesim_detail_pixels(detail, 30) + margins,
					   pipesim_detail_pixels(detail, 1100),
					   pipesim_detail_pixels(detail, 2000))) -
		margins;
	detail->title = (double)pipesim_detail_pixels(detail, TITLE_PIXELS) / detail->lane;
	if (view->memory) {
		detail->memory = pipesim_detail_pixels(detail, MEMORY_PIXELS);
		detail->below =
			(double)(detail->memory + pipesim_detail_pixels(detail, WORDS_PIXELS)) /
			detail->lane;
	}
	detail->lanes = layout->lanes + layout->n_panels * (detail->title + detail->below);
	if (layout->n_boxes + 2 * layout->n_messages + layout->n_asides <= MAX_BOXES &&
		layout->share == 1)
		return;
	while (k < 62 && (layout->n_long[k] > MAX_BOXES ||
				 (gint64)1 << k < (layout->end - layout->begin) /
							  detail->across * LEAST_PIXELS))
		k++;
	height = (guint)(detail->lanes * detail->lane + 0.5);
	fine = (guint64)detail->across * height <= FINE_PIXELS ? 2 : 1;
	detail->least = (gint64)1 << k;
	detail->width = detail->across * fine;
	detail->height = height * fine;
}

/* Data --------------------------------------------------------------------------------------- */

const char *const pipesim_block_names[PIPESIM_N_BLOCKS] = {"F0", "F1", "F2", "F3", "I0", "I1",
	"I2", "I3", "W0", "W1", "W2", "W3", "B0", "B1", "B2", "B3", "pairs", "critical",
	"waiting-sends", "waiting-receives", "beside-ops", "sends", "receives", "copies-out",
	"copies-in", "broadcasts", "reductions", "speed-16", "speed-12", "speed-8", "speed-4",
	"sustained", "speed+4", "speed+8", "speed+12", "speed+16", "speed+20", "speed+24",
	"parts", "memory"};

/* In the order of these. */
enum {
	WAITING_SENDS,
	WAITING_RECEIVES,
	BESIDE_OPS,
	SENDS,
	RECEIVES,
	ASIDES
};

static void append_box(GString *out, const PipesimBox *box, double lane)
{
	g_string_append_printf(out, "%u %u %s %s %s\n", box->rank, box->microbatch,
		pipesim_ms(box->start), pipesim_ms(box->end), pipesim_short(lane, 3));
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

/* Of ops that take long enough to be seen, the outlines of pairs, and the levels of speeds. */
static void add_boxes_of(GString **blocks, const PipesimLayout *layout,
	const PipesimPanel *panel, double top, PipesimDetail *detail)
{
	const PipesimRun *run = panel->run;
	const guint32 *begin = run->step->program->rank_begin;
	const gboolean speeds = detail->speeds && pipesim_run_has_speeds(run);
	/* All micro-batches have their numbers in boxes of a length, or none has. */
	const double upright = detail->letters * 0.56 * detail->widest + 1;
	const double turned = detail->turned * 0.75 + 1;

	for (guint rank = panel->first_rank; rank < panel->first_rank + panel->ranks; rank++)
		pipesim_each_of (op, begin, rank) {
			const double lane = top + rank - panel->first_rank;
			PipesimBox boxes[2], aside;
			const guint n = pipesim_layout_boxes(layout, run, rank, op, boxes);

			for (guint i = 0; i < n; i++) {
				const gint64 length = boxes[i].end - boxes[i].start;
				const guint block =
					PIPESIM_SHADES * boxes[i].kind + boxes[i].shade;
				const double pixels = (double)length /
						      (double)(layout->end - layout->begin) *
						      detail->across;

				if (length < detail->least)
					continue;
				append_box(blocks[block], &boxes[i], lane);
				detail->numbered[block][detail->letters > 0 && pixels > upright
								? PIPESIM_NUMBER_UPRIGHT
							: detail->turned > 0 && pixels > turned
								? PIPESIM_NUMBER_TURNED
								: PIPESIM_NUMBER_NONE] = TRUE;
			}
			/* A raster has these already. */
			if (detail->asides && detail->width == 0 &&
				pipesim_layout_aside(layout, run, rank, op, &aside))
				append_box(blocks[PIPESIM_BLOCK_STRIPS + ASIDES + aside.kind],
					&aside, lane);
			if (n > 0 && boxes[0].paired)
				append_outline(
					blocks[PIPESIM_BLOCK_PAIRS], boxes, n, detail, lane);
			if (n > 0 && speeds)
				append_outline(blocks[PIPESIM_BLOCK_SPEEDS +
						       pipesim_layout_speed(run, rank, op)],
					boxes, n, detail, lane);
		}
}

static gboolean is_shown(const PipesimPanel *panel, guint rank)
{
	return rank >= panel->first_rank && rank - panel->first_rank < panel->ranks;
}

static void add_messages_of(
	GString **strips, const PipesimLayout *layout, const PipesimPanel *panel, double top)
{
	const PipesimRun *run = panel->run;
	const PipesimTimeline *timeline = run->step->timeline;
	static const guint strip_of[] = {WAITING_SENDS, WAITING_RECEIVES, SENDS, RECEIVES};

	/* Where receives that wait sit beside ops. */
	for (guint lane = 0; lane < panel->ranks; lane++) {
		const guint rank = panel->first_rank + lane;
		g_autoptr(GArray) stays = pipesim_message_stays(run->step, rank);

		pipesim_each (const PipesimStay, stay, stays) {
			PipesimBox box = {.start = stay->begin, .end = stay->end, .rank = rank};

			if (stay->op != PIPESIM_NO_OP &&
				pipesim_layout_cut(layout, &box.start, &box.end))
				append_box(strips[BESIDE_OPS], &box, top + lane);
		}
	}
	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *t = &timeline->transfers[i];
		const PipesimOp *to = &run->step->program->ops[t->to];
		const guint ranks[] = {t->from_rank, t->to_rank};
		const gint64 times[][2] = {{t->sent, t->start}, {t->received, t->start},
			{t->start, t->end}, {t->start, t->end}};

		for (guint k = 0; k < G_N_ELEMENTS(times); k++) {
			PipesimBox box = {
				.start = times[k][0],
				.end = times[k][1],
				.rank = ranks[k % 2],
				.microbatch = to->kind == PIPESIM_FB && t->backward
						      ? to->b_microbatch
						      : to->microbatch,
			};

			if (is_shown(panel, box.rank) &&
				pipesim_layout_cut(layout, &box.start, &box.end))
				append_box(strips[strip_of[k]], &box,
					top + box.rank - panel->first_rank);
		}
	}
}

void pipesim_picture_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out)
{
	GString *blocks[PIPESIM_N_BLOCKS];

	for (guint i = 0; i < PIPESIM_N_BLOCKS; i++)
		blocks[i] = g_string_new(NULL);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const PipesimRun *run = panel->run;
		const PipesimCriticalPath *path = &run->report->path;
		const double top = pipesim_detail_top(detail, layout, p) + 0.5;

		/* Of ranks that share a lane no box stands for itself. */
		if (layout->share == 1)
			add_boxes_of(blocks, layout, panel, top, detail);
		/* Ops of the critical path, whole. */
		for (guint i = 0; layout->share == 1 && layout->critical && i < path->n_ops;
			i++) {
			const guint rank =
				pipesim_program_rank(run->step->program, path->ops[i]);
			PipesimBox boxes[2];
			const guint n =
				pipesim_layout_boxes(layout, run, rank, path->ops[i], boxes);

			if (n > 0 && is_shown(panel, rank))
				append_outline(blocks[PIPESIM_BLOCK_CRITICAL], boxes, n, detail,
					top + rank - panel->first_rank);
		}
		/* A raster has them already. */
		if (detail->messages && detail->width == 0)
			add_messages_of(&blocks[PIPESIM_BLOCK_STRIPS], layout, panel, top);
	}
	g_string_append(
		out, "# rank, micro-batch, start (ms), end (ms), lane (from the top)\n");
	for (guint i = 0; i < PIPESIM_N_BLOCKS; i++) {
		detail->drawn[i] = blocks[i]->len > 0;
		if (detail->drawn[i]) {
			g_string_append_printf(out, "# %s\n", pipesim_block_names[i]);
			g_string_append_len(out, blocks[i]->str, (gssize)blocks[i]->len);
			g_string_append(out, "\n\n");
		}
		g_string_free(blocks[i], TRUE);
	}
}
