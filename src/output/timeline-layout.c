#include "config.h"

#include <string.h>

#include "output/figures.h"
#include "output/timeline-layout.h"

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

guint pipesim_layout_boxes(
	const PipesimRun *run, guint rank, guint32 index, PipesimBox boxes[2])
{
	const PipesimProgram *program = run->step->program;
	const PipesimOp *op = &program->ops[index];
	const gint64 length =
		run->step->timeline->end[index] - run->step->timeline->start[index];
	gint64 forward, backward, half;

	boxes[0] = (PipesimBox){
		.start = run->step->timeline->start[index],
		.end = run->step->timeline->end[index],
		.rank = rank,
		.microbatch = op->microbatch,
		.kind = op->kind,
		.shade = op->chunk & 1,
		.paired = op->kind == PIPESIM_FB,
	};
	if (length == 0 || op->kind != PIPESIM_FB)
		return length > 0;
	forward = run->times->stage[PIPESIM_F][pipesim_op_stage(program, rank, op)];
	backward = run->times->stage[PIPESIM_B][pipesim_op_b_stage(program, rank, op)];
	half = forward + backward > 0 ? pipesim_time_scale(length, forward, forward + backward)
				      : length / 2;
	boxes[1] = boxes[0];
	boxes[0].kind = PIPESIM_F;
	boxes[0].end = boxes[1].start = boxes[0].start + half;
	boxes[1].kind = PIPESIM_B;
	boxes[1].microbatch = op->b_microbatch;
	boxes[1].shade = op->b_chunk & 1;
	if (half > 0 && half < length)
		return 2;
	if (half == 0)
		boxes[0] = boxes[1];
	return 1;
}

void pipesim_layout_time(GString *out, gint64 ns, const PipesimTimeUnit *unit)
{
	PipesimNumber number;

	g_string_append_printf(out, "%s %s",
		pipesim_figure_short(number, (double)ns / (double)unit->ns, 3), unit->name);
}

static char *make_title(const PipesimRun *run, const PipesimTimeUnit *unit)
{
	const PipesimReport *report = run->report;
	const guint whole = pipesim_shape_whole(&run->shape);
	const guint parts = pipesim_shape_parts(&run->shape);
	GString *title = g_string_new(run->name);
	PipesimNumber number;
	double peak = pipesim_figure_activations(report, report->held.max_peak);

	g_string_append_printf(title, ": PP %u, %u %s", run->shape.ranks, whole,
		whole == 1 ? "micro-batch" : "micro-batches");
	if (parts > 1)
		g_string_append_printf(title, " in %u parts each", parts);
	g_string_append(title, ", makespan ");
	pipesim_layout_time(title, report->makespan, unit);
	g_string_append(title, ", bubble ");
	pipesim_layout_time(title, report->bubble.max_idle, unit);
	g_string_append_printf(title, " (%s %% of all ranks), ",
		pipesim_figure_fixed(
			number, 100 * pipesim_figure_fraction(report->bubble.ratio), 1));
	g_string_append_printf(title, "%s activation%s", pipesim_figure_short(number, peak, 2),
		peak == 1 ? "" : "s");
	if (run->shape.copies > 1)
		g_string_append_printf(title, ", %u parameter copies", run->shape.copies);
	return g_string_free(title, FALSE);
}

static void note_boxes(PipesimLayout *layout, const PipesimRun *run)
{
	const guint32 *begin = run->step->program->rank_begin;
	PipesimBox boxes[2];

	for (guint rank = 0; rank < run->shape.ranks; rank++)
		for (guint32 op = begin[rank]; op < begin[rank + 1]; op++) {
			guint n = pipesim_layout_boxes(run, rank, op, boxes);

			layout->n_boxes += n;
			for (guint i = 0; i < n; i++) {
				const gulong length = (gulong)(boxes[i].end - boxes[i].start);

				layout->shown[boxes[i].kind][boxes[i].shade] = TRUE;
				layout->pairs |= boxes[i].paired;
				layout->n_long[g_bit_storage(length) - 1]++;
			}
		}
}

/* Directions and chunks share the two shades; beside each other they need a word for both. */
static void note_shades(PipesimLayout *layout, const PipesimShape *shape)
{
	const char *name = shape->copies > 1 ? "direction" : "chunk";

	if (shape->copies == 1 && shape->chunks == 1)
		return;
	if (shape->copies == 1 && shape->chunks > 2)
		name = "chunk mod 2 =";
	if (layout->shade_name != NULL && layout->shade_name != name)
		name = "direction or chunk";
	layout->shade_name = name;
}

