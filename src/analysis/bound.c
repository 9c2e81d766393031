/* Times are raised until nothing changes: first of the heads of ops, then, looking backwards, of what
 * must follow them; then each rank is filled between both. */
#include "config.h"

#include "analysis/bound-busy.h"
#include "analysis/bound-needs.h"
#include "analysis/bound-passing.h"
#include "analysis/bound-proof.h"
#include <string.h>

#define F PIPESIM_CODE_F

/* Most looks at an op in one direction: what could be raised after that is left as it is. About a second. What has
 * run before an op takes as long as so many of them. */
#define MOST_LOOKS (G_GUINT64_CONSTANT(1) << 27)
#define LOOK       32
/* And where ranks are filled. */
#define MOST_FILLS (G_GUINT64_CONSTANT(1) << 25)
/* Ops before one that are looked at where they do not add up, but for long orders: those before them are in the times
 * of these. */
#define WINDOW 1024
#define NARROW 96
#define LONG   (1u << 16) /* ops */

/* The ops of a code of a rank, or of a kind whichever their chunks, in the order in which they run. */
typedef struct {
	const gint64 *at;
	guint n;     /* all of them */
	gint64 each; /* what each takes, at most where that differs */
	const gint64
		*sums; /* what any so many of them take at least; NULL: as many times each */
	guint kind, chunk;
	gboolean adds_up; /* no ops of the rank take less together than each of them alone */
} Series;

typedef struct {
	PipesimNeeds needs;
	gint64 *at, *any; /* by need and any_need */
	gint64 *sums;     /* [(rank * kinds + kind) * (n_any + 1) + n]: of the n shortest */
	Series *of_codes; /* [rank * codes + code] */
	Series *of_any;   /* [rank * kinds + kind] */
	struct Before *before; /* [N_BEFORE * op of a code of all lanes] */
	/* [rank * kinds + kind]: ops whichever their chunks that were looked at in a sweep, and by chunk those that they
	 * were taken for. */
	guint *n_any, *next;
	guint *left; /* [codes]: of each, those that were not taken at the best time */
	guint *rest; /* [codes], at work */
	gint64 *one; /* [chunks], at work */
	guint window;
	guint64 looks;
	PipesimProof *proof; /* NULL: not wanted */
	const PipesimBoundUntil *until;
	gboolean late; /* it was looked at no further */
} Side;

/* What has to run before the op of a code that was looked at last: in one sweep no less does before the next,
 * and what is raised once it has been taken is so in the next sweep. */
typedef struct Before {
	PipesimBusy busy;
	guint32 *taken; /* [series] */
} Before;

static gint64 *at_of(const Side *side, guint lane, guint kind)
{
	const PipesimInstance *x = side->needs.x;

	return &side->at[((gsize)lane * x->kinds + kind) * x->count];
}

static gint64 *any_of(const Side *side, guint rank, guint kind)
{
	return &side->any[((gsize)rank * side->needs.x->kinds + kind) * side->needs.n_any];
}

static const gint64 *sums_of(const Side *side, guint rank, guint kind)
{
	return &side->sums[((gsize)rank * side->needs.x->kinds + kind) *
			   (side->needs.n_any + 1)];
}

/* What pairs save at most of @counts ops of each kind. Where F, I and W of a pair are among them it saves no
 * less than two pairs of which F and I, and F and W are. */
static gint64 saved_of(const PipesimInstance *x, guint rank, const guint *counts)
{
	const guint f = counts[F], i = counts[PIPESIM_CODE_I], w = counts[PIPESIM_CODE_W];
	const guint inputs = MIN(f, i), all = MIN(inputs, w), weights = MIN(f, w);

	if (x->pair == NULL)
		return 0;
	return all * x->saved[PIPESIM_PAIR_FIW][rank] +
	       (inputs - all) * x->saved[PIPESIM_PAIR_FI][rank] +
	       (weights - all) * x->saved[PIPESIM_PAIR_FW][rank];
}

/* What @taken of them take at least. */
static gint64 work_of(const Series *series, guint taken)
{
	return series->sums != NULL ? series->sums[taken] : taken * series->each;
}

/* The earliest end of the first @need of @n series: the largest of a time and what those take that do not
 * start before it. side->left then tells which these are; @from that time. @known where it is no later: then
 * neither is told, and most sets need no look. @end: it is no later than that */
