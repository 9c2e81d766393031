#include "config.h"

#include "measure/group.h"

#include <string.h>

static void group_free(gpointer data)
{
	PipesimTraceGroup *group = data;

	g_array_unref(group->repetitions);
	g_free(group);
}

static PipesimRepetition *repetition_at(const GArray *repetitions, guint i)
{
	return &g_array_index(repetitions, PipesimRepetition, i);
}

/* Which number of rows one rank of one trace met most often. */
typedef struct {
	gint64 origin, rows;
	guint numbers, most, least;
} Nominal;

static gint compare_repeated(gconstpointer a, gconstpointer b)
{
	const PipesimRepetition *x = a, *y = b;

	if (x->origin != y->origin)
		return x->origin < y->origin ? -1 : 1;
	return (x->rows > y->rows) - (x->rows < y->rows);
}

static gint compare_origins(gconstpointer a, gconstpointer b)
{
	const Nominal *x = a, *y = b;

	return (x->origin > y->origin) - (x->origin < y->origin);
}

/* Of each rank of each trace, whose shares of a batch differ: its own most frequent number of
 * rows; all of them where they do not differ or differ by chance. */
static void keep_nominal(PipesimTraceGroup *group)
{
	g_autoptr(GArray) nominals = g_array_new(FALSE, FALSE, sizeof(Nominal));
	g_autoptr(GArray) sorted = g_array_copy(group->repetitions);
	Nominal *last = NULL;
	guint end;

	/* By origin, in its order: each run of repetitions that met as many rows. */
	g_array_sort(sorted, compare_repeated);
	for (guint i = 0; i < sorted->len; i = end) {
		const PipesimRepetition *first = repetition_at(sorted, i);
		const Nominal blank = {.origin = first->origin, .least = G_MAXUINT};

		for (end = i + 1; end < sorted->len; end++)
			if (compare_repeated(first, repetition_at(sorted, end)) != 0)
				break;
		if (last == NULL || last->origin != first->origin)
			g_array_append_val(nominals, blank);
		last = &g_array_index(nominals, Nominal, nominals->len - 1);
		last->numbers++;
		last->least = MIN(last->least, end - i);
		/* The larger of two that are as frequent. */
		if (end - i >= last->most)
			last->rows = first->rows;
		last->most = MAX(last->most, end - i);
	}
	for (guint i = 0; i < group->repetitions->len; i++) {
		PipesimRepetition *repetition = repetition_at(group->repetitions, i);
		const Nominal key = {.origin = repetition->origin};
		guint at = 0;

		g_array_binary_search(nominals, &key, compare_origins, &at);
		const Nominal *nominal = &g_array_index(nominals, Nominal, at);
		repetition->kept = nominal->numbers == 1 ||
				   nominal->least < PIPESIM_ROWS_REPEATED ||
				   repetition->rows == nominal->rows;
	}
}

static guint key_hash(gconstpointer data)
{
	const PipesimMeasured *key = data;
	guint hash = g_str_hash(key->component) + key->phase + 8u * key->role;

	/* What tells most groups of a component apart. */
	hash = hash * 31 + g_str_hash(key->impl);
	hash = hash * 31 + (guint)(key->compute_sms + 1024 * key->comm_sms + key->tokens);
	return hash * 31 + g_int64_hash(&key->payload_bytes) + g_str_hash(key->variant);
}

static gboolean same_text(const char *a, const char *b)
{
	return a == b || strcmp(a, b) == 0;
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	const PipesimMeasured *x = a, *y = b;

	return same_text(x->component, y->component) && same_text(x->chunk, y->chunk) &&
	       same_text(x->impl, y->impl) && same_text(x->variant, y->variant) &&
	       same_text(x->load_mode, y->load_mode) && same_text(x->sm_mode, y->sm_mode) &&
	       x->compute_sms == y->compute_sms && x->comm_sms == y->comm_sms &&
	       x->tokens == y->tokens && x->payload_bytes == y->payload_bytes &&
	       x->phase == y->phase && x->role == y->role && x->whole_chunk == y->whole_chunk &&
	       x->in_pair == y->in_pair;
}

static void place_row(GPtrArray *groups, GHashTable *found, const PipesimTraceRow *row,
	guint trace, guint *dropped)
{
	PipesimMeasured key = row->what; /* what makes rows repetitions of each other */
	PipesimTraceGroup *group;

	if (!g_str_equal(key.component, "chunk"))
		key.chunk = "";
	if (!g_str_equal(key.component, "p2p"))
		key.payload_bytes = PIPESIM_UNKNOWN;
	if (row->part || key.phase == PIPESIM_PHASE_RECOMPUTE) {
		dropped[PIPESIM_STATUS_OK]++;
		return;
	}
	group = g_hash_table_lookup(found, &key);
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
		/* A pair holds its rank from start to end, gaps and all. */
		.service = row->what.role == PIPESIM_ROLE_PAIR
				   ? row->duration
				   : MAX(0, row->busy - MAX(0, row->wait)),
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
	for (guint i = 0; i < group->repetitions->len; i++) {
		const PipesimRepetition *repetition = repetition_at(group->repetitions, i);
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

	for (guint status = 0; status < PIPESIM_N_STATUS; status++)
		dropped[status] = 0;
	for (guint t = 0; t < n; t++)
		for (guint i = 0; i < traces[t]->rows->len; i++)
			place_row(groups, found,
				&g_array_index(traces[t]->rows, PipesimTraceRow, i), t,
				dropped);
	for (guint i = 0; i < groups->len; i++)
		measure(g_ptr_array_index(groups, i));
	return groups;
}

GPtrArray *pipesim_trace_groups_list(const GPtrArray *groups,
	gboolean (*wanted)(const PipesimTraceGroup *group, gconstpointer data),
	gconstpointer data)
{
	GPtrArray *list = g_ptr_array_new();

	for (guint i = 0; i < groups->len; i++) {
		PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		if (group->measured && wanted(group, data))
			g_ptr_array_add(list, group);
	}
	return list;
}

char *pipesim_trace_group_label(const PipesimTraceGroup *group)
{
	const gboolean both = group->what.impl[0] != '\0' && group->what.variant[0] != '\0';

	return g_strconcat(group->what.impl, both ? " " : "", group->what.variant, NULL);
}