PipesimLayout *pipesim_layout_new(const PipesimComparison *comparison, guint max_lanes)
{
	static const PipesimTimeUnit units[] = {
		{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	PipesimLayout *layout = g_new0(PipesimLayout, 1);

	layout->panels = g_new0(PipesimPanel, comparison->runs->len);
	layout->critical = comparison->critical;
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		if (run->error == NULL)
			layout->panels[layout->n_panels++].run = run;
	}
	/* The fewest ranks a lane with which all panels fit into @max_lanes. */
	do {
		layout->share++;
		layout->lanes = 0;
		for (guint i = 0; i < layout->n_panels; i++) {
			PipesimPanel *panel = &layout->panels[i];
			const guint ranks = panel->run->shape.ranks;

			panel->first_lane = layout->lanes;
			panel->lanes = ranks / layout->share + (ranks % layout->share > 0);
			layout->lanes += panel->lanes;
		}
	} while (layout->lanes > MAX(max_lanes, layout->n_panels));
	for (guint i = 0; i < layout->n_panels; i++) {
		const PipesimRun *run = layout->panels[i].run;

		layout->end = MAX(layout->end, run->step->timeline->makespan);
		layout->n_messages += run->step->timeline->n_transfers;
		note_boxes(layout, run);
		note_shades(layout, &run->shape);
	}
	for (guint k = G_N_ELEMENTS(layout->n_long) - 1; k > 0; k--)
		layout->n_long[k - 1] += layout->n_long[k];
	/* Seconds only from ten on: steps are spoken of in ms. */
	layout->unit = &units[layout->end < 10 * units[0].ns];
	while (layout->unit->ns > MAX(1, layout->end))
		layout->unit++;
	for (guint i = 0; i < layout->n_panels; i++)
		layout->panels[i].title = make_title(layout->panels[i].run, layout->unit);
	return layout;
}

guint pipesim_layout_ranks(const PipesimLayout *layout, const PipesimPanel *panel, guint lane)
{
	return MIN(layout->share, panel->run->shape.ranks - lane * layout->share);
}

void pipesim_columns_init(PipesimColumns *columns, const PipesimLayout *layout, guint n)
{
	columns->n = n;
	columns->begin = g_new(gint64, (gsize)n + 1);
	columns->busy = g_malloc_n(n, sizeof *columns->busy);
	for (guint i = 0; i <= n; i++)
		columns->begin[i] = pipesim_time_scale(layout->end, i, n);
}

void pipesim_columns_clear(PipesimColumns *columns)
{
	g_free(columns->begin);
	g_free(columns->busy);
}

void pipesim_columns_add(PipesimColumns *columns, guint kind, guint shade, gint64 start,
	gint64 end, guint *column)
{
	const gint64 *begin = columns->begin;

	if (start >= end)
		return;
	while (begin[*column] > start)
		--*column;
	while (begin[*column + 1] <= start)
		++*column;
	for (; end > begin[*column + 1]; ++*column) {
		columns->busy[*column][kind][shade] += begin[*column + 1] - start;
		start = begin[*column + 1];
	}
	columns->busy[*column][kind][shade] += end - start;
}

void pipesim_columns_fill(PipesimColumns *columns, const PipesimLayout *layout,
	const PipesimPanel *panel, guint lane)
{
	const guint first = lane * layout->share;
	const guint ranks = pipesim_layout_ranks(layout, panel, lane);
	PipesimBox boxes[2];

	memset(columns->busy, 0, columns->n * sizeof *columns->busy);
	for (guint rank = first; rank < first + ranks; rank++) {
		const guint32 *begin = &panel->run->step->program->rank_begin[rank];
		guint column = 0;

		for (guint32 op = begin[0]; op < begin[1]; op++) {
			const guint n = pipesim_layout_boxes(panel->run, rank, op, boxes);

			for (guint i = 0; i < n; i++)
				pipesim_columns_add(columns, boxes[i].kind, boxes[i].shade,
					boxes[i].start, boxes[i].end, &column);
		}
	}
}

void pipesim_layout_free(PipesimLayout *layout)
{
	if (layout == NULL)
		return;
	for (guint i = 0; i < layout->n_panels; i++)
		g_free(layout->panels[i].title);
	g_free(layout->panels);
	g_free(layout);
}
