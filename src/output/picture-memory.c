/* What ranks hold over time, below their timeline. */
#include "analysis/held.h"
#include "output/figures.h"
#include "output/picture.h"

/* Columns that a pixel is cut into; each shows the most that is held in it. */
#define FINE 2
/* Of the scale, where parameters take more than this share of it: it begins near them. */
#define MAX_REST 0.3
/* A limit further than that from the most is not shown. */
#define FAR 1.6
/* Of the scale, above the most. */
#define ROOM 0.08

/* What is held, and what bytes are of. */
typedef struct {
	double total;
	gint64 part[PIPESIM_N_HELD];
} Pile;

/* Of one panel. */
typedef struct {
	const PipesimDetail *detail;
	const PipesimRun *run;
	const PipesimCosts *costs; /* NULL: activations are shown, not bytes */
	PipesimColumns columns;
	gboolean parts;     /* of bytes too */
	Pile *piles;        /* by column, of one rank: the most */
	double top, height; /* in lanes */
} Memory;

/* What @held is, up to @until, from where @column has come. */
static void hold(Memory *memory, const PipesimHeld *held, gint64 until, guint *column)
{
	const PipesimReport *report = memory->run->report;
	const gint64 *begin = memory->columns.begin;
	Pile pile = {.total = memory->costs != NULL
				      ? (double)pipesim_held_bytes(held, report, memory->costs)
				      : pipesim_figure_activations(report, held->until_weight)};

	if (until < begin[0])
		return;
	if (memory->parts)
		pipesim_held_parts(held, report, memory->costs, pile.part);
	if (pile.total > memory->piles[*column].total)
		memory->piles[*column] = pile;
	while (*column + 1 < memory->columns.n && begin[*column + 1] <= until)
		memory->piles[++*column] = pile;
}

static void find_piles(Memory *memory, guint rank)
{
	const PipesimStep *step = memory->run->step;
	const guint32 *begin = &step->program->rank_begin[rank];
	PipesimHeld held = pipesim_held_begin(memory->run->report, rank);
	guint column = 0;

	memory->piles[0] = (Pile){0};
	for (guint32 op = begin[0]; op < begin[1]; op++) {
		hold(memory, &held, step->timeline->start[op], &column);
		pipesim_held_before(&held, &step->program->ops[op], op);
		hold(memory, &held, step->timeline->end[op], &column);
		pipesim_held_after(&held, &step->program->ops[op], op);
	}
	hold(memory, &held, memory->columns.begin[memory->columns.n], &column);
}

/* Where @value stands, in lanes from the top. */
static double lane_of(const Memory *memory, double value)
{
	const PipesimDetail *detail = memory->detail;
	const double part = (value - detail->held_from) / (detail->held_to - detail->held_from);

	return memory->top + memory->height * (1 - CLAMP(part, 0, 1));
}

/* The rank that is fullest at its peak, by what its bytes are of: one box a part of a pile. */
static void append_piles(Memory *memory, GString *out)
{
	const PipesimReport *report = memory->run->report;
	const gint64 *begin = memory->columns.begin;
	const guint n = memory->columns.n;
	const gint64 stop = MIN(memory->run->step->timeline->makespan, begin[n]);
	guint fullest = 0;

	for (guint rank = 0; rank < report->ranks; rank++)
		if (report->memory.peak[rank] > report->memory.peak[fullest])
			fullest = rank;
	find_piles(memory, fullest);
	for (guint i = 0, next; i < n && begin[i] < stop; i = next) {
		const Pile *pile = &memory->piles[i];
		double sum = 0;

		for (next = i + 1; next < n; next++)
			if (memcmp(&memory->piles[next], pile, sizeof(Pile)) != 0)
				break;
		for (guint part = 0; part < PIPESIM_N_HELD; part++) {
			const double low = lane_of(memory, sum);
			const double high = lane_of(memory, sum + (double)pile->part[part]);
			char colour[8];

			sum += (double)pile->part[part];
			if (pile->part[part] <= 0 || low - high < 1e-6)
				continue;
			g_string_append_printf(out, "%u %s %s %s %s 0x%s\n", part,
				pipesim_ms(begin[i]), pipesim_ms(MIN(begin[next], stop)),
				pipesim_short(low, 4), pipesim_short(high, 4),
				pipesim_theme_part(memory->detail->theme, part, colour) + 1);
		}
	}
}

