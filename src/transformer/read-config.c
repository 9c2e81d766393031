/* Hugging Face's config.json: the keys that memory and time need, by model_type, or by architectures or what else
 * decides where that is missing; others are passed over. */
#include "transformer/transformer.h"

/* What a key says, as it stands in the file. */
typedef struct {
	PipesimJsonToken type; /* of its value */
	char *text;         /* of a number, string or literal, or of an array's only string */
	GArray *numbers;    /* of an array of whole numbers: gint64; else NULL */
	guint line, column; /* of the value */
} Value;

PIPESIM_DESTROYS(Value, free_value, value)
{
	g_free(value->text);
	if (value->numbers != NULL)
		g_array_unref(value->numbers);
	g_free(value);
}

typedef enum {
	QKV_BIAS = 1 << 0,    /* unless qkv_bias says no */
	QK_NORM = 1 << 1,     /* on q and k, or on the latents */
	LATENT = 1 << 2,      /* multi-head latent attention */
	ROUTER_BIAS = 1 << 3, /* of each expert */
	SHARED_GATE = 1 << 4,
	HEAD_128 = 1 << 5,           /* the size of a head is 128 unless it is told */
	GATED_OUTPUT = 1 << 6,       /* attention_bias is of the output projection too */
	EVERY_OTHER_WINDOW = 1 << 7, /* every other layer attends to a sliding window */
	EXPERT_BIAS = 1 << 8,        /* experts have biases, whatever mlp_bias says */
	YARN = 1 << 9,               /* with an attention factor */
} Traits;

/* What tells architectures apart. Keys of what they do not have are NULL. */
typedef struct {
	const char *type;
	guint traits;
	const char *experts, *expert_ffn, *shared_experts, *shared_ffn;
	const char *first, *every,
		*step; /* first sparse layer, every so many; or index + 1 by a step */
} Family;

#define DEEPSEEK_EXPERTS                                                                      \
	"n_routed_experts", "moe_intermediate_size", "n_shared_experts",                      \
		"shared_expert_intermediate_size", "first_k_dense_replace", "moe_layer_freq", \
		NULL
static const Family families[] = {
	{.type = "llama", .traits = GATED_OUTPUT},
	{.type = "mistral"},
	{.type = "mixtral", .experts = "num_local_experts", .expert_ffn = "intermediate_size"},
	{.type = "gpt_oss",
		.traits = GATED_OUTPUT | EVERY_OTHER_WINDOW | EXPERT_BIAS | YARN,
		.experts = "num_local_experts",
		.expert_ffn = "intermediate_size"},
	{.type = "qwen2", .traits = QKV_BIAS},
	{.type = "qwen2_vl", .traits = QKV_BIAS},
	{.type = "qwen2_vl_text", .traits = QKV_BIAS},
	{.type = "qwen2_5_vl", .traits = QKV_BIAS},
	{.type = "qwen2_5_vl_text", .traits = QKV_BIAS},
	{.type = "qwen3_vl_text", .traits = QK_NORM | HEAD_128 | GATED_OUTPUT},
	{"qwen2_moe", QKV_BIAS | SHARED_GATE, "num_experts", "moe_intermediate_size", NULL,
		"shared_expert_intermediate_size", NULL, NULL, "decoder_sparse_step"},
	{.type = "qwen3", .traits = QK_NORM | HEAD_128 | GATED_OUTPUT},
	{"qwen3_moe", QK_NORM | GATED_OUTPUT, "num_experts", "moe_intermediate_size", NULL,
		NULL, NULL, NULL, "decoder_sparse_step"},
	{"qwen3_vl_moe_text", QK_NORM | GATED_OUTPUT, "num_experts", "moe_intermediate_size",
		NULL, NULL, NULL, NULL, "decoder_sparse_step"},
	{"deepseek_v2", LATENT | QK_NORM, DEEPSEEK_EXPERTS},
	{"deepseek_v3", LATENT | QK_NORM | ROUTER_BIAS, DEEPSEEK_EXPERTS},
};

/* Without model_type: told by gated, norm, bias and the like. */
static const Family told = {"transformer", GATED_OUTPUT | EVERY_OTHER_WINDOW, DEEPSEEK_EXPERTS};

typedef struct {
	const char *path;
	GHashTable *values; /* key -> Value */
	PipesimFaults *faults;
	const Family *family;
	PipesimTransformer *model;
} Reader;

