#include "config.h"

#include "base/hash.h"
#include "measure/trace-group.h"

#include <string.h>

static void group_free(gpointer data)
{
	PipesimTraceGroup *group = data;

	g_free(group->impl);
	g_array_unref(group->service);
	g_array_unref(group->busy);
	g_array_unref(group->move);
	g_array_unref(group->wait);
	g_array_unref(group->rows);
	g_array_unref(group->origin);
	g_array_unref(group->fit_rows);
	g_array_unref(group->fit_service);
	g_free(group);
}

static gboolean is_p2p(const PipesimTraceRow *row)
{
	return g_str_equal(row->component, "p2p");
}

/* Which layer a row is of does not matter; which chunk does where the row is a chunk. */
static const char *chunk_of(const PipesimTraceRow *row)
{
	return g_str_equal(row->component, "chunk") ? row->chunk : "";
}

static PipesimTraceGroup *group_new(const PipesimTraceRow *row)
{
	PipesimTraceGroup *group = g_new0(PipesimTraceGroup, 1);

	group->component = row->component;
	group->chunk = chunk_of(row);
	group->load_mode = row->load_mode;
	group->sm_mode = row->sm_mode;
	group->impl =
		g_strjoin(row->ld_mode[0] != '\0' ? "/" : "", row->impl, row->ld_mode, NULL);
	group->variant = row->variant;
	group->phase = row->phase;
	group->role = row->role;
	group->in_pair = row->pair_id[0] != '\0' && row->role != PIPESIM_ROLE_PAIR;
	group->whole_chunk = row->whole_chunk;
	group->compute_sms = row->compute_sms;
	group->comm_sms = row->comm_sms;
	group->tokens = row->tokens;
	group->payload_bytes = is_p2p(row) ? row->payload_bytes : PIPESIM_UNKNOWN;
	group->service = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->busy = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->move = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->wait = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->rows = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->origin = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->fit_rows = g_array_new(FALSE, FALSE, sizeof(gint64));
	group->fit_service = g_array_new(FALSE, FALSE, sizeof(gint64));
	return group;
}

static void print_key(const PipesimTraceRow *row, GString *key)
{
	g_string_printf(key, "%s\n%u\n%u\n%s\n%s\n%s\n%s\n%s\n%s\n%d%d\n", row->component,
		row->phase, row->role, row->impl, row->ld_mode, row->variant, row->load_mode,
		row->sm_mode, chunk_of(row), row->pair_id[0] != '\0', row->whole_chunk);
	g_string_append_printf(key,
		"%" G_GINT64_FORMAT "\n%" G_GINT64_FORMAT "\n%" G_GINT64_FORMAT
		"\n%" G_GINT64_FORMAT,
		row->compute_sms, row->comm_sms, row->tokens,
		is_p2p(row) ? row->payload_bytes : PIPESIM_UNKNOWN);
}

static void add_row(PipesimTraceGroup *group, const PipesimTraceRow *row, guint trace)
{
	/* Ranks of different traces are different; a rank fits into 31 bits or is as good as
	 * another. */
	const gint64 origin = ((gint64)trace << 32) | (row->rank & G_MAXINT32);
	/* A pair holds its rank from start to end, gaps and all. */
	const gint64 service = row->role == PIPESIM_ROLE_PAIR
				       ? row->duration
				       : MAX(0, row->busy - MAX(0, row->wait));

	g_array_append_val(group->service, service);
	g_array_append_val(group->busy, row->busy);
	g_array_append_val(group->move, row->move);
	g_array_append_val(group->wait, row->wait);
	g_array_append_val(group->rows, row->rows);
	g_array_append_val(group->origin, origin);
	if (row->rows < 0)
		return;
	g_array_append_val(group->fit_rows, row->rows);
	g_array_append_val(group->fit_service, service);
}

/* How often one rank of one trace met one number of rows. */
typedef struct {
	gint64 origin, rows;
	guint count;
} Repeated;

/* Which number of rows one rank of one trace met most often. */
typedef struct {
	gint64 origin, rows;
	guint numbers, most, least;
} Nominal;

static guint repeated_hash(gconstpointer data)
{
	const Repeated *repeated = data;

	return g_int64_hash(&repeated->origin) * 31 + g_int64_hash(&repeated->rows);
}

