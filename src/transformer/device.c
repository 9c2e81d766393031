#include "config.h"

#include "transformer/cutter.h"
#include <string.h>

/* What copies reach of the bandwidth of memory, and dispatch and combine of links within a node: measured on
 * H200s (docs/kernels.md: 4273 of 4800 GB/s; 57 and 66 %, over four of them). */
#define MEMORY_SHARE 0.89
#define LINK_SHARE   0.61

/* Data sheets of the makers, without sparsity: NVIDIA H100 and H200 SXM, B200 of an HGX, AMD MI300X. Links
 * of NVLink and Infinity Fabric one way. Workspaces inside PyTorch's allocator as measured: docs/memory.md. */
static const PipesimDevice devices[] = {
	{"h100", 989.4e12, 1978.9e12, 3.35e12, 450e9, 115000000},
	{"h200", 989.4e12, 1978.9e12, 4.8e12, 450e9, 115000000},
	{"b200", 2250e12, 4500e12, 8e12, 900e9, 70000000},
	{"mi300x", 1307.4e12, 2614.9e12, 5.3e12, 448e9, 0},
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

PipesimRates pipesim_device_rates(const PipesimDevice *device, const PipesimTraining *training)
{
	const double linear = training->fp8 ? device->fp8 : device->bf16;
	const gint64 tensor = training->tp * training->cp, ep = training->ep * training->etp;
	const double near = device->link, far = PIPESIM_NETWORK;
	const double rows =
		training->tp * training->ep <= PIPESIM_NODE_GPUS ? near * LINK_SHARE : far;
	PipesimRates rates = {.peak = linear,
		.bandwidth = device->bandwidth,
		.memory = device->bandwidth * MEMORY_SHARE};

	/* Rows that stay on a rank do not travel; the others do twice, out and back. */
	for (guint phase = 0; phase < 2; phase++) {
		rates.tensor[phase] = 1 / (tensor <= PIPESIM_NODE_GPUS ? near : far);
		rates.row[phase] = 2 * (double)(ep - 1) / (double)ep / rows;
	}
	for (guint work = 0; work < PIPESIM_N_WORK; work++)
		for (guint phase = 0; phase < 3; phase++)
			rates.rate[work][phase] =
				training->mfu *
				(work == PIPESIM_WORK_CORE || work == PIPESIM_WORK_HEAD
						? device->bf16
						: linear);
	return rates;
}
