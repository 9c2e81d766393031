/* The table of settings, and what a command line asks for. */
#include "base/input.h"
#include "base/sink.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"
#include "setup/setup.h"
#include "suites.h"
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

START_TEST(table_is_sound)
{
	const PipesimSetting *setting = &pipesim_settings[_i];
	guint asked = 0;

	ck_assert(g_str_has_prefix(setting->name, "--"));
	ck_assert_msg(strlen(setting->help) <= 100 && strchr(setting->help, '\n') == NULL,
		"%s: help of %zu characters", setting->name, strlen(setting->help));
	ck_assert_int_ge(setting->group, PIPESIM_NO_GROUP);
	/* Schedules are called by the row, runtimes by their own table: one of both knows who uses it. */
	for (const PipesimRuntime *const *runtime = pipesim_runtime_list(); *runtime != NULL;
		runtime++)
		asked |= (*runtime)->takes & setting->users;
	ck_assert((setting->users != 0) == (setting->users_called != NULL || asked != 0));
	ck_assert(setting->users_called == NULL || asked == 0);
	/* What schedules use is explained with them. */
	ck_assert((setting->group == PIPESIM_ALL_SHAPE && setting->users != 0) ==
		  (setting->brief != NULL));
	/* What has a place is read, and no flag is. */
	ck_assert((setting->read != NULL) ==
		  (setting->into != PIPESIM_INTO_TEXT && setting->argument != NULL));
	ck_assert_int_lt(setting->topic, PIPESIM_N_TOPICS);
	/* Both names find it, with dashes or without, and no other one. */
	ck_assert_int_eq(pipesim_setting_find(setting->name), _i);
	ck_assert_int_eq(pipesim_setting_find(setting->name + 2), _i);
	if (setting->old_name != NULL)
		ck_assert_int_eq(pipesim_setting_find(setting->old_name), _i);
	for (int id = 1; id < _i; id++) {
		ck_assert(
			setting->letter == 0 || pipesim_settings[id].letter != setting->letter);
	}
}
END_TEST

/* What a row says by its type alone must hold: every swept text is read at every point. */
START_TEST(swept_settings_are_read)
{
	const PipesimSetting *setting = &pipesim_settings[_i];

	if (setting->sweep != PIPESIM_NOT_SWEPT)
		ck_assert_msg(
			setting->read != NULL, "%s is swept, but not read", setting->name);
}
END_TEST

static void set(PipesimSetup *setup, PipesimSettingId id, const char *text)
{
	setup->text[id] = g_strdup(text);
}

START_TEST(texts_are_read)
{
	g_auto(PipesimSetup) setup = {0};
	g_autoptr(GError) error = NULL;

	set(&setup, PIPESIM_SET_PP, "010");
	set(&setup, PIPESIM_SET_MICROBATCHES, "20");
	set(&setup, PIPESIM_SET_COMPARE_AT, "stages");
	set(&setup, PIPESIM_SET_TIMES, "F=2,I=1,W=1,P2P=0.5");
	set(&setup, PIPESIM_SET_ACTIVATION_BYTES, "1MB+2MB");
	set(&setup, PIPESIM_SET_MEMORY_LIMIT, "1GB");
	ck_assert(pipesim_setup_read(&setup, &error));
	ck_assert(pipesim_setup_require(&setup, &error));
	ck_assert(pipesim_setup_costs(&setup, NULL, &error));
	ck_assert_uint_eq(setup.scenario.ranks, 10);
	ck_assert_uint_eq(setup.scenario.microbatches, 20);
	ck_assert_int_eq(setup.scenario.compare_at, PIPESIM_AT_STAGES);
	ck_assert_int_eq(setup.scenario.memory_limit, 1000000000);
	ck_assert_int_eq(setup.costs->time[PIPESIM_F], 2000000);
	ck_assert_int_eq(setup.costs->p2p, 500000);
	ck_assert_int_eq(setup.costs->bytes_until_input, 1000000);
	ck_assert_int_eq(setup.costs->bytes_until_weight, 2000000);
	ck_assert_str_eq(setup.costs->source, "--times F=2,I=1,W=1,P2P=0.5");
}
END_TEST

