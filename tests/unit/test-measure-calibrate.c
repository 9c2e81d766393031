#include "effects/effects.h"
#include "model/costs-file.h"
#include "trace-text.h"

#include <string.h>

static const PipesimComponent *find(
	const PipesimCalibration *calibration, const char *component, const char *phase)
{
	const GPtrArray *all = calibration->costs->components;

	for (guint i = 0; i < all->len; i++) {
		const PipesimComponent *one = g_ptr_array_index(all, i);
		if (g_str_equal(one->component, component) && g_str_equal(one->phase, phase))
			return one;
	}
	ck_abort_msg("no %s %s", component, phase);
}

START_TEST(medians_add_up)
{
	g_autofree char *text = trace_layer("r,9,attn,F,compute,own,sustained,9999,outlier\n"
					    "r,8,attn,F,compute,own,sustained,,checksum_fail\n"
					    "r,7,attn,F,compute,own,sustained,8888,warmup\n");
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(text, NULL, NULL);
	const gint64 *time = calibration->costs->time;

	ck_assert_int_eq(time[PIPESIM_F], 101 + 401);
	ck_assert_int_eq(time[PIPESIM_I], 201 + 501);
	ck_assert_int_eq(time[PIPESIM_W], 301 + 601);
	ck_assert_int_eq(time[PIPESIM_B], 702 + 902);
	ck_assert_int_eq(time[PIPESIM_FB], 502 + 702 + 902);
	ck_assert(!calibration->costs->has_pair);
	ck_assert_uint_eq(calibration->rows, 21);
	ck_assert_uint_eq(calibration->dropped[PIPESIM_STATUS_OUTLIER], 1);
	ck_assert_uint_eq(calibration->dropped[PIPESIM_STATUS_WARMUP], 1);
	ck_assert_uint_eq(calibration->dropped[PIPESIM_STATUS_CHECKSUM_FAIL], 1);
	ck_assert_uint_eq(find(calibration, "attn", "F")->dropped, 3);
	ck_assert_uint_eq(find(calibration, "attn", "F")->figures.samples, 3);
	ck_assert_str_eq(calibration->costs->source, "Test GPU, x.csv, 1 layer");
	ck_assert(trace_has_notice(calibration->notices, "FB = F + B"));
}
END_TEST

START_TEST(series_count_for_nothing_else)
{
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(TRACE_TOP
		"run_id,rep,component,phase,series,resident_sms,payload_bytes,step,"
		"microbatch,stage,t_start_ns,dur_ns\n"
		"r,0,chunk,F,,,,0,0,0,,100\n"
		"r,1,chunk,B,,,,0,0,0,,200\n"
		"r,2,chunk,F,,,,0,0,1,,110\n"
		"r,3,chunk,B,,,,0,0,1,,210\n"
		"r,4,chunk,F,governor,,,0,0,1,0,999\n"
		"r,5,chunk,F,resident,16,,0,0,7,0,999\n"
		"r,6,chunk,B,moving,,7,0,0,1,0,999\n"
		"r,7,chunk,B,replay,,,0,9,1,0,999\n"
		"r,8,host,F,,,,,,1,,5\n",
		NULL, NULL);
	const PipesimCosts *costs = calibration->costs;

	ck_assert_uint_eq(costs->n_parts, 2);
	ck_assert_int_eq(costs->part[PIPESIM_F], 100);
	ck_assert_int_eq(costs->part[PIPESIM_FB + PIPESIM_B], 210);
	ck_assert_uint_eq(costs->components->len, 4);
}
END_TEST

START_TEST(layers_multiply)
{
	g_autofree char *text = trace_layer("r,0,chunk,FB,pair,own,sustained,2000,ok\n");
	PipesimCalibrateOptions options = {0};

	options.layers = 4;
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(text, &options, NULL);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_F], 4 * 502);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], 4 * 2000);
	ck_assert(calibration->costs->has_pair);
	ck_assert_uint_eq(calibration->costs->layers, 4);
	ck_assert(!trace_has_notice(calibration->notices, "takes longer than F and B"));
}
END_TEST

static const struct {
	const char *extra, *message;
} incomplete[] = {
	{"r,0,dispatch,F,comm,own,sustained,5,ok\n",
		"not measured: dispatch I, combine F, combine I;"},
	{"r,0,dispatch,F,comm,own,sustained,5,warmup\n"
	 "r,0,combine,F,comm,own,sustained,5,ok\nr,0,combine,I,comm,own,sustained,5,ok\n",
		"not measured: dispatch F, dispatch I;"},
};

