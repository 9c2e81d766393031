#include "fake-gpu.h"
#include "trace-text.h"

#include <math.h>
#include <string.h>

static PipesimPowerFit *fit_of(const char *text)
{
	g_autoptr(PipesimTrace) trace = trace_of(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimHistories) histories = pipesim_histories_new(&trace, 1, &error);

	ck_assert_msg(histories != NULL, "%s", error != NULL ? error->message : "");
	return pipesim_power_fit(histories, FALSE, NULL);
}

/* Other bursts and pauses than those of the series. */
static const FakeStep unseen[] = {
	{30, 0, FALSE},
	{8, 15, FALSE},
	{3, 40, FALSE},
	{20, 3, FALSE},
	{7, 80, FALSE},
	{50, 7, FALSE},
	{12, 150, FALSE},
	{5, 30, FALSE},
	{25, 60, FALSE},
	{16, 25, TRUE},
	{9, 12, FALSE},
	{33, 400, FALSE},
	{11, 45, TRUE},
	{40, 0, FALSE},
};

/* What durations as fitted are off those of @truth, in steps that the fit did not see: @mean, or at most. */
static double off_by(const FakeGpu *truth, const PipesimPowerFit *fit, gboolean mean)
{
	FakeGpu quiet = *truth, found = fake_of_fit(truth, fit);
	g_autoptr(GArray) is = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autoptr(GArray) says = g_array_new(FALSE, FALSE, sizeof(gint64));
	double worst = 0, sum = 0;

	quiet.noise = quiet.launch = quiet.outlier = 0;
	if (fit->waiting_load == PIPESIM_UNKNOWN)
		quiet.waiting = found.waiting = 0;
	fake_run(&quiet, unseen, G_N_ELEMENTS(unseen), "", 0, NULL, is);
	fake_run(&found, unseen, G_N_ELEMENTS(unseen), "", 0, NULL, says);
	ck_assert_uint_eq(is->len, says->len);
	for (guint i = 0; i < is->len; i++) {
		const double off = fabs((double)g_array_index(says, gint64, i) /
						(double)g_array_index(is, gint64, i) -
					1);

		worst = MAX(worst, off);
		sum += off;
	}
	return mean ? sum / is->len : worst;
}

static double worst_of(const FakeGpu *truth, const PipesimPowerFit *fit)
{
	return off_by(truth, fit, FALSE);
}

static const struct {
	double tau, threshold;
} governors[] = {{60, 0.7}, {20, 0.85}, {90, 0.4}, {36, 0.75}};

START_TEST(governors_are_recovered)
{
	FakeGpu gpu = fake_gpu();

	gpu.tau[0] = governors[_i].tau;
	gpu.threshold = governors[_i].threshold;
	g_autofree char *text = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) fit = fit_of(text);

	ck_assert_int_eq(fit->verdict, PIPESIM_POWER_FITTED);
	ck_assert_double_eq_tol(
		(double)fit->time_constant / 1e6, gpu.tau[0], 0.03 * gpu.tau[0]);
	ck_assert_double_eq_tol((double)fit->threshold / 1e6, gpu.threshold, 0.01);
	for (guint k = 0; k < gpu.n_kinds; k++) {
		const PipesimPowerPart *part = pipesim_power_find(
			fit, gpu.component[k], (guint)pipesim_phase_find(gpu.phase[k]));

		ck_assert_double_eq_tol((double)part->sustained / 1e6, gpu.sustained[k],
			0.003 * gpu.sustained[k]);
		ck_assert_double_eq_tol((double)part->full_speed / 1e6, gpu.full[k], 0.003);
		ck_assert_int_eq(part->reversed, 0);
		ck_assert_int_lt(part->bent, 3000);
	}
	ck_assert_double_lt(worst_of(&gpu, fit), 0.01);
	ck_assert_int_gt(fit->explained, 800000);
	ck_assert_int_gt(fit->held_out, fit->explained - 10000);
	ck_assert_int_lt(fit->after, fit->before / 3);
	ck_assert_int_gt(fit->rested_clock, fit->loaded_clock);
	ck_assert_int_eq(fit->loaded_power, 690500);
}
END_TEST

