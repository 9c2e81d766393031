/* How far ranks should be ahead of each other. */
#include "config.h"

#include "engine/period-parts.h"
#include <string.h>

typedef struct {
	const PipesimPeriod *period;
	gint64 *state; /* levels instead of times */
	gint64 *before;
} Levels;

/* One pass; counts in @ahead the steps of each rank that end by @until. */
static void run_levels(Levels *levels, gint64 until, guint64 *ahead)
{
	const PipesimPeriod *period = levels->period;
	gint64 *state = levels->state;

	for (gsize i = 0; i < period->n_steps; i++) {
		const PipesimPeriodStep *step = &period->steps[i];
		gint64 level = state[step->time];

		for (guint half = 0; half < (guint)step->type; half++)
			level = MAX(level, state[step->in[half]]);
		level++;
		state[step->time] = level;
		for (guint half = 0; half < (guint)step->type; half++)
			state[step->out[half]] = level;
		if (level <= until)
			ahead[step->rank]++;
	}
}

/* Whether every rank went on by as many levels. */
static gboolean is_even(const Levels *levels)
{
	const gint64 first = levels->state[0] - levels->before[0];

	for (guint rank = 1; rank < levels->period->ranks; rank++)
		if (levels->state[rank] - levels->before[rank] != first)
			return FALSE;
	return TRUE;
}

static gint64 furthest(const Levels *levels, gboolean least)
{
	gint64 most = levels->state[0];

	for (guint rank = 1; rank < levels->period->ranks; rank++)
		most = least ? MIN(most, levels->state[rank]) : MAX(most, levels->state[rank]);
	return most;
}

static gboolean find_ahead(Levels *levels, guint64 work, guint64 *ahead)
{
	const PipesimPeriod *period = levels->period;
	guint64 left = work / period->n_steps;
	gint64 until;

	for (gsize i = 0; i < period->n_state; i++)
		levels->state[i] = period->owner[i] == i && i >= period->ranks ? -1 : 0;
	do {
		if (left-- == 0)
			return FALSE;
		memcpy(levels->before, levels->state, period->ranks * sizeof *levels->before);
		run_levels(levels, -1, ahead);
	} while (!is_even(levels));
	until = furthest(levels, FALSE);
	memset(ahead, 0, period->ranks * sizeof *ahead);
	do {
		if (left-- == 0)
			return FALSE;
		run_levels(levels, until, ahead);
	} while (furthest(levels, TRUE) <= until);
	return TRUE;
}

gboolean pipesim_period_skew(const PipesimPeriod *period, guint64 work, guint64 *ahead)
{
	Levels levels = {
		period, g_try_new(gint64, period->n_state), g_try_new(gint64, period->ranks)};
	const gboolean ok = levels.state != NULL && levels.before != NULL &&
			    find_ahead(&levels, work, ahead);

	g_free(levels.state);
	g_free(levels.before);
	return ok;
}
