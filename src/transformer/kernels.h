/* What runs on a GPU when a part of a model is computed, kernel by kernel, and what that takes: on
 * a described device, or at the rates of a measured layer. */
#pragma once
#include "transformer/device.h"
#include "transformer/terms.h"

/* What limits a kernel. */
typedef enum {
	PIPESIM_KERNEL_PRODUCT,   /* tensor cores, or loading its operands */
	PIPESIM_KERNEL_ATTENTION, /* tensor cores, at a rate of their own */
	PIPESIM_KERNEL_MOVE,      /* memory */
	PIPESIM_KERNEL_TENSOR,    /* a collective of tensor parallelism */
	PIPESIM_KERNEL_CONTEXT,   /* what context parallelism passes around */
	PIPESIM_KERNEL_ROWS,      /* rows to their experts, or back */
	PIPESIM_KERNEL_WAIT,      /* the host waits for the GPU and launches anew */
} PipesimKernelKind;

/* What of the memory's bandwidth is reached. */
typedef enum {
	PIPESIM_MOVE_COPIES, /* long copies, gradients */
	PIPESIM_MOVE_ELEMENTS,
	PIPESIM_MOVE_ROWS,
	PIPESIM_MOVE_LOSS,
	/* PyTorch's own modules: norms, rotations of broadcast operands, rows by their index. */
	PIPESIM_MOVE_NORMS,
	PIPESIM_MOVE_TURNS,
	PIPESIM_MOVE_INDEXED,
} PipesimMove;

typedef struct {
	const char *what; /* static */
	PipesimKernelKind kind;
	PipesimWork work; /* of products and attention */
	guint phase;      /* F, I, W */
	gboolean again;   /* of F: once more in I, its part of the layer is computed again */
	gboolean spared;  /* not done again where its whole layer is */
	gboolean narrow;  /* a product in the precision of linear layers, else BF16 */
	double m, n, k, groups; /* of a product; m rows of k bytes that go to experts */
	double flops;           /* of attention, causal; of a product 2 m n k groups */
	double bytes;           /* moved through memory, or sent over links of the node */
	double far;             /* sent over the network; both ways at a time */
	PipesimMove move;
	guint launches, plain; /* of Megatron-LM's operations; of PyTorch's own beside these */
} PipesimKernel;

/* Seconds of one part of a model, for a micro-batch on a rank; by phase F, I, W. */
typedef struct {
	double busy[3];      /* of the GPU, messages among them, recomputed modules in I */
	double launched[3];  /* that the host needs for its launches */
	double messages[3];  /* of busy: collectives and all-to-alls */
	double rows[3];      /* of these: rows of experts */
	double attention[3]; /* of busy: products of attention, and itself */
	double recomputed;   /* of busy[1]: modules that are computed again */
	/* Launches of F ahead of waits for the GPU, which are not among the above, and how long the GPU waited for these, which
	 * is in busy. */
	double ahead, late;
	/* F once more, as far as checkpoint() of a whole layer computes it again. */
	double again, again_launched, again_messages, again_rows;
} PipesimPartTimes;

/* What work takes: by @device, or where that is NULL by the rates of a measured layer. */
typedef struct {
	PipesimDevice *device;          /* (nullable); whoever keeps rates has a reference */
	double rate[PIPESIM_N_WORK][3]; /* FLOPs per second, by phase: F, I, W */
	double row[3]; /* seconds for a byte of rows, dispatched and combined, of the phase */
	double memory; /* bytes per second that the optimizer reaches; 0 = it takes no time */
	double peak;   /* FLOPs per second of a GPU, that MFU is of; 0 = not known */
	/* Bytes per second of gradients between data-parallel ranks, of routed experts' and of all others'; 0 = free. */
	double reduce[2];
	gboolean overlap; /* they are reduced beside the last backward */
} PipesimRates;

/** pipesim_training_type: what linear layers compute in. */
static inline PipesimType pipesim_training_type(const PipesimTraining *training)
{
	return training->precision == PIPESIM_NVFP4 ? PIPESIM_TYPE_FP4
	       : training->fp8                      ? PIPESIM_TYPE_FP8
						    : PIPESIM_TYPE_BF16;
}

/** pipesim_device_network: bytes per second that a GPU reaches to other nodes. */
static inline double pipesim_device_network(
	const PipesimDevice *device, const PipesimTraining *training)
{
	return device->far * (training->node_bandwidth > 0 ? (double)training->node_bandwidth
							   : device->network);
}

/** pipesim_device_share: of its peak that products reach: mfu of @training, or where that is 0 its own. */
double pipesim_device_share(const PipesimDevice *device, const PipesimTraining *training);

/** pipesim_kernels: of one @part. @training has passed its check. Returns: (transfer full): of
 * PipesimKernel. */
GArray *pipesim_kernels(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part);

/** pipesim_kernel_seconds: that @kernel takes, without its launch. */
double pipesim_kernel_seconds(const PipesimRates *rates, const PipesimTraining *training,
	const PipesimKernel *kernel);

/** pipesim_part_times: into @times what one of @part takes. */
void pipesim_part_times(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimRates *rates, PipesimPart part, PipesimPartTimes *times);