/* One that answers late, in two stages, or goes by a slower mean too, is met, if not as well. */
START_TEST(other_governors_are_met)
{
	FakeGpu gpu = fake_gpu();

	if (_i == 0) {
		gpu.order[0] = 2;
	} else {
		gpu.n_means = 2;
		gpu.tau[0] = 33;
		gpu.tau[1] = 730;
		gpu.weight[1] = 0.1;
		gpu.weight[0] = 0.9;
		gpu.threshold = 0.8;
	}
	g_autofree char *text = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) fit = fit_of(text);
	ck_assert_double_lt(off_by(&gpu, fit, TRUE), 0.01);
	ck_assert_int_gt(fit->held_out, 900000);
}
END_TEST

/* Now and then a chip runs far slower for a fifth of a second, whatever it did before. */
START_TEST(slow_outliers_are_left_out)
{
	FakeGpu gpu = fake_gpu();

	gpu.slow_outlier = 0.12;
	g_autofree char *text = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) fit = fit_of(text);
	ck_assert_uint_gt(fit->slow_outliers, fit->ops / 20);
	ck_assert_uint_lt(fit->slow_outliers, fit->ops / 4);
	gpu.slow_outlier = 0;
	ck_assert_double_lt(worst_of(&gpu, fit), 0.01);
}
END_TEST

START_TEST(waits_draw_something)
{
	FakeGpu gpu = fake_gpu();
	g_autofree char *text = fake_series(&gpu, TRUE);
	g_autoptr(PipesimPowerFit) fit = fit_of(text);

	ck_assert_double_eq_tol((double)fit->waiting_load / 1e6, gpu.waiting, 0.03);
	ck_assert_double_lt(worst_of(&gpu, fit), 0.01);
}
END_TEST

/* Series waiting: nothing says so but the series. */
START_TEST(pauses_of_series_waiting_are_waits)
{
	FakeGpu gpu = fake_gpu();
	g_autofree char *idle = fake_series(&gpu, FALSE);
	const FakeStep program[] = {{60, 20, TRUE}, {20, 50, TRUE}, {4, 20, TRUE},
		{4, 20, TRUE}, {4, 20, TRUE}, {20, 100, TRUE}, {4, 20, TRUE}, {4, 20, TRUE},
		{40, 0, FALSE}};
	g_autoptr(GString) csv = g_string_new(idle), waits = g_string_new(NULL);
	guint rows = 0;

	fake_run(&gpu, program, G_N_ELEMENTS(program), "waits", 0, waits, NULL);
	g_auto(GStrv) lines = g_strsplit(waits->str, "\n", -1);
	for (char **line = lines; **line != '\0'; line++) {
		if (strstr(*line, ",receive,") != NULL)
			continue;
		g_string_append_printf(csv, "waiting%s\n", strchr(*line, ','));
		rows++;
	}
	g_autoptr(PipesimPowerFit) fit = fit_of(csv->str);
	ck_assert_uint_gt(rows, 300);
	ck_assert_uint_eq(fit->runs, 2);
	ck_assert_double_eq_tol((double)fit->waiting_load / 1e6, gpu.waiting, 0.05);
}
END_TEST

