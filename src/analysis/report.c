#include "analysis/parts.h"

static void fill_bubble(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	const gint64 whole = pipesim_report_step(report);
	__extension__ __int128 total = 0;
	gint64 den;

	report->bubble.busy = g_new(gint64, report->ranks);
	report->bubble.idle = g_new(gint64, report->ranks);
	report->bubble.span_idle = g_new(gint64, report->ranks);
	for (guint rank = 0; rank < report->ranks; rank++) {
		const gint64 span = step->last_end[rank] - step->first_start[rank];

		report->bubble.busy[rank] = step->busy[rank];
		report->bubble.idle[rank] = whole - step->busy[rank];
		if (report->period != NULL)
			report->bubble.idle[rank] -= report->period->between[rank];
		report->bubble.span_idle[rank] = span - step->busy[rank];
		report->bubble.max_idle =
			MAX(report->bubble.max_idle, report->bubble.idle[rank]);
		report->bubble.max_span_idle =
			MAX(report->bubble.max_span_idle, report->bubble.span_idle[rank]);
		total += report->bubble.idle[rank];
	}
	/* Exact, but for steps of years over thousands of ranks. */
	if (!__builtin_mul_overflow(whole, (gint64)report->ranks, &den))
		report->bubble.ratio = (PipesimFraction){(gint64)total, MAX(den, 1)};
	else
		report->bubble.ratio =
			(PipesimFraction){(gint64)(total / report->ranks), whole};
}

static void fill_exposed(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimTimeline *timeline = subject->step->timeline;

	if (timeline == NULL || timeline->exposed == NULL ||
		pipesim_own_copy(subject->step->job.times->own) == 0)
		return;
	report->exposed =
		g_memdup2(timeline->exposed, report->ranks * sizeof *timeline->exposed);
	for (guint rank = 0; rank < report->ranks; rank++)
		report->max_exposed = MAX(report->max_exposed, report->exposed[rank]);
}

PipesimReport *pipesim_report_new(const PipesimSubject *subject, GError **error)
{
	g_autoptr(PipesimReport) report = g_new0(PipesimReport, 1);

	report->ranks = subject->step->job.order->shape.ranks;
	report->makespan = subject->step->makespan;
	if (!pipesim_report_period(subject, report, error))
		return NULL;
	fill_bubble(subject, report);
	fill_exposed(subject, report);
	pipesim_report_formulae(subject, report);
	if (!pipesim_report_memory(subject, report, error))
		return NULL;
	pipesim_report_training(subject, report);
	if (!pipesim_report_links(subject, report, error) ||
		!pipesim_report_comm(subject, report, error) ||
		!pipesim_report_power(subject, report, error) ||
		(subject->critical && !pipesim_report_critical(subject, report, error)))
		return NULL;
	return g_steal_pointer(&report);
}

PIPESIM_FREES(PipesimReport, pipesim_report_free, report)
{
	for (guint rank = 0; report->held.peak_name != NULL && rank < report->ranks; rank++)
		g_free(report->held.peak_name[rank]);
	for (guint sort = 0; sort < PIPESIM_N_STAGE_BYTES; sort++)
		g_free(report->memory.of[sort]);
	if (report->comm != NULL)
		pipesim_free_all(report->comm->waiting, report->comm->moving,
			report->comm->resident, report->comm->beside);
	if (report->links != NULL)
		g_free(report->links->link);
	g_clear_pointer(&report->published.reasons, g_ptr_array_unref);
	pipesim_free_all(report->bubble.busy, report->bubble.idle, report->bubble.span_idle,
		report->held.peak, report->held.peak_until_input, report->held.host,
		report->memory.host, report->memory.tokens, report->held.peak_op,
		report->held.peak_name, report->memory.peak, report->memory.besides,
		report->memory.parameters, report->memory.fullest, report->memory.over,
		report->memory.absent, report->path.ops, report->comm, report->links,
		report->power, report->exposed,
		report->period != NULL ? report->period->between : NULL, report->period,
		report);
}