/* A setting, a text that is refused (with a second setting, where it is the two together), and what
 * the message begins with. */
static const struct {
	PipesimSettingId id;
	const char *text;
	PipesimSettingId with;
	const char *with_text, *message;
} refused[] = {
	{PIPESIM_SET_PP, "0", 0, NULL, "--pp: "},
	{PIPESIM_SET_CHUNKS, "255", 0, NULL, "--chunks: "},
	{PIPESIM_SET_MAX_ACTIVATIONS, "0", 0, NULL, "--max-activations: 0 allows"},
	{PIPESIM_SET_COMPARE_AT, "x", 0, NULL, "--compare-at: 'x'; ranks or stages"},
	{PIPESIM_SET_RUNTIME, "x", 0, NULL, "--runtime: 'x' is not a runtime"},
	{PIPESIM_SET_SEED, "1", 0, NULL, "--seed is for steps drawn"},
	{PIPESIM_SET_JITTER, "0.4", PIPESIM_SET_SAMPLES, "1", "--jitter: '0.4'; a relative"},
	{PIPESIM_SET_SAMPLES, "1", 0, NULL, "no distribution of times"},
	{PIPESIM_SET_MEMORY_LIMIT, "0", 0, NULL, "--memory-limit: nothing fits"},
	{PIPESIM_SET_MEMORY_LIMIT, "1", 0, NULL, "--memory-limit needs bytes"},
	{PIPESIM_SET_LAYERS, "2", PIPESIM_SET_COSTS, "x.ini", "--layers: a costs file"},
	{PIPESIM_SET_SPLIT, "x", 0, NULL, "--split: 'x'; even or layers"},
	{PIPESIM_SET_SPLIT, "layers", 0, NULL, "--split layers needs to know"},
	{PIPESIM_SET_TIMES, "X=1", 0, NULL, "--times: unknown time 'X'"},
	{PIPESIM_SET_STAGE_SCALE, "9=1", PIPESIM_SET_PP, "4", "--stage-scale: "},
	{PIPESIM_SET_SLOW_RANK, "9=1", PIPESIM_SET_PP, "4", "--slow-rank: "},
	{PIPESIM_SET_STAGE_TIMES, "x.csv", PIPESIM_SET_STAGE_SCALE, "0=1",
		"--stage-times and --stage-scale"},
	{PIPESIM_SET_INTERFERENCE, "0.5", PIPESIM_SET_LINK_LATENCY, "1",
		"--interference: '0.5' is out of range"},
	{PIPESIM_SET_INTERFERENCE, "2", 0, NULL, "--interference needs links"},
	{PIPESIM_SET_MESSAGE_BYTES, "2", 0, NULL, "--message-bytes needs links"},
	{PIPESIM_SET_LINK_BANDWIDTH, "1GB/s", 0, NULL, "a bandwidth needs the size"},
	{PIPESIM_SET_TOPOLOGY, "x.ini", PIPESIM_SET_LINK_LATENCY, "1",
		"--topology has latency"},
	{PIPESIM_SET_LINK_LATENCY, "1", PIPESIM_SET_TIMES, "P2P=1",
		"--times P2P and the links'"},
};

