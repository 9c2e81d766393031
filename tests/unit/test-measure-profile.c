#include "measure/profile.h"
#include "measure/reader.h"
#include "trace-text.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static PipesimTrace *read_text(const char *text, const char *rules_text, GError **error)
{
	g_autofree char *path = NULL, *rules_path = NULL;
	g_autoptr(PipesimRangeRules) rules = NULL;
	PipesimTrace *trace;

	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	g_close(g_file_open_tmp("pipesim-XXXXXX", &rules_path, NULL), NULL);
	ck_assert(g_file_set_contents(path, text, -1, NULL));
	if (rules_text != NULL) {
		ck_assert(g_file_set_contents(rules_path, rules_text, -1, NULL));
		rules = pipesim_range_rules_read(rules_path, error);
		ck_assert_ptr_nonnull(rules);
	}
	trace = pipesim_trace_read(pipesim_input_open(path, error), rules, error);
	g_unlink(path);
	g_unlink(rules_path);
	return trace;
}

static const PipesimTraceRow *row_at(const PipesimTrace *trace, guint i)
{
	ck_assert_uint_lt(i, trace->rows->len);
	return &g_array_index(trace->rows, PipesimTraceRow, i);
}

/* Names --------------------------------------------------------------------------------------
 */

static const struct {
	const char *name, *component, *chunk;
	gint phase; /* -1 = known, but no cost; -2 = not known */
	gint64 rep;
} names[] = {
	{"attn(F)", "attn", "", PIPESIM_F, PIPESIM_UNKNOWN},
	{"combine(B)", "combine", "", PIPESIM_I, PIPESIM_UNKNOWN},
	{"mlp(W)", "mlp", "", PIPESIM_W, PIPESIM_UNKNOWN},
	{"0.5:attn(F)", "attn", "", PIPESIM_F, PIPESIM_UNKNOWN},
	{"PP:0F3", "chunk", "stage 0", PIPESIM_F, 3},
	{"PP:12I10", "chunk", "stage 12", PIPESIM_I, 10},
	{":PP:7W0", "chunk", "stage 7", PIPESIM_W, 0},
	{"PP:7B2", "chunk", "stage 7", PIPESIM_B, 2},
	{"PP:(0F7;7B3)OVERLAP_F_B", "chunk", "stage 0", PIPESIM_FB, 7},
	{"PP:0SEND_F1", "", "", -1, 0},
	{"PP:7RECV_B11", "", "", -1, 0},
	{"PP:0REDUCE_GRAD", "", "", -1, 0},
	{"Forward 3", "chunk", "", PIPESIM_F, 3},
	{"Forward 3, op_id = 4711", "chunk", "", PIPESIM_F, 3},
	{"PP:0F7, op_id = 12, input_op_ids = [(3,0)]", "chunk", "stage 0", PIPESIM_F, 7},
	{"Backward 3", "chunk", "", PIPESIM_B, 3},
	{"Forward:Backward 3", "chunk", "", PIPESIM_B, 3},
	{"a:b:mlp.0_1(I)", "mlp.0_1", "", PIPESIM_I, PIPESIM_UNKNOWN},
	{"PP:0F3x", "", "", -1, 0},
	{":PP:attn(F)", "", "", -2, 0},
	{"attn(F)\n", "", "", -2, 0},
	{"ProfilerStep#1", "", "", -2, 0},
	{"nccl:coalesced", "", "", -2, 0},
	{"1F1B", "", "", -2, 0},
	{"at::native::foo(F)", "", "", -2, 0},
	{"attn(X)", "", "", -2, 0},
	{"(F)", "", "", -2, 0},
	{"PP:F3", "", "", -2, 0},
	{"", "", "", -2, 0},
};

