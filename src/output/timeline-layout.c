#include "config.h"

#include "output/figures.h"
#include "output/timeline-layout.h"

static const PipesimTimeUnit *choose_unit(gint64 end)
{
	static const PipesimTimeUnit units[] = {
		{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	gsize i = 0;

	/* Seconds only from ten on: steps are spoken of in ms. */
	if (end >= 10 * units[0].ns)
		return &units[0];
	for (i = 1; i + 1 < G_N_ELEMENTS(units) && end < units[i].ns; i++)
		;
	return &units[i];
}

static guint split_pair(
	const PipesimRun *run, guint rank, const PipesimOp *op, PipesimBox boxes[2])
{
	const guint stage = pipesim_op_stage(run->program, rank, op);
	const guint b_stage = pipesim_op_b_stage(run->program, rank, op);
	gint64 forward = run->times->stage[PIPESIM_F][stage];
	gint64 backward = run->times->stage[PIPESIM_B][b_stage];
	gint64 length = boxes[0].end - boxes[0].start;
	gint64 half = forward + backward > 0
			      ? pipesim_time_scale(length, forward, forward + backward)
			      : length / 2;

	boxes[1] = boxes[0];
	boxes[0].kind = PIPESIM_F;
	boxes[0].end = boxes[1].start = boxes[0].start + half;
	boxes[1].kind = PIPESIM_B;
	boxes[1].microbatch = op->b_microbatch;
	boxes[1].shade = op->b_chunk & 1;
	boxes[0].paired = boxes[1].paired = TRUE;
	if (half > 0 && half < length)
		return 2;
	if (half == 0)
		boxes[0] = boxes[1];
	return 1;
}

guint pipesim_layout_boxes(const PipesimRun *run, guint32 index, PipesimBox boxes[2])
{
	const PipesimOp *op = &run->program->ops[index];
	const guint rank = pipesim_program_rank(run->program, index);

	boxes[0] = (PipesimBox){
		.start = run->timeline->start[index],
		.end = run->timeline->end[index],
		.rank = rank,
		.microbatch = op->microbatch,
		.kind = op->kind,
		.shade = op->chunk & 1,
	};
	if (boxes[0].start == boxes[0].end)
		return 0;
	return op->kind == PIPESIM_FB ? split_pair(run, rank, op, boxes) : 1;
}

void pipesim_layout_time(GString *out, gint64 ns, const PipesimTimeUnit *unit)
{
	pipesim_figure_short(out, (double)ns / (double)unit->ns, 3);
	g_string_append_printf(out, " %s", unit->name);
}

static char *make_title(const PipesimRun *run, const PipesimTimeUnit *unit)
{
	const PipesimReport *report = run->report;
	GString *title = g_string_new(run->name);
	double peak = pipesim_figure_activations(report, report->max_peak);

	g_string_append_printf(title, ": PP %u, %u %s, makespan ", run->shape.ranks,
		run->shape.microbatches,
		run->shape.microbatches == 1 ? "micro-batch" : "micro-batches");
	pipesim_layout_time(title, report->makespan, unit);
	g_string_append(title, ", bubble ");
	pipesim_layout_time(title, report->max_idle, unit);
	g_string_append(title, " (");
	pipesim_figure_fixed(title, 100 * pipesim_figure_fraction(report->ratio), 1);
	g_string_append(title, " % of all ranks), ");
	pipesim_figure_short(title, peak, 2);
	g_string_append(title, peak == 1 ? " activation" : " activations");
	if (run->shape.copies > 1)
		g_string_append_printf(title, ", %u parameter copies", run->shape.copies);
	return g_string_free(title, FALSE);
}

static void note_boxes(PipesimLayout *layout, const PipesimRun *run)
{
	PipesimBox boxes[2];

	for (guint32 op = 0; op < run->program->n_ops; op++) {
		guint n = pipesim_layout_boxes(run, op, boxes);

		layout->n_boxes += n;
		for (guint i = 0; i < n; i++) {
			layout->shown[boxes[i].kind][boxes[i].shade] = TRUE;
			layout->pairs |= boxes[i].paired;
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

PipesimLayout *pipesim_layout_new(const PipesimComparison *comparison)
{
	PipesimLayout *layout = g_new0(PipesimLayout, 1);

	layout->panels = g_new0(PipesimPanel, comparison->runs->len);
	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);

		if (run->error != NULL)
			continue;
		layout->panels[layout->n_panels++] =
			(PipesimPanel){.run = run, .first_lane = layout->lanes};
		layout->lanes += run->shape.ranks;
		layout->end = MAX(layout->end, run->timeline->makespan);
		note_boxes(layout, run);
		note_shades(layout, &run->shape);
	}
	layout->unit = choose_unit(layout->end);
	for (guint i = 0; i < layout->n_panels; i++)
		layout->panels[i].title = make_title(layout->panels[i].run, layout->unit);
	return layout;
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
