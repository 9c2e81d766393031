/* PyTorch profiler (Kineto) files: a Chrome trace, an object with traceEvents or a bare array, read
 * as a stream. One that ends in the middle is read so far. */
#include "config.h"

#include "base/decimal.h"
#include "base/json-read.h"
#include "base/number.h"
#include "measure/profile.h"
#include "measure/reader.h"

#include <string.h>

/* Most activities, launches and ranges of each sort that are kept: about 2 GB. */
#define MAX_KEPT (1u << 24)

/* The event being read. */
typedef struct {
	char phase;
	guint category;          /* PipesimEventKind; PIPESIM_N_EVENTS = of no interest */
	GString *name, *group;   /* of ranks that take part, and in what; "" = not told */
	guint32 thread, process; /* by their hash; of the latter 0 = not told */
	gint64 start, duration, stream; /* PIPESIM_UNKNOWN where missing */
	gint64 correlation;             /* <= 0 = none */
} Event;

typedef struct {
	PipesimJsonReader *json;
	PipesimProfile *profile;
	PipesimTrace *trace;
	Event event;
	GArray *open; /* guint32: host ranges begun (ph B) and not ended, by index */
	/* PipesimEvent: operators of the host, until a GPU does something. */
	GArray *operators;
	GError **error;
	guint32 process; /* whose ranges and launches these are; 0 = not known yet */
} Reader;

/* The last number or string of digits, times 10^@decimals. */
static gboolean read_number(Reader *reader, guint decimals, gint64 *out)
{
	gsize length;
	const char *text = pipesim_json_raw(reader->json, &length);
	const char *why = pipesim_decimal_parse(text, length, decimals, out);

	if (why == NULL)
		return TRUE;
	return pipesim_json_fail(
		reader->json, reader->error, "'%.*s' is %s", (int)MIN(length, 40), text, why);
}

static const struct {
	const char *name;
	PipesimEventKind category;
} categories[] = {
	{"kernel", PIPESIM_ACTIVITIES},
	{"gpu_memcpy", PIPESIM_ACTIVITIES},
	{"gpu_memset", PIPESIM_ACTIVITIES},
	{"cuda_runtime", PIPESIM_LAUNCHES},
	{"cuda_driver", PIPESIM_LAUNCHES},
	{"user_annotation", PIPESIM_HOST_RANGES},
	{"gpu_user_annotation", PIPESIM_GPU_RANGES},
};

/* In place of a category: of operators of the host, which count where no GPU did anything. */
#define OPERATORS (PIPESIM_N_EVENTS + 1)

static gboolean is_scalar(PipesimJsonToken token)
{
	return token == PIPESIM_JSON_NUMBER || token == PIPESIM_JSON_STRING;
}

/* What is kept of an event: its members, and those of its "args". */
enum {
	PHASE,
	CATEGORY,
	NAME,
	START,
	DURATION,
	THREAD,
	PROCESS,
	FIRST_ARGUMENT,
	CORRELATION = FIRST_ARGUMENT,
	STREAM,
	FIRST_OF_GROUP, /* of collectives alone */
	DESCRIPTION = FIRST_OF_GROUP,
	N_MEMBERS = FIRST_OF_GROUP + 5,
};
static const char *const members[] = {"ph", "cat", "name", "ts", "dur", "tid", "pid",
	"correlation", "stream", "Process Group Description", "Process Group Name",
	"Process Group Ranks", "In msg nelems", "Collective name"};

/* From the last string or number. */
static gboolean keep_member(Reader *reader, guint member)
{
	Event *event = &reader->event;
	const char *value;
	gsize length;

	switch (member) {
	case PHASE:
		value = pipesim_json_raw(reader->json, &length);
		event->phase = length == 1 ? value[0] : '\0';
		return TRUE;
	case CATEGORY:
		event->category = PIPESIM_N_EVENTS;
		for (guint i = 0; i < G_N_ELEMENTS(categories); i++)
			if (pipesim_json_is(reader->json, categories[i].name))
				event->category = categories[i].category;
		if (pipesim_json_is(reader->json, "cpu_op") && reader->operators != NULL)
			event->category = OPERATORS;
		return TRUE;
	case NAME:
		g_string_assign(event->name, pipesim_json_text(reader->json));
		return TRUE;
	case START:
		return read_number(reader, 3, &event->start);
	case DURATION:
		return read_number(reader, 3, &event->duration);
	case THREAD:
		value = pipesim_json_text(reader->json);
		event->thread = g_str_hash(value);
		return event->stream != PIPESIM_UNKNOWN || !g_ascii_isdigit(value[0]) ||
		       read_number(reader, 0, &event->stream);
	case PROCESS:
		event->process = g_str_hash(pipesim_json_text(reader->json));
		return TRUE;
	case CORRELATION:
		return read_number(reader, 0, &event->correlation);
	case STREAM:
		return read_number(reader, 0, &event->stream);
	default: /* the description first, which is for people too */
		value = pipesim_json_text(reader->json);
		g_string_insert(event->group, member == DESCRIPTION ? 0 : -1, "\n");
		g_string_insert(event->group, member == DESCRIPTION ? 0 : -1, value);
		return TRUE;
	}
}

