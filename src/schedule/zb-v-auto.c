/* ZB-V from the times of the run. The search begins with orders made by hand and with rounds, as
 * the zero-bubble authors' search has them: in every round each rank runs one backward for input
 * and one forward, of whichever chunk can go on, and weight gradients run where they fit into the
 * time until the next input arrives. Where one does not quite fit, a rank may rather idle as long
 * as another already did; four ways differ in whether it then runs all the same, before backwards
 * and before forwards. PP 3, 4 micro-batches, all ops 1 long (small letters: the chunk on the way
 * back):
 *
 *	rank 0  FFFF.fifiwfiwIwfiIWIwIWWW     warm-up: forwards until micro-batch 0 is back;
 *	rank 1   FFFfFfiwfiwIWfiIiIwIWwWW     then rounds; at the end the weight gradients
 *	rank 2    FfFfFfiwFIWfiIiIiIwWwWwW    that are left
 *
 * The shortest of those that fit is put together anew by its own times (order/justify.h). With
 * little memory so is the shortest unit of one micro-batch, repeated (search/fold.h). This is
 * done within one limit after the other, the tightest first, so that by construction no order is
 * longer with more memory. */
#include "order/justify.h"
#include "schedule/check.h"
#include "schedule/search/fold.h"
#include "schedule/search/sequence.h"

/* Codes of a rank; 1 is the chunk on the way back. */
enum {
	F0,
	I0,
	W0,
	F1,
	I1,
	W1,
	CODES,
};

static const PipesimVerb verbs[CODES] = {{PIPESIM_F, 0}, {PIPESIM_I, 0}, {PIPESIM_W, 0},
	{PIPESIM_F, 1}, {PIPESIM_I, 1}, {PIPESIM_W, 1}};

/* An order is put together anew so often, and with times that are off at random as often as so many
 * ops take: with twice as many, of 353 instances 1 in 70 more comes out shorter, by 0.07 % of all. */
#define PASSES    2
#define NOISY_OPS 6000
/* Of ops, in the search for the shortest unit within a limit: of 60 drawn limits of 4 to 32 ranks a quarter of it shortens
 * steps by 1.9 %, this by 2.5 and four times as many by no more; sixteen times those of long orders by 0.03 %. */
#define UNIT_VISITS (1u << 18)
#define LONG_VISITS (1u << 22)
/* Of more ranks one period alone may take seconds. */
#define UNIT_RANKS 256
/* Orders with more ops are not put together anew, and searched within few limits. */
#define LONG (1u << 14)

typedef struct {
	gint64 clock, idle, held;
	guint at; /* ops so far */
} Rank;

typedef struct {
	PipesimInstance *x; /* its limit is that which is searched within */
	PipesimJustifier justifier;
	gint64 held, freed, limit; /* of a forward of a chunk, as in PipesimRoom */
	guint32 *from;             /* [code of all lanes]: what it waits for */
	/* [code of all lanes]: what it waits for besides, what it takes, and the average of its
	 * kind; that which is gone by. */
	gint64 *hop, *real, *even, *time;
	gint64 *start; /* [op], as in PipesimJustifier */
	gint64 end;    /* of the last op */
	guint *done;   /* [code of all lanes] */
	Rank *ranks;
	guint8 *turn; /* [rank]: what a round of backwards runs */
	gint64 most_idle, most_allowed;
	gint64 *allowed;   /* [rank]: idle time of the run before, of which the most */
	gboolean is_tight; /* no rank idles in the shortest order once it has begun */
	gboolean failed;   /* an op had no input or no room */
	gsize n;           /* ops */
	guint8 *out;       /* [n]: codes of the order under way */
	guint8 *best;      /* [n]: the shortest order so far */
	gint64 makespan;   /* its, as value() has it; G_MAXINT64: there is none */
	gboolean by_span;  /* steps follow each other without a barrier */
} Search;

/* Running ops ----------------------------------------------------------------------------- */

/* When the next op of @code can start; -1: there is none, or what it waits for has not run. */
static inline gint64 ready_at(const Search *s, guint code)
{
	const guint32 from = s->from[code];
	const guint k = s->done[code];

	if (k == s->x->count || (from != PIPESIM_NO_LANE && s->done[from] <= k))
		return -1;
	return from == PIPESIM_NO_LANE
		       ? 0
		       : s->start[(gsize)from * s->x->count + k] + s->time[from] + s->hop[code];
}

static void begin(Search *s)
{
	s->end = 0;
	memset(s->ranks, 0, sizeof *s->ranks * s->x->ranks);
	memset(s->done, 0, sizeof *s->done * s->x->ranks * CODES);
}

