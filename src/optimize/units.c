/* Where the search begins besides what is known: in a V the shortest unit of one micro-batch, repeated; with overlapped
 * pairs as many of them as memory has room for. */
#include "optimize/state.h"
#include "schedule/search/fold.h"

/* The part of the effort that units take, and visits of ops, of about 10 ns each, that take as long as a move. */
#define UNITS_PART  5
#define MOVE_VISITS 100

/* Units ---------------------------------------------------------------------------------- */

typedef struct {
	PipesimSearchState *s;
	PipesimWalk walk;
	guint8 *best;    /* the shortest step */
	gint64 makespan; /* its, ns */
	gint64 deadline; /* 0: only visits count */
} Units;

static gboolean go_on(gpointer data)
{
	const Units *u = data;

	return !pipesim_search_is_late(u->s) &&
	       (u->deadline == 0 || g_get_monotonic_time() < u->deadline);
}

static void look(gpointer data, const guint8 *codes)
{
	Units *u = data;

	if (!pipesim_walk_begin(&u->walk, codes) || u->walk.makespan >= u->makespan)
		return;
	u->makespan = u->walk.makespan;
	memcpy(u->best, codes, u->s->n);
}

guint8 *pipesim_search_units(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const gint64 now = g_get_monotonic_time();
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimFold *fold = pipesim_fold_new(&s->tight);
	Units u = {.s = s,
		.makespan = G_MAXINT64,
		.deadline = of->deadline > 0 ? now + (of->deadline - now) / UNITS_PART : 0};
	const PipesimFoldLook how = {
		.most_visits = of->moves > 0 ? MAX(of->moves / UNITS_PART, 1) * MOVE_VISITS : 0,
		.go_on = go_on,
		.look = look,
		.data = &u};

	if (fold == NULL)
		return NULL;
	pipesim_walk_init(&u.walk, &s->tight, 0, 0, arena);
	g_autofree guint8 *codes = g_new(guint8, s->n);
	u.best = g_new(guint8, s->n);
	if (pipesim_arena_check(arena, NULL, "units"))
		s->moves_before += pipesim_fold_search(fold, codes, &how);
	s->found->moves = s->moves_before;
	pipesim_fold_free(fold);
	if (u.makespan == G_MAXINT64)
		g_clear_pointer(&u.best, g_free);
	return u.best;
}

/* Pairs ---------------------------------------------------------------------------------- */

/* With overlapped pairs: all ranks run in slots, each a pair where it can be.
 *
 * A micro-batch goes on by one stage a slot, down to the last and back, without a wait: forward of depth d in slot
 * s + d, backward in s + 2 stages - 1 - d, where s is when it begins. A rank runs a forward and a backward a slot at
 * most. Each micro-batch begins in the first slot in which all of its ops, and what they hold, have room. Where memory
 * has room for as many as that makes, this is DualPipeV's order in a V; with less, one begins later now and then and
 * all others stay as they are, so that one activation too few costs a pair or two a round, not all pairs. */
#define NOTHING G_MAXUINT8

typedef struct {
	const PipesimInstance *x;
	guint stages, slots;
	guint8 *forward, *backward;      /* [rank * slots + slot]: chunk, or NOTHING */
	gint64 *held[PIPESIM_MAX_ROOMS]; /* [rank * slots + slot] */
} Slots;

/* Whether the micro-batch that begins in @slot has room on @lane. */
static gboolean has_room(const Slots *a, guint lane, guint slot)
{
	const PipesimInstance *x = a->x;
	const guint rank = lane / x->chunks;
	const gsize from = (gsize)rank * a->slots + slot + x->depth[lane];
	const gsize to = from + 2 * (a->stages - x->depth[lane]) - 1;

	if (a->forward[from] != NOTHING || a->backward[to] != NOTHING)
		return FALSE;
	for (guint i = 0; i < x->n_rooms; i++)
		for (gsize at = from; at <= to; at++)
			if (a->held[i][at] + x->room[i].held[lane] > x->room[i].limit[rank])
				return FALSE;
	return TRUE;
}

/* Takes that, or gives it back. */
static void take(Slots *a, guint lane, guint slot, gboolean back)
{
	const PipesimInstance *x = a->x;
	const gsize from = (gsize)(lane / x->chunks) * a->slots + slot + x->depth[lane];
	const gsize to = from + 2 * (a->stages - x->depth[lane]) - 1;

	a->forward[from] = a->backward[to] = back ? NOTHING : (guint8)(lane % x->chunks);
	for (guint i = 0; i < x->n_rooms; i++)
		for (gsize at = from; at <= to; at++)
			a->held[i][at] += back ? -x->room[i].held[lane] : x->room[i].held[lane];
}

/* Lets a micro-batch begin in the first slot from @slot on in which all lanes have room for it. FALSE where that is
 * too late to be of use. */
static gboolean begin_one(Slots *a, guint *slot)
{
	for (; *slot + 2 * a->stages <= a->slots; ++*slot) {
		guint lane = 0;

		for (; lane < a->x->lanes && has_room(a, lane, *slot); lane++)
			take(a, lane, *slot, FALSE);
		if (lane == a->x->lanes)
			return TRUE;
		while (lane-- > 0)
			take(a, lane, *slot, TRUE);
	}
	return FALSE;
}

/* What @rank runs. */
static void write_codes(const Slots *a, guint rank, guint8 *codes)
{
	const PipesimInstance *x = a->x;
	const gboolean splits = x->kinds > PIPESIM_CODE_W;

	for (gsize at = (gsize)rank * a->slots; at < (gsize)(rank + 1) * a->slots; at++) {
		const guint f = a->forward[at], b = a->backward[at];
		const guint lane = pipesim_instance_lane(x, rank, f);
		const gboolean both = f != NOTHING && b != NOTHING;
		const gboolean paired = both && pipesim_instance_pair(x, lane, b) > 0;

		if (paired)
			*codes++ = (guint8)(f * x->kinds) | PIPESIM_CODE_PAIRED;
		if (b != NOTHING) {
			*codes = (guint8)(b * x->kinds + PIPESIM_CODE_I);
			*codes++ |= paired && splits ? PIPESIM_CODE_JOINED : 0;
			if (splits)
				*codes++ = (guint8)(b * x->kinds + PIPESIM_CODE_W);
		}
		if (f != NOTHING && !paired)
			*codes++ = (guint8)(f * x->kinds);
	}
}

guint8 *pipesim_search_paired(const PipesimInstance *x)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Slots a = {.x = x, .stages = x->lanes};
	guint8 *codes;
	gsize all;
	guint slot = 0;

	if (x->pair == NULL || x->shape.copies > 1)
		return NULL;
	/* A forward and then a backward take as long as two slots at most. */
	a.slots = 2 * (x->lanes + x->chunks * x->count);
	all = (gsize)x->ranks * a.slots;
	a.forward = pipesim_arena_array(arena, guint8, all);
	a.backward = pipesim_arena_array(arena, guint8, all);
	for (guint i = 0; i < x->n_rooms; i++)
		a.held[i] = pipesim_arena_array(arena, gint64, all);
	if (!pipesim_arena_check(arena, NULL, "slots"))
		return NULL;
	memset(a.forward, NOTHING, all);
	memset(a.backward, NOTHING, all);
	for (guint k = 0; k < x->count; k++)
		if (!begin_one(&a, &slot))
			return NULL;
	codes = g_new(guint8, (gsize)x->ranks * x->per_rank);
	for (guint rank = 0; rank < x->ranks; rank++)
		write_codes(&a, rank, codes + (gsize)rank * x->per_rank);
	return codes;
}
