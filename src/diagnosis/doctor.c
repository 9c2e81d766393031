#include "diagnosis/doctor.h"

/* @durations, by op of the program, for the ops of @step, where pairs ran in halves: F has its share by what both
 * halves usually take. For g_free(). */
static gint64 *split_durations(
	const PipesimDoctor *doctor, const PipesimStep *step, const gint64 *durations)
{
	const PipesimProgram *program = doctor->out->program;
	gint64 *split = g_new(gint64, step->program->n_ops);
	guint32 at = 0;

	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks) {
		const PipesimOp *op = &program->ops[i];
		gint64 forward = durations[i], both;

		if (op->kind == PIPESIM_FB) {
			const guint stage = pipesim_op_stage(program, rank, op);
			const guint b_stage = pipesim_op_b_stage(program, rank, op);

			both = doctor->times->stage[PIPESIM_F][stage] +
			       doctor->times->stage[PIPESIM_B][b_stage];
			forward = pipesim_time_scale(durations[i],
				doctor->times->stage[PIPESIM_F][stage], MAX(both, 1));
			split[at++] = forward;
			forward = durations[i] - forward;
		}
		split[at++] = forward;
	}
	return split;
}

/* Start and end of @timeline, whose pairs ran in halves, by op of the program again. */
static void join_halves(const PipesimDoctor *doctor, PipesimTimeline *timeline)
{
	const PipesimProgram *program = doctor->out->program;
	guint32 at = 0;

	for (guint32 i = 0; i < program->n_ops; i++) {
		timeline->start[i] = timeline->start[at];
		at += program->ops[i].kind == PIPESIM_FB;
		timeline->end[i] = timeline->end[at++];
	}
	timeline->n_ops = program->n_ops;
}

gint64 pipesim_doctor_replay(const PipesimDoctor *doctor, const PipesimStep *step,
	const gint64 *durations, gint64 p2p, gboolean contend, PipesimTimeline **out,
	GError **error)
{
	PipesimTimes times = *doctor->times;
	g_autofree gint64 *split =
		step->split ? split_durations(doctor, step, durations) : NULL;
	gint64 makespan;

	times.drawn = split != NULL ? split : durations;
	if (!contend)
		times.contention = NULL;
	times.p2p = p2p;
	g_autoptr(PipesimTimeline) timeline = pipesim_step_again(step, &times, 0, error);
	if (timeline == NULL)
		return -1;
	makespan = timeline->makespan;
	if (split != NULL)
		join_halves(doctor, timeline);
	if (out != NULL)
		*out = g_steal_pointer(&timeline);
	return makespan;
}

gboolean pipesim_doctor_moments(
	const PipesimDoctor *doctor, const PipesimRecordPipeline *pipeline, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	PipesimBegin *moments = doctor->moments;
	g_autofree guint32 *sequence = g_try_new(guint32, program->n_ops);

	if (sequence == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	if (pipesim_program_sequence(program, sequence, error) == G_MAXUINT32)
		return FALSE;
	for (guint32 k = 0; k < program->n_ops; k++) {
		const guint32 i = sequence[k];
		const guint rank = pipesim_program_rank(program, i);
		const PipesimRecordOp *op = &pipeline->ops[i];
		PipesimBegin *moment = &moments[i];
		guint32 inputs[2];
		const guint n = pipesim_program_inputs(program, rank, &program->ops[i], inputs);

		*moment = (PipesimBegin){pipeline->start, 0, 0, FALSE};
		if (i > program->rank_begin[rank])
			moment->ready = MAX(moment->ready, moments[i - 1].end);
		for (guint k2 = 0; k2 < n; k2++) {
			const guint32 input = inputs[k2];

			if (moments[input].end < moment->ready)
				continue;
			moment->ready = moments[input].end;
			moment->remote |= input < program->rank_begin[rank] ||
					  input >= program->rank_begin[rank + 1];
		}
		/* Clocks of ranks agree to some microseconds. */
		moment->start = MAX(op->start, moment->ready);
		moment->end = MAX(op->end, moment->start);
	}
	return TRUE;
}

gint64 pipesim_doctor_own(const PipesimDoctor *doctor, const PipesimRecordOp *op,
	const PipesimBegin *moment, gboolean alone)
{
	const gint64 usual = doctor->medians->idle[op->stage * PIPESIM_N_KINDS + op->kind];
	const gint64 took = moment->end - moment->start;
	const gint64 own = MAX(took - MIN(MAX(op->idle - usual, 0), took) - op->peers, 0);

	alone &= doctor->rules != NULL && doctor->times->contention != NULL;
	return alone ? MAX(own - op->beside, 0) : own;
}

/* Of the time from @from to @to how much spans of @rank that are messages cover, or @any. */
static gint64 covered(
	const PipesimRecordPipeline *pipeline, guint rank, gint64 from, gint64 to, gboolean any)
{
	gint64 sum = 0;

	pipesim_each_of (i, pipeline->span_begin, rank) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);

		if (span->start >= to)
			break;
		/* What was still under way when the op began has not kept it. */
		if ((!any && !span->message) || span->end <= from || span->end > to)
			continue;
		sum += MIN(span->end, to) - MAX(span->start, from);
		from = MIN(span->end, to);
	}
	return sum;
}

