/* Traces of the ranks of one run, taken together. */
#include "diagnose-case.h"
#include "diagnosis/record.h"
#include "diagnosis/speed.h"
#include "measure/join.h"
#include "measure/reader.h"
#include "model/costs-file.h"
#include "trace-text.h"

#include <string.h>

#define TOP "#version,1\nrun_id,rep,rank,component,phase,layer,stage,microbatch,dur_ns\n"

/* F, I and W of a stage for one micro-batch. */
#define STAGE(rank, stage, microbatch, f, i, w)                     \
	"r,0," rank ",chunk,F,all," stage "," microbatch "," f "\n" \
	"r,0," rank ",chunk,I,all," stage "," microbatch "," i "\n" \
	"r,0," rank ",chunk,W,all," stage "," microbatch "," w "\n"

typedef struct {
	PipesimTrace *traces[4];
	guint n;
} Files;

static void files_clear(Files *files)
{
	for (guint i = 0; i < files->n; i++)
		pipesim_trace_free(files->traces[i]);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Files, files_clear)

static void add_file(Files *files, const char *text)
{
	files->traces[files->n++] = trace_of(text);
}

static PipesimCalibration *calibrate(const Files *files, GError **error)
{
	const PipesimCalibrateOptions none = {0};

	return pipesim_calibrate(files->traces, files->n, &none, error);
}

static gint64 part(const PipesimCalibration *calibration, guint stage, PipesimKind kind)
{
	const PipesimCosts *costs = calibration->costs;

	ck_assert_uint_lt(stage, costs->n_parts);
	return costs->part[(gsize)stage * PIPESIM_FB + kind];
}

START_TEST(every_rank_has_its_own_times)
{
	g_auto(Files) files = {0};
	g_autoptr(PipesimCalibration) calibration = NULL;

	add_file(&files, TOP STAGE("1", "1", "0", "200", "210", "220"));
	add_file(&files, TOP STAGE("0", "0", "0", "100", "0", "300"));
	calibration = calibrate(&files, NULL);
	ck_assert_ptr_nonnull(calibration);
	ck_assert_uint_eq(calibration->costs->n_parts, 2);
	ck_assert_int_eq(part(calibration, 0, PIPESIM_F), 100);
	ck_assert_int_eq(part(calibration, 0, PIPESIM_I), 0);
	ck_assert_int_eq(part(calibration, 1, PIPESIM_W), 220);
	ck_assert_int_eq(part(calibration, 1, PIPESIM_B), 430);
	/* A rank's share is the mean, not the sum. */
	ck_assert_int_eq(calibration->costs->time[PIPESIM_F], 150);
	ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], 150 + 365);
}
END_TEST

START_TEST(missing_ranks_get_the_nearest_stage)
{
	g_auto(Files) files = {0};
	g_autoptr(PipesimCalibration) calibration = NULL;

	/* Four stages in a V over two ranks, of which one was kept. */
	add_file(&files, TOP STAGE("0", "0", "0", "100", "0", "300")
				 STAGE("0", "3", "0", "200", "210", "220"));
	calibration = calibrate(&files, NULL);
	ck_assert_ptr_nonnull(calibration);
	ck_assert_int_eq(part(calibration, 1, PIPESIM_I), 210);
	ck_assert_int_eq(part(calibration, 2, PIPESIM_F), 200);
	ck_assert(trace_has_notice(calibration->notices,
		"stages 1 to 2 were not measured: no trace of rank 1; taken to be as long as "
		"stage 3"));
}
END_TEST

#define PAIR_COLUMNS        "step,dp,rank,stage,op,microbatch,start_ns,dur_ns,b_stage,b_microbatch\n"
#define PAIR_OP(rank, rest) "0,0," rank "," rest "\n"
#define PAIR_RANK(rank, first, second)                     \
	PAIR_OP(rank, first ",F,0,0,100,,")                \
	PAIR_OP(rank, second ",F,0,1000,100,,")            \
	PAIR_OP(rank, first ",FB,1,4000,270," second ",0") \
	PAIR_OP(rank, second ",F,1,5000,100,,")            \
	PAIR_OP(rank, first ",B,0,6000,200,,")             \
	PAIR_OP(rank, second ",B,1,7000,200,,") PAIR_OP(rank, first ",B,1,8000,200,,")

