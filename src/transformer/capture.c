/* What work takes: on a described device, and as components of one measured layer took it: their
 * time over the FLOPs, or the bytes of rows, that they had to do. */
#include "model/phases.h"
#include "transformer/cutter.h"

gboolean pipesim_device_check(
	const PipesimDevice *device, const PipesimTraining *training, GError **error)
{
	if (training->precision == PIPESIM_NVFP4 && device->peak[PIPESIM_TYPE_FP4] <= 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s has no products of FP4; give --precision fp8 or bf16",
			device->name);
	if (training->flash2 && device->flash[0] <= 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s does not say what FlashAttention-2 reaches ([reach] flash); leave "
			"out --attention flash-2",
			device->name);
	return !training->fp8 || device->peak[PIPESIM_TYPE_FP8] > 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "%s has no products of FP8; give --precision bf16", device->name);
}

double pipesim_device_reduce(
	const PipesimDevice *device, const PipesimTraining *training, gboolean routed)
{
	const gint64 ranks = training->tp * training->cp * training->dp;
	const gint64 apart = routed ? training->ep * training->etp : training->tp;
	const gint64 near = MAX(training->node / apart, 1);
	const double link = device->link * device->ring;

	if (ranks <= training->node)
		return link;
	return MIN(link, (double)near * pipesim_device_network(device, training));
}

double pipesim_device_message(
	const PipesimDevice *device, const PipesimTraining *training, guint ranks)
{
	return training->tp * training->cp * training->dp * ranks <= training->node
		       ? device->link * device->messages
		       : pipesim_device_network(device, training);
}

gint64 pipesim_device_hop(
	const PipesimDevice *device, const PipesimTraining *training, gint64 bytes, guint ranks)
{
	return ranks <= 1 ? 0
			  : (gint64)rint((double)bytes * 1e9 /
					 pipesim_device_message(device, training, ranks));
}

/* With ZeRO-3 gradients are reduced within the step, as its runtime lists that; where layers are gathered one by one the ends
 * of the model take time at this rate. */
static double reduced(
	const PipesimDevice *device, const PipesimTraining *training, gboolean routed)
{
	return training->reduce > 0 ? (double)training->reduce
	       : training->zero == PIPESIM_ZERO_3 && !pipesim_training_gathers_layers(training)
		       ? 0
		       : pipesim_device_reduce(device, training, routed);
}

PipesimRates pipesim_device_rates(PipesimDevice *device, const PipesimTraining *training)
{
	return (PipesimRates){.device = device,
		.reduce = {reduced(device, training, FALSE), reduced(device, training, TRUE)},
		.overlap = training->overlap,
		.memory = device->bandwidth * device->copies,
		.peak = device->peak[pipesim_training_type(training)]};
}

static const char *const phases[] = {"F", "I", "W"};

/* Seconds of @name in phase @phase; 0 where it was not measured. @rows: of the experts, or
 * unchanged. */
static double measured(const PipesimCosts *costs, const char *name, guint phase, gint64 *rows)
{
	pipesim_each_in (const PipesimComponent, component, costs->components) {
		if (strcmp(component->component, name) != 0 ||
			strcmp(component->phase, phases[phase]) != 0)
			continue;
		if (component->rows > 0)
			*rows = component->rows;
		return (double)component->figures.median / 1e9;
	}
	return 0;
}

