/* Times that somebody has worked out already: one line a component and phase. */
#pragma once
#include "measure/trace.h"

/** pipesim_trace_is_summary: whether the file that begins with @head looks like one. */
gboolean pipesim_trace_is_summary(const char *head);

/**
 * pipesim_trace_read_summary: a CSV with a header that names the columns component, phase, mean
 * and perhaps sd and samples, in any order. Numbers are ms; "mean_us", "sd_ns" ... say another
 * unit. Other columns and lines that begin with # are ignored. @input becomes the function's.
 *
 * Returns: (transfer full): a trace without rows; NULL with PIPESIM_ERROR_PARSE, up to 20
 * faults, or an error of pipesim_csv_next().
 */
PipesimTrace *pipesim_trace_read_summary(PipesimInput *input, GError **error);
