/* Names of arguments: Megatron-LM's megatron/training/arguments.py, torchtitan's torchtitan/config. */
#include "setup/import.h"
#include "setup/arguments.h"

#define MOST_BYTES ((gsize)1 << 20)

typedef struct {
	PipesimImport *import;
	const char *path;
	PipesimFaults *faults;
	GArray *all; /* of PipesimArgument, the last of a name counts */
} Reading;

/* What had to be assumed. */
#define note(reading, ...) pipesim_lines_say((reading)->import->notes, __VA_ARGS__)

/* What arguments say --------------------------------------------------------------------------- */

/* The last one called @name; NULL: there is none. @used: all of that name have a meaning */
static PipesimArgument *look_up(const Reading *reading, const char *name, gboolean used)
{
	PipesimArgument *found = NULL;

	pipesim_each (PipesimArgument, argument, reading->all) {
		if (strcmp(argument->name, name) == 0) {
			argument->used |= used;
			found = argument;
		}
	}
	return found;
}

static PipesimArgument *find(Reading *reading, const char *name)
{
	return look_up(reading, name, TRUE);
}

static const char *value_of(Reading *reading, const char *name)
{
	const PipesimArgument *argument = find(reading, name);

	return argument != NULL ? argument->value : NULL;
}

static gboolean has(Reading *reading, const char *name)
{
	return find(reading, name) != NULL;
}

/* Whether @name is @value. */
static gboolean is(Reading *reading, const char *name, const char *value)
{
	return g_strcmp0(value_of(reading, name), value) == 0;
}

static gboolean is_variable(Reading *reading, const PipesimArgument *argument)
{
	if (strchr(argument->value, '$') == NULL)
		return FALSE;
	note(reading, "%s is %s, a variable that is not set here", argument->name,
		argument->value);
	return TRUE;
}

/* The number of @name, @otherwise where it is not there; one that is none is a fault. */
static guint64 number(Reading *reading, const char *name, guint64 otherwise)
{
	const PipesimArgument *argument = find(reading, name);
	g_autoptr(GError) error = NULL;
	guint64 value = otherwise;

	if (argument == NULL || is_variable(reading, argument))
		return otherwise;
	if (!pipesim_parse_count(argument->value, name, 0, PIPESIM_MAX_WIDTH, &value, &error))
		pipesim_faults_add(reading->faults, reading->path, argument->line,
			argument->column, "%s", error->message);
	return value;
}

static void set(Reading *reading, PipesimSettingId id, const char *name, const char *value)
{
	const PipesimArgument *argument = name != NULL ? find(reading, name) : NULL;

	pipesim_job_file_set(reading->import->job, id, value,
		argument != NULL ? argument->line : 1, argument != NULL ? argument->column : 1);
}

static void set_number(Reading *reading, PipesimSettingId id, const char *name, guint64 value)
{
	g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, value);

	set(reading, id, name, text);
}

/* Arguments whose value, or presence, is that of an option. */
typedef struct {
	const char *name;
	PipesimSettingId id;
	const char *value; /* of a flag there; NULL: a number that is the option's */
} Same;

static void read_same(Reading *reading, const Same *rows, gsize n)
{
	for (gsize i = 0; i < n; i++) {
		if (!has(reading, rows[i].name))
			continue;
		if (rows[i].value != NULL)
			set(reading, rows[i].id, rows[i].name, rows[i].value);
		else
			set_number(reading, rows[i].id, rows[i].name,
				number(reading, rows[i].name, 1));
	}
}

/* The micro-batches of a step, of @batch sequences over @dp ranks. */
static void set_microbatches(
	Reading *reading, const char *name, guint64 batch, guint64 size, guint64 dp)
{
	const guint64 each = MAX(size, 1) * MAX(dp, 1);

	if (batch == 0)
		return;
	if (batch % each != 0)
		note(reading,
			"%s: %" G_GUINT64_FORMAT
			" sequences are no multiple of %" G_GUINT64_FORMAT
			" in a micro-batch of all data-parallel ranks; rounded down",
			name, batch, each);
	set_number(reading, PIPESIM_SET_MICROBATCHES, name, MAX(batch / each, 1));
}

/* Megatron-LM ------------------------------------------------------------------------------------ */

static void add_key(GString *model, const char *key, guint64 value)
{
	if (value > 0)
		g_string_append_printf(model, "%s = %" G_GUINT64_FORMAT "\n", key, value);
}

