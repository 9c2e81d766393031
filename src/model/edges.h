/* What a step takes besides ops that repeat: its begin, and what backwards do to gradients only
 * once. */
#pragma once
#include "pipesim.h"

typedef enum {
	PIPESIM_EDGE_FIRST, /* ns that the first backward of a stage takes less: it writes gradients, later ones add to
			       them */
	PIPESIM_EDGE_LAST, /* ns that the runtime takes behind the last one, to scale gradients */
	PIPESIM_N_EDGES,
} PipesimEdge;

/* As it was measured. */
typedef struct {
	gint64 begin; /* ns from the begin of a step until ops are as fast as they are launched, on ranks that need
			 no message first */
	/* Of equal parts of the model, at part[i * PIPESIM_N_EDGES + edge]; NULL = not told. */
	gint64 *part;
	guint n_parts;
} PipesimStepCosts;

/** pipesim_step_costs_new: of a step that takes nothing besides. */
PipesimStepCosts *pipesim_step_costs_new(void);
PipesimStepCosts *pipesim_step_costs_copy(const PipesimStepCosts *costs);
void pipesim_step_costs_free(PipesimStepCosts *costs);

/** pipesim_step_costs_fill: what @costs (nullable) say of the stages of @times, whose layers
 * are known. */
struct _PipesimTimes;
void pipesim_step_costs_fill(const PipesimStepCosts *costs, struct _PipesimTimes *times);
