#include "diagnosis/record.h"
#include "diagnosis/clocks.h"
#include "diagnosis/speed.h"
#include "measure/beside.h"

/* A run is no longer than two years, and a step no longer than 13 days, in ns: what lies further apart
 * is of different clocks or no time at all. */
#define LONGEST_RUN  (G_GINT64_CONSTANT(1) << 56)
#define LONGEST_STEP (G_GINT64_CONSTANT(1) << 50)

/* Kernels of a million that a profiler may lose without a word: ops that lack one are few. */
#define FEW_LOST 2000

/* An op, where it belongs. */
typedef struct {
	PipesimRecordOp op;
	gint64 number; /* of its step */
	guint32 replica, rank;
	guint32 order; /* in its file */
	const PipesimTrace *trace;
} Found;

typedef struct {
	PipesimRecord *record;
	GArray *found;       /* of Found */
	gint64 origin;       /* the first start of all, from which the record counts */
	GPtrArray *left_out; /* of PipesimRecordPipeline: of steps that are not whole */
} Building;

static Found *found_at(const GArray *found, guint i)
{
	return &g_array_index(found, Found, i);
}

/* Reading ---------------------------------------------------------------------------------- */

/* Which time it is that an op occurs: the step of ops without one. */
static gint64 count_occurrence(GHashTable *seen, const PipesimTraceRow *row)
{
	g_autofree gint64 *key = g_new(gint64, 1);

	/* Stages, kinds and micro-batches are few enough for their product. */
	*key = ((row->what.stage * PIPESIM_N_KINDS + row->what.phase) * (1 << 13) +
		       MAX(row->replica, 0)) *
		       (1 << 20) +
	       row->microbatch;
	gint64 count = GPOINTER_TO_INT(g_hash_table_lookup(seen, key));
	g_hash_table_insert(seen, g_steal_pointer(&key), GINT_TO_POINTER((gint)count + 1));
	return count;
}

static gboolean find_ops(Building *building, PipesimTrace *trace, GError **error)
{
	g_autoptr(GHashTable) seen =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	const gboolean on_gpu = pipesim_trace_get(trace, PIPESIM_ON_CPU) == NULL;
	gint64 last = PIPESIM_UNKNOWN; /* end of the op before */

	for (guint i = 0; i < trace->rows->len; i++) {
		PipesimTraceRow *row = pipesim_trace_row(trace, i);

		if (!pipesim_row_is_op(row) || row->status == PIPESIM_STATUS_CHECKSUM_FAIL ||
			row->what.phase > PIPESIM_FB)
			continue;
		/* An op without work stands where it was issued. */
		if (row->start == PIPESIM_UNKNOWN && row->duration <= 0)
			row->start = last;
		if (row->start == PIPESIM_UNKNOWN && row->duration <= 0)
			continue;
		if (row->start == PIPESIM_UNKNOWN || row->duration < 0)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: ops have no start; diagnose needs when each began: a "
				"profile, a table of ops, or a trace with the column "
				"t_start_ns; sums of a step, as timers log them, are for "
				"calibrate and --trace",
				trace->path);
		if (ABS(row->start) > PIPESIM_MAX_END || row->duration > LONGEST_STEP)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: an op that starts at %" G_GINT64_FORMAT
				" ns and takes %" G_GINT64_FORMAT " ns; no run has such",
				trace->path, row->start, row->duration);
		last = row->start + row->duration;
		/* Without names collectives are no kernels of ops. */
		const gint64 idle = row->duration - MAX(row->busy, 0) -
				    (trace->segments->len > 0 ? row->peers : 0);
		const Found found = {
			.op = {.start = row->start,
				.end = last,
				.half = row->half,
				.queued = row->queued,
				.idle = MAX(idle, 0),
				.beside = row->beside,
				.peers = row->peers,
				.stage = (guint32)row->what.stage,
				.microbatch = (guint32)row->microbatch,
				.b_stage = (guint32)MAX(row->what.b_stage, 0),
				.b_microbatch = (guint32)MAX(row->b_microbatch, 0),
				.layers = row->attentions,
				.layer = row->layer,
				.kind = row->what.phase,
				.line = MAX(row->line, 1),
				.path = trace->path},
			.number = row->step >= 0 ? row->step : count_occurrence(seen, row),
			.replica = (guint32)MAX(row->replica, 0),
			.rank = (guint32)row->rank,
			.order = i,
			.trace = trace,
		};
		building->record->recomputes |= row->attentions > 0 &&
						row->what.phase > PIPESIM_F &&
						row->what.phase < PIPESIM_FB;
		if (on_gpu) {
			building->record->in_ops += row->duration;
			building->record->still += MAX(idle, 0);
		}
		building->record->runs_on &= row->step < 0;
		building->record->n_replicas =
			MAX(building->record->n_replicas, found.replica + 1);
		g_array_append_val(building->found, found);
	}
	return TRUE;
}

