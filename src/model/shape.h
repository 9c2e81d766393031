/* The size of the job: ranks, chunks, micro-batches, and which stage lives where. */
#pragma once
#include "model/scenario.h"

/* How S stages lie on PP ranks. */
typedef enum {
	PIPESIM_LOOPED, /* chunk c of rank r is stage c * PP + r; one chunk: stage r */
	PIPESIM_V,      /* two chunks: stage r and stage 2 * PP - 1 - r */
	/* As many copies of PP stages as chunks: pipeline 2i goes down the ranks from rank
	 * i * PP / (chunks / 2) on, pipeline 2i + 1 goes up from the rank before it. */
	PIPESIM_BIDIRECTIONAL,
	PIPESIM_WAVE,      /* chunks in waves: even chunks go down, odd ones come back up */
	PIPESIM_FROM_FILE, /* as the ops of a schedule file say */
} PipesimPlacement;

/* Validated where it is made: later stages need not check. */
typedef struct {
	guint ranks;  /* PP, >= 1 */
	guint chunks; /* chunks per rank, >= 1; copies of a stage count */
	/* Of the whole step, >= 1; all pipelines together. Where a micro-batch runs in parts
	 * each part counts as one: every op is of a part. */
	guint microbatches;
	guint stages; /* S: ranks * chunks, or ranks where there are copies */
	guint copies; /* copies of the parameters: 1, or chunks where bidirectional */
	guint parts;  /* that a micro-batch runs in, each with its F and B; 0 = 1 */
	/* These are consecutive slices of its sequence: forwards run from the first to the last, as
	 * each reads keys and values of those before it, and backwards the other way round. */
	gboolean sliced;
	gboolean exchange; /* ranks share the attention of slices: model/slices.h */
	guint group;       /* micro-batches of a group, as asked for; 0 = the schedule's own */
	gboolean pairs;    /* F and B of the steady phase are one op, where one may choose */
	guint offload,
		recompute; /* chunks of each rank, the first ones, whose activations are copied to
				     the host, or computed once more */
	/* Copied is this part of what these chunks hold, in the order of Megatron-LM
	 * (order/offload.h), with so many copies out on the way at most, 0 = any number; num 0 =
	 * all of it, as the schedule plans it. */
	PipesimFraction offload_part;
	guint offload_inflight;
	gint64 offload_delta; /* bytes that a rank copies less than the one before it */
	PipesimFraction max_activations; /* whole-stage units; what a search may hold */
	gboolean by_rules;               /* a search leaves its orders as its rules make them */
	PipesimPlacement placement;
} PipesimShape;

/* Most slices of a sequence. */
#define PIPESIM_MAX_SLICES 4096

/* Most chunks of a rank. */
#define PIPESIM_MAX_CHUNKS 254

/** pipesim_shape_init: fills @shape with what @scenario asks for.
 * @chunks: per rank: 2 for V, even for bidirectional
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where ranks * chunks is more than are simulated. */
gboolean pipesim_shape_init(PipesimShape *shape, const PipesimScenario *scenario, guint chunks,
	PipesimPlacement placement, GError **error);

/** pipesim_shape_check_slices: FALSE with PIPESIM_ERROR_LIMIT where micro-batches of @slices slices each are too many. */
gboolean pipesim_shape_check_slices(const PipesimShape *shape, guint slices, GError **error);

/** pipesim_shape_check_chunks: FALSE with PIPESIM_ERROR_CONSTRAINT where @option asks for @asked chunks of a rank, which are
 * more than @chunks. */
gboolean pipesim_shape_check_chunks(
	guint chunks, const char *option, guint asked, GError **error);

/** pipesim_shape_equal: whether nothing tells both apart. */
gboolean pipesim_shape_equal(const PipesimShape *a, const PipesimShape *b);

/** pipesim_shape_stage: the stage that chunk (or direction) @chunk of @rank is; not for
 * PIPESIM_FROM_FILE. */
guint pipesim_shape_stage(const PipesimShape *shape, guint rank, guint chunk);

/** pipesim_shape_per_chunk: micro-batches that one chunk of a rank sees: M, or its pipeline's
 * share of them where bidirectional. */
static inline guint pipesim_shape_per_chunk(const PipesimShape *shape)
{
	return shape->microbatches / shape->copies;
}

/** pipesim_shape_parts: parts that a micro-batch runs in, >= 1: what an op takes, sends and
 * holds is that of a micro-batch divided by them. */
static inline guint pipesim_shape_parts(const PipesimShape *shape)
{
	return MAX(shape->parts, 1u);
}

/** pipesim_shape_slices: slices of a sequence, 1 where it is not cut. */
static inline guint pipesim_shape_slices(const PipesimShape *shape)
{
	return shape->sliced ? shape->parts : 1;
}

/** pipesim_shape_slice_group: slices that pass a chunk before the next chunk has them, where ranks work in step on
 * neighbouring ones: enough that the first of them has come round all ranks; as many in each group. */
guint pipesim_shape_slice_group(const PipesimShape *shape);

/** pipesim_shape_unit: how part @unit is written: "7", or of micro-batch 3 and slice 1 "3.1".
 * Returns: @text */
const char *pipesim_shape_unit(const PipesimShape *shape, guint unit, PipesimNumber text);

/** pipesim_shape_offloads: whether anything is copied to the host. */
static inline gboolean pipesim_shape_offloads(const PipesimShape *shape)
{
	return shape->offload > 0 || shape->offload_part.num > 0;
}

/** pipesim_shape_whole: M as it was asked for: micro-batches that are not divided. */
static inline guint pipesim_shape_whole(const PipesimShape *shape)
{
	return shape->microbatches / pipesim_shape_parts(shape);
}

/* Most ops of one program that is kept op by op: about 40 bytes each. */
#define PIPESIM_MAX_OPS (1u << 26)
/* Most ranks of a step with more forwards than that. */
#define PIPESIM_MAX_LONG_RANKS (1u << 17)
/* Most stages of a shape. */
#define PIPESIM_MAX_STAGES (1u << 24)
