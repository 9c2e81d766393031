/* The step as training sees it: with the reduction of gradients and the optimizer, in tokens
 * and FLOPs. */
#include "config.h"

#include "analysis/parts.h"
#include <math.h>

void pipesim_report_training(const PipesimSubject *subject, PipesimReport *report)
{
	const PipesimStep *step = subject->step;
	const PipesimOrder *order = step->job.order;
	const PipesimShape *shape = &order->shape;
	const PipesimCutter *cutter = subject->costs->cutter;
	PipesimTrainingReport *training = &report->training;
	const double microbatches = pipesim_shape_whole(shape);
	/* Stages that are reduced within the step: the last of them ends it, behind the last
	 * op. */
	const gboolean reduced = step->job.times->reduce != NULL;
	double seconds;

	training->flops = training->mfu = (double)NAN;
	if (cutter == NULL || step->job.times->tail == NULL)
		return;
	for (guint rank = 0; rank < report->ranks; rank++) {
		gint64 tail = 0; /* what follows its last op */

		for (guint chunk = 0; chunk < shape->chunks; chunk++) {
			const guint stage =
				order->program != NULL
					? order->program->stage_of[(gsize)rank * shape->chunks +
								   chunk]
					: pipesim_shape_stage(shape, rank, chunk);

			if (stage != PIPESIM_NO_OP)
				tail = pipesim_add_capped(tail, step->job.times->tail[stage]);
		}
		training->tail = MAX(training->tail, tail);
		training->step = MAX(training->step,
			pipesim_add_capped(
				reduced ? report->makespan : step->last_end[rank], tail));
	}
	if (training->step == 0)
		return;
	seconds = (double)training->step / 1e9;
	training->tokens = (gint64)MIN(rint(cutter->tokens * microbatches / seconds), 9e18);
	training->flops = cutter->model_flops * microbatches / report->ranks / seconds;
	if (cutter->peak > 0)
		training->mfu = training->flops / cutter->peak;
}