/* Counts all times from the first. */
static gboolean set_origin(Building *building, GError **error)
{
	gint64 first = G_MAXINT64;

	for (guint i = 0; i < building->found->len; i++)
		first = MIN(first, found_at(building->found, i)->op.start);
	building->origin = first;
	pipesim_each (Found, found, building->found) {
		/* Both are below 2^62 in size. */
		if (found->op.start / 2 - first / 2 > LONGEST_RUN / 2)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: ops start years after those of another rank or step; are "
				"the clocks of its host and of the others right?",
				found->trace->path);
		found->op.start -= first;
		found->op.end -= first;
	}
	return TRUE;
}

/* What takes no time comes where it was issued. */
PIPESIM_COMPARE(compare_found, Found,
	pipesim_by(number) ?: pipesim_by(replica) ?: pipesim_by(rank) ?: pipesim_by(op.start)
		?: pipesim_by(order))

/* Pipelines -------------------------------------------------------------------------------- */

PIPESIM_DESTROYS(PipesimRecordPipeline, free_pipeline, pipeline)
{
	g_array_unref(pipeline->spans);
	pipesim_free_all(pipeline->ops, pipeline->op_begin, pipeline->span_begin, pipeline);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimRecordPipeline, free_pipeline)

/* Ops of a rank follow each other: one that reaches a little into the next is cut off by its start,
 * as clocks and roundings have it. */
static gboolean check_overlap(const Found *before, Found *next, GError **error)
{
	const gint64 over = before->op.end - next->op.start;
	const gint64 shorter =
		MIN(before->op.end - before->op.start, next->op.end - next->op.start);

	if (over <= 0)
		return TRUE;
	if (over > shorter / 10 && over > 1000)
		return pipesim_fail(error, PIPESIM_ERROR_PARSE,
			"%s: rank %u: %s of stage %u, micro-batch %u, starts %.6g ms before %s "
			"of stage %u, micro-batch %u, has ended; ops of a rank follow each "
			"other: are ranges nested, or two ranks in one file?",
			next->trace->path, next->rank, pipesim_phase_name(next->op.kind),
			next->op.stage, next->op.microbatch, (double)over / 1e6,
			pipesim_phase_name(before->op.kind), before->op.stage,
			before->op.microbatch);
	next->op.start = MIN(before->op.end, next->op.end);
	next->op.idle = MIN(next->op.idle, next->op.end - next->op.start);
	next->op.beside = MIN(next->op.beside, next->op.end - next->op.start);
	next->op.peers = MIN(next->op.peers, next->op.end - next->op.start);
	return TRUE;
}

