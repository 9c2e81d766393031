#include "config.h"

#include "base/parallel.h"
#include "optimize/effort.h"
#include "optimize/fold.h"
#include "optimize/timetable.h"
#include "optimize/units.h"
#include "optimize/walk.h"
#include "order/build.h"
#include <math.h>
#include <string.h>

/* Micro-batches of a unit; and as many as the first rank has room for. */
static const guint units[] = {1, 2, 3, 4, 5, 6, 8};
#define MOST_UNIT  32
#define MOST_ITEMS (G_N_ELEMENTS(units) + 1)

/* The part of the effort that each unit length takes on its own, and the part of this that goes into draws; moves
 * follow, and then moves from shorter units that are repeated. */
#define ALONE 0.6
#define DRAWN 0.5
/* Moves between two looks at the clock. */
#define SLICE 32
/* Visits of each op, at about 10 ns: of a draw, of a move, and of a step that is looked at. */
#define DRAW_VISITS 30
#define MOVE_VISITS 20
#define STEP_VISITS 5
/* Heat, in average ops, from the first move to the last; where a unit begins from a shorter one. */
#define HOTTEST 1.0
#define WARM    0.3
#define COLDEST 0.02
/* Steps with more ops are judged by shorter ones. */
#define LONG_OPS 4096
/* The first step from the work of the ranks on, and the last one, as parts of it. */
#define FOLD_STEPS 100
#define FOLD_LAST  1000
/* Units of about the best period whose steps are looked at. */
#define MOST_STEPS 200

typedef struct {
	const PipesimUnitsOf *of;
	guint n_items;
	guint unit[MOST_ITEMS];
	struct Work *work_of[MOST_ITEMS];
	double part;     /* of the effort that is spent now */
	gint64 deadline; /* of that part */
	guint at_once;   /* items */
	double work;     /* of the rank that has the most, ns a micro-batch of each lane */
} Units;

/* One unit length at work. */
typedef struct Work {
	const Units *units;
	PipesimArena *arena;
	PipesimInstance brief; /* with fewer micro-batches */
	PipesimCycle cycle;
	PipesimWalk walk; /* of brief */
	guint8 *codes;    /* of brief */
	guint8 *seq;      /* the best unit by its step, and from where on */
	gint32 *offset;
	guint first;
	gboolean begun; /* it has an order at all */
	double value;   /* of its step, ns; 0: none */
	double period;  /* the shortest of which steps were looked at */
	guint steps;    /* of about this period */
	guint64 looks;
	guint64 visits, most_visits; /* most 0: only time counts */
	gint64 began, deadline;      /* deadline 0: only visits count */
} Work;

/* The part of the effort that is spent. */
static double part_of(const Work *w)
{
	return pipesim_effort_part(w->visits, w->most_visits, w->began, w->deadline);
}

/* The steps that the unit as it is makes, one for each micro-batch to begin with. */
static void look_at_steps(Work *w)
{
	PipesimCycle *c = &w->cycle;
	const double missing = (double)w->units->of->instance->count - w->brief.count;

	if (c->period < w->period * (1 - 1e-9)) {
		w->period = c->period;
		w->steps = 0;
	}
	if (c->period > w->period * 1.02 || w->steps++ >= MOST_STEPS)
		return;
	for (guint first = 0; first < c->unit && part_of(w) < 1; first++) {
		double value;

		w->visits += (guint64)w->brief.ranks * w->brief.per_rank * STEP_VISITS;
		pipesim_cycle_unroll(c, &w->brief, first, w->codes);
		if (!pipesim_walk_begin(&w->walk, w->codes))
			continue;
		value = (double)w->walk.makespan + missing * c->period / c->unit;
		if (w->value > 0 && value >= w->value)
			continue;
		w->value = value;
		w->first = first;
		memcpy(w->seq, c->seq, c->all);
		memcpy(w->offset, c->offset, sizeof *w->offset * c->x->ranks * c->n_codes);
	}
}

static gboolean begin_anyhow(PipesimCycle *c)
{
	guint best = PIPESIM_BUILDS;
	double period = 0;

	for (guint way = 0; way < PIPESIM_BUILDS; way++)
		if (pipesim_cycle_begin(c, way) &&
			(best == PIPESIM_BUILDS || c->period < period)) {
			best = way;
			period = c->period;
		}
	return best < PIPESIM_BUILDS && pipesim_cycle_begin(c, best);
}

