/* Bounds against all orders, and their proofs against rules written once more. */
#include "exact.h"
#include "grid.h"
#include "optimize/bound-passing.h"
#include "optimize/bound.h"
#include "passing.h"
#include "room.h"
#include "suites.h"
#include <string.h>

enum {
	F = PIPESIM_CODE_F,
	I = PIPESIM_CODE_I,
	W = PIPESIM_CODE_W,
};

/* Instances ------------------------------------------------------------------------------- */

typedef struct {
	PipesimShape shape;
	PipesimCosts *costs;
	PipesimTimes *times;
	PipesimInstance *x;
} Case;

static void clear_case(Case *c)
{
	pipesim_instance_free(c->x);
	pipesim_times_free(c->times);
	pipesim_costs_free(c->costs);
}

/* Full backwards that take less than their halves, as long and more; pairs that take a little to much less
 * than what they are made of, down to less than F and W. */
static void draw_pairs(PipesimCosts *costs, guint seed, GRand *random)
{
	gint64 *time = costs->time;
	const gint64 halves = time[PIPESIM_I] + time[PIPESIM_W];

	time[PIPESIM_B] = halves;
	if (seed % 4 > 0)
		time[PIPESIM_B] = halves * g_rand_int_range(random, 12, 24) / 20;
	time[PIPESIM_FB] = (time[PIPESIM_F] + time[PIPESIM_B]) *
			   g_rand_int_range(random, seed % 3 == 0 ? 4 : 13, 21) / 20;
}

/* What @seed makes of a shape: unit or odd times, messages or none, stages of all lengths, any limit,
 * halves or full backwards. @limit: activations; 0: any limit, in bytes too, or none; @pairs: with overlapped
 * pairs */
static Case make_case(PipesimPlacement placement, guint ranks, guint chunks, guint m,
	guint limit, gboolean pairs, guint seed)
{
	GRand *random = g_rand_new_with_seed(seed);
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = m};
	PipesimInstanceOf of = {0};
	Case c;
	GError *error = NULL;
	const gboolean even = seed % 3 == 0;
	const gint64 unit = 60 * chunks;

	c.costs = even ? grid_costs(unit, unit, unit, 3 * unit, seed % 2 * 30)
		       : grid_costs(g_rand_int_range(random, 1, 300),
				 g_rand_int_range(random, 1, 400),
				 g_rand_int_range(random, 1, 300), 900,
				 g_rand_int_range(random, 0, 100));
	if (!even && seed % 2 == 0) {
		c.costs->scale = g_new(PipesimFraction, ranks);
		c.costs->n_scale = ranks;
		for (guint i = 0; i < ranks; i++)
			c.costs->scale[i] =
				(PipesimFraction){g_rand_int_range(random, 1, 5), 2};
	}
	if (pairs)
		draw_pairs(c.costs, seed, random);
	c.costs->bytes_until_weight = 6 * chunks;
	c.costs->bytes_until_input = seed % 4 * 2 * chunks;
	ck_assert(pipesim_shape_init(&c.shape, &scenario, chunks, placement, NULL));
	c.times = pipesim_times_new(c.costs, &c.shape);
	of = (PipesimInstanceOf){.shape = &c.shape,
		.times = c.times,
		.costs = c.costs,
		.whole = seed % 7 == 6,
		.pairs = pairs,
		.max_activations = {g_rand_int_range(random, 4, 4 * (gint)ranks + 5), 4}};
	if (limit > 0)
		of.max_activations = (PipesimFraction){limit, 1};
	else if (seed % 5 == 4)
		of.max_activations.num = 0;
	if (limit > 0 && seed % 6 == 5) /* I frees some of them */
		of.memory_limit = limit * (6 + c.costs->bytes_until_input);
	if (of.memory_limit > 0)
		of.max_activations.num = 0;
	if (limit == 0 && seed % 5 >= 3)
		of.memory_limit = (c.costs->bytes_until_input + c.costs->bytes_until_weight) *
				  of.max_activations.den * (1 + (gint64)ranks) / 5;
	c.x = pipesim_instance_new(&of, &error);
	if (c.x == NULL)
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
	g_clear_error(&error);
	g_rand_free(random);
	return c;
}

