/* Hugging Face's config.json: parameters of models as their authors publish them, and variants of keys that are legal. */
#include "suites.h"
#include "transformer/transformer.h"
#include <string.h>

/* @text with single quotes for double ones. (transfer full) */
static PipesimTransformer *parse(const char *text, GError **error)
{
	g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');

	return pipesim_transformer_read_config(json, strlen(json), "config.json", error);
}

/* Sizes of the files that are published, in parameters; a matrix that embedding and head share counts once. */
static const struct {
	const char *name;
	gint64 parameters;
	const char *text;
} published[] = {
	{"llama-2-7b", G_GINT64_CONSTANT(6738415616),
		"{'model_type':'llama','hidden_size':4096,'num_hidden_layers':32,"
		"'num_attention_heads':32,'intermediate_size':11008,'vocab_size':32000,"
		"'rope_scaling':null,'tie_word_embeddings':false,'pretraining_tp':1}"},
	{"llama-2-13b", G_GINT64_CONSTANT(13015864320),
		"{'model_type':'llama','hidden_size':5120,'num_hidden_layers':40,"
		"'num_attention_heads':40,'num_key_value_heads':40,"
		"'intermediate_size':13824,'vocab_size':32000}"},
	{"llama-2-70b", G_GINT64_CONSTANT(68976648192),
		"{'model_type':'llama','hidden_size':8192,'num_hidden_layers':80,"
		"'num_attention_heads':64,'num_key_value_heads':8,"
		"'intermediate_size':28672,'vocab_size':32000}"},
	{"llama-3.2-1b", G_GINT64_CONSTANT(1235814400),
		"{'model_type':'llama','hidden_size':2048,'num_hidden_layers':16,"
		"'num_attention_heads':32,'num_key_value_heads':8,'head_dim':64,"
		"'intermediate_size':8192,'vocab_size':128256,'tie_word_embeddings':true,"
		"'rope_scaling':{'factor':32.0,'high_freq_factor':4.0,"
		"'rope_type':'llama3'},'eos_token_id':[128001,128008],'mlp_bias':false,"
		"'attention_bias':false}"},
	{"llama-3.2-3b", G_GINT64_CONSTANT(3212749824),
		"{'model_type':'llama','hidden_size':3072,'num_hidden_layers':28,"
		"'num_attention_heads':24,'num_key_value_heads':8,'head_dim':128,"
		"'intermediate_size':8192,'vocab_size':128256,'tie_word_embeddings':true}"},
	{"mistral-7b", G_GINT64_CONSTANT(7241732096),
		"{'model_type':'mistral','hidden_size':4096,'num_hidden_layers':32,"
		"'num_attention_heads':32,'num_key_value_heads':8,"
		"'intermediate_size':14336,'vocab_size':32000,'sliding_window':4096,"
		"'head_dim':null}"},
	{"mistral-nemo", G_GINT64_CONSTANT(12247782400),
		"{'model_type':'mistral','hidden_size':5120,'num_hidden_layers':40,"
		"'num_attention_heads':32,'num_key_value_heads':8,'head_dim':128,"
		"'intermediate_size':14336,'vocab_size':131072,'sliding_window':null}"},
	{"mixtral-8x22b", G_GINT64_CONSTANT(140620634112),
		"{'model_type':'mixtral','hidden_size':6144,'num_hidden_layers':56,"
		"'num_attention_heads':48,'num_key_value_heads':8,"
		"'intermediate_size':16384,'vocab_size':32000,'num_local_experts':8,"
		"'num_experts_per_tok':2}"},
	{"qwen2-0.5b", G_GINT64_CONSTANT(494032768),
		"{'model_type':'qwen2','hidden_size':896,'num_hidden_layers':24,"
		"'num_attention_heads':14,'num_key_value_heads':2,"
		"'intermediate_size':4864,'vocab_size':151936,'tie_word_embeddings':true,"
		"'use_sliding_window':false}"},
	{"qwen2-7b", G_GINT64_CONSTANT(7615616512),
		"{'model_type':'qwen2','hidden_size':3584,'num_hidden_layers':28,"
		"'num_attention_heads':28,'num_key_value_heads':4,"
		"'intermediate_size':18944,'vocab_size':152064}"},
	{"qwen2.5-72b", G_GINT64_CONSTANT(72706203648),
		"{'model_type':'qwen2','hidden_size':8192,'num_hidden_layers':80,"
		"'num_attention_heads':64,'num_key_value_heads':8,"
		"'intermediate_size':29568,'vocab_size':152064}"},
	{"qwen3-8b", G_GINT64_CONSTANT(8190735360),
		"{'model_type':'qwen3','hidden_size':4096,'num_hidden_layers':36,"
		"'num_attention_heads':32,'num_key_value_heads':8,'head_dim':128,"
		"'intermediate_size':12288,'vocab_size':151936,'attention_bias':false}"},
	{"qwen3-0.6b", G_GINT64_CONSTANT(596049920),
		"{'model_type':'qwen3','hidden_size':1024,'num_hidden_layers':28,"
		"'num_attention_heads':16,'num_key_value_heads':8,'head_dim':128,"
		"'intermediate_size':3072,'vocab_size':151936,'tie_word_embeddings':true}"},
	{"qwen3-32b", G_GINT64_CONSTANT(32762123264),
		"{'model_type':'qwen3','hidden_size':5120,'num_hidden_layers':64,"
		"'num_attention_heads':64,'num_key_value_heads':8,'head_dim':128,"
		"'intermediate_size':25600,'vocab_size':151936}"},
	{"qwen1.5-moe", G_GINT64_CONSTANT(14315784192),
		"{'model_type':'qwen2_moe','hidden_size':2048,'num_hidden_layers':24,"
		"'num_attention_heads':16,'num_key_value_heads':16,"
		"'intermediate_size':5632,'moe_intermediate_size':1408,"
		"'shared_expert_intermediate_size':5632,'num_experts':60,"
		"'num_experts_per_tok':4,'decoder_sparse_step':1,'vocab_size':151936}"},
	{"deepseek-v2", G_GINT64_CONSTANT(235741434880),
		"{'model_type':'deepseek_v2','hidden_size':5120,'num_hidden_layers':60,"
		"'num_attention_heads':128,'num_key_value_heads':128,"
		"'intermediate_size':12288,'moe_intermediate_size':1536,"
		"'n_routed_experts':160,'n_shared_experts':2,'num_experts_per_tok':6,"
		"'first_k_dense_replace':1,'moe_layer_freq':1,'q_lora_rank':1536,"
		"'kv_lora_rank':512,'qk_nope_head_dim':128,'qk_rope_head_dim':64,"
		"'v_head_dim':128,'vocab_size':102400,'topk_group':3}"},
	{"deepseek-v2-lite", G_GINT64_CONSTANT(15706484224),
		"{'model_type':'deepseek_v2','hidden_size':2048,'num_hidden_layers':27,"
		"'num_attention_heads':16,'num_key_value_heads':16,"
		"'intermediate_size':10944,'moe_intermediate_size':1408,"
		"'n_routed_experts':64,'n_shared_experts':2,'num_experts_per_tok':6,"
		"'first_k_dense_replace':1,'moe_layer_freq':1,'q_lora_rank':null,"
		"'kv_lora_rank':512,'qk_nope_head_dim':128,'qk_rope_head_dim':64,"
		"'v_head_dim':128,'vocab_size':102400,'rope_scaling':{'type':'yarn',"
		"'factor':40}}"},
	{"qwen3-30b", G_GINT64_CONSTANT(30532122624),
		"{'model_type':'qwen3_moe','hidden_size':2048,'num_hidden_layers':48,"
		"'num_attention_heads':32,'num_key_value_heads':4,'head_dim':128,"
		"'intermediate_size':6144,'moe_intermediate_size':768,'num_experts':128,"
		"'num_experts_per_tok':8,'decoder_sparse_step':1,'mlp_only_layers':[],"
		"'vocab_size':151936}"}};

