/* The critical path of the timeline. */
#include "config.h"

#include "analysis/parts.h"

/* The same where the engine tells: back over the messages in between. */
static guint32 told_cause_of(const PipesimTimeline *timeline, guint32 op)
{
	guint64 cause = timeline->cause[op];

	while (cause != PIPESIM_NO_CAUSE && (cause & PIPESIM_BY_TRANSFER) != 0)
		cause = timeline->transfers[(guint32)cause].cause;
	return cause == PIPESIM_NO_CAUSE ? PIPESIM_NO_OP : (guint32)cause;
}

/* The rank of @op, which mostly is @near or a neighbour. */
static guint rank_of(const PipesimProgram *program, guint32 op, guint near)
{
	const guint32 *begin = program->rank_begin;

	if (op >= begin[near] && op < begin[near + 1])
		return near;
	if (near > 0 && op >= begin[near - 1] && op < begin[near])
		return near - 1;
	if (near + 1 < program->shape.ranks && op >= begin[near + 1] && op < begin[near + 2])
		return near + 1;
	return pipesim_program_rank(program, op);
}

/* When input @i of @op of @rank is there, with the waiting for links. */
static gint64 arrival(
	const PipesimSubject *subject, const guint32 inputs[2], guint i, guint32 op, guint rank)
{
	const PipesimTimeline *timeline = subject->timeline;
	const guint from = rank_of(subject->program, inputs[i], rank);

	if (from == rank)
		return timeline->end[inputs[i]];
	if (timeline->traffic == NULL)
		return timeline->end[inputs[i]] + subject->times->p2p;
	return timeline->moving[i][op] +
	       pipesim_network_hop(subject->costs->network, from, rank);
}

/* The op whose end let @op start at its time, or PIPESIM_NO_OP where it starts at 0. */
static guint32 cause_of(const PipesimSubject *subject, guint rank, guint32 op)
{
	const PipesimProgram *program = subject->program;
	const PipesimTimeline *timeline = subject->timeline;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, &program->ops[op], inputs);

	if (timeline->cause != NULL)
		return told_cause_of(timeline, op);
	for (guint i = 0; i < n; i++) {
		if (arrival(subject, inputs, i, op, rank) == timeline->start[op])
			return inputs[i];
	}
	if (op > program->rank_begin[rank] && timeline->end[op - 1] == timeline->start[op])
		return op - 1;
	return PIPESIM_NO_OP;
}

static guint32 last_op(const PipesimSubject *subject)
{
	const PipesimProgram *program = subject->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];

		if (end > program->rank_begin[rank] &&
			subject->timeline->end[end - 1] == subject->timeline->makespan)
			return end - 1;
	}
	return PIPESIM_NO_OP;
}

static void find_critical_path(const PipesimSubject *subject, PipesimReport *report)
{
	GArray *path = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint rank = 0;

	for (guint32 op = last_op(subject); op != PIPESIM_NO_OP;) {
		g_array_append_val(path, op);
		rank = rank_of(subject->program, op, rank);
		op = cause_of(subject, rank, op);
	}
	report->path.n_ops = path->len;
	report->path.ops = (guint32 *)(void *)g_array_free(path, FALSE);
	for (guint i = 0; i < report->path.n_ops / 2; i++) {
		const guint32 op = report->path.ops[i];

		report->path.ops[i] = report->path.ops[report->path.n_ops - 1 - i];
		report->path.ops[report->path.n_ops - 1 - i] = op;
	}
}

gboolean pipesim_report_paths(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	if (!report->path.has_bound && !pipesim_report_search_bound(subject, report, error))
		return FALSE;
	find_critical_path(subject, report);
	return TRUE;
}
