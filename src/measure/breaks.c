#include "measure/breaks.h"

GArray *pipesim_breaks_list(const PipesimProfile *profile)
{
	GArray *breaks = g_array_new(FALSE, FALSE, sizeof(PipesimEvent));

	pipesim_each (const PipesimEvent, range, profile->events[PIPESIM_HOST_RANGES])
		if (g_str_has_prefix(range->name, "Optimizer.") ||
			g_str_has_prefix(range->name, "ProfilerStep#"))
			g_array_append_vals(breaks, range, 1);
	g_array_sort(breaks, pipesim_event_compare);
	return breaks;
}

void pipesim_breaks_pass(PipesimBetween *between, gint64 at)
{
	for (; between->next < between->breaks->len; between->next++) {
		const PipesimEvent *range =
			&g_array_index(between->breaks, PipesimEvent, between->next);
		const gboolean step = g_str_has_prefix(range->name, "ProfilerStep#");

		if (range->start > at)
			return;
		between->steps |= step;
		between->began |= step;
		/* Gradients are set to zero where a step begins. */
		if (step || g_str_has_prefix(range->name, "Optimizer.step"))
			between->after = !step && between->steps;
		if (!step)
			between->optimizer = MAX(between->optimizer, range->end);
	}
}
