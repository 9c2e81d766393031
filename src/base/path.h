/* Names of files. */
#pragma once
#include <glib.h>

/** pipesim_path_extension: what comes after the last point of the name of @path; "" where it
 * has none. */
const char *pipesim_path_extension(const char *path);

/** pipesim_path_beside: @path with another extension. For g_free(). */
char *pipesim_path_beside(const char *path, const char *extension);

/** pipesim_path_is_text: whether a drawing at @path is one in characters: .txt, or "-". */
gboolean pipesim_path_is_text(const char *path);
