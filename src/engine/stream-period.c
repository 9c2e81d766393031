/* A recorded superstep becomes straight-line code for the loops of all ranks at once: software
 * pipelining. It runs pass after pass, or leaps over passes that only add a constant.
 *
 * The tape has the ops of a superstep as they ran: in a topological order. A step of it is
 *
 *	state[rank] = max(state[rank], state[message in]) + duration
 *	state[message out] = state[rank] + hop
 *
 * In max-plus algebra, where max adds and + multiplies, it is a sparse matrix, and a pass their
 * product: it maps the state before it to the state after it. Every message has a slot of the
 * state of its own. One that is taken in the superstep in which it is sent needs it within a
 * pass alone; one that is taken later is carried over the border:
 *
 *	            one pass          |  the next
 *	rank 0      F5 ---- B2        |  F6 ---- B3
 *	             \                |          ^
 *	              `---- F5 -------|--.      /         both are carried, one pass old
 *	                     .-- B3 --|---\----'
 *	                    /         |    v
 *	rank 1      F4 ---- B3        |    F5 ---- B4
 *
 * Where all of a loop is sent before any of it is taken, as from one chunk of looped BFS to the
 * next, a pass sends messages that nobody takes (a log), or takes what was sent before (a
 * source). Neither is carried: a source has a slot that is filled before each pass, and a log
 * is appended to after it.
 *
 * A slot must not be written again before it was read. Where a message is carried for longer
 * than a superstep, a pass is so many supersteps that each copy of it has a slot (unrolling by
 * what software pipelining calls modulo variable expansion). */
#include "engine/stream-step.h"

/* Where nothing is waited for: before any time, and far from overflow. */
#define LONG_AGO (-PIPESIM_MAX_END)
/* Above, the state leaves the caches and unrolling no longer pays. */
#define MAX_STEPS (1u << 22)
/* Most steps of a search for what repeats: some seconds. */
#define MAX_SEARCHED ((guint64)1 << 31)

/* One op of a pass. */
typedef struct {
	gint64 duration;
	gint64 hop[2];
	guint32 rank; /* its index in the state, too */
	guint32 n; /* messages that it takes, and that it sends: none (W), one, two (a pair) */
	guint32 in[2], out[2]; /* in the state */
} Step;

/* A message at the border of two passes. */
typedef struct {
	guint32 communicator;
	guint32 age;  /* 1: the last that was produced before the border */
	guint32 slot; /* in the state */
} Carried;

/* A message of a pass that comes out of a source, or goes into a log. */
typedef struct {
	guint32 communicator;
	guint32 ahead; /* of a source: so many are taken before it in a pass */
	guint32 slot;  /* in the state */
} Outer;

typedef struct {
	PipesimStreaming *s;
	const PipesimTape *tape;
	PipesimArena *arena; /* of all arrays */
	guint32 *waiting;    /* by communicator: messages at the beginning of the superstep */
	guint32 *in_index,
		*out_index;   /* by op of the tape, [2 * op + half]: which message of the
					  superstep it takes, and sends */
	guint32 *count;       /* by communicator: messages that a superstep sends */
	guint32 *taken;       /* and takes */
	gsize *first_message; /* by communicator: index of its messages in maker */
	guint32 *maker;       /* by message of a superstep: the tape op that makes it */
	guint unroll;         /* supersteps of one pass */
	gsize n_steps, n_carried, n_sources, n_logs, n_state;
	Outer *sources, *logs; /* of a pass, in its order */
	Step *steps;           /* without any branch: what each reads and writes is known */
	Carried *carried;
	/* Times at which ranks are free; that of what nobody sends; those at which messages are
	 * there. */
	gint64 *state;
} Period;

static const PipesimStreamVerb *verb_of(const Period *period, gsize op)
{
	return &period->s->verbs[period->tape->ops[op].verb];
}

