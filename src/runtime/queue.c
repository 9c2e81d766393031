/* PyTorch's multi-stage schedules (_add_send_recv, 2.11). In rounds, every rank in order takes its
 * next op if what it needs has been taken; behind the op go its sends, and at that moment each
 * receive goes to the end of its rank's list, wherever that stands. Shardings take a round each. */
#include "config.h"

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
	gsize words;
} Rounds;

static gboolean is_ready(const Rounds *rounds, guint rank)
{
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(
		rounds->program, rank, &rounds->program->ops[rounds->at[rank]], inputs);

	for (guint i = 0; i < n; i++)
		if (!rounds->taken[inputs[i]])
			return FALSE;
	return TRUE;
}

static void set(guint64 *bits, guint rank)
{
	bits[rank / BITS] |= G_GUINT64_CONSTANT(1) << rank % BITS;
}

/* A rank whose turn has passed in this round has to wait for the next. */
static void wake(Rounds *rounds, guint rank, guint32 op)
{
	guint32 outputs[2];
	const guint n = pipesim_program_outputs(
		rounds->program, rank, &rounds->program->ops[op], outputs);

	for (guint i = 0; i < n; i++) {
		const guint to = pipesim_program_rank(rounds->program, outputs[i]);

		if (rounds->at[to] == outputs[i])
			set(to > rank ? rounds->now : rounds->then, to);
	}
}

static void act(Rounds *rounds, guint rank)
{
	const guint32 op = rounds->at[rank]++;
	PipesimMessage messages[2];
	guint n;

	rounds->taken[op] = TRUE;
	pipesim_lower_op(rounds->lowerer, rank, op);
	n = pipesim_messages_out(rounds->program, rank, op, messages);
	for (guint i = 0; i < n; i++) {
		pipesim_lower_send(rounds->lowerer, &messages[i], FALSE);
		pipesim_lower_receive(rounds->lowerer, &messages[i], FALSE);
	}
	wake(rounds, rank, op);
	set(rounds->then, rank);
}

/* Whether a sharding stands before the next op of @rank: then it takes this round. */
static gboolean shard(Rounds *rounds, guint rank)
{
	PipesimSharding *next =
		&g_array_index(rounds->shardings, PipesimSharding, rounds->sharding[rank]);

	if (rounds->sharding[rank] == rounds->shardings->len || next->rank != rank ||
		next->before != rounds->at[rank])
		return FALSE;
	next->before = rounds->lowerer->next[rank];
	rounds->sharding[rank]++;
	set(rounds->then, rank);
	return TRUE;
}

/* One round; FALSE where nobody may act any more. */
static gboolean play(Rounds *rounds)
{
	guint64 *const swap = rounds->now;
	gboolean any = FALSE;

	for (gsize word = 0; word < rounds->words; word++) {
		while (rounds->now[word] != 0) {
			const guint bit = (guint)__builtin_ctzll(rounds->now[word]);
			const guint rank = (guint)(word * BITS) + bit;

			rounds->now[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
			any = TRUE;
			if (!shard(rounds, rank) &&
				rounds->at[rank] < rounds->program->rank_begin[rank + 1] &&
				is_ready(rounds, rank))
				act(rounds, rank);
		}
	}
	rounds->now = rounds->then;
	rounds->then = swap;
	return any;
}

/* Where each rank begins, in its ops and its shardings. */
static gboolean begin(Rounds *rounds, GError **error)
{
	for (guint rank = 0; rank < rounds->program->shape.ranks; rank++) {
		rounds->at[rank] = rounds->program->rank_begin[rank];
		rounds->sharding[rank] = rounds->shardings->len;
		if (!pipesim_sharding_add(rounds->program, rank, rounds->shardings, error))
			return FALSE;
		set(rounds->now, rank);
	}
	return TRUE;
}

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gsize words = (ranks + BITS - 1) / BITS;
	g_autofree guint8 *taken = g_try_new0(guint8, MAX(program->n_ops, 1u));
	g_autofree guint32 *at = g_try_new(guint32, ranks);
	g_autofree guint32 *sharding = g_try_new(guint32, ranks);
	g_autofree guint64 *bits = g_try_new0(guint64, 2 * words);
	g_autoptr(GArray) shardings = g_array_new(FALSE, FALSE, sizeof(PipesimSharding));
	Rounds rounds = {
		lowerer, program, taken, at, shardings, sharding, bits, bits + words, words};

	if (taken == NULL || at == NULL || sharding == NULL || bits == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	if (!begin(&rounds, error))
		return FALSE;
	while (play(&rounds))
		;
	lowerer->lowering->shardings = g_steal_pointer(&shardings);
	return TRUE;
}

const PipesimRuntime pipesim_runtime_queue = {
	.name = "queue",
	.rule = "sends and receives of a rank wait in one queue",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.lower = lower,
};
