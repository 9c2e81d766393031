#include "runtime/passes.h"

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

		if (op != PIPESIM_NO_OP ? receive.op == op : receive.peer_rank == from)
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
			/* Two ranks that both send first would wait for each other. */
			if (pipesim_action_is_send(action->kind) &&
				deferral.rank < action->peer_rank)
				write_out(&deferral, PIPESIM_NO_OP, action->peer_rank);
			pipesim_lower_take(lowerer, &list, action);
		}
		g_free(old.actions);
		lowerer->lists[deferral.rank] = list;
	}
	g_free(deferral.aside.actions);
}
