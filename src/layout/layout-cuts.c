#include "layout/layout-cuts.h"

/* Times that all cuts leave out layouts at a time. */
#define PASSES 4
/* Places of cuts that are added up at a time: compilers make vectors of a loop over so many. */
#define TOGETHER 8

/* One cut, or the mean of several: ns. All at [stage * (items + 1) + item]. */
typedef struct {
	double fixed;
	double *before; /* of all items of the stage before @item */
	double *head;   /* least of the stages before @stage that end there */
	double *rest;   /* least of the stages from @stage on that begin there */
} Cut;

struct _PipesimLayoutCuts {
	guint stages, items;
	guint *first, *last; /* ends that a stage may have that begins there */
	guint n;             /* cuts */
	Cut cut[PIPESIM_LAYOUT_CUTS];
	double share[PIPESIM_LAYOUT_CUTS]; /* of the mean from which one goes on; sum 1 */
	Cut mean;                          /* that of the best bound */
	double bound;
	gboolean walks; /* what is least before and behind each stage is known of each cut */
};

static gsize places(const PipesimLayoutCuts *cuts)
{
	return (gsize)cuts->stages * (cuts->items + 1);
}

static Cut make_cut(const PipesimLayoutCuts *cuts)
{
	return (Cut){0, g_new0(double, places(cuts) + TOGETHER), g_new0(double, places(cuts)),
		g_new0(double, places(cuts))};
}

static void clear_cut(Cut *cut)
{
	pipesim_free_all(cut->before, cut->head, cut->rest);
}

PipesimLayoutCuts *pipesim_layout_cuts_new(guint stages, guint items)
{
	PipesimLayoutCuts *cuts = g_new0(PipesimLayoutCuts, 1);

	cuts->stages = stages;
	cuts->items = items;
	cuts->mean = make_cut(cuts);
	cuts->bound = -(double)INFINITY;
	cuts->first = g_new(guint, places(cuts));
	cuts->last = g_new0(guint, places(cuts));
	for (guint stage = 0; stage < stages; stage++)
		for (guint begin = 0; begin <= items; begin++) {
			const gsize at = (gsize)stage * (items + 1) + begin;
			const guint left = stages - 1 - stage;

			cuts->first[at] = left > 0 ? begin + 1 : items;
			if (begin >= stage && begin + left < items)
				cuts->last[at] = items - left;
		}
	return cuts;
}

PIPESIM_FREES(PipesimLayoutCuts, pipesim_layout_cuts_free, cuts)
{
	for (guint i = 0; i < cuts->n; i++)
		clear_cut(&cuts->cut[i]);
	clear_cut(&cuts->mean);
	pipesim_free_all(cuts->first, cuts->last, cuts);
}

/* The least of each stage and those after it, by where it begins. */
static void find_rest(const PipesimLayoutCuts *cuts, Cut *cut)
{
	const guint n = cuts->items, width = n + 1;

	for (guint stage = cuts->stages; stage-- > 0;) {
		const gsize at = (gsize)stage * width;
		const gboolean is_last = stage + 1 == cuts->stages;
		guint known = n + 1, until = n + 1; /* @least is of these ends */
		double least = (double)INFINITY;

		for (guint begin = n + 1; begin-- > 0;) {
			const guint first = cuts->first[at + begin];
			const guint last = cuts->last[at + begin];

			if (last != until || first > known) {
				least = (double)INFINITY;
				known = last + 1;
			}
			for (guint end = first; end < known; end++)
				least = MIN(least,
					cut->before[at + end] +
						(is_last ? 0 : cut->rest[at + width + end]));
			known = MIN(first, known);
			until = last;
			cut->rest[at + begin] = least - cut->before[at + begin];
		}
	}
}

/* The least of the stages before each, by where it begins. */
static void find_head(const PipesimLayoutCuts *cuts, Cut *cut)
{
	const guint n = cuts->items, width = n + 1;

	for (gsize at = 0; at < places(cuts); at++)
		cut->head[at] = at > 0 ? (double)INFINITY : 0;
	for (guint stage = 0; stage + 1 < cuts->stages; stage++)
		for (guint begin = 0; begin <= n; begin++) {
			const gsize at = (gsize)stage * width;
			const double here = cut->head[at + begin] - cut->before[at + begin];
			const guint last = cuts->last[at + begin];
			double *next = &cut->head[at + width];

			for (guint end = cuts->first[at + begin];
				here < (double)INFINITY && end <= last; end++)
				next[end] = MIN(next[end], here + cut->before[at + end]);
		}
}