START_TEST(counts_published)
{
	for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimTransformer) model = parse(published[i].text, &error);

		ck_assert_msg(model != NULL, "%s: %s", published[i].name,
			error != NULL ? error->message : "");
		ck_assert_msg(
			pipesim_transformer_parameters(model, FALSE) == published[i].parameters,
			"%s: %" G_GINT64_FORMAT, published[i].name,
			pipesim_transformer_parameters(model, FALSE));
	}
}
END_TEST

#define QWEN                                                                         \
	"'model_type':'qwen2_moe','hidden_size':64,'num_hidden_layers':4,"           \
	"'num_attention_heads':4,'intermediate_size':96,'moe_intermediate_size':32," \
	"'num_experts_per_tok':2,'vocab_size':100"
#define DEEPSEEK                                                                     \
	"'model_type':'deepseek_v3','hidden_size':64,'num_hidden_layers':6,"         \
	"'num_attention_heads':4,'intermediate_size':96,'moe_intermediate_size':32," \
	"'num_experts_per_tok':2,'kv_lora_rank':16,'qk_nope_head_dim':8,"            \
	"'qk_rope_head_dim':4,'v_head_dim':8,'vocab_size':100"

/* Which layers have experts: "0101". (transfer full) */
static char *places(const char *text)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimTransformer) model = parse(text, &error);
	GString *out = g_string_new(NULL);

	ck_assert_msg(model != NULL, "%s", error != NULL ? error->message : "");
	for (gint64 layer = 0; layer < model->layers; layer++)
		g_string_append_c(out, pipesim_transformer_is_sparse(model, layer) ? '1' : '0');
	return g_string_free(out, FALSE);
}

