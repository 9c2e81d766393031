#include "diagnose-case.h"

#include "base/kind.h"
#include "diagnosis/governed.h"
#include "effects/effects.h"
#include "shipped.h"
#include "trace-text.h"

const Made plain = {.schedule = "1f1b",
	.ranks = 4,
	.microbatches = 8,
	.replicas = 1,
	.steps = 1,
	.slow = -1,
	.long_stage = -1,
	.op = PIPESIM_NO_OP};

static void append_op(GString *text, const Made *made, const PipesimRun *run, guint step,
	guint replica, guint rank, guint32 i, gint64 start, gint64 end, gint64 late)
{
	const PipesimOp *op = &run->step->whole->ops[i];
	const gint64 ahead =
		(rank + 1 == made->ranks ? made->skew + (gint64)step * made->drift : 0) +
		(made->skews != NULL ? made->skews[rank] : 0) + (gint64)step * made->apart;
	const guint stage = pipesim_op_stage(run->step->whole, rank, op);

	if (made->messages)
		g_string_append_printf(text,
			"%u,%u,%u,%u,forward-recv,,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
			",,\n",
			step, replica, rank, stage, start - late + ahead, late);
	g_string_append_printf(text, "%u,%u,%u,%u,%s,%u,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT,
		step, replica, rank, stage, pipesim_kind_letter(op->kind), op->microbatch,
		start + ahead, end - start);
	if (op->kind == PIPESIM_FB)
		g_string_append_printf(text, ",%u,%u\n",
			pipesim_op_b_stage(run->step->whole, rank, op), op->b_microbatch);
	else
		g_string_append(text, ",,\n");
}

/* Ops, and waits before them, as they would run. */
static void append_replica(
	GString *text, const Made *made, const PipesimRun *run, guint step, guint replica)
{
	const PipesimProgram *program = run->step->whole;
	g_autofree gint64 *took = g_new0(gint64, program->n_ops);
	PipesimTimes times = *run->times;
	g_autoptr(PipesimTimeline) timeline = NULL;
	const gboolean here = step == 0 && replica == 0;

	for (guint rank = 0; rank < made->ranks; rank++)
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const PipesimOp *op = &program->ops[i];

			took[i] = pipesim_op_duration(program, run->times, rank, op);
			if ((gint)pipesim_op_stage(program, rank, op) == made->long_stage)
				took[i] *= 2;
			if (made->lengths != NULL)
				took[i] = took[i] * made->lengths[op->microbatch] / 100;
			if ((gint)rank == made->slow && replica + 1 == made->replicas)
				took[i] += took[i] * made->percent / 100;
			if (here && i == made->op)
				took[i] += made->longer + made->late_host + made->late_message;
		}
	times.drawn = took;
	times.p2p = 0;
	timeline = pipesim_step_again(run->step, &times, 0, NULL);
	ck_assert_ptr_nonnull(timeline);
	for (guint rank = 0; rank < made->ranks; rank++) {
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			const gboolean hit = here && i == made->op;
			const gint64 late = hit ? made->late_host + made->late_message : 0;

			append_op(text, made, run, step, replica, rank, i,
				timeline->start[i] + late, timeline->end[i],
				hit ? made->late_message : 0);
		}
		if (made->optimizer > 0)
			g_string_append_printf(text,
				"%u,%u,%u,%u,optimizer,,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
				",,\n",
				step, replica, rank, rank, timeline->makespan, made->optimizer);
	}
}

char *make_text(const Made *made)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_new(10 * MS, 8 * MS, 8 * MS, -1, 0, NULL);
	const PipesimScenario scenario = {.ranks = made->ranks,
		.microbatches = made->microbatches,
		.runtime = made->runtime};
	PipesimRun *run = pipesim_run_schedule(
		pipesim_schedule_find(made->schedule, NULL), &scenario, costs);
	GString *text = g_string_new("step,dp,rank,stage,op,microbatch,start_ns,dur_ns,b_stage,"
				     "b_microbatch\n");

	ck_assert_ptr_null(run->error);
	for (guint step = 0; step < made->steps; step++)
		for (guint replica = 0; replica < made->replicas; replica++)
			append_replica(text, made, run, step, replica);
	pipesim_run_free(run);
	return g_string_free(text, FALSE);
}

void case_clear(Case *one)
{
	pipesim_diagnosis_free(one->found);
	pipesim_calibration_free(one->calibration);
	pipesim_record_free(one->record);
	pipesim_trace_free(one->trace);
}

gboolean diagnose(Case *one, PipesimTrace *const *traces, guint n, GError **error)
{
	static const char *const chips[] = {"h100", "h200"};
	const PipesimCalibrateOptions none = {0};
	PipesimPatient patient = {.step = -1};
	g_autoptr(PipesimEffects) effects = NULL;

	one->record = pipesim_record_new(traces, n, error);
	if (one->record == NULL)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(chips) && pipesim_at_limit(one->record); i++)
		if (g_strcmp0(one->record->device, shipped_device(chips[i])->power->device) ==
			0)
			pipesim_govern_record(one->record, shipped_device(chips[i]));
	one->calibration = pipesim_calibrate(traces, n, &none, error);
	if (one->calibration == NULL)
		return FALSE;
	effects = pipesim_effects_calibrate(traces, n, one->calibration, 0, error);
	if (effects == NULL)
		return FALSE;
	patient.runtime = one->runtime;
	patient.record = one->record;
	patient.costs = one->calibration->costs;
	one->found = pipesim_diagnose(&patient, error);
	return one->found != NULL;
}

/* Work and causes are the step, and each rank's busy and idle time too, to the nanosecond. */
void check_sums(const PipesimDiagnosis *found)
{
	gint64 sum = found->work;

	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		sum += found->cause[kind].ns;
	ck_assert_int_eq(sum, found->measured);
	for (guint rank = 0; rank < found->program->shape.ranks; rank++) {
		sum = found->busy[rank];
		for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
			sum += found->cause[kind].idle[rank];
		ck_assert_int_eq(sum, found->measured);
	}
}

void make_case(Case *one, const Made *made)
{
	g_autofree char *text = make_text(made);
	g_autoptr(GError) error = NULL;

	one->trace = trace_of(text);
	ck_assert_msg(diagnose(one, &one->trace, 1, &error), "%s",
		error != NULL ? error->message : "");
	check_sums(one->found);
}

gint64 cause_of(const Case *one, PipesimCauseKind kind)
{
	return one->found->cause[kind].ns;
}
