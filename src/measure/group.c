#include "measure/group.h"

/* Of a mean: single ops that something else went on in, a quarter off the median. */
#define OUTLIER 4

PIPESIM_DESTROYS(PipesimTraceGroup, group_free, group)
{
	g_array_unref(group->repetitions);
	g_free(group);
}

static PipesimRepetition *repetition_at(const GArray *repetitions, guint i)
{
	return &g_array_index(repetitions, PipesimRepetition, i);
}

PIPESIM_COMPARE_OF(compare_repeated, PipesimRepetition, pipesim_by(origin) ?: pipesim_by(rows))

/* Of each rank of each trace, whose shares of a batch differ: its own most frequent number of
 * rows; all of them where they do not differ or differ by chance. */
static void keep_nominal(PipesimTraceGroup *group)
{
	const guint n = group->repetitions->len;
	g_autofree PipesimRepetition **sorted =
		g_new(PipesimRepetition *, n + (gsize)1); /* not NULL */
	guint end;

	for (guint i = 0; i < n; i++)
		sorted[i] = repetition_at(group->repetitions, i);
	qsort(sorted, n, sizeof *sorted, compare_repeated);
	for (guint i = 0; i < n; i = end) {
		guint numbers = 0, most = 0, least = G_MAXUINT;
		gint64 nominal = 0;

		/* Each run of repetitions of one origin that met as many rows. */
		for (end = i; end < n && sorted[end]->origin == sorted[i]->origin;) {
			const guint begin = end;

			while (end < n && compare_repeated(&sorted[begin], &sorted[end]) == 0)
				end++;
			numbers++;
			least = MIN(least, end - begin);
			/* The larger of two that are as frequent. */
			if (end - begin >= most)
				nominal = sorted[begin]->rows;
			most = MAX(most, end - begin);
		}
		for (guint k = i; k < end; k++)
			sorted[k]->kept = numbers == 1 || least < PIPESIM_ROWS_REPEATED ||
					  sorted[k]->rows == nominal;
	}
}

static guint key_hash(gconstpointer data)
{
	const PipesimMeasured *key = data;
	guint hash = g_str_hash(key->component) + key->phase + 8u * key->role;

	/* What tells most groups of a component apart. */
	hash = hash * 31 + g_str_hash(key->impl);
	hash = hash * 31 + (guint)(key->compute_sms + 1024 * key->comm_sms + key->tokens);
	hash = hash * 31 + g_int64_hash(&key->payload_bytes) + g_str_hash(key->variant);
	return hash * 31 + g_str_hash(key->chunk);
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const PipesimMeasured *x = a, *y = b;

	return g_str_equal(x->component, y->component) && g_str_equal(x->chunk, y->chunk) &&
	       g_str_equal(x->impl, y->impl) && g_str_equal(x->variant, y->variant) &&
	       g_str_equal(x->load_mode, y->load_mode) && g_str_equal(x->sm_mode, y->sm_mode) &&
	       x->compute_sms == y->compute_sms && x->comm_sms == y->comm_sms &&
	       x->tokens == y->tokens && x->payload_bytes == y->payload_bytes &&
	       x->phase == y->phase && x->role == y->role && x->whole_chunk == y->whole_chunk &&
	       x->in_pair == y->in_pair;
}

static void place_row(GPtrArray *groups, GHashTable *found, const PipesimTraceRow *row,
	guint trace, guint *dropped)
{
	PipesimMeasured key = row->what; /* what makes rows repetitions of each other */

	if (!g_str_equal(key.component, "chunk"))
		key.chunk = "";
	if (!g_str_equal(key.component, "p2p"))
		key.payload_bytes = PIPESIM_UNKNOWN;
	if (key.series != PIPESIM_SERIES_NONE ||
		g_str_equal(key.component, PIPESIM_HOST_COMPONENT))
		return;
	if (row->part || key.phase == PIPESIM_PHASE_RECOMPUTE) {
		dropped[PIPESIM_STATUS_OK]++;
		return;
	}
	PipesimTraceGroup *group = g_hash_table_lookup(found, &key);
	if (group == NULL) {
		group = g_new0(PipesimTraceGroup, 1);
		group->what = key;
		group->repetitions = g_array_new(FALSE, FALSE, sizeof(PipesimRepetition));
		g_ptr_array_add(groups, group);
		g_hash_table_insert(found, &group->what, group);
	}
	if (row->status != PIPESIM_STATUS_OK) {
		group->dropped++;
		dropped[row->status]++;
		return;
	}
	if (row->sd != PIPESIM_UNKNOWN)
		group->mean = row;
	const PipesimRepetition repetition = {
		/* A pair or another op of a step holds its rank from start to end, gaps and all. */
		.service = MAX(0, (row->what.role == PIPESIM_ROLE_PAIR || pipesim_row_is_op(row)
						  ? row->duration
						  : row->busy - MAX(0, row->wait)) -
					  row->beside - row->peers),
		.busy = row->busy,
		.move = row->move,
		.wait = row->wait,
		.rows = row->rows,
		/* Ranks of different traces are different; a rank fits into 31 bits or is as good
		 * as another. */
		.origin = ((gint64)trace << 32) | (row->rank & G_MAXINT32),
		.kept = TRUE,
	};
	g_array_append_val(group->repetitions, repetition);
}

