#include "config.h"

#include "effects/running-load.h"

#include <math.h>

/* Of the mean of what was drawn over all of @run. */
static double begin(const PipesimHistory *run, const PipesimHistoryOp *ops, const double *load)
{
	double drawn = 0;

	for (guint i = run->begin; i < run->end; i++)
		drawn += load[ops[i].sort] * (double)ops[i].duration;
	return run->length > 0 ? drawn / (double)run->length : 0;
}

void pipesim_running_load(const PipesimHistories *histories, const guint32 *sample, double tau,
	const double *load, double *x)
{
	const PipesimHistoryOp *ops = (const PipesimHistoryOp *)(gpointer)histories->ops->data;
	const double waiting = load[histories->sorts->len];

	for (guint r = 0; r < histories->runs->len; r++) {
		const PipesimHistory *run = &g_array_index(histories->runs, PipesimHistory, r);
		double mean = begin(run, ops, load);

		for (guint i = run->begin; i < run->end; i++) {
			const PipesimHistoryOp *op = &ops[i];
			const guint n = sample[i + 1] - sample[i];
			const double p = load[op->sort], rest = op->waited ? waiting : 0;
			const double half = exp(-(double)op->duration / tau / (2 * MAX(n, 1u)));

			if (op->gap > 0)
				mean = rest + (mean - rest) * exp(-(double)op->gap / tau);
			for (guint s = 0; s < n; s++) {
				mean = p + (mean - p) * half;
				x[sample[i] + s] = mean;
				mean = p + (mean - p) * half;
			}
		}
	}
}
