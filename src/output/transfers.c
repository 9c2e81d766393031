#include "config.h"

#include <stdlib.h>

#include "output/transfers.h"

static void add(PipesimTransfers *transfers, const PipesimRun *run, guint rank, guint32 op,
	PipesimWay way)
{
	PipesimMessage messages[2];
	const guint n = way == PIPESIM_SENT
				? pipesim_messages_out(run->program, rank, op, messages)
				: pipesim_messages_in(run->program, rank, op, messages);

	for (guint i = 0; i < n; i++) {
		const gint64 start = run->timeline->end[messages[i].from];

		transfers->transfers[transfers->n++] = (PipesimTransfer){
			.message = messages[i],
			.start = start,
			.end = start + run->times->p2p,
		};
	}
}

static int compare_starts(const void *a, const void *b)
{
	const PipesimTransfer *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->message.from != y->message.from)
		return x->message.from < y->message.from ? -1 : 1;
	return (int)x->message.backward - (int)y->message.backward;
}

static int compare_ends(const void *a, const void *b)
{
	const PipesimTransfer *x = *(const PipesimTransfer *const *)a;
	const PipesimTransfer *y = *(const PipesimTransfer *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Each takes the track that has been free the longest, or a new one where none is: whatever
 * ended before it starts has its track already, as it started before. */
static gboolean assign_tracks(PipesimTransfers *transfers)
{
	g_autofree PipesimTransfer **by_end = g_try_new(PipesimTransfer *, transfers->n + 1);
	PipesimTransfer **free_track = by_end;

	if (by_end == NULL)
		return FALSE;
	for (gsize i = 0; i < transfers->n; i++)
		by_end[i] = &transfers->transfers[i];
	qsort(by_end, transfers->n, sizeof(PipesimTransfer *), compare_ends);
	for (gsize i = 0; i < transfers->n; i++) {
		PipesimTransfer *transfer = &transfers->transfers[i];

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
	const guint32 *begin = &run->program->rank_begin[rank];
	gboolean enough;

	*transfers = (PipesimTransfers){0};
	transfers->transfers = g_try_new(PipesimTransfer, 2 * (gsize)(begin[1] - begin[0]) + 1);
	enough = transfers->transfers != NULL;
	for (guint32 op = begin[0]; enough && op < begin[1]; op++)
		add(transfers, run, rank, op, way);
	if (enough)
		qsort(transfers->transfers, transfers->n, sizeof(PipesimTransfer),
			compare_starts);
	if (enough && (run->times->p2p == 0 || assign_tracks(transfers)))
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
