#include "config.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "output/picture.h"

static const struct {
	const char *extension, *terminal;
} terminals[] = {{"svg", "svg"}, {"png", "pngcairo"}, {"pdf", "pdfcairo"}};

static const char *extension_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot != NULL && dot != name ? dot + 1 : "";
}

static const char *find_terminal(const char *extension)
{
	for (gsize i = 0; i < G_N_ELEMENTS(terminals); i++)
		if (g_ascii_strcasecmp(terminals[i].extension, extension) == 0)
			return terminals[i].terminal;
	return NULL;
}

gboolean pipesim_picture_paths_init(PipesimPicturePaths *paths, const char *path)
{
	const char *extension = extension_of(path);
	int stem = (int)(strlen(path) - strlen(extension));

	if (find_terminal(extension) == NULL)
		return FALSE;
	*paths = (PipesimPicturePaths){
		.picture = g_strdup(path),
		.folder = g_path_get_dirname(path),
		.script = g_strdup_printf("%.*sgp", stem, path),
		.data = g_strdup_printf("%.*sdat", stem, path),
		.raster = g_strdup_printf("%.*srgb", stem, path),
		.terminal = find_terminal(extension),
	};
	return TRUE;
}

void pipesim_picture_paths_clear(PipesimPicturePaths *paths)
{
	g_free(paths->picture);
	g_free(paths->folder);
	g_free(paths->script);
	g_free(paths->data);
	g_free(paths->raster);
}

static gboolean check_content(const PipesimLayout *layout, GError **error)
{
	if (layout->n_panels == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"nothing to draw: no schedule has a result");
	if (layout->n_boxes == 0)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"nothing to draw: no op takes any time");
	return TRUE;
}

static gboolean fail_gnuplot(
	const PipesimPicturePaths *paths, const char *words, GError **error)
{
	g_autofree char *stripped = g_strstrip(g_strdup(words));

	return pipesim_fail(error, PIPESIM_ERROR_EXTERNAL, "%s: gnuplot failed on %s: %s",
		paths->picture, paths->script, stripped[0] != '\0' ? stripped : "no message");
}

static gboolean fail_to_run(const PipesimPicturePaths *paths, const char *gnuplot,
	const GError *cause, GError **error)
{
	gboolean missing = g_error_matches(cause, G_SPAWN_ERROR, G_SPAWN_ERROR_NOENT);

	return pipesim_fail(error, PIPESIM_ERROR_EXTERNAL,
		"%s: cannot run %s: %s; install gnuplot and run it on %s, or ask for a .txt "
		"timeline",
		paths->picture, gnuplot, missing ? "not found" : cause->message, paths->script);
}

/* gnuplot runs in the folder of the picture, since the script names its files without one. */
static gboolean run_gnuplot(const PipesimPicturePaths *paths, const char *gnuplot,
	const char *draft, GError **error)
{
	g_autofree char *script = g_path_get_basename(paths->script);
	g_autofree char *local = g_strconcat("./", script, NULL);
	g_autofree char *name = g_path_get_basename(draft);
	g_autoptr(GString) setting = g_string_new("picture = ");
	const char *argv[] = {gnuplot, "-d", "-e", NULL, local, NULL};
	g_autofree char *words = NULL;
	g_autoptr(GError) cause = NULL;
	int status = 0;

	pipesim_gnuplot_quote(setting, name);
	argv[3] = setting->str;
	if (!g_spawn_sync(paths->folder, (char **)argv, NULL,
		    G_SPAWN_SEARCH_PATH | G_SPAWN_STDOUT_TO_DEV_NULL, NULL, NULL, NULL, &words,
		    &status, &cause))
		return fail_to_run(paths, gnuplot, cause, error);
	if (!g_spawn_check_wait_status(status, &cause))
		return fail_gnuplot(paths, words[0] != '\0' ? words : cause->message, error);
	return TRUE;
}

/* Reads the draft back, so that a picture keeps what pipesim_write_file() promises of a file.
 */
static gboolean keep_draft(const PipesimPicturePaths *paths, const char *draft, GError **error)
{
	g_autofree char *bytes = NULL;
	g_autoptr(GError) cause = NULL;
	gsize length = 0;

	if (!g_file_get_contents(draft, &bytes, &length, &cause))
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot write %s: %s",
			paths->picture, cause->message);
	if (length == 0)
		return fail_gnuplot(paths, "it drew nothing", error);
	return pipesim_write_file(paths->picture, bytes, length, error);
}

static gboolean render(const PipesimPicturePaths *paths, const char *gnuplot, GError **error)
{
	g_autofree char *draft = g_build_filename(paths->folder, ".pipesim-XXXXXX", NULL);
	int fd = g_mkstemp(draft);
	gboolean done;

	if (fd < 0)
		return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot write in %s: %s",
			paths->folder, g_strerror(errno));
	close(fd);
	done = run_gnuplot(paths, gnuplot, draft, error) && keep_draft(paths, draft, error);
	g_unlink(draft);
	return done;
}

gboolean pipesim_picture_render(const PipesimPicturePaths *paths, const GString *script,
	const GString *data, const char *gnuplot, GError **error)
{
	return pipesim_write_file(paths->data, data->str, data->len, error) &&
	       pipesim_write_file(paths->script, script->str, script->len, error) &&
	       render(paths, gnuplot, error);
}

static gboolean write_raster(const PipesimLayout *layout, const PipesimDetail *detail,
	const PipesimPicturePaths *paths, GError **error)
{
	g_autofree guint8 *pixels = NULL;

	if (detail->width == 0)
		return TRUE;
	pixels = pipesim_raster_paint(layout, detail, error);
	return pixels != NULL && pipesim_write_file(paths->raster, (const char *)pixels,
					 3 * (gsize)detail->width * detail->height, error);
}

static gboolean draw(const PipesimLayout *layout, const PipesimComparison *comparison,
	const PipesimPicturePaths *paths, const char *gnuplot, GError **error)
{
	g_autoptr(GString) script = g_string_new(NULL);
	g_autoptr(GString) data = g_string_new(NULL);
	PipesimDetail detail;

	pipesim_gnuplot_detail(layout, &detail);
	pipesim_gnuplot_data(layout, &detail, data);
	pipesim_gnuplot_script(layout, &detail, comparison, paths, script);
	return write_raster(layout, &detail, paths, error) &&
	       pipesim_picture_render(paths, script, data, gnuplot, error);
}

static gboolean write_text(const PipesimComparison *comparison, const char *path,
	const PipesimStyle *style, GError **error)
{
	g_autoptr(GString) text = g_string_new(NULL);

	pipesim_timeline_text(comparison, style, text);
	return pipesim_write_file(path, text->str, text->len, error);
}

gboolean pipesim_picture_write(const PipesimComparison *comparison, const char *path,
	const PipesimStyle *style, const char *gnuplot, GError **error)
{
	const char *extension = extension_of(path);
	g_autoptr(PipesimLayout) layout = NULL;
	PipesimPicturePaths paths;
	gboolean done;

	if (g_ascii_strcasecmp(extension, "txt") == 0 || strcmp(path, "-") == 0)
		return write_text(comparison, path, style, error);
	if (!pipesim_picture_paths_init(&paths, path))
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"no picture has the extension of '%s'; a timeline is .svg, .png, .pdf "
			"or "
			".txt",
			path);
	layout = pipesim_layout_new(comparison, PIPESIM_GNUPLOT_LANES);
	done = check_content(layout, error) && draw(layout, comparison, &paths, gnuplot, error);
	pipesim_picture_paths_clear(&paths);
	return done;
}
