/* Standard output: what it can show, and writing to it or to a file in its place. */
#pragma once
#include "output/output.h"

/** pipesim_terminal_style: how to write to @path, or to standard output where that is NULL: from
 * isatty, NO_COLOR, TERM, COLUMNS and the locale. A file has no colour. */
PipesimStyle pipesim_terminal_style(const char *path);

/** pipesim_print: @text to @path, or to standard output where @path is NULL. FALSE with
 * PIPESIM_ERROR_WRITE. */
gboolean pipesim_print(const char *path, const GString *text, GError **error);

/** pipesim_check_page: whether a page may be written to @path, of --report; NULL: none is. It is not for a
 * terminal, nor is it a picture. FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_check_page(const char *path, GError **error);

/** pipesim_text_or_json: whether @format, of --format, is json; NULL is text. FALSE with
 * PIPESIM_ERROR_USAGE where it is neither. */
gboolean pipesim_text_or_json(const char *format, gboolean *json, GError **error);

/** pipesim_print_progress: "@done of @all @what" in place of the last line of standard error, where that is
 * a terminal, from the second fifth of a second of work on, and takes the line away at the end. For one
 * thread at a time. */
void pipesim_print_progress(const char *what, guint64 done, guint64 all);

/** pipesim_print_notice: @line to standard error, behind the program's name. */
void pipesim_print_notice(const char *line);
