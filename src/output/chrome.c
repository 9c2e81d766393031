/* Timelines as trace events for Perfetto and chrome://tracing. */

#include "analysis/held.h"
#include "analysis/stays.h"
#include "output/figures.h"
#include "output/moments.h"
#include "output/timeline-layout.h"

/* Threads of a process. Perfetto keeps process 0 and thread 0 for the idle task of a kernel, so
 * both count from 1. Of messages that are on their way at the same time each has a track of its
 * own: slices of one track must not overlap. */
#define COMPUTE_THREAD 1
#define LOST_THREAD    G_MAXINT32
#define SHARDS_THREAD  (G_MAXINT32 - 1)
#define STAYS_THREAD   (G_MAXINT32 - 2)
#define COPIES_THREAD  (G_MAXINT32 - 4) /* and the next: out and in */

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

typedef enum {
	SENT,
	RECEIVED
} Way;

static guint thread_of(Way way, guint track)
{
	return COMPUTE_THREAD + 1 + 2 * track + (way == RECEIVED);
}

static void open_event(
	const Trace *trace, const char *phase, const char *name, guint rank, guint thread)
{
	PipesimJson *json = trace->json;

	pipesim_sink_drain(trace->sink);
	pipesim_json_open_line(json, NULL);
	PIPESIM_MEMBER(json, "ph", TEXT, phase);
	PIPESIM_MEMBER(json, "name", TEXT, name);
	PIPESIM_MEMBER(json, "pid", COUNT, (gint64)(trace->first_pid + rank));
	PIPESIM_MEMBER(json, "tid", COUNT, thread);
}

/* A slice of a track. */
static void open_slice(const Trace *trace, const char *name, guint rank, guint thread,
	const char *category, gint64 start, gint64 end)
{
	open_event(trace, "X", name, rank, thread);
	PIPESIM_MEMBER(trace->json, "cat", TEXT, category);
	PIPESIM_MEMBER(trace->json, "ts", US, start);
	PIPESIM_MEMBER(trace->json, "dur", US, end - start);
}

static void close_event(PipesimJson *json)
{
	pipesim_json_close(json);
	pipesim_json_close(json);
}

/* Names ---------------------------------------------------------------------------------- */

/* What a process or thread is called, and where it stands. */
static void write_name(const Trace *trace, const char *what, guint rank, guint thread,
	const char *label, gint64 position)
{
	for (guint i = 0; i < 2; i++) {
		g_string_printf(trace->name, "%s_%s", what, i == 0 ? "name" : "sort_index");
		open_event(trace, "M", trace->name->str, rank, thread);
		pipesim_json_open_line(trace->json, "args");
		if (i == 0)
			PIPESIM_MEMBER(trace->json, "name", TEXT, label);
		else
			PIPESIM_MEMBER(trace->json, "sort_index", COUNT, position);
		close_event(trace->json);
	}
}

/* Ops ------------------------------------------------------------------------------------ */

static void write_op(const Trace *trace, guint rank, guint32 index)
{
	const PipesimProgram *program = trace->run->step->program;
	const PipesimOp *op = &program->ops[index];
	const PipesimTimeline *timeline = trace->run->step->timeline;
	const char *phase = g_ptr_array_index(program->phases, op->phase);
	const guint slices = pipesim_shape_slices(&program->shape);

	if (pipesim_op_rows[op->kind].resource != PIPESIM_ON_RANK)
		return;

	g_string_truncate(trace->name, 0);
	pipesim_op_print(program, rank, op, trace->name);
	open_slice(trace, trace->name->str, rank, COMPUTE_THREAD, pipesim_kind_letter(op->kind),
		timeline->start[index], timeline->end[index]);
	pipesim_json_open_line(trace->json, "args");
	PIPESIM_MEMBER(trace->json, "stage", COUNT, pipesim_op_stage(program, rank, op));
	PIPESIM_MEMBER(trace->json, "microbatch", COUNT, op->microbatch / slices);
	if (slices > 1)
		PIPESIM_MEMBER(trace->json, "slice", COUNT, op->microbatch % slices);
	if (op->kind == PIPESIM_FB) {
		PIPESIM_MEMBER(trace->json, "backward_stage", COUNT,
			pipesim_op_b_stage(program, rank, op));
		PIPESIM_MEMBER(
			trace->json, "backward_microbatch", COUNT, op->b_microbatch / slices);
	}
	if (phase[0] != '\0')
		PIPESIM_MEMBER(trace->json, "phase", TEXT, phase);
	if (pipesim_run_has_speeds(trace->run))
		PIPESIM_MEMBER(trace->json, "sustained_us", US,
			pipesim_run_sustained(trace->run, rank, index));
	close_event(trace->json);
}

