/* Every op of every run, a line each: a table of ops as docs/formats.md describes it, so that
 * pipesim itself reads it again; pipesim-microbench --replay runs it. */
#include "output/figures.h"

static void write_ops(const PipesimComparison *comparison,
	const PipesimStyle *style G_GNUC_UNUSED, GString *out)
{
	g_string_append(out, "schedule,step,rank,stage,op,microbatch,start_ns,dur_ns,b_stage,b_"
			     "microbatch\n");
	pipesim_each_in (const PipesimRun, run, comparison->runs) {
		const PipesimTimeline *timeline = PIPESIM_OF(run->step, timeline);
		const PipesimProgram *program = PIPESIM_OF(run->step, program);
		g_autoptr(GString) schedule = g_string_new(NULL);

		if (timeline == NULL)
			continue;
		pipesim_csv_quote(schedule, run->name);
		for (guint rank = 0, i = 0; rank < program->shape.ranks; rank++)
			for (; i < program->rank_begin[rank + 1]; i++) {
				const PipesimOp *op = &program->ops[i];

				/* Copies and collectives run beside. */
				if (pipesim_op_rows[op->kind].resource != PIPESIM_ON_RANK)
					continue;

				g_string_append_printf(out,
					"%s,0,%u,%u,%s,%u,%" G_GINT64_FORMAT
					",%" G_GINT64_FORMAT,
					schedule->str, rank,
					pipesim_op_stage(program, rank, op),
					pipesim_kind_letter(op->kind), op->microbatch,
					timeline->start[i],
					timeline->end[i] - timeline->start[i]);
				if (op->kind == PIPESIM_FB)
					g_string_append_printf(out, ",%u,%u\n",
						pipesim_op_b_stage(program, rank, op),
						op->b_microbatch);
				else
					g_string_append(out, ",,\n");
			}
	}
}

const PipesimOutput pipesim_output_ops = {
	.name = "ops",
	.extension = "ops",
	.summary = "one line an op: rank, stage, micro-batch, start, duration",
	.keep = PIPESIM_KEEP_OPS,
	.write = write_ops,
};
