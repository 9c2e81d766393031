#include "base/phases.h"
#include "prefill/prefill.h"
#include "transformer/cutter.h"
#include "transformer/sequences.h"

gboolean pipesim_prefill_describe(PipesimEngineRanks *ranks, const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimRates *rates, gint64 tokens, gint64 chunk,
	GError **error)
{
	const guint stages = ranks->ranks * ranks->chunks;
	PipesimSliceTimes of[PIPESIM_N_PARTS] = {{0}};
	PipesimTraining sized = *training;
	PipesimPartTimes head;
	gint64 sent[2];

	if (stages > model->layers)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u stages for %" G_GINT64_FORMAT " layers; each has one at least",
			stages, model->layers);
	for (PipesimPart part = PIPESIM_PART_DENSE; part <= PIPESIM_PART_SPARSE; part++)
		if (pipesim_part_count(model, part) > 0)
			of[part] = pipesim_part_sequence(model, training, rates, part, FALSE,
				tokens, chunk, &ranks->apart);
	for (guint i = 0; i < 2; i++) {
		sized.seq = (i + 1) * chunk;
		sent[i] = pipesim_device_hop(rates->device, &sized,
			2 * pipesim_stage_message(model, &sized), ranks->ranks);
	}
	for (guint s = 0; s < stages; s++) {
		PipesimSliceTimes *stage = &ranks->stages[s];

		stage->send_token = (double)(sent[1] - sent[0]) / (double)chunk;
		stage->send = (double)MAX(2 * sent[0] - sent[1], 0);
		for (gint64 layer = s * model->layers / stages;
			layer < (s + 1) * model->layers / stages; layer++) {
			const PipesimSliceTimes *one =
				&of[pipesim_transformer_is_sparse(model, layer)
						? PIPESIM_PART_SPARSE
						: PIPESIM_PART_DENSE];

			stage->a += one->a;
			stage->b += one->b;
			stage->c += one->c;
			stage->gamma += one->gamma;
		}
	}
	sized.seq = 1;
	pipesim_part_times(model, &sized, rates, PIPESIM_PART_HEAD, &head);
	ranks->head = llrint(1e9 * MAX(head.busy[F], head.launched[F]));
	return TRUE;
}
