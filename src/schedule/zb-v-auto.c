/* ZB-V as its authors' search makes it, from the times of the run.
 *
 * List scheduling in rounds: in every round each rank runs one backward for input and one forward,
 * of whichever chunk can go on, and weight gradients run where they fit into the time until the
 * next input arrives. Where one does not quite fit, a rank may rather idle as long as another
 * already did. PP 3, 4 micro-batches, all ops 1 long (small letters: the chunk on the way back):
 *
 *	rank 0  FFFF.fifiwfiwIwfiIWIwIWWW     warm-up: forwards until micro-batch 0 is back;
 *	rank 1   FFFfFfiwfiwIWfiIiIwIWwWW     then rounds; at the end the weight gradients
 *	rank 2    FfFfFfiwFIWfiIiIiIwWwWwW    that are left
 *
 * Four runs differ in whether such a weight gradient runs all the same, before backwards and
 * before forwards; each is repeated with the idle times that its ranks ended with, for as long
 * as that helps. */
#include "config.h"

#include "schedule/check.h"
#include "schedule/search/problem.h"
#include "schedule/search/sequence.h"
#include <string.h>

/* The steps of a micro-batch on a rank, in order, then its weight gradients. */
enum {
	F0 = PIPESIM_V_F0,
	F1 = PIPESIM_V_F1,
	I1 = PIPESIM_V_I1,
	I0 = PIPESIM_V_I0,
	W1 = PIPESIM_V_W1,
	W0 = PIPESIM_V_W0,
	STEPS = W1,
	CODES = PIPESIM_V_CODES,
};

/* An order may be made for other times than ops take, and is then run at both. */
enum {
	PLANNED,
	REAL,
	CLOCKS,
};

/* By each clock. */
typedef struct {
	gint64 at[CLOCKS];
} Moment;

typedef struct {
	gint64 clock[CLOCKS];
	gint64 idle, held; /* as planned */
	gint64 time[CLOCKS][CODES];
	/* Rings: when the result of a step is with its next rank. */
	Moment *arrival[STEPS];
	guint done[STEPS];
	guint weights;  /* W that ran, of queue */
	guint8 *queue;  /* codes of W in the order of their I */
	guint8 *out;    /* codes of the order */
	gint64 allowed; /* idle time of the run before */
} Rank;

typedef struct {
	PipesimProblem *problem; /* its limit that of the rung that is searched */
	Rank *ranks;
	guint p, m;
	guint mask; /* slots of a ring - 1 */
	gint64 most_idle, most_allowed;
	gboolean is_guided;        /* a run before left its idle times */
	gboolean failed;           /* an op had no input or no room */
	guint8 *turn;              /* [rank]: what a round of backwards runs */
	guint8 *out, *rung, *best; /* orders: under way, of the rung so far, of all rungs */
	gint64 makespan;           /* of best */
	guint64 placed;            /* ops of all runs: the effort so far */
} Search;

static guint waiting_weights(const Rank *rank)
{
	return rank->done[I1] + rank->done[I0] - rank->weights;
}

/* The rank whose result of the same step @step of rank @j needs; NULL where it needs none. */
static const Rank *source(const Search *s, guint j, guint step)
{
	if (step == F0 || step == I1)
		return j > 0 ? &s->ranks[j - 1] : NULL;
	return j + 1 < s->p ? &s->ranks[j + 1] : NULL;
}

static gboolean is_ready(const Search *s, guint j, guint step)
{
	const Rank *rank = &s->ranks[j];
	const Rank *from = source(s, j, step);
	const guint k = rank->done[step];

	return k < s->m && (step == F0 || rank->done[step - 1] > k) &&
	       (from == NULL || from->done[step] > k);
}

/* When the input of the next @step of rank @j is there; at 0 where it needs none. */
static const Moment *arrival(const Search *s, guint j, guint step)
{
	static const Moment begin = {{0}};
	const Rank *from = source(s, j, step);

	return from == NULL ? &begin : &from->arrival[step][s->ranks[j].done[step] & s->mask];
}

static gboolean has_room(const Search *s, const Rank *rank)
{
	return rank->held + s->problem->held <= s->problem->limit;
}