/* Members @first to @last of an object that has been opened. *token: what ended it, or an error.
 */
static gboolean read_members(Reader *reader, guint first, guint last, PipesimJsonToken *token)
{
	PipesimJsonToken inner;

	while ((*token = pipesim_json_next(reader->json, reader->error)) == PIPESIM_JSON_KEY) {
		const gboolean arguments =
			first < FIRST_ARGUMENT && pipesim_json_is(reader->json, "args");
		guint member = first;

		while (member < last && !pipesim_json_is(reader->json, members[member]))
			member++;
		*token = pipesim_json_next(reader->json, reader->error);
		if (arguments && *token == PIPESIM_JSON_OPEN_OBJECT) {
			const gboolean collective =
				strstr(reader->event.name->str, "nccl") != NULL;

			if (!read_members(reader, FIRST_ARGUMENT,
				    collective ? N_MEMBERS : FIRST_OF_GROUP, &inner))
				return FALSE;
		} else if (member < last && is_scalar(*token)) {
			if (!keep_member(reader, member))
				return FALSE;
		} else if (!pipesim_json_skip(reader->json, *token, reader->error)) {
			return FALSE;
		}
	}
	return *token != PIPESIM_JSON_ERROR;
}

/* What hosts do is of one process in what the profiler of a rank wrote; files of ranks that were put into one cannot be
 * told apart, as their GPUs have the same numbers. */
static gboolean check_process(Reader *reader)
{
	const Event *event = &reader->event;
	const gboolean host = event->category == PIPESIM_LAUNCHES ||
			      event->category == PIPESIM_HOST_RANGES ||
			      event->category == OPERATORS;

	if (!host || event->process == 0)
		return TRUE;
	if (reader->process == 0)
		reader->process = event->process;
	return reader->process == event->process ||
	       pipesim_json_fail(reader->json, reader->error,
		       "a second process: this file merges those of several ranks; give them "
		       "as the profiler wrote them, one a rank");
}

static gboolean keep_event(Reader *reader)
{
	const Event *event = &reader->event;
	const guint category = event->category;
	const gboolean begins = event->phase == 'B';
	const gboolean ends = event->phase == 'E' && reader->open->len > 0;

	if (!ends && (category == PIPESIM_N_EVENTS || (event->phase != 'X' && !begins)))
		return TRUE;
	if (!check_process(reader))
		return FALSE;
	/* A time that is wrong would otherwise be found in a sum much later. */
	if (event->start == PIPESIM_UNKNOWN)
		return pipesim_json_fail(
			reader->json, reader->error, "an event without a time (ts)");
	if (ABS(event->start) > G_MAXINT64 / 4 || event->duration > G_MAXINT64 / 4)
		return pipesim_json_fail(reader->json, reader->error, "a time out of range");
	if (event->phase == 'X' && event->duration < 0)
		return pipesim_json_fail(reader->json, reader->error,
			"an event without a duration, or a negative one");
	/* Ends the last range of its thread that was begun. */
	for (guint i = ends ? reader->open->len : 0; i-- > 0;) {
		PipesimEvent *range =
			&g_array_index(reader->profile->events[PIPESIM_HOST_RANGES],
				PipesimEvent, g_array_index(reader->open, guint32, i));
		if (range->thread != event->thread)
			continue;
		range->end = MAX(range->start, event->start);
		g_array_remove_index(reader->open, i);
		break;
	}
	if (ends || (category == PIPESIM_LAUNCHES ? event->correlation <= 0
						  : begins && category != PIPESIM_HOST_RANGES))
		return TRUE;
	/* One thing that a GPU did, or that there is one, and they are of no interest. */
	if (category == PIPESIM_ACTIVITIES ||
		pipesim_trace_get(reader->trace, "device_name") != NULL)
		g_clear_pointer(&reader->operators, g_array_unref);
	if (category == OPERATORS && reader->operators == NULL)
		return TRUE;
	GArray *array =
		category == OPERATORS ? reader->operators : reader->profile->events[category];
	if (array->len >= MAX_KEPT)
		return pipesim_fail_limit(reader->error, reader->trace->path,
			"more than %u GPU activities; profile fewer steps", MAX_KEPT);
	if (begins && category == PIPESIM_HOST_RANGES)
		g_array_append_val(reader->open, array->len);
	const PipesimEvent one = {
		.start = event->start,
		.end = event->start + MAX(0, event->duration),
		.correlation = (guint64)MAX(0, event->correlation),
		.stream = category == PIPESIM_HOST_RANGES ? PIPESIM_ANY_STREAM
							  : (guint32)event->stream,
		.thread = event->thread,
		.name = g_string_chunk_insert_const(reader->trace->strings, event->name->str),
		.group = event->group->len > 0
				 ? g_string_chunk_insert_const(
					   reader->trace->strings, event->group->str)
				 : NULL,
	};
	g_array_append_val(array, one);
	return TRUE;
}