/* From @first to before @end of what was found, which are of one step and replica. */
static PipesimRecordPipeline *new_pipeline(
	const Building *building, guint first, guint end, GError **error)
{
	const guint ranks = building->record->joined.ranks;
	g_autoptr(PipesimRecordPipeline) pipeline = g_new0(PipesimRecordPipeline, 1);
	guint rank = 0;

	pipeline->replica = found_at(building->found, first)->replica;
	pipeline->ops = g_new(PipesimRecordOp, end - first);
	pipeline->op_begin = g_new0(guint32, (gsize)ranks + 1);
	pipeline->span_begin = g_new0(guint32, (gsize)ranks + 1);
	pipeline->spans = g_array_new(FALSE, FALSE, sizeof(PipesimRecordSpan));
	pipeline->start = G_MAXINT64;
	pipeline->end = G_MININT64;
	for (guint i = first; i < end; i++) {
		Found *found = found_at(building->found, i);

		if (i > first && found[-1].rank == found->rank &&
			!check_overlap(found - 1, found, error))
			return NULL;
		while (rank < MIN(found->rank, ranks))
			pipeline->op_begin[++rank] = i - first;
		pipeline->ops[i - first] = found->op;
		pipeline->start = MIN(pipeline->start, found->op.start);
		pipeline->end = MAX(pipeline->end, found->op.end);
	}
	while (rank < ranks)
		pipeline->op_begin[++rank] = end - first;
	if (pipeline->end - pipeline->start > LONGEST_STEP)
		return pipesim_fail_null(error, PIPESIM_ERROR_PARSE,
			"%s: step %" G_GINT64_FORMAT
			" takes longer than 13 days; are the clocks of its ranks right?",
			found_at(building->found, first)->trace->path,
			found_at(building->found, first)->number);
	return g_steal_pointer(&pipeline);
}

/* An op that appears twice in one step would be work done twice. */
static gboolean check_once(const Found *found, guint8 *here, guint kind, guint stage,
	guint microbatch, GError **error)
{
	if (*here & 1u << kind)
		return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
			"%s: %s of stage %u, micro-batch %u, appears twice in step "
			"%" G_GINT64_FORMAT "; are traces of two runs among them?",
			found->trace->path, pipesim_phase_name(kind), stage, microbatch,
			found->number);
	*here |= (guint8)(1u << kind);
	return TRUE;
}

/* What those found from @first to before @end, of one step and replica, lack first: "F of stage 2, micro-batch 5", for
 * g_free(); *@lacks stays NULL where nothing does. */
static gboolean check_ops(
	const Building *building, guint first, guint end, char **lacks, GError **error)
{
	const PipesimJoined *joined = &building->record->joined;
	const guint m = joined->microbatches, halves = 1u << PIPESIM_I | 1u << PIPESIM_W;
	const gsize slots = (gsize)joined->stages * m;
	g_autofree guint8 *has = g_new0(guint8, slots);

	for (guint i = first; i < end; i++) {
		const Found *found = found_at(building->found, i);
		const PipesimRecordOp *op = &found->op;
		const gboolean pair = op->kind == PIPESIM_FB;

		if (!check_once(found, &has[(gsize)op->stage * m + op->microbatch],
			    pair ? PIPESIM_F : op->kind, op->stage, op->microbatch, error) ||
			(pair && !check_once(found,
					 &has[(gsize)op->b_stage * m + op->b_microbatch],
					 PIPESIM_B, op->b_stage, op->b_microbatch, error)))
			return FALSE;
	}
	for (gsize i = 0; i < slots && *lacks == NULL; i++) {
		const char *kind = !(has[i] & 1u << PIPESIM_F) ? "F"
				   : has[i] & 1u << PIPESIM_B || (has[i] & halves) == halves
					   ? NULL
				   : has[i] & 1u << PIPESIM_W ? "I"
				   : has[i] & 1u << PIPESIM_I ? "W"
							      : "B";

		if (kind != NULL)
			*lacks = g_strdup_printf("%s of stage %u, micro-batch %u", kind,
				(guint)(i / m), (guint)(i % m));
	}
	return TRUE;
}

/* The pipelines of the step that begins at *@next, which is moved behind it; one that is not whole is
 * left out. @lacks: (inout): what the first of those lacks */