/* Counters ------------------------------------------------------------------------------- */

static void open_counter(const Trace *trace, const char *name, guint rank, gint64 ns)
{
	open_event(trace, "C", name, rank, COMPUTE_THREAD);
	PIPESIM_MEMBER(trace->json, "ts", US, ns);
	pipesim_json_open_line(trace->json, "args");
}

static void write_held(const Trace *trace, guint rank, gint64 ns, const PipesimHeld *held)
{
	/* What reads such files goes by these names, older than those that people see. */
	static const char *const counters[PIPESIM_N_HELD] = {"parameters",
		"activations until dgrad", "activations until wgrad", "between dgrad and wgrad",
		"messages", "gathered stages", "transient"};
	const PipesimReport *report = trace->run->report;
	gint64 parts[PIPESIM_N_HELD];

	open_counter(trace, "activations", rank, ns);
	PIPESIM_MEMBER(trace->json, "held", ACTIVATIONS,
		pipesim_figure_activations(report, held->until_weight));
	close_event(trace->json);
	if (report->memory.peak == NULL)
		return;
	open_counter(trace, "memory", rank, ns);
	PIPESIM_MEMBER(
		trace->json, "bytes", COUNT, pipesim_held_bytes(held, report, trace->costs));
	close_event(trace->json);
	/* A counter of several values is drawn as a pile of them. */
	open_counter(trace, "memory by part", rank, ns);
	pipesim_held_parts(held, report, trace->costs, parts);
	for (guint i = 0; i < PIPESIM_N_HELD; i++)
		if (pipesim_moment_has(report, i))
			PIPESIM_MEMBER(trace->json, counters[i], COUNT, parts[i]);
	close_event(trace->json);
}

static void write_speed(const Trace *trace, guint rank, gint64 ns, double percent)
{
	open_counter(trace, "slower than sustained, %", rank, ns);
	PIPESIM_MEMBER(trace->json, "percent", FACTOR, percent);
	close_event(trace->json);
}

/* What each op of @rank takes more than in a chip that never idles, beside nothing. */
static void write_speeds(const Trace *trace, guint rank)
{
	const PipesimTimeline *timeline = trace->run->step->timeline;
	const guint32 *ops = &trace->run->step->program->rank_begin[rank];

	if (!pipesim_run_has_speeds(trace->run))
		return;
	for (guint32 i = ops[0]; i < ops[1]; i++) {
		const gint64 took = timeline->end[i] - timeline->start[i];
		const gint64 sustained = pipesim_run_sustained(trace->run, rank, i);

		if (took == 0 || sustained == 0)
			continue;
		write_speed(trace, rank, timeline->start[i],
			round(1e4 * (double)(took - sustained) / (double)sustained) / 100);
		if (i + 1 == ops[1] || timeline->start[i + 1] > timeline->end[i])
			write_speed(trace, rank, timeline->end[i], 0);
	}
}

/* When messages are on their way ------------------------------------------------------------- */

/* A message of the timeline, or where that has none, what data dependencies say. */
typedef struct {
	PipesimMessage message;
	gint64 start, end; /* on the link, ns */
	guint track;       /* no two of a track overlap */
} Transfer;

