/* Costs as files that people can read and edit; docs/formats.md has every group, key and
 * column. */
#pragma once
#include "model/costs.h"

/** pipesim_costs_write: @costs appended to @out; reading it back gives the same costs. */
void pipesim_costs_write(const PipesimCosts *costs, GString *out);

/** pipesim_costs_write_stages: the stage times of @costs, which has them, as
 * pipesim_costs_read_stages() reads them, appended to @out. */
void pipesim_costs_write_stages(const PipesimCosts *costs, GString *out);

/** pipesim_costs_read_ini: the costs that @taken says; pipesim_costs_read() opens the file.
 * @taken: (transfer full): a costs file, or NULL with @error set
 * F, I and W must be there; what else is missing follows: B = I + W, FB = F + B, the rest
 * unknown. A group or key that is not of the format is refused, so that a misspelt one is not
 * passed over.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE ("path:line:column: [group] key:
 * ..."). */
PipesimCosts *pipesim_costs_read_ini(PipesimIni *taken, GError **error);

/* Stages that differ, as a file: embedding, head and loss make them longer, a first stage
 * without input gradient shorter. A line a part of the model, in order:
 *
 *   stage,F,I,W
 *   0,2.70,0,6.1
 *   1,2.72,3.1,3.2
 *
 * A column B may follow (else B = I + W). Times as in --times: bare numbers are ms. */
/** pipesim_costs_read_stages: takes the lines of @taken as equal parts of the model, and their
 * averages as the times of one of @ranks shares of it. FB stays in the proportion to F + B that
 * @costs has.
 * @taken: (transfer full): such a file, or NULL with @error set
 * Returns: FALSE with PIPESIM_ERROR_PARSE ("path:line:column: ...") or PIPESIM_ERROR_LIMIT;
 * @costs is then unchanged. */
gboolean pipesim_costs_read_stages(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error);

/* What stages hold, as a file: the same with sizes, bytes or 1.5GB; activations are those of
 * one micro-batch.
 *
 *   stage,until_input,until_weight,parameters
 *   0,0.5GB,1GB,24GB
 *   1,0.5GB,1GB,16GB */
/** pipesim_costs_read_stage_bytes: takes the lines of @taken as bytes of equal parts of the
 * model, and their averages as those of one of @ranks shares of it. @taken and errors as
 * above. */
gboolean pipesim_costs_read_stage_bytes(
	PipesimCosts *costs, PipesimInput *taken, guint ranks, GError **error);

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
