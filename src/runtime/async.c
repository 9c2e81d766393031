/* Messages that never wait for each other: each send right behind the op that it comes from, each
 * receive right before the op that needs it. */
#include "runtime/runtime.h"

static gboolean lower(PipesimLowerer *lowerer, GError **error)
{
	const PipesimProgram *program = lowerer->program;

	if (!pipesim_lower_begin(lowerer, 0, error))
		return FALSE;
	pipesim_each_rank_of (op, program->rank_begin, rank, program->shape.ranks) {
		PipesimMessage messages[2];
		guint n = pipesim_messages(program, rank, op, FALSE, messages);

		for (guint i = 0; i < n; i++)
			pipesim_lower_end(lowerer, &messages[i], FALSE, i > 0);
		pipesim_lower_op(lowerer, rank, op);
		n = pipesim_messages(program, rank, op, TRUE, messages);
		for (guint i = 0; i < n; i++)
			pipesim_lower_end(lowerer, &messages[i], TRUE, FALSE);
	}
	return TRUE;
}

const PipesimRuntime pipesim_runtime_async = {
	.name = "async",
	.rule = "a message is sent as soon as its op is done",
	.schedules = "1f1b,interleaved-1f1b,zb-h1,zb-v,v-half,v-min,interleaved-zb,dualpipe,"
		     "dualpipev",
	.lower = lower,
};
