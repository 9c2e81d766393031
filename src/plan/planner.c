/* The candidates of a plan, simulating any of them, and the search for the best. */
#include "config.h"

#include "base/parallel.h"
#include "layout/layouts.h"
#include "plan/planner-ways.h"
#include "schedule/schedule.h"
#include <string.h>

/* Ops that families keep at hand that nobody runs. */
#define MOST_OPS (4u << 20)
/* Candidates that are simulated before what they found prunes others, or where none is pruned. */
#define BLOCK     64
#define BIG_BLOCK 4096
/* Candidates that are laid out before what they found rules out others. */
#define LAID_OUT 16
/* Near misses that are told. */
#define MISSES 3

/* A candidate, at one of the ways. */
typedef struct {
	PipesimCandidate candidate;
	const PipesimPlanWay *way;
	guint family; /* candidates that share an order have the same number */
} Item;

/* All candidates of a plan, and what those of one family share. */
struct _PipesimPlanner {
	const PipesimWish *wish;
	GArray *ways;        /* of PipesimPlanWay */
	GArray *items;       /* of Item, in the order of the search */
	GPtrArray *families; /* of PipesimFamily, owned */
	GMutex lock;
	guint *users; /* threads that run each family */
};

/* Candidates that are laid out. */
typedef struct {
	const PipesimWish *wish;
	PipesimCandidate *candidates;
	gint64 below; /* steps from here on are of no interest, ns */
} Layouts;

/* A block of items that is simulated. */
typedef struct {
	PipesimPlanner *planner;
	Item **items;         /* by family */
	guint *first;         /* of each bundle, and behind the last */
	PipesimBrief *briefs; /* PIPESIM_TOGETHER of each bundle */
} Block;

typedef struct {
	const PipesimWish *wish;
	PipesimPlanner *candidates;
	PipesimPlanned *planned;
} Planner;

/* Candidates ----------------------------------------------------------------------------- */

