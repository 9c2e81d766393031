#include "config.h"

#include "base/decimal.h"
#include "measure/trace.h"

#include <string.h>

static const char *const phase_names[PIPESIM_N_PHASES] = {
	[PIPESIM_F] = "F",
	[PIPESIM_I] = "I",
	[PIPESIM_W] = "W",
	[PIPESIM_B] = "B",
	[PIPESIM_FB] = "FB",
	[PIPESIM_PHASE_RECOMPUTE] = "RECOMP",
};

gint pipesim_phase_find(const char *name)
{
	for (gint i = 0; i < PIPESIM_N_PHASES; i++)
		if (g_str_equal(name, phase_names[i]))
			return i;
	return -1;
}

const char *pipesim_phase_name(guint phase)
{
	return phase_names[phase];
}

PipesimTrace *pipesim_trace_new(const char *path)
{
	PipesimTrace *trace = g_new0(PipesimTrace, 1);

	trace->path = g_strdup(path);
	trace->metadata = g_ptr_array_new();
	trace->rows = g_array_new(FALSE, FALSE, sizeof(PipesimTraceRow));
	trace->summaries = g_array_new(FALSE, FALSE, sizeof(PipesimTraceSummary));
	trace->notices = g_ptr_array_new_with_free_func(g_free);
	trace->strings = g_string_chunk_new(4096);
	return trace;
}

void pipesim_trace_free(PipesimTrace *trace)
{
	if (trace == NULL)
		return;
	g_free(trace->path);
	g_ptr_array_unref(trace->metadata);
	g_array_unref(trace->rows);
	g_array_unref(trace->summaries);
	g_ptr_array_unref(trace->notices);
	g_string_chunk_free(trace->strings);
	g_free(trace);
}

const char *pipesim_trace_intern(PipesimTrace *trace, const char *text, gssize length)
{
	if (length < 0)
		return g_string_chunk_insert_const(trace->strings, text);
	g_autofree char *copy = g_strndup(text, (gsize)length);
	return g_string_chunk_insert_const(trace->strings, copy);
}

void pipesim_trace_row_init(PipesimTraceRow *row)
{
	*row = (PipesimTraceRow){
		.run_id = "",
		.component = "",
		.impl = "",
		.ld_mode = "",
		.load_mode = "",
		.sm_mode = "",
		.part = "",
		.chunk = "",
		.layer = "",
		.pair_id = "",
		.variant = "",
		.rep = PIPESIM_UNKNOWN,
		.rank = PIPESIM_UNKNOWN,
		.duration = PIPESIM_UNKNOWN,
		.busy = PIPESIM_UNKNOWN,
		.move = PIPESIM_UNKNOWN,
		.wait = PIPESIM_UNKNOWN,
		.rows = PIPESIM_UNKNOWN,
		.tokens = PIPESIM_UNKNOWN,
		.payload_bytes = PIPESIM_UNKNOWN,
	};
}

void pipesim_trace_set(PipesimTrace *trace, const char *key, const char *value)
{
	gpointer kept = (gpointer)pipesim_trace_intern(trace, value, -1);

	for (guint i = 0; i < trace->metadata->len; i += 2)
		if (g_str_equal(g_ptr_array_index(trace->metadata, i), key)) {
			trace->metadata->pdata[i + 1] = kept;
			return;
		}
	g_ptr_array_add(trace->metadata, (gpointer)pipesim_trace_intern(trace, key, -1));
	g_ptr_array_add(trace->metadata, kept);
}

const char *pipesim_trace_get(const PipesimTrace *trace, const char *key)
{
	for (guint i = 0; i < trace->metadata->len; i += 2)
		if (g_str_equal(g_ptr_array_index(trace->metadata, i), key))
			return g_ptr_array_index(trace->metadata, i + 1);
	return NULL;
}

gint64 pipesim_trace_get_count(const PipesimTrace *trace, const char *key)
{
	const char *text = pipesim_trace_get(trace, key);
	gint64 value;

	if (text == NULL || pipesim_decimal_parse(text, strlen(text), 0, &value) != NULL)
		return PIPESIM_UNKNOWN;
	return MAX(value, PIPESIM_UNKNOWN);
}

void pipesim_trace_note(PipesimTrace *trace, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(trace->notices, g_strdup_vprintf(format, args));
	va_end(args);
}

/* How the chip was shared, and how communication was slowed. */
typedef struct {
	gint64 compute, comm;
	const char *pace; /* "pace_gbps=40", or NULL */
} Split;

static Split *find_split(GHashTable *splits, const PipesimTraceRow *row)
{
	g_autofree char *key = g_strdup_printf("%.*s\n%" G_GINT64_FORMAT "\n%s",
		(int)strcspn(row->run_id, "/"), row->run_id, row->rank, row->pair_id);
	Split *split = g_hash_table_lookup(splits, key);

	if (split == NULL) {
		split = g_new0(Split, 1);
		g_hash_table_insert(splits, g_steal_pointer(&key), split);
	}
	return split;
}

void pipesim_trace_join_pairs(PipesimTrace *trace)
{
	g_autoptr(GHashTable) splits =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	PipesimTraceRow *rows = (PipesimTraceRow *)(gpointer)trace->rows->data;
	const guint n = trace->rows->len;

	for (guint i = 0; i < n; i++) {
		if (rows[i].pair_id[0] == '\0')
			continue;
		Split *split = find_split(splits, &rows[i]);
		if (rows[i].role == PIPESIM_ROLE_COMPUTE && rows[i].compute_sms > 0)
			split->compute = rows[i].compute_sms;
		if (rows[i].role == PIPESIM_ROLE_COMM && rows[i].comm_sms > 0)
			split->comm = rows[i].comm_sms;
		const char *pace = strstr(rows[i].variant, "pace_gbps=");
		if (pace != NULL && split->pace == NULL)
			split->pace =
				pipesim_trace_intern(trace, pace, (gssize)strcspn(pace, " "));
	}
	for (guint i = 0; i < n; i++) {
		if (rows[i].pair_id[0] == '\0')
			continue;
		const Split *split = find_split(splits, &rows[i]);
		if (split->compute > 0)
			rows[i].compute_sms = split->compute;
		if (split->comm > 0)
			rows[i].comm_sms = split->comm;
		if (split->pace != NULL && rows[i].variant[0] == '\0')
			rows[i].variant = split->pace;
	}
}
