/* Reports of Nsight Systems as CSV: nsys stats -r nvtx_gpu_proj_trace,cuda_gpu_trace --format csv.
 * The tables of one file, in any order, whatever nsys prints around them; the headers tell the
 * unit. NVTX ranges projected onto the GPU become rows, by their names; without such a table
 * kernels do, by the user's rules. */
#include "measure/profile.h"
#include "measure/reader.h"

/* The table that is being read. */
typedef struct {
	PipesimColumn start, duration, name, stream, device;
	guint n;         /* columns of the header; 0 = between tables */
	gboolean ranges; /* nvtx_gpu_proj_trace, else cuda_gpu_trace */
} Columns;

typedef struct {
	PipesimTable table;
	PipesimProfile *profile;
	Columns columns;
} Reader;

static gboolean find_columns(Columns *columns, const PipesimCsvRecord *header)
{
	columns->n = header->n_cells;
	columns->ranges = pipesim_table_column(header, "Projected Start (*)", &columns->start);
	if (!columns->ranges)
		pipesim_table_column(header, "Start (*)", &columns->start);
	if (!pipesim_table_column(header, "Projected Duration (*)", &columns->duration))
		pipesim_table_column(header, "Duration (*)", &columns->duration);
	pipesim_table_column(header, "Name", &columns->name);
	pipesim_table_column(header, "Strm", &columns->stream);
	pipesim_table_column(header, "Device", &columns->device);
	return columns->start.at >= 0 && columns->duration.at >= 0 && columns->name.at >= 0;
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
	const gint64 start = pipesim_table_time(table, &columns->start, "start");
	const gint64 duration = pipesim_table_time(table, &columns->duration, "duration");
	PipesimEvent event = {
		.start = start,
		.end = start + duration,
		.stream = PIPESIM_ANY_STREAM,
		.name = g_string_chunk_insert_const(
			table->trace->strings, cells[columns->name.at].text),
	};
	if (columns->ranges) {
		g_array_append_val(reader->profile->events[PIPESIM_GPU_RANGES], event);
		return;
	}
	gint64 stream = 0;
	if (columns->stream.at >= 0)
		pipesim_decimal_parse(cells[columns->stream.at].text,
			cells[columns->stream.at].length, 0, &stream);
	/* "NVIDIA H200 (0)" */
	if (columns->device.at >= 0 && pipesim_trace_get(table->trace, "device_name") == NULL) {
		const char *text = cells[columns->device.at].text;
		const char *number = strrchr(text, '(');
		g_autofree char *device = number != NULL
						  ? g_strndup(text, (gsize)(number - text))
						  : g_strdup(text);
		pipesim_trace_set(table->trace, "device_name", g_strstrip(device));
	}
	event.stream = (guint32)stream;
	g_array_append_val(reader->profile->events[PIPESIM_ACTIVITIES], event);
}

/* Lines of one cell are what nsys says about its work, and the gaps between tables. */
static gboolean read_line(PipesimTable *table)
{
	Reader *reader = (Reader *)table;
	Columns columns;

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
	pipesim_each (PipesimEvent, activity, profile->events[PIPESIM_ACTIVITIES])
		if (profile->projected)
			activity->stream = PIPESIM_ANY_STREAM;
	if (!pipesim_trace_add_profile(trace, profile, rules, error))
		return NULL;
	return g_steal_pointer(&trace);
}

const PipesimReader pipesim_reader_nsys = {
	.name = "report of Nsight Systems as CSV",
	.is = is_nsys,
	.read = read_trace,
};
