#include "measure/profile.h"
#include "base/number.h"
#include "measure/activities.h"
#include "measure/beside.h"
#include "measure/kernels.h"
#include "measure/pieces.h"

#include <stdlib.h>
#include <string.h>

#define NO_RANGE G_MAXUINT32

/* A union of intervals that come in order of their starts. */
typedef struct {
	gint64 covered, end;
} Union;

/* A range with a known meaning, and what its activities did. */
typedef struct {
	PipesimEvent range;
	PipesimRangeMeaning meaning;
	guint activities;
	gint64 start;  /* of the first; PIPESIM_NEVER = there is none */
	gint64 queued; /* see PipesimTraceRow */
	Union busy, move, wait;
	guint32 stream;     /* of most of them */
	guint votes;        /* of those, more than of others */
	gint64 own_end;     /* of the latest on that stream */
	gint64 message_end; /* of the latest message so far */
	gint64 waited;      /* ns without work while a message was under way */
	gint64 half;        /* when the backward half of a pair began */
	guint attentions;   /* pipesim_is_attention() */
	PipesimLayers layers;
	gint64 weights; /* pipesim_weights_of() */
} MarkedRange;

/* When something happened: an activity, on a stream or on the host, or a row of the trace. */
typedef struct {
	gint64 time;
	guint32 index;
	guint32 stream; /* of an activity */
} Moment;

PipesimProfile *pipesim_profile_new(void)
{
	PipesimProfile *profile = g_new0(PipesimProfile, 1);

	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		profile->events[kind] = g_array_new(FALSE, FALSE, sizeof(PipesimEvent));
	profile->processes = g_array_new(FALSE, FALSE, sizeof(PipesimProcess));
	return profile;
}

PIPESIM_FREES(PipesimProfile, pipesim_profile_free, profile)
{
	for (guint kind = 0; kind < PIPESIM_N_EVENTS; kind++)
		g_array_unref(profile->events[kind]);
	g_array_unref(profile->processes);
	g_free(profile);
}

PIPESIM_COMPARE(compare_moments, Moment, pipesim_by(time) ?: pipesim_by(index))

static PipesimEvent *activity_at(const PipesimProfile *profile, guint i)
{
	return &g_array_index(profile->events[PIPESIM_ACTIVITIES], PipesimEvent, i);
}

static MarkedRange *range_at(const GArray *ranges, guint i)
{
	return &g_array_index(ranges, MarkedRange, i);
}

/* Attribution -------------------------------------------------------------------------------- */

static void add_range(
	GArray *ranges, const PipesimEvent *range, const PipesimRangeMeaning *meaning)
{
	const Union nothing = {0, G_MININT64};
	const MarkedRange one = {.range = *range,
		.meaning = *meaning,
		.start = PIPESIM_NEVER,
		.busy = nothing,
		.move = nothing,
		.wait = nothing,
		.own_end = G_MININT64,
		.half = PIPESIM_NEVER,
		.message_end = G_MININT64};

	g_array_append_val(ranges, one);
}

/* Those of @all with a meaning as @ranges, by start. */
static void mark_ranges(GArray *ranges, const GArray *all, const PipesimRangeRules *rules,
	GStringChunk *strings)
{
	g_array_set_size(ranges, 0);
	pipesim_each (const PipesimEvent, range, all) {
		PipesimRangeMeaning meaning;

		if (pipesim_range_recognise(rules, range->name, strings, &meaning))
			add_range(ranges, range, &meaning);
	}
	/* A marked range begins with its range. */
	g_array_sort(ranges, pipesim_event_compare);
}

/* Gives each activity that still has no owner the innermost range around where it ran, or,
 * @by_launch, around where it was launched; returns how many found one. */