static gint64 end_of(Side *side, guint rank, const Series *series, guint n, const guint32 *need,
	gint64 known, gint64 end, gint64 *from)
{
	guint counts[PIPESIM_CODE_KINDS] = {0};
	guint *rest = side->rest;
	gint64 best = known, work = 0, all = 0, time = G_MAXINT64;
	guint taken = 0;

	for (guint i = 0; i < n; i++) {
		side->left[i] = rest[i] = need[i];
		all += work_of(&series[i], need[i]);
	}
	*from = 0;
	while (best < end) {
		gint64 last = -1, saved;
		guint next = 0;

		for (guint i = 0; i < n; i++) {
			if (rest[i] > 0 && series[i].at[rest[i] - 1] > last) {
				last = series[i].at[rest[i] - 1];
				next = i;
			}
		}
		/* In the middle of a sweep ops behind it may be known less well. */
		time = MIN(time, last);
		if (time < 0 || time + all <= best ||
			(taken == side->window && end == G_MAXINT64))
			break;
		rest[next]--;
		taken++;
		work += work_of(&series[next], need[next] - rest[next]) -
			work_of(&series[next], need[next] - rest[next] - 1);
		counts[series[next].kind]++;
		saved = saved_of(side->needs.x, rank, counts);
		if (time + work - saved > best) {
			best = time + work - saved;
			*from = time;
			memcpy(side->left, rest, sizeof *rest * n);
		}
	}
	if (end == G_MAXINT64)
		side->looks += taken;
	return best;
}

/* Writes the rank rule of end_of() into the proof. */
static void prove_rank(Side *side, const Series *series, guint n, const guint32 *need,
	PipesimClaim *claim, gint64 from)
{
	guint counts[PIPESIM_CODE_KINDS] = {0};

	claim->rule = PIPESIM_BY_RANK;
	claim->from = from;
	for (guint i = 0; i < n; i++) {
		const guint taken = need[i] - side->left[i];

		counts[series[i].kind] += taken;
		if (taken > 0)
			pipesim_proof_ops(
				side->proof, &(PipesimBoundOps){.kind = series[i].kind,
						     .chunk = series[i].chunk,
						     .first = side->left[i] + 1,
						     .last = need[i],
						     .time = work_of(&series[i], taken)});
	}
	claim->saved = saved_of(side->needs.x, claim->rank, counts);
}

/* The earliest end of the first @need of @n series, or a later time where they do not add up. What an op needs the
 * next one of its code needs too. */
static gint64 run_before(Before *before, const Series *series, guint n, const guint32 *need)
{
	for (guint i = 0; i < n; i++) {
		for (guint k = before->taken[i]; k < need[i]; k++)
			pipesim_busy_add(&before->busy, series[i].at[k], series[i].each);
		before->taken[i] = need[i];
	}
	return pipesim_busy_end(&before->busy);
}

/* Raises an op to what the rank rule gives for the first @need of @n series. */
static gboolean raise_by_rank(Side *side, Before *before, const Series *series, guint n,
	const guint32 *need, gint64 *at, PipesimClaim *claim)
{
	gint64 end = run_before(before, series, n, need), from;

	side->looks += LOOK;
	if (end <= *at)
		return FALSE;
	if (!series->adds_up || side->proof != NULL)
		end = end_of(side, claim->rank, series, n, need, *at,
			series->adds_up ? end : G_MAXINT64, &from);
	if (end <= *at)
		return FALSE;
	*at = claim->time = end;
	if (side->proof != NULL) {
		prove_rank(side, series, n, need, claim, from);
		pipesim_proof_add(side->proof, claim);
	}
	return TRUE;
}

static gboolean raise_by(Side *side, gint64 *at, gint64 time, PipesimClaim *claim)
{
	if (time <= *at)
		return FALSE;
	*at = claim->time = time;
	if (side->proof != NULL)
		pipesim_proof_add(side->proof, claim);
	return TRUE;
}

/* The three sets of ops that are looked at: those before an op, the same whichever their chunks, and those before
 * an op whichever its chunk. */
enum {
	BY_CODES,
	BY_ANY,
	OF_ANY,
	N_BEFORE,
};

static Before *before_of(const Side *side, guint set, guint at)
{
	return &side->before[(gsize)set * side->needs.x->lanes * side->needs.x->kinds + at];
}

