#include "output/figures.h"
#include "output/table.h"
#include "output/timeline-layout.h"

/* Where the style sets no width: that of a page, and what may go beyond it to be exact. */
#define PAGE_COLUMNS 100
#define MAX_COLUMNS  200
/* Of ranks; more share lines. */
#define MAX_LINES 1000
/* Columns of a box beyond these say nothing more. */
#define MAX_STRETCH 4
/* Between the numbers of the axis. */
#define TICK_COLUMNS 10

/* What stands in one column of a lane. */
typedef struct {
	char glyph; /* ' ', letter, digit, or '-' for the rest of a box */
	guint8 kind, shade;
	gboolean busy;
} Cell;

/* Characters for a terminal that has Unicode, and for one that has not. */
typedef struct {
	const char *edge, *corner, *line, *tick, *rest;
	const char *density[9]; /* idle to busy */
} Glyphs;

static const Glyphs unicode = {
	"│", "└", "─", "┴", "─", {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}};
static const Glyphs ascii = {
	"|", "+", "-", "+", "-", {" ", ".", ":", "-", "=", "+", "*", "#", "@"}};

typedef struct {
	const PipesimLayout *layout;
	const PipesimStyle *style;
	const Glyphs *glyphs;
	guint width;   /* columns that words keep to */
	guint columns; /* that the time axis takes */
	guint margin;  /* columns of a rank's number */
	gint64 step;   /* of which every start and end is a multiple, ns; 0: columns are rounded
			*/
	guint stretch; /* columns that such a step takes */
	gboolean density; /* boxes are narrower than a column */
	PipesimColumns edges;
	gboolean shown[PIPESIM_N_OPS]; /* by letters of their own */
	GString *out;
} Drawing;

static guint digits(guint n)
{
	guint count = 1;

	for (; n >= 10; n /= 10)
		count++;
	return count;
}

static guint room_in(const Drawing *drawing, guint width)
{
	return MAX(width, drawing->margin + 12) - drawing->margin - 2;
}

static void choose_columns(Drawing *drawing)
{
	const PipesimLayout *layout = drawing->layout;
	const guint room = room_in(drawing, drawing->width);
	const guint most = drawing->style->width > 0 ? room : room_in(drawing, MAX_COLUMNS);
	const gint64 time = layout->end - layout->begin;
	/* The longest time of which every start and end is a multiple; once it is too short for
	 * @most columns no more than that is asked. */
	gint64 step = time, needed;

	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const guint32 *begin =
			&panel->run->step->program->rank_begin[panel->first_rank];

		for (guint i = 0; i < panel->ranks; i++)
			for (guint32 op = begin[i]; op < begin[i + 1] && step >= time / most;
				op++) {
				PipesimBox boxes[2];
				const guint n = pipesim_layout_boxes(
					layout, panel->run, panel->first_rank + i, op, boxes);

				for (guint k = 0; k < n; k++)
					step = pipesim_gcd(boxes[k].end - layout->begin,
						pipesim_gcd(
							boxes[k].start - layout->begin, step));
			}
	}
	needed = step > 0 ? time / step : 1;
	drawing->columns = room;
	if (needed <= most && layout->share == 1) {
		drawing->step = step;
		drawing->stretch = (guint)CLAMP(room / needed, 1, MAX_STRETCH);
		drawing->columns = (guint)needed * drawing->stretch;
	}
	drawing->density = layout->share > 1 ||
			   (double)layout->n_boxes > (double)layout->lanes * drawing->columns;
}

static guint column_of(const Drawing *drawing, gint64 ns)
{
	const gint64 begin = drawing->layout->begin;

	return (guint)pipesim_time_scale(
		ns - begin, drawing->columns, MAX(1, drawing->layout->end - begin));
}

/* Lanes ---------------------------------------------------------------------------------- */

