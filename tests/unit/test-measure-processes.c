/* Files in which several processes left something: ranks merged into one, and workers. Events are written as merging tools leave them. */
#include "measure/part.h"
#include "measure/reader.h"
#include "peers.h"
#include "trace-text.h"

#include <glib/gstdio.h>
#include <string.h>

/* How one rank stands in the file. */
typedef struct {
	const char *host, *gpu; /* their "pid", as JSON */
	gint tag;               /* "rank" in args; -1 = none */
	guint stage;
	guint first;  /* correlation of its first kernel */
	guint start;  /* us, of its first launch; 100 later the GPU begins */
	guint stride; /* of correlations */
} Rank;

/* Its ranges are those of PyTorch's GPipe. */
#define NO_STAGE G_MAXUINT
/* Of two kernels each. */
#define OPS 10
/* What an event begins with until all are sorted. */
#define TIME      "%08u"
#define TIME_SIZE 8

static void add_event(GPtrArray *out, const Rank *rank, const char *category, const char *name,
	gboolean gpu, guint id, guint start, guint took)
{
	g_autofree char *tag = g_strdup_printf(",\"rank\":%d", rank->tag);

	g_ptr_array_add(out,
		g_strdup_printf(TIME
			"{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%s,\"tid\":7,"
			"\"ts\":%u,\"dur\":%u,\"args\":{\"stream\":7,\"correlation\":%u%s}},\n",
			start, category, name, gpu ? rank->gpu : rank->host, start, took, id,
			rank->tag >= 0 ? tag : ""));
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* One op of @rank: its range, its launches, and what these did. */
static void add_op(GPtrArray *out, const Rank *rank, guint op)
{
	const guint at = rank->start + 40 * op;
	const gboolean forward = op < OPS / 2;
	const guint microbatch = op % (OPS / 2);
	g_autofree char *name =
		rank->stage == NO_STAGE
			? g_strdup_printf("%sward %u", forward ? "For" : "Back", microbatch)
			: g_strdup_printf(
				  "PP:%u%c%u", rank->stage, forward ? 'F' : 'B', microbatch);

	add_event(out, rank, "user_annotation", name, FALSE, 0, at, 30);
	for (guint k = 0; k < 2; k++) {
		const guint id = rank->first + rank->stride * (2 * op + k);

		add_event(out, rank, "cuda_runtime", "cudaLaunchKernel", FALSE, id,
			at + 5 + 5 * k, 1);
		add_event(out, rank, "kernel", "gemm", TRUE, id, at + 100 + 10 * k, 10);
	}
}

static GPtrArray *read_ranks(
	const Rank *ranks, guint n, gboolean sorted, const char *more, GError **error)
{
	g_autoptr(GString) out = g_string_new(
		"{\"distributedInfo\":{\"rank\":0,\"world_size\":2},\"traceEvents\":[\n");
	g_autoptr(GPtrArray) events = g_ptr_array_new_with_free_func(g_free);
	g_autofree char *path = NULL;
	GPtrArray *traces;

	for (guint r = 0; r < n; r++)
		for (guint op = 0; op < OPS; op++)
			add_op(events, &ranks[r], op);
	if (sorted)
		g_ptr_array_sort(events, compare_events);
	for (guint i = 0; i < events->len; i++)
		g_string_append(out, (char *)events->pdata[i] + TIME_SIZE);
	g_string_append_printf(out, "%s{}]}", more);
	g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
	ck_assert(g_file_set_contents(path, out->str, -1, NULL));
	traces = pipesim_traces_read(
		&(PipesimTraceFiles){.paths = (const char *const[]){path, NULL}}, error);
	g_unlink(path);
	return traces;
}

#define NAMED(pid, name)                                                                     \
	"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" pid ",\"args\":{\"name\":\"" name \
	"\"}},\n"

static const struct {
	Rank ranks[2];
	gboolean sorted; /* by time, not one behind the other */
	const char *more;
	gboolean told; /* which rank is which; else the stages number them */
	const char *refused;
} merged[] = {
	/* Events tagged with their rank. */
	{{{"10", "0", 1, 1, 5, 0, 3}, {"10", "0", 0, 0, 5, 7, 3}}, TRUE, "", TRUE, NULL},
	/* A word before each number. */
	{{{"\"[TP00-PP00] 10\"", "\"[TP00-PP00] 0\"", -1, 0, 5, 0, 3},
		 {"\"[TP00-PP01] 10\"", "\"[TP00-PP01] 0\"", -1, 1, 5, 7, 3}},
		TRUE, "", FALSE, NULL},
	{{{"\"[PP01] 10\"", "\"[PP01] 0\"", -1, 1, 5, 0, 3},
		 {"\"[PP00] 10\"", "\"[PP00] 0\"", -1, 0, 5, 7, 3}},
		TRUE, "", TRUE, NULL},
	/* One behind. */
	{{{"\"10_1\"", "\"0_1\"", -1, 1, 5, 0, 3}, {"\"11_0\"", "\"1_0\"", -1, 0, 5, 7, 3}},
		TRUE, "", TRUE, NULL},
	/* A number a rank, for host and GPU alike, and named. */
	{{{"2", "2", -1, 1, 5, 0, 3}, {"1", "1", -1, 0, 5, 7, 3}}, TRUE,
		NAMED("1", "Rank 0") NAMED("2", "Rank 1"), TRUE, NULL},
	{{{"2", "2", -1, 0, 5, 0, 3}, {"1", "1", -1, 1, 5, 7, 3}}, TRUE, "", FALSE, NULL},
	/* As they were: GPUs by what launched their work, correlations of which the half is the other's too. */
	{{{"10", "0", -1, 0, 5, 0, 2}, {"11", "1", -1, 1, 5, 7, 4}}, TRUE, "", FALSE, NULL},
	/* All of them are; but the other launched them later. */
	{{{"10", "0", -1, 0, 5, 0, 2}, {"11", "1", -1, 1, 5, 500, 2}}, TRUE, "", FALSE, NULL},
	/* Every GPU is the first of its host: one file behind the other tells them. */
	{{{"10", "0", -1, 1, 5, 0, 2}, {"11", "0", -1, 0, 5, 7, 2}}, FALSE, "", FALSE, NULL},
	{{{"10", "0", -1, 0, 5, 0, 2}, {"11", "0", -1, 1, 5, 7, 2}}, TRUE, "", FALSE,
		"several processes, and what GPUs did can be of more than one"},
	{{{"10", "0", -1, 0, 5, 0, 2}, {"11", "1", -1, 1, 5, 7, 2}}, TRUE, "", FALSE,
		"several processes, and what GPUs did can be of more than one"},
};

START_TEST(ranks_of_one_file_are_told_apart)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) traces =
		read_ranks(merged[_i].ranks, 2, merged[_i].sorted, merged[_i].more, &error);

	if (merged[_i].refused != NULL) {
		ck_assert_ptr_null(traces);
		ck_assert_msg(strstr(error->message, merged[_i].refused) != NULL, "%s",
			error->message);
		return;
	}
	ck_assert_msg(traces != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_uint_eq(traces->len, 2);
	for (guint t = 0; t < 2; t++) {
		const PipesimTrace *trace = traces->pdata[t];
		const Rank *rank = &merged[_i].ranks[0];

		ck_assert_uint_eq(trace->rows->len, OPS);
		/* Each stage is of the rank with its number. */
		ck_assert_int_eq(pipesim_trace_row(trace, 0)->rank,
			pipesim_trace_row(trace, 0)->what.stage);
		ck_assert_int_eq(pipesim_trace_get_count(trace, "rank"),
			pipesim_trace_row(trace, 0)->rank);
		ck_assert_int_eq(pipesim_trace_get_count(trace, "ranks"), 2);
		if (pipesim_trace_row(trace, 0)->what.stage != rank->stage)
			rank++;
		pipesim_each (const PipesimTraceRow, row, trace->rows)
			ck_assert_int_eq(row->busy, 20000);
		ck_assert_int_eq(
			pipesim_trace_row(trace, 0)->start, (gint64)(rank->start + 100) * 1000);
	}
	const PipesimTrace *first = traces->pdata[0];
	ck_assert_int_eq(trace_has_notice(first->notices, "does not tell which is which"),
		!merged[_i].told);
}
END_TEST

