/* A unit is told by what each rank runs in one period and by how many of each code it has run before it.
 * Starts of ops then satisfy t(v) >= t(u) + took(u) + lag - height * period for each two of which v waits
 * for u of @height periods before, and the shortest period is the largest ratio of time to height over
 * all cycles of such waits: found by policy iteration (Howard's, as in Dasdan, Irani and Gupta, DAC 1999). */
#include "config.h"

#include "base/phases.h"
#include "optimize/cycle.h"
#include "order/build.h"
#include <math.h>
#include <string.h>

#define NONE G_MAXUINT32
/* Rounds of policy iteration, at most. */
#define MOST_ROUNDS 60
#define SMALL       PIPESIM_CYCLE_SMALL

void pipesim_cycle_init(PipesimCycle *c, const PipesimInstance *x, guint unit, guint64 seed,
	guint64 number, PipesimArena *arena)
{
	const guint n_codes = x->chunks * x->kinds;
	const guint n = n_codes * unit, all = n * x->ranks;

	*c = (PipesimCycle){.x = x,
		.unit = unit,
		.n_codes = n_codes,
		.n = n,
		.all = all,
		.seq = pipesim_arena_array(arena, guint8, all),
		.best_seq = pipesim_arena_array(arena, guint8, all),
		.offset = pipesim_arena_array(arena, gint32, x->ranks * n_codes),
		.best_offset = pipesim_arena_array(arena, gint32, x->ranks * n_codes),
		.at = pipesim_arena_array(arena, guint32, all),
		.from = pipesim_arena_array(arena, guint32, all),
		.to = pipesim_arena_array(arena, guint32, all),
		.lag = pipesim_arena_array(arena, double, all),
		.ahead = pipesim_arena_array(arena, gint32, all),
		.took = pipesim_arena_array(arena, double, all),
		.by_message = pipesim_arena_array(arena, guint8, all),
		.value = pipesim_arena_array(arena, double, all),
		.mark = pipesim_arena_array(arena, guint32, all),
		.queue = pipesim_arena_array(arena, guint32, all),
		.critical = pipesim_arena_array(arena, guint32, all),
		.own_seq = pipesim_arena_array(arena, guint8, n),
		.own_offset = pipesim_arena_array(arena, gint32, n_codes),
		.key = pipesim_sample_key(seed, number)};
}

/* The graph ------------------------------------------------------------------------------- */

/* What an op waits for on another rank, or NONE. */
static guint32 input_of(
	const PipesimInstance *x, guint lane, guint kind, guint *from_kind, gint64 *hop)
{
	*hop = 0;
	*from_kind = kind;
	if (kind == F) {
		*hop = x->hop[lane];
		return x->before[lane];
	}
	if (kind == I && x->after[lane] != PIPESIM_NO_LANE) {
		*hop = x->hop_back[lane];
		return x->after[lane];
	}
	*from_kind = kind - 1;
	return kind == I ? lane : NONE;
}

static void connect(PipesimCycle *c, guint rank)
{
	const PipesimInstance *x = c->x;
	const gint32 unit = (gint32)c->unit;

	for (guint code = 0; code < c->n_codes; code++) {
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		guint kind;
		gint64 hop;
		const guint32 from = input_of(x, lane, code % x->kinds, &kind, &hop);
		const guint32 *at = &c->at[(rank * c->n_codes + code) * c->unit];
		guint32 of;

		if (from == NONE) {
			for (guint j = 0; j < c->unit; j++)
				c->from[at[j]] = NONE;
			continue;
		}
		of = from * x->kinds + kind;
		for (gint32 j = 0; j < unit; j++) {
			const gint32 m =
				c->offset[rank * c->n_codes + code] + j - c->offset[of];
			const gint32 rest = (m % unit + unit) % unit;
			const guint32 place = c->at[of * c->unit + (guint)rest];

			c->from[at[j]] = place;
			c->to[place] = at[j];
			c->ahead[at[j]] = (m - rest) / unit;
			c->lag[at[j]] = (double)(x->time[kind][from] + hop);
		}
	}
}

static void place_ops(PipesimCycle *c, guint rank)
{
	const PipesimInstance *x = c->x;
	guint next[256] = {0};

	for (guint i = 0; i < c->n; i++) {
		const guint32 place = rank * c->n + i;
		const guint code = c->seq[place];

		c->at[(rank * c->n_codes + code) * c->unit + next[code]++] = place;
		c->took[place] = (double)x->time[code % x->kinds][pipesim_instance_lane(
			x, rank, code / x->kinds)];
	}
}

