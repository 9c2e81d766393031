/* What ranks hold besides activations and parameters where a runtime's list says so: messages, and stages gathered
 * under FSDP. The list decides, as a host issues it without waiting; times do not matter. Sources: PyTorch's
 * stage.py and schedules.py of 2.11 and 2.15, by when tensors were seen to go (python/measuring/lifetimes.py);
 * Megatron-LM's schedules.py, DualPipe's commit_and_wait. */
#include "analysis/parts.h"

typedef struct {
	const PipesimStep *step;
	const PipesimLowering *lowering;
	const PipesimCosts *costs;
	PipesimReport *report;
	gint64 message;     /* bytes of one; 0 = unknown */
	gboolean till_back; /* what is sent stays until its backward */
	/* By op of the whole program, of its output and of its gradient: it is let go of where that is waited for. */
	guint8 *let_go[2];
	/* By op: its gradient has been waited for. */
	guint8 *waited;
	/* By stage and micro-batch: its backward for input has run and its weight gradient not yet; and how many
	 * messages go with that. */
	guint8 *between, *with_weight;
	guint32 last; /* the rank's backward before this one; PIPESIM_NO_OP: none */
	const gint64 *late, *early; /* by stage, of gradients; NULL = all are there */
	gboolean *brought;          /* by chunk of all ranks */
	guint rank;
	guint32 at; /* the next op of the step's program */
	PipesimBesides now;
} Walk;

static gint64 message_bytes(const PipesimStep *step, const PipesimCosts *costs)
{
	if (costs->cutter != NULL)
		return costs->cutter->message / pipesim_shape_parts(&step->job.order->shape);
	return step->job.network != NULL ? step->job.network->message_bytes : 0;
}

/* How many messages of @op, either its outputs or its inputs, are gradients or not. */
static guint count(const Walk *walk, guint32 op, gboolean send, gboolean backward)
{
	const PipesimProgram *program = walk->lowering->program;
	const guint32 other = pipesim_message_end(program, walk->rank, op, send, backward);

	return other != PIPESIM_NO_OP &&
	       pipesim_program_rank_near(program, other, walk->rank) != walk->rank;
}

static void hold(Walk *walk, gint64 messages)
{
	walk->now.messages += messages * walk->message;
}

/* Activations that @op's micro-batch holds of its chunk: what of its input they can be. */
static gint64 input_bytes(const Walk *walk, const PipesimOp *op)
{
	const PipesimReport *report = walk->report;
	const PipesimMemory *memory = &report->memory;
	const gsize i = (gsize)walk->rank * memory->chunks + op->chunk;
	gint64 bytes;

	if (memory->of[PIPESIM_UNTIL_INPUT] != NULL)
		bytes = pipesim_add_capped(memory->of[PIPESIM_UNTIL_INPUT][i],
			memory->of[PIPESIM_UNTIL_WEIGHT][i]);
	else
		bytes = pipesim_time_scale(pipesim_add_capped(walk->costs->bytes_until_input,
						   walk->costs->bytes_until_weight),
			report->held.unit.num * report->held.pieces, report->held.unit.den);
	return MIN(walk->message, bytes);
}

/* How many inputs forward @op has, be they of a stage of its own rank. */
static guint count_inputs(const Walk *walk, guint32 op)
{
	return pipesim_op_stage(walk->lowering->program, walk->rank,
		       &walk->lowering->program->ops[op]) > 0;
}

/* A forward: its input is an activation from now on, or has been received into a buffer that is there anyway;
 * its output is there. */
static void begin_forward(Walk *walk, guint32 op)
{
	if (walk->lowering->runtime->keeps_buffers)
		walk->now.messages -= count_inputs(walk, op) *
				      input_bytes(walk, &walk->lowering->program->ops[op]);
	else
		hold(walk, -(gint64)count(walk, op, FALSE, 0));
	hold(walk, count(walk, op, TRUE, 0));
}

/* @n messages of the stage and micro-batch @slot are no longer needed, but for a weight gradient that is still to
 * come where the runtime keeps them for it. */
static void drop(Walk *walk, gsize slot, guint n)
{
	if (walk->between[slot])
		walk->with_weight[slot] += n;
	else
		hold(walk, -(gint64)n);
}

/* The input of the forward of @slot is no activation any more, only in its buffer. */
static void end_input(Walk *walk, gsize slot)
{
	const PipesimProgram *program = walk->lowering->program;
	const guint32 forward = program->forward[slot];

	if (walk->lowering->runtime->keeps_buffers)
		walk->now.messages +=
			count_inputs(walk, forward) * input_bytes(walk, &program->ops[forward]);
}

