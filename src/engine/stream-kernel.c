/* Passes over the state of a period. The inner loops run over neighbours that do not depend on
 * each other; which instructions they use is decided when the program runs. */
#include "config.h"

#include "engine/period-parts.h"
#include <string.h>

#if defined __GNUC__ && !defined __clang__
#define VECTORISED __attribute__((optimize("O3")))
#else
#define VECTORISED
#endif

#define INLINE static inline __attribute__((always_inline))

/* @ends: (nullable): where ends of steps are written too. */
INLINE void run_alone(
	gint64 *restrict time, const gint64 *restrict took, gint64 *restrict ends, guint n)
{
	for (guint i = 0; i < n; i++) {
		time[i] += took[i];
		if (ends != NULL)
			ends[i] = time[i];
	}
}

INLINE void run_one(gint64 *restrict time, const gint64 *restrict took,
	const gint64 *restrict in, gint64 *restrict out, gint64 hop, gint64 *restrict ends,
	guint n)
{
	for (guint i = 0; i < n; i++) {
		const gint64 end = (time[i] > in[i] ? time[i] : in[i]) + took[i];

		time[i] = end;
		out[i] = end + hop;
		if (ends != NULL)
			ends[i] = end;
	}
}

INLINE void run_two(const PipesimPeriodStep *step, const gint64 *restrict took, gint64 *state,
	gint64 *restrict ends, guint n)
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
		if (ends != NULL)
			ends[i] = end;
	}
}

INLINE void run_steps(const PipesimPeriod *period, gint64 *state, gint64 *ends)
{
	for (gsize i = 0; i < period->n_stretches; i++) {
		const PipesimStretch stretch = period->stretches[i];
		const PipesimPeriodStep *step = &period->steps[stretch.first];
		const gint64 *took = &period->durations[stretch.first];
		gint64 *to = ends != NULL ? ends + stretch.first : NULL;
		gint64 *time = state + step->time;

		switch (step->type) {
		case PIPESIM_STEP_ALONE:
			run_alone(time, took, to, stretch.n);
			break;
		case PIPESIM_STEP_ONE:
			run_one(time, took, state + step->in[0], state + step->out[0],
				step->hop[0], to, stretch.n);
			break;
		case PIPESIM_STEP_TWO:
			run_two(step, took, state, to, stretch.n);
			break;
		}
	}
}

INLINE void run_either(const PipesimPeriod *period, gint64 *state, gint64 *ends)
{
	if (ends == NULL)
		run_steps(period, state, NULL);
	else
		run_steps(period, state, ends);
}

VECTORISED static void run_plain(const PipesimPeriod *period, gint64 *state, gint64 *ends)
{
	run_either(period, state, ends);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) VECTORISED static void run_avx2(
	const PipesimPeriod *period, gint64 *state, gint64 *ends)
{
	run_either(period, state, ends);
}

__attribute__((target("avx512f,avx512vl,avx512dq"))) VECTORISED static void run_avx512(
	const PipesimPeriod *period, gint64 *state, gint64 *ends)
{
	run_either(period, state, ends);
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
		run(period, period->state, NULL);
}

/* Passes whose ends are gathered before they go to where ops of a rank stand side by side:
 * lines of memory are then written whole. */
#define BATCH 16

static void write_rank(const PipesimPeriod *period, const PipesimTimeline *timeline,
	const guint32 *steps, guint n, guint64 index, const gint64 *ends, guint passes)
{
	gint64 *start = timeline->start + index, *end = timeline->end + index;

	for (guint pass = 0; pass < passes; pass++, ends += period->n_steps)
		for (guint i = 0; i < n; i++) {
			const gint64 at = ends[steps[i]];

			*end++ = at;
			*start++ = at - period->durations[steps[i]];
		}
}

static gint64 *new_batch(const PipesimPeriod *period)
{
	return g_try_new(gint64, period->n_steps * BATCH);
}

/* Steps by rank, in the order in which it runs them. */
static void sort_by_rank(const PipesimPeriod *period, guint32 *first, guint32 *steps)
{
	first[0] = 0;
	for (guint rank = 0; rank < period->ranks; rank++)
		first[rank + 1] = first[rank] + (guint32)period->ran[rank];
	for (gsize i = 0; i < period->n_steps; i++)
		steps[first[period->steps[i].rank] + period->steps[i].serial] = (guint32)i;
}

gboolean pipesim_period_keep(PipesimPeriod *period, const PipesimStreaming *s, guint64 passes)
{
	const PipesimPeriodPass run = pipesim_period_kernels()->run;
	g_autofree gint64 *ends = new_batch(period);
	g_autofree guint32 *steps = g_try_new(guint32, period->n_steps);
	g_autofree guint32 *first = g_try_new(guint32, (gsize)period->ranks + 1);

	if (ends == NULL || steps == NULL || first == NULL)
		return FALSE;
	sort_by_rank(period, first, steps);
	for (guint64 done = 0; done < passes;) {
		const guint n = (guint)MIN(BATCH, passes - done);

		for (guint pass = 0; pass < n; pass++)
			run(period, period->state, ends + pass * period->n_steps);
		for (guint rank = 0; rank < period->ranks; rank++)
			write_rank(period, s->timeline, steps + first[rank],
				first[rank + 1] - first[rank],
				s->timeline_begin[rank] + s->ranks[rank].n_ran +
					done * period->ran[rank],
				ends, n);
		done += n;
	}
	return TRUE;
}

void pipesim_period_load(PipesimPeriod *period, const PipesimStreaming *s)
{
	for (guint rank = 0; rank < period->ranks; rank++)
		period->state[period->time_of[rank]] = s->ranks[rank].time;
	for (gsize i = 0; i < period->n_carried; i++) {
		const PipesimCarried *carried = &period->carried[i];
		const PipesimChannel *channel = &s->channels[carried->channel];

		period->state[carried->slot] =
			channel->ring[(channel->produced - carried->age) & channel->mask];
	}
}

void pipesim_period_store(const PipesimPeriod *period, PipesimStreaming *s, guint64 passes)
{
	for (guint rank = 0; rank < period->ranks; rank++) {
		PipesimStreamRank *r = &s->ranks[rank];

		r->time = period->state[period->time_of[rank]];
		r->n_ran += passes * period->ran[rank];
		r->round += (guint32)passes * period->rounds[rank];
		r->limit += passes * period->ran[rank];
		if (r->round == s->order->loops[r->loop].count) {
			r->round = 0;
			r->loop++;
		}
	}
	for (guint i = 0; i < 2 * s->n_places; i++) {
		s->channels[i].produced += (guint32)passes * period->messages[i];
		s->channels[i].consumed += (guint32)passes * period->messages[i];
		s->done[i] += (guint32)passes * period->done[i];
	}
	for (gsize i = 0; i < period->n_carried; i++) {
		const PipesimCarried *carried = &period->carried[i];
		PipesimChannel *channel = &s->channels[carried->channel];

		channel->ring[(channel->produced - carried->age) & channel->mask] =
			period->state[carried->slot];
	}
}
