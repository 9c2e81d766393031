#include "runtime/cell.h"
#include "runtime/lists.h"

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
	guint n = 0;

	for (guint backward = 0; backward < 2; backward++) {
		const guint32 other =
			pipesim_message_end(program, rank, op, send, (gboolean)backward);

		if (other != PIPESIM_NO_OP)
			n += look(program, rank, op, other, send, backward, &messages[n]);
	}
	return n;
}

PipesimMessage pipesim_message_of(
	const PipesimProgram *program, guint rank, const PipesimAction *action)
{
	const guint kind = pipesim_action_is_wait(action->kind)
				   ? action->kind - PIPESIM_ACTION_TO_WAIT
				   : action->kind;
	const gboolean send = pipesim_action_is_send(kind);
	const gboolean backward = pipesim_action_is_backward(kind);
	PipesimMessage message;

	look(program, rank, action->op,
		pipesim_message_end(program, rank, action->op, send, backward), send,
		(guint)backward, &message);
	return message;
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
	pipesim_free_all(lowering->actions, lowering->rank_begin, lowering);
}

gboolean pipesim_lower_grow(PipesimLowerer *lowerer, PipesimList *list)
{
	const gsize room = list->room > 0 ? 2 * (gsize)list->room : 64;
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

void pipesim_lower_count(const PipesimProgram *program, guint64 *n)
{
	const guint32 *forward = program->forward;
	const guint32 m = program->shape.microbatches;
	guint near = 0, next_near = 0;

	for (gsize slot = 0; slot < (gsize)(program->shape.stages - 1) * m; slot++) {
		near = pipesim_program_rank_near(program, forward[slot], near);
		next_near = pipesim_program_rank_near(program, forward[slot + m], next_near);
		/* Forth and back. */
		n[near + 1] += near != next_near ? 2u : 0;
		n[next_near + 1] += near != next_near ? 2u : 0;
	}
}

gboolean pipesim_lower_begin(PipesimLowerer *lowerer, guint64 most, GError **error)
{
	const PipesimProgram *program = lowerer->program;
	const guint ranks = program->shape.ranks;
	guint64 *n = pipesim_arena_array(lowerer->arena, guint64, (gsize)ranks + 1);

	lowerer->sends =
		pipesim_arena_array(lowerer->arena, guint32, 2 * (gsize)program->n_ops);
	lowerer->receives =
		pipesim_arena_array(lowerer->arena, guint32, 2 * (gsize)program->n_ops);
	if (!pipesim_arena_check(lowerer->arena, error, "%u ops", program->n_ops))
		return FALSE;
	if (most == 0) {
		pipesim_lower_count(program, n);
		for (guint rank = 0; rank < ranks; rank++)
			most += 2 * n[rank + 1];
		most += program->n_ops;
	}
	lowerer->lowering = pipesim_lowering_new(program, lowerer->runtime, most, error);
	if (lowerer->lowering == NULL)
		return FALSE;
	lowerer->lowering->n_actions = 0;
	lowerer->room = (guint32)most;
	return TRUE;
}

PipesimCell pipesim_cell_of(
	const PipesimLowering *lowering, guint rank, const PipesimAction *action)
{
	const guint32 m = lowering->program->shape.microbatches;
	PipesimCell cell = {
		.action = action->kind, .joined = action->joined, .waited = action->waited};
	const PipesimOp *op;

	if (pipesim_action_is_sharding(action->kind)) {
		cell.stage = action->stage;
		return cell;
	}
	op = &lowering->program->ops[action->op];
	gsize slot = pipesim_action_is_backward(action->kind)
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