static const struct {
	PipesimPlacement placement;
	guint ranks, chunks, m;
	guint most; /* states of the exact search */
} shapes[] = {
	{PIPESIM_LOOPED, 1, 1, 6, 100000},
	{PIPESIM_LOOPED, 2, 1, 2, 100000},
	{PIPESIM_LOOPED, 2, 1, 4, 100000},
	{PIPESIM_LOOPED, 2, 1, 6, 100000},
	{PIPESIM_LOOPED, 3, 1, 3, 100000},
	{PIPESIM_LOOPED, 3, 1, 4, 100000},
	{PIPESIM_LOOPED, 4, 1, 2, 100000},
	{PIPESIM_LOOPED, 4, 1, 3, 100000},
	{PIPESIM_V, 2, 2, 2, 100000},
	{PIPESIM_V, 2, 2, 3, 100000},
	{PIPESIM_LOOPED, 2, 2, 2, 100000},
	{PIPESIM_BIDIRECTIONAL, 2, 2, 4, 100000},
	{PIPESIM_WAVE, 2, 3, 1, 100000},
	{PIPESIM_V, 3, 2, 2, 100000},
	/* of make check-optimal */
	{PIPESIM_LOOPED, 3, 1, 6, 0},
	{PIPESIM_LOOPED, 4, 1, 4, 0},
	{PIPESIM_V, 2, 2, 4, 0},
	{PIPESIM_V, 3, 2, 3, 0},
};
#define QUICK_SHAPES 14

#define SEEDS      24
#define PAIR_SEEDS 12
#define MANY_SEEDS 60
/* With PIPESIM_OPTIMAL=full, make check-optimal: larger shapes and more of them. */
#define MOST_FULL 200000

static gboolean is_full(void)
{
	return g_strcmp0(g_getenv("PIPESIM_OPTIMAL"), "full") == 0;
}

/* Proofs ---------------------------------------------------------------------------------- */

typedef struct {
	const PipesimInstance *x;
	const PipesimBound *bound;
	ExactStates **states; /* [rank] */
} Checker;

static const PipesimBoundStep *step_at(const Checker *c, guint32 step)
{
	return &g_array_index(c->bound->steps, PipesimBoundStep, step);
}

/* Whether step @step says that much of the op, or there is nothing to say; @until: only steps before that
 * one. */
static void assert_premise(const Checker *c, guint32 step, guint32 until, gboolean back,
	guint rank, guint kind, guint chunk, guint n, gint64 time)
{
	const PipesimBoundStep *of;

	if (time <= 0)
		return;
	ck_assert_uint_lt(step, until);
	of = step_at(c, step);
	ck_assert_int_eq(of->back, back);
	ck_assert_uint_eq(of->rank, rank);
	ck_assert_uint_eq(of->kind, kind);
	ck_assert_uint_eq(of->chunk, chunk);
	ck_assert_uint_le(of->n, n);
	ck_assert_int_ge(of->time, time);
}

static guint count_of(const Checker *c, const guint *state, guint kind, guint chunk)
{
	guint sum = 0;

	if (chunk != PIPESIM_ANY_CHUNK)
		return state[chunk * c->x->kinds + kind];
	for (guint i = 0; i < c->x->chunks; i++)
		sum += state[i * c->x->kinds + kind];
	return sum;
}

static guint count_all(const Checker *c, guint chunk)
{
	return chunk == PIPESIM_ANY_CHUNK ? c->x->count * c->x->chunks : c->x->count;
}

