#include "config.h"

#include "diagnosis/spread.h"
#include <stdlib.h>
#include <string.h>

/* That of @n sorted values which @percent of them do not pass. */
static gint64 percentile(const gint64 *sorted, guint n, guint percent)
{
	return sorted[(MAX((guint64)n * percent, 100) - 1) / 100];
}

static gint64 median(const gint64 *values, guint n)
{
	g_autofree gint64 *sorted = g_memdup2(values, n * sizeof *values);

	qsort(sorted, n, sizeof *sorted, pipesim_compare_int64);
	return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

/* What the worst step lost more than this one, cause by cause. */
static void compare_causes(
	PipesimStepSpread *spread, const PipesimPatient *patient, const PipesimDiagnosis *usual)
{
	PipesimPatient again = *patient;
	g_autoptr(PipesimDiagnosis) worst = NULL;

	again.step = pipesim_record_step(patient->record, spread->worst)->number;
	again.runtime = usual->rules;
	again.brief = TRUE;
	worst = pipesim_diagnose(&again, NULL);
	if (worst == NULL)
		return;
	spread->told = TRUE;
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++) {
		spread->more[kind] = worst->cause[kind].ns - usual->cause[kind].ns;
		spread->rank[kind] = worst->cause[kind].rank;
	}
}

PipesimStepSpread *pipesim_spread_new(
	const PipesimPatient *patient, const PipesimDiagnosis *diagnosis)
{
	const guint n = patient->record->steps->len;
	g_autofree gint64 *sorted = NULL;
	PipesimStepSpread *spread;

	if (n < PIPESIM_SPREAD_STEPS)
		return NULL;
	spread = g_new0(PipesimStepSpread, 1);
	sorted = g_memdup2(diagnosis->step_measured, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, pipesim_compare_int64);
	spread->least = sorted[0];
	spread->most = sorted[n - 1];
	for (guint i = 0; i < PIPESIM_N_PERCENTILES; i++)
		spread->percentile[i] = percentile(sorted, n, pipesim_percentiles[i]);
	spread->drift = median(&diagnosis->step_measured[n - n / 3], n / 3) -
			median(diagnosis->step_measured, n / 3);
	while (diagnosis->step_measured[spread->worst] != spread->most)
		spread->worst++;
	compare_causes(spread, patient, diagnosis);
	return spread;
}
