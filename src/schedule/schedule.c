#include "schedule/schedule.h"
#include "order/offload.h"

/* Planned times of @program's ops by its order alone, or by the slots of @schedule. */
static gboolean plan_ops(const PipesimSchedule *schedule, const PipesimProgram *program,
	const PipesimTimes *times, PipesimOffload *how, GError **error)
{
	const PipesimShape *shape = &program->shape;
	g_autofree guint32 *sequence = g_new(guint32, program->n_ops);
	gint64 slot = 0;

	for (guint stage = 0; stage < shape->stages; stage++)
		slot = MAX(slot, times->stage[PIPESIM_F][stage]);
	/* Messages take some time: what comes at one moment is else in no order. */
	how->p2p = MAX(times->p2p, slot / 1000);
	if (pipesim_program_sequence(program, sequence, error) == G_MAXUINT32)
		return FALSE;
	for (guint32 i = 0; i < program->n_ops; i++) {
		const guint32 index = sequence[i];
		const PipesimOp *op = &program->ops[index];
		const guint rank = pipesim_program_rank(program, index);
		const gint64 at = schedule->slot != NULL ? schedule->slot(shape, rank, op) : -1;
		gint64 start = index > program->rank_begin[rank] ? how->end[index - 1] : 0;
		guint32 inputs[2];

		if (pipesim_program_inputs(program, rank, op, inputs) > 0)
			start = MAX(start, how->end[inputs[0]] + (pipesim_program_rank(program,
									  inputs[0]) != rank
										 ? how->p2p
										 : 0));
		how->start[index] = at < 0 ? start : at * slot;
		how->end[index] =
			how->start[index] +
			(at < 0 ? pipesim_op_duration(program, times, rank, op) : slot);
	}
	return TRUE;
}

/* @program with copies of @chunks of each rank; where there is no time for so many, says for how many there is. */
static PipesimProgram *offload(const PipesimSchedule *schedule, const PipesimProgram *program,
	const PipesimTimes *times, guint chunks, GError **error)
{
	g_autofree gint64 *ns = g_new(gint64, 2 * (gsize)program->n_ops);
	PipesimOffload how = {.start = ns,
		.end = ns + program->n_ops,
		.copy = pipesim_own_copy(times->own),
		.chunks = chunks,
		.engines = times->engines,
		.slots = schedule->slot != NULL};
	g_autoptr(GError) fault = NULL;
	g_autoptr(PipesimProgram) copied = NULL;

	for (; copied == NULL; how.chunks--) {
		if (!plan_ops(schedule, program, times, &how, error))
			return NULL;
		copied = pipesim_program_offload(program, &how, fault == NULL ? &fault : NULL);
		if (fault == NULL)
			return g_steal_pointer(&copied);
		if (!g_error_matches(fault, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT)) {
			g_propagate_error(error, g_steal_pointer(&fault));
			return NULL;
		}
	}
	return how.chunks + 1 == 0 ? pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
					     "%s; copies must be faster", fault->message)
				   : pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
					     "%s; nearest: --offload-chunks %u", fault->message,
					     how.chunks + 1);
}

static void replace(PipesimProgram **program, PipesimProgram *by)
{
	pipesim_program_unref(*program);
	*program = by;
}

/* @order, which it frees, with what its shape asks for besides. */
static PipesimOrder *add_more(const PipesimSchedule *schedule, PipesimOrder *order,
	const PipesimShape *shape, const PipesimTimes *times, GError **error)
{
	static const char unknown[] = "copies to the host are left out: nothing says what one "
				      "takes (COPY of --times, or --offload-bandwidth)";
	const gboolean copies = shape->offload > 0 && times != NULL;
	g_autoptr(PipesimOrder) plain = order;

	if (shape->offload_part.num > 0)
		return pipesim_order_offload_part(plain, shape, times, error);
	if (copies && pipesim_own_copy(times->own) == 0) {
		if (schedule->offloads == PIPESIM_OFFLOADS_NOTHING &&
			!pipesim_times_check_copy(times, "--offload-chunks", error))
			return NULL;
		plain->note = g_strdup(unknown);
		return g_steal_pointer(&plain);
	}
	g_autoptr(PipesimProgram) program = pipesim_order_expand(plain, error);
	if (program != NULL && copies)
		replace(&program, offload(schedule, program, times, shape->offload, error));
	/* What lives longest is copied: chunks behind it are recomputed. */
	if (program != NULL && shape->recompute > 0)
		replace(&program, pipesim_program_recompute(
					  program, shape->offload, shape->recompute, error));
	return program != NULL ? pipesim_order_of_program(program) : NULL;
}

PipesimOrder *pipesim_schedule_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, GError **error)
{
	PipesimShape made_for = *shape;
	g_autoptr(PipesimOrder) order = NULL;

	/* Before anything is allocated a rank: an order that long would be refused later, by
	 * seconds and gigabytes, or take as long without that. */
	if (shape->ranks > PIPESIM_MAX_LONG_RANKS &&
		(guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS)
		return pipesim_fail_null(error, PIPESIM_ERROR_LIMIT,
			"%s: %u micro-batches on %u ranks are too many; from %u ranks on, at "
			"most %u",
			schedule->name, pipesim_shape_whole(shape), shape->ranks,
			PIPESIM_MAX_LONG_RANKS + 1,
			MAX(PIPESIM_MAX_OPS / shape->stages / pipesim_shape_parts(shape), 1u));
	if (schedule->padded != NULL)
		made_for.microbatches = MAX(schedule->padded(shape), shape->microbatches);
	if (schedule->plan != NULL)
		order = pipesim_order_plan(shape, schedule->plan, times, error);
	else
		order = pipesim_order_generate(&made_for, schedule->generate, error);
	if (order != NULL && made_for.microbatches > shape->microbatches) {
		PipesimOrder *trimmed = pipesim_order_trim(order, shape, error);

		pipesim_order_unref(order);
		order = trimmed;
	}
	if (order != NULL &&
		(shape->recompute > 0 || (pipesim_shape_offloads(shape) && times != NULL)))
		order = add_more(schedule, g_steal_pointer(&order), shape, times, error);
	if (order == NULL)
		g_prefix_error(error, "%s: ", schedule->name);
	return g_steal_pointer(&order);
}
