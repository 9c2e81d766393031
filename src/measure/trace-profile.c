#include "config.h"

#include "measure/trace-profile.h"
#include "measure/trace-spans.h"

#include <stdlib.h>
#include <string.h>

/* Activities in the order of their ranges, then of time. */
typedef struct {
	guint32 owner, activity;
} Placed;

static int compare_placed(const void *a, const void *b)
{
	const Placed *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return (x->activity > y->activity) - (x->activity < y->activity);
}

/* A union of intervals that come in order of their starts. */
typedef struct {
	gint64 covered, end;
} Union;

static void cover(Union *all, const PipesimActivity *activity)
{
	if (activity->end <= all->end)
		return;
	all->covered += activity->end - MAX(activity->start, all->end);
	all->end = activity->end;
}

static gboolean waits_for_peers(const char *kernel)
{
	return strstr(kernel, "notify") != NULL || strstr(kernel, "barrier") != NULL;
}

static gboolean moves_data(const char *kernel)
{
	static const char *const names[] = {
		"dispatch", "combine", "nccl", "Memcpy", "all_to_all", "alltoall"};

	if (waits_for_peers(kernel) || strstr(kernel, "layout") != NULL)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strstr(kernel, names[i]) != NULL)
			return TRUE;
	return FALSE;
}

/* Times of @row, whose activities are @placed. */
static void measure_range(
	PipesimTraceRow *row, const PipesimProfile *profile, const Placed *placed, guint n)
{
	Union busy = {0, G_MININT64}, move = busy, wait = busy;
	gint64 start = G_MAXINT64;

	for (guint i = 0; i < n; i++) {
		const PipesimActivity *activity = &g_array_index(
			profile->activities, PipesimActivity, placed[i].activity);
		start = MIN(start, activity->start);
		cover(&busy, activity);
		if (waits_for_peers(activity->name))
			cover(&wait, activity);
		else if (moves_data(activity->name))
			cover(&move, activity);
	}
	row->duration = n > 0 ? busy.end - start : 0;
	row->busy = busy.covered;
	if (row->role == PIPESIM_ROLE_COMM) {
		row->move = move.covered;
		row->wait = wait.covered;
	}
}

static void add_row(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimMarkedRange *range, const Placed *placed, guint n, GArray *starts)
{
	PipesimTraceRow row;
	const gint64 start =
		n == 0 ? PIPESIM_NEVER
		       : g_array_index(profile->activities, PipesimActivity, placed[0].activity)
				 .start;

	pipesim_trace_span_init(&row, &range->meaning);
	measure_range(&row, profile, placed, n);
	g_array_append_val(trace->rows, row);
	g_array_append_val(starts, start);
}

void pipesim_trace_note_coverage(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimAttribution *attribution)
{
	double time[3] = {0}; /* counted, known, unknown */
	guint placed = 0;

	for (guint i = 0; i < attribution->n; i++) {
		const PipesimActivity *activity =
			&g_array_index(profile->activities, PipesimActivity, i);
		const guint32 owner = attribution->owner[i];
		guint which = 2;
		if (owner != PIPESIM_NO_RANGE)
			which = !g_array_index(attribution->ranges, PipesimMarkedRange, owner)
					 .meaning.counted;
		placed += which < 2;
		time[which] += (double)(activity->end - activity->start);
	}
	const double all = MAX(1, time[0] + time[1] + time[2]);
	pipesim_trace_note(trace,
		"%s: %u of %u GPU activities lie in known ranges; %.1f %% of the GPU time does "
		"not",
		trace->path, placed, attribution->n, 100 * time[2] / all);
	if (time[1] > 0)
		pipesim_trace_note(trace,
			"%s: %.1f %% of the GPU time is known but no cost: sends and receives, "
			"which "
			"wait for their peers, or reductions",
			trace->path, 100 * time[1] / all);
}

static guint place_all(const PipesimAttribution *attribution, Placed *placed)
{
	guint n = 0;

	for (guint32 i = 0; i < attribution->n; i++)
		if (attribution->owner[i] != PIPESIM_NO_RANGE)
			placed[n++] = (Placed){attribution->owner[i], i};
	qsort(placed, n, sizeof *placed, compare_placed);
	return n;
}

/* Pipeline ops that launched nothing took no time (autograd's split leaves stage 0 no I); a
 * component without activities was not profiled. */
static gboolean counts(const PipesimMarkedRange *range, guint activities)
{
	return range->meaning.counted &&
	       (activities > 0 || g_str_equal(range->meaning.component, "chunk"));
}

gboolean pipesim_trace_add_spans(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimAttribution *attribution, GError **error)
{
	g_autofree Placed *placed = g_new(Placed, attribution->n + (gsize)1); /* not NULL */
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(gint64));
	const guint n = place_all(attribution, placed);
	guint at = 0;

	for (guint i = 0; i < attribution->ranges->len; i++) {
		const PipesimMarkedRange *range =
			&g_array_index(attribution->ranges, PipesimMarkedRange, i);
		const guint first = at;
		while (at < n && placed[at].owner == i)
			at++;
		if (counts(range, at - first))
			add_row(trace, profile, range, placed + first, at - first, starts);
	}
	pipesim_trace_note_coverage(trace, profile, attribution);
	if (trace->rows->len == 0)
		return pipesim_fail_at(error, trace->path, 1, 1,
			"none of %u GPU activities lies in a range with a known name such as "
			"'attn(F)' or 'PP:0F0'; name yours with --map",
			attribution->n);
	pipesim_trace_finish_spans(trace, (const gint64 *)(gpointer)starts->data);
	return TRUE;
}

PipesimTrace *pipesim_trace_read_profile(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimProfile) profile = pipesim_profile_read(input, trace, error);
	g_autoptr(PipesimAttribution) attribution = NULL;

	if (profile == NULL)
		return NULL;
	if (profile->truncated)
		pipesim_trace_note(
			trace, "%s: the file is cut short; what it has is used", trace->path);
	attribution = pipesim_attribute(profile, rules, trace);
	if (!pipesim_trace_add_spans(trace, profile, attribution, error))
		return NULL;
	return g_steal_pointer(&trace);
}
