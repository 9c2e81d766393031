/* What the readers of foreign tables share. */
#pragma once
#include "base/csv.h"

/** pipesim_trace_fault: adds "path:line:column: ..." at @cell of @record, or at the line where
 * NULL. */
void pipesim_trace_fault(const PipesimCsv *csv, PipesimFaults *faults,
	const PipesimCsvRecord *record, const PipesimCsvCell *cell, const char *format, ...)
	G_GNUC_PRINTF(5, 6);

/**
 * pipesim_trace_time: a cell that holds a time in a unit of 10^@decimals ns: 0 = ns, 3 =
 * us, 6 = ms, 9 = s. Empty, negative or too large: a fault that calls it @what.
 *
 * Returns: ns, or 0 after a fault.
 */
gint64 pipesim_trace_time(const PipesimCsv *csv, PipesimFaults *faults,
	const PipesimCsvRecord *record, const PipesimCsvCell *cell, guint decimals,
	const char *what);

/** pipesim_trace_unit: decimals for "ns", "us", "ms", "s"; -1 for anything else. */
gint pipesim_trace_unit(const char *name);
