/* Messages that pile up, and what repeats of a run where they do: ranks then go on each at a rate of its own, for another
 * one is waited for only much later.
 *
 * What a few rounds do to the state - all times of ranks, and of messages that are on their way - is sums and largest
 * values: each time after them is a convex function of those before. From a state x on, where rounds add r and the same
 * rounds after them r again, let p(k) be what they make of x + k r, less x + (k + 1) r: convex in k, and p(0) = p(1) = 0.
 * Where also p(n) = 0 for a larger n, p is 0 all the way from 0 to n: no convex function has three zeros otherwise. So
 * the state is put n times further at once, and the rounds run once more from there: where they add r again, so did all
 * those that were left out. Where they do not, half as many are tried. */
#include "engine/flow.h"
#include <string.h>

/* Rounds that may be one repetition. */
#define MOST_ROUNDS 8
#define KEPT        (2 * MOST_ROUNDS + 1)
/* Repetitions that are worth a try, and rounds until the next one where fewer than these could be left out. */
#define LEAST 8
#define PAUSE 64
/* Messages on their way that are compared. */
#define MOST_AHEAD 4096
/* Turns after which something would have been left out, if ever. */
#define MOST_TOLD (1u << 22)

/* Before a round. */
typedef struct {
	PipesimFlowRank *ranks;
	PipesimPile *piles;
	guint32 *n; /* of places, as PipesimPlace has them */
	guint64 n_done;
} State;

struct _PipesimPileLeap {
	PipesimFlow *flow;
	gsize n_piles;
	State kept[KEPT];
	guint32 n_kept, next; /* rounds kept, and until all of them are compared */
	guint64 n_turns;
	/* A try: how many rounds a repetition has, and how many are left of it; repetitions that can be left out, those
	 * that are tried, and those that cannot. */
	guint32 rounds, left;
	guint64 can, tried, cannot;
};

/* Piles ------------------------------------------------------------------------------------ */

static PipesimMoment *nth(const PipesimPile *pile, guint32 i)
{
	return &g_array_index(pile->all, PipesimMoment, i);
}

/* @moment, and @times what @later is later than @early. */
static PipesimMoment extend(const PipesimMoment *moment, const PipesimMoment *early,
	const PipesimMoment *later, guint64 times)
{
	return (PipesimMoment){moment->ruled + (gint64)times * (later->ruled - early->ruled),
		moment->free + (gint64)times * (later->free - early->free)};
}

static const PipesimStretched *stretch_of(const PipesimPile *pile)
{
	const PipesimStretched *s =
		&g_array_index(pile->stretches, PipesimStretched, pile->stretch);

	return pile->stretch < pile->n_stretches && s->at == pile->taken ? s : NULL;
}

PipesimMoment *pipesim_pile_front(PipesimPile *pile)
{
	const PipesimStretched *s;

	if (pile->front.ruled != 0 || pile->n_in == pile->n_out)
		return &pile->front;
	s = stretch_of(pile);
	if (s != NULL) {
		const guint32 base = s->at - s->n + (guint32)(pile->gone % s->n);

		pile->front = extend(nth(pile, base), nth(pile, base - s->n), nth(pile, base),
			pile->gone / s->n + 1);
		if (++pile->gone == s->length) {
			pile->gone = 0;
			pile->stretch++;
		}
	} else {
		pile->front = *nth(pile, pile->taken++);
	}
	pile->n_out++;
	return &pile->front;
}

void pipesim_pile_put(PipesimPile *pile, PipesimMoment moment)
{
	g_array_set_size(pile->all, pile->sent);
	g_array_append_val(pile->all, moment);
	pile->sent++;
	pile->n_in++;
}

/* States ----------------------------------------------------------------------------------- */

static void save(PipesimPileLeap *leap, State *to)
{
	const PipesimFlow *flow = leap->flow;

	memcpy(to->ranks, flow->ranks, flow->program->shape.ranks * sizeof *to->ranks);
	memcpy(to->piles, flow->piles, leap->n_piles * sizeof *to->piles);
	for (gsize i = 0; i < leap->n_piles; i++)
		to->n[i] = flow->places[i / 2].n[i % 2];
	to->n_done = flow->n_done;
}

static const State *state_before(const PipesimPileLeap *leap, guint32 rounds)
{
	return &leap->kept[(leap->n_kept - 1 - rounds) % KEPT];
}

#define ADD(field, times) (c->field + (gint64)(times) * (c->field - b->field))

/* @c, @times what it has more than @b. */
static PipesimFlowRank extend_rank(
	const PipesimFlowRank *b, const PipesimFlowRank *c, guint64 times)
{
	PipesimFlowRank r = *c;

	r.rounds = (guint32)ADD(rounds, times);
	r.at = (guint32)ADD(at, times);
	r.now = ADD(now, times);
	r.free = ADD(free, times);
	r.last_end = ADD(last_end, times);
	r.queue = ADD(queue, times);
	return r;
}

