/* A file of times of single micro-batches. */
#pragma once
#include "base/input.h"
#include "model/costs.h"

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