/* The fewest of @ops' kind that ever ran before the op of @step, or backwards are left after it. */
static guint fewest(const Checker *c, const PipesimBoundStep *step, guint kind, guint chunk)
{
	const ExactStates *states = c->states[step->rank];
	const guint n_codes = states->n_codes;
	g_autofree guint *next = g_new(guint, n_codes);
	guint least = G_MAXUINT;

	for (guint i = 0; i < states->states->len; i++) {
		const guint *state = states->states->pdata[i];

		for (guint code = 0; code < n_codes; code++) {
			guint before, found;

			if (code % c->x->kinds != step->kind ||
				(step->chunk != PIPESIM_ANY_CHUNK &&
					code / c->x->kinds != step->chunk) ||
				!exact_states_allow(c->x, step->rank, state, code))
				continue;
			memcpy(next, state, n_codes * sizeof *next);
			next[code]++;
			if (!exact_states_has(states, next))
				continue;
			before =
				count_of(c, step->back ? next : state, step->kind, step->chunk);
			if (step->back)
				before = count_all(c, step->chunk) - before;
			if (before + 1 != step->n)
				continue;
			found = count_of(c, step->back ? next : state, kind, chunk);
			if (step->back)
				found = count_all(c, chunk) - found;
			least = MIN(least, found);
		}
	}
	return least;
}

/* What an op of @lane takes at least, alone or with others. */
static gint64 least_of(const PipesimInstance *x, guint kind, guint lane)
{
	const guint first = lane - lane % x->chunks;
	const gint64 input = x->time[I][lane];
	gint64 weight = x->kinds > 2 ? x->time[W][lane] : 0;
	gint64 forward = x->time[F][lane], whole = input + weight;

	if (x->whole != NULL)
		whole = MIN(whole, x->whole[lane]);
	for (guint c = 0; c < x->chunks && x->pair != NULL; c++) {
		whole = MIN(whole, x->pair[(first + c) * x->chunks + lane % x->chunks]);
		forward = MIN(forward, x->pair[lane * x->chunks + c]);
	}
	weight = MIN(weight, whole - MIN(whole, input));
	return kind == F ? forward : kind == W ? weight : MIN(whole, input);
}

/* What @n ops take at least. */
static gint64 least_work(const Checker *c, guint rank, const PipesimBoundOps *ops)
{
	const guint first = rank * c->x->chunks;
	guint n = ops->last - ops->first + 1;
	gint64 sum = 0, below = -1;

	if (ops->chunk != PIPESIM_ANY_CHUNK)
		return n * least_of(c->x, ops->kind, first + ops->chunk);
	while (n > 0) {
		gint64 next = G_MAXINT64;
		guint chunks = 0;

		for (guint i = 0; i < c->x->chunks; i++) {
			const gint64 time = least_of(c->x, ops->kind, first + i);

			if (time > below && time <= next) {
				chunks = time < next ? 1 : chunks + 1;
				next = time;
			}
		}
		sum += MIN(n, chunks * c->x->count) * next;
		n -= MIN(n, chunks * c->x->count);
		below = next;
	}
	return sum;
}

/* What a pair takes less than these of its parts, of the pairs of a rank the most. */
static gint64 most_saved(
	const PipesimInstance *x, guint rank, gboolean forward, gboolean input, gboolean weight)
{
	gint64 most = 0;

	for (guint a = 0; a < x->chunks && x->pair != NULL; a++)
		for (guint b = 0; b < x->chunks; b++) {
			const guint f = rank * x->chunks + a, lane = rank * x->chunks + b;
			const gint64 parts = forward * least_of(x, F, f) +
					     input * least_of(x, I, lane) +
					     weight * least_of(x, W, lane);

			most = MAX(most, parts - x->pair[f * x->chunks + b]);
		}
	return most;
}

/* However many of the pairs have all their parts among the ops, or F and I, or F and W: what has only I and W
 * there saves nothing. */