static gboolean add_step(
	Building *building, guint *next, char **lacks, guint *cut, GError **error)
{
	PipesimRecord *record = building->record;
	const GArray *found = building->found;
	const gint64 number = found_at(found, *next)->number;
	g_autoptr(GPtrArray) pipelines = g_ptr_array_new_with_free_func(free_pipeline);
	PipesimRecordStep step = {.number = number}; /* pipesim_clocks_set() measures it */
	gboolean whole = TRUE;

	while (*next < found->len && found_at(found, *next)->number == number) {
		const guint first = *next;
		const guint32 replica = found_at(found, first)->replica;
		g_autofree char *missing = NULL;

		while (*next < found->len && found_at(found, *next)->number == number &&
			found_at(found, *next)->replica == replica)
			(*next)++;
		if (!check_ops(building, first, *next, &missing, error))
			return FALSE;
		PipesimRecordPipeline *pipeline = new_pipeline(building, first, *next, error);
		if (pipeline == NULL)
			return FALSE;
		g_ptr_array_add(pipelines, pipeline);
		whole &= missing == NULL;
		if (missing != NULL && *lacks == NULL)
			*lacks = g_strdup_printf(
				"step %" G_GINT64_FORMAT " lacks %s", number, missing);
	}
	if (whole && pipelines->len < record->n_replicas && *lacks == NULL)
		*lacks = g_strdup_printf("step %" G_GINT64_FORMAT " has %u of %u replicas",
			number, pipelines->len, record->n_replicas);
	if (!whole || pipelines->len < record->n_replicas) {
		(*cut)++;
		g_ptr_array_extend_and_steal(building->left_out, g_steal_pointer(&pipelines));
		return TRUE;
	}
	pipesim_each_in (PipesimRecordPipeline, pipeline, pipelines)
		pipeline->step = record->steps->len;
	g_ptr_array_extend_and_steal(record->pipelines, g_steal_pointer(&pipelines));
	g_array_append_val(record->steps, step);
	return TRUE;
}

static gboolean build_steps(Building *building, GError **error)
{
	PipesimRecord *record = building->record;
	g_autofree char *lacks = NULL;
	guint cut = 0;

	for (guint next = 0; next < building->found->len;)
		if (!add_step(building, &next, &lacks, &cut, error))
			return FALSE;
	if (record->steps->len == 0)
		return pipesim_fail(error, PIPESIM_ERROR_INCOMPLETE,
			"no whole step: %s; record whole steps of all ranks", lacks);
	if (cut > 0)
		pipesim_notice(record->notices, "%u step%s left out, which %s cut: %s", cut,
			cut == 1 ? "" : "s", cut == 1 ? "is" : "are", lacks);
	return TRUE;
}

/* What stands beside ops -------------------------------------------------------------------- */

/* A span, where it belongs. */
typedef struct {
	PipesimRecordSpan span;
	guint32 pipeline, rank;
} FoundSpan;

PIPESIM_COMPARE(compare_spans, FoundSpan,
	pipesim_by(pipeline) ?: pipesim_by(rank) ?: pipesim_by(span.start))

/* When the first of its ops on @rank began. */
static gint64 began_at(const PipesimRecordPipeline *pipeline, guint rank)
{
	const guint32 *ops = &pipeline->op_begin[rank];

	return ops[0] < ops[1] ? pipeline->ops[ops[0]].start : pipeline->start;
}

/* The step that @span is of: as it says, else the last whose ops had begun on its rank before its
 * @end; -1: none, or one that is left out. */
static gint find_step(const Building *building, const PipesimTraceSpan *span, gint64 end)
{
	const PipesimRecord *record = building->record;
	const guint rank = (guint)span->rank;
	gint step = span->step >= 0 ? -1 : 0;

	for (guint i = 0; i < record->steps->len; i++)
		if (span->step >= 0
				? pipesim_record_step(record, i)->number == span->step
				: began_at(pipesim_record_pipeline(record, i, 0), rank) <= end)
			step = (gint)i;
	pipesim_each_in (const PipesimRecordPipeline, left, building->left_out)
		if (span->step < 0 && began_at(left, rank) <= end &&
			began_at(left, rank) >
				began_at(pipesim_record_pipeline(record, (guint)step, 0), rank))
			return -1;
	return step;
}

