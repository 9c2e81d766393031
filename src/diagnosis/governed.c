#include "diagnosis/governed.h"
#include "measure/beside.h"

/* What an op that took @alone ns from @state on takes sustained. */
static gint64 sustain(const PipesimPower *power, const PipesimPowerState *state,
	PipesimKind kind, gint64 alone)
{
	gint64 sustained = alone;

	/* Both are in proportion but for the clock that falls within the op: this is exact soon. */
	for (guint i = 0; i < 4; i++)
		sustained = pipesim_time_scale(sustained, alone,
			MAX(pipesim_power_duration(power, state, kind, sustained), 1));
	return sustained;
}

/* Chips of one host differ by less, and clocks that follow the load; what takes longer is held up, and draws as much less: its
 * work is the same. */
#define HELD_UP 1.08

/* What is drawn at @load by an op that usually takes @usual ns where it takes @took. */
static gint64 draw(gint64 load, gint64 usual, gint64 took)
{
	return (double)took > HELD_UP * (double)usual ? pipesim_time_scale(load, usual, took)
						      : load;
}

/* Of a record what is known of its ops before: by stage * PIPESIM_N_KINDS + kind what they took in the median, and ranks that
 * are held up, in millionths. */
typedef struct {
	gint64 *usual, *held;
} Usual;

/* Runs what @rank did in @pipeline and until the next step after it, into what it says of its ops. */
static void pace_rank(const PipesimPower *power, const PipesimRecordPipeline *pipeline,
	guint rank, gint64 after, const Usual *usual, PipesimPowerState *state)
{
	g_autoptr(GArray) messages = g_array_new(FALSE, FALSE, sizeof(PipesimInterval));
	gint64 now = pipeline->start;

	pipesim_each_of (i, pipeline->span_begin, rank) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);

		if (span->message && span->end > span->start)
			g_array_append_val(
				messages, ((PipesimInterval){span->start, span->end}));
	}
	pipesim_intervals_join(messages);
	for (guint32 i = pipeline->op_begin[rank]; i <= pipeline->op_begin[rank + 1]; i++) {
		const gboolean last = i == pipeline->op_begin[rank + 1];
		PipesimRecordOp *op = last ? NULL : &pipeline->ops[i];
		const gint64 until = last ? pipeline->end + after : MAX(op->start, now);
		const gint64 waited = pipesim_beside_covered(messages, now, until);
		const gint64 idle_load =
			pipesim_time_scale(power->waiting_load, waited, MAX(until - now, 1));
		PipesimPower here = *power;

		pipesim_power_advance(power, state, until - now, idle_load);
		if (last)
			break;
		now = MAX(op->end, until);
		gint64 less = pipesim_time_scale(PIPESIM_PPM - power->beside_load,
			pipesim_beside_covered(messages, until, now), MAX(now - until, 1));
		here.load[op->kind] = pipesim_time_scale(
			power->load[op->kind], PIPESIM_PPM - less, PIPESIM_PPM);
		op->idle_load = (guint32)idle_load;
		op->load = (guint32)here.load[op->kind];
		gint64 alone = pipesim_record_alone(op);
		/* At full clock it took less than usual. */
		gint64 most =
			pipesim_time_scale(usual->usual[op->stage * PIPESIM_N_KINDS + op->kind],
				PIPESIM_PPM, power->full_speed[op->kind]);
		here.load[op->kind] =
			draw(draw(op->load, most, alone), PIPESIM_PPM, usual->held[rank]);
		op->sustained = sustain(&here, state, op->kind, alone);
		pipesim_power_advance(power, state, now - until, here.load[op->kind]);
	}
}

