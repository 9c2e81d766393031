#include "cli/terminal.h"
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

PipesimExit pipesim_exit_status(const GError *error)
{
	if (error->domain == G_FILE_ERROR || error->domain == G_KEY_FILE_ERROR)
		return PIPESIM_EXIT_INPUT;
	if (error->domain != PIPESIM_ERROR)
		return PIPESIM_EXIT_USAGE;
	switch ((PipesimErrorCode)error->code) {
	case PIPESIM_ERROR_PARSE:
	case PIPESIM_ERROR_INCOMPLETE:
		return PIPESIM_EXIT_INPUT;
	case PIPESIM_ERROR_EXTERNAL:
		return PIPESIM_EXIT_EXTERNAL;
	case PIPESIM_ERROR_WRITE:
		return PIPESIM_EXIT_WRITE;
	case PIPESIM_ERROR_DEADLOCK: /* of what a file holds, or of what was asked for */
	case PIPESIM_ERROR_LIMIT:
		return pipesim_error_location(error)->path != NULL ? PIPESIM_EXIT_INPUT
								   : PIPESIM_EXIT_USAGE;
	case PIPESIM_ERROR_USAGE:
	case PIPESIM_ERROR_CONSTRAINT:
		return PIPESIM_EXIT_USAGE;
	}
	g_return_val_if_reached(PIPESIM_EXIT_USAGE);
}

