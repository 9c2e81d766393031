#include "diagnosis/speed.h"

/* A kernel in one kind of op, on every rank. */
typedef struct {
	guint seen;         /* ranks that run it */
	guint64 n;          /* how often, on all ranks */
	gint64 least, most; /* of the ranks, of what it usually takes */
	gint64 mean[1];     /* ranks; 0 = not run there */
} Shared;

/* What takes so much longer on one rank than on another is not the same, as of a head: that tells nothing of speeds. */
#define OTHER_SIZES 2

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
			shared->least = shared->most = kernel->usual;
			g_hash_table_insert(all, g_steal_pointer(&key), shared);
		}
		shared->seen++;
		shared->n += kernel->n;
		shared->mean[rank] = kernel->mean;
		shared->least = MIN(shared->least, kernel->usual);
		shared->most = MAX(shared->most, kernel->usual);
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

		if (shared->most > OTHER_SIZES * MAX(shared->least, 1))
			continue;
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
		if (4 * shared_time[rank] < sum || took[rank] == 0)
			return FALSE;
	}
	return TRUE;
}

/* What the kernels of @trace take in the mean of what each takes at its shortest in such an op, in millionths. */
static gint64 find_bursts(const PipesimTrace *trace)
{
	double took = 0, usual = 0;

	pipesim_each (const PipesimTraceKernel, kernel, trace->kernels) {
		took += (double)kernel->n * (double)kernel->mean;
		usual += (double)kernel->n * (double)kernel->usual;
	}
	return llround(took / MAX(usual, 1) * PIPESIM_PPM);
}

gint64 *pipesim_rank_speeds(
	PipesimTrace *const *traces, guint n, const PipesimJoined *joined, gint64 **bursts)
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
	*bursts = g_new(gint64, ranks);
	for (guint rank = 0; rank < ranks; rank++) {
		took[rank] =
			pipesim_time_scale(took[rank], PIPESIM_PPM, sorted[(ranks - 1) / 2]);
		(*bursts)[rank] = find_bursts(by_rank[rank]);
	}
	return g_steal_pointer(&took);
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

PIPESIM_COMPARE(compare_sizes, Paced, strcmp(x->name, y->name) ?: pipesim_by(took))

PIPESIM_COMPARE(compare_stretches, Paced, pipesim_by(trace) ?: pipesim_by(stretch))

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
