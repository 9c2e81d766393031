/* The method: take the repeating pattern, put weight gradients into free slots, and move every
 * op of the beginning and the end to the earliest free slot that its inputs and the pattern's
 * own peak of memory allow; close the gaps; do it again with weight gradients left to whatever
 * slot is free.
 *
 * While ops move, a weight gradient is one of a rank's two chunks alike (W). Which chunk it is
 * of is settled at the end. */
#include "config.h"

#include "model/shape.h"
#include "schedule/search/slots.h"
#include <string.h>

enum {
	F0,
	F1,
	I1,
	I0,
	W,
	KINDS
};
#define FREE PIPESIM_SLOT_FREE

typedef struct {
	guint ranks, m;
	guint width;    /* slots of a rank */
	guint8 *cells;  /* [rank * width + slot] */
	guint32 *slots; /* [rank * 6M + kind * M + k]: where the k-th op of a kind stands; 2M of
			   W */
	guint32 *after; /* [rank * width + slot]: itself while free, else a later slot */
	guint32 *back;  /* [rank * 2M + k]: slot of the k-th I of a rank, of whichever chunk */
	guint32 *count; /* [rank * KINDS + kind]: ops passed so far */
	gint32 *held;   /* [rank * width + slot]: activations after a slot, in chunks */
	gint32 *pending; /* [rank * width + slot]: I without W after a slot; W in free slots */
	gint32 peak;
	gboolean has_w; /* W have slots of their own, and are not in whatever slot is free */
} Table;

static guint8 *cells_of(const Table *t, guint rank)
{
	return t->cells + (gsize)rank * t->width;
}

static guint32 *slots_of(const Table *t, guint rank, guint kind)
{
	return t->slots + (gsize)rank * 6 * t->m + (gsize)kind * t->m;
}

static gboolean is_forward(guint kind)
{
	return kind <= F1;
}

static gboolean is_backward(guint kind)
{
	return kind == I1 || kind == I0;
}

/* Puts a weight gradient into every free slot that has one to run, and the rest behind. Those
 * of chunk 1 go first where @split tells the chunks apart. */
static void put_weights(const Table *t, guint rank, gboolean split)
{
	guint8 *cells = cells_of(t, rank);
	guint waiting[2] = {0, 0};
	guint left = 2 * t->m;

	for (guint s = 0; s < t->width; s++) {
		if (is_backward(cells[s])) {
			waiting[split && cells[s] == I0]++;
			left--;
		} else if (cells[s] == FREE && waiting[0] + waiting[1] > 0) {
			guint which = waiting[0] == 0;

			cells[s] = split && which ? PIPESIM_SLOT_W0 : W;
			waiting[which]--;
		}
		if (left == 0 && waiting[0] + waiting[1] == 0)
			break;
	}
}

static void drop_weights(const Table *t)
{
	for (gsize s = 0; s < (gsize)t->ranks * t->width; s++)
		if (t->cells[s] == W)
			t->cells[s] = FREE;
}

/* One slot of memory: what @cell does to @held and @pending. */
static void step(const Table *t, guint cell, gint32 *held, gint32 *pending)
{
	if (is_forward(cell)) {
		(*held)++;
	} else if (cell == W) {
		(*held)--;
	} else if (is_backward(cell)) {
		(*pending)++;
	} else if (!t->has_w && *pending > 0) {
		(*pending)--;
		(*held)--;
	}
}

/* Fills in held and pending of a rank, and where every op stands. Returns its peak. */
static gint32 measure(const Table *t, guint rank)
{
	const guint8 *cells = cells_of(t, rank);
	guint32 seen[KINDS] = {0};
	gint32 held = 0, pending = 0, peak = 0;

	for (guint s = 0; s < t->width; s++) {
		gsize at = (gsize)rank * t->width + s;

		if (cells[s] != FREE)
			slots_of(t, rank, cells[s])[seen[cells[s]]++] = s;
		step(t, cells[s], &held, &pending);
		t->held[at] = held;
		t->pending[at] = pending;
		t->after[at] = s;
		peak = MAX(peak, held);
	}
	return peak;
}

/* First slot that the inputs of the @k-th op of @kind allow. */
static guint earliest(const Table *t, guint rank, guint kind, guint32 k)
{
	guint32 after = 0;

	if ((kind == F0 || kind == I1) && rank > 0)
		after = MAX(after, slots_of(t, rank - 1, kind)[k] + 1);
	if ((kind == F1 || kind == I0) && rank + 1 < t->ranks)
		after = MAX(after, slots_of(t, rank + 1, kind)[k] + 1);
	if (kind > F0 && kind < W)
		after = MAX(after, slots_of(t, rank, kind - 1)[k] + 1);
	if (kind == W)
		after = MAX(after, t->back[(gsize)rank * 2 * t->m + k] + 1);
	if (k > 0)
		after = MAX(after, slots_of(t, rank, kind)[k - 1] + 1);
	return after;
}