/* Pairs that one rank of two showed take as long as they did, not half: both of a rank 2 x 270. */
START_TEST(pairs_of_one_rank_are_pairs_of_all)
{
	static const char *const ranks[] = {
		PAIR_COLUMNS PAIR_RANK("0", "0", "3"), PAIR_COLUMNS PAIR_RANK("1", "1", "2")};

	for (guint n = 1; n <= 2; n++) {
		g_auto(Files) files = {0};
		g_autoptr(PipesimCalibration) calibration = NULL;

		for (guint rank = 0; rank < n; rank++)
			add_file(&files, ranks[rank]);
		calibration = calibrate(&files, NULL);
		ck_assert_ptr_nonnull(calibration);
		ck_assert(calibration->costs->has_pair);
		ck_assert_int_eq(calibration->costs->time[PIPESIM_FB], 540);
	}
}
END_TEST

#define EVENT(cat, name, ts, dur, id)                                                  \
	"{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"tid\":1,\"ts\":" ts \
	",\"dur\":" dur ",\"args\":{\"stream\":7,\"correlation\":" id "}},"
#define RAN(name, kernel, ts, id)                    \
	EVENT("user_annotation", name, ts, "9", "0") \
	EVENT("cuda_runtime", "launch", ts, "1", id) EVENT("kernel", kernel, ts, "5", id)
#define RANK(rank, stage, more)                                                         \
	"{\"distributedInfo\":{\"rank\":" rank                                          \
	",\"world_size\":4},\"traceEvents\":[" RAN("PP:" stage "F0", "gemm", "10", "1") \
		more RAN("PP:" stage "B0", "gemm", "50", "2") "{}]}"

/* Two files of a run of four are a replica, unless their last stage sends on: then others lack. */
START_TEST(missing_stages_are_named)
{
	static const char *const last[] = {RANK("1", "1", ""),
		RANK("1", "1", RAN("PP:1SEND_F0", "ncclDevKernel_SendRecv", "30", "3"))};
	PipesimTrace *traces[2] = {trace_of(RANK("0", "0", "")), trace_of(last[_i])};
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimRecord) record = pipesim_record_new(traces, 2, &error);

	ck_assert_int_eq(record != NULL, _i == 0);
	if (record == NULL)
		ck_assert_ptr_nonnull(strstr(error->message, "the trace of rank 2 is missing"));
	pipesim_trace_free(traces[0]);
	pipesim_trace_free(traces[1]);
}
END_TEST

/* By rank, and on each by stage, in whatever order ops stand. */
START_TEST(stages_of_ranks_are_in_order)
{
	static const guint32 held[][2] = {{0, 0}, {0, 3}, {0, 4}, {1, 1}, {1, 2}, {1, 5}};
	g_auto(Files) files = {0};
	g_auto(PipesimJoined) joined = {0};

	add_file(&files, TOP STAGE("1", "5", "0", "1", "1", "1") STAGE("1", "1", "0", "1", "1",
				 "1") STAGE("1", "2", "0", "1", "1", "1"));
	add_file(&files, TOP STAGE("0", "4", "0", "1", "1", "1") STAGE("0", "3", "0", "1", "1",
				 "1") STAGE("0", "0", "0", "1", "1", "1"));
	ck_assert(pipesim_join(files.traces, files.n, &joined, NULL));
	ck_assert_uint_eq(joined.held->len, G_N_ELEMENTS(held));
	for (guint i = 0; i < joined.held->len; i++) {
		const PipesimStagePlace *one =
			&g_array_index(joined.held, PipesimStagePlace, i);

		ck_assert_uint_eq(one->rank, held[i][0]);
		ck_assert_uint_eq(one->stage, held[i][1]);
	}
}
END_TEST

