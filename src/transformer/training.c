#include "transformer/training.h"

guint pipesim_training_gradient(const PipesimTraining *training)
{
	static const guint plain[] = {[PIPESIM_ADAM] = 4,
		[PIPESIM_ADAM_BF16] = 2,
		[PIPESIM_ADAM_FP16] = 2,
		[PIPESIM_ADAM_FP32] = 4,
		[PIPESIM_SGD] = 2};

	/* FSDPParam.to_accumulated_grad_if_needed(): from the first micro-batch whose gradients
	 * are not reduced yet. What is gathered in BF16 is reduced in BF16. */
	if (training->zero == PIPESIM_ZERO_FSDP_FP32)
		return 4;
	return training->zero == PIPESIM_ZERO_FSDP ? MIN(plain[training->optimizer], 2)
						   : plain[training->optimizer];
}

void pipesim_training_set_graphs(PipesimTraining *training, gboolean experts)
{
	const gboolean narrow =
		training->precision == PIPESIM_FP8_MX || training->precision == PIPESIM_NVFP4;

	if (training->graphs != PIPESIM_GRAPHS_AUTO)
		return;
	training->guessed = !training->graph;
	experts = experts && !training->eager;
	training->graphs = !training->graph ? PIPESIM_GRAPHS_NONE
			   : experts        ? PIPESIM_GRAPHS_LAYERS
					    : PIPESIM_GRAPHS_STEP;
	if (!experts || !narrow)
		return;
	if (training->graph ? training->ep_overlap : training->node > PIPESIM_NODE_GPUS) {
		training->graphs = PIPESIM_GRAPHS_STEP;
		training->ep_overlap = TRUE;
	}
}

gint64 pipesim_training_vocab(const PipesimTransformer *model, const PipesimTraining *training)
{
	const gint64 multiple = training->vocab_multiple > 1
					? training->vocab_multiple * training->tp
					: training->tp;

	return (model->vocab + multiple - 1) / multiple * multiple;
}

/* Rules ---------------------------------------------------------------------------------- */

/* The largest number up to @most that divides all of @sizes, of which those that are 0 do not
 * count. */
static gint64 nearest_divisor(const gint64 *sizes, guint n, gint64 most)
{
	for (gint64 divisor = most; divisor > 1; divisor--)
		if (pipesim_all(i, n, sizes[i] % divisor == 0))
			return divisor;
	return 1;
}

static gboolean check_divides(const char *option, gint64 value, const char *what,
	const gint64 *sizes, guint n, guint at, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"%s %" G_GINT64_FORMAT " does not divide %s, %" G_GINT64_FORMAT
		"; nearest: %" G_GINT64_FORMAT,
		option, value, what, sizes[at], nearest_divisor(sizes, n, value));
}

static gboolean check_tensor(
	const PipesimTransformer *model, const PipesimTraining *training, GError **error)
{
	static const char *const names[] = {"the attention heads", "the key and value heads",
		"the width of the MLP", "the width of the shared experts"};
	const gint64 sizes[] = {model->heads, model->kv_rank > 0 ? 0 : model->kv_heads,
		model->ffn, model->shared_ffn};

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
		if (sizes[i] % training->tp != 0)
			return check_divides("--tp", training->tp, names[i], sizes,
				G_N_ELEMENTS(sizes), i, error);
	if (training->sequence_parallel && training->tp == 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--sequence-parallel divides by TP, which is 1; add --tp");
	if (model->experts > 0 && training->tp > 1 && !training->sequence_parallel)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s has experts: with --tp they need --sequence-parallel, as in "
			"Megatron",
			model->name);
	return TRUE;
}

static gboolean check_experts(
	const PipesimTransformer *model, const PipesimTraining *training, GError **error)
{
	const gint64 ranks = training->tp * training->cp * training->dp;

	if (model->experts == 0 && training->ep > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--ep divides experts, of which %s has none; leave it out",
			model->name);
	if (training->ep > 1 && model->experts % training->ep != 0)
		return check_divides(
			"--ep", training->ep, "the experts", &model->experts, 1, 0, error);
	if (ranks % (training->ep * training->etp) != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--ep %" G_GINT64_FORMAT " does not divide the ranks of a stage, TP x "
			"CP x DP = %" G_GINT64_FORMAT "; nearest: %" G_GINT64_FORMAT,
			training->ep * training->etp, ranks,
			nearest_divisor(&ranks, 1, training->ep * training->etp));
	return TRUE;
}