static gboolean read_events(Reader *reader)
{
	GString *name = reader->event.name, *group = reader->event.group;
	PipesimJsonToken token, end;

	while ((token = pipesim_json_next(reader->json, reader->error)) !=
		PIPESIM_JSON_CLOSE_ARRAY) {
		if (token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR)
			return token == PIPESIM_JSON_END;
		if (token != PIPESIM_JSON_OPEN_OBJECT) {
			if (!pipesim_json_skip(reader->json, token, reader->error))
				return FALSE;
			continue;
		}
		g_string_truncate(name, 0);
		g_string_truncate(group, 0);
		reader->event = (Event){.name = name,
			.group = group,
			.category = PIPESIM_N_EVENTS,
			.start = PIPESIM_UNKNOWN,
			.duration = PIPESIM_UNKNOWN,
			.stream = PIPESIM_UNKNOWN};
		if (!read_members(reader, PHASE, FIRST_ARGUMENT, &end) ||
			(end == PIPESIM_JSON_CLOSE_OBJECT && !keep_event(reader)))
			return FALSE;
	}
	return TRUE;
}

static gint compare_operators(gconstpointer a, gconstpointer b)
{
	const PipesimEvent *x = a, *y = b;

	return pipesim_compare(x->thread, y->thread) ?: pipesim_compare(x->start, y->start) ?:
		pipesim_compare(y->end, x->end);
}

/* Adds @event as an activity of @stream that @thread launched when it began. */
static void add_activity(
	PipesimProfile *profile, const PipesimEvent *event, guint32 stream, guint32 thread)
{
	GArray *const *events = profile->events;
	PipesimEvent activity = *event, launch = *event;

	activity.correlation = launch.correlation =
		(guint64)events[PIPESIM_ACTIVITIES]->len + 1;
	activity.stream = stream;
	launch.thread = thread;
	g_array_append_val(events[PIPESIM_ACTIVITIES], activity);
	g_array_append_val(events[PIPESIM_LAUNCHES], launch);
}

/* Where no GPU did anything the outermost operators of the host are what ran, and what gloo calls its messages. Autograd runs
 * backwards on the thread that asked for them: its operators are taken for another's. */
static void use_operators(PipesimProfile *profile, GArray *operators)
{
	const GArray *ranges = profile->events[PIPESIM_HOST_RANGES];
	const PipesimEvent *outer = NULL;

	if (operators == NULL || profile->events[PIPESIM_LAUNCHES]->len > 0)
		return;
	g_array_sort(operators, compare_operators);
	pipesim_each (const PipesimEvent, event, operators) {
		if (outer != NULL && outer->thread == event->thread &&
			event->start < outer->end)
			continue;
		outer = event;
		if (!g_str_has_prefix(event->name, "c10d::") &&
			!g_str_has_prefix(event->name, "aten::empty"))
			add_activity(profile, event, 0,
				event->thread +
					g_str_has_prefix(event->name, "autograd::engine"));
	}
	pipesim_each (const PipesimEvent, range, ranges)
		if (g_str_has_prefix(range->name, "gloo:"))
			add_activity(profile, range, 1, range->thread);
}

