#include "pairs-program.h"
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The program's own main(), which may end the process. */
int pipesim_main(int argc, char **argv);
#define main pipesim_main
#include "cli/main.c"

/* Of a processor, for a run; ten times as long by the clock, as others may load the machine. */
#define SECONDS 20
#define MEMORY  (2 * G_GUINT64_CONSTANT(1) << 30)

void pairs_result_clear(PairsResult *result)
{
	g_clear_pointer(&result->out, g_free);
	g_clear_pointer(&result->err, g_free);
	if (result->files != NULL)
		g_string_free(result->files, TRUE);
	result->files = NULL;
}

static void limit_child(void)
{
	const struct rlimit memory = {MEMORY, MEMORY};
	const struct rlimit seconds = {SECONDS, SECONDS};

	/* Sanitizers reserve more address space than any limit leaves. */
	if (g_getenv("PIPESIM_SANITIZED") == NULL)
		setrlimit(RLIMIT_AS, &memory);
	setrlimit(RLIMIT_CPU, &seconds);
	alarm(10 * SECONDS);
}

static int by_name(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Takes away what the run left in @folder, whose links to inputs stay, into @files. Returns how much that is. */
static guint collect_folder(const char *folder, GString *files)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

	for (const char *name = g_dir_read_name(dir); name != NULL;
		name = g_dir_read_name(dir)) {
		char *path = g_build_filename(folder, name, NULL);

		if (g_file_test(path, G_FILE_TEST_IS_SYMLINK))
			g_free(path);
		else
			g_ptr_array_add(names, path);
	}
	g_dir_close(dir);
	g_ptr_array_sort(names, by_name);
	for (guint i = 0; i < names->len; i++) {
		const char *path = g_ptr_array_index(names, i);
		g_autofree char *text = NULL;
		gsize size = 0;

		g_string_append_printf(files, "%s\n", path);
		if (g_file_test(path, G_FILE_TEST_IS_DIR)) {
			collect_folder(path, files);
			g_rmdir(path);
			continue;
		}
		if (g_file_get_contents(path, &text, &size, NULL))
			g_string_append_len(files, text, (gssize)size);
		g_unlink(path);
	}
	return names->len;
}

static void collect(const char *folder, PairsResult *result)
{
	result->files = g_string_new(NULL);
	result->left = collect_folder(folder, result->files) > 0;
}

/* What was written to @file, which is closed. */
static char *take_text(int file)
{
	const off_t size = lseek(file, 0, SEEK_END);
	char *text = g_malloc((gsize)size + 1);

	if (pread(file, text, (gsize)size, 0) != size)
		g_error("cannot read what was printed");
	text[size] = '\0';
	close(file);
	return text;
}

void pairs_run(char **argv, const char *folder, PairsResult *result)
{
	const int out = memfd_create("out", MFD_CLOEXEC),
		  err = memfd_create("err", MFD_CLOEXEC);
	const pid_t child = fork();

	if (child == 0) {
		const int null = open("/dev/null", O_RDONLY);

		if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 ||
			chdir(folder) != 0)
			_exit(98);
		limit_child();
		exit(pipesim_main((int)g_strv_length(argv), argv));
	}
	if (out < 0 || err < 0 || child < 0 || waitpid(child, &result->status, 0) != child)
		g_error("cannot run %s", argv[1]);
	result->out = take_text(out);
	result->err = take_text(err);
	collect(folder, result);
}
