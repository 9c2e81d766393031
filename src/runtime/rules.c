#include "runtime/rules.h"
#include "runtime/runtime.h"

guint32 pipesim_rules_number(const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimArena *arena, guint32 **communicator_begin,
	guint32 **communicator_of)
{
	const guint ranks = lowering->program->shape.ranks;
	/* By key, 2 * the other rank, + 1 for what comes from it where that is a communicator of its own, or 2 * ranks for
	 * batches, which a communicator of all ranks carries: 1 + the communicator, where that is one of the rank. */
	guint32 n = 0;

	*communicator_begin = *communicator_of = NULL;
	if (lowering->runtime->two_ways && ranks == 2 && lowering->program->shape.chunks > 1)
		communicators = PIPESIM_COMMUNICATOR_EDGE;
	if (communicators <= PIPESIM_COMMUNICATOR_RANK)
		return ranks;
	guint32 *known = pipesim_arena_array(arena, guint32, 2 * (gsize)ranks + 1);
	*communicator_begin = pipesim_arena_array(arena, guint32, (gsize)ranks + 1);
	*communicator_of = pipesim_arena_array(arena, guint32, lowering->n_actions);
	for (guint rank = 0; *communicator_of != NULL && rank < ranks; rank++) {
		const guint32 end = lowering->rank_begin[rank + 1];

		(*communicator_begin)[rank] = n;
		for (guint32 i = lowering->rank_begin[rank]; i < end; i++) {
			const PipesimAction *action = &lowering->actions[i];
			gsize key = 2 * (gsize)action->peer_rank;

			if (!pipesim_action_is_message(action->kind))
				continue;
			if (communicators == PIPESIM_COMMUNICATOR_EDGE)
				key += !pipesim_action_is_send(action->kind);
			else if (action->waited || action->joined ||
				 (i + 1 < end && action[1].joined))
				key = 2 * (gsize)ranks;
			if (known[key] <= (*communicator_begin)[rank])
				known[key] = ++n;
			(*communicator_of)[i] = known[key] - 1;
		}
		(*communicator_begin)[rank + 1] = n;
	}
	return n;
}

G_STATIC_ASSERT(sizeof(PipesimTurn) == sizeof(PipesimAction));
G_STATIC_ASSERT(offsetof(PipesimTurn, b_wait) == offsetof(PipesimAction, b_wait));
G_STATIC_ASSERT(offsetof(PipesimTurn, waited) == offsetof(PipesimAction, waited));

/* The list of @rank, and the first message of each of its communicators.
 * @communicator_of: NULL: the rank has one, of its number
 * @last: by communicator: its last message so far; PIPESIM_NO_OP: none */
static void write_turns(
	PipesimRules *rules, const guint32 *communicator_of, guint32 *last, guint rank)
{
	const guint32 end = rules->lowering->rank_begin[rank + 1];
	guint32 group_begin = 0; /* of the messages that [i] is issued with */

	for (guint32 i = rules->lowering->rank_begin[rank]; i < end; i++) {
		const PipesimAction *action = &rules->lowering->actions[i];
		PipesimTurn *turn = &rules->turns[i];

		memcpy(turn, action, sizeof *turn); /* the same members */
		if (pipesim_action_is_wait(action->kind) && action->peer != PIPESIM_NO_OP)
			turn->communicator =
				communicator_of != NULL ? communicator_of[action->peer] : rank;
		if (!pipesim_action_is_message(action->kind))
			continue;
		group_begin = action->joined ? group_begin : i;
		turn->communicator = communicator_of != NULL ? communicator_of[i] : rank;
		turn->next = PIPESIM_NO_MESSAGE;
		turn->other = action->peer;
		guint32 *before = &last[turn->communicator];
		if (*before == PIPESIM_NO_OP)
			rules->communicators[turn->communicator].post_at = i;
		else
			rules->turns[*before].next =
				*before < group_begin ? i : i | PIPESIM_TOGETHER;
		*before = i;
	}
}

void pipesim_rules_begin(PipesimRules *rules, const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimArena *arena)
{
	const guint ranks = lowering->program->shape.ranks;
	guint32 *communicator_of, *last;
	const guint32 n_communicators = pipesim_rules_number(
		lowering, communicators, arena, &rules->communicator_begin, &communicator_of);

	rules->lowering = lowering;
	rules->seats = pipesim_arena_array(arena, PipesimSeat, ranks);
	rules->communicators = pipesim_arena_array(arena, PipesimCommunicator, n_communicators);
	rules->turns = pipesim_arena_large(arena, lowering->n_actions, sizeof *rules->turns);
	rules->issued = pipesim_arena_array(arena, guint8, lowering->n_actions);
	last = pipesim_arena_array(arena, guint32, n_communicators);
	for (guint rank = 0; last != NULL && rank < ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];

		for (guint32 c = pipesim_rules_communicators(rules, rank);
			c < pipesim_rules_communicators(rules, rank + 1); c++) {
			rules->communicators[c] =
				(PipesimCommunicator){PIPESIM_NO_MESSAGE, begin, 0};
			last[c] = PIPESIM_NO_OP;
		}
		write_turns(rules, communicator_of, last, rank);
		pipesim_rules_seat(rules, rank, begin);
	}
}