static inline void put(Search *s, guint code, gint64 ready)
{
	Rank *rank = &s->ranks[code / CODES];
	const gint64 start = MAX(ready, rank->clock);

	s->start[(gsize)code * s->x->count + s->done[code]++] = start;
	rank->clock = start + s->time[code];
	rank->at++;
	s->end = MAX(s->end, rank->clock);
}

/* What is to be short of ops that have run: when the last one ends, or the longest span. */
static gint64 value(const Search *s)
{
	gint64 span = 0;

	for (guint r = 0; s->by_span && r < s->x->ranks; r++)
		span = MAX(span,
			s->ranks[r].clock - s->start[(gsize)(r * CODES + F0) * s->x->count]);
	return s->by_span ? span : s->end;
}

/* Starts of all ops of @codes. Returns what is to be short of them; G_MAXINT64: they wait for each
 * other. */
static gint64 run_codes(Search *s, const guint8 *codes)
{
	gsize placed = 0, before;

	s->time = s->real;
	begin(s);
	do {
		before = placed;
		for (guint r = 0; r < s->x->ranks; r++)
			for (Rank *rank = &s->ranks[r]; rank->at < s->x->per_rank; placed++) {
				const gsize at = (gsize)r * s->x->per_rank + rank->at;
				const guint code = r * CODES + codes[at];
				const gint64 ready = ready_at(s, code);

				if (ready < 0)
					break;
				put(s, code, ready);
			}
	} while (placed > before);
	return placed == s->n ? value(s) : G_MAXINT64;
}

/* Takes @codes, which fit, if they are shorter. */
static void offer(Search *s, const guint8 *codes, gint64 makespan)
{
	if (makespan >= s->makespan)
		return;
	s->makespan = makespan;
	memcpy(s->best, codes, s->n);
}

static void offer_codes(Search *s, const guint8 *codes)
{
	if (pipesim_instance_all_fit(s->x, codes))
		offer(s, codes, run_codes(s, codes));
}

/* Rounds ---------------------------------------------------------------------------------- */

static gboolean is_ready(const Search *s, guint r, guint op)
{
	return ready_at(s, r * CODES + op) >= 0;
}

static gboolean has_room(const Search *s, guint r)
{
	return s->ranks[r].held + s->held <= s->limit;
}

static void run_op(Search *s, guint r, guint op)
{
	const guint code = r * CODES + op;
	const PipesimKind kind = verbs[op].kind;
	const gint64 ready = ready_at(s, code);
	Rank *rank = &s->ranks[r];

	if (ready < 0 || (kind == PIPESIM_F && !has_room(s, r))) {
		s->failed = TRUE;
		return;
	}
	if (ready > rank->clock && s->done[r * CODES + F0] > 0) {
		rank->idle += ready - rank->clock;
		s->most_idle = MAX(s->most_idle, rank->idle);
	}
	rank->held += kind == PIPESIM_F   ? s->held
		      : kind == PIPESIM_I ? -s->freed
					  : s->freed - s->held;
	s->out[(gsize)r * s->x->per_rank + rank->at] = (guint8)op;
	put(s, code, ready);
}

/* The weight gradient whose I came first; CODES: none waits. */
static guint next_weight(const Search *s, guint r)
{
	const guint *done = s->done + (gsize)r * CODES;
	const gint64 *start = s->start + (gsize)r * CODES * s->x->count;
	const gboolean any0 = done[I0] > done[W0], any1 = done[I1] > done[W1];

	if (!any0 || !any1)
		return any0 ? W0 : any1 ? W1 : CODES;
	return start[(gsize)I0 * s->x->count + done[W0]] <
			       start[(gsize)I1 * s->x->count + done[W1]]
		       ? W0
		       : W1;
}

/* Runs @op, and weight gradients in the gap before its input from another rank: those that fit, and
 * one more where @fill and the gap left is longer than what the rank may idle. */
static void run_filled(Search *s, guint r, guint op, gboolean fill)
{
	const Rank *rank = &s->ranks[r];
	const guint code = r * CODES + op;
	const gint64 until = ready_at(s, code);
	guint weight = CODES;

	while (until >= 0 && s->from[code] != PIPESIM_NO_LANE && s->from[code] / CODES != r &&
		(weight = next_weight(s, r)) < CODES &&
		rank->clock + s->time[r * CODES + weight] <= until)
		run_op(s, r, weight);
	if (fill && weight < CODES &&
		until - rank->clock + rank->idle >
			MAX(s->most_idle, s->most_allowed - s->allowed[r]))
		run_op(s, r, weight);
	run_op(s, r, op);
}

