#include "model/slice-plan.h"

#define MAX_PLACES (1 << 22)
#define MAX_STEPS  (1 << 27) /* slices looked at in all passes: about a second */

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
	gint64 *fixed, *area, send;
	GArray *cut;       /* of guint: where slices of the last pass end, from the last on */
	gint64 steps;      /* that are left */
	gint64 best, open; /* of lengths found; what those not looked at are not below */
	GArray *slices;
} Search;

static gint64 tokens_between(const Search *s, guint from, guint to)
{
	return MIN((gint64)to * s->ask->align, s->ask->tokens) - (gint64)from * s->ask->align;
}

static gint64 slice_with_message(const Search *s, guint from, guint to)
{
	return s->fixed[from] + s->area[to] - s->area[from] + s->send +
	       pipesim_slice_message(&s->ask->times, tokens_between(s, from, to));
}

static gint64 latency_of(const Search *s, gint64 sum, gint64 longest)
{
	return s->ask->over > 0 ? sum + s->ask->hops * longest / s->ask->over
				: MAX(sum, (s->ask->hops + 1) * longest);
}

/* The least sum of slices of which none takes longer than @limit, and the longest of these. Each
 * begins as early as that lets it, from the last on: a slice takes no less for tokens before it, so
 * that what is left then costs least. FALSE: there are none. */
static gboolean pass(Search *s, gint64 limit, gint64 *sum, gint64 *longest)
{
	guint step =
		1; /* how much earlier it is tried: half of the slice behind it, twice that ... */

	*sum = s->area[s->last];
	*longest = 0;
	g_array_set_size(s->cut, 0);
	for (guint to = s->last, from; to > 0; to = from) {
		guint early = 0; /* slices from before it take too long */

		g_array_append_val(s->cut, to);
		if (slice_with_message(s, to - 1, to) > limit)
			return FALSE;
		for (from = to - 1; from > early;) {
			const guint next =
				early > 0 ? early + (from - early) / 2 : from - MIN(step, from);

			s->steps--;
			step *= 2;
			if (slice_with_message(s, next, to) > limit)
				early = next + 1;
			else
				from = next;
		}
		*sum += s->fixed[from];
		*longest = MAX(*longest, slice_with_message(s, from, to));
		step = (to - from + 1) / 2;
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
	if (s->steps < 0) {
		s->open = MIN(s->open, bound);
		return;
	}
	if (!pass(s, high, &sum, &longest))
		return;
	if (latency_of(s, sum, longest) < s->best) {
		s->best = latency_of(s, sum, longest);
		g_array_set_size(s->slices, 0);
		for (guint i = s->cut->len, from = 0; i-- > 0;) {
			const guint to = g_array_index(s->cut, guint, i);
			const gint64 slice = tokens_between(s, from, to);

			g_array_append_val(s->slices, slice);
			from = to;
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
		places <= MAX_PLACES ? g_try_new(gint64, 2 * (places + 1)) : NULL;
	g_autoptr(GArray) cut = g_array_new(FALSE, FALSE, sizeof(guint));
	Search s = {.ask = ask,
		.last = (guint)places,
		.send = llrint(times->send),
		.cut = cut,
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
	s.fixed = lengths;
	s.area = lengths + places + 1;
	for (gsize i = 0; i <= places; i++) {
		const gint64 at = MIN((gint64)i * ask->align, ask->tokens);

		s.fixed[i] = pipesim_slice_fixed(times, at);
		s.area[i] = pipesim_slice_area(times, at);
	}
	look(&s, -1, slice_with_message(&s, 0, s.last), 0);
	*latency = s.best;
	*bound = MIN(s.best, s.open);
	return TRUE;
}