static void append(Rank *rank, guint code)
{
	for (guint clock = 0; clock < CLOCKS; clock++)
		rank->clock[clock] += rank->time[clock][code];
	*rank->out++ = (guint8)code;
}

static void run_weight(Search *s, Rank *rank)
{
	append(rank, rank->queue[rank->weights++]);
	rank->held -= s->problem->held - s->problem->freed;
}

static void run_step(Search *s, guint j, guint step)
{
	Rank *rank = &s->ranks[j];
	const Moment *input;
	Moment *output;

	if (!is_ready(s, j, step) || (step <= F1 && !has_room(s, rank))) {
		s->failed = TRUE;
		return;
	}
	input = arrival(s, j, step);
	if (input->at[PLANNED] > rank->clock[PLANNED]) {
		if (rank->done[F0] > 0)
			rank->idle += input->at[PLANNED] - rank->clock[PLANNED];
		s->most_idle = MAX(s->most_idle, rank->idle);
		rank->clock[PLANNED] = input->at[PLANNED];
	}
	rank->clock[REAL] = MAX(rank->clock[REAL], input->at[REAL]);
	if (step <= F1) {
		rank->held += s->problem->held;
	} else {
		rank->held -= s->problem->freed;
		rank->queue[rank->done[I1] + rank->done[I0]] = step == I1 ? W1 : W0;
	}
	append(rank, step);
	output = &rank->arrival[step][rank->done[step] & s->mask];
	for (guint clock = 0; clock < CLOCKS; clock++)
		output->at[clock] = rank->clock[clock] + s->problem->p2p;
	rank->done[step]++;
}

/* Weight gradients in the gap before @step: those that fit, and one more where @fill and the
 * gap left is longer than what the rank may idle. */
static void fill_gap(Search *s, guint j, guint step, gboolean fill)
{
	Rank *rank = &s->ranks[j];
	gint64 may_idle = s->most_idle;
	gint64 until;

	if (source(s, j, step) == NULL || !is_ready(s, j, step))
		return;
	until = arrival(s, j, step)->at[PLANNED];
	while (waiting_weights(rank) > 0 &&
		rank->clock[PLANNED] + rank->time[PLANNED][rank->queue[rank->weights]] <= until)
		run_weight(s, rank);
	if (s->is_guided)
		may_idle = MAX(may_idle, s->most_allowed - rank->allowed);
	if (fill && waiting_weights(rank) > 0 &&
		until - rank->clock[PLANNED] > may_idle - rank->idle)
		run_weight(s, rank);
}

/* Forwards of the way down for as long as the way back has not returned to rank @j. */
static void run_ahead(Search *s, guint j)
{
	Rank *rank = &s->ranks[j];
	const gint64 room = s->problem->held * (2 + 2 * (gint64)j);

	while (!s->failed && rank->held + room <= s->problem->limit &&
		rank->clock[PLANNED] + rank->time[PLANNED][F0] <=
			arrival(s, j, F1)->at[PLANNED] &&
		rank->done[F0] < s->m)
		for (guint k = 0; k <= j; k++)
			run_step(s, k, F0);
}

/* Both chunks in turn until rank @j has run as many forwards as the rank before it, and one
 * more of the way back. */
static void catch_up(Search *s, guint j, guint *step)
{
	const Rank *rank = &s->ranks[j], *before = rank - 1;

	while (!s->failed &&
		(rank->done[F0] + rank->done[F1] < before->done[F0] + before->done[F1] ||
			(rank->done[F1] <= before->done[F1] && before->done[F1] < s->m))) {
		for (guint k = s->p; k-- > j;)
			if (s->ranks[k].done[*step] < s->m)
				run_step(s, k, *step);
		*step = *step == F0 ? F1 : F0;
	}
}

static void warm_up(Search *s)
{
	guint step = F0;

	for (guint j = 0; j < s->p; j++)
		run_step(s, j, F0);
	for (guint j = s->p; j-- > 0;) {
		if (j + 1 < s->p)
			run_ahead(s, j);
		run_step(s, j, F1);
	}
	for (guint j = 1; j < s->p; j++)
		catch_up(s, j, &step);
}