/* Of one rank and one way, by start. */
typedef struct {
	Transfer *list;
	Transfer **by_end;
	gsize n;
	guint tracks; /* as many as are on their way at once; 0 where they take no time */
} Transfers;

static void clear_transfers(Transfers *transfers)
{
	pipesim_free_all(transfers->list, transfers->by_end);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Transfers, clear_transfers)

PIPESIM_COMPARE(compare_starts, Transfer,
	pipesim_by(start) ?: pipesim_by(message.from) ?: pipesim_by(message.backward))

PIPESIM_COMPARE_OF(compare_ends, Transfer, pipesim_by(end) ?: pipesim_compare(x, y))

static gboolean find_transfers(
	const PipesimRun *run, guint rank, Way way, Transfers *transfers, GError **error)
{
	const PipesimTimeline *timeline = run->step->timeline;
	const PipesimProgram *program = run->step->program;
	const guint32 *ops = &program->rank_begin[rank];
	const gsize most = 2 * (gsize)(ops[1] - ops[0]) + 1;

	transfers->list = g_try_new(Transfer, most);
	transfers->by_end = g_try_new(Transfer *, most);
	if (transfers->list == NULL || transfers->by_end == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"%s: no memory for the messages of rank %u; ask for fewer "
			"micro-batches",
			run->name, rank);
	if (timeline->transfers != NULL) {
		/* As the runtime moved them: one was simulated that waits for them. */
		const guint32 *begin =
			way == SENT ? timeline->send_begin : timeline->receive_begin;

		pipesim_each_of (i, begin, rank) {
			const PipesimTransfer *moved =
				&timeline->transfers[way == SENT ? i : timeline->arrivals[i]];

			transfers->list[transfers->n++] = (Transfer){
				.message = {moved->from, moved->to, moved->from_rank,
					moved->to_rank, moved->backward},
				.start = moved->start,
				.end = moved->end,
			};
		}
	} else {
		for (guint32 op = ops[0]; op < ops[1]; op++) {
			PipesimMessage messages[2];
			const guint n =
				pipesim_messages(program, rank, op, way == SENT, messages);

			for (guint i = 0; i < n; i++) {
				const gint64 start = timeline->end[messages[i].from];

				transfers->list[transfers->n++] = (Transfer){
					.message = messages[i],
					.start = start,
					.end = start + run->times->p2p,
				};
			}
		}
	}
	qsort(transfers->list, transfers->n, sizeof(Transfer), compare_starts);
	if (run->times->p2p == 0 && run->network == NULL)
		return TRUE;
	/* Each takes the track that has been free the longest, or a new one where none is:
	 * whatever ended before it starts has its track already, as it started before. */
	for (gsize i = 0; i < transfers->n; i++)
		transfers->by_end[i] = &transfers->list[i];
	qsort(transfers->by_end, transfers->n, sizeof(Transfer *), compare_ends);
	Transfer **free_track = transfers->by_end;
	for (gsize i = 0; i < transfers->n; i++) {
		Transfer *transfer = &transfers->list[i];

		if ((*free_track)->end <= transfer->start)
			transfer->track = (*free_track++)->track;
		else
			transfer->track = transfers->tracks++;
	}
	return TRUE;
}

/* Messages ------------------------------------------------------------------------------- */

/* One flow a message: from the op that makes it over both tracks to the op that needs it. */
static void write_flow(const Trace *trace, const PipesimMessage *message, const char *phase,
	guint rank, guint thread, gint64 ns)
{
	const guint64 id = trace->first_flow + 2 * (guint64)message->to + message->backward;

	open_event(trace, phase, "message", rank, thread);
	PIPESIM_MEMBER(trace->json, "cat", TEXT, "p2p");
	PIPESIM_MEMBER(trace->json, "id", COUNT, (gint64)id);
	PIPESIM_MEMBER(trace->json, "ts", US, ns);
	if (phase[0] == 'f')
		PIPESIM_MEMBER(trace->json, "bp", TEXT, "e");
	pipesim_json_close(trace->json);
}

