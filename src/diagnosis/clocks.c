#include "diagnosis/clocks.h"

/* Messages that seem to arrive before they were sent by no more than this are roundings, ns. */
#define ROUNDING 20000

/* A clock is set by no more than this: two years, in ns. */
#define FURTHEST (G_GINT64_CONSTANT(1) << 57)

/* The clock of rank @to is moved by no more than that of rank @from and @most, ns. */
typedef struct {
	guint from, to;
	gint64 most;
} Limit;

typedef struct {
	PipesimRecord *record;
	GArray *limits;     /* of Limit */
	GHashTable *by_key; /* from * ranks + to -> index in @limits, and 1 */
	guint first, end;   /* pipelines */
	gint64 off;         /* the most that a clock may be off, ns */
	gboolean moved;     /* some clock */
} Clocks;

/* NULL: there is none. */
static Limit *limit_of(const Clocks *clocks, guint from, guint to)
{
	const gsize key = (gsize)from * clocks->record->joined.ranks + to;
	const guint index =
		GPOINTER_TO_UINT(g_hash_table_lookup(clocks->by_key, GSIZE_TO_POINTER(key)));

	return index == 0 ? NULL : &g_array_index(clocks->limits, Limit, index - 1);
}

/* What rank @consumer started at @start needs what rank @producer ended at @end. */
static void note_message(
	Clocks *clocks, guint producer, gint64 end, guint consumer, gint64 start)
{
	const gsize key = (gsize)consumer * clocks->record->joined.ranks + producer;
	const Limit new = {consumer, producer, start - end};
	Limit *limit = limit_of(clocks, consumer, producer);

	if (producer == consumer)
		return;
	if (limit != NULL) {
		limit->most = MIN(limit->most, new.most);
		return;
	}
	g_array_append_val(clocks->limits, new);
	g_hash_table_insert(
		clocks->by_key, GSIZE_TO_POINTER(key), GUINT_TO_POINTER(clocks->limits->len));
}

/* When something ended, on which rank. */
typedef struct {
	gint64 end;
	guint rank;
} Sent;

/* What op @op of @rank needs, or leaves, of its forward or its backward half. */
static void note_half(Clocks *clocks, const PipesimRecordOp *op, guint rank, gboolean backward,
	Sent *sent, gboolean reads)
{
	const PipesimJoined *joined = &clocks->record->joined;
	const gboolean second = op->kind == PIPESIM_FB && backward;
	const guint stage = second ? op->b_stage : op->stage;
	Sent *slot = &sent[(gsize)stage * joined->microbatches +
			   (second ? op->b_microbatch : op->microbatch)];
	const Sent *from = backward ? slot + joined->microbatches : slot - joined->microbatches;

	/* What has no work may stand before what it needs. */
	if (!reads)
		*slot = (Sent){op->end, rank};
	else if (op->end == op->start)
		return;
	else if (backward ? stage + 1 < joined->stages : stage > 0)
		note_message(clocks, from->rank, from->end, rank,
			op->start + (second ? op->half : 0));
}

/* Every message of @pipeline: activations to the next stage, gradients to the one before.
 * @forward, @backward: by stage and micro-batch */
static void note_pipeline(
	Clocks *clocks, const PipesimRecordPipeline *pipeline, Sent *forward, Sent *backward)
{
	for (guint reads = 0; reads < 2; reads++)
		pipesim_each_rank_of (
			i, pipeline->op_begin, rank, clocks->record->joined.ranks) {
			const PipesimRecordOp *op = &pipeline->ops[i];

			if (op->kind == PIPESIM_F || op->kind == PIPESIM_FB)
				note_half(clocks, op, rank, FALSE, forward, reads);
			if (op->kind != PIPESIM_F && op->kind != PIPESIM_W)
				note_half(clocks, op, rank, TRUE, backward, reads);
		}
}

/* The file that has the ops of @rank. */
static const char *path_of(const Clocks *clocks, guint rank)
{
	const PipesimRecordPipeline *pipeline = clocks->record->pipelines->pdata[clocks->first];

	return pipeline->ops[pipeline->op_begin[rank]].path;
}