START_TEST(ranks_follow_from_places_and_stages)
{
	g_auto(Files) files = {0};
	g_auto(PipesimJoined) joined = {0};

	/* GPipe's names have neither stage nor rank. */
	add_file(&files, "#version,1\nrun_id,rep,component,phase,layer,microbatch,dur_ns\n"
			 "r,0,chunk,F,all,0,5\nr,0,chunk,B,all,0,7\n");
	add_file(&files, "#version,1\nrun_id,rep,component,phase,layer,microbatch,dur_ns\n"
			 "r,0,chunk,F,all,0,6\nr,0,chunk,B,all,0,8\n");
	ck_assert(pipesim_join(files.traces, files.n, &joined, NULL));
	ck_assert_uint_eq(joined.stages, 2);
	ck_assert_uint_eq(joined.ranks, 2);
	ck_assert_uint_eq(joined.rank_of[1], 1);
	ck_assert_str_eq(
		g_array_index(files.traces[1]->rows, PipesimTraceRow, 0).what.chunk, "stage 1");
}
END_TEST

/* Ranks of a job of two replicas: 1 and 5 hold stage 0, 3 and 7 stage 1. */
START_TEST(copies_of_stages_are_replicas)
{
	g_auto(Files) files = {0};
	g_autoptr(PipesimCalibration) calibration = NULL;
	const PipesimTraceRow *row;

	add_file(&files, TOP STAGE("7", "1", "0", "40", "41", "42"));
	add_file(&files, TOP STAGE("1", "0", "0", "10", "11", "12"));
	add_file(&files, TOP STAGE("3", "1", "0", "20", "21", "22"));
	add_file(&files, TOP STAGE("5", "0", "0", "30", "31", "32"));
	calibration = calibrate(&files, NULL);
	ck_assert_ptr_nonnull(calibration);
	row = &g_array_index(files.traces[0]->rows, PipesimTraceRow, 0);
	ck_assert_int_eq(row->rank, 1);
	ck_assert_int_eq(row->replica, 1);
	row = &g_array_index(files.traces[1]->rows, PipesimTraceRow, 0);
	ck_assert_int_eq(row->rank, 0);
	ck_assert_int_eq(row->replica, 0);
	ck_assert_uint_eq(calibration->costs->n_parts, 2);
	ck_assert_int_eq(part(calibration, 0, PIPESIM_F), 20);
	ck_assert_int_eq(part(calibration, 1, PIPESIM_W), 32);
}
END_TEST

static const struct {
	const char *first, *second, *message;
} apart[] = {
	{TOP STAGE("0", "0", "0", "1", "1", "1"), TOP STAGE("0", "1", "0", "1", "1", "1"),
		"x.csv and x.csv are both of rank 0; give each rank of one run once"},
	{TOP STAGE("0", "0", "0", "1", "1", "1"),
		TOP STAGE("1", "0", "0", "1", "1", "1") STAGE("1", "1", "0", "1", "1", "1"),
		"stage 0 is on rank 0 in x.csv and on rank 1 in x.csv, both with micro-batch "
		"0: they are of different runs"},
	{TOP STAGE("0", "0", "0", "1", "1", "1"), TOP STAGE("1", "1", "3", "1", "1", "1"),
		"x.csv has 1 micro-batches and x.csv 4: they are of different runs"},
	{"#ranks,2\n" TOP STAGE("0", "0", "0", "1", "1", "1"),
		"#ranks,4\n" TOP STAGE("1", "1", "0", "1", "1", "1"),
		"x.csv is of a run of 2 ranks and x.csv of one of 4"},
	{TOP STAGE("0", "0", "0", "1", "1", "1"), TOP STAGE("1", "2000000", "0", "1", "1", "1"),
		"no run has so many"},
	{TOP STAGE("0", "0", "0", "1", "1", "1"), TOP "r,0,1,chunk,F,all,1,0,5\n",
		"not measured: any backward of stage 1"},
};

