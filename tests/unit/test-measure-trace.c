#include "grid.h"
#include "measure/reader.h"
#include "trace-text.h"

#include <string.h>
#include <sys/resource.h>

#define ROW "r,0,attn,F,compute,own,sustained,100,ok\n"

START_TEST(rows_are_read)
{
	g_autoptr(PipesimTrace) trace =
		trace_of("\xef\xbb\xbf#version,1\r\n#note,\"a,b\",c\r\n"
			 "odd,component,phase,run_id,rep,wait_ns,dur_ns,rank,"
			 "sm_req,sm_actual\r\n"
			 "1,\"mlp\",W,r,7,5,100,2,112+20,132\r\n");
	const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, 0);

	ck_assert_uint_eq(trace->rows->len, 1);
	ck_assert_str_eq(row->what.component, "mlp");
	ck_assert_int_eq(row->what.phase, PIPESIM_W);
	ck_assert_int_eq(row->rep, 7);
	ck_assert_int_eq(row->duration, 100);
	ck_assert_int_eq(row->busy, 100);
	ck_assert_int_eq(row->wait, 5);
	ck_assert_int_eq(row->move, PIPESIM_UNKNOWN);
	ck_assert_int_eq(row->rank, 2);
	ck_assert_int_eq(row->what.compute_sms, 112);
	ck_assert_int_eq(row->what.comm_sms, 20);
	ck_assert_uint_eq(row->status, PIPESIM_STATUS_OK);
	ck_assert_str_eq(row->what.impl, "");
	ck_assert_str_eq(pipesim_trace_get(trace, "note"), "a,b,c");
	ck_assert(trace_has_notice(trace->notices, "columns ignored: odd"));
}
END_TEST

static const struct {
	const char *text, *message;
} bad[] = {
	{"", "x.csv:1:1: a trace without rows"},
	{TRACE_TOP TRACE_COLUMNS, "x.csv:1:1: a trace without rows"},
	{TRACE_COLUMNS ROW, "x.csv:1:1: no '#version,1' line"},
	{"#version,2\n" TRACE_COLUMNS ROW, "x.csv:1:10: trace version '2', but only version 1"},
	{"#format,other\n#version,1\n" TRACE_COLUMNS ROW, "x.csv:1:9: format 'other'"},
	{"#version,1\nrun_id,rep,component,phase\nr,0,attn,F\n",
		"x.csv:2:1: column 'dur_ns' is missing"},
	{"#version,1\nrun_id,rep,phase,dur_ns\nr,0,F,1\n", "column 'component' is missing"},
	{"#version,1\nrun_id,rep,rep,component,phase,dur_ns\n",
		"x.csv:2:12: column 'rep' appears twice"},
	{TRACE_TOP TRACE_COLUMNS ROW ROW,
		"x.csv:6:1: the same run_id, rep, component, phase and rank "
		"as line 5"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,-1,ok\n",
		"x.csv:5:34: dur_ns '-1' is negative"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,nan,ok\n",
		"x.csv:5:34: dur_ns 'nan' is not a number"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,1.5,ok\n",
		"x.csv:5:34: dur_ns '1.5' is not a whole number"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,99999999999999999999,ok\n",
		"is out of range"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,9000000000000000000,ok\n",
		"is out of range"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,,ok\n",
		"x.csv:5:1: a row of status ok without a duration"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,Q,compute,own,sustained,1,ok\n",
		"x.csv:5:10: phase 'Q'"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,host,own,sustained,1,ok\n",
		"x.csv:5:12: role 'host'"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,1,fine\n",
		"x.csv:5:36: status 'fine'"},
	{TRACE_TOP TRACE_COLUMNS "r,0,,F,compute,own,sustained,1,ok\n",
		"x.csv:5:1: the component has no name"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F\n",
		"x.csv:5:1: 4 cells, but the header has 9 columns"},
	{TRACE_TOP TRACE_COLUMNS ROW "r,1,at",
		"x.csv:6:1: 3 cells, but the header has 9 columns; the "
		"file is truncated"},
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,100,ok",
		"x.csv:5:1: the last line does not end with a newline: the file is truncated"},
	{TRACE_TOP TRACE_COLUMNS "r,0,\"attn,F\n", "x.csv:5:5: the quote of this cell"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,sm_req\nr,0,attn,F,1,all\n",
		"x.csv:5:14: sm_req 'all' is not a number of SMs"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,series\nr,0,attn,F,1,governer\n",
		"x.csv:5:14: series 'governer', but governor, waiting, resident, moving, "
		"replay, exchange, step or nothing is expected"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,series\nr,0,attn,F,1,governor\n",
		"x.csv:5:1: a row of series 'governor' without t_start_ns and dur_ns;"},
	{TRACE_TOP "run_id,rep,component,phase,t_start_ns,dur_ns,series,status\n"
		   "r,0,attn,F,1,,waiting,warmup\n",
		"x.csv:5:1: a row of series 'waiting' without t_start_ns and dur_ns;"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,resident_sms\nr,0,attn,F,1,1.5\n",
		"x.csv:5:14: resident_sms '1.5' is not a whole number"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,power_w\nr,0,attn,F,1,-3\n",
		"x.csv:5:14: power_w '-3' is negative"},
};