static gboolean write_messages(const Trace *trace, guint rank, Way way, GError **error)
{
	const PipesimTimeline *timeline = trace->run->step->timeline;
	g_auto(Transfers) transfers = {0};
	const char *what = way == SENT ? "send" : "receive";

	if (!find_transfers(trace->run, rank, way, &transfers, error))
		return FALSE;
	/* All sends stand above all receives. */
	for (guint i = 0; i < transfers.tracks; i++) {
		g_autofree char *name =
			i == 0 ? g_strdup(what) : g_strdup_printf("%s %u", what, i + 1);

		write_name(trace, "thread", rank, thread_of(way, i), name,
			(way == SENT ? 1 : G_MAXINT32 / 2) + i);
	}
	for (gsize i = 0; i < transfers.n; i++) {
		const Transfer *transfer = &transfers.list[i];
		const PipesimMessage *message = &transfer->message;
		const PipesimOp *to = &trace->run->step->program->ops[message->to];
		const gboolean paired = to->kind == PIPESIM_FB && message->backward;
		const guint thread = thread_of(way, transfer->track);

		/* An arrow binds to the slice around its time, here the op that makes the message: at
		 * its very end the next slice would have it. */
		if (way == SENT)
			write_flow(trace, message, "s", rank, COMPUTE_THREAD,
				MAX(timeline->start[message->from],
					MIN(timeline->end[message->from] - 1,
						transfer->start)));
		if (transfer->start < transfer->end) {
			what = message->backward ? "gradient" : "activation";
			g_string_printf(trace->name, "%s %s rank %u", what,
				way == SENT ? "to" : "from",
				way == SENT ? message->to_rank : message->from_rank);
			open_slice(trace, trace->name->str, rank, thread, what, transfer->start,
				transfer->end);
			pipesim_json_open_line(trace->json, "args");
			PIPESIM_MEMBER(trace->json, "microbatch", COUNT,
				(paired ? to->b_microbatch : to->microbatch) /
					pipesim_shape_slices(&trace->run->shape));
			close_event(trace->json);
			write_flow(trace, message, "t", rank, thread, transfer->start);
		}
		if (way == RECEIVED)
			write_flow(trace, message, "f", rank, COMPUTE_THREAD,
				timeline->start[message->to]);
	}
	return TRUE;
}

/* What a rank of a measured step lost, by cause, on a track of its own. */
static void write_lost(const Trace *trace, guint rank)
{
	const GArray *lost = trace->run->lost;

	if (lost == NULL)
		return;
	write_name(trace, "thread", rank, LOST_THREAD, "lost", 0);
	pipesim_each (const PipesimLost, one, lost) {
		if (one->rank != rank)
			continue;
		open_slice(trace, one->cause, rank, LOST_THREAD, "lost", one->start, one->end);
		pipesim_json_close(trace->json);
	}
}

/* What FSDP does to the stages of a rank beside its ops, on a track of its own. */
static void write_shards(const Trace *trace, guint rank)
{
	const PipesimTimeline *timeline = trace->run->step->timeline;

	if (timeline->n_shards == 0)
		return;
	write_name(trace, "thread", rank, SHARDS_THREAD, "FSDP", 0);
	pipesim_each_of (i, timeline->shard_begin, rank) {
		const PipesimShard *shard = &timeline->shards[i];
		const char *what = shard->reduces ? "REDUCE_GRAD" : "UNSHARD";

		if (shard->start == shard->end)
			continue;
		g_string_printf(trace->name, "%u%s", shard->stage, what);
		open_slice(trace, trace->name->str, rank, SHARDS_THREAD, what, shard->start,
			shard->end);
		pipesim_json_open_line(trace->json, "args");
		PIPESIM_MEMBER(trace->json, "stage", COUNT, shard->stage);
		PIPESIM_MEMBER(trace->json, "waited_us", US, shard->start - shard->issued);
		close_event(trace->json);
	}
}