START_TEST(files_that_do_not_go_together_are_refused)
{
	g_auto(Files) files = {0};
	g_autoptr(GError) error = NULL;

	add_file(&files, apart[_i].first);
	add_file(&files, apart[_i].second);
	ck_assert_ptr_null(calibrate(&files, &error));
	ck_assert_msg(strstr(error->message, apart[_i].message) != NULL, "%s", error->message);
}
END_TEST

/* The captures have the medians beside them, worked out by what made them. */
START_TEST(captures_give_their_stage_times)
{
	static const char *const names[] = {"1f1b", "zb-v", "zb-h1", "interleaved-1f1b"};
	const char *folder = g_getenv("PIPESIM_DATADIR");
	g_autofree char *base = g_build_filename(
		folder != NULL ? folder : ".", "traces", "pytorch-h200x4", names[_i], NULL);
	g_autofree char *path = g_strconcat(base, ".csv.gz", NULL);
	g_autofree char *beside = g_strconcat(base, ".stage-times.csv", NULL);
	g_autoptr(PipesimTrace) trace =
		pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	const PipesimCalibrateOptions none = {0};
	g_autoptr(PipesimCosts) told = pipesim_costs_default();
	g_autoptr(PipesimCalibration) calibration = NULL;

	ck_assert_ptr_nonnull(trace);
	calibration = pipesim_calibrate(&trace, 1, &none, NULL);
	ck_assert_ptr_nonnull(calibration);
	ck_assert(pipesim_costs_read_stages(told, pipesim_input_open(beside, NULL), 4, NULL));
	ck_assert_uint_eq(calibration->costs->n_parts, told->n_parts);
	for (guint i = 0; i < told->n_parts * PIPESIM_FB; i++)
		ck_assert_int_le(ABS(calibration->costs->part[i] - told->part[i]), 1);
}
END_TEST

/* Other people's tables of ops: medians of the stages as they are documented beside them. */
static const struct {
	const char *file;
	guint stage;
	gint64 f, b; /* us */
} foreign[] = {
	{"bytedance-st-ops.csv.gz", 0, 67230, 143890},
	{"bytedance-st-ops.csv.gz", 3, 140160, 204950},
	{"bytedance-se-ops.csv.gz", 0, 145500, 288160},
	{"bytedance-se-ops.csv.gz", 1, 259870, 425470},
};

START_TEST(foreign_ops_are_read)
{
	g_autofree char *path = shared_file(foreign[_i].file);
	const PipesimCalibrateOptions none = {0};

	if (path == NULL)
		return;
	g_autoptr(PipesimTrace) trace =
		pipesim_trace_read(pipesim_input_open(path, NULL), NULL, NULL);
	ck_assert_ptr_nonnull(trace);
	g_autoptr(PipesimCalibration) calibration = pipesim_calibrate(&trace, 1, &none, NULL);
	ck_assert_ptr_nonnull(calibration);
	ck_assert_int_le(
		ABS(part(calibration, foreign[_i].stage, PIPESIM_F) / 1000 - foreign[_i].f),
		10);
	ck_assert_int_le(
		ABS(part(calibration, foreign[_i].stage, PIPESIM_B) / 1000 - foreign[_i].b),
		10);
}
END_TEST

#define OPS "step,stage,op,microbatch,start_us,dur_us\n"

static const struct {
	const char *text, *message;
} bad_ops[] = {
	{OPS, "x.csv:1:1: no op of a micro-batch"},
	{OPS "0,0,F,0,1\n", "x.csv:2:1: 5 cells, but the header has a column 6"},
	{OPS "0,0,F,,1,1\n", "x.csv:2:1: an op without its micro-batch"},
	{OPS "0,,F,0,1,1\n", "x.csv:2:1: an op without its stage"},
	{OPS "0,0,F,0,1,-1\n", "x.csv:2:11: duration '-1' is negative"},
	{OPS "0,0,F,0,1e30,1\n", "x.csv:2:9: start '1e30' is out of range"},
	{OPS "0,1.5,F,0,1,1\n", "x.csv:2:3: stage '1.5' is not a whole number"},
	{OPS "0,0,F,0,1,1", "the file is truncated"},
	{"step,stage,op,microbatch,start_us,end_us\n0,0,F,0,5,1\n",
		"x.csv:2:11: the op ends before it starts, by 0.004 ms"},
	{"step,stage,op,microbatch,start_h,end_us\n", "column 'start_us' is missing"},
	{"step,stage,op,microbatch,start_us\n", "neither 'dur_us' nor 'end_us'"},
};

