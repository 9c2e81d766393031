/* Times of single micro-batches, whose sequences differ in length. */
#pragma once
#include "base/input.h"
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

void pipesim_op_times_unref(PipesimOpTimes *times);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimOpTimes, pipesim_op_times_unref)

/**
 * pipesim_op_times_read: takes what @taken says of each micro-batch. It has one line a part of
 * the model and micro-batch, in any order, for equal parts of the model as in stage times, or
 * one line a micro-batch:
 *
 *   stage,microbatch,F,I,W        microbatch,length
 *   0,0,2.70,3.0,3.1              0,4096
 *   0,1,5.81,6.2,6.4              1,8192
 *
 * A column B may follow (else B = I + W). Times of parts become the times of stages of @costs,
 * by their averages over micro-batches; F, I, W, B and FB of a micro-batch of a length are
 * those of
 * @costs times the length over the average length.
 * @taken: (transfer full): such a file, or NULL with @error set
 * @ranks: that share the model
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE ("path:line:column: ...") or PIPESIM_ERROR_LIMIT;
 * @costs is then unchanged.
 */
gboolean pipesim_op_times_read(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error);