static guint ask(const GArray *ranges, const PipesimProfile *profile, gboolean by_launch)
{
	const guint n_activities = profile->events[PIPESIM_ACTIVITIES]->len;
	g_autofree Moment *queries = g_new(Moment, n_activities + (gsize)1); /* not NULL */
	guint n = 0;

	for (guint i = 0; i < n_activities; i++) {
		const PipesimEvent *activity = activity_at(profile, i);
		const PipesimEvent *launch =
			by_launch ? pipesim_launch_of(profile, activity) : NULL;

		if (!by_launch)
			queries[n++] = (Moment){activity->start, i, activity->stream};
		else if (launch != NULL)
			queries[n++] = (Moment){launch->start, i, PIPESIM_ANY_STREAM};
	}
	qsort(queries, n, sizeof *queries, compare_moments);

	/* A sweep over time; open: begun by now, by start. What is over is dropped as it is met. */
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint found = 0;
	guint32 next = 0;
	for (guint i = 0; i < n; i++) {
		for (; next < ranges->len &&
			range_at(ranges, next)->range.start <= queries[i].time;
			next++)
			g_array_append_val(open, next);
		for (guint k = open->len; k-- > 0;) {
			const guint32 index = g_array_index(open, guint32, k);
			const PipesimEvent *range = &range_at(ranges, index)->range;
			if (range->end < queries[i].time) {
				g_array_remove_index(open, k);
			} else if (range->stream == queries[i].stream) {
				/* The innermost. */
				activity_at(profile, queries[i].index)->range = index;
				found++;
				break;
			}
		}
	}
	return found;
}

/* The last range of each stream grows while kernels of the same meaning follow. */
static void ask_kernels(GArray *ranges, const PipesimProfile *profile,
	const PipesimRangeRules *rules, GStringChunk *strings)
{
	g_autoptr(GHashTable) last = g_hash_table_new(NULL, NULL); /* stream -> range + 1 */
	PipesimRangeMeaning meaning;

	pipesim_each (PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		const gpointer stream = GUINT_TO_POINTER(activity->stream);
		guint range = GPOINTER_TO_UINT(g_hash_table_lookup(last, stream));

		if (activity->range != NO_RANGE || !pipesim_range_rules_apply(rules, "kernel",
							   activity->name, strings, &meaning)) {
			g_hash_table_remove(last, stream);
			continue;
		}
		const PipesimRangeMeaning *before =
			range > 0 ? &range_at(ranges, range - 1)->meaning : NULL;
		if (before == NULL || before->counted != meaning.counted ||
			before->phase != meaning.phase ||
			!g_str_equal(before->component, meaning.component) ||
			!g_str_equal(before->chunk, meaning.chunk)) {
			add_range(ranges, activity, &meaning);
			range = ranges->len;
			g_hash_table_insert(last, stream, GUINT_TO_POINTER(range));
		}
		activity->range = range - 1;
	}
}

/* Rows --------------------------------------------------------------------------------------- */

static void cover(Union *all, const PipesimEvent *activity)
{
	if (activity->end <= all->end)
		return;
	all->covered += activity->end - MAX(activity->start, all->end);
	all->end = activity->end;
}

/* Marks what ran or was launched in the range of an all-to-all. */
static void mark_exchanges(PipesimProfile *profile)
{
	static const PipesimEventKind kinds[] = {PIPESIM_HOST_RANGES, PIPESIM_GPU_RANGES};
	const PipesimRangeMeaning none = {0};

	for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
		g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(MarkedRange));

		pipesim_each (const PipesimEvent, range, profile->events[kinds[i]])
			if (g_str_has_prefix(range->name, "nccl:all_to_all"))
				add_range(ranges, range, &none);
		g_array_sort(ranges, pipesim_event_compare);
		if (ranges->len > 0)
			ask(ranges, profile, kinds[i] == PIPESIM_HOST_RANGES);
	}
	pipesim_each (PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		activity->exchange =
			activity->range != NO_RANGE || pipesim_tells_exchange(activity);
		activity->range = NO_RANGE;
	}
}

/* Whether @activity is a message in the op @marked: PyTorch's ScheduleGPipe waits for its receives inside the
 * ranges of ops. A message is never work. */
static gboolean is_message_in_op(const PipesimEvent *activity, const MarkedRange *marked)
{
	return g_str_equal(marked->meaning.component, "chunk") && pipesim_is_message(activity);
}

/* An op ends with what it runs on its own stream, that of most of its kernels: what another stream begins behind that, in
 * the range or not, is beside the ops that follow, but for exchanges of experts. */
