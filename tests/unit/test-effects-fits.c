#include "effects/effects.h"
#include "fake-gpu.h"
#include "model/costs-file.h"
#include "trace-text.h"

#include <string.h>

/* Times of a layer, as rows without a series. */
#define TIMES                             \
	",t,0,0,layer,F,,2950000,,,,,,\n" \
	",t,1,0,layer,B,,6750000,,,,,,\n"
#define TOP "#version,1\n#device_name,Test GPU\n#power_limit_w,700.0\n"

/* Of the newest calibration. */
static PipesimEffects *found;

static PipesimCalibration *calibrate_all(
	PipesimTrace *const *traces, guint n, gint64 sms, GError **error)
{
	const PipesimCalibrateOptions none = {0};
	g_autoptr(PipesimCalibration) calibration = pipesim_calibrate(traces, n, &none, error);

	g_clear_pointer(&found, pipesim_effects_free);
	if (calibration != NULL)
		found = pipesim_effects_calibrate(traces, n, calibration, sms, error);
	return found != NULL ? g_steal_pointer(&calibration) : NULL;
}

static PipesimCalibration *calibrate_both(const char *text, GError **error)
{
	g_autoptr(PipesimTrace) trace = trace_of(text);

	return calibrate_all(&trace, 1, 0, error);
}

/* @gpu's series and the times of a layer. */
static PipesimCalibration *calibrate_gpu(const FakeGpu *gpu)
{
	g_autofree char *series = fake_series(gpu, FALSE);
	g_autoptr(GString) text = g_string_new(TOP FAKE_COLUMNS TIMES);
	g_autoptr(GError) error = NULL;

	g_string_append(text, strstr(series, "governor,"));
	PipesimCalibration *calibration = calibrate_both(text->str, &error);
	ck_assert_msg(calibration != NULL, "%s", error != NULL ? error->message : "");
	return calibration;
}

START_TEST(power_goes_into_costs)
{
	const FakeGpu gpu = fake_gpu();
	g_autoptr(PipesimCalibration) calibration = calibrate_gpu(&gpu);
	const PipesimPower *power = calibration->costs->power;

	ck_assert_str_eq(power->device, "Test GPU");
	ck_assert_int_eq(power->limit, 700);
	ck_assert_uint_eq(power->n_constants, 1);
	ck_assert_int_eq(power->weight[0], 1000000);
	ck_assert_double_eq_tol((double)power->time_constant[0] / 1e6, 36, 1);
	ck_assert_double_eq_tol((double)power->threshold / 1e6, 0.75, 0.01);
	ck_assert_double_eq_tol((double)power->full_speed[PIPESIM_F] / 1e6, 0.89, 0.003);
	ck_assert_double_eq_tol((double)power->full_speed[PIPESIM_B] / 1e6, 0.91, 0.003);
	/* What was not measured apart is as the whole that it is part of, a pair as both. */
	ck_assert_int_eq(power->full_speed[PIPESIM_I], power->full_speed[PIPESIM_B]);
	ck_assert_int_eq(power->full_speed[PIPESIM_W], power->full_speed[PIPESIM_B]);
	ck_assert_double_eq_tol((double)power->full_speed[PIPESIM_FB] / 1e6,
		(0.89 * 2.95 + 0.91 * 6.75) / 9.7, 0.003);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		ck_assert_double_eq_tol((double)power->load[kind] / 1e6, 1, 0.02);
	ck_assert_int_eq(power->waiting_load, 0);
	ck_assert(trace_has_notice(calibration->notices, "no history has pauses in a waiting"));
	ck_assert(trace_has_notice(
		calibration->notices, "nothing was measured beside a waiting"));
	ck_assert_ptr_null(calibration->costs->contention);
	ck_assert_int_eq(power->explained, found->power->explained);
	ck_assert_int_eq(power->residual, found->power->after);
}
END_TEST

