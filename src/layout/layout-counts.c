#include "layout/layout-counts.h"

/* Cuts that are kept, times that they all narrow the counts, and halves of what a bound is between: with half of these
 * bounds are looser by up to a quarter of a point. */
#define MOST_CUTS 1024
#define ROUNDS    40
#define HALVES    12

/* A cut by how many items of those alike each group holds besides the least. */
typedef struct {
	double most;   /* it stays below that; INFINITY: a limit that is asked for */
	double base;   /* with the least, ns */
	double *cheap; /* by group: of one more in its cheapest stage */
	guint *order;  /* groups, the cheapest first */
} Count;

struct _PipesimLayoutCounts {
	guint stages, items, groups;
	guint8 *like;
	guint *group;      /* of each stage */
	guint *least;      /* 0 or 1: of those alike, by stage */
	guint *others;     /* items that are unlike and may be there, by stage */
	guint *width;      /* stages, by group */
	guint *own;        /* of those alike at least, by group */
	guint left;        /* what groups share besides that */
	guint *low, *high; /* of it, by group */
	GArray *cuts;      /* of Count */
};

PIPESIM_DESTROYS(Count, clear_count, count)
{
	pipesim_free_all(count->cheap, count->order);
}

/* Whether @item may be in @stage: each stage before and behind it holds one at least. */
static gboolean may_hold(const PipesimLayoutCounts *counts, guint stage, guint item)
{
	return item >= stage && item + (counts->stages - 1 - stage) < counts->items;
}

PipesimLayoutCounts *pipesim_layout_counts_new(
	guint stages, guint items, const guint8 *like, const guint *group, guint groups)
{
	PipesimLayoutCounts *counts = g_new0(PipesimLayoutCounts, 1);

	counts->stages = stages;
	counts->items = items;
	counts->groups = groups;
	counts->like = g_memdup2(like, items);
	counts->group = g_memdup2(group, stages * sizeof *group);
	counts->least = g_new0(guint, stages);
	counts->others = g_new0(guint, stages);
	counts->width = g_new0(guint, groups);
	counts->own = g_new0(guint, groups);
	counts->low = g_new0(guint, groups);
	counts->high = g_new0(guint, groups);
	counts->cuts = g_array_new(FALSE, FALSE, sizeof(Count));
	g_array_set_clear_func(counts->cuts, clear_count);
	for (guint item = 0; item < items; item++)
		counts->left += like[item];
	for (guint stage = 0; stage < stages; stage++) {
		for (guint item = 0; item < items; item++)
			counts->others[stage] += !like[item] && may_hold(counts, stage, item);
		counts->least[stage] = counts->others[stage] == 0;
		counts->left -= counts->least[stage];
		counts->own[group[stage]] += counts->least[stage];
		counts->width[group[stage]]++;
	}
	return counts;
}

PIPESIM_FREES(PipesimLayoutCounts, pipesim_layout_counts_free, counts)
{
	g_array_unref(counts->cuts);
	pipesim_free_all(counts->like, counts->group, counts->least, counts->others,
		counts->width, counts->own, counts->low, counts->high, counts);
}

PIPESIM_COMPARE_AT(compare_cheap, double, pipesim_compare(*x, *y))

void pipesim_layout_counts_add(
	PipesimLayoutCounts *counts, double most, double fixed, const double *cost)
{
	const guint n = counts->items;
	Count count = {
		most, fixed, g_new(double, counts->groups), g_new(guint, counts->groups)};
	guint like = 0;

	while (like < n && !counts->like[like])
		like++;
	for (guint group = 0; group < counts->groups; group++) {
		count.cheap[group] = (double)INFINITY;
		count.order[group] = group;
	}
	for (guint stage = 0; stage < counts->stages; stage++) {
		const double one = like < n ? cost[(gsize)stage * n + like] : 0;
		double *cheap = &count.cheap[counts->group[stage]];

		*cheap = MIN(*cheap, one);
		count.base += counts->least[stage] * one;
	}
	for (guint item = 0; item < n; item++) {
		double least = (double)INFINITY;

		for (guint stage = 0; stage < counts->stages && !counts->like[item]; stage++)
			if (may_hold(counts, stage, item))
				least = MIN(least, cost[(gsize)stage * n + item]);
		count.base += counts->like[item] ? 0 : least;
	}
	g_qsort_with_data(count.order, (int)counts->groups, sizeof *count.order, compare_cheap,
		count.cheap);
	if (counts->cuts->len < MOST_CUTS)
		g_array_append_val(counts->cuts, count);
	else
		clear_count(&count);
}

