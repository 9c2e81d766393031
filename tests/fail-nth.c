/* Loaded before pipesim by tests/injection.sh: the Nth call of a kind fails, as FAIL=KIND:N asks.
 *   memory: g_try_malloc() and the like: what has a size that users choose; g_malloc() ends the program by design
 *   write:  open for writing, write, flush, sync, close, rename, of all but standard error
 * FAIL_SAID names a file: what stands in it at the end is how many calls there were, up to the one that failed. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *asked, *said;
static long calls, wanted;
static int ended;

/* What pipesim starts, gnuplot for one, is left alone. */
static void __attribute__((constructor)) begin(void)
{
	asked = getenv("FAIL");
	said = getenv("FAIL_SAID");
	wanted = asked != NULL && strchr(asked, ':') != NULL ? atol(strchr(asked, ':') + 1) : 0;
	unsetenv("LD_PRELOAD");
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void say(void)
{
	char text[32];
	int fd = said != NULL ? NEXT(open)(said, O_WRONLY | O_CREAT | O_TRUNC, 0666) : -1;

	ended = 1;
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%ld\n", calls);
	(void)!NEXT(write)(fd, text, strlen(text));
	NEXT(close)(fd);
}

/* Whether this call of @kind is the one. What runs at the very end, gcov for one, is not of the program. */
static int fails(const char *kind)
{
	int now;

	if (asked == NULL || *asked != *kind)
		return 0;
	pthread_mutex_lock(&lock);
	if (calls == 0)
		atexit(say);
	now = !ended && ++calls == wanted;
	if (now) {
		say();
		errno = *kind == 'w' ? ENOSPC : ENOMEM;
	}
	pthread_mutex_unlock(&lock);
	return now;
}

#define MEMORY(name, parameters, ...)                                    \
	void *name parameters;                                           \
	void *name parameters                                            \
	{                                                                \
		return fails("memory") ? NULL : NEXT(name)(__VA_ARGS__); \
	}

MEMORY(g_try_malloc, (size_t n), n)
MEMORY(g_try_malloc0, (size_t n), n)
MEMORY(g_try_malloc_n, (size_t n, size_t size), n, size)
MEMORY(g_try_malloc0_n, (size_t n, size_t size), n, size)
MEMORY(g_try_realloc, (void *old, size_t n), old, n)
MEMORY(g_try_realloc_n, (void *old, size_t n, size_t size), old, n, size)

/* A handle that is to be closed is closed, whatever that says. */
int close(int fd)
{
	const int result = NEXT(close)(fd);

	return fails("write") ? -1 : result;
}

int fclose(FILE *stream)
{
	const int result = NEXT(fclose)(stream);

	return fails("write") ? EOF : result;
}

int fflush(FILE *stream)
{
	return stream != stderr && fails("write") ? EOF : NEXT(fflush)(stream);
}

int fsync(int fd)
{
	return fails("write") ? -1 : NEXT(fsync)(fd);
}

ssize_t write(int fd, const void *data, size_t n)
{
	return fd != STDERR_FILENO && fails("write") ? -1 : NEXT(write)(fd, data, n);
}

size_t fwrite(const void *data, size_t size, size_t n, FILE *stream)
{
	return stream != stderr && fails("write") ? 0 : NEXT(fwrite)(data, size, n, stream);
}

int rename(const char *from, const char *to)
{
	return fails("write") ? -1 : NEXT(rename)(from, to);
}

int mkdir(const char *path, mode_t mode)
{
	return fails("write") ? -1 : NEXT(mkdir)(path, mode);
}

FILE *fopen(const char *path, const char *mode)
{
	return *mode != 'r' && fails("write") ? NULL : NEXT(fopen)(path, mode);
}

/* g_open() and g_mkstemp() of GLib call their own; these are what pipesim calls. */
int g_open(const char *path, int flags, int mode);
int g_open(const char *path, int flags, int mode)
{
	return (flags & O_ACCMODE) != O_RDONLY && fails("write")
		       ? -1
		       : NEXT(g_open)(path, flags, mode);
}

int g_mkstemp_full(char *template, int flags, int mode);
int g_mkstemp_full(char *template, int flags, int mode)
{
	return fails("write") ? -1 : NEXT(g_mkstemp_full)(template, flags, mode);
}
