#include "config.h"

#include "measure/replicas.h"

#include <string.h>

/* More stages than that are none of one run. */
#define MOST 8192

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
	return (a->len > b->len) - (a->len < b->len);
}

static gint compare_files(gconstpointer a, gconstpointer b)
{
	const File *x = a, *y = b;
	const gint by_stages = compare_stages(x->stages, y->stages);

	return by_stages != 0 ? by_stages : (x->rank > y->rank) - (x->rank < y->rank);
}

/* What ops @trace has, into @file. FALSE where they are not of one rank that is known, and stages. */
static gboolean look(PipesimTrace *trace, File *file)
{
	guint8 seen[MOST / 8] = {0};

	file->trace = trace;
	for (guint i = 0; i < trace->rows->len; i++) {
		const PipesimTraceRow *row = pipesim_trace_row(trace, i);
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

/* Whether files of the same stages run different micro-batches of them: not replicas of each other, but two copies
 * of these stages in one pipeline, as Chimera and DualPipe have. @files: sorted */
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

guint pipesim_number_replicas(PipesimTrace *const *traces, guint n)
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
			return 0;
		if (g_array_index(files, File, files->len - 1).stages->len == 0)
			g_array_set_size(files, files->len - 1);
	}
	if (files->len == 0 || files->len > MOST)
		return 0;
	g_array_sort(files, compare_files);
	if (!is_whole(files, &copies))
		return 0;
	for (guint i = 0; i < files->len; i++) {
		const gint64 *rank = &g_array_index(files, File, i).rank;

		if (!g_hash_table_add(ranks, (gpointer)rank))
			return 0;
		plain &= *rank < files->len;
	}
	/* As they are: one replica, whose ranks are those of the pipeline. */
	if ((plain && copies == 1) || shares_work(files))
		return 0;
	for (guint i = 0; i < files->len; i++) {
		PipesimTrace *trace = g_array_index(files, File, i).trace;

		for (guint k = 0; k < trace->rows->len; k++) {
			PipesimTraceRow *row = pipesim_trace_row(trace, k);

			if (!pipesim_row_is_op(row))
				continue;
			row->rank = i / copies;
			row->replica = i % copies;
		}
		for (guint k = 0; k < trace->spans->len; k++) {
			PipesimTraceSpan *span =
				&g_array_index(trace->spans, PipesimTraceSpan, k);

			span->rank = i / copies;
			span->replica = i % copies;
		}
	}
	return copies;
}
