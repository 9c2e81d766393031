#include "config.h"

#include "analysis/family.h"
#include "analysis/layouts.h"
#include "base/parallel.h"
#include "schedule/schedule.h"
#include "sweep/planner.h"
#include <math.h>
#include <string.h>

/* Candidates that are simulated before what they found prunes others, or where none is pruned. */
#define BLOCK     64
#define BIG_BLOCK 4096
/* Candidates that are laid out before what they found rules out others. */
#define LAID_OUT 16
/* Near misses that are told. */
#define MISSES 3

/* Ops that families keep at hand from block to block. */
#define MOST_OPS (4u << 20)

/* One training on so many ranks, and all schedules at it. */
typedef struct {
	PipesimTraining training;
	guint ranks;
	PipesimCosts *costs; /* NULL: refused */
	/* Seconds of all ranks for a micro-batch: of TP's and EP's messages, of recomputation. */
	double messages, again;
	GArray *candidates; /* of PipesimCandidate */
	GError *refusal;    /* of the first that a rule refused, or NULL */
} Way;

typedef struct {
	PipesimCandidate candidate;
	const Way *way;
	PipesimFamily *family;
	guint group; /* the number of its family */
} Item;

/* What candidates of one family share. */
typedef struct {
	const PipesimSchedule *schedule;
	guint ranks, chunks, microbatches;
	guint number, members;
} Family;

/* Items of a block that run side by side. */
typedef struct {
	guint first, n; /* of Planner.sorted */
} Bundle;

/* Candidates that are laid out. */
typedef struct {
	const PipesimWish *wish;
	PipesimCandidate *candidates;
	gint64 below; /* steps from here on are of no interest, ns */
} Layouts;

typedef struct {
	const PipesimWish *wish;
	GArray *ways;        /* of Way */
	GArray *all;         /* of Item */
	GPtrArray *families; /* of PipesimFamily, owned */
	guint first, end;    /* items that are looked at */
	PipesimPlanned *planned;
	Item **sorted;   /* of a block, by family */
	Bundle *bundles; /* of a block */
} Planner;

void pipesim_planned_free(PipesimPlanned *planned)
{
	if (planned == NULL)
		return;
	g_array_unref(planned->best);
	g_array_unref(planned->misses);
	g_array_unref(planned->frontier);
	g_array_unref(planned->all);
	g_clear_error(&planned->refusal);
	g_free(planned);
}

/* Candidates ----------------------------------------------------------------------------- */

/* Bounds of @candidate at @costs: its busiest rank, and its fullest with one micro-batch. */
static gboolean bound(const PipesimWish *wish, const PipesimCosts *costs,
	PipesimCandidate *candidate, GError **error)
{
	gint64 all = 0, held = 0, busiest = 0;
	const PipesimScenario scenario = pipesim_planner_scenario(wish, candidate);
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	if (!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, error) ||
		!costs->cutter->check(costs->cutter, &shape, error))
		return FALSE;
	times = pipesim_times_new(costs, &shape);
	for (guint rank = 0; rank < shape.ranks; rank++) {
		gint64 busy = 0, bytes = 0, least = 0, tail = 0;
		guint sorts = 0;

		for (guint chunk = 0; chunk < shape.chunks; chunk++) {
			const guint stage = pipesim_shape_stage(&shape, rank, chunk);

			/* A pair is no shorter than its halves where none was measured. */
			busy += (times->stage[PIPESIM_F][stage] +
					times->stage[PIPESIM_B][stage]) *
				(gint64)pipesim_shape_per_chunk(&shape);
			bytes += times->bytes[PIPESIM_PARAMETERS][stage];
			if (times->late != NULL)
				bytes -= times->late[stage];
			tail += times->tail[stage];
			held += times->bytes[PIPESIM_PARAMETERS][stage];
			if (times->late != NULL)
				held -= times->late[stage];
			sorts |= times->sorts[stage];
			least = MAX(least, times->bytes[PIPESIM_UNTIL_INPUT][stage] +
						   times->bytes[PIPESIM_UNTIL_WEIGHT][stage] +
						   times->bytes[PIPESIM_TRANSIENT][stage]);
		}
		bytes += least + costs->cutter->fixed(costs->cutter, sorts);
		all += busy;
		busiest = MAX(busiest, busy);
		candidate->bound = MAX(candidate->bound, busy + tail);
		candidate->least = MAX(candidate->least, bytes);
	}
	/* Under any layout the busiest rank, and the fullest, has no less than the mean; of one stage each, the longest is
	 * as short as it can be. Each op may be rounded by a nanosecond. */
	if (wish->layouts) {
		if (shape.chunks > 1 || shape.copies > 1)
			busiest = all / shape.ranks;
		candidate->bound =
			MAX(busiest - 3 * (gint64)pipesim_shape_per_chunk(&shape), 0);
		candidate->mean = held / shape.ranks;
	}
	return TRUE;
}

