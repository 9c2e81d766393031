#include "optimize/bound-needs.h"
#include "base/phases.h"

/* Micro-batches between two looks at the clock. */
#define LOOKS 64

gboolean pipesim_needs_message(const PipesimNeeds *needs, guint lane, guint kind,
	guint *from_lane, guint *from_kind, gint64 *hop)
{
	const PipesimInstance *x = needs->x;
	guint32 from = lane * x->kinds + kind;

	if (!needs->back) {
		from = pipesim_instance_input(x, from, hop);
	} else if (kind == W) {
		return FALSE;
	} else {
		/* What follows an op comes from the stage behind it, and at the last stage its backward does. */
		const guint32 other = kind == F ? x->after[lane] : x->before[lane];

		*hop = 0;
		if (other != PIPESIM_NO_LANE) {
			from = other * x->kinds + kind;
			pipesim_instance_input(x, from, hop);
		} else {
			from = kind == F ? from + 1 : PIPESIM_NO_LANE;
		}
	}
	*from_lane = from / x->kinds;
	*from_kind = from % x->kinds;
	return from != PIPESIM_NO_LANE;
}

/* Counts that hold whatever the memory: of the ops of the same micro-batch. */
static void need_chain(
	const PipesimNeeds *needs, guint lane, guint kind, guint k, guint32 *need)
{
	const PipesimInstance *x = needs->x;
	const guint together = MAX(x->together, 1u);
	/* With all that go forward before the op, or back after it. */
	const guint all = (k / together + 1) * together;

	memset(need, 0, sizeof *need * needs->codes);
	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint other = pipesim_instance_lane(x, lane / x->chunks, chunk);
		guint32 *of = &need[chunk * x->kinds];

		if (!pipesim_instance_same_way(x, lane, other))
			continue;
		/* Whether the other one's forward is before, and its backward after. */
		gboolean upper = x->depth[other] < x->depth[lane];
		if (!needs->back) {
			if (kind != F || upper)
				of[F] = kind != F ? all : k + 1;
			if (kind != F && other != lane && !upper)
				of[I] = k + 1;
			if (kind == W && other == lane)
				of[I] = k + 1;
		} else {
			if (kind == F && other != lane && !upper)
				of[F] = k + 1;
			if (kind == F || (kind == I && upper))
				of[I] = kind == F ? all : k + 1;
			if (x->kinds > 2 &&
				(kind == F || (kind == I && (upper || other == lane))))
				of[W] = kind == F ? all : k + 1;
		}
	}
	need[lane % x->chunks * x->kinds + kind] = k;
}

static guint32 divide_up(gint64 amount, gint64 by, guint most)
{
	if (amount <= 0)
		return 0;
	if (by <= 0 || (amount - 1) / by >= most)
		return most;
	return (guint32)((amount - 1) / by + 1);
}

static inline void raise_to(guint32 *count, guint32 least)
{
	*count = MAX(*count, least);
}

/* The least that @other holds when the op starts, in either direction. @begun: codes that begin to
 * hold, the op's own among them, of forwards or of backwards and weight gradients. */
static gint64 stays(
	const PipesimRoom *room, guint lane, const guint32 *begun, gboolean back, gint64 ended)
{
	const gint64 held = room->held[lane], freed = room->freed[lane];
	const gint64 holds =
		back ? begun[I] * freed + begun[W] * (held - freed) : begun[F] * held;

	return holds - ended * held;
}

/* One more forward needs room, or in the other direction one more backward or weight gradient: what
 * chunk @chunk must have given back for it, even if all others gave back all that they can. */
static void need_room(const PipesimNeeds *needs, const PipesimRoom *room, guint lane,
	const guint32 *begun, guint chunk, guint k, guint32 *need)
{
	const PipesimInstance *x = needs->x;
	const guint rank = lane / x->chunks, own = pipesim_instance_lane(x, rank, chunk);
	const gint64 held = room->held[own], freed = room->freed[own];
	const guint32 *of = &begun[chunk * 3];
	gint64 lacking = stays(room, own, of, needs->back, 0) - room->limit[rank];
	guint32 *out = &need[chunk * x->kinds];

	for (guint c = 0; c < x->chunks; c++) {
		const guint other = pipesim_instance_lane(x, rank, c);

		if (c == chunk || !pipesim_instance_same_way(x, lane, other))
			continue;
		gint64 least = stays(room, other, &begun[c * 3], needs->back, k);
		lacking += MAX(least, 0);
	}
	if (needs->back) {
		raise_to(&out[F], divide_up(lacking, held, x->count));
		return;
	}
	guint inputs = pipesim_instance_same_way(x, lane, own) ? MIN(of[F], k) : of[F];
	raise_to(&out[I], divide_up(lacking, held, x->count));
	if (x->kinds > 2)
		raise_to(&out[W], divide_up(lacking - inputs * freed, held - freed, x->count));
}

