/* Steps without a barrier: what no period of an order is below. Of every rank the time from its first start to its
 * last end is part of its period, and with the optimizer all of it. */
#include "optimize/bound.h"
#include "schedule/search/span.h"

gint64 pipesim_bound_period(const PipesimInstance *x, const gint64 *between)
{
	g_autofree gint64 *spans = g_new(gint64, x->ranks);
	gint64 bound = 0;

	pipesim_span_bounds(x, spans);
	for (guint rank = 0; rank < x->ranks; rank++)
		bound = MAX(bound, spans[rank] + between[rank]);
	return bound;
}
