#include "config.h"

#include "analysis/held.h"
#include "base/json.h"
#include "output/figures.h"
#include "output/transfers.h"

/* Threads of a process. Perfetto keeps process 0 and thread 0 for the idle task of a kernel, so
 * both count from 1. Of messages that are on their way at the same time each has a track of its
 * own: slices of one track must not overlap. */
#define COMPUTE_THREAD 1

typedef struct {
	PipesimJson *json;
	PipesimSink *sink;
	const PipesimRun *run;
	const PipesimCosts *costs;
	guint64 first_pid; /* of rank 0 of this run */
	guint64 first_flow;
	gboolean several; /* runs: processes are named after them */
	GString *name;
} Trace;

static guint thread_of(PipesimWay way, guint track)
{
	return COMPUTE_THREAD + 1 + 2 * track + (way == PIPESIM_RECEIVED);
}

static void open_event(
	const Trace *trace, const char *phase, const char *name, guint rank, guint thread)
{
	PipesimJson *json = trace->json;

	pipesim_sink_drain(trace->sink);
	pipesim_json_open_line(json);
	pipesim_json_member_string(json, "ph", phase);
	pipesim_json_member_string(json, "name", name);
	pipesim_json_member_int(json, "pid", (gint64)(trace->first_pid + rank));
	pipesim_json_member_int(json, "tid", thread);
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

/* Names ---------------------------------------------------------------------------------- */

static void name_process(const Trace *trace, guint rank)
{
	g_autofree char *name = trace->several
					? g_strdup_printf("%s, rank %u", trace->run->name, rank)
					: g_strdup_printf("rank %u", rank);

	open_event(trace, "M", "process_name", rank, COMPUTE_THREAD);
	open_args(trace->json);
	pipesim_json_member_string(trace->json, "name", name);
	close_event(trace->json);
	open_event(trace, "M", "process_sort_index", rank, COMPUTE_THREAD);
	open_args(trace->json);
	pipesim_json_member_int(trace->json, "sort_index", (gint64)(trace->first_pid + rank));
	close_event(trace->json);
}

static void name_thread(
	const Trace *trace, guint rank, guint thread, const char *name, guint position)
{
	open_event(trace, "M", "thread_name", rank, thread);
	open_args(trace->json);
	pipesim_json_member_string(trace->json, "name", name);
	close_event(trace->json);
	open_event(trace, "M", "thread_sort_index", rank, thread);
	open_args(trace->json);
	pipesim_json_member_int(trace->json, "sort_index", position);
	close_event(trace->json);
}

/* All sends stand above all receives. */
static void name_tracks(const Trace *trace, guint rank, PipesimWay way, guint tracks)
{
	const char *what = way == PIPESIM_SENT ? "send" : "receive";

	for (guint i = 0; i < tracks; i++) {
		g_autofree char *name =
			i == 0 ? g_strdup(what) : g_strdup_printf("%s %u", what, i + 1);

		name_thread(trace, rank, thread_of(way, i), name,
			(way == PIPESIM_SENT ? 1 : G_MAXINT32 / 2) + i);
	}
}

/* Ops ------------------------------------------------------------------------------------ */

static void write_op(const Trace *trace, guint rank, guint32 index)
{
	const PipesimProgram *program = trace->run->step->program;
	const PipesimOp *op = &program->ops[index];
	const PipesimTimeline *timeline = trace->run->step->timeline;
	const char *phase = g_ptr_array_index(program->phases, op->phase);

	g_string_truncate(trace->name, 0);
	pipesim_op_print(program, rank, op, trace->name);
	open_event(trace, "X", trace->name->str, rank, COMPUTE_THREAD);
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

/* Counters ------------------------------------------------------------------------------- */

static void open_counter(const Trace *trace, const char *name, guint rank, gint64 ns)
{
	open_event(trace, "C", name, rank, COMPUTE_THREAD);
	key_us(trace->json, "ts", ns);
	open_args(trace->json);
}

static void write_held(const Trace *trace, guint rank, gint64 ns, const PipesimHeld *held)
{
	const PipesimReport *report = trace->run->report;

	open_counter(trace, "activations", rank, ns);
	pipesim_json_key(trace->json, "held");
	pipesim_json_double(
		trace->json, pipesim_figure_activations(report, held->until_weight));
	close_event(trace->json);
	if (report->memory.peak == NULL)
		return;
	open_counter(trace, "memory", rank, ns);
	pipesim_json_member_int(trace->json, "bytes",
		pipesim_held_bytes(held, report, trace->costs, NULL, NULL));
	close_event(trace->json);
}

static void write_counters(const Trace *trace, guint rank)
{
	const PipesimProgram *program = trace->run->step->program;
	const PipesimTimeline *timeline = trace->run->step->timeline;
	PipesimHeld held = {0};

	write_held(trace, rank, 0, &held);
	for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1]; i++) {
		if (pipesim_held_before(&held, &program->ops[i]))
			write_held(trace, rank, timeline->start[i], &held);
		if (pipesim_held_after(&held, &program->ops[i]))
			write_held(trace, rank, timeline->end[i], &held);
	}
}

/* Messages ------------------------------------------------------------------------------- */

/* One flow a message: from the op that makes it over both tracks to the op that needs it. */
static void write_flow(const Trace *trace, const PipesimMessage *message, const char *phase,
	guint rank, guint thread, gint64 ns)
{
	const guint64 id = trace->first_flow + 2 * (guint64)message->to + message->backward;

	open_event(trace, phase, "message", rank, thread);
	pipesim_json_member_string(trace->json, "cat", "p2p");
	pipesim_json_member_int(trace->json, "id", (gint64)id);
	key_us(trace->json, "ts", ns);
	if (phase[0] == 'f')
		pipesim_json_member_string(trace->json, "bp", "e");
	pipesim_json_close(trace->json);
}