static void leave_behind(const GArray *ranges, const PipesimProfile *profile)
{
	const GArray *activities = profile->events[PIPESIM_ACTIVITIES];

	pipesim_each (const PipesimEvent, activity, activities) {
		if (activity->range == NO_RANGE || pipesim_communicates(activity))
			continue;
		MarkedRange *marked = range_at(ranges, activity->range);
		if (marked->votes == 0)
			marked->stream = activity->stream;
		marked->votes += marked->stream == activity->stream ? 1 : -1;
	}
	pipesim_each (const PipesimEvent, activity, activities)
		if (activity->range != NO_RANGE) {
			MarkedRange *marked = range_at(ranges, activity->range);
			if (marked->stream == activity->stream)
				marked->own_end = MAX(marked->own_end, activity->end);
		}
	pipesim_each (PipesimEvent, activity, activities)
		if (activity->range != NO_RANGE) {
			const MarkedRange *marked = range_at(ranges, activity->range);
			if (marked->votes > 0 && marked->stream != activity->stream &&
				g_str_equal(marked->meaning.component, "chunk") &&
				activity->start >= marked->own_end &&
				!pipesim_is_collective(activity))
				activity->range = NO_RANGE;
		}
}

/* PyTorch's GPipe computes losses behind the range of the forward that they are of: what its thread launches on its stream
 * before the next range is of that too. */
static void take_losses(const GArray *ranges, const PipesimProfile *profile)
{
	pipesim_each (PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		guint from;

		if (activity->range != NO_RANGE || pipesim_communicates(activity))
			continue;
		const PipesimEvent *launch = pipesim_launch_of(profile, activity);
		if (launch == NULL)
			continue;
		pipesim_skip(from, ranges->len,
			range_at(ranges, from)->range.start <= launch->start);
		const MarkedRange *last = from > 0 ? range_at(ranges, from - 1) : NULL;
		if (last != NULL && last->range.end < launch->start &&
			last->range.thread == launch->thread &&
			last->stream == activity->stream && last->meaning.phase == PIPESIM_F &&
			g_str_equal(last->meaning.component, "chunk"))
			activity->range = from - 1;
	}
}

/* PyTorch runs a pair as its halves, of which the backward one, launched by autograd's thread, waits for its gradient where it
 * begins.
 * @received: gint64, when messages ended that had begun before */
static void begin_half(MarkedRange *marked, const PipesimEvent *activity,
	const PipesimEvent *launch, const GArray *received)
{
	gint64 until = marked->busy.end;

	if (marked->half != PIPESIM_NEVER || launch == NULL ||
		launch->thread == marked->range.thread)
		return;
	marked->half = activity->start;
	pipesim_each (const gint64, end, received)
		if (*end <= activity->start)
			until = MAX(until, *end);
	marked->waited += until - marked->busy.end;
}

/* What @activity did in @marked, of whose activities it is the next by its start. */
static void count_activity(MarkedRange *marked, const PipesimEvent *activity,
	const PipesimProfile *profile, const GArray *received)
{
	if (is_message_in_op(activity, marked)) {
		marked->message_end = MAX(marked->message_end, activity->end);
		return;
	}
	if (marked->activities++ == 0) {
		const PipesimEvent *launch = pipesim_launch_of(profile, activity);

		marked->start = activity->start;
		marked->queued = launch != NULL ? activity->start - launch->start : 0;
	} else if (marked->message_end > marked->busy.end && activity->start > marked->busy.end)
		marked->waited += MIN(activity->start, marked->message_end) - marked->busy.end;
	else if (marked->meaning.phase == PIPESIM_FB)
		begin_half(marked, activity, pipesim_launch_of(profile, activity), received);
	marked->attentions += pipesim_is_attention(activity);
	if (marked->meaning.phase < PIPESIM_FB)
		pipesim_layers_add(
			&marked->layers, activity, marked->meaning.phase != PIPESIM_F);
	marked->weights += pipesim_weights_of(activity);
	cover(&marked->busy, activity);
}

/* Pipeline ops that launched nothing took no time (autograd's split leaves stage 0 no I); a
 * component without activities was not profiled. @starts: of each row; PIPESIM_NEVER: it launched
 * nothing. */
