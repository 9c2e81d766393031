/* Traces of every kind. */
#pragma once
#include "measure/range-rules.h"
#include "measure/trace.h"

/**
 * pipesim_trace_read: @path ("-" = standard input, packed or not) as whatever its content, not
 * its name, is: the project's own trace schema or a PyTorch profiler file.
 * @rules: what names of ranges and kernels mean; NULL = built-in names only
 *
 * Returns: (transfer full): NULL with the errors of the reader of that kind, those of
 *   pipesim_input_open(), or PIPESIM_ERROR_PARSE where the kind is not known.
 */
PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error);
