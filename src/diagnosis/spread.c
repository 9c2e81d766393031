#include "diagnosis/spread.h"

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
static gboolean compare_causes(PipesimStepSpread *spread, const PipesimPatient *patient,
	const PipesimDiagnosis *usual, GError **error)
{
	PipesimPatient again = *patient;
	g_autoptr(PipesimDiagnosis) worst = NULL;
	g_autoptr(GError) fault = NULL;

	again.step = pipesim_record_step(patient->record, spread->worst)->number;
	again.runtime = usual->rules;
	again.brief = TRUE;
	worst = pipesim_diagnose(&again, &fault);
	/* Its order may be none that can run; what does not fit in memory is another matter. */
	if (g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT)) {
		g_propagate_error(error, g_steal_pointer(&fault));
		return FALSE;
	}
	if (worst == NULL)
		return TRUE;
	spread->told = TRUE;
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++) {
		spread->more[kind] = worst->cause[kind].ns - usual->cause[kind].ns;
		spread->rank[kind] = worst->cause[kind].rank;
	}
	return TRUE;
}

gboolean pipesim_spread_steps(
	const PipesimPatient *patient, PipesimDiagnosis *diagnosis, GError **error)
{
	const guint n = patient->record->steps->len;
	g_autofree gint64 *sorted = NULL;
	PipesimStepSpread *spread;

	if (n < PIPESIM_SPREAD_STEPS)
		return TRUE;
	diagnosis->spread = spread = g_new0(PipesimStepSpread, 1);
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
	return compare_causes(spread, patient, diagnosis, error);
}
