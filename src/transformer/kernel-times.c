/* What kernels of a part take on a device, and what the host adds. */
#include "base/phases.h"
#include "transformer/kernels.h"

/* Tokens of a sequence at which attention takes twice what long ones take for a FLOP: SimuMax publishes 0.87
 * of the rate of products at 4096 tokens and 1.12 from 32768 on, on B200s. */
#define SHORT_SEQUENCE 1400

double pipesim_device_share(const PipesimDevice *device, const PipesimTraining *training)
{
	if (training->mfu > 0)
		return training->mfu;
	/* DeepSeek's FP8 is scaled by blocks. */
	return (training->precision == PIPESIM_FP8_BLOCK ||
		       (training->precision == PIPESIM_FP8 && training->deepseek)) &&
			       device->block > 0
		       ? device->block
		       : device->products[pipesim_training_type(training)];
}

static double product_seconds(
	const PipesimRates *rates, const PipesimTraining *training, const PipesimKernel *kernel)
{
	const PipesimDevice *device = rates->device;
	const PipesimType type =
		kernel->narrow ? pipesim_training_type(training) : PIPESIM_TYPE_BF16;
	const double element = type == PIPESIM_TYPE_BF16 ? 2 : 1;
	/* PyTorch's own run one after the other. */
	const double large = kernel->narrow || training->mfu > 0
				     ? pipesim_device_share(device, training)
				     : 0;
	const double reach = pipesim_device_product(device, type, large, kernel->m, kernel->n,
		kernel->k, pipesim_training_loops_experts(training) ? 1 : kernel->groups);
	const double loaded =
		element * kernel->groups * (kernel->m * kernel->k + kernel->k * kernel->n);

	const double memory = device->bandwidth * device->copies;
	const double weights = element * kernel->groups * kernel->n * kernel->k;

	/* An expert's products wait for its weights (traces/experts-h200). */
	if (kernel->work == PIPESIM_WORK_EXPERT && !pipesim_training_loops_experts(training))
		return kernel->flops / (device->peak[type] * reach * device->grouped) +
		       (kernel->phase == W ? 0 : weights / memory);
	return MAX(kernel->flops / (device->peak[type] * reach), loaded / memory);
}

/* Fused attention comes nearer to its rate as sequences grow: a tile of queries waits once for
 * its first keys. */
static double attention_seconds(
	const PipesimRates *rates, const PipesimTraining *training, const PipesimKernel *kernel)
{
	const PipesimDevice *device = rates->device;
	const double seq = (double)training->seq;
	const double *reach = training->flash2  ? device->flash
			      : training->eager ? device->sdpa
						: device->attention;
	/* Heads of fewer than 128 elements leave tensor cores waiting for exponentials: with 64
	 * FlashAttention-3 publishes 0.7 of the rate of 128. */
	const double head = MIN(1, sqrt(kernel->k / 128));

	/* cuDNN's on an H200, as PyTorch calls it (traces/described-h200): tiles of 128 queries
	 * that do not fill the chip, of which some see more keys than others, too. */
	const double tiles = kernel->groups * seq / 128;
	const double slower =
		/* On an H100 as PyTorch calls it (traces/described-h100-c): 1024 to 16384 tokens, 4 to
		 * 64 heads, within 8 % forward and 15 backward. */
		training->flash2
			? (1 + (kernel->phase == F ? 300 : 1200) / seq) *
				  (1 + (kernel->phase == F ? 1.7 : 0.95) *
						  (double)device->units / MAX(tiles, 1))
		: training->eager ? (1 + (kernel->phase == F ? 500 : 1000) / seq) *
					    (1 + 0.65 * (double)device->units / MAX(tiles, 1))
				  : 1 + SHORT_SEQUENCE / seq;

	return kernel->flops / (device->peak[PIPESIM_TYPE_BF16] * reach[kernel->phase] * head) *
	       slower;
}

/* Of what products beside them do not hide. */
static double message_seconds(
	const PipesimRates *rates, const PipesimTraining *training, const PipesimKernel *kernel)
{
	const PipesimDevice *device = rates->device;
	const double network = pipesim_device_network(device, training);
	const gint64 span = kernel->kind == PIPESIM_KERNEL_TENSOR ? training->tp
								  : training->tp * training->cp;
	const double near =
		device->link * (kernel->kind == PIPESIM_KERNEL_TENSOR ? device->ring
				       : kernel->kind == PIPESIM_KERNEL_ROWS &&
						       pipesim_training_dispatcher(training) !=
							       PIPESIM_ALL_TO_ALL
					       ? device->messages
					       : device->exchange);

	if (kernel->kind == PIPESIM_KERNEL_ROWS && training->ep * training->etp == 1)
		return 0;
	if (kernel->kind == PIPESIM_KERNEL_ROWS)
		return device->latency + MAX(kernel->bytes / near, kernel->far / network);
	double seconds = kernel->bytes / (span <= training->node ? near : network);
	/* A ring passes on what is computed next; its last hop has nothing to hide behind. */
	if (kernel->kind == PIPESIM_KERNEL_CONTEXT && kernel->flops > 0)
		return device->latency +
		       MAX(0, seconds - attention_seconds(rates, training, kernel) *
						(double)(training->cp - 1) /
						(double)training->cp);
	/* Pieces of a collective go while others are computed; the first has nothing beside it. */
	if (kernel->kind == PIPESIM_KERNEL_TENSOR && training->tp_overlap) {
		PipesimKernel beside = *kernel;

		beside.flops = 2 * kernel->m * kernel->n * kernel->k;
		seconds = MAX(seconds / (double)training->tp,
			seconds - product_seconds(rates, training, &beside));
	}
	return device->latency + seconds;
}

