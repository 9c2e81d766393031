#include "config.h"

#include "analysis/footing.h"

/* With fewer ranks than were asked for a slow one must not be lost in silence. */
static gboolean check_slow(
	const PipesimCosts *costs, const char *name, guint ranks, GError **error)
{
	for (guint rank = ranks; costs->slow != NULL && rank < costs->n_slow; rank++)
		if (costs->slow[rank].num != costs->slow[rank].den)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"%s: rank %u is slow, but at equal stages there are ranks 0 to "
				"%u; name one of these, or compare at equal ranks",
				name, rank, ranks - 1);
	return TRUE;
}

gboolean pipesim_footing_init(PipesimFooting *footing, const char *name, guint v,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	*footing = (PipesimFooting){.scenario = *scenario, .costs = costs, .factor = 1};
	if (scenario->compare_at == PIPESIM_AT_RANKS || v == 1)
		return TRUE;
	if (scenario->ranks % v != 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: %u stages on ranks of %u each: at equal stages PP must be a "
			"multiple of %u; nearest: %u",
			name, scenario->ranks, v, v, MAX(scenario->ranks / v, 1u) * v);
	if (!check_slow(costs, name, scenario->ranks / v, error))
		return FALSE;
	footing->factor = v;
	footing->scenario.ranks /= v;
	footing->own = pipesim_costs_share(costs, v);
	footing->costs = footing->own;
	return TRUE;
}

void pipesim_footing_parts(PipesimFooting *footing, guint parts)
{
	PipesimNetwork *network;

	if (parts == 1 || footing->costs->network == NULL)
		return;
	if (footing->own == NULL)
		footing->costs = footing->own = pipesim_costs_copy(footing->costs);
	network = footing->own->network;
	network->message_bytes = (network->message_bytes + parts - 1) / parts;
	footing->own->p2p = pipesim_network_slowest_hop(network, footing->scenario.ranks);
}

void pipesim_footing_clear(PipesimFooting *footing)
{
	pipesim_costs_free(footing->own);
}

static void multiply(PipesimFraction *value, guint factor)
{
	const gint64 common = MAX(pipesim_gcd(value->num * factor, value->den), 1);

	*value = (PipesimFraction){value->num * factor / common, value->den / common};
}

void pipesim_footing_units(const PipesimFooting *footing, PipesimReport *report)
{
	multiply(&report->held.unit, footing->factor);
	if (report->published.has_activations)
		multiply(&report->published.activations, footing->factor);
}
