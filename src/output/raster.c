/* Timelines of more boxes than anyone could tell apart, pixel by pixel: nothing that is too
 * small to be seen is drawn, and nothing that can be seen is lost. */

#include "analysis/stays.h"
#include "output/picture.h"

/* Parts of a pixel that colours are mixed in. */
#define PARTS 256
/* Colours of a column from below: the kinds in both shades, and idle time above them. */
#define N_COLOURS (PIPESIM_SHADES * PIPESIM_FB + 1)

typedef guint8 Colours[N_COLOURS][3];

typedef struct {
	Colours kinds, speeds;
	PipesimColumns columns;
	guint8 *pixels; /* of the whole raster */
} Canvas;

G_STATIC_ASSERT(PIPESIM_SPEEDS < N_COLOURS);

/* The mean colour of the parts [@from, @from + PARTS) of a stack. */
static void mix(const Colours colours, const guint ends[N_COLOURS], guint from, guint8 *pixel)
{
	guint sum[3] = {PARTS / 2, PARTS / 2, PARTS / 2}, at = from;

	for (guint i = 0; i < N_COLOURS && at < from + PARTS; i++) {
		const guint end = MIN(ends[i], from + PARTS);

		if (end <= at)
			continue;
		for (guint c = 0; c < 3; c++)
			sum[c] += (end - at) * colours[i][c];
		at = end;
	}
	for (guint c = 0; c < 3; c++)
		pixel[c] = (guint8)(sum[c] / PARTS);
}

static void paint_lane(const PipesimDetail *detail, Canvas *canvas, const Colours colours,
	guint top, guint height, guint ranks)
{
	const guint all = height * PARTS;
	guint ends[N_COLOURS]; /* of each colour of a column, from below, in parts of a pixel */

	for (guint x = 0; x < detail->width; x++) {
		const gint64 *begin = &canvas->columns.begin[x];
		const gint64 time = MAX(1, (begin[1] - begin[0]) * ranks);
		gint64 sum = 0;

		for (guint i = 0; i + 1 < N_COLOURS; i++) {
			sum += canvas->columns.busy[x][i / PIPESIM_SHADES][i % PIPESIM_SHADES];
			ends[i] = (guint)MIN(all, pipesim_time_scale(all, sum, time));
		}
		ends[N_COLOURS - 1] = all;
		for (guint y = 0; y < height; y++) {
			const gsize line = top + height - 1 - y;

			mix(colours, ends, y * PARTS,
				&canvas->pixels[3 * (line * detail->width + x)]);
		}
	}
}

/* Messages ----------------------------------------------------------------------------------- */

/* In each column of pixels the share of its time that messages move is dark, the share that only
 * one end is there pale, and in between where that is a receive beside an op: of PipesimColumns
 * what is busy by way and state. */
enum {
	MOVES,
	WAITS,
	BESIDE, /* also counted among those that wait */
	N_STATES
};

/* Several at once count once: what moves covers what waits. */
static void paint_strip(const char *const colours[N_STATES], const char *ground,
	const PipesimColumns *columns, guint way, guint8 *lines, guint n_lines)
{
	const gsize stride = 3 * (gsize)columns->n;
	guint8 look[N_STATES][3], paper[3];

	for (guint i = 0; i < N_STATES; i++)
		pipesim_theme_rgb(colours[i], look[i]);
	pipesim_theme_rgb(ground, paper);
	for (guint x = 0; x < columns->n; x++) {
		const gint64 *times = columns->busy[x][way];
		const gint64 time = columns->begin[x + 1] - columns->begin[x];
		const gint64 dark = MIN(times[MOVES], time);
		const gint64 middle = MIN(times[BESIDE], time - dark);
		const gint64 pale = CLAMP(times[WAITS] - middle, 0, time - dark - middle);
		guint8 *pixel = &lines[3 * (gsize)x];

		for (guint c = 0; time > 0 && c < 3; c++)
			pixel[c] = (guint8)(((double)dark * look[MOVES][c] +
						    (double)middle * look[BESIDE][c] +
						    (double)pale * look[WAITS][c] +
						    (double)(time - dark - middle - pale) *
							    paper[c]) /
						    (double)time +
					    0.5);
	}
	for (guint y = 1; y < n_lines; y++)
		memcpy(lines + y * stride, lines, stride);
}

static void add_messages(const PipesimRun *run, guint rank, PipesimColumns *columns)
{
	const PipesimTimeline *timeline = run->step->timeline;
	const guint32 *begins[] = {timeline->send_begin, timeline->receive_begin};
	g_autoptr(GArray) stays = pipesim_message_stays(run->step, rank);

	for (guint way = 0; way < 2; way++) {
		guint column = 0;

		for (guint32 i = begins[way][rank]; i < begins[way][rank + 1]; i++) {
			const PipesimTransfer *t =
				&timeline->transfers[way == 0 ? i : timeline->arrivals[i]];

			pipesim_columns_add(columns, way, WAITS,
				way == 0 ? t->sent : t->received, t->start, &column);
			pipesim_columns_add(columns, way, MOVES, t->start, t->end, &column);
		}
		pipesim_each (const PipesimStay, stay, stays)
			if (way == 1 && stay->op != PIPESIM_NO_OP)
				pipesim_columns_add(
					columns, way, BESIDE, stay->begin, stay->end, &column);
	}
}

