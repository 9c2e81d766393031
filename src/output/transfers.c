#include "config.h"

#include <stdlib.h>

#include "output/transfers.h"

static void add(PipesimTransfers *transfers, const PipesimRun *run, guint rank, guint32 op,
	PipesimWay way)
{
	PipesimMessage messages[2];
	const guint n = way == PIPESIM_SENT
				? pipesim_messages_out(run->step->program, rank, op, messages)
				: pipesim_messages_in(run->step->program, rank, op, messages);

	for (guint i = 0; i < n; i++) {
		const gint64 start = run->step->timeline->end[messages[i].from];

		transfers->transfers[transfers->n++] = (PipesimTracked){
			.message = messages[i],
			.start = start,
			.end = start + run->times->p2p,
		};
	}
}

/* As the runtime moved them, where one was simulated that waits for them. */
static void add_moved(
	PipesimTransfers *transfers, const PipesimRun *run, guint rank, PipesimWay way)
{
	const PipesimTimeline *timeline = run->step->timeline;
	const guint32 *begin =
		way == PIPESIM_SENT ? timeline->send_begin : timeline->receive_begin;

	for (guint32 i = begin[rank]; i < begin[rank + 1]; i++) {
		const PipesimTransfer *moved =
			&timeline->transfers[way == PIPESIM_SENT ? i : timeline->arrivals[i]];

		transfers->transfers[transfers->n++] = (PipesimTracked){
			.message = {moved->from, moved->to, moved->from_rank, moved->to_rank,
				moved->backward},
			.start = moved->start,
			.end = moved->end,
		};
	}
}

static int compare_starts(const void *a, const void *b)
{
	const PipesimTracked *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->message.from != y->message.from)
		return x->message.from < y->message.from ? -1 : 1;
	return (int)x->message.backward - (int)y->message.backward;
}

static int compare_ends(const void *a, const void *b)
{
	const PipesimTracked *x = *(const PipesimTracked *const *)a;
	const PipesimTracked *y = *(const PipesimTracked *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Each takes the track that has been free the longest, or a new one where none is: whatever
 * ended before it starts has its track already, as it started before. */
static gboolean assign_tracks(PipesimTransfers *transfers)
{
	g_autofree PipesimTracked **by_end = g_try_new(PipesimTracked *, transfers->n + 1);
	PipesimTracked **free_track = by_end;

	if (by_end == NULL)
		return FALSE;
	for (gsize i = 0; i < transfers->n; i++)
		by_end[i] = &transfers->transfers[i];
	qsort(by_end, transfers->n, sizeof(PipesimTracked *), compare_ends);
	for (gsize i = 0; i < transfers->n; i++) {
		PipesimTracked *transfer = &transfers->transfers[i];

		if ((*free_track)->end <= transfer->start)
			transfer->track = (*free_track++)->track;
		else
			transfer->track = transfers->tracks++;
	}
	return TRUE;
}

gboolean pipesim_transfers(const PipesimRun *run, guint rank, PipesimWay way,
	PipesimTransfers *transfers, GError **error)
{
	const guint32 *begin = &run->step->program->rank_begin[rank];
	gboolean enough;

	*transfers = (PipesimTransfers){0};
	transfers->transfers = g_try_new(PipesimTracked, 2 * (gsize)(begin[1] - begin[0]) + 1);
	enough = transfers->transfers != NULL;
	if (enough && run->step->timeline->transfers != NULL)
		add_moved(transfers, run, rank, way);
	for (guint32 op = begin[0];
		enough && run->step->timeline->transfers == NULL && op < begin[1]; op++)
		add(transfers, run, rank, op, way);
	if (enough)
		qsort(transfers->transfers, transfers->n, sizeof(PipesimTracked),
			compare_starts);
	if (enough &&
		((run->times->p2p == 0 && run->network == NULL) || assign_tracks(transfers)))
		return TRUE;
	pipesim_transfers_clear(transfers);
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%s: no memory for the messages of rank %u; ask for fewer micro-batches",
		run->name, rank);
}

void pipesim_transfers_clear(PipesimTransfers *transfers)
{
	g_clear_pointer(&transfers->transfers, g_free);
	transfers->n = 0;
}
