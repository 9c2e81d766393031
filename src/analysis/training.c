/* The step as training sees it: with the reduction of gradients and the optimizer, in tokens
 * and FLOPs. */
#include "analysis/parts.h"

/* What follows the last op of @rank of @step: reductions and the optimizer, ns; of a described
 * model that has times. */
static gint64 tail_of(const PipesimStep *step, guint rank)
{
	const PipesimOrder *order = step->job.order;
	const PipesimShape *shape = &order->shape;
	gint64 tail = 0;

	for (guint chunk = 0; step->job.times->tail != NULL && chunk < shape->chunks; chunk++) {
		const guint stage =
			order->program != NULL
				? order->program->stage_of[(gsize)rank * shape->chunks + chunk]
				: pipesim_shape_stage(shape, rank, chunk);

		if (stage != PIPESIM_NO_OP)
			tail = pipesim_add_capped(tail, step->job.times->tail[stage]);
	}
	return tail;
}

gint64 *pipesim_step_between(const PipesimStep *step)
{
	const PipesimTimes *times = step->job.times;
	const guint ranks = step->job.order->shape.ranks;
	gint64 *between = g_new(gint64, ranks);

	for (guint rank = 0; rank < ranks; rank++)
		between[rank] = times->has_optimizer ? times->optimizer : tail_of(step, rank);
	return between;
}

gboolean pipesim_report_period(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	PipesimPeriodReport *period;

	if (!subject->step->job.times->post_validation)
		return TRUE;
	report->period = period = g_new0(PipesimPeriodReport, 1);
	period->between = pipesim_step_between(subject->step);
	for (guint rank = 0; rank < report->ranks; rank++)
		period->optimizer = MAX(period->optimizer, period->between[rank]);
	return pipesim_period_find(
		subject->step, period->between, subject->checks, &period->found, error);
}

void pipesim_report_training(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	const PipesimCutter *cutter = subject->costs->cutter;
	PipesimTrainingReport *training = &report->training;
	const double microbatches = pipesim_shape_whole(&step->job.order->shape);
	/* Stages that are reduced within the step: the last of them ends it, behind the last
	 * op. */
	const gboolean reduced = step->job.times->reduce != NULL;

	training->flops = training->mfu = (double)NAN;
	if (cutter == NULL || step->job.times->tail == NULL)
		return;
	for (guint rank = 0; rank < report->ranks; rank++) {
		const gint64 tail = tail_of(step, rank);

		training->tail = MAX(training->tail, tail);
		training->step = MAX(training->step,
			pipesim_add_capped(
				reduced ? report->makespan : step->last_end[rank], tail));
	}
	if (report->period != NULL) {
		training->tail = report->period->optimizer;
		training->step = report->period->found.time;
	}
	if (training->step == 0)
		return;
	double seconds = (double)training->step / 1e9;
	training->tokens = (gint64)MIN(rint(cutter->tokens * microbatches / seconds), 9e18);
	training->flops = cutter->model_flops * microbatches / report->ranks / seconds;
	if (cutter->peak > 0)
		training->mfu = training->flops / cutter->peak;
}
