/* A file of stage times: no crash, and what is taken adds up to the average over any ranks. */
#include "model/costs-file.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	const PipesimScenario scenario = {.ranks = 4, .microbatches = 1};
	PipesimShape shape;
	gint64 total = 0;
	gboolean ok = pipesim_costs_read_stages(
		costs, pipesim_input_new_memory("x", (const char *)data, size), 4, &error);

	g_assert(ok == (error == NULL));
	g_assert(ok == (costs->part != NULL));
	if (!ok)
		return 0;
	g_assert(pipesim_shape_init(&shape, &scenario, 3, PIPESIM_LOOPED, NULL));
	times = pipesim_times_new(costs, &shape);
	for (guint stage = 0; stage < shape.stages; stage++)
		total += times->stage[PIPESIM_F][stage];
	/* Each stage and the average are rounded by half a ns at most. */
	g_assert(ABS(total - 4 * costs->time[PIPESIM_F]) <= 8);
	return 0;
}