/* Memory-bound ops draw less, so that an unbroken row of them hardly slows down. */
START_TEST(loads_are_told_apart)
{
	FakeGpu gpu = fake_gpu(), alone = gpu;
	FakeStep *program;
	guint n;

	gpu.load[0] = 0.8;
	gpu.load[1] = (9.7 - 0.8 * 2.95) / 6.75;
	gpu.noise = 0.005;
	alone = gpu;
	alone.n_kinds = 1;
	alone.component[0] = "attn";
	g_autofree char *both = fake_series(&gpu, FALSE);
	g_autoptr(GString) csv = g_string_new(both);
	program = fake_program(&alone, &n);
	fake_run(&alone, program, n, "attn", 0, csv, NULL);
	g_free(program);
	g_autoptr(PipesimTrace) trace = trace_of(csv->str);
	g_autoptr(PipesimHistories) histories = pipesim_histories_new(&trace, 1, NULL);
	g_autoptr(PipesimPowerFit) fit = pipesim_power_fit(histories, FALSE, "layer");

	/* Of ops that always take turns only the mean can be told. */
	ck_assert_double_eq_tol(
		(double)pipesim_power_find(fit, "attn", PIPESIM_F)->load / 1e6, 0.8, 0.03);
	ck_assert_double_lt(worst_of(&gpu, fit), 0.01);
}
END_TEST

/* Chips of one host differ; what power does to them does not. */
START_TEST(chips_differ)
{
	FakeGpu gpu = fake_gpu();
	g_autofree char *first = fake_series(&gpu, FALSE);
	g_autoptr(GString) csv = g_string_new(first);
	FakeStep *program;
	guint n;

	gpu.slow = 1.04;
	program = fake_program(&gpu, &n);
	fake_run(&gpu, program, n, "steps", 1, csv, NULL);
	g_free(program);
	g_autoptr(PipesimPowerFit) fit = fit_of(csv->str);
	ck_assert_uint_eq(fit->ranks, 2);
	ck_assert_double_eq_tol(
		(double)pipesim_power_find(fit, "layer", PIPESIM_F)->full_speed / 1e6, 0.89,
		0.003);
	ck_assert_double_eq_tol(
		(double)pipesim_power_find(fit, "layer", PIPESIM_F)->sustained / 1e6,
		2.95 * 1.02, 0.01);
}
END_TEST

START_TEST(no_dependence_is_said)
{
	FakeGpu gpu = fake_gpu();

	gpu.full[0] = gpu.full[1] = 1;
	g_autofree char *text = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) fit = fit_of(text);
	ck_assert_int_eq(fit->verdict, PIPESIM_POWER_INDEPENDENT);
	ck_assert_int_eq(pipesim_power_find(fit, "layer", PIPESIM_F)->full_speed, 1000000);
	ck_assert_int_eq(pipesim_power_find(fit, "layer", PIPESIM_B)->full_speed, 1000000);
}
END_TEST

START_TEST(reversed_and_bent_fits_are_told)
{
	FakeGpu gpu = fake_gpu();

	gpu.full[0] = 1.04;
	g_autofree char *text = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) reversed = fit_of(text);
	ck_assert_int_eq(reversed->verdict, PIPESIM_POWER_FITTED);
	ck_assert_int_eq(pipesim_power_find(reversed, "layer", PIPESIM_F)->full_speed, 1000000);
	ck_assert_double_eq_tol(
		(double)pipesim_power_find(reversed, "layer", PIPESIM_F)->reversed / 1e6, 0.04,
		0.006);
	ck_assert_int_eq(pipesim_power_find(reversed, "layer", PIPESIM_B)->reversed, 0);

	gpu = fake_gpu();
	gpu.hump = -0.15;
	g_autofree char *humped = fake_series(&gpu, FALSE);
	g_autoptr(PipesimPowerFit) bent = fit_of(humped);
	ck_assert_int_gt(pipesim_power_find(bent, "layer", PIPESIM_B)->bent, 7500);
}
END_TEST

/* Histories that show too little. */
static const struct {
	guint layers;
	double pause;
	guint bursts;
	PipesimPowerVerdict verdict;
} little[] = {
	{20, 50, 1, PIPESIM_POWER_FEW_OPS},
	{5, 0.5, 30, PIPESIM_POWER_NO_PAUSES},
	{200, 4, 4, PIPESIM_POWER_NO_PAUSES},
	{5, 50, 30, PIPESIM_POWER_NO_WORK},
	{60, 50, 3, PIPESIM_POWER_FEW_OPS},
	{60, 50, 4, PIPESIM_POWER_FITTED},
};

