#include "config.h"

#include "base/decimal.h"
#include "model/slice-plan.h"

#include <math.h>
#include <string.h>

#define MAX_PLACES (1 << 22)
#define MAX_STEPS  (G_GINT64_CONSTANT(1) << 28) /* of all passes together: about a second */

gint64 pipesim_slice_fixed(const PipesimSliceTimes *times, gint64 prefix)
{
	return llrint(times->c + times->gamma * (double)prefix);
}

gint64 pipesim_slice_area(const PipesimSliceTimes *times, gint64 tokens)
{
	return llrint((double)tokens * (times->b + times->a * (double)tokens));
}

gint64 pipesim_slice_time(const PipesimSliceTimes *times, gint64 prefix, gint64 tokens)
{
	return pipesim_slice_fixed(times, prefix) + pipesim_slice_area(times, prefix + tokens) -
	       pipesim_slice_area(times, prefix);
}

gint64 pipesim_slice_message(const PipesimSliceTimes *times, gint64 tokens)
{
	return llrint(times->send_token * (double)tokens);
}

gboolean pipesim_slice_times_parse(PipesimSliceTimes *times, const char *text, const char *what,
	gboolean shares, GError **error)
{
	static const char *const names[] = {"a", "b", "c", "gamma", "send", "send-token"};
	double *const values[] = {&times->a, &times->b, &times->c, &times->gamma, &times->send,
		&times->send_token};
	const guint n = shares ? 4 : G_N_ELEMENTS(names);
	const double unit = shares ? 1 : 1e6;
	g_auto(GStrv) items = g_strsplit(text, ",", -1);
	guint given = 0;

	for (char **item = items; *item != NULL; item++) {
		g_auto(GStrv) sides = g_strsplit(*item, "=", 2);
		PipesimDecimal decimal;
		guint i = 0;

		for (; sides[0] != NULL && i < n; i++)
			if (strcmp(g_strstrip(sides[0]), names[i]) == 0)
				break;
		if (sides[0] == NULL || sides[1] == NULL || i == n || given & 1u << i)
			return pipesim_refuse(error,
				"%s: '%s'; each of a, b, c%s, for example %s", what, *item,
				shares ? " and gamma once"
				       : ", gamma, send and send-token once, in ms",
				shares ? "c=0.1,b=1,a=0.001" : "a=3e-7,b=0.006,c=26");
		given |= 1u << i;
		if (pipesim_decimal_read(g_strstrip(sides[1]), strlen(sides[1]), &decimal) !=
				MAX(strlen(sides[1]), 1) ||
			decimal.negative ||
			!((*values[i] = unit * g_ascii_strtod(sides[1], NULL)) <= 1e15))
			return pipesim_refuse(error, "%s: %s: '%s'; a %s", what, names[i],
				sides[1],
				shares ? "number from 0 to 1e15" : "time in ms from 0 to 1e9");
	}
	return !shares || times->a > 0 || times->b > 0 ||
	       pipesim_refuse(
		       error, "%s: b or a must be above 0: else tokens take no time", what);
}

gboolean pipesim_slice_times_check(
	const PipesimSliceTimes *times, gint64 tokens, double count, GError **error)
{
	const double n = (double)tokens;
	const double most = n * count *
			    (times->c + times->b + times->send + times->send_token +
				    (times->gamma + times->a) * n);

	return most < (double)PIPESIM_MAX_END / 4 ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "%" G_GINT64_FORMAT " tokens may take %.3g s, more than can be counted "
		       "in ns; are the times in ms?",
		       tokens, most / 1e9);
}

/* By place, of which the first is the beginning and the last the end of the sequence. */
typedef struct {
	const PipesimSliceAsk *ask;
	guint last;
	gint64 *at, *fixed, *area;
	gint64 *sum;         /* least of slices up to here, less area */
	guint *from, *queue; /* where the last of these begins; places that may be that */
	gint64 steps;        /* that are left */
	gint64 best, open;   /* of lengths found; what those not looked at are not below */
	GArray *slices;
} Search;

static gint64 slice_with_message(const Search *s, guint from, guint to)
{
	const PipesimSliceTimes *times = &s->ask->times;

	return s->fixed[from] + s->area[to] - s->area[from] + llrint(times->send) +
	       pipesim_slice_message(times, s->at[to] - s->at[from]);
}

