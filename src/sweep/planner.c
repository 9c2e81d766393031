#include "config.h"

#include "base/parallel.h"
#include "schedule/schedule.h"
#include "sweep/planner.h"
#include <math.h>
#include <string.h>

/* Candidates that are simulated before what they found prunes others. */
#define BLOCK 64
/* Near misses that are told. */
#define MISSES 3

typedef struct {
	const PipesimWish *wish;
	GArray *all; /* of PipesimCandidate */
	PipesimPlanned *planned;
	PipesimCandidate *block; /* being simulated */
} Planner;

void pipesim_planned_free(PipesimPlanned *planned)
{
	if (planned == NULL)
		return;
	g_array_unref(planned->best);
	g_array_unref(planned->misses);
	g_array_unref(planned->frontier);
	g_clear_error(&planned->refusal);
	g_free(planned);
}

/* What a candidate is run at ------------------------------------------------------------ */

static PipesimRates rates_of(const PipesimWish *wish, const PipesimTraining *training)
{
	PipesimRates rates = wish->capture != NULL
				     ? *wish->capture
				     : pipesim_device_rates(wish->device, training);

	rates.reduce = (double)training->reduce;
	rates.overlap = training->overlap;
	return rates;
}

static PipesimCutter *make_cutter(const PipesimWish *wish, const PipesimTraining *training)
{
	const PipesimRates rates = rates_of(wish, training);
	PipesimCutter *cutter = pipesim_cutter_new(
		pipesim_transformer_copy(wish->model), training, NULL, &rates);

	pipesim_cutter_set_auto(cutter);
	return cutter;
}

static PipesimCosts *make_costs(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks, GError **error)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const gboolean near = wish->device != NULL && wish->gpus <= wish->per_node;
	const double bandwidth = near ? wish->device->link : PIPESIM_NETWORK;

	costs->p2p = (gint64)rint(
		(double)pipesim_stage_message(wish->model, training) / bandwidth * 1e9);
	return pipesim_cutter_take(make_cutter(wish, training), ranks, costs, error)
		       ? g_steal_pointer(&costs)
		       : NULL;
}

PipesimCosts *pipesim_planner_costs(
	const PipesimWish *wish, const PipesimCandidate *candidate, GError **error)
{
	return make_costs(wish, &candidate->training, candidate->ranks, error);
}

PipesimScenario pipesim_planner_scenario(
	const PipesimWish *wish, const PipesimCandidate *candidate)
{
	return (PipesimScenario){.ranks = candidate->ranks,
		.microbatches = candidate->microbatches,
		.chunks = candidate->chunks,
		.runtime = wish->runtime,
		.memory_limit = wish->memory,
		.keep = PIPESIM_KEEP_NOTHING,
		.seed = 1};
}

/* Candidates ----------------------------------------------------------------------------- */

/* Bounds of @candidate at @costs: its busiest rank, and its fullest with one micro-batch. */
static gboolean bound(const PipesimWish *wish, const PipesimCosts *costs,
	PipesimCandidate *candidate, GError **error)
{
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
			tail += times->tail[stage];
			sorts |= times->sorts[stage];
			least = MAX(least, times->bytes[PIPESIM_UNTIL_INPUT][stage] +
						   times->bytes[PIPESIM_UNTIL_WEIGHT][stage] +
						   times->bytes[PIPESIM_TRANSIENT][stage]);
		}
		bytes += least + costs->cutter->fixed(costs->cutter, sorts);
		candidate->bound = MAX(candidate->bound, busy + tail);
		candidate->least = MAX(candidate->least, bytes);
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

static void refuse(Planner *planner, GError *fault)
{
	if (planner->planned->refusal == NULL)
		planner->planned->refusal = fault;
	else
		g_error_free(fault);
}

/* All schedules at one training. */
static void add_schedules(Planner *planner, const PipesimTraining *training, guint ranks)
{
	const PipesimWish *wish = planner->wish;
	const gint64 share = training->microbatch * training->dp;
	g_autoptr(PipesimCosts) costs = NULL;
	GError *fault = NULL;

	if (wish->batch % share != 0 || wish->batch / share > PIPESIM_MAX_MICROBATCHES)
		return;
	if (!pipesim_training_check(wish->model, training, &fault)) {
		refuse(planner, fault);
		return;
	}
	costs = make_costs(wish, training, ranks, &fault);
	if (costs == NULL) {
		refuse(planner, fault);
		return;
	}
	for (const PipesimSchedule *const *schedule = wish->schedules; *schedule != NULL;
		schedule++)
		for (const guint *chunks = chunks_of(wish, *schedule); *chunks != G_MAXUINT;
			chunks++) {
			PipesimCandidate candidate = {.training = *training,
				.schedule = *schedule,
				.ranks = ranks,
				.chunks = *chunks,
				.microbatches = (guint)(wish->batch / share)};

			fault = NULL;
			if (bound(wish, costs, &candidate, &fault))
				g_array_append_val(planner->all, candidate);
			else
				refuse(planner, fault);
		}
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
		add_schedules(planner, training, ranks);
		return;
	}
	training->recompute = 0;
	training->full = FALSE;
	add_schedules(planner, training, ranks);
	training->recompute = some;
	add_schedules(planner, training, ranks);
	training->recompute = 0;
	training->full = TRUE;
	add_schedules(planner, training, ranks);
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
					  : wish->per_node % tp != 0 || wish->gpus % tp != 0)
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
static void divide_step(
	const PipesimWish *wish, const PipesimRun *run, PipesimCandidate *candidate)
{
	const PipesimTraining *training = &candidate->training;
	const PipesimRates rates = rates_of(wish, training);
	const double step = (double)candidate->step / 1e9;
	g_autoptr(PipesimStages) whole = pipesim_stages_even(wish->model, 1, NULL);
	const double each = (double)candidate->microbatches / candidate->ranks / step;
	PipesimStage stage;

	candidate->bubble = (double)run->report->bubble.ratio.num /
			    (double)run->report->bubble.ratio.den *
			    (double)candidate->makespan / (double)candidate->step;
	candidate->after = 1 - (double)candidate->makespan / (double)candidate->step;
	if (whole == NULL ||
		!pipesim_stage_sum(wish->model, training, &whole->cut[0], &stage, NULL))
		return;
	for (guint phase = 0; phase < 3; phase++)
		candidate->messages += each * (stage.rows * rates.row[phase] +
						      stage.tensor * rates.tensor[phase]);
	for (guint work = 0; work < PIPESIM_N_WORK; work++)
		if (rates.rate[work][0] > 0)
			candidate->again += each * stage.again[work] / rates.rate[work][0];
}