static gboolean same_ranks(const PipesimFlowRank *a, const PipesimFlowRank *b)
{
	return a->verb == b->verb && a->loop == b->loop && a->rounds == b->rounds &&
	       a->at == b->at && a->n_todo == b->n_todo && a->now == b->now &&
	       a->free == b->free && a->last_end == b->last_end && a->queue == b->queue;
}

static gboolean same_moments(PipesimMoment a, const PipesimMoment *b)
{
	return a.ruled == b->ruled && (a.ruled == 0 || a.free == b->free);
}

/* Whether @now is @c with @times what that has more than @b, where something is compared at all: what was sent since
 * then where none is taken, and what is on its way where as many are. */
static gboolean same_piles(
	const PipesimPile *b, const PipesimPile *c, const PipesimPile *now, guint64 times)
{
	const guint64 in = c->n_in - b->n_in, out = c->n_out - b->n_out;
	const guint32 n = (guint32)(out == 0 ? in : c->n_in - c->n_out);
	gboolean same =
		same_moments(extend(&c->front, &b->front, &c->front, times), &now->front);

	for (guint32 i = 0; in > 0 && i < n && same; i++) {
		const guint32 of_b = out == 0 ? c->sent - 2 * n + i : b->taken + i;
		const guint32 of_c = out == 0 ? c->sent - n + i : c->taken + i;
		const guint32 of_now = out == 0 ? now->sent - n + i : now->taken + i;

		same = same_moments(
			extend(nth(now, of_c), nth(now, of_b), nth(now, of_c), times),
			nth(now, of_now));
	}
	return same;
}

/* Whether @a, @b and @c, as many rounds apart, are each as much more than the one before; *@most: for how many
 * repetitions more there is enough in stretches. */
static gboolean pile_repeats(
	const PipesimPile *a, const PipesimPile *b, const PipesimPile *c, guint64 *most)
{
	const guint64 in = c->n_in - b->n_in, out = c->n_out - b->n_out;
	const PipesimStretched *s = stretch_of(c);

	if (b->n_in - a->n_in != in || b->n_out - a->n_out != out ||
		(a->front.ruled == 0) != (c->front.ruled == 0) ||
		(b->front.ruled == 0) != (c->front.ruled == 0))
		return FALSE;
	if (out > 0 && in == 0) {
		if (s == NULL || a->stretch != c->stretch || a->taken != s->at ||
			out % s->n != 0)
			return FALSE;
		*most = MIN(*most, (s->length - 1 - c->gone) / out);
	} else if (out > 0) {
		if (in != out || c->n_in - c->n_out > MOST_AHEAD || a->stretch < c->n_stretches)
			return FALSE;
	} else if (in > 0) {
		return in <= MOST_AHEAD;
	}
	return same_piles(a, b, c, 1);
}

/* Whether the last @rounds rounds did what as many before them did; for how many repetitions loops go on so. */
static gboolean repeats(const PipesimPileLeap *leap, guint32 rounds, guint64 *most)
{
	const PipesimFlow *flow = leap->flow;
	const State *a = state_before(leap, 2 * rounds), *b = state_before(leap, rounds);
	const State *c = state_before(leap, 0);
	gboolean same = c->n_done > b->n_done;

	*most = G_MAXUINT32;
	for (guint rank = 0; rank < flow->program->shape.ranks && same; rank++) {
		const PipesimFlowRank *r = &c->ranks[rank], *before = &b->ranks[rank];
		const PipesimFlowRank goes_on = extend_rank(&a->ranks[rank], before, 1);
		const guint32 ops = r->at - before->at;

		same = same_ranks(&goes_on, r);
		if (ops == 0)
			continue;
		*most = MIN(*most, (r->rounds - 1) / MAX(before->rounds - r->rounds, 1));
		if (r->todo_at != PIPESIM_NO_OP)
			*most = MIN(*most, (r->todo_at - 1 - r->at) / ops);
	}
	for (gsize i = 0; i < leap->n_piles && same; i++)
		same = pile_repeats(&a->piles[i], &b->piles[i], &c->piles[i], most);
	return same && *most > LEAST;
}

/* Leaps ------------------------------------------------------------------------------------ */

static void move_pile(
	const PipesimPile *b, const PipesimPile *c, PipesimPile *to, guint64 times)
{
	const guint64 in = c->n_in - b->n_in, out = c->n_out - b->n_out;
	const guint32 n = (guint32)(c->n_in - c->n_out);

	*to = *c;
	to->front = extend(&c->front, &b->front, &c->front, times);
	to->n_in += times * in;
	to->n_out += times * out;
	if (in == 0) {
		to->gone += times * out;
	} else if (out == 0) {
		const PipesimStretched s = {c->sent, (guint32)in, times * in};

		g_array_set_size(to->stretches, to->n_stretches++);
		g_array_append_val(to->stretches, s);
	} else {
		g_array_set_size(to->all, to->sent);
		for (guint32 i = 0; i < n; i++) {
			const PipesimMoment moment = extend(nth(to, c->taken + i),
				nth(to, b->taken + i), nth(to, c->taken + i), times);

			g_array_append_val(to->all, moment);
		}
		to->taken = to->sent;
		to->sent += n;
	}
}

