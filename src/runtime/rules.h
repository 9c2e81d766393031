/* The rules at the head of lowering.h, played one step at a time. Whoever plays them decides
 * when what has been issued or started ends: at once (check.c) or by a clock (engine/comm.c).
 * Private to both. */
#pragma once
#include "runtime/lowering.h"

/* A PipesimAction, where a message has what is looked up again and again in its place. */
typedef struct {
	union {
		guint32 op;
		guint32 communicator;
	};
	union {
		guint32 wait; /* of an op; of a wait its message */
		/* Of a message: the next one of its communicator, with PIPESIM_TOGETHER where both are issued together; none:
		 * PIPESIM_NO_MESSAGE. */
		guint32 next;
	};
	union {
		guint32 b_wait;
		guint32 other; /* of a message: its other end, or what whoever plays the rules knows it by */
	};
	guint8 kind, joined, waited;
} PipesimTurn;

#define PIPESIM_TOGETHER   (1u << 31)
#define PIPESIM_NO_MESSAGE (PIPESIM_TOGETHER - 1)

/* Where a rank stands in its list. */
typedef struct {
	guint32 stop_at; /* its next stop, by index, or the op that runs; the end of the list: none */
	guint32 released; /* messages before may be issued as far as stops go */
} PipesimSeat;

/* Where a communicator stands in the list of its rank; actions by index. */
typedef struct {
	guint32 post_at; /* the first of its messages that has not been issued, or PIPESIM_NO_MESSAGE */
	guint32 done_to; /* every message before is done */
	guint32 open;    /* how many of the messages issued together are not done */
} PipesimCommunicator;

typedef struct {
	const PipesimLowering *lowering;
	PipesimTurn *turns; /* by action */
	/* What is done to whole stages is a stop too; whether it may be passed is decided by
	 * whoever plays the rules. Set before pipesim_rules_begin(). */
	gboolean sharding;
	PipesimSeat *seats; /* by rank */
	PipesimCommunicator *
		communicators; /* rank r has communicator_begin[r] to communicator_begin[r + 1] - 1 */
	guint32 *communicator_begin; /* NULL: each rank has one, of its number */
	guint8 *issued;              /* by action */
} PipesimRules;

/** pipesim_rules_number: counts the communicators of each rank of @lowering, as they come, where @communicators asks for
 * several: rank r has *communicator_begin[r] to *communicator_begin[r + 1] - 1, and a message at index i *communicator_of[i].
 * Both NULL where each rank has one, of its number. Memory from @arena, which says whether it sufficed. Returns
 * how many there are. */
guint32 pipesim_rules_number(const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimArena *arena, guint32 **communicator_begin,
	guint32 **communicator_of);

/** pipesim_rules_begin: every rank at the beginning of its list. What is taken from @arena may
 * be NULL: pipesim_arena_check(). */
void pipesim_rules_begin(PipesimRules *rules, const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimArena *arena);

/** pipesim_rules_is_stop: whether the action @at of a list that ends before @end is one. */
static inline gboolean pipesim_rules_is_stop(const PipesimRules *rules, guint32 at, guint32 end)
{
	const PipesimTurn *turn = &rules->turns[at];

	if (pipesim_action_is_message(turn->kind))
		return turn->waited && (at + 1 == end || !turn[1].joined);
	return turn->kind == PIPESIM_ACTION_OP || pipesim_action_is_wait(turn->kind) ||
	       (rules->sharding && pipesim_action_is_sharding(turn->kind));
}

/** pipesim_rules_seat: @rank comes to its first stop from @at on, or its end. */
static inline void pipesim_rules_seat(PipesimRules *rules, guint rank, guint32 at)
{
	const guint32 end = rules->lowering->rank_begin[rank + 1];

	while (at < end && !pipesim_rules_is_stop(rules, at, end))
		at++;
	/* The end of a group waits for messages that have to be issued for that. */
	rules->seats[rank] = (PipesimSeat){
		at, at + (at < end && pipesim_action_is_message(rules->turns[at].kind))};
}

/** pipesim_rules_pass: the next stop of @rank is done. */
static inline void pipesim_rules_pass(PipesimRules *rules, guint rank)
{
	pipesim_rules_seat(rules, rank, rules->seats[rank].stop_at + 1);
}

