/* How an order is streamed. Ranks run verb by verb (stream-step.c) up to their long loops, which
 * then go on together, superstep by superstep, each as many micro-batches further:
 *
 *	           settle    superstep  superstep  superstep ...       settle
 *	rank 0   | F F F F | B F  B F | B F  B F | B F  B F |       | B B B B |
 *	rank 1   | F F F   | B F  B F | B F  B F | B F  B F |  ...  | B B B   |
 *	rank 2   | F F     | B F  B F | B F  B F | B F  B F |       | B B     |
 *	                   `- where positions in the loops and messages on their way are as
 *	                      they were a superstep ago, the next one is recorded
 *
 * What was recorded becomes a period (stream-period.c): the software pipeline of all ranks, of
 * which it leaps over the passes that only add a constant. What is left of the loops and what comes after them runs verb by verb. */
#include "engine/stream.h"
#include "engine/stream-step.h"
#include "order/long-loops.h"

/* Passes below which compiling a superstep does not pay. */
#define MIN_PASSES 24
/* Ops of a rank in a superstep below which it does not pay to look whether so few are alike. */
#define MIN_OPS_EACH 16
/* Supersteps after which no more is waited for a structure that repeats. */
#define MAX_TRIES 64

/* Most ops, about, that are run one by one where nothing repeats. */
#define MAX_SINGLE PIPESIM_MAX_OPS
/* Most ops before, between and after long loops: about a second. */
#define MAX_OUTSIDE (1u << 28)

/* One run. */
typedef struct {
	PipesimStreaming s;
	gboolean too_long; /* more is left to run op by op than anybody waits for */
	PipesimSteady steady;
	PipesimLongLoops loops;
	guint32 *structure; /* of the superstep before: positions and messages on their way */
	gboolean equal;     /* as many of all messages are on their way as then */
} Runner;

/* Numbers come out where every chunk has each micro-batch once. @count: room for its forwards and
 * backwards, by chunk. */
static gboolean check_rank(const PipesimOrder *order, guint rank, guint64 *count)
{
	const guint per_chunk = pipesim_shape_per_chunk(&order->shape);
	guint64 *const backward = count + order->shape.chunks;
	gint64 weights = 0;

	memset(count, 0, 2 * order->shape.chunks * sizeof *count);
	pipesim_each_of (l, order->rank_begin, rank) {
		const PipesimLoop *loop = &order->loops[l];

		for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
			const PipesimOp *op = &order->verbs[v];
			const guint b_chunk = pipesim_op_backward_chunk(op);

			if (pipesim_op_has_forward(op))
				count[op->chunk] += loop->count;
			if (pipesim_op_has_backward(op))
				backward[b_chunk] += loop->count;
			if (op->kind == PIPESIM_I)
				weights += loop->count;
			if (op->kind == PIPESIM_W)
				weights -= loop->count;
		}
	}
	return weights == 0 && pipesim_all(i, 2 * order->shape.chunks, count[i] == per_chunk);
}

gboolean pipesim_stream_takes(const PipesimOrder *order)
{
	gboolean up = FALSE, down = FALSE;

	for (guint32 v = 0; v < order->n_verbs; v++) {
		const PipesimOp *op = &order->verbs[v];

		if (pipesim_op_has_backward(op)) {
			const guint32 number = pipesim_op_backward_microbatch(op);

			up |= number == PIPESIM_NEXT;
			down |= number == PIPESIM_LAST;
		}
	}
	return order->is_closed && !(up && down);
}

/* Supersteps that all long loops have room for. */
static guint64 supersteps_left(const Runner *run)
{
	const PipesimOrder *order = run->s.order;
	guint64 left = G_MAXUINT64;

	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		const PipesimStreamRank *r = &run->s.ranks[rank];
		const PipesimLoop *loop = &order->loops[r->long_loop];
		const guint64 end =
			pipesim_loop_before(order, rank, r->long_loop) + pipesim_loop_ops(loop);

		left = MIN(left, (end - MIN(end, r->limit)) / ((guint64)r->step * loop->n));
	}
	return left;
}

static void superstep(Runner *run)
{
	const PipesimOrder *order = run->s.order;

	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		PipesimStreamRank *r = &run->s.ranks[rank];

		r->limit += (guint64)r->step * order->loops[r->long_loop].n;
	}
	pipesim_streaming_settle(&run->s);
}

