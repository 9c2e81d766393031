/* Traces that have been read, as bytes: what one of several machines read of the files of a run, to go on with elsewhere as
 * if its files had been given. */
#pragma once
#include "measure/trace.h"

/** pipesim_part_write: @n traces as their files have them, before any of them is compared with another, each with those behind
 * it (next), to the end of @out. Only this version of pipesim on such a machine reads them. */
void pipesim_part_write(PipesimTrace *const *traces, guint n, GString *out);

/** pipesim_part_read: what @length bytes at @data, which messages call @name, have: the first trace with the others behind it, those of
 * one file with the same path. (transfer full): NULL with PIPESIM_ERROR_PARSE where they are not whole, or of
 * another pipesim. */
PipesimTrace *pipesim_part_read(
	const char *data, gsize length, const char *name, GError **error);