/* What ranks with @speeds are slower for by themselves, not by their clocks. */
static void set_speeds(PipesimRecord *record, const gint64 *speeds)
{
	const guint ranks = record->joined.ranks;
	g_autofree gint64 *sorted = NULL;

	for (guint rank = 0; rank < ranks; rank++) {
		gint64 alone = 0, sustained = 0;

		pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
			pipesim_each_of (i, pipeline->op_begin, rank) {
				alone += pipesim_record_alone(&pipeline->ops[i]);
				sustained += pipeline->ops[i].sustained;
			}
		record->speed[rank] =
			pipesim_time_scale(speeds[rank], sustained, MAX(alone, 1));
	}
	sorted = g_memdup2(record->speed, ranks * sizeof *sorted);
	qsort(sorted, ranks, sizeof *sorted, pipesim_compare_int64);
	for (guint rank = 0; rank < ranks; rank++)
		record->speed[rank] = pipesim_time_scale(
			record->speed[rank], PIPESIM_PPM, MAX(sorted[(ranks - 1) / 2], 1));
}

/* All steps, each of which follows others like it. */
static void pace_all(PipesimRecord *record, const Usual *usual)
{
	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint rank = 0; rank < record->joined.ranks; rank++) {
			const gint64 after = pipesim_record_step(record, pipeline->step)->after;
			const PipesimPowerState rested = {{0}};
			PipesimPowerState state = rested;

			pace_rank(record->power, pipeline, rank, after, usual, &state);
			state = pipesim_power_repeat(record->power, &rested, &state,
				pipeline->end + after - pipeline->start);
			pace_rank(record->power, pipeline, rank, after, usual, &state);
		}
}

/* How often ranks that are held up are looked for: those that are draw less, so that their clocks hold them up less. */
#define HELD_ROUNDS 4

void pipesim_govern_record(PipesimRecord *record, const PipesimDevice *device)
{
	const guint ranks = record->joined.ranks;
	const gsize n = (gsize)record->joined.stages * PIPESIM_N_KINDS;
	g_autofree gint64 *usual = g_new0(gint64, n), *held = g_new0(gint64, ranks);
	g_autofree gint64 *speeds = NULL;
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(PipesimSample));

	record->chip = device;
	record->power = device->power;
	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint32 i = 0; i < pipeline->op_begin[ranks]; i++) {
			const PipesimRecordOp *op = &pipeline->ops[i];

			g_array_append_val(
				ops, ((PipesimSample){op->stage * PIPESIM_N_KINDS + op->kind,
					     op->sustained}));
		}
	pipesim_sample_medians(ops, usual);
	for (guint rank = 0; rank < ranks; rank++)
		held[rank] = PIPESIM_PPM;
	speeds = g_memdup2(record->speed, ranks * sizeof *speeds);
	for (guint round = 0; round < HELD_ROUNDS; round++) {
		pace_all(record, &(Usual){usual, held});
		if (speeds == NULL)
			break;
		set_speeds(record, speeds);
		memcpy(held, record->speed, ranks * sizeof *held);
	}
}

/* Replays ---------------------------------------------------------------------------------- */

/* Rounds after which clocks and the times that follow from them agree, and how well, ns. */
#define ROUNDS 6
#define AGREES 1000

/* Runs the ops of @rank by @timeline from @state on. @counts: what they take becomes what they took. Whether it was that. */
static gboolean clock_rank(const PipesimDoctor *doctor, const PipesimTimeline *timeline,
	guint rank, const PipesimReplayed *what, PipesimPowerState *state, gboolean counts)
{
	const PipesimRecordPipeline *pipeline = doctor->out->pipeline;
	const PipesimPower *power = doctor->record->power;
	const gint64 outside = doctor->out->measured - doctor->out->pipeline_ns;
	gboolean same = TRUE;
	gint64 now = 0;

	pipesim_each_of (i, pipeline->op_begin, rank) {
		const PipesimRecordOp *op = &pipeline->ops[i];
		const gint64 beside = MIN(op->beside, what->rest[i]);
		const gint64 begin = MAX(timeline->start[i] + what->rest[i] - beside, now);
		PipesimPower here = *power;

		here.load[op->kind] = draw(op->load, what->usual[i], what->work[i]);
		pipesim_power_advance(power, state, begin - now, op->idle_load);
		gint64 took = pipesim_power_duration(&here, state, op->kind, what->work[i]);
		pipesim_power_advance(power, state, took + beside, here.load[op->kind]);
		now = begin + took + beside;
		same &= ABS(took + what->rest[i] - what->took[i]) <= AGREES;
		if (counts)
			what->took[i] = took + what->rest[i];
	}
	pipesim_power_advance(power, state, MAX(timeline->makespan + outside - now, 0), 0);
	return same;
}