/** pipesim_rules_communicators: the first communicator of @rank; that of rank + 1 is the end. */
static inline guint32 pipesim_rules_communicators(const PipesimRules *rules, guint rank)
{
	return rules->communicator_begin != NULL ? rules->communicator_begin[rank] : rank;
}

/** pipesim_rules_next: the message of its communicator that comes behind @message. */
static inline guint32 pipesim_rules_next(const PipesimRules *rules, guint32 message)
{
	return rules->turns[message].next & ~PIPESIM_TOGETHER;
}

/** pipesim_rules_post: whether the turn of the next messages of @communicator of @rank has come;
 * then those from *begin on, by pipesim_rules_next(), until *end are due for
 * pipesim_rules_issue(). */
static inline gboolean pipesim_rules_post(
	PipesimRules *rules, guint rank, guint32 communicator, guint32 *begin, guint32 *end)
{
	PipesimCommunicator *queue = &rules->communicators[communicator];
	guint32 next = *begin = queue->post_at;

	if (queue->open > 0 || next >= rules->seats[rank].released)
		return FALSE;
	do {
		queue->open++;
		next = rules->turns[next & ~PIPESIM_TOGETHER].next;
	} while (next >= PIPESIM_TOGETHER);
	*end = queue->post_at = next;
	return TRUE;
}

/** pipesim_rules_issue: issues one message. Returns whether its other end has been issued too,
 * so that it moves from now on. */
static inline gboolean pipesim_rules_issue(PipesimRules *rules, guint32 message)
{
	rules->issued[message] = TRUE;
	return rules->issued[rules->lowering->actions[message].peer];
}

/** pipesim_rules_arrive: a message that has been issued over @communicator is done; due for both
 * of its ends. Returns whether all that was issued with it is. */
static inline gboolean pipesim_rules_arrive(PipesimRules *rules, guint32 communicator)
{
	PipesimCommunicator *queue = &rules->communicators[communicator];

	if (--queue->open > 0)
		return FALSE;
	queue->done_to = queue->post_at;
	return TRUE;
}

/** pipesim_rules_is_done: whether @message is; PIPESIM_NO_OP: no message. */
static inline gboolean pipesim_rules_is_done(const PipesimRules *rules, guint32 message)
{
	return message == PIPESIM_NO_OP ||
	       message < rules->communicators[rules->turns[message].communicator].done_to;
}

/** pipesim_rules_is_op: whether the next stop of @rank is an op. */
static inline gboolean pipesim_rules_is_op(const PipesimRules *rules, guint rank)
{
	const guint32 at = rules->seats[rank].stop_at;

	return at < rules->lowering->rank_begin[rank + 1] &&
	       rules->turns[at].kind == PIPESIM_ACTION_OP;
}

/** pipesim_rules_may_run: whether what the op that @rank stops at waits for is there: that of
 * its @forward half, its @backward half or both. */
static inline gboolean pipesim_rules_may_run(
	const PipesimRules *rules, guint rank, gboolean forward, gboolean backward)
{
	const PipesimTurn *op = &rules->turns[rules->seats[rank].stop_at];

	return (!forward || pipesim_rules_is_done(rules, op->wait)) &&
	       (!backward || pipesim_rules_is_done(rules, op->b_wait));
}

/** pipesim_rules_may_pass: whether @rank has a next stop that is no op, and what that waits for
 * is there. */
static inline gboolean pipesim_rules_may_pass(const PipesimRules *rules, guint rank)
{
	const guint32 at = rules->seats[rank].stop_at;
	const PipesimTurn *turn = &rules->turns[at];

	if (at == rules->lowering->rank_begin[rank + 1] || turn->kind == PIPESIM_ACTION_OP)
		return FALSE;
	if (pipesim_action_is_sharding(turn->kind))
		return TRUE;
	if (pipesim_action_is_wait(turn->kind))
		return turn->wait == PIPESIM_NO_OP ||
		       turn->wait < rules->communicators[turn->communicator].done_to;
	for (guint32 i = at; pipesim_rules_is_done(rules, i); i--)
		if (!rules->turns[i].joined)
			return TRUE;
	return FALSE;
}