static gint64 latency_of(const Search *s, gint64 sum, gint64 longest)
{
	return s->ask->over > 0 ? sum + s->ask->hops * longest / s->ask->over
				: MAX(sum, (s->ask->hops + 1) * longest);
}

/* The least sum of slices of which none takes longer than @limit, and the longest of these. FALSE: there are none. The first
 * place from where a slice is short enough moves on with its end. */
static gboolean pass(Search *s, gint64 limit, gint64 *sum, gint64 *longest)
{
	guint head = 0, tail = 0, low = 0;

	s->steps -= s->last;
	s->sum[0] = 0;
	for (guint to = 1; to <= s->last; to++) {
		const gint64 key = s->sum[to - 1] + s->fixed[to - 1];

		while (tail > head &&
			s->sum[s->queue[tail - 1]] + s->fixed[s->queue[tail - 1]] > key)
			tail--;
		s->queue[tail++] = to - 1;
		while (low < to && slice_with_message(s, low, to) > limit)
			low++;
		while (head < tail && s->queue[head] < low)
			head++;
		if (head == tail)
			return FALSE;
		s->from[to] = s->queue[head];
		s->sum[to] = s->sum[s->queue[head]] + s->fixed[s->queue[head]];
	}
	*sum = s->sum[s->last] + s->area[s->last];
	*longest = 0;
	for (guint to = s->last; to > 0; to = s->from[to]) {
		const gint64 slice = slice_with_message(s, s->from[to], to);

		*longest = MAX(*longest, slice);
	}
	return TRUE;
}

/* Lengths whose longest takes more than @low and no more than @high; their sum is no less than @least. */
static void look(Search *s, gint64 low, gint64 high, gint64 least)
{
	const gint64 bound = latency_of(s, least, low + 1);
	gint64 sum, longest, middle;

	if (low >= high || bound >= s->best)
		return;
	if (s->steps < s->last) {
		s->open = MIN(s->open, bound);
		return;
	}
	if (!pass(s, high, &sum, &longest))
		return;
	if (latency_of(s, sum, longest) < s->best) {
		s->best = latency_of(s, sum, longest);
		g_array_set_size(s->slices, 0);
		for (guint to = s->last; to > 0; to = s->from[to]) {
			const gint64 slice = s->at[to] - s->at[s->from[to]];

			g_array_prepend_val(s->slices, slice);
		}
	}
	/* Those between its longest and @high have no smaller sum. */
	middle = low + (longest - 1 - low) / 2;
	look(s, low, middle, sum);
	look(s, middle, longest - 1, sum);
}

gboolean pipesim_slice_plan(const PipesimSliceAsk *ask, GArray *slices, gint64 *latency,
	gint64 *bound, GError **error)
{
	const PipesimSliceTimes *times = &ask->times;
	const gsize places = (gsize)((ask->tokens + ask->align - 1) / ask->align);
	g_autofree gint64 *lengths =
		places <= MAX_PLACES ? g_try_new(gint64, 5 * (places + 1)) : NULL;
	Search s = {.ask = ask,
		.last = (guint)places,
		.steps = MAX_STEPS,
		.best = G_MAXINT64,
		.open = G_MAXINT64,
		.slices = slices};

	if (!pipesim_slice_times_check(times, ask->tokens, ask->hops + 1, error))
		return FALSE;
	if (times->gamma > times->b + times->send_token)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"the best sizes are known for a gamma up to b: a token before a slice "
			"takes no longer than one in it; give a smaller gamma, or sizes");
	if (places > MAX_PLACES)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%zu places to cut, at most %d; cut at multiples of more tokens",
			places, MAX_PLACES);
	if (lengths == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"no memory for %zu places to cut; cut at multiples of more tokens",
			places);
	s.at = lengths;
	s.fixed = s.at + places + 1;
	s.area = s.fixed + places + 1;
	s.sum = s.area + places + 1;
	s.from = (guint *)(s.sum + places + 1);
	s.queue = s.from + places + 1;
	for (gsize i = 0; i <= places; i++) {
		s.at[i] = MIN((gint64)i * ask->align, ask->tokens);
		s.fixed[i] = pipesim_slice_fixed(times, s.at[i]);
		s.area[i] = pipesim_slice_area(times, s.at[i]);
	}
	look(&s, -1, slice_with_message(&s, 0, s.last), 0);
	*latency = s.best;
	*bound = MIN(s.best, s.open);
	return TRUE;
}
