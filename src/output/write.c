#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <glib/gstdio.h>

#include "output/output.h"

static gboolean fail_errno(GError **error, const char *path, int code)
{
	return pipesim_fail(
		error, PIPESIM_ERROR_WRITE, "cannot write %s: %s", path, g_strerror(code));
}

static gboolean write_stdout(const char *data, gsize length, GError **error)
{
	errno = 0;
	if (fwrite(data, 1, length, stdout) == length && fflush(stdout) == 0)
		return TRUE;
	return fail_errno(error, "standard output", errno);
}

/* 0, or the errno of the first write that failed. */
static int write_all(int fd, const char *data, gsize length)
{
	while (length > 0) {
		gssize n = write(fd, data, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		data += n;
		length -= n;
	}
	return 0;
}

static int write_and_close(int fd, const char *data, gsize length)
{
	int code = write_all(fd, data, length);

	if (close(fd) != 0 && code == 0)
		code = errno;
	return code;
}

static gboolean write_in_place(const char *path, const char *data, gsize length, GError **error)
{
	int fd = g_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int code = fd >= 0 ? write_and_close(fd, data, length) : errno;

	return code == 0 || fail_errno(error, path, code);
}

/* Owner and group go over where the system lets them; the permissions always. */
static int copy_ownership(int fd, const struct stat *old)
{
	if (fchown(fd, old->st_uid, old->st_gid) != 0 && errno != EPERM)
		return errno;
	return fchmod(fd, old->st_mode & 07777) == 0 ? 0 : errno;
}

/* @old: the file that @path is now; NULL where there is none. */
static gboolean replace(const char *path, const struct stat *old, const char *data,
	gsize length, GError **error)
{
	g_autofree char *temporary = g_strconcat(path, ".XXXXXX", NULL);
	int fd = g_mkstemp_full(temporary, O_WRONLY | O_CLOEXEC, 0666);
	int code;

	if (fd < 0)
		return fail_errno(error, path, errno);
	code = old != NULL ? copy_ownership(fd, old) : 0;
	if (code != 0)
		close(fd);
	else
		code = write_and_close(fd, data, length);
	if (code == 0 && g_rename(temporary, path) != 0)
		code = errno;
	if (code == 0)
		return TRUE;
	g_unlink(temporary);
	return fail_errno(error, path, code);
}

gboolean pipesim_write_file(const char *path, const char *data, gsize length, GError **error)
{
	g_autofree char *resolved = NULL;
	struct stat old;

	if (strcmp(path, "-") == 0)
		return write_stdout(data, length, error);
	if (lstat(path, &old) != 0)
		return errno == ENOENT ? replace(path, NULL, data, length, error)
				       : fail_errno(error, path, errno);
	/* A link stays: what it points to is replaced. */
	if (S_ISLNK(old.st_mode)) {
		char *target = realpath(path, NULL);

		resolved = g_strdup(target);
		free(target);
	}
	if (stat(path, &old) != 0 || !S_ISREG(old.st_mode))
		return write_in_place(path, data, length, error);
	/* A rename would pass over the permissions of the file. */
	if (access(path, W_OK) != 0)
		return fail_errno(error, path, errno);
	return replace(resolved != NULL ? resolved : path, &old, data, length, error);
}