/* "([0]*3+[1]*58)": how many zeros stand first; or N: every Nth layer. */
static void add_frequency(Reading *reading, GString *model)
{
	const char *text = value_of(reading, "moe-layer-freq");
	const char *zeros = text != NULL ? strstr(text, "[0]*") : NULL;

	if (text == NULL)
		return;
	if (zeros != NULL)
		add_key(model, "first_layer", g_ascii_strtoull(zeros + 4, NULL, 10));
	else if (g_ascii_isdigit(*text))
		add_key(model, "every", number(reading, "moe-layer-freq", 1));
	else
		note(reading, "moe-layer-freq '%.60s' is not understood: experts in all layers",
			text);
}

static void add_experts(Reading *reading, GString *model, guint64 ffn)
{
	const guint64 experts = number(reading, "num-experts", 0);

	if (experts == 0)
		return;
	g_string_append(model, "\n[experts]\n");
	add_key(model, "number", experts);
	add_key(model, "per_token", number(reading, "moe-router-topk", 2));
	add_key(model, "ffn", number(reading, "moe-ffn-hidden-size", ffn));
	add_key(model, "shared_ffn", number(reading, "moe-shared-expert-intermediate-size", 0));
	add_key(model, "node_limit", number(reading, "moe-router-group-topk", 0));
	if (has(reading, "moe-router-enable-expert-bias"))
		g_string_append(model, "router_bias = yes\n");
	add_frequency(reading, model);
}

/* Whether a dropout, 0.1 unless it is given, is one. */
static gboolean drops(Reading *reading, const char *name)
{
	const char *value = value_of(reading, name);

	return value == NULL || g_ascii_strtod(value, NULL) > 0;
}

/* The model of the sizes, with Megatron's own defaults. */
static void describe_megatron(Reading *reading)
{
	const guint64 layers = number(reading, "num-layers", 0),
		      hidden = number(reading, "hidden-size", 0);
	const guint64 heads = number(reading, "num-attention-heads", 0);
	const gboolean swiglu = has(reading, "swiglu");
	const guint64 ffn = number(
		reading, "ffn-hidden-size", swiglu ? hidden * 4 * 2 / 3 / 64 * 64 : 4 * hidden);
	const gboolean biases = !has(reading, "disable-bias-linear");
	const gboolean rope = is(reading, "position-embedding-type", "rope") ||
			      is(reading, "position-embedding-type", "none") ||
			      has(reading, "use-rotary-position-embeddings");
	const guint64 positions = number(reading, "max-position-embeddings", 0);
	GString *model;

	if (layers == 0 || hidden == 0 || heads == 0)
		return;
	model = reading->import->model = g_string_new("[pipesim-model]\nversion = 1\n");
	add_key(model, "layers", layers);
	add_key(model, "hidden", hidden);
	add_key(model, "ffn", ffn);
	add_key(model, "heads", heads);
	if (has(reading, "group-query-attention"))
		add_key(model, "kv_heads", number(reading, "num-query-groups", 1));
	add_key(model, "head_dim", number(reading, "kv-channels", 0));
	g_string_append_printf(
		model, "vocab = %" G_GUINT64_FORMAT "\n", number(reading, "vocab-size", 0));
	if (!has(reading, "vocab-size"))
		note(reading, "vocab-size is not said: embedding and head are left out");
	if (!rope)
		add_key(model, "positions", positions);
	add_key(model, "mtp_layers", number(reading, "mtp-num-layers", 0));
	g_string_append_printf(model,
		"activation = %s\nnorm = %s\ntied = %s\nqk_norm = %s\nqkv_bias = "
		"%s\noutput_bias = %s\n"
		"ffn_bias = %s\nhidden_dropout = %s\nattention_dropout = %s\n",
		swiglu ? "swiglu" : "gelu",
		is(reading, "normalization", "RMSNorm") ? "rmsnorm" : "layernorm",
		has(reading, "untie-embeddings-and-output-weights") ? "no" : "yes",
		has(reading, "qk-layernorm") ? "yes" : "no",
		biases || has(reading, "add-qkv-bias") ? "yes" : "no", biases ? "yes" : "no",
		biases ? "yes" : "no", drops(reading, "hidden-dropout") ? "yes" : "no",
		drops(reading, "attention-dropout") ? "yes" : "no");
	if (has(reading, "multi-latent-attention")) {
		g_string_append(model, "\n[latent]\n");
		add_key(model, "q_rank", number(reading, "q-lora-rank", 0));
		add_key(model, "kv_rank", number(reading, "kv-lora-rank", 32));
		add_key(model, "nope", number(reading, "qk-head-dim", 128));
		add_key(model, "rope", number(reading, "qk-pos-emb-head-dim", 64));
		add_key(model, "v", number(reading, "v-head-dim", 128));
	}
	add_experts(reading, model, ffn);
}

