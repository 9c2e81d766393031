/* Exports of Nsight Systems to SQLite (nsys export --type sqlite): NVTX ranges, calls on the host and
 * what GPUs did, of each process that used one. The tables are those of the exporter's schema reference,
 * docs.nvidia.com/nsight-systems. */
#include "measure/processes.h"
#include "measure/reader.h"

static gboolean is_database(const char *head)
{
	return g_str_has_prefix(head, "SQLite format 3");
}

#ifdef HAVE_SQLITE3_H
#include <dlfcn.h>
#include <sqlite3.h>

/* Found when there is such a file: linked, the library would add 0.3 ms to each start. */
#define LIBRARY "libsqlite3.so.0"
#define EACH_CALL(CALL)  \
	CALL(open_v2)    \
	CALL(close)      \
	CALL(prepare_v2) \
	CALL(step)       \
	CALL(finalize) CALL(column_int64) CALL(column_text) CALL(column_type) CALL(errmsg)
static struct {
#define FIELD(call) __typeof__(sqlite3_##call) *call;
	EACH_CALL(FIELD)
#undef FIELD
} sqlite;

/* NULL, or what is missing. For g_once(). */
static gpointer load(gpointer data G_GNUC_UNUSED)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL)
		return (gpointer)LIBRARY;
#define LOAD(call)                                                 \
	*(void **)&sqlite.call = dlsym(library, "sqlite3_" #call); \
	if (sqlite.call == NULL)                                   \
		return (gpointer) "sqlite3_" #call;
	EACH_CALL(LOAD)
#undef LOAD
	return NULL;
}

/* What is read of each table: start, end, correlation, stream or thread, process or thread, name. */
static const struct {
	const char *table;
	PipesimEventKind kind;
	const char *query;
} tables[] = {
	{"CUPTI_ACTIVITY_KIND_KERNEL", PIPESIM_ACTIVITIES,
		"SELECT start, end, correlationId, streamId, globalPid, s.value FROM "
		"CUPTI_ACTIVITY_KIND_KERNEL LEFT JOIN StringIds s ON s.id = demangledName"},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", PIPESIM_ACTIVITIES,
		"SELECT start, end, correlationId, streamId, globalPid, 'Memcpy ' || copyKind "
		"FROM CUPTI_ACTIVITY_KIND_MEMCPY"},
	{"CUPTI_ACTIVITY_KIND_MEMSET", PIPESIM_ACTIVITIES,
		"SELECT start, end, correlationId, streamId, globalPid, 'Memset' FROM "
		"CUPTI_ACTIVITY_KIND_MEMSET"},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", PIPESIM_ACTIVITIES,
		"SELECT start, end, correlationId, streamId, globalPid, 'CUDA graph' FROM "
		"CUPTI_ACTIVITY_KIND_GRAPH_TRACE"},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", PIPESIM_LAUNCHES,
		"SELECT start, end, correlationId, globalTid, globalTid, '' FROM "
		"CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId > 0"},
	/* Ranges pushed and popped, and those with a begin and an end of their own. What is missing older versions give as
	 * "" and 0. */
	{"NVTX_EVENTS", PIPESIM_HOST_RANGES,
		"SELECT start, end, 0, globalTid, globalTid, coalesce(nullif(text, ''), "
		"s.value) FROM NVTX_EVENTS LEFT JOIN StringIds s ON s.id = textId WHERE "
		"eventType IN (59, 60) AND end >= start"},
};

/* Those that used a GPU, by its number: a node's ranks are in one file. */
static const char processes[] = "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY "
				"globalPid ORDER BY min(deviceId), globalPid";

/* Most events of each sort, and most processes. */
#define MAX_KEPT      (1u << 24)
#define MAX_PROCESSES 1024

/* The low bits of a process's number are those of its threads. */
#define PROCESS_OF(number) ((number) & ~G_GINT64_CONSTANT(0xffffff))

typedef struct {
	const char *path;
	sqlite3 *db;
	PipesimTrace *trace;
	PipesimProfile *profile;
	GArray *processes;     /* gint64: numbers of those that used a GPU */
	gboolean found;        /* the table that is looked for */
	PipesimEventKind kind; /* of the table that is read */
	GError **error;
} Reader;

static gboolean fail(const Reader *reader, const char *table)
{
	return pipesim_fail_at(reader->error, reader->path, 1, 1,
		"%s: %s; is it whole, and an export of Nsight Systems (nsys export --type "
		"sqlite)? It is read from its file, unpacked",
		table, sqlite.errmsg(reader->db));
}

/* Calls @row at each that @query has. */
static gboolean each_row(Reader *reader, const char *table, const char *query,
	gboolean (*row)(Reader *reader, sqlite3_stmt *statement))
{
	sqlite3_stmt *statement = NULL;
	int code = sqlite.prepare_v2(reader->db, query, -1, &statement, NULL);
	gboolean ok = TRUE;

	while (code == SQLITE_OK || code == SQLITE_ROW) {
		code = sqlite.step(statement);
		ok = code != SQLITE_ROW || row(reader, statement);
		if (!ok)
			break;
	}
	ok = ok && (code == SQLITE_DONE || fail(reader, table));
	sqlite.finalize(statement);
	return ok;
}

static gboolean add_process(Reader *reader, sqlite3_stmt *statement)
{
	const gint64 number = PROCESS_OF(sqlite.column_int64(statement, 0));
	g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, number);
	const PipesimProcess process = {
		g_string_chunk_insert_const(reader->trace->strings, text), PIPESIM_UNKNOWN,
		PIPESIM_UNKNOWN};

	g_array_append_val(reader->processes, number);
	g_array_append_val(reader->profile->processes, process);
	return reader->processes->len <= MAX_PROCESSES ||
	       pipesim_fail_limit(
		       reader->error, reader->path, "more than %u processes", MAX_PROCESSES);
}

