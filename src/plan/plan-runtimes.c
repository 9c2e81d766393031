/* How a candidate is written for runtimes. Names of flags and keys: Megatron-LM's megatron/training/arguments.py,
 * torchtitan's torchtitan/config. */
#include "plan/plan.h"
#include "setup/import.h"

/* Megatron-LM ---------------------------------------------------------------------------- */

/* Nothing where @word is none. */
static void append_word(GString *out, const PipesimMegatronWord *word)
{
	if (word->value != NULL)
		g_string_append_printf(out, " %s--%s %s",
			word->beside != NULL ? word->beside : "", word->name, word->word);
}

static void append_megatron_sizes(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	const PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, candidate);

	g_string_append_printf(out,
		"--tensor-model-parallel-size %" G_GINT64_FORMAT
		" --pipeline-model-parallel-size %u",
		training->tp, candidate->ranks);
	if (candidate->ranks > 1 && stages != NULL) {
		/* Of the decoder: who adds an encoder puts it ahead of the first stage. */
		for (guint i = 0; i < stages->stages; i++)
			stages->cut[i].encoders = 0;
		g_string_append(out, " --pipeline-model-parallel-layout '");
		pipesim_stages_print(stages, out);
		g_string_append_c(out, '\'');
	}
	g_string_append_printf(out,
		" --micro-batch-size %" G_GINT64_FORMAT " --global-batch-size %" G_GINT64_FORMAT
		" --seq-length %" G_GINT64_FORMAT,
		training->microbatch, plan->wish.batch, training->seq);
	if (training->sequence_parallel)
		g_string_append(out, " --sequence-parallel");
	if (training->cp > 1)
		g_string_append_printf(out,
			" --context-parallel-size %" G_GINT64_FORMAT " --cp-comm-type %s",
			training->cp, training->cp_all_to_all ? "a2a" : "p2p");
	/* As they are counted here; a model's own arguments may say neither. */
	if (plan->wish.model->experts > 0)
		g_string_append_printf(out, " --moe-grouped-gemm%s",
			training->unfused_permutation ? "" : " --moe-permute-fusion");
	/* Without the last experts take the TP of attention. */
	if (plan->wish.model->experts > 0 && (training->ep > 1 || training->tp > 1))
		g_string_append_printf(out,
			" --expert-model-parallel-size %" G_GINT64_FORMAT
			" --expert-tensor-parallel-size %" G_GINT64_FORMAT,
			training->ep, training->etp);
	/* Rows go between ranks of TP too. */
	if (training->ep * training->etp > 1)
		append_word(out,
			&pipesim_megatron_dispatchers[pipesim_training_dispatcher(training)]);
	if (scenario.pairs && training->ep > 1 &&
		(candidate->ranks == 1 || (candidate->schedule->takes & PIPESIM_TAKES_PAIRS)))
		g_string_append(out, " --overlap-moe-expert-parallel-comm");
	if (plan->wish.model->mtp > 0)
		g_string_append_printf(
			out, " --mtp-num-layers %" G_GINT64_FORMAT, plan->wish.model->mtp);
}

/* What CUDA graphs are to hold. */
static void append_graphs(const PipesimTraining *training, gboolean experts, GString *out)
{
	append_word(out, &pipesim_megatron_graphs[training->graphs]);
	if (training->graphs == PIPESIM_GRAPHS_LAYERS)
		g_string_append(out, experts ? " moe_router" : " mlp");
	if (training->graphs == PIPESIM_GRAPHS_ROUTER ||
		(training->graphs == PIPESIM_GRAPHS_LAYERS && experts))
		g_string_append(out, " moe_preprocess");
}

