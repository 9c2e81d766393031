#include "config.h"

#include "schedule/search/zb-lanes.h"
#include "schedule/search/zb-search.h"

/* What the rounds cost beyond the authors' own attempts: so many ops, or so many per op. */
#define LEAST_EFFORT  200000
#define EFFORT_PER_OP 2
/* Shares of the idle time to spare that targeted rounds try in the warm-up. */
#define SHARES 5

typedef struct {
	PipesimZbState state;
	PipesimZbResult *best;
	guint64 effort; /* placed ops after which no attempt begins */
} Search;

void pipesim_zb_result_clear(PipesimZbResult *result)
{
	g_clear_pointer(&result->order, g_free);
}

void pipesim_zb_reset(PipesimZbState *state)
{
	for (guint j = 0; j < state->p; j++) {
		PipesimZbLane *lane = &state->lanes[j];

		lane->clock = lane->idle = lane->held = 0;
		for (guint kind = 0; kind < PIPESIM_PROBLEM_KINDS; kind++)
			lane->done[kind] = 0;
		lane->out = state->attempt + (gsize)PIPESIM_PROBLEM_KINDS * state->m * j;
	}
}

/* Bounds --------------------------------------------------------------------------------------
 *
 * @trip: between the end of an F of a lane and the start of its I the micro-batch goes through
 * all later lanes and back. */

/* Idle time before the first I: nothing but F can run, as many as are held. */
static gint64 first_idle(const PipesimZbState *state, const PipesimZbLane *lane, gint64 trip)
{
	const gint64 most = MIN(state->problem->limit / state->problem->held, state->m);

	return MAX(trip - (most - 1) * lane->time[PIPESIM_ZB_F], 0);
}

/* Idle time after the last F, until its I: nothing can run but I and W of what is held beside
 * it: of each of the others both, while a whole activation is held, or W alone, while what is
 * left of it is. */
static gint64 last_idle(const PipesimZbState *state, const PipesimZbLane *lane, gint64 trip)
{
	const gint64 room = state->problem->limit - state->problem->held;
	const gint64 others = (gint64)state->m - 1;
	const gint64 both = MIN(room / state->problem->held, others);
	gint64 most = 0;

	for (gint64 n = 0; n <= both; n++) {
		const gint64 left = room - n * state->problem->held;
		const gint64 alone = state->weight_held == 0
					     ? others - n
					     : MIN(left / state->weight_held, others - n);
		const gint64 work =
			n * lane->time[PIPESIM_ZB_I] + (n + alone) * lane->time[PIPESIM_ZB_W];

		most = MAX(most, work);
	}
	return MAX(trip - most, 0);
}

/* A lane cannot hold more than the limit for its whole time: every micro-batch takes an
 * activation from its F to its I and what is left of it during its W. */
static gint64 memory_span(const PipesimZbState *state, const PipesimZbLane *lane, gint64 trip)
{
	__extension__ typedef __int128 Wide;
	const Wide held = state->problem->held;
	const Wide each = held * (lane->time[PIPESIM_ZB_F] + trip + lane->time[PIPESIM_ZB_I]) +
			  (Wide)state->weight_held * lane->time[PIPESIM_ZB_W];
	const Wide span = (each * state->m + state->problem->limit - 1) / state->problem->limit;

	return (gint64)MIN(span, G_MAXINT64 / 4);
}

static gint64 span_bound(const PipesimZbState *state, const PipesimZbLane *lane, gint64 trip)
{
	const gint64 first = first_idle(state, lane, trip);
	const gint64 by_memory = memory_span(state, lane, trip);
	gint64 idle = first;

	/* Where not all F come before the first I, the two gaps are apart. */
	if (state->problem->limit / state->problem->held < state->m)
		idle += last_idle(state, lane, trip);
	return MAX(lane->busy + idle, by_memory);
}

/* What a micro-batch loses on a lane and on the way to it and back. */
static gint64 hop(const PipesimZbState *state, const PipesimZbLane *lane)
{
	return lane->time[PIPESIM_ZB_F] + lane->time[PIPESIM_ZB_I] + 2 * state->problem->p2p;
}