/* To as many repetitions behind the last state kept. */
static void move(PipesimPileLeap *leap, guint64 times)
{
	PipesimFlow *flow = leap->flow;
	const State *old = state_before(leap, leap->rounds), *last = state_before(leap, 0);

	for (guint rank = 0; rank < flow->program->shape.ranks; rank++)
		flow->ranks[rank] = extend_rank(&old->ranks[rank], &last->ranks[rank], times);
	for (gsize i = 0; i < leap->n_piles; i++) {
		const guint64 more = times * (last->n[i] - old->n[i]);

		if (times > 0)
			move_pile(&old->piles[i], &last->piles[i], &flow->piles[i], times);
		else
			flow->piles[i] = last->piles[i];
		flow->places[i / 2].n[i % 2] = (guint32)(last->n[i] + more);
	}
	flow->n_done = last->n_done + times * (last->n_done - old->n_done);
}

/* Whether all is as the last states kept tell of a repetition behind those that were left out. */
static gboolean is_told(const PipesimPileLeap *leap)
{
	const PipesimFlow *flow = leap->flow;
	const State *old = state_before(leap, leap->rounds), *last = state_before(leap, 0);
	gboolean same = TRUE;

	for (guint rank = 0; rank < flow->program->shape.ranks && same; rank++) {
		const PipesimFlowRank r =
			extend_rank(&old->ranks[rank], &last->ranks[rank], leap->tried + 1);

		same = same_ranks(&r, &flow->ranks[rank]);
	}
	for (gsize i = 0; i < leap->n_piles && same; i++)
		same = same_piles(
			&old->piles[i], &last->piles[i], &flow->piles[i], leap->tried + 1);
	return same;
}

/* Goes on from where so many repetitions were left out, and looks for others. */
static void end_try(PipesimPileLeap *leap)
{
	leap->n_kept = 0;
	leap->rounds = 0;
	leap->next = leap->can < LEAST ? PAUSE : 0;
}

static void try_to(PipesimPileLeap *leap, guint64 times)
{
	leap->tried = times;
	leap->left = leap->rounds;
	move(leap, times);
}

static void judge(PipesimPileLeap *leap)
{
	const gboolean told = is_told(leap);

	*(told ? &leap->can : &leap->cannot) = leap->tried;
	if (leap->can + 1 < leap->cannot) {
		try_to(leap, leap->can + (leap->cannot - leap->can) / 2);
		return;
	}
	if (!told)
		move(leap, leap->can);
	end_try(leap);
}

gboolean pipesim_pile_leap_look(PipesimPileLeap *leap)
{
	PipesimFlow *flow = leap->flow;
	guint64 most;

	leap->n_turns += flow->program->shape.ranks;
	if (leap->rounds > 0) {
		if (--leap->left == 0)
			judge(leap);
		return TRUE;
	}
	if (leap->next > 0) {
		leap->next--;
		return TRUE;
	}
	save(leap, &leap->kept[leap->n_kept++ % KEPT]);
	for (guint32 rounds = 1; rounds <= MOST_ROUNDS && 2 * rounds < leap->n_kept; rounds++) {
		if (!repeats(leap, rounds, &most))
			continue;
		leap->rounds = rounds;
		leap->can = 0;
		leap->cannot = most;
		try_to(leap, most - 1);
		break;
	}
	return !flow->leaps || leap->n_turns < MOST_TOLD;
}

PipesimPileLeap *pipesim_pile_leap_new(PipesimFlow *flow)
{
	PipesimPileLeap *leap = pipesim_arena_array(flow->arena, PipesimPileLeap, 1);
	const PipesimShape *shape = &flow->program->shape;
	const gsize n = 2 * (gsize)shape->ranks * shape->chunks;

	if (leap == NULL)
		return NULL;
	leap->flow = flow;
	leap->n_piles = n;
	for (guint i = 0; i < KEPT; i++) {
		State *state = &leap->kept[i];

		state->ranks = pipesim_arena_array(flow->arena, PipesimFlowRank, shape->ranks);
		state->piles = pipesim_arena_array(flow->arena, PipesimPile, n);
		state->n = pipesim_arena_array(flow->arena, guint32, n);
		if (state->n == NULL)
			return NULL;
	}
	for (gsize i = 0; i < n; i++) {
		flow->piles[i].all = g_array_new(FALSE, FALSE, sizeof(PipesimMoment));
		flow->piles[i].stretches = g_array_new(FALSE, FALSE, sizeof(PipesimStretched));
	}
	return leap;
}

void pipesim_pile_leap_free(PipesimPileLeap *leap)
{
	for (gsize i = 0; leap != NULL && i < leap->n_piles; i++) {
		g_array_unref(leap->flow->piles[i].all);
		g_array_unref(leap->flow->piles[i].stretches);
	}
}
