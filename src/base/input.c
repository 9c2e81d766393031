#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define BLOCK ((gsize)64 << 10)

struct _PipesimInput {
	char *name;
	int fd;               /* -1 = memory, or what @packed has */
	PipesimInput *packed; /* what is unpacked; NULL = the bytes are taken as they are */
	z_stream unpack;      /* of @packed */
	gboolean member_done; /* between two members of a packed file */
	gboolean end;         /* nothing more to read */
	gboolean may_be_cut;  /* a packed file may end anywhere */
	char *buffer;         /* owned unless memory; begin to end are not yet consumed */
	gsize begin, length, capacity;
};

PIPESIM_FREES(PipesimInput, pipesim_input_free, input)
{
	if (input->fd > STDIN_FILENO)
		close(input->fd);
	if (input->packed != NULL)
		inflateEnd(&input->unpack);
	pipesim_input_free(input->packed);
	if (input->capacity > 0)
		g_free(input->buffer);
	pipesim_free_all(input->name, input);
}

const char *pipesim_input_name(const PipesimInput *input)
{
	return input->name;
}

static gboolean fail_packed(const PipesimInput *input, const char *why, GError **error)
{
	return pipesim_fail_at(
		error, input->name, 1, 1, "the gzip file is %s; copy it again", why);
}

/* Unpacks some of it. *length may be 0 before the end too. */
static gboolean unpack_some(
	PipesimInput *input, char *to, gsize size, gsize *length, GError **error)
{
	z_stream *unpack = &input->unpack;
	const char *data;
	gsize packed;

	if (!pipesim_input_peek(input->packed, 1, &data, &packed, error))
		return FALSE;
	input->end = packed == 0;
	if (input->end)
		return input->member_done || input->may_be_cut ||
		       fail_packed(input, "truncated", error);
	if (input->member_done)
		inflateReset(unpack);
	/* zlib counts in unsigned int, and does not write to what it unpacks. */
	unpack->next_in = (Bytef *)data;
	unpack->avail_in = (uInt)MIN(packed, G_MAXUINT);
	unpack->next_out = (Bytef *)to;
	unpack->avail_out = (uInt)MIN(size, G_MAXUINT);
	const int result = inflate(unpack, Z_NO_FLUSH);
	pipesim_input_consume(input->packed, (gsize)((const char *)unpack->next_in - data));
	*length = (gsize)((char *)unpack->next_out - to);
	input->member_done = result == Z_STREAM_END;
	return result == Z_OK || input->member_done || fail_packed(input, "damaged", error);
}

