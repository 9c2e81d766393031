#include "diagnosis/told.h"
#include "output/figures.h"

/* What the step would take less without @cause, ns; of one that shortened it what it did, below 0. Where ranks wait for one
 * that is late, by the rules of the runtime, the waits may be longer than what it lost itself, and go with it. */
static gint64 gain_of(const PipesimDiagnosis *diagnosis, const PipesimCause *cause)
{
	return cause->ns <= 0        ? cause->ns
	       : cause->without >= 0 ? MAX(diagnosis->measured - cause->without, 0)
				     : cause->ns;
}

void pipesim_told_causes(const PipesimDiagnosis *diagnosis, guint order[PIPESIM_N_CAUSES])
{
	gint64 gain[PIPESIM_N_CAUSES];

	for (guint i = 0; i < PIPESIM_N_CAUSES; i++) {
		guint at = i;

		gain[i] = gain_of(diagnosis, &diagnosis->cause[i]);
		for (; at > 0 && gain[order[at - 1]] < gain[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

gint64 pipesim_told_step(const PipesimDiagnosis *diagnosis)
{
	return pipesim_record_step(diagnosis->record, diagnosis->step)->number;
}

/* Of one step, simulated / measured - 1. */
static double error_of(const PipesimDiagnosis *diagnosis, guint step)
{
	return (double)diagnosis->step_simulated[step] /
		       (double)MAX(diagnosis->step_measured[step], 1) -
	       1;
}

double pipesim_told_mean_error(const PipesimDiagnosis *diagnosis, gboolean absolute)
{
	const guint n = diagnosis->record->steps->len;
	double sum = 0;
	guint counted = 0;

	for (guint i = 0; i < n; i++) {
		const double error = error_of(diagnosis, i);

		if (diagnosis->step_simulated[i] < 0)
			continue;
		sum += absolute ? fabs(error) : error;
		counted++;
	}
	return sum / counted;
}

double pipesim_told_median_error(const PipesimDiagnosis *diagnosis)
{
	const guint n = diagnosis->record->steps->len;
	g_autofree double *errors = g_new(double, n);
	guint counted = 0;

	for (guint i = 0; i < n; i++)
		if (diagnosis->step_simulated[i] >= 0)
			errors[counted++] = error_of(diagnosis, i);
	qsort(errors, counted, sizeof *errors, pipesim_compare_double);
	return (errors[(counted - 1) / 2] + errors[counted / 2]) / 2;
}

double pipesim_told_activations(const PipesimRun *run)
{
	return pipesim_figure_fraction(run->report->held.unit) * run->report->held.max_peak;
}

gint64 pipesim_told_awaited(const PipesimDiagnosis *diagnosis)
{
	const PipesimTrace *waiting = diagnosis->record->waiting;

	return waiting != NULL && waiting->late != NULL
		       ? pipesim_trace_get_count(waiting->late, "rank")
		       : -1;
}

char *pipesim_told_op(const PipesimDiagnosis *diagnosis, const PipesimCause *cause)
{
	g_autoptr(GString) op = g_string_new(NULL);
	const guint32 i = cause->op;

	if (i == PIPESIM_NO_OP)
		return NULL;
	pipesim_op_print(diagnosis->program, pipesim_program_rank(diagnosis->program, i),
		&diagnosis->program->ops[i], op);
	return g_string_free(g_steal_pointer(&op), FALSE);
}
