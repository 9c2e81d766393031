#include "config.h"

#include "analysis/parts.h"

static void fill_bubble(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	__extension__ __int128 total = 0;
	gint64 den;

	report->bubble.busy = g_new(gint64, report->ranks);
	report->bubble.idle = g_new(gint64, report->ranks);
	report->bubble.span_idle = g_new(gint64, report->ranks);
	for (guint rank = 0; rank < report->ranks; rank++) {
		const gint64 span = step->last_end[rank] - step->first_start[rank];

		report->bubble.busy[rank] = step->busy[rank];
		report->bubble.idle[rank] = report->makespan - step->busy[rank];
		report->bubble.span_idle[rank] = span - step->busy[rank];
		report->bubble.max_idle =
			MAX(report->bubble.max_idle, report->bubble.idle[rank]);
		report->bubble.max_span_idle =
			MAX(report->bubble.max_span_idle, report->bubble.span_idle[rank]);
		total += report->bubble.idle[rank];
	}
	/* Exact, but for steps of years over thousands of ranks. */
	if (!__builtin_mul_overflow(report->makespan, (gint64)report->ranks, &den))
		report->bubble.ratio = (PipesimFraction){(gint64)total, MAX(den, 1)};
	else
		report->bubble.ratio =
			(PipesimFraction){(gint64)(total / report->ranks), report->makespan};
}

PipesimReport *pipesim_report_new(const PipesimSubject *subject, GError **error)
{
	g_autoptr(PipesimReport) report = g_new0(PipesimReport, 1);

	report->ranks = subject->step->job.order->shape.ranks;
	report->makespan = subject->step->makespan;
	fill_bubble(subject, report);
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

static void free_comm(PipesimCommReport *comm)
{
	g_free(comm->waiting);
	g_free(comm->moving);
	g_free(comm->resident);
	g_free(comm->beside);
	g_free(comm);
}

static void free_links(PipesimLinkReport *links)
{
	g_free(links->link);
	g_free(links);
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
	for (guint rank = 0; report->held.peak_name != NULL && rank < report->ranks; rank++)
		g_free(report->held.peak_name[rank]);
	g_free(report->held.peak_name);
	g_free(report->memory.peak);
	g_free(report->memory.besides);
	g_free(report->memory.messages);
	g_free(report->memory.gathered);
	g_free(report->memory.until_input);
	g_free(report->memory.until_weight);
	g_free(report->memory.parameters);
	g_free(report->memory.between);
	g_free(report->memory.transient);
	g_free(report->memory.between_of);
	g_free(report->memory.step_of);
	g_free(report->memory.fullest);
	g_free(report->memory.over);
	g_free(report->memory.transient_of);
	g_free(report->memory.forward_transient_of);
	g_free(report->memory.weight_transient_of);
	g_free(report->memory.absent);
	g_free(report->memory.input_of);
	g_free(report->memory.weight_of);
	g_clear_pointer(&report->published.reasons, g_ptr_array_unref);
	g_free(report->path.ops);
	g_clear_pointer(&report->comm, free_comm);
	g_clear_pointer(&report->links, free_links);
	g_free(report->power);
	g_free(report);
}
