#include "config.h"

#include "engine/durations.h"
#include "engine/ruled-flow.h"
#include "runtime/rounds.h"
#include <string.h>

typedef struct {
	const PipesimProgram *program;
	gboolean waits;
	gint64 p2p;
	PipesimDurations durations;
	gint64 *now; /* by rank: when all that its list has so far is done, but for messages */
	gint64 *queue; /* by rank: when its messages are, too */
	gint64 *there
		[2]; /* by stage and micro-batch: when its activation, its gradient has arrived; 0: unsent */
	gint64 *busy, *first_start, *last_end; /* by rank */
	guint32 n_done;
} Flow;

static inline void run_message(gpointer listener, guint rank, guint32 from G_GNUC_UNUSED,
	guint to_rank, guint32 to G_GNUC_UNUSED, gsize slot, guint backward)
{
	Flow *flow = listener;
	const gint64 sent = MAX(flow->now[rank], flow->queue[rank]);
	const gint64 received = MAX(flow->now[to_rank], flow->queue[to_rank]);
	const gint64 there = MAX(sent, received) + flow->p2p;

	flow->queue[rank] = flow->queue[to_rank] = flow->there[backward][slot] = there;
}

/* A half of a pair, or all of another op, that takes as long and waits for what is @there. */
static inline void run_half(Flow *flow, guint rank, gint64 took, gint64 there)
{
	flow->now[rank] = MAX(flow->now[rank], there) + took;
	flow->busy[rank] += took;
}

static inline void run_op(
	gpointer listener, guint rank, guint32 index, gsize f_slot, gsize b_slot)
{
	Flow *flow = listener;
	const PipesimProgram *program = flow->program;
	const PipesimOp *op = &program->ops[index];
	const gsize m = program->shape.microbatches;
	const gint64 *took =
		&flow->durations.single[(gsize)rank * flow->durations.chunks * PIPESIM_FB];
	const guint kind = op->kind == PIPESIM_FB ? PIPESIM_F : op->kind;
	const gint64 there = pipesim_op_has_forward(op)    ? flow->there[0][f_slot]
			     : pipesim_op_has_backward(op) ? flow->there[1][b_slot]
							   : 0;

	if (index == program->rank_begin[rank])
		flow->first_start[rank] = MAX(flow->now[rank], there);
	run_half(flow, rank, took[(gsize)op->chunk * PIPESIM_FB + kind], there);
	if (op->kind == PIPESIM_FB)
		run_half(flow, rank, took[(gsize)op->b_chunk * PIPESIM_FB + PIPESIM_B],
			flow->there[1][b_slot]);
	flow->last_end[rank] = flow->now[rank];
	flow->n_done++;
	/* For the output of the same stage and micro-batch. */
	if (flow->waits && pipesim_op_has_backward(op) &&
		b_slot + m < (gsize)program->shape.stages * m)
		flow->now[rank] = MAX(flow->now[rank], flow->there[0][b_slot + m]);
}

static inline void pass_stage(gpointer listener, guint rank, const PipesimAction *action)
{
	/* It takes no time. */
	(void)listener, (void)rank, (void)action;
}

/* Whether no path can come near the end of gint64: of each op and its messages, and of waits for these. */
static gboolean fits(const Flow *flow)
{
	__extension__ typedef __int128 Wide;

	return (Wide)flow->program->n_ops *
		       ((Wide)flow->durations.longest + 8 * (Wide)flow->p2p) <
	       PIPESIM_MAX_END;
}

static gboolean run(Flow *flow, PipesimStep *step, PipesimArena *arena, GError **error)
{
	static const PipesimListener tell = {run_op, run_message, pass_stage};
	const PipesimTimes *times = step->job.times;
	const PipesimShape *shape = &flow->program->shape;
	const gsize n_slots = (gsize)shape->stages * shape->microbatches;
	PipesimLowerer lowerer = {.program = flow->program,
		.runtime = step->job.runtime,
		.issuing = &step->job.issuing,
		.arena = arena};
	PipesimRounds rounds;
	gboolean ok;

	flow->now = pipesim_arena_array(arena, gint64, shape->ranks);
	flow->queue = pipesim_arena_array(arena, gint64, shape->ranks);
	for (guint i = 0; i < 2; i++)
		flow->there[i] = pipesim_arena_array(arena, gint64, n_slots);
	/* From a try to leap. */
	memset(flow->busy, 0, shape->ranks * sizeof *flow->busy);
	memset(flow->first_start, 0, shape->ranks * sizeof *flow->first_start);
	memset(flow->last_end, 0, shape->ranks * sizeof *flow->last_end);
	ok = pipesim_rounds_begin(&rounds, &lowerer, error);
	for (guint rank = 0; ok && times->released != NULL && rank < shape->ranks; rank++)
		flow->now[rank] = times->released[rank];
	if (ok)
		pipesim_rounds_run(&rounds, &tell, flow);
	pipesim_rounds_clear(&rounds);
	return ok;
}

gboolean pipesim_ruled_flow(PipesimStep *step, gboolean *done, GError **error)
{
	const PipesimJob *job = &step->job;
	const PipesimTimes *times = job->times;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimProgram) program = NULL;
	Flow flow = {.p2p = times->p2p,
		.waits = job->runtime->waits_for_sends,
		.busy = step->busy,
		.first_start = step->first_start,
		.last_end = step->last_end};
	gboolean ok;

	*done = FALSE;
	if (!pipesim_rounds_apply(job->runtime, &job->issuing) || job->messages != NULL ||
		job->issuing.channels > PIPESIM_CHANNEL_RANK || times->drawn != NULL ||
		times->each != NULL || times->has_edges || times->unshard != NULL ||
		times->reduce != NULL)
		return TRUE;
	flow.program = program = pipesim_order_expand(job->order, error);
	if (program == NULL)
		return FALSE;
	ok = pipesim_durations_init(&flow.durations, program, times, error);
	if (ok && !program->has_more && fits(&flow)) {
		ok = run(&flow, step, arena, error);
		*done = ok && flow.n_done == program->n_ops;
	}
	step->makespan = 0;
	for (guint rank = 0; *done && rank < program->shape.ranks; rank++)
		step->makespan = MAX(step->makespan, step->last_end[rank]);
	pipesim_durations_clear(&flow.durations);
	/* Of an order without loops. */
	if (*done && job->order->program != NULL) {
		step->whole = g_steal_pointer(&program);
		step->program = pipesim_program_split_pairs(step->whole, error);
		ok = step->program != NULL;
		step->split = ok && step->program->n_ops > step->whole->n_ops;
	}
	return ok;
}