/* Tokens --------------------------------------------------------------------------------- */

/* Reads an array whose opening token was the last. What is no whole number makes it none of
 * these. */
static gboolean read_array(PipesimJsonReader *json, Value *value, GError **error)
{
	PipesimJsonToken token;

	value->numbers = g_array_new(FALSE, FALSE, sizeof(gint64));
	while ((token = pipesim_json_next(json, error)) != PIPESIM_JSON_CLOSE_ARRAY) {
		guint64 number = 0;
		gsize length;

		if (token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR)
			return token == PIPESIM_JSON_END;
		const char *raw = pipesim_json_raw(json, &length);
		g_autofree char *text =
			token == PIPESIM_JSON_NUMBER ? g_strndup(raw, length) : NULL;
		if (text == NULL ||
			!pipesim_parse_count(text, "", 0, PIPESIM_MAX_LAYERS, &number, NULL)) {
			g_clear_pointer(&value->text, g_free);
			value->text = g_strdup(
				token == PIPESIM_JSON_STRING && value->numbers->len == 0
					? pipesim_json_text(json)
					: "[...]");
		}
		if (!pipesim_json_skip(json, token, error))
			return FALSE;
		g_array_append_val(value->numbers, number);
	}
	return TRUE;
}

static gboolean read_object(
	Reader *reader, PipesimJsonReader *json, const char *prefix, GError **error);

/* The value behind a key; where it is an object and @within is given, its keys are values too. */
static Value *read_value(
	Reader *reader, PipesimJsonReader *json, const char *within, GError **error)
{
	Value *value = g_new0(Value, 1);
	gboolean ok = TRUE;
	gsize length;

	value->type = pipesim_json_next(json, error);
	pipesim_json_place(json, &value->line, &value->column);
	if (value->type == PIPESIM_JSON_OPEN_ARRAY) {
		ok = read_array(json, value, error);
	} else if (value->type == PIPESIM_JSON_STRING) {
		value->text = g_strdup(pipesim_json_text(json));
	} else if (value->type == PIPESIM_JSON_NUMBER || value->type == PIPESIM_JSON_LITERAL) {
		const char *raw = pipesim_json_raw(json, &length);

		value->text = g_strndup(raw, length);
	} else if (value->type == PIPESIM_JSON_OPEN_OBJECT && within != NULL) {
		ok = read_object(reader, json, within, error);
	} else {
		ok = pipesim_json_skip(json, value->type, error);
	}
	if (ok)
		return value;
	free_value(value);
	return NULL;
}

/* Objects within a configuration of several models: what their keys are called here. */
static const struct {
	const char *key, *prefix;
} inner[] = {{"text_config", "text_config."}, {"llm_config", "text_config."},
	{"vision_config", "vision_config."}};

/* The keys of an object whose brace was the last token; @prefix is put before each. Of the outermost one those
 * of models within it too. */
static gboolean read_object(
	Reader *reader, PipesimJsonReader *json, const char *prefix, GError **error)
{
	const gboolean outermost = *prefix == '\0';
	PipesimJsonToken token;

	while ((token = pipesim_json_next(json, error)) == PIPESIM_JSON_KEY) {
		g_autofree char *key = g_strconcat(prefix, pipesim_json_text(json), NULL);
		const char *within = NULL;

		for (guint i = 0; outermost && i < G_N_ELEMENTS(inner); i++)
			if (strcmp(key, inner[i].key) == 0)
				within = inner[i].prefix;
		Value *value = read_value(reader, json, within, error);
		if (value == NULL)
			return FALSE;
		if (!g_hash_table_replace(reader->values, g_steal_pointer(&key), value))
			return pipesim_fail_at(error, reader->path, value->line, value->column,
				"a key is given twice; leave out one of them");
	}
	return token == PIPESIM_JSON_CLOSE_OBJECT || token == PIPESIM_JSON_END;
}

static gboolean read_values(Reader *reader, const char *text, gsize length, GError **error)
{
	g_autoptr(PipesimJsonReader) json =
		pipesim_json_reader_new(pipesim_input_new_memory(reader->path, text, length));
	PipesimJsonToken token = pipesim_json_next(json, error);

	if (token != PIPESIM_JSON_OPEN_OBJECT)
		return token != PIPESIM_JSON_ERROR &&
		       pipesim_fail_at(error, reader->path, 1, 1,
			       "an object in braces is expected here");
	if (!read_object(reader, json, "", error))
		return FALSE;
	if (pipesim_json_truncated(json))
		return pipesim_json_fail(json, error, "the file ends inside the object");
	return pipesim_json_next(json, error) != PIPESIM_JSON_ERROR;
}

