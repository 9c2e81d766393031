#include "measure/reader.h"

/* Most rows of one trace, so that a file that is small when packed fills no more than half a gigabyte. */
#define MAX_ROWS (1u << 21)

PipesimTrace *pipesim_table_read(PipesimTable *table, PipesimInput *input, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();
	gboolean more = TRUE;

	table->trace = trace;
	table->faults = faults;
	while (more) {
		GError *cause = NULL;

		table->record = pipesim_csv_next(csv, TRUE, &cause);
		if (table->record != NULL) {
			more = table->line(table);
		} else if (g_error_matches(cause, PIPESIM_ERROR, PIPESIM_ERROR_PARSE)) {
			pipesim_faults_take(faults, cause);
		} else if (cause != NULL) {
			g_propagate_error(error, cause);
			return NULL;
		} else {
			more = FALSE;
		}
		if (trace->rows->len > MAX_ROWS || trace->spans->len > MAX_ROWS) {
			pipesim_fail_limit(error, trace->path,
				"more than %u rows; split the trace", MAX_ROWS);
			return NULL;
		}
	}
	if (!pipesim_faults_done(faults, error))
		return NULL;
	if (table->empty != NULL && trace->rows->len == 0)
		return pipesim_fail_null_at(error, trace->path, 1, 1, "%s", table->empty);
	return g_steal_pointer(&trace);
}

void pipesim_table_ended(PipesimTable *table)
{
	if (!table->record->ended)
		pipesim_table_fault(table, NULL,
			"the last line does not end with a newline: the file is truncated; add "
			"one if the line is whole, else delete the line");
}

gboolean pipesim_table_column(
	const PipesimCsvRecord *header, const char *name, PipesimColumn *column)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	const gsize length = strcspn(name, "*");
	const gboolean has_unit = name[length] != '\0';

	column->at = -1;
	for (guint i = 0; i < header->n_cells; i++) {
		const char *rest = header->cells[i].text + length;

		if (strncmp(header->cells[i].text, name, length) != 0)
			continue;
		if (!has_unit && *rest == '\0')
			*column = (PipesimColumn){(gint)i, 6};
		for (guint unit = 0; has_unit && unit < G_N_ELEMENTS(units); unit++)
			if (g_str_has_prefix(rest, units[unit]) &&
				g_str_equal(rest + strlen(units[unit]), name + length + 1))
				*column = (PipesimColumn){(gint)i, 3 * unit};
	}
	return column->at >= 0;
}

gint64 pipesim_table_time(PipesimTable *table, const PipesimColumn *column, const char *what)
{
	const PipesimCsvCell *cell = &table->record->cells[column->at];
	gint64 value = 0;
	const char *why =
		pipesim_decimal_parse(cell->text, cell->length, column->decimals, &value);

	if (why == NULL && value < 0)
		why = "negative";
	if (why == NULL && value > PIPESIM_MAX_TIME_NS)
		why = "out of range";
	if (why == NULL)
		return value;
	pipesim_table_fault(
		table, cell, "%s '%s' is %s; a time >= 0 is expected", what, cell->text, why);
	return 0;
}

guint8 pipesim_table_phase(PipesimTable *table, const PipesimCsvCell *cell)
{
	const gint phase = pipesim_phase_find(cell->text);

	if (phase < 0)
		pipesim_table_fault(table, cell,
			"phase '%s', but F, I, W, B, FB or RECOMP is expected", cell->text);
	return (guint8)MAX(0, phase);
}