START_TEST(texts_are_refused)
{
	g_auto(PipesimSetup) setup = {0};
	g_autoptr(GError) error = NULL;

	set(&setup, refused[_i].id, refused[_i].text);
	if (refused[_i].with != PIPESIM_SET_NONE)
		set(&setup, refused[_i].with, refused[_i].with_text);
	ck_assert(!pipesim_setup_read(&setup, &error) ||
		  !pipesim_setup_costs(&setup, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_msg(g_str_has_prefix(error->message, refused[_i].message), "%s instead of %s",
		error->message, refused[_i].message);
}
END_TEST

/* The last value of a range that is taken, and the first beyond it, which is not. */
static const struct {
	PipesimSettingId id;
	const char *last, *beyond;
} ranges[] = {
	{PIPESIM_SET_OFFLOAD_FRACTION, "1", "1.001"},
	{PIPESIM_SET_OFFLOAD_FRACTION, "0.001", "0"},
	{PIPESIM_SET_COPY_ENGINES, "2", "3"},
	{PIPESIM_SET_COPY_ENGINES, "1", "0"},
	{PIPESIM_SET_JITTER, "0.3", "0.301"},
	{PIPESIM_SET_JITTER, "30%", "30.1%"},
	{PIPESIM_SET_ROUTING, "1", "0.999"},
	{PIPESIM_SET_ROUTING, "1000", "1000.001"},
	{PIPESIM_SET_INTERFERENCE, "1", "0.999"},
	{PIPESIM_SET_INTERFERENCE, "1000", "1000.001"},
	{PIPESIM_SET_MFU, "1", "1.001"},
	{PIPESIM_SET_MFU, "100%", "100.1%"},
	{PIPESIM_SET_MFU, "0.001", "0.0009"},
	{PIPESIM_SET_TIME_FACTORS, "10,0.1", "10.1,0.1"},
	{PIPESIM_SET_TIME_FACTORS, "0.1,10", "0.1,10.1"},
	{PIPESIM_SET_TIME_FACTORS, "0.1,0.1", "0.09,0.1"},
	{PIPESIM_SET_TIME_FACTORS, "0.1,0.1", "0.1,0.09"},
	{PIPESIM_SET_WINDOW, "1:1.001", "1:1"},
	{PIPESIM_SET_RANKS, "3:3", "3:2"},
};

static gboolean is_read(const PipesimTarget *to, PipesimSettingId id, const char *text)
{
	return pipesim_settings[id].read(to, &pipesim_settings[id], text, NULL);
}

START_TEST(ranges_end_where_they_say)
{
	g_auto(PipesimSetup) setup = {0};
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimTraining training = {0};
	PipesimNetwork network = {0};
	const PipesimTarget to = {&setup, &training, costs, &network, 8};

	for (guint i = 0; i < G_N_ELEMENTS(ranges); i++) {
		ck_assert_msg(is_read(&to, ranges[i].id, ranges[i].last), "%u: %s", i,
			ranges[i].last);
		ck_assert_msg(!is_read(&to, ranges[i].id, ranges[i].beyond), "%u: %s", i,
			ranges[i].beyond);
	}
	for (guint id = 1; id < PIPESIM_N_SETTINGS; id++) {
		const PipesimSetting *setting = &pipesim_settings[id];
		g_autofree char *last = g_strdup_printf("%" G_GUINT64_FORMAT, setting->most);
		g_autofree char *beyond =
			setting->most == G_MAXUINT64
				? g_strdup("18446744073709551616")
				: g_strdup_printf("%" G_GUINT64_FORMAT, setting->most + 1);
		const gboolean from_zero = id == PIPESIM_SET_SEED || id == PIPESIM_SET_MOVES ||
					   id == PIPESIM_SET_STEP;

		if (setting->most == 0)
			continue;
		ck_assert_msg(is_read(&to, id, last), "%s %s", setting->name, last);
		ck_assert_msg(!is_read(&to, id, beyond), "%s %s", setting->name, beyond);
		ck_assert_msg(is_read(&to, id, "0") == from_zero, "%s 0", setting->name);
	}
}
END_TEST

START_TEST(heed_names_the_schedules)
{
	g_auto(PipesimSetup) setup = {0};
	g_autoptr(GError) error = NULL;

	set(&setup, PIPESIM_SET_GROUP, "4");
	ck_assert(pipesim_setup_check_used(&setup, PIPESIM_TAKES_GROUP, &error));
	ck_assert(!pipesim_setup_check_used(&setup, PIPESIM_TAKES_CHUNKS, &error));
	ck_assert_str_eq(
		error->message, "--group has no effect here; it is for interleaved schedules");
}
END_TEST

/* Two settings that name files (or one, and an operand), and whether both may be the same. */
static const struct {
	PipesimSettingId a, b;
	const char *a_text, *b_text;
	const char *message; /* NULL: they may */
} named[] = {
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_TIMELINE, "x.txt", "./x.txt",
		"--output and --timeline are the same file 'x.txt'; name each file once"},
	{PIPESIM_SET_COSTS, PIPESIM_SET_OUTPUT, "x.ini", "x.ini",
		"--output and --costs are the same file 'x.ini'; name each file once"},
	{PIPESIM_SET_SCHEDULE, PIPESIM_SET_OUTPUT, "1f1b, a/x.csv", "a/x.csv",
		"--output and --schedule are the same file 'a/x.csv'; name each file once"},
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_NONE, "x.csv", "x.csv",
		"--output and a trace are the same file 'x.csv'; name each file once"},
	{PIPESIM_SET_HEAT_MAP, PIPESIM_SET_LINES, "x.svg", "x.svg",
		"--heat-map and --lines are the same file 'x.svg'; name each file once"},
	{PIPESIM_SET_STAGE_TIMES, PIPESIM_SET_TIMELINE, "st.dat", "st.svg",
		"the .dat file of --timeline and --stage-times are the same file 'st.dat'; "
		"name each "
		"file once"},
	{PIPESIM_SET_TOPOLOGY, PIPESIM_SET_TIMELINE, "a/top.gp", "a/top.PNG",
		"the .gp file of --timeline and --topology are the same file 'a/top.gp'; name "
		"each "
		"file once"},
	{PIPESIM_SET_COSTS, PIPESIM_SET_TIMELINE, "x.rgb", "x.pdf",
		"the .rgb file of --timeline and --costs are the same file 'x.rgb'; name each "
		"file "
		"once"},
	{PIPESIM_SET_PICTURE, PIPESIM_SET_NONE, "tr.svg", "tr.dat",
		"the .dat file of --picture and a trace are the same file 'tr.dat'; name each "
		"file "
		"once"},
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_TIMELINE, "x.dat", "x.svg",
		"--output and the .dat file of --timeline are the same file 'x.dat'; name each "
		"file "
		"once"},
	{PIPESIM_SET_HEAT_MAP, PIPESIM_SET_LINES, "x.svg", "x.png",
		"the .gp file of --heat-map and the .gp file of --lines are the same file "
		"'x.gp'; "
		"name each file once"},
	{PIPESIM_SET_SCHEDULE, PIPESIM_SET_OUTPUT, "./x.csv.partial", "x.csv",
		"the .partial file of --output and --schedule are the same file "
		"'x.csv.partial'; "
		"name each file once"},
	{PIPESIM_SET_LAYOUT, PIPESIM_SET_OUTPUT, "x.json", "./x.json",
		"--output and --layout are the same file './x.json'; name each file once"},
	{PIPESIM_SET_MODEL, PIPESIM_SET_OUTPUT, "data/plan.json", "data",
		"the plan.json of --output and --model are the same file 'data/plan.json'; "
		"name each file once"},
	{PIPESIM_SET_MODEL, PIPESIM_SET_OUTPUT, "m", "data/models/m.ini",
		"--output and --model are the same file 'data/models/m.ini'; name each file "
		"once"},
	{PIPESIM_SET_MODEL, PIPESIM_SET_OUTPUT, "m", "m", NULL},
	{PIPESIM_SET_LAYOUT, PIPESIM_SET_OUTPUT, "EtL", "EtL", NULL},
	{PIPESIM_SET_SCHEDULE, PIPESIM_SET_OUTPUT, "./x.csv.partial", "x.csv", NULL},
	{PIPESIM_SET_TOPOLOGY, PIPESIM_SET_TIMELINE, "x.gp", "x.txt", NULL},
	{PIPESIM_SET_COSTS, PIPESIM_SET_TOPOLOGY, "x.ini", "x.ini", NULL},
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_TIMELINE, "-", "-", NULL},
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_TIMELINE, "/dev/null", "/dev/null", NULL},
	{PIPESIM_SET_OUTPUT, PIPESIM_SET_SCHEDULE, "1f1b", "1f1b", NULL},
};