/* The first free slot at or after @slot; slots that were passed are only ever filled, so that a
 * full one can point past those found full before. */
static guint next_free(const Table *t, guint rank, guint slot)
{
	guint32 *after = t->after + (gsize)rank * t->width;
	guint found = slot;

	while (after[found] != found)
		found = after[found];
	while (after[slot] != found) {
		const guint next = after[slot];

		after[slot] = found;
		slot = next;
	}
	return found;
}

/* Where W have slots of their own, one more or one less is held between two slots. */
static void shift_held(const Table *t, guint rank, guint kind, guint from, guint to)
{
	gint32 *held = t->held + (gsize)rank * t->width;
	const gint32 more = is_forward(kind) ? 1 : kind == W ? -1 : 0;

	for (guint s = to; more != 0 && s < from; s++)
		held[s] += more;
}

/* Where W run in whatever slot is free: whether the peak stays when the op of slot @from, which
 * is free now, stands in slot @to; writes the new memory where it does. Behind @from nothing
 * changes once the state is what it was. */
static gboolean keeps_peak(const Table *t, guint rank, guint from, guint to)
{
	const guint8 *cells = cells_of(t, rank);
	gint32 *held = t->held + (gsize)rank * t->width;
	gint32 *pending = t->pending + (gsize)rank * t->width;
	gint32 h = to > 0 ? held[to - 1] : 0, p = to > 0 ? pending[to - 1] : 0;
	const gint32 h0 = h, p0 = p;
	guint end = to;

	for (; end < t->width; end++) {
		step(t, cells[end], &h, &p);
		if (h > t->peak)
			return FALSE;
		if (end >= from && h == held[end] && p == pending[end])
			break;
	}
	h = h0;
	p = p0;
	for (guint s = to; s < end; s++) {
		step(t, cells[s], &h, &p);
		held[s] = h;
		pending[s] = p;
	}
	return TRUE;
}

/* Whether the op in slot @from may run in free slot @to; moves it there if so. */
static gboolean try_move(const Table *t, guint rank, guint from, guint to)
{
	guint8 *cells = cells_of(t, rank);
	const guint kind = cells[from];

	cells[to] = (guint8)kind;
	cells[from] = FREE;
	if (t->has_w) {
		shift_held(t, rank, kind, from, to);
	} else if (!keeps_peak(t, rank, from, to)) {
		cells[from] = (guint8)kind;
		cells[to] = FREE;
		return FALSE;
	}
	t->after[(gsize)rank * t->width + to] = to + 1;
	return TRUE;
}

/* A forward holds one more from its slot to where it stood: not across a slot at the peak. */
static guint first_with_room(const Table *t, guint rank, guint from, guint earliest_slot)
{
	const gint32 *held = t->held + (gsize)rank * t->width;
	guint slot = from;

	while (slot > earliest_slot && held[slot - 1] < t->peak)
		slot--;
	return slot;
}

static void note_backward(const Table *t, guint rank, guint32 n, guint slot)
{
	guint32 *back = t->back + (gsize)rank * 2 * t->m;

	for (; n > 0 && back[n - 1] > slot; n--)
		back[n] = back[n - 1];
	back[n] = slot;
}

/* Takes the op in @slot to the earliest slot it may have. */
static guint advance(const Table *t, guint rank, guint slot, guint kind, guint32 k)
{
	guint to = earliest(t, rank, kind, k);

	if (is_forward(kind))
		to = first_with_room(t, rank, slot, to);
	for (to = next_free(t, rank, to); to < slot; to = next_free(t, rank, to + 1))
		if (try_move(t, rank, slot, to))
			return to;
	return slot;
}

/* The steady state, from the first I of the last stage to be reached until the last F of the
 * first, stays as it is. With weight gradients left to free slots so does the beginning. */
static void move_ops(Table *t)
{
	enum {
		BEGINNING,
		STEADY,
		END
	} part = BEGINNING;

	memset(t->count, 0, (gsize)t->ranks * KINDS * sizeof(*t->count));
	t->peak = 0;
	for (guint rank = 0; rank < t->ranks; rank++) {
		gint32 peak = measure(t, rank);

		t->peak = MAX(t->peak, peak);
	}
	for (guint s = 0; s < t->width; s++) {
		for (guint rank = 0; rank < t->ranks; rank++) {
			guint kind = cells_of(t, rank)[s], to = s;
			guint32 *count = t->count + (gsize)rank * KINDS;
			guint32 k;

			if (kind == FREE)
				continue;
			t->after[(gsize)rank * t->width + s] = s + 1;
			k = count[kind]++;
			if (kind == I0 && rank == 0 && part == BEGINNING)
				part = STEADY;
			if (part == STEADY) {
				if (kind == F0 && k == t->m - 1)
					part = END;
			} else if (part == END || t->has_w) {
				to = advance(t, rank, s, kind, k);
				slots_of(t, rank, kind)[k] = to;
				if (to < s)
					t->after[(gsize)rank * t->width + s] = s;
			}
			if (is_backward(kind))
				note_backward(t, rank, count[I1] + count[I0] - 1, to);
		}
	}
}