/* Least and most of what is accepted: what the first row takes, or the message of the neighbour that is refused. */
#define NCCL "# nThread 1 nGpus 2\n"
static const struct {
	const char *text;
	gint64 took;
	const char *message;
} edges[] = {
	{TRACE_TOP TRACE_COLUMNS "r,0,attn,F,compute,own,sustained,0,ok\n", 0, NULL},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,resident_sms\nr,0,attn,F,1,0\n", 1, NULL},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,resident_sms\nr,0,attn,F,1,-1\n", 0,
		"resident_sms '-1'"},
	{TRACE_TOP "run_id,rep,component,phase,dur_ns,power_w\nr,0,attn,F,1,0\n", 1, NULL},
	{NCCL " 0 0 float none -1 0 0 0 0\n", 0, NULL},
	{NCCL " 8 2 float none -1 1.5 0 0 N/A 1.4 0 0 N/A\n", 1500, NULL},
	{NCCL " 8 2 float none -1 -1 0 0 0\n", 0, "not a line of an nccl-tests table"},
	{NCCL " 8 2 float none -1 1.5 0 0\n", 0, "not a line of an nccl-tests table"},
};

START_TEST(edges_of_what_is_read)
{
	if (edges[_i].message != NULL) {
		g_autofree char *message = trace_refused(edges[_i].text);

		ck_assert_msg(strstr(message, edges[_i].message) != NULL, "'%s' lacks '%s'",
			message, edges[_i].message);
		return;
	}
	g_autoptr(PipesimTrace) trace = trace_of(edges[_i].text);
	const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, 0);

	ck_assert_int_eq(row->duration, edges[_i].took);
	ck_assert_int_eq(row->status, PIPESIM_STATUS_OK);
}
END_TEST

START_TEST(bad_traces_name_their_place)
{
	g_autofree char *message = trace_refused(bad[_i].text);

	ck_assert_msg(strstr(message, bad[_i].message) != NULL, "'%s' lacks '%s'", message,
		bad[_i].message);
}
END_TEST

START_TEST(twenty_faults_are_told)
{
	g_autoptr(GString) text = g_string_new(TRACE_TOP TRACE_COLUMNS);
	guint lines = 1;

	for (guint i = 0; i < 30; i++)
		g_string_append_printf(text, "r,%u,attn,F,compute,own,sustained,-1,ok\n", i);
	g_autofree char *message = trace_refused(text->str);
	for (const char *p = message; *p != '\0'; p++)
		lines += *p == '\n';
	ck_assert_uint_eq(lines, 21);
	ck_assert_ptr_nonnull(strstr(message, "\nand 10 more"));
}
END_TEST

/* Small when packed: what is read of it before it is refused does not fill the memory. */
START_TEST(rows_without_end_are_refused)
{
	const guint n = (1u << 21) + 1;
	g_autoptr(GString) text = g_string_sized_new((gsize)n * 14 + 64);
	g_autoptr(PipesimTrace) trace = NULL;
	g_autoptr(GError) error = NULL;
	struct rusage usage;

	g_string_append(text, "step,stage,microbatch,op,start_us,dur_us\n");
	for (guint i = 0; i < n; i++)
		g_string_append(text, _i == 0 ? "0,0,0,F,0,1\n" : "0,0,0,x,0,1\n");
	trace = pipesim_trace_read(
		pipesim_input_new_memory("x.csv", text->str, text->len), NULL, &error);
	ck_assert_ptr_null(trace);
	ck_assert_str_eq(error->message, "x.csv:1:1: more than 2097152 rows; split the trace");
	ck_assert_int_eq(getrusage(RUSAGE_SELF, &usage), 0);
	/* KiB; sanitizers keep what was freed. */
	if (g_getenv("PIPESIM_SANITIZED") == NULL)
		ck_assert_int_lt(usage.ru_maxrss, 1 << 20);
}
END_TEST

