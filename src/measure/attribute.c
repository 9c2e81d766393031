#include "config.h"

#include "measure/attribute.h"

#include <stdlib.h>
#include <string.h>

/* Which range was open at a moment, on a stream or on the host. */
typedef struct {
	gint64 time;
	guint32 stream, activity;
} Query;

void pipesim_attribution_free(PipesimAttribution *attribution)
{
	if (attribution == NULL)
		return;
	g_array_unref(attribution->ranges);
	g_free(attribution->owner);
	g_free(attribution);
}

static gint compare_ranges(gconstpointer a, gconstpointer b)
{
	const PipesimRange *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* The inner of two that start together comes later. */
	return (x->end < y->end) - (x->end > y->end);
}

static int compare_launches(const void *a, const void *b)
{
	const PipesimLaunch *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

static int compare_queries(const void *a, const void *b)
{
	const Query *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return (x->activity > y->activity) - (x->activity < y->activity);
}

static GArray *mark_ranges(
	const GArray *ranges, const PipesimRangeRules *rules, PipesimTrace *trace)
{
	GArray *marked = g_array_new(FALSE, FALSE, sizeof(PipesimMarkedRange));

	for (guint i = 0; i < ranges->len; i++) {
		PipesimMarkedRange one = {.range = g_array_index(ranges, PipesimRange, i)};
		if (pipesim_range_recognise(rules, one.range.name, trace, &one.meaning))
			g_array_append_val(marked, one);
	}
	/* A marked range begins with its range. */
	g_array_sort(marked, compare_ranges);
	return marked;
}

/* The innermost of the open ranges at @query; those that are over are dropped from @open. */
static guint32 find_open(const GArray *ranges, GArray *open, const Query *query)
{
	for (guint i = open->len; i-- > 0;) {
		const guint32 index = g_array_index(open, guint32, i);
		const PipesimRange *range =
			&g_array_index(ranges, PipesimMarkedRange, index).range;
		if (range->end < query->time)
			g_array_remove_index(open, i);
		else if (range->stream == query->stream)
			return index;
	}
	return PIPESIM_NO_RANGE;
}

/* Answers @queries, sorted by time; returns how many were found. */
static guint sweep(const GArray *ranges, const Query *queries, guint n, guint32 *owner)
{
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint found = 0;
	guint32 next = 0;

	for (guint i = 0; i < n; i++) {
		while (next < ranges->len &&
			g_array_index(ranges, PipesimMarkedRange, next).range.start <=
				queries[i].time) {
			g_array_append_val(open, next);
			next++;
		}
		owner[queries[i].activity] = find_open(ranges, open, &queries[i]);
		found += owner[queries[i].activity] != PIPESIM_NO_RANGE;
	}
	return found;
}

static guint attribute_by_launch(
	const PipesimProfile *profile, const GArray *ranges, guint32 *owner)
{
	const guint n = profile->activities->len;
	g_autofree Query *queries = NULL;
	guint m = 0;

	if (n == 0 || profile->launches->len == 0)
		return 0;
	queries = g_new(Query, n);
	qsort(profile->launches->data, profile->launches->len, sizeof(PipesimLaunch),
		compare_launches);
	for (guint i = 0; i < n; i++) {
		const PipesimLaunch key = {
			g_array_index(profile->activities, PipesimActivity, i).correlation, 0};
		const PipesimLaunch *launch = bsearch(&key, profile->launches->data,
			profile->launches->len, sizeof key, compare_launches);
		if (launch != NULL)
			queries[m++] = (Query){launch->start, PIPESIM_ANY_STREAM, i};
	}
	qsort(queries, m, sizeof *queries, compare_queries);
	return sweep(ranges, queries, m, owner);
}

static guint attribute_by_stream(
	const PipesimProfile *profile, const GArray *ranges, guint32 *owner)
{
	const guint n = profile->activities->len;
	g_autofree Query *queries = NULL;

	if (n == 0)
		return 0;
	queries = g_new(Query, n);
	for (guint i = 0; i < n; i++) {
		const PipesimActivity *activity =
			&g_array_index(profile->activities, PipesimActivity, i);
		queries[i] = (Query){activity->start, activity->stream, i};
	}
	qsort(queries, n, sizeof *queries, compare_queries);
	return sweep(ranges, queries, n, owner);
}

static gboolean same_meaning(const PipesimRangeMeaning *a, const PipesimRangeMeaning *b)
{
	return a->counted == b->counted && a->phase == b->phase &&
	       g_str_equal(a->component, b->component) && g_str_equal(a->chunk, b->chunk);
}

/* The last range of each stream grows while kernels of the same meaning follow. */
static void attribute_by_kernel(const PipesimProfile *profile, const PipesimRangeRules *rules,
	PipesimTrace *trace, PipesimAttribution *out)
{
	g_autoptr(GHashTable) last = g_hash_table_new(NULL, NULL); /* stream -> range + 1 */
	PipesimMarkedRange one;

	for (guint i = 0; i < out->n; i++) {
		const PipesimActivity *activity =
			&g_array_index(profile->activities, PipesimActivity, i);
		const gpointer stream = GUINT_TO_POINTER(activity->stream);
		const guint before = GPOINTER_TO_UINT(g_hash_table_lookup(last, stream));
		if (out->owner[i] != PIPESIM_NO_RANGE ||
			!pipesim_kernel_recognise(rules, activity->name, trace, &one.meaning)) {
			g_hash_table_remove(last, stream);
			continue;
		}
		if (before == 0 || !same_meaning(&g_array_index(out->ranges, PipesimMarkedRange,
							 before - 1)
							  .meaning,
					   &one.meaning)) {
			one.range = (PipesimRange){activity->start, activity->end,
				activity->name, activity->stream, 0};
			g_array_append_val(out->ranges, one);
			g_hash_table_insert(last, stream, GUINT_TO_POINTER(out->ranges->len));
		}
		out->owner[i] = GPOINTER_TO_UINT(g_hash_table_lookup(last, stream)) - 1;
	}
}

static gint compare_activities(gconstpointer a, gconstpointer b)
{
	const PipesimActivity *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end);
}

PipesimAttribution *pipesim_attribute(
	const PipesimProfile *profile, const PipesimRangeRules *rules, PipesimTrace *trace)
{
	PipesimAttribution *out = g_new0(PipesimAttribution, 1);

	/* Neighbours are told by time. */
	g_array_sort(profile->activities, compare_activities);
	out->n = profile->activities->len;
	out->owner = g_new(guint32, out->n);
	if (out->n > 0)
		memset(out->owner, 0xff, out->n * sizeof *out->owner);
	out->ranges = mark_ranges(profile->host_ranges, rules, trace);
	if (attribute_by_launch(profile, out->ranges, out->owner) == 0) {
		g_array_unref(out->ranges);
		out->ranges = mark_ranges(profile->gpu_ranges, rules, trace);
		attribute_by_stream(profile, out->ranges, out->owner);
	}
	if (rules != NULL)
		attribute_by_kernel(profile, rules, trace, out);
	return out;
}
