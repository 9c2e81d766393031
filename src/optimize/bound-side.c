#include "optimize/bound-side.h"
#include "base/phases.h"
#include "optimize/bound-busy.h"

/* Most looks at an op in one direction: what could be raised after that is left as it is. About a second. What has
 * run before an op takes as long as so many of them. */
#define MOST_LOOKS (G_GUINT64_CONSTANT(1) << 27)
#define LOOK       32
/* Ops before one that are looked at where they do not add up: those before them are in the times of these. */
#define WINDOW 192

/* What has to run before the op of a code that was looked at last: in one sweep no less does before the next,
 * and what is raised once it has been taken is so in the next sweep. */
typedef struct _PipesimBefore {
	PipesimBusy busy;
	guint32 *taken; /* [series] */
} Before;

static gint64 *any_of(const PipesimSide *side, guint rank, guint kind)
{
	return &side->any[((gsize)rank * side->needs.x->kinds + kind) * side->needs.n_any];
}

gint64 pipesim_bound_saved(const PipesimInstance *x, guint rank, const guint *counts)
{
	const guint f = counts[F], i = counts[PIPESIM_CODE_I], w = counts[PIPESIM_CODE_W];
	const guint inputs = MIN(f, i), all = MIN(inputs, w), weights = MIN(f, w);

	if (x->pair == NULL)
		return 0;
	return all * x->saved[PIPESIM_PAIR_FIW][rank] +
	       (inputs - all) * x->saved[PIPESIM_PAIR_FI][rank] +
	       (weights - all) * x->saved[PIPESIM_PAIR_FW][rank];
}

/* The earliest end of the first @need of @n series: the largest of a time and what those take that do not
 * start before it. side->left then tells which these are; @from that time. @known where it is no later: then
 * neither is told, and most sets need no look. @end: it is no later than that */