static void count_messages(Period *p)
{
	const guint n = 2 * p->s->n_places;
	gsize total = 0;

	for (gsize op = 0; op < p->tape->n; op++)
		for (guint half = 0; half < 2; half++) {
			const PipesimStreamVerb *verb = verb_of(p, op);

			if (verb->in[half] != PIPESIM_NO_COMMUNICATOR)
				p->in_index[2 * op + half] = p->taken[verb->in[half]]++;
			if (verb->out[half] != PIPESIM_NO_COMMUNICATOR)
				p->out_index[2 * op + half] = p->count[verb->out[half]]++;
		}
	for (guint i = 0; i < n; i++) {
		const PipesimCommunicator *communicator = &p->s->communicators[i];

		/* Of those whose messages are taken as fast as they are sent. */
		p->waiting[i] = communicator->produced - communicator->consumed;
		p->first_message[i] = total;
		total += p->count[i];
	}
	for (gsize op = 0; op < p->tape->n; op++)
		for (guint half = 0; half < 2; half++) {
			const guint32 out = verb_of(p, op)->out[half];

			if (out != PIPESIM_NO_COMMUNICATOR)
				p->maker[p->first_message[out] + p->out_index[2 * op + half]] =
					(guint32)op;
		}
}

static gboolean is_source(const Period *p, guint32 communicator)
{
	return p->count[communicator] == 0;
}

/* Who makes what @op takes: an op of the tape, @back supersteps ago. */
static guint32 maker_of(const Period *p, gsize op, guint half, guint32 *back)
{
	const guint32 in = verb_of(p, op)->in[half];
	const guint32 waiting = p->waiting[in], index = p->in_index[2 * op + half];
	const guint32 count = p->count[in];

	*back = index >= waiting ? 0 : (waiting - index + count - 1) / count;
	return p->maker[p->first_message[in] + (index + *back * count - waiting)];
}

/* The slot of what step @at takes. */
static guint32 find_input(Period *p, gsize at, guint half)
{
	const gsize n = p->tape->n, op = at % n;
	const guint32 turn = (guint32)(at / n), in = verb_of(p, op)->in[half];
	guint32 back, slot;

	if (in == PIPESIM_NO_COMMUNICATOR)
		return p->s->order->shape.ranks;
	if (is_source(p, in)) {
		p->sources[p->n_sources++] = (Outer){
			.communicator = in,
			.ahead = turn * p->taken[in] + p->in_index[2 * op + half],
			.slot = (guint32)p->n_state,
		};
		return (guint32)p->n_state++;
	}
	gsize maker = maker_of(p, op, half, &back);
	const Step *source =
		&p->steps[(turn + (back > turn ? p->unroll : 0) - back) * n + maker];
	slot = source->out[source->n == 2 ? half : 0];
	if (back > turn)
		p->carried[p->n_carried++] = (Carried){
			.communicator = in,
			.age = p->waiting[in] - p->in_index[2 * op + half] -
			       turn * p->count[in],
			.slot = slot,
		};
	return slot;
}

static void make_steps(Period *p)
{
	p->n_state = p->s->order->shape.ranks + 1;
	for (gsize at = 0; at < p->n_steps; at++) {
		const PipesimTapeOp *op = &p->tape->ops[at % p->tape->n];
		const PipesimStreamVerb *verb = &p->s->verbs[op->verb];
		Step *step = &p->steps[at];

		step->duration = op->duration;
		step->rank = op->rank;
		for (guint half = 0; half < 2; half++)
			if (verb->place[half] != PIPESIM_NO_COMMUNICATOR) {
				const guint32 out = verb->out[half];

				if (out != PIPESIM_NO_COMMUNICATOR && p->taken[out] == 0)
					p->logs[p->n_logs++] = (Outer){.communicator = out,
						.slot = (guint32)p->n_state};
				step->hop[step->n] = verb->hop[half];
				step->out[step->n++] = (guint32)p->n_state++;
			}
	}
	for (gsize at = 0; at < p->n_steps; at++) {
		const guint32 *place = verb_of(p, at % p->tape->n)->place;
		Step *step = &p->steps[at];

		if (place[0] != PIPESIM_NO_COMMUNICATOR)
			step->in[0] = find_input(p, at, 0);
		if (place[1] != PIPESIM_NO_COMMUNICATOR)
			step->in[step->n - 1] = find_input(p, at, 1);
	}
}