/* Closes gaps: every op in the first slot that its inputs and the order of its rank allow. */
static void squeeze(Table *t)
{
	g_autofree guint32 *next = g_new0(guint32, t->ranks);

	memset(t->count, 0, (gsize)t->ranks * KINDS * sizeof(*t->count));
	for (guint s = 0; s < t->width; s++) {
		for (guint rank = 0; rank < t->ranks; rank++) {
			guint8 *cells = cells_of(t, rank);
			guint kind = cells[s], to;
			guint32 k;

			if (kind == FREE)
				continue;
			k = t->count[(gsize)rank * KINDS + kind]++;
			to = next[rank];
			if (kind != W) {
				guint inputs = earliest(t, rank, kind, k);

				to = MAX(to, inputs);
			}
			cells[s] = FREE;
			cells[to] = kind;
			slots_of(t, rank, kind)[k] = to;
			next[rank] = to + 1;
		}
	}
}

static void put_all_weights(const Table *t, gboolean split)
{
	for (guint rank = 0; rank < t->ranks; rank++)
		put_weights(t, rank, split);
}

static void lay_pattern(Table *t, const PipesimSlotPattern *pattern)
{
	memset(t->cells, FREE, (gsize)t->ranks * t->width);
	for (guint rank = 0; rank < t->ranks; rank++)
		for (guint kind = F0; kind < W; kind++)
			for (guint k = 0; k < t->m; k++)
				cells_of(t, rank)[pattern[rank].first[kind] +
						  k * PIPESIM_SLOT_PERIOD] = kind;
}

static guint8 *take_order(const Table *t)
{
	guint8 *order = g_try_malloc_n(t->ranks, 6 * (gsize)t->m);
	guint8 *next = order;

	for (gsize s = 0; order != NULL && s < (gsize)t->ranks * t->width; s++)
		if (t->cells[s] != FREE)
			*next++ = t->cells[s];
	return order;
}

static void release(Table *t)
{
	g_free(t->cells);
	g_free(t->slots);
	g_free(t->after);
	g_free(t->back);
	g_free(t->count);
	g_free(t->held);
	g_free(t->pending);
}

/* FALSE where memory does not suffice. */
static gboolean reserve(Table *t, const PipesimSlotPattern *pattern, guint ranks, guint m)
{
	guint32 last = 0;
	gsize cells;

	for (guint rank = 0; rank < ranks; rank++)
		for (guint kind = F0; kind < W; kind++)
			last = MAX(last, pattern[rank].first[kind]);
	if ((guint64)ranks * m * 6 > PIPESIM_MAX_OPS)
		return FALSE;
	t->ranks = ranks;
	t->m = m;
	t->width = last + (PIPESIM_SLOT_PERIOD + 2) * m + 1;
	cells = (gsize)ranks * t->width;
	t->cells = g_try_malloc(cells);
	t->slots = g_try_new(guint32, 6 * (gsize)ranks * m);
	t->after = g_try_new(guint32, cells + 1);
	t->back = g_try_new(guint32, 2 * (gsize)ranks * m);
	t->count = g_try_new(guint32, (gsize)ranks * KINDS);
	t->held = g_try_new(gint32, cells);
	t->pending = g_try_new(gint32, cells);
	return t->cells != NULL && t->slots != NULL && t->after != NULL && t->back != NULL &&
	       t->count != NULL && t->held != NULL && t->pending != NULL;
}

guint8 *pipesim_slots_order(
	const PipesimSlotPattern *pattern, guint ranks, guint microbatches, GError **error)
{
	Table t = {0};
	guint8 *order = NULL;

	if (reserve(&t, pattern, ranks, microbatches)) {
		lay_pattern(&t, pattern);
		put_all_weights(&t, FALSE);
		t.has_w = TRUE;
		move_ops(&t);
		squeeze(&t);
		drop_weights(&t);
		t.has_w = FALSE;
		move_ops(&t);
		put_all_weights(&t, FALSE);
		squeeze(&t);
		drop_weights(&t);
		put_all_weights(&t, TRUE);
		order = take_order(&t);
	}
	release(&t);
	if (order == NULL)
		pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the slots of %u micro-batches over %u ranks do not fit in memory; "
			"take fewer "
			"of either",
			microbatches, ranks);
	return order;
}
