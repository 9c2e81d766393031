#include "optimize/bound-flow.h"
#include "base/phases.h"

__extension__ typedef __int128 Wide;

static gint64 least(const PipesimInstance *x, guint kind, guint lane)
{
	return kind < x->kinds ? x->least[kind][lane] : 0;
}

gint64 pipesim_flow_to(const PipesimInstance *x, guint32 lane)
{
	gint64 way = 0;

	for (; x->before[lane] != PIPESIM_NO_LANE; lane = x->before[lane])
		way += least(x, F, x->before[lane]) + x->hop[lane];
	return way;
}

gint64 pipesim_flow_from(const PipesimInstance *x, guint32 lane)
{
	gint64 way = 0;

	for (; x->before[lane] != PIPESIM_NO_LANE; lane = x->before[lane])
		way += least(x, I, x->before[lane]) + x->hop_back[x->before[lane]];
	return way;
}

gint64 pipesim_flow_trip(const PipesimInstance *x, guint32 from, guint32 to)
{
	guint32 last = from;
	gint64 way = 0;

	for (; x->after[last] != PIPESIM_NO_LANE; last = x->after[last])
		way += x->hop[x->after[last]] + least(x, F, x->after[last]);
	for (; last != to; last = x->before[last])
		way += least(x, I, last) + x->hop_back[x->before[last]];
	return way;
}

/* Memory ---------------------------------------------------------------------------------- */

/* From a time on there may be so much more. */
typedef struct {
	gint64 at, amount;
} Rise;

typedef struct {
	const PipesimInstance *x;
	const PipesimRoom *room;
	guint rank;
	gint64 limit;         /* in amounts that can be held */
	Wide held;            /* amount times ns, where nothing is in pairs */
	GArray *first, *last; /* of Rise: from the start on, and from the end back */
} Holding;

/* What I leaves for W. */
static gint64 rest_of(const Holding *h, guint lane)
{
	return h->x->kinds > 2 ? h->room->held[lane] - h->room->freed[lane] : 0;
}

PIPESIM_COMPARE(compare_rises, Rise, pipesim_by(at))

static void add_lane(Holding *h, guint lane)
{
	const PipesimInstance *x = h->x;
	const gint64 f = least(x, F, lane), i = least(x, I, lane), w = least(x, W, lane);
	const gint64 held = h->room->held[lane], rest = rest_of(h, lane);
	const gint64 to = pipesim_flow_to(x, lane), from = pipesim_flow_from(x, lane);

	h->held += x->count *
		   ((Wide)held * (f + pipesim_flow_trip(x, lane, lane) + i) + (Wide)rest * w);
	for (guint k = 0; k < x->count; k++) {
		const Rise start = {to + k * f, held}, weight = {k * w, rest};
		const Rise input = {MAX(from, w) + k * i, held - rest};

		g_array_append_val(h->first, start);
		g_array_append_val(h->last, input);
		g_array_append_val(h->last, weight);
	}
}

/* What can be held in @time, ns: at a time no more than has started, nor than has yet to end. */
static Wide room_in(const Holding *h, gint64 time)
{
	const Rise *first = (const Rise *)h->first->data, *last = (const Rise *)h->last->data;
	gint64 started = 0, left = 0;
	guint i = 0, k = 0;
	Wide sum = 0;

	while (k < h->last->len && last[k].at < time)
		left += last[k++].amount;
	for (gint64 now = 0, next; now < time; now = next) {
		next = time;
		while (i < h->first->len && first[i].at <= now)
			started += first[i++].amount;
		while (k > 0 && time - last[k - 1].at <= now)
			left -= last[--k].amount;
		if (i < h->first->len)
			next = MIN(next, first[i].at);
		if (k > 0)
			next = MIN(next, time - last[k - 1].at);
		sum += (Wide)(next - now) * MIN(h->limit, MIN(started, left));
	}
	return sum;
}

/* What the rank holds more, amount times ns, for the pair of @f and a backward of @lane on some rank. */
static Wide longer_by(const Holding *h, guint f, guint lane)
{
	const PipesimInstance *x = h->x;
	const gint64 pair = pipesim_instance_pair(x, f, lane % x->chunks);
	Wide sum = 0;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint own = pipesim_instance_lane(x, h->rank, chunk);

		if (x->depth[f] >= x->depth[own])
			sum += (Wide)h->room->held[own] * (pair - least(x, F, f));
		if (x->depth[lane] >= x->depth[own])
			sum += (Wide)h->room->held[own] * (pair - least(x, I, lane));
		if (lane == own) /* W ends with it */
			sum -= (Wide)rest_of(h, own) * least(x, W, own);
	}
	return sum;
}