/* Forwards down until the first has returned to each rank; before that more of them, for as long
 * as there is time and room. Then both chunks in turn, until each rank has run as many as the one
 * before it, and one more of the way back. */
static void warm_up(Search *s)
{
	const guint m = s->x->count;
	guint op = F0;

	for (guint r = 0; r < s->x->ranks; r++)
		run_op(s, r, F0);
	for (guint r = s->x->ranks; r-- > 0;) {
		const Rank *rank = &s->ranks[r];
		const guint *done = s->done + (gsize)r * CODES;

		while (r + 1 < s->x->ranks && !s->failed && done[F0] < m &&
			rank->held + s->held * (2 + 2 * (gint64)r) <= s->limit &&
			rank->clock + s->time[r * CODES + F0] <= ready_at(s, r * CODES + F1))
			for (guint k = 0; k <= r; k++)
				run_op(s, k, F0);
		run_op(s, r, F1);
	}
	for (guint r = 1; r < s->x->ranks; r++) {
		const guint *done = s->done + (gsize)r * CODES, *before = done - CODES;

		while (!s->failed && (done[F0] + done[F1] < before[F0] + before[F1] ||
					     (done[F1] <= before[F1] && before[F1] < m))) {
			for (guint k = s->x->ranks; k-- > r;)
				if (s->done[k * CODES + op] < m)
					run_op(s, k, op);
			op = F0 + F1 - op;
		}
	}
}

static void run_backwards(Search *s, gboolean fill)
{
	const guint ranks = s->x->ranks;

	for (guint r = 0; r < ranks; r++) {
		const guint *done = s->done + (gsize)r * CODES;

		s->turn[r] =
			done[I0] < done[I1] && (done[I1] == s->x->count || is_ready(s, r, I0))
				? I0
				: I1;
	}
	/* The way down is the last on the way back. */
	for (guint i = 0; i < 2 * ranks; i++) {
		const guint r = i < ranks ? ranks - 1 - i : i - ranks;
		const guint op = i < ranks ? I0 : I1;

		if (s->turn[r] == op)
			run_filled(s, r, op, fill || op == I0);
	}
}

static void run_forwards(Search *s, gboolean fill)
{
	for (guint r = 0; r < s->x->ranks; r++) {
		const guint *done = s->done + (gsize)r * CODES;
		const guint op = done[F1] < done[F0] && is_ready(s, r, F1) ? F1 : F0;

		if (!is_ready(s, r, op))
			continue;
		while (!has_room(s, r) && next_weight(s, r) < CODES)
			run_op(s, r, next_weight(s, r));
		run_filled(s, r, op, fill);
	}
}

static gboolean run_rounds(Search *s, guint way)
{
	s->time = way < 4 ? s->real : s->even;
	s->most_idle = 0;
	s->failed = FALSE;
	begin(s);
	warm_up(s);
	for (guint round = 0; round < 2 * s->x->count && !s->failed; round++) {
		run_backwards(s, !(way & 2));
		run_forwards(s, !(way & 1));
	}
	for (guint r = 0; r < s->x->ranks && !s->failed; r++)
		while (next_weight(s, r) < CODES)
			run_op(s, r, next_weight(s, r));
	return !s->failed;
}

/* Four ways by the times of ops and, as rounds are made for stages of equal length and others leave
 * one without an input, by the averages. */
static void offer_rounds(Search *s)
{
	const gboolean differs =
		memcmp(s->real, s->even, sizeof *s->real * s->x->ranks * CODES) != 0;

	for (guint way = 0; way < (differs ? 8 : 4); way++) {
		gint64 before = G_MAXINT64;

		s->most_allowed = 0;
		memset(s->allowed, 0, sizeof *s->allowed * s->x->ranks);
		while (run_rounds(s, way) && s->most_idle < before) {
			before = s->most_allowed = s->most_idle;
			for (guint r = 0; r < s->x->ranks; r++)
				s->allowed[r] = s->ranks[r].idle;
			offer(s, s->out, way < 4 ? value(s) : run_codes(s, s->out));
			s->is_tight = way < 4 && before == 0;
			if (s->is_tight)
				return;
		}
	}
}

/* Limits ---------------------------------------------------------------------------------- */

