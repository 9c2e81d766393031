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

void pipesim_running_load(
	const PipesimHistories *histories, double tau, const double *load, double *x)
{
	const PipesimHistoryOp *ops = (const PipesimHistoryOp *)(gpointer)histories->ops->data;
	const double waiting = load[histories->sorts->len];

	for (guint r = 0; r < histories->runs->len; r++) {
		const PipesimHistory *run = &g_array_index(histories->runs, PipesimHistory, r);
		double mean = begin(run, ops, load);

		for (guint i = run->begin; i < run->end; i++) {
			const PipesimHistoryOp *op = &ops[i];
			const double p = load[op->sort], rest = op->waited ? waiting : 0;
			const double half = exp(-(double)op->duration / tau / 2);

			if (op->gap > 0)
				mean = rest + (mean - rest) * exp(-(double)op->gap / tau);
			x[i] = p + (mean - p) * half;
			mean = p + (x[i] - p) * half;
		}
	}
}