START_TEST(names_are_recognised)
{
	GStringChunk *strings = g_string_chunk_new(256);
	PipesimRangeMeaning meaning;
	const gboolean known = pipesim_range_recognise(NULL, names[_i].name, strings, &meaning);

	ck_assert_msg(known == (names[_i].phase != -2), "'%s'", names[_i].name);
	if (known)
		ck_assert_int_eq(meaning.counted, names[_i].phase >= 0);
	if (known && meaning.counted) {
		ck_assert_str_eq(meaning.component, names[_i].component);
		ck_assert_str_eq(meaning.chunk, names[_i].chunk);
		ck_assert_int_eq(meaning.phase, names[_i].phase);
		ck_assert_int_eq(meaning.rep, names[_i].rep);
	}
	g_string_chunk_free(strings);
}
END_TEST

/* All four of a pair, whatever their digits. */
START_TEST(numbers_of_pairs_are_decimal)
{
	static const guint numbers[] = {0, 7, 8, 9, 10, 19, 90, 99, 100};
	const guint n = numbers[_i];
	g_autofree char *name =
		g_strdup_printf("PP:(%uF%u;%uB%u)OVERLAP_F_B", n, n + 1, n + 2, n + 3);
	GStringChunk *strings = g_string_chunk_new(256);
	PipesimRangeMeaning meaning;

	ck_assert(pipesim_range_recognise(NULL, name, strings, &meaning));
	ck_assert_int_eq(meaning.stage, n);
	ck_assert_int_eq(meaning.rep, n + 1);
	ck_assert_int_eq(meaning.b_stage, n + 2);
	ck_assert_int_eq(meaning.b_rep, n + 3);
	g_string_chunk_free(strings);
}
END_TEST

/* Profiler files -----------------------------------------------------------------------------
 */

/* An annotation on the host, its launch, and the kernel that it caused. */
#define ANNOTATION(name, ts, dur)                                                              \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"" name "\",\"pid\":1,\"tid\":1," \
	"\"ts\":" ts ",\"dur\":" dur "},\n"
#define LAUNCH(id, ts)                                                              \
	"{\"args\":{\"correlation\":" id "},\"ph\":\"X\",\"cat\":\"cuda_runtime\"," \
	"\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":\"other\",\"ts\":\"" ts    \
	"\",\"dur\":1},\n"
#define KERNEL(id, stream, name, ts, dur)                                                     \
	"{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":1000007,"   \
	"\"args\":{\"stream\":" stream ",\"grid\":[1,2,3],\"correlation\":" id "},\"ts\":" ts \
	",\"dur\":" dur "},\n"
#define LAST "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"x\"}}"

static const char profile[] =
	"{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"Test "
	"GPU\",\"numSms\":132},"
	"{\"name\":\"Other\"}],\"distributedInfo\":{\"rank\":2,\"pg_config\":[{\"ranks\":[0]}]}"
	",\n"
	"\"traceEvents\":[\n" ANNOTATION("step", "0", "1000") ANNOTATION("PP:0F0", "10", "20")
		ANNOTATION("PP:0F1", "40.5", "20.25") ANNOTATION("PP:0B0", "70", "20") LAUNCH(
			"1", "15") LAUNCH("2", "20.001") LAUNCH("3", "45") LAUNCH("4", "75")
			LAUNCH("5", "500") KERNEL("1", "7", "gemm", "100.5", "10") KERNEL(
				"2", "8", "copy", "105.5", "10.125") KERNEL("3", "7", "gemm",
				"200", "11") KERNEL("4", "7", "gemm", "300", "30")
				KERNEL("5", "7", "optimizer", "600", "39") LAST "]}";

START_TEST(kernels_find_their_ranges)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimTrace) trace = read_text(profile, NULL, &error);

	ck_assert_msg(trace != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_uint_eq(trace->rows->len, 3);
	ck_assert_str_eq(pipesim_trace_get(trace, "device_name"), "Test GPU");
	/* Two streams overlap from 105.5 to 110.5. */
	ck_assert_int_eq(row_at(trace, 0)->busy, 15125);
	ck_assert_int_eq(row_at(trace, 0)->duration, 15125);
	ck_assert_int_eq(row_at(trace, 0)->rank, 2);
	ck_assert_int_eq(row_at(trace, 1)->rep, 1);
	ck_assert_int_eq(row_at(trace, 1)->busy, 11000);
	ck_assert_int_eq(row_at(trace, 2)->what.phase, PIPESIM_B);
	ck_assert(trace_has_notice(trace->coverage,
		"4 of 5 GPU activities lie in known ranges; 39.0 % of the GPU time does not"));
}
END_TEST

