/* Moves of a walk: which ops change places, or run as one. What that makes of the order walk.c says. */
#include "base/phases.h"
#include "optimize/walk-inner.h"

#define NO_OP PIPESIM_NO_OP

/* Where what runs as one with the op at @place begins, and where it is over. */
static guint32 block_begin(const PipesimWalk *walk, guint32 place)
{
	while (place % walk->per_rank > 0 && pipesim_walk_is_glued(walk, walk->seq[place - 1]))
		place--;
	return place;
}

static guint32 block_end(const PipesimWalk *walk, guint32 place)
{
	while (pipesim_walk_is_glued(walk, walk->seq[place]))
		place++;
	return place + 1;
}

/* The same of all ops from place @a on before @b, and those from @b on before @end. */
static gboolean blocks_may_pass(
	const PipesimWalk *walk, guint32 a, guint32 a_end, guint32 b, guint32 b_end)
{
	for (guint32 i = a; i < a_end; i++)
		for (guint32 k = b; k < b_end; k++)
			if (!pipesim_walk_may_pass(walk, walk->seq[i], walk->seq[k]))
				return FALSE;
	return TRUE;
}

static guint fill_later(PipesimWalk *walk, guint32 place, guint shift, guint32 *first)
{
	const guint32 end = place - place % walk->per_rank + walk->per_rank;
	const guint32 from = block_begin(walk, place), until = block_end(walk, place);
	guint32 at = until;
	guint n = 0;

	for (guint i = 0; i < shift && at < end; i++) {
		const guint32 next = block_end(walk, at);

		if (!blocks_may_pass(walk, from, until, at, next))
			break;
		while (at < next)
			walk->window[n++] = walk->seq[at++];
	}
	if (n == 0)
		return 0;
	*first = from;
	for (at = from; at < until; at++)
		walk->window[n++] = walk->seq[at];
	return n;
}

static guint fill_earlier(PipesimWalk *walk, guint32 place, guint shift, guint32 *first)
{
	const guint32 begin = place - place % walk->per_rank;
	const guint32 from = block_begin(walk, place), until = block_end(walk, place);
	guint32 at = from;
	guint n = 0;

	for (guint i = 0; i < shift && at > begin; i++) {
		const guint32 next = block_begin(walk, at - 1);

		if (!blocks_may_pass(walk, next, at, from, until))
			break;
		at = next;
	}
	if (at == from)
		return 0;
	*first = at;
	for (guint32 k = from; k < until; k++)
		walk->window[n++] = walk->seq[k];
	while (at < from)
		walk->window[n++] = walk->seq[at++];
	return n;
}

/* The window: all from the first of @n_ops ops to the last, these together at the place @at of one of them. Its
 * length; 0: not all the others may run before or after them. */
static guint fill_together(
	PipesimWalk *walk, const guint32 *ops, guint n_ops, guint32 at, guint32 *first)
{
	guint32 last = at;
	guint n = 0;

	*first = at;
	for (guint i = 0; i < n_ops; i++) {
		*first = MIN(*first, walk->place[ops[i]]);
		last = MAX(last, walk->place[ops[i]]);
	}
	if (last - *first > 2 * walk->most_shift)
		return 0;
	for (guint32 place = *first; place <= last; place++) {
		const guint32 op = walk->seq[place];
		gboolean own = FALSE;

		for (guint i = 0; i < n_ops; i++)
			own |= op == ops[i];
		for (guint i = 0; i < n_ops && !own; i++)
			if (place < at ? place > walk->place[ops[i]] &&
						 !pipesim_walk_may_pass(walk, ops[i], op)
				       : place < walk->place[ops[i]] &&
						 !pipesim_walk_may_pass(walk, op, ops[i]))
				return 0;
		for (guint i = 0; i < n_ops && place == at; i++)
			walk->window[n++] = ops[i];
		if (!own)
			walk->window[n++] = op;
	}
	return n;
}

/* @ops, a backward with its W, behind an F or not, come together at the place @at, and run as one or no longer. */
static gboolean try_together(PipesimWalk *walk, const guint32 *ops, guint n_ops, guint32 at,
	gboolean joined, gboolean paired, gint64 most)
{
	const guint32 f = pipesim_walk_kind(walk, ops[0]) == F ? ops[0] : NO_OP;
	const guint32 i = f != NO_OP ? ops[1] : ops[0];
	const gboolean was_joined = walk->x->kinds > 2 && pipesim_walk_is_glued(walk, i);
	guint32 first;
	const guint n = fill_together(walk, ops, n_ops, at, &first);

	if (n == 0)
		return FALSE;
	pipesim_walk_glue(walk, f, i, joined, paired);
	if (pipesim_walk_has_room(walk, first, n) &&
		pipesim_walk_longest_through(walk, first, n, most) <= most &&
		pipesim_walk_take(walk, first, n, TRUE))
		return TRUE;
	pipesim_walk_glue(walk, f, i, was_joined, !paired);
	return FALSE;
}

