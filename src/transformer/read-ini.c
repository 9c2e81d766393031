/* Descriptions of our own. Groups: [pipesim-model], [latent] for multi-head latent attention,
 * [experts], [encoder] of images. */
#include "transformer/transformer.h"

#define MODEL   "pipesim-model"
#define LATENT  "latent"
#define EXPERTS "experts"
#define ENCODER "encoder"
#define GROUPS  "[" MODEL "], [" LATENT "], [" EXPERTS "] and [" ENCODER "] are known"

typedef enum {
	KEY_TEXT,
	KEY_NUMBER,
	KEY_CHOICE, /* its first is 0, its second 1 */
} KeyKind;

/* What is read besides the fields of a model. */
typedef struct {
	PipesimTransformer model; /* first, for offsets */
	PipesimTransformer encoder;
	gint64 version, first, every;
	char *name;
} Fields;

typedef struct {
	const char *group, *name;
	KeyKind kind;
	gsize offset;
	gint64 least, most;
	const char *choices; /* "no yes" */
	gboolean required;   /* where its group is there */
} Key;

#define NUMBER(field, least, most, required) \
	KEY_NUMBER, G_STRUCT_OFFSET(Fields, field), least, most, NULL, required
#define CHOICE(field, choices) KEY_CHOICE, G_STRUCT_OFFSET(Fields, field), 0, 0, choices, FALSE