/* The layout that is least of @cut, of those that are left. */
static void find_ends(const PipesimLayoutCuts *cuts, const Cut *cut, guint *ends)
{
	const guint n = cuts->items, width = n + 1;

	for (guint stage = 0, begin = 0; stage < cuts->stages; begin = ends[stage], stage++) {
		const gsize at = (gsize)stage * width;
		const guint last = cuts->last[at + begin];
		double least = (double)INFINITY;

		ends[stage] = stage + 1 < cuts->stages ? cuts->first[at + begin] : n;
		for (guint end = ends[stage]; stage + 1 < cuts->stages && end <= last; end++) {
			const double all = cut->before[at + end] + cut->rest[at + width + end];

			if (all < least) {
				least = all;
				ends[stage] = end;
			}
		}
	}
}

static double value(const PipesimLayoutCuts *cuts, const Cut *cut, const guint *ends)
{
	double sum = cut->fixed;

	for (guint stage = 0, begin = 0; stage < cuts->stages; begin = ends[stage], stage++) {
		const double *before = &cut->before[(gsize)stage * (cuts->items + 1)];

		sum += before[ends[stage]] - before[begin];
	}
	return sum;
}

void pipesim_layout_cuts_add(PipesimLayoutCuts *cuts, double fixed, const double *cost)
{
	const guint n = cuts->items;
	guint at = cuts->n;
	double all = 0;
	Cut *cut;

	if (at < PIPESIM_LAYOUT_CUTS) {
		cuts->cut[cuts->n++] = make_cut(cuts);
	} else {
		at = 0;
		for (guint i = 1; i < cuts->n; i++)
			if (cuts->share[i] < cuts->share[at])
				at = i;
	}
	cut = &cuts->cut[at];
	cut->fixed = fixed;
	for (guint stage = 0; stage < cuts->stages; stage++)
		for (guint i = 0; i < n; i++)
			cut->before[(gsize)stage * (n + 1) + i + 1] =
				cut->before[(gsize)stage * (n + 1) + i] +
				cost[(gsize)stage * n + i];
	if (cuts->walks) {
		find_rest(cuts, cut);
		find_head(cuts, cut);
	}
	/* It begins with the mean share of the others. */
	cuts->share[at] = 1.0 / cuts->n;
	for (guint i = 0; i < cuts->n; i++)
		all += cuts->share[i];
	for (guint i = 0; i < cuts->n; i++)
		cuts->share[i] /= all;
}

double pipesim_layout_cuts_value(const PipesimLayoutCuts *cuts, const guint *ends)
{
	double most = 0;

	for (guint i = 0; i < cuts->n; i++)
		most = MAX(most, value(cuts, &cuts->cut[i], ends));
	return most;
}

/* The best mean -------------------------------------------------------------------------- */

/* Shares towards the cuts that are largest at @ends, by @step of their spread. */
static void follow(PipesimLayoutCuts *cuts, const guint *ends, double step)
{
	double at[PIPESIM_LAYOUT_CUTS], most = -(double)INFINITY, least = (double)INFINITY;
	double sum = 0;

	for (guint i = 0; i < cuts->n; i++) {
		at[i] = value(cuts, &cuts->cut[i], ends);
		most = MAX(most, at[i]);
		least = MIN(least, at[i]);
	}
	if (most <= least)
		return;
	for (guint i = 0; i < cuts->n; i++) {
		cuts->share[i] = MAX(cuts->share[i], 1e-12) *
				 exp(step * (at[i] - most) / (most - least));
		sum += cuts->share[i];
	}
	for (guint i = 0; i < cuts->n; i++)
		cuts->share[i] /= sum;
}

/* The mean of all cuts but those with next to no share. */
static void find_mean(const PipesimLayoutCuts *cuts, Cut *mean)
{
	mean->fixed = 0;
	for (guint i = 0; i < cuts->n; i++)
		if (cuts->share[i] >= 1e-9)
			mean->fixed += cuts->share[i] * cuts->cut[i].fixed;
	for (gsize at = 0; at < places(cuts); at += TOGETHER) {
		double sum[TOGETHER] = {0};

		for (guint i = 0; i < cuts->n; i++) {
			const double share = cuts->share[i], *before = &cuts->cut[i].before[at];

			if (share < 1e-9)
				continue;
			for (guint k = 0; k < TOGETHER; k++)
				sum[k] += share * before[k];
		}
		memcpy(&mean->before[at], sum, sizeof sum);
	}
}

double pipesim_layout_cuts_bound(PipesimLayoutCuts *cuts, guint rounds, guint *ends)
{
	Cut mean = make_cut(cuts);

	for (guint round = 0; round < rounds && cuts->n > 0; round++) {
		double bound;

		find_mean(cuts, &mean);
		find_rest(cuts, &mean);
		bound = mean.fixed + mean.rest[0];
		if (bound == (double)INFINITY)
			break; /* none is left */
		find_ends(cuts, &mean, ends);
		follow(cuts, ends, 2 / sqrt(1 + (double)round));
		if (bound > cuts->bound) {
			const Cut other = cuts->mean;

			cuts->bound = bound;
			cuts->mean = mean;
			mean = other;
		}
	}
	clear_cut(&mean);
	if (cuts->n > 0 && cuts->mean.rest[0] < (double)INFINITY)
		find_ends(cuts, &cuts->mean, ends);
	return MAX(cuts->bound, 0);
}

