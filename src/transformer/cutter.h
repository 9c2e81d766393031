/* A described model as what tells the stages of a simulation apart: their bytes and, where rates are known,
 * their times. */
#pragma once
#include "model/costs.h"
#include "transformer/stage.h"

/* What work takes. */
typedef struct {
	double rate[PIPESIM_N_WORK]
		   [3];       /* FLOPs per second, by phase: F, I, W; 0 = no time is known */
	double tensor[3];     /* seconds for a byte of tensor parallelism's collectives */
	double collective[3]; /* and for each of them, whatever its bytes */
	double exchange[3];   /* seconds for a byte of context parallelism's all-to-alls */
	double row[3]; /* seconds for a byte of rows, dispatched and combined, of the phase */
	/* Bytes per second of its memory that memory-bound work reaches, the optimizer too; 0 = what rates are of has
	 * that in it. */
	double memory;
	double peak; /* FLOPs per second of a GPU, that MFU is of; 0 = not known */
	double reduce; /* bytes per second of gradients between data-parallel ranks; 0 = they take no time */
	gboolean overlap; /* they are reduced beside the last backward */
} PipesimRates;

/* A GPU as its maker describes it. */
typedef struct {
	const char *name;
	double bf16, fp8;   /* dense FLOPs per second */
	double bandwidth;   /* of its memory, bytes per second */
	double link;        /* to GPUs of its node, bytes per second one way */
	gint64 workspace;   /* bytes; 0 = as everywhere */
	double products[2]; /* share of the peak that products reach, in BF16 and in FP8 */
} PipesimDevice;

/** pipesim_device_share: of its peak that products reach: mfu of @training, or where that is 0 its own. */
double pipesim_device_share(const PipesimDevice *device, const PipesimTraining *training);

/** pipesim_device_near, pipesim_device_message: bytes per second that collectives, and messages from stage to stage, reach
 * within a node. */
double pipesim_device_near(const PipesimDevice *device);
double pipesim_device_message(const PipesimDevice *device);

/** pipesim_device_find: NULL with PIPESIM_ERROR_USAGE. @what: how messages call @name. */
const PipesimDevice *pipesim_device_find(const char *name, const char *what, GError **error);

/* GPUs of a node, and bytes per second of a GPU's network, for collectives that leave a node. */
#define PIPESIM_NODE_GPUS 8
#define PIPESIM_NETWORK   50e9

/** pipesim_device_rates: what work takes on @device, where ops run at the share of its peak that
 * @training says; linear layers in FP8 where it has them so. */
PipesimRates pipesim_device_rates(const PipesimDevice *device, const PipesimTraining *training);

/** pipesim_capture_rates: what work took in the layer that @costs were measured of: attention by its FLOPs,
 * experts and shared experts by theirs, dispatch and combine by the bytes of rows. Other MLPs and the head are
 * taken to run as the experts. FALSE with PIPESIM_ERROR_USAGE where a component or the shape is missing. */
gboolean pipesim_capture_rates(const PipesimCosts *costs, PipesimRates *rates, GError **error);

/**
 * pipesim_cutter_new: of @model, which becomes the cutter's, and @training, which has passed its check.
 * @layout: (nullable) (transfer full): for shapes with as many stages; without, whole layers spread evenly
 * @rates: (nullable): with them stages have times of their own, and figures of a step are known
 */
PipesimCutter *pipesim_cutter_new(PipesimTransformer *model, const PipesimTraining *training,
	PipesimStages *layout, const PipesimRates *rates);

/** pipesim_cutter_take: takes @cutter into @costs, with what one of @ranks ranks holds, and where times are known
 * takes, in the mean: tables show that and searches go by it. It becomes theirs in any case. FALSE with
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_cutter_take(
	PipesimCutter *cutter, guint ranks, PipesimCosts *costs, GError **error);

/** pipesim_cutter_set_auto: @cutter balances the time of stages, or their FLOPs where no rates are known. Before it
 * is shared. */
void pipesim_cutter_set_auto(PipesimCutter *cutter);

/** pipesim_cutter_set_search: as pipesim_cutter_set_auto(), and who runs it looks for the layout that is shortest
 * first (layout/choose.h); pipesim_cutter_searches: whether that is so. */
void pipesim_cutter_set_search(PipesimCutter *cutter);
gboolean pipesim_cutter_searches(const PipesimCutter *cutter);

/** pipesim_cutter_fix: the same with @layout (transfer full) alone, whatever ranks its stages are on, and @words (nullable,
 * transfer full) of it. */
PipesimCutter *pipesim_cutter_fix(
	const PipesimCutter *cutter, PipesimStages *layout, char *words);

/** pipesim_cutter_weights: ns of F, I and W of one of each part, by PipesimPart, of a cutter that balances; its own. */
const double *pipesim_cutter_weights(const PipesimCutter *cutter);

/** pipesim_cutter_part_times: into @ns F, I and W of one of @part at least, 0 where there is none, and what it adds at least
 * behind the ops of its stage: a reduction beside the last backward is not counted. Of a cutter with rates. */
void pipesim_cutter_part_times(const PipesimCutter *cutter, PipesimPart part, gint64 ns[4]);

/** pipesim_cutter_part_bytes: into @bytes what one of @part adds to a stage at least: parameters with gradients and
 * optimizer, a micro-batch until I, until W, from the one to the other. FALSE where that hangs on what else is there:
 * whole layers are computed again some at a time, or parameters and gradients come and go. */
gboolean pipesim_cutter_part_bytes(
	const PipesimCutter *cutter, PipesimPart part, gint64 bytes[4]);

/** pipesim_cutter_model, pipesim_cutter_training: of a cutter that pipesim_cutter_new() made; its own. */
const PipesimTransformer *pipesim_cutter_model(const PipesimCutter *cutter);
const PipesimTraining *pipesim_cutter_training(const PipesimCutter *cutter);

/** pipesim_cutter_rates: its rates, NULL where it has none; its own. */
const PipesimRates *pipesim_cutter_rates(const PipesimCutter *cutter);

/** pipesim_cutter_layout: how it cuts into @stages. (transfer full). Errors of check(). */
PipesimStages *pipesim_cutter_layout(const PipesimCutter *cutter, guint stages, GError **error);

/** pipesim_stage_tail: ns from the last gradient of @stage until its parameters are updated: reduction over
 * data-parallel ranks, optimizer, gathering of parameters. */
gint64 pipesim_stage_tail(
	const PipesimStage *stage, const PipesimTraining *training, const PipesimRates *rates);

/** pipesim_stage_messages: seconds that ops of phase 0 to 2 (F, I, W) of @stage spend in collectives and all-to-alls. */
double pipesim_stage_messages(
	const PipesimStage *stage, const PipesimRates *rates, guint phase);

/** pipesim_stage_time: ns of phase 0 to 2 (F, I, W) of @stage; I and W together are a backward in one. */
gint64 pipesim_stage_time(const PipesimStage *stage, const PipesimRates *rates, guint phase);

/** pipesim_stage_split: ns of phase 1 or 2 (I, W) where the backward is split, which PyTorch's modules compute otherwise. */
gint64 pipesim_stage_split(const PipesimStage *stage, const PipesimRates *rates, guint phase);