static gint64 end_of(PipesimSide *side, guint rank, const PipesimSeries *series, guint n,
	const guint32 *need, gint64 known, gint64 end, gint64 *from)
{
	guint counts[PIPESIM_CODE_KINDS] = {0};
	guint *rest = side->rest;
	gint64 best = known, work = 0, all = 0, time = G_MAXINT64;
	guint taken = 0;

	for (guint i = 0; i < n; i++) {
		side->left[i] = rest[i] = need[i];
		all += pipesim_series_work(&series[i], need[i]);
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
		if (time < 0 || time + all <= best || (taken == WINDOW && end == G_MAXINT64))
			break;
		rest[next]--;
		taken++;
		work += pipesim_series_work(&series[next], need[next] - rest[next]) -
			pipesim_series_work(&series[next], need[next] - rest[next] - 1);
		counts[series[next].kind]++;
		saved = pipesim_bound_saved(side->needs.x, rank, counts);
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
static void prove_rank(PipesimSide *side, const PipesimSeries *series, guint n,
	const guint32 *need, PipesimClaim *claim, gint64 from)
{
	guint counts[PIPESIM_CODE_KINDS] = {0};

	claim->rule = PIPESIM_BY_RANK;
	claim->from = from;
	for (guint i = 0; i < n; i++) {
		const guint taken = need[i] - side->left[i];

		counts[series[i].kind] += taken;
		if (taken > 0)
			pipesim_proof_ops(side->proof,
				&(PipesimBoundOps){.kind = series[i].kind,
					.chunk = series[i].chunk,
					.first = side->left[i] + 1,
					.last = need[i],
					.time = pipesim_series_work(&series[i], taken)});
	}
	claim->saved = pipesim_bound_saved(side->needs.x, claim->rank, counts);
}

/* Raises an op to what the rank rule gives for the first @need of @n series. */
static gboolean raise_by_rank(PipesimSide *side, Before *before, const PipesimSeries *series,
	guint n, const guint32 *need, gint64 *at, PipesimClaim *claim)
{
	gint64 end, from;

	/* What an op needs the next one of its code needs too. Where ops do not add up this is too late an end. */
	for (guint i = 0; i < n; i++) {
		for (guint k = before->taken[i]; k < need[i]; k++)
			pipesim_busy_add(&before->busy, series[i].at[k], series[i].each);
		before->taken[i] = need[i];
	}
	end = pipesim_busy_end(&before->busy);
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

static gboolean raise_by(PipesimSide *side, gint64 *at, gint64 time, PipesimClaim *claim)
{
	if (time <= *at)
		return FALSE;
	*at = claim->time = time;
	if (side->proof != NULL)
		pipesim_proof_add(side->proof, claim);
	return TRUE;
}

/* Of queues: the forward @k of @lane, which comes from a rank above, and all that its rank runs before it. If these are
 * the forwards of the lane that were sent before it, the rank has taken the last of them when the rank above takes what
 * sends to @k, as it takes each in the same round. So the message to @k stands behind that forward, and behind what that
 * sends. Else some other op has run, or one of these forwards has waited for one sent later: the i-th for the i + 1st that
 * the rank above runs, or one behind it, and the rest since, which takes no less than if it was the first. */
static gboolean raise_by_turn(
	PipesimSide *side, guint lane, guint k, gint64 *at, PipesimClaim *claim)
{
	const PipesimInstance *x = side->needs.x;
	const guint before = x->before[lane], after = x->after[lane], rank = claim->rank;
	const gint64 each = x->least[F][lane], sent = x->least[F][before];
	const gboolean sends = after != PIPESIM_NO_LANE && after / x->chunks != rank;
	const gint64 turn = each + x->hop[lane] + (sends ? x->hop[after] : 0);
	gint64 time = at[-1] + turn;

	claim->rule = PIPESIM_BY_TURN;
	claim->from_rank = before / x->chunks;
	claim->from_chunk = before % x->chunks;
	claim->from_kind = F;
	claim->from_n = 2;
	claim->added = sent + x->hop[lane] + k * each;
	if (sent < each)
		return FALSE;
	time = MIN(time, pipesim_side_at(side, before, F)[1] + claim->added);
	for (guint code = 0; code < side->needs.codes && time > *at; code++) {
		const guint other = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;

		if (other != lane || kind != F)
			time = MIN(time,
				pipesim_side_at(side, other, kind)[0] + x->least[kind][other]);
	}
	for (guint code = 0; code < side->needs.codes && time > *at && side->proof != NULL;
		code++) {
		const guint other = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;
		const gboolean own = other == lane && kind == F;

		pipesim_proof_ops(
			side->proof, &(PipesimBoundOps){.kind = kind,
					     .chunk = code / x->kinds,
					     .first = own ? k : 1,
					     .last = own ? k : 1,
					     .time = own ? turn : x->least[kind][other]});
	}
	return raise_by(side, at, time, claim);
}

/* The three sets of ops that are looked at: those before an op, the same whichever their chunks, and those before
 * an op whichever its chunk. */
enum {
	BY_CODES,
	BY_ANY,
	OF_ANY,
	N_BEFORE,
};

static Before *before_of(const PipesimSide *side, guint set, guint at)
{
	return &side->before[(gsize)set * side->needs.x->lanes * side->needs.x->kinds + at];
}

static gboolean raise_op(PipesimSide *side, guint lane, guint kind, guint k)
{
	const PipesimInstance *x = side->needs.x;
	const guint rank = lane / x->chunks, at_code = lane * x->kinds + kind;
	const guint32 *need = pipesim_needs_of(&side->needs, lane, kind, k), *sums;
	PipesimClaim claim = {
		.rank = rank, .kind = kind, .chunk = lane % x->chunks, .n = k + 1};
	gint64 *at = &pipesim_side_at(side, lane, kind)[k];
	guint from_lane, from_kind;
	gboolean raised = FALSE;
	gint64 hop;

	if (pipesim_needs_message(&side->needs, lane, kind, &from_lane, &from_kind, &hop)) {
		claim.rule = PIPESIM_BY_MESSAGE;
		claim.from_rank = from_lane / x->chunks;
		claim.from_chunk = from_lane % x->chunks;
		claim.from_kind = from_kind;
		claim.added = x->least[from_kind][from_lane] + hop;
		raised |= raise_by(side, at,
			pipesim_side_at(side, from_lane, from_kind)[k] + claim.added, &claim);
	}
	if (x->in_rounds && !side->needs.back && kind == F && k > 0 &&
		x->before[lane] != PIPESIM_NO_LANE && x->before[lane] / x->chunks < rank)
		raised |= raise_by_turn(side, lane, k, at, &claim);
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
	const PipesimSide *side, guint rank, guint kind, const guint *next, guint known)
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
		if (pipesim_side_at(side, lane, kind)[next[chunk]] < least) {
			least = pipesim_side_at(side, lane, kind)[next[chunk]];
			from = chunk;
		}
	}
	return from;
}

/* The n-th op of a kind, whichever its chunk: no earlier than the n-th of all of them. As far as the first @known ops
 * of each code have been looked at. */
static gboolean raise_any(PipesimSide *side, guint rank, guint kind, guint known)
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

		if (from == x->chunks)
			return raised;
		gint64 least = pipesim_side_at(
			side, pipesim_instance_lane(x, rank, from), kind)[next[from]];
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

/* Every op once, until it is too late. */
static gboolean sweep(PipesimSide *side)
{
	const PipesimInstance *x = side->needs.x;
	const guint n = x->lanes * x->kinds;
	gboolean raised = FALSE;

	for (guint i = 0; i < N_BEFORE * n; i++) {
		pipesim_busy_clear(&side->before[i].busy);
		memset(side->before[i].taken, 0, sizeof(guint32) * side->needs.codes);
	}
	memset(side->next, 0, sizeof *side->next * n);
	memset(side->n_any, 0, sizeof *side->n_any * x->ranks * x->kinds);
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
static void settle(PipesimSide *side, const PipesimSeries *series, guint rank)
{
	gint64 *at = (gint64 *)series->at;

	for (guint k = 1; k < series->n; k++) {
		PipesimClaim claim = {.rule = PIPESIM_BY_RANK,
			.rank = rank,
			.kind = series->kind,
			.chunk = series->chunk,
			.n = k + 1,
			.from = at[k - 1]};

		if (side->proof != NULL && at[k - 1] + pipesim_series_work(series, 1) > at[k])
			pipesim_proof_ops(
				side->proof, &(PipesimBoundOps){.kind = series->kind,
						     .chunk = series->chunk,
						     .first = k,
						     .last = k,
						     .time = pipesim_series_work(series, 1)});
		raise_by(side, &at[k], at[k - 1] + pipesim_series_work(series, 1), &claim);
	}
}

static void fill_series(PipesimSide *side, guint rank)
{
	const PipesimInstance *x = side->needs.x;
	gboolean saves = FALSE, alike = TRUE;

	for (guint i = 0; i < PIPESIM_PAIR_PARTS && x->pair != NULL; i++)
		saves |= x->saved[i][rank] > 0;
	for (guint kind = 0; kind < x->kinds; kind++) {
		PipesimSeries *any = &side->of_any[rank * x->kinds + kind];
		const gint64 *sums = pipesim_side_sums(side, rank, kind);

		*any = (PipesimSeries){.at = any_of(side, rank, kind),
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
			(PipesimSeries){.at = pipesim_side_at(side, lane, kind),
				.n = x->count,
				.each = x->least[kind][lane],
				.kind = kind,
				.chunk = code / x->kinds,
				.adds_up = !saves};
	}
}

gboolean pipesim_side_init(PipesimSide *side, const PipesimInstance *x, gboolean back,
	PipesimProof *proof, const PipesimBoundUntil *until, PipesimArena *arena,
	GError **error)
{
	const gsize ops = (gsize)x->per_rank * x->ranks;
	const gsize codes = (gsize)x->lanes * x->kinds;

	if (!pipesim_needs_init(
		    &side->needs, x, back, proof != NULL ? NULL : until, arena, error))
		return FALSE;
	if (side->needs.is_late)
		return TRUE;
	side->proof = proof;
	side->until = until;
	side->late = back && pipesim_bound_is_rough(until);
	side->at = pipesim_arena_array(arena, gint64, ops);
	side->any = pipesim_arena_array(arena, gint64, ops);
	side->sums = pipesim_arena_array(arena, gint64, ops + (gsize)x->ranks * x->kinds);
	side->of_codes = pipesim_arena_array(arena, PipesimSeries, codes);
	side->of_any = pipesim_arena_array(arena, PipesimSeries, (gsize)x->ranks * x->kinds);
	side->before = pipesim_arena_array(arena, Before, N_BEFORE * codes);
	guint32 *taken =
		pipesim_arena_array(arena, guint32, N_BEFORE * codes * side->needs.codes);
	side->n_any = pipesim_arena_array(arena, guint, (gsize)x->ranks * x->kinds);
	side->next = pipesim_arena_array(arena, guint, codes);
	side->left = pipesim_arena_array(arena, guint, side->needs.codes);
	side->rest = pipesim_arena_array(arena, guint, side->needs.codes);
	side->one = pipesim_arena_array(arena, gint64, x->chunks);
	if (!pipesim_arena_check(arena, error, "the bounds of %" G_GSIZE_FORMAT " ops", ops))
		return FALSE;
	for (gsize i = 0; i < N_BEFORE * codes; i++)
		side->before[i].taken = taken + i * side->needs.codes;
	for (guint rank = 0; rank < x->ranks; rank++)
		for (guint kind = 0; kind < x->kinds; kind++) {
			gint64 *sums = (gint64 *)pipesim_side_sums(side, rank, kind);

			memcpy(side->one, &x->least[kind][(gsize)rank * x->chunks],
				sizeof *side->one * x->chunks);
			qsort(side->one, x->chunks, sizeof *side->one, pipesim_compare_int64);
			for (guint i = 0; i < side->needs.n_any; i++)
				sums[i + 1] = sums[i] + side->one[i / x->count];
		}
	for (guint rank = 0; rank < x->ranks; rank++)
		fill_series(side, rank);
	while (!side->late && sweep(side) && x->chunks > 1 && side->looks < MOST_LOOKS)
		side->late |= pipesim_bound_is_rough(until);
	for (guint i = 0; i < codes && side->late; i++)
		settle(side, &side->of_codes[i], i / side->needs.codes);
	for (guint i = 0; i < x->ranks * x->kinds && side->late && x->chunks > 1; i++)
		settle(side, &side->of_any[i], i / x->kinds);
	for (gsize i = 0; i < N_BEFORE * codes; i++)
		pipesim_busy_free(&side->before[i].busy);
	return TRUE;
}
