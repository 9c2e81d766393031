#include "analysis/footing.h"

gboolean pipesim_footing_init(PipesimFooting *footing, const char *name, guint v,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	*footing = (PipesimFooting){.scenario = *scenario, .costs = costs, .factor = 1};
	if (scenario->compare_at == PIPESIM_AT_RANKS || v == 1)
		return TRUE;
	if (scenario->ranks % v != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: %u stage%s with %u of them per rank: at equal stages PP must be a "
			"multiple of %u; nearest: %u",
			name, scenario->ranks, scenario->ranks == 1 ? "" : "s", v, v,
			MAX(scenario->ranks / v, 1u) * v);
	/* With fewer ranks than were asked for a slow one must not be lost in silence. */
	for (guint rank = scenario->ranks / v; rank < costs->n_slow; rank++)
		if (costs->slow[rank].num != costs->slow[rank].den)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"%s: rank %u is slow, but at equal stages there are ranks 0 to "
				"%u; name one of these, or compare at equal ranks",
				name, rank, scenario->ranks / v - 1);
	footing->factor = v;
	footing->scenario.ranks /= v;
	footing->scenario.compare_at = PIPESIM_AT_RANKS; /* of what it is now */
	footing->own = pipesim_costs_share(costs, v);
	footing->costs = footing->own;
	return TRUE;
}