/* Besides, the last W of a lane comes after all F and I of any later one, which begin and end a
 * hop of every lane between the two later and earlier: @furthest - @way of it. */
static void find_bounds(const PipesimZbState *state, PipesimZbResult *result)
{
	gint64 trip = 0, way = 0, furthest = 0;

	result->span_bound = result->makespan_bound = 0;
	for (guint j = 0; j < state->p; j++)
		way += hop(state, &state->lanes[j]);
	for (guint j = state->p; j-- > 0;) {
		const PipesimZbLane *lane = &state->lanes[j];
		gint64 span = span_bound(state, lane, trip);

		way -= hop(state, lane);
		furthest = MAX(furthest,
			way + state->m * (lane->time[PIPESIM_ZB_F] + lane->time[PIPESIM_ZB_I]));
		span = MAX(span, furthest - way + lane->time[PIPESIM_ZB_W]);
		result->span_bound = MAX(result->span_bound, span);
		result->makespan_bound = MAX(result->makespan_bound, lane->start + span);
		trip += hop(state, lane);
	}
}

/* Attempts ------------------------------------------------------------------------------------
 */

/* An attempt that is longer than @span or @makespan is given up. */
static void allow(PipesimZbState *state, gint64 span, gint64 makespan)
{
	for (guint j = 0; j < state->p; j++) {
		PipesimZbLane *lane = &state->lanes[j];

		lane->allowed = MIN(span, makespan - lane->start) - lane->busy;
	}
}

/* Keeps the order of the attempt where it is no worse in span and, if @in_both, in makespan,
 * and better in one; the first search goes by span alone and takes makespan to break a tie. */
static gboolean keep(Search *s, gboolean in_both)
{
	PipesimZbResult *best = s->best;
	gint64 span = 0, makespan = 0;
	guint8 *order = s->state.attempt;

	for (guint j = 0; j < s->state.p; j++) {
		const PipesimZbLane *lane = &s->state.lanes[j];

		span = MAX(span, lane->busy + lane->idle);
		makespan = MAX(makespan, lane->clock);
	}
	if (span > best->span || (span == best->span && makespan >= best->makespan) ||
		(in_both && makespan > best->makespan))
		return FALSE;
	s->state.attempt = best->order;
	best->order = order;
	best->span = span;
	best->makespan = makespan;
	return TRUE;
}

static gboolean is_done(const Search *s)
{
	return s->best->span == s->best->span_bound &&
	       s->best->makespan == s->best->makespan_bound;
}

static gboolean tires(const Search *s)
{
	return s->state.placed >= s->effort || is_done(s);
}

/* The authors' own eight ways, the best by span. */
static void try_published(Search *s)
{
	for (guint i = 0; i < 8 && !is_done(s); i++) {
		const PipesimZbRounds way = {.overruns = (i & 4) != 0,
			.awaits_input = (i & 2) == 0,
			.fills = (i & 1) == 0};

		allow(&s->state, s->best->span, G_MAXINT64 / 2);
		if (pipesim_zb_rounds(&s->state, &way))
			keep(s, FALSE);
	}
}

/* Whatever can run first, with lanes that run ahead more or less far. */
static void try_eager(Search *s)
{
	static const guint ahead[] = {0, 4, 3, 2, 6, 8};

	for (guint i = 0; i < 4 * G_N_ELEMENTS(ahead) && !tires(s); i++) {
		const PipesimZbEager way = {.quarters_ahead = ahead[i / 4],
			.prefers_input = (i & 1) == 0,
			.waits = (i & 2) == 0};

		allow(&s->state, s->best->span, s->best->makespan);
		if (pipesim_zb_eager(&s->state, &way))
			keep(s, TRUE);
	}
}

