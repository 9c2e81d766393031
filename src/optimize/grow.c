/* Orders that grow where messages go by queues. There a move early in an order changes in which turn the messages after it
 * go, all the way to its end: most of what the walks have found behind it is lost, and they are slow to come to anything.
 * So an order of a few micro-batches is made short first; then a stretch of it is repeated once, the one after which it is
 * the shortest, and what stands towards its end is moved anew, and so on. */
#include "optimize/state.h"
#include "optimize/stretch.h"
#include "optimize/within.h"

/* Orders grow in turn by these many micro-batches at a time, or the next number that leads on; with heat in average ops at
 * first. Which comes out shorter cannot be foreseen. */
static const struct {
	guint step;
	double heat;
} ways[] = {{2, 0.2}, {4, 0.4}};
#define LEAST_STEP 2
#define MOST_STEP  8
/* Those at its end whose ops are moved. */
#define WINDOW 12
/* It grows to so many a rank; of longer orders the rest is repeated at once. */
#define GROWN_RANKS 4
/* Visits of ops that take as long as a move of other walks. */
#define MOVE_VISITS 450
/* Heat of the first order, and at the end of each; what every other walk has of it, which comes to something where the
 * hotter ones do not come back to what they began from. */
#define FIRST   0.8
#define COLDEST 0.02
#define COOLER  0.25
/* The first order has as much of the effort as so many others. */
#define FIRST_PARTS 3
#define EARLY_PARTS 3
/* Looks of a walk are divided into so many, and where only time counts there are as many between two looks at the clock. */
#define SLICES 50
/* So much in a part, at most, for progress to be told: looks of a walk, and us. */
#define MOST_LOOKS 40000
#define MOST_TIME  500000

typedef struct {
	PipesimSearchState *s;
	PipesimInstance x; /* with the micro-batches that the order has so far */
	guint8 *codes;     /* the shortest of these; room for the whole */
	gint64 makespan;
	guint count; /* micro-batches up to which it grows step by step */
	/* The effort, as PipesimSearchState has it, and in how many parts what is left of it is divided. */
	guint64 moves;
	gint64 deadline;
	guint parts;
	/* Of the walks that are under way. */
	guint from, looks; /* looks 0: only time counts */
	double hottest;
	gint64 began, until; /* until 0: only looks count */
	guint8 **found;      /* [walk] */
	gint64 *makespans;
	guint *done;
	guint way;
} Grow;

static gsize n_ops(const PipesimInstance *x)
{
	return (gsize)x->ranks * x->per_rank;
}

static gboolean run_walk(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	Grow *g = data;
	const PipesimSearchState *s = g->s;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	const guint slice = g->looks > 0 ? g->looks / SLICES + 1 : SLICES;
	const double hottest = g->hottest * (item % 2 > 0 ? COOLER : 1);
	PipesimQueueWalk walk;
	double part;

	g->makespans[item] = G_MAXINT64;
	g->done[item] = 0;
	pipesim_queue_walk_init(&walk, &g->x, s->judge.runtime, s->of->seed,
		(guint64)g->way << 40 | (guint64)g->x.count << 16 | item, arena);
	if (!pipesim_arena_check(arena, NULL, "ops") ||
		!pipesim_queue_walk_begin(&walk, g->codes))
		return TRUE;
	walk.from = g->from;
	while ((part = pipesim_effort_part(g->done[item], g->looks, g->began, g->until)) < 1) {
		pipesim_queue_walk_run(
			&walk, slice, s->op * hottest * pow(COLDEST / hottest, part));
		g->done[item] += slice;
	}
	g->makespans[item] = walk.best_makespan;
	memcpy(g->found[item], walk.best, walk.n);
	return TRUE;
}

/* Makes the order shorter by moves of its last ops. Takes @parts of the effort. */
static void improve(Grow *g, double hottest, guint parts)
{
	PipesimSearchState *s = g->s;
	const guint moved = MIN(g->x.count, WINDOW) * g->x.chunks * g->x.kinds;
	const guint64 left = g->moves - MIN(g->moves, s->found->moves);
	const guint64 visits = (guint64)g->x.ranks * moved; /* of a look */
	const gint64 now = g_get_monotonic_time();
	const PipesimParallel work = {.n_items = s->n_queue_walks,
		.threads = s->of->threads,
		.run = run_walk,
		.data = g};
	guint64 looks = 0;

	parts = MIN(parts, g->parts);
	g->from = g->x.per_rank - moved;
	g->hottest = hottest;
	g->looks = (guint)MIN(left * parts / g->parts * MOVE_VISITS / visits / s->n_queue_walks,
		(guint64)parts * MOST_LOOKS);
	g->began = now;
	g->until = 0;
	if (g->deadline > 0)
		g->until = now + MIN(MAX(g->deadline - now, 0) / g->parts, MOST_TIME) * parts;
	g->parts -= MIN(parts, g->parts - 1);
	if (g->looks == 0 && g->until == 0)
		return;
	pipesim_parallel(&work, NULL);
	for (guint i = 0; i < s->n_queue_walks; i++) {
		looks += g->done[i];
		if (g->makespans[i] < g->makespan) {
			g->makespan = g->makespans[i];
			memcpy(g->codes, g->found[i], n_ops(&g->x));
		}
	}
	s->found->moves += looks * visits / MOVE_VISITS;
}

