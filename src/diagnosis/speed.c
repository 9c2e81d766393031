#include "config.h"

#include "base/number.h"
#include "diagnosis/speed.h"

#include <stdlib.h>

/* A kernel in one kind of op, on every rank. */
typedef struct {
	guint seen;     /* ranks that run it */
	guint64 n;      /* how often, on all ranks */
	gint64 mean[1]; /* ranks; 0 = not run there */
} Shared;

/* The rank whose profile @trace is, or -1. */
static gint rank_of(const PipesimTrace *trace, const PipesimJoined *joined)
{
	pipesim_each (const PipesimTraceRow, row, trace->rows)
		if (pipesim_row_is_op(row))
			return row->rank < joined->ranks ? (gint)row->rank : -1;
	return -1;
}

static void add_kernels(GHashTable *all, const PipesimTrace *trace, guint rank, guint ranks)
{
	pipesim_each (const PipesimTraceKernel, kernel, trace->kernels) {
		g_autofree char *key = g_strdup_printf("%u %s", kernel->phase, kernel->name);
		Shared *shared = g_hash_table_lookup(all, key);

		if (shared == NULL) {
			shared = g_malloc0(sizeof *shared + ranks * sizeof *shared->mean);
			g_hash_table_insert(all, g_steal_pointer(&key), shared);
		}
		shared->seen++;
		shared->n += kernel->n;
		shared->mean[rank] = kernel->mean;
	}
}

/* What the kernels that all ranks run take on each, ns for so many of each on all ranks together.
 * FALSE: too little to tell by. */
static gboolean compare(
	GHashTable *all, PipesimTrace *const *by_rank, guint ranks, gint64 *took)
{
	g_autofree double *shared_time = g_new0(double, ranks);
	GHashTableIter iter;
	gpointer value;

	g_hash_table_iter_init(&iter, all);
	while (g_hash_table_iter_next(&iter, NULL, &value)) {
		const Shared *shared = value;

		for (guint rank = 0; rank < ranks && shared->seen == ranks; rank++) {
			took[rank] = pipesim_add_capped(took[rank],
				pipesim_time_scale(shared->mean[rank], (gint64)shared->n, 1));
			shared_time[rank] +=
				(double)shared->n / ranks * (double)shared->mean[rank];
		}
	}
	for (guint rank = 0; rank < ranks; rank++) {
		double sum = 0; /* of all kernels */

		pipesim_each (const PipesimTraceKernel, kernel, by_rank[rank]->kernels)
			sum += (double)kernel->n * (double)kernel->mean;
		if (2 * shared_time[rank] < sum || took[rank] == 0)
			return FALSE;
	}
	return TRUE;
}

gint64 *pipesim_rank_speeds(PipesimTrace *const *traces, guint n, const PipesimJoined *joined)
{
	const guint ranks = joined->ranks;
	g_autoptr(GHashTable) all =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree PipesimTrace **by_rank = g_new0(PipesimTrace *, ranks);
	g_autofree gint64 *took = g_new0(gint64, ranks), *sorted = NULL;

	for (guint t = 0; t < n; t++) {
		const gint rank = rank_of(traces[t], joined);

		if (rank < 0 || by_rank[rank] != NULL || traces[t]->kernels->len == 0)
			continue;
		by_rank[rank] = traces[t];
		add_kernels(all, traces[t], (guint)rank, ranks);
	}
	for (guint rank = 0; rank < ranks; rank++)
		if (by_rank[rank] == NULL)
			return NULL;
	if (!compare(all, by_rank, ranks, took))
		return NULL;
	sorted = g_memdup2(took, ranks * sizeof *took);
	qsort(sorted, ranks, sizeof *sorted, pipesim_compare_int64);
	for (guint rank = 0; rank < ranks; rank++)
		took[rank] =
			pipesim_time_scale(took[rank], PIPESIM_PPM, sorted[(ranks - 1) / 2]);
	return g_steal_pointer(&took);
}
