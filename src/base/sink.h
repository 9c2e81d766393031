/* Where an output goes piece by piece, so that no whole of it is ever in memory. */
#pragma once
#include "base/error.h"

typedef struct _PipesimSink PipesimSink;

/** pipesim_sink_open: writes to a temporary file beside @path that pipesim_sink_close() renames
 * over it, so that a full disk loses nothing that was there. "-" is standard output; a device
 * or pipe is written in place.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_WRITE, or as pipesim_check_unread(). */
PipesimSink *pipesim_sink_open(const char *path, GError **error);

/** pipesim_check_writable: whether pipesim_sink_open() of @path would succeed now, for who works long before it
 * writes: nothing is made. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_check_writable(const char *path, GError **error);

/** pipesim_check_unread: FALSE with PIPESIM_ERROR_USAGE where @path is an input that is to stay as it is:
 * pipesim_input_watch(). */
gboolean pipesim_check_unread(const char *path, GError **error);

/** pipesim_sink_text: what is to be written; append to it. */
GString *pipesim_sink_text(PipesimSink *sink);

/** pipesim_sink_drain: lets go of the text where there is enough of it for a write. A write
 * that fails is told by pipesim_sink_close(); what follows it is dropped. */
void pipesim_sink_drain(PipesimSink *sink);

/** pipesim_sink_close: writes the rest and puts the file in its place. FALSE with
 * PIPESIM_ERROR_WRITE; the file that was there stays. Still to be freed. */
gboolean pipesim_sink_close(PipesimSink *sink, GError **error);

/** pipesim_write_file: @length bytes through a sink. FALSE with PIPESIM_ERROR_WRITE. */
gboolean pipesim_write_file(const char *path, const char *data, gsize length, GError **error);

/** pipesim_sink_free: what was not closed is thrown away. */
PIPESIM_FREED(PipesimSink, pipesim_sink_free)