static gint64 saved_by_pairs(const Checker *c, const PipesimBoundStep *step)
{
	const gint64 of_all = most_saved(c->x, step->rank, TRUE, TRUE, TRUE);
	const gint64 of_inputs = most_saved(c->x, step->rank, TRUE, TRUE, FALSE);
	const gint64 of_weights = most_saved(c->x, step->rank, TRUE, FALSE, TRUE);
	guint n[PIPESIM_CODE_KINDS] = {0};
	gint64 most = 0;

	ck_assert_int_eq(most_saved(c->x, step->rank, FALSE, TRUE, TRUE), 0);
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);

		n[ops->kind] += ops->last - ops->first + 1;
	}
	for (guint all = 0; all <= MIN(n[F], MIN(n[I], n[W])); all++)
		for (guint inputs = 0; inputs <= MIN(n[F], n[I]) - all; inputs++) {
			const guint weights = MIN(n[F] - all - inputs, n[W] - all);
			const gint64 saved =
				all * of_all + inputs * of_inputs + weights * of_weights;

			most = MAX(most, saved);
		}
	return most;
}

/* Where ops are told one after the other, F, I and W of a pair are no longer than it. */
static void check_apart(const PipesimInstance *x)
{
	for (guint lane = 0; lane < x->lanes; lane++)
		for (guint kind = 0; kind < x->kinds; kind++) {
			ck_assert_int_eq(x->least[kind][lane], least_of(x, kind, lane));
			ck_assert_int_le(x->apart[kind][lane], least_of(x, kind, lane));
		}
	for (guint f = 0; f < x->lanes && x->pair != NULL; f++)
		for (guint b = 0; b < x->chunks; b++) {
			const guint lane = f - f % x->chunks + b;

			ck_assert_int_le(x->apart[F][f] + x->apart[I][lane],
				x->pair[f * x->chunks + b] - least_of(x, W, lane));
		}
}

static void check_message(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	const PipesimInstance *x = c->x;
	/* Of the first of all nothing need be said: it starts at 0. */
	const PipesimBoundStep *from =
		step->step != G_MAXUINT32 ? step_at(c, step->step) : NULL;
	const guint lane = step->rank * x->chunks + step->chunk;
	/* The message goes from @sender to @receiver. */
	guint sender, receiver, kind, sender_kind;
	gint64 added;

	ck_assert_uint_ne(step->chunk, PIPESIM_ANY_CHUNK);
	for (guint other = 0; other < x->lanes; other++)
		for (guint other_kind = 0; other_kind < x->kinds; other_kind++) {
			if (from != NULL && (other != from->rank * x->chunks + from->chunk ||
						    other_kind != from->kind))
				continue;
			sender = step->back ? lane : other;
			sender_kind = step->back ? step->kind : other_kind;
			receiver = step->back ? other : lane;
			kind = step->back ? other_kind : step->kind;
			if (kind == F && sender_kind == F && x->before[receiver] == sender)
				added = x->hop[receiver];
			else if (kind == I && sender_kind == I && x->after[receiver] == sender)
				added = x->hop_back[receiver];
			else if (kind == I && sender_kind == F && receiver == sender)
				added = 0;
			else if (kind == W && sender_kind == I && receiver == sender)
				added = 0;
			else
				continue;
			/* What runs longer is the op that comes first in the direction of the step. */
			added += least_of(x, other_kind, other);
			if (from != NULL) {
				assert_premise(c, step->step, at, step->back, from->rank,
					other_kind, from->chunk, step->n, step->time - added);
				return;
			}
			if (step->time <= added)
				return;
		}
	ck_abort_msg("no such message");
}

static void check_rank(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	gint64 work = 0;

	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);

		ck_assert_uint_le(ops->first, ops->last);
		ck_assert_uint_ge(fewest(c, step, ops->kind, ops->chunk), ops->last);
		ck_assert_int_le(ops->time, least_work(c, step->rank, ops));
		assert_premise(c, ops->step, at, step->back, step->rank, ops->kind, ops->chunk,
			ops->first, step->from);
		work += ops->time;
		for (guint k = 0; k < i; k++) {
			const PipesimBoundOps *other = &g_array_index(
				c->bound->ops, PipesimBoundOps, step->first_ops + k);

			ck_assert(other->kind != ops->kind || other->chunk != ops->chunk);
			ck_assert((other->chunk == PIPESIM_ANY_CHUNK) ==
				  (ops->chunk == PIPESIM_ANY_CHUNK));
		}
	}
	ck_assert_int_ge(step->saved, saved_by_pairs(c, step));
	ck_assert_int_le(step->time, step->from + work - step->saved);
}