START_TEST(missing_components_are_named)
{
	g_autofree char *text = trace_layer(incomplete[_i].extra);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(trace_calibrate(text, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(
		strstr(error->message, incomplete[_i].message) != NULL, "%s", error->message);
}
END_TEST

START_TEST(missing_phases_are_named)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(trace_calibrate(TRACE_TOP TRACE_COLUMNS
		"r,0,attn,F,compute,own,,5,ok\nr,0,mlp,F,compute,own,,5,ok\n"
		"r,0,mlp,I,compute,own,,5,ok\n",
		NULL, &error));
	ck_assert_ptr_nonnull(
		strstr(error->message, "x.csv:1:1: not measured: attn I, attn W, mlp W;"));
}
END_TEST

START_TEST(loaded_rows_are_preferred)
{
	g_autofree char *text = trace_layer("s,0,mlp,F,compute,own,synced,7000,ok\n"
					    "b,0,mlp,F,compute,own,back_to_back,8000,ok\n");
	PipesimCalibrateOptions options = {0};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCalibration) loaded = trace_calibrate(text, NULL, NULL);

	ck_assert_int_eq(find(loaded, "mlp", "F")->figures.median, 401);
	options.wish.load_mode = "idle";
	ck_assert_ptr_null(trace_calibrate(text, &options, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_ptr_nonnull(strstr(error->message, "'sustained'"));
}
END_TEST

START_TEST(implementations_are_never_mixed)
{
	g_autofree char *text = trace_layer("r,0,mlp,F,compute,new,sustained,300,ok\n"
					    "r,0,mlp,I,compute,new,sustained,400,ok\n"
					    "r,0,mlp,W,compute,new,sustained,500,ok\n");
	PipesimCalibrateOptions options = {0};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCalibration) fastest = trace_calibrate(text, NULL, NULL);

	ck_assert_str_eq(find(fastest, "mlp", "W")->impl, "new");
	ck_assert_int_eq(fastest->costs->time[PIPESIM_F], 101 + 300);
	ck_assert(trace_has_notice(fastest->notices, "mlp: several implementations"));
	options.wish.impl = g_hash_table_new(g_str_hash, g_str_equal);
	g_hash_table_insert(options.wish.impl, (gpointer) "mlp", (gpointer) "own");
	g_autoptr(PipesimCalibration) own = trace_calibrate(text, &options, NULL);
	ck_assert_int_eq(own->costs->time[PIPESIM_F], 101 + 401);
	g_hash_table_insert(options.wish.impl, (gpointer) "mlp", (gpointer) "old");
	ck_assert_ptr_null(trace_calibrate(text, &options, &error));
	ck_assert_str_eq(
		error->message, "mlp was not measured as 'old'; there is 'own', 'new'");
	g_hash_table_unref(options.wish.impl);
}
END_TEST

/* However fast, and wherever it stands. */
START_TEST(implementations_of_more_phases_are_preferred)
{
	static const char half[] = "r,0,mlp,F,compute,half,sustained,3,ok\n"
				   "r,0,mlp,I,compute,half,sustained,3,ok\n";
	g_autofree char *whole = trace_layer(_i == 0 ? half : "");
	const char *rows = strstr(whole, TRACE_COLUMNS) + strlen(TRACE_COLUMNS);
	g_autofree char *first =
		g_strconcat(TRACE_TOP TRACE_COLUMNS, _i == 0 ? "" : half, rows, NULL);
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(first, NULL, NULL);

	for (guint phase = PIPESIM_F; phase <= PIPESIM_W; phase++)
		ck_assert_str_eq(
			find(calibration, "mlp", pipesim_phase_name((gint)phase))->impl, "own");
}
END_TEST

/* A mean stands for as many samples as it says, and spreads as it says. */
START_TEST(means_tell_their_samples)
{
	g_autoptr(PipesimCalibration) calibration =
		trace_calibrate("component,phase,mean_us,sd_us,samples\n"
				"chunk,F,1.5,0.25,500\nchunk,B,3,0.5,1\n",
			NULL, NULL);

	ck_assert_uint_eq(find(calibration, "chunk", "F")->figures.samples, 500);
	ck_assert_int_eq(find(calibration, "chunk", "F")->figures.sd, 250);
	ck_assert_int_eq(find(calibration, "chunk", "F")->figures.median, 1500);
	ck_assert_uint_eq(find(calibration, "chunk", "B")->figures.samples, 1);
}
END_TEST

/* The pair at 8 and 24 communication SMs, and attention at both. */
#define SPLITS                                                                                \
	TRACE_TOP "run_id,rep,component,phase,role,pair_id,sm_mode,sm_req,load_mode,dur_ns\n" \
		  "a,0,attn,F,compute,,none,132,sustained,100\n"                              \
		  "a,0,attn,I,compute,,none,132,sustained,100\n"                              \
		  "a,0,attn,W,compute,,none,132,sustained,100\n"                              \
		  "a,0,mlp,F,compute,,none,132,sustained,100\n"                               \
		  "a,0,mlp,I,compute,,none,132,sustained,100\n"                               \
		  "a,0,mlp,W,compute,,none,132,sustained,100\n"                               \
		  "b,0,chunk,FB,pair,1,grid,124,sustained,1000\n"                             \
		  "b/comm,0,chunk,FB,comm,1,grid,8,sustained,900\n"                           \
		  "b/compute,0,chunk,FB,compute,1,grid,124,sustained,900\n"                   \
		  "b/inside,0,mlp,F,compute,1,grid,124,sustained,150\n"                       \
		  "c,0,chunk,FB,pair,2,grid,108,sustained,2000\n"                             \
		  "c/comm,0,chunk,FB,comm,2,grid,24,sustained,900\n"

static const struct {
	gint64 compute, comm, pair;
	const char *notice;
} splits[] = {
	{0, 0, 1000, "several SM budgets"},
	{124, 8, 1000, "compute alone was not measured at the split asked for"},
	{108, 24, 2000, NULL},
	{120, 12, 1250,
		"the pair is interpolated between what was measured at 124+8 and at 108+24"},
	{100, 32, 2000,
		"the pair was not measured at the split asked for: the nearest, 108+24 SMs"},
};

START_TEST(splits_are_found_or_interpolated)
{
	PipesimCalibrateOptions options = {0};

	options.wish.compute_sms = splits[_i].compute;
	options.wish.comm_sms = splits[_i].comm;
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(SPLITS, &options, NULL);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], splits[_i].pair);
	if (splits[_i].notice != NULL)
		ck_assert(trace_has_notice(calibration->notices, splits[_i].notice));
}
END_TEST

