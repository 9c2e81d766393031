#include "config.h"

#include "cli/terminal.h"
#include "output/gnuplot.h"
#include <langinfo.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 0 where nothing limits it: a file or a pipe. */
static guint terminal_width(void)
{
	const char *columns = g_getenv("COLUMNS");
	struct winsize size;
	guint64 width;

	if (columns != NULL && pipesim_parse_count(columns, "COLUMNS", 40, 10000, &width, NULL))
		return (guint)width;
	if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
		return size.ws_col;
	return 0;
}

PipesimStyle pipesim_terminal_style(const char *path)
{
	const char *no_color = g_getenv("NO_COLOR");
	const gboolean terminal = path == NULL && isatty(STDOUT_FILENO) == 1;

	return (PipesimStyle){
		.colour = terminal && (no_color == NULL || *no_color == '\0') &&
			  g_strcmp0(g_getenv("TERM"), "dumb") != 0,
		.unicode = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
		.width = terminal_width(),
	};
}

gboolean pipesim_print(const char *path, const GString *text, GError **error)
{
	return pipesim_write_file(path != NULL ? path : "-", text->str, text->len, error);
}

gboolean pipesim_text_or_json(const char *format, gboolean *json, GError **error)
{
	*json = g_strcmp0(format, "json") == 0;
	return *json || format == NULL || strcmp(format, "text") == 0 ||
	       pipesim_fail(
		       error, PIPESIM_ERROR_USAGE, "unknown format '%s'; text or json", format);
}

gboolean pipesim_check_page(const char *path, GError **error)
{
	const char *extension = path != NULL ? pipesim_path_extension(path) : "";

	if (g_strcmp0(path, "-") == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--report - would mix with the table on standard output; give it a "
			"file");
	return *extension == '\0' || g_ascii_strcasecmp(extension, "html") == 0 ||
	       g_ascii_strcasecmp(extension, "htm") == 0 ||
	       pipesim_fail(error, PIPESIM_ERROR_USAGE,
		       "--report writes a page for browsers, not .%s; name it FILE.html",
		       extension);
}

void pipesim_print_notice(const char *line)
{
	g_autofree char *printable = pipesim_printable(line);

	g_printerr("pipesim: %s\n", printable);
}

/* When the work began, and when a line was last shown; 0: not yet. us */
static gint64 progress_began, progress_shown;

gboolean pipesim_progress_is_due(void)
{
	const gint64 now = g_get_monotonic_time();

	if (isatty(STDERR_FILENO) != 1)
		return FALSE;
	if (progress_began == 0)
		progress_began = now;
	return now - MAX(progress_began, progress_shown) >= G_TIME_SPAN_SECOND / 5;
}

void pipesim_show_progress(const char *format, ...)
{
	va_list arguments;

	progress_shown = g_get_monotonic_time();
	fputs("\r\033[K", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fflush(stderr);
}

void pipesim_end_progress(void)
{
	if (progress_shown != 0) {
		fputs("\r\033[K", stderr);
		fflush(stderr);
	}
	progress_began = progress_shown = 0;
}

void pipesim_print_progress(const char *what, guint64 done, guint64 all)
{
	if (done >= all)
		pipesim_end_progress();
	else if (pipesim_progress_is_due())
		pipesim_show_progress(
			"%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s", done, all, what);
}
