#include "config.h"

#include "base/large.h"
#include "engine/durations.h"
#include "engine/ruled-flow.h"
#include "runtime/rounds.h"
#include <string.h>

/* One more than the ns at which something is there, by the rules and where messages wait for nothing; 0: it has not
 * been told. */
typedef struct {
	gint64 ruled, free;
} Moment;

/* A stage on its rank; arrays by direction: 0 activations and forwards, 1 gradients and backwards. */
typedef struct {
	gint64 took[PIPESIM_FB];
	const Moment *in[2]; /* what it needs, by micro-batch; NULL: nothing */
	Moment *out[2];      /* what it gives to the stage that needs it; NULL: none does */
	guint32 to[2];       /* the rank of that */
	guint32 n[2];        /* how many ran */
} Place;

/* Where a rank stands in its order. */
typedef struct {
	const PipesimOp *verb, *first, *end;
	guint32 rounds; /* of the loop from @first to @end, this one too; 0: it has ended */
	guint32 loop;   /* that comes next */
	guint32 at;     /* ops that ran */
	guint32 todo_at,
		n_done; /* ops before the next thing that is done to a stage; how many were */
	gint64 now;     /* when all that its list has so far is done, but for messages */
	gint64 queue;   /* when its messages are, too */
	gint64 free;    /* when its ops are, where messages wait for nothing */
	gint64 last_end;
} Rank;

typedef struct {
	gboolean counts;         /* verbs count their micro-batches */
	PipesimProgram *program; /* shape and stages; where they do not also the ops */
	/* The verbs of rank r are those of loops[loop_begin[r]] to loops[loop_begin[r + 1] - 1]. */
	const PipesimOp *verbs;
	const PipesimLoop *loops;
	const guint32 *loop_begin;
	guint32 per_chunk, slices;
	gboolean waits; /* for sends */
	gint64 p2p;
	PipesimDurations durations;
	PipesimRounds rounds;
	Place *places; /* by rank and chunk */
	Rank *ranks;
	PipesimList *todo; /* by rank: what is done to its stages */
	guint64 n_done;
	Moment *moments; /* of all places */
	gboolean faulty; /* a backward came before its forward */
	PipesimStep *step;
	PipesimArena *arena;
} Flow;

static inline void next_loop(Flow *flow, guint rank)
{
	Rank *r = &flow->ranks[rank];

	if (r->loop == flow->loop_begin[rank + 1])
		return;
	r->first = r->verb = flow->verbs + flow->loops[r->loop].first;
	r->end = r->first + flow->loops[r->loop].n;
	r->rounds = flow->loops[r->loop++].count;
}

static inline void next_verb(Flow *flow, guint rank)
{
	Rank *r = &flow->ranks[rank];

	r->at++;
	flow->n_done++;
	if (++r->verb < r->end)
		return;
	r->verb = r->first;
	if (--r->rounds == 0)
		next_loop(flow, rank);
}

/* The micro-batch of @place that the next forward, or backward, is of, where @written stands; pipesim_order_expand()
 * counts the same. */
static inline guint32 number(
	const Flow *flow, const Place *place, guint backward, guint32 written)
{
	const guint32 n = place->n[backward];

	if (G_LIKELY(written == PIPESIM_NEXT))
		return backward && flow->slices > 1
			       ? n + flow->slices - 1 - 2 * (n % flow->slices)
			       : n;
	return written == PIPESIM_LAST ? flow->per_chunk - 1 - n : written;
}

static inline gboolean is_there(const Place *place, guint backward, guint32 n)
{
	return place->in[backward] == NULL || place->in[backward][n].ruled > 0;
}

/* @kind of @place, a half of a pair too, behind its input; NULL: it has none. */
static inline void run_half(
	Flow *flow, guint rank, const Place *place, guint kind, const Moment *in)
{
	Rank *r = &flow->ranks[rank];

	if (in != NULL) {
		r->now = MAX(r->now, in->ruled - 1);
		r->free = MAX(r->free, in->free - 1);
	}
	if (r->at == 0 && (kind != PIPESIM_B || r->verb->kind != PIPESIM_FB))
		flow->step->first_start[rank] = r->now;
	r->now += place->took[kind];
	r->free += place->took[kind];
}

