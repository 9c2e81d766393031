#include "config.h"

#include "analysis/family.h"
#include "analysis/layouts.h"
#include "transformer/cutter.h"
#include <math.h>
#include <string.h>

/* Layouts that are simulated at most, and ops of all of them together, run side by side or one by one. */
#define MOST_RUNS        4096
#define MOST_OPS         (G_GUINT64_CONSTANT(1) << 26)
#define MOST_OPS_WAITING (G_GUINT64_CONSTANT(1) << 21)
/* Beginnings of layouts that are looked at. */
#define MOST_NODES 500000
/* Layouts that are simulated at a time. */
#define BATCH 64
/* Stages up to which an item may move from any to any other. */
#define MOST_FREE 16

typedef struct _Search {
	const PipesimShape *shape;
	const PipesimCosts *costs;
	const PipesimTransformer *model;
	PipesimFamily *family;
	guint n, stages;
	double *weight; /* of items, ns */
	guint *waiting; /* BATCH layouts that are to be simulated, each the ends of its stages */
	guint n_waiting;
	guint64 left, nodes; /* what may still be run, and looked at */
	guint *best;         /* ends */
	PipesimBrief brief;  /* of it; makespan 0: none ran yet */
	/* Of the walk over all: what is done with each, ends so far, busy time by rank and what that may be, ns;
	 * ranks of each stage; micro-batches that a stage sees. */
	gboolean (*take)(struct _Search *s);
	guint *ends;
	double *busy, limit, each;
	guint *rank_of;
	guint64 leaves;
} Search;

static gint64 length(const PipesimBrief *brief)
{
	return brief->step > 0 ? brief->step : brief->makespan;
}

static gboolean is_better(const PipesimBrief *a, const PipesimBrief *b)
{
	if (a->makespan == 0 || b->makespan == 0)
		return a->makespan > 0;
	if (a->fits != b->fits)
		return a->fits;
	if (a->fits && length(a) != length(b))
		return length(a) < length(b);
	return a->memory != b->memory ? a->memory < b->memory : length(a) < length(b);
}

/* Simulates what waits; returns whether one is better. */
static gboolean run_waiting(Search *s)
{
	PipesimCosts *costs[BATCH];
	PipesimBrief briefs[BATCH];
	gboolean better = FALSE;

	for (guint i = 0; i < s->n_waiting; i++) {
		PipesimStages *layout = pipesim_stages_of_items(
			s->model, &s->waiting[(gsize)i * s->stages], s->stages);

		costs[i] = pipesim_costs_copy(s->costs);
		pipesim_costs_set_cutter(
			costs[i], pipesim_cutter_fix(s->costs->cutter, layout));
	}
	for (guint i = 0; i < s->n_waiting; i += PIPESIM_TOGETHER)
		pipesim_family_run(s->family, (const PipesimCosts *const *)&costs[i],
			MIN(s->n_waiting - i, PIPESIM_TOGETHER), &briefs[i]);
	for (guint i = 0; i < s->n_waiting; i++) {
		if (is_better(&briefs[i], &s->brief)) {
			s->brief = briefs[i];
			memcpy(s->best, &s->waiting[(gsize)i * s->stages],
				s->stages * sizeof *s->best);
			better = TRUE;
		}
		pipesim_costs_free(costs[i]);
	}
	s->n_waiting = 0;
	return better;
}

/* FALSE where no more may be run. */
static gboolean ask(Search *s, const guint *ends, gboolean *better)
{
	if (s->left == 0)
		return FALSE;
	s->left--;
	memcpy(&s->waiting[(gsize)s->n_waiting++ * s->stages], ends,
		s->stages * sizeof *s->waiting);
	if (s->n_waiting == BATCH)
		*better |= run_waiting(s);
	return TRUE;
}

/* One item from stage @from to stage @to, by way of those between; FALSE where that leaves one empty. */
static gboolean move(Search *s, guint from, guint to)
{
	const guint first = MIN(from, to), last = MAX(from, to);

	memcpy(s->ends, s->best, s->stages * sizeof *s->ends);
	for (guint stage = first; stage < last; stage++)
		s->ends[stage] += from > to ? 1 : -1u;
	for (guint stage = 0; stage < s->stages; stage++)
		if (s->ends[stage] <= (stage > 0 ? s->ends[stage - 1] : 0))
			return FALSE;
	return s->ends[s->stages - 1] == s->n;
}

/* To the best of the neighbours, until none is better. */
static void climb(Search *s)
{
	gboolean better = TRUE, more = TRUE;

	while (better && more) {
		better = FALSE;
		for (guint from = 0; from < s->stages && more; from++)
			for (guint to = 0; to < s->stages && more; to++)
				if (from != to &&
					(s->stages <= MOST_FREE ||
						ABS((int)from - (int)to) == 1) &&
					move(s, from, to))
					more = ask(s, s->ends, &better);
		better |= run_waiting(s);
	}
}

/* The ranks of stage @stage are busy for @ns more; whether one of them for longer than the best step. */
static gboolean occupy(Search *s, guint stage, double ns)
{
	const guint copies = s->shape->copies;
	gboolean longer = FALSE;

	for (guint i = 0; i < copies; i++) {
		double *busy = &s->busy[s->rank_of[(gsize)stage * copies + i]];

		*busy += ns;
		longer |= *busy > s->limit;
	}
	return longer;
}

/* Every layout from stage @stage on, which begins at item @begin, but for those with a rank that is busy for longer
 * than the best step. FALSE where they are too many. */
