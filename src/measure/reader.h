/* A kind of file with measurements: one file and one line in list.h. */
#pragma once
#include "measure/range-rules.h"

/* A file is what its content says it is, not its name: the first reader that knows it takes it. */
typedef struct {
	const char *name; /* what a user would call such a file */
	/* Whether the file that begins with @head is one. NULL: the last takes what no other
	 * knows. */
	gboolean (*is)(const char *head);
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
const PipesimReader *pipesim_reader_find(const char *head);

/** pipesim_trace_read: @input, packed or not, with the reader for it; it becomes the function's.
 * Returns: (transfer full): NULL with its errors, or where @input is NULL, as
 * pipesim_input_open() returns it. */
PipesimTrace *pipesim_trace_read(
	PipesimInput *input, const PipesimRangeRules *rules, GError **error);

/* @done of @all files have been read. */
typedef void (*PipesimTracesProgress)(guint done, guint all);

/* Which files, and how. */
typedef struct {
	const char *const *paths; /* NULL-terminated, not empty */
	gsize first,
		end; /* those from the first to before the last of these; end 0 = all of them */
	const PipesimRangeRules *rules; /* (nullable) */
	PipesimTracesProgress
		progress; /* (nullable): called before the first and after each, on any thread, one at a time */
	const PipesimPeers *
		peers; /* who each read a part, and have all of it then; NULL = one process reads all */
} PipesimTraceFiles;

/** pipesim_traces_read_each: on all cores, each as its file has it.
 * Returns: (transfer full): of PipesimTrace, owned, a file each; NULL with an error of pipesim_trace_read(). */
GPtrArray *pipesim_traces_read_each(const PipesimTraceFiles *files, GError **error);

/** pipesim_traces_read: the same by all peers, and of all ranks that are in them, compared with each other.
 * Errors in all of the peers, of the first that has one. */
GPtrArray *pipesim_traces_read(const PipesimTraceFiles *files, GError **error);

/* What readers of lines share: the first member of what one keeps while it reads. */
typedef struct _PipesimTable PipesimTable;
struct _PipesimTable {
	/* Reads the record; FALSE: as if the file ended there. */
	gboolean (*line)(PipesimTable *table);
	/* What is wrong with a file of which nothing came into the trace; NULL = nothing. */
	const char *empty;
	/* Set while a file is read: */
	PipesimTrace *trace;
	PipesimFaults *faults;
	const PipesimCsvRecord *record;
};

/** pipesim_table_read: makes a trace of @input by calling @table->line at each record; one that
 * cannot be read is a fault, and reading goes on. @input becomes the function's.
 * Returns: (transfer full): NULL with the faults, an error of pipesim_csv_next() after which
 *   nothing follows, or PIPESIM_ERROR_LIMIT. */
PipesimTrace *pipesim_table_read(PipesimTable *table, PipesimInput *input, GError **error);

/** pipesim_table_fault: adds "path:line:column: ..." at @cell of the record, or at the line where
 * NULL. */
#define pipesim_table_fault(table, cell, ...)                                            \
	pipesim_faults_add((table)->faults, (table)->trace->path, (table)->record->line, \
		pipesim_csv_column(cell), __VA_ARGS__)

/** pipesim_table_ended: a fault where the record lacks its newline: it may lack digits. */
void pipesim_table_ended(PipesimTable *table);

/** pipesim_table_skips: whether the record is a blank line or a comment. */
static inline gboolean pipesim_table_skips(const PipesimTable *table)
{
	const PipesimCsvRecord *record = table->record;

	return record->n_cells == 0 || record->cells[0].text[0] == '#' ||
	       (record->n_cells == 1 && record->cells[0].length == 0);
}

/* Where a header has a column. */
typedef struct {
	gint at;        /* -1 = nowhere */
	guint decimals; /* a time there is in units of 10^decimals ns */
} PipesimColumn;

/** pipesim_table_column: the last column of @header called @name, where * stands for a unit:
 * "Duration (*)", "mean_*". Without one times are in ms. Returns: whether there is one. */
gboolean pipesim_table_column(
	const PipesimCsvRecord *header, const char *name, PipesimColumn *column);

/** pipesim_table_time: what the record holds in @column, which is not missing. Empty, negative
 * or too large: a fault that calls it @what.
 * Returns: ns, or 0 after a fault. */
gint64 pipesim_table_time(PipesimTable *table, const PipesimColumn *column, const char *what);

/** pipesim_table_phase: the PipesimPhase that @cell names; 0 after a fault. */
guint8 pipesim_table_phase(PipesimTable *table, const PipesimCsvCell *cell);
