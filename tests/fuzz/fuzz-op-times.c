/* A file of times of single micro-batches: no crash, and what is taken adds up to the averages. */
#include "model/costs-file.h"
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimTimes) times = NULL;
	PipesimScenario scenario = {.ranks = 2};
	PipesimShape shape;
	const gboolean ok = pipesim_op_times_read(
		costs, pipesim_input_new_memory("x", (const char *)data, size), 2, &error);
	__extension__ __int128 each = 0, average = 0;

	g_assert(ok == (error == NULL));
	g_assert(ok == (costs->op_times != NULL));
	if (!ok || costs->op_times->microbatches > 1024)
		return 0;
	scenario.microbatches = costs->op_times->microbatches;
	g_assert(pipesim_shape_init(&shape, &scenario, 2, PIPESIM_LOOPED, NULL));
	g_assert(pipesim_op_times_fit(costs->op_times, &shape, NULL));
	times = pipesim_times_new(costs, &shape);
	for (guint stage = 0; stage < shape.stages; stage++) {
		average += times->stage[PIPESIM_F][stage];
		for (guint i = 0; i < scenario.microbatches; i++)
			each += times->each[((gsize)stage * scenario.microbatches + i) *
					    PIPESIM_FB];
	}
	average *= scenario.microbatches;
	/* Each time is rounded by half a ns, or by half a billionth of the average length; one that
	 * would be longer than times can be is cut there. */
	g_assert(each <= average + 4 * (gint64)scenario.microbatches + average / 100000000);
	return 0;
}