/* The least of @cut where @group has @own of what is shared, and the others what they may. */
static double least_of(
	const PipesimLayoutCounts *counts, const Count *cut, guint group, guint own)
{
	double sum = cut->base + own * cut->cheap[group];
	guint left = counts->left;

	if (own > left)
		return (double)INFINITY;
	left -= own;
	for (guint other = 0; other < counts->groups; other++) {
		if (other == group)
			continue;
		if (counts->low[other] > left)
			return (double)INFINITY;
		left -= counts->low[other];
		sum += counts->low[other] * cut->cheap[other];
	}
	for (guint i = 0; i < counts->groups && left > 0; i++) {
		const guint other = cut->order[i];
		const guint more =
			other == group ? 0
				       : MIN(left, counts->high[other] - counts->low[other]);

		left -= more;
		sum += more * cut->cheap[other];
	}
	return left > 0 ? (double)INFINITY : sum;
}

/* From @inside, where @cut is below @limit, the last number of @group towards @end where it still is. */
static guint find_edge(const PipesimLayoutCounts *counts, const Count *cut, guint group,
	double limit, guint inside, guint end)
{
	while (inside != end) {
		/* Nearer to @end, which may be it. */
		const guint middle =
			inside < end ? end - (end - inside) / 2 : end + (inside - end) / 2;

		if (least_of(counts, cut, group, middle) < limit)
			inside = middle;
		else
			end = inside < end ? middle - 1 : middle + 1;
	}
	return inside;
}

/* What @group may have where @cut is to stay below @limit; FALSE: nothing. */
static gboolean narrow(PipesimLayoutCounts *counts, const Count *cut, guint group, double limit,
	gboolean *news)
{
	guint *low = &counts->low[group], *high = &counts->high[group];
	guint best = *low, end = *high, room = 0, from, to;

	/* What others cannot take it has to. */
	for (guint other = 0; other < counts->groups; other++)
		room += other == group ? 0 : counts->high[other];
	best = MAX(best, counts->left - MIN(counts->left, room));
	/* Where @cut is least, within what it may: that is convex in it. */
	for (end = MAX(end, best); best < end;) {
		const guint middle = best + (end - best) / 2;

		if (least_of(counts, cut, group, middle) <=
			least_of(counts, cut, group, middle + 1))
			end = middle;
		else
			best = middle + 1;
	}
	if (best > *high || least_of(counts, cut, group, best) >= limit)
		return FALSE;
	from = find_edge(counts, cut, group, limit, best, *low);
	to = find_edge(counts, cut, group, limit, best, *high);
	*news |= from > *low || to < *high;
	*low = from;
	*high = to;
	return TRUE;
}

gboolean pipesim_layout_counts_leaves(PipesimLayoutCounts *counts, double limit)
{
	gboolean news = counts->cuts->len > 0;

	for (guint group = 0; group < counts->groups; group++) {
		counts->low[group] = 0;
		counts->high[group] = counts->left;
	}
	for (guint round = 0; round < ROUNDS && news; round++) {
		news = FALSE;
		for (guint i = 0; i < counts->cuts->len; i++) {
			const Count *cut = &g_array_index(counts->cuts, Count, i);

			for (guint group = 0; group < counts->groups; group++)
				if (!narrow(counts, cut, group,
					    cut->most < (double)INFINITY ? cut->most : limit,
					    &news))
					return FALSE;
		}
	}
	return TRUE;
}

double pipesim_layout_counts_bound(PipesimLayoutCounts *counts, double low, double high)
{
	for (guint i = 0; i < HALVES && low < high; i++) {
		const double middle = low + (high - low) / 2;

		if (pipesim_layout_counts_leaves(counts, middle))
			high = middle;
		else
			low = middle;
	}
	return low;
}

guint pipesim_layout_counts_most(const PipesimLayoutCounts *counts, guint stage)
{
	return counts->least[stage] + counts->others[stage] +
	       counts->high[counts->group[stage]];
}

double pipesim_layout_counts_number(const PipesimLayoutCounts *counts)
{
	g_autofree double *ways = g_new0(double, counts->left + 1);

	ways[0] = 1;
	for (guint group = 0; group < counts->groups; group++)
		for (guint n = counts->left + 1; n-- > 0;) {
			double sum = 0;

			for (guint own = counts->low[group]; own <= MIN(counts->high[group], n);
				own++) {
				double shares = 1; /* of @own over the stages of the group */

				for (guint i = 1; i < counts->width[group]; i++)
					shares = shares * (own + i) / i;
				sum += ways[n - own] * shares;
			}
			ways[n] = sum;
		}
	return ways[counts->left];
}