START_TEST(sharing_is_the_fastest_at_a_split)
{
	PipesimCalibrateOptions options = {0};

	options.wish.compute_sms = 124;
	options.wish.comm_sms = 8;
	/* 'green' comes before 'grid' in the alphabet. */
	g_autoptr(PipesimCalibration) calibration =
		trace_calibrate(SPLITS "d,0,chunk,FB,pair,3,green,124,sustained,3000\n"
				       "d/comm,0,chunk,FB,comm,3,green,8,sustained,2900\n",
			&options, NULL);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], 1000);
	ck_assert(trace_has_notice(calibration->notices, "'grid 124+8' is used, the fastest"));
}
END_TEST

START_TEST(interference_is_told)
{
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(SPLITS, NULL, NULL);

	ck_assert(trace_has_notice(calibration->notices, "takes longer than F and B"));
	ck_assert_double_eq_tol(find(calibration, "mlp", "F")->in_pair, 1.5, 1e-12);
	ck_assert_double_eq_tol(find(calibration, "chunk-compute", "FB")->in_pair, 1.5, 1e-12);
	ck_assert_int_eq(find(calibration, "mlp", "F")->figures.median, 100);
}
END_TEST

START_TEST(halves_are_of_the_pair)
{
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(TRACE_TOP
		"run_id,rep,component,phase,role,pair_id,impl,dur_ns\n"
		"a,0,attn,F,compute,,c,100\na,0,attn,I,compute,,c,100\n"
		"a,0,attn,W,compute,,c,100\na,0,mlp,F,compute,,c,100\n"
		"a,0,mlp,I,compute,,c,100\na,0,mlp,W,compute,,c,100\n"
		"b,0,chunk,FB,pair,1,c+far,1000\nb/comm,0,chunk,FB,comm,1,far,900\n"
		"d,0,chunk,FB,pair,2,c+near,800\nd/comm,0,chunk,FB,comm,2,near,700\n",
		NULL, NULL);
	guint halves = 0;

	for (guint i = 0; i < calibration->costs->components->len; i++) {
		const PipesimComponent *component =
			g_ptr_array_index(calibration->costs->components, i);
		halves += g_str_equal(component->component, "chunk-comm");
	}
	ck_assert_uint_eq(halves, 1);
	ck_assert_int_eq(find(calibration, "chunk-comm", "FB")->figures.median, 700);
}
END_TEST