static gint64 judge_stretch(const guint8 *codes, gpointer data)
{
	PipesimQueueWalk *walk = data;

	return pipesim_instance_all_fit(walk->x, codes) && pipesim_queue_walk_begin(walk, codes)
		       ? walk->makespan
		       : G_MAXINT64;
}

/* The shortest order of the micro-batches of @y in which a unit of up to @most is repeated; FALSE: there is none. */
static gboolean stretch(Grow *g, const PipesimInstance *y, guint most)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimQueueWalk walk;
	PipesimWalk plain; /* no message waits: it tells which ops of ranks go together */

	pipesim_walk_init(&plain, &g->x, 0, 0, arena);
	pipesim_queue_walk_init(&walk, y, g->s->judge.runtime, 0, 0, arena);
	if (!pipesim_arena_check(arena, NULL, "ops") || !pipesim_walk_begin(&plain, g->codes))
		return FALSE;
	g->makespan = pipesim_stretch_best(&plain, y, most, judge_stretch, &walk, g->codes);
	if (g->makespan == G_MAXINT64)
		return FALSE;
	g->x = *y;
	return TRUE;
}

/* By a few micro-batches. */
static gboolean grow_step(Grow *g)
{
	const guint missing = g->count - g->x.count;

	for (guint step = MIN(ways[g->way].step, missing); step <= MIN(MOST_STEP, missing);
		step++) {
		const PipesimInstance y =
			pipesim_instance_with_count(&g->s->tight, g->x.count + step);

		if (stretch(g, &y, step))
			return TRUE;
	}
	return FALSE;
}

/* What later ones repeat has more of the effort than they. */
static guint parts_of(const Grow *g, guint count)
{
	return count <= 2 * g->x.ranks ? EARLY_PARTS : 1;
}

static gboolean grow(Grow *g)
{
	const PipesimInstance *x = &g->s->tight;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	const guint step = ways[g->way].step;
	PipesimQueueWalk walk;

	g->x = pipesim_instance_with_count(x, x->ranks);
	g->parts = FIRST_PARTS;
	for (guint i = x->ranks; i < g->count; i += step)
		g->parts += parts_of(g, MIN(i + step, g->count));
	pipesim_queue_walk_init(&walk, &g->x, g->s->judge.runtime, 0, 0, arena);
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return FALSE;
	pipesim_build_justified(&g->x, g->codes);
	if (!pipesim_instance_all_fit(&g->x, g->codes) ||
		!pipesim_queue_walk_begin(&walk, g->codes))
		return FALSE;
	g->makespan = walk.makespan;
	improve(g, FIRST, FIRST_PARTS);
	while (g->x.count < g->count) {
		if (pipesim_search_is_over(g->s, g->moves, g->deadline) || !grow_step(g))
			return FALSE;
		improve(g, ways[g->way].heat, parts_of(g, g->x.count));
	}
	return g->x.count == x->count || stretch(g, x, PIPESIM_STRETCH_UNIT);
}

/* In each of the ways. Returns how long the shortest is. */
static gint64 grow_some(Grow *g, guint8 *best)
{
	const guint64 moves = g->moves;
	const gint64 deadline = g->deadline;
	gint64 makespan = G_MAXINT64;

	for (; g->way < G_N_ELEMENTS(ways); g->way++) {
		const guint left = G_N_ELEMENTS(ways) - g->way;
		const gint64 now = g_get_monotonic_time();
		const guint64 before = g->s->found->moves;

		if (moves > 0)
			g->moves = before + (moves - MIN(moves, before)) / left;
		if (deadline > 0)
			g->deadline = now + (deadline - now) / left;
		if (!grow(g))
			break;
		if (g->makespan < makespan) {
			makespan = g->makespan;
			memcpy(best, g->codes, g->s->n);
		}
	}
	return makespan;
}

guint8 *pipesim_search_grow(PipesimSearchState *s, double part)
{
	const PipesimSearchOf *of = s->of;
	const guint count = s->tight.count, first = s->tight.ranks, most = GROWN_RANKS * first;
	const gint64 now = g_get_monotonic_time();
	Grow g = {.s = s, .count = count};
	g_autoptr(PipesimArena) arena = pipesim_arena_new();

	if (count < first + LEAST_STEP || s->n > PIPESIM_SEARCH_LONG)
		return NULL;
	if (count > most)
		g.count = most + (count - most) % PIPESIM_STRETCH_PARTS;
	if (of->moves > 0)
		g.moves =
			s->found->moves +
			(guint64)((double)(of->moves - MIN(of->moves, s->found->moves)) * part);
	if (of->deadline > 0)
		g.deadline = now + (gint64)((double)(of->deadline - now) * part);
	g_autofree guint8 *best = g_new(guint8, s->n);
	g.codes = pipesim_arena_array(arena, guint8, s->n);
	g.found = pipesim_arena_array(arena, guint8 *, s->n_queue_walks);
	g.makespans = pipesim_arena_array(arena, gint64, s->n_queue_walks);
	g.done = pipesim_arena_array(arena, guint, s->n_queue_walks);
	for (guint i = 0; i < s->n_queue_walks && g.found != NULL; i++)
		g.found[i] = pipesim_arena_array(arena, guint8, s->n);
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return NULL;
	gint64 makespan = grow_some(&g, best);
	return makespan < G_MAXINT64 ? g_steal_pointer(&best) : NULL;
}
