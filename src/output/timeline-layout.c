#include "output/timeline-layout.h"
#include "output/figures.h"

gboolean pipesim_layout_cut(const PipesimLayout *layout, gint64 *start, gint64 *end)
{
	*start = MAX(*start, layout->begin);
	*end = MIN(*end, layout->end);
	return *start < *end;
}

PipesimKind pipesim_look_of(guint kind)
{
	return pipesim_op_rows[kind].look;
}

/* Shades tell chunks apart, or slices where a rank has one chunk. */
static void show_unit(const PipesimShape *shape, guint chunk, guint unit, PipesimBox *box)
{
	const guint slices = pipesim_shape_slices(shape);

	box->microbatch = unit / slices;
	box->shade =
		(slices > 1 && shape->chunks == 1 ? unit % slices : chunk) % PIPESIM_SHADES;
}

guint pipesim_layout_boxes(const PipesimLayout *layout, const PipesimRun *run, guint rank,
	guint32 index, PipesimBox boxes[2])
{
	const PipesimProgram *program = run->step->program;
	const PipesimOp *op = &program->ops[index];
	const gint64 length =
		run->step->timeline->end[index] - run->step->timeline->start[index];
	guint n = length > 0, left = 0;

	if (pipesim_op_rows[op->kind].resource != PIPESIM_ON_RANK)
		return 0;

	boxes[0] = (PipesimBox){
		.start = run->step->timeline->start[index],
		.end = run->step->timeline->end[index],
		.rank = rank,
		.kind = pipesim_look_of(op->kind),
		.paired = op->kind == PIPESIM_FB,
	};
	show_unit(&program->shape, op->chunk, op->microbatch, &boxes[0]);
	if (length > 0 && op->kind == PIPESIM_FB) {
		const gint64 forward =
			run->times->stage[PIPESIM_F][pipesim_op_stage(program, rank, op)];
		const gint64 both =
			forward +
			run->times->stage[PIPESIM_B][pipesim_op_b_stage(program, rank, op)];
		const gint64 half =
			both > 0 ? pipesim_time_scale(length, forward, both) : length / 2;

		boxes[1] = boxes[0];
		boxes[0].kind = PIPESIM_F;
		boxes[0].end = boxes[1].start = boxes[0].start + half;
		boxes[1].kind = PIPESIM_B;
		show_unit(&program->shape, op->b_chunk, op->b_microbatch, &boxes[1]);
		n = half > 0 && half < length ? 2 : 1;
		if (half == 0)
			boxes[0] = boxes[1];
	}
	if (layout == NULL)
		return n;
	for (guint i = 0; i < n; i++)
		if (pipesim_layout_cut(layout, &boxes[i].start, &boxes[i].end))
			boxes[left++] = boxes[i];
	return left;
}

gboolean pipesim_layout_aside(const PipesimLayout *layout, const PipesimRun *run, guint rank,
	guint32 index, PipesimBox *box)
{
	const PipesimStep *step = run->step;
	const PipesimOp *op = &step->program->ops[index];
	const gint64 end = step->timeline->end[index];
	const PipesimOpRow *row = &pipesim_op_rows[op->kind];

	if (row->resource == PIPESIM_ON_RANK || row->resource == PIPESIM_ON_NOTHING)
		return FALSE;
	*box = (PipesimBox){
		.start =
			MAX(step->timeline->start[index], end - step->job.times->own[op->kind]),
		.end = end,
		.rank = rank,
		.microbatch = op->microbatch / pipesim_shape_slices(&run->shape),
		.kind = row->resource == PIPESIM_ON_COPY_OUT   ? PIPESIM_ASIDE_OUT
			: row->resource == PIPESIM_ON_COPY_IN  ? PIPESIM_ASIDE_IN
			: g_str_has_prefix(row->word, "BCAST") ? PIPESIM_ASIDE_BROADCAST
							       : PIPESIM_ASIDE_REDUCE,
	};
	return layout != NULL ? pipesim_layout_cut(layout, &box->start, &box->end)
			      : box->start < end;
}

gboolean pipesim_run_has_speeds(const PipesimRun *run)
{
	return run->error == NULL &&
	       (pipesim_times_vary(run->step->job.times) ||
		       (run->network != NULL && pipesim_network_slows(run->network)));
}

gint64 pipesim_run_sustained(const PipesimRun *run, guint rank, guint32 op)
{
	const PipesimStep *step = run->step;

	return pipesim_op_duration(
		step->program, step->job.times, rank, &step->program->ops[op]);
}

guint pipesim_layout_speed(const PipesimRun *run, guint rank, guint32 op)
{
	const PipesimTimeline *timeline = run->step->timeline;
	const gint64 took = timeline->end[op] - timeline->start[op];
	const gint64 sustained = pipesim_run_sustained(run, rank, op);
	const double percent =
		sustained > 0 ? 100 * (double)(took - sustained) / (double)sustained : 0;

	return (guint)CLAMP(PIPESIM_SPEED_SUSTAINED + 0.5 + percent / PIPESIM_SPEED_PERCENT, 0,
		PIPESIM_SPEEDS - 1);
}

