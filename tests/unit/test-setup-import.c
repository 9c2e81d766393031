/* Arguments of Megatron-LM and torchtitan: what becomes of them, and what is listed. */
#include "setup/import.h"
#include "suites.h"
#include <string.h>

static PipesimImport *parse(PipesimFramed from, const char *text, GError **error)
{
	return pipesim_import_parse(from, text, strlen(text), "args", error);
}

static gboolean lists(const GPtrArray *words, const char *word)
{
	for (guint i = 0; i < words->len; i++)
		if (strcmp(words->pdata[i], word) == 0)
			return TRUE;
	return FALSE;
}

/* An argument of Megatron-LM, and what it says as an option. */
static const struct {
	const char *text;
	PipesimSettingId id;
	const char *value; /* "": a flag; NULL: not said */
} said[] = {
	{"--pipeline-model-parallel-size 8", PIPESIM_SET_PP, "8"},
	{"--pipeline_model_parallel_size=8", PIPESIM_SET_PP, "8"},
	{"P=8\n--pipeline-model-parallel-size ${P}", PIPESIM_SET_PP, "8"},
	{"--pipeline-model-parallel-size ${P:-4}", PIPESIM_SET_PP, "4"},
	{"A=(\n--tp-comm-overlap # --seq-length 1\n--seq-length \\\n 9)", PIPESIM_SET_SEQ, "9"},
	{"--seq-length \\\r\n 9", PIPESIM_SET_SEQ, "9"},
	{"--seq-length \\9\n", PIPESIM_SET_SEQ,
		"9"}, /* a character of its own, not a line that goes on */
	{"ARGS=\"--seq-length 5 --bf16\"\nrun $ARGS", PIPESIM_SET_SEQ, "5"},
	{"--seq-length 5 --seq-length 6", PIPESIM_SET_SEQ, "6"},
	{"--sequence-parallel", PIPESIM_SET_SEQUENCE_PARALLEL, ""},
	{"--seq-length 5", PIPESIM_SET_SEQUENCE_PARALLEL, NULL},
	{"--bf16", PIPESIM_SET_SCHEDULE, "1f1b"},
	{"--num-layers 24 --pipeline-model-parallel-size 4 "
	 "--num-layers-per-virtual-pipeline-stage 2",
		PIPESIM_SET_CHUNKS, "3"},
	{"--num-virtual-stages-per-pipeline-rank 2", PIPESIM_SET_SCHEDULE, "interleaved-1f1b"},
	{"--pipeline-model-parallel-size 4 --pipeline-model-parallel-layout 'Ett|(tt|)*14,ttL'",
		PIPESIM_SET_CHUNKS, "4"},
	{"torchrun --nproc-per-node 8 pretrain_gpt.py --nnodes 2", PIPESIM_SET_DP, "16"},
	{"--fp8-format hybrid", PIPESIM_SET_PRECISION, "fp8-ds"},
	{"--fp8-format hybrid --fp8-recipe custom", PIPESIM_SET_PRECISION, "fp8"},
	{"--fp8-format e4m3 --fp8-recipe mxfp8", PIPESIM_SET_PRECISION, "fp8-mx"},
	{"--fp8-format hybrid --fp8-param-gather", PIPESIM_SET_PRECISION, "fp8-ds-params"},
	{"--fp8-format e4m3 --fp8-recipe mxfp8 --fp8-param-gather", PIPESIM_SET_PRECISION,
		"fp8-mx-params"},
	{"--fp4-format e2m1", PIPESIM_SET_PRECISION, "nvfp4"},
	{"--bf16 --fp8-recipe mxfp8", PIPESIM_SET_PRECISION, NULL},
	{"--cuda-graph-impl none", PIPESIM_SET_CUDA_GRAPH, NULL},
	{"--cuda-graph-impl local --cuda-graph-scope full_iteration", PIPESIM_SET_GRAPHS,
		"step"},
	{"--cuda-graph-impl transformer_engine --cuda-graph-scope attn moe_router",
		PIPESIM_SET_GRAPHS, "layers"},
	{"--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
		PIPESIM_SET_DISPATCHER, "hybridep"},
	{"--moe-token-dispatcher-type alltoall --moe-flex-dispatcher-backend deepep",
		PIPESIM_SET_DISPATCHER, "alltoall"},
	{"--bf16 --moe-flex-dispatcher-backend deepep", PIPESIM_SET_DISPATCHER, NULL},
	{"--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout 'Et|t|t|tL'",
		PIPESIM_SET_CHUNKS, "2"},
	{"--pipeline-model-parallel-layout 'Et|t|t|tL'", PIPESIM_SET_LAYOUT, "Et|t|t|tL"},
	{"--nnodes 4 --nproc_per_node 8 --tensor-model-parallel-size 8 "
	 "--pipeline-model-parallel-size 2",
		PIPESIM_SET_DP, "2"},
	{"--nnodes 4 --nproc-per-node 8 --micro-batch-size 2 --global-batch-size 512",
		PIPESIM_SET_MICROBATCHES, "8"},
	{"--global-batch-size 12 --micro-batch-size 3", PIPESIM_SET_MICROBATCHES, "4"},
	{"--recompute-granularity full --recompute-method block --recompute-num-layers 3",
		PIPESIM_SET_RECOMPUTE, "first=3"},
	{"--recompute-granularity full --recompute-method uniform --recompute-num-layers 2",
		PIPESIM_SET_RECOMPUTE, "every=2"},
	{"--recompute-granularity selective --recompute-modules mlp moe", PIPESIM_SET_RECOMPUTE,
		"mlp+moe"},
	{"--bf16 --use-distributed-optimizer", PIPESIM_SET_ZERO, "1"},
	{"--bf16", PIPESIM_SET_ZERO, "0"},
	{"--data-parallel-sharding-strategy optim_grads_params", PIPESIM_SET_ZERO, "3"},
	{"--bf16", PIPESIM_SET_OPTIMIZER, "adam"},
	{"--fp16", PIPESIM_SET_OPTIMIZER, "adam-fp16"},
	{"--bf16 --fp8-format hybrid --fp8-recipe custom --fp8-param-gather",
		PIPESIM_SET_PRECISION, "fp8-params"},
	{"--num-experts 8 --tensor-model-parallel-size 2", PIPESIM_SET_EXPERT_TP, "2"},
	{"--num-experts 8 --expert-tensor-parallel-size 1", PIPESIM_SET_EXPERT_TP, "1"},
	{"--num-experts 8", PIPESIM_SET_UNFUSED, "permutation"},
	{"--num-experts 8 --no-rope-fusion --no-gradient-accumulation-fusion",
		PIPESIM_SET_UNFUSED, "permutation,gradients,rope"},
	{"--no-rope-fusion", PIPESIM_SET_UNFUSED, "rope"},
	{"--overlap-moe-expert-parallel-comm", PIPESIM_SET_PAIRS, ""},
	{"--overlap-moe-expert-parallel-comm", PIPESIM_SET_EP_OVERLAP, ""},
	{"--microbatch-group-size-per-virtual-pipeline-stage 6", PIPESIM_SET_GROUP, "6"},
	{"--cp-comm-type a2a", PIPESIM_SET_CP_COMM, "a2a"},
};

