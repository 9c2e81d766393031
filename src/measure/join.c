#include "measure/join.h"

/* More than any run has; beyond, a number is no stage or rank. */
#define MOST              (1 << 13)
#define MOST_MICROBATCHES (1 << 20)

/* Files of more ranks than one pipeline has ---------------------------------------------- */

/* A trace of one rank. */
typedef struct {
	PipesimTrace *trace;
	gint64 rank;
	GArray *stages; /* gint64, ascending */
} File;

/* Adds @n to a set of bits; whether it was not there. */
static gboolean add(guint8 *seen, gint64 n)
{
	const guint8 bit = (guint8)(1u << n % 8), before = seen[n / 8];

	seen[n / 8] |= bit;
	return (before & bit) == 0;
}

static void clear_file(gpointer data)
{
	g_array_unref(((File *)data)->stages);
}

static gint compare_stages(const GArray *a, const GArray *b)
{
	const gint64 *x = (const gint64 *)(gpointer)a->data;
	const gint64 *y = (const gint64 *)(gpointer)b->data;

	for (guint i = 0; i < MIN(a->len, b->len); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return pipesim_compare(a->len, b->len);
}

PIPESIM_COMPARE(compare_files, File, compare_stages(x->stages, y->stages) ?: pipesim_by(rank))

/* What ops @trace has, into @file. FALSE where they are not of one rank that is known, and
 * stages. */
static gboolean look(PipesimTrace *trace, File *file)
{
	guint8 seen[MOST / 8] = {0};

	file->trace = trace;
	pipesim_each (const PipesimTraceRow, row, trace->rows) {
		const gint64 stage = row->what.stage;

		if (!pipesim_row_is_op(row))
			continue;
		if (row->rank < 0 || stage < 0 || stage >= MOST || row->replica >= 0 ||
			(file->rank >= 0 && file->rank != row->rank))
			return FALSE;
		file->rank = row->rank;
		if (add(seen, stage))
			g_array_append_val(file->stages, stage);
	}
	g_array_sort(file->stages, pipesim_compare_int64);
	return TRUE;
}

/* Whether every stage from 0 on is in so many of @files, sorted, as the first. */
static gboolean is_whole(const GArray *files, guint *copies)
{
	guint8 seen[MOST / 8] = {0};
	guint stages = 0, highest = 0;

	for (guint i = 0; i < files->len;) {
		const File *first = &g_array_index(files, File, i);
		guint end = i + 1;

		while (end < files->len && compare_stages(first->stages,
						   g_array_index(files, File, end).stages) == 0)
			end++;
		if (i > 0 && end - i != *copies)
			return FALSE;
		*copies = end - i;
		for (guint k = 0; k < first->stages->len; k++) {
			const gint64 stage = g_array_index(first->stages, gint64, k);

			if (!add(seen, stage))
				return FALSE;
			highest = MAX(highest, (guint)stage);
			stages++;
		}
		i = end;
	}
	return stages == highest + 1;
}

/* Whether files of the same stages run different micro-batches of them: not replicas of each
 * other, but two copies of these stages in one pipeline, as Chimera and DualPipe have.
 * @files: sorted */
static gboolean shares_work(const GArray *files)
{
	for (guint i = 1; i < files->len; i++) {
		const File *a = &g_array_index(files, File, i - 1);
		const File *b = &g_array_index(files, File, i);
		g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL);
		gboolean same = FALSE;

		if (compare_stages(a->stages, b->stages) != 0)
			continue;
		for (guint k = 0; k < a->trace->rows->len + b->trace->rows->len && !same; k++) {
			const gboolean second = k >= a->trace->rows->len;
			const PipesimTraceRow *row =
				&g_array_index(second ? b->trace->rows : a->trace->rows,
					PipesimTraceRow, second ? k - a->trace->rows->len : k);
			const gpointer key = GSIZE_TO_POINTER(
				((gsize)row->what.stage << 32 | (guint32)row->microbatch) + 1);

			if (!pipesim_row_is_op(row))
				continue;
			if (second)
				same = g_hash_table_contains(seen, key);
			else
				g_hash_table_add(seen, key);
		}
		return !same;
	}
	return FALSE;
}