/* The beginning or end of what op @index is, where others of its kind may be open. */
static void open_span(
	const Trace *trace, const char *phase, guint rank, guint32 index, gint64 ns)
{
	const PipesimOp *op = &trace->run->step->program->ops[index];

	open_event(trace, phase, pipesim_op_rows[op->kind].word, rank, COMPUTE_THREAD);
	PIPESIM_MEMBER(trace->json, "cat", TEXT, "collective");
	PIPESIM_MEMBER(
		trace->json, "id", COUNT, (gint64)(trace->first_flow + 2 * (guint64)index));
	PIPESIM_MEMBER(trace->json, "ts", US, ns);
}

/* Copies on tracks of their own, each way one by one; collectives, of which several may be open, as spans of
 * the process. */
static void write_asides(const Trace *trace, guint rank)
{
	static const char *const names[] = {"copies out", "copies in"};
	const PipesimProgram *program = trace->run->step->program;
	gboolean named[G_N_ELEMENTS(names)] = {FALSE};
	PipesimBox box;

	pipesim_each_of (i, program->rank_begin, rank) {
		const PipesimOp *op = &program->ops[i];
		const gboolean copies =
			pipesim_op_rows[op->kind].resource != PIPESIM_ON_COLLECTIVE;

		if (!pipesim_layout_aside(NULL, trace->run, rank, i, &box))
			continue;
		if (copies) {
			const guint thread = COPIES_THREAD + box.kind;

			if (!named[box.kind])
				write_name(trace, "thread", rank, thread, names[box.kind], 0);
			named[box.kind] = TRUE;
			g_string_truncate(trace->name, 0);
			pipesim_op_print(program, rank, op, trace->name);
			open_slice(trace, trace->name->str, rank, thread, "copy", box.start,
				box.end);
		} else {
			open_span(trace, "b", rank, i, box.start);
		}
		pipesim_json_open_line(trace->json, "args");
		PIPESIM_MEMBER(trace->json, "microbatch", COUNT, box.microbatch);
		PIPESIM_MEMBER(trace->json, "waited_us", US,
			box.start - trace->run->step->timeline->start[i]);
		close_event(trace->json);
		if (!copies) {
			open_span(trace, "e", rank, i, box.end);
			pipesim_json_close(trace->json);
		}
	}
}

/* When receives sit on a rank and wait, on a track of its own: apart by whether an op runs
 * beside them. */
static void write_stays(const Trace *trace, guint rank)
{
	const PipesimStep *step = trace->run->step;
	g_autoptr(GArray) stays = pipesim_message_stays(step, rank);

	if (stays->len == 0)
		return;
	write_name(trace, "thread", rank, STAYS_THREAD, "waiting receives", G_MAXINT32 - 1);
	pipesim_each (const PipesimStay, stay, stays) {
		const gboolean beside = stay->op != PIPESIM_NO_OP;

		g_string_assign(trace->name, "idle");
		if (beside) {
			g_string_assign(trace->name, "beside ");
			pipesim_op_print(step->program, rank, &step->program->ops[stay->op],
				trace->name);
		}
		open_slice(trace, trace->name->str, rank, STAYS_THREAD,
			beside ? "beside op" : "beside nothing", stay->begin, stay->end);
		pipesim_json_close(trace->json);
	}
}

/* Beginnings of flows stand before their ends: what reads events of one time in the order of
 * the file finds each begun. */
