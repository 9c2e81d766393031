#include "config.h"

#include "engine/slowdown.h"

#include <string.h>

__extension__ typedef __int128 Work;

gboolean pipesim_pace_add(PipesimPace *pace, gint64 begin, gint64 end)
{
	guint at, behind;

	if (begin >= end)
		return TRUE;
	if (pace->n == pace->size && pace->first > pace->size / 2) {
		pace->n -= pace->first;
		memmove(pace->span, pace->span + pace->first, pace->n * sizeof *pace->span);
		pace->first = 0;
	} else if (pace->n == pace->size) {
		PipesimSpan *larger =
			g_try_renew(PipesimSpan, pace->span, 2 * (gsize)pace->size + 4);

		if (larger == NULL)
			return FALSE;
		pace->span = larger;
		pace->size = 2 * pace->size + 4;
	}
	/* [at] to [behind - 1] touch the new span and become one with it. */
	for (behind = pace->n; behind > pace->first && pace->span[behind - 1].begin > end;)
		behind--;
	for (at = behind; at > pace->first && pace->span[at - 1].end >= begin; at--) {
		begin = MIN(begin, pace->span[at - 1].begin);
		end = MAX(end, pace->span[at - 1].end);
	}
	memmove(pace->span + at + 1, pace->span + behind,
		(pace->n - behind) * sizeof *pace->span);
	pace->span[at] = (PipesimSpan){begin, end};
	pace->n = pace->n - (behind - at) + 1;
	return TRUE;
}

/* When work that is @left from @at on ends at @rate units a ns, or @until where it does not by
 * then; what is left then. */
static gint64 work_until(Work *left, gint64 at, gint64 until, gint64 rate)
{
	const Work most = (Work)(until - at) * rate;

	if (*left > most) {
		*left -= most;
		return until;
	}
	at += (gint64)((*left + rate - 1) / rate);
	*left = 0;
	return at;
}

/* Up to @until: returns where the work ends, or @until with what is left. */
static gint64 advance(const PipesimPace *pace, Work *left, gint64 until)
{
	gint64 at = pace->from;

	for (guint i = pace->first; i < pace->n && at<until && * left> 0; i++) {
		const PipesimSpan *span = &pace->span[i];

		if (span->end <= at)
			continue;
		if (span->begin > at)
			at = work_until(left, at, MIN(span->begin, until), pace->slowdown.num);
		if (*left > 0 && at < until)
			at = work_until(left, at, MIN(span->end, until), pace->slowdown.den);
	}
	if (*left > 0 && at < until)
		at = work_until(left, at, until, pace->slowdown.num);
	return at;
}

static gint64 foresee(const PipesimPace *pace)
{
	Work left = pace->left;

	return advance(pace, &left, PIPESIM_MAX_END);
}

/* What is over by @at slows nothing any more. */
static void forget(PipesimPace *pace, gint64 at)
{
	while (pace->first < pace->n && pace->span[pace->first].end <= at)
		pace->first++;
}

gint64 pipesim_pace_start(
	PipesimPace *pace, gint64 start, gint64 duration, PipesimFraction slowdown)
{
	forget(pace, start);
	pace->slowdown = slowdown;
	pace->from = start;
	pace->left = (Work)duration * slowdown.num;
	return foresee(pace);
}

gint64 pipesim_pace_reach(PipesimPace *pace, gint64 now)
{
	advance(pace, &pace->left, now);
	pace->from = now;
	if (pace->left == 0)
		return now;
	forget(pace, now);
	return foresee(pace);
}
