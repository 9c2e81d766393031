#include "config.h"

#include "analysis/parts.h"

PipesimReport *pipesim_report_of(const PipesimSubject *subject, GError **error)
{
	g_autoptr(PipesimReport) report = g_new0(PipesimReport, 1);

	report->ranks = pipesim_subject_shape(subject)->ranks;
	report->makespan = subject->program != NULL ? subject->timeline->makespan
						    : subject->stream->makespan;
	pipesim_report_bubble(subject, report);
	pipesim_report_formulae(subject, report);
	pipesim_report_memory(subject, report);
	pipesim_report_links(subject, report);
	pipesim_report_bound(subject, report);
	if (subject->program != NULL && !pipesim_report_paths(subject, report, error))
		return NULL;
	return g_steal_pointer(&report);
}

PipesimReport *pipesim_report_new(const PipesimProgram *program,
	const PipesimTimeline *timeline, const PipesimSchedule *schedule,
	const PipesimCosts *costs, const PipesimTimes *times, gint64 memory_limit,
	GError **error)
{
	const PipesimSubject subject = {.program = program,
		.timeline = timeline,
		.schedule = schedule,
		.costs = costs,
		.times = times,
		.memory_limit = memory_limit};

	return pipesim_report_of(&subject, error);
}

void pipesim_report_free(PipesimReport *report)
{
	if (report == NULL)
		return;
	g_free(report->bubble.busy);
	g_free(report->bubble.idle);
	g_free(report->bubble.span_idle);
	g_free(report->held.peak);
	g_free(report->held.peak_until_input);
	g_free(report->held.peak_op);
	g_free(report->memory.peak);
	g_free(report->memory.until_input);
	g_free(report->memory.until_weight);
	g_clear_pointer(&report->published.reasons, g_ptr_array_unref);
	g_free(report->path.ops);
	pipesim_comm_report_free(report->comm);
	pipesim_link_report_free(report->links);
	g_free(report);
}