/* Neither tags nor stages: who begins first is first. */
START_TEST(ranks_without_stages_go_by_time)
{
	static const Rank ranks[] = {
		{"10", "0", -1, NO_STAGE, 5, 300, 2}, {"11", "1", -1, NO_STAGE, 6, 0, 2}};
	g_autoptr(GPtrArray) traces = read_ranks(ranks, 2, TRUE, "", NULL);

	ck_assert_uint_eq(traces->len, 2);
	pipesim_each_in (const PipesimTrace, trace, traces) {
		const PipesimTraceRow *row = pipesim_trace_row(trace, 0);

		ck_assert_int_eq(row->rank, row->start >= 400000);
		ck_assert_ptr_nonnull(pipesim_trace_get(trace, PIPESIM_RANK_BY_START));
	}
}
END_TEST

#define WORKER                                                                           \
	"{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"enumerate(DataLoader)\","  \
	"\"pid\":99,"                                                                    \
	"\"tid\":7,\"ts\":1,\"dur\":900},\n"                                             \
	"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaEventQuery\",\"pid\":99," \
	"\"tid\":7,\"ts\":1,\"dur\":1,\"args\":{\"correlation\":5}},\n"

/* A second process that did nothing of the pipeline leaves the file that of one rank. */
START_TEST(workers_are_left_out)
{
	static const Rank rank = {"10", "0", -1, 0, 5, 0, 2};
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) traces = read_ranks(&rank, 1, FALSE, WORKER, &error);

	ck_assert_msg(traces != NULL, "%s", error != NULL ? error->message : "");
	ck_assert_uint_eq(traces->len, 1);
	ck_assert_uint_eq(((PipesimTrace *)traces->pdata[0])->rows->len, OPS);
	ck_assert_int_eq(pipesim_trace_get_count(traces->pdata[0], "rank"), 0);
}
END_TEST