/* Copies in the place of what moves, collectives in that of what waits. */
static void add_asides(const PipesimRun *run, guint rank, PipesimColumns *columns)
{
	guint column = 0;
	PipesimBox box;

	pipesim_each_of (op, run->step->program->rank_begin, rank)
		if (pipesim_layout_aside(NULL, run, rank, op, &box))
			pipesim_columns_add(columns, box.kind % 2,
				box.kind < PIPESIM_ASIDE_BROADCAST ? MOVES : WAITS, box.start,
				box.end, &column);
}

/* @lane: (out): its first pixel; columns->n by @height pixels */
static void paint_strips(const PipesimRun *run, guint rank, const PipesimTheme *theme,
	PipesimColumns *columns, guint8 *lane, guint height)
{
	static const double from[] = {0.68, 0.83}, to[] = {0.81, 0.96};
	const gboolean messages = run->step->timeline->n_transfers > 0;
	char beside[8];

	memset(columns->busy, 0, columns->n * sizeof *columns->busy);
	if (messages)
		add_messages(run, rank, columns);
	else
		add_asides(run, rank, columns);
	pipesim_theme_beside(theme, beside);
	for (guint way = 0; way < 2; way++) {
		const char *const colours[N_STATES] = {
			messages ? theme->messages[way][MOVES] : theme->asides[way],
			messages ? theme->messages[way][WAITS] : theme->asides[2], beside};
		const guint first = (guint)(from[way] * height + 0.5);
		const guint end = (guint)(to[way] * height + 0.5);

		if (first < end)
			paint_strip(colours, theme->paper, columns, way,
				lane + 3 * (gsize)columns->n * first, end - first);
	}
}

/* Lanes -------------------------------------------------------------------------------------- */

/* Lane @lane of @panel, from line @from of the raster on, @unit lines high: from the top
 * speeds, boxes and messages. */
static void paint_panel_lane(const PipesimLayout *layout, const PipesimDetail *detail,
	Canvas *canvas, const PipesimPanel *panel, guint lane, double from, double unit)
{
	const guint top = (guint)(from + 0.5);
	const guint end = MIN(detail->height, (guint)(from + unit + 0.5));
	/* Lanes of some height are apart. */
	const guint first = top + (unit >= 6 ? 1 : 0);
	const guint head = detail->speeds ? (guint)(from + 0.24 * unit + 0.5) : first;
	const guint foot =
		detail->messages || detail->asides ? (guint)(from + 0.64 * unit + 0.5) : end;
	const guint under = (guint)(from + 0.22 * unit + 0.5); /* speeds */
	const guint rank = panel->first_rank + lane;
	const PipesimTimeline *timeline = panel->run->step->timeline;
	PipesimColumns *columns = &canvas->columns;
	guint column = 0;

	pipesim_columns_fill(columns, layout, panel, lane);
	if (head < foot)
		paint_lane(detail, canvas, canvas->kinds, head, foot - head,
			pipesim_layout_ranks(layout, panel, lane));
	if (detail->speeds && first < under && pipesim_run_has_speeds(panel->run)) {
		/* Levels of speeds are counted in the place of kinds and shades. */
		memset(columns->busy, 0, columns->n * sizeof *columns->busy);
		pipesim_each_of (op, panel->run->step->program->rank_begin, rank) {
			const guint level = pipesim_layout_speed(panel->run, rank, op);

			pipesim_columns_add(columns, level / PIPESIM_SHADES,
				level % PIPESIM_SHADES, timeline->start[op], timeline->end[op],
				&column);
		}
		paint_lane(detail, canvas, canvas->speeds, first, under - first, 1);
	}
	if ((detail->messages && timeline->n_transfers > 0) || detail->asides)
		paint_strips(panel->run, rank, detail->theme, columns,
			canvas->pixels + 3 * (gsize)detail->width * top, end - top);
}

guint8 *pipesim_raster_paint(
	const PipesimLayout *layout, const PipesimDetail *detail, GError **error)
{
	const gsize size = 3 * (gsize)detail->width * detail->height;
	const double unit = (double)detail->height / detail->lanes;
	const PipesimTheme *theme = detail->theme;
	Canvas canvas = {.pixels = g_try_malloc(size)};
	char colour[8];

	if (canvas.pixels == NULL)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"no memory for a picture of %u x %u pixels; ask for fewer schedules",
			detail->width, detail->height);
	for (guint i = 0; i + 1 < N_COLOURS; i++)
		pipesim_theme_rgb(theme->looks[i / PIPESIM_SHADES].colours[i % PIPESIM_SHADES],
			canvas.kinds[i]);
	for (guint i = 0; i < PIPESIM_SPEEDS; i++)
		pipesim_theme_rgb(pipesim_theme_speed(theme, i, colour), canvas.speeds[i]);
	pipesim_theme_rgb(theme->paper, canvas.kinds[N_COLOURS - 1]);
	pipesim_theme_rgb(theme->paper, canvas.speeds[N_COLOURS - 1]);
	for (gsize i = 0; i < size; i++)
		canvas.pixels[i] = canvas.kinds[N_COLOURS - 1][i % 3];
	pipesim_columns_init(&canvas.columns, layout, detail->width);
	for (guint p = 0; p < layout->n_panels; p++) {
		const PipesimPanel *panel = &layout->panels[p];
		const double top = pipesim_detail_top(detail, layout, p);

		for (guint lane = 0; lane < panel->lanes; lane++)
			paint_panel_lane(layout, detail, &canvas, panel, lane,
				(top + lane) * unit, unit);
	}
	pipesim_columns_clear(&canvas.columns);
	return canvas.pixels;
}
