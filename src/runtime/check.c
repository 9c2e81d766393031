/* Whether a lowering can run to its end, by the rules of lowering.h without times, and whether
 * the right messages meet. */
#include "order/cycle.h"
#include "runtime/between.h"
#include "runtime/cell.h"
#include "runtime/rounds.h"
#include "runtime/rules.h"

#define NO_COMMUNICATOR G_MAXUINT32

typedef struct {
	PipesimRules rules;
	const PipesimLowering *lowering;
	PipesimCommunicators communicators;
	PipesimRounds rounds;
	guint32 n_done;        /* ops */
	PipesimProgram *spare; /* where ops are exchanged */
	gboolean tells;        /* pipesim_between_tells() of that */
} Check;

/* What is issued at both ends has moved. Returns whether there was any. */
static inline gboolean post(Check *check, guint rank, guint32 communicator)
{
	const PipesimAction *actions = check->lowering->actions;
	PipesimRules *rules = &check->rules;
	guint32 begin, end;

	if (!pipesim_rules_post(rules, rank, communicator, &begin, &end))
		return FALSE;
	for (guint32 i = begin; i != end; i = pipesim_rules_next(rules, i)) {
		if (!pipesim_rules_issue(rules, i))
			continue;
		pipesim_rules_arrive(rules, communicator);
		if (pipesim_rules_arrive(rules, rules->turns[actions[i].peer].communicator))
			pipesim_rounds_call(&check->rounds, rank, actions[i].peer_rank);
	}
	return TRUE;
}

/* What may run or be passed has been, as far as that goes. */
static inline gboolean act(gpointer data, guint rank)
{
	Check *check = data;
	PipesimRules *rules = &check->rules;

	for (;;) {
		for (guint32 c = pipesim_rules_communicators(rules, rank);
			c < pipesim_rules_communicators(rules, rank + 1); c++)
			while (post(check, rank, c))
				;
		if (pipesim_rules_is_op(rules, rank)
				? !pipesim_rules_may_run(rules, rank, TRUE, TRUE)
				: !pipesim_rules_may_pass(rules, rank))
			return FALSE;
		check->n_done += pipesim_rules_is_op(rules, rank);
		pipesim_rules_pass(rules, rank);
	}
}

/* Plays @lowering as far as it comes. FALSE with PIPESIM_ERROR_LIMIT. */
static gboolean play(Check *check, const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimArena *arena, GError **error)
{
	check->lowering = lowering;
	check->communicators = communicators;
	check->rounds = pipesim_rounds_begin(lowering->program->shape.ranks, arena);
	pipesim_rules_begin(&check->rules, lowering, communicators, arena);
	if (!pipesim_arena_check(
		    arena, error, "%u ops, sends and receives", lowering->n_actions))
		return FALSE;
	pipesim_rounds_run(&check->rounds, act, check);
	return TRUE;
}

/* Waits at the end of a list have to end too. */
static gboolean is_finished(const Check *check)
{
	if (check->n_done < check->lowering->program->n_ops)
		return FALSE;
	return pipesim_all(rank, check->lowering->program->shape.ranks,
		check->rules.seats[rank].stop_at >= check->lowering->rank_begin[rank + 1]);
}

static gboolean lowering_runs(
	const PipesimLowering *lowering, PipesimCommunicators communicators)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Check check = {0};

	return play(&check, lowering, communicators, arena, NULL) && is_finished(&check);
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

/* A message that was issued, or is to be, together with @at of @rank and has not moved, itself
 * if it has not; there is one where they are not done. */
static guint32 unmoved(const Check *check, guint32 at)
{
	const PipesimRules *rules = &check->rules;
	const guint32 communicator = rules->turns[at].communicator;

	if (has_moved(check, at))
		at = group_begin(check, at);
	while (has_moved(check, at) || rules->turns[at].communicator != communicator)
		at++;
	return at;
}

/* A message of the group that ends with @last, which has not moved; @last where there is
 * none. */
