/* A recorded superstep becomes straight-line code for the loops of all ranks at once: software
 * pipelining.
 *
 * The tape has the ops of a superstep as they ran: in a topological order. A step of it is
 *
 *	state[rank] = max(state[rank], state[message in]) + duration
 *	state[message out] = state[rank] + hop
 *
 * In max-plus algebra, where max adds and + multiplies, it is a sparse matrix, and a pass their
 * product: it maps the state before it to the state after it. Every message has a slot of the
 * state of its own. One that is taken in the superstep in which it is sent needs it within a pass
 * alone; one that is taken later is carried over the border:
 *
 *	            one pass          |  the next
 *	rank 0      F5 ---- B2        |  F6 ---- B3
 *	             \                |          ^
 *	              `---- F5 -------|--.      /         both are carried, one pass old
 *	                     .-- B3 --|---\----'
 *	                    /         |    v
 *	rank 1      F4 ---- B3        |    F5 ---- B4
 *
 * A slot must not be written again before it was read. Where a message is carried for longer than
 * a superstep, a pass is so many supersteps that each copy of it has a slot (unrolling by what
 * software pipelining calls modulo variable expansion).
 *
 * The level of a step is its longest path, in steps, from the beginning of the pass. Steps of one
 * level do not depend on each other: those of one kind on neighbouring ranks are given
 * neighbouring indices, so that a stretch of them is one loop over vectors. */
#include "config.h"

#include "engine/stream-period.h"
#include <string.h>

#define NOBODY G_MAXUINT32
/* Above, the array of times leaves the caches and unrolling no longer pays. */
#define MAX_STEPS (1u << 22)

typedef struct {
	const PipesimStreaming *s;
	const PipesimTape *tape;
	PipesimPeriod *period;
	PipesimArena *arena;          /* of all that follows */
	guint32 *consumed, *produced; /* by channel: at the beginning of the superstep */
	guint32 *count;               /* by channel: messages of a superstep */
	gsize *first_message;         /* by channel: index of its messages in maker and taker */
	guint32 *maker;               /* by message of a superstep: the tape op that makes it */
	guint32 *place;               /* by op of the pass in tape order: its step */
	guint32 *level;               /* by op of the pass in tape order */
	guint32 *rank_level;
} Compiler;

static const PipesimStreamVerb *verb_of(const Compiler *c, gsize op)
{
	return &c->s->verbs[c->tape->ops[op].verb];
}

/* Counters at the beginning are those of the first op that uses a channel. */
static void count_messages(Compiler *c)
{
	const guint n = 2 * c->s->n_places;
	gsize total = 0;

	for (guint i = 0; i < n; i++) {
		c->consumed[i] = c->s->channels[i].consumed;
		c->produced[i] = c->s->channels[i].produced;
	}
	for (gsize op = c->tape->n; op-- > 0;)
		for (guint half = 0; half < 2; half++) {
			const PipesimStreamVerb *verb = verb_of(c, op);

			if (verb->in[half] != PIPESIM_NO_CHANNEL)
				c->consumed[verb->in[half]] = c->tape->ops[op].consumed[half];
			if (verb->out[half] != PIPESIM_NO_CHANNEL)
				c->produced[verb->out[half]] = c->tape->ops[op].produced[half];
		}
	for (guint i = 0; i < n; i++) {
		c->count[i] = c->s->channels[i].produced - c->produced[i];
		c->first_message[i] = total;
		total += c->count[i];
	}
	for (gsize op = 0; op < c->tape->n; op++)
		for (guint half = 0; half < 2; half++) {
			const guint32 out = verb_of(c, op)->out[half];

			if (out != PIPESIM_NO_CHANNEL)
				c->maker[c->first_message[out] +
					 (c->tape->ops[op].produced[half] - c->produced[out])] =
					(guint32)op;
		}
}

/* Who makes what @op takes: an op of the tape, @back supersteps ago. */
static guint32 maker_of(const Compiler *c, gsize op, guint half, guint32 *back)
{
	const guint32 in = verb_of(c, op)->in[half];
	const guint32 waiting = c->produced[in] - c->consumed[in];
	const guint32 index = c->tape->ops[op].consumed[half] - c->consumed[in];
	const guint32 count = c->count[in];

	*back = index >= waiting ? 0 : (waiting - index + count - 1) / count;
	return c->maker[c->first_message[in] + (index + *back * count - waiting)];
}

