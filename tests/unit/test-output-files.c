#include "grid.h"
#include "output/gnuplot.h"
#include "output/output.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder;

static void make_folder(void)
{
	folder = g_dir_make_tmp("pipesim-XXXXXX", NULL);
	ck_assert_ptr_nonnull(folder);
}

static void remove_folder(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		ck_assert_int_eq(g_unlink(path), 0);
	}
	ck_assert_int_eq(g_rmdir(folder), 0);
	g_free(folder);
}

static char *in_folder(const char *name)
{
	return g_build_filename(folder, name, NULL);
}

static guint files_in_folder(void)
{
	g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
	guint n = 0;

	while (g_dir_read_name(dir) != NULL)
		n++;
	return n;
}

static void assert_holds(const char *path, const char *expected)
{
	g_autofree char *text = NULL;

	ck_assert(g_file_get_contents(path, &text, NULL, NULL));
	ck_assert_str_eq(text, expected);
}

static gboolean write_text(const char *path, const char *text, GError **error)
{
	return pipesim_write_file(path, text, strlen(text), error);
}

START_TEST(new_file)
{
	g_autofree char *path = in_folder("a");
	mode_t mask = umask(027);
	struct stat info;

	ck_assert(write_text(path, "one\n", NULL));
	umask(mask);
	assert_holds(path, "one\n");
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0640);
	ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(permissions_stay)
{
	g_autofree char *path = in_folder("a");
	struct stat info;

	ck_assert(write_text(path, "one\n", NULL));
	ck_assert_int_eq(g_chmod(path, 0604), 0);
	ck_assert(write_text(path, "two\n", NULL));
	assert_holds(path, "two\n");
	ck_assert_int_eq(stat(path, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0604);
}
END_TEST

START_TEST(link_stays)
{
	g_autofree char *path = in_folder("a"), *link = in_folder("link");
	struct stat info;

	ck_assert(write_text(path, "one\n", NULL));
	ck_assert_int_eq(symlink("a", link), 0);
	ck_assert(write_text(link, "two\n", NULL));
	assert_holds(path, "two\n");
	ck_assert_int_eq(lstat(link, &info), 0);
	ck_assert(S_ISLNK(info.st_mode));
}
END_TEST

START_TEST(full_device)
{
	g_autoptr(GError) error = NULL;

	if (access("/dev/full", W_OK) != 0)
		return;
	ck_assert(!write_text("/dev/full", "one\n", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_WRITE));
	ck_assert_ptr_nonnull(strstr(error->message, "/dev/full: "));
	ck_assert(write_text("/dev/null", "one\n", NULL));
}
END_TEST

/* A limit on the size of files stands for a full disk: what was there stays, whole. */
START_TEST(full_disk)
{
	g_autofree char *path = in_folder("a"), *large = g_strnfill(100000, 'x');
	g_autoptr(GError) error = NULL;
	struct rlimit limit, small;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	gboolean written;

	ck_assert(write_text(path, "one\n", NULL));
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
	small = limit;
	small.rlim_cur = 4096;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
	written = write_text(path, large, &error);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	signal(SIGXFSZ, handler);
	ck_assert(!written);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_WRITE));
	assert_holds(path, "one\n");
	ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(no_such_folder)
{
	g_autofree char *path = in_folder("none/a");
	g_autoptr(GError) error = NULL;

	ck_assert(!write_text(path, "one\n", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_WRITE));
	g_clear_error(&error);
	ck_assert(!write_text(folder, "one\n", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_WRITE));
}
END_TEST

/* Pictures --------------------------------------------------------------------------------- */

static const PipesimStyle style = {.unicode = TRUE, .width = 100};

static gboolean draw(const char *name, const char *gnuplot, GError **error)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	const PipesimScenario scenario = {.ranks = 2, .microbatches = 4};
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autofree char *path = in_folder(name);

	comparison->command = g_strdup("pipesim\nsystem('false')");
	g_ptr_array_add(
		comparison->runs, pipesim_run_schedule(pipesim_schedule_find("dualpipe", NULL),
					  &scenario, costs));
	pipesim_comparison_finish(comparison);
	return pipesim_picture_write(
		comparison, path, &style, &(PipesimView){0}, gnuplot, error);
}