static guint32 undone(const Check *check, guint32 last)
{
	for (guint32 i = group_begin(check, last); i <= last; i++)
		if (!pipesim_rules_is_done(&check->rules, i))
			return unmoved(check, i);
	return last;
}

/* The nearest thing before @at on its rank that is not done: a stop, or a message of @communicator
 * that has not moved. */
static PipesimStuck ahead(const Check *check, guint rank, guint32 at, guint32 communicator)
{
	const PipesimLowering *lowering = check->lowering;
	const guint32 end = lowering->rank_begin[rank + 1];
	const PipesimRules *rules = &check->rules;

	while (at-- > lowering->rank_begin[rank]) {
		const gboolean message = pipesim_action_is_message(lowering->actions[at].kind);
		const gboolean stops = at >= rules->seats[rank].stop_at &&
				       pipesim_rules_is_stop(rules, at, end);

		if (stops && !message)
			return (PipesimStuck){rank, at};
		if (stops && !pipesim_rules_is_done(rules, undone(check, at)))
			return (PipesimStuck){rank, undone(check, at)};
		if (message && rules->turns[at].communicator == communicator &&
			!pipesim_rules_is_done(rules, at))
			return (PipesimStuck){rank, unmoved(check, at)};
	}
	g_assert_not_reached();
}

/* Messages first: they say more than the order. */
static PipesimStuck find_blocker(gconstpointer graph, PipesimStuck at, gboolean *behind)
{
	const Check *check = graph;
	const PipesimRules *rules = &check->rules;
	const PipesimAction *action = &check->lowering->actions[at.index];
	const gboolean op = action->kind == PIPESIM_ACTION_OP;

	*behind = FALSE;
	if (op && !pipesim_rules_is_done(rules, action->wait))
		return (PipesimStuck){at.rank, unmoved(check, action->wait)};
	if (op && !pipesim_rules_is_done(rules, action->b_wait))
		return (PipesimStuck){at.rank, unmoved(check, action->b_wait)};
	if (pipesim_action_is_wait(action->kind) && !pipesim_rules_is_done(rules, action->peer))
		return (PipesimStuck){at.rank, unmoved(check, action->peer)};
	if (pipesim_action_is_message(action->kind) && rules->issued[at.index])
		return (PipesimStuck){action->peer_rank, action->peer};
	*behind = TRUE;
	if (!pipesim_action_is_message(action->kind))
		return ahead(check, at.rank, at.index, NO_COMMUNICATOR);
	return ahead(check, at.rank, group_begin(check, at.index),
		rules->turns[at.index].communicator);
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

/* @lowering, which is from a file, as linked with @program, where action @swapped and the next
 * one are exchanged, unless it is PIPESIM_NO_OP. */
static PipesimLowering *link_again(
	const PipesimLowering *lowering, const PipesimProgram *program, guint32 swapped)
{
	g_autofree PipesimCell *written = g_try_new0(PipesimCell, lowering->n_actions);
	const guint32 *begin = lowering->rank_begin;

	for (guint r = 0; written != NULL && r < program->shape.ranks; r++)
		pipesim_each_of (i, begin, r)
			if (lowering->actions[i].kind != PIPESIM_ACTION_OP)
				written[i] =
					pipesim_cell_of(lowering, r, &lowering->actions[i]);
	if (written != NULL && swapped != PIPESIM_NO_OP) {
		const PipesimCell moved = written[swapped];

		written[swapped] = written[swapped + 1];
		written[swapped + 1] = moved;
	}
	return written != NULL
		       ? pipesim_lowering_link(program, written, begin, NULL, NULL, NULL)
		       : NULL;
}

/* Two ops of a file stay where they are: they are exchanged in the program. */
static gboolean runs_exchanged(gconstpointer graph, guint rank, guint32 index)
{
	const Check *check = graph;
	const PipesimLowering *lowering = check->lowering;
	const gboolean from_file = lowering->from_file;
	const PipesimAction *first = from_file ? &lowering->actions[index] : NULL;
	const guint32 op = from_file ? first->op : index;
	PipesimIssuing issuing = lowering->issuing;
	g_autoptr(PipesimLowering) exchanged = NULL;
	PipesimFate fate = PIPESIM_FATE_UNKNOWN;

	if (from_file && (first[0].joined || first[1].joined))
		return FALSE;
	if (from_file &&
		(first[0].kind != PIPESIM_ACTION_OP || first[1].kind != PIPESIM_ACTION_OP)) {
		exchanged = link_again(lowering, lowering->program, index);
		return exchanged != NULL && lowering_runs(exchanged, check->communicators);
	}
	if (check->spare == NULL || !pipesim_program_exchange(check->spare, rank, op))
		return FALSE;
	issuing.communicators = check->communicators;
	if (!from_file && check->tells)
		fate = pipesim_between_play(check->spare, lowering->runtime, &issuing, NULL);
	gboolean runs = fate != PIPESIM_FATE_HANGS && pipesim_program_runs(check->spare);
	if (runs && fate == PIPESIM_FATE_UNKNOWN) {
		exchanged = from_file ? link_again(lowering, check->spare, PIPESIM_NO_OP)
				      : pipesim_lower(check->spare, lowering->runtime,
						&lowering->issuing, NULL);
		runs = exchanged != NULL && lowering_runs(exchanged, check->communicators);
	}
	pipesim_program_exchange(check->spare, rank, op);
	return runs;
}

/* Which of the messages between its two ranks each is, by its place in the list of its own. */
static void count_turns(const PipesimLowering *lowering, guint32 *turn, guint32 *count)
{
	const PipesimAction *actions = lowering->actions;

	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];
		const guint32 end = lowering->rank_begin[rank + 1];

		for (guint32 i = begin; i < end; i++)
			if (pipesim_action_is_message(actions[i].kind))
				turn[i] = count[2 * (gsize)actions[i].peer_rank +
						pipesim_action_is_send(actions[i].kind)]++;
		for (guint32 i = begin; i < end; i++)
			if (pipesim_action_is_message(actions[i].kind))
				count[2 * (gsize)actions[i].peer_rank +
					pipesim_action_is_send(actions[i].kind)] = 0;
	}
}

