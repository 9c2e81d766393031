#include "config.h"

#include "base/decimal.h"
#include "measure/trace-lines.h"
#include "measure/trace-nsys.h"
#include "measure/trace-profile.h"
#include "measure/trace-spans.h"

#include <string.h>

/* Columns of the table that is being read, by position; -1 = missing. */
typedef struct {
	gint start, duration, name, stream, device;
	guint start_decimals, duration_decimals;
	guint n;         /* of the header; 0 = between tables */
	gboolean ranges; /* nvtx_gpu_proj_trace, else cuda_gpu_trace */
} Table;

typedef struct {
	PipesimTrace *trace;
	PipesimCsv *csv;
	PipesimFaults *faults;
	PipesimProfile *profile;
	Table table;
	gboolean has_ranges; /* some table was of ranges */
} Reader;

/* "Duration (ns)": whether @cell is @name with a unit. */
static gboolean is_time_column(const PipesimCsvCell *cell, const char *name, guint *decimals)
{
	const gsize length = strlen(name);
	g_autofree char *unit = NULL;

	if (strncmp(cell->text, name, length) != 0 ||
		strncmp(cell->text + length, " (", 2) != 0)
		return FALSE;
	unit = g_strdup(cell->text + length + 2);
	if (!g_str_has_suffix(unit, ")"))
		return FALSE;
	unit[strlen(unit) - 1] = '\0';
	const gint found = pipesim_trace_unit(unit);
	*decimals = (guint)MAX(0, found);
	return found >= 0;
}

static gboolean find_columns(Table *table, const PipesimCsvRecord *record)
{
	*table = (Table){-1, -1, -1, -1, -1, 0, 0, record->n_cells, FALSE};
	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];
		if (is_time_column(cell, "Projected Start", &table->start_decimals)) {
			table->start = (gint)i;
			table->ranges = TRUE;
		} else if (is_time_column(cell, "Start", &table->start_decimals)) {
			table->start = (gint)i;
		} else if (is_time_column(
				   cell, "Projected Duration", &table->duration_decimals) ||
			   is_time_column(cell, "Duration", &table->duration_decimals)) {
			table->duration = (gint)i;
		} else if (g_str_equal(cell->text, "Name")) {
			table->name = (gint)i;
		} else if (g_str_equal(cell->text, "Strm")) {
			table->stream = (gint)i;
		} else if (g_str_equal(cell->text, "Device")) {
			table->device = (gint)i;
		}
	}
	return table->start >= 0 && table->duration >= 0 && table->name >= 0;
}

gboolean pipesim_trace_is_nsys(const char *head)
{
	return strstr(head, "Projected Duration (") != NULL ||
	       (strstr(head, "Duration (") != NULL && strstr(head, "CorrId") != NULL);
}

static void add_range(
	Reader *reader, const PipesimCsvRecord *record, gint64 start, gint64 duration)
{
	const PipesimCsvCell *name = &record->cells[reader->table.name];
	const PipesimRange range = {
		.start = start,
		.end = start + duration,
		.name = pipesim_trace_intern(reader->trace, name->text, (gssize)name->length),
		.stream = PIPESIM_ANY_STREAM,
	};

	g_array_append_val(reader->profile->gpu_ranges, range);
}

/* "NVIDIA H200 (0)" */
static void set_device(PipesimTrace *trace, const char *text)
{
	const char *number = strrchr(text, '(');
	g_autofree char *name =
		number != NULL ? g_strndup(text, (gsize)(number - text)) : g_strdup(text);

	if (pipesim_trace_get(trace, "device_name") == NULL)
		pipesim_trace_set(trace, "device_name", g_strstrip(name));
}

