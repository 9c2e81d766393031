/* PyTorch's multi-stage schedules (_PipelineScheduleRuntime, 2.11 and 2.15), pass by pass. What is done to
 * stages is put among the ops (runtime/sharding.c). In rounds, every rank in order then takes the next of
 * these if what it needs has been taken; behind an op go its sends, and at that moment each receive goes
 * to the end of its rank's list, wherever that stands. 2.15 adds the wait for each send: for an output behind the
 * backward, or the backward for input, of the same stage and micro-batch (behind the pair that holds it), for a
 * gradient at the end of the list, in order of sending. Where it is asked to, it moves receives and waits
 * (runtime/passes.c, runtime/budget.c). */
#include "config.h"

#include "base/arena.h"
#include "runtime/passes.h"
#include "runtime/runtime.h"
#include "runtime/sharding.h"
#include <string.h>

#define BITS 64

#define SCHEDULES "gpipe,1f1b,interleaved-1f1b,interleaved-zb,zb-v,dualpipev"

/* How many stages of a rank stay gathered, unasked. */
#define ACTIVE_STAGES 3

typedef struct {
	const PipesimProgram *program;
	const PipesimList
		*todo;   /* by rank: what is done to its stages (pipesim_sharding_list()) */
	guint32 *n_done; /* by rank: of that */
	guint32 *at;     /* by rank: the op that it comes to */
	guint8 *taken;   /* by op */
	PipesimAction *actions;
	guint32 *end; /* by rank: behind the last action of its list so far */
	/* By op, 1 + an action: the send of its output, and the receives of its activation and its gradient. */
	guint32 *sent, *received[2];
	gboolean waits;      /* for sends */
	guint64 *now, *then; /* a bit a rank: may act in this round, in the next */
} Rounds;

static void set(guint64 *bits, guint rank)
{
	bits[rank / BITS] |= G_GUINT64_CONSTANT(1) << rank % BITS;
}

/* What is done to a stage of @rank before its next op; NULL: that comes next. */
static const PipesimAction *before_op(const Rounds *rounds, guint rank)
{
	const PipesimList *todo = &rounds->todo[rank];
	const guint32 n = rounds->n_done[rank];

	return n < todo->n && todo->actions[n].wait == rounds->at[rank] ? &todo->actions[n]
									: NULL;
}

/* What @op of @rank gives to @to_op: it leaves at once, if that is on another rank, whose turn may come. */
static void hand_on(Rounds *rounds, guint rank, guint32 op, guint32 to_op, guint backward)
{
	const guint to = pipesim_program_rank_near(rounds->program, to_op, rank);

	if (to != rank) {
		const guint32 send = rounds->end[rank]++, receive = rounds->end[to]++;

		rounds->actions[send] = (PipesimAction){.op = op,
			.peer = receive,
			.peer_rank = to,
			.kind = (guint8)(PIPESIM_ACTION_SEND_F + 2 * backward)};
		rounds->actions[receive] = (PipesimAction){.op = to_op,
			.peer = send,
			.peer_rank = rank,
			.kind = (guint8)(PIPESIM_ACTION_RECV_F + 2 * backward)};
		if (!backward)
			rounds->sent[op] = send + 1;
		rounds->received[backward][to_op] = receive + 1;
	}
	/* A rank whose turn has passed in this round has to wait for the next. */
	if (rounds->at[to] == to_op && before_op(rounds, to) == NULL)
		set(to > rank ? rounds->now : rounds->then, to);
}

/* @op of @rank goes to the end of its list, and the wait for the output of its forward that ends with it. */
static void append_op(Rounds *rounds, guint rank, guint32 index, gsize b_slot)
{
	const PipesimOp *op = &rounds->program->ops[index];
	const guint32 first = rounds->received[0][index], second = rounds->received[1][index];
	const gboolean pair = op->kind == PIPESIM_FB;

	/* None is PIPESIM_NO_OP. */
	rounds->actions[rounds->end[rank]++] = (PipesimAction){.op = index,
		.wait = (pair || first > 0 ? first : second) - 1,
		.b_wait = (pair ? second : 0) - 1,
		.kind = PIPESIM_ACTION_OP};
	if (rounds->waits && pipesim_op_has_backward(op)) {
		const guint32 forward = rounds->program->forward[b_slot];

		if (rounds->sent[forward] > 0)
			rounds->actions[rounds->end[rank]++] = (PipesimAction){.op = forward,
				.peer = rounds->sent[forward] - 1,
				.kind = PIPESIM_ACTION_WAIT_SEND_F};
	}
}