/* Whether what each rank receives from another one stands in the order in which that sends it. @last: by rank */
static gboolean turns_agree(const PipesimLowering *lowering, guint64 *last)
{
	pipesim_each_rank_of (i, lowering->rank_begin, rank, lowering->program->shape.ranks) {
		const PipesimAction *action = &lowering->actions[i];
		const guint64 turn = (guint64)rank << 32 | action->peer;

		if (action->kind != PIPESIM_ACTION_RECV_F &&
			action->kind != PIPESIM_ACTION_RECV_B)
			continue;
		/* What other ranks received is lower. */
		if (turn < last[action->peer_rank])
			return FALSE;
		last[action->peer_rank] = turn;
	}
	return TRUE;
}

/* Whether the right messages meet. */
static gboolean check_turns(const PipesimLowering *lowering, PipesimArena *arena,
	const PipesimFaultPlaces *places, GError **error)
{
	const PipesimAction *actions = lowering->actions;
	const guint ranks = lowering->program->shape.ranks;
	guint64 *last = pipesim_arena_array(arena, guint64, ranks);

	if (last != NULL && turns_agree(lowering, last))
		return TRUE;
	guint32 *turn = pipesim_arena_array(arena, guint32, lowering->n_actions);
	guint32 *count = pipesim_arena_array(arena, guint32, 2 * (gsize)ranks);
	if (!pipesim_arena_check(
		    arena, error, "%u ops, sends and receives", lowering->n_actions))
		return FALSE;
	count_turns(lowering, turn, count);
	for (guint rank = 0; rank < ranks; rank++) {
		pipesim_each_of (i, lowering->rank_begin, rank) {
			const guint other = actions[i].peer_rank;
			guint32 sent;

			if (!pipesim_action_is_message(actions[i].kind) ||
				pipesim_action_is_send(actions[i].kind) ||
				turn[i] == turn[actions[i].peer])
				continue;
			/* The send that it meets, which is in another place of the order of the two ranks. */
			for (sent = lowering->rank_begin[other];
				!pipesim_action_is_send(actions[sent].kind) ||
				actions[sent].peer_rank != rank || turn[sent] != turn[i];)
				sent++;
			g_autoptr(GString) receive = g_string_new(NULL);
			g_autoptr(GString) send = g_string_new(NULL);
			pipesim_action_print(lowering, rank, &actions[i], receive);
			pipesim_action_print(lowering, other, &actions[sent], send);
			pipesim_fault(places, lowering->from_file ? i : actions[i].op,
				"%s on rank %u takes what %s on rank %u sends: messages "
				"between two ranks are matched by their order, so a wrong "
				"tensor is used without an error; receive in the order of "
				"sending",
				receive->str, rank, send->str, other);
		}
	}
	return pipesim_faults_done(places->faults, error);
}