START_TEST(waiting_is_no_cost)
{
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(TRACE_TOP
		"run_id,rep,component,phase,role,rows,dur_ns,move_ns,wait_ns\n"
		"r,0,attn,F,compute,,100,,\nr,0,attn,I,compute,,100,,\n"
		"r,0,attn,W,compute,,100,,\nr,0,mlp,F,compute,10,120,,\n"
		"r,1,mlp,F,compute,20,140,,\nr,2,mlp,F,compute,30,160,,\n"
		"r,0,mlp,I,compute,,100,,\nr,0,mlp,W,compute,,100,,\n"
		"r,0,dispatch,F,comm,,90,30,60\nr,0,dispatch,I,comm,,80,30,50\n"
		"r,0,combine,F,comm,,70,30,40\nr,0,combine,I,comm,,60,30,30\n",
		NULL, NULL);
	const PipesimComponent *dispatch = find(calibration, "dispatch", "F");
	const PipesimComponent *mlp = find(calibration, "mlp", "F");

	ck_assert_int_eq(calibration->costs->time[PIPESIM_F], 100 + 30 + 140 + 30);
	ck_assert_int_eq(dispatch->figures.median, 30);
	ck_assert_int_eq(dispatch->busy_mean, 90);
	ck_assert_int_eq(dispatch->move, 30);
	ck_assert_int_eq(dispatch->wait, 60);
	ck_assert_int_eq(mlp->rows, 20);
	ck_assert_double_eq_tol(mlp->fit.base, 100, 1e-6);
	ck_assert_double_eq_tol(mlp->fit.slope, 2, 1e-9);
}
END_TEST

START_TEST(other_rows_serve_the_line_alone)
{
	g_autoptr(GString) text =
		g_string_new(TRACE_TOP "run_id,rep,component,phase,rows,dur_ns\n"
				       "r,0,attn,F,,100\nr,0,attn,I,,100\nr,0,attn,W,,100\n"
				       "r,0,mlp,I,,100\nr,0,mlp,W,,100\n");

	for (guint rep = 0; rep < 10; rep++)
		g_string_append_printf(text, "r,%u,mlp,F,1000,2000\n", rep);
	for (guint rep = 0; rep < 5; rep++)
		g_string_append_printf(
			text, "s,%u,mlp,F,1500,2500\nt,%u,mlp,F,500,1500\n", rep, rep);
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(text->str, NULL, NULL);
	const PipesimComponent *mlp = find(calibration, "mlp", "F");
	ck_assert_uint_eq(mlp->figures.samples, 10);
	ck_assert_int_eq(mlp->figures.max, 2000);
	ck_assert_int_eq(mlp->rows, 1000);
	ck_assert_double_eq_tol(mlp->fit.base, 1000, 1e-6);
	ck_assert_double_eq_tol(mlp->fit.slope, 1, 1e-9);
}
END_TEST

START_TEST(ranks_have_rows_of_their_own)
{
	g_autoptr(GString) text = g_string_new(
		TRACE_TOP "run_id,rep,rank,component,phase,rows,dur_ns\n"
			  "r,0,0,attn,F,,100\nr,0,0,attn,I,,100\n"
			  "r,0,0,attn,W,,100\nr,0,0,mlp,I,,100\nr,0,0,mlp,W,,100\n");

	/* Both ranks run the micro-batch; the second is sent more of it. */
	for (guint rep = 0; rep < 10; rep++)
		g_string_append_printf(
			text, "r,%u,0,mlp,F,900,1900\nr,%u,1,mlp,F,1100,2100\n", rep, rep);
	for (guint rep = 0; rep < 5; rep++)
		g_string_append_printf(
			text, "s,%u,0,mlp,F,400,1400\ns,%u,1,mlp,F,600,1600\n", rep, rep);
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(text->str, NULL, NULL);
	const PipesimComponent *mlp = find(calibration, "mlp", "F");
	ck_assert_uint_eq(mlp->figures.samples, 20);
	ck_assert_int_eq(mlp->figures.min, 1900);
	ck_assert_int_eq(mlp->figures.max, 2100);
	ck_assert_double_eq_tol(mlp->fit.slope, 1, 1e-9);
}
END_TEST