static gboolean raise_op(Side *side, guint lane, guint kind, guint k)
{
	const PipesimInstance *x = side->needs.x;
	const guint rank = lane / x->chunks, at_code = lane * x->kinds + kind;
	const guint32 *need = pipesim_needs_of(&side->needs, lane, kind, k), *sums;
	PipesimClaim claim = {
		.rank = rank, .kind = kind, .chunk = lane % x->chunks, .n = k + 1};
	gint64 *at = &at_of(side, lane, kind)[k];
	guint from_lane, from_kind;
	gboolean raised = FALSE;
	gint64 hop;

	if (pipesim_needs_message(&side->needs, lane, kind, &from_lane, &from_kind, &hop)) {
		claim.rule = PIPESIM_BY_MESSAGE;
		claim.from_rank = from_lane / x->chunks;
		claim.from_chunk = from_lane % x->chunks;
		claim.from_kind = from_kind;
		claim.added = x->least[from_kind][from_lane] + hop;
		raised |= raise_by(
			side, at, at_of(side, from_lane, from_kind)[k] + claim.added, &claim);
	}
	raised |= raise_by_rank(side, before_of(side, BY_CODES, at_code),
		&side->of_codes[rank * side->needs.codes], side->needs.codes, need, at, &claim);
	if (x->chunks == 1)
		return raised;
	sums = pipesim_needs_sum(&side->needs, lane, kind, k);
	raised |= raise_by_rank(side, before_of(side, BY_ANY, at_code),
		&side->of_any[rank * x->kinds], x->kinds, sums, at, &claim);
	claim.rule = PIPESIM_BY_MEMBER;
	claim.added = 0;
	claim.from_n = sums[kind] + 1;
	return raise_by(side, at, any_of(side, rank, kind)[sums[kind]], &claim) || raised;
}

/* The chunk of @rank whose next op of @kind can start first, of those that no other was taken for; chunks where one
 * of them is not yet known to be so, as it is not among the first @known, or there is none. */
static guint first_chunk(
	const Side *side, guint rank, guint kind, const guint *next, guint known)
{
	const PipesimInstance *x = side->needs.x;
	guint from = x->chunks;
	gint64 least = G_MAXINT64;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		if (next[chunk] == x->count)
			continue;
		if (next[chunk] >= known)
			return x->chunks;
		if (at_of(side, lane, kind)[next[chunk]] < least) {
			least = at_of(side, lane, kind)[next[chunk]];
			from = chunk;
		}
	}
	return from;
}

/* The n-th op of a kind, whichever its chunk: no earlier than the n-th of all of them. As far as the first @known ops
 * of each code have been looked at. */
static gboolean raise_any(Side *side, guint rank, guint kind, guint known)
{
	const PipesimInstance *x = side->needs.x;
	const guint at_kind = rank * x->kinds + kind;
	gint64 *any = any_of(side, rank, kind);
	guint *next = &side->next[at_kind * x->chunks];
	gboolean raised = FALSE;

	for (;;) {
		const guint from = first_chunk(side, rank, kind, next, known);
		const guint m = side->n_any[at_kind];
		PipesimClaim claim = {.rule = PIPESIM_BY_ANY,
			.rank = rank,
			.kind = kind,
			.chunk = PIPESIM_ANY_CHUNK,
			.n = m + 1};
		gint64 least;

		if (from == x->chunks)
			return raised;
		least = at_of(side, pipesim_instance_lane(x, rank, from), kind)[next[from]];
		for (guint chunk = 0;
			chunk < x->chunks && least > any[m] && side->proof != NULL; chunk++)
			if (next[chunk] < x->count)
				pipesim_proof_ops(
					side->proof, &(PipesimBoundOps){.kind = kind,
							     .chunk = chunk,
							     .first = next[chunk] + 1,
							     .last = next[chunk] + 1});
		next[from]++;
		side->n_any[at_kind]++;
		raised |= raise_by(side, &any[m], least, &claim);
		raised |= raise_by_rank(side, before_of(side, OF_ANY, at_kind),
			&side->of_any[rank * x->kinds], x->kinds,
			pipesim_needs_any(&side->needs, rank, kind, m), &any[m], &claim);
	}
}

static void forget_before(Side *side)
{
	const PipesimInstance *x = side->needs.x;

	for (guint i = 0; i < N_BEFORE * x->lanes * x->kinds; i++) {
		pipesim_busy_clear(&side->before[i].busy);
		memset(side->before[i].taken, 0, sizeof(guint32) * side->needs.codes);
	}
	memset(side->next, 0, sizeof *side->next * x->lanes * x->kinds);
	memset(side->n_any, 0, sizeof *side->n_any * x->ranks * x->kinds);
}

