#include "effects/fit-contention.h"

/* Repetitions of one op on one rank beside one thing, or alone. */
typedef struct {
	PipesimContentionPart beside; /* what it is of and beside what */
	gboolean alone;
	gboolean sustained; /* of no series: what the costs' times of a stage are made of */
	guint trace;
	gint64 rank;
	const char *chunk;
	GArray *times; /* of gint64, ns */
	gint64 median;
} Cell;

PIPESIM_DESTROYS(Cell, cell_free, cell)
{
	g_array_unref(cell->times);
	g_free(cell);
}

static gboolean is_same_thing(const PipesimContentionPart *a, const PipesimContentionPart *b)
{
	return a->moving == b->moving && a->sms == b->sms && a->bytes == b->bytes &&
	       g_str_equal(a->impl, b->impl);
}

static guint part_hash(gconstpointer data)
{
	const PipesimContentionPart *part = data;

	return g_str_hash(part->component) + 7 * part->phase + 131 * (guint)part->sms +
	       (guint)part->bytes + 5 * part->moving + 31 * g_str_hash(part->impl);
}

static gboolean part_equal(gconstpointer a, gconstpointer b)
{
	const PipesimContentionPart *x = a, *y = b;

	return x->phase == y->phase && is_same_thing(x, y) &&
	       g_str_equal(x->component, y->component);
}

/* Alone is alone, whatever the row says besides. */
static guint cell_hash(gconstpointer data)
{
	const Cell *cell = data;
	const guint op = g_str_hash(cell->beside.component) + 31 * g_str_hash(cell->chunk) +
			 7 * cell->beside.phase + 1009 * (guint)cell->rank +
			 65537 * cell->trace + 5 * cell->beside.moving + 17 * cell->sustained;

	return cell->alone ? op : op + 3 + 131 * part_hash(&cell->beside);
}

static gboolean cell_equal(gconstpointer a, gconstpointer b)
{
	const Cell *x = a, *y = b;

	return x->alone == y->alone && x->trace == y->trace && x->rank == y->rank &&
	       x->sustained == y->sustained && x->beside.phase == y->beside.phase &&
	       x->beside.moving == y->beside.moving &&
	       g_str_equal(x->beside.component, y->beside.component) &&
	       g_str_equal(x->chunk, y->chunk) &&
	       (x->alone || is_same_thing(&x->beside, &y->beside));
}

/* What @row, of series resident or moving or an op of a stage, is a repetition of. */
static Cell describe(const PipesimTraceRow *row, guint trace)
{
	const gboolean moving = row->what.series == PIPESIM_SERIES_MOVING;
	const gboolean sustained = row->what.series == PIPESIM_SERIES_NONE;

	return (Cell){
		.beside = {.component = row->what.component,
			.phase = row->what.phase,
			.moving = moving,
			.impl = row->what.impl,
			.sms = row->resident,
			.bytes = moving ? row->what.payload_bytes : PIPESIM_UNKNOWN},
		.alone = sustained ||
			 (moving ? row->what.payload_bytes <= 0 : row->resident == 0),
		.sustained = sustained,
		.trace = trace,
		.rank = row->rank,
		.chunk = g_str_equal(row->what.component, "chunk") ? row->what.chunk : "",
	};
}

/* Bursts of a rested chip tell something else: pipesim_loops_calibrate(). */
static gboolean is_repetition(const PipesimTraceRow *row)
{
	return row->status == PIPESIM_STATUS_OK && !row->part &&
	       (row->what.series == PIPESIM_SERIES_MOVING || pipesim_row_is_op(row) ||
		       (row->what.series == PIPESIM_SERIES_RESIDENT &&
			       !g_str_equal(row->what.load_mode, PIPESIM_LOAD_RESTED)));
}

/* @found: a set of them */
static GPtrArray *list_cells(PipesimTrace *const *traces, guint n, GHashTable *found)
{
	GPtrArray *cells = g_ptr_array_new_with_free_func(cell_free);

	for (guint t = 0; t < n; t++)
		pipesim_each (const PipesimTraceRow, row, traces[t]->rows) {
			const Cell key = describe(row, t);

			if (!is_repetition(row))
				continue;
			Cell *cell = g_hash_table_lookup(found, &key);
			if (cell == NULL) {
				cell = g_memdup2(&key, sizeof key);
				cell->times = g_array_new(FALSE, FALSE, sizeof(gint64));
				g_ptr_array_add(cells, cell);
				g_hash_table_add(found, cell);
			}
			g_array_append_val(cell->times, row->duration);
		}
	pipesim_each_in (Cell, cell, cells) {
		g_array_sort(cell->times, pipesim_compare_int64);
		cell->median = g_array_index(cell->times, gint64, cell->times->len / 2);
	}
	return cells;
}

/* The same op alone: beside a receive, the sustained time of its stage, which is what the slowdown multiplies: in the
 * series itself the chip may have rested before. Else in the same series, or a message's in that of receives. NULL
 * where it is in none. */
