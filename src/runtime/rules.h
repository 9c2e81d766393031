/* The rules at the head of lowering.h, played one step at a time. Whoever plays them decides when
 * what has been issued or started ends: at once (check.c) or by a clock (engine/comm.c). Private
 * to both. */
#pragma once
#include "base/arena.h"
#include "runtime/lowering.h"

/* Where a rank stands in its list; all of them actions by index. */
typedef struct {
	guint32 op_at;   /* its next op, or the one that runs; the end of the list: none */
	guint32 post_at; /* no message before has not been issued */
	guint32 done_to; /* every message before is done */
	guint32 open;    /* how many messages of the issued group are not done */
} PipesimSeat;

typedef struct {
	const PipesimLowering *lowering;
	PipesimSeat *seats; /* by rank */
	guint8 *issued;     /* by action */
} PipesimRules;

/* The first op, or the first message, of @rank from @at on; its end where there is none. */
static inline guint32 pipesim_rules_next(
	const PipesimRules *rules, guint rank, guint32 at, gboolean op)
{
	const PipesimAction *actions = rules->lowering->actions;
	const guint32 end = rules->lowering->rank_begin[rank + 1];

	while (at < end && (actions[at].kind == PIPESIM_ACTION_OP) != op)
		at++;
	return at;
}

/** pipesim_rules_begin: every rank at the beginning of its list. What is taken from @arena may
 * be NULL: pipesim_arena_check(). */
static inline void pipesim_rules_begin(
	PipesimRules *rules, const PipesimLowering *lowering, PipesimArena *arena)
{
	const guint ranks = lowering->program->shape.ranks;

	rules->lowering = lowering;
	rules->seats = pipesim_arena_array(arena, PipesimSeat, ranks);
	rules->issued = pipesim_arena_array(arena, guint8, lowering->n_actions);
	for (guint rank = 0; rules->issued != NULL && rank < ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];

		rules->seats[rank] = (PipesimSeat){
			pipesim_rules_next(rules, rank, begin, TRUE), begin, begin, 0};
	}
}

/** pipesim_rules_post: whether the turn of the next group of @rank has come; then *begin to *end
 * are its messages, for each of which pipesim_rules_issue() is due. */
static inline gboolean pipesim_rules_post(
	PipesimRules *rules, guint rank, guint32 *begin, guint32 *end)
{
	const PipesimAction *actions = rules->lowering->actions;
	const guint32 rank_end = rules->lowering->rank_begin[rank + 1];
	PipesimSeat *seat = &rules->seats[rank];
	guint32 at = pipesim_rules_next(rules, rank, seat->post_at, FALSE);

	seat->post_at = at;
	if (seat->open > 0 || at >= seat->op_at)
		return FALSE;
	*begin = at;
	do
		at++;
	while (at < rank_end && actions[at].joined);
	*end = seat->post_at = at;
	seat->open = at - *begin;
	return TRUE;
}

/** pipesim_rules_issue: issues one message of a group. Returns whether its other end has been
 * too, so that it moves from now on. */
static inline gboolean pipesim_rules_issue(PipesimRules *rules, guint32 message)
{
	rules->issued[message] = TRUE;
	return rules->issued[rules->lowering->actions[message].peer];
}

/** pipesim_rules_arrive: a message of the group that @rank has issued is done; due for the ranks of
 * both of its ends. */
static inline void pipesim_rules_arrive(PipesimRules *rules, guint rank)
{
	PipesimSeat *seat = &rules->seats[rank];

	if (--seat->open == 0)
		seat->done_to = seat->post_at;
}

/** pipesim_rules_is_done: whether @message of @rank is, and with it all that stand before;
 * PIPESIM_NO_OP: no message. */
static inline gboolean pipesim_rules_is_done(
	const PipesimRules *rules, guint rank, guint32 message)
{
	return message == PIPESIM_NO_OP || message < rules->seats[rank].done_to;
}

/** pipesim_rules_may_run: whether @rank has a next op and what it waits for is there: that of its
 * @forward half, its @backward half or both. */
static inline gboolean pipesim_rules_may_run(
	const PipesimRules *rules, guint rank, gboolean forward, gboolean backward)
{
	const guint32 at = rules->seats[rank].op_at;
	const PipesimAction *op = &rules->lowering->actions[at];

	return at < rules->lowering->rank_begin[rank + 1] &&
	       (!forward || pipesim_rules_is_done(rules, rank, op->wait)) &&
	       (!backward || pipesim_rules_is_done(rules, rank, op->b_wait));
}

/** pipesim_rules_ran: the op of @rank has run. */
static inline void pipesim_rules_ran(PipesimRules *rules, guint rank)
{
	PipesimSeat *seat = &rules->seats[rank];

	seat->op_at = pipesim_rules_next(rules, rank, seat->op_at + 1, TRUE);
}
