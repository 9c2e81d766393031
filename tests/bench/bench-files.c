/* Files that are read: bytes a second, from memory. */
#include "analysis/best-order.h"
#include "bench.h"
#include "measure/reader.h"
#include "runtime/csv.h"

#define ROWS 40000

/* A row a repetition, as pipesim-microbench writes them: each of four ranks in turn. */
static GString *make_trace(void)
{
	static const char *const what[] = {"attn,F,,compute,cudnn,compute,132,132,none,,,",
		"attn,I,,compute,cudnn,compute,132,132,none,,,",
		"mlp,F,,compute,cublaslt-fp8-block,compute,132,132,none,,,",
		"dispatch,F,,comm,own,comm,20,20,none,relaxed,1,0",
		"combine,I,,comm,own,comm,20,20,none,relaxed,1,0"};
	GString *text =
		g_string_new("#format,pipesim-trace\n#version,1\n#device_name,Test GPU\n"
			     "run_id,rep,order,rank,device,chunk,layer,component,phase,"
			     "pair_id,role,impl,stream,sm_req,sm_actual,sm_mode,ld_mode,"
			     "chunk_tokens,pace_gbps,tokens,rows,payload_bytes,wire_bytes,"
			     "flops,t_start_ns,dur_ns,move_ns,wait_ns,clk_sm_mhz,power_w,"
			     "temp_c,status,load_mode\n");

	for (guint i = 0; i < ROWS; i++) {
		const guint kind = i / 4 % G_N_ELEMENTS(what), rank = i % 4;

		g_string_append_printf(text,
			"main-sustained,%u,%u,%u,%u,0,0,%s,4096,%u,%u,,,2944,%u,%u,%u,1710,"
			"320.8,53,ok,sustained\n",
			i / 4, kind, rank, rank, what[kind], 32000 + i % 997,
			120000000 + i % 89, 400000 + i % 4099, 390000 + i % 4099,
			10000 - i % 97);
	}
	return text;
}

static void read_trace(gpointer data)
{
	const GString *text = data;
	PipesimTrace *trace = pipesim_trace_read(
		pipesim_input_new_memory("trace", text->str, text->len), NULL, NULL);

	g_assert(trace != NULL && trace->rows->len == ROWS);
	pipesim_trace_free(trace);
}

static void read_schedule(gpointer data)
{
	const GString *text = data;
	g_autoptr(PipesimScheduleFile) file =
		pipesim_schedule_file_parse(text->str, text->len, "bench.csv", NULL);

	g_assert(file != NULL);
}

/* As validate does. */
static void prove_schedule(gpointer data)
{
	const GString *text = data;
	const PipesimRuntime *const *runtimes = pipesim_runtime_list();
	g_autoptr(PipesimScheduleFile) file =
		pipesim_schedule_file_parse(text->str, text->len, "bench.csv", NULL);
	g_autoptr(PipesimProgram) program = pipesim_order_expand(file->order, NULL);
	PipesimProven proven = PIPESIM_PROVEN_NONE;

	for (guint i = 0; runtimes[i] != NULL; i++) {
		const PipesimIssuing issuing =
			pipesim_runtime_asked(runtimes[i], &(PipesimIssuing){0});

		pipesim_runtime_runs(program, runtimes[i], &issuing, &proven, NULL, NULL, NULL);
	}
}

static void print_rate(const char *what, gint64 ns, gsize bytes)
{
	const BenchRow row = {.what = what, .ns = ns, .n = (double)bytes, .unit = "bytes"};

	bench_row(&row);
}

static void schedule_row(const char *name, gboolean with_comms, BenchWork work)
{
	const PipesimScenario scenario = {.ranks = 64, .microbatches = 1024};
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(GString) text = g_string_new(NULL);
	g_autofree char *what = g_strdup_printf("%s%s", name, with_comms ? ", messages" : "");

	program = pipesim_best_program(schedule, &scenario, costs, NULL);
	if (with_comms) {
		lowering = pipesim_lower(program, &pipesim_runtime_pytorch_2_11, NULL, NULL);
		pipesim_lowering_print(lowering, text);
	} else {
		pipesim_schedule_write_csv(program, text);
	}
	print_rate(what, bench_median(work, text), text->len);
}

void bench_files(void)
{
	g_autoptr(GString) trace = make_trace();

	bench_title("Files read from memory (M units: MB; aims: schedules 200, traces 100), PP "
		    "64, 1024 "
		    "micro-batches");
	schedule_row("1f1b", FALSE, read_schedule);
	schedule_row("zb-v", FALSE, read_schedule);
	schedule_row("1f1b", TRUE, read_schedule);
	schedule_row("zb-v", TRUE, read_schedule);
	schedule_row("dualpipev", TRUE, read_schedule);
	print_rate("trace of 40,000 rows", bench_median(read_trace, trace), trace->len);
	bench_title("Files read and proved under every runtime (M units: MB; aim: 100), PP 64, "
		    "1024 "
		    "micro-batches");
	schedule_row("1f1b", FALSE, prove_schedule);
	schedule_row("interleaved-1f1b", FALSE, prove_schedule);
	schedule_row("zb-v", FALSE, prove_schedule);
}