/* STEPS where the rank has none to run. */
static guint next_forward(const Search *s, guint j)
{
	const Rank *rank = &s->ranks[j];

	if (rank->done[F1] == s->m)
		return STEPS;
	if (rank->done[F1] == rank->done[F0])
		return F0;
	if (is_ready(s, j, F1))
		return F1;
	return is_ready(s, j, F0) ? F0 : STEPS;
}

static void run_backwards(Search *s, gboolean fill)
{
	for (guint j = 0; j < s->p; j++) {
		const guint *done = s->ranks[j].done;

		s->turn[j] = done[I0] < done[I1] && (done[I1] == s->m || is_ready(s, j, I0))
				     ? I0
				     : I1;
	}
	for (guint j = s->p; j-- > 0;)
		if (s->turn[j] == I0) {
			fill_gap(s, j, I0, TRUE);
			run_step(s, j, I0);
		}
	for (guint j = 0; j < s->p; j++)
		if (s->turn[j] == I1) {
			fill_gap(s, j, I1, fill);
			run_step(s, j, I1);
		}
}

static void run_forwards(Search *s, gboolean fill)
{
	for (guint j = 0; j < s->p; j++) {
		Rank *rank = &s->ranks[j];
		const guint step = next_forward(s, j);

		if (step == STEPS)
			continue;
		while (!has_room(s, rank) && waiting_weights(rank) > 0)
			run_weight(s, rank);
		fill_gap(s, j, step, fill);
		run_step(s, j, step);
	}
}

/* Returns the longest idle time of a rank; G_MAXINT64 where the run did not reach its end. */
static gint64 run(Search *s, gboolean fill_backward, gboolean fill_forward)
{
	s->most_idle = 0;
	s->failed = FALSE;
	for (guint j = 0; j < s->p; j++) {
		Rank *rank = &s->ranks[j];

		rank->clock[PLANNED] = rank->clock[REAL] = rank->idle = rank->held = 0;
		rank->weights = 0;
		memset(rank->done, 0, sizeof rank->done);
		rank->out = s->out + (gsize)CODES * s->m * j;
	}
	warm_up(s);
	for (guint round = 0; round < 2 * s->m && !s->failed; round++) {
		run_backwards(s, fill_backward);
		run_forwards(s, fill_forward);
	}
	for (guint j = 0; j < s->p; j++) {
		Rank *rank = &s->ranks[j];

		s->failed |= rank->done[I0] < s->m;
		while (waiting_weights(rank) > 0)
			run_weight(s, rank);
	}
	s->placed += CODES * (guint64)s->m * s->p;
	return s->failed ? G_MAXINT64 : s->most_idle;
}

static void swap(guint8 **a, guint8 **b)
{
	guint8 *order = *a;

	*a = *b;
	*b = order;
}

/* What an order is preferred by: within a rung by idle time as planned, as the authors do, and
 * between rungs by makespan. */
typedef struct {
	gint64 idle, makespan;
} Merit;

/* Repeats a run with the idle times of the one before, for as long as that helps. */
static void repeat(Search *s, guint variant, Merit *best)
{
	gint64 last = G_MAXINT64;

	for (s->is_guided = FALSE;; s->is_guided = TRUE) {
		const gint64 idle = run(s, !(variant & 2), !(variant & 1));

		if (idle >= last)
			return;
		if (idle < best->idle) {
			*best = (Merit){idle, 0};
			for (guint j = 0; j < s->p; j++)
				best->makespan = MAX(best->makespan, s->ranks[j].clock[REAL]);
			swap(&s->out, &s->rung);
		}
		last = s->most_allowed = idle;
		for (guint j = 0; j < s->p; j++)
			s->ranks[j].allowed = s->ranks[j].idle;
	}
}

/* What ops take on each rank, and are planned with; with @is_even the average of all. Returns
 * whether that makes a difference. */
