#include "transformer/sequences.h"
#include "model/statistics.h"

#define SIZES 64 /* at which kernels are looked at */

/* What is looked at. */
typedef struct {
	const PipesimTransformer *model;
	const PipesimTraining *training;
	const PipesimRates *rates;
	PipesimPart part;
	guint phases;
} Look;

/* ns of all phases over @tokens, of all of the part or of one kernel. */
static double take(const Look *look, gint64 tokens, const char *kernel)
{
	PipesimTraining sized = *look->training;
	PipesimPartTimes times;
	double sum = 0;

	sized.seq = tokens;
	sized.microbatch = 1;
	if (kernel == NULL) {
		pipesim_part_times(look->model, &sized, look->rates, look->part, &times);
		return 1e9 * pipesim_sum(phase, look->phases,
				     MAX(times.busy[phase], times.launched[phase]));
	}
	g_autoptr(GArray) kernels = pipesim_kernels(look->model, &sized, look->part);
	pipesim_each (const PipesimKernel, at, kernels) {
		if (at->phase < look->phases && strcmp(at->what, kernel) == 0)
			sum += pipesim_kernel_seconds(look->rates, &sized, at);
	}
	return 1e9 * sum;
}

PipesimSliceTimes pipesim_part_sequence(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, PipesimPart part,
	gboolean trains, gint64 tokens, gint64 around, double *apart)
{
	const Look look = {model, training, rates, part, trains ? 3 : 1};
	const double n = (double)tokens;
	gint64 x[SIZES], rest[SIZES];
	PipesimFit fit = {0};
	PipesimSliceTimes times = {.a = take(&look, tokens, "attention") / (n * n),
		.gamma = trains ? 0 : take(&look, tokens, "k and v up") / n};

	for (guint i = 0; i < SIZES; i++) {
		x[i] = MAX(around / 4 + around * i / (SIZES - 1), 1);
		rest[i] = MAX(
			llrint(take(&look, x[i], NULL) - times.a * (double)x[i] * (double)x[i]),
			1);
	}
	/* Of one size all is b. */
	if (!pipesim_fit_line(&fit, x, rest, SIZES, TRUE))
		fit.slope = (double)rest[0] / (double)x[0];
	times.b = MAX(fit.slope, 0);
	times.c = MAX(fit.base, 0);
	for (guint i = 0; i < SIZES; i++) {
		const double all = take(&look, x[i], NULL);

		*apart = MAX(
			*apart, fabs((double)pipesim_slice_time(&times, 0, x[i]) / all - 1));
	}
	return times;
}

PipesimSliceTimes pipesim_sequence_times(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, gint64 tokens,
	gint64 around, double *whole)
{
	PipesimSliceTimes sum = {0};
	double apart = 0, all = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const double count = (double)pipesim_part_count(model, part);
		const Look look = {model, training, rates, part, 3};

		if (count == 0)
			continue;
		all += count * take(&look, tokens, NULL);
		PipesimSliceTimes one = pipesim_part_sequence(
			model, training, rates, part, TRUE, tokens, around, &apart);
		sum.a += count * one.a;
		sum.b += count * one.b;
		sum.c += count * one.c;
	}
	if (whole != NULL)
		*whole = all;
	return sum;
}