/* Which candidates share an order. */
static void find_families(PipesimPlanner *planner)
{
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) members = g_array_new(FALSE, TRUE, sizeof(guint));
	g_autoptr(GPtrArray) example = g_ptr_array_new();

	for (guint i = 0; i < planner->items->len; i++) {
		Item *item = &g_array_index(planner->items, Item, i);
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
	planner->items = g_array_new(FALSE, FALSE, sizeof(Item));
	planner->families = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_family_free);
	g_mutex_init(&planner->lock);
	for (guint i = 0; i < ways->len; i++) {
		PipesimPlanWay *way = &g_array_index(ways, PipesimPlanWay, i);

		for (guint k = 0; k < way->candidates->len; k++) {
			const Item item = {.candidate = g_array_index(
						   way->candidates, PipesimCandidate, k),
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
	const Item *x = *(const Item *const *)a;
	const Item *y = *(const Item *const *)b;

	/* Those of one family as they come. */
	return x->family != y->family ? (x->family > y->family) - (x->family < y->family)
				      : (x > y) - (x < y);
}

/* Into @first the first of each bundle of at most PIPESIM_TOGETHER of one family, by which it sorts
 * @items; @n + 1 numbers at most. Returns how many there are. */
static guint find_bundles(Item **items, guint n, guint *first)
{
	guint bundles = 0;

	if (n > 0)
		qsort(items, n, sizeof(Item *), compare_families);
	for (guint i = 0; i < n; i++)
		if (bundles == 0 || i - first[bundles - 1] == PIPESIM_TOGETHER ||
			items[i - 1]->family != items[i]->family)
			first[bundles++] = i;
	first[bundles] = n;
	return bundles;
}

/* @n of @items, all of one family; from several threads at once. */
static void run_bundle(
	PipesimPlanner *planner, Item *const *items, guint n, PipesimBrief *briefs)
{
	const guint family = items[0]->family;
	const PipesimCosts *costs[PIPESIM_TOGETHER];
	guint64 ops = 0;

	g_mutex_lock(&planner->lock);
	planner->users[family]++;
	g_mutex_unlock(&planner->lock);
	for (guint i = 0; i < n; i++)
		costs[i] = items[i]->way->costs;
	pipesim_family_run(g_ptr_array_index(planner->families, family), costs, n, briefs);
	g_mutex_lock(&planner->lock);
	planner->users[family]--;
	/* What nobody runs goes, where that is much. */
	for (guint i = 0; i < planner->families->len; i++)
		if (planner->users[i] == 0)
			ops += pipesim_family_ops(g_ptr_array_index(planner->families, i));
	for (guint i = 0; i < planner->families->len && ops > MOST_OPS; i++)
		if (planner->users[i] == 0)
			pipesim_family_forget(g_ptr_array_index(planner->families, i));
	g_mutex_unlock(&planner->lock);
}

void pipesim_planner_simulate(
	PipesimPlanner *planner, guint first, guint n, PipesimBrief *briefs)
{
	Item *begin = &g_array_index(planner->items, Item, first);
	g_autofree Item **items = g_new(Item *, MAX(n, 1u));
	g_autofree guint *at = g_new(guint, n + 1);
	PipesimBrief own[PIPESIM_TOGETHER];
	guint bundles;

	for (guint i = 0; i < n; i++)
		items[i] = begin + i;
	bundles = find_bundles(items, n, at);
	for (guint i = 0; i < bundles; i++) {
		run_bundle(planner, &items[at[i]], at[i + 1] - at[i], own);
		for (guint k = at[i]; k < at[i + 1]; k++)
			briefs[items[k] - begin] = own[k - at[i]];
	}
}

/* What @brief says of @candidate at @way; nothing where it did not run. */
static void take_brief(
	const PipesimPlanWay *way, const PipesimBrief *brief, PipesimCandidate *candidate)
{
	const double step = (double)MAX(brief->step, 1), ratio = (double)brief->makespan / step;
	const double each = (double)candidate->microbatches / candidate->ranks / (step / 1e9);

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
	/* Shares of the step that are no model FLOPs. */
	candidate->bubble = brief->bubble * ratio;
	candidate->after = 1 - ratio;
	candidate->messages = each * way->messages;
	candidate->again = each * way->again;
}

PipesimCandidate pipesim_planner_candidate(
	const PipesimPlanner *planner, guint index, const PipesimBrief *brief)
{
	const Item *item = &g_array_index(planner->items, Item, index);
	PipesimCandidate candidate = item->candidate;

	if (brief != NULL)
		take_brief(item->way, brief, &candidate);
	return candidate;
}

/* The search ----------------------------------------------------------------------------- */

void pipesim_planned_free(PipesimPlanned *planned)
{
	if (planned == NULL)
		return;
	g_array_unref(planned->best);
	g_array_unref(planned->misses);
	g_array_unref(planned->frontier);
	g_array_unref(planned->all);
	g_free(planned);
}

/* Whether this process is to do number @item of what all share. */
static gboolean is_ours(const PipesimWish *wish, gsize item)
{
	return wish->peers.size < 2 || item % wish->peers.size == wish->peers.rank;
}

static void exchange(const PipesimWish *wish, gpointer results, gsize each, gsize n)
{
	if (wish->peers.size > 1)
		wish->peers.exchange(results, each, n);
}

static gboolean simulate(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Block *block = data;
	const guint first = block->first[item];

	if (is_ours(block->planner->wish, item))
		run_bundle(block->planner, &block->items[first], block->first[item + 1] - first,
			&block->briefs[item * PIPESIM_TOGETHER]);
	return TRUE;
}

static int compare_bounds(gconstpointer a, gconstpointer b)
{
	const PipesimCandidate *x = &((const Item *)a)->candidate;
	const PipesimCandidate *y = &((const Item *)b)->candidate;

	return (x->bound > y->bound) - (x->bound < y->bound);
}

/* Into @list, by step, of which @most are kept; of equals that with less memory, then the first. */
static void insert(GArray *list, const PipesimCandidate *candidate, guint most)
{
	guint at = 0;

	for (; at < list->len; at++) {
		const PipesimCandidate *other = &g_array_index(list, PipesimCandidate, at);

		if (other->step > candidate->step ||
			(other->step == candidate->step && other->memory > candidate->memory))
			break;
	}
	if (at >= most)
		return;
	g_array_insert_val(list, at, *candidate);
	if (list->len > most)
		g_array_set_size(list, most);
}

/* Whether one of the frontier has no longer a step than @step and no more memory than @memory. */
static gboolean is_beaten(const GArray *frontier, gint64 step, gint64 memory)
{
	for (guint i = 0; i < frontier->len; i++) {
		const PipesimCandidate *other = &g_array_index(frontier, PipesimCandidate, i);

		if (other->step <= step && other->memory <= memory)
			return TRUE;
	}
	return FALSE;
}

static void add_to_frontier(GArray *frontier, const PipesimCandidate *candidate)
{
	guint at = 0;

	if (is_beaten(frontier, candidate->step, candidate->memory))
		return;
	for (guint i = frontier->len; i-- > 0;) {
		const PipesimCandidate *other = &g_array_index(frontier, PipesimCandidate, i);

		if (other->step >= candidate->step && other->memory >= candidate->memory)
			g_array_remove_index(frontier, i);
	}
	while (at < frontier->len &&
		g_array_index(frontier, PipesimCandidate, at).step < candidate->step)
		at++;
	g_array_insert_val(frontier, at, *candidate);
}

static void take(Planner *planner, const PipesimCandidate *candidate)
{
	PipesimPlanned *planned = planner->planned;

	planned->simulated++;
	if (candidate->step == 0)
		return;
	if (candidate->fits && planner->wish->frontier)
		add_to_frontier(planned->frontier, candidate);
	if (candidate->fits)
		insert(planned->best, candidate, PIPESIM_BEST);
	else
		insert(planned->misses, candidate, MISSES);
}

/* Whether @candidate is worth a simulation. */
static gboolean can_win(Planner *planner, const PipesimCandidate *candidate)
{
	PipesimPlanned *planned = planner->planned;
	const GArray *best = planned->best;

	if ((planner->wish->layouts ? candidate->mean : candidate->least) >
		planner->wish->memory) {
		planned->too_large++;
		return FALSE;
	}
	if (best->len == PIPESIM_BEST &&
		candidate->bound >
			g_array_index(best, PipesimCandidate, PIPESIM_BEST - 1).step &&
		(!planner->wish->frontier ||
			is_beaten(planned->frontier, candidate->bound, candidate->least))) {
		planned->beaten++;
		return FALSE;
	}
	return TRUE;
}

/* All of @items, of which those of one family run side by side. */
static gboolean run_block(Planner *planner, Item **items, guint n, GError **error)
{
	g_autofree guint *first = g_new(guint, n + 1);
	g_autofree PipesimBrief *briefs = NULL;
	const guint bundles = find_bundles(items, n, first);
	Block block = {planner->candidates, items, first, NULL};
	const PipesimParallel work = {.n_items = bundles,
		.threads = planner->wish->threads,
		.run = simulate,
		.data = &block};

	block.briefs = briefs = g_new0(PipesimBrief, MAX((gsize)bundles, 1) * PIPESIM_TOGETHER);
	if (!pipesim_parallel(&work, error))
		return FALSE;
	exchange(planner->wish, briefs, PIPESIM_TOGETHER * sizeof *briefs, bundles);
	for (guint i = 0; i < bundles; i++)
		for (guint k = first[i]; k < first[i + 1]; k++)
			take_brief(items[k]->way, &briefs[i * PIPESIM_TOGETHER + k - first[i]],
				&items[k]->candidate);
	return TRUE;
}

static gboolean simulate_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	const guint most = wish->every ? BIG_BLOCK : BLOCK;
	g_autofree Item **block = g_new(Item *, most);
	g_autofree Item **sorted = g_new(Item *, most);
	const GArray *items = planner->candidates->items;
	guint n = 0;

	for (guint i = 0; i <= items->len; i++) {
		const gboolean last = i == items->len;
		Item *item = last ? NULL : &g_array_index(items, Item, i);

		if (!last && (wish->every || can_win(planner, &item->candidate)))
			block[n++] = item;
		if (n < most && !last)
			continue;
		memcpy(sorted, block, n * sizeof *sorted);
		if (!run_block(planner, sorted, n, error))
			return FALSE;
		for (guint k = 0; k < n; k++)
			take(planner, &block[k]->candidate);
		n = 0;
		if (wish->progress != NULL)
			wish->progress(i, items->len, wish->data);
	}
	return TRUE;
}

/* The layout that is best for a candidate, in place of the balanced one; step 0 where none is of interest. */
static void lay_out_one(const Layouts *layouts, PipesimCandidate *candidate)
{
	const PipesimScenario scenario = pipesim_planner_scenario(layouts->wish, candidate);
	g_autoptr(PipesimFamily) family = pipesim_family_new(candidate->schedule, &scenario, 1);
	PipesimPlanWay way = {.training = candidate->training,
		.ranks = candidate->ranks,
		.costs = pipesim_planner_balanced(
			layouts->wish, &candidate->training, candidate->ranks, NULL)};
	g_autoptr(PipesimStages) layout = NULL;
	PipesimBrief brief;
	PipesimShape shape;

	candidate->gap = 1;
	if (way.costs == NULL ||
		!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		return;
	pipesim_plan_way_measure(&way);
	layout = pipesim_layouts_search(candidate->schedule, &scenario, &shape, way.costs,
		layouts->below, &candidate->gap);
	if (layout == NULL && candidate->gap == 0)
		candidate->step = 0;
	if (layout != NULL) {
		g_autoptr(GString) text = g_string_new(NULL);
		const PipesimCosts *costs = way.costs;

		pipesim_stages_print(layout, text);
		candidate->layout = g_intern_string(text->str);
		pipesim_costs_set_cutter(way.costs,
			pipesim_cutter_fix(way.costs->cutter, g_steal_pointer(&layout), NULL));
		pipesim_family_run(family, &costs, 1, &brief);
		take_brief(&way, &brief, candidate);
	}
	pipesim_costs_free(way.costs);
}

static gboolean lay_out(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Layouts *layouts = data;

	if (is_ours(layouts->wish, item))
		lay_out_one(layouts, &layouts->candidates[item]);
	return TRUE;
}

/* What other processes found; what candidates point to is of each of them. */
static void exchange_layouts(const Layouts *layouts, guint n)
{
	PipesimCandidate *candidates = layouts->candidates;
	g_autofree const PipesimSchedule **schedules = g_new(const PipesimSchedule *, n + 1);
	g_autofree gsize *lengths = g_new0(gsize, n + 1);
	g_autofree char *texts = NULL;
	gsize longest = 0;

	if (layouts->wish->peers.size < 2)
		return;
	for (guint i = 0; i < n; i++) {
		schedules[i] = candidates[i].schedule;
		if (is_ours(layouts->wish, i) && candidates[i].layout != NULL)
			lengths[i] = strlen(candidates[i].layout) + 1;
	}
	exchange(layouts->wish, lengths, sizeof *lengths, n);
	for (guint i = 0; i < n; i++)
		longest = MAX(longest, lengths[i]);
	texts = g_new0(char, (gsize)n *longest + 1);
	for (guint i = 0; i < n; i++)
		if (is_ours(layouts->wish, i) && lengths[i] > 0)
			memcpy(texts + i * longest, candidates[i].layout, lengths[i]);
	exchange(layouts->wish, texts, longest, n);
	exchange(layouts->wish, candidates, sizeof *candidates, n);
	for (guint i = 0; i < n; i++) {
		candidates[i].schedule = schedules[i];
		candidates[i].layout =
			lengths[i] > 0 ? g_intern_string(texts + i * longest) : NULL;
	}
}

static int compare_steps(gconstpointer a, gconstpointer b)
{
	const PipesimCandidate *x = a, *y = b;

	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Candidates that get a layout of their own: what was found with balanced layers, or where it was asked for all. */
static GArray *to_lay_out(const Planner *planner)
{
	const PipesimPlanned *planned = planner->planned;
	const GArray *items = planner->candidates->items;
	GArray *all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));

	if (!planner->wish->layouts) {
		g_array_append_vals(all, planned->best->data, planned->best->len);
		g_array_append_vals(all, planned->misses->data, planned->misses->len);
	}
	for (guint i = 0; i < items->len && planner->wish->layouts; i++)
		if (g_array_index(items, Item, i).candidate.step > 0)
			g_array_append_val(all, g_array_index(items, Item, i).candidate);
	g_array_sort(all, compare_steps); /* stable */
	return all;
}

/* Lays out all that could be among the ten best so: those with the shortest balanced steps first, whose steps rule out
 * most others. */
static gboolean lay_out_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	PipesimPlanned *planned = planner->planned;
	g_autoptr(GArray) all = to_lay_out(planner);
	PipesimCandidate block[LAID_OUT];
	guint next = 0;

	g_array_set_size(planned->best, 0);
	g_array_set_size(planned->misses, 0);
	while (next < all->len) {
		const gboolean full = planned->best->len == PIPESIM_BEST;
		Layouts layouts = {wish, block,
			full ? g_array_index(planned->best, PipesimCandidate, PIPESIM_BEST - 1)
					.step
			     : G_MAXINT64};
		PipesimParallel work = {
			.threads = wish->threads, .run = lay_out, .data = &layouts};

		for (; next < all->len && work.n_items < LAID_OUT; next++)
			if (g_array_index(all, PipesimCandidate, next).bound < layouts.below)
				block[work.n_items++] =
					g_array_index(all, PipesimCandidate, next);
		if (!pipesim_parallel(&work, error))
			return FALSE;
		exchange_layouts(&layouts, (guint)work.n_items);
		for (guint i = 0; i < work.n_items; i++) {
			if (block[i].step == 0)
				continue;
			planned->laid_out++;
			insert(block[i].fits ? planned->best : planned->misses, &block[i],
				block[i].fits ? PIPESIM_BEST : MISSES);
		}
		if (wish->progress != NULL)
			wish->progress(next, all->len, wish->data);
	}
	return TRUE;
}