/* Fewer layouts ---------------------------------------------------------------------------- */

static Cut *cut_at(PipesimLayoutCuts *cuts, guint i)
{
	return i < cuts->n ? &cuts->cut[i] : &cuts->mean;
}

/* Whether @cut says that no layout is below @limit in which @stage has items from @begin to @end. */
static gboolean rules_out(const PipesimLayoutCuts *cuts, const Cut *cut, guint stage,
	guint begin, guint end, double limit)
{
	const gsize width = cuts->items + 1, at = stage * width;

	return cut->fixed + cut->head[at + begin] + cut->before[at + end] -
		       cut->before[at + begin] +
		       (stage + 1 < cuts->stages ? cut->rest[at + width + end] : 0) >=
	       limit;
}

/* By @cut alone; whether that leaves fewer. */
static gboolean narrow_by(PipesimLayoutCuts *cuts, const Cut *cut, double limit)
{
	gboolean fewer = FALSE;

	for (guint stage = 0; stage < cuts->stages; stage++)
		for (guint begin = 0; begin <= cuts->items; begin++) {
			const gsize at = (gsize)stage * (cuts->items + 1) + begin;
			guint *first = &cuts->first[at], *last = &cuts->last[at];

			while (*first <= *last &&
				rules_out(cuts, cut, stage, begin, *first, limit)) {
				++*first;
				fewer = TRUE;
			}
			while (*first <= *last &&
				rules_out(cuts, cut, stage, begin, *last, limit)) {
				--*last;
				fewer = TRUE;
			}
		}
	return fewer;
}

gboolean pipesim_layout_cuts_narrow(PipesimLayoutCuts *cuts, double limit)
{
	gboolean fewer = cuts->n > 0;

	cuts->walks = TRUE;
	for (guint pass = 0; pass < PASSES && fewer; pass++) {
		fewer = FALSE;
		for (guint i = 0; i <= cuts->n; i++) {
			Cut *cut = cut_at(cuts, i);

			find_rest(cuts, cut);
			find_head(cuts, cut);
			if (cut->rest[0] == (double)INFINITY)
				return FALSE;
			fewer |= narrow_by(cuts, cut, limit);
		}
	}
	/* All by what is left now, as the last pass has it where that left as many. */
	for (guint i = 0; i <= cuts->n && fewer; i++) {
		find_rest(cuts, cut_at(cuts, i));
		find_head(cuts, cut_at(cuts, i));
	}
	return cuts->n == 0 || cuts->mean.rest[0] < (double)INFINITY;
}

void pipesim_layout_cuts_limit(PipesimLayoutCuts *cuts, guint stage, guint most)
{
	for (guint begin = 0; begin <= cuts->items; begin++) {
		guint *last = &cuts->last[(gsize)stage * (cuts->items + 1) + begin];

		*last = MIN(*last, begin + most);
	}
}

void pipesim_layout_cuts_ends(
	const PipesimLayoutCuts *cuts, guint stage, guint begin, guint *first, guint *last)
{
	const gsize at = (gsize)stage * (cuts->items + 1) + begin;

	*first = cuts->first[at];
	*last = cuts->last[at];
}

/* Beginnings of layouts -------------------------------------------------------------------- */

void pipesim_layout_cuts_start(PipesimLayoutCuts *cuts, double *sums)
{
	for (guint i = 0; i <= cuts->n; i++)
		sums[i] = cut_at(cuts, i)->fixed;
}

double pipesim_layout_cuts_rest(
	PipesimLayoutCuts *cuts, const double *sums, guint stage, guint begin)
{
	const gsize at = (gsize)stage * (cuts->items + 1) + begin;
	double most = 0;

	for (guint i = 0; i <= cuts->n; i++)
		most = MAX(
			most, sums[i] + (stage < cuts->stages ? cut_at(cuts, i)->rest[at] : 0));
	return most;
}

void pipesim_layout_cuts_take(PipesimLayoutCuts *cuts, const double *sums, guint stage,
	guint begin, guint end, double *next)
{
	const gsize at = (gsize)stage * (cuts->items + 1);

	for (guint i = 0; i <= cuts->n; i++) {
		const double *before = &cut_at(cuts, i)->before[at];

		next[i] = sums[i] + before[end] - before[begin];
	}
}