/* Periods between what the ranks' work allows and the best one, the short ones more often. */
static void draw_units(Work *w)
{
	PipesimCycle *c = &w->cycle;
	const double least = w->units->work * c->unit;

	for (; part_of(w) < DRAWN; w->looks++) {
		const double part = pipesim_cycle_random(c, 1000) / 1000.0;
		const double room = c->best_period - least;

		w->visits += (guint64)c->all * DRAW_VISITS;
		if (pipesim_cycle_draw(c, least + room * part * part))
			look_at_steps(w);
	}
	pipesim_cycle_restart(c);
}

/* Looks at the steps of the units that @fold keeps for @period; FALSE: there are none. */
static gboolean look_at_folds(Work *w, PipesimFold *fold, double period, guint64 *visits)
{
	PipesimCycle *c = &w->cycle;
	const guint n = pipesim_fold_find(fold, (gint64)ceil(period), visits);

	for (guint i = 0; i < MIN(n, MOST_STEPS) && (i == 0 || part_of(w) < DRAWN); i++) {
		pipesim_fold_take(fold, i, c->seq, c->offset);
		if (pipesim_cycle_take(c))
			look_at_steps(w);
	}
	w->looks++;
	return n > 0;
}

/* In a V the shortest unit of one micro-batch is looked for with proof: from the work of the ranks on in steps that
 * double, then between the last two of these. What that takes of the effort is little, and not counted. */
static void fold_units(Work *w)
{
	PipesimCycle *c = &w->cycle;
	PipesimFold *fold = c->unit == 1 ? pipesim_fold_new(c->x) : NULL;
	const double work = w->units->work;
	double least = work, most = work, step = work / FOLD_STEPS;
	guint64 visits = 0;

	if (fold == NULL)
		return;
	while (most < c->best_period && !look_at_folds(w, fold, most, &visits)) {
		least = most;
		most += step;
		step *= 2;
	}
	most = MIN(most, c->best_period);
	while (most - least > work / FOLD_LAST &&
		(w->most_visits == 0 || visits < w->most_visits)) {
		const double period = (least + most) / 2;

		if (look_at_folds(w, fold, period, &visits))
			most = MIN(period, c->best_period);
		else
			least = period;
	}
	pipesim_fold_free(fold);
	pipesim_cycle_restart(c);
}

static void move_ops(Work *w, double hottest)
{
	PipesimCycle *c = &w->cycle;
	const double began = part_of(w);
	double part = began;

	for (; part < 1; part = part_of(w)) {
		const double heat =
			hottest * pow(COLDEST / hottest, (part - began) / (1 - began));

		pipesim_cycle_run(c, SLICE, heat, w->units->work);
		w->looks += SLICE;
		w->visits += (guint64)c->all * SLICE * MOVE_VISITS;
		if (c->best_period <= w->units->work * c->unit * (1 + 1e-9))
			break;
	}
	pipesim_cycle_restart(c);
	look_at_steps(w);
}

/* Enough micro-batches to fill the pipeline and to empty it, with some units in between. */
static void set_brief(Work *w, const PipesimInstance *x, guint unit)
{
	const guint count = 3 * x->ranks + 3 * unit;

	w->brief = *x;
	if (x->ranks * x->per_rank > LONG_OPS && x->count > count)
		w->brief = pipesim_instance_with_count(x, count);
}

static gboolean begin_work(Work *w, Units *u, guint item)
{
	const PipesimInstance *x = u->of->instance;

	w->units = u;
	w->arena = pipesim_arena_new();
	set_brief(w, x, u->unit[item]);
	pipesim_cycle_init(&w->cycle, x, u->unit[item], u->of->seed, item, w->arena);
	pipesim_walk_init(&w->walk, &w->brief, 0, 0, w->arena);
	w->codes = pipesim_arena_array(w->arena, guint8, (gsize)x->ranks * w->brief.per_rank);
	w->seq = pipesim_arena_array(w->arena, guint8, w->cycle.all);
	w->offset = pipesim_arena_array(w->arena, gint32, x->ranks * w->cycle.n_codes);
	w->period = G_MAXDOUBLE;
	return pipesim_arena_check(w->arena, NULL, "units") && begin_anyhow(&w->cycle);
}

/* What @item may spend of the part that is under way. */
static void set_effort(Work *w, gsize item)
{
	const Units *u = w->units;
	const gint64 now = g_get_monotonic_time();

	w->began = now;
	w->visits = 0;
	if (u->of->visits > 0)
		w->most_visits = (guint64)((double)u->of->visits * u->part / u->n_items) + 1;
	/* Each has its share of the time that is left for those that are not yet begun. */
	if (u->of->deadline > 0) {
		const gint64 turns =
			(gint64)((u->n_items - item + u->at_once - 1) / u->at_once);

		w->deadline = now + MAX(u->deadline - now, 0) / turns;
	}
}

