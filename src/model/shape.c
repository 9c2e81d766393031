#include "model/shape.h"

gboolean pipesim_shape_init(PipesimShape *shape, const PipesimScenario *scenario, guint chunks,
	PipesimPlacement placement, GError **error)
{
	const gboolean bidirectional = placement == PIPESIM_BIDIRECTIONAL;
	const guint ranks = scenario->ranks;
	const guint64 stages = bidirectional ? ranks : (guint64)ranks * chunks;

	g_return_val_if_fail(ranks > 0 && chunks > 0 && scenario->microbatches > 0, FALSE);
	if (chunks > PIPESIM_MAX_CHUNKS || stages > PIPESIM_MAX_STAGES)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%u chunks on each of %u ranks are too many: at most %u chunks per "
			"rank and %u stages are simulated; take fewer of either",
			chunks, ranks, PIPESIM_MAX_CHUNKS, PIPESIM_MAX_STAGES);
	*shape = (PipesimShape){
		.ranks = ranks,
		.chunks = chunks,
		.microbatches = scenario->microbatches,
		.stages = (guint)stages,
		.copies = bidirectional ? chunks : 1,
		.group = scenario->group,
		.pairs = scenario->pairs,
		.offload_part = scenario->offload_part,
		.offload_inflight = scenario->offload_inflight,
		.offload_delta = scenario->offload_delta,
		.max_activations = scenario->max_activations,
		.placement = placement,
	};
	if (shape->max_activations.num == 0)
		shape->max_activations = (PipesimFraction){ranks, 1};
	return TRUE;
}

gboolean pipesim_shape_check_slices(const PipesimShape *shape, guint slices, GError **error)
{
	return (guint64)shape->microbatches * slices <= PIPESIM_MAX_MICROBATCHES ||
	       pipesim_fail(error, PIPESIM_ERROR_LIMIT,
		       "%u micro-batches in %u slices each are too many: at most %u slices",
		       shape->microbatches, slices, PIPESIM_MAX_MICROBATCHES);
}

gboolean pipesim_shape_check_chunks(
	guint chunks, const char *option, guint asked, GError **error)
{
	return asked <= chunks ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "%s %u of %u stage%s on each rank; nearest: %s %u", option, asked,
		       chunks, chunks == 1 ? "" : "s", option, chunks);
}

gboolean pipesim_shape_equal(const PipesimShape *a, const PipesimShape *b)
{
	return a->ranks == b->ranks && a->chunks == b->chunks &&
	       a->microbatches == b->microbatches && a->stages == b->stages &&
	       a->copies == b->copies && a->parts == b->parts && a->sliced == b->sliced &&
	       a->exchange == b->exchange && a->group == b->group && a->pairs == b->pairs &&
	       a->offload == b->offload && a->recompute == b->recompute &&
	       a->offload_inflight == b->offload_inflight &&
	       a->offload_delta == b->offload_delta &&
	       a->offload_part.num == b->offload_part.num &&
	       a->offload_part.den == b->offload_part.den &&
	       a->max_activations.num == b->max_activations.num &&
	       a->max_activations.den == b->max_activations.den && a->placement == b->placement;
}

guint pipesim_shape_slice_group(const PipesimShape *shape)
{
	const guint slices = pipesim_shape_slices(shape);
	guint group = MIN(shape->ranks, slices);

	while (slices % group != 0)
		group++;
	return group;
}

const char *pipesim_shape_unit(const PipesimShape *shape, guint unit, PipesimNumber text)
{
	const guint slices = pipesim_shape_slices(shape);

	if (slices == 1)
		g_snprintf(text, sizeof(PipesimNumber), "%u", unit);
	else
		g_snprintf(text, sizeof(PipesimNumber), "%u.%u", unit / slices, unit % slices);
	return text;
}

guint pipesim_shape_stage(const PipesimShape *shape, guint rank, guint chunk)
{
	guint shift, down;

	switch (shape->placement) {
	case PIPESIM_LOOPED:
		return chunk * shape->ranks + rank;
	case PIPESIM_V:
	case PIPESIM_WAVE:
		return chunk * shape->ranks + (chunk % 2 == 0 ? rank : shape->ranks - 1 - rank);
	case PIPESIM_BIDIRECTIONAL:
		/* Pipeline 2i starts at rank i * PP / f of f pairs, pipeline 2i + 1 ends
		 * there. */
		shift = (guint)((guint64)(chunk / 2) * shape->ranks / (shape->chunks / 2));
		down = (rank + shape->ranks - shift) % shape->ranks;
		return chunk % 2 == 0 ? down : shape->ranks - 1 - down;
	case PIPESIM_FROM_FILE:
		break;
	}
	g_return_val_if_reached(0);
}
