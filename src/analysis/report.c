#include "config.h"

#include "analysis/parts.h"

PipesimReport *pipesim_report_new(const PipesimProgram *program,
	const PipesimTimeline *timeline, const PipesimSchedule *schedule,
	const PipesimCosts *costs, const PipesimTimes *times, gint64 memory_limit,
	GError **error)
{
	const PipesimSubject subject = {
		program, timeline, schedule, costs, times, memory_limit};
	g_autoptr(PipesimReport) report = g_new0(PipesimReport, 1);

	report->ranks = program->shape.ranks;
	report->makespan = timeline->makespan;
	pipesim_report_bubble(&subject, report);
	pipesim_report_formulae(&subject, report);
	pipesim_report_memory(&subject, report);
	if (!pipesim_report_paths(&subject, report, error))
		return NULL;
	return g_steal_pointer(&report);
}

void pipesim_report_free(PipesimReport *report)
{
	if (report == NULL)
		return;
	g_free(report->busy);
	g_free(report->idle);
	g_free(report->span_idle);
	g_free(report->peak);
	g_free(report->peak_until_input);
	g_free(report->peak_op);
	g_free(report->memory);
	g_free(report->memory_until_input);
	g_free(report->memory_until_weight);
	g_clear_pointer(&report->reasons, g_ptr_array_unref);
	g_free(report->critical);
	pipesim_comm_report_free(report->comm);
	g_free(report);
}