static gboolean write_run(Trace *trace, GError **error)
{
	const PipesimRun *run = trace->run;
	const PipesimProgram *program = run->step->program;
	const PipesimTimeline *timeline = run->step->timeline;
	const PipesimMoment *over = run->report->memory.over;

	for (guint rank = 0; rank < run->shape.ranks; rank++) {
		g_autofree char *name =
			trace->several ? g_strdup_printf("%s, rank %u", trace->run->name, rank)
				       : g_strdup_printf("rank %u", rank);
		const guint32 *ops = &program->rank_begin[rank];
		PipesimHeld held = pipesim_held_begin(run->report, rank);

		write_name(trace, "process", rank, COMPUTE_THREAD, name,
			(gint64)(trace->first_pid + rank));
		write_name(trace, "thread", rank, COMPUTE_THREAD, "compute", 0);
		for (guint32 i = ops[0]; i < ops[1]; i++)
			write_op(trace, rank, i);
		write_lost(trace, rank);
		write_shards(trace, rank);
		write_asides(trace, rank);
		write_stays(trace, rank);
		write_speeds(trace, rank);
		write_held(trace, rank, 0, &held);
		/* Where the rank first holds more than it may: across its tracks. */
		if (over != NULL && over[rank].bytes > 0) {
			g_autofree char *words = pipesim_moment_words(&over[rank], rank);

			open_event(trace, "i", "out of memory", rank, COMPUTE_THREAD);
			PIPESIM_MEMBER(trace->json, "ts", US,
				over[rank].op != PIPESIM_NO_OP ? timeline->start[over[rank].op]
							       : 0);
			PIPESIM_MEMBER(trace->json, "s", TEXT, "p");
			pipesim_json_open_line(trace->json, "args");
			PIPESIM_MEMBER(trace->json, "why", TEXT, words);
			close_event(trace->json);
		}
		for (guint32 i = ops[0]; i < ops[1]; i++) {
			if (pipesim_held_before(&held, &program->ops[i], i))
				write_held(trace, rank, timeline->start[i], &held);
			if (pipesim_held_after(&held, &program->ops[i], i))
				write_held(trace, rank, timeline->end[i], &held);
		}
		if (!write_messages(trace, rank, SENT, error))
			return FALSE;
	}
	for (guint rank = 0; rank < run->shape.ranks; rank++)
		if (!write_messages(trace, rank, RECEIVED, error))
			return FALSE;
	trace->first_pid += run->shape.ranks;
	trace->first_flow += 2 * (guint64)program->n_ops;
	return TRUE;
}

gboolean pipesim_chrome_trace_write(
	const PipesimComparison *comparison, const char *path, GError **error)
{
	const gboolean chakra = g_str_has_suffix(path, PIPESIM_CHAKRA);
	g_autoptr(PipesimSink) sink = chakra ? NULL : pipesim_sink_open(path, error);
	g_autoptr(PipesimJson) json = NULL;
	g_autoptr(GString) name = g_string_new(NULL);
	Trace trace = {.sink = sink, .costs = comparison->costs, .first_pid = 1, .name = name};
	gboolean done = TRUE;
	guint results = 0;

	if (chakra)
		return pipesim_chakra_write(comparison, path, error);
	if (sink == NULL)
		return FALSE;
	json = trace.json = pipesim_json_new(pipesim_sink_text(sink));
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		results += run->error == NULL;
	trace.several = results > 1;
	pipesim_json_open_object(json, NULL);
	PIPESIM_MEMBER(json, "displayTimeUnit", TEXT, "ns");
	pipesim_json_open_line(json, "otherData");
	PIPESIM_MEMBER(json, "version", TEXT, PACKAGE_VERSION);
	PIPESIM_MEMBER(json, "command", TEXT, comparison->command);
	pipesim_json_close(json);
	pipesim_json_open_array(json, "traceEvents");
	for (guint i = 0; done && i < comparison->runs->len; i++) {
		trace.run = g_ptr_array_index(comparison->runs, i);
		done = trace.run->error != NULL || write_run(&trace, error);
	}
	pipesim_json_close(json);
	pipesim_json_close(json);
	return done && pipesim_sink_close(sink, error);
}
