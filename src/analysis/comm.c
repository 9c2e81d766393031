/* What waiting for messages costs a step, and where ranks wait. */
#include "analysis/parts.h"
#include "analysis/stays.h"

/* Where ranks wait. */
static gboolean measure_ranks(
	const PipesimStep *step, PipesimCommReport *report, GError **error)
{
	const PipesimProgram *program = step->program;
	const PipesimTimeline *timeline = step->timeline;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	/* By op: when the last of its inputs from other ranks had been computed, and when it
	 * could have been there if no message had waited for another. */
	gint64 *computed_at = pipesim_arena_array(arena, gint64, program->n_ops);
	gint64 *there_at = pipesim_arena_array(arena, gint64, program->n_ops);

	if (!pipesim_arena_check(arena, error, "%u ops", program->n_ops))
		return FALSE;
	for (guint32 i = 0; i < timeline->n_transfers; i++) {
		const PipesimTransfer *transfer = &timeline->transfers[i];
		const gint64 computed = timeline->end[transfer->from];
		const gint64 there = computed + transfer->end - transfer->start;

		computed_at[transfer->to] = MAX(computed_at[transfer->to], computed);
		there_at[transfer->to] = MAX(there_at[transfer->to], there);
	}
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		gint64 free_at = 0;

		pipesim_each_of (op, program->rank_begin, rank) {
			const gint64 start = timeline->start[op];
			const gint64 computed = CLAMP(computed_at[op], free_at, start);
			const gint64 there = CLAMP(there_at[op], computed, start);

			report->moving[rank] += there - computed;
			report->waiting[rank] += start - there;
			free_at = timeline->end[op];
		}
		report->max_waiting = MAX(report->max_waiting, report->waiting[rank]);
	}
	return TRUE;
}

/* How long receives wait on ranks, and ops run beside them. */
static void measure_contention(const PipesimStep *step, guint ranks, PipesimCommReport *report)
{
	for (guint rank = 0; rank < ranks; rank++) {
		g_autoptr(GArray) stretches = pipesim_message_stays(step, rank);

		pipesim_each (const PipesimStay, stretch, stretches) {
			const gint64 time = stretch->end - stretch->begin;

			report->resident[rank] += time;
			if (stretch->op != PIPESIM_NO_OP)
				report->beside[rank] += time;
		}
		report->max_beside = MAX(report->max_beside, report->beside[rank]);
	}
}

/* The makespan of the same ops where only data dependencies are waited for; -1 with @error. */
static gint64 free_makespan(
	const PipesimStep *step, const PipesimNetwork *network, gint64 p2p, GError **error)
{
	/* Loops are leapt over. */
	g_autoptr(PipesimOrder) order = step->program == step->whole
						? pipesim_order_ref(pipesim_step_order(step))
						: pipesim_order_of_program(step->program);
	PipesimTimes times = *step->job.times;
	const PipesimJob job = {.order = order,
		.times = &times,
		.network = network,
		.traffic = PIPESIM_NO_QUEUES,
		.first_step = step->job.first_step,
		.pause = step->job.pause};

	times.p2p = p2p;
	g_autoptr(PipesimStep) free_step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, error);
	return free_step != NULL ? free_step->makespan : -1;
}

/* What gathering and reducing stages costs the step; -1 with @error. */
static gint64 sharding_cost(const PipesimStep *step, GError **error)
{
	PipesimTimes times = *step->job.times;
	PipesimJob job = step->job;

	if (times.unshard == NULL && times.reduce == NULL)
		return 0;
	times.unshard = times.reduce = NULL;
	job.times = &times;
	g_autoptr(PipesimStep) without = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, error);
	return without != NULL ? MAX(step->makespan - without->makespan, 0) : -1;
}

gboolean pipesim_report_comm(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimJob *job = &step->job;
	PipesimCommReport *comm;
	gint64 moved, still, sharding;

	if (!pipesim_runtime_waits(job->runtime) || (step->timeline == NULL && !subject->rules))
		return TRUE;
	moved = still = step->free > 0
				? step->free
				: free_makespan(step, job->network, job->times->p2p, error);
	if (moved >= 0 && (job->network != NULL || job->times->p2p > 0))
		still = free_makespan(step, NULL, 0, error);
	if (moved < 0 || still < 0 || (sharding = sharding_cost(step, error)) < 0)
		return FALSE;
	comm = report->comm = g_new0(PipesimCommReport, 1);
	comm->runtime = job->runtime;
	comm->sharding = sharding;
	comm->rules = step->makespan - sharding - moved;
	comm->moves = moved - still;
	if (step->timeline == NULL)
		return TRUE;
	comm->n_messages = step->timeline->n_transfers;
	comm->waiting = g_new0(gint64, report->ranks);
	comm->moving = g_new0(gint64, report->ranks);
	comm->resident = g_new0(gint64, report->ranks);
	comm->beside = g_new0(gint64, report->ranks);
	measure_contention(step, report->ranks, comm);
	return measure_ranks(step, comm, error);
}
