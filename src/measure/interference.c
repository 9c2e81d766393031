#include "measure/interference.h"

#define THOUSAND 1000

__extension__ typedef __int128 Work;

/* 1000 = as long as alone. */
static gint64 thousandths(const PipesimComponent *component)
{
	static const char *const moving[] = {"dispatch", "combine", NULL};
	const double factor = component->in_pair;

	if (!(factor > 1) || g_strv_contains(moving, component->component))
		return THOUSAND;
	return (gint64)round(MIN(factor, 1000) * THOUSAND);
}

gboolean pipesim_costs_interference(const PipesimCosts *costs, const char *what,
	PipesimFraction slowdown[PIPESIM_N_KINDS], GError **error)
{
	static const char *const wholes[] = {
		"chunk", "chunk-compute", "chunk-comm", "p2p", NULL};
	/* What components of these phases do is a part of what ops of a kind do. */
	static const char *const parts[PIPESIM_FB][4] = {
		[PIPESIM_F] = {"F"},
		[PIPESIM_I] = {"I"},
		[PIPESIM_W] = {"W"},
		[PIPESIM_B] = {"I", "W", "B"},
	};
	g_autoptr(GPtrArray) none = g_ptr_array_new();
	const GPtrArray *components = costs->components != NULL ? costs->components : none;
	gboolean measured = FALSE;
	gint64 stream = 0; /* of the compute stream of a pair; 0 = not measured */

	pipesim_each_in (const PipesimComponent, component, components)
		if (stream == 0 && strcmp(component->component, "chunk-compute") == 0 &&
			component->in_pair > 0)
			stream = thousandths(component);
	slowdown[PIPESIM_FB] = (PipesimFraction){1, 1};
	for (PipesimKind kind = 0; costs->components != NULL && kind < PIPESIM_FB; kind++) {
		/* Times of the components of the kind, alone and beside a transfer. */
		gint64 alone = 0, factor = stream;
		Work beside = 0; /* thousandths */
		gboolean inside = FALSE;

		pipesim_each_in (const PipesimComponent, component, components) {
			if (!g_strv_contains(parts[kind], component->phase) ||
				g_strv_contains(wholes, component->component))
				continue;
			alone += component->figures.median;
			beside += (Work)component->figures.median * thousandths(component);
			inside |= component->in_pair > 0;
		}
		if (inside && alone > 0)
			factor = (gint64)((beside + alone / 2) / alone);
		measured |= factor > 0;
		factor = MAX(factor, THOUSAND);
		slowdown[kind] = (PipesimFraction){factor / pipesim_gcd(factor, THOUSAND),
			THOUSAND / pipesim_gcd(factor, THOUSAND)};
	}
	return measured || pipesim_refuse(error,
				   "%s measured: the costs have no component that was measured "
				   "inside a pair; give a factor, for example 1.08",
				   what);
}
