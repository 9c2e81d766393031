#include "config.h"

#include "transformer/transformer.h"
#include <string.h>

void pipesim_transformer_free(PipesimTransformer *model)
{
	if (model == NULL)
		return;
	g_free(model->name);
	g_free(model->sparse);
	g_free(model);
}

PipesimTransformer *pipesim_transformer_copy(const PipesimTransformer *model)
{
	PipesimTransformer *copy = g_memdup2(model, sizeof *model);

	copy->name = g_strdup(model->name);
	copy->sparse =
		g_memdup2(model->sparse, model->sparse != NULL ? (gsize)model->layers : 0);
	return copy;
}

void pipesim_transformer_places(PipesimTransformer *model, gint64 first, gint64 every)
{
	g_free(model->sparse);
	model->sparse = g_new0(guint8, (gsize)model->layers);
	for (gint64 layer = first; layer < model->layers; layer++)
		model->sparse[layer] = layer % every == 0;
}

PipesimTransformer *pipesim_transformer_parse(
	const char *text, gsize length, const char *path, GError **error)
{
	gsize first = 0;

	while (first < length && g_ascii_isspace(text[first]))
		first++;
	if (first < length && text[first] == '{')
		return pipesim_transformer_read_config(text, length, path, error);
	return pipesim_transformer_read_ini(
		pipesim_ini_parse(text, length, path, error), error);
}

PipesimTransformer *pipesim_transformer_read(const char *path, GError **error)
{
	g_autoptr(PipesimInput) input = pipesim_input_open_as(path, PIPESIM_FILE_MODEL, error);
	const char *text;
	gsize length;

	if (input == NULL ||
		!pipesim_input_peek(input, PIPESIM_MAX_DESCRIPTION + 1, &text, &length, error))
		return NULL;
	if (length > PIPESIM_MAX_DESCRIPTION) {
		pipesim_fail_limit(error, pipesim_input_name(input),
			"a model's description is at most %u bytes", PIPESIM_MAX_DESCRIPTION);
		return NULL;
	}
	return pipesim_transformer_parse(text, length, pipesim_input_name(input), error);
}
