#include "memory-rows.h"
#include "analysis/run.h"
#include "base/csv.h"
#include "schedule/schedule.h"
#include "shipped.h"
#include <math.h>
#include <string.h>

const char *memory_row_text(const MemoryRow *row, const char *column)
{
	const char *text = g_hash_table_lookup(row->fields, column);

	return text != NULL ? text : "";
}

static gint64 number(const MemoryRow *row, const char *column, gint64 otherwise)
{
	const char *text = memory_row_text(row, column);

	return *text != '\0' ? g_ascii_strtoll(text, NULL, 10) : otherwise;
}

static gboolean says(const MemoryRow *row, const char *column, const char *word)
{
	return strstr(memory_row_text(row, column), word) != NULL;
}

static void describe(MemoryRow *row)
{
	PipesimTransformer *model = row->model = g_new0(PipesimTransformer, 1);

	model->name = g_strdup(memory_row_text(row, "case"));
	model->layers = number(row, "layers", 1);
	model->hidden = number(row, "hidden", 1);
	model->vocab = number(row, "vocab", 1);
	model->heads = number(row, "heads", 1);
	model->ffn = number(row, "ffn", 0);
	if (says(row, "attn", "mla")) {
		model->q_rank = number(row, "q_lora", 0);
		model->kv_rank = number(row, "kv_lora", 0);
		model->nope = number(row, "qk_nope", 0);
		model->rope = number(row, "qk_rope", 0);
		model->v_dim = number(row, "v_dim", 0);
	} else {
		model->kv_heads = number(row, "kv_heads", 1);
		model->head_dim = number(row, "head_dim", 1);
	}
	model->qk_norm = number(row, "qk_norm", 0) != 0;
	model->gated = says(row, "act", "swiglu");
	model->layer_norm = says(row, "norm", "ln");
	model->qkv_bias = model->output_bias = model->ffn_bias = number(row, "bias", 0) != 0;
	model->tied = number(row, "tied", 0) != 0;
	model->mtp = number(row, "mtp", 0);
	model->positions = says(row, "pos", "abs") ? number(row, "max_pos", 0) : 0;
	model->experts = number(row, "experts", 0);
	model->per_token = number(row, "topk", 0);
	model->expert_ffn = number(row, "moe_ffn", 0);
	model->shared_ffn = number(row, "shared_ffn", 0);
	model->dropout_attention =
		g_ascii_strtod(memory_row_text(row, "dropout_attn"), NULL) > 0;
	model->dropout_hidden =
		g_ascii_strtod(memory_row_text(row, "dropout_hidden"), NULL) > 0;
	if (model->experts > 0)
		pipesim_transformer_places(model, number(row, "dense_layers", 0), 1);
}

/* One of cuBLAS's, which PyTorch has for each thread and stream that multiplies: 32 MiB, on an A100 and before PyTorch's 175344 of
 * February 2026, which containers had by May, on a B200 8.1 MiB unless CUBLAS_WORKSPACE_CONFIG=:4096:8 says otherwise, as tests do that
 * are deterministic. */
static gint64 handle_workspace(const MemoryRow *row)
{
	const gboolean plain =
		says(row, "case", "nondeterministic") || says(row, "case", "release");
	const gboolean recent = strcmp(memory_row_text(row, "measured"), "2026-05") >= 0;

	return (says(row, "gpu", "A100") && plain) || (says(row, "gpu", "B200") && !recent)
		       ? 8519680
		       : 33554432;
}

/* get_cublas_workspace_size_bytes() of TransformerEngine. */
static gint64 engine_workspace(const MemoryRow *row)
{
	return says(row, "gpu", "A100") ? 4194304 : 33555456;
}

/* Ends of steps of Megatron-LM's dense tests below 10 GB hold that much more in the mean, which is not explained. */
#define REST 14300000

/* TransformerEngine's and those of the forward's and of the backward's thread; 0 where the GPU is not named. */
static gint64 gpu_workspace(const MemoryRow *row)
{
	return says(row, "gpu", "B200") || says(row, "gpu", "A100") || says(row, "gpu", "H100")
		       ? engine_workspace(row) + 2 * handle_workspace(row) +
				 (says(row, "source", "megatron") ? REST : 0)
		       : 0;
}

/* Where TransformerEngine overlaps collectives of TP it has its workspace three times more (get_cublas_workspace(), which
 * keeps that of _NUM_MAX_UB_STREAMS beside the plain one). */
static gint64 workspace(const MemoryRow *row)
{
	const gint64 more = number(row, "tp_overlap", 0) != 0 ? G_GINT64_CONSTANT(96) << 20 : 0;

	return gpu_workspace(row) > 0 ? gpu_workspace(row) + more : 0;
}

