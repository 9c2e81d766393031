#include "transformer/transformer.h"

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