START_TEST(arguments_become_options)
{
	const PipesimSettingId id = said[_i].id;
	g_autoptr(PipesimImport) import =
		parse(PIPESIM_FROM_MEGATRON_SHELL, said[_i].text, NULL);

	ck_assert_ptr_nonnull(import);
	if (said[_i].value != NULL && *said[_i].value == '\0')
		ck_assert(import->job->flag[id]);
	else
		ck_assert_pstr_eq(import->job->text[id], said[_i].value);
	ck_assert(said[_i].value != NULL || !import->job->flag[id]);
}
END_TEST

/* What plans write of a value is read as that value: fp8 alone is one of two words for a recipe. */
START_TEST(words_are_read_as_written)
{
	static const struct {
		PipesimSettingId id;
		const PipesimMegatronWord *words;
		guint n;
	} tables[] = {{PIPESIM_SET_PRECISION, pipesim_megatron_precisions, PIPESIM_NVFP4 + 1},
		{PIPESIM_SET_GRAPHS, pipesim_megatron_graphs, PIPESIM_GRAPHS_STEP + 1},
		{PIPESIM_SET_DISPATCHER, pipesim_megatron_dispatchers, PIPESIM_HYBRIDEP + 1}};
	guint found = 0;

	for (guint i = 0; i < G_N_ELEMENTS(tables); i++)
		for (guint k = 0; k < tables[i].n; k++) {
			const PipesimMegatronWord *word = &tables[i].words[k];
			g_autofree char *text = g_strdup_printf("%s--%s %s",
				word->beside != NULL ? word->beside : "", word->name,
				word->word);
			g_autoptr(PipesimImport) import = NULL;

			if (word->value == NULL)
				continue;
			import = parse(PIPESIM_FROM_MEGATRON_SHELL, text, NULL);
			ck_assert_str_eq(import->job->text[tables[i].id],
				strcmp(word->value, "fp8") == 0 ? "fp8-cs" : word->value);
			found++;
		}
	ck_assert_uint_eq(found, 12);
}
END_TEST

