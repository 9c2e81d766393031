/* PyTorch's multi-stage schedules (_add_send_recv, 2.11). In rounds, every rank in order takes its
 * next op if what it needs has been taken; behind the op go its sends, and at that moment each
 * receive goes to the end of its rank's list, wherever that stands. Shardings take a round each. */
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
		&g_array_index(rounds->shardings, PipesimSharding, rounds->sharding[rank]);
	PipesimMessage messages[2];
	guint32 others[2];
	guint n;

	if (rounds->sharding[rank] < rounds->shardings->len && next->rank == rank &&
		next->before == op) {
		next->before = rounds->lowerer->next[rank];
		rounds->sharding[rank]++;
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

static gboolean lower(PipesimLowerer *lowerer, GError **error)
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
		if (!pipesim_sharding_add(program, rank, shardings, error))
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

const PipesimRuntime pipesim_runtime_queue = {
	.name = "queue",
	.rule = "the sends and receives of a rank run in order, in one queue",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.lower = lower,
};
