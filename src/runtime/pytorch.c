/* What PyTorch's multi-stage schedules issue (runtime/rounds.h), as lists. 2.15 adds the wait for each send: for an
 * output behind the backward, or the backward for input, of the same stage and micro-batch (behind the pair that holds
 * it), for a gradient at the end of the list, in order of sending. Where it is asked to, it moves receives and waits
 * (runtime/passes.c, runtime/budget.c). */
#include "runtime/passes.h"
#include "runtime/rounds.h"

#define SCHEDULES "1f1b,gpipe,interleaved-1f1b,interleaved-zb,zb-v,dualpipev"

/* How many stages of a rank stay gathered, unasked. */
#define ACTIVE_STAGES 3

/* Rounds ---------------------------------------------------------------------------------- */

static guint active_stages(const PipesimIssuing *issuing)
{
	return issuing->active_stages > 0 ? issuing->active_stages : ACTIVE_STAGES;
}

/* Stages that @rank gathers ahead. */
static guint stages_ahead(const PipesimIssuing *issuing, guint rank)
{
	return issuing->ahead == PIPESIM_AHEAD_LIST   ? issuing->ahead_of[rank]
	       : issuing->ahead == PIPESIM_AHEAD_AUTO ? MIN(rank + 2, active_stages(issuing))
						      : active_stages(issuing);
}

gboolean pipesim_rounds_check(
	guint ranks, gboolean pairs, const PipesimIssuing *issuing, GError **error)
{
	const guint active = active_stages(issuing);

	if (active < 2 && pairs)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--active-stages 1: an overlapped pair needs both of its stages; take "
			"2 or more");
	if (issuing->ahead == PIPESIM_AHEAD_LIST && issuing->n_ahead != ranks)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--unshard-ahead: %u number%s for %u rank%s; one for each rank",
			issuing->n_ahead, issuing->n_ahead == 1 ? "" : "s", ranks,
			ranks == 1 ? "" : "s");
	for (guint rank = 0; rank < ranks; rank++) {
		const guint ahead = stages_ahead(issuing, rank);

		if (ahead < 1 || ahead > active)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"--unshard-ahead: %u for rank %u; from 1 to the %u stage%s "
				"that it keeps (--active-stages)",
				ahead, rank, active, active == 1 ? "" : "s");
	}
	return TRUE;
}

PipesimShardingRules pipesim_rounds_sharding(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing, guint rank)
{
	return (PipesimShardingRules){.active = active_stages(issuing),
		.ahead = stages_ahead(issuing, rank),
		.by_age = runtime->waits_for_sends,
		.waits = runtime->waits_for_sends,
		.defers = issuing->defer_reduce_wait};
}

/* As lists -------------------------------------------------------------------------------- */

typedef struct {
	const PipesimProgram *program;
	PipesimRounds rounds;
	gboolean waits;    /* for sends */
	PipesimList *todo; /* by rank: what is done to its stages (pipesim_sharding_list()) */
	guint32 *n_done;   /* by rank: of that */
	guint32 *at;       /* by rank: the op that it comes to */
	PipesimAction *actions;
	guint32 *end; /* by rank: behind the last action of its list so far */
	/* By op, 1 + an action: the send of its output, and the receives of its activation and its gradient. */
	guint32 *sent, *received[2];
	guint8 *taken[2]; /* by stage and micro-batch: the forward, and the backward */
} Lists;

/* What @from of @rank gives to @to leaves at once, if that is on another rank: both ends. */
static void take_message(Lists *lists, guint rank, guint32 from, guint32 to, guint backward)
{
	const guint to_rank = pipesim_program_rank_near(lists->program, to, rank);

	if (to_rank == rank)
		return;
	guint32 send = lists->end[rank]++;
	guint32 receive = lists->end[to_rank]++;
	lists->actions[send] = (PipesimAction){.op = from,
		.peer = receive,
		.peer_rank = to_rank,
		.kind = (guint8)(PIPESIM_ACTION_SEND_F + 2 * backward)};
	lists->actions[receive] = (PipesimAction){.op = to,
		.peer = send,
		.peer_rank = rank,
		.kind = (guint8)(PIPESIM_ACTION_RECV_F + 2 * backward)};
	if (!backward)
		lists->sent[from] = send + 1;
	lists->received[backward][to] = receive + 1;
	pipesim_rounds_call(&lists->rounds, rank, to_rank);
}

