/* Whether a lowering can run to its end: by the rules of lowering.h, without times. */
#include "config.h"

#include "order/cycle.h"
#include "runtime/cell.h"
#include "runtime/rules.h"
#include "runtime/runtime.h"
#include <string.h>

typedef struct {
	PipesimRules rules;
	const PipesimLowering *lowering;
	guint32 *stack;  /* of ranks to look at */
	guint8 *stacked; /* by rank: on the stack */
	guint height;
	guint32 n_done; /* ops */
} Check;

static void push(Check *check, guint rank)
{
	if (check->stacked[rank])
		return;
	check->stacked[rank] = TRUE;
	check->stack[check->height++] = rank;
}

/* What is issued at both ends has moved, what may run has run. */
static void advance(Check *check, guint rank)
{
	const PipesimAction *actions = check->lowering->actions;
	guint32 begin, end;

	for (;;) {
		if (pipesim_rules_post(&check->rules, rank, &begin, &end)) {
			for (guint32 i = begin; i < end; i++) {
				if (!pipesim_rules_issue(&check->rules, i))
					continue;
				pipesim_rules_arrive(&check->rules, rank);
				pipesim_rules_arrive(&check->rules, actions[i].peer_rank);
				push(check, actions[i].peer_rank);
			}
		} else if (pipesim_rules_may_run(&check->rules, rank, TRUE, TRUE)) {
			pipesim_rules_ran(&check->rules, rank);
			check->n_done++;
		} else {
			return;
		}
	}
}

/* Plays @lowering as far as it comes. FALSE with PIPESIM_ERROR_LIMIT. */
static gboolean play(
	Check *check, const PipesimLowering *lowering, PipesimArena *arena, GError **error)
{
	const guint ranks = lowering->program->shape.ranks;

	check->lowering = lowering;
	check->stack = pipesim_arena_array(arena, guint32, ranks);
	check->stacked = pipesim_arena_array(arena, guint8, ranks);
	pipesim_rules_begin(&check->rules, lowering, arena);
	if (!pipesim_arena_check(
		    arena, error, "%u ops, sends and receives", lowering->n_actions))
		return FALSE;
	for (guint rank = ranks; rank-- > 0;)
		push(check, rank);
	while (check->height > 0) {
		const guint rank = check->stack[--check->height];

		check->stacked[rank] = FALSE;
		advance(check, rank);
	}
	return TRUE;
}

static gboolean is_finished(const Check *check)
{
	return check->n_done == check->lowering->program->n_ops;
}

static gboolean lowering_runs(const PipesimLowering *lowering)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Check check = {0};

	return play(&check, lowering, arena, NULL) && is_finished(&check);
}

/* The first message of the group that @at belongs to. */
static guint32 group_begin(const Check *check, guint32 at)
{
	while (check->lowering->actions[at].joined)
		at--;
	return at;
}

static gboolean has_moved(const Check *check, guint32 message)
{
	return check->rules.issued[message] &&
	       check->rules.issued[check->lowering->actions[message].peer];
}

/* A message of the group of @at that has not moved, itself if it has not; there is one where the
 * group is not done. */
static guint32 unmoved(const Check *check, guint32 at)
{
	if (has_moved(check, at))
		at = group_begin(check, at);
	while (has_moved(check, at))
		at++;
	return at;
}

/* The nearest thing before @at on its rank that is not done: an op, or a message that has not
 * moved. */
static guint32 ahead(const Check *check, guint rank, guint32 at)
{
	const PipesimAction *actions = check->lowering->actions;
	const PipesimSeat *seat = &check->rules.seats[rank];

	while (at-- > check->lowering->rank_begin[rank]) {
		const gboolean op = actions[at].kind == PIPESIM_ACTION_OP;

		if (op ? at >= seat->op_at : !pipesim_rules_is_done(&check->rules, rank, at))
			return op ? at : unmoved(check, at);
	}
	g_assert_not_reached();
}

/* Messages first: they say more than the order. */
static PipesimStuck find_blocker(gconstpointer graph, PipesimStuck at, gboolean *behind)
{
	const Check *check = graph;
	const PipesimAction *action = &check->lowering->actions[at.index];

	*behind = FALSE;
	if (action->kind == PIPESIM_ACTION_OP) {
		if (!pipesim_rules_is_done(&check->rules, at.rank, action->wait))
			return (PipesimStuck){at.rank, unmoved(check, action->wait)};
		if (!pipesim_rules_is_done(&check->rules, at.rank, action->b_wait))
			return (PipesimStuck){at.rank, unmoved(check, action->b_wait)};
		/* The op before it has not run. */
		do
			at.index--;
		while (check->lowering->actions[at.index].kind != PIPESIM_ACTION_OP);
		*behind = TRUE;
		return at;
	}
	if (check->rules.issued[at.index])
		return (PipesimStuck){action->peer_rank, action->peer};
	*behind = TRUE;
	return (PipesimStuck){at.rank, ahead(check, at.rank, group_begin(check, at.index))};
}