static gboolean set_times(Search *s, gboolean is_even)
{
	static const PipesimProblemKind kinds[] = {
		[PIPESIM_F] = PIPESIM_PROBLEM_F,
		[PIPESIM_I] = PIPESIM_PROBLEM_I,
		[PIPESIM_W] = PIPESIM_PROBLEM_W,
	};
	gboolean differs = FALSE;

	for (guint code = 0; code < CODES; code++) {
		const PipesimVerb *verb = &pipesim_v_verbs[code];
		const PipesimProblemKind kind = kinds[verb->kind];
		gint64 even = 0;

		/* The average of all stages. */
		for (guint i = 0; i < s->p * s->problem->chunks; i++)
			even += s->problem->time[(gsize)i * PIPESIM_PROBLEM_KINDS + kind];
		even /= s->p * s->problem->chunks;
		for (guint j = 0; j < s->p; j++) {
			const gint64 real =
				pipesim_problem_time(s->problem, j, verb->chunk, kind);

			s->ranks[j].time[REAL][code] = real;
			s->ranks[j].time[PLANNED][code] = is_even ? even : real;
			differs |= real != even;
		}
	}
	return differs;
}

/* One rung. The rounds are made for stages of equal length, and where others leave a round without
 * an input there is no order: that for the averages is tried too. */
static void search_rung(Search *s)
{
	for (guint is_even = 0; is_even < 2; is_even++) {
		Merit best = {G_MAXINT64, G_MAXINT64};

		if (!set_times(s, is_even != 0) && is_even != 0)
			break;
		for (guint variant = 0; variant < 4 && best.idle > 0; variant++)
			repeat(s, variant, &best);
		if (best.makespan < s->makespan) {
			s->makespan = best.makespan;
			swap(&s->rung, &s->best);
		}
	}
}

/* From the highest rung down; with less than PP activations the warm-up comes to no end, unless they
 * are all there are. Returns the codes of the order, rank by rank. */
static const guint8 *search(Search *s, GError **error)
{
	const gint64 whole = s->problem->held * s->problem->chunks;
	const gint64 enough = whole * s->p, all = whole * s->m;
	gint64 start = 0, least = 0;
	PipesimRungs rungs = {0};

	/* No order is shorter than the first forwards down to a rank and then all that the rank has. */
	for (guint j = 0; j < s->p; j++) {
		gint64 busy = 0;

		for (guint chunk = 0; chunk < s->problem->chunks; chunk++)
			for (guint kind = 0; kind < PIPESIM_PROBLEM_KINDS; kind++)
				busy += pipesim_problem_time(s->problem, j, chunk, kind) * s->m;
		least = MAX(least, start + busy);
		start += pipesim_problem_time(s->problem, j, 0, PIPESIM_PROBLEM_F) +
			 s->problem->p2p;
	}
	s->makespan = G_MAXINT64;
	if (s->problem->limit >= all)
		s->problem->limit = MAX(s->problem->limit, enough);
	while (s->makespan > least && pipesim_problem_tighten(s->problem, &rungs, s->placed) &&
		s->problem->limit >= enough)
		search_rung(s);
	if (s->makespan < G_MAXINT64)
		return s->best;
	pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
		"the search finds no order of %u micro-batches over %u ranks within its limit",
		s->m, s->p);
	return NULL;
}

static gboolean reserve(Search *s, PipesimArena *arena, PipesimProblem *problem, GError **error)
{
	const guint slots = pipesim_problem_in_flight(problem);
	const gsize ranks = problem->ranks, m = problem->microbatches;
	Moment *arrivals = pipesim_arena_array(arena, Moment, STEPS * slots * ranks);
	guint8 *queues = pipesim_arena_array(arena, guint8, 2 * m * ranks);

	*s = (Search){
		.problem = problem,
		.p = problem->ranks,
		.m = problem->microbatches,
		.mask = slots - 1,
		.ranks = pipesim_arena_array(arena, Rank, ranks),
		.turn = pipesim_arena_array(arena, guint8, ranks),
		.out = pipesim_arena_array(arena, guint8, CODES * m * ranks),
		.rung = pipesim_arena_array(arena, guint8, CODES * m * ranks),
		.best = pipesim_arena_array(arena, guint8, CODES * m * ranks),
	};
	if (!pipesim_arena_check(arena, error,
		    "the orders that a search tries, of %u micro-batches over %u ranks,", s->m,
		    s->p))
		return FALSE;
	for (gsize j = 0; j < ranks; j++) {
		for (guint step = 0; step < STEPS; step++)
			s->ranks[j].arrival[step] = arrivals + (j * STEPS + step) * slots;
		s->ranks[j].queue = queues + 2 * m * j;
	}
	return TRUE;
}

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	const gsize per_rank = CODES * (gsize)shape->microbatches;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	const guint8 *order = NULL;
	PipesimProblem problem;
	Search s;

	if (pipesim_problem_init(&problem, arena, shape, times, error) &&
		reserve(&s, arena, &problem, error))
		order = search(&s, error);
	if (order != NULL)
		pipesim_emit_sequences(out, order, shape->ranks, per_rank, pipesim_v_verbs);
	return order != NULL;
}

