/* The candidates of a plan, and simulating any of them. */
#include "config.h"

#include "plan/planner-ways.h"
#include <string.h>

/* Ops that families keep at hand that nobody runs. */
#define MOST_OPS (4u << 20)

/* Which candidates share an order. */
static void find_families(PipesimPlanner *planner)
{
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) members = g_array_new(FALSE, TRUE, sizeof(guint));
	g_autoptr(GPtrArray) example = g_ptr_array_new();

	for (guint i = 0; i < planner->items->len; i++) {
		PipesimPlanItem *item = &g_array_index(planner->items, PipesimPlanItem, i);
		PipesimCandidate *candidate = &item->candidate;
		g_autofree char *key = g_strdup_printf("%s %u %u %u", candidate->schedule->name,
			candidate->ranks, candidate->chunks, candidate->microbatches);
		gpointer number;

		if (!g_hash_table_lookup_extended(numbers, key, NULL, &number)) {
			number = GUINT_TO_POINTER(example->len);
			g_hash_table_insert(numbers, g_steal_pointer(&key), number);
			g_ptr_array_add(example, candidate);
			g_array_set_size(members, example->len);
		}
		item->family = GPOINTER_TO_UINT(number);
		g_array_index(members, guint, item->family)++;
	}
	for (guint i = 0; i < example->len; i++) {
		const PipesimCandidate *candidate = g_ptr_array_index(example, i);
		const PipesimScenario scenario =
			pipesim_planner_scenario(planner->wish, candidate);

		g_ptr_array_add(
			planner->families, pipesim_family_new(candidate->schedule, &scenario,
						   g_array_index(members, guint, i)));
	}
	planner->users = g_new0(guint, MAX(example->len, 1u));
}

PipesimPlanner *pipesim_planner_new(const PipesimWish *wish, GError **error)
{
	GArray *ways = pipesim_plan_ways(wish, error);
	g_autoptr(PipesimPlanner) planner = NULL;
	g_autoptr(GError) refusal = NULL;

	if (ways == NULL)
		return NULL;
	planner = g_new0(PipesimPlanner, 1);
	planner->wish = wish;
	planner->ways = ways;
	planner->items = g_array_new(FALSE, FALSE, sizeof(PipesimPlanItem));
	planner->families = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_family_free);
	g_mutex_init(&planner->lock);
	for (guint i = 0; i < ways->len; i++) {
		PipesimPlanWay *way = &g_array_index(ways, PipesimPlanWay, i);

		for (guint k = 0; k < way->candidates->len; k++) {
			const PipesimPlanItem item = {
				.candidate =
					g_array_index(way->candidates, PipesimCandidate, k),
				.way = way};

			g_array_append_val(planner->items, item);
		}
		if (way->refusal != NULL)
			pipesim_plan_refuse(&refusal, g_steal_pointer(&way->refusal));
	}
	find_families(planner);
	if (planner->items->len > 0)
		return g_steal_pointer(&planner);
	if (refusal != NULL)
		g_propagate_error(error, g_steal_pointer(&refusal));
	else
		pipesim_plan_fail_to_divide(wish, error);
	return NULL;
}

void pipesim_planner_free(PipesimPlanner *planner)
{
	if (planner == NULL)
		return;
	g_array_unref(planner->items);
	g_ptr_array_unref(planner->families);
	g_array_unref(planner->ways);
	g_mutex_clear(&planner->lock);
	g_free(planner->users);
	g_free(planner);
}

guint pipesim_planner_count(const PipesimPlanner *planner)
{
	return planner->items->len;
}

/* Simulation ----------------------------------------------------------------------------- */

static int compare_families(gconstpointer a, gconstpointer b)
{
	const PipesimPlanItem *x = *(const PipesimPlanItem *const *)a;
	const PipesimPlanItem *y = *(const PipesimPlanItem *const *)b;

	/* Those of one family as they come. */
	return x->family != y->family ? (x->family > y->family) - (x->family < y->family)
				      : (x > y) - (x < y);
}