static void check_any(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	g_autofree guint *before = g_new(guint, c->x->chunks);
	guint sum = 0;

	ck_assert_uint_eq(step->chunk, PIPESIM_ANY_CHUNK);
	for (guint chunk = 0; chunk < c->x->chunks; chunk++)
		before[chunk] = c->x->count;
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);

		ck_assert_uint_eq(ops->kind, step->kind);
		before[ops->chunk] = ops->first - 1;
		assert_premise(c, ops->step, at, step->back, step->rank, ops->kind, ops->chunk,
			ops->first, step->time);
	}
	for (guint chunk = 0; chunk < c->x->chunks; chunk++)
		sum += before[chunk];
	ck_assert_uint_lt(sum, step->n);
}

/* Of its ops one is the forward before, and the others are the first of all that could come between; or forwards
 * change places, of which none may take longer than where they come from. */
static void check_turn(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	const PipesimInstance *x = c->x;
	const guint lane = step->rank * x->chunks + step->chunk, after = x->after[lane];
	const guint before = x->before[lane];
	guint seen = 0;

	ck_assert(x->in_rounds && !step->back);
	ck_assert_uint_eq(step->kind, F);
	ck_assert_uint_lt(before / x->chunks, step->rank);
	ck_assert_int_ge(least_of(x, F, before), least_of(x, F, lane));
	assert_premise(c, step->step, at, FALSE, before / x->chunks, F, before % x->chunks, 2,
		step->time - least_of(x, F, before) - x->hop[lane] -
			(step->n - 1) * least_of(x, F, lane));
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);
		const guint other = step->rank * x->chunks + ops->chunk;
		const gboolean own = other == lane && ops->kind == F;
		gint64 added = least_of(x, ops->kind, other);

		if (own)
			added += x->hop[lane];
		if (own && after != PIPESIM_NO_LANE && after / x->chunks != step->rank)
			added += x->hop[after];
		seen |= 1u << (ops->chunk * x->kinds + ops->kind);
		assert_premise(c, ops->step, at, FALSE, step->rank, ops->kind, ops->chunk,
			own ? step->n - 1 : 1, step->time - added);
	}
	ck_assert_uint_eq(seen, (1u << x->chunks * x->kinds) - 1);
}

static void check_work(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	gint64 work = 0;

	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);
		const guint all = count_all(c, ops->chunk);

		ck_assert_uint_le(ops->first, ops->last);
		ck_assert_uint_le(ops->last, all);
		ck_assert_int_le(ops->time, least_work(c, step->rank, ops));
		assert_premise(c, ops->step, at, FALSE, step->rank, ops->kind, ops->chunk,
			ops->first, step->from);
		assert_premise(c, ops->after, at, TRUE, step->rank, ops->kind, ops->chunk,
			all + 1 - ops->last, step->until);
		work += ops->time;
	}
	ck_assert_int_ge(step->saved, saved_by_pairs(c, step));
	ck_assert_int_le(step->time, step->from + work - step->saved + step->until);
	ck_assert_int_eq(step->time, c->bound->time);
	ck_assert_uint_eq(at + 1, c->bound->steps->len);
}

/* Whether F of rank 0 that @n are on their way before always waits for so many of @kind, and for so much of I and W. */
static void assert_flight(const Checker *c, const PipesimBoundStep *step)
{
	const PipesimInstance *x = c->x;

	for (guint n = step->n + 1; n <= x->count && step->from > 0; n++)
		for (guint i = 0; i < n; i++)
			for (guint w = 0; w <= i; w++) {
				const guint state[] = {n - 1, i, w};
				const gint64 k = n - 1 - step->n;
				const gint64 more =
					(i - 1 - k) * x->least[I][0] + (w - k) * x->least[W][0];

				if (exact_states_has(c->states[0], state) &&
					exact_states_allow(x, 0, state, F))
					ck_assert_int_ge(more, step->from);
			}
	for (guint n = step->n + 1; n <= c->x->count; n++) {
		const PipesimBoundStep forward = {.rank = 0, .kind = F, .chunk = 0, .n = n};

		ck_assert_uint_ge(fewest(c, &forward, step->kind, 0), n - step->n);
		ck_assert_uint_ge(fewest(c, &forward, I, 0), n - step->n);
	}
}