/* Every op once, until it is too late. */
static gboolean sweep(Side *side)
{
	const PipesimInstance *x = side->needs.x;
	const guint n = x->lanes * x->kinds;
	gboolean raised = FALSE;

	forget_before(side);
	for (guint k = 0; k < x->count && !side->late; k++) {
		for (guint i = 0; i < n; i++)
			raised |= raise_op(side, side->needs.order[i] / x->kinds,
				side->needs.order[i] % x->kinds, k);
		for (guint rank = 0; rank < x->ranks && x->chunks > 1; rank++)
			for (guint kind = 0; kind < x->kinds; kind++)
				raised |= raise_any(side, rank, kind, k + 1);
		side->late = pipesim_bound_is_late(side->until);
	}
	return raised;
}

/* Where a sweep was left halfway: ops of one code, or of one kind, follow each other all the same. */
static void settle(Side *side, const Series *series, guint rank)
{
	gint64 *at = (gint64 *)series->at;

	for (guint k = 1; k < series->n; k++) {
		PipesimClaim claim = {.rule = PIPESIM_BY_RANK,
			.rank = rank,
			.kind = series->kind,
			.chunk = series->chunk,
			.n = k + 1,
			.from = at[k - 1]};

		if (side->proof != NULL && at[k - 1] + work_of(series, 1) > at[k])
			pipesim_proof_ops(side->proof, &(PipesimBoundOps){.kind = series->kind,
							       .chunk = series->chunk,
							       .first = k,
							       .last = k,
							       .time = work_of(series, 1)});
		raise_by(side, &at[k], at[k - 1] + work_of(series, 1), &claim);
	}
}

/* Then nothing but heads is looked at, once. */
static gboolean is_rough(const PipesimBoundUntil *until)
{
	return until != NULL && until->rough;
}

static void raise_all(Side *side)
{
	const PipesimInstance *x = side->needs.x;

	while (!side->late && sweep(side) && x->chunks > 1 && side->looks < MOST_LOOKS)
		side->late |= is_rough(side->until);
	for (guint i = 0; i < x->lanes * x->kinds && side->late; i++)
		settle(side, &side->of_codes[i], i / side->needs.codes);
	for (guint i = 0; i < x->ranks * x->kinds && side->late && x->chunks > 1; i++)
		settle(side, &side->of_any[i], i / x->kinds);
}

