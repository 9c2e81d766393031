/* What the power of chips, receives that wait and hosts that launch ops do to a step. */
#include "analysis/parts.h"

/* How much longer @step takes than the same without what @flags leave out. FALSE with
 * @error. */
static gboolean find_effect(
	const PipesimStep *step, guint flags, gint64 *effect, GError **error)
{
	g_autoptr(PipesimTimeline) timeline =
		pipesim_step_again(step, step->job.times, step->job.traffic | flags, error);

	if (timeline != NULL)
		*effect = step->makespan - timeline->makespan;
	return timeline != NULL;
}

gboolean pipesim_report_power(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimTimes *times = step->job.times;
	PipesimPowerReport *power;

	if (!pipesim_times_vary(times))
		return TRUE;
	power = report->power = g_new0(PipesimPowerReport, 1);
	power->has_power = times->power != NULL;
	power->has_contention = times->contention != NULL;
	power->has_launches = times->launch[PIPESIM_F] != NULL;
	return (!power->has_power ||
		       find_effect(step, PIPESIM_NO_POWER, &power->power, error)) &&
	       (!power->has_contention ||
		       find_effect(step, PIPESIM_NO_CONTENTION, &power->contention, error)) &&
	       (!power->has_launches ||
		       find_effect(step, PIPESIM_NO_LAUNCHES, &power->launches, error));
}
