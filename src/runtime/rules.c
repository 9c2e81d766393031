#include "config.h"

#include "runtime/rules.h"
#include "runtime/runtime.h"

guint32 pipesim_rules_number(const PipesimLowering *lowering, PipesimChannels channels,
	PipesimArena *arena, guint32 **channel_begin, guint32 **channel_of)
{
	const guint ranks = lowering->program->shape.ranks;
	/* By key, 2 * the other rank, + 1 for what comes from it where that is a channel of its own, or 2 * ranks for
	 * batches, which a communicator of all ranks carries: 1 + the channel, where that is one of the rank. */
	guint32 *known;
	guint32 n = 0;

	*channel_begin = *channel_of = NULL;
	if (lowering->runtime->two_ways && ranks == 2 && lowering->program->shape.chunks > 1)
		channels = PIPESIM_CHANNEL_EDGE;
	if (channels <= PIPESIM_CHANNEL_RANK)
		return ranks;
	known = pipesim_arena_array(arena, guint32, 2 * (gsize)ranks + 1);
	*channel_begin = pipesim_arena_array(arena, guint32, (gsize)ranks + 1);
	*channel_of = pipesim_arena_array(arena, guint32, lowering->n_actions);
	for (guint rank = 0; *channel_of != NULL && rank < ranks; rank++) {
		const guint32 end = lowering->rank_begin[rank + 1];

		(*channel_begin)[rank] = n;
		for (guint32 i = lowering->rank_begin[rank]; i < end; i++) {
			const PipesimAction *action = &lowering->actions[i];
			gsize key = 2 * (gsize)action->peer_rank;

			if (!pipesim_action_is_message(action->kind))
				continue;
			if (channels == PIPESIM_CHANNEL_EDGE)
				key += !pipesim_action_is_send(action->kind);
			else if (action->waited || action->joined ||
				 (i + 1 < end && action[1].joined))
				key = 2 * (gsize)ranks;
			if (known[key] <= (*channel_begin)[rank])
				known[key] = ++n;
			(*channel_of)[i] = known[key] - 1;
		}
		(*channel_begin)[rank + 1] = n;
	}
	return n;
}

void pipesim_rules_begin(PipesimRules *rules, const PipesimLowering *lowering,
	PipesimChannels channels, PipesimArena *arena)
{
	const guint ranks = lowering->program->shape.ranks;
	const guint32 n_channels = pipesim_rules_number(
		lowering, channels, arena, &rules->channel_begin, &rules->channel_of);

	rules->lowering = lowering;
	rules->seats = pipesim_arena_array(arena, PipesimSeat, ranks);
	rules->channels = pipesim_arena_array(arena, PipesimChannel, n_channels);
	rules->issued = pipesim_arena_array(arena, guint8, lowering->n_actions);
	for (guint rank = 0; rules->issued != NULL && rank < ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];

		pipesim_rules_seat(rules, rank, begin);
		for (guint32 c = pipesim_rules_channels(rules, rank);
			c < pipesim_rules_channels(rules, rank + 1); c++)
			rules->channels[c] = (PipesimChannel){begin, begin, 0};
	}
}
