/* What each part of a model holds and computes, term by term: sums, tables and their sources
 * all come from these.
 *
 *   h, f, V   hidden, ffn, padded vocabulary       t, c, d   tensor, context, data parallel
 *   q, kv     heads times their size, both kinds   T         tokens of a micro-batch on a rank
 *   a, g      heads; 2 gated MLP, 1 otherwise      T'        T/t with sequence parallelism, else T
 *   E, k      experts, of these per token          Tk        rows that come to the experts of a rank
 *   rq, rk, dn, dr, dv   latent attention          fe, fs    ffn of an expert on a rank, of all shared ones
 */
#pragma once
#include "transformer/training.h"

typedef enum {
	PIPESIM_PART_EMBEDDING,
	PIPESIM_PART_DENSE,
	PIPESIM_PART_SPARSE,  /* a layer with experts */
	PIPESIM_PART_MTP,     /* a layer for multi-token prediction with what leads to it */
	PIPESIM_PART_HEAD,    /* final norm, head and loss */
	PIPESIM_PART_LOSS,    /* the head once more, and the loss of multi-token prediction */
	PIPESIM_PART_ENCODER, /* a layer of the encoder: a dense one of another model */
	PIPESIM_N_PARTS,
} PipesimPart;

typedef enum {
	PIPESIM_TERM_PARAMETERS, /* elements of a rank, of all but routed experts */
	PIPESIM_TERM_EXPERTS,    /* elements of a rank, of routed experts */
	/* Bytes of a micro-batch: needed until the backward for input, until the weight
	 * gradient, and from the one to the other. */
	PIPESIM_TERM_UNTIL_INPUT,
	PIPESIM_TERM_UNTIL_WEIGHT,
	PIPESIM_TERM_BETWEEN,
	PIPESIM_TERM_UNTIL_STEP, /* and until the step ends */
	PIPESIM_TERM_TRANSIENT, /* bytes while the part is computed; the largest of a stage counts */
	PIPESIM_TERM_TRANSIENT_FORWARD, /* of PyTorch's modules: while its forward is, else as much */
	PIPESIM_TERM_TRANSIENT_WEIGHT, /* and while its weight gradient is, after I */
	/* FLOPs of a micro-batch on a rank. */
	PIPESIM_TERM_F,
	PIPESIM_TERM_I,
	PIPESIM_TERM_W,
	PIPESIM_TERM_AGAIN, /* recomputed ahead of I */
	PIPESIM_N_TERMS,
} PipesimTermSort;

/* What FLOPs are spent on: rates differ. */
typedef enum {
	PIPESIM_WORK_PROJECTION, /* of attention */
	PIPESIM_WORK_CORE,       /* attention itself */
	PIPESIM_WORK_MLP,        /* dense, and shared experts */
	PIPESIM_WORK_EXPERT,
	PIPESIM_WORK_HEAD,
	PIPESIM_N_WORK,
} PipesimWork;

typedef struct {
	const char *what;    /* "input of norm 1" */
	const char *formula; /* "2 h T'" */
	const char *source;  /* where that is published or measured */
	PipesimTermSort sort;
	PipesimWork work; /* of FLOPs */
	PipesimWide amount;
} PipesimTerm;

typedef struct {
	PipesimWide of[PIPESIM_N_TERMS]; /* of transient ones the sum of one part's */
	PipesimWide linear
		[2]; /* of its parameters, and of its routed experts': weights of linear layers */
	PipesimWide flops[PIPESIM_N_WORK][3]; /* F, I, W; recomputation is in I */
	PipesimWide again[PIPESIM_N_WORK]; /* FLOPs of recomputation, which are in those of I */
	/* Of a layer that PyTorch's checkpoint() computes again for each weight gradient of a
	 * split backward: bytes that are there at most, and those that are left behind it. */
	PipesimWide again_most, again_left;
	guint walks; /* these weight gradients */
	/* FLOPs of PIPESIM_WORK_MLP that checkpoint() does not compute again: behind the last
	 * tensor that is saved. */
	PipesimWide spared;
	const char *most
		[3]; /* the largest of the transient terms: of F, of I or B, of W; NULL = none */
	PipesimWide again_sums; /* of the first: gradients about to be added to others */
} PipesimTermSum;

/** pipesim_part_name: "embedding", "dense layer" ... */
const char *pipesim_part_name(PipesimPart part);

/** pipesim_part_count: how many of them @model has. */
gint64 pipesim_part_count(const PipesimTransformer *model, PipesimPart part);

/** pipesim_part_model: whose layer @part is: @model, or its encoder, of which it is a dense one.
 * @training, @part: changed to those that it has there */
const PipesimTransformer *pipesim_part_model(
	const PipesimTransformer *model, PipesimTraining *training, PipesimPart *part);

/** pipesim_terms: of one @part. @training has passed its check. Returns: (transfer full): of
 * PipesimTerm. */
GArray *pipesim_terms(
	const PipesimTransformer *model, const PipesimTraining *training, PipesimPart part);

/** pipesim_terms_sum: their sums. */
void pipesim_terms_sum(const PipesimTransformer *model, const PipesimTraining *training,
	PipesimPart part, PipesimTermSum *sum);

/** pipesim_terms_input: bytes of the input of a layer, which is all that is kept of one that is
 * computed again as a whole; also those of a message from stage to stage. */
PipesimWide pipesim_terms_input(
	const PipesimTransformer *model, const PipesimTraining *training);

/** pipesim_terms_keys: bytes of the keys and values of a layer, or of their gradients, of a micro-batch on a rank. */
PipesimWide pipesim_terms_keys(
	const PipesimTransformer *model, const PipesimTraining *training);

/** pipesim_terms_dummies: bytes of the tensors that a rank with @parts, a set of 1 <<
 * PipesimPart, keeps for the run: TransformerEngine's for each distinct shape of a weight
 * (get_dummy_wgrad()), and that of the gathered input of the head under sequence parallelism
 * (Megatron-Core, GlobalMemoryBuffer; the same as the forward's and the backward's). */
PipesimWide pipesim_terms_dummies(
	const PipesimTransformer *model, const PipesimTraining *training, guint parts);
