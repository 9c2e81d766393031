/* How far steps that are computed of a description were off where somebody measured them: the absolute errors of published
 * steps, each predicted from a fit without its model (docs/accuracy.md, docs/plan.md). One table for all that say so; python3
 * tests/described.py FOLDER --errors src/transformer/errors.h writes what is of described steps. */
#pragma once
#include "transformer/training.h"

/* Shares of the step. */
typedef struct {
	double mean, most; /* nine of ten were within most */
} PipesimStepError;

/* Dense; with experts; with experts where neither graphs nor the dispatcher is told. In BF16; in FP8, which FP4 goes by. */
static const PipesimStepError pipesim_described_error[3][2] = {{{0.021, 0.038}, {0.035, 0.070}},
	{{0.070, 0.160}, {0.069, 0.154}}, {{0.095, 0.284}, {0.093, 0.205}}};

/* The same of PyTorch's own modules: torchtitan's steps, which no rate was fitted to. With experts single layers, one
 * after the other, were so far off, on five hosts (docs/accuracy.md). */
static const PipesimStepError pipesim_eager_error[2] = {{0.063, 0.141}, {0.122, 0.309}};
static const PipesimStepError pipesim_eager_experts_error = {0.215, 0.429};

/* torchtitan's steps with experts, of four H200s: ten runs (docs/accuracy.md, traces/torchtitan-h200x4). */
static const PipesimStepError pipesim_titan_experts_error = {0.167, 0.285};

/* Where no step of the GPU is known: dense steps in BF16 with the shares that other GPUs reach, which are the farthest off. */
static const PipesimStepError pipesim_unknown_error = {0.238, 0.401};

/* Steps whose ops were measured: of the captures of docs/accuracy.md the largest mean; where experts are, of rows whose single
 * operations were. */
static const double pipesim_measured_error[2] = {0.042, 0.100};

/** pipesim_experts_untold: whether nobody says how a model's experts run. */
static inline gboolean pipesim_experts_untold(const PipesimTraining *training)
{
	return training->guessed && training->dispatcher == PIPESIM_DISPATCHER_AUTO;
}

/** pipesim_described_step_error: of a step of a model with @experts or not, trained so, whose ops are described. */
static inline PipesimStepError pipesim_described_step_error(
	const PipesimTraining *training, gboolean experts)
{
	if (training->untried)
		return pipesim_unknown_error;
	if (training->eager)
		return experts ? training->titan ? pipesim_titan_experts_error
						 : pipesim_eager_experts_error
			       : pipesim_eager_error[training->fp8 != 0];
	return pipesim_described_error[experts ? 1 + pipesim_experts_untold(training) : 0]
				      [training->fp8 != 0];
}

/** pipesim_step_error: the mean of one whose ops were @measured or described. */
static inline double pipesim_step_error(
	const PipesimTraining *training, gboolean experts, gboolean measured)
{
	return measured ? pipesim_measured_error[experts != 0]
			: pipesim_described_step_error(training, experts).mean;
}