/* Grouped products run on four streams, each with a workspace of TransformerEngine's (get_cublas_workspace(), tex.get_num_cublas_streams()),
 * and the router's have one more of cuBLAS's. */
static gint64 grouped_workspace(const MemoryRow *row)
{
	return number(row, "grouped_gemm", 0) != 0 && workspace(row) > 0
		       ? 4 * engine_workspace(row) + handle_workspace(row)
		       : 0;
}

/* Rows of the fullest rank over the mean, as pith-train's estimator measured (routing_overhead). */
#define FULLEST ((PipesimFraction){118, 100})

/* pith-train trains with PyTorch's own modules, Adam's moments over BF16 parameters and TransformerEngine's loss in place
 * (operators/cross_entropy.py); its fullest layers have 1.18 times the rows of the mean. DeepSeek-V2-Lite ran on a later
 * version: of today's FSDP2 shares FP32 parameters and reduces in FP32 (apply_fsdp() of modules/training.py). */
static void train_pith(const MemoryRow *row, PipesimTraining *training)
{
	if (!says(row, "impl", "fsdp2"))
		return;
	training->eager = TRUE;
	training->optimizer = PIPESIM_ADAM_BF16;
	if (says(row, "model", "deepseek-v2-lite")) {
		training->zero = PIPESIM_ZERO_FSDP_FP32;
		training->optimizer = PIPESIM_ADAM;
	}
	training->loss = PIPESIM_LOSS_TE;
	training->routing = FULLEST;
}

/* Of Megatron-Core, by the day on which a row was measured; SimuMax names core 0.14. No row has a day between the end of
 * October 2025, where core 0.14's head is known, and 2026, and none with multi-token prediction from then to April. */
static PipesimMegatron version(const MemoryRow *row)
{
	const char *day = memory_row_text(row, "measured");

	if (says(row, "source", "simumax"))
		return PIPESIM_MEGATRON_0_15;
	return strcmp(day, "2025-10") < 0   ? PIPESIM_MEGATRON_0_13
	       : strcmp(day, "2026-02") < 0 ? PIPESIM_MEGATRON_0_15
					    : PIPESIM_MEGATRON_NOW;
}

static void train(MemoryRow *row)
{
	static const struct {
		const char *name;
		guint flag;
	} modules[] = {{"core_attn", PIPESIM_RECOMPUTE_CORE},
		{"moe_act", PIPESIM_RECOMPUTE_MOE_ACT}, {"layernorm", PIPESIM_RECOMPUTE_NORM},
		{"mla_up_proj", PIPESIM_RECOMPUTE_MLA_UP},
		{"shared_experts", PIPESIM_RECOMPUTE_SHARED}};
	PipesimTraining *training = &row->training;

	*training = (PipesimTraining){.seq = number(row, "seq", 1),
		.microbatch = number(row, "mbs", 1),
		.tp = number(row, "tp", 1),
		.cp = number(row, "cp", 1),
		.ep = number(row, "ep", 1),
		.etp = number(row, "etp", 1),
		.dp = MAX(
			number(row, "world", 1) / (number(row, "pp", 1) * number(row, "tp", 1) *
							  number(row, "cp", 1)),
			1),
		.sequence_parallel = number(row, "sp", 0) != 0,
		.cp_all_to_all = strcmp(memory_row_text(row, "cp_comm"), "a2a") == 0,
		.full = says(row, "recompute", "full"),
		.zero = says(row, "dist_opt", "fsdp2") ? PIPESIM_ZERO_FSDP
			: number(row, "dist_opt", 0)   ? PIPESIM_ZERO_1
						       : PIPESIM_ZERO_0,
		.fp8 = !says(row, "fp8", "none"),
		.fp8_parameters = number(row, "fp8_param", 0) != 0,
		.unfused = says(row, "attention", "unfused"),
		.loss = says(row, "ce_fusion", "te")       ? PIPESIM_LOSS_TE
			: says(row, "ce_fusion", "native") ? PIPESIM_LOSS_NATIVE
							   : PIPESIM_LOSS_MEGATRON,
		.no_dummies = number(row, "grad_accum_fusion", 0) == 0,
		.megatron = version(row),
		.unfused_permutation =
			number(row, "experts", 0) > 0 && number(row, "permute_fusion", 1) == 0,
		.unfused_rope = says(row, "rope_fusion", "0"),
		.workspace = workspace(row),
		.grouped_workspace = grouped_workspace(row),
		.vocab_multiple = 1};
	train_pith(row, training);
	for (guint i = 0; i < G_N_ELEMENTS(modules); i++)
		if (says(row, "recompute_modules", modules[i].name))
			training->recompute |= modules[i].flag;
	if (says(row, "recompute_modules", "mlp"))
		training->recompute |= PIPESIM_RECOMPUTE_MLP;
}