/* Where @traces are of one rank each, all stages are among them, and each stage is in as
 * many of them: gives their ops and spans the rank that they are in the pipeline, by the
 * lowest stage, and their replica, by the number of the rank that they name: ranks of a job
 * count data-parallel and tensor-parallel ones too. Else nothing is changed. */
static void number_replicas(PipesimTrace *const *traces, guint n)
{
	g_autoptr(GArray) files = g_array_new(FALSE, FALSE, sizeof(File));
	g_autoptr(GHashTable) ranks = g_hash_table_new(g_int64_hash, g_int64_equal);
	gboolean plain = TRUE;
	guint copies = 0;

	g_array_set_clear_func(files, clear_file);
	for (guint t = 0; t < n; t++) {
		const File file = {traces[t], -1, g_array_new(FALSE, FALSE, sizeof(gint64))};

		g_array_append_val(files, file);
		if (!look(traces[t], &g_array_index(files, File, files->len - 1)))
			return;
		if (g_array_index(files, File, files->len - 1).stages->len == 0)
			g_array_set_size(files, files->len - 1);
	}
	if (files->len == 0 || files->len > MOST)
		return;
	g_array_sort(files, compare_files);
	if (!is_whole(files, &copies))
		return;
	pipesim_each (File, file, files) {
		if (!g_hash_table_add(ranks, &file->rank))
			return;
		plain &= file->rank < files->len;
	}
	/* As they are: one replica, whose ranks are those of the pipeline. */
	if ((plain && copies == 1) || shares_work(files))
		return;
	for (guint i = 0; i < files->len; i++) {
		PipesimTrace *trace = g_array_index(files, File, i).trace;

		pipesim_each (PipesimTraceRow, row, trace->rows) {
			if (!pipesim_row_is_op(row))
				continue;
			row->rank = i / copies;
			row->replica = i % copies;
		}
		pipesim_each (PipesimTraceSpan, span, trace->spans) {
			span->rank = i / copies;
			span->replica = i % copies;
		}
	}
}

/* One run -------------------------------------------------------------------------------- */

typedef struct {
	PipesimTrace *const *traces;
	guint n;
	PipesimJoined *out;
	GHashTable *file_of; /* replica and rank -> number of the trace, and 1 */
	GPtrArray *homes;    /* of each stage: GArray of Home, by micro-batch */
	GHashTable *place;   /* rank and stage -> index in out->held, and 1 */
} Joining;

/* Where a micro-batch of a stage runs. */
typedef struct {
	guint32 rank;  /* and 1; 0 = none was seen */
	guint32 trace; /* that says so */
} Home;

/* Notes that trace @t has an op of @stage and @microbatch on @rank. */
static gboolean note_stage(
	Joining *joining, guint t, guint rank, guint stage, guint microbatch, GError **error)
{
	PipesimTrace *const *traces = joining->traces;
	PipesimJoined *out = joining->out;
	GArray *homes;

	if (stage >= out->stages) {
		out->rank_of = g_renew(guint32, out->rank_of, (gsize)stage + 1);
		for (; out->stages <= stage; out->stages++) {
			out->rank_of[out->stages] = PIPESIM_NO_RANK;
			g_ptr_array_add(joining->homes, g_array_new(FALSE, TRUE, sizeof(Home)));
		}
	}
	homes = joining->homes->pdata[stage];
	if (microbatch >= homes->len)
		g_array_set_size(homes, microbatch + 1);
	Home *home = &g_array_index(homes, Home, microbatch);
	/* A capture may hold the same work of several GPUs. */
	if (home->rank != 0 && home->rank != rank + 1 && home->trace != t)
		return pipesim_refuse(error,
			"stage %u is on rank %u in %s and on rank %u in %s, both with "
			"micro-batch %u: they are of different runs; give the ranks of one",
			stage, home->rank - 1, traces[home->trace]->path, rank, traces[t]->path,
			microbatch);
	if (home->rank == 0) {
		const gpointer key = GSIZE_TO_POINTER((gsize)rank * MOST + stage + 1);
		const guint place = GPOINTER_TO_UINT(g_hash_table_lookup(joining->place, key));
		PipesimStagePlace *held =
			place > 0 ? &g_array_index(out->held, PipesimStagePlace, place - 1)
				  : NULL;

		*home = (Home){rank + 1, t};
		if (held != NULL) {
			held->first = MIN(held->first, microbatch);
		} else {
			g_array_append_val(
				out->held, ((PipesimStagePlace){rank, stage, microbatch}));
			g_hash_table_insert(
				joining->place, key, GUINT_TO_POINTER(out->held->len));
		}
	}
	if (out->rank_of[stage] == PIPESIM_NO_RANK)
		out->rank_of[stage] = rank;
	return TRUE;
}