/* As the models' own code places them; without experts all layers are dense. */
START_TEST(places_experts)
{
	static const struct {
		const char *text, *places;
	} cases[] = {{"{" QWEN ",'num_experts':8}", "1111"},
		{"{" QWEN ",'num_experts':8,'decoder_sparse_step':2}", "0101"},
		{"{" QWEN ",'num_experts':8,'mlp_only_layers':[0,3,99]}", "0110"},
		{"{" QWEN ",'num_experts':8,'mlp_only_layers':null}", "1111"},
		{"{" QWEN ",'num_experts':0}", "0000"},
		{"{" DEEPSEEK ",'n_routed_experts':8}", "111111"},
		{"{" DEEPSEEK ",'n_routed_experts':8,'first_k_dense_replace':3}", "000111"},
		{"{" DEEPSEEK ",'n_routed_experts':8,'first_k_dense_replace':1,"
		 "'moe_layer_freq':2}",
			"001010"},
		{"{" DEEPSEEK ",'n_routed_experts':8,'first_k_dense_replace':9}", "000000"},
		{"{" DEEPSEEK ",'n_routed_experts':null}", "000000"}};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autofree char *got = places(cases[i].text);

		ck_assert_str_eq(got, cases[i].places);
	}
}
END_TEST

/* Keys that are null are as those that are missing; a bias may be switched off. */
START_TEST(takes_variants)
{
	g_autoptr(PipesimTransformer) plain = parse(
		"{" DEEPSEEK ",'n_routed_experts':8,'q_lora_rank':null,'n_shared_experts':null,"
		"'rope_scaling':{'type':'yarn','factor':40,'list':[1,{'a':[]}]},"
		"'num_key_value_heads':null,'quantization_config':{'a':{'b':[1,2]}}}",
		NULL);
	g_autoptr(PipesimTransformer) biased =
		parse("{" QWEN ",'num_experts':8,'num_key_value_heads':null}", NULL);
	g_autoptr(PipesimTransformer) bare =
		parse("{" QWEN ",'num_experts':8,'qkv_bias':false}", NULL);
	g_autoptr(GError) error = NULL;

	ck_assert(plain != NULL && biased != NULL && bare != NULL);
	ck_assert_int_eq(plain->q_rank, 0);
	ck_assert_int_eq(plain->shared_ffn, 0);
	ck_assert_int_eq(biased->kv_heads, 4);
	ck_assert(biased->qkv_bias && !bare->qkv_bias);
	ck_assert_int_eq(pipesim_transformer_parameters(biased, FALSE) -
				 pipesim_transformer_parameters(bare, FALSE),
		4 * 3 * 64);
	/* Experts that are not spoken of at all are a key that is missing. */
	ck_assert(parse("{" DEEPSEEK "}", &error) == NULL);
	ck_assert(strstr(error->message, "n_routed_experts is missing") != NULL);
	g_clear_error(&error);
	/* Of two, which one is meant is not known. */
	ck_assert(parse("{" QWEN ",'num_experts':8}\n{" QWEN "}", &error) == NULL);
	ck_assert_msg(
		strstr(error->message, "config.json:2:1: ") != NULL, "%s", error->message);
}
END_TEST