#define RECIPE "fp8-recipe"
#define HYBRID "--fp8-format hybrid "
#define E4M3   "--fp8-format e4m3 "
#define SCOPE  "cuda-graph-scope"
#define LAYERS "--cuda-graph-impl transformer_engine "

const PipesimMegatronWord pipesim_megatron_precisions[] = {
	[PIPESIM_FP8] = {"fp8", RECIPE, "tensorwise", HYBRID},
	[PIPESIM_FP8_CS] = {"fp8-cs", RECIPE, "tensorwise", HYBRID},
	[PIPESIM_FP8_DS] = {"fp8-ds", RECIPE, "delayed", HYBRID},
	[PIPESIM_FP8_MX] = {"fp8-mx", RECIPE, "mxfp8", E4M3},
	[PIPESIM_FP8_BLOCK] = {"fp8-block", RECIPE, "blockwise", E4M3},
	[PIPESIM_NVFP4] = {"nvfp4", "fp4-format", "e2m1", NULL}};

const PipesimMegatronWord pipesim_megatron_graphs[] = {
	[PIPESIM_GRAPHS_ROUTER] = {"router", SCOPE, "moe_router", LAYERS},
	[PIPESIM_GRAPHS_LAYERS] = {"layers", SCOPE, "attn", LAYERS},
	[PIPESIM_GRAPHS_STEP] = {"step", SCOPE, "full_iteration", "--cuda-graph-impl local "}};

#define FLEX "--moe-token-dispatcher-type flex "

const PipesimMegatronWord pipesim_megatron_dispatchers[] = {
	[PIPESIM_ALL_TO_ALL] = {"alltoall", "moe-token-dispatcher-type", "alltoall", NULL},
	[PIPESIM_DEEPEP] = {"deepep", "moe-flex-dispatcher-backend", "deepep", FLEX},
	[PIPESIM_HYBRIDEP] = {"hybridep", "moe-flex-dispatcher-backend", "hybridep", FLEX}};

/* The last of @n of @words that the arguments say; NULL: none. */
static const PipesimMegatronWord *find_word(
	Reading *reading, const PipesimMegatronWord *words, guint n)
{
	while (n-- > 0) {
		const char *said =
			words[n].value != NULL ? value_of(reading, words[n].name) : NULL;
		g_auto(GStrv) each = said != NULL ? g_strsplit_set(said, " ,[]\"'", -1) : NULL;

		if (each != NULL && g_strv_contains((const char *const *)each, words[n].word))
			return &words[n];
	}
	return NULL;
}

static void read_recompute(Reading *reading)
{
	const char *modules = value_of(reading, "recompute-modules");
	const char *granularity = value_of(reading, "recompute-granularity");
	const gboolean block = is(reading, "recompute-method", "block");
	g_autofree char *text = NULL;

	if (g_strcmp0(granularity, "full") == 0)
		text = g_strdup_printf("%s=%" G_GUINT64_FORMAT, block ? "first" : "every",
			MAX(number(reading, "recompute-num-layers", 1), 1));
	else if (g_strcmp0(granularity, "selective") == 0 ||
		 has(reading, "recompute-activations"))
		text = g_strdup(modules != NULL && *modules != '\0' ? modules : "core_attn");
	if (text != NULL)
		set(reading, PIPESIM_SET_RECOMPUTE,
			granularity != NULL ? "recompute-granularity" : "recompute-activations",
			g_strdelimit(text, " ,", '+'));
}

/* The precision of products, fp8 where the recipe is not known here, delayed scaling where none is said, and whether
 * parameters are kept so; owned, NULL: BF16. */
static char *precision_of(Reading *reading, gboolean fp16)
{
	const PipesimMegatronWord *word =
		find_word(reading, pipesim_megatron_precisions, PIPESIM_NVFP4);
	const char *recipe = !has(reading, RECIPE) ? "fp8-ds"
			     : word != NULL        ? word->value
						   : "fp8";

	if (has(reading, "fp4-format") || has(reading, "fp4"))
		return g_strdup("nvfp4");
	if (!has(reading, "fp8-format") && !has(reading, "fp8"))
		return fp16 ? g_strdup("fp16") : NULL;
	return g_strconcat(recipe, has(reading, "fp8-param-gather") ? "-params" : NULL, NULL);
}

