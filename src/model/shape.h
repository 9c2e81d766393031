/* The size of the job: ranks, chunks, micro-batches, and which stage lives where. */
#pragma once
#include "base/error.h"

/* How S stages lie on PP ranks. */
typedef enum {
	PIPESIM_LOOPED,        /* chunk c of rank r is stage c * PP + r; one chunk: stage r */
	PIPESIM_V,             /* two chunks: stage r and stage 2 * PP - 1 - r */
	PIPESIM_BIDIRECTIONAL, /* two copies of PP stages: stage r and stage PP - 1 - r */
	PIPESIM_FROM_FILE,     /* as the ops of a schedule file say */
} PipesimPlacement;

/* Validated where it is made: later stages need not check. */
typedef struct {
	guint ranks;        /* PP, >= 1 */
	guint chunks;       /* chunks per rank, >= 1; copies of a stage count */
	guint microbatches; /* M of the whole step, >= 1; both directions together */
	guint stages;       /* S: ranks * chunks, or ranks where there are two copies */
	guint copies;       /* copies of the parameters: 1, or 2 where bidirectional */
	PipesimPlacement placement;
} PipesimShape;

/** pipesim_shape_init: fills @shape. @chunks must be 2 for V and bidirectional. Returns FALSE
 * with PIPESIM_ERROR_LIMIT where ranks * chunks * microbatches is more ops than are simulated.
 */
gboolean pipesim_shape_init(PipesimShape *shape, guint ranks, guint chunks, guint microbatches,
	PipesimPlacement placement, GError **error);

/** pipesim_shape_stage: the stage that chunk (or direction) @chunk of @rank is; not for
 * PIPESIM_FROM_FILE. */
guint pipesim_shape_stage(const PipesimShape *shape, guint rank, guint chunk);

/* Most ops of one schedule: the plain engine keeps about 70 bytes for each. */
#define PIPESIM_MAX_OPS (1u << 25)
