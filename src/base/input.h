/* Bytes of a file, of standard input or of memory, unpacked on the way where they are gzip. */
#pragma once
#include "base/error.h"

typedef struct _PipesimInput PipesimInput;

/* Most bytes that pipesim_input_peek() holds at once: also the longest line of any text file.
 */
#define PIPESIM_MAX_PEEK ((gsize)64 << 20)

/** pipesim_input_open: @path for reading; "-" is standard input, called "<stdin>" in messages.
 * A file that begins with 1f 8b is unpacked while it is read, whatever its name.
 * Returns: (transfer full): for pipesim_input_free(), behind its byte order mark, if it has
 * one; NULL with G_FILE_ERROR, whose message begins with the path, or PIPESIM_ERROR_PARSE
 * where its first bytes are those of no text. */
PipesimInput *pipesim_input_open(const char *path, GError **error);

/** pipesim_input_new_memory: @length bytes at @data, which stay the caller's and must outlive
 * the result. Not unpacked. @name stands for the path in messages. */
PipesimInput *pipesim_input_new_memory(const char *name, const void *data, gsize length);
PIPESIM_FREED(PipesimInput, pipesim_input_free)

/** pipesim_input_name: how messages call it; owned by @input. */
const char *pipesim_input_name(const PipesimInput *input);

/** pipesim_input_peek: the next bytes, not consumed: at least @want of them unless the end
 * comes first, perhaps more. @data is valid until the next call of any function of @input.
 * Returns: FALSE with G_FILE_ERROR where reading failed, PIPESIM_ERROR_PARSE where the
 * packed file is damaged or truncated, PIPESIM_ERROR_LIMIT where @want exceeds
 * PIPESIM_MAX_PEEK. */
gboolean pipesim_input_peek(
	PipesimInput *input, gsize want, const char **data, gsize *length, GError **error);

/** pipesim_input_consume: drops @length of the bytes that the last peek showed. */
void pipesim_input_consume(PipesimInput *input, gsize length);

/** pipesim_input_allow_cut: a packed file that is truncated ends where it does from now on, as one that is not packed, for a
 * reader who finds that out by its content. */
void pipesim_input_allow_cut(PipesimInput *input);

/** pipesim_input_watch: from now on it is known which files were opened here, to the end of the process: for a program
 * that must not write over what it reads. Before any other thread. */
void pipesim_input_watch(void);

/** pipesim_input_was_opened: whether @path is one of these, whatever it was called then. */
gboolean pipesim_input_was_opened(const char *path);
