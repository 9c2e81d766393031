/* Where the search of a step in a V begins: the shortest unit of one micro-batch, repeated. */
#include "config.h"

#include "optimize/fold.h"
#include "optimize/state.h"
#include <string.h>

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

typedef struct {
	PipesimSearchState *s;
	PipesimFold *fold;
	PipesimWalk walk;
	guint8 *codes, *best; /* of a step, and of the shortest */
	gint64 makespan;      /* of that, ns */
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
		u->looks++;
		u->visits += u->s->n * STEP_VISITS;
		pipesim_fold_unroll(u->fold, i, x, u->codes);
		if (!pipesim_instance_all_fit(x, u->codes) ||
			!pipesim_walk_begin(&u->walk, u->codes) ||
			u->walk.makespan >= u->makespan)
			continue;
		u->makespan = u->walk.makespan;
		memcpy(u->best, u->codes, u->s->n);
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
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Units u = {.s = s,
		.fold = pipesim_fold_new(x),
		.makespan = G_MAXINT64,
		.most_visits = of->moves > 0 ? MAX(of->moves / UNITS_PART, 1) * MOVE_VISITS : 0,
		.deadline = of->deadline > 0 ? now + (of->deadline - now) / UNITS_PART : 0};

	if (u.fold == NULL)
		return NULL;
	pipesim_walk_init(&u.walk, x, 0, 0, arena);
	u.codes = pipesim_arena_array(arena, guint8, s->n);
	u.best = g_new(guint8, s->n);
	if (pipesim_arena_check(arena, NULL, "units"))
		search(&u);
	pipesim_fold_free(u.fold);
	s->found->moves = s->moves_before += u.looks;
	if (u.makespan == G_MAXINT64)
		g_clear_pointer(&u.best, g_free);
	return u.best;
}
