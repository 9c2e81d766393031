/* Traces of every kind. */
#pragma once
#include "model/trace.h"

/**
 * pipesim_trace_read: @path ("-" = standard input, packed or not) as whatever its content is:
 * the project's own trace schema.
 *
 * Returns: (transfer full): NULL with the errors of the reader of that kind, those of
 *   pipesim_input_open(), or PIPESIM_ERROR_PARSE where the kind is not known.
 */
PipesimTrace *pipesim_trace_read(const char *path, GError **error);