/* The op of the pass that makes what op @at takes; *@earlier: in the pass before. */
static gsize source_of(const Compiler *c, gsize at, guint half, gboolean *earlier)
{
	const gsize n = c->tape->n, unroll = c->period->unroll;
	const gsize turn = at / n;
	guint32 back;
	const gsize maker = maker_of(c, at % n, half, &back);

	*earlier = back > turn;
	return (turn + (*earlier ? unroll : 0) - back) * n + maker;
}

/* Every op stands above what it waits for and above whoever takes what it overwrites. */
static void find_levels(Compiler *c)
{
	const gsize n = c->tape->n * c->period->unroll;

	for (gsize at = 0; at < n; at++) {
		const guint32 rank = c->tape->ops[at % c->tape->n].rank;
		guint32 level = MAX(c->level[at], c->rank_level[rank]);

		for (guint half = 0; half < 2; half++) {
			gboolean earlier;
			gsize source;

			if (verb_of(c, at % c->tape->n)->in[half] == PIPESIM_NO_CHANNEL)
				continue;
			source = source_of(c, at, half, &earlier);
			if (!earlier)
				level = MAX(level, c->level[source] + 1);
		}
		c->level[at] = level;
		c->rank_level[rank] = level + 1;
		for (guint half = 0; half < 2; half++) {
			gboolean earlier;
			gsize source;

			if (verb_of(c, at % c->tape->n)->in[half] == PIPESIM_NO_CHANNEL)
				continue;
			source = source_of(c, at, half, &earlier);
			if (earlier)
				c->level[source] = MAX(c->level[source], level + 1);
		}
	}
}

typedef struct {
	guint32 level, kind, rank, at;
} Key;

