/* Where orders are justified in a search: those that walks go on from. */
#include "optimize/state.h"

/* The part of the effort, in this many turns, and the ops put for a move of it: together they take about as long as all
 * moves of walks, and where the clock decides that part of the time. */
#define PART  3
#define TURNS 3
#define PUTS  40
/* Ops put where an order begins as one micro-batch after the other, and most times that it is put together. */
#define FIRST_PUTS  (1u << 20)
#define FIRST_TIMES 30

void pipesim_search_init_justifiers(PipesimSearchState *s)
{
	s->justifiers = pipesim_arena_array(s->arena, PipesimJustifier, s->n_walks);
	for (guint i = 0; i < s->n_walks && s->justifiers != NULL; i++)
		pipesim_justifier_init(&s->justifiers[i], &s->tight, s->of->seed, i, s->arena);
}

static void begin(const PipesimSearchState *s, PipesimJustifier *j, const PipesimWalk *walk)
{
	g_autofree guint8 *codes = g_new(guint8, s->n);

	pipesim_walk_codes(walk, codes);
	pipesim_justifier_begin(j, codes, walk->head, walk->makespan);
}

/* Makes the order that @j has come to that of @walk, if it is shorter. */
static void take(const PipesimSearchState *s, PipesimJustifier *j, PipesimWalk *walk)
{
	if (j->makespan >= walk->makespan)
		return;
	g_autofree guint8 *before = g_new(guint8, s->n);
	g_autofree guint8 *codes = g_new(guint8, s->n);
	pipesim_walk_codes(walk, before);
	pipesim_justifier_codes(j, codes);
	/* It may not fit where codes hold more than rooms say. */
	if (!pipesim_search_fits(s, codes) || !pipesim_walk_begin(walk, codes))
		pipesim_walk_begin(walk, before);
}

static gboolean run_justifier(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	PipesimSearchState *s = data;
	PipesimWalk *walk = &s->walks[item];
	PipesimJustifier *j = &s->justifiers[item];
	/* Where the engine judges an order as short as the bound is not yet the end. */
	const gint64 bound = s->judged ? -1 : s->found->bound->time;

	begin(s, j, walk);
	for (guint i = 0; i < s->justifications && j->makespan > bound; i++) {
		if (pipesim_search_is_late(s))
			break;
		if (s->justify_until > 0 && g_get_monotonic_time() >= s->justify_until)
			break;
		pipesim_justifier_run(j, i > 0);
	}
	take(s, j, walk);
	return TRUE;
}

void pipesim_search_justify(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const gint64 now = g_get_monotonic_time();
	const guint parts =
		PART * TURNS * (s->queue_walks != NULL ? PIPESIM_SEARCH_PLAIN_PART : 1);
	const PipesimParallel work = {
		.n_items = s->n_walks, .threads = of->threads, .run = run_justifier, .data = s};

	s->justifications = G_MAXUINT;
	if (of->moves > 0)
		s->justifications = (guint)MIN(
			of->moves / parts / s->n_walks * PUTS / (2 * s->n), G_MAXUINT);
	s->justify_until = of->deadline > 0 ? now + (of->deadline - now) / parts : 0;
	pipesim_parallel(&work, NULL);
}

void pipesim_build_justified(const PipesimInstance *x, guint8 *codes)
{
	const guint n = x->ranks * x->per_rank, times = CLAMP(FIRST_PUTS / n, 1, FIRST_TIMES);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autofree guint8 *anew = g_new(guint8, n);
	PipesimJustifier j;
	PipesimWalk walk;

	pipesim_build(x, codes);
	pipesim_walk_init(&walk, x, 0, 0, arena);
	pipesim_justifier_init(&j, x, 0, 0, arena);
	if (!pipesim_arena_check(arena, NULL, "ops") || !pipesim_walk_begin(&walk, codes))
		return;
	pipesim_justifier_begin(&j, codes, walk.head, walk.makespan);
	for (guint i = 0; i < times; i++)
		pipesim_justifier_run(&j, i > 0);
	pipesim_justifier_codes(&j, anew);
	if (pipesim_instance_all_fit(x, anew) && pipesim_walk_begin(&walk, anew))
		memcpy(codes, anew, n);
}