START_TEST(bad_tables_of_ops_name_their_place)
{
	g_autofree char *message = trace_refused(bad_ops[_i].text);

	ck_assert_msg(strstr(message, bad_ops[_i].message) != NULL, "'%s' lacks '%s'", message,
		bad_ops[_i].message);
}
END_TEST

START_TEST(ops_and_what_is_beside_them_are_read)
{
	g_autoptr(PipesimTrace) trace = trace_of(
		"# by hand\nstage,iteration,kind,microbatch,end_ms,start_ms,dp,seq\n"
		"1,7,F,0,3.5,1,2,\n1,7,forward-recv,,1,0.5,2,4\n1,7,optimizer,,9,8,2,0\n");
	const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, 0);
	const PipesimTraceSpan *span = &g_array_index(trace->spans, PipesimTraceSpan, 0);

	ck_assert_uint_eq(trace->rows->len, 1);
	ck_assert(pipesim_row_is_op(row));
	ck_assert_int_eq(row->duration, 2500000);
	ck_assert_int_eq(row->start, 1000000);
	ck_assert_int_eq(row->step, 7);
	ck_assert_int_eq(row->replica, 2);
	ck_assert_int_eq(row->rank, 1);
	ck_assert_uint_eq(trace->spans->len, 2);
	ck_assert(span[0].message);
	ck_assert_int_eq(span[0].seq, 4);
	ck_assert(!span[1].message);
	ck_assert_str_eq(span[1].name, "optimizer");
}
END_TEST

/* Two steps on one clock, 5 us apart: the first lasts until the second begins. */
START_TEST(steps_on_one_clock_follow_each_other)
{
	g_autoptr(PipesimTrace) trace =
		trace_of("#version,1\nrun_id,rep,rank,component,phase,layer,stage,microbatch,t_"
			 "start_ns,dur_ns\n"
			 "r,0,0,chunk,F,all,0,0,1000000000000000000,10000\n"
			 "r,0,0,chunk,B,all,0,0,1000000000000010000,20000\n"
			 "r,1,0,chunk,F,all,0,0,1000000000000035000,10000\n"
			 "r,1,0,chunk,B,all,0,0,1000000000000045000,20000\n");
	g_autoptr(PipesimRecord) record = pipesim_record_new(&trace, 1, NULL);
	const PipesimRecordStep *step;

	ck_assert_ptr_nonnull(record);
	ck_assert_uint_eq(record->steps->len, 2);
	step = &g_array_index(record->steps, PipesimRecordStep, 0);
	ck_assert_int_eq(step[0].end - step[0].start, 30000);
	ck_assert_int_eq(step[0].after, 5000);
	ck_assert_int_eq(step[1].after, 0);
}
END_TEST

/* What has a stage, kind, micro-batch and replica again is of the next step. */
START_TEST(steps_without_numbers_are_told_by_what_recurs)
{
	const Made made = {"zb-v", 3, 5, 2, 3, .slow = -1, .long_stage = 4, .optimizer = MS};
	g_autofree char *text = make_text(&made);
	g_autoptr(PipesimTrace) numbered = trace_of(text), plainly = trace_of(text);
	g_autoptr(PipesimRecord) wanted = NULL, record = NULL;

	for (guint i = 0; i < plainly->rows->len; i++)
		g_array_index(plainly->rows, PipesimTraceRow, i).step = -1;
	wanted = pipesim_record_new(&numbered, 1, NULL);
	record = pipesim_record_new(&plainly, 1, NULL);
	ck_assert_ptr_nonnull(record);
	ck_assert_uint_eq(wanted->steps->len, 3);
	ck_assert_uint_eq(record->steps->len, 3);
	for (guint i = 0; i < 3; i++) {
		const PipesimRecordStep *step = pipesim_record_step(record, i);

		ck_assert_int_eq(step->start, pipesim_record_step(wanted, i)->start);
		ck_assert_int_eq(
			pipesim_record_length(record, i), pipesim_record_length(wanted, i));
	}
}
END_TEST