static int by_level(gconstpointer a, gconstpointer b)
{
	const Key *x = a, *y = b;

	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static gboolean make_steps(Compiler *c)
{
	PipesimPeriod *period = c->period;
	const gsize n = period->n_steps;
	Key *keys = pipesim_arena_array(c->arena, Key, n);

	if (keys == NULL)
		return FALSE;
	for (gsize at = 0; at < n; at++) {
		const PipesimTapeOp *op = &c->tape->ops[at % c->tape->n];
		const PipesimStreamVerb *verb = &c->s->verbs[op->verb];

		keys[at] = (Key){
			c->level[at], verb->kind + 8u * verb->chunk, op->rank, (guint32)at};
	}
	qsort(keys, n, sizeof *keys, by_level);
	for (gsize i = 0; i < n; i++)
		c->place[keys[i].at] = (guint32)i;
	for (gsize at = 0; at < n; at++) {
		const PipesimTapeOp *op = &c->tape->ops[at % c->tape->n];
		const PipesimStreamVerb *verb = &c->s->verbs[op->verb];
		PipesimPeriodStep *step = &period->steps[c->place[at]];

		*step = (PipesimPeriodStep){
			.duration = op->duration,
			.hop = {verb->hop[0], verb->hop[1]},
			.rank = op->rank,
			.level = c->level[at],
			.type = PIPESIM_STEP_ONE,
		};
		if (verb->kind == PIPESIM_W)
			step->type = PIPESIM_STEP_ALONE;
		if (verb->kind == PIPESIM_FB)
			step->type = PIPESIM_STEP_TWO;
		period->durations[c->place[at]] = op->duration;
		period->ran[op->rank]++;
		for (guint half = 0; half < 2; half++)
			if (verb->place[half] != PIPESIM_NO_CHANNEL)
				period->done[verb->place[half]]++;
		/* A single step has its one message at index 0. */
		if (step->type == PIPESIM_STEP_ONE &&
			pipesim_op_has_backward(&c->s->order->verbs[op->verb]))
			step->hop[0] = verb->hop[1];
	}
	return TRUE;
}

/* Whether step @i goes on where the one before it stands, messages aside. */
static gboolean continues(const PipesimPeriod *period, gsize i)
{
	const PipesimPeriodStep *a = &period->steps[i - 1], *b = &period->steps[i];

	return a->level == b->level && a->type == b->type && a->time + 1 == b->time;
}

/* Indices in the state: first of ranks, in the order of their first step; then of what steps put
 * out. Slots of neighbours stand side by side; before and behind each row is one that nothing
 * writes. */
static void number_state(PipesimPeriod *period)
{
	guint32 n = 0;

	for (guint rank = 0; rank < period->ranks; rank++)
		period->time_of[rank] = NOBODY;
	for (gsize i = 0; i < period->n_steps; i++)
		if (period->time_of[period->steps[i].rank] == NOBODY)
			period->time_of[period->steps[i].rank] = n++;
	for (guint rank = 0; rank < period->ranks; rank++)
		if (period->time_of[rank] == NOBODY)
			period->time_of[rank] = n++;
	for (gsize i = 0; i < period->n_steps; i++)
		period->steps[i].time = period->time_of[period->steps[i].rank];
	for (gsize i = 0, end; i < period->n_steps; i = end) {
		for (end = i + 1; end < period->n_steps && continues(period, end);)
			end++;
		for (guint half = 0; half < (guint)period->steps[i].type; half++) {
			n++;
			for (gsize k = i; k < end; k++)
				period->steps[k].out[half] = n++;
			n++;
		}
	}
	period->n_state = n;
}

static void link_inputs(Compiler *c)
{
	PipesimPeriod *period = c->period;

	for (gsize at = 0; at < period->n_steps; at++) {
		const PipesimTapeOp *op = &c->tape->ops[at % c->tape->n];
		const PipesimStreamVerb *verb = &c->s->verbs[op->verb];
		PipesimPeriodStep *step = &period->steps[c->place[at]];

		for (guint half = 0; half < (guint)step->type; half++) {
			const gboolean backward = step->type == PIPESIM_STEP_ONE &&
						  verb->place[0] == PIPESIM_NO_CHANNEL;
			const guint v_half = backward ? 1 : half;
			const guint32 in = verb->in[v_half];
			const PipesimPeriodStep *source;
			gboolean earlier;

			step->in[half] = NOBODY;
			if (in == PIPESIM_NO_CHANNEL)
				continue;
			source = &period->steps[c->place[source_of(c, at, v_half, &earlier)]];
			step->in[half] =
				source->out[source->type == PIPESIM_STEP_TWO ? v_half : 0];
			if (earlier)
				period->carried[period->n_carried++] = (PipesimCarried){
					.channel = in,
					.age = c->produced[in] - op->consumed[v_half] -
					       (guint32)(at / c->tape->n) * c->count[in],
					.slot = step->in[half],
				};
		}
	}
}

/* What waits for nothing reads a slot that is never written: the one beside its neighbour's
 * where that fits. */
static void fill_gaps(PipesimPeriod *period)
{
	const guint32 never = period->ranks; /* the first slot */

	for (gsize i = 0; i < period->n_state; i++)
		period->owner[i] = (guint32)i;
	for (gsize i = 0; i < period->n_steps; i++)
		for (guint half = 0; half < (guint)period->steps[i].type; half++)
			period->owner[period->steps[i].out[half]] = period->steps[i].time;
	for (gsize i = 0; i < period->n_steps; i++)
		for (guint half = 0; half < (guint)period->steps[i].type; half++) {
			PipesimPeriodStep *step = &period->steps[i];
			guint32 guess = never;

			if (step->in[half] != NOBODY)
				continue;
			if (i + 1 < period->n_steps && continues(period, i + 1) &&
				step[1].in[half] != NOBODY)
				guess = step[1].in[half] - 1;
			else if (i > 0 && continues(period, i))
				guess = step[-1].in[half] + 1;
			if (guess >= period->n_state || period->owner[guess] != guess)
				guess = never;
			step->in[half] = guess;
		}
}

static void find_stretches(PipesimPeriod *period)
{
	for (gsize i = 0; i < period->n_steps; i++) {
		const PipesimPeriodStep *step = &period->steps[i];
		gboolean goes_on = i > 0 && continues(period, i);

		for (guint half = 0; goes_on && half < (guint)step->type; half++)
			goes_on = step[-1].in[half] + 1 == step->in[half] &&
				  step[-1].hop[half] == step->hop[half];
		if (goes_on)
			period->stretches[period->n_stretches - 1].n++;
		else
			period->stretches[period->n_stretches++] =
				(PipesimStretch){(guint32)i, 1};
	}
}

static gboolean compile(Compiler *c)
{
	PipesimPeriod *period = c->period;
	PipesimArena *arena = period->arena;
	const guint n_channels = 2 * c->s->n_places;
	gsize n;

	count_messages(c);
	/* A message must not be made again before it was taken: so many copies of it are needed. */
	period->unroll = 1;
	for (gsize op = 0; op < c->tape->n; op++)
		for (guint half = 0; half < 2; half++) {
			guint32 back, maker;

			if (verb_of(c, op)->in[half] == PIPESIM_NO_CHANNEL)
				continue;
			maker = maker_of(c, op, half, &back);
			period->unroll = MAX(period->unroll, back + (maker < op));
		}
	n = period->n_steps = c->tape->n * period->unroll;
	if (n > MAX_STEPS)
		return FALSE;
	c->level = pipesim_arena_array(c->arena, guint32, n);
	c->place = pipesim_arena_array(c->arena, guint32, n);
	period->steps = pipesim_arena_array(arena, PipesimPeriodStep, n);
	period->durations = pipesim_arena_array(arena, gint64, n);
	period->stretches = pipesim_arena_array(arena, PipesimStretch, n);
	period->carried = pipesim_arena_array(arena, PipesimCarried, 2 * n);
	period->time_of = pipesim_arena_array(arena, guint32, period->ranks);
	period->ran = pipesim_arena_array(arena, guint64, period->ranks);
	period->rounds = pipesim_arena_array(arena, guint32, period->ranks);
	period->messages = pipesim_arena_array(arena, guint32, n_channels);
	period->done = pipesim_arena_array(arena, guint32, n_channels);
	if (c->place == NULL || period->done == NULL)
		return FALSE;
	find_levels(c);
	if (!make_steps(c))
		return FALSE;
	number_state(period);
	period->state = pipesim_arena_array(arena, gint64, period->n_state);
	period->owner = pipesim_arena_array(arena, guint32, period->n_state);
	if (period->owner == NULL)
		return FALSE;
	for (gsize i = 0; i < period->n_state; i++)
		period->state[i] = PIPESIM_LONG_AGO;
	link_inputs(c);
	fill_gaps(period);
	find_stretches(period);
	for (guint rank = 0; rank < period->ranks; rank++)
		period->rounds[rank] = c->s->ranks[rank].step * period->unroll;
	for (guint i = 0; i < n_channels; i++)
		period->messages[i] = c->count[i] * period->unroll;
	return TRUE;
}

PipesimPeriod *pipesim_period_new(const PipesimStreaming *s, const PipesimTape *tape)
{
	const gsize n = 2 * (gsize)s->n_places;
	g_autoptr(PipesimArena) scratch = pipesim_arena_new();
	PipesimPeriod *period = g_new0(PipesimPeriod, 1);
	Compiler c = {
		.s = s,
		.tape = tape,
		.period = period,
		.arena = scratch,
		.consumed = pipesim_arena_array(scratch, guint32, n),
		.produced = pipesim_arena_array(scratch, guint32, n),
		.count = pipesim_arena_array(scratch, guint32, n),
		.first_message = pipesim_arena_array(scratch, gsize, n),
		.maker = pipesim_arena_array(scratch, guint32, 2 * tape->n + 1),
		.rank_level = pipesim_arena_array(scratch, guint32, s->order->shape.ranks),
	};

	period->arena = pipesim_arena_new();
	period->ranks = s->order->shape.ranks;
	if (tape->n > 0 && !tape->too_long &&
		pipesim_arena_check(scratch, NULL, "supersteps") && compile(&c))
		return period;
	pipesim_period_free(period);
	return NULL;
}

void pipesim_period_free(PipesimPeriod *period)
{
	if (period == NULL)
		return;
	pipesim_arena_free(period->arena);
	g_free(period);
}

void pipesim_period_load(PipesimPeriod *period, const PipesimStreaming *s)
{
	for (guint rank = 0; rank < period->ranks; rank++)
		period->state[period->time_of[rank]] = s->ranks[rank].time;
	for (gsize i = 0; i < period->n_carried; i++) {
		const PipesimCarried *carried = &period->carried[i];
		const PipesimChannel *channel = &s->channels[carried->channel];

		period->state[carried->slot] =
			channel->ring[(channel->produced - carried->age) & channel->mask];
	}
}

void pipesim_period_store(const PipesimPeriod *period, PipesimStreaming *s, guint64 passes)
{
	for (guint rank = 0; rank < period->ranks; rank++) {
		PipesimStreamRank *r = &s->ranks[rank];

		r->time = period->state[period->time_of[rank]];
		r->n_ran += passes * period->ran[rank];
		r->round += (guint32)passes * period->rounds[rank];
		r->limit += passes * period->ran[rank];
		if (r->round == s->order->loops[r->loop].count) {
			r->round = 0;
			r->loop++;
		}
	}
	for (guint i = 0; i < 2 * s->n_places; i++) {
		s->channels[i].produced += (guint32)passes * period->messages[i];
		s->channels[i].consumed += (guint32)passes * period->messages[i];
		s->done[i] += (guint32)passes * period->done[i];
	}
	for (gsize i = 0; i < period->n_carried; i++) {
		const PipesimCarried *carried = &period->carried[i];
		PipesimChannel *channel = &s->channels[carried->channel];

		channel->ring[(channel->produced - carried->age) & channel->mask] =
			period->state[carried->slot];
	}
}