/* Notes that trace @t has @row. */
static gboolean note_op(Joining *joining, guint t, const PipesimTraceRow *row, GError **error)
{
	PipesimTrace *const *traces = joining->traces;
	const guint rank = (guint)row->rank;
	const guint replica = (guint)MAX(row->replica, 0);
	const gpointer key = GSIZE_TO_POINTER((gsize)replica * MOST + rank + 1);
	const guint other = GPOINTER_TO_UINT(g_hash_table_lookup(joining->file_of, key));

	if (other == 0)
		g_hash_table_insert(joining->file_of, key, GUINT_TO_POINTER(t + 1));
	else if (other != t + 1)
		return pipesim_refuse(error,
			"%s and %s are both of rank %u; give each rank of one run once",
			traces[other - 1]->path, traces[t]->path, rank);
	return note_stage(joining, t, rank, (guint)row->what.stage, (guint)row->microbatch,
		       error) &&
	       (row->what.phase != PIPESIM_FB ||
		       note_stage(joining, t, rank, (guint)row->what.b_stage,
			       (guint)row->b_microbatch, error));
}

/* @place: which of the traces with ops trace @t is; @microbatches: (out): that it has */
static gboolean join_trace(
	Joining *joining, guint t, guint place, guint *microbatches, GError **error)
{
	PipesimTrace *trace = joining->traces[t];
	gint64 guessed = G_MAXINT64;

	/* The rank of a trace whose rows do not say it: its lowest stage. */
	pipesim_each (const PipesimTraceRow, row, trace->rows)
		if (pipesim_row_is_op(row) && row->what.stage >= 0)
			guessed = MIN(guessed, row->what.stage);
	if (guessed == G_MAXINT64)
		guessed = place;
	*microbatches = 0;
	pipesim_each (PipesimTraceSpan, span, trace->spans)
		if (span->rank < 0)
			span->rank = guessed;
	pipesim_each (PipesimTraceRow, row, trace->rows) {
		if (!pipesim_row_is_op(row))
			continue;
		if (row->rank < 0)
			row->rank = guessed;
		if (row->what.stage < 0) {
			row->what.stage = row->rank;
			row->what.chunk = pipesim_stage_chunk(trace->strings, row->what.stage);
		}
		if (row->rank >= MOST || row->what.stage >= MOST ||
			row->microbatch >= MOST_MICROBATCHES || row->replica >= MOST ||
			row->what.b_stage >= MOST || row->b_microbatch >= MOST_MICROBATCHES)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: %s of %s, micro-batch %" G_GINT64_FORMAT
				", rank %" G_GINT64_FORMAT ": no run has so many",
				trace->path, pipesim_phase_name(row->what.phase),
				row->what.chunk, row->microbatch, row->rank);
		if (!note_op(joining, t, row, error))
			return FALSE;
		*microbatches = MAX(*microbatches, (guint)row->microbatch + 1);
		if (row->what.phase == PIPESIM_FB)
			*microbatches = MAX(*microbatches, (guint)row->b_microbatch + 1);
	}
	return TRUE;
}

