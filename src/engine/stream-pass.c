/* Passes over the state of a period: in vectors, one by one; with a leap over those that repeat;
 * and in units instead of ns, to see how far ranks should be ahead of each other. */
#include "config.h"

#include "engine/stream-period.h"
#include <string.h>

#if defined __GNUC__ && !defined __clang__
#define VECTORISED __attribute__((optimize("O3")))
#else
#define VECTORISED
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE void run_alone(gint64 *restrict time, const gint64 *restrict took, guint n)
{
	for (guint i = 0; i < n; i++) {
		time[i] += took[i];
	}
}

INLINE void run_one(gint64 *restrict time, const gint64 *restrict took,
	const gint64 *restrict in, gint64 *restrict out, gint64 hop, guint n)
{
	for (guint i = 0; i < n; i++) {
		const gint64 end = (time[i] > in[i] ? time[i] : in[i]) + took[i];

		time[i] = end;
		out[i] = end + hop;
	}
}

INLINE void run_two(
	const PipesimPeriodStep *step, const gint64 *restrict took, gint64 *state, guint n)
{
	const gint64 *restrict forward = state + step->in[0];
	const gint64 *restrict backward = state + step->in[1];
	gint64 *restrict time = state + step->time;
	gint64 *restrict out = state + step->out[0], *restrict back = state + step->out[1];
	const gint64 hop = step->hop[0], hop_back = step->hop[1];

	for (guint i = 0; i < n; i++) {
		const gint64 ready = forward[i] > backward[i] ? forward[i] : backward[i];
		const gint64 end = (time[i] > ready ? time[i] : ready) + took[i];

		time[i] = end;
		out[i] = end + hop;
		back[i] = end + hop_back;
	}
}

INLINE void run_steps(const PipesimPeriod *period, gint64 *state)
{
	for (gsize i = 0; i < period->n_stretches; i++) {
		const PipesimStretch stretch = period->stretches[i];
		const PipesimPeriodStep *step = &period->steps[stretch.first];
		const gint64 *took = &period->durations[stretch.first];
		gint64 *time = state + step->time;

		switch (step->type) {
		case PIPESIM_STEP_ALONE:
			run_alone(time, took, stretch.n);
			break;
		case PIPESIM_STEP_ONE:
			run_one(time, took, state + step->in[0], state + step->out[0],
				step->hop[0], stretch.n);
			break;
		case PIPESIM_STEP_TWO:
			run_two(step, took, state, stretch.n);
			break;
		}
	}
}

VECTORISED static void run_plain(const PipesimPeriod *period, gint64 *state)
{
	run_steps(period, state);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) VECTORISED static void run_avx2(
	const PipesimPeriod *period, gint64 *state)
{
	run_steps(period, state);
}

__attribute__((target("avx512f,avx512vl,avx512dq"))) VECTORISED static void run_avx512(
	const PipesimPeriod *period, gint64 *state)
{
	run_steps(period, state);
}
#endif

const PipesimPeriodKernel *pipesim_period_kernels(void)
{
	static PipesimPeriodKernel list[4];
	static gsize once;

	if (g_once_init_enter(&once)) {
		guint n = 0;

#ifdef __x86_64__
		__builtin_cpu_init();
		if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
			__builtin_cpu_supports("avx512dq"))
			list[n++] = (PipesimPeriodKernel){"avx512", run_avx512};
		if (__builtin_cpu_supports("avx2"))
			list[n++] = (PipesimPeriodKernel){"avx2", run_avx2};
#endif
		list[n] = (PipesimPeriodKernel){"baseline", run_plain};
		g_once_init_leave(&once, 1);
	}
	return list;
}

void pipesim_period_run(PipesimPeriod *period, guint64 passes)
{
	const PipesimPeriodPass run = pipesim_period_kernels()->run;

	for (; passes > 0; passes--)
		run(period, period->state);
}

/* Leaps ------------------------------------------------------------------------------------ */