/* What micro-batch @n of @place gives, and is there at @free, leaves at once: both ends. */
static inline void send(
	Flow *flow, guint rank, const Place *place, guint backward, guint32 n, gint64 free)
{
	Rank *r = &flow->ranks[rank], *other = &flow->ranks[place->to[backward]];
	Moment *out = place->out[backward];
	gint64 there;

	if (out == NULL)
		return;
	if (other == r) {
		out[n] = (Moment){r->now + 1, free + 1};
		return;
	}
	there = MAX(MAX(r->now, r->queue), MAX(other->now, other->queue)) + flow->p2p;
	r->queue = other->queue = there;
	out[n] = (Moment){there + 1, free + flow->p2p + 1};
	pipesim_rounds_call(&flow->rounds, rank, place->to[backward]);
}

static void pass_stage(Flow *flow, guint rank)
{
	const PipesimList *todo = &flow->todo[rank];
	Rank *r = &flow->ranks[rank];

	r->n_done++;
	r->todo_at = r->n_done < todo->n
			     ? todo->actions[r->n_done].wait - flow->program->rank_begin[rank]
			     : PIPESIM_NO_OP;
}

/* The turn of @rank: the next of its ops, or what comes before it and takes no time, goes, if it is ready. */
static inline gboolean act(gpointer data, guint rank)
{
	Flow *flow = data;
	Rank *r = &flow->ranks[rank];
	const PipesimOp *op = r->verb;
	Place *own = &flow->places[(gsize)rank * flow->program->shape.chunks];
	const gboolean pair = op != NULL && op->kind == PIPESIM_FB;
	Place *f = own, *b = own;
	guint32 f_n = 0, b_n = 0;
	gboolean forward, backward;
	gint64 free;

	if (r->at == r->todo_at) {
		pass_stage(flow, rank);
		return TRUE;
	}
	if (r->rounds == 0)
		return FALSE;
	forward = pipesim_op_has_forward(op);
	backward = pipesim_op_has_backward(op);
	if (forward) {
		f += op->chunk;
		f_n = number(flow, f, 0, op->microbatch);
		if (!is_there(f, 0, f_n))
			return FALSE;
	}
	if (backward) {
		b += pair ? op->b_chunk : op->chunk;
		b_n = number(flow, b, 1, pair ? op->b_microbatch : op->microbatch);
		if (!is_there(b, 1, b_n))
			return FALSE;
		/* Of an order whose ops have numbers that has been seen to. */
		flow->faulty |= b_n >= b->n[0] && flow->counts;
		b->n[1]++;
	}
	if (!backward && !forward)
		run_half(flow, rank, own + op->chunk, op->kind, NULL);
	if (forward) {
		run_half(flow, rank, f, PIPESIM_F, f->in[0] != NULL ? f->in[0] + f_n : NULL);
		f->n[0]++;
	}
	free = r->free;
	if (backward)
		run_half(flow, rank, b, pair ? PIPESIM_B : op->kind,
			b->in[1] != NULL ? b->in[1] + b_n : NULL);
	r->last_end = r->now;
	next_verb(flow, rank);
	if (forward)
		send(flow, rank, f, 0, f_n, free);
	if (!backward)
		return TRUE;
	send(flow, rank, b, 1, b_n, r->free);
	/* For the output of the same stage and micro-batch, which left long ago. */
	if (flow->waits && b->out[0] != NULL)
		r->now = MAX(r->now, b->out[0][b_n].ruled - 1);
	return TRUE;
}

/* Before ----------------------------------------------------------------------------------- */

/* What @rank runs, by its verbs: how long, and when which chunk. FALSE where verbs do not say. */
static gboolean scan(Flow *flow, guint rank, PipesimChunkUses *uses)
{
	const PipesimShape *shape = &flow->program->shape;
	Place *places = &flow->places[(gsize)rank * shape->chunks];
	gboolean complete = TRUE;
	guint32 at = 0;

	memset(uses, 0, sizeof *uses);
	flow->step->busy[rank] = 0;
	for (guint32 l = flow->loop_begin[rank]; l < flow->loop_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &flow->loops[l];
		const guint32 last = at + (loop->count - 1) * loop->n;

		for (guint32 v = 0; v < loop->n; v++) {
			const PipesimOp *op = &flow->verbs[loop->first + v];
			const gboolean pair = op->kind == PIPESIM_FB;
			Place *place = &places[op->chunk];
			gint64 took;

			if (op->kind >= PIPESIM_N_KINDS || op->chunk == PIPESIM_OLDEST)
				return FALSE;
			took = place->took[pair ? PIPESIM_F : op->kind];
			place->n[0] += pipesim_op_has_forward(op) ? loop->count : 0;
			if (pair)
				place = &places[op->b_chunk];
			took += pair ? place->took[PIPESIM_B] : 0;
			place->n[1] += pipesim_op_has_backward(op) ? loop->count : 0;
			pipesim_chunk_uses_add(uses, shape, op, loop->count, last + v);
			flow->step->busy[rank] += took * loop->count;
		}
		at = last + loop->n;
	}
	for (guint chunk = 0; chunk < shape->chunks; chunk++) {
		complete &= places[chunk].n[0] == flow->per_chunk &&
			    places[chunk].n[1] == flow->per_chunk &&
			    uses->gradients[chunk] == flow->per_chunk;
		places[chunk].n[0] = places[chunk].n[1] = 0;
	}
	return complete || !flow->counts;
}

