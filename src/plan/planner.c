/* The candidates of a plan, simulating any of them, and the search for the best. */
#include "plan/planner-ways.h"

/* Ops that families keep at hand that nobody runs. */
#define MOST_OPS (4u << 20)
/* Candidates that are simulated before what they found prunes others, those whose messages wait for nothing first, or where
 * none is pruned. */
#define BLOCK      64
#define LONG_BLOCK 512
#define BIG_BLOCK  4096
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
	GArray *ways;  /* of PipesimPlanWay */
	GArray *items; /* of Item, in the order of the search */
	/* Of PipesimFamily, owned: two of each number, as asked for, and with messages that wait for nothing. */
	GPtrArray *families;
	GMutex lock;
	guint *users; /* threads that run each family */
};

/* A block of items that is simulated. */
typedef struct {
	PipesimPlanner *planner;
	Item **items;         /* by family */
	guint *first;         /* of each bundle, and behind the last */
	guint freely;         /* 1: messages wait for nothing */
	PipesimBrief *briefs; /* PIPESIM_TOGETHER of each bundle */
} Block;

typedef struct {
	const PipesimWish *wish;
	PipesimPlanner *candidates;
	PipesimPlanned *planned;
	GArray *found; /* of PipesimCandidate: those that fit, as they came */
	GArray *each; /* of PipesimCandidate: those whose stages recompute as much as each needs, that fit */
} Planner;

/* Items that are tried with recomputation stage by stage. */
typedef struct {
	Planner *planner;
	Item **items;
	PipesimCandidate *candidates; /* of each; step 0: none fits */
} Stages;

/* Candidates ----------------------------------------------------------------------------- */

/* Which candidates share an order. */
static void find_families(PipesimPlanner *planner)
{
	g_autoptr(GHashTable) numbers =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) members = g_array_new(FALSE, TRUE, sizeof(guint));
	g_autoptr(GPtrArray) example = g_ptr_array_new();

	pipesim_each (Item, item, planner->items) {
		PipesimCandidate *candidate = &item->candidate;
		const PipesimScenario scenario =
			pipesim_planner_scenario(planner->wish, candidate);
		g_autofree char *key = g_strdup_printf("%s %u %u %u %d",
			candidate->schedule->name, candidate->ranks, candidate->chunks,
			candidate->microbatches, scenario.pairs);
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
		PipesimScenario scenario = pipesim_planner_scenario(planner->wish, candidate);

		for (guint freely = 0; freely < 2; freely++) {
			g_ptr_array_add(planner->families,
				pipesim_family_new(candidate->schedule, &scenario,
					g_array_index(members, guint, i)));
			scenario.runtime = NULL;
		}
	}
	planner->users = g_new0(guint, MAX(planner->families->len, 1u));
}