static void append_colour(const Drawing *drawing, const Cell *cell)
{
	static const char *const codes[PIPESIM_FB][2] = {
		[PIPESIM_F] = {"30;43", "30;103"},
		[PIPESIM_I] = {"30;46", "30;106"},
		[PIPESIM_W] = {"97;44", "97;104"},
		[PIPESIM_B] = {"30;42", "30;102"},
	};

	if (drawing->style->colour)
		g_string_append_printf(drawing->out, "\033[%sm",
			cell->busy ? codes[cell->kind][cell->shade] : "0");
}

/* How full each column is, of the time that its ranks have in it: 0 to 8. */
static void print_density(Drawing *drawing, const PipesimPanel *panel, guint lane)
{
	const gint64 *begin = drawing->edges.begin;
	const guint ranks = pipesim_layout_ranks(drawing->layout, panel, lane);
	g_autofree guint *levels = g_new(guint, drawing->columns);
	guint used = 0;

	pipesim_columns_fill(&drawing->edges, drawing->layout, panel, lane);
	for (guint i = 0; i < drawing->columns; i++) {
		const gint64 time = (begin[i + 1] - begin[i]) * ranks;
		gint64 busy = 0;

		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			for (guint shade = 0; shade < PIPESIM_SHADES; shade++)
				busy += drawing->edges.busy[i][kind][shade];
		guint level = (guint)pipesim_time_scale(8, busy, MAX(1, time));
		/* Neither the least work nor the least idle time goes unseen. */
		levels[i] = busy > 0 && busy < time ? CLAMP(level, 1, 7) : MIN(8, level);
		used = levels[i] > 0 ? i + 1 : used;
	}
	for (guint i = 0; i < used; i++)
		g_string_append(drawing->out, drawing->glyphs->density[levels[i]]);
}

static void print_boxes(Drawing *drawing, const PipesimRun *run, guint rank)
{
	g_autofree Cell *cells = g_new0(Cell, drawing->columns);
	guint numbers = digits(run->shape.microbatches / pipesim_shape_slices(&run->shape) - 1);
	const PipesimProgram *program = run->step->program;
	PipesimBox boxes[2];
	guint used = drawing->columns;
	Cell idle = {.glyph = ' '};
	const Cell *last = &idle;

	for (guint i = 0; i < drawing->columns; i++)
		cells[i].glyph = ' ';
	pipesim_each_of (op, program->rank_begin, rank) {
		const guint n = pipesim_layout_boxes(drawing->layout, run, rank, op, boxes);

		for (guint i = 0; i < n; i++) {
			const PipesimBox *box = &boxes[i];
			const guint from = column_of(drawing, box->start);
			const guint to = column_of(drawing, box->end);
			/* Of ops beyond F, I, W and B their own. */
			const guint kind = program->ops[op].kind < PIPESIM_N_KINDS
						   ? box->kind
						   : program->ops[op].kind;
			const char letter = pipesim_op_rows[kind].word[0];
			char number[16];

			drawing->shown[kind] = TRUE;
			for (guint k = from; k < to; k++)
				cells[k] = (Cell){'-', box->kind, box->shade % 2, TRUE};
			if (from < to)
				cells[from].glyph =
					box->shade % 2 ? g_ascii_tolower(letter) : letter;
			/* Numbers stand in all boxes of a length or in none. */
			g_snprintf(number, sizeof(number), "%u", box->microbatch);
			for (guint k = 0; to - from > numbers && number[k] != '\0'; k++)
				cells[from + 1 + k].glyph = number[k];
		}
	}
	while (used > 0 && !cells[used - 1].busy)
		used--;
	for (guint i = 0; i < used; i++) {
		if (last->busy != cells[i].busy ||
			(last->busy &&
				(last->kind != cells[i].kind || last->shade != cells[i].shade)))
			append_colour(drawing, &cells[i]);
		last = &cells[i];
		if (last->glyph != '-')
			g_string_append_c(drawing->out, last->glyph);
		else
			g_string_append(drawing->out,
				drawing->style->colour ? " " : drawing->glyphs->rest);
	}
	if (last->busy)
		append_colour(drawing, &idle);
}

/* Messages ------------------------------------------------------------------------------- */

#define WAITS    1
#define SENDS    2
#define RECEIVES 4
#define MEETS    8