/* The turn of @rank: the next of its ops, or what comes before it, goes, if it is ready. */
static void act(Rounds *rounds, guint rank)
{
	const PipesimProgram *program = rounds->program;
	const gsize m = program->shape.microbatches, n_slots = program->shape.stages * m;
	const PipesimAction *before = before_op(rounds, rank);
	const guint32 index = rounds->at[rank];
	const PipesimOp *op = &program->ops[index];
	gboolean forward, backward;
	gsize f_slot = 0, b_slot = 0;

	if (before != NULL) {
		rounds->n_done[rank]++;
		rounds->actions[rounds->end[rank]++] =
			(PipesimAction){.stage = before->stage, .kind = before->kind};
		set(rounds->then, rank);
		return;
	}
	if (index == program->rank_begin[rank + 1])
		return;
	forward = pipesim_op_has_forward(op);
	backward = pipesim_op_has_backward(op);
	if (forward)
		f_slot = pipesim_op_forward_slot(program, rank, op);
	if (backward)
		b_slot = pipesim_op_backward_slot(program, rank, op);
	if ((forward && f_slot >= m && !rounds->taken[program->forward[f_slot - m]]) ||
		(backward && b_slot + m < n_slots &&
			!rounds->taken[program->backward[b_slot + m]]))
		return;
	rounds->at[rank]++;
	rounds->taken[index] = TRUE;
	append_op(rounds, rank, index, b_slot);
	if (forward && f_slot + m < n_slots)
		hand_on(rounds, rank, index, program->forward[f_slot + m], 0);
	if (backward && b_slot >= m)
		hand_on(rounds, rank, index, program->backward[b_slot - m], 1);
	set(rounds->then, rank);
}

/* Round after round, until one where nobody may act; then, in 2.15, the waits for gradients. */
static void run_rounds(Rounds *rounds, const guint32 *begin)
{
	const guint ranks = rounds->program->shape.ranks;
	const gsize words = (ranks + BITS - 1) / BITS;
	gboolean any = TRUE;

	for (guint rank = 0; rank < ranks; rank++)
		set(rounds->now, rank);
	while (any) {
		guint64 *const swap = rounds->now;

		any = FALSE;
		for (gsize word = 0; word < words; word++) {
			while (rounds->now[word] != 0) {
				const guint bit = (guint)__builtin_ctzll(rounds->now[word]);

				rounds->now[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
				act(rounds, (guint)(word * BITS) + bit);
				any = TRUE;
			}
		}
		rounds->now = rounds->then;
		rounds->then = swap;
	}
	for (guint rank = 0; rounds->waits && rank < ranks; rank++) {
		const guint32 end = rounds->end[rank];

		for (guint32 i = begin[rank]; i < end; i++)
			if (rounds->actions[i].kind == PIPESIM_ACTION_SEND_B)
				rounds->actions[rounds->end[rank]++] =
					(PipesimAction){.op = rounds->actions[i].op,
						.peer = i,
						.kind = PIPESIM_ACTION_WAIT_SEND_B};
	}
}

/* Where lists begin: @begin[rank + 1] - @begin[rank] is what @rank issues, and waits for. */
static guint64 lay_out(
	const PipesimProgram *program, const PipesimList *todo, gboolean waits, guint64 *begin)
{
	const guint32 *forward = program->forward;
	const guint32 m = program->shape.microbatches, ranks = program->shape.ranks;
	guint near = 0, next_near = 0;

	for (guint rank = 0; rank < ranks; rank++)
		begin[rank + 1] = program->rank_begin[rank + 1] - program->rank_begin[rank] +
				  todo[rank].n;
	for (gsize slot = 0; slot < (gsize)(program->shape.stages - 1) * m; slot++) {
		near = pipesim_program_rank_near(program, forward[slot], near);
		next_near = pipesim_program_rank_near(program, forward[slot + m], next_near);
		/* Forth and back. */
		begin[near + 1] += near != next_near ? 2u + waits : 0;
		begin[next_near + 1] += near != next_near ? 2u + waits : 0;
	}
	for (guint rank = 0; rank < ranks; rank++)
		begin[rank + 1] += begin[rank];
	return begin[ranks];
}

/* All lists as they are, and linked; where something is still to be done to them, or an op cannot run, into the
 * lists of @lowerer. */
static gboolean issue_all(PipesimLowerer *lowerer, const PipesimList *todo, gboolean waits,
	gboolean more, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gsize words = (ranks + BITS - 1) / BITS;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	guint64 *begin = pipesim_arena_array(arena, guint64, (gsize)ranks + 1);
	g_autoptr(PipesimLowering) lowering = NULL;
	Rounds rounds = {
		.program = program,
		.todo = todo,
		.n_done = pipesim_arena_array(arena, guint32, ranks),
		.at = pipesim_arena_array(arena, guint32, ranks),
		.end = pipesim_arena_array(arena, guint32, ranks),
		.taken = pipesim_arena_array(arena, guint8, program->n_ops),
		.sent = pipesim_arena_array(arena, guint32, program->n_ops),
		.received = {pipesim_arena_array(arena, guint32, program->n_ops),
			pipesim_arena_array(arena, guint32, program->n_ops)},
		.waits = waits,
		.now = pipesim_arena_array(arena, guint64, words),
		.then = pipesim_arena_array(arena, guint64, words),
	};

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	lowering = pipesim_lowering_new(
		program, lowerer->runtime, lay_out(program, todo, waits, begin), error);
	if (lowering == NULL)
		return FALSE;
	for (guint rank = 0; rank <= ranks; rank++)
		lowering->rank_begin[rank] = (guint32)begin[rank];
	rounds.actions = lowering->actions;
	memcpy(rounds.at, program->rank_begin, ranks * sizeof *rounds.at);
	memcpy(rounds.end, lowering->rank_begin, ranks * sizeof *rounds.end);
	run_rounds(&rounds, lowering->rank_begin);
	for (guint rank = 0; rank < ranks; rank++)
		more |= rounds.end[rank] != begin[rank + 1];
	for (guint rank = 0; rank < ranks && more; rank++)
		for (guint32 i = lowering->rank_begin[rank]; i < rounds.end[rank]; i++) {
			PipesimAction action = lowering->actions[i];

			if (pipesim_action_is_send(action.kind))
				action.peer = lowering->actions[action.peer].op;
			pipesim_lower_take(lowerer, &lowerer->lists[rank], &action);
		}
	if (!more)
		lowerer->joined = g_steal_pointer(&lowering);
	return TRUE;
}

/* Passes 1 to 3, by the rules of a version: how stages are treated, and who stands where. @more: passes follow */
static gboolean issue(
	PipesimLowerer *lowerer, PipesimShardingRules rules, gboolean more, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const PipesimIssuing *issuing = lowerer->issuing;
	const guint ranks = program->shape.ranks;
	const gboolean listed = issuing->ahead == PIPESIM_AHEAD_LIST;
	PipesimList *todo;
	gboolean ok = TRUE;

	rules.active = issuing->active_stages > 0 ? issuing->active_stages : ACTIVE_STAGES;
	rules.defers = issuing->defer_reduce_wait;
	if (rules.active < 2 && pipesim_program_has_pairs(program))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--active-stages 1: an overlapped pair needs both of its stages; take "
			"2 or more");
	if (listed && issuing->n_ahead != ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--unshard-ahead: %u number%s for %u rank%s; one for each rank",
			issuing->n_ahead, issuing->n_ahead == 1 ? "" : "s", ranks,
			ranks == 1 ? "" : "s");
	todo = g_new0(PipesimList, ranks);
	for (guint rank = 0; ok && rank < ranks; rank++) {
		rules.ahead = listed ? issuing->ahead_of[rank]
			      : issuing->ahead == PIPESIM_AHEAD_AUTO
				      ? MIN(rank + 2, rules.active)
				      : rules.active;
		ok = rules.ahead >= 1 && rules.ahead <= rules.active;
		if (!ok)
			pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"--unshard-ahead: %u for rank %u; from 1 to the %u stage%s "
				"that it keeps (--active-stages)",
				rules.ahead, rank, rules.active, rules.active == 1 ? "" : "s");
		ok = ok && pipesim_sharding_list(lowerer, rank, &rules, &todo[rank], error);
	}
	ok = ok && issue_all(lowerer, todo, rules.waits, more, error);
	for (guint rank = 0; rank < ranks; rank++)
		g_free(todo[rank].actions);
	g_free(todo);
	return ok;
}