static void print_entry(gconstpointer graph, guint rank, guint32 index, GString *out)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	pipesim_action_print(lowering, rank, &lowering->actions[index], out);
}

static void print_stuck(gconstpointer graph, PipesimStuck at, GString *out)
{
	print_entry(graph, at.rank, at.index, out);
}

static guint32 place_of(gconstpointer graph, PipesimStuck at)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	return lowering->from_file ? at.index : lowering->actions[at.index].op;
}

/* What is exchanged where messages are derived: ops of the program. */

static gboolean runs_exchanged_ops(gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;
	g_autoptr(PipesimProgram) program = pipesim_program_exchanged(lowering->program, index);
	g_autoptr(PipesimLowering) exchanged = NULL;

	if (program == NULL || !pipesim_program_runs(program))
		return FALSE;
	exchanged = pipesim_lower(program, lowering->runtime, NULL);
	return exchanged != NULL && lowering_runs(exchanged);
}

static guint32 op_entry(gconstpointer graph, PipesimStuck at, guint32 *begin, guint32 *end)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	*begin = lowering->program->rank_begin[at.rank];
	*end = lowering->program->rank_begin[at.rank + 1];
	return lowering->actions[at.index].op;
}

static void print_op_entry(gconstpointer graph, guint rank, guint32 index, GString *out)
{
	const PipesimProgram *program = ((const Check *)graph)->lowering->program;

	pipesim_op_print(program, rank, &program->ops[index], out);
}

/* What is exchanged where a file lists its messages: entries of the file. */

/* Two ops stay where they are: they are exchanged in the program. */
static gboolean runs_exchanged_entries(
	gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;
	const PipesimAction *first = &lowering->actions[index];
	const guint32 *begin = lowering->rank_begin;
	const gboolean ops =
		first[0].kind == PIPESIM_ACTION_OP && first[1].kind == PIPESIM_ACTION_OP;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) exchanged = NULL;
	g_autofree PipesimCell *written = NULL;

	if (first[0].joined || first[1].joined)
		return FALSE;
	if (ops)
		program = pipesim_program_exchanged(lowering->program, first->op);
	if (ops && (program == NULL || !pipesim_program_runs(program)))
		return FALSE;
	written = g_try_new0(PipesimCell, lowering->n_actions);
	if (written == NULL)
		return FALSE;
	for (guint r = 0; r < lowering->program->shape.ranks; r++)
		for (guint32 i = begin[r]; i < begin[r + 1]; i++)
			if (lowering->actions[i].kind != PIPESIM_ACTION_OP)
				written[i] = pipesim_cell_of_message(
					lowering, r, &lowering->actions[i]);
	if (!ops) {
		const PipesimCell moved = written[index];

		written[index] = written[index + 1];
		written[index + 1] = moved;
	}
	exchanged = pipesim_lowering_link(
		ops ? program : lowering->program, written, begin, NULL, NULL, NULL);
	return exchanged != NULL && lowering_runs(exchanged);
}

static guint32 action_entry(gconstpointer graph, PipesimStuck at, guint32 *begin, guint32 *end)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	*begin = lowering->rank_begin[at.rank];
	*end = lowering->rank_begin[at.rank + 1];
	return at.index;
}

gboolean pipesim_lowering_check(
	const PipesimLowering *lowering, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Check check = {0};
	const PipesimWaiting waiting = {
		&check, find_blocker, print_stuck, place_of, locate, data};
	const PipesimSwaps of_ops = {
		&check, runs_exchanged_ops, op_entry, print_op_entry, lowering->n_actions};
	const PipesimSwaps of_entries = {
		&check, runs_exchanged_entries, action_entry, print_entry, lowering->n_actions};
	g_autoptr(GArray) cycle = NULL;
	g_autofree char *what = NULL;
	guint rank = 0;

	if (!lowering->runtime->waits)
		return pipesim_program_check_order(lowering->program, locate, data, error);
	if (!play(&check, lowering, arena, error))
		return FALSE;
	if (is_finished(&check))
		return TRUE;
	/* The first rank with an op that cannot run; there is one. */
	while (check.rules.seats[rank].op_at == lowering->rank_begin[rank + 1])
		rank++;
	cycle = pipesim_find_cycle(
		&waiting, (PipesimStuck){rank, check.rules.seats[rank].op_at});
	what = g_strdup_printf("deadlock under %s", lowering->runtime->name);
	return pipesim_fail_cycle(
		&waiting, cycle, what, lowering->from_file ? &of_entries : &of_ops, error);
}