/* Adds some bytes to the buffer, or finds the end. */
static gboolean add_some(PipesimInput *input, GError **error)
{
	char *to = input->buffer + input->begin + input->length;
	const gsize room = input->capacity - input->begin - input->length;
	gsize unpacked = 0;
	gssize n;

	if (input->packed != NULL) {
		if (!unpack_some(input, to, room, &unpacked, error))
			return FALSE;
		input->length += unpacked;
		return TRUE;
	}
	do
		n = read(input->fd, to, room);
	while (n < 0 && errno == EINTR);
	const int code = errno;
	if (n < 0) {
		g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(code),
			"%s: cannot read: %s", input->name, g_strerror(code));
		return FALSE;
	}
	input->end = n == 0;
	input->length += (gsize)n;
	return TRUE;
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
	if (want > PIPESIM_MAX_PEEK && !input->end)
		return pipesim_fail_limit(error, input->name,
			"a line is longer than %" G_GSIZE_FORMAT
			" bytes, the most that is read",
			PIPESIM_MAX_PEEK);
	while (input->length < want && !input->end) {
		if (((input->begin + input->length == input->capacity || input->begin > 0) &&
			    !make_room(input, want, error)) ||
			!add_some(input, error))
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

void pipesim_input_allow_cut(PipesimInput *input)
{
	input->may_be_cut = TRUE;
}

/* What is no text, though it is often what is at hand where text is asked for. */
static gboolean check_head(PipesimInput *input, GError **error)
{
	static const struct {
		const char *head;
		gsize length;
		const char *what;
	} others[] = {
		{"\x28\xb5\x2f\xfd", 4, "packed by zstd; unpack it, or pack it with gzip"},
		{"\xfd"
		 "7zXZ",
			6, "packed by xz; unpack it, or pack it with gzip"},
		{"BZh", 3, "packed by bzip2; unpack it, or pack it with gzip"},
		{"PK\x03\x04", 4, "packed by zip; unpack it, or pack it with gzip"},
		{"\xff\xfe", 2, "text in UTF-16; save it as UTF-8"},
		{"\xfe\xff", 2, "text in UTF-16; save it as UTF-8"},
	};
	const char *head;
	gsize length, zeros = 0;

	if (g_str_has_suffix(input->name, ".nsys-rep") ||
		g_str_has_suffix(input->name, ".qdrep"))
		return pipesim_fail_at(error, input->name, 1, 1,
			"this is a report of Nsight Systems; nsys export --type sqlite FILE "
			"makes a database of it, which is read");
	if (!pipesim_input_peek(input, 64, &head, &length, error))
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (length >= others[i].length &&
			memcmp(head, others[i].head, others[i].length) == 0)
			return pipesim_fail_at(
				error, input->name, 1, 1, "this is %s", others[i].what);
	/* Which may be a trace: kind.c. */
	if ((length >= 16 && memcmp(head, "SQLite format 3", 16) == 0) ||
		(length > 5 && head[1] == '\n' && head[2] < 16 && g_ascii_isdigit(head[3]) &&
			head[4] == '.'))
		return TRUE;
	for (gsize i = 0; i < MIN(length, 64); i++)
		zeros += head[i] == '\0';
	if (zeros > 1)
		return pipesim_fail_at(error, input->name, 1, 1,
			"this is a binary file, not text; give its CSV or JSON");
	if (length >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
		pipesim_input_consume(input, 3); /* a byte order mark */
	return TRUE;
}

/* Files that were opened; NULL: nobody asks. */
static struct {
	GMutex lock;
	GArray *files; /* of struct stat */
} watched;

void pipesim_input_watch(void)
{
	watched.files = g_array_new(FALSE, FALSE, sizeof(struct stat));
}

/* Under the lock. Devices and pipes are none. */
static gboolean is_watched(const struct stat *file)
{
	if (watched.files == NULL)
		return FALSE;
	return pipesim_any_of(const struct stat, other, watched.files,
		other->st_dev == file->st_dev && other->st_ino == file->st_ino);
}

gboolean pipesim_input_was_opened(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return FALSE;
	g_mutex_lock(&watched.lock);
	gboolean was = is_watched(&file);
	g_mutex_unlock(&watched.lock);
	return was;
}

PipesimInput *pipesim_input_open(const char *path, GError **error)
{
	const gboolean is_stdin = g_str_equal(path, "-");
	const char *head;
	struct stat file;
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
	g_mutex_lock(&watched.lock);
	if (watched.files != NULL && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) &&
		!is_watched(&file))
		g_array_append_val(watched.files, file);
	g_mutex_unlock(&watched.lock);
	/* The first bytes decide whether the file is packed. */
	if (!pipesim_input_peek(input, 2, &head, &length, error))
		return NULL;
	if (length >= 2 && memcmp(head, "\x1f\x8b", 2) == 0) {
		PipesimInput *unpacked = g_new0(PipesimInput, 1);

		/* 16: with the head and the check sum of gzip */
		if (inflateInit2(&unpacked->unpack, 16 + MAX_WBITS) != Z_OK) {
			g_free(unpacked);
			pipesim_fail_limit(error, input->name, "no memory to unpack it");
			return NULL;
		}
		unpacked->name = g_strdup(input->name);
		unpacked->fd = -1;
		unpacked->packed = g_steal_pointer(&input);
		input = unpacked;
	}
	return check_head(input, error) ? g_steal_pointer(&input) : NULL;
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
