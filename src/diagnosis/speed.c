#include "config.h"

#include "base/number.h"
#include "diagnosis/speed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A kernel in one kind of op, on every rank. */
typedef struct {
	guint seen;     /* ranks that run it */
	guint64 n;      /* how often, on all ranks */
	double all;     /* of its means, the sum */
	gint64 mean[1]; /* ranks; 0 = not run there */
} Shared;

/* What a kernel takes on a rank, of what it takes on all in the mean, is about the same for all
 * kernels. What is so many times more or less is not the same there, as of a head, or as other sizes
 * of it ran alone, and tells nothing of speeds: at first roughly, then against what all others tell. */
static const double other_sizes[] = {2, 1.25, 1.25, 1.25};

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
		g_autofree char *key =
			g_strdup_printf("%u %u %s", kernel->phase, kernel->size, kernel->name);
		Shared *shared = g_hash_table_lookup(all, key);

		if (shared == NULL) {
			shared = g_malloc0(sizeof *shared + ranks * sizeof *shared->mean);
			g_hash_table_insert(all, g_steal_pointer(&key), shared);
		}
		shared->seen++;
		shared->n += kernel->n;
		shared->mean[rank] = kernel->mean;
		shared->all += (double)kernel->mean;
	}
}

/* Whether each rank takes for @shared what @speed says, by no more than a factor of @most. */
static gboolean is_same(const Shared *shared, const double *speed, guint ranks, double most)
{
	for (guint rank = 0; rank < ranks; rank++) {
		const double here =
			(double)shared->mean[rank] * ranks / (shared->all * speed[rank]);

		if (here > most || here * most < 1)
			return FALSE;
	}
	return TRUE;
}

/* What the kernels that all ranks run take on each against all ranks in the mean. FALSE: too little
 * to tell by. */
static gboolean compare(
	GHashTable *all, PipesimTrace *const *by_rank, guint ranks, double *speed)
{
	g_autofree double *took = g_new(double, ranks);
	GHashTableIter iter;
	gpointer value;

	for (guint rank = 0; rank < ranks; rank++)
		speed[rank] = 1;
	for (guint round = 0; round < G_N_ELEMENTS(other_sizes); round++) {
		double sum = 0;

		memset(took, 0, ranks * sizeof *took);
		g_hash_table_iter_init(&iter, all);
		while (g_hash_table_iter_next(&iter, NULL, &value)) {
			const Shared *shared = value;

			if (shared->seen < ranks ||
				!is_same(shared, speed, ranks, other_sizes[round]))
				continue;
			for (guint rank = 0; rank < ranks; rank++)
				took[rank] += (double)shared->n * (double)shared->mean[rank];
			sum += (double)shared->n * shared->all;
		}
		for (guint rank = 0; rank < ranks && sum > 0; rank++)
			speed[rank] = took[rank] * ranks / sum;
	}
	for (guint rank = 0; rank < ranks; rank++) {
		double sum = 0; /* of all kernels */

		pipesim_each (const PipesimTraceKernel, kernel, by_rank[rank]->kernels)
			sum += (double)kernel->n * (double)kernel->mean;
		if (4 * took[rank] < sum * ranks || took[rank] <= 0)
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
	g_autofree double *speed = g_new(double, ranks), *sorted = NULL;
	gint64 *speeds;

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
	if (!compare(all, by_rank, ranks, speed))
		return NULL;
	sorted = g_memdup2(speed, ranks * sizeof *speed);
	qsort(sorted, ranks, sizeof *sorted, pipesim_compare_double);
	speeds = g_new(gint64, ranks);
	for (guint rank = 0; rank < ranks; rank++)
		speeds[rank] = llround(speed[rank] / sorted[(ranks - 1) / 2] * PIPESIM_PPM);
	return speeds;
}

/* Clocks -------------------------------------------------------------------------------- */

/* Profiles that are looked at; the sizes of a kernel, one from the next; how often one must run, and by how much of its time
 * its clock can move it; lengths of stretches, and the least time of a stretch that kernels tell. */
#define MOST_PROFILES 64
#define SIZES_APART   1.08
#define LEAST_OFTEN   8
#define MOST_MOVED    1.35
#define STRETCH_NS    10000000
#define LEAST_NS      2000000

/* A kernel of a rank, and what it usually takes. */
typedef struct {
	const char *name;
	gint64 stretch, took, usual;
	guint trace;
} Paced;

static gint compare_sizes(gconstpointer a, gconstpointer b)
{
	const Paced *x = a, *y = b;

	return strcmp(x->name, y->name) ?: pipesim_compare(x->took, y->took);
}

static gint compare_stretches(gconstpointer a, gconstpointer b)
{
	const Paced *x = a, *y = b;

	return pipesim_compare(x->trace, y->trace) ?: pipesim_compare(x->stretch, y->stretch);
}

/* Of each size of each kernel the usual time; 0 where it tells nothing. Sorts @all by it. */
static void find_usual(GArray *all)
{
	guint end;

	g_array_sort(all, compare_sizes);
	for (guint begin = 0; begin < all->len; begin = end) {
		Paced *first = &g_array_index(all, Paced, begin);

		for (end = begin + 1; end < all->len; end++) {
			const Paced *next = &g_array_index(all, Paced, end);

			if (strcmp(next->name, first->name) != 0 ||
				(double)next->took > SIZES_APART * (double)next[-1].took)
				break;
		}
		const guint n = end - begin;
		const gboolean tells =
			n >= LEAST_OFTEN &&
			(double)first[n - 1].took < MOST_MOVED * (double)first->took;

		for (guint i = 0; i < n; i++)
			first[i].usual = tells ? first[n / 2].took : 0;
	}
}

gint64 pipesim_clock_swing(PipesimTrace *const *traces, guint n)
{
	g_autoptr(GArray) all = g_array_new(FALSE, FALSE, sizeof(Paced));
	g_autoptr(GArray) paces = g_array_new(FALSE, FALSE, sizeof(double));
	gint64 took = 0, usual = 0;
	double most = 1;

	for (guint t = 0; t < MIN(n, MOST_PROFILES); t++)
		pipesim_each (const PipesimTracePace, pace, traces[t]->paces)
			g_array_append_val(all, ((Paced){pace->name, pace->start / STRETCH_NS,
							pace->took, 0, t}));
	find_usual(all);
	g_array_sort(all, compare_stretches);
	for (guint i = 0; i < all->len; i++) {
		const Paced *one = &g_array_index(all, Paced, i);
		const gboolean last = i + 1 == all->len,
			       ends = last || one[1].trace != one->trace;

		took += one->usual > 0 ? one->took : 0;
		usual += one->usual;
		if (!ends && one[1].stretch == one->stretch)
			continue;
		const double pace = (double)took / (double)MAX(usual, 1);

		if (usual >= LEAST_NS)
			g_array_append_val(paces, pace);
		took = usual = 0;
		if (!ends || paces->len == 0)
			continue;
		g_array_sort(paces, pipesim_compare_double);
		most = MAX(most, g_array_index(paces, double, (paces->len - 1) * 9 / 10) /
					 g_array_index(paces, double, (paces->len - 1) / 10));
		g_array_set_size(paces, 0);
	}
	return llround((most - 1) * PIPESIM_PPM);
}