/* What is slower than the best that fits is no near miss. */
static void drop_misses(PipesimPlanned *planned)
{
	for (guint i = planned->misses->len; i-- > 0;)
		if (planned->best->len > 0 &&
			g_array_index(planned->misses, PipesimCandidate, i).step >=
				g_array_index(planned->best, PipesimCandidate, 0).step)
			g_array_remove_index(planned->misses, i);
}

PipesimPlanned *pipesim_planner_run(const PipesimWish *wish, GError **error)
{
	g_autoptr(PipesimPlanner) candidates = pipesim_planner_new(wish, error);
	g_autoptr(PipesimPlanned) planned = NULL;
	Planner planner = {.wish = wish, .candidates = candidates};

	if (candidates == NULL)
		return NULL;
	planner.planned = planned = g_new0(PipesimPlanned, 1);
	planned->best = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->misses = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->frontier = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->candidates = candidates->items->len;
	for (guint i = 0; i < candidates->items->len; i++) {
		const PipesimCandidate *candidate =
			&g_array_index(candidates->items, Item, i).candidate;

		if (i == 0 || candidate->least < planned->smallest.least)
			planned->smallest = *candidate;
	}
	if (!wish->every)
		g_array_sort(candidates->items, compare_bounds); /* stable */
	if (!simulate_all(&planner, error))
		return NULL;
	for (guint i = 0; i < candidates->items->len; i++) {
		const PipesimCandidate *candidate =
			&g_array_index(candidates->items, Item, i).candidate;

		if (wish->every || (wish->frontier && candidate->step > 0))
			g_array_append_vals(planned->all, candidate, 1);
	}
	drop_misses(planned);
	if (!wish->every && !lay_out_all(&planner, error))
		return NULL;
	drop_misses(planned);
	return g_steal_pointer(&planned);
}