/* Values --------------------------------------------------------------------------------- */

/* At @value, or at the beginning of the file. */
#define fault(reader, value, ...)                                                   \
	do {                                                                        \
		const Value *at_ = (value);                                         \
		pipesim_faults_add((reader)->faults, (reader)->path,                \
			at_ != NULL ? at_->line : 1, at_ != NULL ? at_->column : 1, \
			__VA_ARGS__);                                               \
	} while (0)

/* What the language model's own object says goes before what stands beside it. */
static const Value *look_up(const Reader *reader, const char *key)
{
	g_autofree char *own = g_strconcat("text_config.", key, NULL);
	const Value *value = g_hash_table_lookup(reader->values, own);

	if (value == NULL)
		value = g_hash_table_lookup(reader->values, key);
	return value != NULL && value->type == PIPESIM_JSON_LITERAL &&
			       strcmp(value->text, "null") == 0
		       ? NULL
		       : value;
}

/* The whole number at @key, from @least to @most; @otherwise where it is missing, a fault where
 * that is below 0. */
static gint64 number(
	Reader *reader, const char *key, gint64 least, gint64 most, gint64 otherwise)
{
	const Value *value = look_up(reader, key);
	g_autoptr(GError) error = NULL;
	guint64 count;

	if (value == NULL && otherwise >= 0)
		return otherwise;
	if (value == NULL)
		fault(reader, g_hash_table_lookup(reader->values, "model_type"),
			"%s is missing; a %s model needs it", key, reader->family->type);
	else if (value->type != PIPESIM_JSON_NUMBER)
		fault(reader, value, "%s: a whole number is expected here", key);
	else if (!pipesim_parse_count(
			 value->text, key, (guint64)least, (guint64)most, &count, &error))
		fault(reader, value, "%s", error->message);
	else
		return (gint64)count;
	return MAX(least, 1);
}

static gboolean flag(Reader *reader, const char *key, gboolean otherwise)
{
	const Value *value = look_up(reader, key);

	if (value == NULL)
		return otherwise;
	if (value->type != PIPESIM_JSON_LITERAL)
		fault(reader, value, "%s: true or false is expected here", key);
	return g_strcmp0(value->text, "true") == 0;
}

/* Families ------------------------------------------------------------------------------- */

/* An architecture that is not known: what a description of our own would still need. */
static gboolean fail_unknown(const Reader *reader, const Value *type, GError **error)
{
	static const char *const needed[] = {"hidden_size", "num_hidden_layers",
		"num_attention_heads", "intermediate_size", "vocab_size"};
	g_autoptr(GString) known = g_string_new(NULL);
	g_autoptr(GString) missing = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(families); i++)
		g_string_append_printf(known, "%s%s", i > 0 ? ", " : "", families[i].type);
	for (guint i = 0; i < G_N_ELEMENTS(needed); i++)
		if (look_up(reader, needed[i]) == NULL)
			pipesim_list_more(missing, "%s", needed[i]);
	return pipesim_fail_at(error, reader->path, type->line, type->column,
		"model_type: '%.60s' is none of %s; %s%s; describe it in an INI file "
		"(docs/formats.md)",
		type->text, known->str,
		missing->len > 0 ? "of the keys that all need it lacks "
				 : "it has the keys that all need, but its layers may differ",
		missing->str);
}

/* "DeepseekV3ForCausalLM" is of deepseek_v3. */
static gboolean is_built_as(const char *name, const char *type)
{
	while (*type != '\0')
		if (*type == '_')
			type++;
		else if (*name == '_')
			name++;
		else if (g_ascii_tolower(*name++) != *type++)
			return FALSE;
	return g_str_has_prefix(name, "For");
}