/* "Forward 0" receives for 60 us before 10 us of work, receives once more for 20 and sends; what its experts exchange
 * (2 us of @exchange) is its own. */
#define STOCK(exchange)                                                                        \
	"{\"traceEvents\":[\n" ANNOTATION("Forward 0", "10", "90") ANNOTATION(exchange, "40",  \
		"5") LAUNCH("1", "15") LAUNCH("2", "20") LAUNCH("3", "30") LAUNCH("4", "35")   \
		LAUNCH("5", "41") LAUNCH("6", "50") KERNEL("1", "9", "ncclDevKernel_SendRecv", \
			"100", "60") KERNEL("2", "7", "gemm", "160", "10") KERNEL("3", "9",    \
			"ncclDevKernel_SendRecv", "170", "20") KERNEL("4", "7", "gemm", "190", \
			"4") KERNEL("5", "9", "ncclDevKernel_SendRecv", "194", "2")            \
			KERNEL("6", "9", "ncclDevKernel_SendRecv", "200", "50") LAST "]}"
static const struct {
	const char *text;
	gint64 took;
	guint spans;
} stock[] = {{STOCK("nccl:all_to_allv"), 16000, 3}, {STOCK("nccl:coalesced"), 14000, 4}};

START_TEST(messages_in_ranges_of_ops_are_no_work)
{
	g_autoptr(PipesimTrace) trace = read_text(stock[_i].text, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 1);
	ck_assert_int_eq(row_at(trace, 0)->start, 160000);
	ck_assert_int_eq(row_at(trace, 0)->duration, stock[_i].took);
	ck_assert_int_eq(row_at(trace, 0)->busy, stock[_i].took);
	ck_assert_uint_eq(trace->spans->len, stock[_i].spans);
	pipesim_each (const PipesimTraceSpan, span, trace->spans)
		ck_assert(span->message);
}
END_TEST

/* "Forward 0" runs 10 us, and holds its messages for 40 by a kernel on their stream; its loss, launched by the same thread before
 * "Forward 1", 3. What another thread launches there is of neither. */
#define OF_THREAD(id, thread, ts)                                                   \
	"{\"args\":{\"correlation\":" id "},\"ph\":\"X\",\"cat\":\"cuda_runtime\"," \
	"\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":" thread ",\"ts\":" ts     \
	",\"dur\":1},\n"
static const char behind[] = "{\"traceEvents\":[\n" ANNOTATION("Forward 0", "10", "80")
	ANNOTATION("Forward 1", "100", "50") OF_THREAD("1", "1", "15") OF_THREAD("2", "1", "20")
		OF_THREAD("3", "1", "30") OF_THREAD("4", "1", "95") OF_THREAD("5", "9", "96")
			OF_THREAD("6", "1", "110") KERNEL("1", "7", "gemm", "100", "6")
				KERNEL("2", "7", "gemm", "106", "4") KERNEL("3", "9", "hold",
					"110", "40") KERNEL("4", "7", "loss", "111", "3")
					KERNEL("5", "7", "other", "114", "1")
						KERNEL("6", "7", "gemm", "118", "10") LAST "]}";

START_TEST(ops_end_with_what_their_stream_runs)
{
	g_autoptr(PipesimTrace) trace = read_text(behind, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 2);
	ck_assert_int_eq(row_at(trace, 0)->start, 100000);
	ck_assert_int_eq(row_at(trace, 0)->queued, 85000);
	ck_assert_int_eq(row_at(trace, 0)->duration, 14000);
	ck_assert_int_eq(row_at(trace, 0)->busy, 13000);
	ck_assert_int_eq(row_at(trace, 1)->start, 118000);
	ck_assert_int_eq(row_at(trace, 1)->duration, 10000);
	ck_assert_uint_eq(trace->spans->len, 2);
}
END_TEST

