/* What ranks hold over time, below their timeline. */
#include "config.h"

#include "analysis/held.h"
#include "output/figures.h"
#include "output/picture.h"

/* Columns that a pixel is cut into; each shows the most that is held in it. */
#define FINE 2
/* Of the scale, where parameters take more than this share of it: it begins near them. */
#define MAX_REST 0.3
/* Of the scale, above the most. */
#define ROOM 0.08

/* Of one panel. */
typedef struct {
	const PipesimDetail *detail;
	const PipesimRun *run;
	const PipesimCosts *costs; /* NULL: activations are shown, not bytes */
	PipesimColumns columns;
	double *most;       /* by column */
	double top, height; /* in lanes */
} Memory;

static double value_of(const Memory *memory, const PipesimHeld *held)
{
	if (memory->costs != NULL)
		return (double)pipesim_held_bytes(
			held, memory->run->report, memory->costs, NULL, NULL);
	return pipesim_figure_activations(memory->run->report, held->until_weight);
}

/* @value is held up to @until, from where @column has come. */
static void hold(Memory *memory, double value, gint64 until, guint *column)
{
	const gint64 *begin = memory->columns.begin;

	if (until < begin[0])
		return;
	memory->most[*column] = MAX(memory->most[*column], value);
	while (*column + 1 < memory->columns.n && begin[*column + 1] <= until) {
		++*column;
		memory->most[*column] = value;
	}
}

static void find_most(Memory *memory, guint rank)
{
	const PipesimStep *step = memory->run->step;
	const guint32 *begin = &step->program->rank_begin[rank];
	PipesimHeld held = pipesim_held_begin(memory->run->report, rank);
	guint column = 0;

	memory->most[0] = 0;
	for (guint32 op = begin[0]; op < begin[1]; op++) {
		hold(memory, value_of(memory, &held), step->timeline->start[op], &column);
		pipesim_held_before(&held, &step->program->ops[op], op);
		hold(memory, value_of(memory, &held), step->timeline->end[op], &column);
		pipesim_held_after(&held, &step->program->ops[op], op);
	}
	hold(memory, value_of(memory, &held), memory->columns.begin[memory->columns.n],
		&column);
}

static void append_point(const Memory *memory, guint rank, gint64 at, double value,
	const char *colour, GString *out)
{
	const PipesimDetail *detail = memory->detail;
	const double part = (value - detail->held_from) / (detail->held_to - detail->held_from);
	PipesimNumber time, held, lane;

	g_string_append_printf(out, "%u %s %s 0x%s %s\n", rank,
		pipesim_print_double(held, value), pipesim_print_ms(time, at), colour + 1,
		pipesim_figure_short(
			lane, memory->top + memory->height * (1 - CLAMP(part, 0, 1)), 4));
}

/* A line of steps; it ends with the step of the run. */
static void append_rank(
	const Memory *memory, const PipesimPanel *panel, guint rank, GString *out)
{
	const gint64 *begin = memory->columns.begin;
	const guint n = memory->columns.n;
	const gint64 end = MIN(memory->run->step->timeline->makespan, begin[n]);
	const double *most = memory->most;
	char colour[8];
	guint i;

	pipesim_theme_rank(
		memory->detail->theme, rank - panel->first_rank, panel->ranks, colour);
	append_point(memory, rank, begin[0], most[0], colour, out);
	for (i = 1; i < n && begin[i] < end; i++)
		if (most[i] != most[i - 1]) {
			append_point(memory, rank, begin[i], most[i - 1], colour, out);
			append_point(memory, rank, begin[i], most[i], colour, out);
		}
	append_point(memory, rank, end, most[i - 1], colour, out);
	g_string_append_c(out, '\n');
}

/* From nothing to the most that any rank holds. */
static void choose_scale(
	const PipesimLayout *layout, PipesimDetail *detail, const PipesimCosts *costs)
{
	double rest = G_MAXDOUBLE;

	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimReport *report = layout->panels[p].run->report;
		const double most = costs != NULL ? (double)report->memory.max
						  : pipesim_figure_activations(
							    report, report->held.max_peak);

		detail->held_to = MAX(detail->held_to, most);
		for (guint rank = 0; rank < report->ranks; rank++)
			rest = MIN(rest,
				costs != NULL ? (double)report->memory.parameters[rank] : 0);
	}
	if (rest > MAX_REST * detail->held_to && rest < detail->held_to)
		detail->held_from = 0.95 * rest;
	if (detail->held_to <= detail->held_from)
		detail->held_to = detail->held_from + 1;
	detail->held_most = detail->held_to;
	detail->held_to += ROOM * (detail->held_to - detail->held_from);
}

void pipesim_picture_memory(const PipesimLayout *layout, PipesimDetail *detail,
	const PipesimCosts *costs, GString *out)
{
	g_string_append_printf(out,
		"# %s\n# rank, %s held, time (ms), colour, lane (from the top); most of each "
		"column of 1/%u pixel\n",
		pipesim_block_names[PIPESIM_BLOCK_MEMORY],
		costs != NULL ? "bytes" : "activations", FINE);
	choose_scale(layout, detail, costs);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const guint lines = MIN(panel->ranks, PIPESIM_MEMORY_LINES);
		Memory memory = {
			.detail = detail,
			.run = panel->run,
			.costs = costs,
			.height = (double)detail->memory / detail->lane,
		};

		memory.top = pipesim_detail_top(detail, layout, p) + panel->lanes +
			     detail->below - memory.height;
		pipesim_columns_init(&memory.columns, layout, FINE * detail->across);
		memory.most = g_new0(double, memory.columns.n);
		for (guint i = 0; i < lines; i++) {
			const guint rank =
				panel->first_rank +
				(lines > 1 ? (guint)((guint64)i * (panel->ranks - 1) /
						     (lines - 1))
					   : 0);

			find_most(&memory, rank);
			append_rank(&memory, panel, rank, out);
		}
		g_free(memory.most);
		pipesim_columns_clear(&memory.columns);
	}
	g_string_append(out, "\n\n");
	detail->drawn[PIPESIM_BLOCK_MEMORY] = TRUE;
}
