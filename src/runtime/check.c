/* Whether a lowering can run to its end: by the rules of lowering.h, without times. */
#include "config.h"

#include "order/cycle.h"
#include "runtime/runtime.h"
#include <string.h>

/* Where a rank stands in its list. */
typedef struct {
	guint32 op_at;   /* its next op */
	guint32 post_at; /* the first message that it has not issued */
	guint32 done_to; /* every message before is done */
	guint32 open;    /* messages of the issued group that are not done */
} Seat;

typedef struct {
	const PipesimLowering *lowering;
	Seat *seats;
	guint8 *issued; /* by action */
	guint32 *stack;
	guint8 *queued; /* by rank: on the stack */
	guint32 n_done; /* ops */
} Check;

static guint32 rank_end(const Check *check, guint rank)
{
	return check->lowering->rank_begin[rank + 1];
}

/* The first op, or the first message, of @rank from @at on; its end where there is none. */
static guint32 next_of(const Check *check, guint rank, guint32 at, gboolean op)
{
	const PipesimAction *actions = check->lowering->actions;

	while (at < rank_end(check, rank) && (actions[at].kind == PIPESIM_ACTION_OP) != op)
		at++;
	return at;
}

static guint32 group_end(const Check *check, guint rank, guint32 at)
{
	while (++at < rank_end(check, rank) && check->lowering->actions[at].joined)
		;
	return at;
}

static void finish_message(Check *check, guint rank)
{
	Seat *seat = &check->seats[rank];

	if (--seat->open == 0)
		seat->done_to = seat->post_at;
}

/* Issues the next group of @rank. Returns the new height of the stack of ranks to look at. */
static guint issue(Check *check, guint rank, guint height)
{
	const PipesimAction *actions = check->lowering->actions;
	Seat *seat = &check->seats[rank];
	const guint32 begin = seat->post_at, end = group_end(check, rank, begin);

	seat->open = end - begin;
	seat->post_at = end;
	for (guint32 i = begin; i < end; i++) {
		const guint peer = actions[i].peer_rank;

		check->issued[i] = TRUE;
		if (!check->issued[actions[i].peer])
			continue;
		finish_message(check, rank);
		finish_message(check, peer);
		if (!check->queued[peer]) {
			check->queued[peer] = TRUE;
			check->stack[height++] = peer;
		}
	}
	return height;
}

static gboolean may_issue(Check *check, guint rank)
{
	Seat *seat = &check->seats[rank];

	seat->post_at = next_of(check, rank, seat->post_at, FALSE);
	return seat->open == 0 && seat->post_at < seat->op_at;
}

static gboolean is_done(const Check *check, guint rank, guint32 message)
{
	return message == PIPESIM_NO_OP || message < check->seats[rank].done_to;
}

static gboolean may_run(const Check *check, guint rank)
{
	const guint32 at = check->seats[rank].op_at;
	const PipesimAction *op = &check->lowering->actions[at];

	return at < rank_end(check, rank) && is_done(check, rank, op->wait) &&
	       is_done(check, rank, op->b_wait);
}

static guint advance(Check *check, guint rank, guint height)
{
	Seat *seat = &check->seats[rank];

	for (;;) {
		if (may_issue(check, rank)) {
			height = issue(check, rank, height);
		} else if (may_run(check, rank)) {
			seat->op_at = next_of(check, rank, seat->op_at + 1, TRUE);
			check->n_done++;
		} else {
			return height;
		}
	}
}

static gboolean run_all(Check *check)
{
	const guint ranks = check->lowering->program->shape.ranks;
	guint height = 0;

	for (guint rank = ranks; rank-- > 0;) {
		const guint32 begin = check->lowering->rank_begin[rank];

		check->seats[rank] = (Seat){next_of(check, rank, begin, TRUE), begin, begin, 0};
		check->stack[height++] = rank;
		check->queued[rank] = TRUE;
	}
	while (height > 0) {
		const guint rank = check->stack[--height];

		check->queued[rank] = FALSE;
		height = advance(check, rank, height);
	}
	return check->n_done == check->lowering->program->n_ops;
}

static void clear_check(Check *check)
{
	g_free(check->seats);
	g_free(check->issued);
	g_free(check->stack);
	g_free(check->queued);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Check, clear_check)

static gboolean init_check(Check *check, const PipesimLowering *lowering, GError **error)
{
	const guint ranks = lowering->program->shape.ranks;

	check->lowering = lowering;
	check->seats = g_try_new(Seat, ranks);
	check->issued = g_try_new0(guint8, MAX(lowering->n_actions, 1u));
	check->stack = g_try_new(guint32, ranks);
	check->queued = g_try_new0(guint8, ranks);
	return (check->seats != NULL && check->issued != NULL && check->stack != NULL &&
		       check->queued != NULL) ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "%u ops, sends and receives do not fit in memory", lowering->n_actions);
}

static gboolean lowering_runs(const PipesimLowering *lowering)
{
	g_auto(Check) check = {0};

	return init_check(&check, lowering, NULL) && run_all(&check);
}

/* The first message of the group that @at belongs to. */
static guint32 group_begin(const Check *check, guint32 at)
{
	while (check->lowering->actions[at].joined)
		at--;
	return at;
}

/* A message of the group of @at that has not moved, itself if it has not. */
static guint32 unmoved(const Check *check, guint rank, guint32 at)
{
	const PipesimAction *actions = check->lowering->actions;
	const guint32 end = group_end(check, rank, group_begin(check, at));
	guint32 i = at;

	if (check->issued[at] && check->issued[actions[at].peer])
		for (i = group_begin(check, at); i < end; i++)
			if (!check->issued[i] || !check->issued[actions[i].peer])
				break;
	return i;
}

