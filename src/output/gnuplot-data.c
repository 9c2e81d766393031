#include "config.h"

#include "output/figures.h"
#include "output/picture.h"

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
		double top = pipesim_gnuplot_top(layout, p) + 0.5;

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
			g_string_append_printf(
				out, "# %s%u\n", pipesim_kind_letter(kind), shade);
			append_block(layout, kind, shade, out);
		}
	if (layout->pairs) {
		g_string_append(out, "# pairs\n");
		append_block(layout, PIPESIM_FB, 0, out);
	}
}
