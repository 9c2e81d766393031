/* The published formulae beside the simulation, and why the two differ. */
#include "analysis/parts.h"

#define add(report, ...) pipesim_lines_say((report)->published.reasons, __VA_ARGS__)

static void explain_difference(const PipesimSubject *subject, PipesimReport *report)
{
	const gint64 p2p = subject->step->job.times->p2p;
	const PipesimTimeline *timeline = subject->step->timeline;
	const PipesimCondition *condition = subject->schedule->bubble.conditions;

	if (subject->schedule->bubble.is_span && report->period == NULL)
		add(report,
			"the formula gives the span bubble (ranks start the next step without "
			"a barrier); simulated span bubble: %s ms",
			pipesim_ms(report->bubble.max_span_idle));
	if (subject->schedule->bubble.is_span && report->period == NULL &&
		report->bubble.max_span_idle == report->published.bubble)
		return; /* nothing else to explain */
	if (!subject->schedule->bubble.is_span && report->period != NULL)
		add(report, "the formula is of a step that a barrier ends; simulated is one "
			    "from start to start without");
	if (subject->schedule->bubble.approximate != NULL)
		add(report, "%s", subject->schedule->bubble.approximate);
	for (; condition->rule != NULL; condition++)
		if (!condition->holds(&subject->step->job.order->shape, subject->costs->time))
			add(report, "%s does not hold%s%s", condition->rule,
				condition->consequence != NULL ? ": " : "",
				condition->consequence != NULL ? condition->consequence : "");
	if (p2p > 0 && report->ranks > 1)
		add(report,
			"P2P: the formula ignores communication; the simulation adds %s ms per "
			"hop",
			pipesim_ms(p2p));
	if (timeline != NULL ? timeline->transfers != NULL &&
				       (timeline->traffic == NULL || timeline->cause != NULL ||
					       timeline->traffic->waited > 0)
			     : pipesim_runtime_waits(subject->step->job.runtime))
		add(report, "the formula assumes that messages never block each other; in this "
			    "run they do");
	if (subject->step->job.times->each != NULL && subject->costs->op_times == NULL)
		add(report, "slices differ in time; the formula assumes equal ones");
	else if (subject->step->job.times->each != NULL)
		add(report, "micro-batches differ in length; the formula assumes equal ones");
	else if (!subject->step->job.times->equal_stages)
		add(report, "stages differ in length; the formula assumes equal stages");
	if (subject->step->job.times->power != NULL ||
		subject->step->job.times->contention != NULL)
		add(report, "ops take another time after idle time and beside messages "
			    "(--power off has the times of the formula)");
	if (subject->step->job.times->launch[PIPESIM_F] != NULL)
		add(report, "hosts take time to launch ops (--cpu-launch off: none)");
	if (subject->step->job.times->slow != NULL)
		add(report, "ranks differ in speed; the formula assumes equal ranks");
	if (report->published.reasons->len == 0)
		add(report, "every stated condition of the formula holds, but it does not "
			    "describe this order at these times");
}

void pipesim_report_formulae(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimSchedule *schedule = subject->schedule;
	const PipesimShape *shape = &subject->step->job.order->shape;
	const gint64 *share = subject->costs->time;

	report->published.reasons = g_ptr_array_new_with_free_func(g_free);
	/* Those of orders with copies, or of other groups, are not published. */
	if (schedule != NULL && (pipesim_shape_offloads(shape) || shape->recompute > 0 ||
					(schedule->slot != NULL && shape->group > 0)))
		schedule = NULL;
	if (schedule != NULL && schedule->bubble.text != NULL) {
		report->published.has_bubble = TRUE;
		report->published.bubble =
			schedule->bubble.value(shape, subject->step->job.times->average);
		report->published.difference =
			report->bubble.max_idle - report->published.bubble;
		if (report->published.difference != 0)
			explain_difference(subject, report);
		if (schedule->bubble.uneven != NULL &&
			pipesim_any(rank, report->ranks,
				report->bubble.idle[rank] != report->bubble.idle[0]) &&
			share[PIPESIM_FB] < share[PIPESIM_F] + share[PIPESIM_B])
			add(report, "%s", schedule->bubble.uneven);
	}
	if (schedule != NULL && schedule->activations.text != NULL) {
		report->published.has_activations = TRUE;
		report->published.activations = schedule->activations.value(shape);
	}
}