static gboolean find_family(Reader *reader, GError **error)
{
	const Value *type = look_up(reader, "model_type");
	const Value *built = look_up(reader, "architectures");

	if (type != NULL && type->type != PIPESIM_JSON_STRING)
		return pipesim_fail_at(error, reader->path, type->line, type->column,
			"model_type is no string; is this a config.json of a model?");
	for (guint i = 0; i < G_N_ELEMENTS(families); i++)
		if (type != NULL ? strcmp(families[i].type, type->text) == 0
				 : built != NULL && built->text != NULL &&
					   is_built_as(built->text, families[i].type))
			reader->family = &families[i];
	if (reader->family == NULL && type != NULL)
		return fail_unknown(reader, type, error);
	/* What no default decides: how many matrices an MLP has, and what norms have. */
	if (reader->family == NULL && look_up(reader, "gated") && look_up(reader, "norm"))
		reader->family = &told;
	return reader->family != NULL ||
	       pipesim_fail_at(error, reader->path, 1, 1,
		       "model_type is missing, and no architectures say what layers are; add "
		       "it, such as "
		       "\"model_type\": \"llama\", or \"gated\": true where MLPs have three "
		       "matrices and \"norm\": \"rmsnorm\" or \"layernorm\"");
}

static void read_attention(Reader *reader)
{
	PipesimTransformer *model = reader->model;
	const Value *heads = look_up(reader, "num_attention_heads");
	const gboolean open = reader->family == &told;
	const gboolean latent = open && look_up(reader, "kv_lora_rank") != NULL;
	const guint traits = reader->family->traits | (latent ? LATENT | QK_NORM : 0);
	const gboolean bias =
		flag(reader, "attention_bias", open && flag(reader, "bias", FALSE));

	model->heads = number(reader, "num_attention_heads", 1, PIPESIM_MAX_WIDTH, -1);
	model->qk_norm = (traits & QK_NORM) != 0;
	model->yarn = (traits & YARN) != 0;
	model->qkv_bias = ((traits & QKV_BIAS) != 0 && flag(reader, "qkv_bias", TRUE)) || bias;
	model->output_bias = bias && (traits & GATED_OUTPUT) != 0;
	if (traits & LATENT) {
		model->q_rank = number(reader, "q_lora_rank", 1, PIPESIM_MAX_WIDTH, 0);
		model->kv_rank = number(reader, "kv_lora_rank", 1, PIPESIM_MAX_WIDTH, -1);
		model->nope = number(reader, "qk_nope_head_dim", 1, PIPESIM_MAX_WIDTH, -1);
		model->rope = number(reader, "qk_rope_head_dim", 1, PIPESIM_MAX_WIDTH, -1);
		model->v_dim = number(reader, "v_head_dim", 1, PIPESIM_MAX_WIDTH, -1);
		return;
	}
	model->kv_heads =
		number(reader, "num_key_value_heads", 1, PIPESIM_MAX_WIDTH, model->heads);
	if (model->heads % model->kv_heads != 0)
		fault(reader, look_up(reader, "num_key_value_heads"),
			"num_key_value_heads: %" G_GINT64_FORMAT
			" does not divide the attention heads, %" G_GINT64_FORMAT,
			model->kv_heads, model->heads);
	/* A size that was refused is 1, which says nothing of the others. */
	if (look_up(reader, "head_dim") == NULL && !(traits & HEAD_128) && model->hidden > 1 &&
		model->hidden % model->heads != 0)
		fault(reader, heads,
			"num_attention_heads: %" G_GINT64_FORMAT
			" does not divide hidden_size, %" G_GINT64_FORMAT "; give head_dim",
			model->heads, model->hidden);
	model->head_dim = number(reader, "head_dim", 1, PIPESIM_MAX_WIDTH,
		traits & HEAD_128 ? 128 : MAX(model->hidden / model->heads, 1));
}

/* Which layers have experts. */
static void place_experts(Reader *reader)
{
	const Family *family = reader->family;
	PipesimTransformer *model = reader->model;
	const Value *dense = look_up(reader, "mlp_only_layers");

	if (family->step == NULL) {
		pipesim_transformer_places(model,
			family->first != NULL
				? number(reader, family->first, 0, PIPESIM_MAX_LAYERS, 0)
				: 0,
			family->every != NULL
				? number(reader, family->every, 1, PIPESIM_MAX_LAYERS, 1)
				: 1);
		return;
	}
	const gint64 step = number(reader, family->step, 1, PIPESIM_MAX_LAYERS, 1);

	model->sparse = g_new0(guint8, (gsize)model->layers);
	for (gint64 layer = 0; layer < model->layers; layer++)
		model->sparse[layer] = (layer + 1) % step == 0;
	if (dense != NULL && (dense->numbers == NULL || dense->text != NULL))
		fault(reader, dense, "mlp_only_layers: a list of layers is expected here");
	for (guint i = 0; dense != NULL && dense->numbers != NULL && i < dense->numbers->len;
		i++) {
		const gint64 layer = g_array_index(dense->numbers, gint64, i);

		if (layer < model->layers)
			model->sparse[layer] = FALSE;
	}
}

