/* The search tries many orders, quickly, and keeps the best. An attempt is list scheduling: ops
 * are placed one after the other, each on its rank's lane, at the earliest time that the lane and
 * the op's input allow; what differs from attempt to attempt is which op is placed next.
 *
 *	lane 0  FFFF...IWFIWFIWIWIWIW    PP 4, 6 micro-batches, all ops 1 long: a W runs in what
 *	lane 1   FFF..IFIWFIWFIWIWIWW    would be a gap before an arrival; lanes idle (.) for the
 *	lane 2    FF.IFIFIWFIWFIWIWWW    trip of the first micro-batch to the last rank and back,
 *	lane 3     FIFIFIFIWFIWFIWWWW    during which memory lets them run no more F
 *
 * Rounds place one F and one I a lane in turn, as the zero-bubble authors do; runs of whatever
 * can start first place ops in the order of time. Bounds below which no order can be say when to
 * stop, and the best so far what lanes may still idle. */
#include "schedule/search/zb-search.h"
#include "base/phases.h"
#include "base/tournament.h"
#include "order/justify.h"
#include "schedule/search/span.h"

/* What is tried beyond the authors' own attempts: so many ops, or so many per op. */
#define LEAST_EFFORT  200000
#define EFFORT_PER_OP 2
/* What an op costs that is placed in the order of time, against one of a round. */
#define EFFORT_IN_TIME 4
/* Where an order is put together anew: ops put, none of so many more, and most times. */
#define PUTS  (1u << 17)
#define TIMES 30
/* Parts of an F that lanes idle before their first I. */
#define IDLE_PARTS 32
/* What tighter limits may cost: so many ops, or so many times what the first one cost. */
#define RUNGS_EFFORT 6000000
#define RUNGS_RATIO  2

#define KINDS PIPESIM_CODE_KINDS

/* A rank. */
typedef struct {
	gint64 time[KINDS];
	gint64 busy;    /* all its ops, one after the other */
	gint64 start;   /* of its first F: after one F and one message of each lane before */
	gint64 allowed; /* idle time after which an attempt is given up */
	/* Of the attempt under way: */
	gint64 clock, idle, held;
	guint done[KINDS];
	guint wanted;          /* of rounds: forwards to run in this phase */
	guint next;            /* in the order of time: the kind that could run first, */
	gint64 next_start;     /* and when */
	gint64 *forward_there; /* ring: when the results of F are with the next lane */
	gint64 *input_there;   /* ring: when the results of I are with the lane before */
	guint8 *out;           /* kinds so far */
} Lane;

typedef struct {
	PipesimInstance *x; /* its limits are those of the rung that is searched */
	guint p, m;
	gint64 p2p;
	guint mask; /* slots of a ring - 1 */
	/* Of memory, as in PipesimRoom, in the largest units of which all three are whole numbers; what W frees. */
	gint64 held, freed, limit, weight_held;
	gint64 unit;
	gboolean
		by_span; /* steps follow each other without a barrier: the span is to be short, not the makespan */
	Lane *lanes;
	guint8 *attempt;         /* order of the attempt under way, as of PipesimZbResult */
	gint64 most_idle;        /* of rounds: of the lanes so far */
	PipesimZbResult *best;   /* at this rung */
	guint64 placed;          /* ops of all attempts, by what they cost: the effort so far */
	guint64 effort;          /* placed ops after which no attempt begins */
	gint64 *bounds;          /* [rank]: of spans, within the limit */
	PipesimTournament queue; /* in the order of time: when a lane can start its next op */
} Search;

/* Ops -----------------------------------------------------------------------------------------
 */

static void reset(Search *s)
{
	for (guint j = 0; j < s->p; j++) {
		Lane *lane = &s->lanes[j];

		lane->clock = lane->idle = lane->held = 0;
		for (guint kind = 0; kind < KINDS; kind++)
			lane->done[kind] = 0;
		lane->out = s->attempt + (gsize)KINDS * s->m * j;
	}
}

/* An op of @kind that may not start before @ready. */
static void run(Lane *lane, guint kind, gint64 ready)
{
	if (ready > lane->clock) {
		if (lane->done[F] > 0)
			lane->idle += ready - lane->clock;
		lane->clock = ready;
	}
	lane->clock += lane->time[kind];
	lane->done[kind]++;
	*lane->out++ = (guint8)kind;
}