/* A size of 0 is refused where it stands, and 1 above 0 is not: of each key of each family that must have some. */
START_TEST(refuses_sizes_of_0)
{
	static const struct {
		const char *text, *keys;
	} families[] = {
		{"'model_type':'llama','hidden_size':64,'num_hidden_layers':2,"
		 "'num_attention_heads':1,'num_key_value_heads':1,'intermediate_size':8,"
		 "'vocab_size':9",
			"hidden_size num_hidden_layers num_attention_heads num_key_value_heads "
			"intermediate_size vocab_size"},
		{"'model_type':'mixtral','hidden_size':64,'num_hidden_layers':2,"
		 "'num_attention_heads':1,'intermediate_size':8,'vocab_size':9,"
		 "'num_local_experts':4,'num_experts_per_tok':2",
			"num_hidden_layers intermediate_size vocab_size num_experts_per_tok"},
	};

	for (guint f = 0; f < G_N_ELEMENTS(families); f++) {
		g_auto(GStrv) keys = g_strsplit(families[f].keys, " ", -1);
		g_autofree char *whole = g_strdup_printf("{%s}", families[f].text);
		g_autoptr(PipesimTransformer) model = parse(whole, NULL);

		ck_assert_ptr_nonnull(model);
		for (guint k = 0; keys[k] != NULL; k++) {
			g_autofree char *quoted = g_strdup_printf("'%s':", keys[k]);
			const char *at = strstr(whole, quoted);
			const gsize to = (gsize)(at - whole) + strlen(quoted);
			const gsize rest = to + strspn(whole + to, "0123456789");
			g_autofree char *zero =
				g_strdup_printf("%.*s0%s", (int)to, whole, whole + rest);
			g_autofree char *place = g_strdup_printf(
				"config.json:1:%" G_GSIZE_FORMAT ": %s: ", to + 1, keys[k]);
			g_autoptr(GError) error = NULL;

			ck_assert_msg(parse(zero, &error) == NULL, "%s", zero);
			ck_assert_msg(
				strstr(error->message, place) != NULL, "%s", error->message);
		}
	}
}
END_TEST

#define UNTYPED                                                           \
	"'hidden_size':64,'num_hidden_layers':4,'num_attention_heads':2," \
	"'intermediate_size':96,'vocab_size':100"

/* Without model_type the class decides, or keys that say what a family does. */
START_TEST(reads_without_a_type)
{
	g_autoptr(PipesimTransformer) qwen =
		parse("{'architectures':['Qwen2ForCausalLM']," UNTYPED "}", NULL);
	g_autoptr(PipesimTransformer) told =
		parse("{'gated':false,'norm':'layernorm','bias':true,"
		      "'max_learned_positions':32,'sliding_window_every_other_layer':8,"
		      "'num_local_experts':6,'num_experts_per_tok':2,"
		      "'moe_intermediate_size':16,'first_k_dense_replace':1," UNTYPED "}",
			NULL);
	g_autoptr(PipesimTransformer) latent =
		parse("{'gated':true,'norm':'rmsnorm','kv_lora_rank':8,'qk_nope_head_dim':16,"
		      "'qk_rope_head_dim':8,'v_head_dim':16," UNTYPED "}",
			NULL);
	g_autoptr(GError) error = NULL;

	ck_assert(qwen->qkv_bias && !qwen->output_bias && qwen->gated);
	ck_assert(!told->gated && told->layer_norm);
	ck_assert(told->qkv_bias && told->output_bias && told->ffn_bias);
	ck_assert(told->positions == 32 && told->window == 8 && told->windowed == 2);
	ck_assert(told->experts == 6 && told->per_token == 2 && told->expert_ffn == 16);
	ck_assert(!pipesim_transformer_is_sparse(told, 0));
	ck_assert(latent->kv_rank == 8 && latent->v_dim == 16 && latent->qk_norm);
	ck_assert(latent->experts == 0 && latent->gated && !latent->layer_norm);
	/* What does not decide. */
	ck_assert(parse("{" UNTYPED ",'norm':'rmsnorm'}", &error) == NULL);
	ck_assert(strstr(error->message, "model_type is missing") != NULL);
	g_clear_error(&error);
	ck_assert(parse("{" UNTYPED ",'architectures':['MambaForCausalLM']}", &error) == NULL);
	g_clear_error(&error);
	ck_assert(parse("{" UNTYPED ",'gated':true,'norm':'rmsnorm','num_experts_per_tok':2}",
			  &error) == NULL);
	ck_assert(strstr(error->message, "n_routed_experts is missing") != NULL);
	g_clear_error(&error);
	ck_assert(parse("{" UNTYPED ",'gated':true,'norm':'batchnorm'}", &error) == NULL);
	ck_assert(strstr(error->message, "norm: rmsnorm or layernorm") != NULL);
}
END_TEST

Suite *transformer_configs_suite(void)
{
	Suite *suite = suite_create("transformer-configs");
	TCase *tests = tcase_create("configs");

	tcase_add_test(tests, counts_published);
	tcase_add_test(tests, places_experts);
	tcase_add_test(tests, takes_variants);
	tcase_add_test(tests, reads_without_a_type);
	tcase_add_test(tests, refuses_sizes_of_0);
	suite_add_tcase(suite, tests);
	return suite;
}