static gboolean add_event(Reader *reader, sqlite3_stmt *statement)
{
	const gint64 start = sqlite.column_int64(statement, 0),
		     end = sqlite.column_int64(statement, 1);
	const gint64 process = PROCESS_OF(sqlite.column_int64(statement, 4));
	const char *name = (const char *)sqlite.column_text(statement, 5);
	GArray *events = reader->profile->events[reader->kind];
	PipesimEvent event = {
		.start = start,
		.end = end,
		.correlation = (guint64)MAX(0, sqlite.column_int64(statement, 2)),
		.stream = PIPESIM_ANY_STREAM,
	};

	if (start < 0 || end < start || end > G_MAXINT64 / 4)
		return pipesim_fail_at(reader->error, reader->path, 1, 1,
			"an event from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
			" ns; times count up from 0",
			start, end);
	if (reader->kind == PIPESIM_ACTIVITIES)
		event.stream = (guint32)sqlite.column_int64(statement, 3);
	else
		event.thread = (guint32)sqlite.column_int64(statement, 3);
	while (event.process < reader->processes->len &&
		g_array_index(reader->processes, gint64, event.process) != process)
		event.process++;
	if (event.process == reader->processes->len)
		return TRUE;
	event.name =
		g_string_chunk_insert_const(reader->trace->strings, name != NULL ? name : "");
	g_array_append_val(events, event);
	return events->len <= MAX_KEPT ||
	       pipesim_fail_limit(reader->error, reader->path,
		       "more than %u events of a kind; record fewer steps", MAX_KEPT);
}

static gboolean tell_device(Reader *reader, sqlite3_stmt *statement)
{
	const char *name = (const char *)sqlite.column_text(statement, 0);

	if (name != NULL && pipesim_trace_get(reader->trace, "device_name") == NULL)
		pipesim_trace_set(reader->trace, "device_name", name);
	return TRUE;
}

/* Times count from the begin of the session. */
static gboolean tell_base(Reader *reader, sqlite3_stmt *statement)
{
	if (sqlite.column_type(statement, 0) == SQLITE_INTEGER)
		pipesim_trace_set(reader->trace, "base_time_ns",
			(const char *)sqlite.column_text(statement, 0));
	return TRUE;
}

static gboolean note_table(Reader *reader, sqlite3_stmt *statement G_GNUC_UNUSED)
{
	reader->found = TRUE;
	return TRUE;
}

/* Whether there is such a table: they are made when something goes into them. A view would be somebody else's query. */
static gboolean has_table(Reader *reader, const char *table)
{
	g_autofree char *query = g_strdup_printf(
		"SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = '%s'", table);

	reader->found = FALSE;
	return each_row(reader, "sqlite_master", query, note_table) && reader->found;
}

static gboolean read_tables(Reader *reader)
{
	if (!has_table(reader, tables[0].table))
		return *reader->error == NULL &&
		       pipesim_fail_at(reader->error, reader->path, 1, 1,
			       "no table %s: not an export of Nsight Systems, or recorded "
			       "without kernels; nsys profile --trace cuda,nvtx",
			       tables[0].table);
	if (!each_row(reader, tables[0].table, processes, add_process))
		return FALSE;
	if (reader->processes->len == 0)
		return pipesim_fail_at(reader->error, reader->path, 1, 1,
			"no GPU kernels; nsys profile --trace cuda,nvtx records them");
	for (guint i = 0; i < G_N_ELEMENTS(tables); i++) {
		reader->kind = tables[i].kind;
		if (has_table(reader, tables[i].table) &&
			!each_row(reader, tables[i].table, tables[i].query, add_event))
			return FALSE;
	}
	if (has_table(reader, "TARGET_INFO_GPU") &&
		!each_row(reader, "TARGET_INFO_GPU", "SELECT name FROM TARGET_INFO_GPU",
			tell_device))
		return FALSE;
	return (!has_table(reader, "TARGET_INFO_SESSION_START_TIME") ||
		       each_row(reader, "TARGET_INFO_SESSION_START_TIME",
			       "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME",
			       tell_base)) &&
	       *reader->error == NULL;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	static GOnce loaded = G_ONCE_INIT;
	g_autoptr(PipesimInput) owned = input;
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(owned));
	g_autoptr(PipesimProfile) profile = pipesim_profile_new();
	g_autoptr(GArray) numbers = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GError) fault = NULL;
	Reader reader = {.path = trace->path,
		.trace = trace,
		.profile = profile,
		.processes = numbers,
		.error = &fault};

	if (g_once(&loaded, load, NULL) != NULL)
		return pipesim_fail_null_at(error, reader.path, 1, 1,
			"this is a database of SQLite, and %s is not here to read it; install "
			"SQLite's library (Debian: libsqlite3-0)",
			(const char *)loaded.retval);
	gboolean ok = sqlite.open_v2(reader.path, &reader.db,
			      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK
			      ? read_tables(&reader)
			      : fail(&reader, "cannot be opened");
	sqlite.close(reader.db);
	if (!ok) {
		g_propagate_error(error, g_steal_pointer(&fault));
		return NULL;
	}
	return pipesim_trace_of_processes(g_steal_pointer(&trace), profile, rules, error);
}

#else

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	g_autoptr(PipesimInput) owned = input;

	return pipesim_fail_null_at(error, pipesim_input_name(owned), 1, 1,
		"this is a database of SQLite, and this pipesim was built without it; build it "
		"where sqlite3.h is (Debian: libsqlite3-dev)");
}

#endif

const PipesimReader pipesim_reader_sqlite = {
	.name = "export of Nsight Systems to SQLite",
	.is = is_database,
	.read = read_trace,
};