PipesimStyle pipesim_terminal_style(const PipesimSetup *setup, const char *path)
{
	const char *no_color = g_getenv("NO_COLOR"), *columns = g_getenv("COLUMNS");
	const gboolean shown = isatty(STDOUT_FILENO) == 1;
	struct winsize size;
	guint64 width = 0; /* nothing limits it: a file or a pipe */

	if (pipesim_console() != NULL)
		return (PipesimStyle){.unicode = TRUE, .full = setup->flag[PIPESIM_SET_FULL]};
	if ((columns == NULL ||
		    !pipesim_parse_count(columns, "COLUMNS", 40, 10000, &width, NULL)) &&
		shown && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		width = size.ws_col;
	return (PipesimStyle){
		.colour = path == NULL && shown && (no_color == NULL || *no_color == '\0') &&
			  g_strcmp0(g_getenv("TERM"), "dumb") != 0,
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.full = setup->flag[PIPESIM_SET_FULL],
		.width = (guint)width,
	};
}

gboolean pipesim_print(const char *path, const GString *text, GError **error)
{
	return pipesim_write_file(path != NULL ? path : "-", text->str, text->len, error);
}

gboolean pipesim_print_drawn(const PipesimSetup *setup, const PipesimComparison *comparison,
	const char *path, GString *out, GError **error)
{
	const char *timeline = setup->text[PIPESIM_SET_TIMELINE];
	const char *trace = setup->text[PIPESIM_SET_CHROME_TRACE];
	const char *page = setup->text[PIPESIM_SET_REPORT];
	const PipesimStyle style = pipesim_terminal_style(setup, path);
	PipesimStyle plain = style;

	plain.colour = FALSE;
	if (g_strcmp0(timeline, "-") == 0) {
		g_string_append_c(out, '\n');
		pipesim_timeline_text(comparison, &setup->view, &style, out);
	} else if (timeline != NULL && !pipesim_picture_write(comparison, timeline, &plain,
					       &setup->view, "gnuplot", error)) {
		return FALSE;
	}
	return (trace == NULL || pipesim_chrome_trace_write(comparison, trace, error)) &&
	       (page == NULL || pipesim_page_write(comparison, page, error)) &&
	       pipesim_print(path, out, error);
}

gboolean pipesim_check_full(const PipesimSetup *setup, const char *format, GError **error)
{
	const gboolean full = setup->flag[PIPESIM_SET_FULL],
		       brief = setup->flag[PIPESIM_SET_BRIEF];

	if (full && brief)
		return pipesim_refuse(error,
			"--brief is what is printed without --full; leave one of them out");
	if (format != NULL && (full || brief))
		return pipesim_refuse(error,
			"%s is for the text table; leave it out with --format %s",
			full ? "--full" : "--brief", format);
	return format == NULL || g_strcmp0(setup->text[PIPESIM_SET_TIMELINE], "-") != 0 ||
	       pipesim_refuse(error,
		       "--timeline - would mix with --format %s on standard output; give it a "
		       "file",
		       format);
}

gboolean pipesim_format(
	const PipesimSetup *setup, const char *words, guint *format, GError **error)
{
	const char *name = setup->text[PIPESIM_SET_FORMAT];

	*format = PIPESIM_AS_TEXT;
	return (name == NULL ||
		       pipesim_word_find(words, name, "unknown format", format, error)) &&
	       pipesim_check_full(setup, *format == PIPESIM_AS_TEXT ? NULL : name, error);
}

gboolean pipesim_check_page(const char *path, GError **error)
{
	const char *extension = path != NULL ? pipesim_path_extension(path) : "";

	if (g_strcmp0(path, "-") == 0)
		return pipesim_refuse(error, "--report - would mix with the table on standard "
					     "output; give it a file");
	return *extension == '\0' || g_ascii_strcasecmp(extension, "html") == 0 ||
	       g_ascii_strcasecmp(extension, "htm") == 0 ||
	       pipesim_refuse(error,
		       "--report writes a page for browsers, not .%s; name it FILE.html",
		       extension);
}

/* A line that stands still for so long gets the time that has passed since; us */
#define STILL (G_TIME_SPAN_SECOND * 2 / 5)
/* Work tells how it stands no more often than this; us */
#define OFTEN (G_TIME_SPAN_SECOND / 5)

/* Work that tells how it stands. All but the clock is under the lock: a thread of its own keeps the line
 * moving through phases that tell nothing, however long they are. */
static struct {
	GMutex lock;
	GCond over;
	GThread *clock;
	gint64 began, told, shown; /* 0: not yet; us */
	char *line;                /* what was told last */
} progress;

static void show_line(void)
{
	progress.shown = g_get_monotonic_time();
	fprintf(stderr, "\r\033[K%.0f s: %s",
		(double)((progress.shown - progress.began) / G_TIME_SPAN_SECOND),
		progress.line);
	fflush(stderr);
}

static void clear_line(void)
{
	if (progress.shown == 0)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

static gpointer keep_moving(gpointer data G_GNUC_UNUSED)
{
	g_mutex_lock(&progress.lock);
	while (progress.began != 0) {
		const gint64 due = MAX(progress.began, progress.shown) + STILL;

		if (!g_cond_wait_until(&progress.over, &progress.lock, due) &&
			progress.began != 0 && g_get_monotonic_time() >= due)
			show_line();
	}
	g_mutex_unlock(&progress.lock);
	return NULL;
}

void pipesim_begin_progress(const char *what)
{
	PipesimConsole *console = pipesim_console();

	pipesim_end_progress();
	if (console != NULL && console->tell != NULL) {
		console->told = g_get_monotonic_time();
		pipesim_console_tell(console, PIPESIM_TOLD_PROGRESS, what);
	}
	if (console != NULL || isatty(STDERR_FILENO) != 1)
		return;
	progress.line = g_strdup(what);
	progress.began = g_get_monotonic_time();
	progress.clock = g_thread_try_new("progress", keep_moving, NULL, NULL);
}

gboolean pipesim_progress_is_due(void)
{
	const PipesimConsole *console = pipesim_console();

	if (console != NULL)
		return console->told != 0 && g_get_monotonic_time() - console->told >= OFTEN;
	return progress.began != 0 &&
	       g_get_monotonic_time() - MAX(progress.began, progress.told) >= OFTEN;
}

void pipesim_show_progress(const char *format, ...)
{
	PipesimConsole *console = pipesim_console();
	va_list arguments;

	va_start(arguments, format);
	char *line = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	if (console != NULL) {
		pipesim_console_tell(console, PIPESIM_TOLD_PROGRESS, line);
		console->told = g_get_monotonic_time();
		g_free(line);
		return;
	}
	g_mutex_lock(&progress.lock);
	g_free(progress.line);
	progress.line = line;
	show_line();
	progress.told = progress.shown;
	g_mutex_unlock(&progress.lock);
}

void pipesim_end_progress(void)
{
	if (pipesim_console() != NULL)
		pipesim_console()->told = 0;
	if (progress.began == 0)
		return;
	g_mutex_lock(&progress.lock);
	progress.began = 0;
	g_cond_signal(&progress.over);
	g_mutex_unlock(&progress.lock);
	if (progress.clock != NULL)
		g_thread_join(progress.clock);
	clear_line();
	g_free(progress.line);
	progress.line = NULL;
	progress.clock = NULL;
	progress.told = progress.shown = 0;
}

void pipesim_print_progress(const char *what, guint64 done, guint64 all)
{
	if (done >= all) {
		pipesim_end_progress();
	} else if (done == 0) {
		g_autofree char *line =
			g_strdup_printf("0 of %" G_GUINT64_FORMAT " %s", all, what);

		pipesim_begin_progress(line);
	} else if (pipesim_progress_is_due()) {
		pipesim_show_progress(
			"%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s", done, all, what);
	}
}

void pipesim_say(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	g_autofree char *line = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	if (pipesim_console() == NULL)
		g_printerr("%s\n", line);
	else
		g_string_append_printf(pipesim_console()->said, "%s\n", line);
}

void pipesim_print_notice(const char *line)
{
	g_autofree char *printable = pipesim_printable(line);

	if (pipesim_console() != NULL) {
		pipesim_say("pipesim: %s", printable);
		return;
	}
	g_mutex_lock(&progress.lock);
	clear_line();
	g_printerr("pipesim: %s\n", printable);
	g_mutex_unlock(&progress.lock);
}

static gint stop_asked;

gint *pipesim_stop(void)
{
	return pipesim_console() != NULL ? &pipesim_console()->stop : &stop_asked;
}

/* Nothing but what a signal may call. */
static void end_at_once(int number G_GNUC_UNUSED)
{
	static const char words[] = "\r\033[Kpipesim: interrupted\n";
	const gsize skipped = isatty(STDERR_FILENO) == 1 ? 0 : strlen("\r\033[K");
	const ssize_t ignored =
		write(STDERR_FILENO, words + skipped, sizeof words - 1 - skipped);

	(void)ignored;
	_exit(PIPESIM_EXIT_STOPPED);
}

static void ask_to_stop(int number)
{
	g_atomic_int_set(&stop_asked, 1);
	signal(number,
		number == SIGINT ? end_at_once : SIG_DFL); /* the second one ends the program */
}

void pipesim_end_on_interrupt(void)
{
	if (signal(SIGINT, end_at_once) == SIG_IGN)
		signal(SIGINT, SIG_IGN); /* as behind nohup */
}

void pipesim_catch_signals(void)
{
	if (pipesim_console() != NULL)
		return;
	signal(SIGINT, ask_to_stop);
	signal(SIGTERM, ask_to_stop);
}