/* Ops of their own numbers as one loop a rank. */
static void lay_loops(Flow *flow, const PipesimOrder *order)
{
	const guint ranks = order->shape.ranks;
	const guint32 *begin = flow->program->rank_begin;
	PipesimLoop *loops;
	guint32 *loop_begin;

	flow->verbs = order->verbs;
	flow->loops = order->loops;
	flow->loop_begin = order->rank_begin;
	if (flow->counts)
		return;
	loops = pipesim_arena_array(flow->arena, PipesimLoop, ranks);
	loop_begin = pipesim_arena_array(flow->arena, guint32, (gsize)ranks + 1);
	for (guint rank = 0; loop_begin != NULL && rank < ranks; rank++) {
		loops[loop_begin[rank]] =
			(PipesimLoop){begin[rank], begin[rank + 1] - begin[rank], 1};
		loop_begin[rank + 1] = loop_begin[rank] + (begin[rank] < begin[rank + 1]);
	}
	flow->verbs = flow->program->ops;
	flow->loops = loops;
	flow->loop_begin = loop_begin;
}

/* Who gives what to whom, all in one pipeline or each chunk in its own. FALSE where a stage is in two places, or without
 * memory. */
static gboolean lay_places(Flow *flow)
{
	const PipesimShape *shape = &flow->program->shape;
	const gsize m = shape->microbatches, n = (gsize)shape->ranks * shape->chunks;
	const gsize n_stages = (gsize)shape->stages * shape->copies;
	guint32 *where = pipesim_arena_array(flow->arena, guint32, n_stages); /* 1 + place */

	flow->places = pipesim_arena_array(flow->arena, Place, n);
	flow->moments = pipesim_try_large(2 * shape->stages * m, sizeof(Moment));
	if (flow->moments == NULL || flow->places == NULL)
		return FALSE;
	memset(flow->moments, 0, 2 * shape->stages * m * sizeof(Moment));
	for (gsize at = 0; at < n; at++) {
		const guint32 stage = flow->program->stage_of[at];
		const gsize copy = shape->copies > 1 ? at % shape->chunks : 0;
		Place *place = &flow->places[at];

		if (stage == PIPESIM_NO_OP)
			continue;
		if (where[copy * shape->stages + stage]++ > 0)
			return FALSE;
		where[copy * shape->stages + stage] = at + 1;
		memcpy(place->took, &flow->durations.single[at * PIPESIM_FB],
			sizeof place->took);
		for (guint i = 0; i < 2; i++)
			if (i == 0 ? stage > 0 : stage + 1 < shape->stages)
				place->in[i] = flow->moments + (i * shape->stages + stage) * m +
					       (flow->counts ? copy * flow->per_chunk : 0);
	}
	for (gsize i = 0; i < n_stages; i++)
		for (guint back = 0; back < 2 && where[i] > 0; back++) {
			const gsize stage = i % shape->stages, to = back ? i - 1 : i + 1;
			Place *place = &flow->places[where[i] - 1];

			if ((back ? stage == 0 : stage + 1 == shape->stages) || where[to] == 0)
				continue;
			place->to[back] = (where[to] - 1) / shape->chunks;
			place->out[back] = (Moment *)flow->places[where[to] - 1].in[back];
		}
	return TRUE;
}

/* Whether no path can come near the end of gint64: of each op and its messages, and of waits for these. */
static gboolean fits(const Flow *flow, guint64 n_ops)
{
	__extension__ typedef __int128 Wide;

	return (Wide)n_ops * ((Wide)flow->durations.longest + 8 * (Wide)flow->p2p) <
	       PIPESIM_MAX_END;
}

