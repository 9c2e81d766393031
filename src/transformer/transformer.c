#include "transformer/transformer.h"

PIPESIM_FREES(PipesimTransformer, pipesim_transformer_free, model)
{
	g_free(model->name);
	g_free(model->sparse);
	pipesim_transformer_free(model->encoder);
	g_free(model);
}

PipesimTransformer *pipesim_transformer_copy(const PipesimTransformer *model)
{
	PipesimTransformer *copy = g_memdup2(model, sizeof *model);

	copy->name = g_strdup(model->name);
	copy->sparse =
		g_memdup2(model->sparse, model->sparse != NULL ? (gsize)model->layers : 0);
	if (model->encoder != NULL)
		copy->encoder = pipesim_transformer_copy(model->encoder);
	return copy;
}

void pipesim_transformer_places(PipesimTransformer *model, gint64 first, gint64 every)
{
	g_free(model->sparse);
	model->sparse = g_new0(guint8, (gsize)model->layers);
	for (gint64 layer = first; layer < model->layers; layer++)
		model->sparse[layer] = layer % every == 0;
}
