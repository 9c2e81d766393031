/* PyTorch's multi-stage schedules (_add_send_recv, 2.11 and 2.15). In rounds, every rank in order takes
 * its next op if what it needs has been taken; behind the op go its sends, and at that moment each
 * receive goes to the end of its rank's list, wherever that stands. Shardings take a round each. 2.15
 * then adds the wait for each send. */
#include "config.h"

#include "base/arena.h"
#include "runtime/runtime.h"

#define BITS 64

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimProgram *program;
	guint8 *taken;       /* by op */
	guint32 *at;         /* by rank: its next op */
	GArray *shardings;   /* of all ranks, rank by rank */
	guint32 *sharding;   /* by rank: its next one; those behind its last op do not matter */
	guint64 *now, *then; /* a bit a rank: may act in this round, in the next */
} Rounds;

static void set(guint64 *bits, guint rank)
{
	bits[rank / BITS] |= G_GUINT64_CONSTANT(1) << rank % BITS;
}

/* The turn of @rank: a sharding before its next op takes it, else that op if it is ready. */
static void act(Rounds *rounds, guint rank)
{
	const PipesimProgram *program = rounds->program;
	const guint32 op = rounds->at[rank];
	PipesimSharding *next =
		pipesim_sharding_next(rounds->shardings, rank, op, &rounds->sharding[rank]);
	PipesimMessage messages[2];
	guint32 others[2];
	guint n;

	if (next != NULL) {
		next->before = rounds->lowerer->next[rank];
		set(rounds->then, rank);
		return;
	}
	if (op == program->rank_begin[rank + 1])
		return;
	n = pipesim_program_inputs(program, rank, &program->ops[op], others);
	for (guint i = 0; i < n; i++)
		if (!rounds->taken[others[i]])
			return;
	rounds->at[rank]++;
	rounds->taken[op] = TRUE;
	pipesim_lower_op(rounds->lowerer, rank, op);
	n = pipesim_messages(program, rank, op, TRUE, messages);
	for (guint i = 0; i < n; i++) {
		pipesim_lower_end(rounds->lowerer, &messages[i], TRUE, FALSE);
		pipesim_lower_end(rounds->lowerer, &messages[i], FALSE, FALSE);
	}
	n = pipesim_program_outputs(program, rank, &program->ops[op], others);
	for (guint i = 0; i < n; i++) {
		const guint to = pipesim_program_rank(program, others[i]);

		/* A rank whose turn has passed in this round has to wait for the next. */
		if (rounds->at[to] == others[i])
			set(to > rank ? rounds->now : rounds->then, to);
	}
	set(rounds->then, rank);
}

static gboolean lower_rounds(
	PipesimLowerer *lowerer, const PipesimShardingRules *rules, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gsize words = (ranks + BITS - 1) / BITS;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(GArray) shardings = g_array_new(FALSE, FALSE, sizeof(PipesimSharding));
	Rounds rounds = {
		.lowerer = lowerer,
		.program = program,
		.taken = pipesim_arena_array(arena, guint8, program->n_ops),
		.at = pipesim_arena_array(arena, guint32, ranks),
		.shardings = shardings,
		.sharding = pipesim_arena_array(arena, guint32, ranks),
		.now = pipesim_arena_array(arena, guint64, words),
		.then = pipesim_arena_array(arena, guint64, words),
	};
	gboolean any = TRUE;

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		rounds.at[rank] = program->rank_begin[rank];
		rounds.sharding[rank] = shardings->len;
		if (!pipesim_sharding_add(program, rank, rules, shardings, error))
			return FALSE;
		set(rounds.now, rank);
	}
	/* Round after round, until one where nobody may act. */
	while (any) {
		guint64 *const swap = rounds.now;

		any = FALSE;
		for (gsize word = 0; word < words; word++) {
			while (rounds.now[word] != 0) {
				const guint bit = (guint)__builtin_ctzll(rounds.now[word]);

				rounds.now[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
				act(&rounds, (guint)(word * BITS) + bit);
				any = TRUE;
			}
		}
		rounds.now = rounds.then;
		rounds.then = swap;
	}
	lowerer->lowering->shardings = g_steal_pointer(&shardings);
	return TRUE;
}

static gboolean lower_2_11(PipesimLowerer *lowerer, GError **error)
{
	static const PipesimShardingRules rules = {.active = 3};

	return lower_rounds(lowerer, &rules, error);
}

static void add_wait(GArray *out, guint rank, guint32 before, guint32 send, guint kind)
{
	const PipesimSharding wait = {
		.before = before, .rank = rank, .message = send, .kind = (guint8)kind};

	g_array_append_val(out, wait);
}

/* The send of the output that @op of @rank runs the backward of: what is waited for right behind it.
 * PIPESIM_NO_OP where it has no backward or nothing was sent. */
static guint32 find_send(const PipesimLowerer *lowerer, guint rank, const PipesimOp *op)
{
	const PipesimProgram *program = lowerer->program;
	const gsize m = program->shape.microbatches;
	const gsize next = pipesim_op_backward_slot(program, rank, op) + m;
	guint32 receive;

	if (!pipesim_op_has_backward(op) || next >= program->shape.stages * m)
		return PIPESIM_NO_OP;
	receive = lowerer->end_of[2 * (gsize)program->forward[next]];
	return receive != PIPESIM_NO_OP ? lowerer->lowering->actions[receive].peer
					: PIPESIM_NO_OP;
}

/* The shardings of @lowerer with the waits for sends among them: for an output behind the backward of the
 * same stage and micro-batch, for a gradient at the end of the rank. */
static void add_waits(PipesimLowerer *lowerer)
{
	PipesimLowering *lowering = lowerer->lowering;
	GArray *old = lowering->shardings;
	GArray *out = g_array_new(FALSE, FALSE, sizeof(PipesimSharding));
	guint next = 0;

	for (guint rank = 0; rank < lowerer->program->shape.ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];
		const guint32 end = lowering->rank_begin[rank + 1];

		for (guint32 i = begin; i <= end; i++) {
			const PipesimAction *action = &lowering->actions[i];
			const PipesimSharding *sharding;
			guint32 send;

			while ((sharding = pipesim_sharding_next(old, rank, i, &next)) != NULL)
				g_array_append_val(out, *sharding);
			if (i == end || action->kind != PIPESIM_ACTION_OP)
				continue;
			send = find_send(lowerer, rank, &lowerer->program->ops[action->op]);
			if (send != PIPESIM_NO_OP)
				add_wait(out, rank, i + 1, send, PIPESIM_WAIT_SEND_F);
		}
		for (guint32 i = begin; i < end; i++)
			if (lowering->actions[i].kind == PIPESIM_ACTION_SEND_B)
				add_wait(out, rank, end, i, PIPESIM_WAIT_SEND_B);
	}
	g_array_unref(old);
	lowering->shardings = out;
}

static gboolean lower_2_15(PipesimLowerer *lowerer, GError **error)
{
	static const PipesimShardingRules rules = {.active = 3, .by_age = TRUE, .waits = TRUE};

	if (!lower_rounds(lowerer, &rules, error))
		return FALSE;
	add_waits(lowerer);
	return TRUE;
}

const PipesimRuntime pipesim_runtime_queue = {
	.name = "queue",
	.alias = "pytorch-2.11",
	.rule = "the sends and receives of a rank run in order, in one queue",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.lower = lower_2_11,
};

const PipesimRuntime pipesim_runtime_pytorch_2_15 = {
	.name = "pytorch-2.15",
	.rule = "the sends and receives of a rank run in one queue, as PyTorch 2.15 orders "
		"them",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.lower = lower_2_15,
};