static int compare(gconstpointer a, gconstpointer b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

static void fill_sums(Side *side)
{
	const PipesimInstance *x = side->needs.x;
	gint64 *one = side->one;

	for (guint rank = 0; rank < x->ranks; rank++)
		for (guint kind = 0; kind < x->kinds; kind++) {
			gint64 *sums = (gint64 *)sums_of(side, rank, kind);

			memcpy(one, &x->least[kind][(gsize)rank * x->chunks],
				sizeof *one * x->chunks);
			qsort(one, x->chunks, sizeof *one, compare);
			for (guint i = 0; i < side->needs.n_any; i++)
				sums[i + 1] = sums[i] + one[i / x->count];
		}
}

static void fill_series(Side *side, guint rank)
{
	const PipesimInstance *x = side->needs.x;
	gboolean saves = FALSE, alike = TRUE;

	for (guint i = 0; i < PIPESIM_PAIR_PARTS && x->pair != NULL; i++)
		saves |= x->saved[i][rank] > 0;
	for (guint kind = 0; kind < x->kinds; kind++) {
		Series *any = &side->of_any[rank * x->kinds + kind];
		const gint64 *sums = sums_of(side, rank, kind);

		*any = (Series){.at = any_of(side, rank, kind),
			.n = side->needs.n_any,
			.sums = sums,
			.each = sums[side->needs.n_any] - sums[side->needs.n_any - 1],
			.kind = kind,
			.chunk = PIPESIM_ANY_CHUNK};
		alike &= any->each == sums[1];
	}
	for (guint kind = 0; kind < x->kinds; kind++)
		side->of_any[rank * x->kinds + kind].adds_up = alike && !saves;
	for (guint code = 0; code < side->needs.codes; code++) {
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;

		side->of_codes[rank * side->needs.codes + code] =
			(Series){.at = at_of(side, lane, kind),
				.n = x->count,
				.each = x->least[kind][lane],
				.kind = kind,
				.chunk = code / x->kinds,
				.adds_up = !saves};
	}
}

static gboolean begin(Side *side, const PipesimInstance *x, gboolean back, PipesimProof *proof,
	const PipesimBoundUntil *until, PipesimArena *arena, GError **error)
{
	const gsize ops = (gsize)x->per_rank * x->ranks;
	const gsize codes = (gsize)x->lanes * x->kinds;
	guint32 *taken;

	if (!pipesim_needs_init(&side->needs, x, back, arena, error))
		return FALSE;
	side->proof = proof;
	side->until = until;
	side->window = ops > LONG ? NARROW : WINDOW;
	side->at = pipesim_arena_array(arena, gint64, ops);
	side->any = pipesim_arena_array(arena, gint64, ops);
	side->sums = pipesim_arena_array(arena, gint64, ops + (gsize)x->ranks * x->kinds);
	side->of_codes = pipesim_arena_array(arena, Series, codes);
	side->of_any = pipesim_arena_array(arena, Series, (gsize)x->ranks * x->kinds);
	side->before = pipesim_arena_array(arena, Before, N_BEFORE * codes);
	taken = pipesim_arena_array(arena, guint32, N_BEFORE * codes * side->needs.codes);
	side->n_any = pipesim_arena_array(arena, guint, (gsize)x->ranks * x->kinds);
	side->next = pipesim_arena_array(arena, guint, codes);
	side->left = pipesim_arena_array(arena, guint, side->needs.codes);
	side->rest = pipesim_arena_array(arena, guint, side->needs.codes);
	side->one = pipesim_arena_array(arena, gint64, x->chunks);
	if (!pipesim_arena_check(arena, error, "the bounds of %" G_GSIZE_FORMAT " ops", ops))
		return FALSE;
	for (gsize i = 0; i < N_BEFORE * codes; i++)
		side->before[i].taken = taken + i * side->needs.codes;
	fill_sums(side);
	for (guint rank = 0; rank < x->ranks; rank++)
		fill_series(side, rank);
	raise_all(side);
	for (gsize i = 0; i < N_BEFORE * codes; i++)
		pipesim_busy_free(&side->before[i].busy);
	return TRUE;
}

/* What ranks run between both ------------------------------------------------------------- */

typedef struct {
	const PipesimInstance *x;
	Side head, tail;
	gint64 best;
	guint rank;      /* of it */
	gboolean by_any; /* of it: ops are told whichever their chunks */
	gint64 from, until;
	guint *first, *last;             /* [codes]: of it, from 1 on; first > last: none */
	guint *begin, *end, *best_begin; /* [codes]: at work */
} Fill;

/* The ops of @n series that start at @from or later, by how long they leave behind them: the more of
 * them, the less these do. */
static void fill_from(
	Fill *fill, guint rank, const Series *head, const Series *tail, guint n, gint64 from)
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
		work += work_of(&head[next], fill->end[next] - fill->begin[next]) -
			work_of(&head[next], fill->end[next] - fill->begin[next] - 1);
		counts[head[next].kind]++;
		saved = saved_of(fill->x, rank, counts);
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
static gint64 take_last(
	Fill *fill, const Series *head, const Series *tail, guint n, PipesimBusy *after)
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
static void fill_sets(Fill *fill, guint rank, const Series *head, const Series *tail, guint n)
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

static void fill_rank(Fill *fill, guint rank)
{
	const PipesimInstance *x = fill->x;
	const Side *head = &fill->head, *tail = &fill->tail;
	const guint codes = head->needs.codes;

	fill_sets(fill, rank, &head->of_codes[rank * codes], &tail->of_codes[rank * codes],
		codes);
	if (x->chunks > 1)
		fill_sets(fill, rank, &head->of_any[rank * x->kinds],
			&tail->of_any[rank * x->kinds], x->kinds);
}

/* The last step. */
static void prove(Fill *fill, PipesimProof *proof)
{
	const PipesimInstance *x = fill->x;
	const guint n = fill->by_any ? x->kinds : fill->head.needs.codes;
	PipesimClaim claim = {.rule = PIPESIM_BY_WORK,
		.rank = fill->rank,
		.time = fill->best,
		.from = fill->from,
		.until = fill->until};
	guint counts[PIPESIM_CODE_KINDS] = {0};

	for (guint i = 0; i < n; i++) {
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
					.time = fill->by_any ? sums_of(&fill->head, fill->rank,
								       kind)[ops]
							     : ops * x->least[kind][lane]});
	}
	claim.saved = saved_of(x, fill->rank, counts);
	pipesim_proof_add(proof, &claim);
}

/* How micro-batches pass each other -------------------------------------------------------- */

