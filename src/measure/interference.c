#include "config.h"

#include "measure/interference.h"

#include <math.h>
#include <string.h>

#define THOUSAND 1000

__extension__ typedef __int128 Work;

/* Times of the components of a kind, alone and beside a transfer. */
typedef struct {
	gint64 alone;
	Work beside; /* thousandths */
	gboolean measured;
} Sums;

/* 1000 = as long as alone. */
static gint64 thousandths(const PipesimComponent *component)
{
	static const char *const moving[] = {"dispatch", "combine", NULL};
	const double factor = component->in_pair;

	if (!(factor > 1) || g_strv_contains(moving, component->component))
		return THOUSAND;
	return (gint64)round(MIN(factor, 1000) * THOUSAND);
}

static void add(Sums *sums, const PipesimComponent *component)
{
	const gint64 factor = thousandths(component);

	sums->alone += component->figures.median;
	sums->beside += (Work)component->figures.median * factor;
	sums->measured |= component->in_pair > 0;
}

/* Whether a component of @phase is a part of what ops of @kind do. */
static gboolean is_part(const char *phase, PipesimKind kind)
{
	if (kind == PIPESIM_B)
		return strcmp(phase, "I") == 0 || strcmp(phase, "W") == 0 ||
		       strcmp(phase, "B") == 0;
	return phase[0] == "FIWB"[kind] && phase[1] == '\0';
}

static Sums sum_up(const PipesimCosts *costs, PipesimKind kind)
{
	static const char *const wholes[] = {
		"chunk", "chunk-compute", "chunk-comm", "p2p", NULL};
	Sums sums = {0};

	for (guint i = 0; i < costs->components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(costs->components, i);

		if (is_part(component->phase, kind) &&
			!g_strv_contains(wholes, component->component))
			add(&sums, component);
	}
	return sums;
}

/* Of the compute stream of a pair; 0 = not measured. */
static gint64 stream(const PipesimCosts *costs)
{
	for (guint i = 0; i < costs->components->len; i++) {
		const PipesimComponent *component = g_ptr_array_index(costs->components, i);

		if (strcmp(component->component, "chunk-compute") == 0 &&
			component->in_pair > 0)
			return thousandths(component);
	}
	return 0;
}

gboolean pipesim_costs_interference(const PipesimCosts *costs, const char *what,
	PipesimFraction slowdown[PIPESIM_N_KINDS], GError **error)
{
	gboolean measured = FALSE;

	slowdown[PIPESIM_FB] = (PipesimFraction){1, 1};
	for (PipesimKind kind = 0; costs->components != NULL && kind < PIPESIM_FB; kind++) {
		const Sums sums = sum_up(costs, kind);
		gint64 factor = sums.measured && sums.alone > 0
					? (gint64)((sums.beside + sums.alone / 2) / sums.alone)
					: stream(costs);

		measured |= factor > 0;
		factor = MAX(factor, THOUSAND);
		slowdown[kind] = (PipesimFraction){factor / pipesim_gcd(factor, THOUSAND),
			THOUSAND / pipesim_gcd(factor, THOUSAND)};
	}
	return measured ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "%s measured: the costs have no component that was measured inside "
		       "a pair; give a factor, for example 1.08",
		       what);
}
