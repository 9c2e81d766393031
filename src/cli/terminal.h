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

/** pipesim_begin_progress: work begins that may take long: where standard error is a terminal, a line says so
 * within half a second, "SECONDS s: @what", and goes on counting through all phases that tell nothing more. To
 * be ended. For one thread at a time, as what follows. */
void pipesim_begin_progress(const char *what);

/** pipesim_progress_is_due: whether work has begun so, and it was told how it stands no later than a fifth of a
 * second ago. */
gboolean pipesim_progress_is_due(void);

/** pipesim_show_progress: a line in place of @what; to be asked for where one is due. */
void pipesim_show_progress(const char *format, ...) G_GNUC_PRINTF(1, 2);

/** pipesim_end_progress: takes the line away, if there is one. */
void pipesim_end_progress(void);

/** pipesim_print_progress: "@done of @all @what" where a line is due; begins at 0 and ends at @all. */
void pipesim_print_progress(const char *what, guint64 done, guint64 all);

/** pipesim_print_notice: @line to standard error, behind the program's name. */
void pipesim_print_notice(const char *line);

/* 1 after a signal: the only thing that one may touch. */
extern gint pipesim_stop_asked;

/** pipesim_catch_signals: from now on SIGINT and SIGTERM set that, the first time. */
void pipesim_catch_signals(void);

/** pipesim_end_on_interrupt: until then SIGINT, where it is not ignored, ends the program at once, with
 * words and PIPESIM_EXIT_STOPPED. */
void pipesim_end_on_interrupt(void);
