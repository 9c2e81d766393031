/* Times of single micro-batches, whose sequences differ in length. */
#pragma once
#include "model/costs.h"

/* Most times of stages and micro-batches that a run may have. */
#define PIPESIM_MAX_OP_TIMES (G_GUINT64_CONSTANT(1) << 26)

struct _PipesimOpTimes {
	gint references;
	guint microbatches;
	guint parts; /* of the model, equal ones; 0 = lengths */
	/* F, I, W, B of a part: [(part * microbatches + microbatch) * PIPESIM_FB + kind], ns */
	gint64 *time;
	PipesimFraction
		*length; /* of each micro-batch; what they are against is their average */
};

/** pipesim_op_times_fit: whether @times are of as many micro-batches as a step of @shape has,
 * and none of them runs in parts. FALSE with PIPESIM_ERROR_CONSTRAINT or
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_op_times_fit(
	const PipesimOpTimes *times, const PipesimShape *shape, GError **error);

/** pipesim_op_times_fill: @out->each, of stages whose average times @out has; of times that
 * fit. */
void pipesim_op_times_fill(const PipesimOpTimes *times, PipesimTimes *out);

PipesimOpTimes *pipesim_op_times_ref(PipesimOpTimes *times);
void pipesim_op_times_unref(PipesimOpTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimOpTimes, pipesim_op_times_unref)