gboolean pipesim_capture_rates(const PipesimCosts *costs, PipesimRates *rates, GError **error)
{
	const PipesimMeasuredLayer *layer = &costs->measured;
	const gint64 seq = MAX(layer->seq, 1);
	const PipesimTraining training =
		pipesim_training_on_one(seq, MAX(layer->tokens / seq, 1));
	/* The experts' rows are counted apart. */
	guint8 sparse = TRUE;
	const PipesimTransformer model = {.name = (char *)"the capture",
		.layers = 1,
		.hidden = layer->hidden,
		.vocab = 1,
		.heads = layer->heads,
		.q_rank = 1536,
		.kv_rank = 512,
		.nope = 128,
		.rope = 64,
		.v_dim = 128,
		.qk_norm = TRUE,
		.gated = TRUE,
		.experts = 1,
		.per_token = 1,
		.expert_ffn = layer->expert_ffn,
		.shared_ffn = layer->shared_ffn,
		.sparse = &sparse};
	PipesimTermSum sum;

	memset(rates, 0, sizeof *rates);
	if (layer->hidden == 0 || costs->components == NULL)
		return pipesim_refuse(error,
			"--trace with --model scales components by FLOPs, but this trace does "
			"not tell what it measured (model=deepseek-v3 hidden=..., tokens, "
			"seq); give --device, or leave out --model");
	pipesim_terms_sum(&model, &training, PIPESIM_PART_SPARSE, &sum);
	for (guint phase = 0; phase < G_N_ELEMENTS(phases); phase++) {
		gint64 rows = layer->tokens;
		const double attention = measured(costs, "attn", phase, &rows);
		const double experts = measured(costs, "mlp", phase, &rows);
		const double messages = measured(costs, "dispatch", phase, &rows) +
					measured(costs, "combine", phase, &rows);
		const double own = (double)sum.flops[PIPESIM_WORK_PROJECTION][phase] +
				   (double)sum.flops[PIPESIM_WORK_CORE][phase];
		const double shared =
			6 * (double)(layer->hidden * layer->shared_ffn) * (double)layer->tokens;
		const double routed =
			6 * (double)(layer->hidden * layer->expert_ffn) * (double)rows;

		if (attention <= 0 || experts <= 0)
			return pipesim_refuse(error,
				"--trace with --model needs attn and mlp of phase %s, which "
				"this trace lacks",
				phases[phase]);
		rates->rate[PIPESIM_WORK_PROJECTION][phase] = own / attention;
		rates->rate[PIPESIM_WORK_CORE][phase] = own / attention;
		rates->rate[PIPESIM_WORK_MLP][phase] = (shared + routed) / experts;
		rates->rate[PIPESIM_WORK_EXPERT][phase] = (shared + routed) / experts;
		rates->rate[PIPESIM_WORK_HEAD][phase] = (shared + routed) / experts;
		rates->row[phase] = messages / (2 * (double)layer->hidden * (double)rows);
	}
	return TRUE;
}

gboolean pipesim_capture_pair(const PipesimCosts *costs, const PipesimPartTimes *layer,
	gint64 *pair, gint64 *apart, GError **error)
{
	PipesimNodeTimes alone = {0}, paired = {0};

	if (!pipesim_node_times_measured(&alone, costs, FALSE, error) ||
		!pipesim_node_times_measured(&paired, costs, TRUE, error))
		return FALSE;
	*apart = 0;
	for (guint phase = 0; phase < G_N_ELEMENTS(phases); phase++) {
		const gint64 *was = alone.of[phase];
		const double rows = layer->rows[phase], attention = layer->attention[phase],
			     experts = layer->busy[phase] - attention - rows;
		const double messages =
			(double)(was[PIPESIM_NODE_DISPATCH] + was[PIPESIM_NODE_COMBINE]);

		for (PipesimNode node = 0; node <= PIPESIM_NODE_COMBINE; node++) {
			const double now = node == PIPESIM_NODE_ATTN  ? attention
					   : node == PIPESIM_NODE_MLP ? experts
								      : rows;
			const double before =
				node == PIPESIM_NODE_ATTN || node == PIPESIM_NODE_MLP
					? (double)was[node]
					: messages;
			const double longer = before > 0 ? now * 1e9 / before : 0;

			*apart += llrint((double)was[node] * longer);
			paired.of[phase][node] =
				llrint((double)paired.of[phase][node] * longer);
		}
	}
	g_autoptr(GArray) ops = pipesim_phases_new(&paired, 1, 1, FALSE);

	*pair = pipesim_phases_end(ops);
	return TRUE;
}