static void read_optimizer(Reading *reading)
{
	const char *sharded = value_of(reading, "data-parallel-sharding-strategy");
	const gboolean bf16 = has(reading, "bf16"), fp16 = has(reading, "fp16");
	const gboolean small =
		is(reading, "main-grads-dtype", "bf16") && is(reading, "exp-avg-dtype", "bf16");
	g_autofree char *precision = precision_of(reading, fp16);

	set(reading, PIPESIM_SET_OPTIMIZER, "optimizer",
		is(reading, "optimizer", "sgd") ? "sgd"
		: bf16                          ? (small ? "adam-bf16" : "adam")
		: fp16                          ? "adam-fp16"
						: "adam-fp32");
	if (precision != NULL)
		set(reading, PIPESIM_SET_PRECISION, NULL, precision);
	set(reading, PIPESIM_SET_ZERO, NULL,
		g_strcmp0(sharded, "optim_grads_params") == 0 ? "3"
		: g_strcmp0(sharded, "optim_grads") == 0      ? "2"
		: has(reading, "use-distributed-optimizer")   ? "1"
							      : "0");
}

/* CUDA graphs, and what they are said to hold. */
static void read_graphs(Reading *reading)
{
	const PipesimMegatronWord *word = find_word(
		reading, pipesim_megatron_graphs, G_N_ELEMENTS(pipesim_megatron_graphs));

	if (!has(reading, "cuda-graph-impl") || is(reading, "cuda-graph-impl", "none"))
		return;
	set(reading, PIPESIM_SET_CUDA_GRAPH, "cuda-graph-impl", "");
	if (word != NULL)
		set(reading, PIPESIM_SET_GRAPHS, word->name, word->value);
}

/* Of Megatron's string for a layout, such as Et*3|(tt|)*29,m|L. */
static guint64 stages_of(const char *layout)
{
	guint64 all = 1, group = 0;
	gboolean within = FALSE;

	for (const char *p = layout; *p != '\0'; p++) {
		if (*p == '|')
			*(within ? &group : &all) += 1;
		else if (*p == ')')
			all += group * (p[1] == '*' ? g_ascii_strtoull(p + 2, NULL, 10) : 1);
		if (*p == '(')
			group = 0;
		within = *p == '(' || (within && *p != ')');
	}
	return all;
}

static void read_stages(Reading *reading, guint64 pp)
{
	const char *each = "num-layers-per-virtual-pipeline-stage";
	const char *layout = value_of(reading, "pipeline-model-parallel-layout");
	const guint64 layers = number(reading, "num-layers", 0),
		      of_stage = number(reading, each, 0);
	guint64 chunks = number(reading, "num-virtual-stages-per-pipeline-rank", 0);

	if (of_stage > 0 && layers > 0)
		chunks = layers / (of_stage * MAX(pp, 1));
	if (layout != NULL) {
		const guint64 stages = stages_of(layout);

		if (chunks == 0 && stages % MAX(pp, 1) == 0)
			chunks = stages / MAX(pp, 1);
		set(reading, PIPESIM_SET_LAYOUT, "pipeline-model-parallel-layout", layout);
	}
	if (chunks > 1)
		set_number(reading, PIPESIM_SET_CHUNKS,
			of_stage > 0 ? each : "num-virtual-stages-per-pipeline-rank", chunks);
	set(reading, PIPESIM_SET_SCHEDULE, NULL, chunks > 1 ? "interleaved-1f1b" : "1f1b");
	set(reading, PIPESIM_SET_RUNTIME, NULL, "megatron");
}