static const Key keys[] = {
	{MODEL, "version", NUMBER(version, 1, 1, TRUE)},
	{MODEL, "name", KEY_TEXT, G_STRUCT_OFFSET(Fields, name), 0, 0, NULL, FALSE},
	{MODEL, "layers", NUMBER(model.layers, 1, PIPESIM_MAX_LAYERS, TRUE)},
	{MODEL, "hidden", NUMBER(model.hidden, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{MODEL, "ffn", NUMBER(model.ffn, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{MODEL, "heads", NUMBER(model.heads, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{MODEL, "kv_heads", NUMBER(model.kv_heads, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{MODEL, "head_dim", NUMBER(model.head_dim, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{MODEL, "vocab", NUMBER(model.vocab, 0, PIPESIM_MAX_VOCAB, TRUE)},
	{MODEL, "positions", NUMBER(model.positions, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{MODEL, "window", NUMBER(model.window, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{MODEL, "windowed_layers", NUMBER(model.windowed, 1, PIPESIM_MAX_LAYERS, FALSE)},
	{MODEL, "yarn", CHOICE(model.yarn, "no yes")},
	{MODEL, "mtp_layers", NUMBER(model.mtp, 0, 64, FALSE)},
	{MODEL, "activation", CHOICE(model.gated, "gelu swiglu")},
	{MODEL, "norm", CHOICE(model.layer_norm, "rmsnorm layernorm")},
	{MODEL, "tied", CHOICE(model.tied, "no yes")},
	{MODEL, "qk_norm", CHOICE(model.qk_norm, "no yes")},
	{MODEL, "qkv_bias", CHOICE(model.qkv_bias, "no yes")},
	{MODEL, "output_bias", CHOICE(model.output_bias, "no yes")},
	{MODEL, "ffn_bias", CHOICE(model.ffn_bias, "no yes")},
	{MODEL, "hidden_dropout", CHOICE(model.dropout_hidden, "no yes")},
	{MODEL, "attention_dropout", CHOICE(model.dropout_attention, "no yes")},
	{LATENT, "q_rank", NUMBER(model.q_rank, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{LATENT, "kv_rank", NUMBER(model.kv_rank, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{LATENT, "nope", NUMBER(model.nope, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{LATENT, "rope", NUMBER(model.rope, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{LATENT, "v", NUMBER(model.v_dim, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{EXPERTS, "number", NUMBER(model.experts, 1, PIPESIM_MAX_EXPERTS, TRUE)},
	{EXPERTS, "per_token", NUMBER(model.per_token, 1, PIPESIM_MAX_EXPERTS, TRUE)},
	{EXPERTS, "ffn", NUMBER(model.expert_ffn, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{EXPERTS, "shared_ffn", NUMBER(model.shared_ffn, 0, PIPESIM_MAX_WIDTH, FALSE)},
	{EXPERTS, "first_layer", NUMBER(first, 0, PIPESIM_MAX_LAYERS, FALSE)},
	{EXPERTS, "every", NUMBER(every, 1, PIPESIM_MAX_LAYERS, FALSE)},
	{EXPERTS, "node_limit", NUMBER(model.node_limit, 1, PIPESIM_MAX_EXPERTS, FALSE)},
	{EXPERTS, "router_bias", CHOICE(model.router_bias, "no yes")},
	{EXPERTS, "shared_gate", CHOICE(model.shared_gate, "no yes")},
	{ENCODER, "layers", NUMBER(encoder.layers, 1, PIPESIM_MAX_LAYERS, TRUE)},
	{ENCODER, "hidden", NUMBER(encoder.hidden, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{ENCODER, "ffn", NUMBER(encoder.ffn, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{ENCODER, "heads", NUMBER(encoder.heads, 1, PIPESIM_MAX_WIDTH, TRUE)},
	{ENCODER, "head_dim", NUMBER(encoder.head_dim, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{ENCODER, "patches", NUMBER(encoder.patches, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{ENCODER, "window", NUMBER(encoder.window, 1, PIPESIM_MAX_WIDTH, FALSE)},
	{ENCODER, "windowed_layers", NUMBER(encoder.windowed, 1, PIPESIM_MAX_LAYERS, FALSE)},
	{ENCODER, "activation", CHOICE(encoder.gated, "gelu swiglu")},
	{ENCODER, "norm", CHOICE(encoder.layer_norm, "rmsnorm layernorm")},
	{ENCODER, "qkv_bias", CHOICE(encoder.qkv_bias, "no yes")},
	{ENCODER, "output_bias", CHOICE(encoder.output_bias, "no yes")},
	{ENCODER, "ffn_bias", CHOICE(encoder.ffn_bias, "no yes")},
};

static gboolean read_value(Fields *fields, const Key *key, const char *value, GError **error)
{
	gpointer to = G_STRUCT_MEMBER_P(fields, key->offset);
	guint64 count;

	if (key->kind == KEY_TEXT) {
		g_free(*(char **)to);
		*(char **)to = g_strdup(value);
		return TRUE;
	}
	if (key->kind == KEY_NUMBER) {
		if (!pipesim_parse_count(value, key->name, (guint64)key->least,
			    (guint64)key->most, &count, error))
			return FALSE;
		*(gint64 *)to = (gint64)count;
		return TRUE;
	}
	g_auto(GStrv) choices = g_strsplit(key->choices, " ", -1);

	for (guint i = 0; choices[i] != NULL; i++)
		if (strcmp(choices[i], value) == 0) {
			*(gboolean *)to = i != 0;
			return TRUE;
		}
	return pipesim_refuse(
		error, "%s: '%.40s'; %s or %s", key->name, value, choices[0], choices[1]);
}

static void read_line(PipesimIni *ini, const PipesimIniLine *line, Fields *fields)
{
	const Key *key = pipesim_ini_take(ini, line, keys, G_N_ELEMENTS(keys), sizeof *keys,
		GROUPS, "a model's description");
	g_autoptr(GError) error = NULL;

	if (key != NULL && !read_value(fields, key, line->value, &error))
		pipesim_ini_fault_value(ini, line, "%s", error->message);
}

static void check_required(PipesimIni *ini)
{
	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		const PipesimIniLine *group = pipesim_ini_find(ini, keys[i].group, NULL);

		if (!keys[i].required || pipesim_ini_find(ini, keys[i].group, keys[i].name))
			continue;
		if (group != NULL)
			pipesim_ini_fault_at(ini, group, "[%s] has no %s; add it",
				keys[i].group, keys[i].name);
		else if (strcmp(keys[i].name, "version") == 0)
			pipesim_ini_fault(ini, 1, 1,
				"[" MODEL "] with version = 1 is missing; is this a model's "
				"description?");
	}
}

/* Where @key stands, or else the group of the model. */
static void fault_at(PipesimIni *ini, const char *group, const char *key, const char *message)
{
	const PipesimIniLine *line = pipesim_ini_find(ini, group, key);

	if (line == NULL)
		line = pipesim_ini_find(ini, MODEL, NULL);
	pipesim_ini_fault(ini, line->line,
		line->value != NULL ? line->value_column : line->column, "%s", message);
}

/* What keys say of each other. */
static void complete(PipesimIni *ini, Fields *fields)
{
	PipesimTransformer *model = &fields->model;
	const gboolean latent = model->kv_rank > 0;

	if (!latent && model->kv_heads == 0)
		model->kv_heads = model->heads;
	if (latent && (model->kv_heads > 0 || model->head_dim > 0))
		fault_at(ini, LATENT, NULL,
			"[" LATENT
			"] gives the sizes of heads; leave out kv_heads and head_dim");
	if (!latent && model->heads % model->kv_heads != 0)
		fault_at(ini, MODEL, "kv_heads", "kv_heads does not divide heads");
	if (!latent && model->head_dim == 0 && model->hidden % model->heads != 0)
		fault_at(ini, MODEL, "heads", "heads does not divide hidden; give head_dim");
	if (!latent && model->head_dim == 0)
		model->head_dim = model->hidden / model->heads;
	if (model->experts == 0 && model->ffn == 0)
		fault_at(ini, MODEL, "ffn", "ffn is missing, and there are no experts either");
	if (model->windowed > model->layers || (model->windowed > 0 && model->window == 0))
		fault_at(ini, MODEL, "windowed_layers",
			"windowed_layers is more than there are layers, or there is no window");
	if (model->window > 0 && model->windowed == 0)
		model->windowed = model->layers;
	if (model->per_token > model->experts)
		fault_at(ini, EXPERTS, "per_token", "per_token is more than there are experts");
	if (model->experts > 0)
		pipesim_transformer_places(model, fields->first, MAX(fields->every, 1));
	for (gint64 layer = 0; model->ffn == 0 && layer < model->layers; layer++)
		if (!pipesim_transformer_is_sparse(model, layer)) {
			fault_at(ini, MODEL, "ffn",
				"ffn is missing: not every layer has experts");
			break;
		}
}

/* What [encoder] says, ready for a model; NULL: there is none. */
static PipesimTransformer *complete_encoder(PipesimIni *ini, const PipesimTransformer *read)
{
	PipesimTransformer encoder = *read;

	if (encoder.layers == 0)
		return NULL;
	if (encoder.head_dim == 0 && encoder.hidden % encoder.heads != 0)
		fault_at(ini, ENCODER, "heads", "heads does not divide hidden; give head_dim");
	if (encoder.windowed > encoder.layers || (encoder.windowed > 0 && encoder.window == 0))
		fault_at(ini, ENCODER, "windowed_layers",
			"windowed_layers is more than there are layers, or there is no window");
	if (encoder.window > 0 && encoder.windowed == 0)
		encoder.windowed = encoder.layers;
	encoder.name = g_strdup("the encoder");
	encoder.kv_heads = encoder.heads;
	if (encoder.head_dim == 0)
		encoder.head_dim = encoder.hidden / encoder.heads;
	encoder.both_ways = TRUE;
	return g_memdup2(&encoder, sizeof encoder);
}

PipesimTransformer *pipesim_transformer_read_ini(PipesimIni *taken, GError **error)
{
	g_autoptr(PipesimIni) ini = taken;
	Fields fields = {.model = {.gated = TRUE},
		.encoder = {.layer_norm = TRUE,
			.qkv_bias = TRUE,
			.output_bias = TRUE,
			.ffn_bias = TRUE}};
	PipesimTransformer *model;

	if (ini == NULL)
		return NULL;
	for (guint i = 0; i < ini->n_lines; i++)
		read_line(ini, &ini->lines[i], &fields);
	check_required(ini);
	if (pipesim_faults_done(ini->faults, NULL)) {
		complete(ini, &fields);
		fields.model.encoder = complete_encoder(ini, &fields.encoder);
	}
	fields.model.name = fields.name != NULL ? fields.name : g_strdup(ini->path);
	model = g_memdup2(&fields.model, sizeof fields.model);
	if (pipesim_faults_done(ini->faults, error))
		return model;
	pipesim_transformer_free(model);
	return NULL;
}

void pipesim_transformer_print(const PipesimTransformer *model, GString *out)
{
	const Fields fields = {.model = *model};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
		const Key *key = &keys[i];
		gconstpointer at = G_STRUCT_MEMBER_P(&fields, key->offset);

		if (key->offset >= sizeof fields.model || strcmp(key->group, ENCODER) == 0)
			continue;
		g_string_append_printf(out, "%s.%s=%" G_GINT64_FORMAT " ", key->group,
			key->name,
			key->kind == KEY_CHOICE ? *(const gboolean *)at : *(const gint64 *)at);
	}
	for (gint64 layer = 0; layer < model->layers; layer++)
		g_string_append_c(out, pipesim_transformer_is_sparse(model, layer) ? 'e' : 'd');
	if (model->encoder != NULL) {
		g_string_append_printf(out, " %u stages of ", model->encoder_stages);
		pipesim_transformer_print(model->encoder, out);
	}
}