gint64 pipesim_governed_replay(
	const PipesimDoctor *doctor, const PipesimReplayed *what, GError **error)
{
	const PipesimProgram *program = doctor->out->program;
	const gint64 outside = doctor->out->measured - doctor->out->pipeline_ns;
	const PipesimPowerState rested = {{0}};
	gboolean same = doctor->record->power == NULL;

	for (guint32 i = 0; i < program->n_ops; i++)
		what->took[i] = what->rest[i] + what->work[i];
	/* As in the record, to begin with. */
	for (guint32 i = 0; i < program->n_ops && !same; i++) {
		const PipesimRecordOp *op = &doctor->out->pipeline->ops[i];

		if (op->sustained > 0)
			what->took[i] = what->rest[i] + pipesim_time_scale(what->work[i],
								pipesim_record_alone(op),
								op->sustained);
	}
	for (guint round = 0;; round++) {
		g_autoptr(PipesimTimeline) timeline = NULL;
		const gint64 makespan = pipesim_doctor_replay(doctor,
			what->ruled ? doctor->rules : doctor->step, what->took,
			what->ruled ? doctor->out->message : 0, FALSE, &timeline, error);

		if (makespan < 0 || same || round == ROUNDS)
			return makespan;
		same = TRUE;
		for (guint rank = 0; rank < program->shape.ranks; rank++) {
			PipesimPowerState state = rested;

			clock_rank(doctor, timeline, rank, what, &state, FALSE);
			state = pipesim_power_repeat(
				doctor->record->power, &rested, &state, makespan + outside);
			same &= clock_rank(doctor, timeline, rank, what, &state, TRUE);
		}
	}
}

void pipesim_governed_clocks(const PipesimStep *step, const PipesimTimes *times,
	const PipesimTimeline *timeline, const gint64 *late, gint64 *took)
{
	const PipesimProgram *program = step->program;
	const PipesimPower *power = times->power;
	const PipesimPowerState rested = {{0}};

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		PipesimPowerState state = rested;
		PipesimPower here = *power;

		for (guint kind = 0; kind < PIPESIM_N_KINDS && rank < power->n_held; kind++)
			here.load[kind] = pipesim_time_scale(
				power->load[kind], power->held[rank], PIPESIM_PPM);
		for (guint pass = 0; pass < 2; pass++) {
			gint64 now = 0;

			pipesim_each_of (i, program->rank_begin, rank) {
				const PipesimOp *op = &program->ops[i];
				const gint64 begin = timeline->start[i] + late[i];

				pipesim_power_advance(power, &state, timeline->start[i] - now,
					power->waiting_load);
				pipesim_power_advance(power, &state, late[i], 0);
				took[i] = pipesim_power_duration(&here, &state, op->kind,
					pipesim_op_duration(program, times, rank, op));
				now = timeline->end[i];
				pipesim_power_advance(
					power, &state, now - begin, here.load[op->kind]);
			}
			pipesim_power_advance(power, &state, timeline->makespan - now, 0);
			if (pass == 0)
				state = pipesim_power_repeat(
					power, &rested, &state, timeline->makespan);
		}
	}
}

/* Other schedules -------------------------------------------------------------------------- */

/* Halves of backwards that never ran apart, and whole ones that ran in halves alone. */
static void complete(const gint64 *ran, gint64 halves, gint64 *part)
{
	if (ran[PIPESIM_W] < 0) {
		part[PIPESIM_I] = pipesim_time_scale(part[PIPESIM_I], halves, PIPESIM_PPM);
		part[PIPESIM_W] = pipesim_time_scale(part[PIPESIM_W], halves, PIPESIM_PPM);
	} else if (ran[PIPESIM_B] < 0 && part[PIPESIM_I] > 0) {
		part[PIPESIM_B] = pipesim_time_scale(
			part[PIPESIM_I] + part[PIPESIM_W], PIPESIM_PPM, halves);
	}
}