static void add_spans(const Building *building, PipesimTrace *const *traces, guint n)
{
	PipesimRecord *record = building->record;
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(FoundSpan));

	for (guint t = 0; t < n; t++) {
		gint step = -1;
		gint64 of = PIPESIM_UNKNOWN;

		pipesim_each (const PipesimTraceSpan, span, traces[t]->spans) {
			const guint replica = (guint)MAX(span->replica, 0);

			if (replica >= record->n_replicas || span->rank < 0 ||
				span->rank >= record->joined.ranks)
				continue;
			/* What lies further away than a step is long is none of the run. */
			if (span->duration > LONGEST_STEP ||
				ABS(span->start) > PIPESIM_MAX_END ||
				ABS(span->start / 2 - building->origin / 2) > LONGEST_RUN)
				continue;
			const gint64 start = span->start - building->origin;
			const gint64 end = start + span->duration;
			/* Those of a step stand together. */
			if (span->step != of || span->step < 0)
				step = find_step(building, span, end);
			of = span->step;
			if (step < 0)
				continue;
			const FoundSpan found = {
				{span->name, span->message, span->seq, span->wait, start, end},
				(guint32)step * record->n_replicas + replica,
				(guint32)span->rank,
			};
			g_array_append_val(all, found);
		}
	}
	g_array_sort(all, compare_spans);
	pipesim_each (const FoundSpan, found, all) {
		PipesimRecordPipeline *pipeline = record->pipelines->pdata[found->pipeline];

		g_array_append_val(pipeline->spans, found->span);
		for (guint rank = found->rank; rank < record->joined.ranks; rank++)
			pipeline->span_begin[rank + 1] = pipeline->spans->len;
		record->has_messages |= found->span.message;
	}
}

/* All of it -------------------------------------------------------------------------------- */

static gboolean check_stages(const PipesimRecord *record, GError **error)
{
	const PipesimJoined *joined = &record->joined;

	if (joined->stages == 0)
		return pipesim_fail(error, PIPESIM_ERROR_PARSE,
			"no ops of micro-batches in these traces: diagnose needs a profile "
			"with PP: ranges, a table of ops, or a trace with stage and "
			"microbatch");
	g_autofree gboolean *seen = g_new0(gboolean, joined->ranks);

	pipesim_each (const PipesimStagePlace, held, joined->held)
		if (held->rank < joined->ranks)
			seen[held->rank] = TRUE;
	for (guint stage = 0; stage < joined->stages; stage++) {
		if (joined->rank_of[stage] < joined->ranks)
			continue;
		g_autofree char *missing = pipesim_joined_missing(joined);
		return pipesim_refuse(error,
			"no op of stage %u: the trace of %s is missing; diagnose needs those "
			"of all ranks of the pipeline",
			stage, missing);
	}
	for (guint rank = 0; rank < joined->ranks; rank++)
		if (!seen[rank])
			return pipesim_refuse(error,
				"the trace of rank %u is missing, which holds copies of "
				"stages: diagnose needs those of all ranks of the pipeline",
				rank);
	return TRUE;
}

/* Whether one shows a message whose name holds @name. */
static gboolean sends(PipesimTrace *const *traces, guint n, const char *name)
{
	return pipesim_any(t, n,
		pipesim_any_of(const PipesimTraceSpan, span, traces[t]->spans,
			strstr(span->name, name) != NULL && span->message));
}

/* A pipeline of a run with more ranks is not of one rank, and its ranks divide those of the run: otherwise files are
 * missing, and what is there would pass for a shorter pipeline. */
