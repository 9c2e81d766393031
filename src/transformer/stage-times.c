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
	double seconds = 0;

	if (stage->whole)
		return phase == 1 ? 0 : input + pipesim_stage_time(stage, parts, 2);
	if (phase == 1)
		return input;
	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		seconds += (double)(stage->redone[part] * stage->walks) * parts[part].again;
	return pipesim_stage_time(stage, parts, 2) + nanoseconds(seconds);
}

gint64 pipesim_stage_tail(const PipesimStage *stage, const PipesimTraining *training,
	const PipesimRates *rates, const PipesimPartTimes *parts)
{
	double seconds = 0;

	/* A ring moves all but one share, to reduce and again to gather; with ZeRO-3 that is
	 * within the step. */
	for (guint i = 0; i < G_N_ELEMENTS(rates->reduce); i++) {
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
	if (rates->memory > 0)
		seconds += stage->updated / rates->memory;
	return nanoseconds(seconds);
}

gint64 pipesim_pass_time(const PipesimPartTimes *part, guint phase, guint ranks)
{
	return nanoseconds(MAX(part->busy[phase] / ranks, part->launched[phase]));
}