START_TEST(steps_of_some_replicas_are_left_out)
{
	g_auto(Case) one = {0};
	Made made = plain;

	made.replicas = made.steps = 2;
	g_autofree char *text = make_text(&made);
	*(strstr(text, "\n1,1,") + 1) = '\0';
	one.trace = trace_of(text);
	ck_assert(diagnose(&one, &one.trace, 1, NULL));
	ck_assert_uint_eq(one.record->steps->len, 1);
	ck_assert(trace_has_notice(one.record->notices,
		"1 step left out, which is cut: step 1 has 1 of 2 replicas"));
}
END_TEST

#define TWO(b_start, b_took) "0,0,F,0,0,1\n0,0,B,0," b_start "," b_took "\n"
#define NEXT(start, end)     "1,0,F,0," start ",1\n1,0,B,0," end ",1\n"

/* The longest op and step, of 2^50 ns, and the longest run, of 2^56, and what is longer. */
static const struct {
	const char *text, *message;
} long_ones[] = {
	{TWO("0", "1125899906842624"), NULL},
	{TWO("0", "1125899906842625"), "takes 1125899906842625 ns; no run has such"},
	{TWO("1", "1125899906842624"), "step 0 takes longer than 13 days"},
	{TWO("1", "1") NEXT("72057594037927936", "72057594037927937"), NULL},
	{TWO("1", "1") NEXT("72057594037927938", "72057594037927939"),
		"ops start years after those of another rank or step"},
	{TWO("1", "1") "0,0,F,2,2,1\n", "no whole step: step 0 lacks"},
	{TWO("1", "1") "0,0,F,3,2,1\n",
		"no whole step: 3 ops, but one of 1 stages and 4 micro-batches has more"},
};

START_TEST(what_takes_too_long_is_refused)
{
	g_autofree char *text = g_strconcat(
		"step,stage,op,microbatch,start_ns,dur_ns\n", long_ones[_i].text, NULL);
	PipesimTrace *trace = trace_of(text);
	g_autoptr(GError) error = NULL;
	g_autoptr(PipesimRecord) record = pipesim_record_new(&trace, 1, &error);

	ck_assert_int_eq(record != NULL, long_ones[_i].message == NULL);
	ck_assert_msg(record != NULL || strstr(error->message, long_ones[_i].message) != NULL,
		"%s", record == NULL ? error->message : "");
	pipesim_trace_free(trace);
}
END_TEST

/* Behind a step's last op no rank does anything until the next one begins: that is of the host. */
START_TEST(time_between_steps_is_of_the_step)
{
	Made made = plain;
	g_auto(Case) one = {0}, alone = {0};

	make_case(&alone, &made);
	made.steps = 3;
	made.apart = alone.found->measured + 7 * MS;
	g_autofree char *text = make_text(&made);
	one.trace = trace_of(text);
	/* Of steps with numbers each may have a clock of its own. */
	for (guint i = 0; i < one.trace->rows->len; i++)
		g_array_index(one.trace->rows, PipesimTraceRow, i).step = -1;
	ck_assert(diagnose(&one, &one.trace, 1, NULL));
	check_sums(one.found);
	ck_assert_int_eq(one.found->measured, made.apart);
	for (guint kind = 0; kind < PIPESIM_N_CAUSES; kind++)
		ck_assert_int_eq(cause_of(&one, kind),
			cause_of(&alone, kind) + (kind == PIPESIM_CAUSE_HOST ? 7 * MS : 0));
}
END_TEST

