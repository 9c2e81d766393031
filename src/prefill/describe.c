#include "config.h"

#include "base/phases.h"
#include "prefill/prefill.h"
#include "transformer/cutter.h"
#include <math.h>
#include <string.h>

#define SIZES 64 /* at which kernels are looked at */

/* Where kernels are looked at, and what b and c fit them for. */
typedef struct {
	const PipesimTransformer *model;
	const PipesimTraining *training;
	const PipesimRates *rates;
	gint64 tokens, chunk;
} Look;

/* ns of a forward of @part over @tokens, of all of it or of one kernel. */
static double forward(const Look *look, PipesimPart part, gint64 tokens, const char *kernel)
{
	PipesimTraining sized = *look->training;
	g_autoptr(GArray) kernels = NULL;
	PipesimPartTimes times;
	double sum = 0;

	sized.seq = tokens;
	if (kernel == NULL) {
		pipesim_part_times(look->model, &sized, look->rates, part, &times);
		return 1e9 * MAX(times.busy[F], times.launched[F]);
	}
	kernels = pipesim_kernels(look->model, &sized, part);
	for (guint i = 0; i < kernels->len; i++) {
		const PipesimKernel *at = &g_array_index(kernels, PipesimKernel, i);

		if (at->phase == F && strcmp(at->what, kernel) == 0)
			sum += pipesim_kernel_seconds(look->rates, &sized, at);
	}
	return 1e9 * sum;
}

static PipesimSliceTimes describe_part(const Look *look, PipesimPart part, double *apart)
{
	const double n = (double)look->tokens;
	gint64 x[SIZES], rest[SIZES];
	PipesimFit fit = {0};
	PipesimSliceTimes times = {
		.a = forward(look, part, look->tokens, "attention") / (n * n),
		.gamma = forward(look, part, look->tokens, "k and v up") / n};

	for (guint i = 0; i < SIZES; i++) {
		x[i] = MAX(look->chunk / 4 + look->chunk * i / (SIZES - 1), 1);
		rest[i] = MAX(llrint(forward(look, part, x[i], NULL) -
				      times.a * (double)x[i] * (double)x[i]),
			1);
	}
	/* Chunks of one token have one size: all is b. */
	if (!pipesim_fit_line(&fit, x, rest, SIZES, TRUE))
		fit.slope = (double)rest[0] / (double)x[0];
	times.b = MAX(fit.slope, 0);
	times.c = MAX(fit.base, 0);
	for (guint i = 0; i < SIZES; i++) {
		const double all = forward(look, part, x[i], NULL);

		*apart = MAX(
			*apart, fabs((double)pipesim_slice_time(&times, 0, x[i]) / all - 1));
	}
	return times;
}

gboolean pipesim_prefill_describe(PipesimEngineRanks *ranks, const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, gint64 tokens, gint64 chunk,
	GError **error)
{
	const guint stages = ranks->ranks * ranks->chunks;
	const Look look = {model, training, rates, tokens, chunk};
	PipesimSliceTimes of[PIPESIM_N_PARTS] = {{0}};
	PipesimTraining sized = *training;
	gint64 sent[2];

	if (stages > model->layers)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u stages for %" G_GINT64_FORMAT " layers; each has one at least",
			stages, model->layers);
	for (PipesimPart part = PIPESIM_PART_DENSE; part <= PIPESIM_PART_SPARSE; part++)
		if (pipesim_part_count(model, part) > 0)
			of[part] = describe_part(&look, part, &ranks->apart);
	for (guint i = 0; i < 2; i++) {
		sized.seq = (i + 1) * chunk;
		sent[i] = pipesim_device_hop(rates->device, &sized,
			2 * pipesim_stage_message(model, &sized), ranks->ranks);
	}
	for (guint s = 0; s < stages; s++) {
		PipesimSliceTimes *stage = &ranks->stages[s];

		stage->send_token = (double)(sent[1] - sent[0]) / (double)chunk;
		stage->send = (double)MAX(2 * sent[0] - sent[1], 0);
		for (gint64 layer = s * model->layers / stages;
			layer < (s + 1) * model->layers / stages; layer++) {
			const PipesimSliceTimes *one =
				&of[pipesim_transformer_is_sparse(model, layer)
						? PIPESIM_PART_SPARSE
						: PIPESIM_PART_DENSE];

			stage->a += one->a;
			stage->b += one->b;
			stage->c += one->c;
			stage->gamma += one->gamma;
		}
	}
	ranks->head = llrint(forward(&look, PIPESIM_PART_HEAD, 1, NULL));
	return TRUE;
}
