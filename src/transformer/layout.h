/* Which layers, embedding and head a stage has. Written and read as Megatron's
 * --pipeline-model-parallel-layout ("Et*3|(tt|)*29,m|L") and as torchtitan's lists of
 * modules. */
#pragma once
#include "transformer/terms.h"

/* One stage. It may be empty: Megatron allows and uses that. */
typedef struct {
	gboolean embedding, head;
	gint64 first, layers; /* decoder layers */
	gint64 mtp, losses;   /* layers for multi-token prediction, and losses of these */
	gint64 encoders;      /* layers of the encoder, ahead of the embedding */
	gint64 again; /* of its layers, the first ones that are computed again, where training says so by stage */
	gboolean
		follows; /* another stage comes before it: its embedding or encoder is not the first of all */
} PipesimCut;

typedef struct {
	PipesimCut *cut; /* by stage; owned */
	guint stages;
} PipesimStages;

/** pipesim_cut_opens: whether the stage of @cut is the first of all: nobody wants gradients of what it gets. */
static inline gboolean pipesim_cut_opens(const PipesimCut *cut)
{
	return (cut->embedding || cut->encoders > 0) && !cut->follows;
}

/** pipesim_stages_even: whole layers over @stages. Layers of an encoder that is in the pipeline are over its
 * encoder_stages, the first ones having one more, and what follows is over those behind them. Where their number divides them each has as
 * many; else embedding and head count as a layer each and the first stages take what is left
 * over, as in torchtitan. Layers for multi-token prediction stand ahead of the head.
 *
 * Returns: (transfer full): for pipesim_stages_free(); NULL with PIPESIM_ERROR_CONSTRAINT where
 *   a stage would be empty. */
PipesimStages *pipesim_stages_even(
	const PipesimTransformer *model, guint stages, GError **error);

/** pipesim_stages_parse: Megatron's string for the layers of @model; where its encoder is in
 * the pipeline v is a layer of that, ahead of E.
 * @next: Megatron-LM's next version: m may stand in several stages, and L too, once for each
 *   loss then (NVIDIA/Megatron-LM, pull requests 5329 and 5318)
 * @what: how messages call @text
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE ("WHAT:1:COLUMN: ..."). */
PipesimStages *pipesim_stages_parse(const PipesimTransformer *model, gboolean next,
	const char *text, const char *what, GError **error);

/** pipesim_stages_print: appends Megatron's string. */
void pipesim_stages_print(const PipesimStages *layout, GString *out);

/* What may be on several stages where layers are balanced. */
typedef enum {
	PIPESIM_APART_MTP = 1 << 0, /* layers for multi-token prediction, and their losses */
	PIPESIM_APART_ENCODER =
		1 << 1, /* layers of an encoder; else all stand with the embedding */
} PipesimApart;

/** pipesim_stages_balance: whole layers over @stages, none of them empty, so that the longest
 * is as short as it can be, and of these cuts the most even one.
 * @apart: PipesimApart
 * @parts: weights by PipesimPart: seconds, or FLOPs
 * Returns: (transfer full): NULL with PIPESIM_ERROR_CONSTRAINT where there are too few
 * layers. */
PipesimStages *pipesim_stages_balance(const PipesimTransformer *model, guint apart,
	const double parts[PIPESIM_N_PARTS], guint stages, GError **error);

/** pipesim_stages_items: how many there are to cut: embedding with an encoder, each layer, all of multi-token prediction as one,
 * head with all losses; or where these are @apart, each layer of the encoder, and each of multi-token prediction, each of its
 * losses and the head. */
guint pipesim_stages_items(const PipesimTransformer *model, guint apart);
/** pipesim_stages_item: what number @item is of: how many of each part. */
void pipesim_stages_item(const PipesimTransformer *model, guint apart, guint item,
	gint64 counts[PIPESIM_N_PARTS]);

/** pipesim_stages_of_items: stage i has the items from the end of the one before to @ends[i],
 * at least one. */
PipesimStages *pipesim_stages_of_items(
	const PipesimTransformer *model, guint apart, const guint *ends, guint stages);

/** pipesim_stages_read_modules: torchtitan's lists of modules in @taken (transfer full), which
 * may be NULL with
 * @error set. (transfer full): NULL with PIPESIM_ERROR_PARSE ("path:line:column: ..."). */
PipesimStages *pipesim_stages_read_modules(
	const PipesimTransformer *model, PipesimInput *taken, GError **error);

/** pipesim_stages_print_modules: appends them as JSON. */
void pipesim_stages_print_modules(const PipesimStages *stages, GString *out);

/** pipesim_stages_check: whether it is one for @ranks ranks: stage i is on rank i mod @ranks.
 * FALSE with PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_stages_check(const PipesimStages *layout, guint ranks, GError **error);

PipesimStages *pipesim_stages_copy(const PipesimStages *layout);

/** pipesim_stages_recompute: takes training->each into the stages of @layout. FALSE with PIPESIM_ERROR_CONSTRAINT where it is of
 * another number of them. */
gboolean pipesim_stages_recompute(
	PipesimStages *layout, const PipesimTraining *training, GError **error);

/** pipesim_recompute_sum: the sum of training->each. */
gint64 pipesim_recompute_sum(const PipesimTraining *training);
PIPESIM_FREED(PipesimStages, pipesim_stages_free)
