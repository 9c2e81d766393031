/* What a single part adds to a stage at least, by which searches bound. */
#include "transformer/cutter-own.h"
#include "transformer/sequences.h"

/* What @part adds to any stage in @phase at least: stages are bound by the GPU or by the host, and
 * sums of what is longer in each part would be more than either. The one that the whole model is
 * bound by counts. */
static gint64 least_time(const Base *base, const PipesimStage *part, guint phase)
{
	PipesimPartTimes times[PIPESIM_N_PARTS];
	double busy = 0, launched = 0;

	memcpy(times, base->times, sizeof times);
	for (PipesimPart i = 0; i < PIPESIM_N_PARTS; i++) {
		const double n = (double)pipesim_part_count(base->model, i);

		busy += n * times[i].busy[phase];
		launched += n * times[i].launched[phase];
	}
	for (PipesimPart i = 0; i < PIPESIM_N_PARTS; i++) {
		if (busy >= launched)
			times[i].launched[phase] = times[i].again_launched = 0;
		else
			times[i].busy[phase] = times[i].again = 0;
	}
	return pipesim_stage_time(part, times, phase);
}

void pipesim_cutter_part_times(const PipesimCutter *base, PipesimPart part, gint64 ns[4])
{
	const Cutter *cutter = (const Cutter *)base;
	PipesimRates rates = cutter->base->rates;
	PipesimStage stage;

	memset(ns, 0, 4 * sizeof *ns);
	if (pipesim_part_count(cutter->base->model, part) == 0)
		return;
	pipesim_stage_of_part(cutter->base->model, &cutter->base->training,
		&cutter->base->parts[part], part, &stage);
	for (guint phase = 0; phase < 3; phase++)
		ns[phase] = least_time(cutter->base, &stage, phase);
	/* The first stage of PyTorch has no backward for input. */
	if (cutter->base->training.eager)
		ns[1] = 0;
	if (rates.overlap)
		rates.reduce[0] = rates.reduce[1] = 0;
	ns[3] = pipesim_stage_tail(
		&stage, &cutter->base->training, &rates, cutter->base->times);
}

/* A stage of one of @part alone, or with the embedding. */
static PipesimCut cut_of(const PipesimTransformer *model, PipesimPart part, gboolean embedding)
{
	PipesimCut cut = {.embedding = embedding || part == PIPESIM_PART_EMBEDDING,
		.mtp = part == PIPESIM_PART_MTP,
		.losses = part == PIPESIM_PART_LOSS,
		.encoders = part == PIPESIM_PART_ENCODER,
		.head = part == PIPESIM_PART_HEAD};

	if (part != PIPESIM_PART_DENSE && part != PIPESIM_PART_SPARSE)
		return cut;
	cut.layers = 1;
	while (pipesim_transformer_is_sparse(model, cut.first) != (part == PIPESIM_PART_SPARSE))
		cut.first++;
	return cut;
}

gboolean pipesim_cutter_part_bytes(const PipesimCutter *base, PipesimPart part, gint64 bytes[4])
{
	Base *own = ((const Cutter *)base)->base;
	const PipesimTraining *training = &own->training;
	PipesimStage one, end = {0};
	PipesimCut cut;

	memset(bytes, 0, 4 * sizeof *bytes);
	if (training->eager || training->zero == PIPESIM_ZERO_3 ||
		(training->full && (training->every > 1 || training->first > 0)))
		return FALSE;
	if (pipesim_part_count(own->model, part) == 0)
		return TRUE;
	/* Heads and multi-token prediction need less where the embedding is, further losses where the head is. */
	if (part == PIPESIM_PART_HEAD || part == PIPESIM_PART_MTP ||
		part == PIPESIM_PART_LOSS) {
		cut = cut_of(own->model, PIPESIM_PART_EMBEDDING, TRUE);
		cut.head = part == PIPESIM_PART_LOSS;
		if (!pipesim_stage_sum_of(own->model, training, own->parts, &cut, &end, NULL))
			return FALSE;
	}
	cut = cut_of(own->model, part, end.elements > 0);
	cut.head |= part == PIPESIM_PART_LOSS;
	if (!pipesim_stage_sum_of(own->model, training, own->parts, &cut, &one, NULL))
		return FALSE;
	bytes[0] = one.parameters + one.gradients + one.optimizer - end.parameters -
		   end.gradients - end.optimizer;
	bytes[1] = one.until_input - end.until_input;
	bytes[2] = one.until_weight - end.until_weight;
	bytes[3] = one.between - end.between;
	return TRUE;
}

/* What is computed again is as much longer for a slice as the rest. */
void pipesim_cutter_slice(const PipesimCutter *own, guint slices, PipesimSlicing *slicing)
{
	Base *base = ((const Cutter *)own)->base;
	const PipesimTraining *training = &base->training;
	const gint64 around = MAX(training->seq / MAX(slices, 4u), 1);
	double whole;

	g_mutex_lock(&base->lock);
	if (base->slices != slices) {
		base->slice = pipesim_sequence_times(
			base->model, training, &base->rates, training->seq, around, &whole);
		if (training->full)
			base->sequence = whole;
		base->slices = slices;
	}
	slicing->cost = base->slice;
	slicing->whole = base->sequence;
	g_mutex_unlock(&base->lock);
	if (slicing->how != PIPESIM_SLICES_LIST)
		slicing->tokens = (guint)training->seq;
	slicing->told = TRUE;
}