static gboolean repeated_equal(gconstpointer a, gconstpointer b)
{
	const Repeated *one = a, *other = b;

	return one->origin == other->origin && one->rows == other->rows;
}

static GHashTable *count_rows(const PipesimTraceGroup *group)
{
	GHashTable *counts = g_hash_table_new_full(repeated_hash, repeated_equal, NULL, g_free);

	for (guint i = 0; i < group->rows->len; i++) {
		const Repeated key = {g_array_index(group->origin, gint64, i),
			g_array_index(group->rows, gint64, i), 0};
		Repeated *found = g_hash_table_lookup(counts, &key);

		if (found == NULL) {
			found = g_memdup2(&key, sizeof key);
			g_hash_table_add(counts, found);
		}
		found->count++;
	}
	return counts;
}

static void weigh(GHashTable *nominals, const Repeated *repeated)
{
	Nominal *nominal = g_hash_table_lookup(nominals, &repeated->origin);

	if (nominal == NULL) {
		nominal = g_new0(Nominal, 1);
		nominal->origin = repeated->origin;
		nominal->least = G_MAXUINT;
		g_hash_table_insert(nominals, &nominal->origin, nominal);
	}
	nominal->numbers++;
	nominal->least = MIN(nominal->least, repeated->count);
	/* The larger of two that are as frequent, whatever the order of the table. */
	if (repeated->count > nominal->most ||
		(repeated->count == nominal->most && repeated->rows > nominal->rows))
		nominal->rows = repeated->rows;
	nominal->most = MAX(nominal->most, repeated->count);
}

/* Of each rank of each trace, whose shares of a batch differ: its own most frequent number of
 * rows; all of them where they do not differ or differ by chance. */
static void keep_nominal(PipesimTraceGroup *group)
{
	GArray *const all[] = {group->service, group->busy, group->move, group->wait,
		group->rows, group->origin};
	g_autoptr(GHashTable) counts = count_rows(group);
	g_autoptr(GHashTable) nominals =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, g_free);
	GHashTableIter iter;
	gpointer key;
	guint kept = 0;

	g_hash_table_iter_init(&iter, counts);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		weigh(nominals, key);
	for (guint i = 0; i < group->rows->len; i++) {
		const Nominal *nominal =
			g_hash_table_lookup(nominals, &g_array_index(group->origin, gint64, i));

		if (nominal->numbers > 1 && nominal->least >= PIPESIM_ROWS_REPEATED &&
			g_array_index(group->rows, gint64, i) != nominal->rows)
			continue;
		for (guint a = 0; a < G_N_ELEMENTS(all); a++)
			g_array_index(all[a], gint64, kept) = g_array_index(all[a], gint64, i);
		kept++;
	}
	for (guint a = 0; a < G_N_ELEMENTS(all); a++)
		g_array_set_size(all[a], kept);
}

/* The same within one trace, whose equal texts are one pointer. */
typedef struct {
	const char *texts[7];
	gint64 numbers[4];
	guint8 phase, role, in_pair, whole_chunk;
} Key;

static void key_init(Key *key, const PipesimTraceRow *row)
{
	memset(key, 0, sizeof *key); /* padding is compared too */
	key->texts[0] = row->component;
	key->texts[1] = row->impl;
	key->texts[2] = row->ld_mode;
	key->texts[3] = row->variant;
	key->texts[4] = row->load_mode;
	key->texts[5] = row->sm_mode;
	key->texts[6] = chunk_of(row);
	key->numbers[0] = row->compute_sms;
	key->numbers[1] = row->comm_sms;
	key->numbers[2] = row->tokens;
	key->numbers[3] = is_p2p(row) ? row->payload_bytes : PIPESIM_UNKNOWN;
	key->phase = row->phase;
	key->role = row->role;
	key->in_pair = row->pair_id[0] != '\0';
	key->whole_chunk = row->whole_chunk != FALSE;
}

static guint key_hash(gconstpointer data)
{
	return pipesim_hash_bytes(data, sizeof(Key));
}

static gboolean key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(Key)) == 0;
}

typedef struct {
	GPtrArray *groups;
	GHashTable *found; /* text of the key -> group, over all traces */
	GHashTable *here;  /* Key -> group, of one trace */
	GString *text;
	guint *dropped;
	guint trace; /* number of the one that is read */
} Grouping;