/* Members of the document that become metadata: the first of their name in an object or array of
 * it, however deep, or itself. */
static const struct {
	const char *part, *member, *key;
} kept[] = {
	{"deviceProperties", "name", "device_name"},
	{"deviceProperties", "numSms", "sm_count"},
	{"distributedInfo", "rank", "rank"},
	{"distributedInfo", "world_size", "ranks"},
	{"baseTimeNanoseconds", "baseTimeNanoseconds", "base_time_ns"},
};

/* What an object holds that has been opened. */
static gboolean read_document(Reader *reader)
{
	g_autoptr(GString) part = g_string_new(NULL);
	PipesimJsonReader *json = reader->json;
	const char *key = NULL; /* of metadata, of what comes next */

	for (guint depth = 1; depth > 0;) {
		const PipesimJsonToken token = pipesim_json_next(json, reader->error);

		if (token == PIPESIM_JSON_END || token == PIPESIM_JSON_ERROR)
			return token == PIPESIM_JSON_END;
		if (token == PIPESIM_JSON_KEY) {
			if (depth == 1)
				g_string_assign(part, pipesim_json_text(json));
			for (guint i = 0; i < G_N_ELEMENTS(kept); i++)
				if (g_str_equal(part->str, kept[i].part) &&
					pipesim_json_is(json, kept[i].member))
					key = kept[i].key;
			continue;
		}
		if (token == PIPESIM_JSON_OPEN_ARRAY && depth == 1 &&
			g_str_equal(part->str, "traceEvents")) {
			if (!read_events(reader))
				return FALSE;
		} else if (token == PIPESIM_JSON_OPEN_ARRAY ||
			   token == PIPESIM_JSON_OPEN_OBJECT) {
			depth++;
		} else if (token == PIPESIM_JSON_CLOSE_ARRAY ||
			   token == PIPESIM_JSON_CLOSE_OBJECT) {
			depth--;
		} else if (is_scalar(token) && key != NULL &&
			   pipesim_trace_get(reader->trace, key) == NULL) {
			pipesim_trace_set(reader->trace, key, pipesim_json_text(json));
		}
		key = NULL;
	}
	return TRUE;
}

/* The first byte that is not blank, past a byte order mark, opens an object or an array. */
static gboolean is_json(const char *head)
{
	if (g_str_has_prefix(head, "\xef\xbb\xbf"))
		head += 3;
	while (g_ascii_isspace(*head))
		head++;
	return *head == '{' || *head == '[';
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimJsonReader) json = pipesim_json_reader_new(input);
	g_autoptr(PipesimProfile) profile = pipesim_profile_new();
	g_autoptr(GArray) open = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GString) name = g_string_new(NULL), group = g_string_new(NULL);
	g_autoptr(GArray) operators = g_array_new(FALSE, FALSE, sizeof(PipesimEvent));
	Reader reader = {json, profile, trace, {.name = name, .group = group}, open,
		g_array_ref(operators), error, 0};
	const PipesimJsonToken token = pipesim_json_next(json, error);

	if (token != PIPESIM_JSON_OPEN_ARRAY && token != PIPESIM_JSON_OPEN_OBJECT) {
		g_clear_pointer(&reader.operators, g_array_unref);
		if (token != PIPESIM_JSON_ERROR)
			pipesim_json_fail(
				json, error, "neither an object nor an array of events");
		return NULL;
	}
	const gboolean ok =
		(token == PIPESIM_JSON_OPEN_ARRAY ? read_events : read_document)(&reader);

	if (ok && reader.operators != NULL)
		use_operators(profile, operators);
	g_clear_pointer(&reader.operators, g_array_unref);
	if (!ok)
		return NULL;
	if (pipesim_json_truncated(json))
		pipesim_notice(trace->notices, "%s: the file is cut short; what it has is used",
			trace->path);
	if (!pipesim_trace_add_profile(trace, profile, rules, error))
		return NULL;
	return g_steal_pointer(&trace);
}

const PipesimReader pipesim_reader_pytorch = {
	.name = "file of PyTorch's profiler",
	.is = is_json,
	.read = read_trace,
};