/* The shortest message takes a column. */
static void mark(const Drawing *drawing, gint64 start, gint64 end, guint8 what, guint8 *marks)
{
	if (!pipesim_layout_cut(drawing->layout, &start, &end))
		return;
	guint from = MIN(column_of(drawing, start), drawing->columns - 1);
	guint to = MAX(column_of(drawing, end), from + 1);
	for (guint i = from; i < to; i++)
		marks[i] |= what;
}

/* What a rank sends and receives, and where an end that it issued waits for the other; or where it copies and
 * takes part in collectives, if it does. */
static void print_strip(const Drawing *drawing, const PipesimRun *run, guint rank)
{
	static const char glyphs[] = " .>><<xx========";
	const PipesimTimeline *timeline = run->step->timeline;
	const guint32 *begins[] = {timeline->send_begin, timeline->receive_begin};
	const guint32 *ops = &run->step->program->rank_begin[rank];
	const gboolean messages = timeline->n_transfers > 0;
	PipesimBox box;
	g_autofree guint8 *marks = g_new0(guint8, drawing->columns);
	guint used = drawing->columns;

	for (guint way = 0; messages && way < 2; way++)
		for (guint32 i = begins[way][rank]; i < begins[way][rank + 1]; i++) {
			const PipesimTransfer *t =
				&timeline->transfers[way == 0 ? i : timeline->arrivals[i]];

			mark(drawing, way == 0 ? t->sent : t->received, t->start, WAITS, marks);
			mark(drawing, t->start, t->end, way == 0 ? SENDS : RECEIVES, marks);
		}
	for (guint32 op = ops[0]; !messages && op < ops[1]; op++)
		if (pipesim_layout_aside(drawing->layout, run, rank, op, &box))
			mark(drawing, box.start, box.end,
				box.kind == PIPESIM_ASIDE_OUT  ? SENDS
				: box.kind == PIPESIM_ASIDE_IN ? RECEIVES
							       : MEETS,
				marks);
	while (used > 0 && marks[used - 1] == 0)
		used--;
	if (used == 0 && !messages)
		return;
	g_string_append_printf(
		drawing->out, "%*s %s", (int)drawing->margin, "", drawing->glyphs->edge);
	for (guint i = 0; i < used; i++)
		g_string_append_c(drawing->out, glyphs[marks[i]]);
	g_string_append_c(drawing->out, '\n');
}

/* Axis ----------------------------------------------------------------------------------- */

static void print_axis(const Drawing *drawing)
{
	const PipesimLayout *layout = drawing->layout;
	static const gint64 factors[] = {2, 5, 10};
	g_autoptr(GString) numbers = g_string_new(NULL);
	gint64 power = 1, step = 1, next;
	const gint64 least = pipesim_time_scale(
		layout->end - layout->begin, TICK_COLUMNS, MAX(TICK_COLUMNS, drawing->columns));

	/* 1, 2 or 5 times a power of ten, ns, that leaves room for the numbers. */
	for (guint i = 0; step < least; i++) {
		step = power * factors[i % 3];
		if (i % 3 == 2)
			power *= 10;
	}
	next = (layout->begin + step - 1) / step * step;
	g_string_append_printf(drawing->out, "%*s", (int)drawing->margin + 1, "");
	g_string_append_printf(numbers, "%*s", (int)drawing->margin + 1, "");
	for (guint i = 0; i <= drawing->columns; i++) {
		gboolean tick = next <= layout->end && column_of(drawing, next) == i;

		if (tick && drawing->margin + 1 + i >= numbers->len) {
			const guint blanks = drawing->margin + 1 + i - (guint)numbers->len;

			g_string_append_printf(numbers, "%*s%s", (int)blanks, "",
				pipesim_short((double)next / (double)layout->unit->ns, 3));
		}
		g_string_append(drawing->out, i == 0 ? drawing->glyphs->corner
					      : tick ? drawing->glyphs->tick
						     : drawing->glyphs->line);
		if (tick)
			next += step;
	}
	g_string_append_printf(drawing->out, "\n%s %s\n", numbers->str, layout->unit->name);
}

