#include "references.h"
#include "base/input.h"
#include <glib/gstdio.h>
#include <string.h>

static char *folder; /* of what was unpacked */

static char *unpack(const char *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimInput) input = pipesim_input_open(path, &error);
	const char *data;
	gsize length;

	if (input == NULL ||
		!pipesim_input_peek(input, PIPESIM_MAX_PEEK, &data, &length, &error))
		g_error("%s", error->message);
	return g_strndup(data, length);
}

/* "=== NAME", then what stands in that file, and so on. */
static void write_files(const char *text)
{
	g_auto(GStrv) parts = g_strsplit(text, "=== ", 0);

	for (guint i = 1; parts[0] != NULL && parts[i] != NULL; i++) {
		char *end = strchr(parts[i], '\n');
		g_autofree char *path = NULL;

		*end = '\0';
		path = g_build_filename(folder, parts[i], NULL);
		if (!g_file_set_contents_full(
			    path, end + 1, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL))
			g_error("%s cannot be written", path);
	}
}

static void copy_shared(void)
{
	const char *shared = g_getenv("PIPESIM_SHARED");
	g_autofree char *orders =
		g_build_filename(shared != NULL ? shared : "", "orders", NULL);
	g_autoptr(GDir) dir = g_dir_open(orders, 0, NULL);
	const char *name;

	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *from = g_build_filename(orders, name, NULL);
		g_autofree char *to = g_build_filename(folder, name, NULL);
		g_autofree char *text = NULL;

		if (g_str_has_suffix(name, ".csv") &&
			g_file_get_contents(from, &text, NULL, NULL) &&
			!g_file_set_contents_full(
				to, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL))
			g_error("%s cannot be written", to);
	}
}

static void prepare(void)
{
	const char *sources = g_getenv("TOP_SRCDIR");
	g_autofree char *path = g_build_filename(
		sources != NULL ? sources : ".", "tests", "references", "orders.gz", NULL);
	g_autofree char *text = unpack(path);

	folder = g_dir_make_tmp(NULL, NULL);
	if (folder == NULL)
		g_error("no folder for orders of other implementations");
	write_files(text);
	copy_shared();
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

GPtrArray *references_find(const char *const *prefixes)
{
	GPtrArray *files = g_ptr_array_new_with_free_func(g_free);
	g_autoptr(GDir) dir = NULL;
	const char *name;

	if (folder == NULL)
		prepare();
	dir = g_dir_open(folder, 0, NULL);
	while (dir != NULL && (name = g_dir_read_name(dir)) != NULL)
		for (guint i = 0; prefixes[i] != NULL; i++)
			if (g_str_has_prefix(name, prefixes[i]))
				g_ptr_array_add(files, g_build_filename(folder, name, NULL));
	g_ptr_array_sort(files, by_name);
	return files;
}

void references_clear(void)
{
	g_autoptr(GPtrArray) files = NULL;

	if (folder == NULL)
		return;
	files = references_find((const char *const[]){"", NULL});
	for (guint i = 0; i < files->len; i++)
		g_unlink(files->pdata[i]);
	g_rmdir(folder);
	g_clear_pointer(&folder, g_free);
}
