#include "config.h"

#include "runtime/cell.h"
#include "runtime/lists.h"

/* Adds what @op of @rank sends to @other, or receives from it, unless both are on @rank. */
static guint add(const PipesimProgram *program, guint rank, guint32 op, guint32 other,
	gboolean send, guint backward, PipesimMessage *message)
{
	const guint other_rank = pipesim_program_rank_near(program, other, rank);

	*message = send ? (PipesimMessage){op, other, rank, other_rank, backward}
			: (PipesimMessage){other, op, other_rank, rank, backward};
	return other_rank != rank;
}

guint pipesim_messages(const PipesimProgram *program, guint rank, guint32 op, gboolean send,
	PipesimMessage messages[2])
{
	const PipesimOp *own = &program->ops[op];
	const gsize m = program->shape.microbatches, n_slots = program->shape.stages * m;
	guint n = 0;
	gsize slot;

	/* What lies before the first slot is above the last one, as it has no sign. */
	if (pipesim_op_has_forward(own)) {
		slot = pipesim_op_forward_slot(program, rank, own);
		slot = send ? slot + m : slot - m;
		if (slot < n_slots)
			n += add(program, rank, op, program->forward[slot], send, 0,
				&messages[n]);
	}
	if (pipesim_op_has_backward(own)) {
		slot = pipesim_op_backward_slot(program, rank, own);
		slot = send ? slot - m : slot + m;
		if (slot < n_slots)
			n += add(program, rank, op, program->backward[slot], send, 1,
				&messages[n]);
	}
	return n;
}

PipesimLowering *pipesim_lowering_new(const PipesimProgram *program,
	const PipesimRuntime *runtime, guint64 n_actions, GError **error)
{
	PipesimLowering *lowering = g_new0(PipesimLowering, 1);

	lowering->runtime = runtime;
	lowering->program = program;
	lowering->rank_begin = g_try_new0(guint32, (gsize)program->shape.ranks + 1);
	if (n_actions < PIPESIM_NO_OP)
		lowering->actions = g_try_new(PipesimAction, MAX((gsize)n_actions, 1u));
	if (lowering->actions == NULL || lowering->rank_begin == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GUINT64_FORMAT " ops, sends and receives do not fit in memory; "
			"take fewer ranks or micro-batches",
			n_actions);
		pipesim_lowering_free(lowering);
		return NULL;
	}
	lowering->n_actions = (guint32)n_actions;
	return lowering;
}

void pipesim_lowering_free(PipesimLowering *lowering)
{
	if (lowering == NULL)
		return;
	g_free(lowering->actions);
	if (lowering->shardings != NULL)
		g_array_unref(lowering->shardings);
	g_free(lowering->rank_begin);
	g_free(lowering);
}

void pipesim_lower_op(PipesimLowerer *lowerer, guint rank, guint32 op)
{
	lowerer->lowering->actions[lowerer->next[rank]++] = (PipesimAction){
		.op = op,
		.wait = PIPESIM_NO_OP,
		.b_wait = PIPESIM_NO_OP,
		.kind = PIPESIM_ACTION_OP,
	};
}

/* The second end of a message learns of the first, and the first of it. */
void pipesim_lower_end(
	PipesimLowerer *lowerer, const PipesimMessage *message, gboolean send, gboolean joined)
{
	const guint rank = send ? message->from_rank : message->to_rank;
	const guint32 index = lowerer->next[rank]++;
	guint32 *end = pipesim_lower_end_of(lowerer, message);
	PipesimAction *actions = lowerer->lowering->actions;

	actions[index] = (PipesimAction){
		.op = send ? message->from : message->to,
		.peer = *end,
		.peer_rank = send ? message->to_rank : message->from_rank,
		.kind = (guint8)((send ? PIPESIM_ACTION_SEND_F : PIPESIM_ACTION_RECV_F) +
				 (message->backward ? 2 : 0)),
		.joined = (guint8)joined,
		.waited = (guint8)lowerer->waited,
	};
	if (*end != PIPESIM_NO_OP)
		actions[*end].peer = index;
	if (*end == PIPESIM_NO_OP || !send)
		*end = index;
}

void pipesim_lower_receives(PipesimLowerer *lowerer, guint rank, guint32 op, gboolean joined)
{
	PipesimMessage messages[2];
	const guint n = pipesim_messages(lowerer->program, rank, op, FALSE, messages);

	for (guint i = 0; i < n; i++)
		pipesim_lower_end(lowerer, &messages[i], FALSE, joined || i > 0);
}

guint pipesim_lower_sends(PipesimLowerer *lowerer, guint rank, guint32 op, gboolean joined)
{
	PipesimMessage messages[2];
	const guint n = pipesim_messages(lowerer->program, rank, op, TRUE, messages);

	for (guint i = 0; i < n; i++)
		pipesim_lower_end(lowerer, &messages[i], TRUE, joined && i > 0);
	return n;
}