/* The swing of two ranks whose stretches of 10 ms each hold @often kernels of as many us as @us says, six stretches a rank. */
static gint64 swing_of(const gint64 us[2][6], gint64 often)
{
	PipesimTrace traces[2] = {0}, *const all[] = {&traces[0], &traces[1]};
	gint64 swing;

	for (guint rank = 0; rank < 2; rank++) {
		traces[rank].paces = g_array_new(FALSE, FALSE, sizeof(PipesimTracePace));
		for (gint64 i = 0; i < 6 * often; i++)
			g_array_append_val(traces[rank].paces,
				((PipesimTracePace){"gemm",
					i / often * 10000000 + i % often * 10000000 / often,
					us[rank][i / often] * 1000}));
	}
	swing = pipesim_clock_swing(all, 2);
	g_array_unref(traces[0].paces);
	g_array_unref(traces[1].paces);
	return swing;
}

/* One rank that is slower than another does not swing; of each rank nine of ten stretches stand against one of ten. */
START_TEST(clocks_swing_on_one_rank)
{
	static const gint64 even[2][6] = {
		{1000, 1000, 1000, 1000, 1000, 1000}, {1050, 1050, 1050, 1050, 1050, 1050}};
	static const gint64 one[2][6] = {
		{1000, 1000, 1000, 1000, 1000, 1000}, {1000, 1000, 1000, 1050, 1050, 1050}};
	static const gint64 both[2][6] = {
		{1000, 1000, 1040, 1000, 1000, 1040}, {1000, 1060, 1000, 1000, 1060, 1000}};
	static const gint64 brief[2][6] = {
		{499, 499, 499, 499, 499, 499}, {499, 499, 499, 520, 520, 520}};
	static const gint64 enough[2][6] = {
		{500, 500, 500, 500, 500, 500}, {500, 500, 500, 520, 520, 520}};

	ck_assert_int_eq(swing_of(even, 8), 0);
	ck_assert_int_eq(swing_of(one, 8), 50000);
	ck_assert_int_eq(swing_of(both, 8), 60000);
	/* Stretches with less than 2 ms of work tell nothing. */
	ck_assert_int_eq(swing_of(brief, 4), 0);
	ck_assert_int_eq(swing_of(enough, 4), 40000);
}
END_TEST

Suite *diagnosis_ranks_suite(void)
{
	Suite *suite = suite_create("diagnosis-ranks");
	TCase *join = tcase_create("join");
	TCase *ops = tcase_create("ops");

	tcase_add_loop_test(join, missing_stages_are_named, 0, 2);
	tcase_add_test(join, every_rank_has_its_own_times);
	tcase_add_test(join, missing_ranks_get_the_nearest_stage);
	tcase_add_test(join, pairs_of_one_rank_are_pairs_of_all);
	tcase_add_test(join, stages_of_ranks_are_in_order);
	tcase_add_test(join, ranks_follow_from_places_and_stages);
	tcase_add_test(join, copies_of_stages_are_replicas);
	tcase_add_test(join, steps_on_one_clock_follow_each_other);
	tcase_add_test(join, steps_without_numbers_are_told_by_what_recurs);
	tcase_add_loop_test(join, what_takes_too_long_is_refused, 0, G_N_ELEMENTS(long_ones));
	tcase_add_test(join, steps_of_some_replicas_are_left_out);
	tcase_add_test(join, time_between_steps_is_of_the_step);
	tcase_add_loop_test(
		join, files_that_do_not_go_together_are_refused, 0, G_N_ELEMENTS(apart));
	tcase_add_loop_test(join, captures_give_their_stage_times, 0, 4);
	tcase_add_loop_test(ops, foreign_ops_are_read, 0, G_N_ELEMENTS(foreign));
	tcase_add_loop_test(ops, bad_tables_of_ops_name_their_place, 0, G_N_ELEMENTS(bad_ops));
	tcase_add_test(ops, ops_and_what_is_beside_them_are_read);
	tcase_add_test(ops, clocks_swing_on_one_rank);
	suite_add_tcase(suite, join);
	suite_add_tcase(suite, ops);
	return suite;
}
