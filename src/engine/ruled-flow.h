/* Figures under PyTorch's rules as its rounds go by, without lists. */
#pragma once
#include "engine/step.h"

/** pipesim_ruled_flow: figures of @step, in which nothing varies with what runs. What rounds tell stands behind all
 * that it waits for (runtime/rounds.h), so that it is known when it is done as soon as it is told.
 * @verbs: by the loops of its order, where it has any; else op by op
 * @leaps: only where what repeats can be left out
 * @done: (out): FALSE where its rules, or its times, are to be run by lists
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_ruled_flow(
	PipesimStep *step, gboolean verbs, gboolean leaps, gboolean *done, GError **error);