/* The last send that is waited for before action @before of @rank, if later than @last; *next is the
 * first sharding behind. */
static guint32 wait_for_sends(
	const PipesimLowering *lowering, guint rank, guint32 before, guint *next, guint32 last)
{
	const PipesimSharding *sharding;

	while ((sharding = pipesim_sharding_next(lowering->shardings, rank, before, next)) !=
		NULL)
		if (pipesim_sharding_is_wait(sharding->kind) &&
			(last == PIPESIM_NO_OP || sharding->message > last))
			last = sharding->message;
	return last;
}

void pipesim_lowering_set_waits(PipesimLowering *lowering, const guint32 *end_of)
{
	const PipesimProgram *program = lowering->program;
	guint next = 0;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		guint32 last = PIPESIM_NO_OP;

		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			PipesimAction *action = &lowering->actions[i];
			const guint32 *own = &end_of[2 * (gsize)action->op];

			last = wait_for_sends(lowering, rank, i, &next, last);
			if (action->kind != PIPESIM_ACTION_OP) {
				last = action->waited ? i : last;
				continue;
			}
			action->wait = own[0];
			if (program->ops[action->op].kind == PIPESIM_FB)
				action->b_wait = own[1];
			else if (own[0] == PIPESIM_NO_OP)
				action->wait = own[1];
			if (last == PIPESIM_NO_OP)
				continue;
			/* What stands before the last group is then done too. */
			if (action->wait == PIPESIM_NO_OP || action->wait < last)
				action->wait = last;
			if (action->b_wait != PIPESIM_NO_OP && action->b_wait <= action->wait)
				action->b_wait = PIPESIM_NO_OP;
		}
		wait_for_sends(lowering, rank, lowering->rank_begin[rank + 1], &next, last);
	}
}

PipesimCell pipesim_cell_of_message(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action)
{
	const PipesimOp *op = &lowering->program->ops[action->op];
	const guint32 m = lowering->program->shape.microbatches;
	const gsize slot = action->kind >= PIPESIM_ACTION_SEND_B
				   ? pipesim_op_backward_slot(lowering->program, rank, op)
				   : pipesim_op_forward_slot(lowering->program, rank, op);

	return (PipesimCell){.stage = (guint32)(slot / m),
		.microbatch = (guint32)(slot % m),
		.action = action->kind,
		.joined = action->joined,
		.waited = action->waited};
}

void pipesim_action_print(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action, GString *out)
{
	if (action->kind == PIPESIM_ACTION_OP) {
		pipesim_op_print(
			lowering->program, rank, &lowering->program->ops[action->op], out);
	} else {
		const PipesimCell cell = pipesim_cell_of_message(lowering, rank, action);

		pipesim_cell_print(&cell, out);
	}
}

/* What is put between cells, or the actions of a group. */
static void print_separator(GString *out, gboolean joined)
{
	if (out->len > 0 && out->str[out->len - 1] != '\n')
		g_string_append_c(out, joined ? ';' : ',');
}

static void print_shardings(
	const PipesimLowering *lowering, guint rank, guint32 before, guint *next, GString *out)
{
	const PipesimSharding *sharding;

	while ((sharding = pipesim_sharding_next(lowering->shardings, rank, before, next)) !=
		NULL) {
		PipesimCell cell = {0};

		if (pipesim_sharding_is_wait(sharding->kind))
			cell = pipesim_cell_of_message(
				lowering, rank, &lowering->actions[sharding->message]);
		else
			cell.stage = sharding->stage;
		cell.action = (guint8)(PIPESIM_N_ACTIONS + sharding->kind);
		print_separator(out, FALSE);
		pipesim_cell_print(&cell, out);
	}
}

void pipesim_lowering_print(const PipesimLowering *lowering, GString *out)
{
	guint next = 0;

	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++) {
		const guint32 end = lowering->rank_begin[rank + 1];

		for (guint32 i = lowering->rank_begin[rank]; i < end; i++) {
			const gboolean joined = lowering->actions[i].joined;
			const gboolean more = i + 1 < end && lowering->actions[i + 1].joined;
			const gboolean brackets = joined || more || lowering->actions[i].waited;

			if (!joined)
				print_shardings(lowering, rank, i, &next, out);
			print_separator(out, joined);
			if (brackets && !joined)
				g_string_append_c(out, '(');
			pipesim_action_print(lowering, rank, &lowering->actions[i], out);
			if (brackets && !more)
				g_string_append(out, ")GROUP");
		}
		print_shardings(lowering, rank, end, &next, out);
		g_string_append_c(out, '\n');
	}
}