START_TEST(models_are_described)
{
	g_autoptr(PipesimImport) import = parse(PIPESIM_FROM_MEGATRON_YAML,
		"num_layers: 12\n- --hidden-size: 1024 # wide\nnum-attention-heads: '16'\n"
		"swiglu: true\nnum-experts: 8\nmoe-layer-freq: ([0]*2+[1]*10)\n"
		"untie-embeddings-and-output-weights: false\nvocab-size: 1000\nlr: 1\n",
		NULL);

	ck_assert_ptr_nonnull(import->model);
	ck_assert_ptr_nonnull(strstr(import->model->str, "layers = 12\n"));
	/* Megatron's own width: two thirds of four times, in 64s. */
	ck_assert_ptr_nonnull(strstr(import->model->str, "\nffn = 2688\n"));
	ck_assert_ptr_nonnull(strstr(import->model->str, "tied = yes\n"));
	ck_assert_ptr_nonnull(strstr(import->model->str, "first_layer = 2\n"));
	ck_assert_ptr_nonnull(strstr(import->model->str, "per_token = 2\n"));
	ck_assert(lists(import->ignored, "lr"));
	ck_assert_int_eq((int)import->ignored->len, 1);
}
END_TEST

START_TEST(torchtitan_is_read)
{
	g_autoptr(PipesimImport) import = parse(PIPESIM_FROM_TORCHTITAN,
		"[model]\nname = \"llama3\"\nflavor = \"70B\" # "
		"large\n[training]\nlocal_batch_size = 16\n"
		"steps = 9\n[parallelism]\npipeline_parallel_degree = 8\n"
		"pipeline_parallel_microbatch_size = 2\ndata_parallel_shard_degree = 4\n"
		"pipeline_parallel_schedule = 'ZBVZeroBubble'\n[activation_checkpoint]\n"
		"mode = \"full\"\n",
		NULL);
	const PipesimJobFile *job = import->job;

	ck_assert_str_eq(import->shipped, "llama-3-70b");
	ck_assert_str_eq(job->text[PIPESIM_SET_PP], "8");
	ck_assert_str_eq(job->text[PIPESIM_SET_MICROBATCHES], "8");
	ck_assert_str_eq(job->text[PIPESIM_SET_MICROBATCH_SIZE], "2");
	ck_assert_str_eq(job->text[PIPESIM_SET_SCHEDULE], "ZBVZeroBubble");
	ck_assert_str_eq(job->text[PIPESIM_SET_ZERO], "fsdp-fp32");
	ck_assert_str_eq(job->text[PIPESIM_SET_RECOMPUTE], "full");
	ck_assert_str_eq(job->text[PIPESIM_SET_MODULES], "torchtitan");
	ck_assert_int_eq(job->at[PIPESIM_SET_PP].line, 8);
	ck_assert(lists(import->ignored, "training.steps"));
	ck_assert_int_eq((int)import->ignored->len, 1);

	g_autoptr(PipesimImport) compiled = parse(PIPESIM_FROM_TORCHTITAN,
		"[model]\nname = \"llama3\"\nflavor = \"8B\"\n[compile]\nenable = true\n",
		NULL);
	ck_assert_str_eq(compiled->job->text[PIPESIM_SET_MODULES], "torchtitan-compiled");
	ck_assert_int_eq(compiled->job->at[PIPESIM_SET_MODULES].line, 5);
	ck_assert_int_eq((int)compiled->ignored->len, 0);
}
END_TEST

/* Stages are what lists of modules say; without a pipeline a micro-batch is all that a rank has of a step's pass. */
START_TEST(torchtitan_has_stages)
{
	g_autoptr(PipesimImport) piped = parse(PIPESIM_FROM_TORCHTITAN,
		"[training]\nlocal_batch_size = 8\nglobal_batch_size = 64\n"
		"mixed_precision_reduce = \"bfloat16\"\n[parallelism]\n"
		"pipeline_parallel_degree = 2\ndata_parallel_shard_degree = 4\n"
		"pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
		"module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\"], "
		"[\"layers.1\", \"layers.2\"], [\"layers.3\"], [\"norm\", \"output\"]]\n",
		NULL);
	g_autoptr(PipesimImport) alone = parse(PIPESIM_FROM_TORCHTITAN,
		"[training]\nlocal_batch_size = 4\nglobal_batch_size = 64\n"
		"[parallelism]\ncontext_parallel_degree = 2\n"
		"[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n",
		NULL);
	g_autoptr(PipesimImport) lines = parse(PIPESIM_FROM_TORCHTITAN,
		"[parallelism]\npipeline_parallel_degree = 2\n"
		"module_fqns_per_model_part = [\n  [\"tok_embeddings\"],\n]\n",
		NULL);

	ck_assert_str_eq(piped->job->text[PIPESIM_SET_LAYOUT], "Et*1|t*2|t*1|L");
	ck_assert_str_eq(piped->job->text[PIPESIM_SET_CHUNKS], "2");
	ck_assert_str_eq(piped->job->text[PIPESIM_SET_MICROBATCHES], "8");
	ck_assert_str_eq(piped->job->text[PIPESIM_SET_ZERO], "fsdp");
	ck_assert(strstr(piped->notes->pdata[0], "several pipelines") != NULL);
	ck_assert_str_eq(alone->job->text[PIPESIM_SET_MICROBATCH_SIZE], "4");
	ck_assert_str_eq(alone->job->text[PIPESIM_SET_MICROBATCHES], "16");
	ck_assert_str_eq(alone->job->text[PIPESIM_SET_ZERO], "3");
	ck_assert_str_eq(alone->job->text[PIPESIM_SET_RECOMPUTE], "selective-op");
	ck_assert_ptr_null(lines->job->text[PIPESIM_SET_LAYOUT]);
	ck_assert(strstr(lines->notes->pdata[0], "one line") != NULL);
}
END_TEST