START_TEST(picture_formats)
{
	g_autoptr(GError) error = NULL;

	ck_assert(!draw("a.jpeg", "gnuplot", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_ptr_nonnull(strstr(error->message, ".svg, .png, .pdf or .txt"));
	ck_assert_uint_eq(files_in_folder(), 0);
	ck_assert(draw("a.txt", "/nonexistent/gnuplot", NULL));
	ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

/* Script and data stay, and so does the picture of before. */
START_TEST(gnuplot_fails)
{
	static const char *const programs[] = {"/nonexistent/gnuplot", "false", "true"};
	g_autofree char *picture = in_folder("a.svg");
	g_autoptr(GError) error = NULL;

	ck_assert(write_text(picture, "before\n", NULL));
	ck_assert(!draw("a.svg", programs[_i], &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_EXTERNAL));
	ck_assert_ptr_nonnull(strstr(error->message, "a.gp"));
	assert_holds(picture, "before\n");
	ck_assert_uint_eq(files_in_folder(), 3);
}
END_TEST

START_TEST(gnuplot_draws)
{
	static const char *const names[] = {"a.svg", "b.png", "c.pdf", "it's | <odd>.svg",
		"|pipe.svg", "-e.svg", "`touch d`.png", "$block.svg"};
	g_autofree char *gnuplot = g_find_program_in_path("gnuplot");
	g_autofree char *path = in_folder(names[_i]);
	g_autofree char *once = NULL, *twice = NULL;
	g_autoptr(GError) error = NULL;
	gsize length, again;

	if (gnuplot == NULL)
		return;
	ck_assert_msg(
		draw(names[_i], "gnuplot", &error), "%s", error != NULL ? error->message : "");
	ck_assert(g_file_get_contents(path, &once, &length, NULL));
	ck_assert_uint_eq(files_in_folder(), 1);
	pipesim_gnuplot_keep(TRUE);
	ck_assert(draw(names[_i], "gnuplot", NULL));
	pipesim_gnuplot_keep(FALSE);
	ck_assert_uint_eq(files_in_folder(), 3);
	ck_assert(g_file_get_contents(path, &twice, &again, NULL));
	/* A PDF holds the time at which it was made. */
	if (!g_str_has_suffix(names[_i], ".pdf")) {
		ck_assert_uint_eq(length, again);
		ck_assert_mem_eq(once, twice, length);
	}
}
END_TEST

static guint64 take_varint(const guint8 **at)
{
	guint64 value = 0;
	guint shift = 0;

	do
		value |= (guint64)(**at & 0x7f) << shift;
	while (shift += 7, *(*at)++ & 0x80);
	return value;
}

/* Each node has a number of its own and waits for nodes before it in the file, all but the first for one at least that is an op
 * or what it receives. */
START_TEST(nodes_wait_for_those_before)
{
	const PipesimScenario scenario = {
		.ranks = 2, .microbatches = 2, .keep = PIPESIM_KEEP_OPS};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimComparison) comparison = pipesim_comparison_new(&scenario, costs);
	g_autofree char *path = in_folder("x" PIPESIM_CHAKRA);
	static const char *const names[] = {"x.0.et", "x.1.et"};

	g_ptr_array_add(comparison->runs,
		pipesim_run_schedule(pipesim_schedule_find("zb-v", NULL), &scenario, costs));
	ck_assert(pipesim_chakra_write(comparison, path, NULL));
	for (guint rank = 0; rank < 2; rank++) {
		g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
		g_autofree char *name = in_folder(names[rank]), *text = NULL;
		const guint8 *at;
		gsize length;
		guint waits = 0;

		ck_assert(g_file_get_contents(name, &text, &length, NULL));
		at = (const guint8 *)text + 8; /* the version */
		while (at < (const guint8 *)text + length) {
			const guint64 n = take_varint(&at);
			const guint8 *end = at + n;

			while (at < end) {
				const guint64 key = take_varint(&at), value = take_varint(&at);

				if (key == 1 << 3)
					ck_assert(g_hash_table_add(
						seen, GSIZE_TO_POINTER(value)));
				else if (key == 5 << 3)
					ck_assert(g_hash_table_contains(
						seen, GSIZE_TO_POINTER(value)));
				waits += key == 5 << 3;
				at += key % 8 == 2 ? value : 0;
			}
		}
		/* 12 ops of each rank, and four messages there and back */
		ck_assert_uint_gt(g_hash_table_size(seen), 12);
		ck_assert_uint_ge(waits, g_hash_table_size(seen) - 5);
	}
}
END_TEST

Suite *output_files_suite(void)
{
	Suite *suite = suite_create("output-files");
	TCase *files = tcase_create("files");
	TCase *pictures = tcase_create("pictures");

	tcase_add_checked_fixture(files, make_folder, remove_folder);
	tcase_add_test(files, new_file);
	tcase_add_test(files, permissions_stay);
	tcase_add_test(files, link_stays);
	tcase_add_test(files, full_device);
	tcase_add_test(files, full_disk);
	tcase_add_test(files, no_such_folder);
	tcase_add_checked_fixture(pictures, make_folder, remove_folder);
	tcase_add_test(pictures, picture_formats);
	tcase_add_test(pictures, nodes_wait_for_those_before);
	tcase_add_loop_test(pictures, gnuplot_fails, 0, 3);
	tcase_add_loop_test(pictures, gnuplot_draws, 0, 8);
	tcase_set_timeout(pictures, 60);
	suite_add_tcase(suite, files);
	suite_add_tcase(suite, pictures);
	return suite;
}