/* An arrow binds to the slice around its time: at its very end the next slice would have it. */
static gint64 last_moment(const PipesimTimeline *timeline, guint32 op)
{
	return MAX(timeline->start[op], timeline->end[op] - 1);
}

static void write_transfer(
	const Trace *trace, const PipesimTracked *transfer, guint rank, PipesimWay way)
{
	const PipesimMessage *message = &transfer->message;
	const PipesimOp *to = &trace->run->step->program->ops[message->to];
	const gboolean paired = to->kind == PIPESIM_FB && message->backward;
	const char *what = message->backward ? "gradient" : "activation";
	const guint thread = thread_of(way, transfer->track);

	if (transfer->start == transfer->end)
		return;
	if (way == PIPESIM_SENT)
		g_string_printf(trace->name, "%s to rank %u", what, message->to_rank);
	else
		g_string_printf(trace->name, "%s from rank %u", what, message->from_rank);
	open_event(trace, "X", trace->name->str, rank, thread);
	pipesim_json_member_string(trace->json, "cat", what);
	key_us(trace->json, "ts", transfer->start);
	key_us(trace->json, "dur", transfer->end - transfer->start);
	open_args(trace->json);
	pipesim_json_member_int(
		trace->json, "microbatch", paired ? to->b_microbatch : to->microbatch);
	close_event(trace->json);
	write_flow(trace, message, "t", rank, thread, transfer->start);
}

static gboolean write_messages(const Trace *trace, guint rank, PipesimWay way, GError **error)
{
	const PipesimTimeline *timeline = trace->run->step->timeline;
	g_auto(PipesimTransfers) transfers = {0};

	if (!pipesim_transfers(trace->run, rank, way, &transfers, error))
		return FALSE;
	name_tracks(trace, rank, way, transfers.tracks);
	for (gsize i = 0; i < transfers.n; i++) {
		const PipesimMessage *message = &transfers.transfers[i].message;

		if (way == PIPESIM_SENT)
			write_flow(trace, message, "s", rank, COMPUTE_THREAD,
				last_moment(timeline, message->from));
		write_transfer(trace, &transfers.transfers[i], rank, way);
		if (way == PIPESIM_RECEIVED)
			write_flow(trace, message, "f", rank, COMPUTE_THREAD,
				timeline->start[message->to]);
	}
	return TRUE;
}

/* Beginnings of flows stand before their ends: what reads events of one time in the order of
 * the file finds each begun. */
static gboolean write_run(Trace *trace, GError **error)
{
	const PipesimRun *run = trace->run;

	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		name_process(trace, rank);
		name_thread(trace, rank, COMPUTE_THREAD, "compute", 0);
		for (guint32 i = run->step->program->rank_begin[rank];
			i < run->step->program->rank_begin[rank + 1]; i++)
			write_op(trace, rank, i);
		write_counters(trace, rank);
		if (!write_messages(trace, rank, PIPESIM_SENT, error))
			return FALSE;
	}
	for (guint rank = 0; rank < run->shape.ranks; rank++)
		if (!write_messages(trace, rank, PIPESIM_RECEIVED, error))
			return FALSE;
	trace->first_pid += run->shape.ranks;
	trace->first_flow += 2 * (guint64)run->step->program->n_ops;
	return TRUE;
}

static gboolean write_runs(Trace *trace, const PipesimComparison *comparison, GError **error)
{
	gboolean done = TRUE;

	pipesim_json_open_object(trace->json);
	pipesim_json_member_string(trace->json, "displayTimeUnit", "ns");
	pipesim_json_key(trace->json, "otherData");
	pipesim_json_open_line(trace->json);
	pipesim_json_member_string(trace->json, "version", PACKAGE_VERSION);
	pipesim_json_member_string(trace->json, "command", comparison->command);
	pipesim_json_close(trace->json);
	pipesim_json_key(trace->json, "traceEvents");
	pipesim_json_open_array(trace->json);
	for (guint i = 0; done && i < comparison->runs->len; i++) {
		trace->run = g_ptr_array_index(comparison->runs, i);
		if (trace->run->error == NULL)
			done = write_run(trace, error);
	}
	pipesim_json_close(trace->json);
	pipesim_json_close(trace->json);
	return done;
}

static guint count_results(const PipesimComparison *comparison)
{
	guint count = 0;

	for (guint i = 0; i < comparison->runs->len; i++)
		count += ((const PipesimRun *)g_ptr_array_index(comparison->runs, i))->error ==
			 NULL;
	return count;
}

gboolean pipesim_chrome_trace(
	const PipesimComparison *comparison, PipesimSink *sink, GError **error)
{
	g_autoptr(PipesimJson) json = pipesim_json_new(pipesim_sink_text(sink));
	g_autoptr(GString) name = g_string_new(NULL);
	Trace trace = {
		.json = json,
		.sink = sink,
		.costs = comparison->costs,
		.first_pid = 1,
		.several = count_results(comparison) > 1,
		.name = name,
	};

	return write_runs(&trace, comparison, error);
}

gboolean pipesim_chrome_trace_write(
	const PipesimComparison *comparison, const char *path, GError **error)
{
	g_autoptr(PipesimSink) sink = pipesim_sink_open(path, error);

	return sink != NULL && pipesim_chrome_trace(comparison, sink, error) &&
	       pipesim_sink_close(sink, error);
}
