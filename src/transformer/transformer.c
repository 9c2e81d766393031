#include "config.h"

#include "transformer/terms.h"
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

gboolean pipesim_transformer_is_sparse(const PipesimTransformer *model, gint64 layer)
{
	return model->sparse != NULL && model->sparse[MIN(layer, model->layers - 1)];
}

void pipesim_transformer_places(PipesimTransformer *model, gint64 first, gint64 every)
{
	g_free(model->sparse);
	model->sparse = g_new0(guint8, (gsize)model->layers);
	for (gint64 layer = first; layer < model->layers; layer++)
		model->sparse[layer] = layer % every == 0;
}

gint64 pipesim_transformer_parameters(const PipesimTransformer *model, gboolean active)
{
	const PipesimTraining plain = pipesim_training_on_one(1, 1);
	PipesimWide total = 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
		const gint64 n = pipesim_part_count(model, part);
		PipesimTermSum sum;

		if (n == 0 || part == PIPESIM_PART_MTP)
			continue;
		pipesim_terms_sum(model, &plain, part, &sum);
		total += n * sum.of[PIPESIM_TERM_PARAMETERS];
		total += n * (active ? sum.of[PIPESIM_TERM_EXPERTS] * model->per_token /
						     MAX(model->experts, 1)
				     : sum.of[PIPESIM_TERM_EXPERTS]);
	}
	/* One matrix at both ends counts once. */
	if (model->tied)
		total -= (PipesimWide)model->vocab * model->hidden;
	return total > G_MAXINT64 ? G_MAXINT64 : (gint64)total;
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
