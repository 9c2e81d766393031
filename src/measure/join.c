#include "config.h"

#include "measure/join.h"
#include "measure/replicas.h"

/* More than any run has; beyond, a number is no stage or rank. */
#define MOST              (1 << 13)
#define MOST_MICROBATCHES (1 << 20)

typedef struct {
	PipesimTrace *const *traces;
	guint n;
	PipesimJoined *out;
	GHashTable *file_of;   /* replica and rank -> number of the trace, and 1 */
	GArray *file_of_stage; /* guint32: number of the trace, and 1; 0 = none yet */
} Joining;

static PipesimTraceRow *row_at(const PipesimTrace *trace, guint i)
{
	return &g_array_index(trace->rows, PipesimTraceRow, i);
}

static gboolean has_ops(const PipesimTrace *trace)
{
	for (guint i = 0; i < trace->rows->len; i++)
		if (pipesim_row_is_op(row_at(trace, i)))
			return TRUE;
	return FALSE;
}

/* Of a trace whose rows do not say it. @place: which of the traces with ops it is */
static gint64 guess_rank(const PipesimTrace *trace, guint place)
{
	gint64 lowest = G_MAXINT64;

	for (guint i = 0; i < trace->rows->len; i++) {
		const PipesimTraceRow *row = row_at(trace, i);

		if (pipesim_row_is_op(row) && row->what.stage >= 0)
			lowest = MIN(lowest, row->what.stage);
	}
	return lowest < G_MAXINT64 ? lowest : place;
}

static gboolean check_numbers(
	const PipesimTrace *trace, const PipesimTraceRow *row, GError **error)
{
	if (row->rank < MOST && row->what.stage < MOST && row->microbatch < MOST_MICROBATCHES &&
		row->replica < MOST)
		return TRUE;
	return pipesim_fail(error, PIPESIM_ERROR_USAGE,
		"%s: %s of %s, micro-batch %" G_GINT64_FORMAT ", rank %" G_GINT64_FORMAT
		": no run has so many",
		trace->path, pipesim_phase_name(row->what.phase), row->what.chunk,
		row->microbatch, row->rank);
}

/* Notes that trace @t has @row. */
static gboolean note_op(Joining *joining, guint t, const PipesimTraceRow *row, GError **error)
{
	PipesimTrace *const *traces = joining->traces;
	const guint stage = (guint)row->what.stage, rank = (guint)row->rank;
	const guint replica = (guint)MAX(row->replica, 0);
	const gpointer key = GSIZE_TO_POINTER((gsize)replica * MOST + rank + 1);
	const guint other = GPOINTER_TO_UINT(g_hash_table_lookup(joining->file_of, key));
	guint32 *of_stage;

	if (other == 0)
		g_hash_table_insert(joining->file_of, key, GUINT_TO_POINTER(t + 1));
	else if (other != t + 1)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s and %s are both of rank %u; give each rank of one run once",
			traces[other - 1]->path, traces[t]->path, rank);
	if (stage >= joining->out->stages) {
		joining->out->stages = stage + 1;
		g_array_set_size(joining->file_of_stage, stage + 1);
		joining->out->rank_of =
			g_renew(guint32, joining->out->rank_of, (gsize)stage + 1);
	}
	of_stage = &g_array_index(joining->file_of_stage, guint32, stage);
	if (*of_stage == 0)
		joining->out->rank_of[stage] = rank;
	else if (*of_stage != t + 1 && joining->out->rank_of[stage] != rank)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"stage %u is on rank %u in %s and on rank %u in %s: they are of "
			"different runs; give the ranks of one",
			stage, joining->out->rank_of[stage], traces[*of_stage - 1]->path, rank,
			traces[t]->path);
	*of_stage = t + 1;
	return TRUE;
}

/* @place: which of the traces with ops trace @t is; @microbatches: (out): that it has */
static gboolean join_trace(
	Joining *joining, guint t, guint place, guint *microbatches, GError **error)
{
	PipesimTrace *trace = joining->traces[t];
	const gint64 guessed = guess_rank(trace, place);

	*microbatches = 0;
	for (guint i = 0; i < trace->spans->len; i++) {
		PipesimTraceSpan *span = &g_array_index(trace->spans, PipesimTraceSpan, i);

		if (span->rank < 0)
			span->rank = guessed;
	}
	for (guint i = 0; i < trace->rows->len; i++) {
		PipesimTraceRow *row = row_at(trace, i);

		if (!pipesim_row_is_op(row))
			continue;
		if (row->rank < 0)
			row->rank = guessed;
		if (row->what.stage < 0) {
			row->what.stage = row->rank;
			row->what.chunk = pipesim_stage_chunk(trace->strings, row->what.stage);
		}
		if (!check_numbers(trace, row, error) || !note_op(joining, t, row, error))
			return FALSE;
		*microbatches = MAX(*microbatches, (guint)row->microbatch + 1);
	}
	return TRUE;
}

