/* What waiting for messages costs a step, and where ranks wait. */
#include "config.h"

#include "analysis/parts.h"

/* By op: when the last of its inputs from other ranks had been computed, and when it could have
 * been there if no message had waited for another. */
typedef struct {
	gint64 *computed, *there;
} Inputs;

static void find_inputs(const PipesimTimeline *timeline, const Inputs *inputs)
{
	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *transfer = &timeline->transfers[i];
		const gint64 computed = timeline->end[transfer->from];
		const gint64 there = computed + transfer->end - transfer->start;
		gint64 *op_computed = &inputs->computed[transfer->to];
		gint64 *op_there = &inputs->there[transfer->to];

		*op_computed = MAX(*op_computed, computed);
		*op_there = MAX(*op_there, there);
	}
}

static void measure_rank(const PipesimProgram *program, const PipesimTimeline *timeline,
	const Inputs *inputs, guint rank, PipesimCommReport *report)
{
	gint64 free_at = 0;

	for (guint32 op = program->rank_begin[rank]; op < program->rank_begin[rank + 1]; op++) {
		const gint64 start = timeline->start[op];
		const gint64 computed = CLAMP(inputs->computed[op], free_at, start);
		const gint64 there = CLAMP(inputs->there[op], computed, start);

		report->moving[rank] += there - computed;
		report->waiting[rank] += start - there;
		free_at = timeline->end[op];
	}
}

/* The makespan of the same ops where only data dependencies are waited for; -1 with @error. */
static gint64 free_makespan(
	const PipesimStep *step, const PipesimNetwork *network, gint64 p2p, GError **error)
{
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(step->program);
	PipesimTimes times = *step->job.times;
	const PipesimJob job = {.order = order,
		.times = &times,
		.network = network,
		.traffic = PIPESIM_NO_QUEUES};
	g_autoptr(PipesimStep) free_step = NULL;

	times.p2p = p2p;
	free_step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, error);
	return free_step != NULL ? free_step->makespan : -1;
}

gboolean pipesim_report_comm(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimJob *job = &step->job;
	const gsize n_ops = step->program != NULL ? MAX(step->program->n_ops, 1u) : 0;
	PipesimCommReport *comm;
	g_autofree gint64 *computed = NULL, *there = NULL;
	gint64 moved, still;

	if (!pipesim_runtime_waits(job->runtime))
		return TRUE;
	computed = g_try_new0(gint64, n_ops);
	there = g_try_new0(gint64, n_ops);
	if (computed == NULL || there == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			step->program->n_ops);
	moved = free_makespan(step, job->network, job->times->p2p, error);
	if (moved < 0)
		return FALSE;
	still = free_makespan(step, NULL, 0, error);
	if (still < 0)
		return FALSE;
	comm = report->comm = g_new0(PipesimCommReport, 1);
	comm->runtime = job->runtime;
	comm->rules = step->makespan - moved;
	comm->moves = moved - still;
	comm->n_messages = step->timeline->n_transfers;
	comm->waiting = g_new0(gint64, report->ranks);
	comm->moving = g_new0(gint64, report->ranks);
	find_inputs(step->timeline, &(Inputs){computed, there});
	for (guint rank = 0; rank < report->ranks; rank++) {
		measure_rank(
			step->program, step->timeline, &(Inputs){computed, there}, rank, comm);
		comm->max_waiting = MAX(comm->max_waiting, comm->waiting[rank]);
	}
	return TRUE;
}
