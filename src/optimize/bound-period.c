/* Steps without a barrier: what no period of an order is below. Of every rank the time from its first start to its
 * last end is part of its period, and with the optimizer all of it. */
#include "optimize/bound-flow.h"
#include "schedule/search/problem.h"

/* A rank: sums and extremes over its lanes. */
typedef struct {
	PipesimSpan span; /* without what memory says */
	guint low, high;  /* its first and its last lane on the way down */
} Rank;

static gint64 least(const PipesimInstance *x, guint kind, guint lane)
{
	return kind < x->kinds ? x->least[kind][lane] : 0;
}

static Rank look_at(const PipesimInstance *x, guint rank)
{
	const guint first = pipesim_instance_lane(x, rank, 0);
	Rank r = {.span.forwards = x->count * x->chunks, .low = first, .high = first};

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++) {
			const gint64 takes = least(x, kind, lane);

			r.span.work += takes * x->count;
			r.span.longest[kind] = MAX(r.span.longest[kind], takes);
		}
		r.low = x->depth[lane] < x->depth[r.low] ? lane : r.low;
		r.high = x->depth[lane] > x->depth[r.high] ? lane : r.high;
	}
	return r;
}

/* Of @rank, by what @room lets it hold. */
static gint64 span_within(
	const PipesimInstance *x, const PipesimRoom *room, guint rank, const Rank *r)
{
	PipesimSpan span = r->span;
	gint64 freed = 0;

	span.first = pipesim_flow_trip(x, r->low, r->high) + least(x, PIPESIM_CODE_F, r->low);
	span.last = pipesim_flow_trip(x, r->high, r->high);
	span.limit = room->limit[rank];
	span.held = G_MAXINT64;
	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		const gint64 held = room->held[lane];

		span.held = MIN(span.held, held);
		freed = MAX(freed, room->freed[lane]);
		span.all_held += (PipesimWide)held * (least(x, PIPESIM_CODE_F, lane) +
							     pipesim_flow_trip(x, lane, lane) +
							     least(x, PIPESIM_CODE_I, lane)) +
				 (PipesimWide)(held - room->freed[lane]) *
					 least(x, PIPESIM_CODE_W, lane);
	}
	span.rest = span.held - MIN(freed, span.held);
	span.all_held *= x->count;
	return span.limit > 0 && span.held > 0 ? pipesim_span_least(&span) : 0;
}

/* Of @rank, the last of whose W comes after all F and I of @later, through which all of its micro-batches go, and after
 * those W there without which the last F had no room. */
static gint64 span_around(
	const PipesimInstance *x, const Rank *rank, guint later, const Rank *r)
{
	const guint32 low = rank->low;
	gint64 least_work = 0, weights = 0, shortest = G_MAXINT64;
	gint64 way = least(x, PIPESIM_CODE_F, low) + least(x, PIPESIM_CODE_I, low);

	if (x->depth[r->low] <= x->depth[low])
		return 0;
	for (guint32 lane = x->after[low]; lane != r->low; lane = x->after[lane])
		way += least(x, PIPESIM_CODE_F, lane) + least(x, PIPESIM_CODE_I, lane) +
		       x->hop[lane] + x->hop_back[x->before[lane]];
	way += x->hop[r->low] + x->hop_back[x->before[r->low]];
	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, later, chunk);

		least_work += x->count *
			      (least(x, PIPESIM_CODE_F, lane) + least(x, PIPESIM_CODE_I, lane));
		shortest = MIN(shortest, least(x, PIPESIM_CODE_W, lane));
	}
	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		gint64 held = G_MAXINT64, rest = G_MAXINT64, must;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, later, chunk);

			held = MIN(held, room->held[lane]);
			rest = MIN(rest, room->held[lane] - room->freed[lane]);
		}
		must = rest > 0 ? (gint64)r->span.forwards - 1 -
					  (room->limit[later] - held) / rest
				: 0;
		weights = MAX(weights, must);
	}
	return way + least_work + weights * shortest + least(x, PIPESIM_CODE_W, low);
}

gint64 pipesim_bound_period(const PipesimInstance *x, const gint64 *between)
{
	gint64 bound = 0;

	for (guint rank = 0; rank < x->ranks; rank++) {
		const Rank r = look_at(x, rank);
		gint64 span = r.span.work - x->saved[PIPESIM_PAIR_FIW][rank] * r.span.forwards;

		/* Pairs make way for one another, and micro-batches that go two ways meet anywhere. */
		for (guint i = 0; i < x->n_rooms && x->pair == NULL && x->shape.copies == 1;
			i++) {
			const gint64 within = span_within(x, &x->room[i], rank, &r);

			span = MAX(span, within);
		}
		for (guint later = 0;
			later < x->ranks && x->pair == NULL && x->shape.copies == 1; later++) {
			const Rank other = look_at(x, later);
			const gint64 around = span_around(x, &r, later, &other);

			span = MAX(span, around);
		}
		bound = MAX(bound, span + between[rank]);
	}
	return bound;
}