static void read_megatron(Reading *reading)
{
	static const Same same[] = {{"pipeline-model-parallel-size", PIPESIM_SET_PP, NULL},
		{"tensor-model-parallel-size", PIPESIM_SET_TP, NULL},
		{"context-parallel-size", PIPESIM_SET_CP, NULL},
		{"expert-model-parallel-size", PIPESIM_SET_EP, NULL},
		{"micro-batch-size", PIPESIM_SET_MICROBATCH_SIZE, NULL},
		{"seq-length", PIPESIM_SET_SEQ, NULL},
		{"microbatch-group-size-per-virtual-pipeline-stage", PIPESIM_SET_GROUP, NULL},
		{"sequence-parallel", PIPESIM_SET_SEQUENCE_PARALLEL, ""},
		{"no-overlap-p2p-communication", PIPESIM_SET_NO_OVERLAP, ""},
		{"overlap-p2p-communication-warmup-flush", PIPESIM_SET_OVERLAP_FLUSH, ""},
		{"overlap-moe-expert-parallel-comm", PIPESIM_SET_PAIRS, ""},
		{"overlap-moe-expert-parallel-comm", PIPESIM_SET_EP_OVERLAP, ""},
		{"overlap-grad-reduce", PIPESIM_SET_OVERLAP_REDUCE, ""},
		{"tp-comm-overlap", PIPESIM_SET_TP_OVERLAP, ""},
		{"enable-cuda-graph", PIPESIM_SET_CUDA_GRAPH, ""},
		{"external-cuda-graph", PIPESIM_SET_CUDA_GRAPH, ""},
		{"moe-enable-deepep", PIPESIM_SET_DISPATCHER, "deepep"}};
	const guint64 pp = number(reading, "pipeline-model-parallel-size", 1);
	const guint64 tp = number(reading, "tensor-model-parallel-size", 1);
	const guint64 cp = number(reading, "context-parallel-size", 1),
		      experts = number(reading, "num-experts", 0);
	const guint64 nodes = number(reading, "nnodes", 1),
		      each = number(reading, "nproc-per-node", 0);
	const guint64 ep = number(reading, "expert-model-parallel-size", 1);
	const guint64 etp = number(reading, "expert-tensor-parallel-size", tp);
	guint64 dp = nodes * each / MAX(tp * pp * cp, 1);
	/* A backend is one of the flexible dispatcher's. */
	const PipesimMegatronWord *dispatcher = find_word(reading, pipesim_megatron_dispatchers,
		is(reading, "moe-token-dispatcher-type", "flex") ? PIPESIM_HYBRIDEP + 1
								 : PIPESIM_DEEPEP);
	const char *comm = value_of(reading, "cp-comm-type"),
		   *loss = value_of(reading, "cross-entropy-fusion-impl");
	const gboolean fused = !has(reading, "no-gradient-accumulation-fusion");
	const gboolean rotated = !has(reading, "no-rope-fusion");
	const gboolean permuted = experts == 0 || has(reading, "moe-permute-fusion");

	read_same(reading, same, G_N_ELEMENTS(same));
	set_number(reading, PIPESIM_SET_PP, "pipeline-model-parallel-size", pp);
	read_stages(reading, pp);
	if (dp == 0) {
		dp = experts > 0 || ep > 1 ? MAX(ep * etp / MAX(tp * cp, 1), 1) : 1;
		note(reading,
			"nnodes and nproc-per-node do not say how many GPUs there are: the "
			"least data parallelism is taken; give --dp and --microbatches");
	}
	set_number(reading, PIPESIM_SET_DP, NULL, dp);
	set_microbatches(reading, "global-batch-size", number(reading, "global-batch-size", 0),
		number(reading, "micro-batch-size", 1), dp);
	if (experts > 0 || ep > 1 || has(reading, "expert-tensor-parallel-size"))
		set_number(reading, PIPESIM_SET_EXPERT_TP, "expert-tensor-parallel-size", etp);
	if (comm != NULL && (strcmp(comm, "p2p") == 0 || strcmp(comm, "a2a") == 0))
		set(reading, PIPESIM_SET_CP_COMM, "cp-comm-type", comm);
	read_graphs(reading);
	if (dispatcher != NULL)
		set(reading, PIPESIM_SET_DISPATCHER, dispatcher->name, dispatcher->value);
	if (is(reading, "attention-backend", "unfused"))
		set(reading, PIPESIM_SET_ATTENTION, "attention-backend", "unfused");
	if (has(reading, "cross-entropy-loss-fusion"))
		set(reading, PIPESIM_SET_LOSS, NULL,
			g_strcmp0(loss, "te") == 0 ? "te" : "native");
	if (!fused || !permuted || !rotated) {
		g_autofree char *list = g_strconcat(permuted ? "" : "permutation,",
			fused ? "" : "gradients,", rotated ? "" : "rope,", NULL);

		list[strlen(list) - 1] = '\0';
		set(reading, PIPESIM_SET_UNFUSED, NULL, list);
	}
	read_recompute(reading);
	read_optimizer(reading);
	describe_megatron(reading);
}

/* torchtitan -------------------------------------------------------------------------------------- */

#define PARALLEL "parallelism."

/* Lists of modules as the letters of a layout, and how many stages these are; 0: there are none that can be read. */
static guint64 read_modules(Reading *reading)
{
	const char *name = PARALLEL "module_fqns_per_model_part";
	const char *lists = value_of(reading, name);
	g_auto(GStrv) parts = g_strsplit(lists != NULL ? lists : "", "]", -1);
	g_autoptr(GString) letters = g_string_new(NULL);
	guint64 stages = 0;

	for (guint i = 0; parts[i] != NULL && strchr(parts[i], '[') != NULL; i++) {
		guint layers = 0;

		for (const char *at = parts[i]; (at = strstr(at, "layers.")) != NULL; at++)
			layers++;
		g_string_append(letters, stages++ > 0 ? "|" : "");
		g_string_append(letters, strstr(parts[i], "tok_embeddings") ? "E" : "");
		if (layers > 0)
			g_string_append_printf(letters, "t*%u", layers);
		if (strstr(parts[i], "lm_head") || strstr(parts[i], "output"))
			g_string_append_c(letters, 'L');
	}
	/* Whole lists alone: one that goes on in another line is not there. */
	if (lists != NULL && !g_str_has_suffix(lists, "]]")) {
		note(reading, "module_fqns_per_model_part is read where it is one line: give "
			      "--layout");
		return 0;
	}
	if (stages > 0)
		set(reading, PIPESIM_SET_LAYOUT, name, letters->str);
	return stages;
}

