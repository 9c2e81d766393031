/* A kind of file with measurements: one file and one line in list.h. */
#pragma once
#include "base/input.h"
#include "measure/range-rules.h"
#include "measure/trace.h"

/* A file is what its content says it is, not its name: the first reader that knows it takes it. */
typedef struct {
	const char *name; /* what a user would call such a file */
	/* Whether the file that begins with @head, @length bytes that end with a NUL, is one. */
	gboolean (*is)(const char *head, gsize length);
	/* @input from where it stands to its end; it becomes the function's. @rules: what names of
	 * ranges and kernels mean; NULL = built-in names only.
	 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE: up to 20 faults, each
	 * "path:line:column: ...", or nothing that has a meaning; or an error of
	 * pipesim_csv_next() or pipesim_json_next(). */
	PipesimTrace *(*read)(
		PipesimInput *input, const PipesimRangeRules *rules, GError **error);
} PipesimReader;

#define READER(id) extern const PipesimReader pipesim_reader_##id;
#include "measure/list.h"
#undef READER

/** pipesim_reader_find: the one for a file that begins with @head, as for PipesimReader.is. */
const PipesimReader *pipesim_reader_find(const char *head, gsize length);

/** pipesim_trace_read: @path ("-" = standard input, packed or not) with the reader for it.
 * Returns: (transfer full): NULL with its errors, or those of pipesim_input_open(). */
PipesimTrace *pipesim_trace_read(
	const char *path, const PipesimRangeRules *rules, GError **error);

/** pipesim_trace_read_input: the same of @input, which becomes the function's. */
PipesimTrace *pipesim_trace_read_input(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error);