/* Whether what @rank holds stays within the limit, and no op of a micro-batch comes before the one that its
 * lane must have run. */
static gboolean fits(const PipesimCycle *c, guint rank)
{
	const PipesimInstance *x = c->x;
	const gint32 *offset = &c->offset[rank * c->n_codes];
	gint64 level[PIPESIM_MAX_ROOMS] = {0};
	gint32 done[256];

	for (guint code = 0; code < c->n_codes; code++) {
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;

		done[code] = offset[code];
		for (guint i = 0; i < x->n_rooms; i++) {
			const PipesimRoom *room = &x->room[i];

			level[i] += offset[code] *
				    (kind == F          ? room->held[lane]
					    : kind == I ? -room->freed[lane]
							: room->freed[lane] - room->held[lane]);
		}
	}
	for (guint k = 0; k < c->n; k++) {
		const guint code = c->seq[rank * c->n + k];
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const guint kind = code % x->kinds;

		done[code]++;
		if (kind != F && done[code] > done[code - 1])
			return FALSE;
		for (guint i = 0; i < x->n_rooms; i++) {
			const PipesimRoom *room = &x->room[i];

			level[i] += kind == F   ? room->held[lane]
				    : kind == I ? -room->freed[lane]
						: room->freed[lane] - room->held[lane];
			if (kind == F && level[i] > room->limit[rank])
				return FALSE;
		}
	}
	return TRUE;
}

/* The period ------------------------------------------------------------------------------ */

static guint32 before(const PipesimCycle *c, guint32 place, gint32 *ahead, double *lag)
{
	guint32 from;

	if (c->by_message[place]) {
		*ahead = c->ahead[place];
		*lag = c->lag[place];
		return c->from[place];
	}
	*ahead = 0;
	from = place - 1;
	if (place % c->n == 0) {
		*ahead = -1;
		from = place + c->n - 1;
	}
	*lag = c->took[from];
	return from;
}

/* The longest of the cycles that the policy makes; FALSE where one has no height. */
static gboolean find_cycle(PipesimCycle *c, double *period, guint32 *root)
{
	*period = -1;
	memset(c->mark, 0, sizeof *c->mark * c->all);
	for (guint32 first = 0; first < c->all; first++) {
		guint32 at = first;
		gint32 ahead;
		double lag;

		while (c->mark[at] == 0) {
			c->mark[at] = first + 1;
			at = before(c, at, &ahead, &lag);
		}
		if (c->mark[at] == first + 1) {
			const guint32 begin = at;
			gint32 height = 0;
			double time = 0;

			do {
				at = before(c, at, &ahead, &lag);
				height -= ahead;
				time += lag;
			} while (at != begin);
			if (height <= 0)
				return FALSE;
			if (time / height > *period) {
				*period = time / height;
				*root = begin;
			}
		}
	}
	return TRUE;
}

/* Gives @place its value and policy, unless it has one of this root. */
static void set_value(
	PipesimCycle *c, guint32 place, gboolean by_message, double value, guint32 *end)
{
	if (c->mark[place])
		return;
	c->mark[place] = 1;
	c->by_message[place] = by_message;
	c->value[place] = value;
	c->queue[(*end)++] = place;
}

/* Values of all places: those whose policy leads to @root first. All others lead to shorter cycles; they take the
 * policy of what leads to it, or their values would have no common origin. */
static void set_values(PipesimCycle *c, guint32 root, double period)
{
	guint32 end = 0;

	memset(c->mark, 0, sizeof *c->mark * c->all);
	c->queue[end++] = root;
	c->mark[root] = 1;
	for (guint turn = 0; turn < 2 && end < c->all; turn++)
		for (guint32 i = 0; i < end; i++) {
			const guint32 place = c->queue[i], to = c->to[place];
			const guint32 next =
				place % c->n + 1 < c->n ? place + 1 : place + 1 - c->n;

			if (turn == 1 || !c->by_message[next])
				set_value(c, next, FALSE,
					c->value[place] + c->took[place] -
						(next < place || c->n == 1 ? period : 0),
					&end);
			if (to != NONE && (turn == 1 || c->by_message[to]))
				set_value(c, to, TRUE,
					c->value[place] + c->lag[to] + c->ahead[to] * period,
					&end);
		}
}