/* The numbers of chunks that @schedule is tried with; 0 = its own alone. */
static const guint *chunks_of(const PipesimWish *wish, const PipesimSchedule *schedule)
{
	static const guint own[] = {0, G_MAXUINT}, tried[] = {2, 3, 4, 5, 6, 8, 10, G_MAXUINT};
	static guint given[] = {0, G_MAXUINT};

	if (!(schedule->takes & PIPESIM_TAKES_CHUNKS))
		return own;
	if (wish->chunks == 0)
		return tried;
	given[0] = wish->chunks;
	return given;
}

/* What of a micro-batch is no model FLOPs. */
static void measure_way(Way *way)
{
	const PipesimCutter *cutter = way->costs->cutter;
	const PipesimTransformer *model = pipesim_cutter_model(cutter);
	const PipesimRates *rates = pipesim_cutter_rates(cutter);
	g_autoptr(PipesimStages) whole = pipesim_stages_even(model, 1, NULL);
	PipesimStage stage;

	if (whole == NULL ||
		!pipesim_stage_sum(model, &way->training, &whole->cut[0], &stage, NULL))
		return;
	for (guint phase = 0; phase < 3; phase++)
		way->messages += stage.rows * rates->row[phase] +
				 stage.tensor * rates->tensor[phase] +
				 stage.collectives * rates->collective[phase] +
				 stage.exchanged * rates->exchange[phase];
	for (guint work = 0; work < PIPESIM_N_WORK; work++)
		if (rates->rate[work][0] > 0)
			way->again += stage.again[work] / rates->rate[work][0];
}

/* @fault, which it takes: the first stays. */
static void refuse(GError **refusal, GError *fault)
{
	if (*refusal == NULL)
		*refusal = fault;
	else
		g_error_free(fault);
}

/* All schedules at one training: candidates with their bounds. */
static gboolean bound_way(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Planner *planner = data;
	const PipesimWish *wish = planner->wish;
	Way *way = &g_array_index(planner->ways, Way, item);
	const PipesimTraining *training = &way->training;
	const gint64 share = training->microbatch * training->dp;

	if (!pipesim_training_check(wish->model, training, &way->refusal))
		return TRUE;
	way->costs = pipesim_planner_balanced(wish, training, way->ranks, &way->refusal);
	if (way->costs == NULL)
		return TRUE;
	measure_way(way);
	for (const PipesimSchedule *const *schedule = wish->schedules; *schedule != NULL;
		schedule++)
		for (const guint *chunks = chunks_of(wish, *schedule); *chunks != G_MAXUINT;
			chunks++) {
			PipesimCandidate candidate = {.training = *training,
				.schedule = *schedule,
				.ranks = way->ranks,
				.chunks = *chunks,
				.microbatches = (guint)(wish->batch / share)};
			GError *fault = NULL;

			/* One rank has nobody to interleave with: Megatron-LM and PyTorch refuse it. */
			if (way->ranks == 1 && *chunks != 0) {
				pipesim_fail(&fault, PIPESIM_ERROR_CONSTRAINT,
					"%s on 1 rank: chunks are for two or more; give --pp 2",
					(*schedule)->name);
				refuse(&way->refusal, fault);
				continue;
			}
			if (bound(wish, way->costs, &candidate, &fault))
				g_array_append_val(way->candidates, candidate);
			else
				refuse(&way->refusal, fault);
		}
	return TRUE;
}

static void add_way(Planner *planner, const PipesimTraining *training, guint ranks)
{
	const gint64 batch = planner->wish->batch, wanted = planner->wish->microbatches;
	const gint64 share = training->microbatch * training->dp;
	const Way way = {.training = *training,
		.ranks = ranks,
		.candidates = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate))};

	if (batch % share == 0 && batch / share <= PIPESIM_MAX_MICROBATCHES &&
		(wanted == 0 || batch / share == wanted))
		g_array_append_val(planner->ways, way);
	else
		g_array_unref(way.candidates);
}

static void clear_way(gpointer data)
{
	Way *way = data;

	pipesim_costs_free(way->costs);
	g_array_unref(way->candidates);
	g_clear_error(&way->refusal);
}

