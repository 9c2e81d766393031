#include "config.h"

#include "base/phases.h"
#include "optimize/timetable.h"
#include <math.h>

#define NO_TIME (-G_MAXDOUBLE)

/* The ops of one period of a timetable, by rank: places are free mod the period. */
typedef struct {
	double period;
	double *start; /* [rank * n + i]: of those placed */
	double *took;
	guint32 *id;   /* code * unit + j */
	guint *placed; /* [rank] */
	double *at;    /* [(rank * n_codes + code) * unit + j] */
} Table;

/* The earliest time from @ready on at which the rank is free for @took. Its ops are sorted. */
static double find_free(
	const Table *t, const PipesimCycle *c, guint rank, double ready, double took)
{
	const double *start = &t->start[rank * c->n], *length = &t->took[rank * c->n];
	const guint n = t->placed[rank];
	const double small = c->op * PIPESIM_CYCLE_SMALL;
	double base = floor(ready / t->period) * t->period, at = ready;

	if (n == 0)
		return ready;
	/* The end of the last one of the period before may reach into this one. */
	at = MAX(at, base - t->period + start[n - 1] + length[n - 1]);
	for (guint turn = 0; turn < 3; turn++, base += t->period)
		for (guint i = 0; i < n; i++) {
			if (base + start[i] + length[i] <= at + small)
				continue;
			if (base + start[i] + small >= at + took)
				return at;
			at = MAX(at, base + start[i] + length[i]);
		}
	return NO_TIME;
}

/* The latest one by which @took is over at @end. */
static double find_before(
	const Table *t, const PipesimCycle *c, guint rank, double end, double took)
{
	const double *start = &t->start[rank * c->n], *length = &t->took[rank * c->n];
	const guint n = t->placed[rank];
	const double small = c->op * PIPESIM_CYCLE_SMALL;
	double base = floor(end / t->period) * t->period, at = end - took;

	for (guint turn = 0; turn < 4; turn++, base -= t->period)
		for (guint i = n; i-- > 0;) {
			if (base + start[i] >= at + took - small)
				continue;
			if (base + start[i] + length[i] <= at + small)
				return at;
			at = base + start[i] - took;
		}
	return n == 0 ? at : NO_TIME;
}

static double put_at(Table *t, PipesimCycle *c, guint lane, guint kind, guint j, double at)
{
	const PipesimInstance *x = c->x;
	const guint rank = lane / x->chunks, code = lane % x->chunks * x->kinds + kind;
	double *start = &t->start[rank * c->n], *length = &t->took[rank * c->n];
	guint32 *id = &t->id[rank * c->n];
	const double took = (double)x->time[kind][lane];
	double phase;
	guint i = t->placed[rank]++;

	phase = at - floor(at / t->period) * t->period;
	for (; i > 0 && start[i - 1] > phase; i--) {
		start[i] = start[i - 1];
		length[i] = length[i - 1];
		id[i] = id[i - 1];
	}
	start[i] = phase;
	length[i] = took;
	id[i] = code * c->unit + j;
	t->at[(rank * c->n_codes + code) * c->unit + j] = at;
	return at + took;
}

static double put(Table *t, PipesimCycle *c, guint lane, guint kind, guint j, double ready)
{
	const double at =
		find_free(t, c, lane / c->x->chunks, ready, (double)c->x->time[kind][lane]);

	return at == NO_TIME ? NO_TIME : put_at(t, c, lane, kind, j, at);
}

static guint32 first_lane(const PipesimInstance *x)
{
	guint32 lane = 0;

	while (x->before[lane] != PIPESIM_NO_LANE)
		lane = x->before[lane];
	return lane;
}

/* One micro-batch through all stages of the pipeline that begins at @lane. */
static double put_chain(Table *t, PipesimCycle *c, guint lane, guint j, double at)
{
	const PipesimInstance *x = c->x;

	for (;;) {
		at = put(t, c, lane, F, j, at);
		if (at == NO_TIME)
			return NO_TIME;
		if (x->after[lane] == PIPESIM_NO_LANE)
			break;
		lane = x->after[lane];
		at += (double)x->hop[lane];
	}
	for (;;) {
		at = put(t, c, lane, I, j, at);
		if (at == NO_TIME)
			return NO_TIME;
		if (x->before[lane] == PIPESIM_NO_LANE)
			return at;
		lane = x->before[lane];
		at += (double)x->hop_back[lane];
	}
}

static double *time_of(const Table *t, const PipesimCycle *c, guint lane, guint kind, guint j)
{
	const guint rank = lane / c->x->chunks;

	return &t->at[(rank * c->n_codes + lane % c->x->chunks * c->x->kinds + kind) * c->unit +
		      j];
}

static gboolean put_weight(Table *t, PipesimCycle *c, guint lane, guint j)
{
	const double ready = *time_of(t, c, lane, I, j) + (double)c->x->time[I][lane];

	return put(t, c, lane, W, j, ready) != NO_TIME;
}

/* W of those that have none yet: @done by lane and micro-batch. */
static gboolean put_weights(Table *t, PipesimCycle *c, const guint8 *done)
{
	const PipesimInstance *x = c->x;

	for (guint lane = 0; lane < x->lanes && x->kinds > 2; lane++)
		for (guint j = 0; j < c->unit; j++)
			if ((done == NULL || !done[lane * c->unit + j]) &&
				!put_weight(t, c, lane, j))
				return FALSE;
	return TRUE;
}