/* Rounds that idle up to what @span and @makespan allow; in the warm-up a share of that. */
static gboolean try_targeted(Search *s, gint64 span, gint64 makespan)
{
	allow(&s->state, span, makespan);
	for (guint i = 0; i < 4 * (SHARES + 1) && !tires(s); i++) {
		const guint share = i % (SHARES + 1);
		const PipesimZbRounds way = {.overruns = share < SHARES,
			.spare = s->state.lanes[0].allowed / SHARES * share,
			.awaits_input = (i / (SHARES + 1) & 2) == 0,
			.fills = (i / (SHARES + 1) & 1) == 0,
			.is_targeted = TRUE};

		if (pipesim_zb_rounds(&s->state, &way) && keep(s, TRUE))
			return TRUE;
	}
	return FALSE;
}

/* Halves what lies between the bound and the best span, or makespan. */
static void tighten(Search *s, const gint64 *value, gint64 bound)
{
	const gboolean is_span = value == &s->best->span;

	while (bound < *value && !tires(s)) {
		const gint64 target = bound + (*value - bound) / 2;

		if (!try_targeted(s, is_span ? target : s->best->span,
			    is_span ? s->best->makespan : target))
			bound = target + 1;
	}
}

static void search(Search *s)
{
	const guint64 ops = PIPESIM_PROBLEM_KINDS * (guint64)s->state.p * s->state.m;

	try_published(s);
	s->effort = s->state.placed + MAX(LEAST_EFFORT, EFFORT_PER_OP * ops);
	try_eager(s);
	tighten(s, &s->best->span, s->best->span_bound);
	tighten(s, &s->best->makespan, s->best->makespan_bound);
}

/* Memory --------------------------------------------------------------------------------------
 */

static void release(PipesimZbState *state)
{
	g_free(state->lanes);
	g_free(state->rings);
	g_free(state->attempt);
	g_free(state->winners);
	g_free(state->keys);
}

static gboolean reserve(Search *s, const PipesimProblem *problem)
{
	const guint slots = pipesim_problem_in_flight(problem);
	const gsize ops = PIPESIM_PROBLEM_KINDS * (gsize)problem->microbatches * problem->ranks;
	PipesimZbState *state = &s->state;

	state->problem = problem;
	state->p = problem->ranks;
	state->m = problem->microbatches;
	state->mask = slots - 1;
	state->weight_held = problem->held - problem->freed;
	for (state->leaves = 1; state->leaves < state->p;)
		state->leaves *= 2;
	state->lanes = g_try_new0(PipesimZbLane, state->p);
	state->rings = g_try_new(gint64, 2 * (gsize)slots * state->p);
	state->attempt = g_try_malloc(ops);
	state->winners = g_try_new(guint, 2 * (gsize)state->leaves);
	state->keys = g_try_new(gint64, state->leaves);
	s->best->order = g_try_malloc(ops);
	return state->lanes != NULL && state->rings != NULL && state->attempt != NULL &&
	       state->winners != NULL && state->keys != NULL && s->best->order != NULL;
}

static void lay_lanes(PipesimZbState *state)
{
	gint64 start = 0;

	for (guint j = 0; j < state->p; j++) {
		PipesimZbLane *lane = &state->lanes[j];

		for (guint kind = 0; kind < PIPESIM_PROBLEM_KINDS; kind++) {
			lane->time[kind] = pipesim_problem_time(state->problem, j, 0, kind);
			lane->busy += lane->time[kind] * state->m;
		}
		lane->start = start;
		start += lane->time[PIPESIM_ZB_F] + state->problem->p2p;
		lane->forward_there = state->rings + 2 * (gsize)(state->mask + 1) * j;
		lane->input_there = lane->forward_there + state->mask + 1;
	}
}

gboolean pipesim_zb_search(
	const PipesimProblem *problem, PipesimZbResult *result, GError **error)
{
	Search s = {.best = result};
	gboolean ok;

	*result = (PipesimZbResult){.span = G_MAXINT64 / 2, .makespan = G_MAXINT64 / 2};
	ok = reserve(&s, problem);
	if (ok) {
		lay_lanes(&s.state);
		find_bounds(&s.state, result);
		search(&s);
	} else {
		pipesim_zb_result_clear(result);
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"a search over %u ranks and %u micro-batches does not fit in memory; "
			"take "
			"fewer of either",
			problem->ranks, problem->microbatches);
	}
	release(&s.state);
	return ok;
}