/* What may be computed again, from the least to the most. */
static void add_recomputations(Planner *planner, PipesimTraining *training, guint ranks)
{
	const PipesimTransformer *model = planner->wish->model;
	const guint some = model->experts > 0
				   ? PIPESIM_RECOMPUTE_MOE_ACT | PIPESIM_RECOMPUTE_NORM |
					     (model->kv_rank > 0 ? PIPESIM_RECOMPUTE_MLA_UP : 0)
				   : PIPESIM_RECOMPUTE_MLP;

	if (planner->wish->recompute_given) {
		add_way(planner, training, ranks);
		return;
	}
	training->recompute = 0;
	training->full = FALSE;
	add_way(planner, training, ranks);
	training->recompute = some;
	add_way(planner, training, ranks);
	training->recompute = 0;
	training->full = TRUE;
	add_way(planner, training, ranks);
	training->full = FALSE;
}

static void add_microbatches(Planner *planner, PipesimTraining *training, guint ranks)
{
	const gint64 given = planner->wish->training.microbatch;

	for (gint64 size = given > 0 ? given : 1; size <= (given > 0 ? given : 8); size *= 2) {
		training->microbatch = size;
		add_recomputations(planner, training, ranks);
	}
}

static void add_experts(Planner *planner, PipesimTraining *training, guint ranks)
{
	const PipesimWish *wish = planner->wish;
	const gint64 all = training->tp * training->cp * training->dp;
	const gint64 most = wish->model->experts > 0 ? MIN(wish->model->experts, all) : 1;
	const gint64 given = wish->training.ep;

	for (gint64 ep = given > 0 ? given : 1; ep <= (given > 0 ? given : most); ep *= 2) {
		if (given == 0 &&
			(all % ep != 0 || (most > 1 && wish->model->experts % ep != 0)))
			continue;
		training->ep = ep;
		add_microbatches(planner, training, ranks);
	}
}

static void add_all(Planner *planner)
{
	const PipesimWish *wish = planner->wish;
	const gint64 layers = wish->model->layers;

	for (gint64 tp = 1; tp <= wish->per_node; tp++) {
		PipesimTraining training = wish->training;

		if (wish->training.tp > 0 ? tp != wish->training.tp
					  : wish->per_node % tp != 0 || wish->gpus % tp != 0 ||
						    wish->model->heads % tp != 0)
			continue;
		training.tp = tp;
		training.cp = MAX(training.cp, 1);
		training.etp = MAX(training.etp, 1);
		training.sequence_parallel = tp > 1;
		for (guint ranks = 1; ranks <= MIN(wish->gpus, layers + 2); ranks++) {
			const gint64 used = tp * training.cp * ranks;

			if ((wish->ranks > 0 && ranks != wish->ranks) || wish->gpus % used != 0)
				continue;
			training.dp = wish->gpus / used;
			if (wish->training.dp > 0 && training.dp != wish->training.dp)
				continue;
			add_experts(planner, &training, ranks);
		}
	}
}

/* Simulation ----------------------------------------------------------------------------- */

/* Shares of the step that are no model FLOPs. */
static void divide_step(const Way *way, const PipesimBrief *brief, PipesimCandidate *candidate)
{
	const double ratio = (double)brief->makespan / (double)brief->step;
	const double each = (double)candidate->microbatches / candidate->ranks /
			    ((double)brief->step / 1e9);

	candidate->bubble = brief->bubble * ratio;
	candidate->after = 1 - ratio;
	candidate->messages = each * way->messages;
	candidate->again = each * way->again;
}

static void take_brief(const Way *way, const PipesimBrief *brief, PipesimCandidate *candidate)
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

