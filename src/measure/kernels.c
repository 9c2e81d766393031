#include "config.h"

#include "measure/beside.h"
#include "measure/profile.h"
#include <math.h>
#include <string.h>

static gint compare_ran(gconstpointer a, gconstpointer b)
{
	const PipesimRan *x = a, *y = b;
	const gint by_name = x->name != y->name ? strcmp(x->name, y->name) : 0;

	if (by_name != 0)
		return by_name;
	return (x->phase > y->phase) - (x->phase < y->phase);
}

void pipesim_trace_add_kernels(PipesimTrace *trace, GArray *ran)
{
	g_autoptr(GArray) messages = pipesim_beside_messages(trace);
	guint end, n = 0;

	for (guint i = 0; i < ran->len; i++) {
		const PipesimRan *one = &g_array_index(ran, PipesimRan, i);

		if (pipesim_beside_covered(messages, one->start, one->start + one->took) * 20 <=
			one->took)
			g_array_index(ran, PipesimRan, n++) = *one;
	}
	g_array_set_size(ran, n);
	g_array_sort(ran, compare_ran);
	for (guint begin = 0; begin < ran->len; begin = end) {
		const PipesimRan *first = &g_array_index(ran, PipesimRan, begin);
		PipesimTraceKernel kernel = {first->name, first->phase, 0, 0};
		double sum = 0;

		for (end = begin; end < ran->len; end++) {
			const PipesimRan *other = &g_array_index(ran, PipesimRan, end);

			if (other->phase != first->phase ||
				strcmp(other->name, first->name) != 0)
				break;
			sum += (double)other->took;
		}
		kernel.n = end - begin;
		kernel.mean = llround(sum / kernel.n);
		g_array_append_val(trace->kernels, kernel);
	}
}