static void add_rows(PipesimTrace *trace, const PipesimProfile *profile, const GArray *ranges,
	GArray *starts)
{
	static const char *const waiting[] = {"notify", "barrier", NULL};
	static const char *const moving[] = {
		"dispatch", "combine", "nccl", "Memcpy", "all_to_all", "alltoall", NULL};
	const gint64 base = pipesim_trace_base(trace);
	g_autoptr(GArray) received = g_array_new(FALSE, FALSE, sizeof(gint64));

	pipesim_each (const PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		if (pipesim_is_message(activity))
			g_array_append_val(received, activity->end);
		if (activity->range == NO_RANGE)
			continue;
		MarkedRange *marked = range_at(ranges, activity->range);
		count_activity(marked, activity, profile, received);
		if (pipesim_names_one(activity->name, waiting))
			cover(&marked->wait, activity);
		else if (strstr(activity->name, "layout") == NULL &&
			 pipesim_names_one(activity->name, moving))
			cover(&marked->move, activity);
	}
	pipesim_each (const MarkedRange, marked, ranges) {
		const PipesimEvent *range = &marked->range;
		PipesimTraceRow row;

		pipesim_range_row(&marked->meaning, trace->strings, &row);
		row.attentions = marked->attentions;
		row.layer = pipesim_layers_mean(&marked->layers);
		row.weights = marked->weights;
		if (!marked->meaning.counted ||
			(!profile->projected && marked->activities == 0 &&
				!row.what.whole_chunk))
			continue;
		if (profile->projected) {
			row.duration = row.busy = range->end - range->start;
		} else {
			row.duration =
				marked->activities > 0
					? marked->busy.end - marked->start - marked->waited
					: 0;
			row.busy = marked->busy.covered;
			row.queued = marked->queued;
			if (row.what.role == PIPESIM_ROLE_COMM) {
				row.move = marked->move.covered;
				row.wait = marked->wait.covered;
			}
		}
		if (profile->projected || marked->activities > 0)
			row.start = base + (profile->projected ? range->start : marked->start);
		if (marked->half != PIPESIM_NEVER) {
			row.start += marked->waited;
			row.half = MAX(marked->half - marked->start - marked->waited, 0);
		}
		/* PyTorch's names; others are a user's rules. */
		if (row.what.whole_chunk && strstr(range->name, "PP:") != NULL)
			pipesim_trace_set(trace, PIPESIM_SOURCE, PIPESIM_SOURCE_FILES);
		else if (row.what.whole_chunk && strstr(range->name, "ward ") != NULL)
			pipesim_trace_set(trace, PIPESIM_SOURCE, PIPESIM_SOURCE_CLASSES);
		g_array_append_val(trace->rows, row);
		g_array_append_vals(
			starts, profile->projected ? &range->start : &marked->start, 1);
	}
}

/* Collectives, and how much of each no kernel of an op ran beside. */
static void add_collectives(PipesimTrace *trace, const PipesimProfile *profile)
{
	const GArray *activities = profile->events[PIPESIM_ACTIVITIES];
	const gint64 base = pipesim_trace_base(trace);
	g_autoptr(GArray) ops = g_array_new(FALSE, FALSE, sizeof(PipesimInterval));

	pipesim_each (const PipesimEvent, activity, activities)
		if (!pipesim_communicates(activity))
			g_array_append_val(
				ops, ((PipesimInterval){activity->start, activity->end}));
	pipesim_intervals_join(ops);
	pipesim_each (const PipesimEvent, activity, activities) {
		const gint64 duration = activity->end - activity->start;

		if (pipesim_is_collective(activity))
			g_array_append_val(trace->collectives,
				((PipesimTraceCollective){.name = activity->name,
					.group = activity->group != NULL ? activity->group : "",
					.start = base + activity->start,
					.duration = duration,
					.alone = duration - pipesim_beside_covered(ops,
								    activity->start,
								    activity->end)}));
	}
}

/* What stands beside the ops of a pipeline: messages, and what lies in no op; and of each
 * kernel and kind of op how long it usually took. */
static void add_beside(PipesimTrace *trace, const PipesimProfile *profile, const GArray *ranges)
{
	g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(PipesimRan));
	const gint64 base = pipesim_trace_base(trace);

	pipesim_each (const PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		const MarkedRange *marked =
			activity->range != NO_RANGE ? range_at(ranges, activity->range) : NULL;
		const char *name = marked != NULL ? marked->range.name : activity->name;
		const gboolean message =
			pipesim_is_message(activity) ||
			(marked != NULL &&
				(strstr(name, "SEND") != NULL || strstr(name, "RECV") != NULL));

		if (marked == NULL || !marked->meaning.counted)
			pipesim_activity_add_span(trace, activity, name, message, base);
		else if (is_message_in_op(activity, marked))
			pipesim_activity_add_span(trace, activity, activity->name, TRUE, base);
		else if (g_str_equal(marked->meaning.component, "chunk") &&
			 !pipesim_is_collective(activity))
			g_array_append_val(
				ran, ((PipesimRan){activity->name, marked->meaning.phase,
					     activity->range, base + activity->start,
					     activity->end - activity->start, 0, 0, FALSE}));
	}
	pipesim_trace_add_kernels(trace, ran);
}

