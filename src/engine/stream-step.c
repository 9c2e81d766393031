/* Ranks that run verb by verb. The op that a verb stands for follows from how often it ran: the
 * n-th forward of a place (a chunk of a rank, hence a stage) is micro-batch n, and so is the
 * n-th backward. Nothing is looked up by micro-batch then: stages pass each other times through
 * communicators, rings in which the n-th message that is sent is the n-th that is taken.
 *
 *	stage 0            stage 1            stage 2
 *	+-----+  forward   +-----+  forward   +-----+
 *	|     | ---[t t]-> |     | ----[t]--> |     |     t: end + p2p, when it is there
 *	|     | <--[t]---- |     | <--[t t]-- |     |
 *	+-----+  backward  +-----+  backward  +-----+
 *
 * A start is the largest of when the rank is free and what it takes: the longest path up to it.
 * Ranks run as far as their communicators let them, in any order: a topological one of the ops. */
#include "engine/stream-step.h"

#define FIRST_ROOM 64 /* messages of a communicator; doubled where ranks wait for more */

static void set_half(PipesimStreaming *s, PipesimStreamVerb *verb, guint half, guint place,
	const guint32 *next, const guint32 *before)
{
	const guint32 in = half == 0 ? before[place] : next[place];
	const guint32 out = half == 0 ? next[place] : before[place];
	const guint chunks = s->order->shape.chunks;

	verb->place[half] = half * s->n_places + place;
	verb->in[half] = in == PIPESIM_NO_COMMUNICATOR ? in : half * s->n_places + in;
	if (out == PIPESIM_NO_COMMUNICATOR)
		return;
	verb->out[half] = half * s->n_places + place;
	verb->hop[half] = out / chunks == place / chunks ? 0 : s->p2p;
}

static gboolean resolve_rank(
	PipesimStreaming *s, guint rank, const guint32 *next, const guint32 *before)
{
	const PipesimOrder *order = s->order;
	const guint chunks = order->shape.chunks, first = rank * chunks;
	const gint64 *single = &s->durations.single[(gsize)first * PIPESIM_FB];
	PipesimStreamRank *r = &s->ranks[rank];
	gboolean oldest = FALSE, differ = FALSE;

	*r = (PipesimStreamRank){.loop = order->rank_begin[rank], .limit = G_MAXUINT64};
	pipesim_each_of (l, order->rank_begin, rank) {
		const PipesimLoop *loop = &order->loops[l];

		for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
			PipesimStreamVerb *verb = &s->verbs[v];
			PipesimOp op = order->verbs[v];

			*verb = (PipesimStreamVerb){
				.in = {PIPESIM_NO_COMMUNICATOR, PIPESIM_NO_COMMUNICATOR},
				.out = {PIPESIM_NO_COMMUNICATOR, PIPESIM_NO_COMMUNICATOR},
				.place = {PIPESIM_NO_COMMUNICATOR, PIPESIM_NO_COMMUNICATOR},
				.kind = op.kind,
				.chunk = op.chunk,
				.b_chunk = op.kind == PIPESIM_FB ? op.b_chunk : op.chunk,
			};
			if (op.kind == PIPESIM_W && op.chunk == PIPESIM_OLDEST) {
				oldest = TRUE;
				op.chunk = 0;
			}
			verb->duration = pipesim_durations_get(&s->durations, rank, &op);
			if (pipesim_op_has_forward(&op))
				set_half(s, verb, 0, first + verb->chunk, next, before);
			if (pipesim_op_has_backward(&op))
				set_half(s, verb, 1, first + verb->b_chunk, next, before);
		}
	}
	for (guint chunk = 1; chunk < chunks; chunk++)
		differ |= single[chunk * PIPESIM_FB + PIPESIM_W] != single[PIPESIM_W];
	if (!oldest || !differ)
		return TRUE;
	r->pending.mask = FIRST_ROOM - 1;
	r->pending.ring = pipesim_arena_array(s->arena, gint64, FIRST_ROOM);
	return r->pending.ring != NULL;
}

