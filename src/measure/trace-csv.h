/* Reads the project's own trace schema, version 1 (docs/formats.md). */
#pragma once
#include "measure/trace.h"

/* Most rows of one trace. */
#define PIPESIM_MAX_TRACE_ROWS (1u << 23)

/**
 * pipesim_trace_read_csv: @input from where it stands to its end; it becomes the function's.
 *
 * Columns are found by name in any order; those that are not of the schema are ignored and
 * named in a notice. Warm-ups, outliers and failed rows are kept, with their status.
 *
 * Returns: (transfer full): a trace of at least one row; NULL with
 *   PIPESIM_ERROR_PARSE: up to 20 faults, each "path:line:column: ...": another format or
 * version, a required column missing, a name or number that is none, a negative or overflowing
 * duration, a row that stands twice, a line cut short; PIPESIM_ERROR_LIMIT: more than
 * PIPESIM_MAX_TRACE_ROWS; or an error of pipesim_csv_next().
 */
PipesimTrace *pipesim_trace_read_csv(PipesimInput *input, GError **error);
