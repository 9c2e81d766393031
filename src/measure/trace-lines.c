#include "config.h"

#include "base/decimal.h"
#include "base/number.h"
#include "measure/trace-lines.h"

void pipesim_trace_fault(const PipesimCsv *csv, PipesimFaults *faults,
	const PipesimCsvRecord *record, const PipesimCsvCell *cell, const char *format, ...)
{
	g_autofree char *message = NULL;
	GError *error = NULL;
	va_list args;

	va_start(args, format);
	message = g_strdup_vprintf(format, args);
	va_end(args);
	pipesim_csv_fail(csv, record, cell, &error, "%s", message);
	pipesim_faults_take(faults, error);
}

gint64 pipesim_trace_time(const PipesimCsv *csv, PipesimFaults *faults,
	const PipesimCsvRecord *record, const PipesimCsvCell *cell, guint decimals,
	const char *what)
{
	gint64 value = 0;
	const char *why = pipesim_decimal_parse(cell->text, cell->length, decimals, &value);

	if (why == NULL && value < 0)
		why = "negative";
	if (why == NULL && value > PIPESIM_MAX_TIME_NS)
		why = "out of range";
	if (why == NULL)
		return value;
	pipesim_trace_fault(csv, faults, record, cell, "%s '%s' is %s; a time >= 0 is expected",
		what, cell->text, why);
	return 0;
}

gint pipesim_trace_unit(const char *name)
{
	static const char *const names[] = {"ns", "us", "ms", "s"};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_str_equal(name, names[i]))
			return (gint)i * 3;
	return -1;
}
