/* How chips under a power limit slow down and recover, and how costs files say so. */
#include "model/costs-file.h"
#include "suites.h"

#include <math.h>
#include <string.h>

#define MS 1000000

static gint64 share(double x)
{
	return (gint64)(x * (double)PIPESIM_LOAD_ONE);
}

/* Against the exponential of the C library: 1e-9 of full load. */
START_TEST(means_are_exponential)
{
	static const gint64 constants[] = {
		1000, 4999999, 70 * MS, G_GINT64_CONSTANT(1000000000000)};
	g_autoptr(PipesimPower) power = pipesim_power_new();

	for (guint c = 0; c < G_N_ELEMENTS(constants); c++) {
		power->time_constant[0] = constants[c];
		for (double y = 1e-6; y < 60; y = y * 1.07 + 1e-4) {
			const gint64 dt = (gint64)(y * (double)constants[c]);
			const double left = exp(-(double)dt / (double)constants[c]);
			PipesimPowerState down = {{PIPESIM_LOAD_ONE}}, up = {{share(0.25)}};

			pipesim_power_advance(power, &down, dt, 0);
			pipesim_power_advance(power, &up, dt, 750000);
			ck_assert_int_le(
				ABS(down.mean[0] - share(left)), PIPESIM_LOAD_ONE / 1000000000);
			ck_assert_int_le(ABS(up.mean[0] - share(0.75 - 0.5 * left)),
				PIPESIM_LOAD_ONE / 1000000000);
		}
	}
}
END_TEST

START_TEST(means_stay_within_loads)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();
	PipesimPowerState state = {{0}};
	gint64 before = 0;

	for (guint i = 0; i < 2000; i++) {
		pipesim_power_advance(power, &state, MS, PIPESIM_PPM);
		ck_assert_int_ge(state.mean[0], before);
		ck_assert_int_le(state.mean[0], PIPESIM_LOAD_ONE);
		before = state.mean[0];
	}
	ck_assert_int_eq(state.mean[0], PIPESIM_LOAD_ONE);
	pipesim_power_advance(power, &state, 0, 0);
	ck_assert_int_eq(state.mean[0], PIPESIM_LOAD_ONE);
	pipesim_power_advance(power, &state, PIPESIM_MAX_END, 0);
	ck_assert_int_eq(state.mean[0], 0);
}
END_TEST

/* From the threshold up the time rises in proportion; below it stays. */
START_TEST(time_follows_load)
{
	static const struct {
		double x;
		gint64 took;
	} cases[] = {{0, 900}, {0.5, 900}, {0.6, 900}, {0.7, 925}, {0.8, 950}, {1, 1000}};
	g_autoptr(PipesimPower) power = pipesim_power_new();

	power->threshold = 600000;
	power->full_speed[PIPESIM_W] = 900000;
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const PipesimPowerState state = {{share(cases[i].x)}};

		ck_assert_int_eq(
			pipesim_power_duration(power, &state, PIPESIM_W, 1000), cases[i].took);
		ck_assert_int_eq(pipesim_power_duration(power, &state, PIPESIM_F, 1000), 1000);
		ck_assert_int_eq(
			pipesim_power_duration(power, &state, PIPESIM_F, PIPESIM_MAX_END),
			PIPESIM_MAX_END);
		ck_assert_int_eq(pipesim_power_duration(power, &state, PIPESIM_W, 0), 0);
	}
}
END_TEST

START_TEST(two_means_are_weighted)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();
	PipesimPowerState state = {{0}};

	power->n_constants = 2;
	power->time_constant[0] = 10 * MS;
	power->time_constant[1] = 300 * MS;
	power->weight[0] = 250000;
	power->weight[1] = 750000;
	pipesim_power_advance(power, &state, 30 * MS, PIPESIM_PPM);
	ck_assert_int_le(ABS(pipesim_power_load(power, &state) -
				 share(0.25 * (1 - exp(-3)) + 0.75 * (1 - exp(-0.1)))),
		2000);
}
END_TEST