START_TEST(whole_chunks_have_no_line)
{
	g_autoptr(PipesimCalibration) calibration =
		trace_calibrate(TRACE_TOP "run_id,rep,rank,component,phase,rows,dur_ns\n"
					  "r,0,0,chunk,F,10,300\nr,0,1,chunk,F,20,200\n"
					  "r,1,0,chunk,F,10,300\nr,1,1,chunk,F,20,200\n"
					  "r,0,0,chunk,I,,100\nr,0,0,chunk,W,,100\n",
			NULL, NULL);

	ck_assert_double_eq(find(calibration, "chunk", "F")->fit.slope, 0);
}
END_TEST

START_TEST(links_are_fitted)
{
	g_autofree char *layer = trace_layer("");
	g_autoptr(PipesimTrace) compute = trace_of(layer);
	g_autoptr(PipesimTrace) link =
		trace_of(TRACE_TOP "#complete,0\n#tokens,1000\n#model,x hidden=2000 heads=4\n"
				   "run_id,rep,component,phase,role,payload_bytes,dur_ns\n"
				   "r,0,p2p,F,comm,1000,11000\nr,0,p2p,F,comm,1000000,1010000\n"
				   "r,0,p2p,F,comm,2000000,2010000\n");
	PipesimTrace *const traces[] = {compute, link};
	PipesimCalibrateOptions options = {0};

	g_autoptr(PipesimCalibration) calibration =
		pipesim_calibrate(traces, 2, &options, NULL);
	ck_assert_int_eq(calibration->costs->link_latency, 10000);
	ck_assert_int_eq(calibration->costs->link_bandwidth, 1000000000);
	ck_assert_int_eq(calibration->costs->p2p, 4010000);
	ck_assert(trace_has_notice(calibration->notices, "the capture was interrupted"));
	ck_assert_str_eq(calibration->costs->source, "Test GPU, x.csv, 1 layer");
}
END_TEST

/* Two stages: 100 ns, swinging to 116, and once a hiccup. */
static char *swinging_stages(const char *metadata)
{
	GString *text = g_string_new(TRACE_TOP);

	g_string_append_printf(
		text, "%srun_id,rep,component,phase,stage,microbatch,dur_ns\n", metadata);
	for (guint stage = 0; stage < 2; stage++)
		for (guint i = 0; i < 12; i++) {
			const guint took = i == 11 ? 5000 : i < 7 ? 100 : 116;

			g_string_append_printf(text, "s%u,%u,chunk,F,%u,%u,%u\n", stage, i,
				stage, i, took + 100 * stage);
			g_string_append_printf(text, "s%u,%u,chunk,B,%u,%u,%u\n", stage, i,
				stage, i, 2 * took);
		}
	return g_string_free(text, FALSE);
}

START_TEST(stages_take_medians_or_means)
{
	g_autofree char *plain = swinging_stages("");
	g_autofree char *told = swinging_stages("#stage_figure,mean\n");
	g_autofree char *wrong = swinging_stages("#stage_figure,most\n");
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimCalibration) medians = trace_calibrate(plain, NULL, &error);
	g_autoptr(PipesimCalibration) means = trace_calibrate(told, NULL, &error);

	ck_assert_msg(
		medians != NULL && means != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_int_eq(medians->costs->part[PIPESIM_F], 100);
	/* (7 * 100 + 4 * 116) / 11: without the hiccup */
	ck_assert_int_eq(means->costs->part[PIPESIM_F], 106);
	ck_assert_int_eq(means->costs->part[PIPESIM_B], 212);
	ck_assert_int_eq(means->costs->part[PIPESIM_FB + PIPESIM_F], 206);
	ck_assert_ptr_null(trace_calibrate(wrong, NULL, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "stage_figure 'most'; mean or median"));
}
END_TEST