guint pipesim_planner_bundles(PipesimPlanItem **items, guint n, guint *first)
{
	guint bundles = 0;

	if (n > 0)
		qsort(items, n, sizeof(PipesimPlanItem *), compare_families);
	for (guint i = 0; i < n; i++)
		if (bundles == 0 || i - first[bundles - 1] == PIPESIM_TOGETHER ||
			items[i - 1]->family != items[i]->family)
			first[bundles++] = i;
	first[bundles] = n;
	return bundles;
}

/* Lets go of what nobody runs, where that is much. */
static void forget_unused(PipesimPlanner *planner)
{
	guint64 ops = 0;

	for (guint i = 0; i < planner->families->len; i++)
		if (planner->users[i] == 0)
			ops += pipesim_family_ops(g_ptr_array_index(planner->families, i));
	for (guint i = 0; i < planner->families->len && ops > MOST_OPS; i++)
		if (planner->users[i] == 0)
			pipesim_family_forget(g_ptr_array_index(planner->families, i));
}

void pipesim_planner_bundle(
	PipesimPlanner *planner, PipesimPlanItem *const *items, guint n, PipesimBrief *briefs)
{
	const guint family = items[0]->family;
	const PipesimCosts *costs[PIPESIM_TOGETHER];

	g_mutex_lock(&planner->lock);
	planner->users[family]++;
	g_mutex_unlock(&planner->lock);
	for (guint i = 0; i < n; i++)
		costs[i] = items[i]->way->costs;
	pipesim_family_run(g_ptr_array_index(planner->families, family), costs, n, briefs);
	g_mutex_lock(&planner->lock);
	planner->users[family]--;
	forget_unused(planner);
	g_mutex_unlock(&planner->lock);
}

void pipesim_planner_simulate(
	PipesimPlanner *planner, guint first, guint n, PipesimBrief *briefs)
{
	PipesimPlanItem *begin = &g_array_index(planner->items, PipesimPlanItem, first);
	g_autofree PipesimPlanItem **items = g_new(PipesimPlanItem *, MAX(n, 1u));
	g_autofree guint *at = g_new(guint, n + 1);
	PipesimBrief own[PIPESIM_TOGETHER];
	guint bundles;

	for (guint i = 0; i < n; i++)
		items[i] = begin + i;
	bundles = pipesim_planner_bundles(items, n, at);
	for (guint i = 0; i < bundles; i++) {
		pipesim_planner_bundle(planner, &items[at[i]], at[i + 1] - at[i], own);
		for (guint k = at[i]; k < at[i + 1]; k++)
			briefs[items[k] - begin] = own[k - at[i]];
	}
}

/* Shares of the step that are no model FLOPs. */
static void divide_step(
	const PipesimPlanWay *way, const PipesimBrief *brief, PipesimCandidate *candidate)
{
	const double ratio = (double)brief->makespan / (double)brief->step;
	const double each = (double)candidate->microbatches / candidate->ranks /
			    ((double)brief->step / 1e9);

	candidate->bubble = brief->bubble * ratio;
	candidate->after = 1 - ratio;
	candidate->messages = each * way->messages;
	candidate->again = each * way->again;
}

void pipesim_plan_take(
	const PipesimPlanWay *way, const PipesimBrief *brief, PipesimCandidate *candidate)
{
	if (brief->step == 0)
		return;
	candidate->makespan = brief->makespan;
	candidate->step = brief->step;
	candidate->tokens = brief->tokens;
	candidate->mfu = brief->mfu;
	candidate->memory = brief->memory;
	candidate->fits = brief->fits;
	candidate->fullest = brief->fullest;
	candidate->parameters = brief->parameters;
	candidate->transient = brief->transient;
	candidate->activations = brief->memory - brief->parameters - brief->transient;
	divide_step(way, brief, candidate);
}

PipesimCandidate pipesim_planner_candidate(
	const PipesimPlanner *planner, guint index, const PipesimBrief *brief)
{
	const PipesimPlanItem *item = &g_array_index(planner->items, PipesimPlanItem, index);
	PipesimCandidate candidate = item->candidate;

	if (brief != NULL)
		pipesim_plan_take(item->way, brief, &candidate);
	return candidate;
}
