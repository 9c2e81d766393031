#include "config.h"

#include "model/parts.h"

PipesimStepCosts *pipesim_step_costs_new(void)
{
	return g_new0(PipesimStepCosts, 1);
}

PipesimStepCosts *pipesim_step_costs_copy(const PipesimStepCosts *costs)
{
	PipesimStepCosts *copy = g_memdup2(costs, sizeof *costs);

	if (copy != NULL)
		copy->part = g_memdup2(costs->part,
			(gsize)costs->n_parts * PIPESIM_N_EDGES * sizeof *costs->part);
	return copy;
}

void pipesim_step_costs_free(PipesimStepCosts *costs)
{
	if (costs == NULL)
		return;
	g_free(costs->part);
	g_free(costs);
}

void pipesim_step_costs_fill(const PipesimStepCosts *costs, PipesimTimes *times)
{
	if (costs == NULL)
		return;
	times->has_edges = TRUE;
	times->begin = costs->begin;
	for (guint edge = 0; edge < PIPESIM_N_EDGES && costs->part != NULL; edge++) {
		const PipesimParts parts = {
			&costs->part[edge], costs->n_parts, PIPESIM_N_EDGES};

		times->edge[edge] = g_new(gint64, times->stages);
		/* Gradients are those of a stage, however many parts of micro-batches there
		 * are. */
		for (guint stage = 0; stage < times->stages; stage++)
			times->edge[edge][stage] = pipesim_parts_sum(&parts, times, stage, 1);
	}
}

gboolean pipesim_costs_sustain(PipesimCosts *costs)
{
	const gboolean any = costs->power != NULL || costs->residence != NULL ||
			     costs->launch != NULL || costs->step != NULL;

	g_clear_pointer(&costs->power, pipesim_power_free);
	g_clear_pointer(&costs->residence, g_free);
	g_clear_pointer(&costs->step, pipesim_step_costs_free);
	g_clear_pointer(&costs->launch, g_free);
	costs->n_launches = 0;
	return any;
}
