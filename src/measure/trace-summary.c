#include "config.h"

#include "base/decimal.h"
#include "measure/trace-lines.h"
#include "measure/trace-summary.h"

#include <string.h>

/* Columns by position; -1 = missing. */
typedef struct {
	gint component, phase, mean, sd, samples;
	guint mean_decimals, sd_decimals;
} Columns;

typedef struct {
	PipesimTrace *trace;
	PipesimCsv *csv;
	PipesimFaults *faults;
	Columns columns;
	gboolean has_header;
} Reader;

/* Whether @cell is @name, alone (ms) or with a unit behind an underscore. */
static gboolean is_time_column(const PipesimCsvCell *cell, const char *name, guint *decimals)
{
	const gsize length = strlen(name);

	if (strncmp(cell->text, name, length) != 0)
		return FALSE;
	if (cell->text[length] == '\0') {
		*decimals = 6;
		return TRUE;
	}
	if (cell->text[length] != '_')
		return FALSE;
	const gint unit = pipesim_trace_unit(cell->text + length + 1);
	*decimals = (guint)MAX(0, unit);
	return unit >= 0;
}

static gboolean find_columns(Columns *columns, const PipesimCsvRecord *record)
{
	*columns = (Columns){-1, -1, -1, -1, -1, 6, 6};
	for (guint i = 0; i < record->n_cells; i++) {
		const PipesimCsvCell *cell = &record->cells[i];
		if (g_str_equal(cell->text, "component"))
			columns->component = (gint)i;
		else if (g_str_equal(cell->text, "phase"))
			columns->phase = (gint)i;
		else if (g_str_equal(cell->text, "samples"))
			columns->samples = (gint)i;
		else if (is_time_column(cell, "mean", &columns->mean_decimals))
			columns->mean = (gint)i;
		else if (is_time_column(cell, "sd", &columns->sd_decimals))
			columns->sd = (gint)i;
	}
	return columns->component >= 0 && columns->phase >= 0 && columns->mean >= 0;
}

static gboolean is_content(const PipesimCsvRecord *record)
{
	return record->n_cells > 0 && record->cells[0].text[0] != '#' &&
	       (record->n_cells > 1 || record->cells[0].length > 0);
}

gboolean pipesim_trace_is_summary(const char *head)
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

static gint64 read_time(Reader *reader, const PipesimCsvRecord *record, gint column,
	guint decimals, const char *what)
{
	return column < 0 ? 0
			  : pipesim_trace_time(reader->csv, reader->faults, record,
				    &record->cells[column], decimals, what);
}

static guint read_samples(Reader *reader, const PipesimCsvRecord *record)
{
	const gint column = reader->columns.samples;
	gint64 value = 0;

	if (column < 0)
		return 0;
	const PipesimCsvCell *cell = &record->cells[column];
	const char *why = pipesim_decimal_parse(cell->text, cell->length, 0, &value);
	if (why != NULL || value < 0 || value > G_MAXINT32)
		pipesim_trace_fault(reader->csv, reader->faults, record, cell,
			"samples '%s' is no number of samples", cell->text);
	return (guint)value;
}

static void check_twice(
	Reader *reader, const PipesimCsvRecord *record, const PipesimTraceSummary *summary)
{
	for (guint i = 0; i < reader->trace->summaries->len; i++) {
		const PipesimTraceSummary *other =
			&g_array_index(reader->trace->summaries, PipesimTraceSummary, i);
		if (other->component == summary->component && other->phase == summary->phase)
			pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
				"%s %s stands twice; remove one", summary->component,
				pipesim_phase_name(summary->phase));
	}
}

static void read_line(Reader *reader, const PipesimCsvRecord *record)
{
	const Columns *columns = &reader->columns;
	const PipesimCsvCell *cells = record->cells;
	const gint last = MAX(MAX(MAX(columns->component, columns->phase), columns->mean),
		MAX(columns->sd, columns->samples));

	if ((gint)record->n_cells <= last) {
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"%u cells, but the header has a column %d", record->n_cells, last + 1);
		return;
	}
	const gint phase = pipesim_phase_find(cells[columns->phase].text);
	if (phase < 0)
		pipesim_trace_fault(reader->csv, reader->faults, record, &cells[columns->phase],
			"phase '%s', but F, I, W, B, FB or RECOMP is expected",
			cells[columns->phase].text);
	const PipesimTraceSummary summary = {
		.component =
			pipesim_trace_intern(reader->trace, cells[columns->component].text, -1),
		.phase = (guint8)MAX(0, phase),
		.samples = read_samples(reader, record),
		.mean = read_time(
			reader, record, columns->mean, columns->mean_decimals, "mean"),
		.sd = read_time(reader, record, columns->sd, columns->sd_decimals, "sd"),
	};
	check_twice(reader, record, &summary);
	g_array_append_val(reader->trace->summaries, summary);
}

static gboolean read_record(const PipesimCsvRecord *record, gpointer data, GError **error)
{
	Reader *reader = data;

	(void)error;
	if (!is_content(record))
		return TRUE;
	if (reader->has_header) {
		read_line(reader, record);
		return TRUE;
	}
	reader->has_header = find_columns(&reader->columns, record);
	if (!reader->has_header)
		pipesim_trace_fault(reader->csv, reader->faults, record, NULL,
			"a header with component, phase and mean is expected");
	return reader->has_header;
}

PipesimTrace *pipesim_trace_read_summary(PipesimInput *input, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	Reader reader = {.trace = trace, .csv = csv, .faults = faults};

	if (!pipesim_csv_each(csv, faults, read_record, &reader, error) ||
		!pipesim_faults_done(faults, error))
		return NULL;
	if (trace->summaries->len == 0) {
		pipesim_fail_at(error, trace->path, 1, 1, "no line below the header");
		return NULL;
	}
	pipesim_trace_note(trace,
		"%s: means without repetitions: medians, percentiles and the order are not "
		"known",
		trace->path);
	return g_steal_pointer(&trace);
}
