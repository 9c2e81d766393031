/* PyTorch's multi-stage schedules (_PipelineScheduleRuntime, 2.11 and 2.15), pass by pass. What is done to
 * stages is put among the ops (runtime/sharding.c). In rounds, every rank in order then takes the next of
 * these if what it needs has been taken; behind an op go its sends, and at that moment each receive goes
 * to the end of its rank's list, wherever that stands. 2.15 adds the wait for each send, and, where it is asked to, moves receives and waits
 * (runtime/passes.c, runtime/budget.c). */
#include "config.h"

#include "base/arena.h"
#include "runtime/passes.h"
#include "runtime/runtime.h"
#include "runtime/sharding.h"

#define BITS 64

#define SCHEDULES "gpipe,1f1b,interleaved-1f1b,interleaved-zb,zb-v,dualpipev"

/* How many stages of a rank stay gathered, unasked. */
#define ACTIVE_STAGES 3

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimProgram *program;
	PipesimList *todo;   /* by rank: its ops and what is done to its stages */
	guint32 *at;         /* by rank: the next of these */
	guint8 *taken;       /* by op */
	guint64 *now, *then; /* a bit a rank: may act in this round, in the next */
} Rounds;

static void set(guint64 *bits, guint rank)
{
	bits[rank / BITS] |= G_GUINT64_CONSTANT(1) << rank % BITS;
}

/* The turn of @rank: the next of its list goes, if it is ready. */
static void act(Rounds *rounds, guint rank)
{
	const PipesimProgram *program = rounds->program;
	const PipesimList *todo = &rounds->todo[rank];
	const PipesimAction *next = &todo->actions[rounds->at[rank]];
	const PipesimOp *op;
	PipesimMessage messages[2];
	guint32 others[2];
	guint n;

	if (rounds->at[rank] == todo->n)
		return;
	if (next->kind != PIPESIM_ACTION_OP) {
		rounds->at[rank]++;
		pipesim_lower_action(rounds->lowerer, rank, next->kind, next->stage);
		set(rounds->then, rank);
		return;
	}
	op = &program->ops[next->op];
	n = pipesim_program_inputs(program, rank, op, others);
	for (guint i = 0; i < n; i++)
		if (!rounds->taken[others[i]])
			return;
	rounds->at[rank]++;
	rounds->taken[next->op] = TRUE;
	pipesim_lower_op(rounds->lowerer, rank, next->op);
	n = pipesim_messages(program, rank, next->op, TRUE, messages);
	for (guint i = 0; i < n; i++) {
		pipesim_lower_end(rounds->lowerer, &messages[i], TRUE, FALSE);
		pipesim_lower_end(rounds->lowerer, &messages[i], FALSE, FALSE);
	}
	n = pipesim_program_outputs(program, rank, op, others);
	for (guint i = 0; i < n; i++) {
		const guint to = pipesim_program_rank_near(program, others[i], rank);

		todo = &rounds->todo[to];
		next = &todo->actions[rounds->at[to]];
		/* A rank whose turn has passed in this round has to wait for the next. */
		if (rounds->at[to] < todo->n && next->kind == PIPESIM_ACTION_OP &&
			next->op == others[i])
			set(to > rank ? rounds->now : rounds->then, to);
	}
	set(rounds->then, rank);
}

/* Round after round, until one where nobody may act. */
static gboolean run_rounds(PipesimLowerer *lowerer, PipesimList *todo, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	const gsize words = (ranks + BITS - 1) / BITS;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Rounds rounds = {
		.lowerer = lowerer,
		.program = program,
		.todo = todo,
		.at = pipesim_arena_array(arena, guint32, ranks),
		.taken = pipesim_arena_array(arena, guint8, program->n_ops),
		.now = pipesim_arena_array(arena, guint64, words),
		.then = pipesim_arena_array(arena, guint64, words),
	};
	gboolean any = TRUE;

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++)
		set(rounds.now, rank);
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
	return TRUE;
}

/* Passes 1 to 3, by the rules of a version: how stages are treated, and who stands where. */
static gboolean issue(PipesimLowerer *lowerer, PipesimShardingRules rules, GError **error)
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
	ok = ok && run_rounds(lowerer, todo, error);
	for (guint rank = 0; rank < ranks; rank++)
		g_free(todo[rank].actions);
	g_free(todo);
	return ok;
}

static gboolean lower_2_11(PipesimLowerer *lowerer, GError **error)
{
	return issue(lowerer, (PipesimShardingRules){.waits = FALSE}, error);
}

static gboolean lower_2_15(PipesimLowerer *lowerer, GError **error)
{
	static const PipesimShardingRules rules = {.by_age = TRUE, .waits = TRUE};
	const PipesimIssuing *issuing = lowerer->issuing;

	if (!issue(lowerer, rules, error))
		return FALSE;
	pipesim_pass_wait_for_sends(lowerer);
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