/* Sums and largest values alone make a pass: where the state has grown by a rate for each entry,
 * and no largest value changes hands, it grows so again. Proven by a repetition that runs with
 * rates beside times:
 *
 *	pass     at            at + n          at + 2n                    lasts
 *	state    kept ...      kept + rate     kept + 2 rate   . . . . .  kept + k rate
 *	         `- looks alike -'`- prove() ----'`- leap() ------------'
 *
 * A rival that grows faster than the larger of two says for how many repetitions that holds. */

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
	const gsize n = leaper->period->n_state;
	gint64 *state = leaper->period->state;
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
			for (gsize i = 0; i < n; i++)
				steady->time = MAX(steady->time, leaper->rate[i]);
		}
		for (gsize i = 0; i < n; i++)
			state[i] += (gint64)repetitions * leaper->rate[i];
		leaper->at += repetitions * passes;
		leaper->least = 1;
		steady->leapt += repetitions * passes;
	}
	keep(leaper);
	leaper->span = 1;
}

gboolean pipesim_period_jump(PipesimPeriod *period, guint64 passes, PipesimSteady *steady)
{
	const gsize n = period->n_state;
	g_autofree gint64 *kept = g_try_new(gint64, n), *rate = g_try_new(gint64, n);
	g_autofree gint64 *grown = g_try_new(gint64, n);
	guint64 left = MAX_STEPS / period->n_steps;
	Leaper leaper = {.period = period,
		.kept = kept,
		.rate = rate,
		.grown = grown,
		.at = 1,
		.span = 1};

	if (kept == NULL || rate == NULL || grown == NULL || passes == 0) {
		pipesim_period_run(period, passes);
		return TRUE;
	}
	/* After one pass every slot holds what a pass writes. */
	pipesim_period_run(period, 1);
	keep(&leaper);
	while (leaper.at < passes) {
		if (left-- == 0)
			return FALSE;
		pipesim_period_run(period, 1);
		leaper.at++;
		if (looks_alike(&leaper))
			try_leap(&leaper, passes, steady);
		else if (leaper.at - leaper.kept_at >= leaper.span) {
			keep(&leaper);
			leaper.span *= 2;
		}
	}
	return TRUE;
}

/* Skew ------------------------------------------------------------------------------------- */

/* One pass over levels instead of times; counts in @ahead the steps of each rank that end by
 * @until. */
static void run_levels(const PipesimPeriod *period, gint64 *state, gint64 until, guint64 *ahead)
{
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

gboolean pipesim_period_skew(const PipesimPeriod *period, guint64 work, guint64 *ahead)
{
	const guint ranks = period->ranks;
	g_autofree gint64 *state = g_try_new(gint64, period->n_state);
	g_autofree gint64 *before = g_try_new(gint64, ranks);
	guint64 left = work / period->n_steps;
	gint64 furthest, least;
	gboolean is_even;

	if (state == NULL || before == NULL)
		return FALSE;
	for (gsize i = 0; i < period->n_state; i++)
		state[i] = period->owner[i] == i && i >= ranks ? -1 : 0;
	/* Until every rank goes on by as many levels. */
	do {
		if (left-- == 0)
			return FALSE;
		memcpy(before, state, ranks * sizeof *before);
		run_levels(period, state, -1, ahead);
		is_even = TRUE;
		for (guint rank = 1; rank < ranks; rank++)
			is_even &= state[rank] - before[rank] == state[0] - before[0];
	} while (!is_even);
	furthest = state[0];
	for (guint rank = 1; rank < ranks; rank++)
		furthest = MAX(furthest, state[rank]);
	memset(ahead, 0, ranks * sizeof *ahead);
	do {
		if (left-- == 0)
			return FALSE;
		run_levels(period, state, furthest, ahead);
		least = state[0];
		for (guint rank = 1; rank < ranks; rank++)
			least = MIN(least, state[rank]);
	} while (least <= furthest);
	return TRUE;
}
