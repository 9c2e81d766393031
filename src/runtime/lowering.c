#include "config.h"

#include "base/large.h"
#include "runtime/cell.h"
#include "runtime/lists.h"
#include <string.h>

/* What @op of @rank sends to @other, or receives from it: 1, unless both are on @rank. */
static inline guint look(const PipesimProgram *program, guint rank, guint32 op, guint32 other,
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
			n += look(program, rank, op, program->forward[slot], send, 0,
				&messages[n]);
	}
	if (pipesim_op_has_backward(own)) {
		slot = pipesim_op_backward_slot(program, rank, own);
		slot = send ? slot - m : slot + m;
		if (slot < n_slots)
			n += look(program, rank, op, program->backward[slot], send, 1,
				&messages[n]);
	}
	return n;
}

PipesimMessage pipesim_message_of(
	const PipesimProgram *program, guint rank, const PipesimAction *action)
{
	const guint kind = pipesim_action_is_wait(action->kind)
				   ? action->kind - PIPESIM_ACTION_TO_WAIT
				   : action->kind;
	PipesimMessage messages[2] = {{0}};
	const guint n = pipesim_messages(
		program, rank, action->op, pipesim_action_is_send(kind), messages);
	const guint backward = pipesim_action_is_backward(kind);

	return messages[n == 2 && messages[1].backward == backward];
}

PipesimLowering *pipesim_lowering_new(const PipesimProgram *program,
	const PipesimRuntime *runtime, guint64 n_actions, GError **error)
{
	PipesimLowering *lowering = g_new0(PipesimLowering, 1);

	lowering->runtime = runtime;
	lowering->program = program;
	lowering->rank_begin = g_try_new0(guint32, (gsize)program->shape.ranks + 1);
	if (n_actions < PIPESIM_NO_OP)
		lowering->actions =
			pipesim_try_large(MAX((gsize)n_actions, 1u), sizeof(PipesimAction));
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

PipesimLowering *pipesim_lowering_ref(PipesimLowering *lowering)
{
	g_atomic_int_inc(&lowering->holders);
	return lowering;
}

void pipesim_lowering_free(PipesimLowering *lowering)
{
	if (lowering == NULL || g_atomic_int_add(&lowering->holders, -1) > 0)
		return;
	g_free(lowering->actions);
	g_free(lowering->rank_begin);
	g_free(lowering);
}

gboolean pipesim_lower_grow(PipesimLowerer *lowerer, PipesimList *list)
{
	const guint32 *ops = lowerer->program->rank_begin;
	const gsize rank = (gsize)(list - lowerer->lists); /* where it is of one */
	/* At first what most ranks need. */
	const gsize first = rank < lowerer->program->shape.ranks
				    ? 4 * (gsize)(ops[rank + 1] - ops[rank])
				    : 0;
	const gsize room = list->room > 0 ? 2 * (gsize)list->room : MAX(first, 64u);
	PipesimAction *more = NULL;

	if (room < PIPESIM_NO_OP)
		more = g_try_renew(PipesimAction, list->actions, room);
	lowerer->no_memory |= more == NULL;
	if (more == NULL)
		return FALSE;
	list->actions = more;
	list->room = (guint32)room;
	return TRUE;
}

void pipesim_lower_action(PipesimLowerer *lowerer, guint rank, guint kind, guint32 op)
{
	pipesim_lower_take(lowerer, &lowerer->lists[rank],
		&(PipesimAction){.op = op, .kind = (guint8)kind});
}

void pipesim_lower_op(PipesimLowerer *lowerer, guint rank, guint32 op)
{
	pipesim_lower_action(lowerer, rank, PIPESIM_ACTION_OP, op);
}

void pipesim_lower_end(
	PipesimLowerer *lowerer, const PipesimMessage *message, gboolean send, gboolean joined)
{
	pipesim_lower_take(lowerer,
		&lowerer->lists[send ? message->from_rank : message->to_rank],
		&(PipesimAction){
			.op = send ? message->from : message->to,
			.peer = message->to,
			.peer_rank = send ? message->to_rank : message->from_rank,
			.kind = (guint8)((send ? PIPESIM_ACTION_SEND_F
					       : PIPESIM_ACTION_RECV_F) +
					 (message->backward ? 2 : 0)),
			.joined = (guint8)joined,
			.waited = (guint8)lowerer->waited,
		});
}

PipesimEnds *pipesim_ends_new(const PipesimProgram *program, PipesimArena *arena)
{
	const gsize n = 2 * (gsize)program->n_ops;
	PipesimEnds *ends = pipesim_arena_array(arena, PipesimEnds, n);

	if (ends != NULL)
		memset(ends, 0xff, n * sizeof *ends); /* PIPESIM_NO_OP */
	return ends;
}

void pipesim_lowering_meet(PipesimLowering *lowering, guint32 index,
	const PipesimMessage *message, PipesimEnds *ends)
{
	PipesimAction *action = &lowering->actions[index];
	const gboolean send = pipesim_action_is_send(action->kind);
	guint32 *end = pipesim_end_of(ends, message);

	action->peer = *end;
	action->peer_rank = send ? message->to_rank : message->from_rank;
	if (*end != PIPESIM_NO_OP)
		lowering->actions[*end].peer = index;
	if (*end == PIPESIM_NO_OP || !send)
		*end = index;
}

/* The end of the message that @wait of @rank is about. */
static PipesimEnds *end_of_wait(
	const PipesimProgram *program, guint rank, const PipesimAction *wait, PipesimEnds *ends)
{
	const gboolean backward = pipesim_action_is_backward(wait->kind);
	const gsize m = program->shape.microbatches;
	const PipesimOp *op = &program->ops[wait->op];
	guint32 to = wait->op;

	if (pipesim_action_is_send(wait->kind - PIPESIM_ACTION_TO_WAIT))
		to = backward
			     ? program->backward[pipesim_op_backward_slot(program, rank, op) -
						 m]
			     : program->forward[pipesim_op_forward_slot(program, rank, op) + m];
	return pipesim_end_of(ends, &(PipesimMessage){.to = to, .backward = (guint)backward});
}

void pipesim_lowering_set_waits(PipesimLowering *lowering, PipesimEnds *ends)
{
	const PipesimProgram *program = lowering->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		for (guint32 i = lowering->rank_begin[rank]; i < lowering->rank_begin[rank + 1];
			i++) {
			PipesimAction *action = &lowering->actions[i];
			const guint32 *own;

			if (pipesim_action_is_wait(action->kind)) {
				const guint kind = action->kind - PIPESIM_ACTION_TO_WAIT;

				action->peer = *end_of_wait(program, rank, action, ends);
				if (pipesim_action_is_send(kind))
					action->peer = lowering->actions[action->peer].peer;
			}
			if (action->kind != PIPESIM_ACTION_OP)
				continue;
			own = &ends[2 * (gsize)action->op];
			action->wait = own[0];
			action->b_wait = PIPESIM_NO_OP;
			if (program->ops[action->op].kind == PIPESIM_FB)
				action->b_wait = own[1];
			else if (own[0] == PIPESIM_NO_OP)
				action->wait = own[1];
		}
	}
}

