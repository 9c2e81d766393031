/* Layouts as torchtitan has them, module_fqns_per_model_part: a list for each stage, of
 * tok_embeddings, layers.0, layers.1 ..., norm and lm_head (output before April 2026). */
#include "transformer/layout.h"

typedef struct {
	const PipesimTransformer *model;
	PipesimJsonReader *json;
	GArray *cuts;
	gint64 next; /* layer that is expected */
	gboolean embedding, norm, head;
} Reader;

static gboolean read_layer(Reader *reader, PipesimCut *cut, const char *name, GError **error)
{
	guint64 layer;

	if (!pipesim_parse_count(name, "layers", 0, PIPESIM_MAX_LAYERS, &layer, NULL) ||
		(gint64)layer != reader->next)
		return pipesim_json_fail(reader->json, error,
			"layers.%.20s where layers.%" G_GINT64_FORMAT
			" is expected; layers stand in order, each once",
			name, reader->next);
	if (reader->norm || reader->head)
		return pipesim_json_fail(
			reader->json, error, "no layer stands behind norm or lm_head");
	if (cut->layers++ == 0)
		cut->first = reader->next;
	reader->next++;
	return TRUE;
}

static gboolean read_module(Reader *reader, PipesimCut *cut, const char *name, GError **error)
{
	const gboolean head = strcmp(name, "lm_head") == 0 || strcmp(name, "output") == 0;

	if (g_str_has_prefix(name, "layers."))
		return read_layer(reader, cut, name + strlen("layers."), error);
	if (strcmp(name, "tok_embeddings") == 0) {
		if (reader->embedding || reader->next > 0 || reader->cuts->len > 0)
			return pipesim_json_fail(reader->json, error,
				"tok_embeddings stands first, in the first stage");
		reader->embedding = cut->embedding = TRUE;
		return TRUE;
	}
	if (strcmp(name, "norm") != 0 && !head)
		return pipesim_json_fail(reader->json, error,
			"'%.40s' is none of tok_embeddings, layers.N, norm, lm_head", name);
	if (reader->head || (!head && reader->norm))
		return pipesim_json_fail(reader->json, error, "a second '%.40s'", name);
	reader->norm |= !head;
	reader->head |= head;
	cut->head |= head;
	return TRUE;
}

/* The list of one stage, whose bracket was the last token. */
static gboolean read_stage(Reader *reader, GError **error)
{
	PipesimCut cut = {.first = reader->next};
	PipesimJsonToken token;

	while ((token = pipesim_json_next(reader->json, error)) == PIPESIM_JSON_STRING)
		if (!read_module(reader, &cut, pipesim_json_text(reader->json), error))
			return FALSE;
	if (token == PIPESIM_JSON_ERROR)
		return FALSE;
	if (token != PIPESIM_JSON_CLOSE_ARRAY)
		return pipesim_json_fail(
			reader->json, error, "names of modules in quotes are expected here");
	g_array_append_val(reader->cuts, cut);
	return reader->cuts->len <= PIPESIM_MAX_LAYERS ||
	       pipesim_json_fail(
		       reader->json, error, "more than %u stages", PIPESIM_MAX_LAYERS);
}

static gboolean read_stages(Reader *reader, GError **error)
{
	PipesimJsonToken token = pipesim_json_next(reader->json, error);

	if (token == PIPESIM_JSON_OPEN_ARRAY)
		while ((token = pipesim_json_next(reader->json, error)) ==
			PIPESIM_JSON_OPEN_ARRAY)
			if (!read_stage(reader, error))
				return FALSE;
	if (token == PIPESIM_JSON_ERROR)
		return FALSE;
	if (token != PIPESIM_JSON_CLOSE_ARRAY)
		return pipesim_json_fail(reader->json, error,
			"a list of lists is expected here: [[\"tok_embeddings\", "
			"\"layers.0\"], ...]");
	if (!reader->embedding || !reader->head || reader->next != reader->model->layers)
		return pipesim_json_fail(reader->json, error,
			!reader->embedding ? "tok_embeddings is missing"
			: !reader->head    ? "lm_head is missing"
					   : "%" G_GINT64_FORMAT
					  " layers, but %s has %" G_GINT64_FORMAT,
			reader->next, reader->model->name, reader->model->layers);
	return pipesim_json_next(reader->json, error) != PIPESIM_JSON_ERROR;
}

PipesimStages *pipesim_stages_read_modules(
	const PipesimTransformer *model, PipesimInput *taken, GError **error)
{
	g_autoptr(GArray) cuts = g_array_new(FALSE, FALSE, sizeof(PipesimCut));
	g_autoptr(PipesimJsonReader) json = NULL;
	Reader reader = {.model = model, .cuts = cuts};

	if (taken == NULL)
		return NULL;
	json = reader.json = pipesim_json_reader_new(taken);
	if (!read_stages(&reader, error))
		return NULL;
	PipesimStages *stages = g_new0(PipesimStages, 1);
	stages->stages = cuts->len;
	stages->cut = g_memdup2(cuts->data, cuts->len * sizeof(PipesimCut));
	/* torchtitan has no name for what predicts further tokens: it goes with the head. */
	for (guint i = 0; i < cuts->len; i++)
		if (stages->cut[i].head)
			stages->cut[i].mtp = stages->cut[i].losses = model->mtp;
	return stages;
}

void pipesim_stages_print_modules(const PipesimStages *stages, GString *out)
{
	g_string_append_c(out, '[');
	for (guint i = 0; i < stages->stages; i++) {
		const PipesimCut *cut = &stages->cut[i];
		const char *before = "";

		g_string_append(out, i > 0 ? ", [" : "[");
		if (cut->embedding) {
			g_string_append(out, "\"tok_embeddings\"");
			before = ", ";
		}
		for (gint64 layer = cut->first; layer < cut->first + cut->layers; layer++) {
			g_string_append_printf(
				out, "%s\"layers.%" G_GINT64_FORMAT "\"", before, layer);
			before = ", ";
		}
		if (cut->head)
			g_string_append_printf(out, "%s\"norm\", \"lm_head\"", before);
		g_string_append_c(out, ']');
	}
	g_string_append_c(out, ']');
}
