/* PyTorch profiler (Kineto) files: a Chrome trace, an object with traceEvents or a bare array, read
 * as a stream. One that ends in the middle is read so far. */
#include "measure/processes.h"
#include "measure/reader.h"

/* Most activities, launches and ranges of each sort that are kept: about 2 GB. */
#define MAX_KEPT (1u << 24)

/* The event being read. */
typedef struct {
	char phase;
	guint category; /* PipesimEventKind; PIPESIM_N_EVENTS = of no interest */
	guint32 thread; /* by its hash */
	gint64 rank;    /* that it is tagged with; PIPESIM_UNKNOWN = none */
	gint64 start, duration, stream; /* PIPESIM_UNKNOWN where missing */
	gint64 correlation;             /* <= 0 = none */
} Event;

typedef struct {
	PipesimJsonReader *json;
	PipesimProfile *profile;
	PipesimTrace *trace;
	Event event;
	/* Of the event: its name; ranks that take part, and in what, "" = not told; the number
	 * of its process, as it stands there; the label that it gives that. */
	GString *name, *group, *process, *label;
	GArray *open; /* guint32: host ranges begun (ph B) and not ended, by index */
	GHashTable *
		processes; /* gint64, of number and tag -> index in those of the profile, and 1 */
	guint32 host;      /* process of the last event of a host; G_MAXUINT32 = none */
	GError **error;
} Reader;

/* More have no file. */
#define MOST_PROCESSES 4096

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
	{"cpu_op", PIPESIM_OPERATORS},
};

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
	RANK,
	LABEL,
	FIRST_OF_GROUP, /* of collectives alone */
	DESCRIPTION = FIRST_OF_GROUP,
	N_MEMBERS = FIRST_OF_GROUP + 5,
};
static const char *const members[] = {"ph", "cat", "name", "ts", "dur", "tid", "pid",
	"correlation", "stream", "rank", "name", "Process Group Description",
	"Process Group Name", "Process Group Ranks", "In msg nelems", "Collective name"};

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
		return TRUE;
	case NAME:
		g_string_assign(reader->name, pipesim_json_text(reader->json));
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
		g_string_assign(reader->process, pipesim_json_text(reader->json));
		return TRUE;
	case RANK:
		value = pipesim_json_text(reader->json);
		return !g_ascii_isdigit(value[0]) || read_number(reader, 0, &event->rank);
	case LABEL:
		g_string_assign(reader->label, pipesim_json_text(reader->json));
		return TRUE;
	case CORRELATION:
		return read_number(reader, 0, &event->correlation);
	case STREAM:
		return read_number(reader, 0, &event->stream);
	default: /* the description first, which is for people too */
		value = pipesim_json_text(reader->json);
		g_string_insert(reader->group, member == DESCRIPTION ? 0 : -1, "\n");
		g_string_insert(reader->group, member == DESCRIPTION ? 0 : -1, value);
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
			const gboolean collective = strstr(reader->name->str, "nccl") != NULL;

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

/* The process of the event, or of the GPU, among those of the profile; G_MAXUINT32 with an error. */
static guint32 find_process(Reader *reader)
{
	const Event *event = &reader->event;
	GArray *all = reader->profile->processes;
	const gint64 key = (gint64)g_str_hash(reader->process->str) << 31 ^ event->rank;
	const guint found = GPOINTER_TO_UINT(g_hash_table_lookup(reader->processes, &key));
	PipesimProcess process = {NULL, event->rank, PIPESIM_UNKNOWN};

	if (found > 0)
		return found - 1;
	if (all->len >= MOST_PROCESSES) {
		pipesim_fail_limit(reader->error, reader->trace->path,
			"more than %u processes; give files as the profiler wrote them, one a "
			"rank",
			MOST_PROCESSES);
		return G_MAXUINT32;
	}
	process.number =
		g_string_chunk_insert_const(reader->trace->strings, reader->process->str);
	g_array_append_val(all, process);
	g_hash_table_insert(
		reader->processes, g_memdup2(&key, sizeof key), GUINT_TO_POINTER(all->len));
	return all->len - 1;
}

/* Keeps the rank that "Rank 3" or "rank_3 GPU" tells, as those who merge files name processes. */
static gboolean keep_label(Reader *reader)
{
	g_autofree char *label = g_ascii_strdown(reader->label->str, -1);
	const char *rank = strstr(label, "rank");

	if (rank == NULL || !g_str_equal(reader->name->str, "process_name"))
		return TRUE;
	rank += strcspn(rank, "0123456789");
	guint32 process = rank[0] != '\0' ? find_process(reader) : 0;
	if (rank[0] != '\0' && process != G_MAXUINT32)
		g_array_index(reader->profile->processes, PipesimProcess, process).named =
			g_ascii_strtoll(rank, NULL, 10);
	return process != G_MAXUINT32;
}