/* What is in a costs file simulates as the chip does: by the integers of the model. */
START_TEST(durations_are_those_of_the_chip)
{
	FakeGpu gpu = fake_gpu();
	g_autoptr(PipesimCalibration) calibration = calibrate_gpu(&gpu);
	const PipesimPower *power = calibration->costs->power;
	const FakeStep steps[] = {{40, 0, FALSE}, {10, 25, FALSE}, {20, 60, FALSE},
		{5, 250, FALSE}, {30, 15, FALSE}, {40, 0, FALSE}};
	g_autoptr(GArray) is = g_array_new(FALSE, FALSE, sizeof(gint64));
	PipesimPowerState state = {0};
	gint64 total = 0, says = 0;
	guint i = 0;

	gpu.noise = gpu.launch = gpu.outlier = 0;
	fake_run(&gpu, steps, G_N_ELEMENTS(steps), "", 0, NULL, is);
	for (guint s = 0; s < G_N_ELEMENTS(steps); s++) {
		for (guint op = 0; op < 2 * steps[s].layers; op++) {
			const PipesimKind kind = op % 2 == 0 ? PIPESIM_F : PIPESIM_B;
			const gint64 took = pipesim_power_duration(
				power, &state, kind, kind == PIPESIM_F ? 2950000 : 6750000);

			pipesim_power_advance(power, &state, took, power->load[kind]);
			says += took;
			total += g_array_index(is, gint64, i++);
		}
		pipesim_power_advance(power, &state, (gint64)(1e6 * steps[s].pause), 0);
	}
	ck_assert_uint_eq(i, is->len);
	ck_assert_double_eq_tol((double)says / (double)total, 1, 0.005);
}
END_TEST

START_TEST(no_dependence_is_k_0)
{
	FakeGpu gpu = fake_gpu();

	gpu.full[0] = gpu.full[1] = 1;
	gpu.clocks = FALSE;
	g_autoptr(PipesimCalibration) calibration = calibrate_gpu(&gpu);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		ck_assert_int_eq(calibration->costs->power->full_speed[kind], 1000000);
	ck_assert(
		trace_has_notice(calibration->notices, "op times do not depend on idle time"));
	ck_assert(trace_has_notice(calibration->notices, "has no clocks (clk_sm_mhz)"));
}
END_TEST

START_TEST(reversed_kinds_are_told)
{
	FakeGpu gpu = fake_gpu();

	gpu.full[0] = 1.04;
	g_autoptr(PipesimCalibration) calibration = calibrate_gpu(&gpu);
	ck_assert_int_eq(calibration->costs->power->full_speed[PIPESIM_F], 1000000);
	ck_assert_int_lt(calibration->costs->power->full_speed[PIPESIM_B], 920000);
	ck_assert(trace_has_notice(calibration->notices, "layer F is 3."));
	ck_assert(
		trace_has_notice(calibration->notices, "slower after idling than under load"));
}
END_TEST

static const struct {
	const char *rows, *notice;
} short_series[] = {
	{"governor,a,0,0,layer,F,0,3000000,,,,,,\n", "the governor series is cut short: 1 ops"},
	{"resident,a,0,0,layer,F,,3000000,,,0,,,\n", "no history of ops and pauses"},
	{"moving,a,0,0,layer,F,,3000000,,,,64,,\n",
		"1 rows beside a receive or a message are of ops that were not measured alone"},
	{"resident,a,0,0,other,F,,100,,,0,,,\nresident,a,1,0,other,F,,110,,,16,,,nccl\n",
		"nothing was measured beside a waiting"},
};

