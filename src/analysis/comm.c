/* What waiting for messages costs a step, and where ranks wait. */
#include "config.h"

#include "analysis/report.h"
#include "engine/dynamic.h"

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

/* The makespan of the same ops where only data dependencies are waited for. */
static gboolean run_free(const PipesimProgram *program, const PipesimTimes *times,
	const PipesimNetwork *network, gint64 p2p, gint64 *makespan, GError **error)
{
	PipesimTimes free_times = *times;
	g_autoptr(PipesimTimeline) timeline = NULL;

	free_times.p2p = p2p;
	if (network != NULL)
		timeline =
			pipesim_dynamic_run(program, times, network, PIPESIM_NO_QUEUES, error);
	else
		timeline = pipesim_engine_run(program, &free_times, error);
	if (timeline != NULL)
		*makespan = timeline->makespan;
	return timeline != NULL;
}

PipesimCommReport *pipesim_comm_report_new(const PipesimProgram *program,
	const PipesimTimeline *timeline, const PipesimTimes *times,
	const PipesimNetwork *network, PipesimComm comm, GError **error)
{
	const guint ranks = program->shape.ranks;
	g_autoptr(PipesimCommReport) report = g_new0(PipesimCommReport, 1);
	g_autofree gint64 *computed = g_try_new0(gint64, MAX(program->n_ops, 1u));
	g_autofree gint64 *there = g_try_new0(gint64, MAX(program->n_ops, 1u));
	const Inputs inputs = {computed, there};
	gint64 free_makespan, still_makespan;

	if (computed == NULL || there == NULL) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
		return NULL;
	}
	if (!run_free(program, times, network, times->p2p, &free_makespan, error) ||
		!run_free(program, times, NULL, 0, &still_makespan, error))
		return NULL;
	report->comm = comm;
	report->rules = timeline->makespan - free_makespan;
	report->moves = free_makespan - still_makespan;
	report->n_messages = timeline->n_transfers;
	report->waiting = g_new0(gint64, ranks);
	report->moving = g_new0(gint64, ranks);
	find_inputs(timeline, &inputs);
	for (guint rank = 0; rank < ranks; rank++) {
		measure_rank(program, timeline, &inputs, rank, report);
		report->max_waiting = MAX(report->max_waiting, report->waiting[rank]);
	}
	return g_steal_pointer(&report);
}

void pipesim_comm_report_free(PipesimCommReport *report)
{
	if (report == NULL)
		return;
	g_free(report->waiting);
	g_free(report->moving);
	g_free(report);
}