/* The claim holds as far as is known: there may be too many orders. */
static void check_passing(const Checker *c, guint32 at, const PipesimBoundStep *step)
{
	g_autofree gint64 *starts = g_new0(gint64, c->x->count);
	g_autofree gint64 *after = g_new0(gint64, c->x->count);
	const PassingClaim claim = {.x = c->x,
		.flight = step->n,
		.wait = step->from,
		.starts = starts,
		.after = after,
		.time = step->time};

	ck_assert_uint_eq(c->x->chunks, 1);
	ck_assert_uint_eq(step->rank, 0);
	ck_assert_int_eq(step->time, c->bound->time);
	ck_assert_uint_eq(at + 1, c->bound->steps->len);
	assert_flight(c, step);
	for (guint i = 0; i < step->n_ops; i++) {
		const PipesimBoundOps *ops =
			&g_array_index(c->bound->ops, PipesimBoundOps, step->first_ops + i);

		ck_assert_uint_eq(ops->first, ops->last);
		if (ops->kind == F) {
			assert_premise(c, ops->step, at, FALSE, 0, F, 0, ops->first, ops->time);
			starts[ops->first - 1] = ops->time;
		} else {
			ck_assert_uint_eq(ops->kind, I);
			assert_premise(c, ops->after, at, TRUE, 0, I, 0,
				c->x->count + 1 - ops->last, ops->time);
			after[ops->first - 1] = ops->time;
		}
	}
	ck_assert_uint_ne(passing_check(&claim), PASSING_FAILS);
}