void pipesim_layout_time(GString *out, gint64 ns, const PipesimTimeUnit *unit)
{
	g_string_append_printf(
		out, "%s %s", pipesim_short((double)ns / (double)unit->ns, 3), unit->name);
}

static char *make_title(const PipesimRun *run, const PipesimTimeUnit *unit)
{
	const PipesimReport *report = run->report;
	const guint whole = pipesim_shape_whole(&run->shape);
	const guint parts = pipesim_shape_parts(&run->shape);
	GString *title = g_string_new(run->name);
	const double peak = pipesim_figure_activations(report, report->held.max_peak);

	g_string_append_printf(title, ": PP %u, %u %s", run->shape.ranks, whole,
		whole == 1 ? "micro-batch" : "micro-batches");
	if (parts > 1)
		g_string_append_printf(
			title, " in %u %s each", parts, run->shape.sliced ? "slices" : "parts");
	g_string_append(title, ", makespan ");
	pipesim_layout_time(title, report->makespan, unit);
	g_string_append(title, ", bubble ");
	pipesim_layout_time(title, report->bubble.max_idle, unit);
	g_string_append_printf(title, " (%s %% of all ranks), %s activation%s",
		pipesim_fixed(100 * pipesim_figure_fraction(report->bubble.ratio), 1),
		pipesim_short(peak, 2), peak == 1 ? "" : "s");
	if (run->shape.copies > 1)
		g_string_append_printf(title, ", %u parameter copies", run->shape.copies);
	return g_string_free(title, FALSE);
}

static void note_boxes(PipesimLayout *layout, PipesimPanel *panel)
{
	const guint32 *begin = panel->run->step->program->rank_begin;
	PipesimBox boxes[2];

	for (guint rank = panel->first_rank; rank < panel->first_rank + panel->ranks; rank++)
		pipesim_each_of (op, begin, rank) {
			const guint kind = panel->run->step->program->ops[op].kind;
			const guint n =
				pipesim_layout_boxes(layout, panel->run, rank, op, boxes);

			if (pipesim_layout_aside(layout, panel->run, rank, op, boxes)) {
				layout->asides[boxes[0].kind] = TRUE;
				layout->n_asides++;
			}
			layout->passes |= n > 0 && kind >= PIPESIM_N_KINDS &&
					  pipesim_op_rows[kind].look == PIPESIM_W;
			panel->n_boxes += n;
			for (guint i = 0; i < n; i++) {
				const gulong length = (gulong)(boxes[i].end - boxes[i].start);

				layout->shown[boxes[i].kind][boxes[i].shade] = TRUE;
				layout->pairs |= boxes[i].paired;
				layout->n_long[g_bit_storage(length) - 1]++;
			}
		}
	layout->n_boxes += panel->n_boxes;
}

gboolean pipesim_layout_check(
	const PipesimComparison *comparison, const PipesimView *view, GError **error)
{
	guint ranks = 0;
	gint64 end = 0;
	gboolean speeds = FALSE;

	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		if (run->error != NULL)
			continue;
		ranks = MAX(ranks, run->shape.ranks);
		end = MAX(end, run->step->timeline->makespan);
		speeds |= pipesim_run_has_speeds(run);
	}
	if (view->speed && ranks > 0 && !speeds)
		return pipesim_refuse(error,
			"--with-speed has no effect here: every op takes its sustained time; "
			"costs with [power] or [residence] change that, and --interference");
	if (MAX(view->first_rank + 1, view->behind_rank) > ranks)
		return pipesim_refuse(error, "--ranks: there is no rank %u; from 0 to %u",
			MAX(view->first_rank + 1, view->behind_rank) - 1, ranks - 1);
	return view->begin < end || view->begin == 0 ||
	       pipesim_refuse(error,
		       "--window begins at %s ms, after the end of all schedules at %s ms",
		       pipesim_ms(view->begin), pipesim_ms(end));
}

static void add_panel(PipesimLayout *layout, const PipesimRun *run, const PipesimView *view)
{
	const PipesimShape *shape = &run->shape;
	const guint behind = view->behind_rank > 0 ? view->behind_rank : shape->ranks;
	const guint first = MIN(view->first_rank, shape->ranks);
	const gboolean slices = shape->chunks == 1 && shape->sliced;
	const char *shade = slices               ? "slice"
			    : shape->copies == 1 ? "chunk"
			    : shape->copies == 2 ? "reverse direction"
						 : "pipeline";

	layout->panels[layout->n_panels++] = (PipesimPanel){
		.run = run,
		.first_rank = first,
		.ranks = MIN(behind, shape->ranks) - first,
	};
	layout->end = MAX(layout->end, run->step->timeline->makespan);
	layout->bytes |= run->report->memory.peak != NULL;
	layout->n_messages += run->step->timeline->n_transfers;
	layout->microbatches =
		MAX(layout->microbatches, shape->microbatches / pipesim_shape_slices(shape));
	layout->most_ranks = MAX(layout->most_ranks, shape->ranks);
	if (shape->chunks == 1 && !slices)
		return;
	/* Directions and chunks share the shades; beside each other they need a word for both. */
	if (layout->shade_of != NULL && strcmp(layout->shade_of, shade) != 0)
		shade = slices || strcmp(layout->shade_of, "slice") == 0
				? "chunk or slice"
				: "reverse direction or chunk";
	layout->shade_of = shade;
	layout->most_shades = MAX(layout->most_shades, slices ? shape->parts : shape->chunks);
}

