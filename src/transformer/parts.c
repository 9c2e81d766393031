#include "transformer/terms.h"

const char *pipesim_part_name(PipesimPart part)
{
	static const char *const names[PIPESIM_N_PARTS] = {
		[PIPESIM_PART_EMBEDDING] = "embedding",
		[PIPESIM_PART_DENSE] = "dense layer",
		[PIPESIM_PART_SPARSE] = "layer with experts",
		[PIPESIM_PART_MTP] = "multi-token prediction",
		[PIPESIM_PART_HEAD] = "head and loss",
		[PIPESIM_PART_LOSS] = "MTP head and loss",
		[PIPESIM_PART_ENCODER] = "encoder layer"};

	return names[part];
}

gint64 pipesim_part_count(const PipesimTransformer *model, PipesimPart part)
{
	if (part == PIPESIM_PART_EMBEDDING || part == PIPESIM_PART_HEAD)
		return 1;
	if (part == PIPESIM_PART_MTP)
		return model->mtp;
	if (part == PIPESIM_PART_LOSS)
		return model->vocab > 0 ? model->mtp : 0;
	if (part == PIPESIM_PART_ENCODER)
		return pipesim_transformer_encodes(model) ? model->encoder->layers : 0;
	const gint64 sparse =
		pipesim_sum(layer, model->layers, pipesim_transformer_is_sparse(model, layer));
	return part == PIPESIM_PART_SPARSE ? sparse : model->layers - sparse;
}

const PipesimTransformer *pipesim_part_model(
	const PipesimTransformer *model, PipesimTraining *training, PipesimPart *part)
{
	if (*part != PIPESIM_PART_ENCODER || model->encoder == NULL)
		return model;
	*training = pipesim_training_of_encoder(training);
	*part = PIPESIM_PART_DENSE;
	return model->encoder;
}
