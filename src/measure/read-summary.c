/* Times that somebody has worked out already: a CSV with a header that names the columns component,
 * phase, mean and perhaps sd and samples, in any order. Numbers are ms; "mean_us", "sd_ns" ... say
 * another unit. Other columns and lines that begin with # are ignored. The trace has no rows. */
#include "config.h"

#include "base/decimal.h"
#include "measure/reader.h"

#include <string.h>

/* Columns by position; -1 = missing. */
typedef struct {
	gint component, phase, mean, sd, samples;
	guint mean_decimals, sd_decimals;
} Columns;

typedef struct {
	PipesimTable table;
	Columns columns;
	gboolean has_header;
} Reader;

/* Alone it is in ms. */
static gboolean is_time(const PipesimCsvCell *cell, const char *name, guint *decimals)
{
	*decimals = 6;
	return g_str_equal(cell->text, name) ||
	       pipesim_table_is_time(cell, name, "_", "", decimals);
}

static gboolean find_columns(Columns *columns, const PipesimCsvRecord *record)
{
	guint decimals;

	*columns = (Columns){-1, -1, -1, -1, -1, 6, 6};
	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];

		if (g_str_equal(cell->text, "component")) {
			columns->component = (gint)i;
		} else if (g_str_equal(cell->text, "phase")) {
			columns->phase = (gint)i;
		} else if (g_str_equal(cell->text, "samples")) {
			columns->samples = (gint)i;
		} else if (is_time(cell, "mean", &decimals)) {
			columns->mean = (gint)i;
			columns->mean_decimals = decimals;
		} else if (is_time(cell, "sd", &decimals)) {
			columns->sd = (gint)i;
			columns->sd_decimals = decimals;
		}
	}
	return columns->component >= 0 && columns->phase >= 0 && columns->mean >= 0;
}

static gboolean is_content(const PipesimCsvRecord *record)
{
	return record->n_cells > 0 && record->cells[0].text[0] != '#' &&
	       (record->n_cells > 1 || record->cells[0].length > 0);
}

static gboolean is_summary(const char *head)
{
	g_autoptr(PipesimCsv) csv =
		pipesim_csv_new(pipesim_input_new_memory("", head, strlen(head)));
	const PipesimCsvRecord *record;
	Columns columns;

	while ((record = pipesim_csv_next(csv, NULL)) != NULL)
		if (is_content(record))
			return find_columns(&columns, record);
	return FALSE;
}

static void read_means(PipesimTable *table, const Columns *columns)
{
	const PipesimCsvCell *cells = table->record->cells;
	const gint last = MAX(MAX(MAX(columns->component, columns->phase), columns->mean),
		MAX(columns->sd, columns->samples));
	PipesimTraceSummary summary = {0};

	if ((gint)table->record->n_cells <= last) {
		pipesim_table_fault(table, NULL, "%u cells, but the header has a column %d",
			table->record->n_cells, last + 1);
		return;
	}
	summary.phase = pipesim_table_phase(table, &cells[columns->phase]);
	summary.component = g_string_chunk_insert_const(
		table->trace->strings, cells[columns->component].text);
	if (columns->samples >= 0) {
		const PipesimCsvCell *cell = &cells[columns->samples];
		gint64 samples = 0;
		const char *why = pipesim_decimal_parse(cell->text, cell->length, 0, &samples);
		if (why != NULL || samples < 0 || samples > G_MAXINT32)
			pipesim_table_fault(table, cell, "samples '%s' is no number of samples",
				cell->text);
		summary.samples = (guint)samples;
	}
	summary.mean = pipesim_table_time(
		table, &cells[columns->mean], columns->mean_decimals, "mean");
	if (columns->sd >= 0)
		summary.sd = pipesim_table_time(
			table, &cells[columns->sd], columns->sd_decimals, "sd");
	for (guint i = 0; i < table->trace->summaries->len; i++) {
		const PipesimTraceSummary *other =
			&g_array_index(table->trace->summaries, PipesimTraceSummary, i);
		if (other->component == summary.component && other->phase == summary.phase)
			pipesim_table_fault(table, NULL, "%s %s stands twice; remove one",
				summary.component, pipesim_phase_name(summary.phase));
	}
	g_array_append_val(table->trace->summaries, summary);
}

static gboolean read_line(PipesimTable *table, GError **error)
{
	Reader *reader = (Reader *)table;

	(void)error;
	if (!is_content(table->record))
		return TRUE;
	if (reader->has_header) {
		read_means(table, &reader->columns);
		return TRUE;
	}
	reader->has_header = find_columns(&reader->columns, table->record);
	if (!reader->has_header)
		pipesim_table_fault(
			table, NULL, "a header with component, phase and mean is expected");
	return reader->has_header;
}

static PipesimTrace *read_trace(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	Reader reader = {.table = {.line = read_line, .empty = "no line below the header"}};
	PipesimTrace *trace = pipesim_table_read(&reader.table, input, error);

	(void)rules;
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
