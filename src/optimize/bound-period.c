/* Steps without a barrier: what no period of an order is below. Of every rank the time from its first start to its
 * last end is part of its period, and with the optimizer all of it. */
#include "config.h"

#include "optimize/bound-flow.h"

__extension__ typedef __int128 Wide;

/* A rank: sums and extremes over its lanes. */
typedef struct {
	gint64 work;                     /* all its ops */
	gint64 most[PIPESIM_CODE_KINDS]; /* the longest op of a kind */
	guint low, high;                 /* its first and its last lane on the way down */
	guint forwards;
} Rank;

static gint64 least(const PipesimInstance *x, guint kind, guint lane)
{
	return kind < x->kinds ? x->least[kind][lane] : 0;
}

static Rank look_at(const PipesimInstance *x, guint rank)
{
	const guint first = pipesim_instance_lane(x, rank, 0);
	Rank r = {.low = first, .high = first, .forwards = x->count * x->chunks};

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		for (guint kind = 0; kind < PIPESIM_CODE_KINDS; kind++) {
			const gint64 takes = least(x, kind, lane);

			r.work += takes * x->count;
			r.most[kind] = MAX(r.most[kind], takes);
		}
		r.low = x->depth[lane] < x->depth[r.low] ? lane : r.low;
		r.high = x->depth[lane] > x->depth[r.high] ? lane : r.high;
	}
	return r;
}

/* What can run between the last F of a rank and the I of its micro-batch: I and W of what is held beside it, of each
 * both while an activation is held, W alone while what I leaves of it is. */
static gint64 work_behind(const Rank *r, gint64 held, gint64 freed, gint64 room)
{
	const gint64 others = (gint64)r->forwards - 1, left_by_input = held - freed;
	gint64 most = 0;

	for (gint64 n = 0; n <= MIN(room / held, others); n++) {
		const gint64 left = room - n * held;
		const gint64 alone =
			left_by_input == 0 ? others - n : MIN(left / left_by_input, others - n);
		const gint64 work =
			n * r->most[PIPESIM_CODE_I] + (n + alone) * r->most[PIPESIM_CODE_W];

		most = MAX(most, work);
	}
	return most;
}

/* Of @rank, by what @room lets it hold. */
static gint64 span_within(
	const PipesimInstance *x, const PipesimRoom *room, guint rank, const Rank *r)
{
	const gint64 limit = room->limit[rank];
	const gint64 first =
		pipesim_flow_trip(x, r->low, r->high) + least(x, PIPESIM_CODE_F, r->low);
	const gint64 last = pipesim_flow_trip(x, r->high, r->high);
	gint64 held = G_MAXINT64, freed = 0, idle, fit;
	Wide each = 0;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		const gint64 rest = room->held[lane] - room->freed[lane];

		held = MIN(held, room->held[lane]);
		freed = MAX(freed, room->freed[lane]);
		each += (Wide)room->held[lane] * (least(x, PIPESIM_CODE_F, lane) +
							 pipesim_flow_trip(x, lane, lane) +
							 least(x, PIPESIM_CODE_I, lane)) +
			(Wide)rest * least(x, PIPESIM_CODE_W, lane);
	}
	if (limit <= 0 || held <= 0)
		return 0;
	fit = MIN(limit / held, (gint64)r->forwards);
	idle = MAX(first - fit * r->most[PIPESIM_CODE_F], 0);
	/* Where not all F come before the first I the two gaps are apart. */
	if (fit < r->forwards) {
		const gint64 gap = last - work_behind(r, held, MIN(freed, held), limit - held);

		idle += MAX(gap, 0);
	}
	each = (each * x->count + limit - 1) / limit;
	return MAX(r->work + idle, (gint64)MIN(each, PIPESIM_MAX_END));
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
		must = rest > 0 ? (gint64)r->forwards - 1 - (room->limit[later] - held) / rest
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
		gint64 span = r.work - x->saved[PIPESIM_PAIR_FIW][rank] * r.forwards;

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