/* The orders of the schedules of the placement that are made by hand, with split backwards. */
static GPtrArray *find_hands(
	const PipesimInstance *x, const PipesimShape *shape, const PipesimTimes *times)
{
	const PipesimSchedule *const *start = pipesim_schedule_zb_v_auto.starts;
	GPtrArray *hands = g_ptr_array_new_with_free_func(g_free);
	const gsize n = (gsize)x->ranks * x->per_rank;

	for (; *start != NULL && n <= LONG; start++) {
		const gboolean takes = (*start)->check == NULL || (*start)->check(shape, NULL);
		g_autoptr(PipesimOrder) order =
			takes ? pipesim_schedule_order(*start, shape, times, NULL) : NULL;
		g_autoptr(PipesimProgram) program =
			order != NULL ? pipesim_order_expand(order, NULL) : NULL;
		g_autofree guint8 *codes = g_new(guint8, n);

		if (program == NULL || !pipesim_instance_codes(x, program, codes))
			continue;
		for (gsize i = 0; i < n; i++)
			codes[i] &= PIPESIM_CODE_MASK;
		g_ptr_array_add(hands, g_steal_pointer(&codes));
	}
	return hands;
}

/* The shortest, there and back by its own times. */
static void justify(Search *s)
{
	const guint noisy = NOISY_OPS / (2 * (guint)s->n);

	if (s->makespan == G_MAXINT64 || s->is_tight)
		return;
	run_codes(s, s->best);
	pipesim_justifier_begin(&s->justifier, s->best, s->start, s->end);
	for (guint pass = 0; pass < PASSES + noisy; pass++)
		pipesim_justifier_run(&s->justifier, pass >= PASSES);
	pipesim_justifier_codes(&s->justifier, s->out);
	offer_codes(s, s->out);
}

static void set_limit(Search *s, guint chunks)
{
	s->limit = s->held * chunks;
	for (guint r = 0; r < s->x->ranks; r++)
		s->x->room[0].limit[r] = s->limit;
}

/* Within limits from the lowest up to that asked for, counted in chunks that a rank holds: up to
 * what 1F1B holds by eighths of that, where rounds come to no end unless they are all there are,
 * and from there on one by one, of long orders few. Each begins with the shortest order so far. */
static void search(Search *s, const GPtrArray *hands, guint top)
{
	const gboolean is_long = s->n > LONG;
	const guint usual = 2 * s->x->ranks, all = 2 * s->x->count;
	const guint part = MAX(usual / 8, 1);
	guint chunks = is_long ? usual : usual % part + part, justified = 0;

	for (chunks = MIN(chunks, all); chunks <= top;
		chunks = MIN(chunks, is_long ? top : all)) {
		set_limit(s, chunks == all ? MAX(all, usual) : chunks);
		if (chunks >= usual || chunks == all)
			offer_rounds(s);
		for (guint i = 0; i < hands->len; i++)
			offer_codes(s, hands->pdata[i]);
		if (!is_long && (chunks >= justified + part || chunks == all)) {
			justify(s);
			justified = chunks;
		}
		if (chunks == top || s->is_tight)
			return;
		chunks += chunks < usual ? part : MAX(chunks / (is_long ? 2 : 64), 1);
	}
}

static void look(gpointer data, const guint8 *codes)
{
	offer(data, codes, run_codes(data, codes));
}

/* The shortest unit of one micro-batch, repeated, where less than what 1F1B holds is asked for: what is made by hand, and
 * put together anew from there, takes up to 25 % longer. From five eighths of that on this is not so, but of long
 * orders, which nothing else is searched for. */
static void search_units(Search *s, guint top)
{
	const gboolean is_long = s->n > LONG;
	const guint usual = 2 * s->x->ranks, part = MAX(usual / 16, 1);
	const PipesimFoldLook how = {
		.most_visits = is_long ? LONG_VISITS : UNIT_VISITS, .look = look, .data = s};
	/* V-Min holds the former. */
	const guint least = 2 * ((s->x->ranks + 1) / 3 + 1),
		    last = is_long ? top : MIN(top, usual * 5 / 8);
	const gboolean helps =
		!s->is_tight && top >= least && top < usual && s->x->ranks <= UNIT_RANKS;
	PipesimFold *fold = helps ? pipesim_fold_new(s->x) : NULL;
	g_autofree guint8 *best = NULL;
	const gint64 before = s->makespan;

	if (fold == NULL)
		return;
	best = g_memdup2(s->best, s->n);
	s->makespan = G_MAXINT64;
	for (guint chunks = is_long ? top : least; chunks <= last; chunks += part) {
		set_limit(s, chunks);
		pipesim_fold_search(fold, s->out, &how);
		if (!is_long)
			justify(s);
	}
	pipesim_fold_free(fold);
	if (before <= s->makespan) {
		s->makespan = before;
		memcpy(s->best, best, s->n);
	}
}