/* To be one of the words that it may be does not make an argument mean something. */
START_TEST(words_alone_are_ignored)
{
	g_autoptr(PipesimImport) import =
		parse(PIPESIM_FROM_MEGATRON_SHELL, "--bf16 --normalization RMSNorm", NULL);

	ck_assert(lists(import->ignored, "normalization"));
}
END_TEST

/* A word that is a variable is said, not refused. */
START_TEST(variables_are_noted)
{
	g_autoptr(PipesimImport) import = parse(PIPESIM_FROM_MEGATRON_SHELL,
		"--recompute-granularity $HOW --seq-length $LONG", NULL);

	ck_assert(lists(import->notes, "seq-length is $LONG, a variable that is not set here"));
	ck_assert(lists(import->notes,
		"recompute-granularity is $HOW, a variable that is not set here"));
	ck_assert_ptr_null(import->job->text[PIPESIM_SET_RECOMPUTE]);
}
END_TEST

START_TEST(what_is_none_is_refused)
{
	static const struct {
		PipesimFramed from;
		const char *text, *message;
	} faults[] = {{PIPESIM_FROM_MEGATRON_SHELL, "echo none",
			      "args:1:1: no argument of Megatron-LM"},
		{PIPESIM_FROM_MEGATRON_SHELL, "a\n b --seq-length x",
			"args:2:4: seq-length: 'x' is not a whole number"},
		{PIPESIM_FROM_MEGATRON_SHELL, "--recompute-granularity ful",
			"args:1:1: recompute-granularity: 'ful'; full or selective"},
		{PIPESIM_FROM_MEGATRON_YAML, "a: 1\nnormalization: rmsnorm\n",
			"args:2:1: normalization: 'rmsnorm'; LayerNorm or RMSNorm"},
		{PIPESIM_FROM_TORCHTITAN, "[compile]\nenable = maybe\n",
			"args:2:1: compile.enable: 'maybe'; true or false"},
		{PIPESIM_FROM_TORCHTITAN,
			"[parallelism]\nfsdp_reshard_after_forward = \"alway\"",
			"args:2:1: parallelism.fsdp_reshard_after_forward: 'alway'; default, "
			"always or never"},
		{PIPESIM_FROM_TORCHTITAN, "[a]\nb = 1\n",
			"args:1:1: no argument of torchtitan"},
		{PIPESIM_FROM_MEGATRON_YAML, "\xff", "args:1:1: not text in UTF-8"}};

	for (guint i = 0; i < G_N_ELEMENTS(faults); i++) {
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimImport) import = parse(faults[i].from, faults[i].text, &error);

		ck_assert_ptr_null(import);
		ck_assert_msg(g_str_has_prefix(error->message, faults[i].message), "%s",
			error->message);
	}
}
END_TEST

Suite *setup_import_suite(void)
{
	Suite *suite = suite_create("setup-import");
	TCase *cases = tcase_create("setup-import");

	tcase_add_loop_test(cases, arguments_become_options, 0, G_N_ELEMENTS(said));
	tcase_add_test(cases, words_are_read_as_written);
	tcase_add_test(cases, models_are_described);
	tcase_add_test(cases, torchtitan_is_read);
	tcase_add_test(cases, torchtitan_has_stages);
	tcase_add_test(cases, words_alone_are_ignored);
	tcase_add_test(cases, variables_are_noted);
	tcase_add_test(cases, what_is_none_is_refused);
	suite_add_tcase(suite, cases);
	return suite;
}
