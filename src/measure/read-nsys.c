/* Reports of Nsight Systems as CSV: nsys stats -r nvtx_gpu_proj_trace,cuda_gpu_trace --format csv.
 * The tables of one file, in any order, whatever nsys prints around them; the headers tell the
 * unit. NVTX ranges projected onto the GPU become rows, by their names; without such a table
 * kernels do, by the user's rules. */
#include "config.h"

#include "base/decimal.h"
#include "measure/profile.h"
#include "measure/reader.h"

#include <string.h>

/* Columns of the table that is being read, by position; -1 = missing. */
typedef struct {
	gint start, duration, name, stream, device;
	guint start_decimals, duration_decimals;
	guint n;         /* of the header; 0 = between tables */
	gboolean ranges; /* nvtx_gpu_proj_trace, else cuda_gpu_trace */
} Columns;

typedef struct {
	PipesimTable table;
	PipesimProfile *profile;
	Columns columns;
} Reader;

/* "Duration (ns)" */
static gboolean is_time(const PipesimCsvCell *cell, const char *name, guint *decimals)
{
	return pipesim_table_is_time(cell, name, " (", ")", decimals);
}

static gboolean find_columns(Columns *columns, const PipesimCsvRecord *record)
{
	*columns = (Columns){-1, -1, -1, -1, -1, 0, 0, record->n_cells, FALSE};
	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];

		if (is_time(cell, "Projected Start", &columns->start_decimals)) {
			columns->start = (gint)i;
			columns->ranges = TRUE;
		} else if (is_time(cell, "Start", &columns->start_decimals)) {
			columns->start = (gint)i;
		} else if (is_time(cell, "Projected Duration", &columns->duration_decimals) ||
			   is_time(cell, "Duration", &columns->duration_decimals)) {
			columns->duration = (gint)i;
		} else if (g_str_equal(cell->text, "Name")) {
			columns->name = (gint)i;
		} else if (g_str_equal(cell->text, "Strm")) {
			columns->stream = (gint)i;
		} else if (g_str_equal(cell->text, "Device")) {
			columns->device = (gint)i;
		}
	}
	return columns->start >= 0 && columns->duration >= 0 && columns->name >= 0;
}

static gboolean is_nsys(const char *head)
{
	return strstr(head, "Projected Duration (") != NULL ||
	       (strstr(head, "Duration (") != NULL && strstr(head, "CorrId") != NULL);
}

static void read_event(Reader *reader)
{
	PipesimTable *table = &reader->table;
	const PipesimCsvCell *cells = table->record->cells;
	const Columns *columns = &reader->columns;

	if (table->record->n_cells != columns->n) {
		pipesim_table_fault(table, NULL, "%u cells, but the header has %u",
			table->record->n_cells, columns->n);
		return;
	}
	const gint64 start = pipesim_table_time(
		table, &cells[columns->start], columns->start_decimals, "start");
	const gint64 duration = pipesim_table_time(
		table, &cells[columns->duration], columns->duration_decimals, "duration");
	const char *name =
		g_string_chunk_insert_const(table->trace->strings, cells[columns->name].text);
	if (columns->ranges) {
		const PipesimRange range = {
			.start = start,
			.end = start + duration,
			.name = name,
			.stream = PIPESIM_ANY_STREAM,
		};
		g_array_append_val(reader->profile->gpu_ranges, range);
		return;
	}
	gint64 stream = 0;
	if (columns->stream >= 0)
		pipesim_decimal_parse(
			cells[columns->stream].text, cells[columns->stream].length, 0, &stream);
	/* "NVIDIA H200 (0)" */
	if (columns->device >= 0 && pipesim_trace_get(table->trace, "device_name") == NULL) {
		const char *text = cells[columns->device].text;
		const char *number = strrchr(text, '(');
		g_autofree char *device = number != NULL
						  ? g_strndup(text, (gsize)(number - text))
						  : g_strdup(text);
		pipesim_trace_set(table->trace, "device_name", g_strstrip(device));
	}
	const PipesimActivity activity = {
		.start = start,
		.end = start + duration,
		.stream = (guint32)stream,
		.name = name,
	};
	g_array_append_val(reader->profile->activities, activity);
}

/* Lines of one cell are what nsys says about its work, and the gaps between tables. */
static gboolean read_line(PipesimTable *table, GError **error)
{
	Reader *reader = (Reader *)table;
	Columns columns;

	(void)error;
	if (table->record->n_cells <= 1) {
		reader->columns.n = 0;
	} else if (find_columns(&columns, table->record)) {
		reader->columns = columns;
		reader->profile->projected |= columns.ranges;
	} else if (reader->columns.n > 0) {
		read_event(reader);
	}
	return TRUE;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimProfile) profile = pipesim_profile_new();
	Reader reader = {.table.line = read_line, .profile = profile};
	g_autoptr(PipesimTrace) trace = pipesim_table_read(&reader.table, input, error);

	if (trace == NULL)
		return NULL;
	/* The projection does not tell the stream: an activity is in a range by time alone. */
	for (guint i = 0; profile->projected && i < profile->activities->len; i++)
		g_array_index(profile->activities, PipesimActivity, i).stream =
			PIPESIM_ANY_STREAM;
	pipesim_profile_sort(profile);
	if (!pipesim_trace_add_profile(trace, profile, rules, error))
		return NULL;
	return g_steal_pointer(&trace);
}

const PipesimReader pipesim_reader_nsys = {
	.name = "report of Nsight Systems as CSV",
	.is = is_nsys,
	.read = read_trace,
};