static gboolean check_world(
	PipesimTrace *const *traces, guint n, const PipesimJoined *joined, GError **error)
{
	g_autofree char *sends_on = g_strdup_printf("PP:%uSEND_F", joined->stages - 1);
	const gboolean more = sends(traces, n, sends_on),
		       alone = joined->ranks == 1 && pipesim_trace_lacks_stages(traces[0]) &&
			       sends(traces, n, "");

	if (!more && !alone &&
		(joined->world <= joined->ranks ||
			(joined->ranks > 1 && joined->world % joined->ranks == 0)))
		return TRUE;
	for (guint rank = 0; rank < joined->world; rank++) {
		guint t = 0;

		while (t < n && pipesim_trace_get_count(traces[t], "rank") != rank)
			t++;
		if (t == n)
			return pipesim_refuse(error,
				"the trace of rank %u is missing: %s is of a run of %u ranks; "
				"diagnose needs those of all ranks of the pipeline",
				rank, traces[0]->path, joined->world);
	}
	if (more)
		return pipesim_refuse(error,
			"stage %u sends activations on, but no trace has stage %u: diagnose "
			"needs those of all ranks of the pipeline",
			joined->stages - 1, joined->stages);
	return !alone || pipesim_refuse(error,
				 "%s is of one rank alone, which exchanges messages with "
				 "others: diagnose needs those of all ranks of the pipeline",
				 traces[0]->path);
}

PipesimRecord *pipesim_record_new(PipesimTrace *const *traces, guint n, GError **error)
{
	g_autoptr(PipesimRecord) record = g_new0(PipesimRecord, 1);
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Found));
	g_autoptr(GPtrArray) left_out = g_ptr_array_new_with_free_func(free_pipeline);
	Building building = {record, found, 0, left_out};
	PipesimBeside beside;

	record->steps = g_array_new(FALSE, FALSE, sizeof(PipesimRecordStep));
	record->pipelines = g_ptr_array_new_with_free_func(free_pipeline);
	record->notices = g_ptr_array_new_with_free_func(g_free);
	if (!pipesim_join(traces, n, &record->joined, error) || !check_stages(record, error) ||
		!check_world(traces, n, &record->joined, error))
		return NULL;
	pipesim_beside_measure(traces, n, &beside);
	record->runs_on = record->dated = TRUE;
	for (guint t = 0; t < n; t++) {
		record->dated &= pipesim_trace_base(traces[t]) != 0;
		if (traces[t]->late_ns >
			(record->waiting != NULL ? record->waiting->late_ns : 0))
			record->waiting = traces[t];
		const char *source = pipesim_trace_get(traces[t], PIPESIM_SOURCE);

		const char *device = pipesim_trace_get(traces[t], "device_name");

		if (t == 0 || g_strcmp0(device, record->device) != 0)
			record->device = t == 0 ? device : NULL;
		record->of_files |= g_strcmp0(source, PIPESIM_SOURCE_FILES) == 0;
		record->of_classes |= g_strcmp0(source, PIPESIM_SOURCE_CLASSES) == 0;
		record->of_megatron |= g_strcmp0(source, PIPESIM_SOURCE_MEGATRON) == 0;
		record->cut |= pipesim_trace_get(traces[t], PIPESIM_CUT) != NULL;
		const gint64 lost = pipesim_trace_get_count(traces[t], PIPESIM_LOST);

		if (lost >= FEW_LOST &&
			(record->lost == NULL ||
				lost > pipesim_trace_get_count(record->lost, PIPESIM_LOST)))
			record->lost = traces[t];
		record->by_start |= pipesim_trace_get(traces[t], PIPESIM_RANK_BY_START) != NULL;
	}
	if (record->by_start)
		pipesim_notice(record->notices, "no file tells which rank is which: numbered "
						"by when their first forward began");
	for (guint t = 0; t < n; t++)
		if (!find_ops(&building, traces[t], error))
			return NULL;
	if (!set_origin(&building, error))
		return NULL;
	/* A pair for each slot, or a forward and a backward, is the least that a whole step has. */
	if ((guint64)record->joined.stages * record->joined.microbatches > found->len)
		return pipesim_fail_null(error, PIPESIM_ERROR_INCOMPLETE,
			"no whole step: %u ops, but one of %u stages and %u micro-batches has "
			"more; record whole steps of all ranks",
			found->len, record->joined.stages, record->joined.microbatches);
	g_array_sort(found, compare_found);
	if (!build_steps(&building, error))
		return NULL;
	add_spans(&building, traces, n);
	record->speed = pipesim_rank_speeds(traces, n, &record->joined, &record->bursts);
	record->swing = pipesim_clock_swing(traces, n);
	if (!pipesim_clocks_set(record, error))
		return NULL;
	/* What lies between steps that follow each other at once: less than a step. */
	for (guint i = 0; record->runs_on && i + 1 < record->steps->len; i++) {
		PipesimRecordStep *step = pipesim_record_step(record, i);

		if (step[1].number == step->number + 1 && step[1].start > step->end &&
			step[1].start - step->end < step->end - step->start)
			step->after = step[1].start - step->end;
	}
	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint32 i = 0; i < pipeline->op_begin[record->joined.ranks]; i++)
			pipeline->ops[i].sustained = pipesim_record_alone(&pipeline->ops[i]);
	return g_steal_pointer(&record);
}