static void add_activity(
	Reader *reader, const PipesimCsvRecord *record, gint64 start, gint64 duration)
{
	const Table *table = &reader->table;
	const PipesimCsvCell *name = &record->cells[table->name];
	gint64 stream = 0;

	if (table->stream >= 0)
		pipesim_decimal_parse(record->cells[table->stream].text,
			record->cells[table->stream].length, 0, &stream);
	if (table->device >= 0)
		set_device(reader->trace, record->cells[table->device].text);
	const PipesimActivity activity = {
		.start = start,
		.end = start + duration,
		.stream = (guint32)stream,
		.name = pipesim_trace_intern(reader->trace, name->text, (gssize)name->length),
	};
	g_array_append_val(reader->profile->activities, activity);
}

static void read_line(Reader *reader, const PipesimCsvRecord *record)
{
	const Table *table = &reader->table;

	if (record->n_cells != table->n) {
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"%u cells, but the header has %u", record->n_cells, table->n);
		return;
	}
	const gint64 start = pipesim_trace_time(reader->csv, reader->faults, record,
		&record->cells[table->start], table->start_decimals, "start");
	const gint64 duration = pipesim_trace_time(reader->csv, reader->faults, record,
		&record->cells[table->duration], table->duration_decimals, "duration");
	if (table->ranges)
		add_range(reader, record, start, duration);
	else
		add_activity(reader, record, start, duration);
}

/* Lines of one cell are what nsys says about its work, and the gaps between tables. */
static gboolean read_record(const PipesimCsvRecord *record, gpointer data, GError **error)
{
	Reader *reader = data;
	Table table;

	(void)error;
	if (record->n_cells <= 1) {
		reader->table.n = 0;
	} else if (find_columns(&table, record)) {
		reader->table = table;
		reader->has_ranges |= table.ranges;
	} else if (reader->table.n > 0) {
		read_line(reader, record);
	}
	return TRUE;
}

/* The projection's own times: on the GPU, from the first to the last operation of the range. */
static gboolean add_ranges(
	PipesimTrace *trace, const PipesimAttribution *attribution, GError **error)
{
	g_autoptr(GArray) starts = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint i = 0; i < attribution->ranges->len; i++) {
		const PipesimMarkedRange *marked =
			&g_array_index(attribution->ranges, PipesimMarkedRange, i);
		PipesimTraceRow row;

		if (!marked->meaning.counted)
			continue;
		pipesim_trace_span_init(&row, &marked->meaning);
		row.duration = row.busy = marked->range.end - marked->range.start;
		g_array_append_val(trace->rows, row);
		g_array_append_val(starts, marked->range.start);
	}
	if (trace->rows->len == 0)
		return pipesim_fail_at(error, trace->path, 1, 1,
			"no NVTX range has a known name such as 'attn(F)' or 'PP:0F0'; name "
			"yours "
			"with --map");
	pipesim_trace_finish_spans(trace, (const gint64 *)(gpointer)starts->data);
	return TRUE;
}

static gboolean make_rows(const Reader *reader, const PipesimRangeRules *rules, GError **error)
{
	PipesimProfile *profile = reader->profile;
	g_autoptr(PipesimAttribution) attribution = NULL;

	/* The projection does not tell the stream: an activity is in a range by time alone. */
	for (guint i = 0; reader->has_ranges && i < profile->activities->len; i++)
		g_array_index(profile->activities, PipesimActivity, i).stream =
			PIPESIM_ANY_STREAM;
	attribution = pipesim_attribute(profile, rules, reader->trace);
	if (!reader->has_ranges)
		return pipesim_trace_add_spans(reader->trace, profile, attribution, error);
	if (!add_ranges(reader->trace, attribution, error))
		return FALSE;
	if (profile->activities->len > 0)
		pipesim_trace_note_coverage(reader->trace, profile, attribution);
	return TRUE;
}

PipesimTrace *pipesim_trace_read_nsys(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	g_autoptr(PipesimProfile) profile = pipesim_profile_new();
	Reader reader = {.trace = trace, .csv = csv, .faults = faults, .profile = profile};

	if (!pipesim_csv_each(csv, faults, read_record, &reader, error) ||
		!pipesim_faults_done(faults, error) || !make_rows(&reader, rules, error))
		return NULL;
	return g_steal_pointer(&trace);
}