static gboolean simulate(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Planner *planner = data;
	const Bundle *bundle = &planner->bundles[item];
	Item **items = &planner->sorted[bundle->first];
	const PipesimCosts *costs[PIPESIM_TOGETHER];
	PipesimBrief briefs[PIPESIM_TOGETHER];

	for (guint i = 0; i < bundle->n; i++)
		costs[i] = items[i]->way->costs;
	pipesim_family_run(items[0]->family, costs, bundle->n, briefs);
	for (guint i = 0; i < bundle->n; i++)
		take_brief(items[i]->way, &briefs[i], &items[i]->candidate);
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

static int compare_groups(gconstpointer a, gconstpointer b)
{
	const Item *x = *(const Item *const *)a, *y = *(const Item *const *)b;

	/* Those of one group as they come. */
	return x->group != y->group ? (x->group > y->group) - (x->group < y->group)
				    : (x > y) - (x < y);
}

/* All of @items, of which those of one family run side by side. */
static gboolean run_block(Planner *planner, Item **items, guint n, GError **error)
{
	g_autofree Bundle *bundles = g_new(Bundle, MAX(n, 1u));
	PipesimParallel work = {
		.threads = planner->wish->threads, .run = simulate, .data = planner};
	guint64 ops = 0;

	qsort(items, n, sizeof *items, compare_groups);
	for (guint i = 0; i < n; i++) {
		Bundle *last = work.n_items > 0 ? &bundles[work.n_items - 1] : NULL;

		if (last != NULL && last->n < PIPESIM_TOGETHER &&
			items[i - 1]->group == items[i]->group)
			last->n++;
		else
			bundles[work.n_items++] = (Bundle){i, 1};
	}
	planner->sorted = items;
	planner->bundles = bundles;
	if (!pipesim_parallel(&work, error))
		return FALSE;
	for (guint i = 0; i < planner->families->len; i++)
		ops += pipesim_family_ops(g_ptr_array_index(planner->families, i));
	for (guint i = 0; i < planner->families->len && ops > MOST_OPS; i++)
		pipesim_family_forget(g_ptr_array_index(planner->families, i));
	return TRUE;
}

static gboolean simulate_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	const guint most = wish->every ? BIG_BLOCK : BLOCK;
	g_autofree Item **block = g_new(Item *, most), **sorted = g_new(Item *, most);
	const guint end = planner->end;
	guint n = 0;

	for (guint i = planner->first; i <= end; i++) {
		const gboolean last = i == end;
		Item *item = last ? NULL : &g_array_index(planner->all, Item, i);

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
			wish->progress(i - planner->first, end - planner->first, wish->data);
	}
	return TRUE;
}

static guint hash_family(gconstpointer data)
{
	const Family *family = data;

	return g_direct_hash(family->schedule) ^ (family->ranks * 31u) ^
	       (family->chunks * 977u) ^ (family->microbatches * 65599u);
}

static gboolean equal_families(gconstpointer a, gconstpointer b)
{
	const Family *x = a, *y = b;

	return x->schedule == y->schedule && x->ranks == y->ranks && x->chunks == y->chunks &&
	       x->microbatches == y->microbatches;
}

/* Which candidates share an order. */
static void find_families(Planner *planner)
{
	g_autoptr(GHashTable) table =
		g_hash_table_new_full(hash_family, equal_families, g_free, NULL);
	g_autoptr(GPtrArray) found = g_ptr_array_new();

	for (guint i = 0; i < planner->all->len; i++) {
		Item *item = &g_array_index(planner->all, Item, i);
		const PipesimCandidate *candidate = &item->candidate;
		const Family key = {candidate->schedule, candidate->ranks, candidate->chunks,
			candidate->microbatches, found->len, 0};
		Family *family = g_hash_table_lookup(table, &key);

		if (family == NULL) {
			family = g_memdup2(&key, sizeof key);
			g_hash_table_add(table, family);
			g_ptr_array_add(found, family);
		}
		family->members++;
		item->group = family->number;
	}
	for (guint i = 0; i < found->len; i++)
		g_ptr_array_add(planner->families, NULL);
	for (guint i = 0; i < planner->all->len; i++) {
		Item *item = &g_array_index(planner->all, Item, i);
		const Family *family = g_ptr_array_index(found, item->group);
		const PipesimScenario scenario =
			pipesim_planner_scenario(planner->wish, &item->candidate);

		if (g_ptr_array_index(planner->families, item->group) == NULL)
			g_ptr_array_index(planner->families, item->group) = pipesim_family_new(
				family->schedule, &scenario, family->members);
		item->family = g_ptr_array_index(planner->families, item->group);
	}
}

/* All candidates, bounded on all cores, in the order of the ways. */
static gboolean collect(Planner *planner, GError **error)
{
	const PipesimParallel work = {.n_items = planner->ways->len,
		.threads = planner->wish->threads,
		.run = bound_way,
		.data = planner};
	PipesimPlanned *planned = planner->planned;

	if (!pipesim_parallel(&work, error))
		return FALSE;
	for (guint i = 0; i < planner->ways->len; i++) {
		Way *way = &g_array_index(planner->ways, Way, i);

		for (guint k = 0; k < way->candidates->len; k++) {
			const Item item = {.candidate = g_array_index(
						   way->candidates, PipesimCandidate, k),
				.way = way};

			if (planned->candidates++ == 0 ||
				item.candidate.least < planned->smallest.least)
				planned->smallest = item.candidate;
			g_array_append_val(planner->all, item);
		}
		if (way->refusal != NULL)
			refuse(&planned->refusal, g_steal_pointer(&way->refusal));
	}
	return TRUE;
}

