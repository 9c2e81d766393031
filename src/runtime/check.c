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

static void print_stuck(gconstpointer graph, PipesimStuck at, GString *out)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	pipesim_action_print(lowering, at.rank, &lowering->actions[at.index], out);
}

/* What is exchanged: entries of the file that lists them, else ops of the program. */

static guint32 entry_of(gconstpointer graph, PipesimStuck at)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	return lowering->from_file ? at.index : lowering->actions[at.index].op;
}

static void print_entry(gconstpointer graph, guint rank, guint32 index, GString *out)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	if (lowering->from_file)
		print_stuck(graph, (PipesimStuck){rank, index}, out);
	else
		pipesim_op_print(lowering->program, rank, &lowering->program->ops[index], out);
}

/* @lowering, which is from a file, as linked with @program, where action @swapped and the next one
 * are exchanged, unless it is PIPESIM_NO_OP. */
static PipesimLowering *link_again(
	const PipesimLowering *lowering, const PipesimProgram *program, guint32 swapped)
{
	g_autofree PipesimCell *written = g_try_new0(PipesimCell, lowering->n_actions);
	const guint32 *begin = lowering->rank_begin;

	for (guint r = 0; written != NULL && r < program->shape.ranks; r++)
		for (guint32 i = begin[r]; i < begin[r + 1]; i++)
			if (lowering->actions[i].kind != PIPESIM_ACTION_OP)
				written[i] = pipesim_cell_of_message(
					lowering, r, &lowering->actions[i]);
	if (written != NULL && swapped != PIPESIM_NO_OP) {
		const PipesimCell moved = written[swapped];

		written[swapped] = written[swapped + 1];
		written[swapped + 1] = moved;
	}
	return written != NULL ? pipesim_lowering_link(
					 program, written, begin, NULL, FALSE, NULL, NULL, NULL)
			       : NULL;
}

/* Two ops of a file stay where they are: they are exchanged in the program. */
static gboolean runs_exchanged(gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;
	const gboolean from_file = lowering->from_file;
	const PipesimAction *first = from_file ? &lowering->actions[index] : NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) exchanged = NULL;

	if (from_file && (first[0].joined || first[1].joined))
		return FALSE;
	if (from_file &&
		(first[0].kind != PIPESIM_ACTION_OP || first[1].kind != PIPESIM_ACTION_OP)) {
		exchanged = link_again(lowering, lowering->program, index);
		return exchanged != NULL && lowering_runs(exchanged);
	}
	program = pipesim_program_exchanged(lowering->program, from_file ? first->op : index);
	if (program == NULL || !pipesim_program_runs(program))
		return FALSE;
	exchanged = from_file ? link_again(lowering, program, PIPESIM_NO_OP)
			      : pipesim_lower(program, lowering->runtime, NULL);
	return exchanged != NULL && lowering_runs(exchanged);
}

gboolean pipesim_lowering_check(
	const PipesimLowering *lowering, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Check check = {0};
	const PipesimWaiting waiting = {
		.graph = &check,
		.blocker = find_blocker,
		.print = print_stuck,
		.entry = entry_of,
		.locate = locate,
		.data = data,
		.runs_exchanged = runs_exchanged,
		.print_entry = print_entry,
		.rank_begin = lowering->from_file ? lowering->rank_begin
						  : lowering->program->rank_begin,
		.size = lowering->n_actions,
	};
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
	return pipesim_fail_cycle(&waiting, cycle, what, error);
}