START_TEST(reference_trace_adds_up)
{
	g_autofree char *path = shared_file("deepseek-dualpipe-train.csv");
	const char *const paths[] = {path, NULL};
	PipesimCalibrateOptions options = {0};

	if (path == NULL)
		return;
	g_autoptr(PipesimCalibration) calibration =
		pipesim_costs_from_traces(paths, &options, NULL);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], 129012000);
	ck_assert_uint_eq(calibration->costs->layers, 4);
	ck_assert_int_eq(find(calibration, "dispatch", "F")->busy_mean, 6690250);
}
END_TEST

/* Costs files --------------------------------------------------------------------------------
 */

static void compare_components(const PipesimComponent *a, const PipesimComponent *b)
{
	ck_assert_str_eq(a->component, b->component);
	ck_assert_str_eq(a->phase, b->phase);
	ck_assert_str_eq(a->impl, b->impl);
	ck_assert_uint_eq(a->figures.samples, b->figures.samples);
	ck_assert_int_eq(a->figures.sd, b->figures.sd);
	ck_assert_int_eq(a->wait, b->wait);
	ck_assert_mem_eq(a->figures.quantile, b->figures.quantile, sizeof a->figures.quantile);
	ck_assert_mem_eq(&a->figures.lag1, &b->figures.lag1, sizeof a->figures.lag1);
	ck_assert_mem_eq(&a->in_pair, &b->in_pair, sizeof a->in_pair);
	ck_assert_mem_eq(&a->fit.residual, &b->fit.residual, sizeof a->fit.residual);
}

START_TEST(costs_survive_the_file)
{
	g_autoptr(PipesimCalibration) calibration = trace_calibrate(SPLITS, NULL, NULL);
	PipesimCosts *costs = calibration->costs;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	costs->bytes_until_input = 3;
	costs->bytes_until_weight = G_MAXINT64;
	costs->link_latency = 77;
	ck_assert(pipesim_costs_parse_scale(costs, "0=1.3,3=0.25", "x", 4, NULL));
	pipesim_costs_write(costs, first);
	g_autoptr(PipesimCosts) copy = pipesim_costs_read_ini(
		pipesim_ini_parse(first->str, first->len, "x.ini", NULL), NULL);
	ck_assert_ptr_nonnull(copy);
	ck_assert_mem_eq(copy->time, costs->time, sizeof copy->time);
	ck_assert_int_eq(copy->has_pair, costs->has_pair);
	ck_assert_int_eq(copy->bytes_until_weight, G_MAXINT64);
	ck_assert_str_eq(copy->source, costs->source);
	ck_assert_uint_eq(copy->components->len, costs->components->len);
	for (guint i = 0; i < copy->components->len; i++)
		compare_components(copy->components->pdata[i], costs->components->pdata[i]);
	pipesim_costs_write(copy, second);
	ck_assert_str_eq(first->str, second->str);
}
END_TEST

#define HEADING "[pipesim-costs]\nversion=1\n"
static const struct {
	const char *text, *message;
} bad_files[] = {
	{"", "x.ini:1:1: [pipesim-costs]: 'version=1' is missing"},
	{"[pipesim-costs]\nversion=2\n", "x.ini:2:9: [pipesim-costs] version: version '2'"},
	{HEADING "[times]\nF=1\nI=1\n", "x.ini:3:1: [times]: key 'W' is missing"},
	{HEADING "[times]\nF=1\nI= -1\nW=1\n", "x.ini:5:4: [times] I: '-1' is out of range"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-times]\nF=1;2\nI=1;2\nW=1\n",
		"x.ini:10:3: [stage-times] W: 1 times, but 2 before it"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-times]\nF=1;x\n",
		"x.ini:8:3: [stage-times] F: 1 to"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-times]\nF=1\nI=1\nW=1\n[stage-scale]\n"
		 "parts=1\n",
		"x.ini:11:1: [stage-scale]: the times of stages stand in [stage-times]"},
	{HEADING "[times]\nF=nan\nI=1\nW=1\n", "x.ini:4:3: [times] F: 'nan' is not a number"},
	{HEADING "[times]\nF=1.5\nI=1\nW=1\n", "[times] F: '1.5' is not a whole number"},
	{HEADING "[times]\nF=1\nI=1\nW=99999999999999999999\n", "is out of range"},
	{HEADING "[times]\nF=1\nI=1\nW=1\nQ=1\n", "x.ini:7:3: [times] Q: no such key"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[time]\n", "x.ini:7:1: [time]: no such group"},
	{HEADING "[times]\nF=1\nI=1\nW=1\nwhat\n", "x.ini:7:1: not a costs file"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-scale]\nparts=2\n0=-1\n",
		"x.ini:9:3: [stage-scale] 0: '-1' is not a length"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-scale]\nparts=4\n4=1\n",
		"[stage-scale] 4: no such part; they are 0 to 3"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-scale]\n0=1\n",
		"x.ini:7:1: [stage-scale]: key 'parts' is missing"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[stage-scale]\nparts=0\n",
		"x.ini:8:7: [stage-scale] parts: '0' is not a number of parts"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[component 1]\ncomponent=attn\n",
		"[component 1]: key 'phase' is missing"},
	{"F=1\n", "x.ini:1:1: not a costs file: 'F' comes before any [group]"},
	{HEADING "[times]\nF=1\nI=1\nW=1\n[source]\ntext = a\\b\n",
		"x.ini:8:8: [source] text: 'a\\b' has a backslash before none of"},
};