static gboolean lower_2_11(PipesimLowerer *lowerer, GError **error)
{
	return issue(lowerer, (PipesimShardingRules){.waits = FALSE}, FALSE, error);
}

static gboolean lower_2_15(PipesimLowerer *lowerer, GError **error)
{
	static const PipesimShardingRules rules = {.by_age = TRUE, .waits = TRUE};
	const PipesimIssuing *issuing = lowerer->issuing;

	const gboolean more = issuing->defer_recv || issuing->max_sends > 0;

	if (!issue(lowerer, rules, more, error))
		return FALSE;
	if (issuing->defer_recv)
		pipesim_pass_defer_receives(lowerer);
	if (lowerer->no_memory || issuing->max_sends == 0)
		return TRUE;
	return pipesim_pass_limit_sends(lowerer, issuing->max_sends, error);
}

const PipesimRuntime pipesim_runtime_pytorch_2_11 = {
	.name = "pytorch-2.11",
	.alias = "queue",
	.rule = "the sends and receives of a rank run in order, in one queue",
	.schedules = SCHEDULES,
	.runs_files = TRUE,
	.waits = TRUE,
	.splits_pairs = TRUE,
	.keeps_buffers = TRUE,
	.keeps_for_weight = TRUE,
	.gradients = PIPESIM_SENT_BUFFER,
	.takes = PIPESIM_ASK_SHARDING,
	.lower = lower_2_11,
};

const PipesimRuntime pipesim_runtime_pytorch_2_15 = {
	.name = "pytorch-2.15",
	.rule = "a rank sends, receives and waits in the order of PyTorch 2.15",
	.schedules = SCHEDULES,
	.runs_files = TRUE,
	.waits_for_sends = TRUE,
	.waits = TRUE,
	.splits_pairs = TRUE,
	.keeps_for_weight = TRUE,
	.takes = PIPESIM_ASK_CHANNELS | PIPESIM_ASK_ACTIVE_STAGES | PIPESIM_ASK_AHEAD |
		 PIPESIM_ASK_DEFER_REDUCE_WAIT | PIPESIM_ASK_DEFER_RECV |
		 PIPESIM_ASK_MAX_SENDS | PIPESIM_ASK_SHARDING,
	.lower = lower_2_15,
};
