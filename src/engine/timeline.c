#include "engine/timeline.h"
#include "runtime/runtime.h"

static void add_all(
	PipesimTimeline *timeline, const PipesimProgram *program, const PipesimNetwork *network)
{
	PipesimMessage messages[2];

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		pipesim_each_of (op, program->rank_begin, rank) {
			const guint n = pipesim_messages(program, rank, op, TRUE, messages);

			for (guint i = 0; i < n; i++) {
				const PipesimMessage *m = &messages[i];
				const PipesimOp *to = &program->ops[m->to];
				const gboolean second =
					m->backward && to->kind == PIPESIM_FB &&
					pipesim_op_stage(program, m->to_rank, to) > 0;
				const gint64 start = timeline->moving[second][m->to];

				timeline->transfers[timeline->n_transfers++] =
					(PipesimTransfer){
						.from = m->from,
						.to = m->to,
						.from_rank = m->from_rank,
						.to_rank = m->to_rank,
						.backward = m->backward,
						.sent = timeline->end[m->from],
						.received = start,
						.start = start,
						.end = start + pipesim_network_hop(network,
								       m->from_rank,
								       m->to_rank),
						.cause = m->from,
					};
			}
		}
		timeline->send_begin[rank + 1] = timeline->n_transfers;
	}
}

gboolean pipesim_timeline_add_transfers(
	PipesimTimeline *timeline, const PipesimProgram *program, const PipesimNetwork *network)
{
	const gsize n = (gsize)timeline->traffic->messages + 1;
	const guint ranks = program->shape.ranks;
	guint32 *begin;

	timeline->transfers = g_try_new(PipesimTransfer, n);
	timeline->arrivals = g_try_new(guint32, n);
	timeline->send_begin = g_try_new0(guint32, (gsize)ranks + 1);
	timeline->receive_begin = begin = g_try_new0(guint32, (gsize)ranks + 2);
	if (timeline->transfers == NULL || timeline->arrivals == NULL ||
		timeline->send_begin == NULL || begin == NULL)
		return FALSE;
	add_all(timeline, program, network);
	/* Those of each receiver in the order of their senders, then of sending. Until all have
	 * their place each rank begins one entry further on. */
	for (guint32 i = 0; i < timeline->n_transfers; i++)
		begin[timeline->transfers[i].to_rank + 2]++;
	for (guint rank = 1; rank <= ranks; rank++)
		begin[rank + 1] += begin[rank];
	for (guint32 i = 0; i < timeline->n_transfers; i++)
		timeline->arrivals[begin[timeline->transfers[i].to_rank + 1]++] = i;
	return TRUE;
}

PIPESIM_FREES(PipesimTimeline, pipesim_timeline_free, timeline)
{
	pipesim_traffic_free(timeline->traffic);
	pipesim_free_all(timeline->start, timeline->end, timeline->exposed, timeline->transfers,
		timeline->shards, timeline->shard_begin, timeline->arrivals,
		timeline->send_begin, timeline->receive_begin, timeline->cause,
		timeline->moving[0], timeline->moving[1], timeline);
}
