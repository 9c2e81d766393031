#include "schedule/search/span.h"
#include "base/phases.h"

#define MOST_TIME (G_GINT64_CONSTANT(1) << 61)
__extension__ typedef __int128 Wide;

/* A rank: sums and extremes over its lanes. */
typedef struct {
	gint64 work, longest[PIPESIM_CODE_KINDS]; /* of all its ops; an op of a kind */
	gint64 weight;                            /* the shortest W */
	guint low, high; /* its first and its last lane on the way down */
} Rank;

typedef struct {
	const PipesimInstance *x;
	/* [lane]: from the end of its F to that of the last one, and from the start of the last I to that of its own. */
	gint64 *down, *up;
} Spans;

static gint64 least(const PipesimInstance *x, guint kind, guint lane)
{
	return kind < x->kinds ? x->least[kind][lane] : 0;
}

static Rank look_at(const PipesimInstance *x, guint rank)
{
	const guint first = pipesim_instance_lane(x, rank, 0);
	Rank r = {.weight = G_MAXINT64, .low = first, .high = first};

	for (guint lane = first; lane < first + x->chunks; lane++) {
		for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++) {
			const gint64 takes = least(x, kind, lane);

			r.work += takes * x->count;
			r.longest[kind] = MAX(r.longest[kind], takes);
		}
		r.weight = MIN(r.weight, least(x, W, lane));
		r.low = x->depth[lane] < x->depth[r.low] ? lane : r.low;
		r.high = x->depth[lane] > x->depth[r.high] ? lane : r.high;
	}
	return r;
}

/* From the first lane's F on, by what @room lets @rank hold. */
static gint64 span_within(const Spans *s, const PipesimRoom *room, guint rank, const Rank *r)
{
	const PipesimInstance *x = s->x;
	const gint64 forwards = (gint64)x->count * x->chunks, limit = room->limit[rank];
	const gint64 first = least(x, F, r->low) + s->down[r->low] + s->up[r->high];
	const gint64 last = s->down[r->high] + s->up[r->high];
	gint64 held = G_MAXINT64, freed = 0, most = 0;
	Wide all = 0; /* amount times ns */

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		const gint64 there =
			least(x, F, lane) + s->down[lane] + s->up[lane] + least(x, I, lane);

		held = MIN(held, room->held[lane]);
		freed = MAX(freed, room->freed[lane]);
		all += (Wide)room->held[lane] * there +
		       (Wide)(room->held[lane] - room->freed[lane]) * least(x, W, lane);
	}
	all *= x->count;
	if (limit <= 0 || held <= 0)
		return 0;
	const gint64 rest = held - MIN(freed, held), beside = limit - held;
	const gint64 fit = MIN(limit / held, forwards);
	gint64 idle = MAX(first - fit * r->longest[F], 0);
	/* Between the last F and its I run of each of the others both I and W while an activation is held, or W
	 * alone while what is left of it is. */
	for (gint64 n = 0; n <= MIN(beside / held, forwards - 1); n++) {
		const gint64 left = beside - n * held;
		const gint64 alone =
			rest == 0 ? forwards - 1 - n : MIN(left / rest, forwards - 1 - n);
		const gint64 work = n * r->longest[I] + (n + alone) * r->longest[W];

		most = MAX(most, work);
	}
	/* Where not all F come before the first I, the two gaps are apart. */
	if (fit < forwards)
		idle += MAX(last - most, 0);
	return MAX(r->work + idle, (gint64)MIN((all + limit - 1) / limit, MOST_TIME));
}

/* All F and I of @rank, and those W without which its last F had no room. */
static gint64 work_before_last(const PipesimInstance *x, guint rank, const Rank *r)
{
	gint64 work = 0, weights = 0;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		work += x->count * (least(x, F, lane) + least(x, I, lane));
	}
	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		gint64 held = G_MAXINT64, rest = G_MAXINT64;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, rank, chunk);

			held = MIN(held, room->held[lane]);
			rest = MIN(rest, room->held[lane] - room->freed[lane]);
		}
		if (rest > 0) {
			const gint64 must = (gint64)x->count * x->chunks - 1 -
					    (room->limit[rank] - held) / rest;

			weights = MAX(weights, must);
		}
	}
	return work + weights * r->weight;
}

void pipesim_span_bounds(const PipesimInstance *x, gint64 *bounds)
{
	g_autofree gint64 *ways = g_new0(gint64, 2 * (gsize)x->lanes);
	const Spans s = {x, ways, ways + x->lanes};
	const gboolean simple = x->pair == NULL && x->shape.copies == 1;
	guint32 last = 0;
	gint64 furthest = G_MININT64 / 2;

	for (guint32 lane = 0; lane < x->lanes; lane++)
		last = x->depth[lane] > x->depth[last] ? lane : last;
	for (guint32 lane = last, before; simple && x->before[lane] != PIPESIM_NO_LANE;
		lane = before) {
		before = x->before[lane];
		s.down[before] = s.down[lane] + x->hop[lane] + least(x, F, lane);
		s.up[before] = s.up[lane] + least(x, I, lane) + x->hop_back[before];
	}
	for (guint rank = 0; rank < x->ranks; rank++) {
		const Rank r = look_at(x, rank);

		bounds[rank] = r.work -
			       x->saved[PIPESIM_PAIR_FIW][rank] * (gint64)x->count * x->chunks;
		for (guint i = 0; i < x->n_rooms && simple; i++) {
			const gint64 within = span_within(&s, &x->room[i], rank, &r);

			bounds[rank] = MAX(bounds[rank], within);
		}
	}
	/* A way to a later rank begins and ends with F, I and messages of all lanes between the two. */
	for (guint32 lane = last; simple && lane != PIPESIM_NO_LANE; lane = x->before[lane]) {
		const guint rank = lane / x->chunks;
		const Rank r = look_at(x, rank);
		const gint64 way = s.down[lane] + s.up[lane];

		if (r.low != lane)
			continue;
		const gint64 around = furthest + way + least(x, F, lane) + least(x, I, lane) +
				      least(x, W, lane);
		const gint64 own = work_before_last(x, rank, &r) - way - least(x, F, lane) -
				   least(x, I, lane);

		bounds[rank] = MAX(bounds[rank], around);
		furthest = MAX(furthest, own);
	}
}
