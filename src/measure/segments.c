#include "config.h"

#include "base/kind.h"
#include "base/number.h"
#include "measure/segments.h"

#include <stdlib.h>
#include <string.h>

/* An activity, when and by whom it was launched. */
typedef struct {
	gint64 at;
	guint32 thread;
	const PipesimEvent *activity;
} Launched;

static gint compare_launched(gconstpointer a, gconstpointer b)
{
	const Launched *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->activity->start > y->activity->start) -
	       (x->activity->start < y->activity->start);
}

static gint compare_correlations(gconstpointer a, gconstpointer b)
{
	const PipesimEvent *x = a, *y = b;

	return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* What was launched, in that order. */
static GArray *list_launched(const PipesimProfile *profile)
{
	const GArray *activities = profile->events[PIPESIM_ACTIVITIES];
	const GArray *launches = profile->events[PIPESIM_LAUNCHES];
	GArray *list = g_array_new(FALSE, FALSE, sizeof(Launched));

	for (guint i = 0; i < activities->len && launches->len > 0; i++) {
		const PipesimEvent *activity = &g_array_index(activities, PipesimEvent, i);
		const PipesimEvent *launch = bsearch(activity, launches->data, launches->len,
			sizeof *activity, compare_correlations);

		if (launch != NULL)
			g_array_append_val(
				list, ((Launched){launch->start, launch->thread, activity}));
	}
	g_array_sort(list, compare_launched);
	return list;
}

static gboolean is_message(const PipesimEvent *activity)
{
	return strstr(activity->name, "SendRecv") != NULL;
}

static gboolean is_collective(const PipesimEvent *activity)
{
	return strstr(activity->name, "nccl") != NULL;
}

/* The thread that launches messages, else that of the first kernel. */
static guint32 main_thread(const GArray *launched)
{
	for (guint i = 0; i < launched->len; i++) {
		const Launched *one = &g_array_index(launched, Launched, i);

		if (is_message(one->activity))
			return one->thread;
	}
	return launched->len > 0 ? g_array_index(launched, Launched, 0).thread : 0;
}

/* The stream on which most was launched: that of the ops. */
static guint32 main_stream(const GArray *launched)
{
	g_autoptr(GHashTable) counts = g_hash_table_new(NULL, NULL);
	guint32 best = 0;
	guint most = 0;

	for (guint i = 0; i < launched->len; i++) {
		const PipesimEvent *activity = g_array_index(launched, Launched, i).activity;
		const gpointer key = GUINT_TO_POINTER(activity->stream);
		const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key)) + 1;

		g_hash_table_insert(counts, key, GUINT_TO_POINTER(count));
		if (count > most) {
			most = count;
			best = activity->stream;
		}
	}
	return best;
}

/* Whether a range of the optimizer was open at @at. */
static gboolean is_optimizer(const PipesimProfile *profile, gint64 at)
{
	const GArray *ranges = profile->events[PIPESIM_HOST_RANGES];

	for (guint i = 0; i < ranges->len; i++) {
		const PipesimEvent *range = &g_array_index(ranges, PipesimEvent, i);

		if (range->start <= at && at <= range->end &&
			g_str_has_prefix(range->name, "Optimizer."))
			return TRUE;
	}
	return FALSE;
}

static void grow(PipesimTraceSegment *segment, const PipesimEvent *activity, gint64 base)
{
	segment->start = MIN(segment->start, base + activity->start);
	segment->end = MAX(segment->end, base + activity->end);
	segment->busy += activity->end - activity->start;
	segment->n++;
}

void pipesim_trace_add_segments(PipesimTrace *trace, const PipesimProfile *profile)
{
	g_autoptr(GArray) launched = list_launched(profile);
	g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(PipesimRan));
	const guint32 thread = main_thread(launched), stream = main_stream(launched);
	const gint64 base =
		CLAMP(pipesim_trace_get_count(trace, "base_time_ns"), 0, PIPESIM_MAX_END / 2);
	gboolean ended = TRUE;

	for (guint i = 0; i < launched->len; i++) {
		const Launched *one = &g_array_index(launched, Launched, i);
		const PipesimEvent *activity = one->activity;
		PipesimTraceSegment *last =
			trace->segments->len > 0
				? &g_array_index(trace->segments, PipesimTraceSegment,
					  trace->segments->len - 1)
				: NULL;
		const PipesimTraceSegment segment = {
			.start = base + activity->start,
			.end = base + activity->start,
			.backward = one->thread != thread,
		};

		if (activity->stream != stream || is_collective(activity) ||
			is_optimizer(profile, one->at)) {
			/* Collectives and copies on other streams come in between. */
			ended |= is_message(activity) || is_optimizer(profile, one->at);
			pipesim_trace_add_span(
				trace, activity, activity->name, is_message(activity), base);
			continue;
		}
		if (ended || last->backward != segment.backward) {
			g_array_append_val(trace->segments, segment);
			last = &g_array_index(
				trace->segments, PipesimTraceSegment, trace->segments->len - 1);
			ended = FALSE;
		}
		grow(last, activity, base);
		last->busy = MIN(last->busy, last->end - last->start);
		g_array_append_val(ran,
			((PipesimRan){activity->name, segment.backward ? PIPESIM_B : PIPESIM_F,
				base + activity->start, activity->end - activity->start}));
	}
	pipesim_trace_add_kernels(trace, ran);
}