/* F and I of one stage around those of the stages behind it: F as late, I as early as can be. */
static gboolean put_around(Table *t, PipesimCycle *c, guint lane, guint j, double middle)
{
	const PipesimInstance *x = c->x;
	const guint next = x->after[lane];
	double at, end = middle;

	if (next != PIPESIM_NO_LANE) {
		end = *time_of(t, c, next, F, j) - (double)x->hop[next];
		at = find_before(t, c, lane / x->chunks, end, (double)x->time[F][lane]);
		if (at == NO_TIME)
			return FALSE;
		put_at(t, c, lane, F, j, at);
		at = *time_of(t, c, next, I, j) +
		     (double)(x->time[I][next] + x->hop_back[lane]);
	} else {
		at = put(t, c, lane, F, j, middle);
	}
	return at != NO_TIME && put(t, c, lane, I, j, at) != NO_TIME;
}

/* Where forwards end and backwards begin, one of the ways of spacing micro-batches. */
static double draw_middle(const Table *t, PipesimCycle *c, guint way, guint j)
{
	const double part = pipesim_cycle_random(c, 1000) / 1000.0;
	const double even = t->period / c->unit;

	return way == 0 ? even * j : way == 1 ? t->period * part : even * (j + part - 0.5);
}

/* The stage of @lane; with probability @soon / 4 its W too, before stages further out take the gaps. */
static gboolean put_stage(Table *t, PipesimCycle *c, guint lane, guint j, guint soon,
	const double *middle, guint8 *done)
{
	if (!put_around(t, c, lane, j, middle[j]))
		return FALSE;
	if (c->x->kinds == 2 || pipesim_cycle_random(c, 4) >= soon)
		return TRUE;
	done[lane * c->unit + j] = 1;
	return put_weight(t, c, lane, j);
}

/* From the last stage to the first, so that what is held longest waits least; all micro-batches a stage, or one
 * after the other. */
static gboolean put_inside_out(Table *t, PipesimCycle *c)
{
	const PipesimInstance *x = c->x;
	const guint together = pipesim_cycle_random(c, 2), way = pipesim_cycle_random(c, 3);
	const guint soon = pipesim_cycle_random(c, 5);
	const guint turns = together ? 1 : c->unit, each = together ? c->unit : 1;
	g_autofree guint8 *done = g_new0(guint8, (gsize)x->lanes * c->unit);
	g_autofree double *middle = g_new(double, c->unit);

	for (guint j = 0; j < c->unit; j++)
		middle[j] = draw_middle(t, c, way, j);
	for (guint turn = 0; turn < turns; turn++)
		for (guint depth = x->shape.stages; depth-- > 0;)
			for (guint lane = 0; lane < x->lanes; lane++)
				for (guint j = 0; x->depth[lane] == depth && j < each; j++)
					if (!put_stage(
						    t, c, lane, turn + j, soon, middle, done))
						return FALSE;
	return put_weights(t, c, done);
}

static void take_table(PipesimCycle *c, const Table *t)
{
	for (guint i = 0; i < c->x->ranks * c->n_codes; i++) {
		double sum = 0;

		for (guint j = 0; j < c->unit; j++)
			sum += floor(t->at[i * c->unit + j] / t->period);
		c->offset[i] = -(gint32)sum;
	}
	for (guint32 place = 0; place < c->all; place++)
		c->seq[place] = (guint8)(t->id[place] / c->unit);
}

/* Where a micro-batch that goes up meets one that goes down: they pass each other without a wait if they
 * start so far apart, or a multiple of it. */
static double meeting_time(const PipesimInstance *x)
{
	const guint32 first = first_lane(x), next = x->after[first];
	gint64 time = x->time[F][first] + x->time[I][first];

	if (next != PIPESIM_NO_LANE)
		time += x->hop[next] + x->hop_back[first];
	return (double)time;
}

/* All chains, one micro-batch after the other. */
static gboolean put_chains(Table *t, PipesimCycle *c)
{
	const double grid = meeting_time(c->x);
	const double step = grid * (1 + pipesim_cycle_random(c, 4));
	const gboolean regular = pipesim_cycle_random(c, 2) == 0;
	double start = 0;

	if (grid > 0 && pipesim_cycle_random(c, 2) == 0)
		t->period = ceil(t->period / grid - 1e-9) * grid;
	for (guint j = 0; j < c->unit; j++) {
		guint way = pipesim_cycle_random(c, 4);

		for (guint lane = 0; lane < c->x->lanes; lane++)
			if (c->x->before[lane] == PIPESIM_NO_LANE &&
				put_chain(t, c, lane, j, start) == NO_TIME)
				return FALSE;
		if (regular)
			start += step;
		else if (way < 2)
			start += grid * (way + pipesim_cycle_random(c, 3));
		else if (way == 2)
			start += t->period / c->unit;
		else
			start += t->period / c->unit * pipesim_cycle_random(c, 1000) / 1000;
	}
	return TRUE;
}

gboolean pipesim_cycle_draw(PipesimCycle *c, double period)
{
	Table t = {.period = period,
		.start = g_new(double, c->all),
		.took = g_new(double, c->all),
		.id = g_new(guint32, c->all),
		.placed = g_new0(guint, c->x->ranks),
		.at = g_new(double, c->all)};
	gboolean ok = period > 0;

	if (ok && pipesim_cycle_random(c, 2) == 0)
		ok = put_inside_out(&t, c);
	else
		ok = ok && put_chains(&t, c) && put_weights(&t, c, NULL);

	if (ok)
		take_table(c, &t);
	g_free(t.start);
	g_free(t.took);
	g_free(t.id);
	g_free(t.placed);
	g_free(t.at);
	return ok && pipesim_cycle_take(c);
}
