/* What the user sees: standard output, progress, and what the end of the program means. */
#pragma once
#include "output/output.h"
#include "setup/setup.h"

/* To scripts. */
typedef enum {
	PIPESIM_EXIT_DONE = 0,
	PIPESIM_EXIT_NO = 1,        /* the answer is no */
	PIPESIM_EXIT_USAGE = 2,     /* unknown option or schedule, impossible shape */
	PIPESIM_EXIT_INPUT = 3,     /* a bad input file */
	PIPESIM_EXIT_EXTERNAL = 4,  /* an external program is missing or failed */
	PIPESIM_EXIT_WRITE = 5,     /* cannot write */
	PIPESIM_EXIT_STOPPED = 130, /* stopped by a signal; what was done is kept */
} PipesimExit;

/** pipesim_exit_status: what @error means. */
PipesimExit pipesim_exit_status(const GError *error);

/** pipesim_terminal_style: how to write to @path, or to standard output where that is NULL: from
 * isatty, NO_COLOR, TERM, COLUMNS and the locale, and as much as @setup asks for. A file has no colour. */
PipesimStyle pipesim_terminal_style(const PipesimSetup *setup, const char *path);

/** pipesim_print: @text to @path, or to standard output where @path is NULL. FALSE with
 * PIPESIM_ERROR_WRITE. */
gboolean pipesim_print(const char *path, const GString *text, GError **error);

/** pipesim_check_full: FALSE with PIPESIM_ERROR_USAGE where --full and --brief are given both, or with @format
 * (nullable), which is not for people, one of them or a timeline among its lines. */
gboolean pipesim_check_full(const PipesimSetup *setup, const char *format, GError **error);

/** pipesim_check_page: whether a page may be written to @path, of --report; NULL: none is. It is not for a
 * terminal, nor is it a picture. FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_check_page(const char *path, GError **error);

/** pipesim_print_drawn: @comparison as --timeline, --chrome-trace and --report ask for it, then @out to @path, with the
 * timeline below it where that is "-". FALSE with PIPESIM_ERROR_WRITE, or what drawing gives. */
gboolean pipesim_print_drawn(const PipesimSetup *setup, const PipesimComparison *comparison,
	const char *path, GString *out, GError **error);

/* Words of --format, in this order; commands take the first of them. */
enum {
	PIPESIM_AS_TEXT,
	PIPESIM_AS_JSON,
	PIPESIM_AS_CSV,
	PIPESIM_AS_JSONL
};

/** pipesim_format: which of @words --format names, the first of them for people; not given it is that. FALSE as above. */
gboolean pipesim_format(
	const PipesimSetup *setup, const char *words, guint *format, GError **error);

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

/** pipesim_say: a line to standard error, as it is. */
void pipesim_say(const char *format, ...) G_GNUC_PRINTF(1, 2);

/** pipesim_print_notice: @line to standard error, behind the program's name. */
void pipesim_print_notice(const char *line);

/** pipesim_stop: what is 1 after a signal, or once a caller of the library has asked to stop: the only thing that a
 * signal may touch. */
gint *pipesim_stop(void);

/** pipesim_catch_signals: from now on SIGINT and SIGTERM set that, the first time. */
void pipesim_catch_signals(void);

/** pipesim_end_on_interrupt: until then SIGINT, where it is not ignored, ends the program at once, with
 * words and PIPESIM_EXIT_STOPPED. */
void pipesim_end_on_interrupt(void);