/* Numbers the rows; where forwards ran beside backwards they are one overlapped pair. */
static void finish_rows(PipesimTrace *trace, const GArray *starts)
{
	g_autoptr(GHashTable) found =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) ran = g_array_new(FALSE, FALSE, sizeof(Moment));
	gint64 end[2] = {G_MININT64, G_MININT64}; /* of forwards, of backwards */
	guint layers = 1; /* how often the most frequent component and phase occurs */
	gboolean together = FALSE;
	PipesimTraceRow pair;

	for (guint i = 0; i < trace->rows->len; i++) {
		PipesimTraceRow *row = pipesim_trace_row(trace, i);
		const Moment one = {g_array_index(starts, gint64, i), i, 0};
		g_autofree char *key = g_strdup_printf(
			"%s %u %s", row->what.component, row->what.phase, row->what.chunk);
		const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(found, key));

		row->run_id = "profile";
		row->rank = pipesim_trace_get_count(trace, "rank");
		if (row->rep == PIPESIM_UNKNOWN)
			row->rep = count;
		g_hash_table_insert(found, g_steal_pointer(&key), GUINT_TO_POINTER(count + 1));
		layers = MAX(layers, count + 1);
		if (!row->what.whole_chunk && row->what.phase < PIPESIM_FB &&
			one.time != PIPESIM_NEVER)
			g_array_append_val(ran, one);
	}

	/* Whether some forward runs at the same time as some backward. */
	g_array_sort(ran, compare_moments);
	pipesim_each (const Moment, one, ran) {
		PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, one->index);
		const guint backward = row->what.phase != PIPESIM_F;
		together |= one->time < end[!backward];
		end[backward] = MAX(end[backward], one->time + row->duration);
	}
	if (!together)
		return;

	/* One row from the first start to the last end, of which all others are parts. */
	pipesim_each (const Moment, one, ran)
		pipesim_trace_row(trace, one->index)->what.in_pair = TRUE;
	pipesim_trace_row_init(&pair);
	pair.what.component = "chunk";
	pair.what.phase = PIPESIM_FB;
	pair.what.role = PIPESIM_ROLE_PAIR;
	pair.what.whole_chunk = TRUE;
	pair.run_id = "profile";
	pair.rank = pipesim_trace_get_count(trace, "rank");
	pair.rep = 0;
	pair.duration = pair.busy = MAX(end[0], end[1]) - g_array_index(ran, Moment, 0).time;
	g_array_append_val(trace->rows, pair);
	g_autofree char *text = g_strdup_printf("%u", layers);
	pipesim_trace_set(trace, "layers_per_chunk", text);
	pipesim_notice(trace->notices,
		"%s: taken for one overlapped pair of chunks of %u layers, as each component "
		"occurs so often",
		trace->path, layers);
}

/* A file that is cut short lacks what was launched last, but may have the ranges of all ops: takes off @profile those that were open
 * after the last launch, so that no op is taken for shorter than it was. */
static void leave_torn(PipesimProfile *profile)
{
	GArray *ranges = profile->events[PIPESIM_HOST_RANGES];
	gint64 last = G_MININT64;
	guint n = 0;

	pipesim_each (const PipesimEvent, launch, profile->events[PIPESIM_LAUNCHES])
		last = MAX(last, launch->start);
	for (guint i = 0; i < ranges->len; i++)
		if (g_array_index(ranges, PipesimEvent, i).end <= last)
			g_array_index(ranges, PipesimEvent, n++) =
				g_array_index(ranges, PipesimEvent, i);
	g_array_set_size(ranges, n);
}

/* Tells in @trace which part of the kernels that were launched is not there, as where buffers of the profiler ran over. What was
 * launched last may have run behind the end of the file. */
static void tell_lost(PipesimTrace *trace, const PipesimProfile *profile)
{
	const GArray *launches = profile->events[PIPESIM_LAUNCHES];
	const PipesimEvent *first = (const PipesimEvent *)(gconstpointer)launches->data;
	g_autofree gboolean *ran = g_new0(gboolean, launches->len + (gsize)1);
	g_autofree char *share = NULL;
	gint64 last = G_MININT64;
	guint64 n = 0, lost = 0;

	pipesim_each (const PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		const PipesimEvent *launch = pipesim_launch_of(profile, activity);

		if (launch != NULL) {
			ran[launch - first] = TRUE;
			last = MAX(last, launch->start);
		}
	}
	/* A call of the driver within one of the runtime has its correlation, which finds the same of both. */
	pipesim_each (const PipesimEvent, launch, launches)
		if (launch->start <= last && strstr(launch->name, "LaunchKernel") != NULL) {
			n++;
			lost += !ran[pipesim_launch_of(profile, launch) - first];
		}
	if (lost > 0) {
		share = g_strdup_printf("%" G_GUINT64_FORMAT, lost * PIPESIM_PPM / n);
		pipesim_trace_set(trace, PIPESIM_LOST, share);
	}
}