/* FALSE where that would not pay or does not fit. */
static gboolean compile(Period *p)
{
	const gsize n_communicators = 2 * (gsize)p->s->n_places;

	p->waiting = pipesim_arena_array(p->arena, guint32, n_communicators);
	p->in_index = pipesim_arena_array(p->arena, guint32, 2 * p->tape->n + 1);
	p->out_index = pipesim_arena_array(p->arena, guint32, 2 * p->tape->n + 1);
	p->count = pipesim_arena_array(p->arena, guint32, n_communicators);
	p->taken = pipesim_arena_array(p->arena, guint32, n_communicators);
	p->first_message = pipesim_arena_array(p->arena, gsize, n_communicators);
	p->maker = pipesim_arena_array(p->arena, guint32, 2 * p->tape->n + 1);
	if (p->tape->n == 0 || p->tape->too_long || p->maker == NULL)
		return FALSE;
	count_messages(p);
	/* Each communicator is a log, a source, or one whose messages are taken as fast as they are sent. */
	for (guint i = 0; i < n_communicators; i++)
		if ((p->count[i] == 0) == (p->taken[i] == 0) &&
			(p->count[i] != p->taken[i] || p->s->communicators[i].stretch != NULL))
			return FALSE;
	/* A message must not be made again before it was taken: so many copies of it are
	 * needed. */
	p->unroll = 1;
	for (gsize op = 0; op < p->tape->n; op++)
		for (guint half = 0; half < 2; half++) {
			guint32 back, maker;

			if (verb_of(p, op)->in[half] == PIPESIM_NO_COMMUNICATOR ||
				is_source(p, verb_of(p, op)->in[half]))
				continue;
			maker = maker_of(p, op, half, &back);
			p->unroll = MAX(p->unroll, back + (maker < op));
		}
	p->n_steps = p->tape->n * p->unroll;
	if (p->n_steps > MAX_STEPS)
		return FALSE;
	p->steps = pipesim_arena_array(p->arena, Step, p->n_steps);
	p->carried = pipesim_arena_array(p->arena, Carried, 2 * p->n_steps);
	p->sources = pipesim_arena_array(p->arena, Outer, 2 * p->n_steps);
	p->logs = pipesim_arena_array(p->arena, Outer, 2 * p->n_steps);
	if (p->logs == NULL)
		return FALSE;
	make_steps(p);
	p->state = pipesim_arena_array(p->arena, gint64, p->n_state);
	return p->state != NULL;
}

/* What a message at the border is in its communicator. */
static gint64 *find_carried(const Period *p, const Carried *carried)
{
	const PipesimCommunicator *communicator = &p->s->communicators[carried->communicator];

	return &communicator
			->ring[(communicator->produced - carried->age) & communicator->mask];
}

/* After so many supersteps. */
static void store(const Period *p, PipesimStreaming *s, guint64 supersteps)
{
	for (guint rank = 0; rank < s->order->shape.ranks; rank++) {
		PipesimStreamRank *r = &s->ranks[rank];
		const PipesimLoop *loop = &s->order->loops[r->loop];
		const guint64 rounds = supersteps * r->step;

		r->time = p->state[rank];
		r->n_ran += rounds * loop->n;
		r->limit += rounds * loop->n;
		r->round += (guint32)rounds;
		if (r->round == loop->count) {
			r->round = 0;
			r->loop++;
		}
	}
	/* Logs and sources have been. */
	for (guint i = 0; i < 2 * s->n_places; i++)
		if (p->count[i] == p->taken[i]) {
			s->communicators[i].produced += (guint32)supersteps * p->count[i];
			s->communicators[i].consumed += (guint32)supersteps * p->count[i];
		}
	for (gsize op = 0; op < p->tape->n; op++)
		for (guint half = 0; half < 2; half++)
			if (verb_of(p, op)->place[half] != PIPESIM_NO_COMMUNICATOR)
				s->done[verb_of(p, op)->place[half]] += (guint32)supersteps;
	for (gsize i = 0; i < p->n_carried; i++)
		*find_carried(p, &p->carried[i]) = p->state[p->carried[i].slot];
}

static void take_from_sources(Period *p)
{
	for (gsize i = 0; i < p->n_sources; i++) {
		const Outer *source = &p->sources[i];

		p->state[source->slot] = pipesim_communicator_peek(
			&p->s->communicators[source->communicator], source->ahead);
	}
}

/* What @passes passes take out of their sources, that have been filled from. */
static void leave_sources(Period *p, guint64 passes)
{
	for (gsize i = 0; i < p->n_sources; i++)
		if (p->sources[i].ahead == 0) {
			const guint32 communicator = p->sources[i].communicator;

			pipesim_communicator_skip(&p->s->communicators[communicator],
				(guint32)passes * p->unroll * p->taken[communicator]);
		}
}