static void need_memory(
	const PipesimNeeds *needs, guint lane, guint kind, guint k, guint32 *need)
{
	const PipesimInstance *x = needs->x;

	if ((kind == F) == needs->back)
		return;
	/* By kind F, I, W of each chunk; backwards that are not split have no W. */
	g_autofree guint32 *begun = g_new0(guint32, 3 * (gsize)x->chunks);
	for (guint chunk = 0; chunk < x->chunks; chunk++)
		for (guint t = 0; t < x->kinds; t++)
			begun[chunk * 3 + t] = need[chunk * x->kinds + t];
	begun[lane % x->chunks * 3 + kind]++;
	for (guint i = 0; i < x->n_rooms; i++)
		for (guint chunk = 0; chunk < x->chunks; chunk++)
			need_room(needs, &x->room[i], lane, begun, chunk, k, need);
}

/* Each of @n counts to that of @more, where that is more; whether any was. */
static inline gboolean raise_all_to(guint32 *need, const guint32 *more, guint n)
{
	gboolean raised = FALSE;

	for (guint i = 0; i < n; i++)
		if (more[i] > need[i]) {
			need[i] = more[i];
			raised = TRUE;
		}
	return raised;
}

/* What is needed by what is needed. */
static void close_needs(const PipesimNeeds *needs, guint lane, guint32 *need)
{
	const PipesimInstance *x = needs->x;
	const guint first = lane - lane % x->chunks;
	gboolean changed;

	do {
		changed = FALSE;
		for (guint code = 0; code < needs->codes; code++)
			if (need[code] > 0)
				changed |= raise_all_to(need,
					pipesim_needs_of(needs, first + code / x->kinds,
						code % x->kinds, need[code] - 1),
					needs->codes);
	} while (changed);
}

/* Whichever the chunks -------------------------------------------------------------------- */

/* What ops of a rank take of one room: the sums of the n least, and the most of one. */
typedef struct {
	gint64 *held, *freed, *kept; /* kept until W; [n] */
	gint64 most_held, most_freed, most_kept;
} Amounts;

static gint64 *sum_least(gint64 *of_chunk, guint chunks, guint count, gint64 *most)
{
	gint64 *sums = g_new(gint64, (gsize)chunks * count + 1);

	qsort(of_chunk, chunks, sizeof *of_chunk, pipesim_compare_int64);
	*most = of_chunk[chunks - 1];
	sums[0] = 0;
	for (guint i = 0; i < chunks * count; i++)
		sums[i + 1] = sums[i] + of_chunk[i / count];
	return sums;
}

static Amounts find_amounts(const PipesimInstance *x, const PipesimRoom *room, guint rank)
{
	g_autofree gint64 *one = g_new(gint64, x->chunks);
	const guint first = pipesim_instance_lane(x, rank, 0);
	Amounts amounts;

	memcpy(one, &room->held[first], sizeof *one * x->chunks);
	amounts.held = sum_least(one, x->chunks, x->count, &amounts.most_held);
	memcpy(one, &room->freed[first], sizeof *one * x->chunks);
	amounts.freed = sum_least(one, x->chunks, x->count, &amounts.most_freed);
	for (guint c = 0; c < x->chunks; c++)
		one[c] = room->held[first + c] - room->freed[first + c];
	amounts.kept = sum_least(one, x->chunks, x->count, &amounts.most_kept);
	return amounts;
}

static void any_chain(const PipesimNeeds *needs, guint kind, guint m, guint32 *need)
{
	const PipesimInstance *x = needs->x;
	/* All chunks of a micro-batch go forward before any goes back. */
	const guint all = x->shape.copies == 1 ? (m / x->chunks + 1) * x->chunks : m + 1;

	memset(need, 0, sizeof *need * x->kinds);
	if (!needs->back && kind != F)
		need[F] = all;
	if (!needs->back && kind == W)
		need[I] = m + 1;
	if (needs->back && kind == F)
		need[I] = all;
	if (needs->back && kind == F && x->kinds > 2)
		need[W] = all;
	if (needs->back && kind == I && x->kinds > 2)
		need[W] = m + 1;
	need[kind] = m;
}

static void any_memory(const PipesimNeeds *needs, guint rank, const PipesimRoom *room,
	const Amounts *amounts, guint kind, guint m, guint32 *need)
{
	const PipesimInstance *x = needs->x;
	const gint64 limit = room->limit[rank];

	if (needs->back) {
		const guint inputs = need[I] + (kind == I);
		const guint weights = x->kinds > 2 ? need[W] + (kind == W) : 0;

		if (kind != F)
			raise_to(&need[F], divide_up(amounts->freed[inputs] +
							     amounts->kept[weights] - limit,
						   amounts->most_held, needs->n_any));
	} else if (kind == F) {
		const gint64 lacking = amounts->held[m + 1] - limit;

		raise_to(&need[I], divide_up(lacking, amounts->most_held, needs->n_any));
		if (x->kinds > 2)
			raise_to(&need[W], divide_up(lacking - m * amounts->most_freed,
						   amounts->most_kept, needs->n_any));
	}
}