/* The layout that is best for a candidate, in place of the balanced one; step 0 where none is of interest. */
static gboolean lay_out(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	const Layouts *layouts = data;
	PipesimCandidate *candidate = &layouts->candidates[item];
	const PipesimScenario scenario = pipesim_planner_scenario(layouts->wish, candidate);
	g_autoptr(PipesimFamily) family = pipesim_family_new(candidate->schedule, &scenario, 1);
	Way way = {.training = candidate->training,
		.ranks = candidate->ranks,
		.costs = pipesim_planner_balanced(
			layouts->wish, &candidate->training, candidate->ranks, NULL)};
	g_autoptr(PipesimStages) layout = NULL;
	PipesimBrief brief;
	PipesimShape shape;

	candidate->gap = 1;
	if (way.costs == NULL ||
		!pipesim_schedule_shape(candidate->schedule, &scenario, &shape, NULL))
		return TRUE;
	measure_way(&way);
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
			pipesim_cutter_fix(way.costs->cutter, g_steal_pointer(&layout)));
		pipesim_family_run(family, &costs, 1, &brief);
		take_brief(&way, &brief, candidate);
	}
	pipesim_costs_free(way.costs);
	return TRUE;
}

/* Lays out what was found, and puts it in order once more. */
static gboolean lay_out_all(const PipesimWish *wish, PipesimPlanned *planned, GError **error)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	const Layouts *layouts = NULL;
	PipesimParallel work = {.threads = wish->threads, .run = lay_out};

	g_array_append_vals(all, planned->best->data, planned->best->len);
	g_array_append_vals(all, planned->misses->data, planned->misses->len);
	layouts = &(const Layouts){wish, (PipesimCandidate *)(gpointer)all->data, G_MAXINT64};
	work.n_items = all->len;
	work.data = (gpointer)layouts;
	if (!pipesim_parallel(&work, error))
		return FALSE;
	g_array_set_size(planned->best, 0);
	g_array_set_size(planned->misses, 0);
	for (guint i = 0; i < all->len; i++) {
		const PipesimCandidate *candidate = &g_array_index(all, PipesimCandidate, i);

		insert(candidate->fits ? planned->best : planned->misses, candidate,
			candidate->fits ? PIPESIM_BEST : MISSES);
	}
	return TRUE;
}

static int compare_steps(gconstpointer a, gconstpointer b)
{
	const PipesimCandidate *x = a, *y = b;

	if (x->fits != y->fits)
		return x->fits ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* Lays out all that could be among the ten best so: those with the shortest balanced steps first, whose steps rule out
 * most others. */
static gboolean lay_out_every(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	PipesimPlanned *planned = planner->planned;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	PipesimCandidate block[LAID_OUT];
	guint next = 0;

	for (guint i = 0; i < planner->all->len; i++) {
		const PipesimCandidate *candidate =
			&g_array_index(planner->all, Item, i).candidate;

		if (candidate->step > 0)
			g_array_append_vals(all, candidate, 1);
	}
	g_array_sort(all, compare_steps); /* stable */
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
	g_autoptr(PipesimPlanned) planned = g_new0(PipesimPlanned, 1);
	g_autoptr(GArray) ways = g_array_new(FALSE, FALSE, sizeof(Way));
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Item));
	g_autoptr(GPtrArray) families =
		g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_family_free);
	Planner planner = {.wish = wish,
		.ways = ways,
		.all = all,
		.families = families,
		.planned = planned};

	planned->best = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->misses = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->frontier = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	g_array_set_clear_func(ways, clear_way);
	add_all(&planner);
	if (!collect(&planner, error))
		return NULL;
	find_families(&planner);
	planner.end = all->len;
	if (wish->every && wish->parts > 0) {
		/* At most 2^32 times 2^20. */
		planner.first = (guint)(all->len * wish->part / wish->parts);
		planner.end = (guint)(all->len * (wish->part + 1) / wish->parts);
	}
	if (!wish->every)
		g_array_sort(all, compare_bounds); /* stable */
	if (!simulate_all(&planner, error))
		return NULL;
	for (guint i = planner.first; i < planner.end; i++) {
		const PipesimCandidate *candidate = &g_array_index(all, Item, i).candidate;

		if (wish->every || (wish->frontier && candidate->step > 0))
			g_array_append_vals(planned->all, candidate, 1);
	}
	drop_misses(planned);
	if (!wish->every && !(wish->layouts ? lay_out_every(&planner, error)
					    : lay_out_all(wish, planned, error)))
		return NULL;
	drop_misses(planned);
	return g_steal_pointer(&planned);
}
