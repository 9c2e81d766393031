#include "layout/layouts.h"
#include "layout/family.h"
#include "layout/layout-counts.h"
#include "layout/layout-cuts.h"
#include "transformer/cutter.h"

/* How far a search goes. Tried at half and double on ten comparisons of Llama 3 8B to 405B, Mixtral and DeepSeek-V3 at PP 4 to
 * 16, with tight memory and runtimes that wait, of half a second each: where nothing is said, that changed no layout.
 *
 * Layouts that are simulated at most, and ops of all of them together, run side by side or one by one. Half of the first or
 * the last takes half the time, and one layout of ten is less good or proven to 5.8 % only. */
#define MOST_RUNS        4096
#define MOST_OPS         (G_GUINT64_CONSTANT(1) << 26)
#define MOST_OPS_WAITING (G_GUINT64_CONSTANT(1) << 21)
/* How often a step without a barrier is run for its period, about. */
#define RUNS_OF_PERIOD 8
/* Where layers of several parts are counted as alike there may be fewer layouts than are counted. */
#define WELL_ABOVE 16
/* Beginnings of layouts that are looked at. */
#define MOST_NODES 500000
/* Where they are too many: layouts whose paths bound the others, each simulated by itself, ops of all of them together, and
 * beginnings that are looked at. Half of the first makes one step 3 % longer, double 3 % shorter. */
#define MOST_PROOF_RUNS  512
#define MOST_PROOF_OPS   (G_GUINT64_CONSTANT(1) << 24)
#define MOST_PROOF_NODES 50000
/* Steps towards the best mean of cuts, and layouts that are least of it before the rest is searched. Half of either proves up
 * to two points less, double half a point more. */
#define BOUND_ROUNDS 25
#define BOUND_RUNS   4
/* Share of the step by which it may be shorter where a search is worth it. Half leaves one of ten open at 1.06 %. */
#define SMALL_GAP 0.02
/* A layout that is shorter by less is no better: times are rounded to nanoseconds. */
#define TOLERANCE 1e-6
/* Layouts that are simulated at a time. */
#define BATCH 64
/* Stages up to which an item may move from any to any other. Double makes steps of 32 stages up to 4.5 % shorter or 0.2 %
 * longer, in twice the time where messages wait; half makes steps longer. */
#define MOST_FREE 16
/* And where cuts say which moves may be any better. */
#define MOST_FAR 96

