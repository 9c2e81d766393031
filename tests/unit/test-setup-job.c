/* Job files: what they say, what overrides what, and that what is written says the same. */
#include "setup/job-file.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <string.h>

static char *folder; /* of the files of a test */

static void begin(void)
{
	folder = g_dir_make_tmp("job-XXXXXX", NULL);
	ck_assert_ptr_nonnull(folder);
}

static void end(void)
{
	GDir *dir = g_dir_open(folder, 0, NULL);
	const char *name;

	while ((name = g_dir_read_name(dir)) != NULL) {
		g_autofree char *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	g_dir_close(dir);
	g_rmdir(folder);
	g_free(folder);
}

static PipesimJobFile *parse(const char *text, GError **error)
{
	return pipesim_job_file_parse(text, strlen(text), "job.ini", error);
}

static PipesimJobFile *read_files(const char *job, const char *base, GError **error)
{
	g_autofree char *path = g_build_filename(folder, "job.ini", NULL);
	g_autofree char *other = g_build_filename(folder, "base.ini", NULL);

	ck_assert(g_file_set_contents(path, job, -1, NULL));
	ck_assert(g_file_set_contents(other, base, -1, NULL));
	return pipesim_job_file_read(path, error);
}

START_TEST(options_stand_in_any_group)
{
	g_autoptr(PipesimJobFile) job =
		parse("# a comment\n[job]\ncommand = plan\npp = 8\n"
		      "[times]\nF = 24 ms\nB=47\nmicrobatches = 4\n"
		      "[model]\nchannels = edge\nsequence-parallel = Yes\n"
		      "[times]\ntrace = a\ntrace = b\n",
			NULL);

	ck_assert_ptr_nonnull(job);
	ck_assert_str_eq(job->command, "plan");
	ck_assert_str_eq(job->text[PIPESIM_SET_PP], "8");
	ck_assert_str_eq(job->text[PIPESIM_SET_TIMES], "F=24ms,B=47");
	ck_assert_str_eq(job->text[PIPESIM_SET_COMMUNICATORS], "edge");
	ck_assert_str_eq(job->list[PIPESIM_SET_TRACE][1], "b");
	ck_assert_int_eq((int)g_strv_length(job->list[PIPESIM_SET_TRACE]), 2);
	ck_assert(job->flag[PIPESIM_SET_SEQUENCE_PARALLEL]);
	ck_assert_int_eq(job->at[PIPESIM_SET_PP].line, 4);
	ck_assert_int_eq(job->at[PIPESIM_SET_PP].column, 6);
}
END_TEST

/* A text, and what is said of it. */
static const struct {
	const char *text, *message;
} faults[] = {
	{"pp = 8\n", "job.ini:1:1: 'pp' comes before [job]; is this a job file?"},
	{"[job]\npq = 8\n", "job.ini:2:1: no option 'pq'; did you mean 'pp'?"},
	{"[job]\n--pp = 8\n", "job.ini:2:1: no option '--pp'"},
	{"[jobs]\n", "job.ini:1:1: no such group as [jobs]; [job], [shape], "},
	{"[job]\npp = 8\n[shape]\npp = 9\n",
		"job.ini:4:1: 'pp' is given twice, first in line 2"},
	{"[job]\ncomm = async\nruntime = native\n", "job.ini:3:1: 'runtime' is given twice"},
	{"[job]\noverlap-fb = maybe\n", "job.ini:2:14: overlap-fb: 'maybe'; yes or no"},
	{"[times]\nF = 1\nF = 2\n", "job.ini:3:1: 'F' is given twice, first in line 2"},
	{"[times]\ntimes = F=1\nB = 2\n", "job.ini:3:1: line 2 gives times whole"},
	{"[times]\nB = 2\ntimes = F=1\n", "job.ini:3:1: line 2 gives a part of times"},
	{"[job]\nF = 2\n", "job.ini:2:1: no option 'F'"},
	{"[job]\ninclude = x.ini\n", "job.ini:2:1: nothing can be included here"},
	{"[job]\nwrite-job = x\n", "job.ini:2:1: 'write-job' is for command lines; remove it"},
	{"[job]\ntitle = \\q\n", "job.ini:2:9: a backslash stands for"},
	{"[job]\nnothing\n", "job.ini:2:1: 'nothing' is neither [group] nor key = value"},
};

START_TEST(faults_have_their_place)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimJobFile) job = parse(faults[_i].text, &error);

	ck_assert_ptr_null(job);
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(
		g_str_has_prefix(error->message, faults[_i].message), "%s", error->message);
}
END_TEST

START_TEST(what_includes_overrides)
{
	g_autofree char *trace = g_build_filename(folder, "c.csv", NULL), *there = NULL;
	g_autoptr(PipesimJobFile) job = read_files(
		"[job]\nmicrobatches = 9\nsequence-parallel = no\n[times]\nB = 50\n[job]\n"
		"include = base.ini\ntrace = c.csv\n",
		"[job]\npp = 4\nmicrobatches = 8\nsequence-parallel = yes\ntrace = a\ntrace = "
		"b\n"
		"[times]\nF = 24\nB = 47\n",
		NULL);

	ck_assert_ptr_nonnull(job);
	ck_assert_str_eq(job->text[PIPESIM_SET_PP], "4");
	ck_assert_str_eq(job->text[PIPESIM_SET_MICROBATCHES], "9");
	ck_assert_str_eq(job->text[PIPESIM_SET_TIMES], "F=24,B=50");
	ck_assert(!job->flag[PIPESIM_SET_SEQUENCE_PARALLEL]);
	ck_assert_int_eq((int)g_strv_length(job->list[PIPESIM_SET_TRACE]), 1);
	/* From the folder of the job, wherever that is. */
	there = g_canonicalize_filename(job->list[PIPESIM_SET_TRACE][0], NULL);
	ck_assert_str_eq(there, trace);
	ck_assert(g_str_has_suffix(job->at[PIPESIM_SET_PP].path, "base.ini"));
}
END_TEST