/* Whose parameters are shared, and whether they are gathered for each forward. */
static const char *sharding_of(Reading *reading, gboolean alone, gboolean pipelined)
{
	const char *again = value_of(reading, PARALLEL "fsdp_reshard_after_forward");
	const gboolean narrow = is(reading, "training.mixed_precision_reduce", "bfloat16");

	if (alone)
		return "0";
	/* By default where there is no pipeline. */
	if (g_strcmp0(again, "always") == 0 || (!pipelined && g_strcmp0(again, "never") != 0))
		return "3";
	return narrow ? "fsdp" : "fsdp-fp32";
}

static void read_torchtitan(Reading *reading)
{
	static const Same same[] = {{PARALLEL "tensor_parallel_degree", PIPESIM_SET_TP, NULL},
		{PARALLEL "context_parallel_degree", PIPESIM_SET_CP, NULL},
		{PARALLEL "expert_parallel_degree", PIPESIM_SET_EP, NULL},
		{PARALLEL "expert_tensor_parallel_degree", PIPESIM_SET_EXPERT_TP, NULL},
		{"training.seq_len", PIPESIM_SET_SEQ, NULL}};
	static const struct {
		const char *name, *flavor, *model;
	} models[] = {{"llama3", "8B", "llama-3-8b"}, {"llama3", "70B", "llama-3-70b"},
		{"llama3", "405B", "llama-3-405b"}, {"deepseek_v3", "671B", "deepseek-v3"}};
	const char *schedule = value_of(reading, PARALLEL "pipeline_parallel_schedule");
	const char *name = value_of(reading, "model.name"),
		   *flavor = value_of(reading, "model.flavor");
	const guint64 pp = number(reading, PARALLEL "pipeline_parallel_degree", 1);
	const guint64 tp = number(reading, PARALLEL "tensor_parallel_degree", 1);
	const guint64 copies = number(reading, PARALLEL "data_parallel_replicate_degree", 1);
	const gboolean all = is(reading, PARALLEL "data_parallel_shard_degree", "-1");
	const guint64 shards =
		all ? 1 : number(reading, PARALLEL "data_parallel_shard_degree", 1);
	const guint64 stages = pp > 1 ? read_modules(reading) : 0;
	const guint64 dp = MAX(shards, 1) * MAX(copies, 1);
	const guint64 local = number(reading, "training.local_batch_size", 0);
	const guint64 batch = is(reading, "training.global_batch_size", "-1")
				      ? 0
				      : number(reading, "training.global_batch_size", 0);
	/* Without a pipeline all of a rank's sequences are one micro-batch, and a step is as many of these as there are. */
	const guint64 size =
		pp > 1 ? number(reading, PARALLEL "pipeline_parallel_microbatch_size", 1)
		       : MAX(local, 1);

	read_same(reading, same, G_N_ELEMENTS(same));
	set_number(reading, PIPESIM_SET_PP, PARALLEL "pipeline_parallel_degree", pp);
	set(reading, PIPESIM_SET_SCHEDULE, PARALLEL "pipeline_parallel_schedule",
		schedule != NULL ? schedule : "1F1B");
	set(reading, PIPESIM_SET_RUNTIME, NULL, "pytorch-2.15");
	set(reading, PIPESIM_SET_MODULES, "compile.enable",
		is(reading, "compile.enable", "true") ? "torchtitan-compiled" : "torchtitan");
	set_number(reading, PIPESIM_SET_MICROBATCH_SIZE,
		PARALLEL "pipeline_parallel_microbatch_size", size);
	if (pp > 1 || batch == 0)
		set_microbatches(reading, "training.local_batch_size", local, size, 1);
	else
		set_microbatches(reading, "training.global_batch_size", batch, size, dp);
	if (pp > 1 && batch > local * dp)
		note(reading, "global_batch_size is of several pipelines one after the other, "
			      "of which one is taken");
	if (tp > 1)
		set(reading, PIPESIM_SET_SEQUENCE_PARALLEL, NULL, "");
	if (all)
		note(reading, "data_parallel_shard_degree -1 is what GPUs are left: 1 is "
			      "taken; give --dp");
	set_number(reading, PIPESIM_SET_DP, NULL, dp);
	set(reading, PIPESIM_SET_ZERO, PARALLEL "fsdp_reshard_after_forward",
		sharding_of(reading,
			shards <= 1 && !all &&
				number(reading, PARALLEL "context_parallel_degree", 1) <= 1,
			pp > 1));
	if (stages > 0 && schedule != NULL && strstr(schedule, "nterleaved") != NULL)
		set_number(reading, PIPESIM_SET_CHUNKS, PARALLEL "module_fqns_per_model_part",
			MAX(stages / MAX(pp, 1), 1));
	if (has(reading, PARALLEL "pipeline_parallel_schedule_csv"))
		note(reading,
			"pipeline_parallel_schedule_csv has the order that torchtitan runs; "
			"where the schedule beside it is another, give the file to --schedule");
	if (is(reading, "activation_checkpoint.mode", "full"))
		set(reading, PIPESIM_SET_RECOMPUTE, "activation_checkpoint.mode", "full");
	else if (is(reading, "activation_checkpoint.mode", "selective") &&
		 is(reading, "activation_checkpoint.selective_ac_option", "op") &&
		 (name == NULL || strcmp(name, "llama3") == 0))
		set(reading, PIPESIM_SET_RECOMPUTE, "activation_checkpoint.mode",
			"selective-op");
	else if (is(reading, "activation_checkpoint.mode", "selective"))
		note(reading, "selective recomputation of torchtitan is known by ops, of "
			      "llama3: none is taken");
	for (guint i = 0; i < G_N_ELEMENTS(models); i++)
		if (g_strcmp0(models[i].name, name) == 0 &&
			g_strcmp0(models[i].flavor, flavor) == 0)
			reading->import->shipped = g_strdup(models[i].model);
	if (reading->import->shipped == NULL && name != NULL)
		note(reading, "model %.40s %.40s is not shipped; give --model", name,
			flavor != NULL ? flavor : "");
}

