/* PyTorch's GPipe and 1F1B: sends right behind their op, receives right before the op that needs
 * them; where a forward follows a backward or the other way round, the sends of the one and the
 * receives of the other are one group. */
#include "config.h"

#include "runtime/runtime.h"

/* Forward after forward and backward after backward send and receive one by one; where the
 * direction turns, neighbours do so towards each other and must do both at once. */
static gboolean turns(const PipesimOp *before, const PipesimOp *op)
{
	return (pipesim_op_has_forward(before) && pipesim_op_has_backward(op)) ||
	       (pipesim_op_has_backward(before) && pipesim_op_has_forward(op));
}

static gboolean lower(PipesimLowerer *lowerer, GError **error G_GNUC_UNUSED)
{
	const PipesimProgram *program = lowerer->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];
		guint n_sends = 0;

		for (guint32 op = program->rank_begin[rank]; op < end; op++) {
			pipesim_lower_receives(lowerer, rank, op,
				n_sends > 0 && turns(&program->ops[op - 1], &program->ops[op]));
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