static void append_point(const Memory *memory, guint rank, gint64 at, double value,
	const char *colour, GString *out)
{
	g_string_append_printf(out, "%u %s %s 0x%s %s\n", rank, pipesim_double(value),
		pipesim_ms(at), colour + 1, pipesim_short(lane_of(memory, value), 4));
}

/* A line of steps; it ends with the step of the run. */
static void append_rank(
	const Memory *memory, const PipesimPanel *panel, guint rank, GString *out)
{
	const gint64 *begin = memory->columns.begin;
	const guint n = memory->columns.n;
	const gint64 end = MIN(memory->run->step->timeline->makespan, begin[n]);
	const Pile *most = memory->piles;
	char colour[8];
	guint i;

	pipesim_theme_rank(
		memory->detail->theme, rank - panel->first_rank, panel->ranks, colour);
	append_point(memory, rank, begin[0], most[0].total, colour, out);
	for (i = 1; i < n && begin[i] < end; i++)
		if (most[i].total != most[i - 1].total) {
			append_point(memory, rank, begin[i], most[i - 1].total, colour, out);
			append_point(memory, rank, begin[i], most[i].total, colour, out);
		}
	append_point(memory, rank, end, most[i - 1].total, colour, out);
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
	if (costs == NULL || detail->held_limit > FAR * detail->held_most)
		detail->held_limit = 0;
	detail->held_to = MAX(detail->held_to, detail->held_limit);
	detail->held_to += ROOM * (detail->held_to - detail->held_from);
}

void pipesim_picture_memory(const PipesimLayout *layout, PipesimDetail *detail,
	const PipesimCosts *costs, GString *out)
{
	g_autoptr(GString) lines = g_string_new(NULL);
	Memory memory = {.detail = detail,
		.costs = costs,
		.height = (double)detail->memory / detail->lane};

	choose_scale(layout, detail, costs);
	pipesim_columns_init(&memory.columns, layout, FINE * detail->across);
	memory.piles = g_new0(Pile, memory.columns.n);
	if (costs != NULL)
		g_string_append_printf(out,
			"# %s\n# part, from, to (ms), lanes from the top, colour; the fullest "
			"rank\n",
			pipesim_block_names[PIPESIM_BLOCK_PARTS]);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const guint n = MIN(panel->ranks, PIPESIM_MEMORY_LINES);

		memory.run = panel->run;
		memory.top = pipesim_detail_top(detail, layout, p) + panel->lanes +
			     detail->below - memory.height;
		memory.parts = costs != NULL;
		if (memory.parts)
			append_piles(&memory, out);
		memory.parts = FALSE;
		for (guint i = 0; i < n; i++) {
			const guint64 behind = (guint64)i * (panel->ranks - 1);
			const guint rank =
				panel->first_rank + (n > 1 ? (guint)(behind / (n - 1)) : 0);

			find_piles(&memory, rank);
			append_rank(&memory, panel, rank, lines);
		}
	}
	pipesim_columns_clear(&memory.columns);
	g_free(memory.piles);
	detail->drawn[PIPESIM_BLOCK_PARTS] = costs != NULL;
	detail->drawn[PIPESIM_BLOCK_MEMORY] = TRUE;
	g_string_append_printf(out,
		"%s# %s\n# rank, %s held, time (ms), colour, lane (from the top); most of each "
		"column of 1/%u pixel\n%s\n\n",
		costs != NULL ? "\n\n" : "", pipesim_block_names[PIPESIM_BLOCK_MEMORY],
		costs != NULL ? "bytes" : "activations", FINE, lines->str);
}