static void append_megatron_precision(const PipesimTraining *training, GString *out)
{
	static const char *const optimizers[] = {[PIPESIM_ADAM] = " --bf16",
		[PIPESIM_ADAM_BF16] =
			(" --bf16 --use-precision-aware-optimizer --main-grads-dtype bf16 "
			 "--exp-avg-dtype bf16 --exp-avg-sq-dtype bf16"),
		[PIPESIM_ADAM_FP16] = " --fp16",
		[PIPESIM_ADAM_FP32] = "",
		[PIPESIM_SGD] = " --bf16 --optimizer sgd"};
	const PipesimZero zero = training->zero;
	const PipesimLoss loss = training->loss;
	/* With FSDP the optimizer is distributed too, and gradients are not added up in a kernel's epilogue. */
	const gboolean fsdp = zero == PIPESIM_ZERO_2 || zero == PIPESIM_ZERO_3;
	const struct {
		gboolean holds;
		const char *flags;
	} rows[] = {{training->fp8 && training->fp8_parameters, " --fp8-param-gather"},
		{zero != PIPESIM_ZERO_0, " --use-distributed-optimizer"},
		{fsdp, " --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads"},
		{zero == PIPESIM_ZERO_3, "_params"},
		{fsdp || training->no_dummies, " --no-gradient-accumulation-fusion"},
		{fsdp, " --ckpt-format fsdp_dtensor"},
		{training->overlap, " --overlap-grad-reduce"},
		{training->overlap && zero != PIPESIM_ZERO_0, " --overlap-param-gather"},
		{training->tp_overlap && training->tp > 1, " --tp-comm-overlap"},
		{training->unfused, " --attention-backend unfused"},
		{training->unfused_rope, " --no-rope-fusion"},
		{loss == PIPESIM_LOSS_TE,
			" --cross-entropy-loss-fusion --cross-entropy-fusion-impl te"},
		{loss == PIPESIM_LOSS_NATIVE,
			" --cross-entropy-loss-fusion --cross-entropy-fusion-impl native"}};

	g_string_append(out, optimizers[training->optimizer]);
	append_word(out, &pipesim_megatron_precisions[training->precision]);
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++)
		g_string_append(out, rows[i].holds ? rows[i].flags : "");
}

void pipesim_plan_megatron(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *modules = pipesim_plan_recompute(training, " ");

	if (!pipesim_runtime_names(&pipesim_runtime_megatron, candidate->schedule->name))
		g_string_append_printf(out,
			"# Megatron-LM runs 1F1B and interleaved 1F1B; with these it does so "
			"on the layout of %s\n",
			candidate->schedule->name);
	if (pipesim_transformer_encodes(plan->wish.model))
		g_string_append(out,
			"# The first stage also has the encoder, of which Megatron-LM "
			"itself knows nothing: flags of the decoder\n");
	if (training->zero >= PIPESIM_ZERO_FSDP)
		g_string_append(out,
			"# Megatron-LM shares no parameters that stay gathered in a step: its "
			"distributed optimizer comes nearest\n");
	append_megatron_sizes(plan, candidate, out);
	append_megatron_precision(training, out);
	append_graphs(training, plan->wish.model->experts > 0, out);
	if (training->full)
		g_string_append_printf(out,
			" --recompute-granularity full --recompute-method %s "
			"--recompute-num-layers %" G_GINT64_FORMAT,
			training->first > 0 ? "block" : "uniform",
			training->first > 0 ? training->first : MAX(training->every, 1));
	else if (training->recompute != 0)
		g_string_append_printf(out,
			" --recompute-granularity selective --recompute-modules %s", modules);
	g_string_append_c(out, '\n');
}

/* torchtitan ----------------------------------------------------------------------------- */

/* The schedule of torchtitan by whose name it puts stages on ranks: docs/pytorch.md. NULL: there is none. */
static const char *placement_name(
	const PipesimPlanning *plan, const PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(&plan->wish, candidate);
	PipesimShape shape;

	if (pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL) &&
		shape.placement == PIPESIM_LOOPED)
		return shape.chunks == 1 ? "1F1B" : "Interleaved1F1B";
	return candidate->schedule->placement == PIPESIM_V ? "ZBVZeroBubble" : NULL;
}