static void run_forward(Search *s, Lane *lane, gint64 ready)
{
	const guint k = lane->done[F];

	run(lane, F, ready);
	lane->held += s->held;
	lane->forward_there[k & s->mask] = lane->clock + s->p2p;
}

static void run_input(Search *s, Lane *lane, gint64 ready)
{
	const guint k = lane->done[I];

	run(lane, I, ready);
	lane->held -= s->freed;
	lane->input_there[k & s->mask] = lane->clock + s->p2p;
}

static void run_weight(Search *s, Lane *lane)
{
	run(lane, W, 0);
	lane->held -= s->weight_held;
}

/* W that could run. */
static guint waiting(const Lane *lane)
{
	return lane->done[I] - lane->done[W];
}

/* What is missing for one more F; <= 0: nothing. */
static gint64 missing_room(const Search *s, const Lane *lane)
{
	return lane->held + s->held - s->limit;
}

/* When the input of the next F is there; the lane before must have run it. */
static gint64 forward_ready(const Search *s, guint j)
{
	const Lane *lane = &s->lanes[j];

	return j == 0 ? 0 : lane[-1].forward_there[lane->done[F] & s->mask];
}

/* When the input of the next I is there; the lane after must have run it. */
static gint64 input_ready(const Search *s, guint j)
{
	const Lane *lane = &s->lanes[j];

	return j + 1 == s->p ? 0 : lane[1].input_there[lane->done[I] & s->mask];
}

/* Rounds --------------------------------------------------------------------------------------
 * After a warm-up every lane runs at most one F and exactly one I a round. All F of a round
 * come first, from the first lane to the last, then all I, from the last to the first: an
 * input is always known when its op is placed. */

/* One way to fill rounds of one F and one I a lane. */
typedef struct {
	/* In the warm-up, which ends with the first I: rather one F too many than to idle for more
	 * than so many parts of one before it. */
	guint idles;
	/* A lane whose next I is about to come leaves out its F in favour of it. */
	gboolean awaits_input;
	/* A W that does not fit before an arrival runs although the lane has idle time to
	 * spare; without idle time to spare it runs anyway. */
	gboolean fills;
} Rounds;

/* How long @lane may idle from here: as long as another lane already idles more. */
static gint64 to_spare(const Search *s, const Lane *lane)
{
	return s->most_idle - lane->idle;
}

/* W before an arrival at @until: those that fit, and perhaps one that does not. */
static void fill_gap(Search *s, const Rounds *way, Lane *lane, gint64 until)
{
	while (waiting(lane) > 0 && lane->clock + lane->time[W] <= until)
		run_weight(s, lane);
	if (waiting(lane) > 0 && lane->clock < until &&
		(way->fills || until - lane->clock > to_spare(s, lane)))
		run_weight(s, lane);
}

static gboolean within_allowed(Search *s, const Lane *lane)
{
	s->most_idle = MAX(s->most_idle, lane->idle);
	return lane->idle <= lane->allowed;
}

/* Forwards of @lane, beyond the first, before its first I is there at @ready. Returns when that
 * I can start. */
static gint64 plan_warm_up(const Search *s, const Rounds *way, Lane *lane, gint64 ready)
{
	const gint64 most = way->idles < IDLE_PARTS ? lane->time[F] / IDLE_PARTS * way->idles
						    : lane->time[F];
	gint64 end = lane->clock, held = lane->held;

	lane->wanted = 0;
	while (end < ready && held + s->held <= s->limit &&
		lane->done[F] + lane->wanted < s->m) {
		if (ready - end < most)
			break;
		held += s->held;
		end += lane->time[F];
		lane->wanted++;
	}
	return MAX(end, ready);
}

