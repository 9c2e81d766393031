/* A GPU and what hangs on it, as a file devices/NAME.ini describes it: what its makers say it can
 * do, and which share of that kernels reach. docs/formats.md has the keys. */
#pragma once
#include "model/power.h"
#include "transformer/transformer.h"

/* Types that products compute in. */
typedef enum {
	PIPESIM_TYPE_BF16,
	PIPESIM_TYPE_FP8,
	PIPESIM_TYPE_FP4,
	PIPESIM_N_TYPES,
} PipesimType;

/* A product as it was measured: of @m x @k and @k x @n elements, @groups of them in one go. */
typedef struct {
	PipesimType type;
	double m, n, k;
	/* The logarithm of the share of the peak that it reached, over how well it fills the chip. */
	double over;
} PipesimMeasuredProduct;

/* Seconds, bytes and bytes or FLOPs per second; shares are of what the maker says. */
typedef struct {
	char *name;                       /* "h100", or the path of its file; owned */
	double peak[PIPESIM_N_TYPES];     /* dense FLOPs per second; 0 = it has no such type */
	double capacity;                  /* bytes of its memory */
	double bandwidth;                 /* of its memory */
	gint64 units;                     /* streaming multiprocessors, or compute units */
	gint64 node;                      /* GPUs of a node, or of a domain of links */
	double link;                      /* to GPUs of that, one way */
	double network;                   /* of its share of the node's NICs, one way */
	gint64 workspace;                 /* bytes of libraries; 0 = as everywhere */
	gint64 steps;                     /* published ones that its shares were held against */
	double products[PIPESIM_N_TYPES]; /* share that large products reach under load */
	double block;                     /* and in FP8 scaled by blocks; 0 = the same */
	double grouped;                   /* of these: products of experts */
	double attention[2];              /* fused attention, of BF16: F, backward */
	double sdpa[2];                   /* and PyTorch's own */
	double flash[2];                  /* and FlashAttention-2; 0 = not known */
	double copies;                    /* of bandwidth: long copies, gradients, optimizer */
	double elements;                  /* element-wise kernels */
	double rows;                      /* rows into the order of experts and back */
	/* PyTorch's own norms, rotations, and rows that are indexed; 0 = not known. */
	double norms, turns, indexed;
	double loss;     /* TransformerEngine's cross entropy */
	double ring;     /* of link: collectives of tensor parallelism */
	double messages; /* of link: messages from stage to stage */
	double exchange; /* of link: all-to-alls */
	double far;      /* of network: collectives and all-to-alls */
	double latency;  /* of a collective */
	double gap;      /* between two kernels */
	double launch; /* by the host, of an operation of Megatron-LM with the Python around it */
	double kernel[2]; /* and of one of PyTorch's own, forward and backward */
	double wait;      /* of the host for the number of rows of experts, of a layer */
	/* How it clocks at its power limit, with the name that it goes by in profiles; NULL = not known; owned. */
	PipesimPower *power;
	gint64 halves; /* I and W together against B, ppm; where power is known */
	gint64 waiting; /* what ops take beside a receive that waits, against alone, ppm; likewise */
	guint terms;      /* of the above, that [measured] has instead of what is described */
	GArray *measured; /* of PipesimMeasuredProduct; NULL = none; owned */
} PipesimDevice;

/**
 * pipesim_device_read: the description in @path. @name: how it is called, else @path.
 *
 * Returns: (transfer full): for pipesim_device_unref(); NULL with PIPESIM_ERROR_PARSE
 *   ("path:line:column: key: ..."), PIPESIM_ERROR_LIMIT or what opening the file gives.
 */
PipesimDevice *pipesim_device_read(const char *path, const char *name, GError **error);

/** pipesim_device_parse: the same of lines that are read, @taken (nullable) (transfer full): NULL where these are. */
PipesimDevice *pipesim_device_parse(PipesimIni *taken, const char *name, GError **error);
PipesimDevice *pipesim_device_ref(PipesimDevice *device);
PIPESIM_FREED(PipesimDevice, pipesim_device_unref)

/** pipesim_device_product: share of the peak of @type that a product of @m x @k and @k x @n
 * elements reaches, of @groups such products in one kernel: measured, or what large ones reach
 * times how well its tiles fill the chip. @large: what large ones reach; 0 = as the device says. */
double pipesim_device_product(const PipesimDevice *device, PipesimType type, double large,
	double m, double n, double k, double groups);