static void append_to_logs(Period *p)
{
	for (gsize i = 0; i < p->n_logs && !p->s->no_memory; i++)
		pipesim_streaming_put(p->s, &p->s->communicators[p->logs[i].communicator],
			p->state[p->logs[i].slot]);
}

static void run_pass(Period *p)
{
	gint64 *state = p->state;

	take_from_sources(p);
	for (const Step *step = p->steps; step < p->steps + p->n_steps; step++) {
		gint64 time = state[step->rank];

		for (guint i = 0; i < step->n; i++)
			time = MAX(time, state[step->in[i]]);
		time += step->duration;
		state[step->rank] = time;
		for (guint i = 0; i < step->n; i++)
			state[step->out[i]] = time + step->hop[i];
	}
	leave_sources(p, 1);
	append_to_logs(p);
}

/* Leaps ------------------------------------------------------------------------------------ */

/* Sums and largest values alone make a pass: where the state has grown by a rate for each
 * entry, and no largest value changes hands, it grows so again. Proven by a repetition that
 * runs with rates beside times:
 *
 *	pass     at            at + n          at + 2n                    lasts
 *	state    kept ...      kept + rate     kept + 2 rate   . . . . .  kept + k rate
 *	         `- looks alike -'`- prove() ----'`- leap() ------------'
 *
 * A rival that grows faster than the larger of two says for how many repetitions that holds. */

/* Passes for ever, as far as a step can last. */
#define FOR_EVER G_MAXUINT64

typedef struct {
	Period *period;
	gint64 *kept;  /* the state at pass @kept_at */
	gint64 *rate;  /* by state: what one repetition adds */
	gint64 *grown; /* the same after the repetition that proves it */
	guint64 at, kept_at, span;
	guint64 least;   /* shortest repetition that is tried next */
	guint64 proving; /* passes spent on proofs */
	guint64 lasts;   /* repetitions for which the last proof holds */
	/* What a repetition adds to each message that went into logs in the last proof, pass by
	 * pass as in Period.logs. Owned. */
	gint64 *logged;
} Leaper;

/* Whether since the kept state all times that a rank wrote grew alike. */
static gboolean looks_alike(const Leaper *leaper)
{
	const Period *period = leaper->period;
	const gint64 *state = period->state, *kept = leaper->kept;

	for (gsize i = 0; i < period->n_steps; i++) {
		const Step *step = &period->steps[i];

		for (guint k = 0; k < step->n; k++)
			if (state[step->out[k]] - kept[step->out[k]] !=
				state[step->rank] - kept[step->rank])
				return FALSE;
	}
	return TRUE;
}

/* The larger of two times that grow; how long it stays the larger. */
static inline void larger(Leaper *leaper, gint64 *time, gint64 *rate, guint32 other)
{
	const gint64 rival = leaper->period->state[other], its = leaper->grown[other];
	const gboolean wins = rival > *time || (rival == *time && its > *rate);
	const gint64 ahead = wins ? rival - *time : *time - rival;
	const gint64 faster = wins ? *rate - its : its - *rate;

	if (faster > 0)
		leaper->lasts = MIN(leaper->lasts, (guint64)(ahead / faster));
	*time = wins ? rival : *time;
	*rate = wins ? its : *rate;
}

static void keep(Leaper *leaper)
{
	memcpy(leaper->kept, leaper->period->state,
		leaper->period->n_state * sizeof *leaper->kept);
	leaper->kept_at = leaper->at;
}

/* What a source gives next. */
typedef struct {
	const PipesimStretch *stretch; /* NULL: it is not told yet */
	guint32 at;
	guint64 shift; /* by so much of it a repetition goes on */
} Supply;

static Supply supply_of(const Period *p, const Outer *source, guint64 passes)
{
	Supply supply = {.shift = passes * p->unroll * p->taken[source->communicator]};

	supply.stretch = pipesim_communicator_find(
		&p->s->communicators[source->communicator], source->ahead, &supply.at);
	return supply;
}

/* Of a stretch: whether everything that sources hold for two repetitions of @passes goes on
 * alike. *@later: it may where a repetition has more passes. */
