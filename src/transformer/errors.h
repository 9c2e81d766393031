/* How far steps that are computed of a description were off where somebody measured them: the mean of the absolute errors of
 * published steps, each predicted from a fit without its model (docs/accuracy.md, docs/plan.md). One table for all that say so;
 * python3 tests/described.py FOLDER --errors src/transformer/errors.h writes what is of described steps. */
#pragma once
#include "transformer/training.h"

/* Shares of the step: dense; with experts; with experts where neither graphs nor the dispatcher is told. In BF16, in FP8. */
static const double pipesim_described_error[3][2] = {
	{0.021, 0.035}, {0.079, 0.069}, {0.103, 0.088}};

/* The same of PyTorch's own modules: torchtitan's steps, which no rate was fitted to; none were of experts. */
static const double pipesim_eager_error[2] = {0.080, 0.121};

/* Steps whose ops were measured: of the captures of docs/accuracy.md the largest mean; where experts are, of rows whose single
 * operations were. */
static const double pipesim_measured_error[2] = {0.042, 0.100};

/** pipesim_step_error: of a model with @experts or not, trained so, whose ops were @measured or described. */
static inline double pipesim_step_error(
	const PipesimTraining *training, gboolean experts, gboolean measured)
{
	const gboolean untold =
		training->guessed && training->dispatcher == PIPESIM_DISPATCHER_AUTO;

	if (measured)
		return pipesim_measured_error[experts != 0];
	return training->eager ? pipesim_eager_error[training->fp8 != 0]
			       : pipesim_described_error[experts ? 1 + (untold != 0) : 0]
							[training->fp8 != 0];
}
