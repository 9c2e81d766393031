/* What sequences take by their length: the kernels of a model at several lengths, as c + b x + a x^2. */
#pragma once
#include "model/slice-plan.h"
#include "transformer/kernels.h"

/** pipesim_part_sequence: ns of one @part over one sequence of x tokens, forwards or with @trains backwards too. a is that of the
 * attention kernels at @tokens, gamma what projects keys and values of latent attention up once more; b and c fit the other
 * kernels between a quarter and five quarters of @around tokens.
 * @apart: becomes the share that this is off at most from the kernels there, if it is more */
PipesimSliceTimes pipesim_part_sequence(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, PipesimPart part,
	gboolean trains, gint64 tokens, gint64 around, double *apart);

/** pipesim_sequence_times: the same of the whole model, forwards and backwards, without what computes layers again.
 * @whole: (nullable): set to what one sequence of @tokens takes */
PipesimSliceTimes pipesim_sequence_times(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, gint64 tokens,
	gint64 around, double *whole);
