/* The layers of candidates over their stages. */
#include "layout/layouts.h"
#include "plan/planner-ways.h"

/* Candidates that are laid out. */
typedef struct {
	const PipesimWish *wish;
	PipesimCandidate *candidates;
	gint64 below; /* steps from here on are of no interest, ns */
} Layouts;

/* With another layout stages may need less recomputation, or more. */
static void refit(const PipesimWish *wish, PipesimFamily *family, PipesimCandidate *candidate)
{
	PipesimCandidate best = *candidate;

	if (candidate->training.each == NULL)
		return;
	best.gap = 1; /* others may recompute less */
	if (!candidate->fits)
		best.step = 0;
	pipesim_plan_fit(wish, family, candidate, &best);
	if (best.step > 0)
		*candidate = best;
}

/* The layout that is best for a candidate, in place of the balanced one; step 0 where none is of interest. Where messages
 * wait that is the best one without waits, if it is no longer with them: others take many times as long to find. */
static void lay_out_as_it_is(const Layouts *layouts, PipesimCandidate *candidate)
{
	const PipesimWish *wish = layouts->wish;
	const gboolean freely = pipesim_runtime_waits(wish->runtime) && !wish->layouts;
	PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	g_autoptr(PipesimFamily) family = pipesim_family_new(
		candidate->schedule, &scenario, candidate->training.each != NULL ? 2 : 1);
	PipesimPlanWay way = {.training = candidate->training,
		.ranks = candidate->ranks,
		.costs = pipesim_planner_balanced(
			wish, &candidate->training, candidate->ranks, NULL)};
	PipesimCandidate other = *candidate;
	PipesimBrief brief;
	PipesimShape shape;

	candidate->gap = other.gap = 1;
	if (way.costs == NULL ||
		!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		return;
	pipesim_plan_way_measure(&way, 1);
	if (freely)
		scenario.runtime = NULL;
	g_autoptr(PipesimStages) layout = pipesim_layouts_search(candidate->schedule, &scenario,
		&shape, way.costs, freely ? G_MAXINT64 : layouts->below, &other.gap);
	if (freely)
		other.gap = 1;
	else
		candidate->gap = other.gap;
	if (layout == NULL && candidate->gap == 0)
		candidate->step = 0;
	if (layout != NULL) {
		g_autoptr(GString) text = g_string_new(NULL);
		const PipesimCosts *costs = way.costs;

		pipesim_stages_print(layout, text);
		other.layout = g_intern_string(text->str);
		pipesim_costs_set_cutter(way.costs,
			pipesim_cutter_fix(way.costs->cutter, g_steal_pointer(&layout), NULL));
		pipesim_family_run(family, &costs, 1, &brief);
		pipesim_plan_take_brief(wish, &way, &brief, &other);
		refit(wish, family, &other);
		if (!freely ||
			(brief.step > 0 && (other.fits || !candidate->fits) &&
				(other.fits > candidate->fits || other.step < candidate->step)))
			*candidate = other;
	}
	pipesim_costs_free(way.costs);
}

/* The same, of a framework that computes as many first layers of each stage again with as few of these as fit then: they are
 * tried in powers of two, with balanced layers. */
static void lay_out_one(const Layouts *layouts, PipesimCandidate *candidate)
{
	const PipesimWish *wish = layouts->wish;
	const PipesimCandidate balanced = *candidate;
	const gint64 stages = (gint64)candidate->ranks * MAX(candidate->chunks, 1u);
	gint64 low = 0, high = candidate->training.first;

	lay_out_as_it_is(layouts, candidate);
	if (wish->recompute_given || pipesim_framework(wish)->eager ||
		!candidate->training.full || candidate->training.each != NULL ||
		!candidate->fits)
		return;
	if (high == 0)
		high = wish->model->layers / stages;
	while (low + 1 < high) {
		PipesimCandidate fewer = balanced;

		fewer.training.first = (low + high) / 2;
		fewer.alike = NULL;
		fewer.fits = FALSE;
		lay_out_as_it_is(layouts, &fewer);
		if (!fewer.fits) {
			low = fewer.training.first;
			continue;
		}
		high = fewer.training.first;
		if (fewer.step > 0 && fewer.step < candidate->step)
			*candidate = fewer;
	}
}

static gboolean lay_out(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Layouts *layouts = data;

	if (pipesim_plan_is_ours(layouts->wish, item))
		lay_out_one(layouts, &layouts->candidates[item]);
	return TRUE;
}

/* A text of each of @n candidates, at @offset, from the process that found it: what it points to is its own. */
static void exchange_texts(
	const PipesimWish *wish, PipesimCandidate *candidates, guint n, gsize offset)
{
	g_autofree gsize *lengths = g_new0(gsize, n + 1);
	gsize longest = 0;

	for (guint i = 0; i < n; i++) {
		const char *text = G_STRUCT_MEMBER(const char *, &candidates[i], offset);

		lengths[i] =
			pipesim_plan_is_ours(wish, i) && text != NULL ? strlen(text) + 1 : 0;
	}
	pipesim_plan_exchange(wish, lengths, sizeof *lengths, n);
	for (guint i = 0; i < n; i++)
		longest = MAX(longest, lengths[i]);
	g_autofree char *texts = g_new0(char, (gsize)n *longest + 1);
	for (guint i = 0; i < n; i++)
		if (pipesim_plan_is_ours(wish, i) && lengths[i] > 0)
			memcpy(texts + i * longest,
				G_STRUCT_MEMBER(const char *, &candidates[i], offset),
				lengths[i]);
	pipesim_plan_exchange(wish, texts, longest, n);
	for (guint i = 0; i < n; i++)
		G_STRUCT_MEMBER(const char *, &candidates[i], offset) =
			lengths[i] > 0 ? g_intern_string(texts + i * longest) : NULL;
}

void pipesim_plan_exchange_found(const PipesimWish *wish, PipesimCandidate *candidates, guint n)
{
	g_autofree PipesimCandidate *own = g_memdup2(candidates, MAX(n, 1u) * sizeof *own);

	if (wish->peers.size < 2)
		return;
	exchange_texts(wish, own, n, G_STRUCT_OFFSET(PipesimCandidate, layout));
	exchange_texts(wish, own, n, G_STRUCT_OFFSET(PipesimCandidate, training.each));
	pipesim_plan_exchange(wish, candidates, sizeof *candidates, n);
	for (guint i = 0; i < n; i++) {
		candidates[i].schedule = own[i].schedule;
		candidates[i].alike = own[i].alike;
		candidates[i].layout = own[i].layout;
		candidates[i].training.each = own[i].training.each;
	}
}

gboolean pipesim_plan_lay_out(const PipesimWish *wish, PipesimCandidate *candidates, guint n,
	gint64 below, GError **error)
{
	Layouts layouts = {wish, candidates, below};
	const PipesimParallel work = {
		.n_items = n, .threads = wish->threads, .run = lay_out, .data = &layouts};

	if (!pipesim_parallel(&work, error))
		return FALSE;
	pipesim_plan_exchange_found(wish, candidates, n);
	return TRUE;
}