static gboolean fail_apart(const Clocks *clocks, guint a, guint b, gint64 room, GError **error)
{
	const guint first = MIN(a, b), other = MAX(a, b);
	const char *low = path_of(clocks, first), *high = path_of(clocks, other);
	const double late = -(double)room / 1e6;

	if (strcmp(low, high) == 0)
		return pipesim_fail(error, PIPESIM_ERROR_PARSE,
			"%s: ranks %u and %u: of what both send each other something would "
			"arrive %.6g ms before it was sent, whatever their clocks; are these "
			"the same steps of one run?",
			low, first, other, late);
	return pipesim_fail(error, PIPESIM_ERROR_PARSE,
		"the clocks of ranks %u (%s) and %u (%s) cannot be set: of what both send each "
		"other something would arrive %.6g ms before it was sent; are both files of "
		"the same steps of one run?",
		first, low, other, high, late);
}

/* Begin and end of pipelines and steps once more. */
static void measure_again(PipesimRecord *record)
{
	pipesim_each (PipesimRecordStep, step, record->steps) {
		step->start = G_MAXINT64;
		step->end = G_MININT64;
	}
	pipesim_each_in (PipesimRecordPipeline, pipeline, record->pipelines) {
		PipesimRecordStep *step = pipesim_record_step(record, pipeline->step);

		pipeline->start = G_MAXINT64;
		pipeline->end = G_MININT64;
		for (guint32 k = 0; k < pipeline->op_begin[record->joined.ranks]; k++) {
			pipeline->start = MIN(pipeline->start, pipeline->ops[k].start);
			pipeline->end = MAX(pipeline->end, pipeline->ops[k].end);
		}
		step->start = MIN(step->start, pipeline->start);
		step->end = MAX(step->end, pipeline->end);
		pipesim_each (const PipesimRecordSpan, span, pipeline->spans) {
			step->start = MIN(step->start, span->start);
			step->end = MAX(step->end, span->end);
		}
	}
}

/* Bounds of what ranks can be moved by against rank 0: shortest paths through the limits. Returns whether a bound
 * was drawn closer. */
static gboolean draw_closer(const Clocks *clocks, gint64 *least, gint64 *most)
{
	gboolean closer = FALSE;

	pipesim_each (const Limit, limit, clocks->limits) {
		const guint from = limit->from, to = limit->to;
		const gint64 up = limit->most + ROUNDING;

		if (most[from] < FURTHEST && most[from] + up < most[to] &&
			most[to] > -FURTHEST) {
			most[to] = MAX(most[from] + up, -FURTHEST);
			closer = TRUE;
		}
		if (least[to] > -FURTHEST && least[to] - up > least[from] &&
			least[from] < FURTHEST) {
			least[from] = MIN(least[to] - up, FURTHEST);
			closer = TRUE;
		}
	}
	return closer;
}

/* What ranks are moved by, one after the other: as the rank before, where all messages allow that, else by the middle of what
 * they allow beside the ranks that are set. */
static gboolean find_moves(Clocks *clocks, gint64 *moved, GPtrArray *notices, GError **error)
{
	const guint ranks = clocks->record->joined.ranks;
	g_autofree gint64 *least = g_new0(gint64, ranks);
	g_autofree gint64 *most = g_new0(gint64, ranks);

	pipesim_each (const Limit, limit, clocks->limits) {
		const Limit *back = limit_of(clocks, limit->to, limit->from);

		if (back != NULL && limit->most + back->most < -2 * ROUNDING)
			return fail_apart(clocks, limit->from, limit->to,
				limit->most + back->most, error);
	}
	for (guint rank = 1; rank < ranks; rank++) {
		least[rank] = -FURTHEST;
		most[rank] = FURTHEST;
	}
	for (guint rank = 1; rank < ranks; rank++) {
		const gint64 before = moved[rank - 1];

		for (guint round = 0; draw_closer(clocks, least, most); round++)
			if (round > ranks || most[0] < 0 || least[0] > 0)
				return pipesim_fail(error, PIPESIM_ERROR_PARSE,
					"the clocks of ranks cannot be set: whichever way, "
					"something of what they send each other would arrive "
					"before it was sent; are all files of the same steps "
					"of one run?");
		const gboolean below = least[rank] > -FURTHEST, above = most[rank] < FURTHEST;
		/* Only one of both ends is known where messages go one way. */
		const gint64 half = below && above ? (most[rank] - least[rank]) / 2 : ROUNDING;

		if (!below && !above)
			continue;
		moved[rank] = before;
		if (least[rank] > before || most[rank] < before)
			moved[rank] = below ? least[rank] + half : most[rank] - half;
		least[rank] = most[rank] = moved[rank];
		clocks->moved |= moved[rank] != 0;
		if (moved[rank] == before)
			continue;
		clocks->off = MAX(clocks->off, half - ROUNDING);
		clocks->record->moved = MAX(clocks->record->moved, ABS(moved[rank] - before));
		pipesim_notice(notices,
			"the clock of rank %u is set %.6g ms %s than that of rank %u, by what "
			"they send each other; it may be off by %.6g ms",
			rank, (double)ABS(moved[rank] - before) / 1e6,
			moved[rank] > before ? "later" : "earlier", rank - 1,
			(double)MAX(half - ROUNDING, 0) / 1e6);
	}
	return TRUE;
}