/* @first, @t: traces with ops of so many micro-batches */
static gboolean check_run(
	const Joining *joining, guint first, guint t, guint here, GError **error)
{
	const PipesimTrace *a = joining->traces[first], *b = joining->traces[t];
	const gint64 of_a = pipesim_trace_get_count(a, "ranks");
	const gint64 of_b = pipesim_trace_get_count(b, "ranks");

	if (joining->out->microbatches != here)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s has %u micro-batches and %s %u: they are of different runs; give "
			"the ranks of one",
			a->path, joining->out->microbatches, b->path, here);
	if (of_a > 0 && of_b > 0 && of_a != of_b)
		return pipesim_fail(error, PIPESIM_ERROR_USAGE,
			"%s is of a run of %" G_GINT64_FORMAT
			" ranks and %s of one of %" G_GINT64_FORMAT
			"; give the ranks of one run",
			a->path, of_a, b->path, of_b);
	return TRUE;
}

/* Stages of a rank, and ranks. */
static void count(const Joining *joining)
{
	PipesimJoined *out = joining->out;
	g_autofree guint *held = NULL;
	guint highest = 0;

	for (guint stage = 0; stage < out->stages; stage++) {
		if (g_array_index(joining->file_of_stage, guint32, stage) == 0)
			out->rank_of[stage] = PIPESIM_NO_RANK;
		else
			highest = MAX(highest, out->rank_of[stage]);
	}
	held = g_new0(guint, (gsize)highest + 1);
	for (guint stage = 0; stage < out->stages; stage++) {
		if (out->rank_of[stage] == PIPESIM_NO_RANK)
			continue;
		held[out->rank_of[stage]]++;
		out->chunks = MAX(out->chunks, held[out->rank_of[stage]]);
	}
	out->ranks = MAX((out->stages + out->chunks - 1) / MAX(out->chunks, 1u), 1u);
}

gboolean pipesim_join(PipesimTrace *const *traces, guint n, PipesimJoined *out, GError **error)
{
	g_autoptr(GHashTable) file_of = g_hash_table_new(NULL, NULL);
	g_autoptr(GArray) file_of_stage = g_array_new(FALSE, TRUE, sizeof(guint32));
	Joining joining = {traces, n, out, file_of, file_of_stage};
	guint place = 0, first = 0;

	*out = (PipesimJoined){0};
	pipesim_number_replicas(traces, n);
	for (guint t = 0; t < n; t++) {
		guint microbatches;

		if (!has_ops(traces[t]))
			continue;
		if (!join_trace(&joining, t, place, &microbatches, error))
			return FALSE;
		if (place++ == 0) {
			first = t;
			out->microbatches = microbatches;
			out->world = (guint)CLAMP(
				pipesim_trace_get_count(traces[t], "ranks"), 0, MOST);
		} else if (!check_run(&joining, first, t, microbatches, error)) {
			return FALSE;
		}
	}
	count(&joining);
	return TRUE;
}

char *pipesim_joined_missing(const PipesimJoined *joined)
{
	const guint most = 8;
	g_autofree gboolean *seen = g_new0(gboolean, joined->ranks);
	GString *out = g_string_new(NULL);
	guint n = 0;

	for (guint stage = 0; stage < joined->stages; stage++)
		if (joined->rank_of[stage] < joined->ranks)
			seen[joined->rank_of[stage]] = TRUE;
	for (guint rank = 0; rank < joined->ranks; rank++) {
		if (seen[rank])
			continue;
		if (n < most)
			g_string_append_printf(out, "%s%u", n > 0 ? ", " : "", rank);
		n++;
	}
	if (n > most)
		g_string_append_printf(out, " and %u more", n - most);
	g_string_prepend(out, n == 1 ? "rank " : "ranks ");
	return g_string_free(out, FALSE);
}

void pipesim_joined_clear(PipesimJoined *joined)
{
	g_free(joined->rank_of);
	*joined = (PipesimJoined){0};
}