PIPESIM_COMPARE(compare_held, PipesimStagePlace, pipesim_by(rank) ?: pipesim_by(stage))

/* Of copies the one that runs the first micro-batches comes first, as schedule files have it. */
PIPESIM_COMPARE(compare_copies, PipesimStagePlace,
	pipesim_by(rank) ?: pipesim_by(first) ?: pipesim_by(stage))

/* Stages of a rank, copies, and ranks. */
static void count(PipesimJoined *out)
{
	g_autofree guint *homes = g_new0(guint, MAX(out->stages, 1));
	guint here = 0;

	g_array_sort(out->held, compare_held);
	out->copies = 1;
	for (guint i = 0; i < out->held->len; i++) {
		const PipesimStagePlace *held = &g_array_index(out->held, PipesimStagePlace, i);

		here = i > 0 && held[-1].rank == held->rank ? here + 1 : 1;
		out->chunks = MAX(out->chunks, here);
		homes[held->stage]++;
		out->copies = MAX(out->copies, homes[held->stage]);
	}
	if (out->copies > 1)
		g_array_sort(out->held, compare_copies);
	out->ranks =
		MAX((out->stages * out->copies + out->chunks - 1) / MAX(out->chunks, 1u), 1u);
}

gboolean pipesim_join(PipesimTrace *const *traces, guint n, PipesimJoined *out, GError **error)
{
	g_autoptr(GHashTable) file_of = g_hash_table_new(NULL, NULL);
	g_autoptr(GPtrArray) homes =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	g_autoptr(GHashTable) of_rank = g_hash_table_new(NULL, NULL);
	Joining joining = {traces, n, out, file_of, homes, of_rank};
	const PipesimTrace *first = NULL; /* with ops */
	guint place = 0;

	*out = (PipesimJoined){.held = g_array_new(FALSE, FALSE, sizeof(PipesimStagePlace))};
	number_replicas(traces, n);
	for (guint t = 0; t < n; t++) {
		const gint64 ranks = pipesim_trace_get_count(traces[t], "ranks");
		const char *path = traces[t]->path;
		guint microbatches;

		if (!pipesim_trace_has_ops(traces[t]))
			continue;
		if (!join_trace(&joining, t, place, &microbatches, error))
			return FALSE;
		if (place++ == 0) {
			first = traces[t];
			out->microbatches = microbatches;
			out->world = (guint)CLAMP(ranks, 0, MOST);
			continue;
		}
		const gint64 before = pipesim_trace_get_count(first, "ranks");
		/* What is cut short may have no step that is whole. */
		if (out->microbatches != microbatches &&
			pipesim_trace_get(first, PIPESIM_CUT) == NULL &&
			pipesim_trace_get(traces[t], PIPESIM_CUT) == NULL)
			return pipesim_refuse(error,
				"%s has %u micro-batches and %s %u: they are of different "
				"runs; give the ranks of one",
				first->path, out->microbatches, path, microbatches);
		out->microbatches = MAX(out->microbatches, microbatches);
		if (before > 0 && ranks > 0 && before != ranks)
			return pipesim_refuse(error,
				"%s is of a run of %" G_GINT64_FORMAT
				" ranks and %s of one of %" G_GINT64_FORMAT
				"; give the ranks of one run",
				first->path, before, path, ranks);
	}
	count(out);
	return TRUE;
}

char *pipesim_joined_missing(const PipesimJoined *joined)
{
	const guint most = 8;
	g_autofree gboolean *seen = g_new0(gboolean, joined->ranks);
	GString *out = g_string_new(NULL);
	guint n = 0;

	pipesim_each (const PipesimStagePlace, held, joined->held)
		if (held->rank < joined->ranks)
			seen[held->rank] = TRUE;
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
	g_clear_pointer(&joined->held, g_array_unref);
	*joined = (PipesimJoined){0};
}