/* Gradients received by half @op of a backward that wait for W as activations, not as messages too. */
static guint count_waiting(const Walk *walk, guint32 op)
{
	const PipesimProgram *program = walk->lowering->program;
	const PipesimOp *own = &program->ops[op];
	const PipesimMemory *memory = &walk->report->memory;
	const gsize at = (gsize)walk->rank * memory->chunks + own->chunk;

	return (own->kind == PIPESIM_I || own->kind == PIPESIM_W) &&
	       walk->lowering->runtime->keeps_for_weight &&
	       memory->of[PIPESIM_BETWEEN] != NULL && memory->of[PIPESIM_BETWEEN][at] > 0 &&
	       pipesim_op_stage(program, walk->rank, own) + 1 < program->shape.stages;
}

/* A backward, or one for input: the gradient that it received is used up, and what its forward left. */
static void end_backward(Walk *walk, guint32 op)
{
	const PipesimProgram *program = walk->lowering->program;
	const PipesimRuntime *runtime = walk->lowering->runtime;
	const gsize slot = pipesim_op_backward_slot(program, walk->rank, &program->ops[op]);
	const guint32 forward = program->forward[slot], last = walk->last;

	walk->between[slot] = runtime->keeps_for_weight && program->ops[op].kind == PIPESIM_I;
	/* PyTorch keeps its graph, the input too, until W. */
	if (walk->late == NULL || program->ops[op].kind != PIPESIM_I)
		end_input(walk, slot);
	if (!runtime->keeps_buffers)
		drop(walk, slot, count(walk, op, FALSE, 1));
	hold(walk, -(gint64)count_waiting(walk, op));
	if (!walk->let_go[0][forward])
		drop(walk, slot, count(walk, forward, TRUE, 0));
	/* The gradient that it sends is there, and that of the last one may go. */
	hold(walk, count(walk, op, TRUE, 1));
	if (runtime->gradients != PIPESIM_SENT_NEXT)
		return;
	if (last != PIPESIM_NO_OP && (!walk->let_go[1][last] || walk->waited[last]))
		hold(walk, -(gint64)count(walk, last, TRUE, 1));
	walk->last = op;
}

static void write_down(Walk *walk, gboolean ends, guint32 op)
{
	const PipesimProgram *program = walk->lowering->program;
	const PipesimOp *own = &program->ops[op];
	const gsize at =
		(gsize)walk->rank * program->shape.chunks + pipesim_op_backward_chunk(own);
	PipesimBesides *besides = &walk->report->memory.besides[walk->at];

	*besides = walk->now;
	/* The first weight gradient of a chunk brings gradients. */
	if (ends && walk->late != NULL && own->kind != PIPESIM_I && !walk->brought[at]) {
		walk->brought[at] = TRUE;
		if (own->kind == PIPESIM_W)
			besides->absent[0] -= walk->early[program->stage_of[at]];
		walk->now.absent[0] -= walk->late[program->stage_of[at]];
	}
	if (ends && own->kind == PIPESIM_W) {
		const gsize slot = pipesim_op_backward_slot(program, walk->rank, own);

		walk->between[slot] = FALSE;
		hold(walk, (gint64)count_waiting(walk, op) - walk->with_weight[slot]);
		if (walk->late != NULL)
			end_input(walk, slot);
	} else if (ends) {
		end_backward(walk, op);
	}
	besides->behind = walk->now.messages + walk->now.gathered;
	besides->absent[1] = walk->now.absent[0];
	walk->at++;
}

/* The list has waited for what @op has sent. */
static void end_send(Walk *walk, guint32 op, gboolean backward)
{
	const PipesimProgram *program = walk->lowering->program;
	const PipesimOp *own = &program->ops[op];
	const gsize slot = backward ? pipesim_op_backward_slot(program, walk->rank, own)
				    : pipesim_op_forward_slot(program, walk->rank, own);

	if (!walk->let_go[backward][op])
		return;
	if (backward && walk->lowering->runtime->gradients == PIPESIM_SENT_NEXT) {
		walk->waited[op] = TRUE;
		if (walk->last == op)
			return;
	}
	drop(walk, slot, 1);
}