static gboolean improve(PipesimCycle *c, double period)
{
	const double small = c->op * SMALL;
	gboolean improved = FALSE;

	for (guint32 place = 0; place < c->all; place++) {
		const gboolean first = place % c->n == 0;
		const guint32 from = first ? place + c->n - 1 : place - 1;
		const double own = c->value[from] + c->took[from] - (first ? period : 0);

		if (own > c->value[place] + small) {
			c->value[place] = own;
			c->by_message[place] = 0;
			improved = TRUE;
		}
		if (c->from[place] != NONE) {
			const double other = c->value[c->from[place]] + c->lag[place] +
					     c->ahead[place] * period;

			if (other > c->value[place] + small) {
				c->value[place] = other;
				c->by_message[place] = 1;
				improved = TRUE;
			}
		}
	}
	return improved;
}

/* The shortest period, and which places decide it; negative where the order has a cycle within a period. */
static double find_period(PipesimCycle *c)
{
	guint32 root = 0, at;
	double period = -1, lag;
	gint32 ahead;

	for (guint32 place = 0; place < c->all; place++)
		if (c->from[place] == NONE)
			c->by_message[place] = 0;
	for (guint round = 0;; round++) {
		if (round == MOST_ROUNDS || !find_cycle(c, &period, &root))
			return -1;
		set_values(c, root, period);
		if (!improve(c, period))
			break;
	}
	c->n_critical = 0;
	at = root;
	do {
		c->critical[c->n_critical++] = at;
		at = before(c, at, &ahead, &lag);
	} while (at != root);
	return period;
}

static void keep_best(PipesimCycle *c)
{
	c->best_period = c->period;
	memcpy(c->best_seq, c->seq, c->all);
	memcpy(c->best_offset, c->offset, sizeof *c->offset * c->x->ranks * c->n_codes);
}

/* All of the graph anew. */
static gboolean begin(PipesimCycle *c)
{
	const PipesimInstance *x = c->x;

	memset(c->by_message, 0, c->all);
	for (guint32 place = 0; place < c->all; place++) {
		c->to[place] = NONE;
		c->value[place] = 0;
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		place_ops(c, rank);
	for (guint rank = 0; rank < x->ranks; rank++)
		connect(c, rank);
	c->op = 0;
	for (guint32 place = 0; place < c->all; place++)
		c->op += c->took[place] / c->all;
	c->period = find_period(c);
	return c->period >= 0;
}

gboolean pipesim_cycle_begin(PipesimCycle *c, guint way)
{
	const PipesimInstance x = pipesim_instance_with_count(c->x, c->unit);

	if (!pipesim_build(&x, way, c->seq))
		return FALSE;
	for (guint32 place = 0; place < c->all; place++)
		c->seq[place] &= (guint8)pipesim_instance_code_mask(&x);
	memset(c->offset, 0, sizeof *c->offset * x.ranks * c->n_codes);
	if (!begin(c))
		return FALSE;
	keep_best(c);
	return TRUE;
}

void pipesim_cycle_restart(PipesimCycle *c)
{
	memcpy(c->seq, c->best_seq, c->all);
	memcpy(c->offset, c->best_offset, sizeof *c->offset * c->x->ranks * c->n_codes);
	begin(c);
}

gboolean pipesim_cycle_take(PipesimCycle *c)
{
	for (guint rank = 0; rank < c->x->ranks; rank++)
		if (!fits(c, rank))
			return FALSE;
	if (!begin(c))
		return FALSE;
	if (c->period < c->best_period - c->op * SMALL)
		keep_best(c);
	return TRUE;
}

void pipesim_cycle_repeat(PipesimCycle *c, const PipesimCycle *from)
{
	for (guint place = 0; place < c->all; place++)
		c->seq[place] = from->best_seq[place / c->n * from->n + place % c->n % from->n];
	memcpy(c->offset, from->best_offset, sizeof *c->offset * c->x->ranks * c->n_codes);
	pipesim_cycle_take(c);
}

/* Moves ----------------------------------------------------------------------------------- */

/* Exchanges the op at @i of @rank with the one after it; FALSE where both are of a code. */
static gboolean swap(PipesimCycle *c, guint rank, guint i)
{
	guint8 *seq = &c->seq[rank * c->n];
	gint32 *offset = &c->offset[rank * c->n_codes];
	const guint next = i + 1 < c->n ? i + 1 : 0;
	const guint8 a = seq[i], b = seq[next];

	if (a == b)
		return FALSE;
	seq[i] = b;
	seq[next] = a;
	if (next == 0) {
		offset[a]--;
		offset[b]++;
	}
	return TRUE;
}

/* Graph of @rank and of those that it sends to. */
static void connect_again(PipesimCycle *c, guint rank)
{
	const PipesimInstance *x = c->x;

	place_ops(c, rank);
	for (guint32 i = 0; i < c->n; i++)
		c->to[rank * c->n + i] = NONE;
	connect(c, rank);
	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		if (x->before[lane] != PIPESIM_NO_LANE)
			connect(c, x->before[lane] / x->chunks);
		if (x->after[lane] != PIPESIM_NO_LANE)
			connect(c, x->after[lane] / x->chunks);
	}
}