PIPESIM_FREES(PipesimRecord, pipesim_record_free, record)
{
	pipesim_joined_clear(&record->joined);
	g_clear_pointer(&record->steps, g_array_unref);
	g_clear_pointer(&record->pipelines, g_ptr_array_unref);
	g_clear_pointer(&record->notices, g_ptr_array_unref);
	pipesim_free_all(record->speed, record->bursts, record);
}

gint64 pipesim_record_waited(const PipesimRecordPipeline *pipeline, guint rank, gint64 *end)
{
	const guint32 begin = pipeline->op_begin[rank], behind = pipeline->op_begin[rank + 1];
	const gint64 last = behind > begin ? pipeline->ops[behind - 1].end : pipeline->start;
	gint64 waited = 0;

	*end = last;
	pipesim_each_of (i, pipeline->span_begin, rank) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);

		if (span->start >= last)
			waited += span->wait;
		*end = MAX(*end, span->end);
	}
	return MIN(waited, *end - last);
}

/* What @pipeline takes by itself: without what its ranks wait for others within their ops, of the rank that does so most. */
static gint64 own_length(const PipesimRecord *record, const PipesimRecordPipeline *pipeline)
{
	gint64 most = 0;

	for (guint rank = 0; rank < record->joined.ranks; rank++) {
		gint64 waited = 0;

		pipesim_each_of (i, pipeline->op_begin, rank)
			waited += pipeline->ops[i].peers;
		most = MAX(most, waited);
	}
	return pipeline->end - pipeline->start - most;
}

const PipesimRecordPipeline *pipesim_record_slowest(const PipesimRecord *record, guint step)
{
	const PipesimRecordPipeline *slowest = pipesim_record_pipeline(record, step, 0);

	for (guint replica = 1; replica < record->n_replicas; replica++) {
		const PipesimRecordPipeline *other =
			pipesim_record_pipeline(record, step, replica);

		if (own_length(record, other) > own_length(record, slowest))
			slowest = other;
	}
	return slowest;
}

gboolean pipesim_record_layers(const PipesimRecord *record, guint *layers)
{
	pipesim_each_in (const PipesimRecordPipeline, pipeline, record->pipelines)
		for (guint32 i = 0; i < pipeline->op_begin[record->joined.ranks]; i++) {
			const PipesimRecordOp *op = &pipeline->ops[i];

			if (op->kind != PIPESIM_F && op->kind != PIPESIM_FB)
				continue;
			if (op->layers == 0 ||
				(layers[op->stage] > 0 && layers[op->stage] != op->layers))
				return FALSE;
			layers[op->stage] = op->layers;
		}
	return TRUE;
}

gboolean pipesim_record_apart(const PipesimRecord *record)
{
	const PipesimRecordStep *last = pipesim_record_step(record, record->steps->len - 1);

	return record->dated && record->runs_on &&
	       record->moved > last->end - pipesim_record_step(record, 0)->start;
}
