/* How the layers of a model are divided among its stages: in equal shares, which may be
 * fractions of a layer, or in whole layers (PipesimCosts.whole_layers). */
#pragma once
#include "model/costs.h"

/** pipesim_split_check: FALSE with PIPESIM_ERROR_CONSTRAINT where stages are to have whole
 * layers and @shape has more stages than the model has layers, and what the cutter of @costs
 * refuses. */
gboolean pipesim_split_check(
	const PipesimCosts *costs, const PipesimShape *shape, GError **error);

/** pipesim_split_layers: whole layers for every stage, L / S of L layers and S stages rounded
 * down, and one more for some. Each of these L mod S goes to the rank that has least to do so
 * far, by layers times the lengths of stages and the slowness of ranks that @costs have; of
 * equals to the lowest, and to the first chunk of a rank that has none yet. A stage that lies
 * on several ranks counts for all of them.
 * @stage_of: as in pipesim_times_new_placed()
 * Returns: (transfer full): PipesimTimes.first_layer; NULL where layers are not asked to be
 *   whole, are too few (pipesim_split_check()), or all stages have as many. */
guint64 *pipesim_split_layers(
	const PipesimCosts *costs, const PipesimShape *shape, const guint32 *stage_of);

/** pipesim_split_describe: what is to be said of the layers of a stage: that there are
 * fractions of one, or which stages of @times have one more, or the words of its cutter. NULL
 * where nothing is, or layers are not known. For g_free(). */
char *pipesim_split_describe(
	const PipesimCosts *costs, const PipesimShape *shape, const PipesimTimes *times);
