#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "output/gnuplot.h"
#include "output/svg.h"

/* Sizes are pixels throughout; each terminal counts in its own unit. */
struct _PipesimTerminal {
	const char *extension, *name, *size;
	const char *point; /* size of a font that is one pixel high */
};

static const PipesimTerminal terminals[] = {
	{"svg", "svg", "width,height", "1"},
	{"png", "pngcairo", "2 * width,2 * height fontscale 2 linewidth 2", "0.75"},
	{"pdf", "pdfcairo", "width / 96,height / 96 fontscale 0.75", "0.75"},
};

PipesimGnuplot *pipesim_gnuplot_new(const char *path, const char *known, GError **error)
{
	const char *extension = pipesim_path_extension(path);
	const PipesimTerminal *terminal = NULL;

	for (gsize i = 0; i < G_N_ELEMENTS(terminals); i++)
		if (g_ascii_strcasecmp(terminals[i].extension, extension) == 0)
			terminal = &terminals[i];
	if (terminal == NULL)
		return pipesim_refuse_null(
			error, "no picture has the extension of '%s'; %s", path, known);
	PipesimGnuplot *picture = g_new(PipesimGnuplot, 1);
	*picture = (PipesimGnuplot){
		.path = g_strdup(path),
		.script_path = pipesim_path_beside(path, "gp"),
		.data_path = pipesim_path_beside(path, "dat"),
		.terminal = terminal,
		.script = g_string_new(NULL),
		.data = g_string_new(NULL),
		.paper = "#FFFFFF",
		.font = PIPESIM_GNUPLOT_FONT,
	};
	return picture;
}

gboolean pipesim_gnuplot_check(const char *path, GError **error)
{
	g_autoptr(PipesimGnuplot) picture =
		path != NULL ? pipesim_gnuplot_new(path, PIPESIM_GNUPLOT_EXTENSIONS, error)
			     : NULL;

	return path == NULL || picture != NULL;
}

PIPESIM_FREES(PipesimGnuplot, pipesim_gnuplot_free, picture)
{
	g_string_free(picture->script, TRUE);
	g_string_free(picture->data, TRUE);
	pipesim_free_all(picture->path, picture->script_path, picture->data_path, picture);
}

/* Script ------------------------------------------------------------------------------------- */

/* A quote is two, but gnuplot 5.4 ends a string at the second pair of a row, and takes a pair
 * behind the opening quote for an empty string: such quotes stand in a string of their own. */
static void quote_bytes(GString *out, const char *text)
{
	const char *p = text;

	g_string_append_c(out, '\'');
	while (*p != '\0') {
		const gsize quotes = strspn(p, "'");

		if (quotes == 1 && p > text) {
			g_string_append(out, "''");
		} else if (quotes > 0) {
			g_string_append(out, "' . \"");
			for (gsize i = 0; i < quotes; i++)
				g_string_append(out, "\\047");
			g_string_append(out, "\" . '");
		} else {
			g_string_append_c(out, g_ascii_iscntrl(*p) ? '?' : *p);
		}
		p += MAX(quotes, (gsize)1);
	}
	g_string_append_c(out, '\'');
}

void pipesim_gnuplot_quote(
	GString *out, const char *before, const char *text, const char *format, ...)
{
	g_autofree char *printable = pipesim_printable(text);
	va_list args;

	g_string_append(out, before);
	quote_bytes(out, printable);
	va_start(args, format);
	g_string_append_vprintf(out, format, args);
	va_end(args);
}

void pipesim_gnuplot_set_file(GString *out, const char *variable, const char *path)
{
	g_autofree char *name = g_path_get_basename(path);
	/* gnuplot takes a name that begins with | or < for a command, with $ for a datablock.
	 */
	g_autofree char *safe =
		g_strconcat(strchr("|<-$", name[0]) != NULL ? "./" : "", name, NULL);

	g_string_append_printf(out, "%s = ", variable);
	quote_bytes(out, safe);
	g_string_append_c(out, '\n');
}

void pipesim_gnuplot_files(PipesimGnuplot *picture)
{
	g_string_append(picture->script, "if (!exists('picture')) ");
	pipesim_gnuplot_set_file(picture->script, "picture", picture->path);
	pipesim_gnuplot_set_file(picture->script, "data", picture->data_path);
}