/* The nearest thing before @at on its rank that is not done: an op, or a message that has not
 * moved. */
static guint32 ahead(const Check *check, guint rank, guint32 at)
{
	const PipesimAction *actions = check->lowering->actions;
	const Seat *seat = &check->seats[rank];

	while (at-- > check->lowering->rank_begin[rank]) {
		const gboolean op = actions[at].kind == PIPESIM_ACTION_OP;

		if (op ? at >= seat->op_at : !is_done(check, rank, at))
			return op ? at : unmoved(check, rank, at);
	}
	g_assert_not_reached();
}

/* The op before @at on its rank, which has not run. */
static guint32 op_ahead(const Check *check, guint32 at)
{
	do
		at--;
	while (check->lowering->actions[at].kind != PIPESIM_ACTION_OP);
	return at;
}

/* Messages first: they say more than the order. */
static PipesimStuck find_blocker(gconstpointer graph, PipesimStuck at, gboolean *behind)
{
	const Check *check = graph;
	const PipesimAction *action = &check->lowering->actions[at.index];

	*behind = FALSE;
	if (action->kind == PIPESIM_ACTION_OP) {
		if (!is_done(check, at.rank, action->wait))
			return (PipesimStuck){at.rank, unmoved(check, at.rank, action->wait)};
		if (!is_done(check, at.rank, action->b_wait))
			return (PipesimStuck){at.rank, unmoved(check, at.rank, action->b_wait)};
		*behind = TRUE;
		return (PipesimStuck){at.rank, op_ahead(check, at.index)};
	}
	if (check->issued[at.index])
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

static PipesimWritten as_written(const PipesimLowering *lowering, guint rank, guint32 index)
{
	const PipesimAction *action = &lowering->actions[index];
	const gsize m = lowering->program->shape.microbatches;
	gsize slot = 0;

	if (action->kind != PIPESIM_ACTION_OP)
		slot = pipesim_action_slot(lowering, rank, action);
	return (PipesimWritten){.op = action->op,
		.stage = (guint32)(slot / m),
		.microbatch = (guint32)(slot % m),
		.kind = action->kind,
		.joined = action->joined,
		.waited = action->waited};
}

/* The entries with @first and the next one exchanged; NULL where memory does not suffice. Two
 * ops stay where they are: they are exchanged in the program. */
static PipesimWritten *exchange_entries(
	const PipesimLowering *lowering, guint32 first, gboolean ops)
{
	PipesimWritten *written = g_try_new(PipesimWritten, lowering->n_actions);
	const guint ranks = lowering->program->shape.ranks;

	for (guint rank = 0; written != NULL && rank < ranks; rank++)
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++)
			written[i] = as_written(lowering, rank, i);
	if (written != NULL && !ops) {
		const PipesimWritten moved = written[first];

		written[first] = written[first + 1];
		written[first + 1] = moved;
	}
	return written;
}

static gboolean runs_exchanged_entries(
	gconstpointer graph, guint rank G_GNUC_UNUSED, guint32 index)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;
	const PipesimAction *first = &lowering->actions[index];
	const gboolean ops =
		first[0].kind == PIPESIM_ACTION_OP && first[1].kind == PIPESIM_ACTION_OP;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) exchanged = NULL;
	g_autofree PipesimWritten *written = NULL;

	if (first[0].joined || first[1].joined)
		return FALSE;
	if (ops)
		program = pipesim_program_exchanged(lowering->program, first->op);
	if (ops && (program == NULL || !pipesim_program_runs(program)))
		return FALSE;
	written = exchange_entries(lowering, index, ops);
	if (written != NULL)
		exchanged = pipesim_lowering_link(ops ? program : lowering->program, written,
			lowering->rank_begin, NULL, NULL, NULL);
	return exchanged != NULL && lowering_runs(exchanged);
}

static guint32 action_entry(gconstpointer graph, PipesimStuck at, guint32 *begin, guint32 *end)
{
	const PipesimLowering *lowering = ((const Check *)graph)->lowering;

	*begin = lowering->rank_begin[at.rank];
	*end = lowering->rank_begin[at.rank + 1];
	return at.index;
}

/* An op that cannot run; or, where all have run, a message that cannot move. */
static PipesimStuck find_stuck(const Check *check)
{
	for (guint rank = 0; rank < check->lowering->program->shape.ranks; rank++)
		if (check->seats[rank].op_at < rank_end(check, rank))
			return (PipesimStuck){rank, check->seats[rank].op_at};
	g_assert_not_reached();
}

static gboolean fail(const Check *check, PipesimLocate locate, gpointer data, GError **error)
{
	const PipesimLowering *lowering = check->lowering;
	const PipesimWaiting waiting = {
		check, find_blocker, print_stuck, place_of, locate, data};
	const PipesimSwaps of_ops = {
		check, runs_exchanged_ops, op_entry, print_op_entry, lowering->n_actions};
	const PipesimSwaps of_entries = {
		check, runs_exchanged_entries, action_entry, print_entry, lowering->n_actions};
	g_autoptr(GArray) cycle = pipesim_find_cycle(&waiting, find_stuck(check));
	g_autofree char *what = g_strdup_printf("deadlock under %s", lowering->runtime->name);

	return pipesim_fail_cycle(
		&waiting, cycle, what, lowering->from_file ? &of_entries : &of_ops, error);
}

gboolean pipesim_lowering_check(
	const PipesimLowering *lowering, PipesimLocate locate, gpointer data, GError **error)
{
	g_auto(Check) check = {0};

	if (!lowering->runtime->waits)
		return pipesim_program_check_order(lowering->program, locate, data, error);
	if (!init_check(&check, lowering, error))
		return FALSE;
	return run_all(&check) || fail(&check, locate, data, error);
}