typedef struct _Search {
	const PipesimShape *shape;
	const PipesimCosts *costs;
	const PipesimTransformer *model;
	guint apart; /* what may be on several stages besides layers: PipesimApart */
	PipesimFamily *family;
	PipesimFamily *paths; /* whose paths bound steps; NULL: none does */
	gboolean bounded;     /* the order of @paths is there */
	gboolean waits; /* that is of messages that wait for nothing, as those of @family do */
	gboolean plain; /* no rank is done before its ops, one after the other, have run */
	guint n, stages;
	double *weight; /* of items, ns */
	guint *waiting; /* BATCH layouts that are to be simulated, each the ends of its stages */
	guint n_waiting;
	guint64 left, nodes; /* what may still be run, and looked at */
	gboolean better;     /* than before */
	guint *best;         /* ends */
	PipesimBrief brief;  /* of it; makespan 0: none ran yet */
	/* Of the walk over all: what is done with each, ends so far, busy time by rank and what that may be, ns;
	 * ranks of each stage; micro-batches that a stage sees. */
	gboolean (*take)(struct _Search *s);
	guint *ends;
	double *busy, limit, each;
	guint *rank_of;
	guint64 leaves;
	/* Of the proof: paths of layouts that ran, and what they say of the layers of ranks; what each cut is for the
	 * beginnings of the walk. */
	PipesimLayoutCuts *cuts;
	PipesimLayoutCounts *counts;
	guint *group, groups; /* of each stage: those that share a rank are of one */
	guint8 *like;         /* items of the part that there are most of */
	double *sums;
	double below;    /* longer steps are of no interest, ns */
	gint64 memory;   /* limit, bytes; 0 = none */
	gboolean broken; /* a step is below a cut: times of stages are no sums */
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

static PipesimCosts *costs_of(const Search *s, const guint *ends)
{
	PipesimCosts *costs = pipesim_costs_copy(s->costs);

	pipesim_costs_set_cutter(costs,
		pipesim_cutter_fix(s->costs->cutter,
			pipesim_stages_of_items(s->model, s->apart, ends, s->stages), NULL));
	return costs;
}

/* Simulates what waits. */
static void run_waiting(Search *s)
{
	PipesimCosts *costs[BATCH];
	PipesimBrief briefs[BATCH];

	for (guint i = 0; i < s->n_waiting; i++)
		costs[i] = costs_of(s, &s->waiting[(gsize)i * s->stages]);
	for (guint i = 0; i < s->n_waiting; i += PIPESIM_TOGETHER)
		pipesim_family_run(s->family, (const PipesimCosts *const *)&costs[i],
			MIN(s->n_waiting - i, PIPESIM_TOGETHER), &briefs[i]);
	for (guint i = 0; i < s->n_waiting; i++) {
		if (is_better(&briefs[i], &s->brief)) {
			s->brief = briefs[i];
			memcpy(s->best, &s->waiting[(gsize)i * s->stages],
				s->stages * sizeof *s->best);
			s->better = TRUE;
		}
		pipesim_costs_free(costs[i]);
	}
	s->n_waiting = 0;
}

/* For s->ends; FALSE where no more may be run. */
static gboolean ask(Search *s)
{
	if (s->left == 0)
		return FALSE;
	s->left--;
	memcpy(&s->waiting[(gsize)s->n_waiting++ * s->stages], s->ends,
		s->stages * sizeof *s->waiting);
	if (s->n_waiting == BATCH)
		run_waiting(s);
	return TRUE;
}

/* One item from stage @from to stage @to, by way of those between; FALSE where that leaves one empty. */
static gboolean move(Search *s, guint from, guint to)
{
	const guint first = MIN(from, to), last = MAX(from, to);

	memcpy(s->ends, s->best, s->stages * sizeof *s->ends);
	for (guint stage = first; stage < last; stage++)
		s->ends[stage] += from > to ? 1 : -1u;
	return s->ends[s->stages - 1] == s->n &&
	       pipesim_all(
		       stage, s->stages, s->ends[stage] > (stage > 0 ? s->ends[stage - 1] : 0));
}

/* Ranks are busy for that, whatever runs beside. */
static void add_busy(const Search *s, PipesimLayoutCounts *counts)
{
	g_autofree double *cost = g_new(double, (gsize)s->stages * s->n);

	for (guint group = 0; group < s->groups; group++) {
		for (guint stage = 0; stage < s->stages; stage++)
			for (guint i = 0; i < s->n; i++)
				cost[(gsize)stage * s->n + i] =
					s->group[stage] == group ? s->weight[i] * s->each : 0;
		pipesim_layout_counts_add(counts, (double)INFINITY, 0, cost);
	}
}

/* To the best of the neighbours, until none is better, of those that the paths that are known leave open to be as short as
 * the best so far. */
static void climb(Search *s)
{
	gboolean more = TRUE;

	for (s->better = TRUE; s->better && more;) {
		s->better = FALSE;
		for (guint from = 0; from < s->stages && more; from++)
			for (guint to = 0; to < s->stages && more; to++) {
				const double most = (double)length(&s->brief) * (1 + TOLERANCE);

				if (from == to ||
					(s->stages > MOST_FREE &&
						ABS((int)from - (int)to) != 1) ||
					!move(s, from, to))
					continue;
				if (!s->brief.fits || s->broken ||
					pipesim_layout_cuts_value(s->cuts, s->ends) <= most)
					more = ask(s);
			}
		run_waiting(s);
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

/* All that could be better, unless they are too many. */
static gboolean walk_all(Search *s)
{
	g_autoptr(PipesimLayoutCounts) counts =
		pipesim_layout_counts_new(s->stages, s->n, s->like, s->group, s->groups);

	/* Each op may be rounded up by a nanosecond. */
	s->limit = MIN(s->brief.fits ? (double)length(&s->brief) : (double)INFINITY, s->below) +
		   3 * s->each;
	/* Whether there are too many within it is counted without a walk. */
	add_busy(s, counts);
	if (pipesim_layout_counts_leaves(counts, s->limit * (1 + TOLERANCE)) &&
		pipesim_layout_counts_number(counts) > (double)s->left * WELL_ABOVE)
		return FALSE;
	s->take = count_leaf;
	if (!walk(s, 0, 0))
		return FALSE;
	s->nodes = MOST_NODES;
	s->take = ask;
	return walk(s, 0, 0);
}

/* Proof where they are too many ----------------------------------------------------------- */

/* What @path costs by the items of stages. */
static void add_cut(Search *s, const PipesimFamilyPath *path)
{
	const double pieces = pipesim_shape_parts(s->shape);
	g_autofree double *cost = g_new0(double, (gsize)s->stages * s->n);
	gint64 ns[PIPESIM_N_PARTS][4];

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
		pipesim_cutter_part_times(s->costs->cutter, part, ns[part]);
	for (guint stage = 0; stage < s->stages; stage++) {
		const guint *count = &path->count[(gsize)stage * 3];
		gboolean ends = FALSE; /* the path does on a rank of it */

		for (guint i = 0; i < s->shape->copies; i++)
			ends |= s->rank_of[(gsize)stage * s->shape->copies + i] == path->rank;
		for (guint i = 0; i < s->n; i++) {
			double *own = &cost[(gsize)stage * s->n + i];
			gint64 counts[PIPESIM_N_PARTS];

			pipesim_stages_item(s->model, s->apart, i, counts);
			for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
				*own += (double)counts[part] *
					(((double)count[0] * (double)ns[part][0] +
						 (double)count[1] * (double)ns[part][1] +
						 (double)count[2] * (double)ns[part][2]) /
							pieces +
						(ends ? (double)ns[part][3] : 0));
		}
	}
	pipesim_layout_cuts_add(s->cuts, (double)path->fixed, cost);
	pipesim_layout_counts_add(s->counts, (double)INFINITY, (double)path->fixed, cost);
}

/* Whether the layout of @costs, whose path takes @step, runs as long and may be the best so far; FALSE where it runs for
 * another time. The first one, of which orders are made, always runs. */
static gboolean run_one(Search *s, const PipesimCosts *costs, const guint *ends, gint64 step)
{
	const gboolean same = s->paths == s->family;
	PipesimBrief brief;

	if (s->bounded && (!same || (s->brief.fits && step > length(&s->brief))))
		return TRUE;
	pipesim_family_run(s->paths, &costs, 1, &brief);
	if (brief.makespan == 0 || (step > 0 && step != length(&brief)))
		return FALSE;
	if (same && is_better(&brief, &s->brief)) {
		s->brief = brief;
		memcpy(s->best, ends, s->stages * sizeof *ends);
	}
	return TRUE;
}

/* Takes the path of the layout of @ends, which bounds the others; FALSE where no more may be run or no path tells its
 * step. */
static gboolean bound_by(Search *s, const guint *ends)
{
	g_autofree guint *count = g_new(guint, (gsize)s->stages * 3);
	PipesimFamilyPath path = {.count = count};
	PipesimCosts *costs = NULL;
	gboolean ok;

	if (s->left == 0 || s->paths == NULL)
		return FALSE;
	s->left--;
	costs = costs_of(s, ends);
	ok = (s->bounded || run_one(s, costs, ends, 0)) &&
	     pipesim_family_path(s->paths, costs, &path) && !(s->waits && path.pairs) &&
	     run_one(s, costs, ends, path.step);
	pipesim_costs_free(costs);
	if (!ok)
		return FALSE;
	s->bounded = TRUE;
	add_cut(s, &path);
	s->broken |=
		pipesim_layout_cuts_value(s->cuts, ends) > (double)path.step * (1 + TOLERANCE);
	return !s->broken;
}

/* What a layout that is better must be below, ns. */
static double limit_of(const Search *s)
{
	const double best = s->brief.fits ? (double)length(&s->brief) : (double)INFINITY;

	return MIN(best, s->below) * (1 - TOLERANCE);
}

/* Into stage @stage of s->ends an item of the nearest stage of @group, or of any other than its own where that is it, that
 * has two. */
static gboolean take_item_of(Search *s, guint stage, guint group)
{
	const gboolean any = group == s->group[stage];

	for (guint far = 1; far < s->stages; far++)
		for (guint side = 0; side < 2; side++) {
			const guint from = side == 0 ? stage + far : stage - far;
			const guint begin =
				from > 0 && from < s->stages ? s->ends[from - 1] : 0;

			/* Below zero it is past the end too. */
			if (from >= s->stages || s->ends[from] - begin < 2 ||
				(s->group[from] == group) == any)
				continue;
			for (guint i = MIN(from, stage); i < MAX(from, stage); i++)
				s->ends[i] += from > stage ? 1 : -1u;
			return TRUE;
		}
	return FALSE;
}

/* Adds what is least of the mean of all cuts until that is no news; *@bound: what no layout is below, ns. FALSE where
 * none is better. */
static gboolean raise_bound(Search *s, guint runs, double *bound)
{
	for (guint i = 0; i <= runs && !s->broken; i++) {
		const double limit = limit_of(s);

		if (!pipesim_layout_counts_leaves(s->counts, limit)) {
			*bound = limit;
			return FALSE;
		}
		for (guint stage = 0; stage < s->stages; stage++)
			pipesim_layout_cuts_limit(
				s->cuts, stage, pipesim_layout_counts_most(s->counts, stage));
		*bound = MAX(*bound, pipesim_layout_cuts_bound(s->cuts, BOUND_ROUNDS, s->ends));
		if (*bound >= limit) {
			*bound = limit;
			return FALSE;
		}
		if (i == runs || !bound_by(s, s->ends))
			break;
	}
	return TRUE;
}

/* Layouts from @stage on, which begins at item @begin, that no cut says to be no better. FALSE where they are too
 * many. */
static gboolean descend(Search *s, guint stage, guint begin)
{
	const guint width = PIPESIM_LAYOUT_CUTS + 1;
	double *sums = &s->sums[(gsize)stage * width];
	guint end, last;

	if (stage == s->stages) {
		if (!bound_by(s, s->ends))
			return FALSE;
		/* The cut that came with it is in no sum yet. */
		pipesim_layout_cuts_start(s->cuts, s->sums);
		for (guint i = 0; i < stage; i++)
			pipesim_layout_cuts_take(s->cuts, &s->sums[(gsize)i * width], i,
				i > 0 ? s->ends[i - 1] : 0, s->ends[i],
				&s->sums[(gsize)(i + 1) * width]);
		return TRUE;
	}
	pipesim_layout_cuts_ends(s->cuts, stage, begin, &end, &last);
	for (; end <= last; end++) {
		if (s->nodes == 0 || s->broken)
			return FALSE;
		s->nodes--;
		pipesim_layout_cuts_take(s->cuts, sums, stage, begin, end, sums + width);
		if (pipesim_layout_cuts_rest(s->cuts, sums + width, stage + 1, end) >=
			limit_of(s))
			continue;
		s->ends[stage] = end;
		if (!descend(s, stage + 1, end))
			return FALSE;
	}
	return TRUE;
}

/* One item from any stage to any other, where no cut says that this is no better, until none is. */
static void climb_far(Search *s)
{
	gboolean more = s->stages > MOST_FREE && s->stages <= MOST_FAR, better = TRUE;

	while (better && more) {
		better = FALSE;
		for (guint from = 0; from < s->stages && more; from++)
			for (guint to = 0; to < s->stages && more; to++) {
				const gint64 before = length(&s->brief);

				if (s->group[from] == s->group[to] || !move(s, from, to) ||
					pipesim_layout_cuts_value(s->cuts, s->ends) >=
						limit_of(s))
					continue;
				more = bound_by(s, s->ends);
				better |= length(&s->brief) < before;
			}
	}
}

/* What each rank holds when the best so far holds most, as far as it adds up: one that fits holds no more. */
static void add_memory(Search *s)
{
	const guint chunks = s->shape->chunks;
	const double pieces = pipesim_shape_parts(s->shape);
	g_autofree double *cost = g_new(double, (gsize)s->stages * s->n);
	g_autofree gint *held = g_new(gint, 3 * (gsize)chunks);
	PipesimCosts *costs = costs_of(s, s->best);
	const double fixed = (double)costs->cutter->fixed(costs->cutter, 0);
	gint64 bytes[PIPESIM_N_PARTS][4];
	gboolean known = s->memory > 0;

	for (PipesimPart part = 0; part < PIPESIM_N_PARTS && known; part++)
		known = pipesim_cutter_part_bytes(s->costs->cutter, part, bytes[part]);
	for (guint rank = 0; rank < s->shape->ranks && known; rank++) {
		known = pipesim_family_held(s->paths, costs, rank, held);
		memset(cost, 0, (gsize)s->stages * s->n * sizeof *cost);
		for (guint chunk = 0; chunk < chunks && known; chunk++) {
			double *own =
				&cost[(gsize)pipesim_shape_stage(s->shape, rank, chunk) * s->n];

			for (guint i = 0; i < s->n; i++) {
				gint64 counts[PIPESIM_N_PARTS];

				pipesim_stages_item(s->model, s->apart, i, counts);
				for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++) {
					const double many = (double)counts[part];

					own[i] += many * (double)bytes[part][0];
					for (guint k = 0; k < 3; k++)
						own[i] += many * held[k * chunks + chunk] *
							  (double)bytes[part][1 + k] / pieces;
				}
			}
		}
		/* Shares of parameters are rounded up, each by itself. */
		if (known)
			pipesim_layout_counts_add(
				s->counts, (double)s->memory * (1 + TOLERANCE), fixed, cost);
	}
	pipesim_costs_free(costs);
}

/* Paths of the best so far, and of those around it; FALSE where none is known. */
static gboolean gather(Search *s, guint64 ops)
{
	g_autofree guint *best = NULL;
	g_autofree guint8 *seen = g_new0(guint8, s->groups);
	g_autofree double *busy = g_new0(double, s->groups);
	guint busiest = 0;
	gboolean ok = TRUE;

	s->left = CLAMP(MOST_PROOF_OPS / MAX(ops, 1), 64, MOST_PROOF_RUNS);
	memcpy(s->ends, s->best, s->stages * sizeof *s->ends);
	if (!bound_by(s, s->ends))
		return FALSE;
	add_memory(s);
	best = g_memdup2(s->best, s->stages * sizeof *best);
	/* Paths that hang on the ranks of one group after the other: they have an item more than in the best layout. */
	for (guint stage = 0, item = 0; stage < s->stages; stage++)
		while (item < best[stage])
			busy[s->group[stage]] += s->weight[item++];
	for (guint group = 1; group < s->groups; group++)
		if (busy[group] > busy[busiest])
			busiest = group;
	for (guint stage = 0; stage < s->stages && ok; stage++) {
		if (seen[s->group[stage]])
			continue;
		memcpy(s->ends, best, s->stages * sizeof *best);
		/* From the ranks that are busy for longest, so that none but those of @stage are. */
		seen[s->group[stage]] = take_item_of(s, stage, busiest) ||
					take_item_of(s, stage, s->group[stage]);
		ok = !seen[s->group[stage]] || bound_by(s, s->ends);
	}
	return ok;
}

/* Whether these leave any that is better; *@bound (nullable): what no layout is below, ns, 0 = not known. */
static gboolean leaves_any(Search *s, guint64 ops, double *bound)
{
	double least = 0;
	gboolean any;

	s->nodes = MOST_PROOF_NODES;
	any = !gather(s, ops) || raise_bound(s, BOUND_RUNS, &least);
	if (any && !s->broken && s->brief.fits && s->below == (double)INFINITY &&
		s->paths == s->family)
		climb_far(s);
	if (any && !s->broken && limit_of(s) < (double)INFINITY) {
		if (bound != NULL)
			least = pipesim_layout_counts_bound(s->counts, least, limit_of(s));
		any = pipesim_layout_counts_leaves(s->counts, limit_of(s));
	}
	if (bound != NULL)
		*bound = least;
	return any || s->broken;
}

/* By which share of the step of the best so far, or of one that this finds, another may be shorter at most. */
static double prove(Search *s, guint64 ops)
{
	double bound;
	gboolean open = leaves_any(s, ops, &bound);

	if (open && !s->broken && bound > (1 - SMALL_GAP) * (double)length(&s->brief) &&
		s->paths == s->family && pipesim_layout_cuts_narrow(s->cuts, limit_of(s))) {
		pipesim_layout_cuts_start(s->cuts, s->sums);
		open = !descend(s, 0, 0);
	}
	if (s->broken || bound == 0 || !s->brief.fits)
		return 1;
	return open ? 1 - bound / (double)length(&s->brief) : 0;
}

/* Of two ranks that share a stage both are of the group of the first. */
static void init_groups(Search *s)
{
	const guint copies = s->shape->copies, ranks = s->shape->ranks;
	g_autofree guint *label = g_new(guint, ranks), *name = g_new(guint, ranks);
	gboolean news = TRUE;

	for (guint rank = 0; rank < ranks; rank++) {
		label[rank] = rank;
		name[rank] = G_MAXUINT;
	}
	while (news) {
		news = FALSE;
		for (gsize i = 0; i < (gsize)s->stages * copies; i++) {
			guint *first = &label[s->rank_of[i - i % copies]];
			guint *own = &label[s->rank_of[i]];

			news |= *first != *own;
			*first = *own = MIN(*first, *own);
		}
	}
	s->group = g_new(guint, s->stages);
	for (guint stage = 0; stage < s->stages; stage++) {
		guint *own = &name[label[s->rank_of[(gsize)stage * copies]]];

		if (*own == G_MAXUINT)
			*own = s->groups++;
		s->group[stage] = *own;
	}
}

static void init(Search *s, const PipesimStages *begin)
{
	const double *weights = pipesim_cutter_weights(s->costs->cutter);
	PipesimPart most;
	guint dense = 0;

	s->weight = g_new0(double, s->n);
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
	init_groups(s);
	/* The items that there are most of. */
	for (guint i = 0; i < s->model->layers; i++)
		dense += !pipesim_transformer_is_sparse(s->model, i);
	most = dense > s->model->layers - dense ? PIPESIM_PART_DENSE : PIPESIM_PART_SPARSE;
	s->like = g_new0(guint8, s->n);
	for (guint i = 0; i < s->n; i++) {
		gint64 counts[PIPESIM_N_PARTS];

		pipesim_stages_item(s->model, s->apart, i, counts);
		s->like[i] = counts[most] > 0;
		for (PipesimPart part = 0; part < PIPESIM_N_PARTS; part++)
			s->weight[i] += (double)counts[part] * weights[part];
	}
	s->cuts = pipesim_layout_cuts_new(s->stages, s->n);
	s->counts = pipesim_layout_counts_new(s->stages, s->n, s->like, s->group, s->groups);
	s->sums = g_new(double, (gsize)(s->stages + 1) * (PIPESIM_LAYOUT_CUTS + 1));
	for (guint stage = 0, item = 0; stage < s->stages; stage++) {
		const PipesimCut *cut = &begin->cut[stage];

		item += (guint)(cut->embedding + cut->layers + cut->head);
		item += s->apart & PIPESIM_APART_MTP ? (guint)(cut->mtp + cut->losses)
						     : cut->mtp > 0;
		item += s->apart & PIPESIM_APART_ENCODER ? (guint)cut->encoders : 0;
		s->ends[stage] = item;
	}
	if (s->plain)
		add_busy(s, s->counts);
}

static void clear(Search *s)
{
	pipesim_free_all(s->weight, s->waiting, s->best, s->ends, s->busy, s->rank_of, s->group,
		s->like);
	pipesim_layout_cuts_free(s->cuts);
	pipesim_layout_counts_free(s->counts);
	g_free(s->sums);
	if (s->paths != s->family)
		pipesim_family_free(s->paths);
	pipesim_family_free(s->family);
}

/* Into s->best what is shortest; FALSE where no layout has a step below @below. */
static gboolean find(Search *s, guint64 ops, gint64 below, double *gap)
{
	const double limit = (double)below * (1 - TOLERANCE);
	guint64 left;
	gboolean any;

	*gap = 0;
	/* Ranks alone may be busy for longer. */
	if (below < G_MAXINT64 && !pipesim_layout_counts_leaves(s->counts, limit))
		return FALSE;
	memcpy(s->best, s->ends, s->stages * sizeof *s->best);
	ask(s);
	run_waiting(s);
	/* What refuses the balanced layout, as a deadlock, refuses them all. */
	if (s->brief.makespan == 0) {
		*gap = 1;
		return TRUE;
	}
	if (below < G_MAXINT64)
		s->below = (double)below;
	if (below < G_MAXINT64 && (!s->brief.fits || (double)length(&s->brief) >= limit)) {
		left = s->left;
		any = leaves_any(s, ops, NULL);
		s->left = left;
		s->nodes = MOST_NODES;
		if (!any && (!s->brief.fits || (double)length(&s->brief) >= limit))
			return FALSE;
	}
	/* Where each run takes long, paths are told first, which take none. */
	left = s->left;
	if (s->waits)
		gather(s, ops);
	s->left = left;
	climb(s);
	if (!walk_all(s))
		*gap = 1;
	run_waiting(s);
	if (*gap > 0 && s->brief.fits && length(&s->brief) < below)
		*gap = prove(s, ops);
	return TRUE;
}

PipesimStages *pipesim_layouts_search(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimShape *shape, const PipesimCosts *costs,
	gint64 below, double *gap)
{
	g_autoptr(PipesimStages) begin =
		pipesim_cutter_layout(costs->cutter, shape->stages, NULL);
	const guint64 ops =
		3 * (guint64)shape->ranks * shape->chunks * pipesim_shape_per_chunk(shape);
	PipesimScenario own = *scenario;
	PipesimStages *found = NULL;
	Search s = {.shape = shape,
		.costs = costs,
		.model = pipesim_cutter_model(costs->cutter),
		.apart = pipesim_cutter_apart(costs->cutter),
		.stages = shape->stages,
		.waits = pipesim_runtime_waits(pipesim_runtime_resolve(
				 scenario->runtime, schedule->runtime)) ||
			 costs->network != NULL || costs->power != NULL,
		.below = (double)INFINITY,
		.memory = scenario->memory_limit,
		.nodes = MOST_NODES};

	if (begin == NULL || pipesim_schedule_goes_by_times(schedule))
		return NULL;
	own.samples = 0;
	own.critical = FALSE;
	own.keep = PIPESIM_KEEP_STEP;
	s.n = pipesim_stages_items(s.model, s.apart);
	s.left = CLAMP((s.waits ? MOST_OPS_WAITING : MOST_OPS) / MAX(ops, 1) /
			       (costs->post_validation ? RUNS_OF_PERIOD : 1),
		1, MOST_RUNS);
	s.family = pipesim_family_new(schedule, &own, (guint)s.left + 1);
	/* What bounds steps: ranks are busy, and paths are there however messages wait. */
	s.plain = costs->network == NULL && costs->power == NULL && costs->contention == NULL &&
		  costs->op_times == NULL && !costs->has_pair;
	own.runtime = NULL;
	s.paths = !s.waits  ? s.family
		  : s.plain ? pipesim_family_new(schedule, &own, MOST_PROOF_RUNS)
			    : NULL;
	init(&s, begin);
	if (find(&s, ops, below, gap))
		found = pipesim_stages_of_items(s.model, s.apart, s.best, s.stages);
	clear(&s);
	return found;
}