START_TEST(bad_costs_files_name_their_place)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(
		pipesim_costs_read_ini(pipesim_ini_parse(bad_files[_i].text,
					       strlen(bad_files[_i].text), "x.ini", &error),
			&error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(strstr(error->message, bad_files[_i].message) != NULL, "'%s' lacks '%s'",
		error->message, bad_files[_i].message);
}
END_TEST

START_TEST(what_is_missing_follows)
{
	static const char text[] =
		HEADING "[times]\nF=3\nI=2\nW=1\n[stage-scale]\nparts=8\n2=5/4\n";
	g_autoptr(PipesimCosts) costs = pipesim_costs_read_ini(
		pipesim_ini_parse(text, strlen(text), "x.ini", NULL), NULL);

	ck_assert_int_eq(costs->time[PIPESIM_B], 3);
	ck_assert_int_eq(costs->time[PIPESIM_FB], 6);
	ck_assert(!costs->has_pair);
	ck_assert_uint_eq(costs->n_scale, 8);
	ck_assert_int_eq(costs->scale[2].num, 5);
	ck_assert_int_eq(costs->scale[0].den, 1);
}
END_TEST

Suite *measure_calibrate_suite(void)
{
	Suite *suite = suite_create("measure-calibrate");
	TCase *calibrate = tcase_create("calibrate");
	TCase *file = tcase_create("costs file");

	tcase_add_test(calibrate, medians_add_up);
	tcase_add_test(calibrate, series_count_for_nothing_else);
	tcase_add_test(calibrate, layers_multiply);
	tcase_add_loop_test(
		calibrate, missing_components_are_named, 0, G_N_ELEMENTS(incomplete));
	tcase_add_test(calibrate, missing_phases_are_named);
	tcase_add_test(calibrate, loaded_rows_are_preferred);
	tcase_add_test(calibrate, implementations_are_never_mixed);
	tcase_add_loop_test(calibrate, implementations_of_more_phases_are_preferred, 0, 2);
	tcase_add_test(calibrate, means_tell_their_samples);
	tcase_add_loop_test(
		calibrate, splits_are_found_or_interpolated, 0, G_N_ELEMENTS(splits));
	tcase_add_test(calibrate, sharing_is_the_fastest_at_a_split);
	tcase_add_test(calibrate, interference_is_told);
	tcase_add_test(calibrate, halves_are_of_the_pair);
	tcase_add_test(calibrate, waiting_is_no_cost);
	tcase_add_test(calibrate, other_rows_serve_the_line_alone);
	tcase_add_test(calibrate, ranks_have_rows_of_their_own);
	tcase_add_test(calibrate, whole_chunks_have_no_line);
	tcase_add_test(calibrate, links_are_fitted);
	tcase_add_test(calibrate, reference_trace_adds_up);
	tcase_add_test(calibrate, stages_take_medians_or_means);
	tcase_add_test(file, costs_survive_the_file);
	tcase_add_loop_test(file, bad_costs_files_name_their_place, 0, G_N_ELEMENTS(bad_files));
	tcase_add_test(file, what_is_missing_follows);
	suite_add_tcase(suite, calibrate);
	suite_add_tcase(suite, file);
	return suite;
}