/* What it holds more where pairs of @rank save @time at least, ns; -1: they cannot. */
static Wide longer_for(const Holding *h, guint rank, gint64 time)
{
	const PipesimInstance *x = h->x;
	Wide found = -1;

	for (guint i = 0; i < x->chunks * x->chunks && x->pair != NULL; i++) {
		const guint f = pipesim_instance_lane(x, rank, i / x->chunks);
		const guint lane = pipesim_instance_lane(x, rank, i % x->chunks);
		const gint64 saves = least(x, F, f) + least(x, I, lane) + least(x, W, lane) -
				     pipesim_instance_pair(x, f, i % x->chunks);

		if (saves <= 0)
			continue;
		Wide longer = longer_by(h, f, lane);
		longer = longer * (time / saves) + longer / saves * (time % saves);
		if (found < 0 || longer < found)
			found = longer;
	}
	return found;
}

/* What pairs of @rank must save so that its work takes no more than @time, ns. */
static gint64 too_much(const PipesimInstance *x, guint rank, gint64 time)
{
	gint64 first = G_MAXINT64, last = G_MAXINT64, work = 0;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		first = MIN(first, pipesim_flow_to(x, lane));
		last = MIN(last, x->kinds > 2 ? 0 : pipesim_flow_from(x, lane));
		for (guint kind = 0; kind < x->kinds; kind++)
			work += least(x, kind, lane) * x->count;
	}
	return first + work + last - time;
}

/* Whether no order takes @time. @claim: (out): why */
static gboolean is_too_short(const Holding *h, gint64 time, PipesimClaim *claim)
{
	const Wide room = room_in(h, time);
	Wide held = h->held;
	gint64 saved = 0;

	for (guint rank = 0; rank < h->x->ranks && h->x->pair != NULL; rank++) {
		const gint64 more = too_much(h->x, rank, time);
		const Wide longer = more > 0 ? longer_for(h, rank, more) : 0;

		if (longer < 0)
			return FALSE;
		held += longer;
		saved += MAX(more, 0);
	}
	if (held <= room || h->limit <= 0)
		return FALSE;
	claim->rule = PIPESIM_BY_ROOM;
	claim->rank = h->rank;
	claim->time = time + 1;
	claim->from = (gint64)(room / h->limit);
	claim->until = (gint64)(held / h->limit);
	claim->saved = saved;
	return TRUE;
}

/* The least time that is not known to be too short, about. */
static void find_room(const Holding *h, PipesimClaim *claim)
{
	gint64 step = MAX(claim->time / 64, 1), time = claim->time;

	if (!is_too_short(h, time, claim))
		return;
	for (; time < PIPESIM_MAX_END / 4 && is_too_short(h, time + step, claim); step *= 2)
		time += step;
	for (; step > 0; step /= 2)
		if (is_too_short(h, time + step, claim))
			time += step;
}

static void find_rooms(const PipesimInstance *x, guint rank, PipesimClaim *claim)
{
	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		Holding h = {.x = x,
			.room = room,
			.rank = rank,
			.limit = room->limit[rank],
			.first = g_array_new(FALSE, FALSE, sizeof(Rise)),
			.last = g_array_new(FALSE, FALSE, sizeof(Rise))};
		gint64 part = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint lane = pipesim_instance_lane(x, rank, chunk);

			add_lane(&h, lane);
			part = pipesim_gcd(room->held[lane], part);
			part = pipesim_gcd(rest_of(&h, lane), part);
		}
		g_array_sort(h.first, compare_rises);
		g_array_sort(h.last, compare_rises);
		h.limit -= part > 0 ? h.limit % part : 0;
		find_room(&h, claim);
		g_array_unref(h.first);
		g_array_unref(h.last);
	}
}

/* Queue ----------------------------------------------------------------------------------- */

/* From when an I of @lane can start to the end of the step, at least. */
static gint64 behind_input(const PipesimInstance *x, guint lane)
{
	return least(x, I, lane) + MAX(least(x, W, lane), pipesim_flow_from(x, lane));
}

static void find_queue(const PipesimInstance *x, guint rank, PipesimClaim *claim)
{
	gint64 first = G_MAXINT64, last = G_MAXINT64, all = 0;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);
		const guint32 before = x->before[lane], after = x->after[lane];
		const gint64 to = pipesim_flow_to(x, lane);

		if (before != PIPESIM_NO_LANE && before / x->chunks != rank) {
			all += x->hop[lane] + x->hop_back[before];
			first = MIN(first, to - x->hop[lane]);
			last = MIN(last, behind_input(x, before));
		}
		if (after != PIPESIM_NO_LANE && after / x->chunks != rank) {
			all += x->hop[after] + x->hop_back[lane];
			first = MIN(first, to + least(x, F, lane));
			last = MIN(last, behind_input(x, lane));
		}
	}
	if (all == 0 || first + all * x->count + last <= claim->time)
		return;
	claim->rule = PIPESIM_BY_QUEUE;
	claim->rank = rank;
	claim->time = first + all * x->count + last;
	claim->from = first;
	claim->until = last;
}

void pipesim_flow_find(const PipesimInstance *x, PipesimClaim *claim)
{
	/* Micro-batches that go two ways meet anywhere. */
	for (guint rank = 0; rank < x->ranks && x->shape.copies == 1; rank++) {
		find_rooms(x, rank, claim);
		if (x->queued)
			find_queue(x, rank, claim);
	}
}
