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

void pipesim_print_progress(const char *what, guint64 done, guint64 all)
{
	static gint64 began, shown;
	const gint64 now = g_get_monotonic_time();

	if (isatty(STDERR_FILENO) != 1)
		return;
	began = began != 0 ? began : now;
	if (done >= all) {
		fputs(shown != 0 ? "\r\033[K" : "", stderr);
		began = shown = 0;
	} else if (now - MAX(began, shown) >= G_TIME_SPAN_SECOND / 5) {
		fprintf(stderr, "\r\033[K%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s",
			done, all, what);
		shown = now;
	}
	fflush(stderr);
}
