#include "diagnosis/measured.h"

/* Adds a run of the executed order whose ops ran at these times. */
static gboolean add_run(PipesimComparison *comparison, const char *name,
	const PipesimDiagnosis *diagnosis, const gint64 *start, const gint64 *end,
	GError **error)
{
	PipesimRun *run = pipesim_run_program(
		name, diagnosis->program, NULL, &comparison->scenario, diagnosis->costs);
	PipesimSubject subject = {.costs = diagnosis->costs};
	PipesimTimeline *timeline;

	g_ptr_array_add(comparison->runs, run);
	if (!pipesim_run_check(run, error))
		return FALSE;
	timeline = run->step->timeline;
	memcpy(timeline->start, start, timeline->n_ops * sizeof *start);
	memcpy(timeline->end, end, timeline->n_ops * sizeof *end);
	pipesim_step_measure(run->step);
	timeline->makespan = 0;
	for (guint rank = 0; rank < run->shape.ranks; rank++)
		timeline->makespan = MAX(timeline->makespan, run->step->last_end[rank]);
	run->step->makespan = timeline->makespan;
	subject.step = run->step;
	pipesim_report_free(run->report);
	run->report = pipesim_report_new(&subject, error);
	return run->report != NULL;
}

static void add_lost(GArray *lost, guint rank, const char *cause, gint64 start, gint64 ns)
{
	if (ns > 0)
		g_array_append_val(lost, ((PipesimLost){rank, cause, start, start + ns}));
}

/* What ranks lost: before each op the time in which it had no input, then what messages and the host
 * took, and at its end what it took longer than usual. */
static GArray *list_lost(const PipesimDiagnosis *diagnosis)
{
	const guint32 *begin = diagnosis->program->rank_begin;
	GArray *lost = g_array_new(FALSE, FALSE, sizeof(PipesimLost));

	for (guint rank = 0; rank < diagnosis->program->shape.ranks; rank++) {
		gint64 last = 0;

		pipesim_each_of (op, begin, rank) {
			const gint64 start = diagnosis->measured_start[op];
			const gint64 end = diagnosis->measured_end[op];
			const gint64 beside =
				MIN(diagnosis->pipeline->ops[op].beside, end - start);
			const gint64 messages = MIN(diagnosis->lost[1][op], start - last);
			const gint64 host =
				CLAMP(diagnosis->lost[3][op], 0, start - last - messages);
			const gint64 longer =
				CLAMP(diagnosis->lost[0][op], 0, end - start - beside);
			const gint64 peers =
				CLAMP(diagnosis->lost[2][op], 0, end - start - beside - longer);

			add_lost(lost, rank, "no input", last, start - last - messages - host);
			add_lost(lost, rank, "messages", start - messages - host, messages);
			add_lost(lost, rank, "host", start - host, host);
			add_lost(lost, rank, "peers", end - longer - beside - peers, peers);
			add_lost(lost, rank, "contention", end - longer - beside, beside);
			add_lost(lost, rank, "ops", end - longer, longer);
			last = end;
		}
		add_lost(lost, rank, "no input", last, diagnosis->pipeline_ns - last);
	}
	return lost;
}

PipesimComparison *pipesim_measured_comparison(
	const PipesimDiagnosis *diagnosis, GError **error)
{
	const PipesimScenario scenario = {.ranks = diagnosis->program->shape.ranks,
		.microbatches = diagnosis->program->shape.microbatches,
		.keep = PIPESIM_KEEP_OPS,
		.seed = 1};
	g_autoptr(PipesimComparison) comparison =
		pipesim_comparison_new(&scenario, diagnosis->costs);

	if (!add_run(comparison, "measured", diagnosis, diagnosis->measured_start,
		    diagnosis->measured_end, error) ||
		!add_run(comparison, "simulated", diagnosis, diagnosis->simulated_start,
			diagnosis->simulated_end, error))
		return NULL;
	((PipesimRun *)g_ptr_array_index(comparison->runs, 0))->lost = list_lost(diagnosis);
	return g_steal_pointer(&comparison);
}
