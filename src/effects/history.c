#include "effects/history.h"
#include "measure/group.h"

/* What two rows of one stream may overlap by: the resolution of events. */
#define MOST_OVERLAP_NS 20000
/* How long a run's state depends on what nobody knows: what was before it. */
#define UNKNOWN_NS G_GINT64_CONSTANT(300000000)
/* Ops of the same sort on either side that say what one takes, and the part that it may be off: more than what
 * rest makes an op faster. Twice or half of it moves no step of docs/accuracy.md by 0.1 %. */
#define NEIGHBOURS 4
#define OUTLIER    4

typedef struct {
	const PipesimTraceRow *row;
	guint32 trace, sort;
} Place;

PIPESIM_FREES(PipesimHistories, pipesim_histories_free, histories)
{
	g_array_unref(histories->sorts);
	g_array_unref(histories->ops);
	g_array_unref(histories->runs);
	g_free(histories);
}

static gint compare_runs(const Place *a, const Place *b)
{
	return pipesim_compare(a->trace, b->trace) ?:
		pipesim_compare(a->row->rank, b->row->rank) ?:
		strcmp(a->row->run_id, b->row->run_id);
}

/* By run, then by time. */
PIPESIM_COMPARE(
	compare_places, Place, compare_runs(x, y) ?: pipesim_by(row->start) ?: pipesim_by(row))

static guint sort_hash(gconstpointer data)
{
	const PipesimHistorySort *sort = data;

	return g_str_hash(sort->what.component) + 31 * g_str_hash(sort->what.chunk) +
	       7 * sort->what.phase + 1009 * (guint)sort->rank + 65537 * sort->trace;
}

static gboolean sort_equal(gconstpointer a, gconstpointer b)
{
	const PipesimHistorySort *x = a, *y = b;

	return x->trace == y->trace && x->rank == y->rank && x->what.phase == y->what.phase &&
	       x->what.tokens == y->what.tokens &&
	       g_str_equal(x->what.component, y->what.component) &&
	       g_str_equal(x->what.chunk, y->what.chunk) &&
	       g_str_equal(x->what.impl, y->what.impl) &&
	       g_str_equal(x->what.variant, y->what.variant);
}

/* The rows in the order of runs and time, each with its sort. */
static GArray *list_places(PipesimHistories *histories, PipesimTrace *const *traces, guint n)
{
	GArray *places = g_array_new(FALSE, FALSE, sizeof(Place));
	g_autoptr(GHashTable) found = /* PipesimHistorySort -> its number and 1 */
		g_hash_table_new_full(sort_hash, sort_equal, g_free, NULL);

	for (guint t = 0; t < n; t++)
		pipesim_each (const PipesimTraceRow, row, traces[t]->rows) {
			PipesimHistorySort sort = {
				.what = row->what, .rank = row->rank, .trace = t};

			if ((row->what.series != PIPESIM_SERIES_GOVERNOR &&
				    row->what.series != PIPESIM_SERIES_WAITING) ||
				row->part)
				continue;
			if (!g_str_equal(sort.what.component, "chunk"))
				sort.what.chunk = "";
			sort.waits =
				g_str_equal(sort.what.component, PIPESIM_RECEIVE_COMPONENT);
			guint at = GPOINTER_TO_UINT(g_hash_table_lookup(found, &sort));
			if (at == 0) {
				g_array_append_val(histories->sorts, sort);
				at = histories->sorts->len;
				g_hash_table_insert(found, g_memdup2(&sort, sizeof sort),
					GUINT_TO_POINTER(at));
			}
			g_array_append_val(places, ((Place){row, t, at - 1}));
		}
	g_array_sort(places, compare_places);
	return places;
}

static PipesimHistoryOp *op_at(const PipesimHistories *histories, guint i)
{
	return &g_array_index(histories->ops, PipesimHistoryOp, i);
}

/* Appends one run of @places, @end not among them. */
static gboolean add_run(PipesimHistories *histories, const GArray *places, guint begin,
	guint end, const char *path, GError **error)
{
	const gint64 origin = g_array_index(places, Place, begin).row->start;
	PipesimHistory run = {.begin = histories->ops->len};
	gint64 until = 0; /* from the origin on */

	for (guint i = begin; i < end; i++) {
		const Place *place = &g_array_index(places, Place, i);
		const PipesimTraceRow *row = place->row;
		const PipesimHistorySort *sort =
			&g_array_index(histories->sorts, PipesimHistorySort, place->sort);
		const gint64 start = row->start - origin, gap = start - until;
		PipesimHistoryOp op = {
			.gap = MAX(gap, 0),
			.waited = row->what.series == PIPESIM_SERIES_WAITING,
			.duration = row->duration,
			.clock = row->clock,
			.power = row->power,
			.sort = place->sort,
		};

		if (gap < -MOST_OVERLAP_NS)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: in the governor series '%s' rep %" G_GINT64_FORMAT
				" begins %" G_GINT64_FORMAT
				" ns before the op before it ends; a history is of one stream",
				path, row->run_id, row->rep, -gap);
		if (start > PIPESIM_MAX_TIME_NS - row->duration)
			return pipesim_fail(error, PIPESIM_ERROR_PARSE,
				"%s: the governor series '%s' lasts longer than "
				"%" G_GINT64_FORMAT " ns",
				path, row->run_id, PIPESIM_MAX_TIME_NS);
		const gboolean first = i == begin || op.gap > PIPESIM_BURST_GAP_NS;

		histories->bursts += first;
		op.burst = histories->bursts - 1;
		op.fitted = row->status == PIPESIM_STATUS_OK && !sort->waits && !first &&
			    start >= UNKNOWN_NS && row->duration > 0;
		histories->first_ops +=
			first && row->status == PIPESIM_STATUS_OK && !sort->waits;
		/* What waits draws something, but is no work. */
		run.busy += sort->waits ? 0 : row->duration;
		until = MAX(until, start + row->duration);
		g_array_append_val(histories->ops, op);
	}
	run.end = histories->ops->len;
	run.length = until;
	g_array_append_val(histories->runs, run);
	return TRUE;
}