gboolean pipesim_streaming_init(PipesimStreaming *s, const PipesimOrder *order,
	const PipesimTimes *times, GError **error)
{
	const PipesimShape *shape = &order->shape;
	const gsize n = (gsize)shape->ranks * shape->chunks;
	const gsize n_stages = (gsize)shape->stages * shape->copies;
	g_autoptr(PipesimArena) scratch = pipesim_arena_new();
	PipesimArena *arena = pipesim_arena_new();
	guint32 *next = pipesim_arena_array(scratch, guint32, n);
	guint32 *before = pipesim_arena_array(scratch, guint32, n);
	guint32 *where = pipesim_arena_array(scratch, guint32, n_stages);

	*s = (PipesimStreaming){
		.order = order,
		.places = pipesim_program_new(shape, 0, error),
		.p2p = times->p2p,
		.n_places = (guint)n,
		.full = PIPESIM_NO_COMMUNICATOR,
		.arena = arena,
		.verbs = pipesim_arena_array(arena, PipesimStreamVerb, order->n_verbs),
		.done = pipesim_arena_array(arena, guint32, 2 * n),
		.ranks = pipesim_arena_array(arena, PipesimStreamRank, shape->ranks),
		.communicators = pipesim_arena_array(arena, PipesimCommunicator, 2 * n),
	};
	if (s->places == NULL ||
		!pipesim_durations_init(&s->durations, s->places, times, error))
		return FALSE;
	gboolean ok = where != NULL && s->communicators != NULL;
	for (guint i = 0; ok && i < 2 * n; i++) {
		s->communicators[i].mask = FIRST_ROOM - 1;
		s->communicators[i].ring = pipesim_arena_array(arena, gint64, FIRST_ROOM);
		ok = s->communicators[i].ring != NULL;
	}
	/* The places of the stage after and before each place, in its pipeline where there are
	 * several. */
	for (guint at = 0; ok && at < n; at++) {
		const gsize copy = shape->copies > 1 ? at % shape->chunks : 0;

		where[copy * shape->stages + s->places->stage_of[at]] = at;
	}
	for (gsize i = 0; ok && i < n_stages; i++) {
		const gsize stage = i % shape->stages;

		next[where[i]] =
			stage + 1 < shape->stages ? where[i + 1] : PIPESIM_NO_COMMUNICATOR;
		before[where[i]] = stage > 0 ? where[i - 1] : PIPESIM_NO_COMMUNICATOR;
	}
	for (guint rank = 0; ok && rank < shape->ranks; rank++)
		ok = resolve_rank(s, rank, next, before);
	return ok || pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ranks do not fit in memory",
			     shape->ranks);
}

void pipesim_streaming_clear(PipesimStreaming *s)
{
	pipesim_arena_free(s->arena);
	pipesim_program_unref(s->places);
	pipesim_durations_clear(&s->durations);
}

guint64 pipesim_communicator_waiting(const PipesimCommunicator *communicator)
{
	guint64 n = communicator->produced - communicator->consumed;

	for (const PipesimStretch *s = communicator->stretch; s != NULL; s = s->next)
		n += s->length - s->taken;
	return n;
}

const PipesimStretch *pipesim_communicator_find(
	const PipesimCommunicator *communicator, guint32 ahead, guint32 *index)
{
	guint32 at = communicator->consumed;

	for (const PipesimStretch *s = communicator->stretch; s != NULL && ahead >= s->at - at;
		s = s->next) {
		ahead -= s->at - at;
		at = s->at;
		if (ahead < s->length - s->taken) {
			*index = s->taken + ahead;
			return s;
		}
		ahead -= s->length - s->taken;
	}
	*index = at + ahead;
	return NULL;
}

gint64 pipesim_communicator_peek(const PipesimCommunicator *communicator, guint32 ahead)
{
	guint32 at;
	const PipesimStretch *stretch = pipesim_communicator_find(communicator, ahead, &at);

	if (stretch == NULL)
		return communicator->ring[at & communicator->mask];
	return stretch->first[at % stretch->n] +
	       (gint64)(at / stretch->n) * stretch->rate[at % stretch->n];
}

void pipesim_communicator_skip(PipesimCommunicator *communicator, guint32 n)
{
	while (n > 0) {
		PipesimStretch *stretch = communicator->stretch;
		const guint32 before =
			stretch != NULL ? MIN(n, stretch->at - communicator->consumed) : n;

		communicator->consumed += before;
		n -= before;
		if (n == 0)
			break;
		guint32 inside = MIN(n, stretch->length - stretch->taken);
		stretch->taken += inside;
		n -= inside;
		if (stretch->taken == stretch->length)
			communicator->stretch = stretch->next;
	}
}

/* Makes room for one more. */
static gboolean grow(PipesimStreaming *s, PipesimCommunicator *communicator)
{
	const guint32 room = communicator->mask + 1;
	gint64 *ring =
		room < 1u << 30 ? pipesim_arena_array(s->arena, gint64, 2 * (gsize)room) : NULL;

	if (ring == NULL) {
		s->no_memory = TRUE;
		return FALSE;
	}
	for (guint32 i = communicator->consumed; i != communicator->produced; i++)
		ring[i & (2 * room - 1)] = communicator->ring[i & communicator->mask];
	communicator->ring = ring;
	communicator->mask = 2 * room - 1;
	return TRUE;
}

static gboolean is_full(const PipesimCommunicator *communicator)
{
	return communicator->produced - communicator->consumed > communicator->mask;
}

static inline void put(PipesimCommunicator *communicator, gint64 time)
{
	communicator->ring[communicator->produced++ & communicator->mask] = time;
}

static inline gint64 take(PipesimCommunicator *communicator)
{
	if (communicator->stretch == NULL)
		return communicator->ring[communicator->consumed++ & communicator->mask];
	gint64 time = pipesim_communicator_peek(communicator, 0);
	pipesim_communicator_skip(communicator, 1);
	return time;
}

