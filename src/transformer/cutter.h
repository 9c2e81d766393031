/* A described model as what tells the stages of a simulation apart: their bytes and, where rates are known,
 * their times. */
#pragma once
#include "model/costs.h"
#include "transformer/kernels.h"
#include "transformer/stage.h"

/** pipesim_device_type: what products compute in. FALSE with PIPESIM_ERROR_CONSTRAINT where @device has no such type. */
gboolean pipesim_device_check(
	const PipesimDevice *device, const PipesimTraining *training, GError **error);

/* Bytes per second of a GPU's network where no device says it. */
#define PIPESIM_NETWORK 50e9

/** pipesim_device_reduce, pipesim_device_message: bytes per second at which a rank reduces gradients, of @routed
 * experts or of all else, and at which it sends to the next stage, of @ranks. Ranks are numbered TP, CP, EP, DP, PP: those of a node that share gradients have as many NICs. */
double pipesim_device_reduce(
	const PipesimDevice *device, const PipesimTraining *training, gboolean routed);
double pipesim_device_message(
	const PipesimDevice *device, const PipesimTraining *training, guint ranks);

/** pipesim_device_hop: ns of a message of @bytes there; 0 where there is one rank. */
gint64 pipesim_device_hop(const PipesimDevice *device, const PipesimTraining *training,
	gint64 bytes, guint ranks);

/** pipesim_device_rates: what work takes on @device, which they refer to. */
PipesimRates pipesim_device_rates(PipesimDevice *device, const PipesimTraining *training);

/** pipesim_capture_rates: what work took in the layer that @costs were measured of: attention by its FLOPs,
 * experts and shared experts by theirs, dispatch and combine by the bytes of rows. Other MLPs and the head are
 * taken to run as the experts. FALSE with PIPESIM_ERROR_USAGE where a component or the shape is missing. */
gboolean pipesim_capture_rates(const PipesimCosts *costs, PipesimRates *rates, GError **error);

/** pipesim_capture_pair: ns of a forward and a backward of one layer that overlap, simulated from its phases: those of
 * the capture in @costs, each as much longer as what it does takes in @layer. @apart: of one after the other. FALSE with
 * PIPESIM_ERROR_USAGE where the capture lacks a phase. */
gboolean pipesim_capture_pair(const PipesimCosts *costs, const PipesimPartTimes *layer,
	gint64 *pair, gint64 *apart, GError **error);

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

/** pipesim_cutter_apart: PipesimApart: between what it cuts besides: layers of an encoder, unless training says otherwise; layers of
 * multi-token prediction and losses where it says so, and so many ranks that each is in the last chunk of its rank. */
guint pipesim_cutter_apart(const PipesimCutter *cutter);

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

/** pipesim_cutter_parts: what parts of its model take, by PipesimPart; all 0 where it has no rates. Its own. */
const PipesimPartTimes *pipesim_cutter_parts(const PipesimCutter *cutter);

/** pipesim_cutter_layout: how it cuts into @stages. (transfer full). Errors of check(). */
PipesimStages *pipesim_cutter_layout(const PipesimCutter *cutter, guint stages, GError **error);

/** pipesim_share_beside: @times of @part at least as long as FSDP gathers and reduces it on @device (nullable), where that is
 * layer by layer. */
void pipesim_share_beside(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimDevice *device, PipesimPart part, PipesimPartTimes *times);

/** pipesim_stage_tail: ns from the last gradient of @stage until its parameters are updated: reduction over
 * data-parallel ranks, optimizer, gathering of parameters. @parts: times by PipesimPart. */
gint64 pipesim_stage_tail(const PipesimStage *stage, const PipesimTraining *training,
	const PipesimRates *rates, const PipesimPartTimes *parts);

/** pipesim_stage_messages: seconds that ops of phase 0 to 2 (F, I, W) of @stage spend in collectives and all-to-alls. */
double pipesim_stage_messages(
	const PipesimStage *stage, const PipesimPartTimes *parts, guint phase);

/** pipesim_stage_time: ns of phase 0 to 2 (F, I, W) of @stage; I and W together are a backward in one. */
gint64 pipesim_stage_time(
	const PipesimStage *stage, const PipesimPartTimes *parts, guint phase);

/** pipesim_stage_split: ns of phase 1 or 2 (I, W) where the backward is split, which PyTorch's modules compute otherwise. */
gint64 pipesim_stage_split(
	const PipesimStage *stage, const PipesimPartTimes *parts, guint phase);

/** pipesim_pass_time: ns of phase 0 to 2 of a pass over one of @ranks parts of @part; launches are as many. */
gint64 pipesim_pass_time(const PipesimPartTimes *part, guint phase, guint ranks);
