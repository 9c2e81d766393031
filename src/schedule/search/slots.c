/* Software pipelining of the ops of one micro-batch on the ranks of a V, and compaction of what
 * comes of it. The pattern of a micro-batch is a modulo schedule: every rank has a slot for each
 * of its ops such that the same pattern, repeated every PIPESIM_SLOT_PERIOD slots, never needs a
 * slot twice. Its length, not the number of ranks, says what is held. V-Min, PP 2, 3 micro-batches
 * (small letters: the chunk on the way back):
 *
 *	pattern   rank 0  F..fiwFIwfiwFIwfiw.Iw    pulled    rank 0  FF.fiw.IWfiwFIWfiw.IW
 *	          rank 1  .Ff..iIFfwwiIFfwwiIww    together  rank 1  .Ff..iIFfwWiIFfwWiIwW
 *	                         ------ steady
 *
 * The steady middle, from the first I of rank 0 to its last F, is dense. In the beginning and the
 * end ops move, in the order of time, to the earliest free slot after their inputs, as far as no
 * rank then holds more than the pattern's peak. With split backwards weight gradients run in
 * whatever slot is free, so all is done twice: first with W in slots of their own, gaps closed
 * after it, then with W put aside while the others move and laid into what is left.
 *
 * While ops move, a weight gradient is one of a rank's two chunks alike (W). Which chunk it is
 * of is settled at the end. */
#include "schedule/search/slots.h"
#include "schedule/search/sequence.h"

enum {
	F0 = PIPESIM_V_F0,
	F1 = PIPESIM_V_F1,
	I1 = PIPESIM_V_I1,
	I0 = PIPESIM_V_I0,
	W = PIPESIM_V_W1,
	KINDS,
	FREE = PIPESIM_V_CODES,
};

typedef struct {
	guint ranks, m;
	guint width;    /* slots of a rank */
	gboolean whole; /* a W stands right behind its I: the halves of a full backward */
	gboolean has_w; /* W have slots of their own, and are not in whatever slot is free */
	guint8 *cells;  /* [rank * width + slot] */
	guint32 *slots; /* [rank * 6M + kind * M + k]: where the k-th op of a kind stands; 2M of
			    W */
	guint32 *after; /* [rank * width + slot]: itself while free, else a later slot */
	guint32 *back;  /* [rank * 2M + k]: slot of the k-th I of a rank, of whichever chunk */
	guint32 *count; /* [rank * KINDS + kind]: ops passed so far */
	guint32 *next;  /* [rank]: the slot after the last one filled */
	gint32 *held;   /* [rank * width + slot]: activations after a slot, in chunks */
	gint32 *pending; /* [rank * width + slot]: I without W after a slot; W in free slots */
	gint32 peak;
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
static void put_weights(const Table *t, gboolean split)
{
	for (guint rank = 0; rank < t->ranks; rank++) {
		guint8 *cells = cells_of(t, rank);
		guint waiting[2] = {0, 0};
		guint left = 2 * t->m;

		for (guint s = 0; s < t->width && left + waiting[0] + waiting[1] > 0; s++) {
			const guint which = waiting[0] == 0;

			if (is_backward(cells[s])) {
				waiting[split && cells[s] == I0]++;
				left--;
			} else if (cells[s] == FREE && waiting[which] > 0) {
				cells[s] = split && which ? PIPESIM_V_W0 : W;
				waiting[which]--;
			}
		}
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
	const guint32 backward = t->whole ? 2 : 1; /* slots until its result is there */
	const guint32 length = is_backward(kind) ? backward : 1;
	guint32 after = 0;

	if ((kind == F0 || kind == I1) && rank > 0)
		after = MAX(after, slots_of(t, rank - 1, kind)[k] + length);
	if ((kind == F1 || kind == I0) && rank + 1 < t->ranks)
		after = MAX(after, slots_of(t, rank + 1, kind)[k] + length);
	if (kind > F0 && kind < W)
		after = MAX(
			after, slots_of(t, rank, kind - 1)[k] + (kind == I0 ? backward : 1));
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
	if (!t->has_w && !keeps_peak(t, rank, from, to)) {
		cells[from] = (guint8)kind;
		cells[to] = FREE;
		return FALSE;
	}
	/* Where W have slots of their own, one more or one less is held between two slots. */
	for (guint s = to; t->has_w && !is_backward(kind) && s < from; s++)
		t->held[(gsize)rank * t->width + s] += is_forward(kind) ? 1 : -1;
	t->after[(gsize)rank * t->width + to] = to + 1;
	return TRUE;
}

/* Takes the op in @slot to the earliest slot it may have; of a full backward both halves. */
static guint advance(const Table *t, guint rank, guint slot, guint kind, guint32 k)
{
	const gboolean two = t->whole && is_backward(kind);
	const gint32 *held = t->held + (gsize)rank * t->width;
	const guint first = earliest(t, rank, kind, k);
	guint to = is_forward(kind) ? slot : first;

	/* A forward holds one more from its slot to where it stood: not across a slot at the peak.
	 */
	while (to > first && held[to - 1] < t->peak)
		to--;
	for (to = next_free(t, rank, to); to < slot; to = next_free(t, rank, to + 1))
		if ((!two || next_free(t, rank, to + 1) == to + 1) &&
			try_move(t, rank, slot, to)) {
			if (two)
				try_move(t, rank, slot + 1, to + 1);
			return to;
		}
	return slot;
}

/* The steady state, from the first I of the last stage to be reached until the last F of the
 * first, stays as it is. With weight gradients left to free slots so does the beginning. With full
 * backwards all ops move. */
static void move_ops(Table *t)
{
	enum {
		BEGINNING,
		STEADY,
		END
	} part = t->whole ? END : BEGINNING;

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

			if (kind == FREE)
				continue;
			t->after[(gsize)rank * t->width + s] = s + 1;
			if (t->whole && kind == W)
				continue;
			guint32 k = count[kind]++;
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
			if (is_backward(kind) && !t->whole) {
				guint32 *back = t->back + (gsize)rank * 2 * t->m;
				guint32 n = count[I1] + count[I0] - 1;

				for (; n > 0 && back[n - 1] > to; n--)
					back[n] = back[n - 1];
				back[n] = to;
			}
		}
	}
}