static void walk_action(Walk *walk, guint32 i, guint32 end)
{
	const PipesimLowering *lowering = walk->lowering;
	const PipesimRuntime *runtime = lowering->runtime;
	const PipesimAction *actions = lowering->actions, *action = &actions[i];
	const gint64 *gathered = walk->step->job.times->gathered;
	const PipesimOp *own = NULL;

	if (!pipesim_action_is_sharding(action->kind))
		own = &lowering->program->ops[action->op];
	switch (action->kind) {
	case PIPESIM_ACTION_OP:
		if (pipesim_op_has_forward(own))
			begin_forward(walk, action->op);
		/* The halves of a pair one after the other. */
		if (walk->step->split && own->kind == PIPESIM_FB)
			write_down(walk, FALSE, action->op);
		write_down(walk, pipesim_op_has_backward(own) || own->kind == PIPESIM_W,
			action->op);
		break;
	case PIPESIM_ACTION_RECV_F:
	case PIPESIM_ACTION_RECV_B:
		hold(walk, !runtime->keeps_buffers);
		break;
	case PIPESIM_ACTION_SEND_B:
		if (runtime->gradients == PIPESIM_SENT_BUFFER && own->kind != PIPESIM_I)
			hold(walk, -1);
		break;
	case PIPESIM_ACTION_WAIT_SEND_F:
	case PIPESIM_ACTION_WAIT_SEND_B:
		end_send(walk, action->op, pipesim_action_is_backward(action->kind));
		break;
	case PIPESIM_ACTION_UNSHARD:
		walk->now.gathered += gathered != NULL ? gathered[action->stage] : 0;
		break;
	case PIPESIM_ACTION_RESHARD:
		walk->now.gathered -= gathered != NULL ? gathered[action->stage] : 0;
		break;
	default:
		break;
	}
	/* A group that is waited for ends. */
	if (!pipesim_action_is_message(action->kind) || !action->waited ||
		(i + 1 < end && action[1].joined))
		return;
	do
		if (pipesim_action_is_send(actions[i].kind))
			end_send(walk, actions[i].op,
				pipesim_action_is_backward(actions[i].kind));
	while (actions[i--].joined);
}

static void walk_rank(Walk *walk)
{
	const PipesimLowering *lowering = walk->lowering;
	const PipesimProgram *program = lowering->program;
	const guint32 begin = lowering->rank_begin[walk->rank];
	const guint32 end = lowering->rank_begin[walk->rank + 1];
	const guint32 *ops = &program->rank_begin[walk->rank];

	walk->at = walk->step->program->rank_begin[walk->rank];
	walk->now = (PipesimBesides){0};
	walk->last = PIPESIM_NO_OP;
	if (walk->report->memory.absent != NULL)
		walk->now.absent[0] = walk->report->memory.absent[walk->rank];
	/* Between two stages of one rank the buffers of both ways are there too: what is handed on takes
	 * their place. */
	for (guint32 op = ops[0]; lowering->runtime->keeps_buffers && op < ops[1]; op++) {
		guint32 inputs[2];
		const guint n =
			pipesim_program_inputs(program, walk->rank, &program->ops[op], inputs);

		hold(walk, (gint64)n - count(walk, op, FALSE, 0) - count(walk, op, FALSE, 1));
	}
	for (guint32 i = begin; i < end; i++) {
		const PipesimAction *action = &lowering->actions[i];

		if ((action->kind == PIPESIM_ACTION_SEND_F && action->waited) ||
			action->kind == PIPESIM_ACTION_WAIT_SEND_F)
			walk->let_go[0][action->op] = !walk->till_back;
		if ((action->kind == PIPESIM_ACTION_SEND_B && action->waited) ||
			action->kind == PIPESIM_ACTION_WAIT_SEND_B)
			walk->let_go[1][action->op] = TRUE;
		/* Of every micro-batch, from the start. */
		if (lowering->runtime->keeps_buffers &&
			(action->kind == PIPESIM_ACTION_RECV_F ||
				action->kind == PIPESIM_ACTION_RECV_B))
			hold(walk, 1);
	}
	for (guint32 i = begin; i < end; i++)
		walk_action(walk, i, end);
}

gboolean pipesim_report_besides(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	const PipesimLowering *lowering = pipesim_step_messages(step);
	const gint64 message = message_bytes(step, subject->costs);
	const PipesimShape *shape = &step->job.order->shape;
	const gsize slots = (gsize)shape->stages * shape->microbatches;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Walk walk = {.step = step,
		.lowering = lowering,
		.costs = subject->costs,
		.report = report,
		.message = message};

	if (!pipesim_runtime_waits(step->job.runtime) || report->memory.peak == NULL ||
		(message == 0 && step->job.times->gathered == NULL))
		return TRUE;
	walk.till_back = lowering->runtime->keeps_buffers || step->job.issuing.keep_outputs;
	for (guint i = 0; i < 2; i++)
		walk.let_go[i] = pipesim_arena_array(arena, guint8, lowering->program->n_ops);
	walk.late = step->job.times->late;
	walk.early = step->job.times->early;
	walk.brought = pipesim_arena_array(
		arena, gboolean, (gsize)report->ranks * step->job.order->shape.chunks);
	walk.waited = pipesim_arena_array(arena, guint8, lowering->program->n_ops);
	walk.between = pipesim_arena_array(arena, guint8, slots);
	walk.with_weight = pipesim_arena_array(arena, guint8, slots);
	report->memory.besides = g_try_new0(PipesimBesides, step->program->n_ops);
	if (report->memory.besides == NULL ||
		!pipesim_arena_check(arena, NULL, "%u ops", lowering->program->n_ops))
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			step->program->n_ops);
	report->memory.has_messages = message > 0;
	report->memory.has_gathered = step->job.times->gathered != NULL;
	for (; walk.rank < report->ranks; walk.rank++)
		walk_rank(&walk);
	return TRUE;
}
