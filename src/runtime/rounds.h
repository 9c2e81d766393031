/* PyTorch's multi-stage schedules (_PipelineScheduleRuntime, 2.11 and 2.15) as rounds: in each, every rank in order
 * takes the next of its ops, or of what is done to its stages before that, if what it needs has been taken. Behind an
 * op go its sends, and at that moment each receive goes to the end of its rank's list, wherever that stands.
 *
 * What is told stands therefore behind all that it waits for: its list, both ends of the messages before it in any
 * queue, what ops and waits name. Whatever passes pipesim_program_check_order() is told whole, and runs. */
#pragma once
#include "runtime/runtime.h"
#include "runtime/sharding.h"

/** pipesim_rounds_apply: whether rounds tell all that @runtime, NULL: none, issues as @issuing asks: no passes
 * follow. */
static inline gboolean pipesim_rounds_apply(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing)
{
	return runtime != NULL && runtime->runs_files && !issuing->defer_recv &&
	       issuing->max_sends == 0;
}

/** pipesim_rounds_check: whether ops of @ranks ranks, some of them @pairs, can be issued as @issuing asks; FALSE with
 * PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_rounds_check(
	guint ranks, gboolean pairs, const PipesimIssuing *issuing, GError **error);

/** pipesim_rounds_sharding: how @rank gathers and reduces its stages. */
PipesimShardingRules pipesim_rounds_sharding(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing, guint rank);

/* Who may act, a bit a rank. */
typedef struct {
	guint64 *now, *then; /* in this round, in the next */
	guint ranks;
} PipesimRounds;

/** pipesim_rounds_call_all: everybody may act once more. */
static inline void pipesim_rounds_call_all(PipesimRounds *rounds)
{
	for (guint rank = 0; rank < rounds->ranks; rank++)
		rounds->now[rank / 64] |= G_GUINT64_CONSTANT(1) << rank % 64;
}

/** pipesim_rounds_begin: everybody may. Memory from @arena, which says whether it sufficed. */
static inline PipesimRounds pipesim_rounds_begin(guint ranks, PipesimArena *arena)
{
	PipesimRounds rounds = {.ranks = ranks};

	rounds.now = pipesim_arena_array(arena, guint64, 2 * ((gsize)ranks / 64 + 1));
	if (rounds.now == NULL)
		return rounds;
	rounds.then = rounds.now + ranks / 64 + 1;
	pipesim_rounds_call_all(&rounds);
	return rounds;
}

/** pipesim_rounds_call: @rank, which waits or does not, gets what @from gave in its turn: one whose turn has passed has
 * to wait for the next round. */
static inline void pipesim_rounds_call(PipesimRounds *rounds, guint from, guint rank)
{
	(rank > from ? rounds->now : rounds->then)[rank / 64] |= G_GUINT64_CONSTANT(1)
								 << rank % 64;
}

/** pipesim_rounds_run: round after round, until one where nobody may act. @act: the turn of a rank; FALSE: it waits */
static inline __attribute__((always_inline)) void pipesim_rounds_run(
	PipesimRounds *rounds, gboolean (*act)(gpointer data, guint rank), gpointer data)
{
	gboolean any = TRUE;

	while (any) {
		guint64 *const swap = rounds->now;

		any = FALSE;
		for (guint word = 0; word <= rounds->ranks / 64; word++)
			while (rounds->now[word] != 0) {
				const guint bit = (guint)__builtin_ctzll(rounds->now[word]);

				rounds->now[word] &= rounds->now[word] - 1;
				any = TRUE;
				if (act(data, word * 64 + bit))
					rounds->then[word] |= G_GUINT64_CONSTANT(1) << bit;
			}
		rounds->now = rounds->then;
		rounds->then = swap;
	}
}