/* Closes gaps: every op in the first slot that its inputs and the order of its rank allow. */
static void squeeze(Table *t)
{
	memset(t->count, 0, (gsize)t->ranks * KINDS * sizeof(*t->count));
	memset(t->next, 0, t->ranks * sizeof(*t->next));
	for (guint s = 0; s < t->width; s++) {
		for (guint rank = 0; rank < t->ranks; rank++) {
			guint8 *cells = cells_of(t, rank);
			guint kind = cells[s], to;

			if (kind == FREE)
				continue;
			guint32 k = t->count[(gsize)rank * KINDS + kind]++;
			to = t->next[rank];
			if (kind != W) {
				guint inputs = earliest(t, rank, kind, k);

				to = MAX(to, inputs);
			}
			cells[s] = FREE;
			cells[to] = kind;
			slots_of(t, rank, kind)[k] = to;
			t->next[rank] = to + 1;
		}
	}
}

static void lay_pattern(Table *t, const PipesimSlotPattern *pattern)
{
	memset(t->cells, FREE, (gsize)t->ranks * t->width);
	for (guint rank = 0; rank < t->ranks; rank++)
		for (guint kind = F0; kind < W; kind++)
			for (guint k = 0; k < t->m; k++) {
				guint8 *cell = cells_of(t, rank) + pattern[rank].first[kind] +
					       k * PIPESIM_SLOT_PERIOD;

				cell[0] = (guint8)kind;
				if (t->whole && is_backward(kind))
					cell[1] = W;
			}
}

/* The codes of all ranks, one after the other; a full backward is its first half. */
static const guint8 *take_order(const Table *t)
{
	guint8 *order = t->cells;

	for (gsize s = 0; s < (gsize)t->ranks * t->width; s++)
		if (t->cells[s] != FREE && !(t->whole && t->cells[s] == W))
			*order++ = t->cells[s];
	return t->cells;
}