/* A pair runs 10 us of its forward half, waits 20 for the gradient that was sent meanwhile, and runs 30 of the backward one. */
static const char halves[] = "{\"traceEvents\":[\n" ANNOTATION("PP:0RECV_B0", "5", "4")
	ANNOTATION("PP:(1F1;0B0)OVERLAP_F_B", "10", "80") OF_THREAD("1", "1", "6")
		OF_THREAD("2", "1", "20") OF_THREAD("3", "9", "30") OF_THREAD("4", "9", "31")
			KERNEL("1", "9", "ncclDevKernel_SendRecv", "80", "49")
				KERNEL("2", "7", "gemm", "100", "10")
					KERNEL("3", "7", "gemm", "130", "20")
						KERNEL("4", "7", "gemm", "150", "10") LAST "]}";

START_TEST(halves_wait_for_their_own_messages)
{
	g_autoptr(PipesimTrace) trace = read_text(halves, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 1);
	ck_assert_int_eq(row_at(trace, 0)->what.phase, PIPESIM_FB);
	ck_assert_int_eq(row_at(trace, 0)->duration, 41000);
	ck_assert_int_eq(row_at(trace, 0)->start, 119000);
	ck_assert_int_eq(row_at(trace, 0)->half, 11000);
}
END_TEST

START_TEST(profiles_may_be_cut_short)
{
	g_autofree char *cut = g_strndup(profile, strstr(profile, "optimizer") - profile);
	g_autoptr(PipesimTrace) trace = read_text(cut, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 3);
	ck_assert(trace_has_notice(trace->notices, "cut short"));
}
END_TEST

START_TEST(bare_arrays_are_read)
{
	g_autofree char *array =
		g_strdup_printf("[%s", strstr(profile, "\"traceEvents\":[") + 15);
	g_autoptr(PipesimTrace) trace = NULL;

	array[strlen(array) - 1] = '\0';
	trace = read_text(array, NULL, NULL);
	ck_assert_uint_eq(trace->rows->len, 3);
}
END_TEST

START_TEST(rules_name_kernels_and_ranges)
{
	g_autoptr(PipesimTrace) trace = read_text(profile,
		"# mine\nrange ^PP:(\\d)F user F c\\1 # as a test\nrange ^PP x -\n\n"
		"kernel optim opt W\n",
		NULL);

	ck_assert_uint_eq(trace->rows->len, 3);
	ck_assert_str_eq(row_at(trace, 0)->what.component, "user");
	ck_assert_str_eq(row_at(trace, 0)->what.chunk, "c0");
	ck_assert_str_eq(row_at(trace, 2)->what.component, "opt");
	ck_assert_int_eq(row_at(trace, 2)->busy, 39000);
	ck_assert(trace_has_notice(
		trace->coverage, "30.0 % of the GPU time is known but no cost"));
}
END_TEST

static const struct {
	const char *text, *message;
} bad_profiles[] = {
	{"{\"traceEvents\":[]}", ":1:1: no event of PyTorch's profiler"},
	{"{\"traceEvents\":[" KERNEL("1", "7", "k", "1", "-5") LAST "]}", "negative"},
	{"{\"traceEvents\":[" KERNEL("1", "7", "k", "1e40", "5") LAST "]}",
		"'1e40' is out of range"},
	{"{\"traceEvents\":[" KERNEL("1", "7", "k", "\"soon\"", "5") LAST "]}",
		"'soon' is not a number"},
	{"{\"traceEvents\":[\n{\"ph\" \"X\"}]}", ":2:7: not JSON: a colon"},
	{"{\"a\":1}", "no event of PyTorch's profiler"},
};

START_TEST(bad_profiles_are_refused)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_text(bad_profiles[_i].text, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(
		strstr(error->message, bad_profiles[_i].message) != NULL, "%s", error->message);
}
END_TEST

