#include "config.h"

#include "base/input.h"

#include <errno.h>
#include <fcntl.h>
#include <gio/gio.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK  ((gsize)64 << 10)
#define PACKED (2 * BLOCK) /* holds what was read before the file was known to be packed */

struct _PipesimInput {
	char *name;
	int fd;               /* -1 = memory or closed */
	GConverter *unpack;   /* NULL = the bytes are taken as they are */
	gboolean member_done; /* between two members of a packed file */
	gboolean end;         /* nothing more to read */
	char *packed; /* PACKED bytes; packed_begin to packed_end are not yet unpacked */
	gsize packed_begin, packed_end;
	char *buffer; /* owned unless memory; begin to end are not yet consumed */
	gsize begin, length, capacity;
};

void pipesim_input_free(PipesimInput *input)
{
	if (input == NULL)
		return;
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	g_clear_object(&input->unpack);
	g_free(input->name);
	g_free(input->packed);
	if (input->capacity > 0)
		g_free(input->buffer);
	g_free(input);
}

const char *pipesim_input_name(const PipesimInput *input)
{
	return input->name;
}

/* One read(2) of up to @size bytes; 0 at the end. */
static gboolean read_some(
	PipesimInput *input, char *to, gsize size, gsize *length, GError **error)
{
	gssize n;

	do
		n = read(input->fd, to, size);
	while (n < 0 && errno == EINTR);
	*length = n < 0 ? 0 : (gsize)n;
	if (n >= 0)
		return TRUE;
	const int code = errno;
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code), "%s: cannot read: %s",
		input->name, g_strerror(code));
	return FALSE;
}

static gboolean refill_packed(PipesimInput *input, GError **error)
{
	const gsize left = input->packed_end - input->packed_begin;
	gsize n;

	if (left == PACKED)
		return TRUE;
	memmove(input->packed, input->packed + input->packed_begin, left);
	input->packed_begin = 0;
	input->packed_end = left;
	if (!read_some(input, input->packed + left, PACKED - left, &n, error))
		return FALSE;
	input->packed_end += n;
	input->end = n == 0;
	return TRUE;
}

static gboolean fail_packed(const PipesimInput *input, const char *why, GError **error)
{
	return pipesim_fail_at(
		error, input->name, 1, 1, "the gzip file is %s; copy it again", why);
}

/* Unpacks once into @to. *length may be 0 without being at the end: the packed bytes ran out.
 */
static gboolean unpack_some(
	PipesimInput *input, char *to, gsize size, gsize *length, GError **error)
{
	g_autoptr(GError) cause = NULL;
	gsize taken = 0;

	*length = 0;
	if (input->member_done && input->packed_end > input->packed_begin) {
		g_converter_reset(input->unpack);
		input->member_done = FALSE;
	}
	if (input->packed_end == input->packed_begin)
		return input->member_done || !input->end ||
		       fail_packed(input, "truncated", error);
	const GConverterResult result = g_converter_convert(input->unpack,
		input->packed + input->packed_begin, input->packed_end - input->packed_begin,
		to, size, G_CONVERTER_NO_FLAGS, &taken, length, &cause);
	input->packed_begin += taken;
	if (result == G_CONVERTER_FINISHED)
		input->member_done = TRUE;
	if (result != G_CONVERTER_ERROR)
		return TRUE;
	*length = 0;
	if (!g_error_matches(cause, G_IO_ERROR, G_IO_ERROR_PARTIAL_INPUT))
		return fail_packed(input, "damaged", error);
	return !input->end || fail_packed(input, "truncated", error);
}

/* Adds some bytes to the buffer, or finds the end. */
static gboolean add_some(PipesimInput *input, GError **error)
{
	char *to = input->buffer + input->begin + input->length;
	const gsize room = input->capacity - input->begin - input->length;
	gsize n = 0;

	if (input->unpack == NULL) {
		if (!read_some(input, to, room, &n, error))
			return FALSE;
		input->end = n == 0;
	} else {
		if (!input->end && !refill_packed(input, error))
			return FALSE;
		if (!unpack_some(input, to, room, &n, error))
			return FALSE;
	}
	input->length += n;
	return TRUE;
}

static gboolean at_end(const PipesimInput *input)
{
	return input->end &&
	       (input->unpack == NULL ||
		       (input->member_done && input->packed_end == input->packed_begin));
}

/* Room for at least one more block behind the bytes held. */
static gboolean make_room(PipesimInput *input, gsize want, GError **error)
{
	if (input->begin > 0) {
		memmove(input->buffer, input->buffer + input->begin, input->length);
		input->begin = 0;
	}
	const gsize need = MAX(want, input->length + 1);
	if (input->capacity >= need)
		return TRUE;
	const gsize capacity = MAX(need + BLOCK, 2 * input->capacity);
	char *grown = g_try_realloc(input->buffer, capacity);
	if (grown == NULL)
		return pipesim_fail_limit(error, input->name,
			"no memory for a line of %" G_GSIZE_FORMAT " bytes", need);
	input->buffer = grown;
	input->capacity = capacity;
	return TRUE;
}

gboolean pipesim_input_peek(
	PipesimInput *input, gsize want, const char **data, gsize *length, GError **error)
{
	if (want > PIPESIM_MAX_PEEK && !at_end(input))
		return pipesim_fail_limit(error, input->name,
			"a line is longer than %" G_GSIZE_FORMAT
			" bytes, the most that is read",
			PIPESIM_MAX_PEEK);
	while (input->length < want && !at_end(input)) {
		if (input->begin + input->length == input->capacity || input->begin > 0) {
			if (!make_room(input, want, error))
				return FALSE;
		}
		if (!add_some(input, error))
			return FALSE;
	}
	*data = input->buffer + input->begin;
	*length = input->length;
	return TRUE;
}

void pipesim_input_consume(PipesimInput *input, gsize length)
{
	g_assert(length <= input->length);
	input->begin += length;
	input->length -= length;
}

PipesimInput *pipesim_input_open(const char *path, GError **error)
{
	const gboolean is_stdin = g_str_equal(path, "-");
	const char *head;
	gsize length;
	const int fd = is_stdin ? STDIN_FILENO : g_open(path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0) {
		const int code = errno;
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
			"%s: cannot open: %s", path, g_strerror(code));
		return NULL;
	}
	g_autoptr(PipesimInput) input = g_new0(PipesimInput, 1);
	input->name = g_strdup(is_stdin ? "<stdin>" : path);
	input->fd = fd;
	/* The first bytes decide whether the file is packed. */
	if (!pipesim_input_peek(input, 2, &head, &length, error))
		return NULL;
	if (length >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) {
		g_assert(length <= PACKED);
		input->packed = g_malloc(PACKED);
		memcpy(input->packed, head, length);
		input->packed_end = length;
		pipesim_input_consume(input, length);
		input->unpack =
			G_CONVERTER(g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_GZIP));
	}
	return g_steal_pointer(&input);
}

PipesimInput *pipesim_input_new_memory(const char *name, const void *data, gsize length)
{
	PipesimInput *input = g_new0(PipesimInput, 1);

	input->name = g_strdup(name);
	input->fd = -1;
	input->end = TRUE;
	input->buffer = (char *)data; /* never written to, as capacity stays 0 */
	input->length = length;
	return input;
}