START_TEST(little_is_not_fitted)
{
	const FakeGpu gpu = fake_gpu();
	g_autofree FakeStep *program = g_new0(FakeStep, little[_i].bursts);
	g_autoptr(GString) csv = g_string_new(TRACE_TOP FAKE_COLUMNS);

	for (guint i = 0; i < little[_i].bursts; i++)
		program[i] = (FakeStep){little[_i].layers, little[_i].pause, FALSE};
	fake_run(&gpu, program, little[_i].bursts, "r", 0, csv, NULL);
	g_autoptr(PipesimPowerFit) fit = fit_of(csv->str);
	ck_assert_int_eq(fit->verdict, little[_i].verdict);
}
END_TEST

START_TEST(histories_are_put_together)
{
	g_autoptr(PipesimTrace) trace = trace_of(TRACE_TOP FAKE_COLUMNS
		/* Out of order; 2 ms of nothing before the last. */
		"governor,a,1,0,layer,B,400000000,7000000,,,,,,\n"
		"governor,a,0,0,layer,F,0,400000000,,,,,,\n"
		"governor,a,2,0,layer,F,407000100,3000000,,,,,,\n"
		"governor,a,3,0,layer,F,412000100,3000000,,,,,,\n"
		"governor,b,0,0,layer,F,0,3000000,,,,,,\n"
		"governor,a,0,1,layer,F,0,3000000,,,,,,\n");
	g_autoptr(PipesimHistories) histories = pipesim_histories_new(&trace, 1, NULL);
	const PipesimHistoryOp *ops = (const PipesimHistoryOp *)(gpointer)histories->ops->data;

	ck_assert_uint_eq(histories->runs->len, 3);
	ck_assert_uint_eq(histories->sorts->len, 3);
	ck_assert_uint_eq(histories->ranks, 2);
	ck_assert_uint_eq(histories->bursts, 4);
	ck_assert_uint_eq(histories->first_ops, 4);
	ck_assert_int_eq(ops[0].duration, 400000000);
	ck_assert(!ops[0].fitted && ops[1].fitted && ops[2].fitted && !ops[3].fitted);
	ck_assert_int_eq(ops[2].gap, 100);
	ck_assert_int_eq(ops[3].gap, 2000000);
	ck_assert_uint_eq(ops[3].burst, 1);
	ck_assert_int_eq(g_array_index(histories->runs, PipesimHistory, 0).length, 415000100);
	ck_assert_int_eq(g_array_index(histories->runs, PipesimHistory, 0).busy, 413000000);
}
END_TEST

/* Where ops are long, few of a burst have rested: they differ from all of their neighbours and are no outliers, and full
 * speed is theirs. */
START_TEST(rest_is_no_outlier)
{
	g_autoptr(GString) csv = g_string_new(TRACE_TOP FAKE_COLUMNS);
	gint64 at = 0;
	guint rep = 0;

	for (guint burst = 0; burst < 40; burst++) {
		const guint n = burst == 0 ? 200 : 9;

		for (guint i = 0; i < n; i++) {
			gint64 took = burst > 0 && i == 1 ? 2580000 : 3000000;

			if (burst == 20 && i == 5)
				took = 4200000;
			g_string_append_printf(csv,
				"governor,a,%u,0,layer,F,%" G_GINT64_FORMAT ",%" G_GINT64_FORMAT
				",,,,,,\n",
				rep++, at, took);
			at += took;
		}
		at += 100000000;
	}
	g_autoptr(PipesimPowerFit) fit = fit_of(csv->str);
	const PipesimPowerPart *part = pipesim_power_find(fit, "layer", PIPESIM_F);

	ck_assert_uint_eq(fit->outliers, 1);
	ck_assert_int_eq(fit->verdict, PIPESIM_POWER_FITTED);
	ck_assert_double_eq_tol((double)part->full_speed / 1e6, 0.86, 0.003);
}
END_TEST

