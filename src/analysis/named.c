#include "config.h"

#include "analysis/named.h"
#include "base/kind.h"

/* What must be placed of the time of kernels, %. */
#define LEAST_PLACED 90

typedef struct {
	const PipesimSchedule *schedule;
	PipesimProgram *program;
	GPtrArray *notices;
} Naming;

static PipesimTraceSegment *segment_at(const PipesimTrace *trace, guint i)
{
	return &g_array_index(trace->segments, PipesimTraceSegment, i);
}

static guint count_backwards(const PipesimTrace *trace)
{
	guint n = 0;

	for (guint i = 0; i < trace->segments->len; i++)
		n += segment_at(trace, i)->backward;
	return n;
}

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	const gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;

	return (x > y) - (x < y);
}

/* What a piece that is a forward takes: the median of those of the sending thread, ns. */
static gint64 usual_forward(const PipesimTrace *trace)
{
	g_autoptr(GArray) busy = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint i = 0; i < trace->segments->len; i++)
		if (!segment_at(trace, i)->backward)
			g_array_append_val(busy, segment_at(trace, i)->busy);
	g_array_sort(busy, compare_numbers);
	return busy->len > 0 ? g_array_index(busy, gint64, busy->len / 2) : 0;
}

static void add_op(PipesimTrace *trace, const PipesimTraceSegment *segment,
	const PipesimProgram *program, guint rank, const PipesimOp *op)
{
	PipesimTraceRow row;

	pipesim_trace_row_init(&row);
	row.what.component = "chunk";
	row.what.phase = op->kind;
	row.what.whole_chunk = TRUE;
	row.what.stage = pipesim_op_stage(program, rank, op);
	row.what.chunk = pipesim_stage_chunk(trace->strings, row.what.stage);
	row.run_id = "profile";
	row.rank = rank;
	row.rep = row.microbatch = op->microbatch;
	row.start = segment->start;
	row.duration = segment->end - segment->start;
	row.busy = segment->busy;
	g_array_append_val(trace->rows, row);
}

static void add_beside(PipesimTrace *trace, const PipesimTraceSegment *segment, guint rank)
{
	const PipesimTraceSpan span = {"beside ops", FALSE, PIPESIM_UNKNOWN, PIPESIM_UNKNOWN,
		rank, PIPESIM_UNKNOWN, PIPESIM_UNKNOWN, segment->start,
		segment->end - segment->start};

	g_array_append_val(trace->spans, span);
}

static gboolean fail_order(const Naming *naming, const PipesimTrace *trace, guint rank,
	const PipesimOp *op, guint i, GError **error)
{
	g_autoptr(GString) name = g_string_new(NULL);

	pipesim_op_print(naming->program, rank, op, name);
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"%s: rank %u does not run as %s: where %s should be, %s; is it another "
		"schedule, or "
		"are steps cut? --microbatches says how many a step has",
		trace->path, rank, naming->schedule->name, name->str,
		i < trace->segments->len
			? (segment_at(trace, i)->backward ? "there is a backward"
							  : "there is a forward")
			: "the profile ends");
}

/* Ops of one step of @rank from segment *@next on. */
static gboolean name_step(const Naming *naming, PipesimTrace *trace, guint rank, gint64 usual,
	guint *next, GError **error)
{
	const PipesimProgram *program = naming->program;
	const guint32 end = program->rank_begin[rank + 1];

	for (guint32 k = program->rank_begin[rank]; k < end; k++) {
		const PipesimOp *op = &program->ops[k];
		const gboolean backward = op->kind != PIPESIM_F;

		for (; *next < trace->segments->len && !segment_at(trace, *next)->backward &&
			segment_at(trace, *next)->busy * 4 < usual;
			(*next)++)
			add_beside(trace, segment_at(trace, *next), rank);
		if (*next >= trace->segments->len ||
			segment_at(trace, *next)->backward != backward)
			return fail_order(naming, trace, rank, op, *next, error);
		add_op(trace, segment_at(trace, (*next)++), program, rank, op);
	}
	return TRUE;
}