static gboolean reserve(Search *s, PipesimArena *arena, GError **error)
{
	const PipesimInstance *x = s->x;
	const guint codes = x->ranks * CODES;
	gint64 sum[PIPESIM_CODE_KINDS] = {0};

	s->n = (gsize)x->ranks * x->per_rank;
	s->held = x->room[0].held[0];
	s->freed = x->room[0].freed[0];
	s->from = pipesim_arena_array(arena, guint32, codes);
	s->hop = pipesim_arena_array(arena, gint64, codes);
	s->real = pipesim_arena_array(arena, gint64, codes);
	s->even = pipesim_arena_array(arena, gint64, codes);
	s->done = pipesim_arena_array(arena, guint, codes);
	s->ranks = pipesim_arena_array(arena, Rank, x->ranks);
	s->allowed = pipesim_arena_array(arena, gint64, x->ranks);
	s->turn = pipesim_arena_array(arena, guint8, x->ranks);
	s->start = pipesim_arena_array(arena, gint64, s->n);
	s->out = pipesim_arena_array(arena, guint8, s->n);
	s->best = pipesim_arena_array(arena, guint8, s->n);
	if (s->n <= LONG)
		pipesim_justifier_init(&s->justifier, x, 0, 0, arena);
	if (!pipesim_arena_check(arena, error,
		    "the orders that a search tries, of %u micro-batches over %u ranks,",
		    x->count, x->ranks))
		return FALSE;
	for (guint code = 0; code < codes; code++) {
		s->from[code] = pipesim_instance_input(x, code, &s->hop[code]);
		s->real[code] = x->time[code % x->kinds][code / x->kinds];
		sum[code % x->kinds] += s->real[code];
	}
	for (guint code = 0; code < codes; code++)
		s->even[code] = sum[code % x->kinds] / x->lanes;
	return TRUE;
}

static gboolean plan(const PipesimShape *shape, const PipesimTimes *times, PipesimEmitter *out,
	GError **error)
{
	static const PipesimCosts none = {0};
	const PipesimInstanceOf of = {.shape = shape,
		.times = times,
		.costs = &none,
		.max_activations = shape->max_activations};
	g_autoptr(PipesimInstance) x = pipesim_instance_new(&of, error);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Search s = {.x = x, .makespan = G_MAXINT64, .by_span = times->post_validation};

	if (x == NULL || !reserve(&s, arena, error))
		return FALSE;
	g_autoptr(GPtrArray) hands = find_hands(x, shape, times);
	guint top = (guint)MIN(x->room[0].limit[0] / s.held, 2 * (gint64)x->count);
	search(&s, hands, top);
	if (!shape->by_rules)
		search_units(&s, top);
	if (s.makespan == G_MAXINT64)
		return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
			"the search finds no order of %u micro-batches over %u ranks within "
			"its limit",
			x->count, x->ranks);
	pipesim_emit_sequences(out, s.best, x->ranks, x->per_rank, verbs);
	return TRUE;
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
		"turned round on the last. The order is searched from the times of every stage "
		"and of messages, within the activations that a rank may hold: orders made by "
		"hand, rounds of one backward for input and one forward with weight gradients "
		"in the gaps, and with little memory the shortest unit of one micro-batch, "
		"repeated, are put together anew, every op as late and then as early as can "
		"be. The order suits these times only; other times need a new search.",
	.reference = "Qi et al., Pipeline Parallelism with Controllable Memory, "
		     "arXiv:2405.15362; the zero-bubble authors' zbv.py; Valls, Ballestin and "
		     "Quintanilla, Justification and RCPSP (2005)",
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
		 "until the first I; F, I and W in turn; the remaining I and W after the last "
		 "F.\n\nThe search goes up from the tightest limit, and within each it begins "
		 "with what it found within those below, so no order is longer with more "
		 "memory. First are the orders of 1f1b-v, zb-v, v-half and v-min that fit, "
		 "from PP on the zero-bubble authors' rounds too: with four ways to decide "
		 "about weight gradients that do not quite fit before an arrival, each "
		 "repeated with the idle times that it ended with, and with average times "
		 "where stages differ. The shortest is put together anew, also with times that "
		 "are a little off at random, always the same; but where all ranks have more "
		 "than 16384 ops. Up to five eighths of PP, of long steps up to PP but within "
		 "that limit alone, and up to 256 ranks, all ways to put the ranks of a V "
		 "together from the fold outwards are looked at for the shortest unit of one "
		 "micro-batch, which is repeated.\n\nFinally the orders of 1f1b-v, zb-v, "
		 "v-half and v-min that fit are simulated under the rules of --runtime and "
		 "over the links of the run, and the shortest is taken; a note says which.",
};