START_TEST(series_are_read)
{
	g_autoptr(PipesimTrace) trace =
		trace_of(TRACE_TOP "run_id,rep,component,phase,series,resident_sms,t_start_ns,"
				   "dur_ns,clk_sm_mhz,power_w\n"
				   "r,0,attn,F,,,,100,,\n"
				   "r,0,attn,F,governor,,500,100,1605,691.25\n"
				   "r,0,attn,F,resident,16,500,100,,\n"
				   "r,0,attn,F,resident,0,500,100,,\n");
	const PipesimTraceRow *rows = (const PipesimTraceRow *)(gpointer)trace->rows->data;

	ck_assert_uint_eq(trace->rows->len, 4);
	ck_assert_uint_eq(rows[0].what.series, PIPESIM_SERIES_NONE);
	ck_assert_int_eq(rows[0].clock, PIPESIM_UNKNOWN);
	ck_assert_int_eq(rows[0].power, PIPESIM_UNKNOWN);
	ck_assert_uint_eq(rows[1].what.series, PIPESIM_SERIES_GOVERNOR);
	ck_assert_int_eq(rows[1].start, 500);
	ck_assert_int_eq(rows[1].clock, 1605);
	ck_assert_int_eq(rows[1].power, 691250);
	ck_assert_int_eq(rows[1].resident, PIPESIM_UNKNOWN);
	ck_assert_uint_eq(rows[2].what.series, PIPESIM_SERIES_RESIDENT);
	ck_assert_int_eq(rows[2].resident, 16);
	ck_assert_int_eq(rows[3].resident, 0);
}
END_TEST

START_TEST(conditions_tell_rows_apart)
{
	g_autoptr(PipesimTrace) trace = trace_of(
		TRACE_TOP "run_id,rep,component,phase,rank,load_mode,impl,part,dur_ns,status\n"
			  "r,0,attn,F,0,synced,a,,1,ok\n"
			  "r,0,attn,F,1,synced,a,,1,ok\n"
			  "r,0,attn,F,0,sustained,a,,1,ok\n"
			  "r,0,attn,F,0,synced,b,,1,ok\n"
			  "r,0,attn,F,0,synced,a,q_up,1,ok\n"
			  "r,0,attn,F,0,synced,a,,,checksum_fail\n");

	ck_assert_uint_eq(trace->rows->len, 6);
}
END_TEST

START_TEST(halves_of_a_pair_share_its_split)
{
	g_autoptr(PipesimTrace) trace =
		trace_of(TRACE_TOP "run_id,rep,component,phase,pair_id,role,sm_req,dur_ns\n"
				   "r,0,chunk,FB,3,pair,,9\n"
				   "r/compute,0,chunk,FB,3,compute,112,8\n"
				   "r/comm,0,chunk,FB,3,comm,20,7\n");

	for (guint i = 0; i < 3; i++) {
		const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, i);
		ck_assert_int_eq(row->what.compute_sms, 112);
		ck_assert_int_eq(row->what.comm_sms, 20);
	}
}
END_TEST

START_TEST(pairs_have_the_pace_of_their_communication)
{
	g_autoptr(PipesimTrace) trace =
		trace_of(TRACE_TOP "run_id,rep,component,phase,pair_id,role,chunk_tokens,"
				   "pace_gbps,dur_ns\n"
				   "r,0,chunk,FB,3,pair,,,9\n"
				   "r/inside,0,dispatch,F,3,comm,4,40,8\n"
				   "r,1,chunk,FB,4,pair,,,9\n"
				   "r/inside,1,dispatch,F,4,comm,4,0,8\n");

	ck_assert_str_eq(
		g_array_index(trace->rows, PipesimTraceRow, 0).what.variant, "pace_gbps=40");
	ck_assert_str_eq(g_array_index(trace->rows, PipesimTraceRow, 1).what.variant,
		"chunk_tokens=4 pace_gbps=40");
	ck_assert_str_eq(g_array_index(trace->rows, PipesimTraceRow, 2).what.variant, "");
}
END_TEST