static void check_proof(const PipesimInstance *x, const PipesimBound *bound)
{
	Checker c = {.x = x, .bound = bound, .states = g_new(ExactStates *, x->ranks)};

	for (guint rank = 0; rank < x->ranks; rank++)
		c.states[rank] = exact_states_new(x, rank);

	check_apart(x);
	ck_assert_uint_gt(bound->steps->len, 0);
	for (guint32 i = 0; i < bound->steps->len; i++) {
		const PipesimBoundStep *step = step_at(&c, i);

		if (step->rule == PIPESIM_BY_MESSAGE) {
			check_message(&c, i, step);
		} else if (step->rule == PIPESIM_BY_RANK) {
			check_rank(&c, i, step);
		} else if (step->rule == PIPESIM_BY_ANY) {
			check_any(&c, i, step);
		} else if (step->rule == PIPESIM_BY_MEMBER) {
			const PipesimBoundStep *of = step_at(&c, step->step);

			ck_assert_uint_le(
				of->n, fewest(&c, step, step->kind, PIPESIM_ANY_CHUNK) + 1);
			assert_premise(&c, step->step, i, step->back, step->rank, step->kind,
				PIPESIM_ANY_CHUNK, of->n, step->time);
		} else if (step->rule == PIPESIM_BY_TURN) {
			check_turn(&c, i, step);
		} else if (step->rule == PIPESIM_BY_PASSING) {
			check_passing(&c, i, step);
		} else if (step->rule == PIPESIM_BY_ROOM) {
			ck_assert_int_eq(step->time, bound->time);
			ck_assert_uint_eq(i + 1, bound->steps->len);
			ck_assert(room_check(x, step));
		} else {
			check_work(&c, i, step);
		}
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		exact_states_free(c.states[rank]);
	g_free(c.states);
}

/* No bound is above the best of all orders; its proof holds; and explaining changes nothing. */
static void check_shape(
	int shape, gboolean pairs, guint seeds, guint most, guint *solved, guint *met)
{
	for (guint seed = 0; seed < seeds; seed++) {
		Case c = make_case(shapes[shape].placement, shapes[shape].ranks,
			shapes[shape].chunks, shapes[shape].m, 0, pairs, seed);
		g_autoptr(PipesimBound) bound = NULL, plain = NULL;
		gint64 least;

		if (c.x == NULL) {
			clear_case(&c);
			continue;
		}
		bound = pipesim_bound_new(c.x, TRUE, NULL, NULL);
		plain = pipesim_bound_new(c.x, FALSE, NULL, NULL);
		ck_assert_int_eq(bound->time, plain->time);
		check_proof(c.x, bound);
		least = exact_makespan(c.x, G_MAXINT64, is_full() ? MOST_FULL : most);
		if (least >= 0) {
			ck_assert_msg(bound->time <= least,
				"shape %d seed %u: bound %d above %d", shape, seed,
				(int)bound->time, (int)least);
			*solved += 1;
			*met += bound->time == least;
		}
		clear_case(&c);
	}
}

START_TEST(bounds_are_below_all_orders)
{
	guint solved = 0, met = 0;

	check_shape(_i, FALSE, is_full() ? MANY_SEEDS : SEEDS / grid_every(2), shapes[_i].most,
		&solved, &met);
	/* The largest ones are solved where the limit leaves few orders. */
	ck_assert_uint_ge(solved, _i < QUICK_SHAPES ? 10 / grid_every(2) : 1);
	ck_assert_uint_ge((_i < QUICK_SHAPES ? 2 : 3) * met, solved);
}
END_TEST

/* The same where full backwards and pairs take less than what they are made of. */
START_TEST(bounds_know_pairs)
{
	guint solved = 0, met = 0;

	check_shape(_i, TRUE, is_full() ? MANY_SEEDS : PAIR_SEEDS / grid_every(2), 10000,
		&solved, &met);
	ck_assert_uint_ge(solved, 3 / grid_every(2));
}
END_TEST

/* What ranks that take ops in rounds wait for more is proven too; test-optimize-queues.c goes through their orders. */
START_TEST(turns_are_proven)
{
	guint turns = 0;

	for (guint i = 0; i < QUICK_SHAPES * SEEDS; i++) {
		const guint shape = i / SEEDS;
		Case c = make_case(shapes[shape].placement, shapes[shape].ranks,
			shapes[shape].chunks, shapes[shape].m, 0, FALSE, i % SEEDS);
		g_autoptr(PipesimBound) bound = NULL, plain = NULL, without = NULL;

		if (c.x != NULL) {
			without = pipesim_bound_new(c.x, FALSE, NULL, NULL);
			c.x->in_rounds = TRUE;
			bound = pipesim_bound_new(c.x, TRUE, NULL, NULL);
			plain = pipesim_bound_new(c.x, FALSE, NULL, NULL);
			ck_assert_int_eq(bound->time, plain->time);
			ck_assert_int_ge(bound->time, without->time);
			check_proof(c.x, bound);
			turns += bound->time > without->time;
		}
		clear_case(&c);
	}
	ck_assert_uint_ge(turns, 5);
}
END_TEST

/* With one stage a rank: of micro-batches that pass each other and nothing else. */
static gint64 time_passing(const PipesimInstance *x, PassingClaim *claim)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	PipesimNeeds needs = {0};
	PipesimPassing passing = {.starts = claim->starts, .after = claim->after};

	ck_assert(pipesim_needs_init(&needs, x, FALSE, NULL, arena, NULL));
	if (!pipesim_passing_find(&passing, &needs))
		return -1;
	claim->x = x;
	claim->flight = passing.flight;
	claim->wait = passing.wait;
	return claim->time = pipesim_passing_time(&passing);
}

static const struct {
	guint ranks, m, limit;
	guint most,
		least_best; /* states of the exact search; cases in which this is the bound */
} passing_shapes[] = {
	{2, 6, 1, 20000, 0},
	{3, 6, 2, 20000, 1},
	{3, 8, 2, 20000, 3},
	{4, 8, 2, 20000, 4},
	{4, 6, 3, 10000, 0},
	{5, 8, 3, 20000, 2},
};

/* Neither is that above the best of all orders, alone or with what else is known; all orders of forwards and
 * backwards say the same. */