/* Sets the clocks of the pipelines from @first to before @end, by their messages alone.
 * @off: (inout): the most that any may be off
 * @n_moved: (inout): counts ranges of which some clock was moved */
static gboolean set_range(PipesimRecord *record, guint first, guint end, GPtrArray *notices,
	gint64 *off, guint *n_moved, GError **error)
{
	g_autoptr(GArray) limits = g_array_new(FALSE, FALSE, sizeof(Limit));
	g_autoptr(GHashTable) by_key = g_hash_table_new(NULL, NULL);
	const gsize slots = (gsize)record->joined.stages * record->joined.microbatches;
	g_autofree Sent *forward = g_new0(Sent, slots);
	g_autofree Sent *backward = g_new0(Sent, slots);
	g_autofree gint64 *moved = g_new0(gint64, record->joined.ranks);
	g_autoptr(GPtrArray) said = g_ptr_array_new_with_free_func(g_free);
	Clocks clocks = {record, limits, by_key, first, end, *off, FALSE};

	for (guint i = first; i < end; i++)
		note_pipeline(&clocks, record->pipelines->pdata[i], forward, backward);
	if (!find_moves(&clocks, moved, said, error))
		return FALSE;
	for (guint i = 0; notices != NULL && i < said->len; i++)
		pipesim_notice(notices, "%s", (char *)said->pdata[i]);
	for (guint i = first; i < end; i++) {
		PipesimRecordPipeline *pipeline = record->pipelines->pdata[i];

		for (guint rank = 0; rank < record->joined.ranks; rank++) {
			pipesim_each_of (k, pipeline->op_begin, rank) {
				pipeline->ops[k].start += moved[rank];
				pipeline->ops[k].end += moved[rank];
			}
			pipesim_each_of (k, pipeline->span_begin, rank) {
				PipesimRecordSpan *span =
					&g_array_index(pipeline->spans, PipesimRecordSpan, k);

				span->start += moved[rank];
				span->end += moved[rank];
			}
		}
	}
	*off = clocks.off;
	*n_moved += clocks.moved;
	return TRUE;
}

/* Where the clocks begin anew with each step: each by itself. Steps that no setting suits are left out. */
static gboolean set_each(PipesimRecord *record, GError **error)
{
	g_autoptr(GError) first = NULL;
	g_autoptr(GString) dropped = g_string_new(NULL);
	gint64 off = 0;
	guint n_moved = 0;

	for (guint step = 0; step < record->steps->len;) {
		const guint begin = step * record->n_replicas;
		g_autoptr(GError) why = NULL;

		if (set_range(record, begin, begin + record->n_replicas, NULL, &off, &n_moved,
			    &why)) {
			step++;
			continue;
		}
		pipesim_list_more(dropped, "%" G_GINT64_FORMAT,
			pipesim_record_step(record, step)->number);
		if (first == NULL)
			first = g_steal_pointer(&why);
		g_ptr_array_remove_range(record->pipelines, begin, record->n_replicas);
		g_array_remove_index(record->steps, step);
		for (guint i = begin; i < record->pipelines->len; i++)
			((PipesimRecordPipeline *)record->pipelines->pdata[i])->step--;
	}
	if (record->steps->len == 0) {
		g_propagate_error(error, g_steal_pointer(&first));
		return FALSE;
	}
	if (dropped->len > 0)
		pipesim_notice(record->notices, "left out of the steps: %s: %s", dropped->str,
			first->message);
	if (n_moved > 0)
		pipesim_notice(record->notices,
			"the clocks of ranks are set in %u of %u steps, by what they send each "
			"other; they may be off by %.6g ms there",
			n_moved, record->steps->len, (double)off / 1e6);
	return TRUE;
}

gboolean pipesim_clocks_set(PipesimRecord *record, GError **error)
{
	gint64 off = 0;
	guint n_moved = 0;

	if (!set_range(
		    record, 0, record->pipelines->len, record->notices, &off, &n_moved, NULL) &&
		!set_each(record, error))
		return FALSE;
	measure_again(record);
	return TRUE;
}
