#include "config.h"

#include "engine/fast.h"
#include "engine/stream-parts.h"
#include <string.h>

/* What an order says of a chunk. */
typedef struct {
	guint64 forward, backward;
} Tally;

static void count_verb(const PipesimOp *op, guint64 times, Tally *tallies, gint64 *weights)
{
	if (pipesim_op_has_forward(op))
		tallies[op->chunk].forward += times;
	if (pipesim_op_has_backward(op))
		tallies[op->kind == PIPESIM_FB ? op->b_chunk : op->chunk].backward += times;
	if (op->kind == PIPESIM_I)
		*weights += (gint64)times;
	if (op->kind == PIPESIM_W)
		*weights -= (gint64)times;
}

/* Numbers come out where every chunk has each micro-batch once. */
static gboolean check_rank(const PipesimOrder *order, guint rank, Tally *tallies)
{
	const guint per_chunk = pipesim_shape_per_chunk(&order->shape);
	gint64 weights = 0;

	memset(tallies, 0, order->shape.chunks * sizeof *tallies);
	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];

		for (guint32 v = 0; v < loop->n; v++)
			count_verb(
				&order->verbs[loop->first + v], loop->count, tallies, &weights);
	}
	for (guint chunk = 0; chunk < order->shape.chunks; chunk++) {
		if (tallies[chunk].forward != per_chunk || tallies[chunk].backward != per_chunk)
			return FALSE;
	}
	return weights == 0;
}

gboolean pipesim_stream_takes(const PipesimOrder *order)
{
	gboolean up = FALSE, down = FALSE;

	for (guint32 v = 0; v < order->n_verbs; v++) {
		const PipesimOp *op = &order->verbs[v];
		const gboolean pair = op->kind == PIPESIM_FB;

		if (pair || pipesim_op_has_backward(op)) {
			const guint32 number = pair ? op->b_microbatch : op->microbatch;

			up |= number == PIPESIM_NEXT;
			down |= number == PIPESIM_LAST;
		}
	}
	return order->is_closed && !(up && down);
}

static gboolean check_order(const PipesimOrder *order, GError **error)
{
	g_autofree Tally *tallies = g_new(Tally, order->shape.chunks);

	if (!pipesim_stream_takes(order))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"an order that names its micro-batches one by one cannot be streamed");
	for (guint rank = 0; rank < order->shape.ranks; rank++)
		if (!check_rank(order, rank, tallies))
			return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
				"the generator does not give rank %u every micro-batch exactly "
				"once (%u ranks, %u micro-batches); this is a fault of "
				"pipesim, please report it",
				rank, order->shape.ranks, order->shape.microbatches);
	return TRUE;
}

static gboolean run_all(PipesimStreamRunner *runner, GError **error)
{
	PipesimStreaming *s = &runner->s;
	const PipesimShape *shape = &s->order->shape;

	pipesim_stream_phases(runner);
	if (runner->too_long)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u micro-batches on %u ranks are too many to simulate one by one, and "
			"this order does not repeat soon enough to leap over them; take fewer "
			"of either",
			shape->microbatches, shape->ranks);
	if (s->timeline != NULL && !runner->kept)
		return TRUE;
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

static PipesimStream *run_order(const PipesimOrder *order, const PipesimTimes *times,
	PipesimStreamMode mode, gboolean check, GError **error);

/* Long sums of sizes that nobody has are refused; a path's length in ops and hops tells what is
 * possible. */
static gboolean check_overflow(const PipesimOrder *order, const PipesimTimes *times,
	const PipesimDurations *durations, GError **error)
{
	const gint64 most = MAX(MAX(durations->longest, times->p2p), 1);
	g_autoptr(PipesimTimes) units = NULL;
	g_autoptr(PipesimStream) path = NULL;
	g_autoptr(PipesimCosts) ones = NULL;

	if (pipesim_durations_fit(durations, order->n_ops))
		return TRUE;
	ones = pipesim_costs_new(1, 1, 1, 1, 1, error);
	if (ones == NULL)
		return FALSE;
	units = pipesim_times_new(ones, &order->shape);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		units->chunk[kind] = 1;
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		for (guint stage = 0; stage < units->stages; stage++)
			units->stage[kind][stage] = 1;
	path = run_order(order, units, PIPESIM_STREAM_LEAP, FALSE, error);
	if (path == NULL)
		return FALSE;
	if (path->makespan < PIPESIM_MAX_END / most)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"the step may take longer than 146 years; give shorter times or fewer "
		"micro-batches");
}

/* Results ---------------------------------------------------------------------------------- */