static gint64 median_of(gint64 *values, guint n)
{
	qsort(values, n, sizeof *values, pipesim_compare_int64);
	return values[n / 2];
}

/* Ops of one sort, in order: those that are far from their neighbours are not fitted; then the median of
 * the rest. @index: of the ops that are fitted so far */
static void settle_sort(
	PipesimHistories *histories, PipesimHistorySort *sort, const GArray *index)
{
	const guint n = index->len;
	g_autofree gint64 *times = g_new(gint64, MAX(n, 2u * NEIGHBOURS + 1));
	g_autofree gboolean *outlier = g_new0(gboolean, n + (gsize)1);

	for (guint i = 0; i < n; i++) {
		const guint from = i > NEIGHBOURS ? i - NEIGHBOURS : 0;
		const guint to = MIN(i + NEIGHBOURS + 1, n);
		const gint64 own = op_at(histories, g_array_index(index, guint, i))->duration;

		for (guint k = from; k < to; k++)
			times[k - from] =
				op_at(histories, g_array_index(index, guint, k))->duration;
		gint64 usual = median_of(times, to - from);
		outlier[i] = ABS(own - usual) > usual / OUTLIER;
	}
	sort->n = 0;
	for (guint i = 0; i < n; i++) {
		PipesimHistoryOp *op = op_at(histories, g_array_index(index, guint, i));

		if (outlier[i]) {
			op->fitted = FALSE;
			histories->outliers++;
		} else {
			times[sort->n++] = op->duration;
		}
	}
	sort->median = sort->n > 0 ? median_of(times, sort->n) : 0;
}

/* See PipesimHistorySort.steady. */
static gint64 find_steady(const PipesimTrace *trace, const PipesimHistorySort *sort)
{
	g_autoptr(GArray) times = g_array_new(FALSE, FALSE, sizeof(gint64));

	pipesim_each (const PipesimTraceRow, row, trace->rows)
		if (row->what.series == PIPESIM_SERIES_NONE && pipesim_row_is_op(row) &&
			row->status == PIPESIM_STATUS_OK && row->duration > 0 && !row->part &&
			row->rank == sort->rank && row->what.stage == sort->what.stage &&
			row->what.phase == sort->what.phase &&
			g_str_equal(row->what.component, sort->what.component))
			g_array_append_val(times, row->duration);
	return (gint64)(pipesim_mean_of_usual(times) + 0.5);
}

PipesimHistories *pipesim_histories_new(PipesimTrace *const *traces, guint n, GError **error)
{
	g_autoptr(PipesimHistories) histories = g_new0(PipesimHistories, 1);
	g_autoptr(GPtrArray) index = /* of each sort, its ops that are fitted so far */
		g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
	guint end;

	histories->sorts = g_array_new(FALSE, FALSE, sizeof(PipesimHistorySort));
	histories->ops = g_array_new(FALSE, FALSE, sizeof(PipesimHistoryOp));
	histories->runs = g_array_new(FALSE, FALSE, sizeof(PipesimHistory));
	g_autoptr(GArray) places = list_places(histories, traces, n);
	for (guint i = 0; i < places->len; i = end) {
		const Place *first = &g_array_index(places, Place, i);

		for (end = i + 1; end < places->len; end++)
			if (compare_runs(first, &g_array_index(places, Place, end)) != 0)
				break;
		histories->ranks += i == 0 || first[-1].trace != first->trace ||
				    first[-1].row->rank != first->row->rank;
		if (!add_run(histories, places, i, end, traces[first->trace]->path, error))
			return NULL;
	}
	for (guint s = 0; s < histories->sorts->len; s++)
		g_ptr_array_add(index, g_array_new(FALSE, FALSE, sizeof(guint)));
	for (guint i = 0; i < histories->ops->len; i++)
		if (op_at(histories, i)->fitted)
			g_array_append_val(
				(GArray *)index->pdata[op_at(histories, i)->sort], i);
	for (guint s = 0; s < histories->sorts->len; s++) {
		PipesimHistorySort *sort =
			&g_array_index(histories->sorts, PipesimHistorySort, s);

		settle_sort(histories, sort, index->pdata[s]);
		if (sort->what.stage >= 0 && !sort->waits)
			sort->steady = find_steady(traces[sort->trace], sort);
	}
	return g_steal_pointer(&histories);
}
