/* What must run before each op, and what behind it, is bound-side.c's; here each rank is filled between both, and
 * micro-batches pass each other. */
#include "base/phases.h"
#include "optimize/bound-busy.h"
#include "optimize/bound-flow.h"
#include "optimize/bound-passing.h"
#include "optimize/bound-side.h"

/* Most looks at ops where ranks are filled. */
#define MOST_FILLS (G_GUINT64_CONSTANT(1) << 25)

/* What ranks run between both ------------------------------------------------------------- */

typedef struct {
	const PipesimInstance *x;
	PipesimSide head, tail;
	gint64 best;
	guint rank;      /* of it */
	gboolean by_any; /* of it: ops are told whichever their chunks */
	gint64 from, until;
	guint *first, *last;             /* [codes]: of it, from 1 on; first > last: none */
	guint *begin, *end, *best_begin; /* [codes]: at work */
} Fill;

/* The ops of @n series that start at @from or later, by how long they leave behind them: the more of
 * them, the less these do. */
static void fill_from(Fill *fill, guint rank, const PipesimSeries *head,
	const PipesimSeries *tail, guint n, gint64 from)
{
	guint counts[PIPESIM_CODE_KINDS] = {0};
	gint64 work = 0;

	for (guint i = 0; i < n; i++)
		fill->end[i] = fill->begin[i];
	for (;;) {
		gint64 until = -1, saved;
		guint next = 0;

		for (guint i = 0; i < n; i++)
			if (fill->end[i] < head[i].n &&
				tail[i].at[head[i].n - 1 - fill->end[i]] > until) {
				until = tail[i].at[head[i].n - 1 - fill->end[i]];
				next = i;
			}
		if (until < 0)
			return;
		fill->end[next]++;
		work += pipesim_series_work(&head[next], fill->end[next] - fill->begin[next]) -
			pipesim_series_work(
				&head[next], fill->end[next] - fill->begin[next] - 1);
		counts[head[next].kind]++;
		saved = pipesim_bound_saved(fill->x, rank, counts);
		if (from + work - saved + until <= fill->best)
			continue;
		fill->best = from + work - saved + until;
		fill->rank = rank;
		fill->by_any = head->chunk == PIPESIM_ANY_CHUNK;
		fill->from = from;
		fill->until = until;
		for (guint i = 0; i < n; i++) {
			fill->first[i] = fill->begin[i] + 1;
			fill->last[i] = fill->end[i];
		}
	}
}

/* Takes the op that starts last of those that do not belong to the set; G_MININT64: there is none. */
static gint64 take_last(Fill *fill, const PipesimSeries *head, const PipesimSeries *tail,
	guint n, PipesimBusy *after)
{
	gint64 from = G_MININT64;
	guint next = 0;

	for (guint i = 0; i < n; i++)
		if (fill->begin[i] > 0 && head[i].at[fill->begin[i] - 1] > from) {
			from = head[i].at[fill->begin[i] - 1];
			next = i;
		}
	if (from == G_MININT64)
		return from;
	pipesim_busy_add(
		after, tail[next].at[head[next].n - fill->begin[next]--], head[next].each);
	return from;
}

/* All sets of ops that start at some time or later. Looking backwards they end when the rank has run what they leave
 * behind them; where ops do not add up they end no later. */
static void fill_sets(
	Fill *fill, guint rank, const PipesimSeries *head, const PipesimSeries *tail, guint n)
{
	const gsize size = sizeof *fill->begin * n;
	guint step = 1, all = 0;
	gint64 most = fill->best, best_from = -1, from;
	PipesimBusy after = {0};

	for (guint i = 0; i < n; i++) {
		fill->begin[i] = head[i].n;
		all += head[i].n;
	}
	/* Of many ops most sets are as good as their neighbours. */
	while ((guint64)all / step * all * fill->x->ranks > MOST_FILLS)
		step++;
	for (guint left = all; (from = take_last(fill, head, tail, n, &after)) >= 0;) {
		const gint64 time = from + pipesim_busy_end(&after);

		left--;
		if (head->adds_up && time > fill->best && time >= most) {
			most = time;
			best_from = from;
			memcpy(fill->best_begin, fill->begin, size);
		} else if (!head->adds_up && left % step == 0 && time > fill->best) {
			fill_from(fill, rank, head, tail, n, from);
		}
	}
	if (best_from >= 0) {
		memcpy(fill->begin, fill->best_begin, size);
		fill_from(fill, rank, head, tail, n, best_from);
	}
	pipesim_busy_free(&after);
}

/* The last step. */
static void prove(Fill *fill, PipesimProof *proof)
{
	const PipesimInstance *x = fill->x;
	PipesimClaim claim = {.rule = PIPESIM_BY_WORK,
		.rank = fill->rank,
		.time = fill->best,
		.from = fill->from,
		.until = fill->until};
	guint counts[PIPESIM_CODE_KINDS] = {0};

	for (guint i = 0; i < (fill->by_any ? x->kinds : fill->head.needs.codes); i++) {
		const guint ops = fill->last[i] + 1 - fill->first[i];
		const guint kind = i % x->kinds, chunk = i / x->kinds;
		const guint lane = pipesim_instance_lane(x, fill->rank, chunk);

		counts[kind] += ops;
		if (fill->first[i] <= fill->last[i])
			pipesim_proof_ops(proof,
				&(PipesimBoundOps){.kind = kind,
					.chunk = fill->by_any ? PIPESIM_ANY_CHUNK : chunk,
					.first = fill->first[i],
					.last = fill->last[i],
					.time = fill->by_any ? pipesim_side_sums(&fill->head,
								       fill->rank, kind)[ops]
							     : ops * x->least[kind][lane]});
	}
	claim.saved = pipesim_bound_saved(x, fill->rank, counts);
	pipesim_proof_add(proof, &claim);
}