/* What all ops of @rank take together: every W has the chunk of an I. */
static gint64 busy_of(const PipesimStreaming *s, guint rank)
{
	const PipesimOrder *order = s->order;
	gint64 busy = 0;

	for (guint32 l = order->rank_begin[rank]; l < order->rank_begin[rank + 1]; l++) {
		const PipesimLoop *loop = &order->loops[l];

		for (guint32 v = loop->first; v < loop->first + loop->n; v++) {
			PipesimOp weight = order->verbs[v];
			gint64 took = s->verbs[v].duration;

			if (weight.kind == PIPESIM_W)
				continue;
			if (weight.kind == PIPESIM_I) {
				weight.kind = PIPESIM_W;
				took += pipesim_durations_get(&s->durations, rank, &weight);
			}
			busy += took * loop->count;
		}
	}
	return busy;
}

static PipesimStream *make_result(const PipesimStreamRunner *runner)
{
	const PipesimStreaming *s = &runner->s;
	const guint ranks = s->order->shape.ranks;
	PipesimStream *stream = g_new0(PipesimStream, 1);

	stream->ranks = ranks;
	stream->n_ops = s->order->n_ops;
	stream->busy = g_new(gint64, ranks);
	stream->first_start = g_new(gint64, ranks);
	stream->last_end = g_new(gint64, ranks);
	stream->steady = runner->steady;
	for (guint rank = 0; rank < ranks; rank++) {
		stream->busy[rank] = busy_of(s, rank);
		stream->first_start[rank] = s->ranks[rank].first_start;
		stream->last_end[rank] = s->ranks[rank].time;
		stream->makespan = MAX(stream->makespan, s->ranks[rank].time);
	}
	return stream;
}

static gboolean prepare(PipesimStreamRunner *runner, const PipesimOrder *order,
	const PipesimProgram *places, const PipesimTimes *times, gboolean check, GError **error)
{
	if (!check_order(order, error) ||
		!pipesim_streaming_init(&runner->s, order, places, times, error) ||
		(check && !check_overflow(order, times, &runner->s.durations, error)))
		return FALSE;
	return TRUE;
}

static void clear(PipesimStreamRunner *runner)
{
	pipesim_streaming_clear(&runner->s);
}

static PipesimStream *run_order(const PipesimOrder *order, const PipesimTimes *times,
	PipesimStreamMode mode, gboolean check, GError **error)
{
	g_autoptr(PipesimProgram) places = pipesim_program_new(&order->shape, 0, error);
	PipesimStreamRunner runner = {.leap = mode == PIPESIM_STREAM_LEAP};
	PipesimStream *stream = NULL;

	if (places == NULL)
		return NULL;
	if (prepare(&runner, order, places, times, check, error) && run_all(&runner, error))
		stream = make_result(&runner);
	clear(&runner);
	return stream;
}

PipesimStream *pipesim_stream_run(const PipesimOrder *order, const PipesimTimes *times,
	PipesimStreamMode mode, GError **error)
{
	return run_order(order, times, mode, TRUE, error);
}

void pipesim_stream_free(PipesimStream *stream)
{
	if (stream == NULL)
		return;
	g_free(stream->busy);
	g_free(stream->first_start);
	g_free(stream->last_end);
	g_free(stream);
}

static PipesimTimeline *new_timeline(guint n_ops, GError **error)
{
	PipesimTimeline *timeline = g_new0(PipesimTimeline, 1);

	timeline->n_ops = n_ops;
	timeline->start = g_try_new(gint64, MAX(n_ops, 1u));
	timeline->end = g_try_new(gint64, MAX(n_ops, 1u));
	if (timeline->start != NULL && timeline->end != NULL)
		return timeline;
	pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		"%u ops do not fit in memory; take fewer ranks or micro-batches", n_ops);
	pipesim_timeline_free(timeline);
	return NULL;
}

PipesimTimeline *pipesim_stream_timeline(const PipesimOrder *order,
	const PipesimProgram *program, const PipesimTimes *times, GError **error)
{
	g_autoptr(PipesimTimeline) timeline = new_timeline(program->n_ops, error);
	PipesimStreamRunner runner = {0};
	gboolean ok = timeline != NULL && prepare(&runner, order, program, times, TRUE, error);

	if (ok) {
		runner.s.timeline = timeline;
		runner.s.timeline_begin = program->rank_begin;
		ok = run_all(&runner, error);
	}
	for (guint rank = 0; ok && rank < order->shape.ranks; rank++)
		timeline->makespan = MAX(timeline->makespan, runner.s.ranks[rank].time);
	clear(&runner);
	/* Op by op, what any program is run by is faster. */
	if (ok && !runner.kept) {
		g_clear_pointer(&timeline, pipesim_timeline_free);
		return pipesim_fast_run(program, times, error);
	}
	return ok ? g_steal_pointer(&timeline) : NULL;
}
