/* Times that somebody has worked out already: a CSV with a header that names the columns component,
 * phase, mean and perhaps sd and samples, in any order. Numbers are ms; "mean_us", "sd_ns" ... say
 * another unit. Other columns and lines that begin with # are ignored. A line is a row. */
#include "measure/reader.h"

enum {
	COMPONENT,
	PHASE,
	MEAN,
	SD,
	SAMPLES,
	N_COLUMNS
};

typedef struct {
	PipesimTable table;
	PipesimColumn columns[N_COLUMNS];
	gboolean has_header;
} Reader;

static gboolean find_columns(PipesimColumn *columns, const PipesimCsvRecord *header)
{
	pipesim_table_column(header, "component", &columns[COMPONENT]);
	pipesim_table_column(header, "phase", &columns[PHASE]);
	pipesim_table_column(header, "samples", &columns[SAMPLES]);
	if (!pipesim_table_column(header, "mean", &columns[MEAN]))
		pipesim_table_column(header, "mean_*", &columns[MEAN]);
	if (!pipesim_table_column(header, "sd", &columns[SD]))
		pipesim_table_column(header, "sd_*", &columns[SD]);
	return columns[COMPONENT].at >= 0 && columns[PHASE].at >= 0 && columns[MEAN].at >= 0;
}

static gboolean is_summary(const char *head)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory("", head, strlen(head)));
	PipesimColumn columns[N_COLUMNS];
	PipesimTable table;

	while ((table.record = pipesim_csv_next(csv, TRUE, NULL)) != NULL)
		if (!pipesim_table_skips(&table))
			return find_columns(columns, table.record);
	return FALSE;
}

static void read_means(PipesimTable *table, const PipesimColumn *columns)
{
	const PipesimCsvCell *cells = table->record->cells;
	GArray *rows = table->trace->rows;
	PipesimTraceRow row;
	gint last = 0;

	for (guint i = 0; i < N_COLUMNS; i++)
		last = MAX(last, columns[i].at);
	if ((gint)table->record->n_cells <= last) {
		pipesim_table_fault(table, NULL, "%u cells, but the header has a column %d",
			table->record->n_cells, last + 1);
		return;
	}
	pipesim_trace_row_init(&row);
	row.what.phase = pipesim_table_phase(table, &cells[columns[PHASE].at]);
	row.what.component = g_string_chunk_insert_const(
		table->trace->strings, cells[columns[COMPONENT].at].text);
	if (columns[SAMPLES].at >= 0) {
		const PipesimCsvCell *cell = &cells[columns[SAMPLES].at];
		gint64 samples = 0;
		const char *why = pipesim_decimal_parse(cell->text, cell->length, 0, &samples);
		if (why != NULL || samples < 0 || samples > G_MAXINT32)
			pipesim_table_fault(table, cell, "samples '%s' is no number of samples",
				cell->text);
		row.samples = (guint)samples;
	}
	row.duration = row.busy = pipesim_table_time(table, &columns[MEAN], "mean");
	row.sd = columns[SD].at >= 0 ? pipesim_table_time(table, &columns[SD], "sd") : 0;
	pipesim_each (const PipesimTraceRow, other, rows)
		if (other->what.component == row.what.component &&
			other->what.phase == row.what.phase)
			pipesim_table_fault(table, NULL, "%s %s appears twice; remove one",
				row.what.component, pipesim_phase_name(row.what.phase));
	g_array_append_val(rows, row);
}

static gboolean read_line(PipesimTable *table)
{
	Reader *reader = (Reader *)table;

	if (pipesim_table_skips(table))
		return TRUE;
	if (reader->has_header) {
		read_means(table, reader->columns);
		return TRUE;
	}
	reader->has_header = find_columns(reader->columns, table->record);
	if (!reader->has_header)
		pipesim_table_fault(
			table, NULL, "a header with component, phase and mean is expected");
	return reader->has_header;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules G_GNUC_UNUSED, GError **error)
{
	Reader reader = {.table = {.line = read_line, .empty = "no line below the header"}};
	PipesimTrace *trace = pipesim_table_read(&reader.table, input, error);

	if (trace != NULL)
		pipesim_notice(trace->notices,
			"%s: means without repetitions: medians, percentiles and the order are "
			"not known",
			trace->path);
	return trace;
}

const PipesimReader pipesim_reader_summary = {
	.name = "table of means",
	.is = is_summary,
	.read = read_trace,
};