static void warm_up(Search *s, const Rounds *way)
{
	gint64 ready = 0;

	for (guint j = 0; j < s->p; j++)
		run_forward(s, &s->lanes[j], forward_ready(s, j));
	for (guint j = s->p; j-- > 0;) {
		Lane *lane = &s->lanes[j];
		const gint64 begin =
			j + 1 == s->p ? lane->clock : plan_warm_up(s, way, lane, ready);

		ready = begin + lane->time[I] + s->p2p;
	}
	s->lanes[s->p - 1].wanted = 0;
	/* A lane that runs as many forwards ahead as the one before it would wait for the last of
	 * them, and it cannot run forwards that the one before it runs later. */
	for (guint j = 1; j < s->p; j++) {
		Lane *lane = &s->lanes[j];

		lane->wanted = MIN(lane->wanted, lane[-1].wanted);
		if (lane->wanted > 0 && lane->wanted == lane[-1].wanted &&
			lane->done[F] + lane->wanted < s->m)
			lane->wanted--;
	}
	for (guint j = 0; j < s->p; j++)
		for (Lane *lane = &s->lanes[j]; lane->wanted > 0; lane->wanted--)
			run_forward(s, lane, forward_ready(s, j));
}

/* Whether @lane had better wait for its next I than run an F before it, the lane after it being
 * well supplied. */
static gboolean should_wait(const Search *s, const Lane *lane)
{
	const Lane *next = lane + 1;
	const gint64 there = next->clock + next->time[F] + next->time[I] + s->p2p;
	const gint64 missing = missing_room(s, lane);
	gint64 weights = 0;

	if (lane->done[F] < next->done[F] + 2)
		return FALSE;
	if (lane->clock >= there)
		return TRUE;
	if (missing > 0)
		weights = (missing + s->weight_held - 1) / s->weight_held;
	return lane->clock + lane->time[F] + weights * lane->time[W] > there &&
	       there - lane->clock <= to_spare(s, lane);
}

/* A lane that the next one takes nothing from this round runs no F either, unless its own I of
 * this round needs one. */
static void choose_forwards(const Search *s, const Rounds *way, guint round)
{
	gboolean wanted = TRUE;

	for (guint j = s->p; j-- > 0;) {
		Lane *lane = &s->lanes[j];
		const gboolean can = wanted && lane->done[F] < s->m &&
				     missing_room(s, lane) <= waiting(lane) * s->weight_held;
		const gboolean waits =
			way->awaits_input && j + 1 < s->p && can && should_wait(s, lane);

		wanted = (can && !waits) || lane->done[F] == round;
		lane->wanted = wanted;
	}
}

static gboolean run_forwards(Search *s, const Rounds *way)
{
	for (guint j = 0; j < s->p; j++) {
		Lane *lane = &s->lanes[j];

		if (!lane->wanted || (j > 0 && lane[-1].done[F] == lane->done[F]))
			continue;
		while (missing_room(s, lane) > 0)
			run_weight(s, lane);
		gint64 ready = forward_ready(s, j);
		fill_gap(s, way, lane, ready);
		run_forward(s, lane, ready);
		if (!within_allowed(s, lane))
			return FALSE;
	}
	return TRUE;
}

static gboolean run_inputs(Search *s, const Rounds *way)
{
	for (guint j = s->p; j-- > 0;) {
		Lane *lane = &s->lanes[j];
		const gint64 ready = input_ready(s, j);

		fill_gap(s, way, lane, ready);
		/* Nobody waits for the first lane's I, and it has no F left to make room for.
		 */
		while (j == 0 && lane->done[F] == s->m && waiting(lane) > 0)
			run_weight(s, lane);
		run_input(s, lane, ready);
		if (!within_allowed(s, lane))
			return FALSE;
	}
	return TRUE;
}

static gboolean try_rounds(Search *s, const Rounds *way)
{
	gboolean ok = TRUE;
	guint round;

	reset(s);
	s->most_idle = 0;
	warm_up(s, way);
	for (round = 0; round < s->m && ok; round++) {
		if (round > 0) {
			choose_forwards(s, way, round);
			ok = run_forwards(s, way);
		}
		ok = ok && run_inputs(s, way);
	}
	s->placed += KINDS * (guint64)s->p * round;
	for (guint j = 0; j < s->p && ok; j++)
		while (waiting(&s->lanes[j]) > 0)
			run_weight(s, &s->lanes[j]);
	return ok;
}

/* In the order of time ------------------------------------------------------------------------
 * Whichever lane can start an op first does. Where memory is short, forwards come in bursts
 * that rounds do not make. */

typedef struct {
	gboolean prefers_input; /* of an F and an I that could start at once */
	/* F without their I, at most: one, and so many quarters of one for each lane behind; 4
	 * is what 1F1B has, 0 what memory holds. */
	guint quarters_ahead;
	gboolean waits; /* idles before an arrival rather than beginning a W, within
			   what the lane is allowed */
} InTime;