/* The first bytes of each kind of file, and what then reads it. */
static const struct {
	const char *head, *reader;
} heads[] = {
	{"\xef\xbb\xbf \n{\"traceEvents\":", "pytorch"},
	{"[{\"ph\":", "pytorch"},
	{"SQLite format 3", "sqlite"},
	{"\a\n\0050.0.4", "chakra"},
	{"Generating ...\n\nStart (ns),Duration (ns),CorrId,Name\n", "nsys"},
	{"Name,Projected Start (us),Projected Duration (us)\n", "nsys"},
	{"# nThread 1 nGpus 2\n", "nccl"},
	{"pipesim-part 0.1.0 ", "part"},
	{" 1: (min, max) time across ranks (ms):\n", "megatron"},
	{"  pipeline_model_parallel_size .... 4\n", "megatron"},
	{"# by hand\nphase,mean_us,component\n", "summary"},
	{TRACE_TOP TRACE_COLUMNS, "csv"},
	{"run_id,rep,component,phase,mean_s_of\n", "csv"},
	{"", "csv"},
};

static const struct {
	const char *name;
	const PipesimReader *reader;
} readers[] = {
#define READER(id) {#id, &pipesim_reader_##id},
#include "measure/list.h"
#undef READER
};

START_TEST(content_chooses_the_reader)
{
	const PipesimReader *found = pipesim_reader_find(heads[_i].head);
	guint i = 0;

	while (i < G_N_ELEMENTS(readers) && readers[i].reader != found)
		i++;
	ck_assert_uint_lt(i, G_N_ELEMENTS(readers));
	ck_assert_msg(g_str_equal(readers[i].name, heads[_i].reader), "'%s' is read as a %s",
		heads[_i].head, found->name);
}
END_TEST

/* What is left out of one column stands in the other that fills the same field. */
START_TEST(load_instructions_belong_to_the_implementation)
{
	g_autoptr(PipesimTrace) trace = trace_of(
		TRACE_TOP "run_id,rep,component,phase,pair_id,context,impl,ld_mode,layer,"
			  "dur_ns\n"
			  "r,0,attn,F,3,,own,nc256,all,9\nr,1,attn,F,,,own,,0,9\n");
	const PipesimTraceRow *rows = &g_array_index(trace->rows, PipesimTraceRow, 0);

	ck_assert_str_eq(rows[0].what.impl, "own/nc256");
	ck_assert(rows[0].what.whole_chunk && rows[0].what.in_pair);
	ck_assert_str_eq(rows[0].pair_id, "3");
	ck_assert_str_eq(rows[1].what.impl, "own");
	ck_assert(!rows[1].what.whole_chunk && !rows[1].what.in_pair);
}
END_TEST