/* The schedule --------------------------------------------------------------------------------
 */

PIPESIM_CONDITION(limit_is_enough,
	shape->max_activations.num >= shape->max_activations.den * shape->ranks)

const PipesimSchedule pipesim_schedule_zb_v_auto = {
	.name = "zb-v-auto",
	.aliases = "zbvauto, zbv-auto",
	.summary = "ZB-V with an order searched for the given times and memory",
	.constraints = "every PP and M; a limit of at least the activations of v-min",
	.idea = "Each rank holds a stage of the way down and its mirror of the way back, so "
		"that every rank can begin backwards as soon as the first micro-batch has "
		"turned round on the last. In rounds of one backward for input and one forward "
		"a rank fills the gaps before arrivals with weight gradients that fit, and "
		"idles no longer than the rank that already idles most. Every rank holds PP "
		"activations, as the first rank of 1F1B does; with a smaller limit the order "
		"is one of the leaner hand-made ones.",
	.reference = "Qi et al., Pipeline Parallelism with Controllable Memory, "
		     "arXiv:2405.15362; the zero-bubble authors' zbv.py",
	.chunks = 2,
	.placement = PIPESIM_V,
	.takes = PIPESIM_TAKES_LIMIT,
	.runtime = "pytorch-2.11",
	.check = pipesim_check_limit,
	.plan = plan,
	.starts = {&pipesim_schedule_v_one_f_one_b, &pipesim_schedule_zb_v,
		&pipesim_schedule_v_half, &pipesim_schedule_v_min},
	.bubble.text = "0",
	.bubble.letters = "Nothing: the authors call it zero bubble where F = I = W.",
	.bubble.value = pipesim_bubble_none,
	.bubble.is_span = TRUE,
	.bubble.conditions = {{"N >= PP", limit_is_enough,
				      "a rank idles where it has no room for the next forward"},
		{"F = I = W", pipesim_holds_times_equal,
			"gaps and the ops that could fill them differ in length"},
		{"M >= 2 PP", pipesim_holds_m_ge_2pp,
			"the last forward runs before there is a W for every gap"}},
	.bubble.exact = "A span bubble, exact when F = I = W, P2P = 0 and M >= 2 PP. By "
			"makespan (PP-1)F/2 is left: what the last rank waits for its first "
			"input, F being the forward of a rank's whole share.",
	.activations.text = "N",
	.activations.value = pipesim_activations_limit,
	.activations.is_most = TRUE,
	.activations.exact =
		"N is --max-activations, PP by default, or what --memory-limit leaves after "
		"the parameters if that is smaller. No rank holds more; fewer if M is small or "
		"forwards are long. Where bytes are known, the share that the backward for "
		"input frees counts only until then, so more micro-batches may be in flight.",
	.notes = "Placement: rank r holds stages r and 2PP-1-r. Phases: a warm-up of forwards "
		 "until the first micro-batch has returned to each rank; rounds; the remaining "
		 "weight gradients.\n\n"
		 "The order follows from F, I, W and P2P of every stage and rank. Four ways to "
		 "decide about weight gradients that do not quite fit are tried, and each is "
		 "repeated with the idle times that it ended with as long as that helps; the "
		 "best has the shortest idle time between a rank's first start and last end. "
		 "With stages of unequal length a round may have no input; then the same is "
		 "tried with average times. All this is repeated within tighter limits, down "
		 "to PP activations, as long as the effort is small, and the order with the "
		 "shortest makespan is kept.\n\n"
		 "Finally the orders of 1f1b-v, zb-v, v-half and v-min that fit are simulated "
		 "under the rules of --runtime and over the links of the run, and the shortest "
		 "is taken; a note says which.",
};