START_TEST(paths_are_named_once)
{
	g_auto(PipesimSetup) setup = {0};
	char *operands[] = {(char *)named[_i].b_text, NULL};
	const gboolean by_rows =
		named[_i].message != NULL && strstr(named[_i].message, ".partial") != NULL;
	static const char *const folder[] = {"plan.json", NULL};
	g_autoptr(GError) error = NULL;
	gboolean ok;

	setup.data = "data";
	set(&setup, named[_i].a, named[_i].a_text);
	if (named[_i].b != PIPESIM_SET_NONE) {
		set(&setup, named[_i].b, named[_i].b_text);
	} else {
		setup.operands = operands;
		setup.n_operands = 1;
	}
	ok = pipesim_setup_check_paths(
		&setup, by_rows, folder, "a trace", PIPESIM_PATH_READ_ONCE, &error);
	ck_assert(ok == (named[_i].message == NULL));
	if (!ok)
		ck_assert_str_eq(error->message, named[_i].message);
}
END_TEST

/* Whatever a file that is read is called, and whatever asks for it: nothing is written over it. */
START_TEST(inputs_are_kept)
{
	g_autofree char *folder = g_dir_make_tmp(NULL, NULL);
	g_autofree char *input = g_build_filename(folder, "input", NULL);
	g_autofree char *other = g_build_filename(folder, "other", NULL);
	g_autofree char *hard = g_build_filename(folder, "hard", NULL);
	g_autofree char *soft = g_build_filename(folder, "soft", NULL);
	g_autofree char *dotted = g_build_filename(folder, ".", "input", NULL);
	const char *const names[] = {input, hard, soft, dotted};
	g_autoptr(GError) error = NULL;

	ck_assert(pipesim_write_file(input, "1", 1, &error));
	ck_assert(pipesim_write_file(input, "2", 1, &error)); /* nobody reads it yet */
	ck_assert_int_eq(link(input, hard) | symlink("input", soft), 0);
	pipesim_input_watch();
	pipesim_input_free(pipesim_input_open(input, &error));
	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree char *text = NULL;

		ck_assert(!pipesim_write_file(names[i], "3", 1, &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
		g_clear_error(&error);
		ck_assert(g_file_get_contents(names[i], &text, NULL, NULL));
		ck_assert_str_eq(text, "2");
	}
	ck_assert(pipesim_write_file(other, "4", 1, &error));
	ck_assert_int_eq(unlink(input) | unlink(hard) | unlink(soft) | unlink(other), 0);
	g_rmdir(folder);
}
END_TEST

Suite *setup_settings_suite(void)
{
	Suite *suite = suite_create("setup-settings");
	TCase *tcase = tcase_create("setup");

	tcase_add_loop_test(tcase, table_is_sound, 1, PIPESIM_N_SETTINGS);
	tcase_add_loop_test(tcase, swept_settings_are_read, 1, PIPESIM_N_SETTINGS);
	tcase_add_test(tcase, texts_are_read);
	tcase_add_loop_test(tcase, texts_are_refused, 0, G_N_ELEMENTS(refused));
	tcase_add_test(tcase, ranges_end_where_they_say);
	tcase_add_test(tcase, heed_names_the_schedules);
	tcase_add_loop_test(tcase, paths_are_named_once, 0, G_N_ELEMENTS(named));
	tcase_add_test(tcase, inputs_are_kept);
	suite_add_tcase(suite, tcase);
	return suite;
}