/* The @n-th backward in no pair from @op on, or back. NO_OP: there is none near. */
static guint32 find_backward(const PipesimWalk *walk, guint32 op, guint n, gboolean later)
{
	for (guint i = 0; i < 2 * walk->most_shift; i++) {
		op = later ? pipesim_walk_next(walk, op) : pipesim_walk_previous(walk, op);
		if (op == NO_OP)
			break;
		if (pipesim_walk_kind(walk, op) == I && pipesim_walk_entry(walk, op) == op &&
			--n == 0)
			return op;
	}
	return NO_OP;
}

/* @f and a backward near it become a pair, where either of them stands, or the other way round. */
static gboolean try_pair(PipesimWalk *walk, guint32 f, gint64 most)
{
	const guint32 bits = pipesim_walk_draw(walk, 64);
	const gboolean paired = pipesim_walk_is_glued(walk, f);
	const guint n = 1 + (bits >> 3 & 1) * (bits >> 4);
	const guint32 i = paired ? pipesim_walk_next(walk, f)
				 : find_backward(walk, f, n, (bits & 1) != 0);
	const guint32 ops[] = {f, i, i + walk->x->count};
	const guint32 at = paired || (bits & 2) != 0 ? f : i;

	if (i == NO_OP || (!paired && !(walk->place[f] < walk->place[i]
						      ? pipesim_walk_may_pass(walk, f, i)
						      : pipesim_walk_may_pass(walk, i, f))))
		return FALSE;
	return try_together(walk, ops, walk->x->kinds, walk->place[at], TRUE, !paired, most);
}

/* Other ops run as one around the op at @place: a pair, or an I and its W. */
static gboolean try_glue(PipesimWalk *walk, guint32 place, gint64 most)
{
	const guint32 first = walk->seq[block_begin(walk, place)];
	const guint kind = pipesim_walk_kind(walk, first);
	const guint32 i = kind == W ? first - walk->x->count : first;
	const guint32 ops[] = {i, i + walk->x->count};

	if (kind == F)
		return walk->x->pair != NULL && try_pair(walk, first, most);
	return walk->x->kinds > 2 && try_together(walk, ops, 2, walk->place[i],
					     !pipesim_walk_is_glued(walk, i), FALSE, most);
}

/* One move at random: other ops run as one, or what does is moved past some others, later or earlier. It is taken
 * if the order is then no longer than @most. */
static gboolean try_move(PipesimWalk *walk, gint64 most)
{
	guint32 place = pipesim_walk_draw(walk, walk->n), bits, first = 0;
	guint shift, n;

	/* A place whose op is on a longest path, in most cases. */
	for (guint i = 0; i < 32; i++) {
		const guint32 op = walk->seq[place];

		if (walk->head[op] + walk->took[op] + walk->tail[op] == walk->makespan)
			break;
		place = pipesim_walk_draw(walk, walk->n);
	}
	bits = pipesim_walk_draw(walk, G_MAXUINT32);
	/* Short ones are the most. */
	shift = (guint)((guint64)pipesim_walk_draw(walk, walk->most_shift) * (bits >> 8) >> 24);
	shift++;
	walk->moves++;
	if (walk->glues && (bits >> 1 & 7u) == 0)
		return try_glue(walk, place, most);
	n = (bits & 1) != 0 ? fill_later(walk, place, shift, &first)
			    : fill_earlier(walk, place, shift, &first);
	return n >= 2 && pipesim_walk_has_room(walk, first, n) &&
	       pipesim_walk_longest_through(walk, first, n, most) <= most &&
	       pipesim_walk_take(walk, first, n, FALSE);
}

void pipesim_walk_run(PipesimWalk *walk, guint n, double heat, gint64 bound)
{
	for (guint i = 0; i < n && walk->best_makespan > bound; i++) {
		const double luck = (pipesim_walk_draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
		const gint64 most = walk->makespan + (gint64)(-log(luck) * heat);

		if (try_move(walk, most) && walk->makespan < walk->best_makespan)
			pipesim_walk_keep_best(walk);
	}
}

gboolean pipesim_walk_step(PipesimWalk *walk, gint64 most)
{
	return pipesim_any(i, 1000, try_move(walk, most));
}