/* And the wait for the output of the forward that ends with it. */
static void take_op(Lists *lists, guint rank, guint32 index, gsize b_slot)
{
	const PipesimOp *op = &lists->program->ops[index];
	const guint32 first = lists->received[0][index], second = lists->received[1][index];
	const gboolean pair = op->kind == PIPESIM_FB;

	/* None is PIPESIM_NO_OP. */
	lists->actions[lists->end[rank]++] = (PipesimAction){.op = index,
		.wait = (pair || first > 0 ? first : second) - 1,
		.b_wait = (pair ? second : 0) - 1,
		.kind = PIPESIM_ACTION_OP};
	if (lists->waits && pipesim_op_has_backward(op)) {
		const guint32 forward = lists->program->forward[b_slot];

		if (lists->sent[forward] > 0)
			lists->actions[lists->end[rank]++] = (PipesimAction){.op = forward,
				.peer = lists->sent[forward] - 1,
				.kind = PIPESIM_ACTION_WAIT_SEND_F};
	}
}

/* The turn of @rank: the next of its ops, or what comes before it, goes, if it is ready. */
static inline gboolean act(gpointer data, guint rank)
{
	Lists *lists = data;
	const PipesimProgram *program = lists->program;
	const gsize m = program->shape.microbatches, n_slots = program->shape.stages * m;
	const PipesimList *todo = &lists->todo[rank];
	const guint32 index = lists->at[rank];
	const PipesimOp *op = &program->ops[index];
	gsize f_slot = 0, b_slot = 0;

	if (lists->n_done[rank] < todo->n && todo->actions[lists->n_done[rank]].wait == index) {
		const PipesimAction *action = &todo->actions[lists->n_done[rank]++];

		lists->actions[lists->end[rank]++] =
			(PipesimAction){.stage = action->stage, .kind = action->kind};
		return TRUE;
	}
	if (index == program->rank_begin[rank + 1])
		return FALSE;
	gboolean forward = pipesim_op_has_forward(op);
	gboolean backward = pipesim_op_has_backward(op);
	if (forward)
		f_slot = pipesim_op_forward_slot(program, rank, op);
	if (backward)
		b_slot = pipesim_op_backward_slot(program, rank, op);
	if ((forward && f_slot >= m && !lists->taken[0][f_slot - m]) ||
		(backward && b_slot + m < n_slots && !lists->taken[1][b_slot + m]))
		return FALSE;
	lists->at[rank]++;
	take_op(lists, rank, index, b_slot);
	if (forward) {
		lists->taken[0][f_slot] = TRUE;
		if (f_slot + m < n_slots)
			take_message(lists, rank, index, program->forward[f_slot + m], 0);
	}
	if (backward) {
		lists->taken[1][b_slot] = TRUE;
		if (b_slot >= m)
			take_message(lists, rank, index, program->backward[b_slot - m], 1);
	}
	return TRUE;
}

static void wait_for_gradients(Lists *lists, guint32 begin, guint rank)
{
	const guint32 end = lists->end[rank];

	for (guint32 i = begin; i < end; i++)
		if (lists->actions[i].kind == PIPESIM_ACTION_SEND_B)
			lists->actions[lists->end[rank]++] =
				(PipesimAction){.op = lists->actions[i].op,
					.peer = i,
					.kind = PIPESIM_ACTION_WAIT_SEND_B};
}

/* Where lists begin: @begin[rank + 1] - @begin[rank] is what @rank issues, and waits for. */
static guint64 lay_out(
	const PipesimProgram *program, const PipesimList *todo, gboolean waits, guint64 *begin)
{
	const guint ranks = program->shape.ranks;

	pipesim_lower_count(program, begin);
	for (guint rank = 0; rank < ranks; rank++) {
		/* Half of the ends are sends. */
		begin[rank + 1] += waits ? begin[rank + 1] / 2 : 0;
		begin[rank + 1] += begin[rank] + program->rank_begin[rank + 1] -
				   program->rank_begin[rank] + todo[rank].n;
	}
	return begin[ranks];
}

/* What is done to stages, all lists as they are, and linked; where @more passes follow, or an op cannot run, into the
 * lists of @lowerer. */
