/* PyTorch's GPipe and 1F1B: sends right behind their op, receives right before the op that needs
 * them; where a forward follows a backward or the other way round, the sends of the one and the
 * receives of the other are one group. */
#include "runtime/runtime.h"

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;

	if (!pipesim_lower_begin(lowerer, 0, error))
		return FALSE;
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 begin = program->rank_begin[rank];
		const guint32 end = program->rank_begin[rank + 1];
		PipesimMessage in[2], out[2];
		gboolean grouped = FALSE;
		guint n_in =
			begin < end ? pipesim_messages(program, rank, begin, FALSE, in) : 0;

		for (guint32 op = begin; op < end; op++) {
			const guint n_out = pipesim_messages(program, rank, op, TRUE, out);

			/* Of a pair, only the half that needs it waits for the group. */
			lowerer->waited = grouped && program->ops[op].kind != PIPESIM_FB;
			for (guint i = 0; i < n_in; i++)
				pipesim_lower_end(lowerer, &in[i], FALSE, grouped || i > 0);
			pipesim_lower_op(lowerer, rank, op);
			n_in = op + 1 < end ? pipesim_messages(program, rank, op + 1, FALSE, in)
					    : 0;
			grouped = n_in > 0 && n_out > 0 &&
				  pipesim_op_turns(&program->ops[op], &program->ops[op + 1]);
			lowerer->waited = grouped && program->ops[op + 1].kind != PIPESIM_FB;
			for (guint i = 0; i < n_out; i++)
				pipesim_lower_end(lowerer, &out[i], TRUE, i > 0);
		}
	}
	return TRUE;
}

static PipesimBetween between(
	const PipesimProgram *program G_GNUC_UNUSED, const PipesimIssuing *issuing)
{
	return issuing->communicators == PIPESIM_COMMUNICATOR_RANK ? PIPESIM_BETWEEN_PLAIN
								   : PIPESIM_BETWEEN_MORE;
}

const PipesimRuntime pipesim_runtime_single = {
	.name = "single",
	.rule = "a rank receives just before the op that needs it",
	.schedules = "1f1b,gpipe",
	.waits = TRUE,
	.splits_pairs = TRUE,
	.keeps_buffers = TRUE,
	.gradients = PIPESIM_SENT_NEXT,
	.takes = PIPESIM_ASK_COMMUNICATORS,
	.lower = lower,
	.between = between,
};