gboolean pipesim_lowering_check(const PipesimLowering *lowering,
	PipesimCommunicators communicators, PipesimLocate locate, gpointer data, GError **error)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	const PipesimFaultPlaces places = {faults, locate, data};
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
	guint rank = 0;

	if (!lowering->runtime->waits)
		return pipesim_program_check_order(lowering->program, locate, data, error);
	/* In one communicator what crosses hangs, unless it goes as one. */
	if ((communicators > PIPESIM_COMMUNICATOR_RANK &&
		    !check_turns(lowering, arena, &places, error)) ||
		!play(&check, lowering, communicators, arena, error))
		return FALSE;
	if (is_finished(&check))
		return check_turns(lowering, arena, &places, error);
	/* The first rank that does not come to its end; there is one. */
	while (check.rules.seats[rank].stop_at == lowering->rank_begin[rank + 1])
		rank++;
	guint32 at = check.rules.seats[rank].stop_at;
	if (pipesim_action_is_message(lowering->actions[at].kind))
		at = undone(&check, at);
	g_autoptr(GArray) cycle = pipesim_find_cycle(&waiting, (PipesimStuck){rank, at});
	g_autofree char *what = g_strdup_printf("deadlock under %s%s%s",
		lowering->runtime->name,
		communicators > PIPESIM_COMMUNICATOR_RANK ? " with a channel for each " : "",
		communicators == PIPESIM_COMMUNICATOR_PAIR   ? "pair of ranks"
		: communicators == PIPESIM_COMMUNICATOR_EDGE ? "pair of ranks and direction"
							     : "");
	check.spare = locate != NULL ? pipesim_program_copy(lowering->program) : NULL;
	check.tells = check.spare != NULL && pipesim_between_tells(check.spare);
	pipesim_fail_cycle(&waiting, cycle, what, error);
	pipesim_program_unref(check.spare);
	return FALSE;
}

gboolean pipesim_runtime_runs(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, PipesimProven *proven, PipesimLocate locate,
	gpointer data, GError **error)
{
	if (!runtime->waits)
		return TRUE;
	if (!program->has_more && pipesim_rounds_apply(runtime, issuing))
		return pipesim_rounds_check(program->shape.ranks,
			pipesim_program_has_pairs(program), issuing, error);
	PipesimFate fate = pipesim_between_play(program, runtime, issuing, proven);
	if (fate == PIPESIM_FATE_RUNS)
		return TRUE;
	if (fate == PIPESIM_FATE_HANGS && locate == NULL)
		return pipesim_fail(
			error, PIPESIM_ERROR_DEADLOCK, "deadlock under %s", runtime->name);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, issuing, error);
	return lowering != NULL &&
	       pipesim_lowering_check(lowering, issuing->communicators, locate, data, error);
}

gboolean pipesim_lowering_stops(
	const PipesimLowering *lowering, PipesimCommunicators communicators, GError **error)
{
	/* There must be a cycle: say which. */
	return pipesim_lowering_check(lowering, communicators, NULL, NULL, error) &&
	       pipesim_fail(error, PIPESIM_ERROR_DEADLOCK, "the run stops before its end");
}