/* Whether a message goes from op @i to another rank or comes from one. */
static gboolean has_message(const PipesimProgram *program, guint rank, guint32 i, gboolean out)
{
	guint32 other[2];
	const guint n = out ? pipesim_program_outputs(program, rank, &program->ops[i], other)
			    : pipesim_program_inputs(program, rank, &program->ops[i], other);

	return pipesim_any(k, n,
		other[k] < program->rank_begin[rank] ||
			other[k] >= program->rank_begin[rank + 1]);
}

gint64 pipesim_doctor_waited(const PipesimDoctor *doctor, const PipesimRecordPipeline *pipeline,
	guint rank, guint32 i, const PipesimBegin *moment)
{
	const PipesimProgram *program = doctor->out->program;

	if (doctor->record->has_messages) {
		const gint64 launched = moment->start - pipeline->ops[i].queued;
		const gint64 moving =
			covered(pipeline, rank, moment->ready, moment->start, FALSE);

		/* What the host had launched waited for all that kept the message as well. */
		return moving == 0 ? 0
				   : MAX(moving, covered(pipeline, rank,
							 MAX(moment->ready, launched),
							 moment->start, TRUE));
	}
	if (has_message(program, rank, i, FALSE) ||
		(i > program->rank_begin[rank] && has_message(program, rank, i - 1, TRUE)))
		return moment->start - moment->ready;
	return 0;
}

gboolean pipesim_doctor_simulate(PipesimDoctor *doctor, guint s, const PipesimStep *step,
	gboolean late, gint64 *out, PipesimTimeline **timeline, GError **error)
{
	const PipesimRecordPipeline *pipeline = pipesim_record_slowest(doctor->record, s);
	const PipesimProgram *program = doctor->out->program;

	*out = -1;
	if (!pipesim_executed_same(doctor->record, doctor->out->pipeline, pipeline))
		return TRUE;
	if (!pipesim_doctor_moments(doctor, pipeline, error))
		return FALSE;
	pipesim_each_rank_of (i, program->rank_begin, rank, program->shape.ranks) {
		const PipesimBegin *begin = &doctor->moments[i];

		doctor->trial[i] = pipesim_doctor_own(doctor, &pipeline->ops[i], begin, TRUE) +
				   pipeline->ops[i].peers;
		if (late)
			doctor->trial[i] +=
				begin->start - begin->ready -
				pipesim_doctor_waited(doctor, pipeline, rank, i, begin);
	}
	gint64 makespan = pipesim_doctor_replay(doctor, step, doctor->trial,
		doctor->out->message, step == doctor->rules, timeline, error);
	if (makespan < 0)
		return FALSE;
	*out = makespan + pipesim_record_length(doctor->record, s) -
	       (pipeline->end - pipeline->start);
	return TRUE;
}
