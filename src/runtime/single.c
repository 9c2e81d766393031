/* PyTorch's GPipe and 1F1B: sends right behind their op, receives right before the op that needs
 * them; where a forward follows a backward or the other way round, the sends of the one and the
 * receives of the other are one group. */
#include "config.h"

#include "runtime/runtime.h"

/* Forward after forward and backward after backward send and receive one by one; where the direction turns
 * between @op and the next one of its rank, neighbours do so towards each other and must do both at once:
 * what @op sends and what the next one receives, where there is both. */
static gboolean turns(const PipesimProgram *program, guint rank, guint32 op, guint32 end)
{
	const PipesimOp *last = &program->ops[op], *next = last + 1;
	PipesimMessage messages[2];

	return op + 1 < end &&
	       ((pipesim_op_has_forward(last) && pipesim_op_has_backward(next)) ||
		       (pipesim_op_has_backward(last) && pipesim_op_has_forward(next))) &&
	       pipesim_messages(program, rank, op, TRUE, messages) > 0 &&
	       pipesim_messages(program, rank, op + 1, FALSE, messages) > 0;
}

static gboolean lower(PipesimLowerer *lowerer, GError **error G_GNUC_UNUSED)
{
	const PipesimProgram *program = lowerer->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];
		gboolean grouped = FALSE;

		for (guint32 op = program->rank_begin[rank]; op < end; op++) {
			/* Of a pair, only the half that needs it waits for the group. */
			lowerer->waited = grouped && program->ops[op].kind != PIPESIM_FB;
			pipesim_lower_receives(lowerer, rank, op, grouped);
			pipesim_lower_op(lowerer, rank, op);
			grouped = turns(program, rank, op, end);
			lowerer->waited = grouped && program->ops[op + 1].kind != PIPESIM_FB;
			pipesim_lower_sends(lowerer, rank, op, TRUE);
		}
	}
	return TRUE;
}

const PipesimRuntime pipesim_runtime_single = {
	.name = "single",
	.rule = "a rank receives just before the op that needs it",
	.schedules = "gpipe,1f1b",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.keeps_buffers = TRUE,
	.gradients = PIPESIM_SENT_NEXT,
	.takes = PIPESIM_ASK_CHANNELS,
	.lower = lower,
};