START_TEST(passing_is_below_all_orders)
{
	const guint m = passing_shapes[_i].m;
	const guint seeds = is_full() ? 48 : 12 / grid_every(2);
	g_autofree gint64 *none = g_new0(gint64, m);
	guint best = 0, held = 0, solved = 0;

	/* The last ones with pairs. */
	for (guint seed = 0; seed < seeds + seeds / 3; seed++) {
		Case c = make_case(PIPESIM_LOOPED, passing_shapes[_i].ranks, 1, m,
			passing_shapes[_i].limit, seed >= seeds, seed);
		g_autoptr(PipesimBound) bound = pipesim_bound_new(c.x, TRUE, NULL, NULL);
		PassingClaim claim = {.starts = none, .after = none};
		const gint64 least = exact_makespan(
			c.x, G_MAXINT64, is_full() ? MOST_FULL : passing_shapes[_i].most);

		if (least >= 0) {
			ck_assert_int_le(bound->time, least);
			solved++;
		}
		best += g_array_index(bound->steps, PipesimBoundStep, bound->steps->len - 1)
				.rule == PIPESIM_BY_PASSING;
		check_proof(c.x, bound);
		if (time_passing(c.x, &claim) >= 0) {
			const PassingAnswer answer = passing_check(&claim);

			ck_assert_int_le(claim.time, bound->time);
			ck_assert_uint_ne(answer, PASSING_FAILS);
			held += answer == PASSING_HOLDS;
		}
		clear_case(&c);
	}
	ck_assert_uint_ge(best, passing_shapes[_i].least_best / grid_every(2));
	ck_assert_uint_ge(held, seeds / 2);
	ck_assert_uint_ge(solved, seeds / 12);
}
END_TEST

static gboolean count_down(gpointer data)
{
	guint *left = data;

	return *left > 0 && --*left > 0;
}

/* What is known when the time is over is proven too, and no more than what all of the time gives. */
START_TEST(bounds_may_be_cut_short)
{
	gint64 last = 0;

	for (guint asked = 0; asked < 24; asked++) {
		guint left = asked;
		const PipesimBoundUntil until = {.go_on = count_down, .data = &left};
		const PipesimBoundUntil rough = {.rough = TRUE};
		Case c = make_case(
			_i > 0 ? PIPESIM_V : PIPESIM_LOOPED, 3, 1 + _i, 4, 2, FALSE, 7);
		g_autoptr(PipesimBound) bound = pipesim_bound_new(c.x, TRUE, &until, NULL);
		g_autoptr(PipesimBound) once = pipesim_bound_new(c.x, TRUE, &rough, NULL);
		g_autoptr(PipesimBound) all = pipesim_bound_new(c.x, FALSE, NULL, NULL);

		ck_assert_int_gt(bound->time, 0);
		ck_assert_int_le(bound->time, all->time);
		ck_assert_int_le(once->time, all->time);
		check_proof(c.x, bound);
		check_proof(c.x, once);
		ck_assert(asked > 0 || bound->time < all->time);
		last = all->time - bound->time;
		clear_case(&c);
	}
	ck_assert_int_eq(last, 0);
}
END_TEST
Suite *optimize_bound_suite(void)
{
	Suite *suite = suite_create("optimize-bound");
	TCase *exact = tcase_create("exact");

	tcase_add_loop_test(exact, bounds_are_below_all_orders, 0,
		is_full() ? (int)G_N_ELEMENTS(shapes) : QUICK_SHAPES);
	tcase_add_loop_test(exact, bounds_know_pairs, 0,
		is_full() ? (int)G_N_ELEMENTS(shapes) : QUICK_SHAPES);
	tcase_add_test(exact, turns_are_proven);
	tcase_add_loop_test(
		exact, passing_is_below_all_orders, 0, (int)G_N_ELEMENTS(passing_shapes));
	tcase_add_loop_test(exact, bounds_may_be_cut_short, 0, 2);
	tcase_set_timeout(exact, is_full() ? 3600 : 60);
	suite_add_tcase(suite, exact);
	return suite;
}