/* What the number of experts is called: as in another family where only that is there. */
static const char *experts_key(const Reader *reader)
{
	static const char *const keys[] = {
		"num_experts", "n_routed_experts", "num_local_experts"};
	const char *key = reader->family->experts;

	for (guint i = 0; i < G_N_ELEMENTS(keys) && look_up(reader, key) == NULL; i++)
		if (!g_hash_table_contains(reader->values, key) && look_up(reader, keys[i]))
			key = keys[i];
	return key;
}

/* A model of a family with experts may have none: their number is null or 0 then, or, without model_type, missing,
 * and so is how many a token goes to. */
static gboolean has_experts(const Reader *reader)
{
	const char *key = experts_key(reader);
	const Value *value = look_up(reader, key);

	if (value == NULL)
		return reader->family == &told ? look_up(reader, "num_experts_per_tok") != NULL
					       : !g_hash_table_contains(reader->values, key);
	return value->type != PIPESIM_JSON_NUMBER || strcmp(value->text, "0") != 0;
}

static void read_experts(Reader *reader)
{
	const Family *family = reader->family;
	PipesimTransformer *model = reader->model;

	model->experts = number(reader, experts_key(reader), 1, PIPESIM_MAX_EXPERTS, -1);
	model->per_token = number(reader, "num_experts_per_tok", 1, PIPESIM_MAX_EXPERTS, -1);
	if (model->per_token > model->experts)
		fault(reader, look_up(reader, "num_experts_per_tok"),
			"num_experts_per_tok: %" G_GINT64_FORMAT
			" is more than there are experts, %" G_GINT64_FORMAT,
			model->per_token, model->experts);
	model->expert_ffn = number(reader, family->expert_ffn, 1, PIPESIM_MAX_WIDTH, -1);
	if (family->shared_experts != NULL)
		model->shared_ffn =
			number(reader, family->shared_experts, 0, 4096, 0) * model->expert_ffn;
	if (family->shared_ffn != NULL)
		model->shared_ffn = number(
			reader, family->shared_ffn, 0, PIPESIM_MAX_WIDTH, model->shared_ffn);
	if (model->shared_ffn > PIPESIM_MAX_WIDTH)
		fault(reader, look_up(reader, family->shared_experts),
			"%s: all shared experts together are wider than %" G_GINT64_FORMAT,
			family->shared_experts, PIPESIM_MAX_WIDTH);
	/* Groups of experts are on nodes of their own. */
	model->node_limit = number(reader, "topk_group", 0, PIPESIM_MAX_EXPERTS, 0);
	if (number(reader, "n_group", 0, PIPESIM_MAX_EXPERTS, 0) <= model->node_limit)
		model->node_limit = 0;
	model->router_bias = (family->traits & ROUTER_BIAS) != 0;
	model->shared_gate = (family->traits & SHARED_GATE) != 0 && model->shared_ffn > 0;
	place_experts(reader);
}

/* What model_type decides elsewhere. */
static void read_told(Reader *reader)
{
	PipesimTransformer *model = reader->model;
	const Value *norm = look_up(reader, "norm");

	model->gated = flag(reader, "gated", TRUE);
	model->layer_norm = g_strcmp0(norm->text, "layernorm") == 0;
	if (!model->layer_norm && g_strcmp0(norm->text, "rmsnorm") != 0)
		fault(reader, norm, "norm: rmsnorm or layernorm is expected here");
	model->ffn_bias = flag(reader, "mlp_bias", flag(reader, "bias", FALSE));
	model->positions = number(reader, "max_learned_positions", 0, PIPESIM_MAX_WIDTH, 0);
}

/* The first of @keys, which end with NULL, that the encoder's object has. */
static const char *first_key(const Reader *reader, const char *const *keys)
{
	while (keys[1] != NULL && look_up(reader, keys[0]) == NULL)
		keys++;
	return keys[0];
}