/* How much of the time of its kernels is that of ops. */
static gboolean check_placed(const Naming *naming, const PipesimTrace *trace, GError **error)
{
	double placed = 0, all = 0;

	for (guint i = 0; i < trace->rows->len; i++)
		placed += (double)g_array_index(trace->rows, PipesimTraceRow, i).busy;
	for (guint i = 0; i < trace->segments->len; i++)
		all += (double)segment_at(trace, i)->busy;
	if (100 * placed < LEAST_PLACED * all)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s: only %.0f %% of the time of kernels fits the order of %s; at "
			"least %d",
			trace->path, 100 * placed / MAX(all, 1), naming->schedule->name,
			LEAST_PLACED);
	pipesim_notice(naming->notices,
		"%s: taken for %s: %.1f %% of the time of kernels is that of its ops, told by "
		"threads and messages",
		trace->path, naming->schedule->name, 100 * placed / MAX(all, 1));
	return TRUE;
}

static gboolean name_trace(
	const Naming *naming, PipesimTrace *trace, guint rank, GError **error)
{
	const PipesimProgram *program = naming->program;
	const gint64 usual = usual_forward(trace);
	const guint backwards = count_backwards(trace);
	guint in_step = 0, next = 0;

	for (guint32 k = program->rank_begin[rank]; k < program->rank_begin[rank + 1]; k++)
		in_step += program->ops[k].kind != PIPESIM_F;
	for (guint step = 0; step < MAX(backwards / MAX(in_step, 1u), 1u); step++)
		if (!name_step(naming, trace, rank, usual, &next, error))
			return FALSE;
	for (; next < trace->segments->len; next++)
		add_beside(trace, segment_at(trace, next), rank);
	return check_placed(naming, trace, error);
}

/* The ops of @schedule at this shape, all of them forwards and full backwards. */
static PipesimProgram *make_program(
	const PipesimSchedule *schedule, guint ranks, guint microbatches, GError **error)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	PipesimShape shape;

	if (schedule->plan != NULL) {
		pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--as %s: its order depends on times; name one that does not",
			schedule->name);
		return NULL;
	}
	if (!pipesim_schedule_shape(schedule, &scenario, &shape, error))
		return NULL;
	order = pipesim_schedule_order(schedule, &shape, NULL, error);
	program = order != NULL ? pipesim_order_expand(order, error) : NULL;
	for (guint32 i = 0; program != NULL && i < program->n_ops; i++)
		if (program->ops[i].kind != PIPESIM_F && program->ops[i].kind != PIPESIM_B) {
			pipesim_fail(error, PIPESIM_ERROR_USAGE,
				"--as %s: it splits or joins backwards, which threads do not "
				"tell; profile it with names",
				schedule->name);
			return NULL;
		}
	return g_steal_pointer(&program);
}

gboolean pipesim_name_ops(PipesimTrace *const *traces, guint n, const PipesimSchedule *schedule,
	guint microbatches, GPtrArray *notices, GError **error)
{
	g_autoptr(PipesimProgram) program = NULL;
	Naming naming = {schedule, NULL, notices};
	guint ranks = 0, place = 0;

	for (guint t = 0; t < n; t++) {
		const gint64 world = pipesim_trace_get_count(traces[t], "ranks");

		if (traces[t]->segments->len == 0)
			continue;
		place++;
		ranks = MAX(MAX(ranks, place), (guint)CLAMP(world, 0, 4096));
		if (microbatches == 0)
			microbatches = count_backwards(traces[t]);
	}
	if (ranks == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--as is for profiles without names of ops, and none of these is one");
	if (microbatches == 0)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"--as: no kernels of a second thread, autograd's: what is a backward "
			"cannot be told");
	naming.program = program = make_program(schedule, ranks, microbatches, error);
	if (program == NULL)
		return FALSE;
	place = 0;
	for (guint t = 0; t < n; t++) {
		const gint64 told = pipesim_trace_get_count(traces[t], "rank");
		guint rank;

		if (traces[t]->segments->len == 0)
			continue;
		rank = told >= 0 && told < ranks ? (guint)told : place;
		place++;
		if (!name_trace(&naming, traces[t], rank, error))
			return FALSE;
	}
	return TRUE;
}
