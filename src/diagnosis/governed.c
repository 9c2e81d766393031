#include "config.h"

#include "diagnosis/governed.h"
#include "measure/beside.h"

#include <math.h>
#include <string.h>

/* How chips clock at their power limit, and what PyTorch's split of backwards costs on them: medians of captures of
 * transformer layers in BF16 (H200: traces/accuracy-h200x2, -c and -d; H100: traces/accuracy-h100 and -h100x2 without
 * experts, which do not reach the limit), in the units of PipesimPower. Captures differ little: of full speed by 2 %, of
 * the threshold by 0.13, of the time constant by a third. */
typedef struct {
	const char *device;
	gint64 time_constant, threshold, waiting_load, beside_load;
	gint64 full_speed[PIPESIM_N_KINDS], load[PIPESIM_N_KINDS];
	gint64 halves; /* I and W together against B, ppm */
} Governor;

static const Governor governors[] = {
	{"NVIDIA H100 80GB HBM3", 38660000, 785496, 277832, 860000,
		{898378, 894137, 924200, 903040, 901856},
		{949284, 1020878, 1020878, 1020878, 999924}, 1036214},
	{"NVIDIA H200", 38705000, 755742, 296746, 845000,
		{881582, 874365, 905246, 884368, 883085},
		{942860, 1024194, 1024194, 1024194, 999904}, 1027999},
};

/* What ops take beside a receive that waits, against alone, where a record does not show it: the median of captures. */
#define BESIDE_RECEIVE 1230000

/* What ops are governed by, and what is found of them. */
typedef struct {
	const PipesimPower *power;
	const PipesimCosts *costs;
	gboolean serial; /* pairs are no shorter than both of their halves */
	GArray *ops;     /* of PipesimSample: sustained times by stage * PIPESIM_FB + kind */
	double alone, sustained; /* all of them, ns */
} Pacing;

static const Governor *find_governor(const PipesimRecord *record)
{
	for (guint i = 0; i < G_N_ELEMENTS(governors); i++)
		if (record->swing >= PIPESIM_LEAST_SWING &&
			g_strcmp0(record->device, governors[i].device) == 0)
			return &governors[i];
	return NULL;
}

static PipesimPower *make_power(const Governor *governor)
{
	PipesimPower *power = pipesim_power_new();

	power->device = g_strdup(governor->device);
	power->time_constant[0] = governor->time_constant;
	power->threshold = governor->threshold;
	power->waiting_load = governor->waiting_load;
	power->beside_load = governor->beside_load;
	memcpy(power->full_speed, governor->full_speed, sizeof power->full_speed);
	memcpy(power->load, governor->load, sizeof power->load);
	return power;
}

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

static void add_op(Pacing *pacing, guint stage, guint kind, gint64 sustained)
{
	const PipesimSample one = {stage * PIPESIM_FB + kind, sustained};

	g_array_append_val(pacing->ops, one);
}

/* What @op took by itself, and would have taken sustained. */
static void count_op(Pacing *pacing, const PipesimRecordOp *op, gint64 alone, gint64 sustained)
{
	const gint64 *part = pacing->costs->part;

	pacing->alone += (double)alone;
	pacing->sustained += (double)sustained;
	if (op->kind < PIPESIM_FB) {
		add_op(pacing, op->stage, op->kind, sustained);
	} else if (pacing->serial) {
		const gint64 f = part[op->stage * PIPESIM_FB + PIPESIM_F];
		const gint64 b = part[op->b_stage * PIPESIM_FB + PIPESIM_B];
		const gint64 forward = pipesim_time_scale(sustained, f, MAX(f + b, 1));

		add_op(pacing, op->stage, PIPESIM_F, forward);
		add_op(pacing, op->b_stage, PIPESIM_B, sustained - forward);
	}
}

/* Runs what @rank did in @pipeline and until the next step after it, from @state on. @counts: its ops count. */
static void pace_rank(Pacing *pacing, const PipesimRecordPipeline *pipeline, guint rank,
	gint64 after, PipesimPowerState *state, gboolean counts)
{
	const PipesimPower *power = pacing->power;
	g_autoptr(GArray) messages = g_array_new(FALSE, FALSE, sizeof(PipesimInterval));
	gint64 now = pipeline->start;

	for (guint i = pipeline->span_begin[rank]; i < pipeline->span_begin[rank + 1]; i++) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);

		if (span->message && span->end > span->start)
			g_array_append_val(
				messages, ((PipesimInterval){span->start, span->end}));
	}
	pipesim_intervals_join(messages);
	for (guint32 i = pipeline->op_begin[rank]; i <= pipeline->op_begin[rank + 1]; i++) {
		const gboolean last = i == pipeline->op_begin[rank + 1];
		const PipesimRecordOp *op = last ? NULL : &pipeline->ops[i];
		const gint64 until = last ? pipeline->end + after : MAX(op->start, now);
		const gint64 waited = pipesim_beside_covered(messages, now, until);
		PipesimPower here = *power;
		gint64 less, alone;

		pipesim_power_advance(power, state, until - now - waited, 0);
		pipesim_power_advance(power, state, waited, power->waiting_load);
		if (last)
			break;
		now = MAX(op->end, until);
		less = pipesim_time_scale(PIPESIM_PPM - power->beside_load,
			pipesim_beside_covered(messages, until, now), MAX(now - until, 1));
		here.load[op->kind] = pipesim_time_scale(
			power->load[op->kind], PIPESIM_PPM - less, PIPESIM_PPM);
		alone = MAX(now - until - op->beside - op->peers, 0);
		if (counts)
			count_op(pacing, op, alone, sustain(&here, state, op->kind, alone));
		pipesim_power_advance(power, state, now - until, here.load[op->kind]);
	}
}

