#include "config.h"

#include "output/figures.h"
#include "output/picture.h"

/* The blocks of the file: of each kind and shade, and at the end the outlines of pairs. */
#define N_BLOCKS (2 * PIPESIM_FB + 1)
#define PAIRS    (2 * PIPESIM_FB)

void pipesim_gnuplot_box(GString *out, const PipesimBox *box, double lane)
{
	PipesimNumber start, end;

	g_string_append_printf(out, "%u %u %s %s ", box->rank, box->microbatch,
		pipesim_print_ms(start, box->start), pipesim_print_ms(end, box->end));
	pipesim_figure_short(out, lane, 3);
	g_string_append_c(out, '\n');
}

static void add_boxes(GString **blocks, PipesimBox *boxes, guint n, double lane, gint64 least)
{
	for (guint i = 0; i < n; i++)
		if (boxes[i].end - boxes[i].start >= least)
			pipesim_gnuplot_box(
				blocks[2 * boxes[i].kind + boxes[i].shade], &boxes[i], lane);
	if (n == 0 || !boxes[0].paired || boxes[n - 1].end - boxes[0].start < least)
		return;
	boxes[0].end = boxes[n - 1].end;
	pipesim_gnuplot_box(blocks[PAIRS], &boxes[0], lane);
}

static void add_panel(
	GString **blocks, const PipesimLayout *layout, guint p, const PipesimDetail *detail)
{
	const PipesimRun *run = layout->panels[p].run;
	const guint32 *begin = run->step->program->rank_begin;
	const double top = pipesim_gnuplot_top(layout, p) + 0.5;
	PipesimBox boxes[2];

	for (guint rank = 0; rank < run->shape.ranks; rank++)
		for (guint32 op = begin[rank]; op < begin[rank + 1]; op++) {
			const guint n = pipesim_layout_boxes(run, rank, op, boxes);

			add_boxes(blocks, boxes, n, top + rank, detail->least);
		}
}

static void append_block(GString *out, guint block, const GString *lines)
{
	if (block == PAIRS)
		g_string_append(out, "# pairs\n");
	else
		g_string_append_printf(
			out, "# %s%u\n", pipesim_kind_letter(block / 2), block % 2);
	g_string_append_len(out, lines->str, (gssize)lines->len);
	g_string_append(out, "\n\n");
}

void pipesim_gnuplot_data(const PipesimLayout *layout, PipesimDetail *detail, GString *out)
{
	GString *blocks[N_BLOCKS];

	for (guint i = 0; i < N_BLOCKS; i++)
		blocks[i] = g_string_new(NULL);
	/* Of ranks that share a lane no box stands for itself. */
	if (layout->share == 1)
		for (guint p = 0; p < layout->n_panels; p++)
			add_panel(blocks, layout, p, detail);
	g_string_append(
		out, "# rank, micro-batch, start (ms), end (ms), lane (from the top)\n");
	for (guint i = 0; i < N_BLOCKS; i++) {
		if (blocks[i]->len > 0)
			append_block(out, i, blocks[i]);
		if (i < PAIRS)
			detail->drawn[i / 2][i % 2] = blocks[i]->len > 0;
		else
			detail->pairs = blocks[i]->len > 0;
		g_string_free(blocks[i], TRUE);
	}
	/* A raster has them already. */
	if (detail->messages && detail->width == 0)
		pipesim_gnuplot_messages_data(layout, detail, out);
}
