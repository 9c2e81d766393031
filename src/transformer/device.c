/* What work takes: on a GPU as its maker describes it, and as components of one measured layer
 * took it. */
#include "config.h"

#include "transformer/cutter.h"
#include "transformer/traffic.h"
#include <math.h>
#include <string.h>

/* What dispatch and combine reach of links within a node: measured on H200s (docs/kernels.md:
 * 57 and 66 %, over four of them; SimuMax's all-to-all on B200s: 60 %). */
#define LINK_SHARE 0.61
/* And messages between all neighbours at once, on the same (370 of 450 GB/s). */
#define MESSAGE_SHARE 0.82

/* Single operations on B200s, which SimuMax publishes (configs/system/b200_bf16_ceperm.json,
 * Apache-2.0): NCCL's all-gather and reduce-scatter over eight of them, share of their links
 * and what each takes besides; attention's rate over that of products, causal FLOPs as in
 * terms.c: 0.425 and 0.35 of the peak at 4096 tokens, 0.545 and 0.435 from 32768 on, where
 * products reach 0.488. Products of weight gradients without their addition are as fast as the
 * others. */
#define RING_SHARE         0.67
#define COLLECTIVE_LATENCY 33e-6
static const double attention_short[] = {0.87, 0.72}, attention_long[] = {1.12, 0.89};

/* Data sheets of the makers, without sparsity: NVIDIA H100 and H200 SXM, B200 of an HGX, AMD
 * MI300X. Links of NVLink and Infinity Fabric one way. Workspaces inside PyTorch's allocator as
 * measured: docs/memory.md. Products: of an H200, which has the cores and the power of an H100,
 * under a load that lasts (traces/experts-h200; FP8: docs/kernels.md, 1149 to 1234 TFLOP/s); of
 * a B200 0.488 in short runs (SimuMax), of which a load that lasts leaves nine tenths; of
 * others nothing is known. */
static const PipesimDevice devices[] = {
	{"h100", 989.4e12, 1978.9e12, 3.35e12, 450e9, 115000000, {0.67, 0.6}},
	{"h200", 989.4e12, 1978.9e12, 4.8e12, 450e9, 115000000, {0.67, 0.6}},
	{"b200", 2250e12, 4500e12, 8e12, 900e9, 70000000, {0.45, 0.45}},
	{"mi300x", 1307.4e12, 2614.9e12, 5.3e12, 448e9, 0, {0.45, 0.45}},
};

const PipesimDevice *pipesim_device_find(const char *name, const char *what, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(devices); i++)
		if (strcmp(devices[i].name, name) == 0)
			return &devices[i];
	pipesim_fail(error, PIPESIM_ERROR_USAGE, "%s: '%.64s'; h100, h200, b200 or mi300x",
		what, name);
	return NULL;
}

/* F or I; between both lengths by the logarithm. */
static double attention(const PipesimTraining *training, guint phase)
{
	const double steps = log2((double)training->seq / 4096) / 3;

	return attention_short[phase] +
	       (attention_long[phase] - attention_short[phase]) * CLAMP(steps, 0, 1);
}

double pipesim_device_share(const PipesimDevice *device, const PipesimTraining *training)
{
	return training->mfu > 0 ? training->mfu : device->products[training->fp8];
}

double pipesim_device_near(const PipesimDevice *device)
{
	return device->link * RING_SHARE;
}

double pipesim_device_message(const PipesimDevice *device)
{
	return device->link * MESSAGE_SHARE;
}

PipesimRates pipesim_device_rates(const PipesimDevice *device, const PipesimTraining *training)
{
	const double linear = training->fp8 ? device->fp8 : device->bf16;
	const double share = pipesim_device_share(device, training);
	const gint64 ep = training->ep * training->etp;
	const double near = pipesim_device_near(device), far = PIPESIM_NETWORK;
	/* Megatron-LM and torchtitan number ranks of experts by their own TP, then EP: these
	 * are neighbours, whatever TP attention has. */
	const double rows = ep <= PIPESIM_NODE_GPUS ? device->link * LINK_SHARE : far;
	PipesimRates rates = {.peak = linear, .memory = device->bandwidth * PIPESIM_COPY_SHARE};

	/* Rows that stay on a rank do not travel; the others do twice, out and back. */
	for (guint phase = 0; phase < 2; phase++) {
		rates.tensor[phase] = 1 / (training->tp <= PIPESIM_NODE_GPUS ? near : far);
		rates.collective[phase] = COLLECTIVE_LATENCY;
		rates.exchange[phase] = training->tp * training->cp <= PIPESIM_NODE_GPUS
						? 1 / (device->link * LINK_SHARE)
						: 1 / far;
		rates.row[phase] = 2 * (double)(ep - 1) / (double)ep / rows;
	}
	for (guint work = 0; work < PIPESIM_N_WORK; work++)
		for (guint phase = 0; phase < 3; phase++)
			rates.rate[work][phase] =
				share *
				(work == PIPESIM_WORK_CORE
						? device->bf16 *
							  (phase < 2 ? attention(
									       training, phase)
								     : 1)
					: work == PIPESIM_WORK_HEAD ? device->bf16
								    : linear);
	return rates;
}

/* From components of one measured layer: their time over the FLOPs, or the bytes of rows, that
 * they had to do ------------------------------------------------------------------------- */

static const char *const phases[] = {"F", "I", "W"};

/* Seconds of @name in phase @phase; 0 where it was not measured. @rows: of the experts, or
 * unchanged. */
static double measured(const PipesimCosts *costs, const char *name, guint phase, gint64 *rows)
{
	for (guint i = 0; i < costs->components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(costs->components, i);

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
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
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
			return pipesim_fail(error, PIPESIM_ERROR_USAGE,
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