/* What of @candidate torchtitan cannot do, as comments. */
static void append_limits(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	g_autofree char *recompute = pipesim_plan_recompute(training, "+");

	if (pipesim_transformer_encodes(plan->wish.model))
		g_string_append(out,
			"# the first stage also has the encoder, whose modules the "
			"model says: stages are of the decoder\n");
	if (placement_name(plan, candidate) == NULL)
		g_string_append_printf(out,
			"# torchtitan puts no stages on ranks as %s does: it cannot run it\n",
			candidate->schedule->name);
	if ((training->recompute & ~(guint)PIPESIM_RECOMPUTE_OPS) != 0 || training->every > 1 ||
		training->first > 0)
		g_string_append_printf(out,
			"# torchtitan cannot recompute %s: it recomputes whole layers here, "
			"which takes longer\n",
			recompute);
	if (training->dp > 1 &&
		(training->zero == PIPESIM_ZERO_1 || training->zero == PIPESIM_ZERO_2))
		g_string_append(out, "# torchtitan has FSDP: it comes nearest to the ZeRO "
				     "planned for where parameters stay gathered in a step\n");
	if (training->zero == PIPESIM_ZERO_FSDP)
		g_string_append(out, "# torchtitan reduces gradients in FP32: plan with --zero "
				     "fsdp-fp32\n");
	if (training->dp * training->cp == 1 && training->tp * candidate->ranks > 1)
		g_string_append(out, "# torchtitan computes in FP32 beside TP or a pipeline "
				     "without FSDP: steps take longer than planned\n");
	if (plan->wish.model->experts > 0 && training->ep < training->tp)
		g_string_append(out, "# a torchtitan of late 2026 wants at least as much "
				     "expert as tensor parallelism\n");
	if (training->fp8)
		g_string_append_printf(out, "# FP8: convert linear layers to %s, of torchao\n",
			training->precision == PIPESIM_FP8_MX        ? "MXFP8"
			: training->precision == PIPESIM_FP8_ROWWISE ? "Float8 by rows"
								     : "Float8 by tensors");
	if (plan->wish.model->mtp > 0)
		g_string_append(out, "# without multi-token prediction, which the plan has\n");
}

/* How torchtitan recomputes, of words for nothing, every second product, and whole layers. */
static const char *recomputation(const PipesimTraining *training, const char *const words[3])
{
	return words[training->recompute == PIPESIM_RECOMPUTE_OPS ? 1
		     : training->full || training->recompute != 0 ? 2
								  : 0];
}

/* What a TOML and a recipe both say of parallelism, each key behind @before. */
static void append_parallelism(const PipesimPlanning *plan, const PipesimCandidate *candidate,
	const char *before, GString *out)
{
	const PipesimTraining *training = &candidate->training;
	const char *name = placement_name(plan, candidate);
	const gboolean toml = *before == '\0', plain = training->zero == PIPESIM_ZERO_0;
	g_autoptr(PipesimStages) stages = pipesim_plan_stages(plan, candidate);
	g_autoptr(GString) modules = g_string_new(NULL);
	char value[24];
	/* ZeRO-1 and 2 come nearest to FSDP that gathers parameters once a step. */
	const struct {
		const char *key;
		gint64 value; /* 0: whether parameters are shared again behind each forward */
	} rows[] = {{"tensor_parallel_degree", training->tp},
		{"data_parallel_replicate_degree", plain ? training->dp : 1},
		{"data_parallel_shard_degree", plain ? 1 : training->dp},
		{"fsdp_reshard_after_forward", 0}, {"context_parallel_degree", training->cp},
		{"expert_parallel_degree", training->ep}};

	g_string_append_printf(
		out, "%spipeline_parallel_degree = %u\n", before, candidate->ranks);
	if (candidate->ranks > 1 && name != NULL)
		g_string_append_printf(out,
			"%spipeline_parallel_schedule = \"%s\"\n"
			"%spipeline_parallel_schedule_csv = \"schedule.csv\"\n",
			before, name, before);
	if (candidate->ranks > 1) {
		if (stages != NULL)
			pipesim_stages_print_modules(stages, modules);
		if (toml) /* the head was called output as long as there was TOML */
			g_string_replace(modules, "lm_head", "output", 1);
		g_string_append_printf(out, "%s%s = %" G_GINT64_FORMAT "\n%s%s = %s\n", before,
			toml ? "pipeline_parallel_microbatch_size" : "num_pp_microbatches",
			toml ? training->microbatch : candidate->microbatches, before,
			toml ? "module_fqns_per_model_part"
			     : "pipeline_parallel_module_fqns_per_model_part",
			modules->str);
	}
	for (guint i = 0; i < G_N_ELEMENTS(rows); i++) {
		g_snprintf(value, sizeof value, "%" G_GINT64_FORMAT, rows[i].value);
		g_string_append_printf(out, "%s%s = %s\n", before, rows[i].key,
			rows[i].value > 0                  ? value
			: training->zero == PIPESIM_ZERO_3 ? "\"always\""
							   : "\"never\"");
	}
}