/* All steps of @record, each of which follows others like it. */
static void pace_all(Pacing *pacing, const PipesimRecord *record)
{
	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint rank = 0; rank < record->joined.ranks; rank++) {
			const gint64 after = pipesim_record_step(record, pipeline->step)->after;
			const PipesimPowerState rested = {{0}};
			PipesimPowerState state = rested;

			pace_rank(pacing, pipeline, rank, after, &state, FALSE);
			state = pipesim_power_repeat(pacing->power, &rested, &state,
				pipeline->end + after - pipeline->start);
			pace_rank(pacing, pipeline, rank, after, &state, TRUE);
		}
}

/* Into the costs of @doctor the medians of what was found, at the usual speed of ranks where these are told; times of ops that
 * never ran become longer as all ops do. */
static void set_parts(PipesimDoctor *doctor, const Pacing *pacing)
{
	const PipesimRecord *record = doctor->record;
	PipesimCosts *costs = doctor->out->costs;
	g_autofree gint64 *found = g_new0(gint64, (gsize)costs->n_parts * PIPESIM_FB);

	pipesim_sample_medians(pacing->ops, found);
	for (guint i = 0; i < costs->n_parts * PIPESIM_FB; i++) {
		const gint64 speed =
			costs->slow != NULL && doctor->medians->at_usual_speed
				? record->speed[record->joined.rank_of[i / PIPESIM_FB]]
				: PIPESIM_PPM;

		costs->part[i] = found[i] > 0
					 ? pipesim_time_scale(found[i], PIPESIM_PPM, speed)
					 : llround((double)costs->part[i] * pacing->sustained /
						   MAX(pacing->alone, 1));
	}
}

/* Halves of backwards that never ran apart, and whole ones that ran in halves alone. @first: of PyTorch's first stage, which has
 * no input to differentiate: its I is nothing, and its W a whole backward. */
static void complete(const gint64 *ran, gint64 halves, gboolean first, gint64 *part)
{
	if (ran[PIPESIM_W] < 0 && first) {
		part[PIPESIM_I] = 0;
		part[PIPESIM_W] = part[PIPESIM_B];
	} else if (ran[PIPESIM_W] < 0) {
		part[PIPESIM_I] = pipesim_time_scale(part[PIPESIM_I], halves, PIPESIM_PPM);
		part[PIPESIM_W] = pipesim_time_scale(part[PIPESIM_W], halves, PIPESIM_PPM);
	} else if (ran[PIPESIM_B] < 0 && part[PIPESIM_I] > 0) {
		part[PIPESIM_B] = pipesim_time_scale(
			part[PIPESIM_I] + part[PIPESIM_W], PIPESIM_PPM, halves);
	}
}

gboolean pipesim_govern(PipesimDoctor *doctor, GError **error)
{
	PipesimCosts *costs = doctor->out->costs;
	const PipesimRecord *record = doctor->record;
	const Governor *governor = find_governor(record);
	g_autoptr(PipesimPower) power = NULL;
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(PipesimSample));
	const gboolean pytorch = record->of_files || record->of_classes ||
				 doctor->out->rules == &pipesim_runtime_single;
	Pacing pacing = {.costs = costs, .ops = ops};

	if (governor == NULL || costs->power != NULL || costs->part == NULL ||
		costs->n_parts != record->joined.stages)
		return TRUE;
	pacing.power = power = make_power(governor);
	pacing.serial =
		costs->time[PIPESIM_FB] >= costs->time[PIPESIM_F] + costs->time[PIPESIM_B];
	pace_all(&pacing, record);
	set_parts(doctor, &pacing);
	costs->has_pair &= !pacing.serial;
	for (guint stage = 0; stage < record->joined.stages; stage++)
		complete(&doctor->medians->stage[stage * PIPESIM_N_KINDS], governor->halves,
			stage == 0 && pytorch, &costs->part[stage * PIPESIM_FB]);
	doctor->out->governor = governor->device;
	costs->power = g_steal_pointer(&power);
	if (costs->contention == NULL) {
		costs->contention = pipesim_contention_new();
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			costs->contention->slowdown[kind] = BESIDE_RECEIVE;
	}
	return pipesim_costs_set_parts(costs, NULL, record->joined.ranks, error);
}