gboolean pipesim_streaming_put(
	PipesimStreaming *s, PipesimCommunicator *communicator, gint64 time)
{
	if (is_full(communicator) && !grow(s, communicator))
		return FALSE;
	put(communicator, time);
	return TRUE;
}

static gboolean can_run(PipesimStreaming *s, const PipesimStreamVerb *verb)
{
	for (guint half = 0; half < 2; half++) {
		if (verb->in[half] != PIPESIM_NO_COMMUNICATOR) {
			const PipesimCommunicator *in = &s->communicators[verb->in[half]];

			if (in->produced == in->consumed && in->stretch == NULL)
				return FALSE;
		}
		if (verb->out[half] != PIPESIM_NO_COMMUNICATOR) {
			const PipesimCommunicator *out = &s->communicators[verb->out[half]];

			if (is_full(out)) {
				s->full = verb->out[half];
				return FALSE;
			}
		}
	}
	return TRUE;
}

static void record(PipesimStreaming *s, guint rank, const PipesimStreamVerb *verb, gint64 took)
{
	PipesimTape *tape = s->tape;

	if (tape->n == tape->size) {
		PipesimTapeOp *ops = g_try_renew(PipesimTapeOp, tape->ops, 2 * tape->size + 64);

		if (ops == NULL) {
			tape->too_long = TRUE;
			return;
		}
		tape->ops = ops;
		tape->size = 2 * tape->size + 64;
	}
	tape->ops[tape->n++] = (PipesimTapeOp){
		.rank = rank, .verb = (guint32)(verb - s->verbs), .duration = took};
}

static void run_verb(PipesimStreaming *s, guint rank, const PipesimStreamVerb *verb)
{
	PipesimStreamRank *r = &s->ranks[rank];
	PipesimCommunicator *pending = &r->pending;
	gint64 time = r->time, took = verb->duration;

	/* A W of whichever chunk has waited longest. */
	if (verb->kind == PIPESIM_W && pending->ring != NULL && verb->chunk == PIPESIM_OLDEST) {
		const gsize place = (gsize)rank * s->order->shape.chunks +
				    (gsize)pending->ring[pending->consumed++ & pending->mask];

		took = s->durations.single[place * PIPESIM_FB + PIPESIM_W];
	}
	if (s->tape != NULL)
		record(s, rank, verb, took);
	for (guint half = 0; half < 2; half++) {
		if (verb->in[half] != PIPESIM_NO_COMMUNICATOR) {
			const gint64 ready = take(&s->communicators[verb->in[half]]);

			time = MAX(time, ready);
		}
		if (verb->place[half] != PIPESIM_NO_COMMUNICATOR)
			s->done[verb->place[half]]++;
	}
	if (verb->place[1] != PIPESIM_NO_COMMUNICATOR &&
		s->done[verb->place[1]] > s->done[verb->place[1] - s->n_places])
		s->faulty = TRUE;
	if (r->n_ran == 0)
		r->first_start = time;
	r->n_ran++;
	r->time = time + took;
	for (guint half = 0; half < 2; half++)
		if (verb->out[half] != PIPESIM_NO_COMMUNICATOR)
			put(&s->communicators[verb->out[half]], r->time + verb->hop[half]);
	if (verb->kind == PIPESIM_I && pending->ring != NULL)
		pipesim_streaming_put(s, pending, verb->chunk);
}

static gboolean run_rank(PipesimStreaming *s, guint rank)
{
	const PipesimOrder *order = s->order;
	const guint32 end = order->rank_begin[rank + 1];
	PipesimStreamRank *r = &s->ranks[rank];
	gboolean ran = FALSE;

	while (r->loop < end && r->n_ran < r->limit) {
		const PipesimLoop *loop = &order->loops[r->loop];
		const PipesimStreamVerb *verb = &s->verbs[loop->first + r->verb];

		if (!can_run(s, verb))
			break;
		run_verb(s, rank, verb);
		ran = TRUE;
		if (++r->verb < loop->n)
			continue;
		r->verb = 0;
		if (++r->round < loop->count)
			continue;
		r->round = 0;
		r->loop++;
	}
	return ran;
}

/* Down the ranks and up again, for forwards and backwards go either way. */
void pipesim_streaming_settle(PipesimStreaming *s)
{
	const guint ranks = s->order->shape.ranks;
	gboolean more = TRUE;

	while (more && !s->no_memory && !s->faulty) {
		gboolean ran = FALSE;

		s->full = PIPESIM_NO_COMMUNICATOR;
		for (guint rank = ranks; rank-- > 0;)
			ran |= run_rank(s, rank);
		for (guint rank = 1; ran && rank < ranks; rank++)
			run_rank(s, rank);
		more = ran || (s->full != PIPESIM_NO_COMMUNICATOR &&
				      grow(s, &s->communicators[s->full]));
	}
}

gboolean pipesim_streaming_ended(const PipesimStreaming *s)
{
	return pipesim_all(rank, s->order->shape.ranks,
		s->ranks[rank].loop >= s->order->rank_begin[rank + 1]);
}
