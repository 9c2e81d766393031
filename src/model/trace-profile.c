#include "config.h"

#include "model/trace-profile.h"

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

/* The row of @range, whose activities are @placed. */
static void measure_range(PipesimTraceRow *row, const PipesimProfile *profile,
	const PipesimMarkedRange *range, const Placed *placed, guint n)
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
	row->component = range->meaning.component;
	row->chunk = range->meaning.chunk;
	row->phase = range->meaning.phase;
	row->role = range->meaning.role;
	row->rep = range->meaning.rep;
	row->duration = n > 0 ? busy.end - start : 0;
	row->busy = busy.covered;
	if (row->role == PIPESIM_ROLE_COMM) {
		row->move = move.covered;
		row->wait = wait.covered;
	}
}

/* Ranges of the same meaning are numbered where their name has no number. */
static void number_row(PipesimTraceRow *row, GHashTable *counts)
{
	g_autofree char *key =
		g_strdup_printf("%s %u %s", row->component, row->phase, row->chunk);
	const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(counts, key));

	if (row->rep == PIPESIM_UNKNOWN)
		row->rep = count;
	g_hash_table_insert(counts, g_steal_pointer(&key), GUINT_TO_POINTER(count + 1));
}

/* When each counted range ran on the GPU, beside its row. */
typedef struct {
	gint64 start, end;
	guint row;
} Ran;

static void add_row(PipesimTrace *trace, const PipesimProfile *profile,
	const PipesimMarkedRange *range, const Placed *placed, guint n, GHashTable *counts,
	GArray *ran)
{
	PipesimTraceRow row;
	Ran when = {.row = trace->rows->len};

	pipesim_trace_row_init(&row);
	row.run_id = pipesim_trace_intern(trace, "profile", -1);
	row.rank = pipesim_trace_get_count(trace, "rank");
	row.whole_chunk = g_str_equal(range->meaning.component, "chunk");
	measure_range(&row, profile, range, placed, n);
	number_row(&row, counts);
	g_array_append_val(trace->rows, row);
	if (n == 0)
		return;
	when.start =
		g_array_index(profile->activities, PipesimActivity, placed[0].activity).start;
	when.end = when.start + row.duration;
	g_array_append_val(ran, when);
}

static gint compare_ran(gconstpointer a, gconstpointer b)
{
	const Ran *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->row > y->row) - (x->row < y->row);
}

static gboolean is_component(const PipesimTraceRow *row)
{
	return !g_str_equal(row->component, "chunk") && row->phase < PIPESIM_FB;
}

/* Whether some forward of a component runs at the same time as some backward. */
static gboolean shows_pair(const PipesimTrace *trace, const GArray *ran)
{
	gint64 end[2] = {G_MININT64, G_MININT64}; /* of forwards, of backwards */

	for (guint i = 0; i < ran->len; i++) {
		const Ran *when = &g_array_index(ran, Ran, i);
		const PipesimTraceRow *row =
			&g_array_index(trace->rows, PipesimTraceRow, when->row);
		if (!is_component(row))
			continue;
		const guint backward = row->phase != PIPESIM_F;
		if (when->start < end[!backward])
			return TRUE;
		end[backward] = MAX(end[backward], when->end);
	}
	return FALSE;
}

/* One row from the first start to the last end of what overlaps. */
static void add_pair(PipesimTrace *trace, const GArray *ran)
{
	gint64 start = G_MAXINT64, end = G_MININT64;
	PipesimTraceRow pair;

	pipesim_trace_row_init(&pair);
	for (guint i = 0; i < ran->len; i++) {
		const Ran *when = &g_array_index(ran, Ran, i);
		PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, when->row);
		if (!is_component(row))
			continue;
		row->pair_id = pipesim_trace_intern(trace, "profile", -1);
		start = MIN(start, when->start);
		end = MAX(end, when->end);
	}
	pair.run_id = pair.pair_id = pipesim_trace_intern(trace, "profile", -1);
	pair.component = pipesim_trace_intern(trace, "chunk", -1);
	pair.rank = pipesim_trace_get_count(trace, "rank");
	pair.phase = PIPESIM_FB;
	pair.role = PIPESIM_ROLE_PAIR;
	pair.rep = 0;
	pair.duration = pair.busy = end - start;
	pair.whole_chunk = TRUE;
	g_array_append_val(trace->rows, pair);
}

/* A chunk has as many layers as its most frequent component and phase. */
static void count_layers(PipesimTrace *trace, GHashTable *counts)
{
	GHashTableIter iter;
	gpointer key, value;
	guint layers = 1;

	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &key, &value))
		layers = MAX(layers, GPOINTER_TO_UINT(value));
	g_autofree char *text = g_strdup_printf("%u", layers);
	pipesim_trace_set(trace, "layers_per_chunk", text);
	pipesim_trace_note(trace,
		"%s: taken for one overlapped pair of chunks of %u layers, as each component "
		"occurs so often",
		trace->path, layers);
}

/* How much is in known ranges, and how much of that is no cost. */
static void note_coverage(PipesimTrace *trace, const PipesimProfile *profile,
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
	g_autofree Placed *placed = g_new(Placed, attribution->n);
	g_autoptr(GHashTable) found =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(Ran));
	const guint n = place_all(attribution, placed);
	guint at = 0;

	for (guint i = 0; i < attribution->ranges->len; i++) {
		const PipesimMarkedRange *range =
			&g_array_index(attribution->ranges, PipesimMarkedRange, i);
		const guint first = at;
		while (at < n && placed[at].owner == i)
			at++;
		if (counts(range, at - first))
			add_row(trace, profile, range, placed + first, at - first, found, ran);
	}
	note_coverage(trace, profile, attribution);
	if (ran->len == 0)
		return pipesim_fail_at(error, trace->path, 1, 1,
			"none of %u GPU activities lies in a range with a known name such as "
			"'attn(F)' or 'PP:0F0'; name yours with --map",
			attribution->n);
	g_array_sort(ran, compare_ran);
	if (shows_pair(trace, ran)) {
		add_pair(trace, ran);
		count_layers(trace, found);
	}
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