void pipesim_plan_torchtitan(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	static const char *const modes[] = {
		"none", "selective\"\nselective_ac_option = \"op", "full"};
	const PipesimTraining *training = &candidate->training;

	g_string_append(out, "# For a torchtitan that reads TOML (until early 2026; "
			     "torchtitan.py is for later ones), beside the model's [model]\n");
	append_limits(plan, candidate, out);
	g_string_append_printf(out,
		"\n[training]\n"
		"seq_len = %" G_GINT64_FORMAT "\n"
		"local_batch_size = %" G_GINT64_FORMAT "\n"
		"global_batch_size = %" G_GINT64_FORMAT "\n\n"
		"[parallelism]\n",
		training->seq,
		training->microbatch * (candidate->ranks > 1 ? candidate->microbatches : 1),
		plan->wish.batch);
	append_parallelism(plan, candidate, "", out);
	g_string_append_printf(out, "\n[activation_checkpoint]\nmode = \"%s\"\n",
		recomputation(training, modes));
}

/* Stages of which FSDP keeps the parameters, as they were asked for. */
static void append_residency(const PipesimPlanning *plan, GString *out)
{
	const char *active = plan->setup->text[PIPESIM_SET_ACTIVE_STAGES];
	const char *ahead = plan->setup->text[PIPESIM_SET_UNSHARD_AHEAD];

	if (active != NULL)
		g_string_append_printf(
			out, "    parallelism.pp_max_unsharded_active_stages = %s\n", active);
	if (ahead != NULL && (strcmp(ahead, "auto") == 0 || strcmp(ahead, "full") == 0))
		g_string_append_printf(out,
			"    parallelism.pp_num_unshard_lookahead_factor = \"%s\"\n", ahead);
	else if (ahead != NULL)
		g_string_append_printf(out,
			"    parallelism.pp_num_unshard_lookahead_factor = (%s,)\n", ahead);
}

void pipesim_plan_torchtitan_recipe(
	const PipesimPlanning *plan, const PipesimCandidate *candidate, GString *out)
{
	static const char *const classes[] = {"None", "SelectiveAC", "FullAC"};
	const PipesimTraining *training = &candidate->training;
	const char *again = recomputation(training, classes);
	const gboolean none = again == classes[0];

	g_string_append(out, "# For torchtitan with recipes in Python: return planned(...) of "
			     "a recipe of the model\n");
	append_limits(plan, candidate, out);
	if (!none)
		g_string_append_printf(out,
			"from torchtitan.distributed.activation_checkpoint import %s\n", again);
	g_string_append_printf(out,
		"\n\ndef planned(config):\n"
		"    training, parallelism = config.training, config.parallelism\n"
		"    training.max_context_length = %" G_GINT64_FORMAT "\n"
		"    training.num_tokens_per_microbatch_per_dp_rank = %" G_GINT64_FORMAT "\n"
		"    training.num_tokens_per_train_step = %" G_GINT64_FORMAT "\n",
		training->seq, training->seq * training->microbatch,
		training->seq * plan->wish.batch);
	append_parallelism(plan, candidate, "    parallelism.", out);
	append_residency(plan, out);
	g_string_append_printf(out,
		"    config.activation_checkpoint = %s%s\n    return config\n", again,
		none ? "" : ".Config()");
}
