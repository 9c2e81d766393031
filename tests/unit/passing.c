#include "passing.h"
#include <string.h>

#define F PIPESIM_CODE_F
#define I PIPESIM_CODE_I
#define W PIPESIM_CODE_W

#define MOST_ORDERS 400000

typedef struct {
	const PassingClaim *c;
	guint ranks, count;
	/* [k * count + j], k < j: twice the ranks that run forward j before backward k, and one more where the next
	 * one runs both as a pair; G_MAXUINT: not said */
	guint *first;
	guint orders;
} Check;

/* Starts of forwards, then of backwards, by micro-batch and rank. */
static gint64 *at(const Check *check, gint64 *times, guint kind, guint k, guint rank)
{
	return &times[((kind == F ? 0 : check->count) + k) * check->ranks + rank];
}

static gboolean raise_to(gint64 *time, gint64 least)
{
	if (*time >= least)
		return FALSE;
	*time = least;
	return TRUE;
}

/* Until what comes of it leaves; on rank 0 W ends with a pair, and follows I. */
static gint64 takes(const Check *check, guint kind, guint k, guint rank)
{
	const PipesimInstance *x = check->c->x;
	const gint64 weight = kind == I && rank == 0 && x->kinds > 2 ? x->least[W][0] : 0;
	const guint from = kind == F ? 0 : k + 1, to = kind == F ? k : check->count;

	for (guint m = from; m < to; m++)
		if (check->first[kind == F ? m * check->count + k : k * check->count + m] ==
			2 * rank + 1)
			return x->pair[rank] - weight;
	return x->least[kind][rank];
}

static gboolean raise_trip(const Check *check, gint64 *t, guint k)
{
	const PipesimInstance *x = check->c->x;
	const guint last = check->ranks - 1;
	gboolean raised = raise_to(at(check, t, F, k, 0), check->c->starts[k]);

	for (guint r = 0; r < last; r++)
		raised |= raise_to(at(check, t, F, k, r + 1),
			*at(check, t, F, k, r) + takes(check, F, k, r) + x->hop[r + 1]);
	raised |= raise_to(
		at(check, t, I, k, last), *at(check, t, F, k, last) + takes(check, F, k, last));
	for (guint r = last; r > 0; r--)
		raised |= raise_to(at(check, t, I, k, r - 1),
			*at(check, t, I, k, r) + takes(check, I, k, r) + x->hop_back[r - 1]);
	for (guint kind = F; kind <= I && k > 0; kind++)
		for (guint r = 0; r <= last; r++)
			raised |= raise_to(at(check, t, kind, k, r),
				*at(check, t, kind, k - 1, r) + takes(check, kind, k - 1, r));
	return raised;
}

static gboolean raise_room(const Check *check, gint64 *t, guint k)
{
	const PipesimInstance *x = check->c->x;
	const gint64 wait = check->c->wait, weight = wait > 0 ? x->apart[W][0] : 0;
	const gint64 end = *at(check, t, I, k, 0) + takes(check, I, k, 0);
	gboolean raised = FALSE;

	for (guint j = k + check->c->flight, m = 0; j < check->count; j++, m++)
		raised |= raise_to(at(check, t, F, j, 0),
			end + wait + m * (x->apart[F][0] + x->apart[I][0] + weight));
	return raised;
}

static gboolean raise_pair(const Check *check, gint64 *t, guint k, guint j)
{
	const guint first = check->first[k * check->count + j];
	gboolean raised = FALSE;

	for (guint r = 0; r < check->ranks && first != G_MAXUINT; r++) {
		gint64 *forward = at(check, t, F, j, r), *backward = at(check, t, I, k, r);

		if (r < first / 2)
			raised |= raise_to(backward, *forward + takes(check, F, j, r));
		else if (2 * r + 1 == first)
			raised |= raise_to(backward, *forward) | raise_to(forward, *backward);
		else
			raised |= raise_to(forward, *backward + takes(check, I, k, r));
	}
	return raised;
}

static gint64 value_of(const Check *check, gint64 *t)
{
	gint64 value = 0;

	for (guint k = 0; k < check->count; k++)
		value = MAX(value,
			*at(check, t, I, k, 0) + takes(check, I, k, 0) + check->c->after[k]);
	return value;
}

/* Whether some order with what is said of it takes less; raises @t. */
static gboolean is_short(const Check *check, gint64 *t)
{
	gboolean raised;

	do {
		raised = FALSE;
		for (guint k = 0; k < check->count; k++) {
			raised |= raise_trip(check, t, k) | raise_room(check, t, k);
			for (guint j = k + 1; j < check->count; j++)
				raised |= raise_pair(check, t, k, j);
		}
		/* Orders that go in circles come to this too. */
		if (value_of(check, t) >= check->c->time)
			return FALSE;
	} while (raised);
	return TRUE;
}

/* Says where backward @k passes forward @j, and all pairs after that. */
static PassingAnswer go_on(Check *check, const gint64 *before, guint k, guint j)
{
	const guint n = 2 * check->count * check->ranks;
	guint *first = &check->first[k * check->count + j];
	PassingAnswer answer = PASSING_HOLDS;
	guint from = 0, to = 2 * check->ranks;

	if (j == check->count)
		return PASSING_FAILS;
	if (k == j || j - k >= check->c->flight)
		return go_on(check, before, k == j ? 0 : k + 1, k == j ? j + 1 : j);
	/* Forwards, and backwards, keep their order. */
	if (k > 0 && first[-(gint)check->count] != G_MAXUINT)
		from = (first[-(gint)check->count] + 1) / 2 * 2;
	if (j > k + 1 && first[-1] != G_MAXUINT)
		to = first[-1] / 2 * 2;
	for (guint i = from; i <= to && answer == PASSING_HOLDS;
		i += check->c->x->pair != NULL ? 1 : 2) {
		g_autofree gint64 *t = g_memdup2(before, sizeof *t * n);

		if (check->orders++ == MOST_ORDERS)
			return PASSING_UNKNOWN;
		*first = i;
		if (is_short(check, t))
			answer = go_on(check, t, k + 1, j);
		*first = G_MAXUINT;
	}
	return answer;
}

PassingAnswer passing_check(const PassingClaim *claim)
{
	const guint count = claim->x->count, ranks = claim->x->ranks;
	g_autofree gint64 *t = g_new0(gint64, 2 * (gsize)count * ranks);
	g_autofree guint *first = g_new(guint, (gsize)count * count);
	Check check = {.c = claim, .ranks = ranks, .count = count, .first = first};

	for (guint i = 0; i < count * count; i++)
		first[i] = G_MAXUINT;
	return is_short(&check, t) ? go_on(&check, t, 0, 1) : PASSING_HOLDS;
}
