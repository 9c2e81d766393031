#include "config.h"

#include "measure/trace-spans.h"

#include <stdlib.h>

void pipesim_trace_span_init(PipesimTraceRow *row, const PipesimRangeMeaning *meaning)
{
	pipesim_trace_row_init(row);
	row->component = meaning->component;
	row->chunk = meaning->chunk;
	row->phase = meaning->phase;
	row->role = meaning->role;
	row->rep = meaning->rep;
	row->whole_chunk = g_str_equal(meaning->component, "chunk");
}

/* Returns how often the most frequent component and phase occurs. */
static guint number_rows(PipesimTrace *trace)
{
	g_autoptr(GHashTable) found =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	const char *run_id = pipesim_trace_intern(trace, "profile", -1);
	guint most = 1;

	for (guint i = 0; i < trace->rows->len; i++) {
		PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, i);
		g_autofree char *key =
			g_strdup_printf("%s %u %s", row->component, row->phase, row->chunk);
		const guint count = GPOINTER_TO_UINT(g_hash_table_lookup(found, key));

		row->run_id = run_id;
		row->rank = pipesim_trace_get_count(trace, "rank");
		if (row->rep == PIPESIM_UNKNOWN)
			row->rep = count;
		g_hash_table_insert(found, g_steal_pointer(&key), GUINT_TO_POINTER(count + 1));
		most = MAX(most, count + 1);
	}
	return most;
}

/* When a component ran on the GPU. */
typedef struct {
	gint64 start;
	guint row;
} Ran;

static int compare_ran(const void *a, const void *b)
{
	const Ran *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (x->row > y->row) - (x->row < y->row);
}

static guint list_components(const PipesimTrace *trace, const gint64 *starts, Ran *ran)
{
	guint n = 0;

	for (guint i = 0; i < trace->rows->len; i++) {
		const PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, i);
		if (!row->whole_chunk && row->phase < PIPESIM_FB && starts[i] != PIPESIM_NEVER)
			ran[n++] = (Ran){starts[i], i};
	}
	if (n > 0)
		qsort(ran, n, sizeof *ran, compare_ran);
	return n;
}

/* Whether some forward runs at the same time as some backward. */
static gboolean shows_pair(const PipesimTrace *trace, const Ran *ran, guint n)
{
	gint64 end[2] = {G_MININT64, G_MININT64}; /* of forwards, of backwards */

	for (guint i = 0; i < n; i++) {
		const PipesimTraceRow *row =
			&g_array_index(trace->rows, PipesimTraceRow, ran[i].row);
		const guint backward = row->phase != PIPESIM_F;
		if (ran[i].start < end[!backward])
			return TRUE;
		end[backward] = MAX(end[backward], ran[i].start + row->duration);
	}
	return FALSE;
}

/* One row from the first start to the last end. */
static void add_pair(PipesimTrace *trace, const Ran *ran, guint n)
{
	const PipesimRangeMeaning meaning = {
		.component = pipesim_trace_intern(trace, "chunk", -1),
		.chunk = "",
		.phase = PIPESIM_FB,
		.role = PIPESIM_ROLE_PAIR,
		.rep = 0,
	};
	gint64 end = G_MININT64;
	PipesimTraceRow pair;

	pipesim_trace_span_init(&pair, &meaning);
	pair.run_id = pair.pair_id = pipesim_trace_intern(trace, "profile", -1);
	pair.rank = pipesim_trace_get_count(trace, "rank");
	for (guint i = 0; i < n; i++) {
		PipesimTraceRow *row = &g_array_index(trace->rows, PipesimTraceRow, ran[i].row);
		row->pair_id = pair.pair_id;
		end = MAX(end, ran[i].start + row->duration);
	}
	pair.duration = pair.busy = end - ran[0].start;
	g_array_append_val(trace->rows, pair);
}

void pipesim_trace_finish_spans(PipesimTrace *trace, const gint64 *starts)
{
	g_autofree Ran *ran = g_new(Ran, trace->rows->len);
	const guint n = list_components(trace, starts, ran);
	const guint layers = number_rows(trace);
	g_autofree char *text = g_strdup_printf("%u", layers);

	if (!shows_pair(trace, ran, n))
		return;
	add_pair(trace, ran, n);
	pipesim_trace_set(trace, "layers_per_chunk", text);
	pipesim_trace_note(trace,
		"%s: taken for one overlapped pair of chunks of %u layers, as each component "
		"occurs so often",
		trace->path, layers);
}