static const Cell *find_alone(GHashTable *found, const Cell *beside)
{
	Cell like = *beside;
	const Cell *alone = NULL;

	like.alone = TRUE;
	if (!beside->beside.moving) {
		like.sustained = TRUE;
		alone = g_hash_table_lookup(found, &like);
		like.sustained = FALSE;
	}
	if (alone == NULL)
		alone = g_hash_table_lookup(found, &like);
	if (alone == NULL && beside->beside.moving) {
		like.beside.moving = FALSE;
		alone = g_hash_table_lookup(found, &like);
	}
	return alone != NULL && alone->median > 0 ? alone : NULL;
}

static PipesimContentionPart *part_at(const PipesimContentionFit *fit, guint i)
{
	return &g_array_index(fit->parts, PipesimContentionPart, i);
}

/* Adds ranks and stages up: the ratio of sums, so that each counts by its time. */
static void add_cells(PipesimContentionFit *fit, const GPtrArray *cells, GHashTable *found)
{
	g_autoptr(GHashTable) place = /* PipesimContentionPart -> its number and 1 */
		g_hash_table_new_full(part_hash, part_equal, g_free, NULL);
	g_autofree double *sum = g_new0(double, cells->len + (gsize)1);
	g_autofree double *alone_sum = g_new0(double, cells->len + (gsize)1);
	g_autofree guint *ranks = g_new0(guint, cells->len + (gsize)1);

	pipesim_each_in (const Cell, cell, cells) {
		const Cell *alone = cell->alone ? NULL : find_alone(found, cell);

		if (cell->alone)
			continue;
		if (alone == NULL) {
			fit->lonely += cell->times->len;
			continue;
		}
		guint k = GPOINTER_TO_UINT(g_hash_table_lookup(place, &cell->beside));
		if (k == 0) {
			g_array_append_val(fit->parts, cell->beside);
			k = fit->parts->len;
			g_hash_table_insert(place,
				g_memdup2(&cell->beside, sizeof cell->beside),
				GUINT_TO_POINTER(k));
		}
		sum[k - 1] += (double)cell->median;
		alone_sum[k - 1] += (double)alone->median;
		ranks[k - 1]++;
		part_at(fit, k - 1)->n += cell->times->len;
	}
	for (guint k = 0; k < fit->parts->len; k++) {
		const double ratio = 1e6 * sum[k] / alone_sum[k];

		part_at(fit, k)->alone = (gint64)llround(alone_sum[k] / ranks[k]);
		part_at(fit, k)->ratio = (gint64)llround(MIN(ratio, 1e12));
	}
}

/* Whether @a counts rather than @b. */
static gboolean is_better(const PipesimContentionPart *a, const PipesimContentionPart *b,
	gint64 bytes, gint64 sms)
{
	const gboolean nccl = g_str_equal(a->impl, "nccl");

	if (!a->moving && sms > 0 && ABS(a->sms - sms) != ABS(b->sms - sms))
		return ABS(a->sms - sms) < ABS(b->sms - sms);
	if (nccl != g_str_equal(b->impl, "nccl"))
		return nccl;
	if (a->moving && a->bytes != b->bytes) {
		if (bytes < 0)
			return a->bytes > b->bytes;
		return ABS(a->bytes - bytes) < ABS(b->bytes - bytes);
	}
	return a->sms > b->sms;
}

PipesimContentionFit *pipesim_contention_fit(
	PipesimTrace *const *traces, guint n, gint64 bytes, gint64 sms)
{
	PipesimContentionFit *fit = g_new0(PipesimContentionFit, 1);
	g_autoptr(GHashTable) found = g_hash_table_new(cell_hash, cell_equal);
	g_autoptr(GPtrArray) cells = list_cells(traces, n, found);

	fit->parts = g_array_new(FALSE, FALSE, sizeof(PipesimContentionPart));
	fit->bytes = fit->sms[0] = fit->sms[1] = PIPESIM_UNKNOWN;
	fit->strings = g_string_chunk_new(64);
	add_cells(fit, cells, found);
	pipesim_each (PipesimContentionPart, part, fit->parts) {
		part->component = g_string_chunk_insert_const(fit->strings, part->component);
		part->impl = g_string_chunk_insert_const(fit->strings, part->impl);
	}
	for (guint moving = 0; moving < 2; moving++) {
		const PipesimContentionPart *best = NULL;

		pipesim_each (const PipesimContentionPart, part, fit->parts)
			if (part->moving == (moving == 1) &&
				(best == NULL || is_better(part, best, bytes, sms)))
				best = part;
		if (best == NULL)
			continue;
		fit->impl[moving] = best->impl;
		fit->sms[moving] = best->sms;
		if (moving == 1)
			fit->bytes = best->bytes;
	}
	return fit;
}

PIPESIM_FREES(PipesimContentionFit, pipesim_contention_fit_free, fit)
{
	g_array_unref(fit->parts);
	g_string_chunk_free(fit->strings);
	g_free(fit);
}

const PipesimContentionPart *pipesim_contention_find(
	const PipesimContentionFit *fit, const char *component, guint phase, gboolean moving)
{
	pipesim_each (const PipesimContentionPart, part, fit->parts)
		if (part->moving == moving && part->phase == phase &&
			part->sms == fit->sms[moving] &&
			(!moving || part->bytes == fit->bytes) &&
			g_str_equal(part->impl, fit->impl[moving]) &&
			g_str_equal(part->component, component))
			return part;
	return NULL;
}
