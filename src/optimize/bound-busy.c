#include "config.h"

#include "optimize/bound-busy.h"
#include <string.h>

/* Makes room for a stretch before the @i-th. */
static void insert(PipesimBusy *busy, guint i, PipesimBusyStretch stretch)
{
	if (busy->n == busy->room) {
		busy->room = MAX(8, 2 * busy->room);
		busy->stretches = g_renew(PipesimBusyStretch, busy->stretches, busy->room);
	}
	memmove(&busy->stretches[i + 1], &busy->stretches[i], sizeof stretch * (busy->n - i));
	busy->stretches[i] = stretch;
	busy->n++;
}

/* What the @i-th one has grown by is taken from the break behind it; where that is over, the next one moves on. */
static void join(PipesimBusy *busy, guint i)
{
	PipesimBusyStretch *grown = &busy->stretches[i];
	guint next = i + 1;

	for (; next < busy->n && busy->stretches[next].from <= grown->to; next++)
		grown->to += busy->stretches[next].to - busy->stretches[next].from;
	if (next == i + 1)
		return;
	memmove(&grown[1], &busy->stretches[next], sizeof *grown * (busy->n - next));
	busy->n -= next - i - 1;
}

void pipesim_busy_add(PipesimBusy *busy, gint64 at, gint64 time)
{
	guint i = busy->n;

	/* Most start late. */
	while (i > 0 && busy->stretches[i - 1].from > at)
		i--;
	if (i > 0 && busy->stretches[i - 1].to >= at)
		busy->stretches[--i].to += time;
	else
		insert(busy, i, (PipesimBusyStretch){at, at + time});
	join(busy, i);
}
