/* Where the search of a step in a V begins: the shortest unit of one micro-batch, repeated. */
#include "config.h"

#include "optimize/fold.h"
#include "optimize/state.h"

/* The part of the effort that units take, and visits of ops, of about 10 ns each, that take as long as a move. */
#define UNITS_PART  5
#define MOVE_VISITS 100
/* Of an op of a step that is looked at. */
#define STEP_VISITS 5
/* The first step from the work of the ranks on, and the last one, as parts of it. */
#define FIRST_STEP 100
#define LAST_STEP  1000
/* Units of a period whose steps are looked at. */
#define MOST_STEPS 200
/* Steps with more ops are judged by shorter ones: that fill the pipeline, empty it, and have some units in between. */
#define LONG_OPS 4096

typedef struct {
	PipesimSearchState *s;
	PipesimFold *fold;
	PipesimInstance brief;
	PipesimWalk walk; /* of it */
	guint8 *codes;    /* of it */
	guint8 *best;     /* of all micro-batches */
	gint64 value;     /* about how long that is, ns */
	guint64 looks;
	guint64 visits, most_visits; /* most 0: only time counts */
	gint64 deadline;             /* 0: only visits count */
} Units;

static gboolean is_over(const Units *u)
{
	return pipesim_search_is_late(u->s) ||
	       (u->most_visits > 0 && u->visits >= u->most_visits) ||
	       (u->deadline > 0 && g_get_monotonic_time() >= u->deadline);
}

/* The steps of the units of @period that fit; FALSE: there are none. */
static gboolean look_at(Units *u, gint64 period)
{
	const PipesimInstance *x = &u->s->tight;
	const guint n = pipesim_fold_find(u->fold, period, &u->visits);

	for (guint i = 0; i < MIN(n, MOST_STEPS) && (i == 0 || !is_over(u)); i++) {
		gint64 value;

		u->looks++;
		u->visits += (guint64)x->ranks * u->brief.per_rank * STEP_VISITS;
		pipesim_fold_unroll(u->fold, i, &u->brief, u->codes);
		if (!pipesim_instance_all_fit(&u->brief, u->codes) ||
			!pipesim_walk_begin(&u->walk, u->codes))
			continue;
		value = u->walk.makespan + (gint64)(x->count - u->brief.count) * period;
		if (value >= u->value)
			continue;
		u->value = value;
		pipesim_fold_unroll(u->fold, i, x, u->best);
	}
	return n > 0;
}

/* From the work of the ranks on in steps that double, up to a trip of one micro-batch after the other, then between
 * the last two of these. */
static void search(Units *u)
{
	const PipesimInstance *x = &u->s->tight;
	gint64 work = 0, trip = 0, least, most, step;

	for (guint rank = 0; rank < x->ranks; rank++) {
		gint64 own = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, rank, chunk);

			for (guint kind = 0; kind < x->kinds; kind++)
				own += x->time[kind][lane];
			trip += x->hop[lane] + x->hop_back[lane];
		}
		work = MAX(work, own);
		trip += own;
	}
	least = most = work;
	step = work / FIRST_STEP + 1;
	while (!look_at(u, most)) {
		if (most >= trip || is_over(u))
			return;
		least = most;
		most = MIN(most + step, trip);
		step *= 2;
	}
	while (most - least > work / LAST_STEP && most - least > 1 && !is_over(u)) {
		const gint64 period = least + (most - least) / 2;

		*(look_at(u, period) ? &most : &least) = period;
	}
}

guint8 *pipesim_search_units(PipesimSearchState *s)
{
	const PipesimSearchOf *of = s->of;
	const PipesimInstance *x = &s->tight;
	const gint64 now = g_get_monotonic_time();
	const guint few = 3 * x->ranks + 3;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Units u = {.s = s,
		.fold = pipesim_fold_new(x),
		.brief = *x,
		.value = G_MAXINT64,
		.most_visits = of->moves > 0 ? MAX(of->moves / UNITS_PART, 1) * MOVE_VISITS : 0,
		.deadline = of->deadline > 0 ? now + (of->deadline - now) / UNITS_PART : 0};

	if (u.fold == NULL)
		return NULL;
	if (s->n > LONG_OPS && x->count > few)
		u.brief = pipesim_instance_with_count(x, few);
	pipesim_walk_init(&u.walk, &u.brief, 0, 0, arena);
	u.codes = pipesim_arena_array(arena, guint8, (gsize)x->ranks * u.brief.per_rank);
	u.best = g_new(guint8, s->n);
	if (pipesim_arena_check(arena, NULL, "units"))
		search(&u);
	pipesim_fold_free(u.fold);
	s->found->moves = s->moves_before += u.looks;
	if (u.value == G_MAXINT64)
		g_clear_pointer(&u.best, g_free);
	return u.best;
}