PipesimLayout *pipesim_layout_new(
	const PipesimComparison *comparison, const PipesimView *view, guint max_lanes)
{
	static const PipesimTimeUnit units[] = {
		{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};
	PipesimLayout *layout = g_new0(PipesimLayout, 1);

	layout->panels = g_new0(PipesimPanel, comparison->runs->len);
	layout->critical = comparison->critical;
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->error == NULL)
			add_panel(layout, run, view);
	/* The fewest ranks a lane with which all panels fit. */
	do {
		layout->share++;
		layout->lanes = 0;
		for (guint i = 0; i < layout->n_panels; i++) {
			PipesimPanel *panel = &layout->panels[i];

			panel->first_lane = layout->lanes;
			panel->lanes = panel->ranks / layout->share +
				       (panel->ranks % layout->share > 0);
			layout->lanes += panel->lanes;
		}
	} while (layout->lanes > MAX(max_lanes, layout->n_panels));
	/* Seconds only from ten on: steps are spoken of in ms. */
	layout->unit = &units[layout->end < 10 * units[0].ns];
	while (layout->unit->ns > MAX(1, layout->end))
		layout->unit++;
	layout->begin = view->begin;
	if (view->end > 0)
		layout->end = view->end;
	for (guint i = 0; i < layout->n_panels; i++) {
		note_boxes(layout, &layout->panels[i]);
		layout->panels[i].title = make_title(layout->panels[i].run, layout->unit);
	}
	for (guint k = G_N_ELEMENTS(layout->n_long) - 1; k > 0; k--)
		layout->n_long[k - 1] += layout->n_long[k];
	return layout;
}

char *pipesim_layout_shade(const PipesimLayout *layout)
{
	if (layout->most_shades > 2)
		return g_strconcat("odd ", layout->shade_of, NULL);
	return g_strconcat(layout->shade_of,
		g_str_has_suffix(layout->shade_of, "direction") ? "" : " 1", NULL);
}

const char *pipesim_layout_title(const PipesimLayout *layout, guint kind)
{
	return layout->passes && kind == PIPESIM_W
		       ? "backward for weights, passes over the vocabulary"
		       : pipesim_look_titles[kind];
}

gboolean pipesim_layout_shows(const PipesimLayout *layout, guint kind)
{
	return pipesim_any(shade, PIPESIM_SHADES, layout->shown[kind][shade]);
}

guint pipesim_layout_ranks(const PipesimLayout *layout, const PipesimPanel *panel, guint lane)
{
	return MIN(layout->share, panel->ranks - lane * layout->share);
}

void pipesim_columns_init(PipesimColumns *columns, const PipesimLayout *layout, guint n)
{
	columns->n = n;
	columns->begin = g_new(gint64, (gsize)n + 1);
	columns->busy = g_malloc_n(n, sizeof *columns->busy);
	for (guint i = 0; i <= n; i++)
		columns->begin[i] =
			layout->begin + pipesim_time_scale(layout->end - layout->begin, i, n);
}

void pipesim_columns_clear(PipesimColumns *columns)
{
	pipesim_free_all(columns->begin, columns->busy);
}

void pipesim_columns_add(PipesimColumns *columns, guint kind, guint shade, gint64 start,
	gint64 end, guint *column)
{
	const gint64 *begin = columns->begin;

	start = MAX(start, begin[0]);
	end = MIN(end, begin[columns->n]);
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
	const guint first = panel->first_rank + lane * layout->share;
	const guint ranks = pipesim_layout_ranks(layout, panel, lane);
	PipesimBox boxes[2];

	memset(columns->busy, 0, columns->n * sizeof *columns->busy);
	for (guint rank = first; rank < first + ranks; rank++) {
		guint column = 0;

		pipesim_each_of (op, panel->run->step->program->rank_begin, rank) {
			const guint n =
				pipesim_layout_boxes(layout, panel->run, rank, op, boxes);

			for (guint i = 0; i < n; i++)
				pipesim_columns_add(columns, boxes[i].kind, boxes[i].shade,
					boxes[i].start, boxes[i].end, &column);
		}
	}
}

PIPESIM_FREES(PipesimLayout, pipesim_layout_free, layout)
{
	for (guint i = 0; i < layout->n_panels; i++)
		g_free(layout->panels[i].title);
	pipesim_free_all(layout->panels, layout);
}