/* Clocks may count from anywhere. */
START_TEST(origins_do_not_matter)
{
	g_autoptr(PipesimTrace) trace = trace_of(TRACE_TOP FAKE_COLUMNS
		"governor,a,0,0,layer,F,9223372036850000000,3000000,,,,,,\n"
		"governor,a,1,0,layer,F,9223372036854000000,3000000,,,,,,\n"
		"governor,b,0,0,layer,F,0,3000000,,,,,,\n"
		"governor,b,1,0,layer,F,1152921504606846976,3000000,,,,,,\n");
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_histories_new(&trace, 1, &error));
	ck_assert_msg(strstr(error->message, "series 'b' lasts longer than") != NULL, "%s",
		error->message);
}
END_TEST

/* Ops that take no time begin with the next one, and stay before it, as they stand. */
START_TEST(ops_without_time_keep_their_place)
{
	g_autoptr(GString) text = g_string_new(TRACE_TOP FAKE_COLUMNS);
	g_autoptr(PipesimHistories) histories = NULL;
	g_autoptr(PipesimTrace) trace = NULL;

	for (guint i = 0; i < 20; i++)
		g_string_append_printf(text, "governor,a,%u,0,layer,%s,%u,%u,,,,,,\n", i,
			i % 2 == 0 ? "F" : "B", i / 2 * 3000000, i % 2 == 0 ? 0 : 3000000);
	trace = trace_of(text->str);
	histories = pipesim_histories_new(&trace, 1, NULL);
	ck_assert_ptr_nonnull(histories);
	for (guint i = 0; i < 20; i++)
		ck_assert_int_eq(g_array_index(histories->ops, PipesimHistoryOp, i).duration,
			i % 2 == 0 ? 0 : 3000000);
}
END_TEST

START_TEST(histories_are_of_one_stream)
{
	g_autoptr(PipesimTrace) trace = trace_of(
		TRACE_TOP FAKE_COLUMNS "governor,a,0,0,layer,F,0,3000000,,,,,,\n"
				       "governor,a,1,0,layer,F,2900000,3000000,,,,,,\n");
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(pipesim_histories_new(&trace, 1, &error));
	ck_assert_msg(
		strstr(error->message,
			"x.csv: in the governor series 'a' rep 1 begins 100000 ns before") !=
			NULL,
		"%s", error->message);
}
END_TEST

Suite *effects_power_suite(void)
{
	Suite *suite = suite_create("effects-power");
	TCase *fit = tcase_create("fit");

	tcase_set_timeout(fit, 60);
	tcase_add_loop_test(fit, governors_are_recovered, 0, G_N_ELEMENTS(governors));
	tcase_add_loop_test(fit, other_governors_are_met, 0, 2);
	tcase_add_test(fit, slow_outliers_are_left_out);
	tcase_add_test(fit, waits_draw_something);
	tcase_add_test(fit, pauses_of_series_waiting_are_waits);
	tcase_add_test(fit, loads_are_told_apart);
	tcase_add_test(fit, chips_differ);
	tcase_add_test(fit, no_dependence_is_said);
	tcase_add_test(fit, reversed_and_bent_fits_are_told);
	tcase_add_loop_test(fit, little_is_not_fitted, 0, G_N_ELEMENTS(little));
	tcase_add_test(fit, histories_are_put_together);
	tcase_add_test(fit, rest_is_no_outlier);
	tcase_add_test(fit, origins_do_not_matter);
	tcase_add_test(fit, ops_without_time_keep_their_place);
	tcase_add_test(fit, histories_are_of_one_stream);
	suite_add_tcase(suite, fit);
	return suite;
}
