/* PyTorch's GPipe and 1F1B: sends right behind their op, receives right before the op that needs
 * them; where a forward follows a backward or the other way round, the sends of the one and the
 * receives of the other are one group. */
#include "config.h"

#include "runtime/runtime.h"

static gboolean lower(PipesimLowerer *lowerer, GError **error G_GNUC_UNUSED)
{
	const PipesimProgram *program = lowerer->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];
		guint n_sends = 0;

		for (guint32 op = program->rank_begin[rank]; op < end; op++) {
			const PipesimOp *next = &program->ops[op];
			const PipesimOp *last = n_sends > 0 ? next - 1 : NULL;
			/* Forward after forward and backward after backward send and receive
			 * one by one; where the direction turns, neighbours do so towards each
			 * other and must do both at once. */
			const gboolean turns =
				last != NULL && ((pipesim_op_has_forward(last) &&
							 pipesim_op_has_backward(next)) ||
							(pipesim_op_has_backward(last) &&
								pipesim_op_has_forward(next)));

			pipesim_lower_receives(lowerer, rank, op, turns);
			pipesim_lower_op(lowerer, rank, op);
			n_sends = pipesim_lower_sends(lowerer, rank, op, TRUE);
		}
	}
	return TRUE;
}

const PipesimRuntime pipesim_runtime_single = {
	.name = "single",
	.rule = "a rank receives just before the op that needs it",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.lower = lower,
};