/* Per layer, us: DeepSeek's published trace, worked out by hand from its events. */
static const struct {
	const char *component;
	gint phase;
	double mean, sd;
} published[] = {
	{"attn", PIPESIM_F, 4370, 98},
	{"attn", PIPESIM_I, 9341, 225},
	{"attn", PIPESIM_W, 2389, 13},
	{"mlp", PIPESIM_F, 4604, 408},
	{"mlp", PIPESIM_I, 5306, 416},
	{"mlp", PIPESIM_W, 5063, 313},
	{"dispatch", PIPESIM_F, 6690, 1004},
	{"combine", PIPESIM_F, 8684, 1099},
	{"combine", PIPESIM_I, 5769, 1246},
	{"dispatch", PIPESIM_I, 7487, 294},
};

static PipesimDistribution busy_of(const PipesimTrace *trace, const char *component, gint phase)
{
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));
	PipesimDistribution figures;

	for (guint i = 0; i < trace->rows->len; i++) {
		const PipesimTraceRow *row = row_at(trace, i);
		if (g_str_equal(row->what.component, component) && row->what.phase == phase)
			g_array_append_val(values, row->busy);
	}
	ck_assert_uint_eq(values->len, 4);
	pipesim_distribution_init(
		&figures, (const gint64 *)(gpointer)values->data, values->len);
	return figures;
}

START_TEST(published_profile_is_reproduced)
{
	g_autofree char *path = shared_file("deepseek-dualpipe-train.json.gz");

	if (path == NULL)
		return;
	g_autoptr(PipesimTrace) trace =
		pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	ck_assert_ptr_nonnull(trace);
	ck_assert(trace_has_notice(trace->coverage, "983 of 983 GPU activities"));
	for (guint i = 0; i < G_N_ELEMENTS(published); i++) {
		const PipesimDistribution figures =
			busy_of(trace, published[i].component, published[i].phase);
		ck_assert_double_eq_tol((double)figures.mean / 1e3, published[i].mean,
			0.005 * published[i].mean);
		ck_assert_double_eq_tol((double)figures.sd / 1e3, published[i].sd,
			0.5 + 0.005 * published[i].sd);
	}
	const PipesimTraceRow *pair = row_at(trace, trace->rows->len - 1);
	ck_assert_int_eq(pair->what.phase, PIPESIM_FB);
	ck_assert_int_eq(pair->duration, 129012000);
	ck_assert_str_eq(pipesim_trace_get(trace, "layers_per_chunk"), "4");
}
END_TEST

START_TEST(pipeline_profile_is_read)
{
	g_autofree char *path = shared_file("torch-2.11-zbv-rank0.json.gz");
	guint rows[PIPESIM_N_PHASES] = {0};

	if (path == NULL)
		return;
	g_autoptr(PipesimTrace) trace =
		pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	ck_assert_ptr_nonnull(trace);
	for (guint i = 0; i < trace->rows->len; i++)
		rows[row_at(trace, i)->what.phase]++;
	ck_assert_uint_eq(rows[PIPESIM_F], 16);
	ck_assert_uint_eq(rows[PIPESIM_I], 16);
	ck_assert_uint_eq(rows[PIPESIM_W], 16);
	ck_assert(trace_has_notice(trace->coverage, "816 of 816 GPU activities"));
}
END_TEST

START_TEST(profile_without_names_says_so)
{
	g_autofree char *path = shared_file("torch-2.11-1f1b-rank0.json.gz");
	g_autoptr(GError) error = NULL;

	if (path == NULL)
		return;
	ck_assert_ptr_null(pipesim_trace_read(pipesim_input_open(path, &error), NULL, &error));
	ck_assert_ptr_nonnull(strstr(error->message, "--map"));
}
END_TEST

/* Tables -------------------------------------------------------------------------------------
 */

static const char nsys[] =
	"Processing [x.sqlite] with [nvtx_gpu_proj_trace.py]... \n\n"
	"Name,Projected Start (us),Projected Duration (us),Orig Start (us),Style\n"
	":step,1,90,1,PushPop\n:attn(F),1,10,1,PushPop\n:attn(B),20.5,20,1,PushPop\n"
	":attn(W),50,7,1,PushPop\n\nProcessing [x.sqlite] with [cuda_gpu_trace.py]... \n\n"
	"Start (ns),Duration (ns),CorrId,Device,Strm,Name\n"
	"1000,9000,1,NVIDIA H200 (0),7,\"void gemm<float, 3>(float*, int)\"\n"
	"70000,1000,2,NVIDIA H200 (0),7,other\n";