double pipesim_kernel_seconds(
	const PipesimRates *rates, const PipesimTraining *training, const PipesimKernel *kernel)
{
	const PipesimDevice *device = rates->device;

	if (device == NULL) {
		const double rate = rates->rate[kernel->work][kernel->phase];

		/* Both ways were measured together. */
		if (kernel->kind == PIPESIM_KERNEL_ROWS)
			return kernel->m * kernel->k / 2 * rates->row[kernel->phase];
		return rate > 0 && kernel->kind != PIPESIM_KERNEL_CONTEXT ? kernel->flops / rate
									  : 0;
	}
	const double pace = training->pace[0] > 0 ? training->pace[0] : 1;

	switch (kernel->kind) {
	case PIPESIM_KERNEL_PRODUCT:
		return pace * (device->gap + product_seconds(rates, training, kernel));
	case PIPESIM_KERNEL_ATTENTION:
		return pace * (device->gap + attention_seconds(rates, training, kernel));
	case PIPESIM_KERNEL_MOVE: {
		const double shares[] = {[PIPESIM_MOVE_COPIES] = device->copies,
			[PIPESIM_MOVE_ELEMENTS] = device->elements,
			[PIPESIM_MOVE_ROWS] = device->rows,
			[PIPESIM_MOVE_LOSS] = device->loss,
			/* Of element-wise kernels, what they reach on an H200. */
			[PIPESIM_MOVE_NORMS] =
				device->norms > 0 ? device->norms : 0.66 * device->elements,
			[PIPESIM_MOVE_TURNS] =
				device->turns > 0 ? device->turns : 0.39 * device->elements,
			[PIPESIM_MOVE_INDEXED] = device->indexed > 0 ? device->indexed
								     : 0.45 * device->elements};

		return pace * (device->gap + kernel->bytes / (device->bandwidth *
								     shares[kernel->move]));
	}
	case PIPESIM_KERNEL_WAIT:
		return pace * device->wait;
	case PIPESIM_KERNEL_TENSOR:
	case PIPESIM_KERNEL_CONTEXT:
	case PIPESIM_KERNEL_ROWS:
		return (training->pace[1] > 0 ? training->pace[1] : 1) *
		       message_seconds(rates, training, kernel);
	}
	return 0;
}

/* Where the host waits for the GPU it launches nothing ahead: what was launched up to there takes
 * the longer of computing and launching it. */
static void end_stretch(PipesimPartTimes *times, double *busy, double *launched)
{
	const double late = MAX(0, *launched - *busy);

	times->ahead += *launched;
	times->late += late;
	times->busy[F] += late;
	times->again += late;
	times->launched[F] -= *launched;
	times->again_launched -= *launched;
	*busy = *launched = 0;
}

void pipesim_part_times(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimRates *rates, PipesimPart part, PipesimPartTimes *times)
{
	g_autoptr(GArray) kernels = pipesim_kernels(model, training, part);
	const PipesimDevice *device = rates->device;
	PipesimTraining there = *training;
	double busy = 0, launched = 0;
	gboolean waits = FALSE;

	pipesim_part_model(model, &there, &part);
	memset(times, 0, sizeof *times);
	pipesim_each (const PipesimKernel, kernel, kernels) {
		const double seconds = pipesim_kernel_seconds(rates, &there, kernel);
		const double plain = device == NULL ? 0 : device->kernel[kernel->phase != F];
		const double launch =
			device == NULL || training->eager ? plain : device->launch;
		const double own = launch * kernel->launches + plain * kernel->plain;
		const gboolean rows = kernel->kind == PIPESIM_KERNEL_ROWS;
		const gboolean attends = !rows && kernel->work <= PIPESIM_WORK_CORE;
		const gboolean message = rows || kernel->kind == PIPESIM_KERNEL_TENSOR ||
					 kernel->kind == PIPESIM_KERNEL_CONTEXT;

		for (guint phase = kernel->phase; phase <= (kernel->again ? I : kernel->phase);
			phase++) {
			times->busy[phase] += seconds;
			times->launched[phase] += own;
			times->messages[phase] += message ? seconds : 0;
			times->rows[phase] += rows ? seconds : 0;
			times->attention[phase] += attends ? seconds : 0;
		}
		times->recomputed += kernel->again ? seconds : 0;
		if (kernel->phase != F || (kernel->spared && part == PIPESIM_PART_DENSE))
			continue;
		times->again += seconds;
		times->again_launched += own;
		times->again_messages += message ? seconds : 0;
		times->again_rows += rows ? seconds : 0;
		busy += seconds;
		launched += own;
		if (kernel->kind == PIPESIM_KERNEL_WAIT && device != NULL) {
			waits = TRUE;
			end_stretch(times, &busy, &launched);
		}
	}
	if (waits)
		end_stretch(times, &busy, &launched);
}
