#include "engine/flow.h"
#include "engine/ruled.h"
#include "order/long-loops.h"
#include "runtime/rounds.h"

/* Micro-batches that are told of a long step, about, before what repeats is left out; Megatron's ranks look them up one by
 * one. */
#define MOST_LISTED 16384
/* What the supersteps that are cut away are a multiple of. */
#define COMMON 60

/* Ops of their own numbers as one loop a rank. */
static void lay_loops(PipesimFlow *flow, const PipesimOrder *order)
{
	const guint ranks = order->shape.ranks;
	const guint32 *begin = flow->program->rank_begin;
	PipesimLoop *loops;
	guint32 *loop_begin;

	flow->verbs = order->verbs;
	flow->loops = order->loops;
	flow->loop_begin = order->rank_begin;
	flow->whole = flow->step->job.order->loops;
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
	flow->loops = flow->whole = loops;
	flow->loop_begin = loop_begin;
}

/* @order, or of a long one fewer supersteps: @out. */
static const PipesimOrder *shorten(
	PipesimFlow *flow, const PipesimOrder *order, PipesimOrder *out)
{
	PipesimLongLoops loops;
	guint64 all, kept;
	guint32 added;

	if (!flow->leaps || order->shape.microbatches <= MOST_LISTED ||
		!pipesim_long_loops_find(&loops, order, flow->arena) || loops.n_phases != 1)
		return order;
	added = pipesim_long_loops_added(&loops, order, 0);
	all = pipesim_long_loops_supersteps(&loops, order, 0);
	kept = MOST_LISTED / MAX(added, 1);
	if (added == 0 || all < kept + COMMON)
		return order;
	flow->cut = (all - kept) / COMMON * COMMON;
	if (pipesim_long_loops_cut(&loops, order, flow->cut, added, out, flow->arena))
		return out;
	flow->cut = 0;
	return order;
}

/* Whether no path can come near the end of gint64: of each op and its messages, and of waits for these. */
static gboolean fits(const PipesimFlow *flow, guint64 n_ops)
{
	__extension__ typedef __int128 Wide;
	const Wide message = (Wide)flow->p2p + flow->step->job.issuing.host_time;

	return (Wide)n_ops * (flow->durations.longest + 8 * message) < PIPESIM_MAX_END;
}

/* @counts: verbs are to be gone by */
static gboolean run(PipesimFlow *flow, const PipesimOrder *order, gboolean counts,
	gboolean *done, GError **error)
{
	PipesimStep *step = flow->step;
	const guint64 n_ops = order->n_ops;
	const gint64 *released = step->job.times->released;
	PipesimArena *arena = flow->arena = pipesim_arena_new();
	PipesimOrder shorter;
	const PipesimShape *shape;
	gboolean ok;

	*done = FALSE;
	flow->counts = counts;
	flow->order = order = shorten(flow, order, &shorter);
	shape = &order->shape;
	flow->per_chunk = pipesim_shape_per_chunk(shape);
	if (flow->leaps && flow->cut == 0 && shape->microbatches > 4 * MOST_LISTED &&
		!step->job.runtime->runs_files)
		return TRUE;
	flow->program = counts ? pipesim_program_new(shape, 0, error)
			       : pipesim_order_expand(order, error);
	ok = flow->program != NULL &&
	     pipesim_durations_init(&flow->durations, flow->program, step->job.times, error);
	if (!ok || flow->program->has_more || !fits(flow, n_ops))
		return ok;
	flow->ranks = pipesim_arena_array(arena, PipesimFlowRank, shape->ranks);
	lay_loops(flow, order);
	flow->places =
		pipesim_arena_array(arena, PipesimPlace, (gsize)shape->ranks * shape->chunks);
	if (!pipesim_arena_check(arena, error, "%" G_GUINT64_FORMAT " ops", order->n_ops))
		return FALSE;
	for (guint rank = 0; rank < shape->ranks; rank++) {
		PipesimFlowRank *r = &flow->ranks[rank];

		/* Ops are counted by 32 bits. */
		if (counts && pipesim_loop_before(order, rank, order->rank_begin[rank + 1]) >=
				      PIPESIM_NO_OP)
			return TRUE;
		r->limit = G_MAXUINT32;
		r->loop = flow->loop_begin[rank];
		pipesim_flow_loop(flow, rank);
		r->now = r->free = released != NULL ? released[rank] : 0;
		step->first_start[rank] = 0;
	}
	ok = step->job.runtime->runs_files ? pipesim_flow_rounds(flow, done, error)
					   : pipesim_flow_megatron(flow, done, error);
	*done = *done && flow->n_done == order->n_ops && flow->cut == 0;
	step->makespan = 0;
	for (guint rank = 0; *done && rank < shape->ranks; rank++) {
		step->last_end[rank] = flow->ranks[rank].last_end;
		step->makespan = MAX(step->makespan, step->last_end[rank]);
		if (released == NULL)
			step->free = MAX(step->free, flow->ranks[rank].free);
	}
	return ok;
}

static void clear(PipesimFlow *flow)
{
	pipesim_durations_clear(&flow->durations);
	pipesim_arena_free(flow->arena);
	g_free(flow->moments);
	g_clear_pointer(&flow->program, pipesim_program_unref);
}

gboolean pipesim_ruled_flow(
	PipesimStep *step, gboolean verbs, gboolean leaps, gboolean *done, GError **error)
{
	const PipesimJob *job = &step->job;
	const PipesimTimes *times = job->times;
	const PipesimOrder *order = job->order;
	gboolean ok = TRUE;

	*done = FALSE;
	if (job->messages != NULL || times->drawn != NULL || times->each != NULL ||
		times->has_edges || times->unshard != NULL || times->reduce != NULL)
		return TRUE;
	if (job->runtime->runs_files) {
		if (!pipesim_rounds_apply(job->runtime, &job->issuing) ||
			job->issuing.communicators > PIPESIM_COMMUNICATOR_RANK)
			return TRUE;
		if (!pipesim_rounds_check(order->shape.ranks, pipesim_order_has_pairs(order),
			    &job->issuing, error))
			return FALSE;
	} else if (job->runtime != &pipesim_runtime_megatron) {
		return TRUE;
	}
	/* What slices leave is not leapt over. */
	if (leaps && pipesim_shape_slices(&order->shape) > 1)
		return TRUE;
	if (!verbs || (order->is_closed && order->program == NULL)) {
		PipesimFlow flow = {.step = step,
			.leaps = leaps,
			.slices = pipesim_shape_slices(&order->shape),
			.p2p = times->p2p};

		ok = run(&flow, order, verbs, done, error);
		/* Of an order without loops. */
		if (*done && order->program != NULL) {
			step->whole = pipesim_program_ref(flow.program);
			step->program =
				job->runtime->splits_pairs
					? pipesim_program_split_pairs(step->whole, error)
					: pipesim_program_ref(step->whole);
			ok = step->program != NULL;
			step->split = ok && step->program->n_ops > step->whole->n_ops;
		}
		clear(&flow);
	}
	return ok;
}
