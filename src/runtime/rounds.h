/* PyTorch's multi-stage schedules (_PipelineScheduleRuntime, 2.11 and 2.15) as rounds: in each, every rank in order
 * takes the next of its ops, or of what is done to its stages before that, if what it needs has been taken. Behind an
 * op go its sends, and at that moment each receive goes to the end of its rank's list, wherever that stands.
 *
 * What is told stands therefore behind all that it waits for: its list, both ends of the messages before it in any
 * queue, what ops and waits name. Whatever passes pipesim_program_check_order() is told whole, and runs. */
#pragma once
#include "runtime/runtime.h"

typedef struct {
	const PipesimProgram *program;
	gboolean waits;      /* for sends */
	PipesimList *todo;   /* by rank: what is done to its stages (pipesim_sharding_list()) */
	guint32 *n_done;     /* by rank: of that */
	guint32 *at;         /* by rank: the op that it comes to */
	guint8 *taken[2];    /* by stage and micro-batch: the forward, and the backward */
	guint64 *now, *then; /* a bit a rank: may act in this round, in the next */
} PipesimRounds;

/* Who is told, by stage and micro-batch (`slot`) of what leaves or is needed; 0 where an op has no such half. */
typedef struct {
	void (*op)(gpointer listener, guint rank, guint32 op, gsize f_slot, gsize b_slot);
	/* Of @from to @to, which needs it for @slot; both ends at once. */
	void (*message)(gpointer listener, guint rank, guint32 from, guint to_rank, guint32 to,
		gsize slot, guint backward);
	void (*stage)(gpointer listener, guint rank, const PipesimAction *action);
} PipesimListener;

/** pipesim_rounds_apply: whether rounds tell all that @runtime, NULL: none, issues as @issuing asks: no passes
 * follow. */
static inline gboolean pipesim_rounds_apply(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing)
{
	return runtime != NULL && runtime->runs_files && !issuing->defer_recv &&
	       issuing->max_sends == 0;
}

/** pipesim_rounds_check: whether @program can be issued as @issuing asks; FALSE with PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_rounds_check(
	const PipesimProgram *program, const PipesimIssuing *issuing, GError **error);

/** pipesim_rounds_begin: the rounds of @lowerer; all in its arena but for what pipesim_rounds_clear() frees, also where
 * it fails: PIPESIM_ERROR_LIMIT, and as above. */
gboolean pipesim_rounds_begin(PipesimRounds *rounds, PipesimLowerer *lowerer, GError **error);
void pipesim_rounds_clear(PipesimRounds *rounds);

static inline void pipesim_rounds_set(guint64 *bits, guint rank)
{
	bits[rank / 64] |= G_GUINT64_CONSTANT(1) << rank % 64;
}

/* What is done to a stage of @rank before its next op; NULL: that comes next. */
static inline const PipesimAction *pipesim_rounds_before(
	const PipesimRounds *rounds, guint rank)
{
	const PipesimList *todo = &rounds->todo[rank];
	const guint32 n = rounds->n_done[rank];

	return n < todo->n && todo->actions[n].wait == rounds->at[rank] ? &todo->actions[n]
									: NULL;
}

/* What @op of @rank gives to @to, which needs it for @slot: it leaves at once, if that is on another rank, whose
 * turn may come. */
static inline __attribute__((always_inline)) void pipesim_rounds_hand_on(PipesimRounds *rounds,
	const PipesimListener *tell, gpointer listener, guint rank, guint32 op, guint32 to,
	gsize slot, guint backward)
{
	const guint to_rank = pipesim_program_rank_near(rounds->program, to, rank);

	if (to_rank == rank)
		return;
	tell->message(listener, rank, op, to_rank, to, slot, backward);
	/* A rank whose turn has passed in this round has to wait for the next. */
	if (rounds->at[to_rank] == to && pipesim_rounds_before(rounds, to_rank) == NULL)
		pipesim_rounds_set(to_rank > rank ? rounds->now : rounds->then, to_rank);
}

/* The turn of @rank: the next of its ops, or what comes before it, goes, if it is ready. */
static inline __attribute__((always_inline)) void pipesim_rounds_act(
	PipesimRounds *rounds, const PipesimListener *tell, gpointer listener, guint rank)
{
	const PipesimProgram *program = rounds->program;
	const gsize m = program->shape.microbatches, n_slots = program->shape.stages * m;
	const PipesimAction *before = pipesim_rounds_before(rounds, rank);
	const guint32 index = rounds->at[rank];
	const PipesimOp *op = &program->ops[index];
	gboolean forward, backward;
	gsize f_slot = 0, b_slot = 0;

	if (before != NULL) {
		rounds->n_done[rank]++;
		tell->stage(listener, rank, before);
		pipesim_rounds_set(rounds->then, rank);
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
	if ((forward && f_slot >= m && !rounds->taken[0][f_slot - m]) ||
		(backward && b_slot + m < n_slots && !rounds->taken[1][b_slot + m]))
		return;
	rounds->at[rank]++;
	tell->op(listener, rank, index, f_slot, b_slot);
	if (forward) {
		rounds->taken[0][f_slot] = TRUE;
		if (f_slot + m < n_slots)
			pipesim_rounds_hand_on(rounds, tell, listener, rank, index,
				program->forward[f_slot + m], f_slot + m, 0);
	}
	if (backward) {
		rounds->taken[1][b_slot] = TRUE;
		if (b_slot >= m)
			pipesim_rounds_hand_on(rounds, tell, listener, rank, index,
				program->backward[b_slot - m], b_slot - m, 1);
	}
	pipesim_rounds_set(rounds->then, rank);
}

/** pipesim_rounds_run: round after round, until one where nobody may act. */
static inline __attribute__((always_inline)) void pipesim_rounds_run(
	PipesimRounds *rounds, const PipesimListener *tell, gpointer listener)
{
	const guint ranks = rounds->program->shape.ranks;
	const gsize words = ((gsize)ranks + 63) / 64;
	gboolean any = TRUE;

	for (guint rank = 0; rank < ranks; rank++)
		pipesim_rounds_set(rounds->now, rank);
	while (any) {
		guint64 *const swap = rounds->now;

		any = FALSE;
		for (gsize word = 0; word < words; word++) {
			while (rounds->now[word] != 0) {
				const guint bit = (guint)__builtin_ctzll(rounds->now[word]);

				rounds->now[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
				pipesim_rounds_act(
					rounds, tell, listener, (guint)(word * 64) + bit);
				any = TRUE;
			}
		}
		rounds->now = rounds->then;
		rounds->then = swap;
	}
}