gboolean pipesim_trace_add_profile(PipesimTrace *trace, PipesimProfile *profile,
	const PipesimRangeRules *rules, GError **error)
{
	const guint n = profile->events[PIPESIM_ACTIVITIES]->len,
		    launches = profile->events[PIPESIM_LAUNCHES]->len;
	g_autoptr(GArray) ranges = g_array_new(FALSE, FALSE, sizeof(MarkedRange));
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(gint64));
	double time[3] = {0}; /* counted, known, unknown */
	guint placed = 0;

	pipesim_each (PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES])
		activity->range = NO_RANGE;
	g_array_sort(profile->events[PIPESIM_ACTIVITIES], pipesim_event_compare);
	g_array_sort(profile->events[PIPESIM_LAUNCHES], pipesim_compare_launches);
	if (pipesim_trace_get(trace, PIPESIM_CUT) != NULL && launches > 0)
		leave_torn(profile);
	tell_lost(trace, profile);
	mark_exchanges(profile);
	mark_ranges(ranges, profile->events[PIPESIM_HOST_RANGES], rules, trace->strings);
	if (ask(ranges, profile, TRUE) > 0) {
		leave_behind(ranges, profile);
		take_losses(ranges, profile);
	} else {
		mark_ranges(ranges, profile->events[PIPESIM_GPU_RANGES], rules, trace->strings);
		ask(ranges, profile, FALSE);
	}
	if (rules != NULL)
		ask_kernels(ranges, profile, rules, trace->strings);
	pipesim_each (const PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES]) {
		guint which = 2;
		if (activity->range != NO_RANGE)
			which = !range_at(ranges, activity->range)->meaning.counted;
		placed += which < 2;
		time[which] += (double)(activity->end - activity->start);
	}
	if (!profile->projected)
		add_collectives(trace, profile);
	add_rows(trace, profile, ranges, starts);
	if (!profile->projected && pipesim_trace_has_ops(trace))
		add_beside(trace, profile, ranges);
	if (n > 0 || !profile->projected) {
		const double all = MAX(1, time[0] + time[1] + time[2]);
		pipesim_notice(trace->coverage,
			"%s: %u of %u GPU activities lie in known ranges; %.1f %% of the GPU "
			"time does not",
			trace->path, placed, n, 100 * time[2] / all);
		if (time[1] > 0)
			pipesim_notice(trace->coverage,
				"%s: %.1f %% of the GPU time is known but no cost: sends and "
				"receives, which wait for their peers, or reductions",
				trace->path, 100 * time[1] / all);
	}
	g_autofree char *what =
		profile->projected
			? g_strdup("no NVTX range has")
			: g_strdup_printf("none of %u GPU activities lies in a range with", n);
	if (n == 0 && !profile->projected && trace->rows->len == 0)
		return pipesim_fail_at(error, trace->path, 1, 1, "%s",
			profile->has_gpu ||
					launches + profile->events[PIPESIM_HOST_RANGES]->len > 0
				? "no GPU activities: the profiler saw the host alone; record "
				  "ProfilerActivity.CUDA too (Nsight: --trace cuda,nvtx)"
				: "no event of PyTorch's profiler (kernel, cuda_runtime, "
				  "user_annotation): empty, or a Chrome trace of another tool");
	if (trace->rows->len == 0 && pipesim_range_rules_keeps_unnamed(rules)) {
		pipesim_trace_add_pieces(trace, profile);
		g_ptr_array_set_size(trace->coverage, 0);
		if (trace->segments->len > 0)
			return TRUE;
	}
	if (trace->rows->len == 0)
		return pipesim_fail_at(error, trace->path, 1, 1,
			"%s a known name such as 'attn(F)' or 'PP:0F0'; %s", what,
			profile->projected || launches > 0
				? "name yours with --map"
				: "launches (cuda_runtime), which would tell the order "
				  "without names, are not there either: keep them");
	finish_rows(trace, starts);
	return TRUE;
}