/* Structure -------------------------------------------------------------------------------- */

static gboolean note(Runner *run, gsize *at, guint32 value)
{
	const gboolean same = run->structure[*at] == value;

	run->structure[(*at)++] = value;
	return same;
}

/* Whether every rank stands in its long loop where it stood one superstep ago, with as many
 * messages on their way, but for those that nobody takes yet and those that all were sent before. */
static gboolean repeats(Runner *run)
{
	const PipesimStreaming *s = &run->s;
	gboolean same = TRUE, equal = TRUE;
	gsize at = 0;

	for (guint rank = 0; rank < s->order->shape.ranks; rank++) {
		const PipesimStreamRank *r = &s->ranks[rank];
		const PipesimCommunicator *pending = &r->pending;
		guint32 hash = PIPESIM_HASH_START;

		same &= r->loop == r->long_loop;
		same &= note(run, &at, r->loop);
		same &= note(run, &at, r->verb);
		same &= note(run, &at, (guint32)(r->limit - r->n_ran));
		for (guint32 i = pending->consumed; i != pending->produced; i++)
			hash = pipesim_hash_add(
				hash, (guint32)pending->ring[i & pending->mask]);
		same &= note(run, &at, pending->produced - pending->consumed);
		same &= note(run, &at, hash);
	}
	for (guint i = 0; i < 2 * s->n_places; i++) {
		const PipesimCommunicator *communicator = &s->communicators[i];
		const guint32 before = run->structure[at] - run->structure[at + 1];
		const gboolean none_sent = note(run, &at, communicator->produced);
		const gboolean none_taken = note(run, &at, communicator->consumed);

		equal &= communicator->produced - communicator->consumed == before;
		same &= none_sent || none_taken ||
			communicator->produced - communicator->consumed == before;
	}
	run->equal = same && equal;
	return same;
}

/* When ranks and messages on their way are; NULL where some were leapt over. (transfer full) */
static GArray *note_moments(const Runner *run)
{
	const PipesimStreaming *s = &run->s;
	g_autoptr(GArray) moments = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint rank = 0; rank < s->order->shape.ranks; rank++)
		g_array_append_val(moments, s->ranks[rank].time);
	for (guint i = 0; i < 2 * s->n_places; i++) {
		const PipesimCommunicator *c = &s->communicators[i];

		if (c->stretch != NULL)
			return NULL;
		for (guint32 at = c->consumed; at != c->produced; at++)
			g_array_append_val(moments, c->ring[at & c->mask]);
	}
	return g_steal_pointer(&moments);
}

/* How much later all moments of @now are than those of @then, as many; 0: they differ in more. */
static gint64 later_by(const GArray *then, const GArray *now)
{
	const gint64 *a = (const gint64 *)(gconstpointer)then->data;
	const gint64 *b = (const gint64 *)(gconstpointer)now->data;

	return pipesim_all(i, now->len, b[i] - a[i] == b[0] - a[0]) ? b[0] - a[0] : 0;
}

/* Phases ----------------------------------------------------------------------------------- */

/* Leaves out as many supersteps, of which each only makes all @later. @done: how many ran a superstep ago */
static void leave_out(Runner *run, gint64 supersteps, gint64 later, const guint32 *done)
{
	PipesimStreaming *s = &run->s;

	for (guint rank = 0; rank < s->order->shape.ranks; rank++) {
		PipesimStreamRank *r = &s->ranks[rank];
		const gint64 rounds = supersteps * r->step;

		r->round += (guint32)rounds;
		r->n_ran += (guint64)rounds * s->order->loops[r->loop].n;
		r->limit += (guint64)rounds * s->order->loops[r->loop].n;
		r->time += supersteps * later;
	}
	for (guint i = 0; i < 2 * s->n_places; i++) {
		PipesimCommunicator *c = &s->communicators[i];

		s->done[i] += (guint32)supersteps * (s->done[i] - done[i]);
		for (guint32 at = c->consumed; at != c->produced; at++)
			c->ring[at & c->mask] += supersteps * later;
	}
}

/* Supersteps that are too few to be compiled: once one only makes all later, so do the others. The last one runs, as what
 * comes after it need not be like it. */