/* 30 ms of work and 20 ms of idle time: from there the next cycle ends where it began. */
START_TEST(repeating_is_found)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();

	for (gint64 constant = MS; constant < 100000 * (gint64)MS; constant *= 3) {
		PipesimPowerState begin = {{0}}, end = {{0}};

		power->time_constant[0] = constant;
		pipesim_power_advance(power, &end, 30 * MS, PIPESIM_PPM);
		pipesim_power_advance(power, &end, 20 * MS, 0);
		begin = pipesim_power_repeat(power, &begin, &end, 50 * MS);
		end = begin;
		pipesim_power_advance(power, &end, 30 * MS, PIPESIM_PPM);
		pipesim_power_advance(power, &end, 20 * MS, 0);
		ck_assert_int_le(ABS(begin.mean[0] - end.mean[0]), 1000);
		begin.mean[0] = share(0.3);
		end = pipesim_power_repeat(power, &begin, &begin, 0);
		ck_assert_int_eq(end.mean[0], begin.mean[0]);
	}
}
END_TEST

#define HEAD  "[pipesim-costs]\nversion=1\n[times]\nF=1\nI=1\nW=1\n"
#define LOADS "load_ppm=1000000;900000;800000;850000;990000\n"
#define FULL  "full_speed_ppm=890000;900000;880000;890000;1000000\n"
#define POWER                                                                      \
	"[power]\ntime_constant_ns=20000000;300000000\nweight_ppm=400000;600000\n" \
	"threshold_ppm=700000\n" FULL LOADS "waiting_load_ppm=300000\n"
#define ONE_MEAN "[power]\ntime_constant_ns=70000000\nweight_ppm=1000000\n"

static PipesimCosts *read_text(const char *text, GError **error)
{
	return pipesim_costs_read_ini(
		pipesim_ini_parse(text, strlen(text), "x.ini", error), error);
}

START_TEST(files_say_it)
{
	static const char text[] = HEAD POWER
		"device=NVIDIA H200\nlimit_w=700\nexplained_ppm=930000\nresidual_ppm=4000\n"
		"[residence]\nslowdown_ppm=1190000;1200000;1210000;1205000;1000000\n"
		"moving_ppm=1010000;1010000;1020000;1010000;1000000\nsms=16\n"
		"[stage-bytes]\nuntil_input=5;6\nuntil_weight=0;9\nparameters=70;80\n";
	g_autoptr(PipesimCosts) costs = read_text(text, NULL), again = NULL, copy = NULL;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	ck_assert_ptr_nonnull(costs);
	pipesim_costs_write(costs, first);
	again = read_text(first->str, NULL);
	ck_assert_ptr_nonnull(again);
	copy = pipesim_costs_copy(again);
	g_clear_pointer(&again, pipesim_costs_free);
	pipesim_costs_write(copy, second);
	ck_assert_str_eq(first->str, second->str);
	ck_assert_uint_eq(copy->power->n_constants, 2);
	ck_assert_int_eq(copy->power->time_constant[1], 300 * MS);
	ck_assert_int_eq(copy->power->weight[0], 400000);
	ck_assert_int_eq(copy->power->load[PIPESIM_FB], 990000);
	ck_assert_int_eq(copy->power->full_speed[PIPESIM_W], 880000);
	ck_assert_int_eq(copy->power->limit, 700);
	ck_assert_int_eq(copy->power->explained, 930000);
	ck_assert_str_eq(copy->power->device, "NVIDIA H200");
	ck_assert_int_eq(copy->residence->slowdown[PIPESIM_I], 1200000);
	ck_assert_int_eq(copy->residence->moving[PIPESIM_W], 1020000);
	ck_assert_int_eq(copy->residence->sms, 16);
	ck_assert_uint_eq(copy->n_part_bytes, 2);
	ck_assert_int_eq(copy->part_bytes[PIPESIM_N_BYTES + PIPESIM_UNTIL_WEIGHT], 9);
	ck_assert_int_eq(copy->part_bytes[PIPESIM_PARAMETERS], 70);
}
END_TEST