START_TEST(reference_trace_is_read)
{
	g_autofree char *path = shared_file("deepseek-dualpipe-train.csv");
	g_autoptr(GError) error = NULL;

	if (path == NULL)
		return;
	g_autoptr(PipesimTrace) trace =
		pipesim_trace_read(pipesim_input_open(path, &error), NULL, &error);
	ck_assert_msg(trace != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_uint_eq(trace->rows->len, 41);
	ck_assert_str_eq(pipesim_trace_get(trace, "device_name"), "NVIDIA H800");
	ck_assert_int_eq(g_array_index(trace->rows, PipesimTraceRow, 0).move, 3320000);
}
END_TEST

#define LAYER "hidden=7168 heads=128 inter=2048 shared_inter=2048"

/* Each of them 0, or missing, is a layer that nobody knows. */
static const struct {
	const char *model, *tokens, *seq;
	gboolean told;
} layers[] = {
	{LAYER, "4096", "4096", TRUE},
	{LAYER, "1", "1", TRUE},
	{LAYER, "0", "4096", FALSE},
	{LAYER, "4096", "0", FALSE},
	{LAYER, "4096", "", FALSE},
	{"hidden=0 heads=128 inter=2048 shared_inter=2048", "4096", "4096", FALSE},
	{"hidden=7168 heads=0 inter=2048 shared_inter=2048", "4096", "4096", FALSE},
	{"hidden=7168 heads=128 inter=0 shared_inter=2048", "4096", "4096", FALSE},
	{"hidden=7168 heads=128 inter=2048 shared_inter=0", "4096", "4096", FALSE},
	{"hidden=7168 heads=128 inter=2048", "4096", "4096", FALSE},
};

START_TEST(whole_layers_alone_are_told)
{
	g_autofree char *text = g_strdup_printf(
		"#version,1\n#model,deepseek-v3 %s\n#tokens,%s\n#seq,%s\n" TRACE_COLUMNS
		"r,0,attn,F,compute,own,sustained,100,ok\n",
		layers[_i].model, layers[_i].tokens, layers[_i].seq);
	g_autoptr(PipesimTrace) trace = trace_of(text);
	PipesimMeasuredLayer layer = {.hidden = -1};

	pipesim_trace_tell_layer(trace, &layer);
	ck_assert_int_eq(layer.hidden, layers[_i].told ? 7168 : -1);
}
END_TEST

/* Statistics ---------------------------------------------------------------------------------
 */

START_TEST(figures_of_a_sample)
{
	static const gint64 values[] = {40, 10, 30, 20, 50};
	PipesimDistribution figures;

	pipesim_distribution_init(&figures, values, 5);
	ck_assert_uint_eq(figures.samples, 5);
	ck_assert_int_eq(figures.median, 30);
	ck_assert_int_eq(figures.mean, 30);
	ck_assert_int_eq(figures.sd, 16);
	ck_assert_int_eq(figures.min, 10);
	ck_assert_int_eq(figures.max, 50);
	ck_assert_int_eq(figures.quantile[0], 10);
	ck_assert_int_eq(figures.quantile[1], 12);
	ck_assert_int_eq(figures.quantile[20], 50);
	/* deviations 10 -20 0 -10 20: products -200 0 0 -200 over 1000 */
	ck_assert_double_eq_tol(figures.lag1, -0.4, 1e-12);
	pipesim_distribution_init(&figures, values, 2);
	ck_assert_int_eq(figures.median, 25);
	pipesim_distribution_init(&figures, values, 1);
	ck_assert_int_eq(figures.sd, 0);
}
END_TEST

START_TEST(lines_are_fitted)
{
	static const gint64 x[] = {0, 10, 20, 30}, y[] = {100, 120, 140, 160};
	static const gint64 same[] = {7, 7, 7, 7};
	PipesimFit fit;

	ck_assert(pipesim_fit_line(&fit, x, y, 4, FALSE));
	ck_assert_double_eq_tol(fit.base, 100, 1e-9);
	ck_assert_double_eq_tol(fit.slope, 2, 1e-9);
	ck_assert_double_eq_tol(fit.residual, 0, 1e-6);
	ck_assert(pipesim_fit_line(&fit, x, y, 4, TRUE));
	ck_assert_double_eq_tol(fit.slope, 2, 1e-9);
	ck_assert(!pipesim_fit_line(&fit, same, y, 4, FALSE));
	ck_assert(!pipesim_fit_line(&fit, x, y, 2, FALSE));
}
END_TEST

Suite *measure_trace_suite(void)
{
	Suite *suite = suite_create("measure-trace");
	TCase *trace = tcase_create("trace");
	TCase *statistics = tcase_create("statistics");

	tcase_add_test(trace, rows_are_read);
	tcase_add_loop_test(trace, edges_of_what_is_read, 0, G_N_ELEMENTS(edges));
	tcase_add_loop_test(trace, bad_traces_name_their_place, 0, G_N_ELEMENTS(bad));
	tcase_add_test(trace, twenty_faults_are_told);
	/* By default the rows that nothing is kept of. */
	tcase_add_loop_test(trace, rows_without_end_are_refused, grid_every(2) - 1, 2);
	tcase_add_test(trace, series_are_read);
	tcase_add_test(trace, conditions_tell_rows_apart);
	tcase_add_test(trace, halves_of_a_pair_share_its_split);
	tcase_add_test(trace, pairs_have_the_pace_of_their_communication);
	tcase_add_loop_test(trace, content_chooses_the_reader, 0, G_N_ELEMENTS(heads));
	tcase_add_test(trace, load_instructions_belong_to_the_implementation);
	tcase_add_test(trace, reference_trace_is_read);
	tcase_add_loop_test(trace, whole_layers_alone_are_told, 0, G_N_ELEMENTS(layers));
	tcase_add_test(statistics, figures_of_a_sample);
	tcase_add_test(statistics, lines_are_fitted);
	suite_add_tcase(suite, trace);
	suite_add_tcase(suite, statistics);
	return suite;
}