static gboolean walk(Search *s, guint stage, guint begin)
{
	const guint after = s->stages - 1 - stage;
	gboolean more = TRUE, longer = FALSE;
	double own = 0;

	if (s->nodes == 0)
		return FALSE;
	s->nodes--;
	for (guint end = begin; end < s->n - after && more && !longer;) {
		own += s->weight[end++] * s->each;
		if (after == 0 && end < s->n)
			continue;
		s->ends[stage] = end;
		longer = occupy(s, stage, own);
		if (!longer)
			more = after == 0 ? s->take(s) : walk(s, stage + 1, end);
		occupy(s, stage, -own);
	}
	return more;
}

static gboolean count_leaf(Search *s)
{
	return ++s->leaves <= s->left;
}

static gboolean ask_leaf(Search *s)
{
	gboolean better = FALSE;

	return ask(s, s->ends, &better);
}

/* All that could be better, unless they are too many. */
static gboolean walk_all(Search *s)
{
	/* Each op may be rounded up by a nanosecond. */
	s->limit = s->brief.fits ? (double)length(&s->brief) + 3 * s->each : (double)INFINITY;
	s->take = count_leaf;
	if (!walk(s, 0, 0))
		return FALSE;
	s->nodes = MOST_NODES;
	s->take = ask_leaf;
	return walk(s, 0, 0);
}

static char *make_key(const PipesimSchedule *schedule, const PipesimScenario *scenario,
	const PipesimShape *shape, const PipesimCosts *costs)
{
	return g_strdup_printf("%s %u %u %u %u %s %" G_GINT64_FORMAT " %" G_GINT64_FORMAT,
		schedule->name, shape->ranks, shape->chunks, shape->microbatches, shape->group,
		scenario->runtime != NULL ? scenario->runtime->name : "",
		scenario->memory_limit, costs->p2p);
}

static void init(Search *s, const PipesimStages *begin)
{
	const double *weights = pipesim_cutter_weights(s->costs->cutter);

	s->weight = g_new(double, s->n);
	s->waiting = g_new(guint, (gsize)BATCH * s->stages);
	s->best = g_new(guint, s->stages);
	s->ends = g_new(guint, s->stages);
	s->busy = g_new0(double, s->shape->ranks);
	s->each = (double)pipesim_shape_per_chunk(s->shape) / pipesim_shape_parts(s->shape);
	s->rank_of = g_new0(guint, (gsize)s->stages * s->shape->copies);
	for (guint rank = 0; rank < s->shape->ranks; rank++)
		for (guint chunk = 0; chunk < s->shape->chunks; chunk++) {
			const guint stage = pipesim_shape_stage(s->shape, rank, chunk);
			const guint i = s->shape->copies > 1 ? chunk : 0;

			s->rank_of[(gsize)stage * s->shape->copies + i] = rank;
		}
	for (guint i = 0; i < s->n; i++) {
		const PipesimPart part = pipesim_stages_item(s->model, i);

		s->weight[i] =
			weights[part] * (part == PIPESIM_PART_MTP ? (double)s->model->mtp : 1);
	}
	for (guint stage = 0, item = 0; stage < s->stages; stage++) {
		const PipesimCut *cut = &begin->cut[stage];

		item += (guint)(cut->embedding + cut->layers + (cut->mtp > 0) + cut->head);
		s->ends[stage] = item;
	}
}

static void clear(Search *s)
{
	g_free(s->weight);
	g_free(s->waiting);
	g_free(s->best);
	g_free(s->ends);
	g_free(s->busy);
	g_free(s->rank_of);
	pipesim_family_free(s->family);
}

PipesimStages *pipesim_layouts_search(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimShape *shape, const PipesimCosts *costs,
	gboolean *exact)
{
	g_autofree char *key = make_key(schedule, scenario, shape, costs);
	g_autoptr(PipesimStages) begin =
		pipesim_cutter_layout(costs->cutter, shape->stages, NULL);
	const gboolean waits = pipesim_runtime_waits(pipesim_runtime_resolve(
				       scenario->runtime, schedule->runtime)) ||
			       costs->network != NULL || costs->power != NULL;
	const guint64 ops =
		3 * (guint64)shape->ranks * shape->chunks * pipesim_shape_per_chunk(shape);
	PipesimScenario own = *scenario;
	PipesimStages *found = pipesim_cutter_recall(costs->cutter, key, exact);
	gboolean better = FALSE;
	Search s = {.shape = shape,
		.costs = costs,
		.model = pipesim_cutter_model(costs->cutter),
		.stages = shape->stages,
		.nodes = MOST_NODES};

	if (found != NULL || begin == NULL || pipesim_schedule_is_search(schedule))
		return found;
	own.samples = 0;
	own.critical = FALSE;
	own.keep = PIPESIM_KEEP_NOTHING;
	s.n = pipesim_stages_items(s.model);
	s.left = CLAMP((waits ? MOST_OPS_WAITING : MOST_OPS) / MAX(ops, 1), 1, MOST_RUNS);
	s.family = pipesim_family_new(schedule, &own, (guint)s.left + 1);
	init(&s, begin);
	ask(&s, s.ends, &better);
	run_waiting(&s);
	climb(&s);
	*exact = walk_all(&s);
	run_waiting(&s);
	found = s.brief.makespan > 0 ? pipesim_stages_of_items(s.model, s.best, s.stages)
				     : pipesim_stages_copy(begin);
	*exact = *exact && s.brief.makespan > 0;
	clear(&s);
	pipesim_cutter_remember(costs->cutter, key, found, *exact);
	return found;
}
