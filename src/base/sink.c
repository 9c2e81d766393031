#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "base/array.h"
#include "base/console.h"
#include "base/input.h"
#include "base/sink.h"

/* Of one write, bytes. */
#define PIECE (256 * 1024)

struct _PipesimSink {
	GString *text;
	char *path;      /* as asked for */
	char *target;    /* what the temporary file is renamed to */
	char *temporary; /* NULL where written in place */
	int fd;          /* -1: standard output, or closed */
	int code;        /* errno of the first write that failed */
};

static gboolean fail_errno(GError **error, const char *path, int code)
{
	return pipesim_fail(error, PIPESIM_ERROR_WRITE, "cannot write %s: %s",
		strcmp(path, "-") == 0 ? "standard output" : path, g_strerror(code));
}

/* @old: the file that the target is now; NULL where there is none. Returns 0 or an errno. */
static int open_beside(PipesimSink *sink, const struct stat *old)
{
	char *name = g_strconcat(sink->target, ".XXXXXX", NULL);

	sink->fd = g_mkstemp_full(name, O_WRONLY | O_CLOEXEC, 0666);
	if (sink->fd < 0) {
		g_free(name);
		return errno;
	}
	sink->temporary = name;
	if (old == NULL)
		return 0;
	/* Owner and group go over where the system lets them; the permissions always. */
	if (fchown(sink->fd, old->st_uid, old->st_gid) != 0 && errno != EPERM)
		return errno;
	return fchmod(sink->fd, old->st_mode & 07777) == 0 ? 0 : errno;
}

static int open_file(PipesimSink *sink)
{
	struct stat old;

	if (lstat(sink->path, &old) != 0)
		return errno == ENOENT ? open_beside(sink, NULL) : errno;
	/* A link stays: what it points to is replaced. */
	if (S_ISLNK(old.st_mode)) {
		char *real = realpath(sink->path, NULL);

		if (real != NULL) {
			g_free(sink->target);
			sink->target = g_strdup(real);
		}
		free(real);
	}
	if (stat(sink->path, &old) != 0 || !S_ISREG(old.st_mode)) {
		sink->fd = g_open(sink->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		return sink->fd >= 0 ? 0 : errno;
	}
	/* A rename would pass over the permissions of the file. */
	if (access(sink->path, W_OK) != 0)
		return errno;
	return open_beside(sink, &old);
}

gboolean pipesim_check_writable(const char *path, GError **error)
{
	char *real = realpath(path, NULL);
	g_autofree char *folder = g_path_get_dirname(real != NULL ? real : path);
	struct stat now;
	int code = 0;

	free(real);
	if (strcmp(path, "-") == 0)
		return TRUE;
	if (*path == '\0')
		return pipesim_fail(error, PIPESIM_ERROR_WRITE,
			"cannot write a file without a name: '' was given for it");
	if (stat(path, &now) != 0)
		code = errno == ENOENT ? 0 : errno;
	else if (S_ISDIR(now.st_mode))
		code = EISDIR;
	else if (access(path, W_OK) != 0)
		code = errno;
	else if (!S_ISREG(now.st_mode))
		return TRUE;
	/* Beside it lies the temporary file. */
	if (code == 0 && access(folder, W_OK | X_OK) != 0)
		code = errno;
	return code == 0 || fail_errno(error, path, code);
}

gboolean pipesim_check_unread(const char *path, GError **error)
{
	return !pipesim_input_was_opened(path) ||
	       pipesim_refuse(error,
		       "%s is also read, and would be written over; name another file", path);
}

PipesimSink *pipesim_sink_open(const char *path, GError **error)
{
	if (!pipesim_check_unread(path, error))
		return NULL;
	PipesimSink *sink = g_new0(PipesimSink, 1);
	sink->text = g_string_new(NULL);
	sink->path = g_strdup(path);
	sink->target = g_strdup(path);
	sink->fd = -1;
	if (strcmp(path, "-") == 0)
		return sink;
	int code = open_file(sink);
	if (code == 0)
		return sink;
	fail_errno(error, path, code);
	pipesim_sink_free(sink);
	return NULL;
}

GString *pipesim_sink_text(PipesimSink *sink)
{
	return sink->text;
}

/* To standard output where @fd is negative. 0, or the errno of the first write that failed. */
static int write_all(int fd, const char *data, gsize length)
{
	if (fd < 0 && pipesim_console() != NULL) {
		pipesim_console_write(pipesim_console(), data, length);
		return 0;
	}
	if (fd < 0) {
		errno = 0;
		return fwrite(data, 1, length, stdout) == length && fflush(stdout) == 0 ? 0
											: errno;
	}
	while (length > 0) {
		gssize n = write(fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		data += n;
		length -= (gsize)n;
	}
	return 0;
}

static void let_go(PipesimSink *sink)
{
	if (sink->code == 0)
		sink->code = write_all(sink->fd, sink->text->str, sink->text->len);
	g_string_truncate(sink->text, 0);
}

void pipesim_sink_drain(PipesimSink *sink)
{
	if (sink->text->len >= PIECE)
		let_go(sink);
}

gboolean pipesim_sink_close(PipesimSink *sink, GError **error)
{
	let_go(sink);
	if (sink->fd >= 0 && close(sink->fd) != 0 && sink->code == 0)
		sink->code = errno;
	sink->fd = -1;
	if (sink->code == 0 && sink->temporary != NULL) {
		if (g_rename(sink->temporary, sink->target) != 0)
			sink->code = errno;
		else
			g_clear_pointer(&sink->temporary, g_free);
	}
	return sink->code == 0 || fail_errno(error, sink->path, sink->code);
}

PIPESIM_FREES(PipesimSink, pipesim_sink_free, sink)
{
	if (sink->fd >= 0)
		close(sink->fd);
	if (sink->temporary != NULL)
		g_unlink(sink->temporary);
	g_string_free(sink->text, TRUE);
	pipesim_free_all(sink->path, sink->target, sink->temporary, sink);
}

gboolean pipesim_write_file(const char *path, const char *data, gsize length, GError **error)
{
	g_autoptr(PipesimSink) sink = pipesim_sink_open(path, error);

	if (sink == NULL)
		return FALSE;
	/* No copy: what is there already is written as it is. */
	sink->code = write_all(sink->fd, data, length);
	return pipesim_sink_close(sink, error);
}
