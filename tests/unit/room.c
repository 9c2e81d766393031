#include "room.h"

enum {
	F = PIPESIM_CODE_F,
	I = PIPESIM_CODE_I,
	W = PIPESIM_CODE_W,
};

#define STEPS 4000

typedef struct {
	const PipesimInstance *x;
	const PipesimRoom *room;
	guint rank;
	gint64 time;
} Room;

static double least(const PipesimInstance *x, guint kind, guint lane)
{
	return kind < x->kinds ? (double)x->least[kind][lane] : 0;
}

/* Of F, or of I, of all stages before @lane's, with messages. */
static double way(const PipesimInstance *x, guint kind, guint lane)
{
	double time = 0;

	for (guint other = 0; other < x->lanes; other++)
		if (x->depth[other] < x->depth[lane])
			time += least(x, kind, other) +
				(double)(kind == F ? x->hop[x->after[other]]
						   : x->hop_back[other]);
	return time;
}

/* Of the last stage, to it and from it, less what comes before @lane. */
static double trip(const PipesimInstance *x, guint lane)
{
	guint last = lane;

	while (x->after[last] != PIPESIM_NO_LANE)
		last = x->after[last];
	return way(x, F, last) - way(x, F, lane) + least(x, F, last) + way(x, I, last) -
	       way(x, I, lane) + least(x, I, last);
}

static double rest(const Room *r, guint lane)
{
	return r->x->kinds > 2 ? (double)(r->room->held[lane] - r->room->freed[lane]) : 0;
}

/* What all ops of the rank hold where the pair of @f and @i is run once, beyond what they hold without. */
static double longer(const Room *r, guint f, guint i)
{
	const PipesimInstance *x = r->x;
	const double pair = (double)x->pair[f * x->chunks + i % x->chunks];
	double sum = 0;

	for (guint lane = r->rank * x->chunks; lane < (r->rank + 1) * x->chunks; lane++) {
		const double held = (double)r->room->held[lane];

		sum += x->depth[f] >= x->depth[lane] ? held * (pair - least(x, F, f)) : 0;
		sum += x->depth[i] >= x->depth[lane] ? held * (pair - least(x, I, i)) : 0;
		sum -= lane == i ? rest(r, lane) * least(x, W, lane) : 0;
	}
	return sum;
}

/* The least that all pairs of @rank hold more which make up for the time that it lacks. */
static double longer_in_all(const Room *r, guint rank)
{
	const PipesimInstance *x = r->x;
	const guint first = rank * x->chunks, end = first + x->chunks;
	double to = G_MAXDOUBLE, from = G_MAXDOUBLE, work = 0, found = G_MAXDOUBLE, lacks;

	for (guint lane = first; lane < end; lane++) {
		to = MIN(to, way(x, F, lane));
		from = MIN(from, x->kinds > 2 ? 0 : way(x, I, lane));
		for (guint kind = 0; kind < x->kinds; kind++)
			work += x->count * least(x, kind, lane);
	}
	lacks = to + work + from - (double)r->time;
	if (lacks <= 0)
		return 0;
	for (guint f = first; f < end; f++)
		for (guint i = first; i < end; i++) {
			const double saves = least(x, F, f) + least(x, I, i) + least(x, W, i) -
					     (double)x->pair[f * x->chunks + i % x->chunks];

			if (saves > 0)
				found = MIN(found, lacks / saves * longer(r, f, i));
		}
	return found;
}

/* What can have begun by @time, or looking backwards can still have to end. */
static double most_held(const Room *r, double time, gboolean back)
{
	const PipesimInstance *x = r->x;
	double most = 0;

	for (guint lane = r->rank * x->chunks; lane < (r->rank + 1) * x->chunks; lane++) {
		const double w = least(x, W, lane), held = (double)r->room->held[lane];
		const double last = MAX(way(x, I, lane), w);

		for (guint k = 0; k < x->count && !back; k++)
			most += way(x, F, lane) + k * least(x, F, lane) <= time ? held : 0;
		for (guint k = 0; k < x->count && back; k++)
			most += (last + k * least(x, I, lane) < time ? held - rest(r, lane)
								     : 0) +
				(k * w < time ? rest(r, lane) : 0);
	}
	return most;
}

static gboolean is_too_much(const Room *r)
{
	const PipesimInstance *x = r->x;
	const double step = (double)r->time / STEPS;
	double held = 0, fits = 0;

	for (guint lane = r->rank * x->chunks; lane < (r->rank + 1) * x->chunks; lane++)
		held += x->count * ((double)r->room->held[lane] * trip(x, lane) +
					   rest(r, lane) * least(x, W, lane));
	for (guint rank = 0; rank < x->ranks && x->pair != NULL; rank++)
		held += longer_in_all(r, rank);
	/* In each step as much as seen from the start at its end, and from the end at its beginning. */
	for (guint k = 0; k < STEPS; k++) {
		const double begun = most_held(r, (k + 1) * step, FALSE);
		const double left = most_held(r, (STEPS - k) * step, TRUE);

		fits += MIN((double)r->room->limit[r->rank], MIN(begun, left)) * step;
	}
	return held > 0.99 * fits;
}

gboolean room_check(const PipesimInstance *x, const PipesimBoundStep *step)
{
	gboolean found = FALSE;

	for (guint i = 0; i < x->n_rooms; i++) {
		const Room r = {x, &x->room[i], step->rank, step->time - 1};

		found |= is_too_much(&r);
	}
	return found;
}