START_TEST(files_need_not)
{
	g_autoptr(PipesimCosts) costs = read_text(HEAD
		"[residence]\nslowdown_ppm=1000000;1000000;1000000;1000000;1100000\n",
		NULL);

	ck_assert_ptr_nonnull(costs);
	ck_assert_ptr_null(costs->power);
	ck_assert_ptr_null(costs->part_bytes);
	ck_assert_int_eq(costs->residence->moving[PIPESIM_F], PIPESIM_PPM);
}
END_TEST

static const struct {
	const char *text, *message;
} bad_files[] = {
	{HEAD "[power]\n", "x.ini:7:1: [power]: key 'time_constant_ns' is missing"},
	{HEAD ONE_MEAN FULL LOADS "waiting_load_ppm=0\n",
		"x.ini:7:1: [power]: key 'threshold_ppm' is missing"},
	{HEAD POWER "threshold_ppm=1000000\n",
		"x.ini:14:15: [power] threshold_ppm: '1000000' is out of range"},
	{HEAD POWER "waiting_load_ppm=-1\n",
		"x.ini:14:18: [power] waiting_load_ppm: '-1' is out of range"},
	{HEAD POWER "weight_ppm=400000;500000\n", "x.ini:14:12: [power] weight_ppm: the "
						  "weights sum to 900000; one million is all"},
	{HEAD POWER "weight_ppm=1000000\n",
		"x.ini:14:12: [power] weight_ppm: 1 numbers, but 2 before it; one for each"},
	{HEAD POWER "time_constant_ns=1;2;3\n",
		"x.ini:14:18: [power] time_constant_ns: '1;2;3' is not one or two whole"},
	{HEAD POWER "time_constant_ns=999\n",
		"x.ini:14:18: [power] time_constant_ns: '999' is not one or two whole numbers "
		"from 1000"},
	{HEAD POWER "load_ppm=1;2;3;4\n",
		"x.ini:14:10: [power] load_ppm: '1;2;3;4' is not five whole numbers from 0 to "
		"2000000, of F;I;W;B;FB"},
	{HEAD POWER "full_speed_ppm=1;2;3;4;1000001\n",
		"x.ini:14:16: [power] full_speed_ppm: '1;2;3;4;1000001' is not five"},
	{HEAD POWER "explained_ppm=2000000\n", "[power] explained_ppm: '2000000' is out of"},
	{HEAD POWER "speed=1\n", "x.ini:14:7: [power] speed: no such key"},
	{HEAD "[residence]\nslowdown_ppm=1;1;1;1;1\n",
		"x.ini:8:14: [residence] slowdown_ppm: '1;1;1;1;1' is not five whole numbers "
		"from 1000000"},
	{HEAD "[residence]\nsms=1\n", "x.ini:7:1: [residence]: key 'slowdown_ppm' is missing"},
	{HEAD "[stage-bytes]\nuntil_input=1\nuntil_weight=1;2\nparameters=1\n",
		"x.ini:9:14: [stage-bytes] until_weight: 2 sizes, but 1 before it"},
	{HEAD "[stage-bytes]\nuntil_input=-1\nuntil_weight=1\nparameters=1\n",
		"x.ini:8:13: [stage-bytes] until_input: 1 to"},
	{HEAD "[stage-bytes]\nuntil_input=1\n",
		"x.ini:7:1: [stage-bytes]: key 'until_weight' is missing"},
};

START_TEST(bad_files_are_told)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_text(bad_files[_i].text, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(strstr(error->message, bad_files[_i].message) != NULL, "%s in: %s",
		bad_files[_i].message, error->message);
}
END_TEST

Suite *power_suite(void)
{
	Suite *suite = suite_create("power");
	TCase *model = tcase_create("model");
	TCase *files = tcase_create("files");

	tcase_add_test(model, means_are_exponential);
	tcase_add_test(model, means_stay_within_loads);
	tcase_add_test(model, time_follows_load);
	tcase_add_test(model, two_means_are_weighted);
	tcase_add_test(model, repeating_is_found);
	tcase_add_test(files, files_say_it);
	tcase_add_test(files, files_need_not);
	tcase_add_loop_test(files, bad_files_are_told, 0, G_N_ELEMENTS(bad_files));
	suite_add_tcase(suite, model);
	suite_add_tcase(suite, files);
	return suite;
}