static gboolean close_any(const PipesimNeeds *needs, guint rank, guint32 *need)
{
	gboolean changed = FALSE;

	for (guint kind = 0; kind < needs->x->kinds; kind++)
		if (need[kind] > 0)
			changed |= raise_all_to(need,
				pipesim_needs_any(needs, rank, kind, need[kind] - 1),
				needs->x->kinds);
	return changed;
}

static void fill_any(PipesimNeeds *needs, guint rank)
{
	const PipesimInstance *x = needs->x;
	Amounts amounts[PIPESIM_MAX_ROOMS];
	gboolean changed;

	for (guint i = 0; i < x->n_rooms; i++)
		amounts[i] = find_amounts(x, &x->room[i], rank);
	for (guint kind = 0; kind < x->kinds; kind++)
		for (guint m = 0; m < needs->n_any; m++) {
			guint32 *need = (guint32 *)pipesim_needs_any(needs, rank, kind, m);

			any_chain(needs, kind, m, need);
			for (guint i = 0; i < x->n_rooms; i++)
				any_memory(
					needs, rank, &x->room[i], &amounts[i], kind, m, need);
		}
	do {
		changed = FALSE;
		for (guint m = 0; m < needs->n_any; m++)
			for (guint kind = 0; kind < x->kinds; kind++)
				changed |= close_any(needs, rank,
					(guint32 *)pipesim_needs_any(needs, rank, kind, m));
	} while (changed);
	for (guint i = 0; i < x->n_rooms; i++) {
		g_free(amounts[i].held);
		g_free(amounts[i].freed);
		g_free(amounts[i].kept);
	}
}

/* Each after what it needs of the same count. */
static void sort_codes(PipesimNeeds *needs)
{
	const PipesimInstance *x = needs->x;
	const guint stages = x->shape.stages;
	guint n = 0;

	for (guint step = 0; step < x->kinds; step++) {
		const guint kind = needs->back ? x->kinds - 1 - step : step;
		/* Forwards go down the stages; what follows them comes up again. */
		const gboolean down = (kind == F) != needs->back;

		for (guint i = 0; i < stages; i++)
			for (guint lane = 0; lane < x->lanes; lane++)
				if (x->depth[lane] == (down ? i : stages - 1 - i))
					needs->order[n++] = lane * x->kinds + kind;
	}
}

gboolean pipesim_needs_init(PipesimNeeds *needs, const PipesimInstance *x, gboolean back,
	const PipesimBoundUntil *until, PipesimArena *arena, GError **error)
{
	const gsize ops = (gsize)x->per_rank * x->ranks;

	*needs = (PipesimNeeds){.x = x,
		.back = back,
		.codes = x->chunks * x->kinds,
		.n_any = x->chunks * x->count,
		.order = pipesim_arena_array(arena, guint32, (gsize)x->lanes * x->kinds),
		.need = pipesim_arena_array(arena, guint32, ops * x->chunks * x->kinds)};
	if (x->chunks > 1) {
		needs->any_need = pipesim_arena_array(arena, guint32, ops * x->kinds);
		needs->sum_need = pipesim_arena_array(arena, guint32, ops * x->kinds);
	}
	if (!pipesim_arena_check(arena, error, "the bounds of %" G_GSIZE_FORMAT " ops", ops))
		return FALSE;
	sort_codes(needs);
	for (guint k = 0; k < x->count && !needs->is_late; k++) {
		needs->is_late = k % LOOKS == LOOKS - 1 && pipesim_bound_is_late(until);
		for (guint i = 0; i < x->lanes * x->kinds; i++) {
			const guint lane = needs->order[i] / x->kinds;
			const guint kind = needs->order[i] % x->kinds;
			guint32 *need = (guint32 *)pipesim_needs_of(needs, lane, kind, k);

			need_chain(needs, lane, kind, k, need);
			close_needs(needs, lane, need);
			need_memory(needs, lane, kind, k, need);
			close_needs(needs, lane, need);
		}
	}
	for (guint rank = 0; rank < x->ranks && x->chunks > 1 && !needs->is_late; rank++)
		fill_any(needs, rank);
	for (guint i = 0; i < x->lanes * x->kinds && x->chunks > 1 && !needs->is_late; i++)
		for (guint k = 0; k < x->count; k++) {
			const guint lane = i / x->kinds, kind = i % x->kinds;
			const guint32 *need = pipesim_needs_of(needs, lane, kind, k);
			guint32 *sums = (guint32 *)pipesim_needs_sum(needs, lane, kind, k);

			for (guint code = 0; code < needs->codes; code++)
				sums[code % x->kinds] += need[code];
			while (close_any(needs, lane / x->chunks, sums))
				continue;
		}
	return TRUE;
}
