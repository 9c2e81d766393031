/* What ops of a stage take, from what its parts do. */
#include "transformer/cutter.h"

static gint64 nanoseconds(double seconds)
{
	return (gint64)MIN(rint(seconds * 1e9), (double)PIPESIM_MAX_TIME_NS);
}

/* What is computed again takes what a forward does. */
double pipesim_stage_messages(
	const PipesimStage *stage, const PipesimPartTimes *parts, guint phase)
{
	double seconds = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		seconds +=
			(double)stage->count[part] * parts[part].messages[phase] +
			(phase == 1 ? (double)stage->redone[part] * parts[part].again_messages
				    : 0);
	return seconds;
}

/* An op ends when the GPU has computed it and the host has launched it: whichever is later. */
gint64 pipesim_stage_time(const PipesimStage *stage, const PipesimPartTimes *parts, guint phase)
{
	double busy = 0, launched = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const double n = (double)stage->count[part];
		const double redone = phase == 1 ? (double)stage->redone[part] : 0;

		busy += n * parts[part].busy[phase] + redone * parts[part].again;
		launched +=
			n * parts[part].launched[phase] + redone * parts[part].again_launched;
	}
	return nanoseconds(MAX(busy, launched));
}

gint64 pipesim_stage_split(
	const PipesimStage *stage, const PipesimPartTimes *parts, guint phase)
{
	const gint64 input = pipesim_stage_time(stage, parts, 1);

	if (stage->whole)
		return phase == 1 ? 0 : input + pipesim_stage_time(stage, parts, 2);
	if (phase == 1)
		return input;
	const double seconds = pipesim_sum(part, PIPESIM_N_PARTS,
		(double)(stage->redone[part] * stage->walks) * parts[part].again);
	return pipesim_stage_time(stage, parts, 2) + nanoseconds(seconds);
}

/* FSDP gathers a layer beside the one before, forward and backward, for each micro-batch, and reduces in FP32 beside the
 * next: the longer of both counts. Of the ends pipesim_stage_tail() has what nothing is beside. */
void pipesim_share_beside(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimDevice *device, PipesimPart part, PipesimPartTimes *times)
{
	const gint64 ranks[] = {
		training->dp * training->cp, pipesim_training_expert_dp(training)};
	static const PipesimTermSort sorts[] = {PIPESIM_TERM_PARAMETERS, PIPESIM_TERM_EXPERTS};
	PipesimTermSum sum;
	double gather = 0;

	if (device == NULL || !pipesim_training_gathers_layers(training) ||
		(part != PIPESIM_PART_DENSE && part != PIPESIM_PART_SPARSE))
		return;
	pipesim_terms_sum(model, training, part, &sum);
	for (guint i = 0; i < G_N_ELEMENTS(ranks); i++)
		if (ranks[i] > 1)
			gather += 2 * (double)sum.of[sorts[i]] * (double)(ranks[i] - 1) /
				  (double)ranks[i] /
				  pipesim_device_reduce(device, training, i == 1);
	times->busy[0] = MAX(times->busy[0], gather);
	times->busy[2] = MAX(times->busy[2],
		3 * gather - times->busy[1] - (training->full ? times->again : 0));
}

gint64 pipesim_stage_tail(const PipesimStage *stage, const PipesimTraining *training,
	const PipesimRates *rates, const PipesimPartTimes *parts)
{
	/* torchtitan gathers and reduces each layer beside those around it, but for the first gather, in BF16, and the last
	 * reduction, in FP32: those of an end. */
	const gboolean beside = pipesim_training_gathers_layers(training);
	const double ranks = (double)MAX(training->dp * training->cp, 1);
	double seconds = 0;

	/* A ring moves all but one share, to reduce and again to gather; with ZeRO-3 that is
	 * within the step. */
	for (guint i = 0; i < G_N_ELEMENTS(rates->reduce) && !beside; i++) {
		const gint64 routed[] = {stage->routed[0], stage->routed[1]};
		const gint64 gather = i == 0 ? stage->moved[0] - routed[0] : routed[0];
		const gint64 reduce = i == 0 ? stage->moved[1] - routed[1] : routed[1];
		const gint64 more = training->zero == PIPESIM_ZERO_0   ? reduce
				    : training->zero == PIPESIM_ZERO_3 ? 0
								       : gather;

		if (rates->reduce[i] > 0)
			seconds += (double)(reduce + more) / rates->reduce[i];
	}
	if (rates->overlap)
		seconds = MAX(0, seconds - (double)pipesim_stage_time(stage, parts, 1) / 1e9 -
					 (double)pipesim_stage_time(stage, parts, 2) / 1e9);
	if (beside && rates->reduce[0] > 0)
		seconds = 6 * (double)stage->ends * (ranks - 1) / ranks / rates->reduce[0];
	if (rates->memory > 0)
		seconds += stage->updated / rates->memory;
	return nanoseconds(seconds);
}

gint64 pipesim_pass_time(const PipesimPartTimes *part, guint phase, guint ranks)
{
	return nanoseconds(MAX(part->busy[phase] / ranks, part->launched[phase]));
}