/* See pipesim_trace_group_figures(); for g_free(). */
static gint64 *list_values(
	const PipesimTraceGroup *group, gsize offset, gint64 origin, guint *n)
{
	gint64 *values = g_new(gint64, group->repetitions->len + (gsize)1); /* not NULL */

	*n = 0;
	pipesim_each (const PipesimRepetition, repetition, group->repetitions) {
		const gint64 value = G_STRUCT_MEMBER(gint64, repetition, offset);
		if (repetition->kept && value >= 0 &&
			(origin == PIPESIM_UNKNOWN || origin == repetition->origin))
			values[(*n)++] = value;
	}
	return values;
}

gboolean pipesim_trace_group_figures(const PipesimTraceGroup *group, gsize offset,
	gint64 origin, PipesimDistribution *figures)
{
	guint n;
	g_autofree gint64 *values = list_values(group, offset, origin, &n);

	if (n > 0)
		pipesim_distribution_init(figures, values, n);
	return n > 0;
}

static void measure(PipesimTraceGroup *group)
{
	guint n;
	g_autofree gint64 *service = NULL, *origin = NULL;

	keep_nominal(group);
	service = list_values(
		group, G_STRUCT_OFFSET(PipesimRepetition, service), PIPESIM_UNKNOWN, &n);
	origin = list_values(
		group, G_STRUCT_OFFSET(PipesimRepetition, origin), PIPESIM_UNKNOWN, &n);
	group->measured = n > 0;
	if (!group->measured)
		return;
	pipesim_distribution_init(&group->figures, service, n);
	group->figures.lag1 = n > 2 ? pipesim_lag1_within(service, origin, n) : 0;
	/* A mean alone: every quantile is it, for want of a better one. */
	if (group->mean != NULL && n == 1) {
		group->figures.samples = group->mean->samples;
		group->figures.sd = group->mean->sd;
	}
}

GPtrArray *pipesim_trace_groups(
	PipesimTrace *const *traces, guint n, guint dropped[PIPESIM_N_STATUS])
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
	g_autoptr(GHashTable) found = g_hash_table_new(key_hash, key_equal);

	memset(dropped, 0, PIPESIM_N_STATUS * sizeof *dropped);
	for (guint t = 0; t < n; t++)
		pipesim_each (const PipesimTraceRow, row, traces[t]->rows)
			place_row(groups, found, row, t, dropped);
	pipesim_each_in (PipesimTraceGroup, group, groups)
		measure(group);
	return groups;
}

GPtrArray *pipesim_trace_groups_list(const GPtrArray *groups,
	gboolean (*wanted)(const PipesimTraceGroup *group, gconstpointer data),
	gconstpointer data)
{
	GPtrArray *list = g_ptr_array_new();

	pipesim_each_in (PipesimTraceGroup, group, groups)
		if (group->measured && wanted(group, data))
			g_ptr_array_add(list, group);
	return list;
}

gint64 pipesim_trace_group_mean(const PipesimTraceGroup *group)
{
	const gint64 median = group->figures.median;
	double off = 0;
	guint n = 0;

	pipesim_each (const PipesimRepetition, repetition, group->repetitions) {
		const gint64 difference = repetition->service - median;

		if (!repetition->kept || ABS(difference) > median / OUTLIER)
			continue;
		off += (double)difference;
		n++;
	}
	return n > 0 ? median + (gint64)llround(off / n) : median;
}

double pipesim_mean_of_usual(GArray *times)
{
	double sum = 0;
	guint kept = 0;

	if (times->len == 0)
		return 0;
	g_array_sort(times, pipesim_compare_int64);
	gint64 median = g_array_index(times, gint64, times->len / 2);
	for (guint i = 0; i < times->len; i++) {
		const gint64 time = g_array_index(times, gint64, i);

		if (ABS(time - median) > median / OUTLIER)
			continue;
		sum += (double)time;
		kept++;
	}
	return sum / MAX(kept, 1u);
}

char *pipesim_trace_group_label(const PipesimTraceGroup *group)
{
	const gboolean both = group->what.impl[0] != '\0' && group->what.variant[0] != '\0';

	return g_strconcat(group->what.impl, both ? " " : "", group->what.variant, NULL);
}