/* All of it ------------------------------------------------------------------------------------------ */

/* Arguments that are one of these words: another, spelt wrong, would be taken for none. */
static const struct {
	const char *name, *words;
} worded[] = {{"recompute-granularity", "full selective"},
	{"recompute-method", "uniform block"}, {"normalization", "LayerNorm RMSNorm"},
	{"data-parallel-sharding-strategy", "no_shard optim optim_grads optim_grads_params"},
	{"compile.enable", "true false"},
	{"activation_checkpoint.mode", "none full selective memory_budget"},
	{PARALLEL "fsdp_reshard_after_forward", "default always never"}};

static void check_words(Reading *reading)
{
	for (guint i = 0; i < G_N_ELEMENTS(worded); i++) {
		const PipesimArgument *argument = look_up(reading, worded[i].name, FALSE);
		g_autofree char *what = g_strconcat(worded[i].name, ":", NULL);
		g_autoptr(GError) error = NULL;
		guint word;

		if (argument != NULL && !is_variable(reading, argument) &&
			!pipesim_word_find(
				worded[i].words, argument->value, what, &word, &error))
			pipesim_faults_add(reading->faults, reading->path, argument->line,
				argument->column, "%s", error->message);
	}
}

PipesimImport *pipesim_import_parse(
	PipesimFramed from, const char *text, gsize length, const char *path, GError **error)
{
	g_autoptr(PipesimImport) import = NULL;
	g_autoptr(GArray) all = pipesim_arguments_new();
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autofree char *owned = g_strndup(text, length);
	Reading reading = {.path = path, .faults = faults, .all = all};

	if (!g_utf8_validate(text, (gssize)length, NULL))
		return pipesim_fail_null_at(error, path, 1, 1, "not text in UTF-8");
	reading.import = import = g_new0(PipesimImport, 1);
	import->job = pipesim_job_file_new(path);
	import->ignored = g_ptr_array_new_with_free_func(g_free);
	import->notes = g_ptr_array_new_with_free_func(g_free);
	if (from == PIPESIM_FROM_MEGATRON_SHELL)
		pipesim_arguments_shell(all, owned);
	else
		pipesim_arguments_lines(all, owned, from == PIPESIM_FROM_TORCHTITAN);
	if (from == PIPESIM_FROM_TORCHTITAN)
		read_torchtitan(&reading);
	else
		read_megatron(&reading);
	check_words(&reading);
	pipesim_each (const PipesimArgument, argument, all) {
		if (!argument->used)
			pipesim_lines_say(import->ignored, "%s", argument->name);
	}
	if (!pipesim_faults_done(faults, error))
		return NULL;
	if (import->ignored->len == all->len)
		return pipesim_fail_null_at(error, path, 1, 1,
			"no argument of %s that means something here; is this its file?",
			from == PIPESIM_FROM_TORCHTITAN ? "torchtitan" : "Megatron-LM");
	return g_steal_pointer(&import);
}