static gint64 forward_start(const Search *s, const InTime *way, guint j)
{
	const Lane *lane = &s->lanes[j];
	const guint k = lane->done[F];
	/* Whether it has as many F without their I as @way lets it have. */
	const gboolean is_far_ahead =
		way->quarters_ahead > 0 &&
		k - lane->done[I] > (guint64)(s->p - 1 - j) * way->quarters_ahead / 4;

	if (k == s->m || (j > 0 && lane[-1].done[F] == k) || is_far_ahead ||
		missing_room(s, lane) > 0)
		return PIPESIM_NEVER;
	return MAX(forward_ready(s, j), lane->clock);
}

/* What lane @j can run first, of what is known. */
static void choose(Search *s, const InTime *way, guint j)
{
	Lane *lane = &s->lanes[j];
	const gint64 forward = forward_start(s, way, j);
	const guint k = lane->done[I];
	const gboolean none = lane->done[F] == k || (j + 1 < s->p && lane[1].done[I] == k);
	const gint64 input = none ? PIPESIM_NEVER : MAX(input_ready(s, j), lane->clock);
	const gboolean is_input = input < forward || (input == forward && way->prefers_input);
	const gint64 start = is_input ? input : forward;

	lane->next = is_input ? I : F;
	lane->next_start = start;
	/* Whether a W runs before it. */
	if (waiting(lane) > 0 && start > lane->clock &&
		(!way->waits || start - lane->clock >= lane->time[W] ||
			start - lane->clock > lane->allowed - lane->idle)) {
		lane->next = W;
		lane->next_start = lane->clock;
	}
	pipesim_tournament_set(&s->queue, j, lane->next_start);
}

static gboolean try_in_time(Search *s, const InTime *way)
{
	const guint64 ops = KINDS * (guint64)s->p * s->m;
	gboolean ok = TRUE;
	guint64 n;

	reset(s);
	for (guint j = 0; j < s->p; j++)
		choose(s, way, j);
	for (n = 0; n < ops && ok; n++) {
		const PipesimMatch first = pipesim_tournament_first(&s->queue);
		const guint j = first.rank;
		Lane *lane = &s->lanes[j];

		/* The oldest micro-batch in flight can always go on. */
		g_assert(first.time != PIPESIM_NEVER);
		/* Its lane runs what it has chosen; neighbours may have new inputs then. */
		if (lane->next == W) {
			run_weight(s, lane);
		} else if (lane->next == F) {
			run_forward(s, lane, lane->next_start);
			if (j + 1 < s->p)
				choose(s, way, j + 1);
		} else {
			run_input(s, lane, lane->next_start);
			if (j > 0)
				choose(s, way, j - 1);
		}
		choose(s, way, j);
		ok = lane->idle <= lane->allowed;
	}
	s->placed += EFFORT_IN_TIME * n;
	return ok;
}

/* Bounds ------------------------------------------------------------------------------------- */

static void find_bounds(Search *s, PipesimZbResult *result)
{
	for (guint r = 0; r < s->p; r++)
		s->x->room[0].limit[r] = s->limit * s->unit;
	pipesim_span_bounds(s->x, s->bounds);
	result->span_bound = result->makespan_bound = 0;
	for (guint j = 0; j < s->p; j++) {
		result->span_bound = MAX(result->span_bound, s->bounds[j]);
		result->makespan_bound =
			MAX(result->makespan_bound, s->lanes[j].start + s->bounds[j]);
	}
}

/* Attempts ------------------------------------------------------------------------------------
 */

/* An attempt that is longer than @span or @makespan is given up. */
static void allow(Search *s, gint64 span, gint64 makespan)
{
	if (s->by_span)
		makespan = G_MAXINT64 / 2;
	for (guint j = 0; j < s->p; j++) {
		Lane *lane = &s->lanes[j];

		lane->allowed = MIN(span, makespan - lane->start) - lane->busy;
	}
}

/* Keeps the order of the attempt where it is no worse in span and, if @in_both, in makespan,
 * and better in one; the first search goes by span alone and takes makespan to break a tie. */