/* Of vision_config: a transformer without a mask, with biases unless it is gated. */
static void read_encoder(Reader *reader)
{
	static const char *const layers[] = {
		"vision_config.depth", "vision_config.num_hidden_layers", NULL};
	static const char *const heads[] = {
		"vision_config.num_heads", "vision_config.num_attention_heads", NULL};
	static const char *const hidden[] = {
		"vision_config.embed_dim", "vision_config.hidden_size", NULL};
	PipesimTransformer *encoder = g_new0(PipesimTransformer, 1);
	const Value *act = look_up(reader, "vision_config.hidden_act");
	const Value *full = look_up(reader, "vision_config.fullatt_block_indexes");

	reader->model->encoder = encoder;
	encoder->name = g_strdup("the encoder");
	encoder->both_ways = TRUE;
	encoder->layers = number(reader, first_key(reader, layers), 1, PIPESIM_MAX_LAYERS, -1);
	encoder->hidden = number(reader, first_key(reader, hidden), 1, PIPESIM_MAX_WIDTH, -1);
	encoder->heads = number(reader, first_key(reader, heads), 1, PIPESIM_MAX_WIDTH, -1);
	encoder->kv_heads = encoder->heads;
	encoder->ffn = number(reader, "vision_config.intermediate_size", 1, PIPESIM_MAX_WIDTH,
		encoder->hidden * number(reader, "vision_config.mlp_ratio", 1, 64, 4));
	if (encoder->hidden > 1 && encoder->hidden % encoder->heads != 0)
		fault(reader, look_up(reader, first_key(reader, heads)),
			"the encoder's heads, %" G_GINT64_FORMAT
			", do not divide its hidden size, %" G_GINT64_FORMAT,
			encoder->heads, encoder->hidden);
	encoder->head_dim = MAX(encoder->hidden / encoder->heads, 1);
	encoder->gated = act != NULL && act->text != NULL && strcmp(act->text, "silu") == 0;
	encoder->layer_norm = !encoder->gated;
	encoder->qkv_bias = encoder->output_bias = encoder->ffn_bias = !encoder->gated;
	gint64 image = number(reader, "vision_config.image_size", 0, PIPESIM_MAX_WIDTH, 0);
	gint64 patch = number(reader, "vision_config.patch_size", 1, PIPESIM_MAX_WIDTH, 14);
	encoder->patches = image / patch * (image / patch);
	/* Windows of a square, but in the layers that are listed. */
	image = number(reader, "vision_config.window_size", 0, PIPESIM_MAX_WIDTH, 0);
	encoder->window = image / patch * (image / patch);
	if (encoder->window > 0 && full != NULL && full->numbers != NULL)
		encoder->windowed = MAX(encoder->layers - (gint64)full->numbers->len, 0);
}

PipesimTransformer *pipesim_transformer_read_config(
	const char *text, gsize length, const char *path, GError **error)
{
	g_autoptr(PipesimTransformer) model = g_new0(PipesimTransformer, 1);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(GHashTable) values =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_value);
	Reader reader = {.path = path, .values = values, .faults = faults, .model = model};

	if (!read_values(&reader, text, length, error) || !find_family(&reader, error))
		return NULL;
	model->name = g_strdup(path);
	model->gated = TRUE;
	model->layers = number(&reader, "num_hidden_layers", 1, PIPESIM_MAX_LAYERS, -1);
	model->hidden = number(&reader, "hidden_size", 1, PIPESIM_MAX_WIDTH, -1);
	model->ffn = number(&reader, "intermediate_size", 1, PIPESIM_MAX_WIDTH, -1);
	model->vocab = number(&reader, "vocab_size", 1, PIPESIM_MAX_VOCAB, -1);
	model->mtp = number(&reader, "num_nextn_predict_layers", 0, 64, 0);
	model->tied = flag(&reader, "tie_word_embeddings", FALSE);
	model->ffn_bias =
		flag(&reader, "mlp_bias", FALSE) || (reader.family->traits & EXPERT_BIAS) != 0;
	if (reader.family == &told)
		read_told(&reader);
	read_attention(&reader);
	if (reader.family->traits & EVERY_OTHER_WINDOW) {
		model->window = number(&reader,
			reader.family == &told ? "sliding_window_every_other_layer"
					       : "sliding_window",
			0, PIPESIM_MAX_WIDTH, 0);
		model->windowed = model->window > 0 ? (model->layers + 1) / 2 : 0;
	}
	if (reader.family->experts != NULL && has_experts(&reader))
		read_experts(&reader);
	if (look_up(&reader, "vision_config") != NULL)
		read_encoder(&reader);
	return pipesim_faults_done(faults, error) ? g_steal_pointer(&model) : NULL;
}