/* How micro-batches pass each other -------------------------------------------------------- */

typedef struct {
	PipesimPassing passing;
	gint64 *starts, *after;
	gint64 time;
} Trips;

static void prove_passing(const Fill *fill, Trips *trips, PipesimProof *proof)
{
	const PipesimPassing *passing = &trips->passing;
	const PipesimClaim claim = {.rule = PIPESIM_BY_PASSING,
		.kind = passing->weight ? PIPESIM_CODE_W : PIPESIM_CODE_I,
		.n = passing->flight,
		.from = passing->wait,
		.time = trips->time};
	const guint count = fill->x->count, few = MIN(passing->flight, count);
	const gsize size = sizeof(gint64) * count;
	g_autofree gint64 *starts = g_memdup2(trips->starts, size);
	g_autofree gint64 *after = g_memdup2(trips->after, size);

	/* What is known of all but the first forwards and the last backwards is mostly of no use: these are enough
	 * of a proof where the time is the same without it. */
	memset(&trips->starts[few], 0, sizeof(gint64) * (count - few));
	memset(trips->after, 0, sizeof(gint64) * (count - few));
	if (pipesim_passing_time(passing) != trips->time) {
		memcpy(trips->starts, starts, size);
		memcpy(trips->after, after, size);
	}
	for (guint i = 0; i < 2 * count; i++) {
		const guint k = i / 2;
		const PipesimBoundOps ops = {.kind = i % 2 > 0 ? PIPESIM_CODE_I : F,
			.first = k + 1,
			.last = k + 1,
			.time = (i % 2 > 0 ? trips->after : trips->starts)[k]};

		if (ops.time > 0)
			pipesim_proof_ops(proof, &ops);
	}
	pipesim_proof_add(proof, &claim);
}

/* Returns what no order is shorter than, 0 where there is nothing to say. */
static gint64 find_trips(const Fill *fill, Trips *trips, PipesimArena *arena)
{
	const guint count = fill->x->count;

	trips->starts = pipesim_arena_array(arena, gint64, count);
	trips->after = pipesim_arena_array(arena, gint64, count);
	if (trips->after == NULL || pipesim_bound_is_rough(trips->passing.until) ||
		pipesim_bound_is_late(trips->passing.until) ||
		!pipesim_passing_find(&trips->passing, &fill->head.needs))
		return 0;
	for (guint k = 0; k < count; k++) {
		trips->starts[k] = pipesim_side_at(&fill->head, 0, F)[k];
		trips->after[k] =
			pipesim_side_at(&fill->tail, 0, PIPESIM_CODE_I)[count - 1 - k];
	}
	trips->passing.starts = trips->starts;
	trips->passing.after = trips->after;
	return trips->time = pipesim_passing_time(&trips->passing);
}

PipesimBound *pipesim_bound_new(const PipesimInstance *x, gboolean explain,
	const PipesimBoundUntil *until, GError **error)
{
	const gint64 now = g_get_monotonic_time();
	PipesimBoundUntil half = until != NULL ? *until : (PipesimBoundUntil){0};
	const guint codes = x->chunks * x->kinds;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimProof) proof = explain ? pipesim_proof_new(x) : NULL;
	gint64 most = 0;
	gboolean by_passing = FALSE;
	PipesimClaim claim = {0};
	Trips trips = {.passing = {.until = until}};
	Fill fill = {.x = x,
		.best = -1,
		.first = pipesim_arena_array(arena, guint, codes),
		.last = pipesim_arena_array(arena, guint, codes),
		.begin = pipesim_arena_array(arena, guint, codes),
		.end = pipesim_arena_array(arena, guint, codes),
		.best_begin = pipesim_arena_array(arena, guint, codes)};

	/* Half of the time for one direction. */
	if (half.deadline > 0)
		half.deadline = now + MAX(half.deadline - now, 0) / 2;
	if (!pipesim_arena_check(arena, error, "bounds") ||
		!pipesim_side_init(&fill.head, x, FALSE, proof, &half, arena, error))
		return NULL;
	if (proof != NULL)
		pipesim_proof_turn(proof);
	if (!fill.head.needs.is_late &&
		!pipesim_side_init(&fill.tail, x, TRUE, proof, until, arena, error))
		return NULL;
	/* The most that a rank has to do, its pairs as short as can be, is known at once. */
	for (guint rank = 0; rank < x->ranks; rank++) {
		gint64 work = 0;

		for (guint i = 0; i < codes; i++)
			work += x->apart[i % x->kinds][rank * x->chunks + i / x->kinds];
		most = MAX(most, work * x->count);
	}
	if (fill.head.needs.is_late || fill.tail.needs.is_late)
		return pipesim_proof_finish(NULL, most);
	for (guint rank = 0; rank < x->ranks; rank++) {
		fill_sets(&fill, rank, &fill.head.of_codes[rank * codes],
			&fill.tail.of_codes[rank * codes], codes);
		if (x->chunks > 1)
			fill_sets(&fill, rank, &fill.head.of_any[rank * x->kinds],
				&fill.tail.of_any[rank * x->kinds], x->kinds);
	}
	if (find_trips(&fill, &trips, arena) > fill.best) {
		fill.best = trips.time;
		by_passing = TRUE;
	}
	claim.time = fill.best;
	pipesim_flow_find(x, &claim);
	fill.best = claim.time;
	if (claim.rule != PIPESIM_BY_NOTHING) {
		if (proof != NULL)
			pipesim_proof_add(proof, &claim);
	} else if (by_passing) {
		if (proof != NULL)
			prove_passing(&fill, &trips, proof);
	} else if (proof != NULL) {
		prove(&fill, proof);
	}
	return pipesim_proof_finish(proof, fill.best);
}
