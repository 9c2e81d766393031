/* Strips below the boxes of a rank: what it sends and what it receives, where messages wait for
 * each other. */
#include "config.h"

#include "output/picture.h"

typedef struct {
	const char *block; /* name in the .dat file; none begins with another */
	const char *colour, *from,
		*to; /* gnuplot variable; edges of the strip, from the lane */
} Strip;

/* Pale: from the moment an end is issued to that at which the message moves. Those that move
 * come last: they are short. */
static const Strip strips[] = {
	{"waiting-sends", "S1", "0.18", "0.31"},
	{"waiting-receives", "R1", "0.33", "0.46"},
	{"sends", "S0", "0.18", "0.31"},
	{"receives", "R0", "0.33", "0.46"},
};

#define N_STRIPS G_N_ELEMENTS(strips)

static void append_line(GString *out, guint rank, const PipesimOp *to, guint backward,
	gint64 start, gint64 end, double lane)
{
	const PipesimBox box = {
		.start = start,
		.end = end,
		.rank = rank,
		.microbatch =
			to->kind == PIPESIM_FB && backward ? to->b_microbatch : to->microbatch,
	};

	if (start < end)
		pipesim_gnuplot_box(out, &box, lane);
}

static void add_panel(GString **blocks, const PipesimRun *run, double top)
{
	const PipesimTimeline *timeline = run->step->timeline;

	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *t = &timeline->transfers[i];
		const PipesimOp *to = &run->step->program->ops[t->to];
		const double from_lane = top + t->from_rank, to_lane = top + t->to_rank;

		append_line(
			blocks[0], t->from_rank, to, t->backward, t->sent, t->start, from_lane);
		append_line(
			blocks[1], t->to_rank, to, t->backward, t->received, t->start, to_lane);
		append_line(
			blocks[2], t->from_rank, to, t->backward, t->start, t->end, from_lane);
		append_line(blocks[3], t->to_rank, to, t->backward, t->start, t->end, to_lane);
	}
}

void pipesim_gnuplot_messages_data(
	const PipesimLayout *layout, PipesimDetail *detail, GString *out)
{
	GString *blocks[N_STRIPS];

	for (guint i = 0; i < N_STRIPS; i++)
		blocks[i] = g_string_new(NULL);
	for (guint p = 0; p < layout->n_panels; p++)
		add_panel(blocks, layout->panels[p].run, pipesim_gnuplot_top(layout, p) + 0.5);
	for (guint i = 0; i < N_STRIPS; i++) {
		detail->strips[i] = blocks[i]->len > 0;
		if (detail->strips[i])
			g_string_append_printf(
				out, "# %s\n%s\n\n", strips[i].block, blocks[i]->str);
		g_string_free(blocks[i], TRUE);
	}
}

void pipesim_gnuplot_messages_plots(const PipesimDetail *detail, GString *out)
{
	for (guint i = 0; i < N_STRIPS; i++)
		if (detail->strips[i])
			g_string_append_printf(out,
				", \\\n	data index '%s' using (($3 + $4) / 2 * unit):5:"
				"($3 * unit):($4 * unit):($5 + %s):($5 + %s) \\\n"
				"	with boxxyerror lw 0.25 fs solid border rgb %s fc rgb "
				"%s",
				strips[i].block, strips[i].from, strips[i].to, strips[i].colour,
				strips[i].colour);
}
