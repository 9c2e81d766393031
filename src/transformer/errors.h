/* How far steps that are computed of a description were off where somebody measured them: the mean of the absolute errors of
 * published steps, each predicted from a fit without its model (docs/accuracy.md, docs/plan.md). One table for all that say so. */
#pragma once
#include <glib.h>

/* Shares of the step, by whether a model has experts, and whether linear layers are in FP8. */
static const double pipesim_described_error[2][2] = {{0.024, 0.033}, {0.138, 0.194}};

/* The same of PyTorch's own modules: torchtitan's steps, which no rate was fitted to; none were of experts. */
static const double pipesim_eager_error[2] = {0.281, 0.391};

/* Steps whose ops were measured: of the captures of docs/accuracy.md the largest mean; where experts are, of rows whose single
 * operations were. */
static const double pipesim_measured_error[2] = {0.042, 0.088};

/** pipesim_step_error: of a model with @experts or not, in FP8 or not, of PyTorch's own modules (@eager) or not, whose ops were
 * @measured or described. */
static inline double pipesim_step_error(
	gboolean experts, gboolean fp8, gboolean eager, gboolean measured)
{
	if (measured)
		return pipesim_measured_error[experts != 0];
	return eager ? pipesim_eager_error[fp8 != 0]
		     : pipesim_described_error[experts != 0][fp8 != 0];
}
