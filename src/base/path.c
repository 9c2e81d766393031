#include "base/path.h"

const char *pipesim_path_extension(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return dot != NULL && dot != name ? dot + 1 : "";
}

char *pipesim_path_beside(const char *path, const char *extension)
{
	const gsize stem = strlen(path) - strlen(pipesim_path_extension(path));

	return g_strdup_printf("%.*s%s", (int)stem, path, extension);
}

gboolean pipesim_path_is_text(const char *path)
{
	return g_ascii_strcasecmp(pipesim_path_extension(path), "txt") == 0 ||
	       strcmp(path, "-") == 0;
}
