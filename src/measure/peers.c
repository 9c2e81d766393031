#include "measure/peers.h"

/* Fewer of a kind do not tell what is usual. */
#define LEAST_USUAL 4

/* A collective, and which one of its kind, group and trace. */
typedef struct {
	PipesimTraceCollective *of;
	guint32 kind, trace, number;
} Seen;

PIPESIM_COMPARE(compare_kinds, Seen,
	pipesim_by(kind) ?: pipesim_by(number) ?: pipesim_by(trace))

PIPESIM_COMPARE(compare_starts, PipesimTraceCollective, pipesim_by(start))

/* All of them, by kind and then by number. */
static GArray *list(PipesimTrace *const *traces, guint n)
{
	g_autoptr(GHashTable) kinds =
		g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GArray *all = g_array_new(FALSE, FALSE, sizeof(Seen));

	for (guint t = 0; t < n; t++) {
		g_autoptr(GArray) counts = g_array_new(FALSE, TRUE, sizeof(guint32));

		g_array_sort(traces[t]->collectives, compare_starts);
		pipesim_each (PipesimTraceCollective, of, traces[t]->collectives) {
			/* Without its group it may be of any: each rank by itself. */
			g_autofree char *key =
				of->group[0] != '\0'
					? g_strconcat(of->name, "\n", of->group, NULL)
					: g_strdup_printf("%s\n%u", of->name, t);
			guint kind = GPOINTER_TO_UINT(g_hash_table_lookup(kinds, key));

			if (kind == 0) {
				kind = g_hash_table_size(kinds) + 1;
				g_hash_table_insert(
					kinds, g_steal_pointer(&key), GUINT_TO_POINTER(kind));
			}
			if (kind >= counts->len)
				g_array_set_size(counts, kind + 1);
			g_array_append_val(all,
				((Seen){of, kind, t, g_array_index(counts, guint32, kind)++}));
		}
	}
	g_array_sort(all, compare_kinds);
	return all;
}

static void set_wait(Seen *seen, gint64 usual, const PipesimTrace *late)
{
	seen->of->wait = CLAMP(seen->of->duration - usual, 0, seen->of->alone);
	seen->of->late = late;
}

/* From @first to before @end, of one kind, which several ranks took part in: the number @of_each is the same on all. */
static void compare_ranks(PipesimTrace *const *traces, Seen *first, const Seen *end)
{
	while (first < end) {
		const Seen *least = first;
		Seen *next = first;

		for (; next < end && next->number == first->number; next++)
			if (next->of->duration < least->of->duration)
				least = next;
		for (; first < next; first++)
			set_wait(first, least->of->duration,
				first == least ? NULL : traces[least->trace]);
	}
}

static void compare_usual(Seen *first, const Seen *end)
{
	g_autoptr(GArray) durations = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (const Seen *seen = first; seen < end; seen++)
		g_array_append_val(durations, seen->of->duration);
	g_array_sort(durations, pipesim_compare_int64);
	for (Seen *seen = first; seen < end && durations->len >= LEAST_USUAL; seen++)
		set_wait(seen, g_array_index(durations, gint64, durations->len / 2), NULL);
}

/* The op in which @start lies; NULL: in none. @rows: ops by start */
static PipesimTraceRow *op_of(const GPtrArray *rows, gint64 start)
{
	guint i;

	pipesim_skip(i, rows->len, ((PipesimTraceRow *)rows->pdata[i])->start <= start);
	PipesimTraceRow *row = i > 0 ? rows->pdata[i - 1] : NULL;
	return row != NULL && start < row->start + row->duration ? row : NULL;
}

PIPESIM_COMPARE_OF(compare_rows, PipesimTraceRow, pipesim_by(start))

/* The ops of @trace by start; for g_ptr_array_unref(). */
static GPtrArray *list_ops(const PipesimTrace *trace)
{
	GPtrArray *rows = g_ptr_array_new();

	pipesim_each (PipesimTraceRow, row, trace->rows)
		if (pipesim_row_is_op(row) && row->start != PIPESIM_UNKNOWN &&
			row->duration > 0)
			g_ptr_array_add(rows, row);
	g_ptr_array_sort(rows, compare_rows);
	return rows;
}

void pipesim_peers_name(PipesimTrace *trace)
{
	g_autoptr(GPtrArray) rows = list_ops(trace);

	pipesim_each (PipesimTraceSpan, span, trace->spans) {
		PipesimTraceRow *row = span->wait > 0 ? op_of(rows, span->start) : NULL;

		if (row == NULL)
			continue;
		row->peers = MIN(row->peers + span->wait, row->duration);
		span->wait = 0;
	}
}

/* Of @trace, whose spans a profile has by start, what stands beside its ops as @collective; NULL: nothing does. */
static PipesimTraceSpan *span_of(
	const PipesimTrace *trace, const PipesimTraceCollective *collective)
{
	guint i;

	pipesim_skip(i, trace->spans->len,
		g_array_index(trace->spans, PipesimTraceSpan, i).start < collective->start);
	for (; i < trace->spans->len; i++) {
		PipesimTraceSpan *span = &g_array_index(trace->spans, PipesimTraceSpan, i);

		if (span->start > collective->start)
			break;
		if (span->duration == collective->duration)
			return span;
	}
	return NULL;
}

/* What the ops of @trace and the collectives behind them lost, and for whom it waited most. */
static void charge(PipesimTrace *trace)
{
	g_autoptr(GPtrArray) rows = list_ops(trace);
	g_autoptr(GHashTable) waits = g_hash_table_new(NULL, NULL); /* trace -> us */

	pipesim_each (const PipesimTraceCollective, of, trace->collectives) {
		PipesimTraceRow *row = of->wait > 0 ? op_of(rows, of->start) : NULL;
		PipesimTraceSpan *span =
			of->wait > 0 && row == NULL ? span_of(trace, of) : NULL;

		if (row != NULL)
			row->peers = MIN(row->peers + of->wait, row->duration);
		else if (span != NULL)
			span->wait = of->wait;
		else
			continue;
		gsize sum = GPOINTER_TO_SIZE(g_hash_table_lookup(waits, of->late)) +
			    (gsize)of->wait;
		g_hash_table_insert(waits, (gpointer)of->late, GSIZE_TO_POINTER(sum));
		if ((gint64)sum > trace->late_ns) {
			trace->late_ns = (gint64)sum;
			trace->late = of->late;
			trace->late_group = of->group;
		}
	}
	g_array_set_size(trace->collectives, 0);
}

void pipesim_peers_measure(PipesimTrace *const *traces, guint n)
{
	g_autoptr(GArray) all = list(traces, n);
	Seen *seen = (Seen *)all->data;

	for (guint begin = 0, end; begin < all->len; begin = end) {
		guint ranks = 0, last = 0;

		for (end = begin; end < all->len && seen[end].kind == seen[begin].kind; end++) {
			ranks += seen[end].number == 0;
			last = MAX(last, seen[end].number);
		}
		/* Files of other steps are of other collectives. */
		if (ranks > 1 && end - begin == ranks * (last + 1))
			compare_ranks(traces, &seen[begin], &seen[end]);
		else
			compare_usual(&seen[begin], &seen[end]);
	}
	for (guint t = 0; t < n; t++)
		charge(traces[t]);
}
