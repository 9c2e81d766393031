#include "layout/choose.h"
#include "analysis/footing.h"
#include "layout/layouts.h"
#include "transformer/cutter.h"

/* "layout Et*8|t*9L, which no other beats"; @found FALSE: none was looked for. */
static char *describe(const PipesimStages *layout, gboolean found, double gap)
{
	g_autoptr(GString) words = g_string_new("layout ");
	char room[G_ASCII_DTOSTR_BUF_SIZE];

	pipesim_stages_print(layout, words);
	if (!found)
		g_string_append(words, ", balanced alone: the order follows from the times");
	else if (gap == 0)
		g_string_append(words, ", which no other beats");
	else if (gap < 1)
		g_string_append_printf(words, ", which no other beats by more than %s %%",
			g_ascii_formatd(room, sizeof room, "%.2f", ceil(1e4 * gap) / 100));
	else
		g_string_append(words, ", the best of those that were tried");
	return g_string_free(g_steal_pointer(&words), FALSE);
}

PipesimCosts *pipesim_layout_choose(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const PipesimCutter *cutter = costs->cutter;
	PipesimStages *layout = NULL;
	PipesimCosts *laid_out = NULL;
	PipesimFooting footing;
	PipesimShape shape;
	gboolean found = FALSE;
	double gap = 1;

	/* Where the vocabulary is cut over all ranks, equal layers are balanced. */
	if (cutter == NULL || !pipesim_cutter_searches(cutter) || schedule->barriers > 0)
		return NULL;
	if (pipesim_footing_init(&footing, "",
		    pipesim_schedule_stages_per_rank(schedule, scenario), scenario, costs,
		    NULL) &&
		pipesim_schedule_shape(schedule, &footing.scenario, &shape, NULL)) {
		layout = pipesim_layouts_search(
			schedule, &footing.scenario, &shape, footing.costs, G_MAXINT64, &gap);
		found = layout != NULL;
		if (!found)
			layout = pipesim_cutter_layout(cutter, shape.stages, NULL);
	}
	pipesim_costs_free(footing.own);
	if (layout != NULL) {
		char *words = describe(layout, found, gap);

		laid_out = pipesim_costs_copy(costs);
		pipesim_costs_set_cutter(laid_out, pipesim_cutter_fix(cutter, layout, words));
	}
	return laid_out;
}

void pipesim_layout_run_points(
	const PipesimSchedule *schedule, const PipesimPoint *points, guint n, PipesimRun **runs)
{
	g_autofree PipesimPoint *own = g_new(PipesimPoint, n);
	g_autofree PipesimCosts **laid_out = g_new(PipesimCosts *, n);

	for (guint i = 0; i < n; i++) {
		laid_out[i] =
			pipesim_layout_choose(schedule, points[i].scenario, points[i].costs);
		own[i] = points[i];
		if (laid_out[i] != NULL)
			own[i].costs = laid_out[i];
	}
	pipesim_run_points(schedule, own, n, runs);
	for (guint i = 0; i < n; i++)
		pipesim_costs_free(laid_out[i]);
}