/* What letters say. */
static void append_letters(const Drawing *drawing, GString *legend)
{
	const PipesimOpRow *last = NULL;

	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		if (drawing->shown[kind])
			g_string_append_printf(legend, "; %s %s", pipesim_kind_letter(kind),
				pipesim_look_titles[kind]);
	for (guint kind = PIPESIM_N_KINDS; kind < PIPESIM_N_OPS; kind++) {
		const PipesimOpRow *row = &pipesim_op_rows[kind];

		if (!drawing->shown[kind] ||
			(last != NULL && strcmp(last->what, row->what) == 0))
			continue;
		g_string_append_printf(legend, "; %c %s", row->word[0], row->what);
		last = row;
	}
}

static void print_legend(const Drawing *drawing)
{
	const PipesimLayout *layout = drawing->layout;
	g_autoptr(GString) legend = g_string_new(NULL);

	if (drawing->step > 0 && drawing->stretch > 1)
		g_string_append_printf(legend, "%u columns: ", drawing->stretch);
	else
		g_string_append(
			legend, drawing->step > 0 ? "one column: " : "one column: about ");
	pipesim_layout_time(legend,
		drawing->step > 0 ? drawing->step
				  : (layout->end - layout->begin) / drawing->columns,
		layout->unit);
	if (layout->share > 1)
		g_string_append_printf(legend,
			"; a line is %u ranks from the one named; height: share of the column "
			"that they are busy",
			layout->share);
	else if (drawing->density)
		g_string_append(legend, "; height: share of the column that the rank is busy");
	if (!drawing->density)
		append_letters(drawing, legend);
	if (!drawing->density && layout->shade_of != NULL) {
		g_autofree char *shade = pipesim_layout_shade(layout);

		g_string_append_printf(legend, "; small letters: %s", shade);
	}
	if (!drawing->density && layout->n_messages > 0)
		g_string_append(legend, "; below each rank its messages: > sends, < receives, "
					"x both, . one end waits for the other");
	if (!drawing->density &&
		(layout->asides[PIPESIM_ASIDE_OUT] || layout->asides[PIPESIM_ASIDE_IN]))
		g_string_append(
			legend, "; below each rank its copies: > to the host, < back, x both");
	if (!drawing->density && (layout->asides[PIPESIM_ASIDE_BROADCAST] ||
					 layout->asides[PIPESIM_ASIDE_REDUCE]))
		g_string_append(legend, "; below each rank = its collectives");
	pipesim_wrap(drawing->out, legend->str, 0, 0, drawing->width);
}

void pipesim_timeline_text(const PipesimComparison *comparison, const PipesimView *view,
	const PipesimStyle *style, GString *out)
{
	g_autoptr(PipesimLayout) layout = pipesim_layout_new(comparison, view, MAX_LINES);
	Drawing drawing = {.layout = layout,
		.style = style,
		.width = style->width > 0 ? style->width : PAGE_COLUMNS,
		.glyphs = style->unicode ? &unicode : &ascii,
		.out = out};

	for (guint p = 0; p < layout->n_panels; p++)
		drawing.margin =
			MAX(drawing.margin, digits(layout->panels[p].run->shape.ranks - 1));
	if (layout->n_panels == 0)
		return;
	choose_columns(&drawing);
	pipesim_columns_init(&drawing.edges, layout, drawing.columns);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];

		pipesim_wrap(out, panel->title, 2, 0, drawing.width);
		for (guint lane = 0; lane < panel->lanes; lane++) {
			g_string_append_printf(out, "%*u %s", (int)drawing.margin,
				panel->first_rank + lane * layout->share, drawing.glyphs->edge);
			if (drawing.density)
				print_density(&drawing, panel, lane);
			else
				print_boxes(&drawing, panel->run, panel->first_rank + lane);
			g_string_append_c(out, '\n');
			if (!drawing.density && layout->n_messages + layout->n_asides > 0)
				print_strip(&drawing, panel->run, panel->first_rank + lane);
		}
	}
	pipesim_columns_clear(&drawing.edges);
	print_axis(&drawing);
	print_legend(&drawing);
}
