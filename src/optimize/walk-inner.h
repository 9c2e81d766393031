/* What moves (walk-moves.c) see of an order under way (walk.c): its ops, and what becomes of it where some of one rank
 * run in another order. */
#pragma once
#include "optimize/walk.h"

static inline guint32 pipesim_walk_draw(PipesimWalk *walk, guint32 below)
{
	return pipesim_random_below(walk->key, walk->drawn++, below);
}

static inline guint pipesim_walk_code(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count % (walk->x->chunks * walk->x->kinds);
}

static inline guint pipesim_walk_kind(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count % walk->x->kinds;
}

static inline guint pipesim_walk_lane(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count / walk->x->kinds;
}

/* The op before @op on its rank. */
static inline guint32 pipesim_walk_previous(const PipesimWalk *walk, guint32 op)
{
	const guint32 place = walk->place[op];

	return place % walk->per_rank > 0 ? walk->seq[place - 1] : PIPESIM_NO_OP;
}

static inline guint32 pipesim_walk_next(const PipesimWalk *walk, guint32 op)
{
	const guint32 place = walk->place[op];

	return (place + 1) % walk->per_rank > 0 ? walk->seq[place + 1] : PIPESIM_NO_OP;
}

static inline gboolean pipesim_walk_is_glued(const PipesimWalk *walk, guint32 op)
{
	return walk->glues && walk->glued[op] != 0;
}

/* What waits for the input of @op: the first op of its pair, or @op. */
static inline guint32 pipesim_walk_entry(const PipesimWalk *walk, guint32 op)
{
	const guint32 before = walk->glues ? pipesim_walk_previous(walk, op) : PIPESIM_NO_OP;

	return before != PIPESIM_NO_OP && walk->glued[before] != 0 ? before : op;
}

/* Whether @a, before @b on its rank, may come after it: no other way leads from one to the other. */
static inline gboolean pipesim_walk_may_pass(const PipesimWalk *walk, guint32 a, guint32 b)
{
	const guint32 output = walk->output[a], input = walk->input[b];

	if (pipesim_walk_code(walk, a) == pipesim_walk_code(walk, b) || output == b)
		return FALSE;
	if (pipesim_walk_kind(walk, a) == PIPESIM_CODE_I &&
		pipesim_walk_kind(walk, b) == PIPESIM_CODE_W && b == a + walk->x->count)
		return FALSE;
	/* A way would begin with what follows a and end with what b waits for: no later. */
	return output == PIPESIM_NO_OP || input == PIPESIM_NO_OP ||
	       walk->head[input] < walk->head[output];
}

/* walk->window holds ops of one rank that are to run from a place on. */

/** pipesim_walk_glue: whether @i and its W run as one, and whether @f does with them; without @f (PIPESIM_NO_OP): the
 * former alone. */
void pipesim_walk_glue(
	PipesimWalk *walk, guint32 f, guint32 i, gboolean joined, gboolean paired);

/** pipesim_walk_has_room: what is held stays within the limit while the window, of @n ops, runs from place @first on. */
gboolean pipesim_walk_has_room(const PipesimWalk *walk, guint32 first, guint n);

/** pipesim_walk_longest_through: the longest path through an op of the window, were it to run from place @first on;
 * more than @most where it is above that. */
gint64 pipesim_walk_longest_through(PipesimWalk *walk, guint32 first, guint n, gint64 most);

/** pipesim_walk_take: runs the window from place @first on. FALSE where that makes a cycle: nothing has then changed.
 * @retimed: ops of the window take another time than they did */
gboolean pipesim_walk_take(PipesimWalk *walk, guint32 first, guint n, gboolean retimed);

/** pipesim_walk_keep_best: the order as it is becomes the best. */
void pipesim_walk_keep_best(PipesimWalk *walk);
