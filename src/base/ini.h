/* INI files with exact positions: lines "[group]" and "key = value", comments behind # or ; at
 * the beginning of a line. Blanks around groups, keys and values are dropped. Groups and keys
 * may repeat: whether they should is the format's affair. */
#pragma once
#include "base/kind.h"

/* One line that is neither blank nor comment. */
typedef struct {
	const char *group;  /* that it begins or stands in; NULL before the first */
	const char *key;    /* NULL: a group's own line, or junk */
	const char *value;  /* of a key, as written */
	const char *junk;   /* a line that is neither [group] nor key = value; else NULL */
	guint line, column; /* where it begins, from 1 */
	guint first_line;   /* where the same group, or key of the same group, stands first */
	guint value_column;
} PipesimIniLine;

typedef struct {
	char *path;            /* for messages */
	PipesimIniLine *lines; /* in the order of the file */
	guint n_lines;
	PipesimFaults *faults; /* that its reader notes with pipesim_ini_fault() */
	/* private */
	char *text;
	GHashTable *last; /* "group\nkey" or "group" -> its last line */
} PipesimIni;

/** pipesim_ini_parse: the lines of @length bytes at @text.
 * @path: for messages
 * Returns: (transfer full): for pipesim_ini_free(). NULL with PIPESIM_ERROR_PARSE where it
 *   is not text in UTF-8. */
PipesimIni *pipesim_ini_parse(const char *text, gsize length, const char *path, GError **error);

/** pipesim_ini_read: the same of the file @path, "-" for standard input.
 * @most: bytes that it may have, at most PIPESIM_MAX_PEEK
 * @kind: which it is to be
 * Returns: also NULL with PIPESIM_ERROR_LIMIT where it is larger, and the errors of
 *   pipesim_input_open_as(). */
PipesimIni *pipesim_ini_read(
	const char *path, gsize most, PipesimFileKind kind, GError **error);
PIPESIM_FREED(PipesimIni, pipesim_ini_free)

/** pipesim_ini_find: the last line of @key in @group, or, where @key is NULL, the last that
 * begins @group; NULL where there is none. */
const PipesimIniLine *pipesim_ini_find(
	const PipesimIni *ini, const char *group, const char *key);

/** pipesim_ini_find_row: of @n rows of @size bytes, which begin with the names of a group and a
 * key, that of @group and @key, or the first of @group where @key is NULL; NULL: there is none. */
gconstpointer pipesim_ini_find_row(
	gconstpointer rows, gsize n, gsize size, const char *group, const char *key);

/** pipesim_ini_take: the row that says how @line is read, a key's, as pipesim_ini_find_row()
 * finds it; NULL where it is no key, or one that was noted as a fault: keys and groups of no
 * row, keys ahead of a group, what is neither. A key that is given twice is a fault, and read.
 * @groups: all there are: "[a] and [b] are known"
 * @what: what the file is to be: "a model's description"; it begins with the group of the
 * first row */
gconstpointer pipesim_ini_take(PipesimIni *ini, const PipesimIniLine *line, gconstpointer rows,
	gsize n, gsize size, const char *groups, const char *what);

/** pipesim_ini_text: the value of @line, a key's, with \s (blank), \t, \n, \r and \\ resolved;
 * NULL where another letter, or nothing, follows a backslash. */
char *pipesim_ini_text(const PipesimIniLine *line);

/** pipesim_ini_fault: notes a fault at a line and column. The reader goes on. */
#define pipesim_ini_fault(ini, ...) pipesim_faults_add((ini)->faults, (ini)->path, __VA_ARGS__)

/** pipesim_ini_fault_at, pipesim_ini_fault_value: where @at, a PipesimIniLine, or its value begins. */
#define pipesim_ini_fault_at(ini, at, ...) \
	pipesim_ini_fault(ini, (at)->line, (at)->column, __VA_ARGS__)
#define pipesim_ini_fault_value(ini, at, ...) \
	pipesim_ini_fault(ini, (at)->line, (at)->value_column, __VA_ARGS__)

/** pipesim_ini_append_text: appends @value as pipesim_ini_text() reads it back. */
void pipesim_ini_append_text(GString *out, const char *value);

/** pipesim_ini_write_text: appends a line "key=value" with what pipesim_ini_text() resolves. */
void pipesim_ini_write_text(GString *out, const char *key, const char *value);