/* Into the costs of @doctor the medians of what its ops take sustained, at the usual speed of ranks where these are told;
 * times of ops that never ran become longer as all ops do. Of pairs that are no shorter than both of their halves (@serial) these
 * are ops. */
static void set_parts(PipesimDoctor *doctor, gboolean serial)
{
	const PipesimRecord *record = doctor->record;
	PipesimCosts *costs = doctor->out->costs;
	g_autofree gint64 *found = g_new0(gint64, (gsize)costs->n_parts * PIPESIM_FB);
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(PipesimSample));
	double alone = 0, sustained = 0;

	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint32 i = 0; i < pipeline->op_begin[record->joined.ranks]; i++) {
			const PipesimRecordOp *op = &pipeline->ops[i];
			const guint f = op->stage * PIPESIM_FB + PIPESIM_F;
			const guint b = op->b_stage * PIPESIM_FB + PIPESIM_B;
			const gint64 forward = pipesim_time_scale(op->sustained, costs->part[f],
				MAX(costs->part[f] + costs->part[b], 1));
			const PipesimSample halves[] = {
				{f, forward}, {b, op->sustained - forward}};
			const PipesimSample one = {
				op->stage * PIPESIM_FB + op->kind, op->sustained};

			alone += (double)pipesim_record_alone(op);
			sustained += (double)op->sustained;
			if (op->kind < PIPESIM_FB)
				g_array_append_val(ops, one);
			else if (serial)
				g_array_append_vals(ops, halves, G_N_ELEMENTS(halves));
		}
	pipesim_sample_medians(ops, found);
	for (guint i = 0; i < costs->n_parts * PIPESIM_FB; i++) {
		const gint64 speed =
			costs->slow != NULL && doctor->medians->at_usual_speed
				? record->speed[record->joined.rank_of[i / PIPESIM_FB]]
				: PIPESIM_PPM;
		const gint64 share = costs->slow != NULL
					     ? pipesim_median_share(doctor->medians, i)
					     : PIPESIM_PPM;

		costs->part[i] =
			found[i] > 0
				? pipesim_time_scale(found[i], share, speed)
				: llround((double)costs->part[i] * sustained / MAX(alone, 1));
	}
}

gboolean pipesim_govern_costs(PipesimDoctor *doctor, GError **error)
{
	PipesimCosts *costs = doctor->out->costs;
	const PipesimRecord *record = doctor->record;
	const gboolean serial =
		costs->time[PIPESIM_FB] >= costs->time[PIPESIM_F] + costs->time[PIPESIM_B];

	if (record->power == NULL || costs->power != NULL || costs->part == NULL ||
		costs->n_parts != record->joined.stages)
		return TRUE;
	set_parts(doctor, serial);
	costs->has_pair &= !serial;
	for (guint stage = 0; stage < record->joined.stages; stage++)
		complete(&doctor->medians->stage[stage * PIPESIM_N_KINDS], record->chip->halves,
			&costs->part[stage * PIPESIM_FB]);
	doctor->out->governor = record->power->device;
	costs->power = pipesim_power_copy(record->power);
	if (costs->slow != NULL) {
		costs->power->n_held = record->joined.ranks;
		costs->power->held = g_new(gint64, record->joined.ranks);
		for (guint rank = 0; rank < record->joined.ranks; rank++)
			costs->power->held[rank] =
				draw(PIPESIM_PPM, PIPESIM_PPM, record->speed[rank]);
	}
	if (costs->contention == NULL) {
		costs->contention = pipesim_contention_new();
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			costs->contention->slowdown[kind] = record->chip->waiting;
	}
	return pipesim_costs_set_parts(costs, NULL, record->joined.ranks, error);
}
