#include "config.h"

#include "base/decimal.h"
#include "base/number.h"
#include "measure/reader.h"

#include <string.h>

static const PipesimReader *const readers[] = {
#define READER(id) &pipesim_reader_##id,
#include "measure/list.h"
#undef READER
};

const PipesimReader *pipesim_reader_find(const char *head)
{
	guint i = 0;

	/* The last takes what no other knows, and says what is wrong with it. */
	while (i < G_N_ELEMENTS(readers) - 1 && !readers[i]->is(head))
		i++;
	return readers[i];
}

/* Enough for what profilers print above their tables. */
#define HEAD ((gsize)32768)

PipesimTrace *pipesim_trace_read_input(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error)
{
	g_autoptr(PipesimInput) owned = input;
	const char *data;
	gsize length;

	if (!pipesim_input_peek(input, HEAD, &data, &length, error))
		return NULL;
	g_autofree char *head = g_strndup(data, MIN(length, HEAD));
	if (g_str_has_prefix(head, "[pipesim-costs]")) {
		pipesim_fail_at(error, pipesim_input_name(input), 1, 1,
			"a costs file, not a trace; give it to --costs");
		return NULL;
	}
	return pipesim_reader_find(head)->read(g_steal_pointer(&owned), rules, error);
}

PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error)
{
	PipesimInput *input = pipesim_input_open(path, error);

	return input != NULL ? pipesim_trace_read_input(input, rules, error) : NULL;
}

/* Lines ------------------------------------------------------------------------------- */

static gboolean read_record(const PipesimCsvRecord *record, gpointer data, GError **error)
{
	PipesimTable *table = data;

	table->record = record;
	return table->line(table, error);
}

PipesimTrace *pipesim_table_read(PipesimTable *table, PipesimInput *input, GError **error)
{
	g_autoptr(PipesimTrace) trace = pipesim_trace_new(pipesim_input_name(input));
	g_autoptr(PipesimCsv) csv = pipesim_csv_new(input);
	g_autoptr(PipesimFaults) faults = pipesim_faults_new();

	table->trace = trace;
	table->faults = faults;
	if (!pipesim_csv_each(csv, faults, read_record, table, error) ||
		!pipesim_faults_done(faults, error))
		return NULL;
	if (table->empty != NULL && trace->rows->len == 0 && trace->summaries->len == 0) {
		pipesim_fail_at(error, trace->path, 1, 1, "%s", table->empty);
		return NULL;
	}
	return g_steal_pointer(&trace);
}

void pipesim_table_fault(
	PipesimTable *table, const PipesimCsvCell *cell, const char *format, ...)
{
	g_autofree char *message = NULL;
	GError *error = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_fail_at(&error, table->trace->path, table->record->line,
		cell != NULL ? cell->column : 1, "%s", message);
	pipesim_faults_take(table->faults, error);
}

gint64 pipesim_table_time(
	PipesimTable *table, const PipesimCsvCell *cell, guint decimals, const char *what)
{
	gint64 value = 0;
	const char *why = pipesim_decimal_parse(cell->text, cell->length, decimals, &value);

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

gboolean pipesim_table_is_time(const PipesimCsvCell *cell, const char *name, const char *open,
	const char *close, guint *decimals)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};

	for (guint i = 0; g_str_has_prefix(cell->text, name) && i < G_N_ELEMENTS(units); i++) {
		g_autofree char *text = g_strconcat(name, open, units[i], close, NULL);

		if (!g_str_equal(cell->text, text))
			continue;
		*decimals = i * 3;
		return TRUE;
	}
	return FALSE;
}