void pipesim_gnuplot_terminal(PipesimGnuplot *picture)
{
	g_string_append_printf(picture->script,
		"\nset encoding utf8\npoint = %s  # size of a font that is one pixel high\n"
		"set terminal %s size %s \\\n"
		"	font sprintf('Arial,%%g', %u * point) background '%s' noenhanced\n"
		"set output picture\n",
		picture->terminal->point, picture->terminal->name, picture->terminal->size,
		picture->font, picture->paper);
}

void pipesim_gnuplot_begin(PipesimGnuplot *picture, guint width, guint height)
{
	pipesim_gnuplot_files(picture);
	g_string_append_printf(picture->script, "width = %u.0\nheight = %u.0\n", width, height);
	pipesim_gnuplot_terminal(picture);
}

/* Drawing ------------------------------------------------------------------------------------ */

static gboolean fail_gnuplot(const PipesimGnuplot *picture, const char *words, GError **error)
{
	g_autofree char *stripped = g_strstrip(g_strdup(words));

	return pipesim_fail(error, PIPESIM_ERROR_EXTERNAL, "%s: gnuplot failed on %s: %s",
		picture->path, picture->script_path,
		stripped[0] != '\0' ? stripped : "no message");
}

/* In the child: its standard output is the draft. */
static void write_to_draft(gpointer data)
{
	dup2(fileno(data), STDOUT_FILENO);
}

/* gnuplot runs in the folder of the picture, since the script names its files without one. */
static gboolean run_gnuplot(
	const PipesimGnuplot *picture, const char *gnuplot, FILE *draft, GError **error)
{
	g_autofree char *folder = g_path_get_dirname(picture->path);
	g_autofree char *script = g_path_get_basename(picture->script_path);
	g_autofree char *local = g_strconcat("./", script, NULL);
	const char *argv[] = {gnuplot, "-d", "-e", "picture = '/dev/stdout'", local, NULL};
	g_autofree char *words = NULL;
	g_autoptr(GError) cause = NULL;
	int status = 0;

	if (!g_spawn_sync(folder, (char **)argv, NULL, G_SPAWN_SEARCH_PATH, write_to_draft,
		    draft, NULL, &words, &status, &cause))
		return pipesim_fail(error, PIPESIM_ERROR_EXTERNAL,
			"%s: cannot run %s: %s; install gnuplot and run it on %s, or ask for a "
			".txt timeline",
			picture->path, gnuplot,
			g_error_matches(cause, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT)
				? "not found"
				: cause->message,
			picture->script_path);
	if (!g_spawn_check_wait_status(status, &cause))
		return fail_gnuplot(picture, words[0] != '\0' ? words : cause->message, error);
	return TRUE;
}

static _Thread_local gboolean kept;

void pipesim_gnuplot_keep(gboolean keep)
{
	kept = keep;
}

gboolean pipesim_gnuplot_draw(
	const PipesimGnuplot *picture, const char *gnuplot, GError **error)
{
	const GString *script = picture->script, *data = picture->data;
	FILE *draft;
	g_autoptr(GMappedFile) bytes = NULL;
	g_autofree char *joined = NULL;
	g_autoptr(GError) cause = NULL;

	if (!pipesim_write_file(picture->data_path, data->str, data->len, error) ||
		!pipesim_write_file(picture->script_path, script->str, script->len, error))
		return FALSE;
	draft = tmpfile(); /* without a name: nothing is left of it where a run is killed */
	if (draft == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE,
			"cannot write a temporary file: %s", g_strerror(errno));
	gboolean done = run_gnuplot(picture, gnuplot, draft, error);
	/* Read back, so that a picture keeps what pipesim_write_file() promises of a file. */
	if (done)
		bytes = g_mapped_file_new_from_fd(fileno(draft), FALSE, &cause);
	fclose(draft);
	if (!done)
		return FALSE;
	if (bytes == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot write %s: %s",
			picture->path, cause->message);
	if (g_mapped_file_get_length(bytes) == 0)
		return fail_gnuplot(picture, "it drew nothing", error);
	const char *text = g_mapped_file_get_contents(bytes);
	gsize length = g_mapped_file_get_length(bytes);
	if (picture->boxes && g_str_has_prefix(text, "<?xml")) {
		text = joined = pipesim_svg_compact(text, length);
		length = strlen(text);
	}
	done = pipesim_write_file(picture->path, text, length, error);
	if (done && !kept) {
		g_autofree char *raster = pipesim_path_beside(picture->path, "rgb");

		unlink(picture->script_path);
		unlink(picture->data_path);
		if (strstr(script->str, "\nraster = ") != NULL)
			unlink(raster);
	}
	return done;
}