START_TEST(files_do_not_include_themselves)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimJobFile) job = read_files(
		"[job]\ninclude = base.ini\n", "[job]\ninclude = ./job.ini\n", &error);

	ck_assert_ptr_null(job);
	ck_assert_ptr_nonnull(
		strstr(error->message, "base.ini:2:11: './job.ini' includes itself"));
}
END_TEST

START_TEST(included_faults_are_told)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimJobFile) job =
		read_files("[job]\ninclude = base.ini\n", "[job]\nqq = 4\n", &error);

	ck_assert_ptr_null(job);
	ck_assert_ptr_nonnull(strstr(error->message, "job.ini:2:11: "));
	ck_assert_ptr_nonnull(strstr(error->message, "base.ini:2:1: no option 'qq'"));
}
END_TEST

START_TEST(command_lines_override)
{
	g_autoptr(PipesimJobFile) job =
		parse("[job]\npp = 8\nmicrobatches = 4\ntrace = a\noperand = x.csv\n", NULL);
	g_auto(PipesimSetup) setup = {0};
	g_autoptr(GError) error = NULL;

	setup.text[PIPESIM_SET_PP] = g_strdup("2");
	pipesim_job_file_apply(job, &setup, PIPESIM_PATH_READ);
	ck_assert_str_eq(setup.text[PIPESIM_SET_PP], "2");
	ck_assert_str_eq(setup.text[PIPESIM_SET_MICROBATCHES], "4");
	ck_assert_str_eq(setup.list[PIPESIM_SET_TRACE][0], "a");
	ck_assert_str_eq(setup.operands[0], "x.csv");
	/* Faults are where the job has them, not where it was overridden. */
	pipesim_fail(&error, PIPESIM_ERROR_USAGE, "--pp: '2' is too small");
	pipesim_job_file_locate(job, &setup, error);
	ck_assert_str_eq(error->message, "--pp: '2' is too small");
	g_clear_error(&error);
	pipesim_fail(&error, PIPESIM_ERROR_USAGE, "--microbatches: '4' is too small");
	pipesim_job_file_locate(job, &setup, error);
	ck_assert_str_eq(error->message, "job.ini:3:16: --microbatches: '4' is too small");
	g_clear_error(&error);
	pipesim_fail(&error, PIPESIM_ERROR_USAGE, "--microbatch-size: too small");
	pipesim_job_file_locate(job, &setup, error);
	ck_assert_str_eq(error->message, "--microbatch-size: too small");
}
END_TEST

/* Every option, written and read again, says the same: here, and from a folder of another place. */
START_TEST(what_is_written_says_the_same)
{
	const PipesimSettingId id = (PipesimSettingId)_i;
	const PipesimSetting *setting = &pipesim_settings[id];
	const char *value = id == PIPESIM_SET_TIMES              ? "F=1.5ms,B=2/3,P2P=0.1"
			    : setting->path != PIPESIM_PATH_NONE ? "sub/file 1.csv"
								 : " a \\ b, #c; ";
	g_autofree char *path =
		_i % 2 != 0 ? g_strdup("job.ini") : g_build_filename(folder, "job.ini", NULL);
	g_auto(PipesimSetup) setup = {0}, again = {0};
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(PipesimJobFile) job = NULL;
	g_autoptr(GError) error = NULL;

	if (setting->everywhere)
		return;
	if (setting->argument == NULL)
		setup.flag[id] = TRUE;
	else if (setting->repeated)
		setup.list[id] = g_strsplit("b c|a", "|", -1);
	else
		setup.text[id] = g_strdup(value);
	ck_assert(
		pipesim_job_file_print(&setup, "compare", PIPESIM_PATH_NONE, path, text, NULL));
	if (_i % 2 != 0) {
		job = parse(text->str, &error);
	} else {
		ck_assert(g_file_set_contents(path, text->str, -1, NULL));
		job = pipesim_job_file_read(path, &error);
	}
	ck_assert_msg(job != NULL, "%s", error != NULL ? error->message : "");
	pipesim_job_file_apply(job, &again, PIPESIM_PATH_NONE);
	ck_assert_int_eq(again.flag[id], setup.flag[id]);
	ck_assert_pstr_eq(again.text[id], setup.text[id]);
	if (setting->repeated)
		ck_assert(g_strv_equal((const char *const *)again.list[id],
			(const char *const *)setup.list[id]));
}
END_TEST

Suite *setup_job_suite(void)
{
	Suite *suite = suite_create("setup-job");
	TCase *cases = tcase_create("setup-job");

	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_test(cases, options_stand_in_any_group);
	tcase_add_loop_test(cases, faults_have_their_place, 0, G_N_ELEMENTS(faults));
	tcase_add_test(cases, what_includes_overrides);
	tcase_add_test(cases, files_do_not_include_themselves);
	tcase_add_test(cases, included_faults_are_told);
	tcase_add_test(cases, command_lines_override);
	tcase_add_loop_test(cases, what_is_written_says_the_same, 1, PIPESIM_N_SETTINGS);
	suite_add_tcase(suite, cases);
	return suite;
}