typedef struct {
	PipesimPassing passing;
	gint64 *starts, *after;
	gint64 time;
	guint32 *first; /* of PipesimBound; to be freed */
} Trips;

/* What is known of all but the first forwards and the last backwards is mostly of no use: these are enough of a
 * proof where the time is the same without it. */
static void leave_out(const Fill *fill, Trips *trips)
{
	const guint count = fill->x->count, few = MIN(trips->passing.flight, count);
	const gsize size = sizeof(gint64) * count;
	g_autofree gint64 *starts = g_memdup2(trips->starts, size);
	g_autofree gint64 *after = g_memdup2(trips->after, size);

	memset(&trips->starts[few], 0, sizeof(gint64) * (count - few));
	memset(trips->after, 0, sizeof(gint64) * (count - few));
	if (pipesim_passing_time(&trips->passing, NULL) == trips->time)
		return;
	memcpy(trips->starts, starts, size);
	memcpy(trips->after, after, size);
}

static void prove_passing(const Fill *fill, Trips *trips, PipesimProof *proof)
{
	const PipesimPassing *passing = &trips->passing;
	const PipesimClaim claim = {.rule = PIPESIM_BY_PASSING,
		.kind = passing->weight ? PIPESIM_CODE_W : PIPESIM_CODE_I,
		.n = passing->flight,
		.time = trips->time};

	leave_out(fill, trips);
	for (guint k = 0; k < fill->x->count; k++) {
		PipesimBoundOps ops = {
			.kind = F, .first = k + 1, .last = k + 1, .time = trips->starts[k]};

		if (ops.time > 0)
			pipesim_proof_ops(proof, &ops);
		ops.kind = PIPESIM_CODE_I;
		ops.time = trips->after[k];
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
	if (trips->after == NULL || is_rough(trips->passing.until) ||
		pipesim_bound_is_late(trips->passing.until) ||
		!pipesim_passing_find(&trips->passing, &fill->head.needs))
		return 0;
	for (guint k = 0; k < count; k++) {
		trips->starts[k] = at_of(&fill->head, 0, F)[k];
		trips->after[k] = at_of(&fill->tail, 0, PIPESIM_CODE_I)[count - 1 - k];
	}
	trips->passing.starts = trips->starts;
	trips->passing.after = trips->after;
	trips->first = g_new0(guint32, (gsize)count * trips->passing.flight);
	return trips->time = pipesim_passing_time(&trips->passing, trips->first);
}

/* Half of the time for one direction. */
static PipesimBoundUntil until_half(const PipesimBoundUntil *until)
{
	const gint64 now = g_get_monotonic_time();
	PipesimBoundUntil half = {0};

	if (until != NULL)
		half = *until;
	if (half.deadline > 0)
		half.deadline = now + MAX(half.deadline - now, 0) / 2;
	return half;
}

PipesimBound *pipesim_bound_new(const PipesimInstance *x, gboolean explain,
	const PipesimBoundUntil *until, GError **error)
{
	const PipesimBoundUntil half = until_half(until);
	const guint codes = x->chunks * x->kinds;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimProof) proof = explain ? pipesim_proof_new(x) : NULL;
	PipesimBound *bound;
	Trips trips = {.passing = {.until = until}};
	Fill fill = {.x = x,
		.best = -1,
		.first = pipesim_arena_array(arena, guint, codes),
		.last = pipesim_arena_array(arena, guint, codes),
		.begin = pipesim_arena_array(arena, guint, codes),
		.end = pipesim_arena_array(arena, guint, codes),
		.best_begin = pipesim_arena_array(arena, guint, codes)};

	if (!pipesim_arena_check(arena, error, "bounds") ||
		!begin(&fill.head, x, FALSE, proof, &half, arena, error))
		return NULL;
	if (proof != NULL)
		pipesim_proof_turn(proof);
	fill.tail.late = is_rough(until);
	if (!begin(&fill.tail, x, TRUE, proof, until, arena, error))
		return NULL;
	for (guint rank = 0; rank < x->ranks; rank++)
		fill_rank(&fill, rank);
	if (find_trips(&fill, &trips, arena) > fill.best) {
		fill.best = trips.time;
		if (proof != NULL)
			prove_passing(&fill, &trips, proof);
	} else if (proof != NULL) {
		prove(&fill, proof);
	}
	bound = pipesim_proof_finish(proof, fill.best);
	bound->first = trips.first;
	bound->flight = trips.passing.flight;
	return bound;
}