PipesimCell pipesim_cell_of(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action)
{
	const guint32 m = lowering->program->shape.microbatches;
	PipesimCell cell = {
		.action = action->kind, .joined = action->joined, .waited = action->waited};
	const PipesimOp *op;
	gsize slot;

	if (pipesim_action_is_sharding(action->kind)) {
		cell.stage = action->stage;
		return cell;
	}
	op = &lowering->program->ops[action->op];
	slot = pipesim_action_is_backward(action->kind)
		       ? pipesim_op_backward_slot(lowering->program, rank, op)
		       : pipesim_op_forward_slot(lowering->program, rank, op);
	cell.stage = (guint32)(slot / m);
	cell.microbatch = (guint32)(slot % m);
	return cell;
}

void pipesim_action_print(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action, GString *out)
{
	if (action->kind == PIPESIM_ACTION_OP) {
		pipesim_op_print(
			lowering->program, rank, &lowering->program->ops[action->op], out);
	} else {
		const PipesimCell cell = pipesim_cell_of(lowering, rank, action);

		pipesim_cell_print(&lowering->program->shape, &cell, out);
	}
}

void pipesim_lowering_print(const PipesimLowering *lowering, GString *out)
{
	for (guint rank = 0; rank < lowering->program->shape.ranks; rank++) {
		const guint32 begin = lowering->rank_begin[rank];
		const guint32 end = lowering->rank_begin[rank + 1];

		for (guint32 i = begin; i < end; i++) {
			const gboolean joined = lowering->actions[i].joined;
			const gboolean more = i + 1 < end && lowering->actions[i + 1].joined;
			const gboolean brackets = joined || more || lowering->actions[i].waited;

			if (i > begin)
				g_string_append_c(out, joined ? ';' : ',');
			if (brackets && !joined)
				g_string_append_c(out, '(');
			pipesim_action_print(lowering, rank, &lowering->actions[i], out);
			if (brackets && !more)
				g_string_append(out, ")GROUP");
		}
		g_string_append_c(out, '\n');
	}
}