static gboolean table_init(Table *t, PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint m, GError **error)
{
	guint32 last = 0;

	if ((guint64)ranks * m * PIPESIM_V_CODES > PIPESIM_MAX_OPS)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"the slots of %u micro-batches over %u ranks do not fit in memory; "
			"take fewer of either",
			m, ranks);
	for (guint rank = 0; rank < ranks; rank++)
		for (guint kind = F0; kind < W; kind++)
			last = MAX(last, pattern[rank].first[kind]);
	t->ranks = ranks;
	t->m = m;
	t->width = last + (PIPESIM_SLOT_PERIOD + 2) * m + 1;
	gsize cells = (gsize)ranks * t->width;
	t->cells = pipesim_arena_array(arena, guint8, cells);
	t->slots = pipesim_arena_array(arena, guint32, PIPESIM_V_CODES * (gsize)ranks * m);
	t->after = pipesim_arena_array(arena, guint32, cells + 1);
	t->back = pipesim_arena_array(arena, guint32, 2 * (gsize)ranks * m);
	t->count = pipesim_arena_array(arena, guint32, (gsize)ranks * KINDS);
	t->next = pipesim_arena_array(arena, guint32, ranks);
	t->held = pipesim_arena_array(arena, gint32, cells);
	t->pending = pipesim_arena_array(arena, gint32, cells);
	return pipesim_arena_check(
		arena, error, "the slots of %u micro-batches over %u ranks", m, ranks);
}

const guint8 *pipesim_slots_split(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, GError **error)
{
	Table t = {.whole = FALSE};

	if (!table_init(&t, arena, pattern, ranks, microbatches, error))
		return NULL;
	lay_pattern(&t, pattern);
	put_weights(&t, FALSE);
	t.has_w = TRUE;
	move_ops(&t);
	squeeze(&t);
	drop_weights(&t);
	t.has_w = FALSE;
	move_ops(&t);
	put_weights(&t, FALSE);
	squeeze(&t);
	drop_weights(&t);
	put_weights(&t, TRUE);
	return take_order(&t);
}

const guint8 *pipesim_slots_whole(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, GError **error)
{
	Table t = {.whole = TRUE, .has_w = TRUE};

	if (!table_init(&t, arena, pattern, ranks, microbatches, error))
		return NULL;
	lay_pattern(&t, pattern);
	move_ops(&t);
	return take_order(&t);
}

/* Behind the op before it on its rank, and after the message that it needs. */
static void find_starts(Table *t, gint64 *starts, gint64 *ends, gint64 *free)
{
	const gsize each = PIPESIM_V_CODES * (gsize)t->m;
	g_autofree guint32 *n_ops = g_new0(guint32, t->ranks);

	memset(t->count, 0, (gsize)t->ranks * KINDS * sizeof(*t->count));
	for (guint s = 0; s < t->width; s++)
		for (guint rank = 0; rank < t->ranks; rank++) {
			const guint kind = cells_of(t, rank)[s];
			const guint from = kind == F0 || kind == I1 ? rank - 1 : rank + 1;
			gint64 start = free[rank];

			if (kind == FREE)
				continue;
			if (kind < W) {
				const guint32 k = t->count[(gsize)rank * KINDS + kind]++;

				if (from < t->ranks)
					start = MAX(start,
						ends[((gsize)from * W + kind) * t->m + k] + 1);
				ends[((gsize)rank * W + kind) * t->m + k] =
					start + PIPESIM_SLOT_TIME;
			}
			starts[rank * each + n_ops[rank]++] = start;
			free[rank] = start + PIPESIM_SLOT_TIME;
		}
}

const guint8 *pipesim_slots_laid(PipesimArena *arena, const PipesimSlotPattern *pattern,
	guint ranks, guint microbatches, gint64 **starts, GError **error)
{
	Table t = {.whole = FALSE};

	if (!table_init(&t, arena, pattern, ranks, microbatches, error))
		return NULL;
	*starts = pipesim_arena_array(
		arena, gint64, PIPESIM_V_CODES * (gsize)ranks * microbatches);
	gint64 *ends = pipesim_arena_array(arena, gint64, W * (gsize)ranks * microbatches);
	gint64 *free = pipesim_arena_array(arena, gint64, ranks);
	if (!pipesim_arena_check(arena, error, "%u micro-batches", microbatches))
		return NULL;
	lay_pattern(&t, pattern);
	put_weights(&t, TRUE);
	find_starts(&t, *starts, ends, free);
	return take_order(&t);
}