static void shift(PipesimCycle *c, guint rank, guint i, guint by, gboolean later)
{
	for (guint k = 0; k < by; k++) {
		const guint at = later ? i : (i + c->n - 1) % c->n;

		if (!swap(c, rank, at))
			return;
		i = later ? (i + 1) % c->n : at;
	}
}

static void try_move(PipesimCycle *c, double most)
{
	const guint32 bits = pipesim_cycle_random(c, G_MAXUINT32);
	const guint32 place = (bits & 6) != 0
				      ? c->critical[pipesim_cycle_random(c, c->n_critical)]
				      : pipesim_cycle_random(c, c->all);
	const guint rank = place / c->n;
	const guint by =
		1 + (guint)((guint64)pipesim_cycle_random(c, c->n) * (bits >> 8) >> 24);
	double period;

	memcpy(c->own_seq, &c->seq[rank * c->n], c->n);
	memcpy(c->own_offset, &c->offset[rank * c->n_codes], sizeof *c->offset * c->n_codes);
	if ((bits & 0xf8) == 0) {
		/* All ops of a code do the next micro-batch, or that before. */
		c->offset[rank * c->n_codes + c->seq[place]] += (bits & 1) != 0 ? 1 : -1;
	} else {
		shift(c, rank, place % c->n, by, (bits & 1) != 0);
	}
	if (fits(c, rank)) {
		connect_again(c, rank);
		period = find_period(c);
		if (period >= 0 && period <= most) {
			c->period = period;
			if (period < c->best_period - c->op * SMALL)
				keep_best(c);
			return;
		}
		memcpy(&c->seq[rank * c->n], c->own_seq, c->n);
		memcpy(&c->offset[rank * c->n_codes], c->own_offset,
			sizeof *c->offset * c->n_codes);
		connect_again(c, rank);
		/* The policy is one of before again, the critical cycle too. */
		find_period(c);
		return;
	}
	memcpy(&c->seq[rank * c->n], c->own_seq, c->n);
	memcpy(&c->offset[rank * c->n_codes], c->own_offset, sizeof *c->offset * c->n_codes);
}

void pipesim_cycle_run(PipesimCycle *c, guint n, double heat, double bound)
{
	for (guint i = 0; i < n && c->best_period > bound * c->unit * (1 + 1e-9); i++) {
		const double luck = (pipesim_cycle_random(c, G_MAXUINT32) + 1.0) / 4294967296.0;

		try_move(c, c->period - log(luck) * heat * c->op);
	}
}

void pipesim_cycle_unroll(
	const PipesimCycle *c, const PipesimInstance *x, guint first, guint8 *codes)
{
	const gint32 unit = (gint32)c->unit, count = (gint32)x->count;
	gint32 least = G_MAXINT32, most = G_MININT32;

	for (guint i = 0; i < x->ranks * c->n_codes; i++) {
		least = MIN(least, c->offset[i]);
		most = MAX(most, c->offset[i]);
	}
	for (guint rank = 0; rank < x->ranks; rank++)
		for (gint32 q = -most / unit - 2; q <= (count - least) / unit + 2; q++) {
			gint32 done[256] = {0};

			for (guint i = 0; i < c->n; i++) {
				const guint code = c->seq[rank * c->n + i];
				const gint32 m = c->offset[rank * c->n_codes + code] +
						 done[code]++ + q * unit - (gint32)first;

				if (m >= 0 && m < count)
					*codes++ = (guint8)code;
			}
		}
}