PIPESIM_FREES(PipesimImport, pipesim_import_free, import)
{
	pipesim_job_file_free(import->job);
	if (import->model != NULL)
		g_string_free(import->model, TRUE);
	g_ptr_array_unref(import->ignored);
	g_ptr_array_unref(import->notes);
	pipesim_free_all(import->shipped, import);
}

PipesimImport *pipesim_import_read(PipesimSettingId option, const char *path, GError **error)
{
	const PipesimFramed from =
		option == PIPESIM_SET_FROM_TORCHTITAN ? PIPESIM_FROM_TORCHTITAN
		: g_str_has_suffix(path, ".yaml") || g_str_has_suffix(path, ".yml")
			? PIPESIM_FROM_MEGATRON_YAML
			: PIPESIM_FROM_MEGATRON_SHELL;
	g_autoptr(PipesimInput) input = pipesim_input_open(path, error);
	const char *text;
	gsize length;

	if (input == NULL || !pipesim_input_peek(input, MOST_BYTES + 1, &text, &length, error))
		return NULL;
	if (length > MOST_BYTES) {
		pipesim_fail_limit(error, pipesim_input_name(input),
			"larger than 1 MiB: not a file of arguments");
		return NULL;
	}
	return pipesim_import_parse(from, text, length, pipesim_input_name(input), error);
}

/* What is nothing without a device. */
static gboolean needs_device(PipesimSettingId id)
{
	return id == PIPESIM_SET_OVERLAP_REDUCE || id == PIPESIM_SET_TP_OVERLAP ||
	       id == PIPESIM_SET_CUDA_GRAPH || id == PIPESIM_SET_GRAPHS ||
	       id == PIPESIM_SET_DISPATCHER || id == PIPESIM_SET_EP_OVERLAP;
}

static void tell(const PipesimSetup *setup, const char *path, const char *what,
	GPtrArray *words, const char *between)
{
	if (words->len == 0)
		return;
	g_ptr_array_add(words, NULL);
	g_autofree char *list = g_strjoinv(between, (char **)words->pdata);
	g_ptr_array_set_size(words, (gint)words->len - 1);
	pipesim_setup_notice(setup, "%s: %s%s", path, what, list);
}

void pipesim_import_apply(PipesimImport *import, PipesimSetup *setup, gboolean modelled,
	gboolean (*takes)(gconstpointer command, PipesimSettingId id), gconstpointer command)
{
	PipesimJobFile *job = import->job;
	g_autoptr(GPtrArray) taken = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(g_free);

	if (setup->text[PIPESIM_SET_MODEL] == NULL && !modelled &&
		takes(command, PIPESIM_SET_MODEL)) {
		if (import->model != NULL)
			setup->described =
				g_string_free(g_steal_pointer(&import->model), FALSE);
		if (setup->described != NULL || import->shipped != NULL)
			setup->derived[PIPESIM_SET_MODEL] = TRUE;
		if (setup->derived[PIPESIM_SET_MODEL])
			setup->text[PIPESIM_SET_MODEL] = g_strdup(
				setup->described != NULL ? job->path : import->shipped);
	}
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		const char *value = job->text[id];
		const gboolean given = pipesim_setup_given(setup, id);
		const char *without =
			!takes(command, id) ? "by this command"
			: setting->group == PIPESIM_ALL_MODEL &&
					setup->text[PIPESIM_SET_MODEL] == NULL && !modelled
				? "without --model"
			: needs_device(id) && setup->text[PIPESIM_SET_DEVICE] == NULL
				? "without --device"
				: NULL;

		if (job->at[id].path == NULL || (value == NULL && !job->flag[id]))
			continue;
		if (!given && without == NULL) {
			pipesim_lines_say(taken, "%s%s%s", setting->name,
				value != NULL ? " " : "", value != NULL ? value : "");
			setup->derived[id] = TRUE;
			continue;
		}
		if (!given)
			pipesim_lines_say(left, "%s (%s)", setting->name, without);
		g_clear_pointer(&job->text[id], g_free);
		job->flag[id] = FALSE;
	}
	pipesim_job_file_apply(job, setup, PIPESIM_PATH_NONE);
	tell(setup, job->path, "", taken, " ");
	tell(setup, job->path, "", import->notes, "; ");
	tell(setup, job->path, "not taken: ", left, ", ");
	tell(setup, job->path, "without a meaning here: ", import->ignored, ", ");
}