/* Nothing of a layer that the times are not made of is taken for them. */
START_TEST(power_of_other_ops_is_left_out)
{
	const FakeGpu gpu = fake_gpu();
	g_autofree char *series = fake_series(&gpu, FALSE);
	g_autoptr(GString) text = g_string_new(strstr(series, "governor,"));
	g_autoptr(GError) error = NULL;

	g_string_replace(text, ",layer,", ",other,", 0);
	g_string_prepend(text, TOP FAKE_COLUMNS TIMES);
	g_autoptr(PipesimCalibration) calibration = calibrate_both(text->str, &error);
	ck_assert_msg(calibration != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_ptr_null(calibration->costs->power);
	ck_assert(trace_has_notice(
		calibration->notices, "has no op that times are made of: power is left out"));
}
END_TEST

START_TEST(what_is_missing_is_said)
{
	g_autofree char *text =
		g_strconcat(TOP FAKE_COLUMNS TIMES, short_series[_i].rows, NULL);
	g_autoptr(PipesimCalibration) calibration = calibrate_both(text, NULL);

	ck_assert_ptr_nonnull(calibration);
	ck_assert(trace_has_notice(calibration->notices, short_series[_i].notice));
	ck_assert_ptr_null(calibration->costs->power);
	ck_assert_ptr_null(calibration->costs->contention);
}
END_TEST

START_TEST(another_device_is_refused)
{
	g_autoptr(PipesimTrace) times = trace_of(TOP FAKE_COLUMNS TIMES);
	g_autoptr(PipesimTrace) series =
		trace_of("#version,1\n#device_name,Other GPU\n" FAKE_COLUMNS
			 "governor,a,0,0,layer,F,0,3000000,,,,,,\n");
	PipesimTrace *const first[] = {times, series}, *const last[] = {series, times};
	g_autoptr(GError) error = NULL, other = NULL;

	ck_assert_ptr_null(calibrate_all(first, 2, 0, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_msg(strstr(error->message, "its series are of 'Other GPU', but x.csv is of "
					     "'Test GPU'") != NULL,
		"%s", error->message);
	ck_assert_ptr_null(calibrate_all(last, 2, 0, &other));
}
END_TEST

/* Two ranks, of which the second is slower; an own kernel on 8 and 32 SMs, and NCCL's. */
#define BESIDE                                           \
	TIMES "resident,r,0,0,layer,F,,100,,,0,,,\n"     \
	      "resident,r,1,0,layer,F,,100,,,0,,,\n"     \
	      "resident,r,2,0,layer,F,,900,,,0,,,\n"     \
	      "resident,r,3,0,layer,F,,110,,,8,,,own\n"  \
	      "resident,r,4,0,layer,F,,140,,,32,,,own\n" \
	      "resident,r,0,1,layer,F,,200,,,0,,,\n"     \
	      "resident,r,4,1,layer,F,,280,,,32,,,own\n" \
	      "resident,r,5,0,layer,B,,300,,,0,,,\n"     \
	      "resident,r,6,0,layer,B,,390,,,32,,,own\n" \
	      "moving,r,7,0,layer,B,,300,,,,0,,\n"       \
	      "moving,r,8,0,layer,B,,306,,,,1000,,own\n" \
	      "moving,r,9,0,layer,B,,303,,,,500,,own\n"
#define BESIDE_NCCL                                  \
	"resident,r,10,0,layer,F,,119,,,24,,,nccl\n" \
	"resident,r,11,0,layer,B,,240,,,24,,,nccl\n"

START_TEST(contention_is_a_ratio_of_medians)
{
	g_autoptr(PipesimCalibration) own = calibrate_both(TOP FAKE_COLUMNS BESIDE, NULL);
	g_autoptr(PipesimCalibration) nccl = calibrate_both(
		"#version,1\n#pp_message_bytes,400\n" FAKE_COLUMNS BESIDE BESIDE_NCCL, NULL);
	const PipesimContention *contention = own->costs->contention;

	ck_assert_int_eq(contention->sms, 32);
	ck_assert_int_eq(contention->slowdown[PIPESIM_F], 1400000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_B], 1300000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_W], 1300000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_FB], 1330412);
	/* A message of the size of the model's, else the largest; forwards as backwards. */
	ck_assert_int_eq(contention->moving[PIPESIM_F], 1020000);
	ck_assert_int_eq(nccl->costs->contention->moving[PIPESIM_B], 1010000);
	ck_assert(
		trace_has_notice(own->notices, "NCCL's own waiting receive was not measured"));
	ck_assert(trace_has_notice(own->notices, "was measured for backwards only"));

	g_autoptr(PipesimTrace) both = trace_of(TOP FAKE_COLUMNS BESIDE BESIDE_NCCL);
	g_autoptr(PipesimCalibration) nearest = calibrate_all(&both, 1, 12, NULL);
	ck_assert_int_eq(nearest->costs->contention->sms, 8);
	ck_assert_int_eq(nearest->costs->contention->slowdown[PIPESIM_F], 1100000);

	ck_assert_int_eq(nccl->costs->contention->sms, 24);
	ck_assert_int_eq(nccl->costs->contention->slowdown[PIPESIM_F], 1190000);
	/* Nothing is faster for having less of the chip. */
	ck_assert_int_eq(nccl->costs->contention->slowdown[PIPESIM_B], 1000000);
	ck_assert(
		trace_has_notice(nccl->notices, "layer B takes 20.0 % less beside a receive"));
	ck_assert(!trace_has_notice(nccl->notices, "NCCL's own"));
}
END_TEST

