#include "analysis/stays.h"

/* Adds @wait to @out, cut by the ops from *op on, none of which ends before it begins. */
static void cut(
	const PipesimStep *step, PipesimStay wait, guint32 *op, guint32 end, GArray *out)
{
	const PipesimTimeline *timeline = step->timeline;

	while (wait.begin < wait.end) {
		PipesimStay piece = wait;

		while (*op < end && timeline->end[*op] <= wait.begin)
			++*op;
		piece.op = PIPESIM_NO_OP;
		if (*op < end && timeline->start[*op] <= wait.begin) {
			piece.op = *op;
			piece.end = MIN(wait.end, timeline->end[*op]);
		} else if (*op < end) {
			piece.end = MIN(wait.end, timeline->start[*op]);
		}
		g_array_append_val(out, piece);
		wait.begin = piece.end;
	}
}

/* What an end of a message waits for the other, from when it is issued. */
static void add_wait(GArray *waits, gint64 issued, gint64 start)
{
	const PipesimStay wait = {issued, start, PIPESIM_NO_OP};

	if (issued < start)
		g_array_append_val(waits, wait);
}

GArray *pipesim_message_stays(const PipesimStep *step, guint rank)
{
	const PipesimTimeline *timeline = step->timeline;
	const guint32 end = step->program->rank_begin[rank + 1];
	g_autoptr(GArray) waits = g_array_new(FALSE, FALSE, sizeof(PipesimStay));
	GArray *out = g_array_new(FALSE, FALSE, sizeof(PipesimStay));
	guint32 op = step->program->rank_begin[rank];

	if (timeline->receive_begin == NULL)
		return out;
	pipesim_each_of (i, timeline->receive_begin, rank) {
		const PipesimTransfer *transfer = &timeline->transfers[timeline->arrivals[i]];

		add_wait(waits, transfer->received, transfer->start);
	}
	pipesim_each_of (i, timeline->send_begin, rank)
		add_wait(waits, timeline->transfers[i].sent, timeline->transfers[i].start);
	g_array_sort(waits, pipesim_compare_int64);
	/* Stretches that touch become one. */
	for (guint i = 0, next; i < waits->len; i = next) {
		PipesimStay wait = g_array_index(waits, PipesimStay, i);

		for (next = i + 1; next < waits->len; next++) {
			const PipesimStay *other = &g_array_index(waits, PipesimStay, next);

			if (other->begin > wait.end)
				break;
			wait.end = MAX(wait.end, other->end);
		}
		cut(step, wait, &op, end, out);
	}
	return out;
}
