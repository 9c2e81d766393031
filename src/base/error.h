/* How every room reports a failure: made where the fact is known, printed by cli alone. */
#pragma once
#include "base/array.h"
#include "pipesim.h"

/* Where in an input file an error is; line and column count from 1, 0 = not in a file. Carried
 * by every PIPESIM_ERROR. */
typedef struct {
	char *path;
	guint line, column;
} PipesimErrorPrivate;

/** pipesim_printable: @text as it can be shown on any terminal: what is no character to be
 * printed, controls and bytes that are not UTF-8 above all, as \x1b; line ends and tabs stay.
 * For g_free(). Messages of errors go through it. */
char *pipesim_printable(const char *text);

/** pipesim_shell_word: @text as a shell reads it back: as it is, or quoted. For g_free(). */
char *pipesim_shell_word(const char *text);

/** pipesim_list_more: adds one to @list, "A, B, C". */
void pipesim_list_more(GString *list, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** pipesim_lines_say: adds a line to @lines, of char *. */
void pipesim_lines_say(GPtrArray *lines, const char *format, ...) G_GNUC_PRINTF(2, 3);

/** pipesim_fail_with: sets @error, whose message begins "path:line:column: " unless @path is
 * NULL, and returns FALSE, so that `return pipesim_fail_with(...)` is one line. */
gboolean pipesim_fail_with(GError **error, PipesimErrorCode code, const char *path, guint line,
	guint column, const char *format, ...) G_GNUC_PRINTF(6, 7);

/** pipesim_fail: one that has no place in a file, or none yet. */
#define pipesim_fail(error, code, ...) \
	pipesim_fail_with((error), (code), NULL, 0, 0, __VA_ARGS__)

/** pipesim_fail_at: a PIPESIM_ERROR_PARSE. */
#define pipesim_fail_at(error, path, line, column, ...) \
	pipesim_fail_with((error), PIPESIM_ERROR_PARSE, (path), (line), (column), __VA_ARGS__)

/** pipesim_refuse: a PIPESIM_ERROR_USAGE, of what was asked. */
#define pipesim_refuse(error, ...) pipesim_fail((error), PIPESIM_ERROR_USAGE, __VA_ARGS__)

/** pipesim_fail_null ...: likewise, of a function that returns a pointer: NULL. */
#define pipesim_fail_null(error, ...)    (pipesim_fail(error, __VA_ARGS__), NULL)
#define pipesim_fail_null_at(error, ...) (pipesim_fail_at(error, __VA_ARGS__), NULL)
#define pipesim_refuse_null(error, ...)  (pipesim_refuse(error, __VA_ARGS__), NULL)

/** pipesim_fail_limit: a PIPESIM_ERROR_LIMIT about the file @path as a whole. */
#define pipesim_fail_limit(error, path, ...) \
	pipesim_fail_with((error), PIPESIM_ERROR_LIMIT, (path), 1, 1, __VA_ARGS__)

/** pipesim_error_new: the error of a function that takes such a format itself. @path: NULL = it
 * has no place yet. */
GError *pipesim_error_new(PipesimErrorCode code, const char *path, guint line, guint column,
	const char *format, va_list args) G_GNUC_PRINTF(5, 0);

/** pipesim_error_locate: gives an error that has none a place: its message then begins
 * "path:line:column: " too, and its code stays. */
void pipesim_error_locate(GError *error, const char *path, guint line, guint column);

/** pipesim_error_location: where; owned by @error, which must be a PIPESIM_ERROR. */
const PipesimErrorPrivate *pipesim_error_location(const GError *error);

/* Faults collected by a parser that goes on after the first: at most PIPESIM_MAX_FAULTS are
 * kept, the rest are counted. */
#define PIPESIM_MAX_FAULTS 20
typedef struct {
	GPtrArray *errors; /* of GError, owned */
	guint total;       /* found, kept or not */
} PipesimFaults;

PipesimFaults *pipesim_faults_new(void);
PIPESIM_FREED(PipesimFaults, pipesim_faults_free)
/** pipesim_faults_take: adds @error, which becomes the collection's. */
void pipesim_faults_take(PipesimFaults *faults, GError *error);
/** pipesim_faults_add: a PIPESIM_ERROR_PARSE at this place. */
void pipesim_faults_add(PipesimFaults *faults, const char *path, guint line, guint column,
	const char *format, ...) G_GNUC_PRINTF(5, 6);
/** pipesim_faults_done: TRUE where there is none; else FALSE, with @error one error whose
 * message holds every kept fault on a line of its own and whose location is the first one's. */
gboolean pipesim_faults_done(const PipesimFaults *faults, GError **error);