static gboolean issue_all(
	PipesimLowerer *lowerer, PipesimList *todo, gboolean more, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gsize n_slots = (gsize)program->shape.stages * program->shape.microbatches;
	PipesimArena *arena = lowerer->arena;
	guint64 *begin = pipesim_arena_array(arena, guint64, (gsize)ranks + 1);
	Lists lists = {.program = program,
		.rounds = pipesim_rounds_begin(ranks, arena),
		.waits = lowerer->runtime->waits_for_sends,
		.todo = todo,
		.n_done = pipesim_arena_array(arena, guint32, ranks),
		.at = pipesim_arena_array(arena, guint32, ranks),
		.end = pipesim_arena_array(arena, guint32, ranks),
		.sent = pipesim_arena_array(arena, guint32, program->n_ops),
		.received = {pipesim_arena_array(arena, guint32, program->n_ops),
			pipesim_arena_array(arena, guint32, program->n_ops)},
		.taken = {pipesim_arena_array(arena, guint8, n_slots),
			pipesim_arena_array(arena, guint8, n_slots)}};

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimShardingRules rules =
			pipesim_rounds_sharding(lowerer->runtime, lowerer->issuing, rank);

		if (!pipesim_sharding_list(lowerer, rank, &rules, NULL, &todo[rank], error))
			return FALSE;
	}
	g_autoptr(PipesimLowering) lowering = pipesim_lowering_new(
		program, lowerer->runtime, lay_out(program, todo, lists.waits, begin), error);
	if (lowering == NULL)
		return FALSE;
	for (guint rank = 0; rank <= ranks; rank++)
		lowering->rank_begin[rank] = (guint32)begin[rank];
	lists.actions = lowering->actions;
	memcpy(lists.at, program->rank_begin, ranks * sizeof *lists.at);
	memcpy(lists.end, lowering->rank_begin, ranks * sizeof *lists.end);
	pipesim_rounds_run(&lists.rounds, act, &lists);
	for (guint rank = 0; rank < ranks; rank++) {
		if (lists.waits)
			wait_for_gradients(&lists, lowering->rank_begin[rank], rank);
		more |= lists.end[rank] != begin[rank + 1];
	}
	for (guint rank = 0; rank < ranks && more; rank++)
		for (guint32 i = lowering->rank_begin[rank]; i < lists.end[rank]; i++) {
			PipesimAction action = lowering->actions[i];

			if (pipesim_action_is_message(action.kind))
				action.peer = lowering->actions[action.peer].op;
			pipesim_lower_take(lowerer, &lowerer->lists[rank], &action);
		}
	if (!more)
		lowerer->lowering = g_steal_pointer(&lowering);
	return TRUE;
}

/* @more: passes follow */
static gboolean issue(PipesimLowerer *lowerer, gboolean more, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gboolean pairs =
		active_stages(lowerer->issuing) < 2 && pipesim_program_has_pairs(program);
	g_autofree PipesimList *todo = g_new0(PipesimList, ranks);
	const gboolean ok = pipesim_rounds_check(ranks, pairs, lowerer->issuing, error) &&
			    issue_all(lowerer, todo, more, error);

	for (guint rank = 0; rank < ranks; rank++)
		g_free(todo[rank].actions);
	return ok;
}

static gboolean lower_2_11(PipesimLowerer *lowerer, GError **error)
{
	return issue(lowerer, FALSE, error);
}

static gboolean lower_2_15(PipesimLowerer *lowerer, GError **error)
{
	const PipesimIssuing *issuing = lowerer->issuing;
	const gboolean more = issuing->defer_recv || issuing->max_sends > 0;

	if (!issue(lowerer, more, error))
		return FALSE;
	if (issuing->defer_recv)
		pipesim_pass_defer_receives(lowerer);
	return lowerer->no_memory || issuing->max_sends == 0 ||
	       pipesim_pass_limit_sends(lowerer, issuing->max_sends, error);
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
	.takes = PIPESIM_ASK_COMMUNICATORS | PIPESIM_ASK_ACTIVE_STAGES | PIPESIM_ASK_AHEAD |
		 PIPESIM_ASK_DEFER_REDUCE_WAIT | PIPESIM_ASK_DEFER_RECV |
		 PIPESIM_ASK_MAX_SENDS | PIPESIM_ASK_SHARDING,
	.lower = lower_2_15,
};