static gboolean keep(Search *s, gboolean in_both)
{
	PipesimZbResult *best = s->best;
	gint64 span = 0, makespan = 0;
	guint8 *order = s->attempt;

	for (guint j = 0; j < s->p; j++) {
		const Lane *lane = &s->lanes[j];

		span = MAX(span, lane->busy + lane->idle);
		makespan = MAX(makespan, lane->clock);
	}
	if (span > best->span || (span == best->span && makespan >= best->makespan) ||
		(in_both && !s->by_span && makespan > best->makespan))
		return FALSE;
	s->attempt = best->order;
	best->order = order;
	best->span = span;
	best->makespan = makespan;
	return TRUE;
}

static gboolean is_done(const Search *s)
{
	return s->best->span == s->best->span_bound &&
	       (s->by_span || s->best->makespan == s->best->makespan_bound);
}

static gboolean tires(const Search *s)
{
	return s->placed >= s->effort || is_done(s);
}

/* The authors' own eight ways, the best by span; without a barrier also those in between, which
 * halve the bubble that they leave. */
static void try_published(Search *s)
{
	const guint between = s->by_span ? IDLE_PARTS - 1 : 0;

	for (guint i = 0; i < 8 + between && !is_done(s); i++) {
		Rounds way = {.idles = (i & 4) != 0 ? 0 : IDLE_PARTS,
			.awaits_input = (i & 2) == 0,
			.fills = (i & 1) == 0};

		if (i >= 8)
			way = (Rounds){i - 7, TRUE, TRUE};
		allow(s, s->best->span, G_MAXINT64 / 2);
		if (try_rounds(s, &way))
			keep(s, FALSE);
	}
}

/* Whatever can run first, with lanes that run ahead more or less far. */
static void try_by_time(Search *s)
{
	static const guint ahead[] = {0, 4, 3, 2, 6, 8};

	for (guint i = 0; i < 4 * G_N_ELEMENTS(ahead) && !tires(s); i++) {
		const InTime way = {.quarters_ahead = ahead[i / 4],
			.prefers_input = (i & 1) == 0,
			.waits = (i & 2) == 0};

		allow(s, s->best->span, s->best->makespan);
		if (try_in_time(s, &way))
			keep(s, TRUE);
	}
}

static gboolean is_shorter(const PipesimZbResult *a, const PipesimZbResult *b, gboolean by_span)
{
	const gint64 first[] = {
		by_span ? a->span : a->makespan, by_span ? b->span : b->makespan};
	const gint64 second[] = {
		by_span ? a->makespan : a->span, by_span ? b->makespan : b->span};

	return first[0] < first[1] || (first[0] == first[1] && second[0] < second[1]);
}

/* Below what 1F1B holds rules leave up to a tenth, which orders put together anew by their own times do not. */
static void justify(const Search *s, PipesimZbResult *found)
{
	const guint times = MIN(PUTS / (KINDS * s->p * s->m), TIMES);

	if (times > 0 && !s->by_span && found->makespan < G_MAXINT64 / 2 &&
		found->makespan != found->makespan_bound)
		pipesim_justify(s->x, found->order, times, &found->makespan, &found->span);
}

/* The largest rung within @limit, at least @step halves of an activation apart: halves up to 128, whole ones up to 256, and
 * from there as fine as a number of 8 bits. With them PP, and the larger of PP and M, above which nothing is held. */
static gint64 find_rung(const Search *s, gint64 limit, gint64 step)
{
	__extension__ typedef __int128 Wide;
	const gint64 usual = s->held * s->p, most = MAX(s->held * s->m, usual);

	if (limit >= most)
		return most;
	/* The most that, rounded down to units of memory, are within the limit. */
	gint64 halves = (gint64)((2 * (Wide)limit + 1) / s->held);
	while (halves / step > G_MAXUINT8)
		step *= 2;
	gint64 rung = (gint64)((Wide)(halves - halves % step) * s->held / 2);
	return usual <= limit ? MAX(rung, usual) : rung;
}

/* Makes the limit the next rung to search with, which is no better than those above. More room is not always used well, so
 * less is tried too, by rungs that are the same whatever the limit: what is found is then no worse with more memory.
 * @n: rungs so far; @effort: that all but the first may cost, in ops. FALSE where there is none that has room for a
 * forward, or the effort is over. */