static gboolean sources_repeat(const Period *p, guint64 passes, gboolean *later)
{
	*later = TRUE;
	for (gsize i = 0; i < p->n_sources; i++) {
		const Supply next = supply_of(p, &p->sources[i], passes);

		if (next.stretch == NULL || next.at + 2 * next.shift >= next.stretch->length)
			*later = FALSE;
		if (!*later || next.shift % next.stretch->n != 0)
			return FALSE;
	}
	return TRUE;
}

/* Fills sources, with what a repetition of @passes adds to what comes out of them: they repeat
 * to the end of a stretch. */
static void take_with_rates(Leaper *leaper, guint64 passes)
{
	Period *p = leaper->period;

	take_from_sources(p);
	for (gsize i = 0; i < p->n_sources; i++) {
		const Outer *source = &p->sources[i];
		const Supply next = supply_of(p, source, passes);
		const PipesimStretch *stretch = next.stretch;

		leaper->lasts =
			MIN(leaper->lasts, (stretch->length - 1 - next.at) / next.shift);
		leaper->grown[source->slot] =
			(gint64)(next.shift / stretch->n) * stretch->rate[next.at % stretch->n];
	}
}

/* Runs one more repetition with rates beside times. Whether it added what they say and left
 * them as they were: then it goes on like that leaper->lasts times. */
static gboolean prove(Leaper *leaper, guint64 passes)
{
	Period *period = leaper->period;
	const gsize n = period->n_state;
	gint64 *state = period->state, *grown = leaper->grown;

	for (gsize i = 0; i < n; i++)
		leaper->rate[i] = state[i] - leaper->kept[i];
	memcpy(grown, leaper->rate, n * sizeof *grown);
	keep(leaper);
	leaper->lasts = FOR_EVER;
	for (guint64 pass = 0; pass < passes; pass++) {
		take_with_rates(leaper, passes);
		for (const Step *step = period->steps; step < period->steps + period->n_steps;
			step++) {
			gint64 time = state[step->rank], rate = grown[step->rank];

			for (guint i = 0; i < step->n; i++)
				larger(leaper, &time, &rate, step->in[i]);
			time += step->duration;
			state[step->rank] = time;
			grown[step->rank] = rate;
			for (guint i = 0; i < step->n; i++) {
				state[step->out[i]] = time + step->hop[i];
				grown[step->out[i]] = rate;
			}
		}
		leave_sources(period, 1);
		append_to_logs(period);
		for (gsize i = 0; i < period->n_logs; i++)
			leaper->logged[pass * period->n_logs + i] = grown[period->logs[i].slot];
	}
	leaper->at += passes;
	leaper->proving += passes;
	return pipesim_all(i, n,
		grown[i] == leaper->rate[i] && state[i] - leaper->kept[i] == leaper->rate[i]);
}

/* Into each log what @repetitions of the last proof put there, of @passes each. FALSE where
 * memory does not suffice. */
static gboolean leap_logs(Leaper *leaper, guint64 passes, guint64 repetitions)
{
	Period *p = leaper->period;

	for (gsize first = 0; first < p->n_logs && repetitions > 0; first++) {
		PipesimCommunicator *communicator =
			&p->s->communicators[p->logs[first].communicator];
		const guint32 each = p->unroll * p->count[p->logs[first].communicator];
		const guint32 n = (guint32)passes * each;
		PipesimStretch *stretch, **end = &communicator->stretch;
		guint32 at = 0;
		gboolean again = FALSE;

		for (gsize i = 0; i < first && !again; i++)
			again = p->logs[i].communicator == p->logs[first].communicator;
		if (again)
			continue;
		stretch = pipesim_arena_array(p->s->arena, PipesimStretch, 1);
		if (stretch == NULL)
			return FALSE;
		*stretch = (PipesimStretch){.at = communicator->produced,
			.length = n * (guint32)repetitions,
			.n = n,
			.first = pipesim_arena_array(p->s->arena, gint64, n),
			.rate = pipesim_arena_array(p->s->arena, gint64, n)};
		if (stretch->first == NULL || stretch->rate == NULL)
			return FALSE;
		for (guint64 pass = 0; pass < passes; pass++)
			for (gsize i = first; i < p->n_logs; i++)
				if (p->logs[i].communicator == p->logs[first].communicator)
					stretch->rate[at++] =
						leaper->logged[pass * p->n_logs + i];
		for (guint32 i = 0; i < n; i++)
			stretch->first[i] =
				communicator->ring[(communicator->produced - n + i) &
						   communicator->mask] +
				stretch->rate[i];
		while (*end != NULL)
			end = &(*end)->next;
		*end = stretch;
	}
	return TRUE;
}