PipesimPlanner *pipesim_planner_new(const PipesimWish *wish, GError **error)
{
	GArray *ways = pipesim_plan_ways(wish, error);
	g_autoptr(GError) refusal = NULL;

	if (ways == NULL)
		return NULL;
	g_autoptr(PipesimPlanner) planner = g_new0(PipesimPlanner, 1);
	planner->wish = wish;
	planner->ways = ways;
	planner->items = g_array_new(FALSE, FALSE, sizeof(Item));
	planner->families = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_family_free);
	g_mutex_init(&planner->lock);
	pipesim_each (PipesimPlanWay, way, ways) {
		pipesim_each (const PipesimCandidate, candidate, way->candidates) {
			const Item item = {.candidate = *candidate, .way = way};

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

PIPESIM_FREES(PipesimPlanner, pipesim_planner_free, planner)
{
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

/* Those of one family as they come. */
PIPESIM_COMPARE_OF(compare_families, Item, pipesim_by(family) ?: pipesim_compare(x, y))

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

static PipesimFamily *use_family(PipesimPlanner *planner, guint family)
{
	g_mutex_lock(&planner->lock);
	planner->users[family]++;
	g_mutex_unlock(&planner->lock);
	return g_ptr_array_index(planner->families, family);
}

/* What nobody runs goes, where that is much. */
static void leave_family(PipesimPlanner *planner, guint family)
{
	guint64 ops = 0;

	g_mutex_lock(&planner->lock);
	planner->users[family]--;
	for (guint i = 0; i < planner->families->len; i++)
		if (planner->users[i] == 0)
			ops += pipesim_family_ops(g_ptr_array_index(planner->families, i));
	for (guint i = 0; i < planner->families->len && ops > MOST_OPS; i++)
		if (planner->users[i] == 0)
			pipesim_family_forget(g_ptr_array_index(planner->families, i));
	g_mutex_unlock(&planner->lock);
}

/* @n of @items, all of one family, whose messages wait for nothing where @freely is 1; from several threads at once. */
static void run_bundle(PipesimPlanner *planner, Item *const *items, guint n, guint freely,
	PipesimBrief *briefs)
{
	const guint family = 2 * items[0]->family + freely;
	const PipesimCosts *costs[PIPESIM_TOGETHER];

	for (guint i = 0; i < n; i++)
		costs[i] = items[i]->way->costs;
	pipesim_family_run(use_family(planner, family), costs, n, briefs);
	leave_family(planner, family);
}

void pipesim_planner_simulate(
	PipesimPlanner *planner, guint first, guint n, PipesimBrief *briefs)
{
	Item *begin = &g_array_index(planner->items, Item, first);
	g_autofree Item **items = g_new(Item *, MAX(n, 1u));
	g_autofree guint *at = g_new(guint, n + 1);
	PipesimBrief own[PIPESIM_TOGETHER];

	for (guint i = 0; i < n; i++)
		items[i] = begin + i;
	guint bundles = find_bundles(items, n, at);
	for (guint i = 0; i < bundles; i++) {
		run_bundle(planner, &items[at[i]], at[i + 1] - at[i], 0, own);
		for (guint k = at[i]; k < at[i + 1]; k++)
			briefs[items[k] - begin] = own[k - at[i]];
	}
}

PipesimCandidate pipesim_planner_candidate(
	const PipesimPlanner *planner, guint index, const PipesimBrief *brief)
{
	const Item *item = &g_array_index(planner->items, Item, index);
	PipesimCandidate candidate = item->candidate;

	if (brief != NULL)
		pipesim_plan_take_brief(planner->wish, item->way, brief, &candidate);
	return candidate;
}

/* The search ----------------------------------------------------------------------------- */

PIPESIM_FREES(PipesimPlanned, pipesim_planned_free, planned)
{
	g_array_unref(planned->best);
	g_array_unref(planned->misses);
	g_array_unref(planned->remedies);
	g_array_unref(planned->frontier);
	g_array_unref(planned->all);
	g_free(planned);
}

/* The step from which on none is among the best, nor in a row with the last of them, ns. They are as many whatever is
 * asked for: with layouts of their own the first may be another. */
static gint64 worst(const PipesimPlanned *planned)
{
	const GArray *best = planned->best;

	const gint64 last = best->len == PIPESIM_BEST
				    ? g_array_index(best, PipesimCandidate, best->len - 1).step
				    : G_MAXINT64 / 2;

	return last + last / 100 + 1;
}

static gboolean simulate(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Block *block = data;
	const guint first = block->first[item];

	if (pipesim_plan_is_ours(block->planner->wish, item))
		run_bundle(block->planner, &block->items[first], block->first[item + 1] - first,
			block->freely, &block->briefs[item * PIPESIM_TOGETHER]);
	return TRUE;
}

PIPESIM_COMPARE(compare_bounds, Item, pipesim_by(candidate.bound))

/* Whether @candidate, which does not fit, needs hardly more than there is. */
static gboolean is_near(const PipesimWish *wish, const PipesimCandidate *candidate)
{
	return (double)candidate->memory + (double)candidate->reserve <=
	       PIPESIM_NEAR * (double)wish->memory;
}

/* @candidate, which has a step, among the best, or the near misses. */
static void enter(Planner *planner, const PipesimCandidate *candidate)
{
	if (candidate->fits) {
		pipesim_plan_insert(planner->planned->best, candidate, PIPESIM_BEST);
		g_array_append_vals(planner->found, candidate, 1);
	} else if (is_near(planner->wish, candidate)) {
		pipesim_plan_insert(planner->planned->misses, candidate, MISSES);
	}
}

static void take(Planner *planner, const PipesimCandidate *candidate)
{
	planner->planned->simulated++;
	if (candidate->step == 0)
		return;
	if (candidate->fits && planner->wish->frontier)
		pipesim_plan_add_to_frontier(planner->planned->frontier, candidate);
	enter(planner, candidate);
}

/* Whether @candidate is worth a simulation. */
static gboolean can_win(Planner *planner, const PipesimCandidate *candidate)
{
	const PipesimWish *wish = planner->wish;
	PipesimPlanned *planned = planner->planned;

	if ((wish->layouts ? candidate->mean : candidate->least) >
		pipesim_planner_limit(wish, &candidate->training, candidate->ranks)) {
		planned->too_large++;
		return FALSE;
	}
	if (candidate->bound > worst(planned) &&
		(!wish->frontier || pipesim_plan_is_beaten(planned->frontier, candidate->bound,
					    candidate->least))) {
		planned->beaten++;
		return FALSE;
	}
	return TRUE;
}

/* The same, where with messages that wait for nothing it took bound and held so much memory: its runtime takes no less of
 * both. */
static gboolean can_still_win(Planner *planner, const PipesimCandidate *candidate)
{
	const GArray *best = planner->planned->best;
	const gboolean behind =
		best->len > 0 &&
		candidate->bound > g_array_index(best, PipesimCandidate, 0).step;

	if (candidate->step > 0 && !candidate->fits &&
		(behind || !is_near(planner->wish, candidate))) {
		planner->planned->too_large++;
		return FALSE;
	}
	return can_win(planner, candidate);
}

/* All of @items, of which those of one family run side by side. */
static gboolean run_block(Planner *planner, Item **items, guint n, guint freely, GError **error)
{
	g_autofree guint *first = g_new(guint, n + 1);
	g_autofree PipesimBrief *briefs = NULL;
	const guint bundles = find_bundles(items, n, first);
	Block block = {planner->candidates, items, first, freely, NULL};
	const PipesimParallel work = {.n_items = bundles,
		.threads = planner->wish->threads,
		.run = simulate,
		.data = &block};

	block.briefs = briefs = g_new0(PipesimBrief, MAX((gsize)bundles, 1) * PIPESIM_TOGETHER);
	if (!pipesim_parallel(&work, error))
		return FALSE;
	pipesim_plan_exchange(
		planner->wish, briefs, PIPESIM_TOGETHER * sizeof *briefs, bundles);
	for (guint i = 0; i < bundles; i++)
		for (guint k = first[i]; k < first[i + 1]; k++)
			pipesim_plan_take_brief(planner->wish, items[k]->way,
				&briefs[i * PIPESIM_TOGETHER + k - first[i]],
				&items[k]->candidate);
	return TRUE;
}

/* @n of @items as they are asked for, in a block. */
static gboolean run_and_take(Planner *planner, Item **items, guint n, GError **error)
{
	g_autofree Item **sorted = g_memdup2(items, MAX(n, 1u) * sizeof *items);

	if (!run_block(planner, sorted, n, 0, error))
		return FALSE;
	for (guint i = 0; i < n; i++)
		take(planner, &items[i]->candidate);
	return TRUE;
}

/* By what balanced layers take at least: where nothing is computed again, whatever is. */
static gint64 least_step(const Item *item)
{
	return MAX(item->candidate.bound, item->candidate.step);
}
PIPESIM_COMPARE_OF(compare_least_steps, Item,
	pipesim_compare(least_step(x), least_step(y)) ?: pipesim_compare(x, y))

/* @n of @items under a runtime whose messages wait: with messages that wait for nothing first, which is many times as fast and
 * leaves few of them. */
static gboolean run_waiting(Planner *planner, Item **items, guint n, GError **error)
{
	g_autofree Item **sorted = g_memdup2(items, MAX(n, 1u) * sizeof *items);
	Item *block[BLOCK];
	guint some = 0;

	if (!run_block(planner, sorted, n, 1, error))
		return FALSE;
	for (guint i = 0; i < n; i++)
		items[i]->candidate.bound = least_step(items[i]);
	if (n > 0)
		qsort(items, n, sizeof *items, compare_least_steps);
	for (guint i = 0; i <= n; i++) {
		if (i < n && can_still_win(planner, &items[i]->candidate)) {
			block[some++] = items[i];
		} else if (i < n) {
			items[i]->candidate.step = 0;
			continue;
		}
		if (some < BLOCK / 4 && i < n)
			continue;
		for (guint k = 0; k < some; k++)
			block[k]->candidate.step = 0;
		if (!run_and_take(planner, block, some, error))
			return FALSE;
		some = 0;
	}
	return TRUE;
}

static gboolean simulate_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	/* Under any layout the balanced one is no bound. */
	const gboolean freely =
		pipesim_runtime_waits(wish->runtime) && !wish->every && !wish->layouts;
	const guint most = wish->every ? BIG_BLOCK : freely ? LONG_BLOCK : BLOCK;
	g_autofree Item **block = g_new(Item *, most);
	const GArray *items = planner->candidates->items;
	guint n = 0;

	for (guint i = 0; i <= items->len; i++) {
		const gboolean last = i == items->len;
		Item *item = last ? NULL : &g_array_index(items, Item, i);

		if (!last && (wish->every || can_win(planner, &item->candidate)))
			block[n++] = item;
		if (n < most && !last)
			continue;
		if (!(freely ? run_waiting : run_and_take)(planner, block, n, error))
			return FALSE;
		n = 0;
		if (wish->progress != NULL)
			wish->progress(i, items->len, wish->data);
	}
	return TRUE;
}

static gboolean fit_item(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Stages *stages = data;
	PipesimPlanner *candidates = stages->planner->candidates;
	const guint family = 2 * stages->items[item]->family;

	stages->candidates[item] =
		(PipesimCandidate){.schedule = stages->items[item]->candidate.schedule};
	if (!pipesim_plan_is_ours(stages->planner->wish, item))
		return TRUE;
	pipesim_plan_fit(stages->planner->wish, use_family(candidates, family),
		&stages->items[item]->candidate, &stages->candidates[item]);
	leave_family(candidates, family);
	return TRUE;
}

/* What fits only with recomputation, with as much of that as each stage needs, where nothing but the order says what ranks
 * hold and it is not a framework that runs it: they all recompute alike. With nothing computed again steps are no longer. */
static gboolean fit_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	g_autoptr(GPtrArray) items = g_ptr_array_new();
	PipesimCandidate block[LAID_OUT];
	Stages stages = {planner, NULL, block};
	PipesimParallel work = {.threads = wish->threads, .run = fit_item, .data = &stages};

	if (wish->recompute_given || wish->every || wish->offload_part.num > 0 ||
		wish->training.deepseek || pipesim_framework(wish)->runtime != NULL ||
		pipesim_runtime_waits(wish->runtime))
		return TRUE;
	pipesim_each (Item, item, planner->candidates->items) {
		const PipesimCandidate *one = &item->candidate;

		if (one->training.full || one->training.recompute != 0 ||
			(one->step > 0 && one->fits))
			continue;
		g_ptr_array_add(items, item);
	}
	g_ptr_array_sort(items, compare_least_steps);
	for (guint next = 0; next < items->len; next += (guint)work.n_items) {
		stages.items = (Item **)&items->pdata[next];
		for (work.n_items = 0;
			work.n_items < MIN(LAID_OUT, items->len - next) &&
			stages.items[work.n_items]->candidate.bound <= worst(planner->planned);)
			work.n_items++;
		if (work.n_items == 0)
			break;
		if (!pipesim_parallel(&work, error))
			return FALSE;
		pipesim_plan_exchange_found(wish, block, (guint)work.n_items);
		planner->planned->candidates += (guint)work.n_items;
		for (guint i = 0; i < work.n_items; i++) {
			take(planner, &block[i]);
			if (block[i].step > 0)
				g_array_append_val(planner->each, block[i]);
		}
	}
	return TRUE;
}

PIPESIM_COMPARE(compare_steps, PipesimCandidate, (y->fits - x->fits) ?: pipesim_by(step))

/* Adds to @all those of the shortest that recompute stage by stage that it lacks: balanced layers leave stages that
 * recompute more behind others, so that layouts make them far shorter. */
static void add_each(const Planner *planner, GArray *all)
{
	const guint n = all->len;

	g_array_sort(planner->each, compare_steps); /* stable */
	g_autoptr(GArray) rows =
		pipesim_plan_group(planner->wish, planner->each, PIPESIM_BEST, NULL);
	pipesim_each (const PipesimCandidate, row, rows) {
		const PipesimCandidate *other = (gpointer)all->data;

		if (!pipesim_any(i, n,
			    other[i].schedule == row->schedule &&
				    other[i].chunks == row->chunks &&
				    pipesim_plan_same_way(&other[i], row) &&
				    other[i].training.each == row->training.each))
			g_array_append_vals(all, row, 1);
	}
}

/* Candidates that get a layout of their own: what was found with balanced layers, or where it was asked for all. */
static GArray *to_lay_out(const Planner *planner)
{
	const PipesimPlanned *planned = planner->planned;
	g_autoptr(GArray) shortest = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	GArray *all;

	/* With a layout of its own the simplest of a row may be far behind the shortest. */
	if (!planner->wish->layouts) {
		g_array_sort(planner->found, compare_steps); /* stable */
		all = pipesim_plan_group(planner->wish, planner->found, PIPESIM_BEST, shortest);
		g_array_append_vals(all, shortest->data, shortest->len);
		g_array_append_vals(all, planned->misses->data, planned->misses->len);
		add_each(planner, all);
	} else {
		all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
		pipesim_each (const Item, item, planner->candidates->items)
			if (item->candidate.step > 0)
				g_array_append_val(all, item->candidate);
		g_array_append_vals(all, planner->each->data, planner->each->len);
	}
	g_array_sort(all, compare_steps);
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

	g_array_set_size(planner->found, 0);
	g_array_set_size(planned->best, 0);
	g_array_set_size(planned->misses, 0);
	while (next < all->len) {
		const gint64 below = worst(planned);
		guint n = 0;

		for (; next < all->len && n < LAID_OUT; next++)
			if (g_array_index(all, PipesimCandidate, next).bound < below)
				block[n++] = g_array_index(all, PipesimCandidate, next);
		if (!pipesim_plan_lay_out(wish, block, n, below, error))
			return FALSE;
		for (guint i = 0; i < n; i++) {
			if (block[i].step == 0)
				continue;
			planned->laid_out++;
			enter(planner, &block[i]);
		}
		if (wish->progress != NULL)
			wish->progress(next, all->len, wish->data);
	}
	g_array_sort(planner->found, compare_steps);
	g_array_unref(planned->best);
	planned->best = pipesim_plan_group(
		wish, planner->found, wish->most > 0 ? wish->most : PIPESIM_BEST, NULL);
	return TRUE;
}

/* @one into @best where it is the shorter of what fits with the sizes of @miss. */
static void take_remedy(
	const PipesimCandidate *miss, const PipesimCandidate *one, PipesimCandidate *best)
{
	PipesimCandidate like = *one;

	like.training.microbatch = miss->training.microbatch;
	if (one->fits && one->step > 0 && pipesim_plan_same_way(&like, miss) &&
		(best->step == 0 || one->step < best->step))
		*best = *one;
}

/* What is the shortest that fits with the sizes of @miss, with any schedule, recomputation and size of micro-batches. */
static gboolean find_remedy(
	Planner *planner, const PipesimCandidate *miss, PipesimCandidate *best, GError **error)
{
	g_autoptr(GPtrArray) tried = g_ptr_array_new();

	pipesim_each (const PipesimCandidate, one, planner->found)
		take_remedy(miss, one, best);
	pipesim_each (const PipesimCandidate, one, planner->each)
		take_remedy(miss, one, best);
	pipesim_each (Item, item, planner->candidates->items) {
		PipesimCandidate like = item->candidate;

		like.training.microbatch = miss->training.microbatch;
		take_remedy(miss, &item->candidate, best);
		if (pipesim_plan_same_way(&like, miss) &&
			(best->step == 0 || like.bound < best->step) &&
			like.least <= pipesim_planner_limit(
					      planner->wish, &like.training, like.ranks))
			g_ptr_array_add(tried, item);
	}
	if (!run_block(planner, (Item **)tried->pdata, tried->len, 0, error))
		return FALSE;
	pipesim_each_in (const Item, item, tried)
		take_remedy(miss, &item->candidate, best);
	/* As rows of the table are. */
	PipesimCandidate laid_out = *best;
	if (best->step > 0 && best->layout == NULL &&
		!pipesim_plan_lay_out(planner->wish, &laid_out, 1, best->step, error))
		return FALSE;
	take_remedy(miss, &laid_out, best);
	return TRUE;
}

/* What is not shorter than the best that fits by more than 1 %, as rows are told apart, is no near miss. */
static void drop_misses(PipesimPlanned *planned)
{
	for (guint i = planned->misses->len; i-- > 0;)
		if (planned->best->len > 0 &&
			1.01 * (double)g_array_index(planned->misses, PipesimCandidate, i)
						.step >=
				(double)g_array_index(planned->best, PipesimCandidate, 0).step)
			g_array_remove_index(planned->misses, i);
}

PipesimPlanned *pipesim_planner_run(const PipesimWish *wish, GError **error)
{
	g_autoptr(PipesimPlanner) candidates = pipesim_planner_new(wish, error);
	g_autoptr(PipesimPlanned) planned = NULL;
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	g_autoptr(GArray) each = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	Planner planner = {.wish = wish, .candidates = candidates};

	if (candidates == NULL)
		return NULL;
	planner.planned = planned = g_new0(PipesimPlanned, 1);
	planned->best = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->misses = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->remedies = g_array_new(FALSE, TRUE, sizeof(PipesimCandidate));
	planned->frontier = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->candidates = candidates->items->len;
	planned->smallest = g_array_index(candidates->items, Item, 0).candidate;
	pipesim_each (const Item, item, candidates->items)
		if (item->candidate.least < planned->smallest.least)
			planned->smallest = item->candidate;
	if (!wish->every)
		g_array_sort(candidates->items, compare_bounds); /* stable */
	planner.found = found;
	planner.each = each;
	if (!simulate_all(&planner, error) || !fit_all(&planner, error))
		return NULL;
	pipesim_each (const Item, item, candidates->items)
		if (wish->every || (wish->frontier && item->candidate.step > 0))
			g_array_append_val(planned->all, item->candidate);
	drop_misses(planned);
	if (!wish->every && !lay_out_all(&planner, error))
		return NULL;
	drop_misses(planned);
	g_array_set_size(planned->remedies, planned->misses->len);
	for (guint i = 0; i < planned->misses->len && !wish->every; i++)
		if (!find_remedy(&planner, &g_array_index(planned->misses, PipesimCandidate, i),
			    &g_array_index(planned->remedies, PipesimCandidate, i), error))
			return NULL;
	return g_steal_pointer(&planned);
}