static gboolean tighten(Search *s, guint n, guint64 effort)
{
	gint64 step = 1;

	if (n > 0 && s->placed > effort)
		return FALSE;
	/* Where ranks are many, activations matter less one by one, and to search takes longer. */
	while (n > 0 && 2 * step <= s->p / 8)
		step *= 2;
	s->limit = find_rung(s, s->limit - (n > 0 ? 1 : 0), step);
	return s->limit >= s->held;
}

/* Searches from the highest rung down, as long as its bound leaves hope of a shorter makespan. What
 * is found at a rung does not depend on those before. @spare: room for a second order. */
static void search_rungs(Search *s, PipesimZbResult *best, PipesimZbResult *spare)
{
	const guint64 ops = KINDS * (guint64)s->p * s->m;
	const gboolean anew = !s->x->shape.by_rules && s->limit < s->held * s->p;
	guint64 effort = 0;

	find_bounds(s, best);
	best->makespan = best->span = G_MAXINT64;
	s->best = spare;
	for (guint n = 0; tighten(s, n, effort); n++) {
		find_bounds(s, s->best);
		if (s->by_span ? s->best->span_bound >= best->span
			       : s->best->makespan_bound >= best->makespan)
			break;
		s->best->span = s->best->makespan = G_MAXINT64 / 2;
		try_published(s);
		s->effort = s->placed + MAX(LEAST_EFFORT, EFFORT_PER_OP * ops);
		try_by_time(s);
		if (anew)
			justify(s, s->best);
		if (n == 0)
			effort = MAX(RUNGS_EFFORT, RUNGS_RATIO * s->placed);
		if (is_shorter(s->best, best, s->by_span)) {
			guint8 *order = best->order;

			best->order = s->best->order;
			best->span = s->best->span;
			best->makespan = s->best->makespan;
			s->best->order = order;
		}
	}
}

gboolean pipesim_zb_search(PipesimArena *arena, PipesimInstance *x, gboolean by_span,
	PipesimZbResult *result, GError **error)
{
	const gsize ops = (gsize)x->per_rank * x->ranks;
	const PipesimRoom *room = &x->room[0];
	const gint64 unit = pipesim_gcd(room->held[0], room->freed[0]);
	const gint64 most = MIN(room->limit[0] / room->held[0] + 1, x->count);
	guint slots = 1; /* what lies between two ranks at a time fits into so many */
	gint64 *rings, start = 0;
	PipesimZbResult spare = {.order = pipesim_arena_array(arena, guint8, ops)};

	while (slots < most)
		slots *= 2;
	rings = pipesim_arena_array(arena, gint64, 2 * (gsize)slots * x->ranks);
	Search s = {
		.x = x,
		.p = x->ranks,
		.m = x->count,
		.p2p = x->ranks > 1 ? x->hop[1] : 0,
		.mask = slots - 1,
		.held = room->held[0] / unit,
		.freed = room->freed[0] / unit,
		.limit = room->limit[0] / unit,
		.weight_held = (room->held[0] - room->freed[0]) / unit,
		.unit = unit,
		.by_span = by_span,
		.lanes = pipesim_arena_array(arena, Lane, x->ranks),
		.attempt = pipesim_arena_array(arena, guint8, ops),
		.bounds = pipesim_arena_array(arena, gint64, x->ranks),
	};

	*result = (PipesimZbResult){.order = pipesim_arena_array(arena, guint8, ops)};
	if (!pipesim_arena_check(arena, error,
		    "the orders that a search tries, of %u micro-batches over %u ranks,", s.m,
		    s.p))
		return FALSE;
	if (!pipesim_tournament_init(&s.queue, s.p))
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"a queue of %u ranks does not fit in memory", s.p);
	for (guint j = 0; j < s.p; j++) {
		Lane *lane = &s.lanes[j];

		for (guint kind = 0; kind < KINDS; kind++) {
			lane->time[kind] = x->time[kind][j];
			lane->busy += lane->time[kind] * s.m;
		}
		lane->start = start;
		start += lane->time[F] + s.p2p;
		lane->forward_there = rings + 2 * (gsize)slots * j;
		lane->input_there = lane->forward_there + slots;
	}
	search_rungs(&s, result, &spare);
	pipesim_tournament_clear(&s.queue);
	return TRUE;
}
