#include "config.h"

#include "search/timetable.h"
#include <math.h>

#define F PIPESIM_CODE_F
#define I PIPESIM_CODE_I
#define W PIPESIM_CODE_W

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
	return -1;
}

static double put(Table *t, PipesimCycle *c, guint lane, guint kind, guint j, double ready)
{
	const PipesimInstance *x = c->x;
	const guint rank = lane / x->chunks, code = lane % x->chunks * x->kinds + kind;
	double *start = &t->start[rank * c->n], *length = &t->took[rank * c->n];
	guint32 *id = &t->id[rank * c->n];
	const double took = (double)x->time[kind][lane];
	const double at = find_free(t, c, rank, ready, took);
	double phase;
	guint i = t->placed[rank]++;

	if (at < 0)
		return -1;
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
		if (at < 0)
			return -1;
		if (x->after[lane] == PIPESIM_NO_LANE)
			break;
		lane = x->after[lane];
		at += (double)x->hop[lane];
	}
	for (;;) {
		at = put(t, c, lane, I, j, at);
		if (at < 0)
			return -1;
		if (x->before[lane] == PIPESIM_NO_LANE)
			return at;
		lane = x->before[lane];
		at += (double)x->hop_back[lane];
	}
}

static gboolean put_weights(Table *t, PipesimCycle *c)
{
	const PipesimInstance *x = c->x;

	for (guint lane = 0; lane < x->lanes && x->kinds > 2; lane++)
		for (guint j = 0; j < c->unit; j++) {
			const guint rank = lane / x->chunks;
			const guint code = lane % x->chunks * x->kinds + I;
			const double ready = t->at[(rank * c->n_codes + code) * c->unit + j] +
					     (double)x->time[I][lane];

			if (put(t, c, lane, W, j, ready) < 0)
				return FALSE;
		}
	return TRUE;
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
				put_chain(t, c, lane, j, start) < 0)
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
	const gboolean ok = period > 0 && put_chains(&t, c) && put_weights(&t, c);

	if (ok)
		take_table(c, &t);
	g_free(t.start);
	g_free(t.took);
	g_free(t.id);
	g_free(t.placed);
	g_free(t.at);
	return ok && pipesim_cycle_take(c);
}
