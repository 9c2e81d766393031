#include "config.h"

#include "model/shape.h"

gboolean pipesim_shape_init(PipesimShape *shape, guint ranks, guint chunks, guint microbatches,
	PipesimPlacement placement, GError **error)
{
	const gboolean bidirectional = placement == PIPESIM_BIDIRECTIONAL;
	guint64 stages;

	g_return_val_if_fail(ranks > 0 && chunks > 0 && microbatches > 0, FALSE);
	stages = bidirectional ? ranks : (guint64)ranks * chunks;
	/* At most F, I and W for each micro-batch of each stage. */
	if (stages > PIPESIM_MAX_OPS || stages * microbatches > PIPESIM_MAX_OPS / 3)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%" G_GUINT64_FORMAT
			" stages of %u micro-batches are too many: at most %u "
			"stages times micro-batches are simulated; take fewer of either",
			stages, microbatches, PIPESIM_MAX_OPS / 3);
	*shape = (PipesimShape){
		.ranks = ranks,
		.chunks = chunks,
		.microbatches = microbatches,
		.stages = (guint)stages,
		.copies = bidirectional ? 2 : 1,
		.placement = placement,
	};
	return TRUE;
}

guint pipesim_shape_stage(const PipesimShape *shape, guint rank, guint chunk)
{
	switch (shape->placement) {
	case PIPESIM_LOOPED:
		return chunk * shape->ranks + rank;
	case PIPESIM_V:
		return chunk == 0 ? rank : 2 * shape->ranks - 1 - rank;
	case PIPESIM_BIDIRECTIONAL:
		return chunk == 0 ? rank : shape->ranks - 1 - rank;
	case PIPESIM_FROM_FILE:
		break;
	}
	g_return_val_if_reached(0);
}