/* One proof and the leap that it allows. */
static void try_leap(Leaper *leaper, guint64 end, PipesimSteady *steady)
{
	const guint64 passes = leaper->at - leaper->kept_at, begin = leaper->kept_at;
	const gsize n = leaper->period->n_state;
	gint64 *state = leaper->period->state;
	guint64 repetitions;
	gboolean later;

	if (!sources_repeat(leaper->period, passes, &later)) {
		if (later)
			return;
		keep(leaper);
		leaper->span = 1;
		return;
	}
	/* A proof costs about three times its passes: never more than the run itself. */
	if (passes < leaper->least || passes > end - leaper->at ||
		leaper->proving + passes > leaper->at + 8)
		return;
	/* Where ranks hardly depend on each other everything looks alike: then in turn. */
	leaper->least = passes + 1;
	g_free(leaper->logged);
	leaper->logged = g_try_new(gint64, passes * leaper->period->n_logs);
	if (leaper->logged == NULL && leaper->period->n_logs > 0)
		return;
	if (prove(leaper, passes)) {
		repetitions = MIN(leaper->lasts, (end - leaper->at) / passes);
		if (leaper->lasts == FOR_EVER && !steady->found) {
			steady->found = TRUE;
			steady->transient = begin * leaper->period->unroll;
			steady->period = passes * leaper->period->unroll;
			for (gsize i = 0; i < n; i++)
				steady->time = MAX(steady->time, leaper->rate[i]);
		}
		for (gsize i = 0; i < n; i++)
			state[i] += (gint64)repetitions * leaper->rate[i];
		leave_sources(leaper->period, repetitions * passes);
		if (!leap_logs(leaper, passes, repetitions))
			leaper->period->s->no_memory = TRUE;
		leaper->at += repetitions * passes;
		leaper->least = 1;
	}
	keep(leaper);
	leaper->span = 1;
}

/* FALSE where nothing repeats in time. */
static gboolean jump(Leaper *leaper, guint64 passes, PipesimSteady *steady)
{
	Period *period = leaper->period;

	/* After one pass every slot holds what a pass writes. */
	run_pass(period);
	leaper->at = leaper->span = 1;
	keep(leaper);
	for (guint64 left = MAX_SEARCHED / period->n_steps;
		leaper->at < passes && !period->s->no_memory; left--) {
		if (left == 0)
			return FALSE;
		run_pass(period);
		leaper->at++;
		if (looks_alike(leaper)) {
			try_leap(leaper, passes, steady);
		} else if (leaper->at - leaper->kept_at >= leaper->span) {
			keep(leaper);
			leaper->span *= 2;
		}
	}
	return TRUE;
}

gboolean pipesim_period_run(
	PipesimStreaming *s, const PipesimTape *tape, guint64 supersteps, PipesimSteady *steady)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Period period = {.s = s, .tape = tape, .arena = arena};
	Leaper leaper = {.period = &period};

	if (!compile(&period))
		return TRUE;
	leaper.kept = pipesim_arena_array(arena, gint64, period.n_state);
	leaper.rate = pipesim_arena_array(arena, gint64, period.n_state);
	leaper.grown = pipesim_arena_array(arena, gint64, period.n_state);
	/* As much as sources have. */
	for (guint i = 0; i < 2 * s->n_places; i++)
		if (period.taken[i] > 0 && is_source(&period, i))
			supersteps = MIN(
				supersteps, pipesim_communicator_waiting(&s->communicators[i]) /
						    period.taken[i]);
	guint64 passes = supersteps / period.unroll;
	if (leaper.grown == NULL || passes == 0)
		return TRUE;
	for (gsize i = 0; i < period.n_state; i++)
		period.state[i] = i < s->order->shape.ranks ? s->ranks[i].time : LONG_AGO;
	for (gsize i = 0; i < period.n_carried; i++)
		period.state[period.carried[i].slot] =
			*find_carried(&period, &period.carried[i]);
	gboolean found = jump(&leaper, passes, steady);
	g_free(leaper.logged);
	if (!found)
		return FALSE;
	store(&period, s, passes * period.unroll);
	return TRUE;
}
