/* How many layers each stage computes again: as AdaPipe asks (ASPLOS 2024, "Optimizing Pipeline Parallelism with Adaptive
 * Recomputation and Partitioning"), for layers as a whole. */
#include "plan/planner-ways.h"

/* A candidate whose stages may compute any number of layers again. */
typedef struct {
	PipesimShape shape;
	PipesimFamily *family;
	PipesimCosts *costs;
	PipesimStages *layout;
	gboolean early;
	guint *again;  /* layers of each rank that are computed again */
	gint64 *peaks; /* of ranks then */
} Fit;

static gint64 layers_of(const Fit *fit, guint rank)
{
	gint64 layers = 0;

	for (guint chunk = 0; chunk < fit->shape.chunks; chunk++)
		layers +=
			fit->layout->cut[pipesim_shape_stage(&fit->shape, rank, chunk)].layers;
	return layers;
}

/* Into the layout what each rank computes again. */
static void spread(Fit *fit)
{
	const guint chunks = fit->shape.chunks;

	for (guint rank = 0; rank < fit->shape.ranks; rank++) {
		gint64 left = fit->again[rank];

		for (guint chunk = 0; chunk < chunks; chunk++)
			fit->layout->cut[pipesim_shape_stage(&fit->shape, rank, chunk)].again =
				0;
		while (left > 0)
			for (guint chunk = 0; chunk < chunks && left > 0; chunk++) {
				PipesimCut *cut = &fit->layout->cut[pipesim_shape_stage(
					&fit->shape, rank, chunk)];
				const gint64 room = cut->layers - cut->again;
				const gint64 more =
					MIN(fit->early ? left : MIN(room, 1), MIN(room, left));

				cut->again += more;
				left -= more;
			}
	}
}

static gboolean weigh(Fit *fit)
{
	spread(fit);
	pipesim_costs_set_cutter(fit->costs,
		pipesim_cutter_fix(fit->costs->cutter, pipesim_stages_copy(fit->layout), NULL));
	return pipesim_family_peaks(fit->family, fit->costs, fit->peaks);
}

/* The fewest layers of each rank within @limit. The first one that is computed again needs room for itself, so that none may
 * be less than one; from there on each makes it less. */
static gboolean bisect(Fit *fit, gint64 limit)
{
	const guint ranks = fit->shape.ranks;
	g_autofree guint *low = g_new0(guint, ranks), *high = g_new0(guint, ranks);
	gboolean more = TRUE;

	if (!weigh(fit))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		high[rank] = fit->peaks[rank] > limit ? (guint)layers_of(fit, rank) : 0;
		low[rank] = MIN(high[rank], 1);
		fit->again[rank] = high[rank];
	}
	if (!weigh(fit))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++)
		if (fit->peaks[rank] > limit)
			return FALSE;
	while (more) {
		more = FALSE;
		for (guint rank = 0; rank < ranks; rank++) {
			fit->again[rank] = (low[rank] + high[rank]) / 2;
			more |= low[rank] < high[rank];
		}
		if (!more)
			break;
		if (!weigh(fit))
			return FALSE;
		for (guint rank = 0; rank < ranks; rank++) {
			if (fit->peaks[rank] <= limit)
				high[rank] = fit->again[rank];
			else
				low[rank] = fit->again[rank] + 1;
		}
	}
	return TRUE;
}

/* "4,3,2,1" of the layout. */
static void write_each(const Fit *fit, PipesimTraining *training)
{
	g_autoptr(GString) each = g_string_new(NULL);

	training->first = 0;
	for (guint i = 0; i < fit->layout->stages; i++) {
		const gint64 again = fit->layout->cut[i].again;

		g_string_append_printf(each, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", again);
		training->first = MAX(training->first, again);
	}
	training->full = training->first > 0;
	training->each = training->full ? g_intern_string(each->str) : NULL;
}

/* Into the training of @candidate; FALSE where none fits. */
static gboolean fit_stages(const PipesimWish *wish, PipesimFamily *family, gboolean early,
	PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	Fit fit = {.family = family, .early = early};
	gboolean ok = FALSE;

	if (!pipesim_schedule_shape(candidate->schedule, &scenario, &fit.shape, NULL) ||
		fit.shape.copies > 1)
		return FALSE;
	candidate->training.recompute = 0;
	candidate->training.full = TRUE;
	candidate->training.first = 1;
	candidate->training.each = "";
	fit.costs = pipesim_planner_costs(wish, candidate, NULL);
	if (fit.costs == NULL)
		return FALSE;
	fit.layout = pipesim_cutter_layout(fit.costs->cutter, fit.shape.stages, NULL);
	fit.again = g_new0(guint, fit.shape.ranks);
	fit.peaks = g_new0(gint64, fit.shape.ranks);
	ok = fit.layout != NULL && bisect(&fit, scenario.memory_limit);
	if (ok) {
		spread(&fit);
		write_each(&fit, &candidate->training);
	}
	pipesim_stages_free(fit.layout);
	pipesim_costs_free(fit.costs);
	g_free(fit.again);
	g_free(fit.peaks);
	return ok;
}

/* @candidate as it runs with its layout and recomputation, of @family. */
static void run_candidate(
	const PipesimWish *wish, PipesimFamily *family, PipesimCandidate *candidate)
{
	PipesimPlanWay way = {.training = candidate->training, .ranks = candidate->ranks};
	PipesimBrief brief = {0};

	candidate->step = 0;
	way.costs = pipesim_planner_costs(wish, candidate, NULL);
	if (way.costs == NULL)
		return;
	pipesim_plan_way_measure(&way, 1);
	pipesim_family_run(family, (const PipesimCosts *const *)&way.costs, 1, &brief);
	pipesim_plan_take_brief(wish, &way, &brief, candidate);
	pipesim_costs_free(way.costs);
}

void pipesim_plan_fit(const PipesimWish *wish, PipesimFamily *family,
	const PipesimCandidate *candidate, PipesimCandidate *best)
{
	for (guint early = 0; early < (candidate->chunks > 1 ? 2 : 1); early++) {
		PipesimCandidate one = *candidate;

		if (!fit_stages(wish, family, early, &one))
			continue;
		run_candidate(wish, family, &one);
		if (one.step > 0 && one.fits && (best->step == 0 || one.step < best->step))
			*best = one;
	}
}
