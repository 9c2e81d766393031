#include "config.h"

#include "analysis/parts.h"

void pipesim_report_bubble(const PipesimSubject *subject, PipesimReport *report)
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