/* Everybody at the begin. FALSE where verbs do not say what there is to do to stages. */
static gboolean begin(Flow *flow, gboolean *done, GError **error)
{
	const PipesimJob *job = &flow->step->job;
	const guint ranks = flow->program->shape.ranks;
	PipesimLowerer lowerer = {.program = flow->program,
		.runtime = job->runtime,
		.issuing = &job->issuing,
		.arena = flow->arena};
	PipesimChunkUses uses;

	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimShardingRules rules =
			pipesim_rounds_sharding(job->runtime, &job->issuing, rank);
		Rank *r = &flow->ranks[rank];

		if (!scan(flow, rank, &uses) ||
			(flow->counts &&
				!pipesim_sharding_keeps_all(&flow->program->shape, &rules)))
			return TRUE;
		if (!pipesim_sharding_list(
			    &lowerer, rank, &rules, &uses, &flow->todo[rank], error))
			return FALSE;
		r->n_done = G_MAXUINT32; /* before the first */
		pass_stage(flow, rank);
		r->loop = flow->loop_begin[rank];
		next_loop(flow, rank);
		r->now = r->free =
			job->times->released != NULL ? job->times->released[rank] : 0;
		flow->step->first_start[rank] = 0;
	}
	*done = TRUE;
	return TRUE;
}

/* @counts: verbs are to be gone by */
static gboolean run(
	Flow *flow, const PipesimOrder *order, gboolean counts, gboolean *done, GError **error)
{
	const PipesimShape *shape = &order->shape;
	PipesimStep *step = flow->step;
	PipesimArena *arena = flow->arena = pipesim_arena_new();
	gboolean ok;

	*done = FALSE;
	flow->counts = counts;
	flow->program = counts ? pipesim_program_new(shape, 0, error)
			       : pipesim_order_expand(order, error);
	ok = flow->program != NULL &&
	     pipesim_durations_init(&flow->durations, flow->program, step->job.times, error);
	if (!ok || flow->program->has_more || !fits(flow, order->n_ops))
		return ok;
	flow->rounds = pipesim_rounds_begin(shape->ranks, arena);
	flow->ranks = pipesim_arena_array(arena, Rank, shape->ranks);
	flow->todo = pipesim_arena_array(arena, PipesimList, shape->ranks);
	lay_loops(flow, order);
	if (!lay_places(flow))
		return TRUE;
	ok = pipesim_arena_check(arena, error, "%" G_GUINT64_FORMAT " ops", order->n_ops) &&
	     begin(flow, done, error);
	if (*done)
		pipesim_rounds_run(&flow->rounds, act, flow);
	*done = *done && flow->n_done == order->n_ops && !flow->faulty;
	step->makespan = 0;
	for (guint rank = 0; *done && rank < shape->ranks; rank++) {
		step->last_end[rank] = flow->ranks[rank].last_end;
		step->makespan = MAX(step->makespan, step->last_end[rank]);
		if (step->job.times->released == NULL)
			step->free = MAX(step->free, flow->ranks[rank].free);
	}
	return ok;
}

static void clear(Flow *flow)
{
	for (guint rank = 0; flow->todo != NULL && rank < flow->step->job.order->shape.ranks;
		rank++)
		g_free(flow->todo[rank].actions);
	pipesim_durations_clear(&flow->durations);
	pipesim_arena_free(flow->arena);
	g_free(flow->moments);
	g_clear_pointer(&flow->program, pipesim_program_unref);
}

gboolean pipesim_ruled_flow(PipesimStep *step, gboolean *done, GError **error)
{
	const PipesimJob *job = &step->job;
	const PipesimTimes *times = job->times;
	const PipesimOrder *order = job->order;
	gboolean ok = TRUE;

	*done = FALSE;
	if (!pipesim_rounds_apply(job->runtime, &job->issuing) || job->messages != NULL ||
		job->issuing.channels > PIPESIM_CHANNEL_RANK || times->drawn != NULL ||
		times->each != NULL || times->has_edges || times->unshard != NULL ||
		times->reduce != NULL)
		return TRUE;
	if (!pipesim_rounds_check(
		    order->shape.ranks, pipesim_order_has_pairs(order), &job->issuing, error))
		return FALSE;
	for (gint counts = order->is_closed && order->program == NULL;
		ok && !*done && counts >= 0; counts--) {
		Flow flow = {.step = step,
			.per_chunk = pipesim_shape_per_chunk(&order->shape),
			.slices = pipesim_shape_slices(&order->shape),
			.waits = job->runtime->waits_for_sends,
			.p2p = times->p2p};

		ok = run(&flow, order, counts, done, error);
		/* Of an order without loops. */
		if (*done && order->program != NULL) {
			step->whole = pipesim_program_ref(flow.program);
			step->program = pipesim_program_split_pairs(step->whole, error);
			ok = step->program != NULL;
			step->split = ok && step->program->n_ops > step->whole->n_ops;
		}
		clear(&flow);
	}
	return ok;
}
