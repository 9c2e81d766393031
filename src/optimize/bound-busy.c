#include "optimize/bound-busy.h"

void pipesim_busy_add(PipesimBusy *busy, gint64 at, gint64 time)
{
	guint i = busy->n, next;

	if (busy->n == busy->room) {
		busy->room = MAX(8, 2 * busy->room);
		busy->stretches = g_renew(PipesimBusyStretch, busy->stretches, busy->room);
	}
	PipesimBusyStretch *of = busy->stretches;
	/* Most start late. */
	while (i > 0 && of[i - 1].from > at)
		i--;
	if (i > 0 && of[i - 1].to >= at) {
		of[--i].to += time;
	} else {
		memmove(&of[i + 1], &of[i], sizeof *of * (busy->n++ - i));
		of[i] = (PipesimBusyStretch){at, at + time};
	}
	/* What it has grown by is taken from the break behind it; where that is over, the next one moves on. */
	PipesimBusyStretch *grown = &of[i];
	for (next = i + 1; next < busy->n && of[next].from <= grown->to; next++)
		grown->to += of[next].to - of[next].from;
	if (next == i + 1)
		return;
	memmove(&grown[1], &of[next], sizeof *grown * (busy->n - next));
	busy->n -= next - i - 1;
}