static gboolean run_alone(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	Units *u = data;
	Work *w = u->work_of[item];

	w->begun = begin_work(w, u, (guint)item);
	set_effort(w, item);
	if (!w->begun)
		return TRUE;
	look_at_steps(w);
	fold_units(w);
	draw_units(w);
	move_ops(w, HOTTEST);
	return TRUE;
}

/* Lets @item begin from the shortest of the units that can be repeated to make its own, if that is shorter. */
static void take_shorter(Units *u, guint item)
{
	PipesimCycle *c = &u->work_of[item]->cycle;
	const PipesimCycle *found = NULL;
	double best = c->best_period / c->unit - c->op * PIPESIM_CYCLE_SMALL;

	for (guint i = 0; i < u->n_items; i++) {
		const PipesimCycle *other = &u->work_of[i]->cycle;

		if (!u->work_of[i]->begun || c->unit % other->unit != 0 ||
			other->best_period / other->unit >= best)
			continue;
		best = other->best_period / other->unit;
		found = other;
	}
	if (found != NULL)
		pipesim_cycle_repeat(c, found);
}

static gboolean run_together(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	Units *u = data;
	Work *w = u->work_of[item];

	set_effort(w, item);
	if (!w->begun)
		return TRUE;
	look_at_steps(w);
	move_ops(w, WARM);
	return TRUE;
}

/* Micro-batches that a rank can hold at a time, at most. */
static guint room_of(const PipesimInstance *x)
{
	guint most = x->count;

	for (guint i = 0; i < x->n_rooms; i++) {
		gint64 held = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++)
			held += x->room[i].held[chunk];
		if (held > 0 && x->room[i].limit[0] / held < most)
			most = (guint)(x->room[i].limit[0] / held);
	}
	return most;
}

static double work_of(const PipesimInstance *x)
{
	double most = 0;

	for (guint rank = 0; rank < x->ranks; rank++) {
		double work = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++)
			for (guint kind = 0; kind < x->kinds; kind++)
				work += (double)x->time[kind]
						       [pipesim_instance_lane(x, rank, chunk)];
		most = MAX(most, work);
	}
	return most;
}

/* The best order of @w. */
static guint8 *unroll(Work *w)
{
	const PipesimInstance *x = w->units->of->instance;
	PipesimCycle *c = &w->cycle;
	guint8 *codes = g_new(guint8, (gsize)x->ranks * x->per_rank);

	memcpy(c->seq, w->seq, c->all);
	memcpy(c->offset, w->offset, sizeof *w->offset * c->x->ranks * c->n_codes);
	pipesim_cycle_unroll(c, x, w->first, codes);
	return codes;
}

/* Each length alone, then those that shorter ones divide from the best of these. */
static void run_all(Units *u)
{
	const gint64 now = g_get_monotonic_time(), end = u->of->deadline;
	PipesimParallel work = {
		.n_items = u->n_items, .threads = u->of->threads, .data = u, .run = run_alone};

	for (guint i = 0; i < u->n_items; i++)
		u->work_of[i] = g_new0(Work, 1);
	u->part = ALONE;
	u->deadline = now + (gint64)((double)(end - now) * ALONE);
	pipesim_parallel(&work, NULL);
	u->part = 1 - ALONE;
	u->deadline = end;
	for (guint i = 0; i < u->n_items; i++)
		if (u->work_of[i]->begun)
			take_shorter(u, i);
	work.run = run_together;
	pipesim_parallel(&work, NULL);
}

GPtrArray *pipesim_units(const PipesimUnitsOf *of, guint64 *looks)
{
	const PipesimInstance *x = of->instance;
	const guint threads = of->threads > 0 ? of->threads : g_get_num_processors();
	const guint room = room_of(x);
	GPtrArray *found = g_ptr_array_new_with_free_func(g_free);
	Units u = {.of = of, .work = work_of(x)};

	if (looks != NULL)
		*looks = 0;
	for (guint i = 0; i < G_N_ELEMENTS(units); i++)
		if (2 * units[i] <= x->count)
			u.unit[u.n_items++] = units[i];
	if (room > units[G_N_ELEMENTS(units) - 1] && room <= MOST_UNIT && 2 * room <= x->count)
		u.unit[u.n_items++] = room;
	u.at_once = MIN(threads, u.n_items);
	if (u.n_items == 0 || u.work == 0)
		return found;
	run_all(&u);
	for (guint i = 0; i < u.n_items; i++) {
		Work *w = u.work_of[i];

		if (w->value > 0)
			g_ptr_array_add(found, unroll(w));
		if (looks != NULL)
			*looks += w->looks;
		pipesim_arena_free(w->arena);
		g_free(w);
	}
	return found;
}