static void run_few(Runner *run)
{
	const guint ranks = run->s.order->shape.ranks;
	const gsize size = 2 * run->s.n_places * sizeof *run->s.done;
	g_autofree guint32 *done = g_malloc(MAX(size, 1));
	g_autoptr(GArray) then = NULL;
	guint64 n_ops = 0;
	gint64 later = 0;

	for (guint rank = 0; rank < ranks; rank++)
		n_ops += (guint64)run->s.ranks[rank].step *
			 run->s.order->loops[run->s.ranks[rank].long_loop].n;
	while (later == 0 && n_ops >= (guint64)ranks * MIN_OPS_EACH &&
		supersteps_left(run) > 2) {
		memcpy(done, run->s.done, size);
		superstep(run);
		g_autoptr(GArray) now = note_moments(run);
		if (repeats(run) && run->equal && then != NULL && now != NULL)
			later = later_by(then, now);
		g_clear_pointer(&then, g_array_unref);
		then = g_steal_pointer(&now);
	}
	if (later > 0 && supersteps_left(run) > 1)
		leave_out(run, (gint64)supersteps_left(run) - 1, later, done);
}

/* Micro-batches that the first stages have begun. */
static guint64 begun(const Runner *run)
{
	const PipesimStreaming *s = &run->s;
	guint64 n = 0;

	for (guint i = 0; i < s->n_places; i++)
		if (s->places->stage_of[i] == 0)
			n += s->done[i];
	return n;
}

/* The next superstep, and as many more as its loops have room for, if it is like the one before
 * and that pays. */
static void record_and_run(Runner *run)
{
	const guint64 before = begun(run);
	PipesimTape tape = {0};
	PipesimSteady found = {0};

	run->s.tape = &tape;
	superstep(run);
	run->s.tape = NULL;
	guint64 after = begun(run);
	if (repeats(run) && supersteps_left(run) >= MIN_PASSES)
		run->too_long =
			!pipesim_period_run(&run->s, &tape, supersteps_left(run), &found);
	g_free(tape.ops);
	if (!found.found || run->steady.found)
		return;
	run->steady.found = TRUE;
	run->steady.transient = after + found.transient * (after - before);
	run->steady.period = found.period * (after - before);
	run->steady.time = found.time;
}

static void run_phase(Runner *run, guint32 phase)
{
	const PipesimOrder *order = run->s.order;
	const guint ranks = order->shape.ranks;
	const guint32 *loops = &run->loops.loops[(gsize)phase * ranks];

	for (guint rank = 0; rank < ranks; rank++) {
		PipesimStreamRank *r = &run->s.ranks[rank];

		r->long_loop = loops[rank];
		r->limit = pipesim_loop_before(order, rank, loops[rank]);
		r->step = run->loops.steps[(gsize)phase * ranks + rank];
	}
	pipesim_streaming_settle(&run->s);
	for (guint try = 0; try < MAX_TRIES && supersteps_left(run) > MIN_PASSES; try++) {
		superstep(run);
		if (repeats(run)) {
			record_and_run(run);
			break;
		}
	}
	/* What is left of its loops runs op by op. */
	if (supersteps_left(run) <= MIN_PASSES)
		run_few(run);
	if (supersteps_left(run) > MAX_SINGLE / ranks)
		run->too_long = TRUE;
	for (guint rank = 0; rank < ranks; rank++)
		run->s.ranks[rank].limit = G_MAXUINT64;
}

static gboolean run_all(Runner *run, GError **error)
{
	PipesimStreaming *s = &run->s;
	const PipesimShape *shape = &s->order->shape;
	guint64 n_outside = s->order->n_ops;

	/* Without memory for phases everything runs op by op. */
	run->structure = pipesim_arena_array(
		s->arena, guint32, 5 * (gsize)shape->ranks + 4 * (gsize)s->n_places);
	if (run->structure != NULL &&
		pipesim_long_loops_find(&run->loops, s->order, s->arena)) {
		for (gsize i = 0; i < (gsize)run->loops.n_phases * shape->ranks; i++)
			n_outside -= pipesim_loop_ops(&s->order->loops[run->loops.loops[i]]);
		run->too_long = n_outside > MAX_OUTSIDE;
		for (guint32 phase = 0; phase < run->loops.n_phases && !run->too_long; phase++)
			run_phase(run, phase);
	}
	if (run->too_long)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches on %u ranks are too many to simulate one by one, and "
			"their order does not become periodic soon enough to skip repetitions; "
			"use fewer of either",
			shape->microbatches, shape->ranks);
	pipesim_streaming_settle(s);
	if (s->no_memory)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the messages between %u ranks do not fit in memory", shape->ranks);
	if (s->faulty || !pipesim_streaming_ended(s))
		return pipesim_fail(error, PIPESIM_ERROR_DEADLOCK,
			"deadlock: the order of %u ranks and %u micro-batches comes to a stop "
			"before its end",
			shape->ranks, shape->microbatches);
	return TRUE;
}