/* One chunk as the row has it: "Et*2". */
static PipesimCut read_chunk(const char *text)
{
	PipesimCut cut = {0};

	for (const char *p = text; *p != '\0'; p++) {
		gint64 times = 1;
		char *end = NULL;

		if (p[1] == '*')
			times = g_ascii_strtoll(p + 2, &end, 10);
		cut.embedding |= *p == 'E';
		cut.head |= *p == 'L';
		cut.layers += *p == 't' ? times : 0;
		cut.mtp += *p == 'm' ? times : 0;
		p = end != NULL ? end - 1 : p;
	}
	return cut;
}

/* The stage of @chunk of the row's rank. */
static guint stage_of(const MemoryRow *row, guint chunk)
{
	return chunk == 1 && strcmp(row->schedule, "dualpipev") == 0
		       ? 2 * row->ranks - 1 - row->rank
		       : chunk * row->ranks + row->rank;
}

/* The stages of all ranks: of the row's own rank as it says, of the others what is left. */
static void lay_out(MemoryRow *row)
{
	g_auto(GStrv) chunks = g_strsplit(memory_row_text(row, "chunks"), ";", -1);
	const guint told = g_strv_length(chunks);
	const guint n = told > 0 ? told : (guint)number(row, "vpp", 1);
	const guint stages = n * row->ranks, others = stages - told;
	gint64 left = row->model->layers, first = 0;
	g_autofree gboolean *own = g_new0(gboolean, stages);
	guint seen = 0;

	row->chunks = n;
	row->layout = g_new0(PipesimStages, 1);
	row->layout->stages = stages;
	row->layout->cut = g_new0(PipesimCut, stages);
	for (guint chunk = 0; chunk < told; chunk++) {
		PipesimCut *cut = &row->layout->cut[stage_of(row, chunk)];

		*cut = read_chunk(chunks[chunk]);
		own[stage_of(row, chunk)] = TRUE;
		left -= cut->layers;
	}
	for (guint stage = 0; stage < stages; stage++) {
		PipesimCut *cut = &row->layout->cut[stage];

		if (!own[stage]) {
			cut->layers = left / others + (seen < left % others);
			cut->embedding = stage == 0;
			cut->head = stage + 1 == stages;
			seen++;
		}
		cut->losses = cut->head ? row->model->mtp : 0;
		cut->first = first;
		first += cut->layers;
	}
}

/* A run of the row's training with @rates, or without times. (transfer full) */
static PipesimRun *run_row(const MemoryRow *row, const PipesimTraining *training)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimSchedule *schedule = pipesim_schedule_find(row->schedule, NULL);
	const PipesimScenario scenario = {.ranks = row->ranks,
		.microbatches = row->microbatches,
		.chunks = row->chunks > 1 ? row->chunks : 0,
		.group = row->group,
		.keep = PIPESIM_KEEP_NOTHING};

	pipesim_costs_set_cutter(
		costs, pipesim_cutter_new(pipesim_transformer_copy(row->model), training,
			       pipesim_stages_copy(row->layout), NULL));
	return pipesim_run_schedule(schedule, &scenario, costs);
}

/* pith-train says what its GPUs had in use, in tenths of GiB: besides tensors what the allocator reserves, 4.9 % in the mean of
 * the B200 rows, and 5.84 GiB outside PyTorch, which its estimator measured on this very run. */
static gint64 in_use(const MemoryRow *row, gint64 tensors)
{
	return says(row, "source", "pith-train")
		       ? (gint64)(1.049 * (double)tensors + 5.84 * (double)(1 << 30))
		       : tensors;
}

/* Of the row's rank, or of the fullest. */
static gint64 peak_of(const MemoryRow *row, const PipesimRun *run)
{
	gint64 most = 0;

	if (!says(row, "stage", "max"))
		return run->report->memory.peak[row->rank];
	for (guint rank = 0; rank < row->ranks; rank++)
		most = MAX(most, run->report->memory.peak[rank]);
	return most;
}

/* Adam's moments of the row's rank. */
static gint64 moments(const MemoryRow *row, const PipesimTraining *training)
{
	gint64 bytes = 0;

	for (guint stage = row->rank; stage < row->layout->stages; stage++) {
		PipesimStage sum;

		if (stage % row->ranks == row->rank &&
			pipesim_stage_sum(
				row->model, training, &row->layout->cut[stage], &sum, NULL))
			bytes += sum.optimizer / 12 * 8;
	}
	return bytes;
}

