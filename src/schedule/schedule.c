#include "config.h"

#include "schedule/schedule.h"

PipesimOrder *pipesim_schedule_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, GError **error)
{
	PipesimShape made_for = *shape;
	g_autoptr(PipesimOrder) order = NULL;

	/* Before anything is allocated a rank: an order that long would be refused later, by
	 * seconds and gigabytes, or take as long without that. */
	if (shape->ranks > PIPESIM_MAX_LONG_RANKS &&
		(guint64)shape->stages * shape->microbatches > PIPESIM_MAX_OPS) {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%s: %u micro-batches on %u ranks are too many; from %u ranks on, at "
			"most %u",
			schedule->name, pipesim_shape_whole(shape), shape->ranks,
			PIPESIM_MAX_LONG_RANKS + 1,
			MAX(PIPESIM_MAX_OPS / shape->stages / pipesim_shape_parts(shape), 1u));
		return NULL;
	}
	if (schedule->padded != NULL)
		made_for.microbatches = MAX(schedule->padded(shape), shape->microbatches);
	if (schedule->plan != NULL)
		order = pipesim_order_plan(shape, schedule->plan, times, error);
	else
		order = pipesim_order_generate(&made_for, schedule->generate, error);
	if (order != NULL && made_for.microbatches > shape->microbatches) {
		PipesimOrder *trimmed = pipesim_order_trim(order, shape, error);

		pipesim_order_unref(order);
		order = trimmed;
	}
	if (order == NULL)
		g_prefix_error(error, "%s: ", schedule->name);
	return g_steal_pointer(&order);
}