/* Ends the last range of its thread that was begun. */
static void end_range(Reader *reader, guint32 process)
{
	for (guint i = reader->open->len; i-- > 0;) {
		PipesimEvent *range =
			&g_array_index(reader->profile->events[PIPESIM_HOST_RANGES],
				PipesimEvent, g_array_index(reader->open, guint32, i));
		if (range->thread != reader->event.thread || range->process != process)
			continue;
		range->end = MAX(range->start, reader->event.start);
		g_array_remove_index(reader->open, i);
		break;
	}
}

/* Whether processes send each other messages by gloo alone, from the memory of hosts. */
static gboolean is_gloo(const Reader *reader)
{
	return g_strcmp0(pipesim_trace_get(reader->trace, "backend"), "gloo") == 0;
}

static gboolean keep_event(Reader *reader)
{
	const Event *event = &reader->event;
	const guint category = event->category;
	const gboolean begins = event->phase == 'B';
	const gboolean ends = event->phase == 'E' && reader->open->len > 0;
	const gboolean on_gpu =
		category == PIPESIM_ACTIVITIES || category == PIPESIM_GPU_RANGES;
	PipesimProfile *profile = reader->profile;

	if (event->phase == 'M')
		return keep_label(reader);
	if (!ends && (category == PIPESIM_N_EVENTS || (event->phase != 'X' && !begins)))
		return TRUE;
	/* A time that is wrong would otherwise be found in a sum much later. */
	if (event->start == PIPESIM_UNKNOWN)
		return pipesim_json_fail(
			reader->json, reader->error, "an event without a time (ts)");
	if (ABS(event->start) > G_MAXINT64 / 4 || event->duration > G_MAXINT64 / 4)
		return pipesim_json_fail(reader->json, reader->error, "a time out of range");
	if (event->phase == 'X' && event->duration < 0)
		return pipesim_json_fail(reader->json, reader->error,
			"an event without a duration, or a negative one");
	const guint32 process = find_process(reader);
	if (process == G_MAXUINT32)
		return FALSE;
	if (ends)
		end_range(reader, process);
	else if (!on_gpu)
		reader->host = process;
	if (ends || (category == PIPESIM_LAUNCHES ? event->correlation <= 0
						  : begins && category != PIPESIM_HOST_RANGES))
		return TRUE;
	/* One thing that a GPU did, or that there is one to send messages from: operators are of no interest. */
	if (!profile->has_gpu &&
		(category == PIPESIM_ACTIVITIES ||
			(pipesim_trace_get(reader->trace, "device_name") != NULL &&
				!is_gloo(reader)))) {
		profile->has_gpu = TRUE;
		g_array_set_size(profile->events[PIPESIM_OPERATORS], 0);
	}
	if (category == PIPESIM_OPERATORS && profile->has_gpu)
		return TRUE;
	GArray *array = profile->events[category];
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
		.thread = on_gpu ? reader->host : event->thread,
		.process = process,
		.name = g_string_chunk_insert_const(reader->trace->strings, reader->name->str),
		.group = reader->group->len > 0
				 ? g_string_chunk_insert_const(
					   reader->trace->strings, reader->group->str)
				 : NULL,
	};
	g_array_append_val(array, one);
	return TRUE;
}

static gboolean read_events(Reader *reader)
{
	GString *const texts[] = {reader->name, reader->group, reader->process, reader->label};
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
		for (guint i = 0; i < G_N_ELEMENTS(texts); i++)
			g_string_truncate(texts[i], 0);
		reader->event = (Event){.rank = PIPESIM_UNKNOWN,
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

/* Members of the document that become metadata: the first of their name in an object or array of
 * it, however deep, or itself. */
static const struct {
	const char *part, *member, *key;
} kept[] = {
	{"deviceProperties", "name", "device_name"},
	{"deviceProperties", "numSms", "sm_count"},
	{"distributedInfo", "rank", "rank"},
	{"distributedInfo", "backend", "backend"},
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
	g_autoptr(GString) name = g_string_new(NULL), group = g_string_new(NULL),
			   process = g_string_new(NULL), label = g_string_new(NULL);
	g_autoptr(GHashTable) processes =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	Reader reader = {json, profile, trace, {0}, name, group, process, label, open,
		processes, G_MAXUINT32, error};
	PipesimJsonToken token;

	pipesim_input_allow_cut(input);
	token = pipesim_json_next(json, error);
	if (token != PIPESIM_JSON_OPEN_ARRAY && token != PIPESIM_JSON_OPEN_OBJECT) {
		if (token != PIPESIM_JSON_ERROR)
			pipesim_json_fail(
				json, error, "neither an object nor an array of events");
		return NULL;
	}
	if (!(token == PIPESIM_JSON_OPEN_ARRAY ? read_events : read_document)(&reader))
		return NULL;
	if (pipesim_json_truncated(json)) {
		pipesim_trace_set(trace, PIPESIM_CUT, "yes");
		pipesim_notice(trace->notices, "%s: the file is cut short; what it has is used",
			trace->path);
	}
	return pipesim_trace_of_processes(g_steal_pointer(&trace), profile, rules, error);
}

const PipesimReader pipesim_reader_pytorch = {
	.name = "file of PyTorch's profiler",
	.is = is_json,
	.read = read_trace,
};
