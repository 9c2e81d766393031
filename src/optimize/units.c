/* Where the search of a step in a V begins: the shortest unit of one micro-batch, repeated. */
#include "optimize/state.h"
#include "schedule/search/fold.h"
#include <string.h>

/* The part of the effort that units take, and visits of ops, of about 10 ns each, that take as long as a move. */
#define UNITS_PART  5
#define MOVE_VISITS 100

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
	g_autofree guint8 *codes = NULL;
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
	codes = g_new(guint8, s->n);
	u.best = g_new(guint8, s->n);
	if (pipesim_arena_check(arena, NULL, "units"))
		s->moves_before += pipesim_fold_search(fold, codes, &how);
	s->found->moves = s->moves_before;
	pipesim_fold_free(fold);
	if (u.makespan == G_MAXINT64)
		g_clear_pointer(&u.best, g_free);
	return u.best;
}
