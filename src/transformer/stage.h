/* What a stage holds and computes: the sums of the terms of its parts. */
#pragma once
#include "transformer/layout.h"

/* Bytes but for elements and FLOPs; each below 2^62. */
typedef struct {
	gint64 elements; /* parameters of a rank */
	gint64 parameters, gradients, optimizer;
	gint64 gathered; /* parameters, were none shared with data-parallel ranks */
	gint64 ends; /* parameters of the larger of embedding and head, gathered by itself; 0: none is */
	gint64 moved[2];  /* by a rank, to gather these and to reduce all gradients */
	gint64 routed[2]; /* of that: of routed experts */
	/* Of a micro-batch: until I, until W, from the one to the other. */
	gint64 until_input, until_weight, between;
	gint64 until_step; /* and what stays until the step ends */
	gint64 keys;       /* gradients of keys and values */
	gint64 kept_keys;  /* keys and values of recomputed layers, which later slices read */
	gint64 transient, transient_forward, transient_weight;
	/* Of the gradients: what the first weight gradient brings, and what of that is there
	 * before it ends. */
	gint64 late, early;
	double flops[PIPESIM_N_WORK][3]; /* of a micro-batch: F, I with recomputation, W */
	double again[PIPESIM_N_WORK];    /* of these in I: recomputation */
	/* How often the W of a split backward computes a layer again on top: each weight gradient
	 * of PyTorch's computes its layer. */
	gint64 walks; /* of the layers that are computed again */
	/* W of a split backward is all of it, I nothing: PyTorch's first stage. */
	gboolean whole;
	/* How many of each part, and how many of these are computed again as a whole. */
	gint64 count[PIPESIM_N_PARTS], redone[PIPESIM_N_PARTS];
	double updated; /* bytes that the end of a step moves through memory, without messages */
	double model_flops; /* F, I and W without recomputation, attention's backward twice its F */
	guint parts;        /* 1 << PipesimPart, that it has */
} PipesimStage;

/** pipesim_stage_until_input: bytes of a micro-batch until its backward for input; @sliced: with what later slices read. */
static inline gint64 pipesim_stage_until_input(const PipesimStage *stage, gboolean sliced)
{
	return stage->until_input + (sliced ? stage->kept_keys : 0);
}

/** pipesim_stage_parts: sums of each part, for pipesim_stage_sum_of(). */
void pipesim_stage_parts(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimTermSum parts[PIPESIM_N_PARTS]);

/** pipesim_stage_sum_of: pipesim_stage_sum() where @parts are known. */
gboolean pipesim_stage_sum_of(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *parts, const PipesimCut *cut, PipesimStage *stage,
	GError **error);

/** pipesim_stage_sum: of @cut of @model. FALSE with PIPESIM_ERROR_LIMIT where a sum is 2^62 or
 * more. */
gboolean pipesim_stage_sum(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimCut *cut, PipesimStage *stage, GError **error);

/** pipesim_stage_of_part: work alone, without bytes, of one @part whose sums are @sums,
 * recomputed as @training says. */
void pipesim_stage_of_part(const PipesimTransformer *model, const PipesimTraining *training,
	const PipesimTermSum *sums, PipesimPart part, PipesimStage *stage);

/** pipesim_stage_transient: what the largest tensors are that are there only while an op of
 * @phase of @cut runs: F, I or B, W; static, NULL = none. */
const char *pipesim_stage_transient(const PipesimTransformer *model,
	const PipesimTraining *training, const PipesimTermSum *parts, const PipesimCut *cut,
	guint phase);

/** pipesim_stage_fixed: bytes of a rank that has stages with all these @parts: workspaces of
 * libraries and dummies, whatever the number of stages. */
gint64 pipesim_stage_fixed(
	const PipesimTransformer *model, const PipesimTraining *training, guint parts);

/** pipesim_stage_message: bytes that a micro-batch hands from one stage to the next on one
 * rank. */
gint64 pipesim_stage_message(const PipesimTransformer *model, const PipesimTraining *training);