START_TEST(nsys_tables_are_read)
{
	g_autoptr(PipesimTrace) trace = read_text(nsys, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 3);
	ck_assert_int_eq(row_at(trace, 0)->duration, 10000);
	ck_assert_int_eq(row_at(trace, 1)->what.phase, PIPESIM_I);
	ck_assert_int_eq(row_at(trace, 1)->duration, 20000);
	ck_assert_str_eq(pipesim_trace_get(trace, "device_name"), "NVIDIA H200");
	ck_assert(trace_has_notice(
		trace->coverage, "1 of 2 GPU activities lie in known ranges; 10.0 %"));
}
END_TEST

START_TEST(nsys_kernels_follow_rules)
{
	g_autoptr(PipesimTrace) trace =
		read_text(strstr(nsys, "Start (ns)"), "kernel gemm attn F\n", NULL);

	ck_assert_uint_eq(trace->rows->len, 1);
	ck_assert_int_eq(row_at(trace, 0)->busy, 9000);
}
END_TEST

#define ARGUMENTS                                                                         \
	"> setting random seeds\n  world_size ...................................... 4\n" \
	"  pipeline_model_parallel_size .................... 2\n"                         \
	"  virtual_pipeline_model_parallel_size ............ None\n"                      \
	"  data_parallel_size .............................. 1\n"                         \
	"  micro_batch_size ................................ 2\n"                         \
	"  global_batch_size ............................... 4\n"
#define ITERATION                                                                             \
	" [2026-01-24 11:10:16] iteration       10/  100 | elapsed time per iteration (ms): " \
	"412.3 | global batch size:    16 | lm loss: 1.0 |\n"

/* Sums of a step of eight micro-batches; two ranks share each stage. Other timers are none of ops. */
static const char timers[] = ARGUMENTS
	"times across ranks (ms):\n  model-setup:\n     rank  0: 1020.90\n" ITERATION
	"times across ranks (ms):\n  forward-compute:\n     rank  0: 80.00\n     rank  1: "
	"88.00\n"
	"     rank  2: 96.80\n     rank  3: 96.00\n  optimizer:\n     rank  0: 12.00\n"
	"  backward-compute:\n     rank  3: 160.00\n";

START_TEST(timers_of_each_rank_are_read)
{
	static const struct {
		gint64 stage, replica, duration;
	} wanted[] = {{0, 0, 10000000}, {0, 1, 11000000}, {1, 0, 12100000}, {1, 1, 12000000},
		{1, 1, 20000000}};
	g_autoptr(PipesimTrace) trace = read_text(timers, NULL, NULL);

	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->rows->len, G_N_ELEMENTS(wanted));
	for (guint i = 0; i < G_N_ELEMENTS(wanted); i++) {
		ck_assert_int_eq(row_at(trace, i)->what.stage, wanted[i].stage);
		ck_assert_int_eq(row_at(trace, i)->replica, wanted[i].replica);
		ck_assert_int_eq(row_at(trace, i)->duration, wanted[i].duration);
		ck_assert_uint_eq(row_at(trace, i)->what.phase, i < 4 ? PIPESIM_F : PIPESIM_B);
	}
	ck_assert_uint_eq(trace->coverage->len, 0);
}
END_TEST

/* The most is every stage's: with two chunks a rank four of them. */
START_TEST(extremes_of_timers_are_read)
{
	g_autoptr(GString) text = g_string_new(ARGUMENTS ITERATION
		"[default3]:INFO:megatron.core.timers:(min, max) time across ranks (ms):\n"
		"[default3]:    forward-backward ............: (400.00, 400.00)\n"
		"[default3]:    forward-compute .............: (80.00, 96.00)\n"
		"[default3]:    backward-compute ............: (160.00, 192.00)\n"
		"[default3]: saving checkpoint: 1\n    forward-compute .. : (1.00, 2.00)\n");

	g_string_replace(text, "None", "2", 0);
	g_autoptr(PipesimTrace) trace = read_text(text->str, NULL, NULL);
	ck_assert_ptr_nonnull(trace);
	ck_assert_uint_eq(trace->rows->len, 8);
	ck_assert_int_eq(row_at(trace, 3)->what.stage, 3);
	ck_assert_int_eq(row_at(trace, 3)->rank, 1);
	ck_assert_int_eq(row_at(trace, 3)->duration, 6000000);
	ck_assert_int_eq(row_at(trace, 7)->duration, 12000000);
	ck_assert(trace_has_notice(trace->notices, "take 80 to 96 ms"));
}
END_TEST

