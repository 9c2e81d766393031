#include "config.h"

#include "runtime/passes.h"

/* What @op of @rank, a backward or backward for input, or a pair, ends the use of: the output
 * of the forward of the same stage and micro-batch, if that went to another rank. FALSE where
 * there is none. */
static gboolean find_output(
	const PipesimProgram *program, guint rank, const PipesimOp *op, guint32 *forward)
{
	PipesimMessage messages[2];
	guint n;

	if (!pipesim_op_has_backward(op))
		return FALSE;
	*forward = program->forward[pipesim_op_backward_slot(program, rank, op)];
	n = pipesim_messages(program, rank, *forward, TRUE, messages);
	return n > 0 && messages[0].backward == 0;
}

void pipesim_pass_wait_for_sends(PipesimLowerer *lowerer)
{
	const PipesimProgram *program = lowerer->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const PipesimList old = lowerer->lists[rank];
		PipesimList list = {NULL, 0, 0};

		for (guint32 i = 0; i < old.n; i++) {
			const PipesimAction *action = &old.actions[i];
			PipesimAction wait = {.kind = PIPESIM_ACTION_WAIT_SEND_F};

			pipesim_lower_take(lowerer, &list, action);
			if (action->kind == PIPESIM_ACTION_OP &&
				find_output(program, rank, &program->ops[action->op], &wait.op))
				pipesim_lower_take(lowerer, &list, &wait);
		}
		for (guint32 i = 0; i < old.n; i++)
			if (old.actions[i].kind == PIPESIM_ACTION_SEND_B)
				pipesim_lower_take(lowerer, &list,
					&(PipesimAction){.op = old.actions[i].op,
						.kind = PIPESIM_ACTION_WAIT_SEND_B});
		g_free(old.actions);
		lowerer->lists[rank] = list;
	}
}

/* Receives that have been put aside, in order. */
typedef struct {
	PipesimLowerer *lowerer;
	guint rank;
	PipesimList aside;
	PipesimList *out;
} Deferral;

/* Those of @op, or else those that come from rank @from, go to the list. */
static void write_out(Deferral *deferral, guint32 op, guint from)
{
	PipesimList *aside = &deferral->aside;
	guint32 kept = 0;

	for (guint32 i = 0; i < aside->n; i++) {
		const PipesimAction receive = aside->actions[i];
		const PipesimMessage message = pipesim_message_of(
			deferral->lowerer->program, deferral->rank, &receive);

		if (op != PIPESIM_NO_OP ? receive.op == op : message.from_rank == from)
			pipesim_lower_take(deferral->lowerer, deferral->out, &receive);
		else
			aside->actions[kept++] = receive;
	}
	aside->n = kept;
}

void pipesim_pass_defer_receives(PipesimLowerer *lowerer)
{
	Deferral deferral = {.lowerer = lowerer};

	for (; deferral.rank < lowerer->program->shape.ranks; deferral.rank++) {
		const PipesimList old = lowerer->lists[deferral.rank];
		PipesimList list = {NULL, 0, 0};

		deferral.out = &list;
		for (guint32 i = 0; i < old.n; i++) {
			const PipesimAction *action = &old.actions[i];

			if (action->kind == PIPESIM_ACTION_RECV_F ||
				action->kind == PIPESIM_ACTION_RECV_B) {
				pipesim_lower_take(lowerer, &deferral.aside, action);
				continue;
			}
			if (action->kind == PIPESIM_ACTION_OP)
				write_out(&deferral, action->op, 0);
			if (pipesim_action_is_send(action->kind)) {
				const PipesimMessage message = pipesim_message_of(
					lowerer->program, deferral.rank, action);

				/* Two ranks that both send first would wait for each other. */
				if (deferral.rank < message.to_rank)
					write_out(&deferral, PIPESIM_NO_OP, message.to_rank);
			}
			pipesim_lower_take(lowerer, &list, action);
		}
		g_free(old.actions);
		lowerer->lists[deferral.rank] = list;
	}
	g_free(deferral.aside.actions);
}