/* Of two components one, which takes most of the time; and of backwards W alone. */
START_TEST(components_are_weighted)
{
	g_autoptr(PipesimCalibration) calibration = calibrate_both(TOP FAKE_COLUMNS
		",t,0,0,attn,F,,100,,,,,,\n,t,1,0,mlp,F,,300,,,,,,\n"
		",t,2,0,attn,I,,100,,,,,,\n,t,3,0,mlp,I,,300,,,,,,\n"
		",t,4,0,attn,W,,100,,,,,,\n,t,5,0,mlp,W,,300,,,,,,\n"
		"resident,r,0,0,mlp,F,,300,,,0,,,\n"
		"resident,r,1,0,mlp,F,,330,,,16,,,nccl\n"
		"resident,r,2,0,attn,W,,100,,,0,,,\n"
		"resident,r,3,0,attn,W,,140,,,16,,,nccl\n"
		"resident,r,4,0,mlp,W,,300,,,0,,,\n"
		"resident,r,5,0,mlp,W,,360,,,16,,,nccl\n"
		"resident,r,6,0,attn,I,,100,,,0,,,\n"
		"resident,r,7,0,attn,I,,190,,,16,,,nccl\n",
		NULL);
	const PipesimContention *contention = calibration->costs->contention;

	ck_assert_int_eq(contention->slowdown[PIPESIM_F], 1100000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_W], 1250000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_I], 1250000);
	ck_assert_int_eq(contention->slowdown[PIPESIM_B], 1250000);
	ck_assert(trace_has_notice(calibration->notices,
		"receive contention was not measured for attn F: the other ops of each kind"));
}
END_TEST

#define STAGE_COLUMNS "run_id,rep,rank,component,phase,stage,step,microbatch,dur_ns\n"
#define STAGE_ROWS                                                 \
	"r,0,0,chunk,F,0,0,0,100000\nr,1,0,chunk,B,0,0,0,200000\n" \
	"r,2,0,chunk,F,1,0,0,100000\nr,3,0,chunk,B,1,0,0,200000\n"
/* A stage at work, then rested between two repetitions beside a receive. */
START_TEST(receives_are_against_sustained_times)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCalibration) calibration =
		calibrate_both("#version,1\nrun_id,rep,rank,component,phase,stage,step,"
			       "microbatch,dur_ns,series,resident_sms,impl\n"
			       "r,0,0,chunk,F,0,0,0,100000,,,\nr,1,0,chunk,B,0,0,0,200000,,,\n"
			       "r,2,0,chunk,F,1,0,0,100000,,,\nr,3,0,chunk,B,1,0,0,200000,,,\n"
			       "s,0,0,chunk,F,1,,,90000,resident,0,\ns,1,0,chunk,F,1,,,120000,"
			       "resident,16,nccl\n"
			       "s,2,0,chunk,B,1,,,180000,resident,0,\ns,3,0,chunk,B,1,,,220000,"
			       "resident,16,nccl\n"
			       "m,0,0,chunk,F,1,,,90000,moving,,\n",
			&error);

	ck_assert_msg(calibration != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_int_eq(calibration->costs->contention->slowdown[PIPESIM_F], 1200000);
	ck_assert_int_eq(calibration->costs->contention->slowdown[PIPESIM_B], 1100000);
}
END_TEST

#define STAGE_LISTS                       \
	"#stage_until_input_bytes,5;6\n"  \
	"#stage_until_weight_bytes,7;8\n" \
	"#stage_parameter_bytes,9;10\n"

START_TEST(metadata_tells_bytes_and_ranks)
{
	g_autoptr(PipesimCalibration) calibration = calibrate_both(TOP STAGE_LISTS
		"#rank_relative_ppm,990000;1010000\n" STAGE_COLUMNS STAGE_ROWS,
		NULL);
	const PipesimCosts *costs = calibration->costs;

	ck_assert_uint_eq(costs->n_part_bytes, 2);
	ck_assert_int_eq(costs->part_bytes[PIPESIM_UNTIL_INPUT], 5);
	ck_assert_int_eq(costs->part_bytes[PIPESIM_N_BYTES + PIPESIM_PARAMETERS], 10);
	ck_assert_uint_eq(costs->n_measured_ranks, 2);
	ck_assert_int_eq(costs->measured_ranks[1], 1010000);
}
END_TEST

#define HOST_F                                              \
	"r,4,0,host,F,0,,,90000\nr,5,0,host,F,1,,,130000\n" \
	"r,6,0,host,F,1,,,150000\nr,7,0,host,F,1,,,140000\n"