static const char nccl[] =
	"# nThread 1 nGpus 2 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: "
	"20\n"
	"#  Rank  0 Group  0 Pid  12 on host device  0 [0x1b] NVIDIA H200\n#\n"
	"#       size   count  type  redop  root  time  algbw  busbw #wrong  time algbw busbw "
	"#wrong\n"
	"        1024     256 float    sum    -1 10.21   0.10   0.10      0 10.02  0.10  0.10  "
	"  N/A\n"
	"     1048576  262144 float    sum    -1 14.90  70.37  70.37      3 14.77 70.99 70.99  "
	"  N/A\n"
	"# Out of bounds values : 0 OK\n";

START_TEST(nccl_tables_are_read)
{
	/* Other comments have brackets too, and of several devices the first is told. */
	g_autofree char *text = g_strconcat("# nThread 1 on [node 3] twice\n", nccl,
		"#  Rank  1 Group  0 Pid  12 on host device  1 [0x2b] NVIDIA H100\n", NULL);
	g_autoptr(PipesimTrace) trace = read_text(text, NULL, NULL);

	ck_assert_uint_eq(trace->rows->len, 2);
	ck_assert_str_eq(row_at(trace, 0)->what.component, "p2p");
	ck_assert_int_eq(row_at(trace, 0)->what.payload_bytes, 1024);
	ck_assert_int_eq(row_at(trace, 0)->duration, 10210);
	ck_assert_uint_eq(row_at(trace, 1)->status, PIPESIM_STATUS_CHECKSUM_FAIL);
	ck_assert_str_eq(pipesim_trace_get(trace, "device_name"), "NVIDIA H200");
}
END_TEST

START_TEST(means_are_read)
{
	g_autoptr(PipesimTrace) trace = read_text(
		"# by "
		"hand\ncomponent,phase,mean_us,sd,note\nlayer,F,1.5,0.25,x\nlayer,B,3,0,\n"
		"layer,RECOMP,1,0,\n",
		NULL, NULL);
	PipesimCalibrateOptions options = {0};

	ck_assert_uint_eq(trace->rows->len, 3);
	g_autoptr(PipesimCalibration) calibration =
		pipesim_calibrate(&trace, 1, &options, NULL);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_F], 1500);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_B], 3000);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_I], 1500);
	ck_assert_uint_eq(calibration->dropped[PIPESIM_STATUS_OK], 1);
	ck_assert(trace_has_notice(calibration->notices, "halved into I and W"));
	ck_assert_int_eq(
		((PipesimComponent *)calibration->costs->components->pdata[0])->figures.sd,
		250000);
}
END_TEST

static const struct {
	const char *text, *message;
} bad_tables[] = {
	{"component,phase,mean\nattn,F,-1\n", ":2:8: mean '-1' is negative"},
	{"component,phase,mean\nattn,Q,1\n", ":2:6: phase 'Q'"},
	{"component,phase,mean\nattn,F,1\nattn,F,1\n", ":3:1: attn F appears twice"},
	{"component,phase,mean\nattn\n", ":2:1: 1 cells, but the header has a column 3"},
	{"component,phase,mean\n", "no line below the header"},
	{"# nThread 1\n1024 x\n", ":2:1: not a line of an nccl-tests table"},
	{"# nThread 1\n# Collective test starting: alltoall_perf\n1 1 f s -1 1 1 1 0\n",
		"times a collective"},
	{"times across ranks (ms):\n  forward-compute:\n     rank  0: 80.00\n",
		":3:1: a timer of a rank or a number of micro-batches that is not known"},
	{ARGUMENTS ITERATION
		"times across ranks (ms):\n  forward-compute:\n     rank  4: 80.00\n",
		":11:1: a timer of a rank"},
	{ARGUMENTS ITERATION "times across ranks (ms):\n  forward-compute:\n     rank  3: -1\n",
		":11:1: a timer without a time"},
	{ARGUMENTS ITERATION, "no timers of ops in this log of Megatron-LM"},
	{"Start (ns),Duration (ns),CorrId,Name\n1,2,3\n",
		":2:1: 3 cells, but the header has 4"},
	{"Name,Projected Start (ns),Projected Duration (ns)\nx,1,2\n", "no NVTX range"},
};

