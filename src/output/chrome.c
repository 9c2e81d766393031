#include "config.h"

#include "base/json.h"
#include "output/figures.h"

/* Process ids of the next run begin that much higher, so that runs stay apart. */
typedef struct {
	PipesimJson *json;
	const PipesimRun *run;
	guint64 first_pid;
	guint64 next_flow;
	gboolean several; /* runs: processes are named after them */
} Trace;

static void open_event(const Trace *trace, const char *phase, const char *name, guint rank)
{
	PipesimJson *json = trace->json;

	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "ph", phase);
	pipesim_json_member_string(json, "name", name);
	pipesim_json_member_int(json, "pid", (gint64)(trace->first_pid + rank));
	pipesim_json_member_int(json, "tid", 0);
}

static void key_us(PipesimJson *json, const char *key, gint64 ns)
{
	pipesim_json_key(json, key);
	pipesim_json_us(json, ns);
}

static void open_args(PipesimJson *json)
{
	pipesim_json_key(json, "args");
	pipesim_json_open_line(json);
}

static void close_event(PipesimJson *json)
{
	pipesim_json_close(json);
	pipesim_json_close(json);
}

static void name_rank(const Trace *trace, guint rank)
{
	g_autofree char *name = trace->several
					? g_strdup_printf("%s, rank %u", trace->run->name, rank)
					: g_strdup_printf("rank %u", rank);

	open_event(trace, "M", "process_name", rank);
	open_args(trace->json);
	pipesim_json_member_string(trace->json, "name", name);
	close_event(trace->json);
	open_event(trace, "M", "process_sort_index", rank);
	open_args(trace->json);
	pipesim_json_member_int(trace->json, "sort_index", (gint64)(trace->first_pid + rank));
	close_event(trace->json);
	open_event(trace, "M", "thread_name", rank);
	open_args(trace->json);
	pipesim_json_member_string(trace->json, "name", "compute");
	close_event(trace->json);
}

static void write_op(const Trace *trace, guint rank, guint32 index, GString *name)
{
	const PipesimProgram *program = trace->run->program;
	const PipesimOp *op = &program->ops[index];
	const PipesimTimeline *timeline = trace->run->timeline;
	const char *phase = g_ptr_array_index(program->phases, op->phase);

	g_string_truncate(name, 0);
	pipesim_op_print(program, rank, op, name);
	open_event(trace, "X", name->str, rank);
	pipesim_json_member_string(trace->json, "cat", pipesim_kind_letter(op->kind));
	key_us(trace->json, "ts", timeline->start[index]);
	key_us(trace->json, "dur", timeline->end[index] - timeline->start[index]);
	open_args(trace->json);
	pipesim_json_member_int(trace->json, "stage", pipesim_op_stage(program, rank, op));
	pipesim_json_member_int(trace->json, "microbatch", op->microbatch);
	if (op->kind == PIPESIM_FB) {
		pipesim_json_member_int(
			trace->json, "backward_stage", pipesim_op_b_stage(program, rank, op));
		pipesim_json_member_int(trace->json, "backward_microbatch", op->b_microbatch);
	}
	if (phase[0] != '\0')
		pipesim_json_member_string(trace->json, "phase", phase);
	close_event(trace->json);
}

static void write_held(const Trace *trace, guint rank, gint64 ns, guint held)
{
	open_event(trace, "C", "activations", rank);
	key_us(trace->json, "ts", ns);
	open_args(trace->json);
	pipesim_json_key(trace->json, "held");
	pipesim_json_double(trace->json, pipesim_figure_activations(trace->run->report, held));
	close_event(trace->json);
}

/* Activations are held from the start of a forward to the end of W or B, as in the report. */
static void write_counters(const Trace *trace, guint rank)
{
	const PipesimProgram *program = trace->run->program;
	const PipesimTimeline *timeline = trace->run->timeline;
	guint held = 0;

	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		guint8 kind = program->ops[i].kind;

		if (kind == PIPESIM_F || kind == PIPESIM_FB)
			write_held(trace, rank, timeline->start[i], ++held);
		if (kind != PIPESIM_F && kind != PIPESIM_I)
			write_held(trace, rank, timeline->end[i], --held);
	}
}

static void write_flow_end(
	Trace *trace, const char *phase, guint rank, gint64 ns, gboolean enclosing)
{
	open_event(trace, phase, "message", rank);
	pipesim_json_member_string(trace->json, "cat", "p2p");
	pipesim_json_member_int(trace->json, "id", (gint64)trace->next_flow);
	key_us(trace->json, "ts", ns);
	if (enclosing)
		pipesim_json_member_string(trace->json, "bp", "e");
	pipesim_json_close(trace->json);
}

/* An arrow binds to the slice around its time: at its very end the next slice would have it. */
static gint64 last_moment(const PipesimTimeline *timeline, guint32 op)
{
	return MAX(timeline->start[op], timeline->end[op] - 1);
}

static void write_messages(Trace *trace, guint rank, guint32 index)
{
	const PipesimProgram *program = trace->run->program;
	const PipesimTimeline *timeline = trace->run->timeline;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, &program->ops[index], inputs);

	for (guint i = 0; i < n; i++) {
		const guint from = pipesim_program_rank(program, inputs[i]);

		if (from == rank)
			continue;
		write_flow_end(trace, "s", from, last_moment(timeline, inputs[i]), FALSE);
		write_flow_end(trace, "f", rank, timeline->start[index], TRUE);
		trace->next_flow++;
	}
}

static void write_run(Trace *trace)
{
	const PipesimRun *run = trace->run;
	g_autoptr(GString) name = g_string_new(NULL);

	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		name_rank(trace, rank);
		for (guint32 i = run->program->rank_begin[rank];
			i < run->program->rank_begin[rank + 1]; i++)
			write_op(trace, rank, i, name);
		write_counters(trace, rank);
	}
	for (guint rank = 0; rank < run->shape.ranks; rank++)
		for (guint32 i = run->program->rank_begin[rank];
			i < run->program->rank_begin[rank + 1]; i++)
			write_messages(trace, rank, i);
	trace->first_pid += run->shape.ranks;
}

static guint count_results(const PipesimComparison *comparison)
{
	guint count = 0;

	for (guint i = 0; i < comparison->runs->len; i++)
		count += ((const PipesimRun *)g_ptr_array_index(comparison->runs, i))->error ==
			 NULL;
	return count;
}

void pipesim_chrome_trace(const PipesimComparison *comparison, GString *out)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(out);
	Trace trace = {.json = json, .several = count_results(comparison) > 1};

	pipesim_json_open_object(json);
	pipesim_json_member_string(json, "displayTimeUnit", "ns");
	pipesim_json_key(json, "otherData");
	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "version", PACKAGE_VERSION);
	pipesim_json_member_string(json, "command", comparison->command);
	pipesim_json_close(json);
	pipesim_json_key(json, "traceEvents");
	pipesim_json_open_array(json);
	for (guint i = 0; i < comparison->runs->len; i++) {
		trace.run = g_ptr_array_index(comparison->runs, i);
		if (trace.run->error == NULL)
			write_run(&trace);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
}