#define HOST(backend)                                                                         \
	"{\"deviceProperties\":[{\"name\":\"GPU\"}],\"distributedInfo\":{\"backend\":"        \
	"\"" backend                                                                          \
	"\"},\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"PP:0F0\"," \
	"\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":"  \
	"\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":5}]}"

/* What hosts ran is what ran where they send by gloo, whether or not there is a GPU; else it only launched. */
START_TEST(hosts_with_gpus_may_run_alone)
{
	static const char *const texts[] = {HOST("gloo"), HOST("nccl")};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		g_autofree char *path = NULL;
		g_autoptr(GError) error = NULL;
		g_autoptr(PipesimTrace) trace = NULL;

		g_close(g_file_open_tmp("pipesim-XXXXXX", &path, NULL), NULL);
		ck_assert(g_file_set_contents(path, texts[i], -1, NULL));
		trace = pipesim_trace_read(pipesim_input_open(path, NULL), NULL, &error);
		g_unlink(path);
		if (i == 0)
			ck_assert_int_eq(pipesim_trace_row(trace, 0)->busy, 5000);
		else
			ck_assert_ptr_nonnull(
				strstr(error->message, "the profiler saw the host alone"));
	}
}
END_TEST

static char *read_files(const char *const *paths, const PipesimPeers *peers)
{
	const PipesimTraceFiles files = {.paths = paths, .peers = peers};
	g_autoptr(GString) out = g_string_new(NULL);
	g_autoptr(GError) error = NULL;
	g_autoptr(GPtrArray) traces = pipesim_traces_read(&files, &error);

	if (traces == NULL)
		return g_strdup(error->message);
	pipesim_part_write((PipesimTrace *const *)traces->pdata, traces->len, out);
	return g_compute_checksum_for_string(G_CHECKSUM_MD5, out->str, (gssize)out->len);
}

static gpointer read_as_peer(gpointer data)
{
	const PipesimPeers peers = peers_join();

	return read_files(data, &peers);
}

/* As many processes have what one reads, and the same to complain of; more of them than files too. */
START_TEST(processes_share_files)
{
	static const char *const names[][5] = {
		{"peers/rank0.json", "peers/rank1.json", "peers/rank2.json",
			"peers/rank3.json"},
		{"run/ops.csv", "profile.json"},
		{"peers/rank0.json", "peers/rank1.json", "trace-no-rows.csv", "run/none.csv"},
	};
	g_auto(GStrv) paths = g_new0(char *, G_N_ELEMENTS(names[_i]));
	g_autofree char *alone = NULL;
	gpointer found[PEERS];

	for (guint i = 0; names[_i][i] != NULL; i++)
		paths[i] = g_build_filename(
			g_getenv("TOP_SRCDIR") ?: ".", "tests/input", names[_i][i], NULL);
	alone = read_files((const char *const *)paths, NULL);
	ck_assert_int_eq(strstr(alone, "trace-no-rows.csv:1:1: ") != NULL, _i == 2);
	peers_run(read_as_peer, paths, found);
	for (guint i = 0; i < PEERS; i++) {
		ck_assert_str_eq(found[i], alone);
		g_free(found[i]);
	}
}
END_TEST

Suite *measure_processes_suite(void)
{
	Suite *suite = suite_create("measure-processes");
	TCase *files = tcase_create("files");

	tcase_add_loop_test(files, ranks_of_one_file_are_told_apart, 0, G_N_ELEMENTS(merged));
	tcase_add_test(files, ranks_without_stages_go_by_time);
	tcase_add_test(files, workers_are_left_out);
	tcase_add_test(files, hosts_with_gpus_may_run_alone);
	tcase_add_loop_test(files, processes_share_files, 0, 3);
	suite_add_tcase(suite, files);
	return suite;
}
