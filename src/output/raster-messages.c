/* The strips of messages in a raster: in each column of pixels the share of its time that they
 * move is dark, the share that only one end is there pale. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "output/picture.h"

enum {
	MOVES,
	WAITS,
	N_STATES
};

/* The last column that begins by @ns. */
static guint column_at(const PipesimColumns *columns, gint64 ns)
{
	guint low = 0, high = columns->n;

	while (high - low > 1) {
		const guint middle = low + (high - low) / 2;

		if (columns->begin[middle] <= ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void add(const PipesimColumns *columns, gint64 start, gint64 end, gint64 *times)
{
	if (start >= end)
		return;
	for (guint i = column_at(columns, start); i < columns->n; i++) {
		const gint64 *begin = &columns->begin[i];

		if (begin[0] >= end)
			return;
		times[i] += MIN(end, begin[1]) - MAX(start, begin[0]);
	}
}

/* Several at once count once: what moves covers what waits. */
static void paint_column(gint64 time, gint64 moves, gint64 waits, guint way, guint8 *pixel)
{
	const gint64 dark = MIN(moves, time);
	const gint64 pale = MIN(waits, time - dark);

	for (guint c = 0; time > 0 && c < 3; c++) {
		const char *const *look = pipesim_message_looks[way];
		const guint shift = 16 - 8 * c;
		const guint8 a = (guint8)(strtoul(look[MOVES] + 1, NULL, 16) >> shift);
		const guint8 b = (guint8)(strtoul(look[WAITS] + 1, NULL, 16) >> shift);

		pixel[c] = (guint8)(255 - pipesim_time_scale(255 - a, dark, time) -
				    pipesim_time_scale(255 - b, pale, time));
	}
}

static void paint_strip(const PipesimColumns *columns, gint64 *const times[N_STATES], guint way,
	guint8 *lines, guint n_lines)
{
	const gsize stride = 3 * (gsize)columns->n;

	for (guint x = 0; x < columns->n; x++)
		paint_column(columns->begin[x + 1] - columns->begin[x], times[MOVES][x],
			times[WAITS][x], way, lines + 3 * (gsize)x);
	for (guint y = 1; y < n_lines; y++)
		memcpy(lines + y * stride, lines, stride);
}

void pipesim_raster_messages(const PipesimRun *run, guint rank, const PipesimColumns *columns,
	guint8 *lane, guint height)
{
	static const double from[] = {0.68, 0.83}, to[] = {0.81, 0.96};
	const PipesimTimeline *timeline = run->step->timeline;
	const guint32 *begins[] = {timeline->send_begin, timeline->receive_begin};
	g_autofree gint64 *buffer = g_new(gint64, N_STATES * (gsize)columns->n);
	gint64 *times[N_STATES] = {buffer, buffer + columns->n};

	for (guint way = 0; way < 2; way++) {
		const guint first = (guint)(from[way] * height + 0.5);
		const guint end = (guint)(to[way] * height + 0.5);

		memset(buffer, 0, N_STATES * columns->n * sizeof(*buffer));
		for (guint32 i = begins[way][rank]; i < begins[way][rank + 1]; i++) {
			const PipesimTransfer *t =
				&timeline->transfers[way == 0 ? i : timeline->arrivals[i]];

			add(columns, way == 0 ? t->sent : t->received, t->start, times[WAITS]);
			add(columns, t->start, t->end, times[MOVES]);
		}
		if (first < end)
			paint_strip(columns, times, way, lane + 3 * (gsize)columns->n * first,
				end - first);
	}
}