/* Limits ----------------------------------------------------------------------------------- */

static gboolean run_order(Runner *run, const PipesimOrder *order, const PipesimTimes *times,
	gboolean check, GError **error);

static gint64 last_end(const Runner *run)
{
	gint64 last = 0;

	for (guint rank = 0; rank < run->s.order->shape.ranks; rank++)
		last = MAX(last, run->s.ranks[rank].time);
	return last;
}

/* Long sums of sizes that nobody has are refused; a path's length in ops and hops tells what is
 * possible. */
static gboolean check_overflow(const PipesimOrder *order, const PipesimTimes *times,
	const PipesimDurations *durations, GError **error)
{
	const gint64 most = MAX(MAX(durations->longest, times->p2p), 1);
	Runner path = {0};

	if (pipesim_durations_fit(durations, order->n_ops))
		return TRUE;
	g_autoptr(PipesimCosts) ones = pipesim_costs_new(1, 1, 1, 1, 1, error);
	if (ones == NULL)
		return FALSE;
	g_autoptr(PipesimTimes) units = pipesim_times_new(ones, &order->shape);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		units->chunk[kind] = 1;
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint stage = 0; stage < units->stages; stage++)
			units->stage[kind][stage] = 1;
	if (!run_order(&path, order, units, FALSE, error))
		return FALSE;
	gboolean fits = last_end(&path) < PIPESIM_MAX_END / most;
	pipesim_streaming_clear(&path.s);
	return fits || pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			       "the step may take longer than 146 years; give shorter times or "
			       "fewer micro-batches");
}

/* Results ---------------------------------------------------------------------------------- */

/* Where it succeeds, @run ends with pipesim_streaming_clear(). */
static gboolean run_order(Runner *run, const PipesimOrder *order, const PipesimTimes *times,
	gboolean check, GError **error)
{
	g_autofree guint64 *count = g_new(guint64, 2 * (gsize)order->shape.chunks);

	for (guint rank = 0; rank < order->shape.ranks; rank++)
		if (!check_rank(order, rank, count))
			return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
				"the generator does not give rank %u every micro-batch exactly "
				"once (%u ranks, %u micro-batches); this is a fault of "
				"pipesim, please report it",
				rank, order->shape.ranks, order->shape.microbatches);
	if (pipesim_streaming_init(&run->s, order, times, error) &&
		(!check || check_overflow(order, times, &run->s.durations, error)) &&
		run_all(run, error))
		return TRUE;
	pipesim_streaming_clear(&run->s);
	return FALSE;
}

gboolean pipesim_stream_run(PipesimStep *step, GError **error)
{
	const PipesimOrder *order = step->job.order;
	Runner run = {0};

	if (!run_order(&run, order, step->job.times, TRUE, error))
		return FALSE;
	step->makespan = last_end(&run);
	step->steady = run.steady;
	for (guint rank = 0; rank < order->shape.ranks; rank++) {
		gint64 *busy = &step->busy[rank];

		*busy = 0;
		step->first_start[rank] = run.s.ranks[rank].first_start;
		step->last_end[rank] = run.s.ranks[rank].time;
		/* What all its ops take together: every W has the chunk of an I. */
		pipesim_each_of (l, order->rank_begin, rank) {
			const PipesimLoop *loop = &order->loops[l];

			for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
				PipesimOp weight = order->verbs[v];
				gint64 took = run.s.verbs[v].duration;

				if (weight.kind == PIPESIM_W)
					continue;
				if (weight.kind == PIPESIM_I) {
					weight.kind = PIPESIM_W;
					took += pipesim_durations_get(
						&run.s.durations, rank, &weight);
				}
				*busy += took * loop->count;
			}
		}
	}
	pipesim_streaming_clear(&run.s);
	return TRUE;
}