gboolean pipesim_training_check(
	const PipesimTransformer *model, const PipesimTraining *training, GError **error)
{
	const gint64 tokens = training->seq * training->microbatch;
	const gint64 pieces = training->sequence_parallel ? training->tp : 1;

	if (!check_tensor(model, training, error) || !check_experts(model, training, error))
		return FALSE;
	if (pipesim_transformer_encodes(model)) {
		const PipesimTraining own = pipesim_training_of_encoder(training);

		if (own.microbatch > PIPESIM_MAX_SEQUENCES)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"--images: %" G_GINT64_FORMAT
				" images in a micro-batch; at most %" G_GINT64_FORMAT,
				own.microbatch, PIPESIM_MAX_SEQUENCES);
		if (!pipesim_training_check(model->encoder, &own, error))
			return FALSE;
	}
	if ((training->recompute & PIPESIM_RECOMPUTE_OPS) != 0 &&
		(!training->eager || model->experts > 0 || model->kv_rank > 0))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--recompute selective-op is known of torchtitan's dense layers alone; "
			"%s",
			training->eager ? "give none or full" : "add --modules pytorch");
	if (training->seq % training->cp != 0)
		return check_divides(
			"--cp", training->cp, "the sequence", &training->seq, 1, 0, error);
	if (tokens / training->cp % pieces != 0)
		return check_divides(
			"--tp", training->tp, "the tokens of a rank", &tokens, 1, 0, error);
	if (model->positions > 0 && training->seq > model->positions)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--seq %" G_GINT64_FORMAT " is longer than the %" G_GINT64_FORMAT
			" positions that %s has learned; nearest: %" G_GINT64_FORMAT,
			training->seq, model->positions, model->name, model->positions);
	return TRUE;
}

/* Recomputation -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	guint flag;
} modules[] = {
	{"selective", PIPESIM_RECOMPUTE_CORE},
	{"core_attn", PIPESIM_RECOMPUTE_CORE},
	{"mlp", PIPESIM_RECOMPUTE_MLP},
	{"moe", PIPESIM_RECOMPUTE_MOE},
	{"moe_act", PIPESIM_RECOMPUTE_MOE_ACT},
	{"shared_experts", PIPESIM_RECOMPUTE_SHARED},
	{"layernorm", PIPESIM_RECOMPUTE_NORM},
	{"mla_up_proj", PIPESIM_RECOMPUTE_MLA_UP},
	{"selective-op", PIPESIM_RECOMPUTE_OPS},
};

/* "4,3,2,1" of "first=4,3,2,1". */
static gboolean parse_each(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	g_auto(GStrv) numbers = g_strsplit(text, ",", -1);

	for (char **number = numbers; *number != NULL; number++) {
		guint64 layers;

		if (!pipesim_parse_count(*number, what, 0, PIPESIM_MAX_LAYERS, &layers, error))
			return FALSE;
		training->first = MAX(training->first, (gint64)layers);
	}
	training->full = training->first > 0;
	training->each = training->full ? g_intern_string(text) : NULL;
	return TRUE;
}

gint64 *pipesim_recompute_each(const PipesimTraining *training, guint *n)
{
	gint64 *each;

	*n = 0;
	if (training->each == NULL)
		return NULL;
	g_auto(GStrv) numbers = g_strsplit(training->each, ",", -1);
	each = g_new(gint64, g_strv_length(numbers) + 1);
	for (; numbers[*n] != NULL; ++*n)
		each[*n] = g_ascii_strtoll(numbers[*n], NULL, 10);
	return each;
}

static gboolean parse_module(
	PipesimTraining *training, const char *name, const char *what, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(modules); i++)
		if (strcmp(modules[i].name, name) == 0) {
			training->recompute |= modules[i].flag;
			return (training->recompute & PIPESIM_RECOMPUTE_OPS) == 0 ||
			       training->recompute == PIPESIM_RECOMPUTE_OPS ||
			       pipesim_refuse(error,
				       "%s: selective-op stands alone: it says of every op "
				       "whether it is computed again",
				       what);
		}
	return pipesim_refuse(error,
		"%s: '%s'; none, selective, selective-op, full, every=N, first=N or "
		"first=N,N,..., or modules joined by +: core_attn, mlp, moe, moe_act, "
		"shared_experts, layernorm, mla_up_proj",
		what, name);
}

gboolean pipesim_training_parse_recompute(
	PipesimTraining *training, const char *text, const char *what, GError **error)
{
	const gboolean every = g_str_has_prefix(text, "every=");
	const gboolean first = g_str_has_prefix(text, "first=");
	g_auto(GStrv) names = g_strsplit(text, "+", -1);
	guint64 layers = 0;

	training->recompute = 0;
	training->every = training->first = 0;
	training->each = NULL;
	if (first && strchr(text, ',') != NULL)
		return parse_each(training, strchr(text, '=') + 1, what, error);
	training->full = every || first || strcmp(text, "full") == 0;
	if ((every || first) && !pipesim_parse_count(strchr(text, '=') + 1, what, 1,
					PIPESIM_MAX_LAYERS, &layers, error))
		return FALSE;
	training->every = every ? (gint64)layers : 0;
	training->first = first ? (gint64)layers : 0;
	if (training->full || strcmp(text, "none") == 0)
		return TRUE;
	if (names[0] == NULL)
		return parse_module(training, "", what, error);
	for (char **name = names; *name != NULL; name++)
		if (!parse_module(training, *name, what, error))
			return FALSE;
	return TRUE;
}
