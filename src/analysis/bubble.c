#include "config.h"

#include "analysis/parts.h"

static void measure_ops(const PipesimSubject *subject, guint rank, gint64 *busy, gint64 *span)
{
	const guint32 begin = subject->program->rank_begin[rank];
	const guint32 end = subject->program->rank_begin[rank + 1];
	const gint64 *start = subject->timeline->start;

	*busy = *span = 0;
	for (guint32 op = begin; op < end; op++)
		*busy += subject->timeline->end[op] - start[op];
	if (end > begin)
		*span = subject->timeline->end[end - 1] - start[begin];
}

static void measure_rank(const PipesimSubject *subject, guint rank, PipesimReport *report)
{
	const PipesimStream *stream = subject->stream;
	gint64 busy, span;

	if (subject->program != NULL) {
		measure_ops(subject, rank, &busy, &span);
	} else {
		busy = stream->busy[rank];
		span = stream->last_end[rank] - stream->first_start[rank];
	}
	report->bubble.busy[rank] = busy;
	report->bubble.idle[rank] = report->makespan - busy;
	report->bubble.span_idle[rank] = span - busy;
}

void pipesim_report_bubble(const PipesimSubject *subject, PipesimReport *report)
{
	__extension__ __int128 total = 0;
	gint64 den;

	report->bubble.busy = g_new(gint64, report->ranks);
	report->bubble.idle = g_new(gint64, report->ranks);
	report->bubble.span_idle = g_new(gint64, report->ranks);
	for (guint rank = 0; rank < report->ranks; rank++) {
		measure_rank(subject, rank, report);
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
