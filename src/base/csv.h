/* Comma-separated values with exact positions. One physical line is one record: cells never
 * hold a newline, and an empty line is a record without cells. LF or CRLF; a byte order mark is
 * skipped; packed files are unpacked. Blanks around a cell are dropped unless it is quoted. */
#pragma once
#include "base/input.h"

typedef struct _PipesimCsv PipesimCsv;

/* One cell. @text is UTF-8 without NUL; blanks and quotes are gone. */
typedef struct {
	const char *text;
	gsize length;
	guint column; /* of the first byte of @text in its line, from 1; an empty cell: where it
			 would be */
	gboolean quoted;
} PipesimCsvCell;

/* From the end of a line on, or of its last cell, so many bytes may be read, of which the first
 * is NUL: a word may be compared with what is there without looking for the end first. */
#define PIPESIM_CSV_PADDING 16

/* One line; valid until the next call. */
typedef struct {
	guint line;    /* from 1 */
	guint n_cells; /* 0 = an empty line; a line of blanks has one empty cell */
	const PipesimCsvCell *cells;
	/* The line, where it was not to be split and holds no quote. */
	const char *plain;
	gsize length;   /* of the line, its end left out */
	gboolean ended; /* by a newline: FALSE only for the last line of a file that lacks it */
} PipesimCsvRecord;

/** pipesim_csv_new: takes over @input from where it stands; NULL where that is NULL, as
 * pipesim_input_open() returns it. For pipesim_csv_free(). */
PipesimCsv *pipesim_csv_new(PipesimInput *input);
PIPESIM_FREED(PipesimCsv, pipesim_csv_free)

/** pipesim_csv_path: how messages call it; owned by @csv. */
const char *pipesim_csv_path(const PipesimCsv *csv);

/** pipesim_csv_next: the next record.
 * @split: FALSE: a line without quotes comes as @plain, without cells: for who scans many cells
 *   a line
 * Returns: (transfer none): NULL at the end, @error unset; NULL with PIPESIM_ERROR_PARSE: a
 *   NUL, bytes that are not UTF-8, a carriage return inside a line, an open quote or text
 *   beside one; the next call then goes on with the next line; G_FILE_ERROR,
 *   PIPESIM_ERROR_LIMIT: as for pipesim_input_peek(); the next call says the end. */
const PipesimCsvRecord *pipesim_csv_next(PipesimCsv *csv, gboolean split, GError **error);

/** pipesim_csv_column: where @cell stands, or, where that is NULL, its line. */
static inline guint pipesim_csv_column(const PipesimCsvCell *cell)
{
	return cell != NULL ? cell->column : 1;
}

/** pipesim_csv_fail: sets @error to "path:line:column: ..." at @cell of @record, whose path is
 * that of @csv; returns FALSE. @cell may be NULL: the line as a whole. */
#define pipesim_csv_fail(csv, record, cell, error, ...)               \
	pipesim_fail_at(error, pipesim_csv_path(csv), (record)->line, \
		pipesim_csv_column(cell), __VA_ARGS__)
