/* What the makespan of a run hangs on, in words. */
#include "output/table.h"
#include "output/text.h"

/* Stretches of the critical path on one rank each that are listed: of more, the first. */
#define MAX_STRETCHES 40

void pipesim_text_note(const char *names, const char *words, guint width, GString *out)
{
	g_autofree char *note = g_strconcat(names, ": ", words, NULL);

	pipesim_wrap(out, note, 2, 0, width);
}

/* The path from op to op, told rank by rank: "rank 0: 0F0; rank 1: 1F0 to 1W7 (12 ops)". */
void pipesim_text_critical(
	const PipesimComparison *comparison, const PipesimRun *run, guint width, GString *out)
{
	const PipesimProgram *program = run->step->program;
	const PipesimCriticalPath *path = &run->report->path;
	const gint64 more = run->report->makespan - path->lower_bound;
	g_autoptr(GString) words =
		g_string_new("lower bound for any order of these ops on these ranks: ");
	guint stretches = 0, n;

	if (!comparison->critical || !path->has_bound)
		return;
	g_string_append_printf(words, "%s ms; this order ", pipesim_ms(path->lower_bound));
	if (more > 0)
		g_string_append_printf(words, "takes %s ms more", pipesim_ms(more));
	else
		g_string_append(words, "reaches it");
	pipesim_text_note(run->name, words->str, width, out);
	if (path->ops == NULL || path->n_ops == 0)
		return;
	g_string_printf(words, "critical path of %u ops: ", path->n_ops);
	for (guint i = 0; i < path->n_ops; i += n) {
		const guint32 *ops = &path->ops[i];
		const guint rank = pipesim_program_rank(program, ops[0]);

		if (stretches++ == MAX_STRETCHES) {
			g_string_append_printf(words, "; and %u more ops", path->n_ops - i);
			break;
		}
		for (n = 1; i + n < path->n_ops; n++)
			if (pipesim_program_rank(program, ops[n]) != rank)
				break;
		g_string_append_printf(words, "%srank %u: ", i > 0 ? "; " : "", rank);
		pipesim_op_print(program, rank, &program->ops[ops[0]], words);
		if (n == 1)
			continue;
		g_string_append(words, n == 2 ? " " : " to ");
		pipesim_op_print(program, rank, &program->ops[ops[n - 1]], words);
		if (n > 2)
			g_string_append_printf(words, " (%u ops)", n);
	}
	pipesim_text_note(run->name, words->str, width, out);
}