START_TEST(bad_tables_are_refused)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_text(bad_tables[_i].text, NULL, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(
		strstr(error->message, bad_tables[_i].message) != NULL, "%s", error->message);
}
END_TEST

/* Each needs the last cell of its last line. */
static const char *const whole_tables[] = {
	"component,phase,mean\nattn,F,1\nattn,B,2\n",
	"mean,sd,phase,component\n1,0,F,attn\n2,0,B,attn\n",
	"step,stage,op,microbatch,start_us,dur_us\n0,0,F,0,0,1\n0,0,B,0,4,1\n",
	"Start (ns),Duration (ns),CorrId,Name\n1,2,3,4\n5,6,7,8\n",
	TRACE_TOP TRACE_COLUMNS "r,0,attn,F,,,,1,ok\nr,0,attn,B,,,,2,ok\n",
};

/* Though the line before it has all cells. */
START_TEST(short_lines_are_refused)
{
	g_autoptr(PipesimTrace) whole = read_text(whole_tables[_i], "kernel . attn F\n", NULL);
	g_autofree char *text = g_strdup(whole_tables[_i]);
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_nonnull(whole);
	strcpy(strrchr(text, ','), "\n");
	ck_assert_ptr_null(read_text(text, "kernel . attn F\n", &error));
	ck_assert_msg(strstr(error->message, " cells, but the header has ") != NULL, "%s: %s",
		text, error->message);
}
END_TEST

Suite *measure_profile_suite(void)
{
	Suite *suite = suite_create("measure-profile");
	TCase *profiler = tcase_create("profiler");
	TCase *tables = tcase_create("tables");

	tcase_add_loop_test(profiler, names_are_recognised, 0, G_N_ELEMENTS(names));
	tcase_add_loop_test(profiler, numbers_of_pairs_are_decimal, 0, 9);
	tcase_add_test(profiler, kernels_find_their_ranges);
	tcase_add_loop_test(
		profiler, messages_in_ranges_of_ops_are_no_work, 0, G_N_ELEMENTS(stock));
	tcase_add_test(profiler, ops_end_with_what_their_stream_runs);
	tcase_add_test(profiler, halves_wait_for_their_own_messages);
	tcase_add_test(profiler, profiles_may_be_cut_short);
	tcase_add_test(profiler, bare_arrays_are_read);
	tcase_add_test(profiler, rules_name_kernels_and_ranges);
	tcase_add_loop_test(profiler, bad_profiles_are_refused, 0, G_N_ELEMENTS(bad_profiles));
	tcase_add_test(profiler, published_profile_is_reproduced);
	tcase_add_test(profiler, pipeline_profile_is_read);
	tcase_add_test(profiler, profile_without_names_says_so);
	tcase_add_test(tables, nsys_tables_are_read);
	tcase_add_loop_test(tables, short_lines_are_refused, 0, G_N_ELEMENTS(whole_tables));
	tcase_add_test(tables, nsys_kernels_follow_rules);
	tcase_add_test(tables, timers_of_each_rank_are_read);
	tcase_add_test(tables, extremes_of_timers_are_read);
	tcase_add_test(tables, nccl_tables_are_read);
	tcase_add_test(tables, means_are_read);
	tcase_add_loop_test(tables, bad_tables_are_refused, 0, G_N_ELEMENTS(bad_tables));
	suite_add_tcase(suite, profiler);
	suite_add_tcase(suite, tables);
	return suite;
}
