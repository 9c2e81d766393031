/* The exact leap over passes that repeat. */
#include "config.h"

#include "engine/period-parts.h"
#include <string.h>

/* Most steps of a search: some seconds. */
#define MAX_STEPS ((guint64)1 << 31)

/* Passes for ever, as far as a step can last. */
#define FOR_EVER G_MAXUINT64

typedef struct {
	PipesimPeriod *period;
	gint64 *kept;  /* the state at pass @kept_at */
	gint64 *rate;  /* by state: what one repetition adds */
	gint64 *grown; /* the same after the repetition that proves it */
	guint64 at, kept_at, span;
	guint64 least;   /* shortest repetition that is tried next */
	guint64 proving; /* passes spent on proofs */
	guint64 lasts;   /* repetitions for which the last proof holds */
} Leaper;

/* Whether since the kept state all times that a rank wrote grew alike. */
static gboolean looks_alike(const Leaper *leaper)
{
	const PipesimPeriod *period = leaper->period;
	const gint64 *state = period->state;

	for (gsize i = 0; i < period->n_state; i++) {
		const guint32 owner = period->owner[i];

		if (owner != i &&
			state[i] - leaper->kept[i] != state[owner] - leaper->kept[owner])
			return FALSE;
	}
	return TRUE;
}

/* The larger of two times that grow; how long it stays the larger. */
static inline void larger(Leaper *leaper, gint64 *time, gint64 *rate, guint32 other)
{
	const gint64 rival = leaper->period->state[other], its = leaper->grown[other];
	const gboolean wins = rival > *time || (rival == *time && its > *rate);
	const gint64 ahead = wins ? rival - *time : *time - rival;
	const gint64 faster = wins ? *rate - its : its - *rate;

	if (faster > 0)
		leaper->lasts = MIN(leaper->lasts, (guint64)(ahead / faster));
	*time = wins ? rival : *time;
	*rate = wins ? its : *rate;
}

static void step_with_rates(Leaper *leaper, const PipesimPeriodStep *step)
{
	gint64 *state = leaper->period->state;
	gint64 time = state[step->time], rate = leaper->grown[step->time];

	for (guint half = 0; half < (guint)step->type; half++)
		larger(leaper, &time, &rate, step->in[half]);
	time += step->duration;
	state[step->time] = time;
	leaper->grown[step->time] = rate;
	for (guint half = 0; half < (guint)step->type; half++) {
		state[step->out[half]] = time + step->hop[half];
		leaper->grown[step->out[half]] = rate;
	}
}

/* Runs one more repetition with rates beside times. Whether it added what they say and left
 * them as they were: then it goes on like that leaper->lasts times. */
static gboolean prove(Leaper *leaper, guint64 passes)
{
	PipesimPeriod *period = leaper->period;
	const gsize n = period->n_state;

	for (gsize i = 0; i < n; i++)
		leaper->rate[i] = period->state[i] - leaper->kept[i];
	memcpy(leaper->grown, leaper->rate, n * sizeof *leaper->rate);
	memcpy(leaper->kept, period->state, n * sizeof *leaper->kept);
	leaper->kept_at = leaper->at;
	leaper->lasts = FOR_EVER;
	for (guint64 pass = 0; pass < passes; pass++)
		for (gsize i = 0; i < period->n_steps; i++)
			step_with_rates(leaper, &period->steps[i]);
	leaper->at += passes;
	leaper->proving += passes;
	for (gsize i = 0; i < n; i++)
		if (leaper->grown[i] != leaper->rate[i] ||
			period->state[i] - leaper->kept[i] != leaper->rate[i])
			return FALSE;
	return TRUE;
}

static gint64 largest_rate(const Leaper *leaper)
{
	gint64 most = 0;

	for (gsize i = 0; i < leaper->period->n_state; i++)
		most = MAX(most, leaper->rate[i]);
	return most;
}

static void leap(Leaper *leaper, guint64 repetitions, guint64 passes)
{
	for (gsize i = 0; i < leaper->period->n_state; i++)
		leaper->period->state[i] += (gint64)repetitions * leaper->rate[i];
	leaper->at += repetitions * passes;
}

static void keep(Leaper *leaper)
{
	memcpy(leaper->kept, leaper->period->state,
		leaper->period->n_state * sizeof *leaper->kept);
	leaper->kept_at = leaper->at;
}

/* One proof and the leap that it allows. */
static void try_leap(Leaper *leaper, guint64 end, PipesimSteady *steady)
{
	const guint64 passes = leaper->at - leaper->kept_at, begin = leaper->kept_at;
	guint64 repetitions;

	/* A proof costs about three times its passes: never more than the run itself. */
	if (passes < leaper->least || passes > end - leaper->at ||
		leaper->proving + passes > leaper->at + 8)
		return;
	/* Where ranks hardly depend on each other everything looks alike: then in turn. */
	leaper->least = passes + 1;
	if (prove(leaper, passes)) {
		repetitions = MIN(leaper->lasts, (end - leaper->at) / passes);
		if (leaper->lasts == FOR_EVER && !steady->found) {
			steady->found = TRUE;
			steady->transient = begin;
			steady->period = passes;
			steady->time = largest_rate(leaper);
		}
		leap(leaper, repetitions, passes);
		leaper->least = 1;
		steady->leapt += repetitions * passes;
	}
	keep(leaper);
	leaper->span = 1;
}

static gboolean search(Leaper *leaper, guint64 end, PipesimSteady *steady)
{
	guint64 left = MAX_STEPS / leaper->period->n_steps;

	keep(leaper);
	leaper->span = 1;
	while (leaper->at < end) {
		if (left-- == 0)
			return FALSE;
		pipesim_period_run(leaper->period, 1);
		leaper->at++;
		if (looks_alike(leaper))
			try_leap(leaper, end, steady);
		else if (leaper->at - leaper->kept_at >= leaper->span) {
			keep(leaper);
			leaper->span *= 2;
		}
	}
	return TRUE;
}

gboolean pipesim_period_jump(PipesimPeriod *period, guint64 passes, PipesimSteady *steady)
{
	const gsize n = period->n_state;
	gboolean ok = TRUE;
	Leaper leaper = {
		.period = period,
		.kept = g_try_new(gint64, n),
		.rate = g_try_new(gint64, n),
		.grown = g_try_new(gint64, n),
	};

	if (leaper.kept != NULL && leaper.rate != NULL && leaper.grown != NULL && passes > 0) {
		/* After one pass every slot holds what a pass writes. */
		pipesim_period_run(period, 1);
		leaper.at = 1;
		ok = search(&leaper, passes, steady);
	} else {
		pipesim_period_run(period, passes);
	}
	g_free(leaper.kept);
	g_free(leaper.rate);
	g_free(leaper.grown);
	return ok;
}