static gboolean simulate(
	gsize item, gpointer own G_GNUC_UNUSED, gpointer data, GError **error G_GNUC_UNUSED)
{
	Planner *planner = data;
	PipesimCandidate *candidate = &planner->block[item];
	const PipesimScenario scenario = pipesim_planner_scenario(planner->wish, candidate);
	g_autoptr(PipesimCosts) costs = pipesim_planner_costs(planner->wish, candidate, NULL);
	PipesimRun *run;

	if (costs == NULL)
		return TRUE;
	run = pipesim_run_schedule(candidate->schedule, &scenario, costs);
	if (run->error == NULL) {
		const PipesimReport *report = run->report;
		const PipesimMemory *memory = &report->memory;
		guint fullest = 0;

		for (guint rank = 1; rank < report->ranks; rank++)
			if (memory->peak[rank] > memory->peak[fullest])
				fullest = rank;
		candidate->makespan = report->makespan;
		candidate->step = report->training.step;
		candidate->tokens = report->training.tokens;
		candidate->mfu = report->training.mfu;
		candidate->memory = memory->max;
		candidate->fits = memory->fits;
		candidate->fullest = fullest;
		candidate->parameters = memory->parameters[fullest];
		candidate->transient = memory->transient[fullest];
		candidate->activations = memory->peak[fullest] - memory->parameters[fullest] -
					 memory->transient[fullest];
		divide_step(planner->wish, run, candidate);
	}
	pipesim_run_free(run);
	return TRUE;
}

static int compare_bounds(gconstpointer a, gconstpointer b)
{
	const PipesimCandidate *x = a, *y = b;

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

	if (candidate->least > planner->wish->memory) {
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

static gboolean simulate_all(Planner *planner, GError **error)
{
	const PipesimWish *wish = planner->wish;
	g_autofree PipesimCandidate *block = g_new(PipesimCandidate, BLOCK);
	guint n = 0;

	planner->block = block;
	for (guint i = 0; i <= planner->all->len; i++) {
		const gboolean last = i == planner->all->len;
		PipesimParallel work = {
			.threads = wish->threads, .run = simulate, .data = planner};

		if (!last &&
			can_win(planner, &g_array_index(planner->all, PipesimCandidate, i)))
			block[n++] = g_array_index(planner->all, PipesimCandidate, i);
		if (n < BLOCK && !last)
			continue;
		work.n_items = n;
		if (!pipesim_parallel(&work, error))
			return FALSE;
		for (guint k = 0; k < n; k++)
			take(planner, &block[k]);
		n = 0;
		if (wish->progress != NULL)
			wish->progress(i, planner->all->len, wish->data);
	}
	return TRUE;
}

PipesimPlanned *pipesim_planner_run(const PipesimWish *wish, GError **error)
{
	g_autoptr(PipesimPlanned) planned = g_new0(PipesimPlanned, 1);
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	Planner planner = {.wish = wish, .all = all, .planned = planned};

	planned->best = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->misses = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	planned->frontier = g_array_new(FALSE, FALSE, sizeof(PipesimCandidate));
	add_all(&planner);
	planned->candidates = all->len;
	for (guint i = 0; i < all->len; i++)
		if (i == 0 ||
			g_array_index(all, PipesimCandidate, i).least < planned->smallest.least)
			planned->smallest = g_array_index(all, PipesimCandidate, i);
	g_array_sort(all, compare_bounds); /* stable */
	if (!simulate_all(&planner, error))
		return NULL;
	/* What is slower than the best that fits is no near miss. */
	for (guint i = planned->misses->len; i-- > 0;)
		if (planned->best->len > 0 &&
			g_array_index(planned->misses, PipesimCandidate, i).step >=
				g_array_index(planned->best, PipesimCandidate, 0).step)
			g_array_remove_index(planned->misses, i);
	return g_steal_pointer(&planned);
}
