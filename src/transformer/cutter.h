/* A described model as what tells the stages of a simulation apart: their bytes and, where rates are known,
 * their times. */
#pragma once
#include "model/costs.h"
#include "transformer/stage.h"

/* FLOPs per second that work is done at, by PipesimWork and phase (F, I, W); 0 = not known. */
typedef struct {
	double rate[PIPESIM_N_WORK][3];
} PipesimRates;

/**
 * pipesim_cutter_new: of @model, which becomes the cutter's, and @training, which has passed its check.
 * @layout: (nullable) (transfer full): for shapes with as many stages; without, whole layers spread evenly
 * @rates: (nullable): with them stages have times of their own
 */
PipesimCutter *pipesim_cutter_new(PipesimTransformer *model, const PipesimTraining *training,
	PipesimStages *layout, const PipesimRates *rates);

/** pipesim_cutter_model, pipesim_cutter_training: of a cutter that pipesim_cutter_new() made; its own. */
const PipesimTransformer *pipesim_cutter_model(const PipesimCutter *cutter);
const PipesimTraining *pipesim_cutter_training(const PipesimCutter *cutter);

/** pipesim_cutter_layout: how it cuts into @stages. (transfer full). Errors of check(). */
PipesimStages *pipesim_cutter_layout(const PipesimCutter *cutter, guint stages, GError **error);

/** pipesim_stage_time: ns of phase 0 to 2 (F, I, W) of @stage. */
gint64 pipesim_stage_time(const PipesimStage *stage, const PipesimRates *rates, guint phase);