/* The same, or 0 where it is refused. @held: (out): at the end of a step. */
static gint64 count(
	const MemoryRow *row, const PipesimTraining *training, gint64 *held, GError **error)
{
	PipesimRun *run = run_row(row, training);
	gint64 peak = 0;

	if (run->error == NULL) {
		*held = run->report->memory.parameters[row->rank];
		peak = in_use(row, peak_of(row, run));
	} else if (error != NULL) {
		*error = g_error_copy(run->error);
	}
	pipesim_run_free(run);
	return peak;
}

gint64 memory_row_count(const MemoryRow *row, const PipesimTraining *training)
{
	gint64 held;

	return count(row, training, &held, NULL);
}

static void predict(MemoryRow *row)
{
	PipesimTraining training;

	if (!pipesim_training_check(row->model, &row->training, &row->error))
		return;
	row->adam_share = moments(row, &row->training);
	row->predicted = row->balanced = count(row, &row->training, &row->held, &row->error);
	if (row->error != NULL || row->model->experts == 0 || row->training.routing.den > 0)
		return;
	training = row->training;
	training.routing = (PipesimFraction){11, 10};
	row->tenth = memory_row_count(row, &training) - row->balanced;
}

static MemoryRow *make_row(GHashTable *fields)
{
	MemoryRow *row = g_new0(MemoryRow, 1);

	row->fields = fields;
	row->peak = number(row, "peak_bytes", 0);
	row->step = (gint64)(g_ascii_strtod(memory_row_text(row, "step_ms"), NULL) * 1e6);
	row->first = number(row, "peak_first_bytes", 0);
	row->left = number(row, "static_bytes", 0);
	row->rest = says(row, "source", "megatron") && gpu_workspace(row) > 0 ? REST : 0;
	row->ranks = (guint)number(row, "pp", 1);
	row->rank = (guint)number(row, "stage", 0);
	row->microbatches = (guint)number(row, "microbatches", 4);
	row->group = (guint)number(row, "vpp_group", 0);
	row->schedule = says(row, "schedule", "interleaved") ? "interleaved-1f1b"
			: says(row, "schedule", "dualpipev") ? "dualpipev"
							     : "1f1b";
	if (number(row, "offload", 0) != 0)
		row->outside = "offload";
	else if (number(row, "cuda_graph", 0) != 0)
		row->outside = "CUDA graphs";
	else if (row->peak == 0)
		row->outside = "only reserved memory is published";
	if (row->outside != NULL)
		return row;
	describe(row);
	train(row);
	lay_out(row);
	predict(row);
	return row;
}

double memory_row_error(const MemoryRow *row)
{
	return row->predicted > 0 && row->peak > 0
		       ? (double)row->predicted / (double)row->peak - 1
		       : (double)NAN;
}

static void free_row(gpointer data)
{
	MemoryRow *row = data;

	g_hash_table_unref(row->fields);
	pipesim_transformer_free(row->model);
	pipesim_stages_free(row->layout);
	g_clear_error(&row->error);
	g_free(row);
}

static gboolean read_file(const char *path, GPtrArray *rows)
{
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(pipesim_input_open(path, NULL));
	g_autoptr(GPtrArray) columns = g_ptr_array_new_with_free_func(g_free);
	const PipesimCsvRecord *record;

	if (csv == NULL)
		return FALSE;
	while ((record = pipesim_csv_next(csv, TRUE, NULL)) != NULL) {
		GHashTable *fields;

		if (columns->len == 0) {
			for (guint i = 0; i < record->n_cells; i++)
				g_ptr_array_add(columns, g_strdup(record->cells[i].text));
			continue;
		}
		fields = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
		for (guint i = 0; i < MIN(record->n_cells, columns->len); i++)
			g_hash_table_insert(fields, g_strdup(g_ptr_array_index(columns, i)),
				g_strdup(record->cells[i].text));
		g_ptr_array_add(rows, make_row(fields));
	}
	return TRUE;
}

GPtrArray *memory_rows_read(const char *folder, const char *const *names)
{
	g_autoptr(GPtrArray) rows = g_ptr_array_new_with_free_func(free_row);

	for (; *names != NULL; names++) {
		g_autofree char *path = g_build_filename(folder, *names, NULL);

		if (!read_file(path, rows))
			return NULL;
	}
	return g_steal_pointer(&rows);
}