/* Medians by stage; what a stage lacks follows from the whole backward, as times do. */
START_TEST(hosts_launch_stages)
{
	g_autoptr(PipesimCalibration) calibration = calibrate_both(
		TOP STAGE_COLUMNS STAGE_ROWS HOST_F
		"r,8,0,host,B,0,,,70000\nr,9,0,host,I,1,,,40000\nr,10,0,host,W,1,,,80000\n",
		NULL);
	const PipesimCosts *costs = calibration->costs;
	const gint64 *first = costs->launch, *second = costs->launch + PIPESIM_FB;
	const gint64 *part = costs->part;

	ck_assert_uint_eq(costs->n_launches, 2);
	ck_assert_int_eq(first[PIPESIM_F], 90000);
	ck_assert_int_eq(first[PIPESIM_B], 70000);
	ck_assert_int_eq(first[PIPESIM_I] + first[PIPESIM_W], 70000);
	ck_assert_int_eq(first[PIPESIM_I],
		pipesim_time_scale(70000, part[PIPESIM_I], part[PIPESIM_I] + part[PIPESIM_W]));
	ck_assert_int_eq(second[PIPESIM_F], 140000);
	ck_assert_int_eq(second[PIPESIM_B], 120000);
	ck_assert_int_eq(second[PIPESIM_W], 80000);
	ck_assert(trace_has_notice(calibration->notices,
		"the host takes longer to launch 1 of 5 sorts of ops than the GPU to run them "
		"(F of stage 1: 0.140 against 0.100 ms): GPUs wait for it"));
}
END_TEST

START_TEST(hosts_may_be_timed_in_part)
{
	g_autoptr(PipesimCalibration) calibration =
		calibrate_both(TOP STAGE_COLUMNS STAGE_ROWS HOST_F
			"r,8,0,host,B,0,,,70000\nr,9,0,host,W,1,,,80000\n",
			NULL);

	ck_assert_ptr_null(calibration->costs->launch);
	ck_assert(trace_has_notice(calibration->notices,
		"launches of stage 1 were not all timed (F, and B or I and W): their times "
		"are not used"));
}
END_TEST

static const struct {
	const char *lists, *message;
} bad_lists[] = {
	{"#stage_parameter_bytes,9;10;11\n", "x.csv:1:1: #stage_parameter_bytes: 3 numbers, "
					     "but ops of 2 stages were measured"},
	{"#stage_parameter_bytes,9;x\n", "#stage_parameter_bytes: 'x' is not a number"},
	{"#stage_until_input_bytes,9;-1\n", "#stage_until_input_bytes: '-1' is out of range"},
	{"#stage_until_input_bytes,9;1.5\n", "#stage_until_input_bytes: '1.5' is out of range"},
	{"#rank_relative_ppm,1000000;0\n", "#rank_relative_ppm: '0' is out of range"},
	{"#rank_relative_ppm,;\n", "#rank_relative_ppm: '' is not a number"},
};

START_TEST(bad_metadata_is_refused)
{
	g_autofree char *text =
		g_strconcat(TOP, bad_lists[_i].lists, STAGE_COLUMNS STAGE_ROWS, NULL);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(calibrate_both(text, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(
		strstr(error->message, bad_lists[_i].message) != NULL, "%s", error->message);
}
END_TEST

START_TEST(costs_files_keep_it)
{
	const FakeGpu gpu = fake_gpu();
	g_autoptr(PipesimCalibration) calibration = calibrate_gpu(&gpu);
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	pipesim_costs_write(calibration->costs, first);
	g_autoptr(PipesimCosts) copy = pipesim_costs_read_ini(
		pipesim_ini_parse(first->str, first->len, "x", NULL), NULL);
	ck_assert_ptr_nonnull(copy);
	pipesim_costs_write(copy, second);
	ck_assert_str_eq(first->str, second->str);
	ck_assert_ptr_nonnull(strstr(first->str, "[power]\n"));
}
END_TEST

Suite *effects_fits_suite(void)
{
	Suite *suite = suite_create("effects-fits");
	TCase *effects = tcase_create("effects");

	tcase_set_timeout(effects, 60);
	tcase_add_test(effects, power_goes_into_costs);
	tcase_add_test(effects, durations_are_those_of_the_chip);
	tcase_add_test(effects, no_dependence_is_k_0);
	tcase_add_test(effects, reversed_kinds_are_told);
	tcase_add_test(effects, power_of_other_ops_is_left_out);
	tcase_add_loop_test(effects, what_is_missing_is_said, 0, G_N_ELEMENTS(short_series));
	tcase_add_test(effects, another_device_is_refused);
	tcase_add_test(effects, contention_is_a_ratio_of_medians);
	tcase_add_test(effects, receives_are_against_sustained_times);
	tcase_add_test(effects, components_are_weighted);
	tcase_add_test(effects, metadata_tells_bytes_and_ranks);
	tcase_add_test(effects, hosts_launch_stages);
	tcase_add_test(effects, hosts_may_be_timed_in_part);
	tcase_add_loop_test(effects, bad_metadata_is_refused, 0, G_N_ELEMENTS(bad_lists));
	tcase_add_test(effects, costs_files_keep_it);
	suite_add_tcase(suite, effects);
	return suite;
}