static PipesimTraceGroup *find_anywhere(Grouping *grouping, const PipesimTraceRow *row)
{
	PipesimTraceGroup *group;

	print_key(row, grouping->text);
	group = g_hash_table_lookup(grouping->found, grouping->text->str);
	if (group == NULL) {
		group = group_new(row);
		g_ptr_array_add(grouping->groups, group);
		g_hash_table_insert(grouping->found, g_strdup(grouping->text->str), group);
	}
	return group;
}

static PipesimTraceGroup *find_group(Grouping *grouping, const PipesimTraceRow *row)
{
	PipesimTraceGroup *group;
	Key key;

	key_init(&key, row);
	group = g_hash_table_lookup(grouping->here, &key);
	if (group == NULL) {
		group = find_anywhere(grouping, row);
		g_hash_table_insert(grouping->here, g_memdup2(&key, sizeof key), group);
	}
	return group;
}

static void place_row(Grouping *grouping, const PipesimTraceRow *row)
{
	if (row->part[0] != '\0' || row->phase == PIPESIM_PHASE_RECOMPUTE) {
		grouping->dropped[PIPESIM_STATUS_OK]++;
		return;
	}
	PipesimTraceGroup *group = find_group(grouping, row);
	if (row->status == PIPESIM_STATUS_OK) {
		add_row(group, row, grouping->trace);
	} else {
		group->dropped++;
		grouping->dropped[row->status]++;
	}
}

static void place_trace(Grouping *grouping, const PipesimTrace *trace)
{
	g_hash_table_remove_all(grouping->here);
	for (guint i = 0; i < trace->rows->len; i++)
		place_row(grouping, &g_array_index(trace->rows, PipesimTraceRow, i));
}

/* A file that tells only mean and sd: every quantile is the mean, for want of a better one. */
static PipesimTraceGroup *group_of_summary(const PipesimTraceSummary *summary)
{
	PipesimTraceRow row;

	pipesim_trace_row_init(&row);
	row.component = summary->component;
	row.phase = summary->phase;
	PipesimTraceGroup *group = group_new(&row);
	pipesim_distribution_init(&group->figures, &summary->mean, 1);
	group->figures.samples = summary->samples;
	group->figures.sd = summary->sd;
	group->measured = TRUE;
	return group;
}

static void add_summaries(GPtrArray *groups, const PipesimTrace *trace)
{
	for (guint i = 0; i < trace->summaries->len; i++)
		g_ptr_array_add(groups, group_of_summary(&g_array_index(
						trace->summaries, PipesimTraceSummary, i)));
}

static void measure(PipesimTraceGroup *group)
{
	const gint64 *service = (const gint64 *)(gpointer)group->service->data;
	const guint n = group->service->len;

	pipesim_distribution_init(&group->figures, service, n);
	group->figures.lag1 = n > 2 ? pipesim_lag1_within(service,
					      (const gint64 *)(gpointer)group->origin->data, n)
				    : 0;
}

GPtrArray *pipesim_trace_groups(
	PipesimTrace *const *traces, guint n, guint dropped[PIPESIM_N_STATUS])
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(group_free);
	g_autoptr(GHashTable) found =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GHashTable) here = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	g_autoptr(GString) text = g_string_new(NULL);
	Grouping grouping = {groups, found, here, text, dropped, 0};

	for (guint status = 0; status < PIPESIM_N_STATUS; status++)
		dropped[status] = 0;
	for (guint t = 0; t < n; t++) {
		grouping.trace = t;
		place_trace(&grouping, traces[t]);
	}
	for (guint i = 0; i < groups->len; i++) {
		PipesimTraceGroup *group = g_ptr_array_index(groups, i);
		keep_nominal(group);
		group->measured = group->service->len > 0;
		if (group->measured)
			measure(group);
	}
	for (guint t = 0; t < n; t++)
		add_summaries(groups, traces[t]);
	return groups;
}

char *pipesim_trace_group_label(const PipesimTraceGroup *group)
{
	const gboolean both = group->impl[0] != '\0' && group->variant[0] != '\0';

	return g_strconcat(group->impl, both ? " " : "", group->variant, NULL);
}
