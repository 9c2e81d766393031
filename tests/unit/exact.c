#include "exact.h"
#include <string.h>

enum {
	F = PIPESIM_CODE_F,
	I = PIPESIM_CODE_I,
};

/* Ops are put down by their starts: each starts when its rank is free and its input is there. What
 * matters of the past is how many ops of each code have run, when ranks are free and when what is
 * under way arrives: of equal states the first one is enough. */
typedef struct {
	const PipesimInstance *x;
	guint n_codes;
	guint *done;     /* [lane * kinds + kind] */
	gint64 *end;     /* [(lane * kinds + kind) * count + k] */
	gint64 *free_at; /* [rank] */
	gint64 *least; /* [lane * kinds + kind]: so long that no ops together are longer than they run as one */
	gint64 *left; /* [rank]: work */
	gint64 held[PIPESIM_MAX_ROOMS][64];
	GHashTable *
		seen; /* what a state is known by: [0] words, and [1] its earliest time -> itself */
	gint64 *key; /* of the state at hand, with room for any */
	gint64 best;
	guint most;
	gboolean gave_up;
} Exact;

static const gint64 *end_of(const Exact *e, guint lane, guint kind, guint k)
{
	return &e->end[((gsize)lane * e->x->kinds + kind) * e->x->count + k];
}

/* When the input of the op of micro-batch @k is there; -1: not known yet. */
static gint64 ready_at(const Exact *e, guint lane, guint kind, guint k)
{
	const PipesimInstance *x = e->x;
	guint from = lane, from_kind = kind - 1;
	gint64 hop = 0;

	if (kind == F && x->before[lane] == PIPESIM_NO_LANE)
		return 0;
	if (kind == F) {
		from = x->before[lane];
		from_kind = F;
		hop = x->hop[lane];
	} else if (kind == I && x->after[lane] != PIPESIM_NO_LANE) {
		from = x->after[lane];
		from_kind = I;
		hop = x->hop_back[lane];
	}
	if (e->done[from * x->kinds + from_kind] <= k)
		return -1;
	return *end_of(e, from, from_kind, k) + hop;
}

static gboolean has_room(const Exact *e, guint rank, guint lane)
{
	for (guint i = 0; i < e->x->n_rooms; i++)
		if (e->held[i][rank] + e->x->room[i].held[lane] > e->x->room[i].limit[rank])
			return FALSE;
	return TRUE;
}

static void hold(Exact *e, guint rank, guint lane, guint kind, gint64 times)
{
	for (guint i = 0; i < e->x->n_rooms; i++) {
		const PipesimRoom *room = &e->x->room[i];
		const gint64 kept = room->held[lane] - room->freed[lane];

		e->held[i][rank] += times * (kind == F          ? room->held[lane]
						    : kind == I ? -room->freed[lane]
								: -kept);
	}
}

static guint hash_key(gconstpointer data)
{
	const gint64 *key = data;
	guint64 hash = 0;

	for (gint64 i = 2; i < key[0]; i++)
		hash = (hash ^ (guint64)key[i]) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);
	return (guint)(hash >> 32);
}

static gboolean equal_keys(gconstpointer a, gconstpointer b)
{
	const gint64 *x = a, *y = b;

	return x[0] == y[0] && memcmp(x + 2, y + 2, (gsize)(x[0] - 2) * sizeof *x) == 0;
}

static gint64 from_now(gint64 at, gint64 now)
{
	return at < 0 ? -1 : MAX(at - now, 0);
}

/* TRUE where the same was seen no later. */
static gboolean was_seen(Exact *e, gint64 now)
{
	const PipesimInstance *x = e->x;
	gint64 *at = e->key + 2, *same;

	for (guint code = 0; code < e->n_codes; code++)
		*at++ = e->done[code];
	for (guint rank = 0; rank < x->ranks; rank++)
		*at++ = from_now(e->free_at[rank], now);
	for (guint code = 0; code < e->n_codes; code++)
		for (guint k = e->done[code]; k < x->count; k++) {
			const gint64 ready = ready_at(e, code / x->kinds, code % x->kinds, k);

			*at++ = from_now(ready, now);
			/* Neither is what follows on it. */
			if (ready < 0)
				break;
		}
	e->key[0] = at - e->key;
	e->key[1] = now;
	same = g_hash_table_lookup(e->seen, e->key);
	if (same != NULL && same[1] <= now)
		return TRUE;
	if (g_hash_table_size(e->seen) >= e->most)
		e->gave_up = TRUE;
	g_hash_table_add(e->seen, g_memdup2(e->key, (gsize)e->key[0] * sizeof *e->key));
	return FALSE;
}

static void search(Exact *e, gint64 now, guint placed);

/* What runs as one: a code, or an I with its W, or an F with both. */
typedef struct {
	guint code[3], n;
	gint64 time;
} Together;

/* Goes on after @ops have run as one from @start on. */
static void run(Exact *e, const Together *ops, gint64 start, guint placed)
{
	const PipesimInstance *x = e->x;
	const guint rank = ops->code[0] / x->kinds / x->chunks;
	const gint64 free_at = e->free_at[rank], end = start + ops->time;
	gint64 least = 0;

	for (guint i = 0; i < ops->n; i++) {
		const guint code = ops->code[i], lane = code / x->kinds;

		hold(e, rank, lane, code % x->kinds, 1);
		e->end[(gsize)code * x->count + e->done[code]++] = end;
		least += e->least[code];
	}
	e->free_at[rank] = end;
	e->left[rank] -= least;
	search(e, start, placed + ops->n);
	e->left[rank] += least;
	e->free_at[rank] = free_at;
	for (guint i = 0; i < ops->n; i++) {
		const guint code = ops->code[i];

		e->done[code]--;
		hold(e, rank, code / x->kinds, code % x->kinds, -1);
	}
}

/* When the next op of @code can start, if that is not before @now; -1: it cannot. */
static gint64 start_of(const Exact *e, guint code, gint64 now)
{
	const PipesimInstance *x = e->x;
	const guint lane = code / x->kinds, kind = code % x->kinds;
	const gint64 ready =
		e->done[code] < x->count ? ready_at(e, lane, kind, e->done[code]) : -1;
	const gint64 start = MAX(ready, e->free_at[lane / x->chunks]);

	return ready < 0 || start < now || (kind == F && !has_room(e, lane / x->chunks, lane))
		       ? -1
		       : start;
}

/* A full backward of @lane; FALSE where a micro-batch before it waits for its W. */
static gboolean join(const Exact *e, guint lane, Together *ops)
{
	const PipesimInstance *x = e->x;
	const guint code = lane * x->kinds + I;

	*ops = (Together){.code = {code}, .n = 1, .time = x->time[I][lane]};
	if (x->kinds == 2)
		return TRUE;
	if (x->whole == NULL || e->done[code] != e->done[code + 1])
		return FALSE;
	ops->code[ops->n++] = code + 1;
	ops->time = x->whole[lane];
	return TRUE;
}

/* Every pair of an F of @lane, which can start at @start. */
static void run_pairs(Exact *e, guint lane, gint64 start, gint64 now, guint placed)
{
	const PipesimInstance *x = e->x;

	for (guint chunk = 0; x->pair != NULL && chunk < x->chunks; chunk++) {
		const guint other = lane / x->chunks * x->chunks + chunk;
		const gint64 ready = start_of(e, other * x->kinds + I, 0);
		Together ops;

		if (ready < 0 || !join(e, other, &ops))
			continue;
		ops.code[2] = ops.code[1];
		ops.code[1] = ops.code[0];
		ops.code[0] = lane * x->kinds + F;
		ops.n++;
		ops.time = x->pair[lane * x->chunks + chunk];
		if (MAX(start, ready) >= now)
			run(e, &ops, MAX(start, ready), placed);
	}
}

static void search(Exact *e, gint64 now, guint placed)
{
	const PipesimInstance *x = e->x;
	gint64 latest = 0;

	for (guint rank = 0; rank < x->ranks; rank++) {
		const gint64 least = e->left[rank] > 0
					     ? MAX(e->free_at[rank], now) + e->left[rank]
					     : e->free_at[rank];

		latest = MAX(latest, least);
	}
	if (latest >= e->best || e->gave_up)
		return;
	if (placed == x->ranks * x->per_rank) {
		e->best = latest;
		return;
	}
	if (was_seen(e, now))
		return;
	for (guint code = 0; code < e->n_codes; code++) {
		const guint lane = code / x->kinds, kind = code % x->kinds;
		const gint64 start = start_of(e, code, now);
		Together ops = {.code = {code}, .n = 1, .time = x->time[kind][lane]};

		if (start >= 0)
			run(e, &ops, start, placed);
		if (start >= 0 && kind == I && x->kinds > 2 && join(e, lane, &ops))
			run(e, &ops, start, placed);
		if (kind == F) {
			/* The backward may be what a pair waits for. */
			const gint64 early = start_of(e, code, 0);

			if (early >= 0)
				run_pairs(e, lane, early, now, placed);
		}
	}
}

/* Halves are as short as the shortest op that has both, and F as what pairs with it leave. */
static void fill_least(Exact *e)
{
	const PipesimInstance *x = e->x;
	g_autofree gint64 *whole = g_new(gint64, x->lanes);

	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint first = lane - lane % x->chunks;
		gint64 *least = &e->least[lane * x->kinds];

		whole[lane] = x->time[I][lane] + (x->kinds > 2 ? x->time[I + 1][lane] : 0);
		if (x->whole != NULL)
			whole[lane] = MIN(whole[lane], x->whole[lane]);
		for (guint c = 0; c < x->chunks && x->pair != NULL; c++)
			whole[lane] = MIN(whole[lane],
				x->pair[(first + c) * x->chunks + lane % x->chunks]);
		least[I] = MIN(x->time[I][lane], whole[lane]);
		if (x->kinds > 2)
			least[I + 1] = MIN(x->time[I + 1][lane], whole[lane] - least[I]);
	}
	for (guint lane = 0; lane < x->lanes; lane++) {
		const guint first = lane - lane % x->chunks;
		gint64 *least = &e->least[lane * x->kinds];

		least[F] = x->time[F][lane];
		for (guint c = 0; c < x->chunks && x->pair != NULL; c++)
			least[F] =
				MIN(least[F], x->pair[lane * x->chunks + c] - whole[first + c]);
	}
}

gint64 exact_makespan(const PipesimInstance *x, gint64 known, guint most)
{
	Exact e = {.x = x, .n_codes = x->lanes * x->kinds, .best = known, .most = most};

	e.done = g_new0(guint, e.n_codes);
	e.end = g_new0(gint64, (gsize)x->ranks * x->per_rank);
	e.free_at = g_new0(gint64, x->ranks);
	e.left = g_new0(gint64, x->ranks);
	e.least = g_new(gint64, e.n_codes);
	fill_least(&e);
	e.key = g_new(gint64, 2 + e.n_codes + x->ranks + (gsize)e.n_codes * x->count);
	e.seen = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
	for (guint code = 0; code < e.n_codes; code++)
		e.left[code / x->kinds / x->chunks] += x->count * e.least[code];
	search(&e, 0, 0);
	g_hash_table_unref(e.seen);
	g_free(e.key);
	g_free(e.done);
	g_free(e.end);
	g_free(e.free_at);
	g_free(e.least);
	g_free(e.left);
	return e.gave_up ? -1 : e.best;
}

/* States of a rank ------------------------------------------------------------------------ */

/* Micro-batch k's op of a code follows, on its rank, on those of the same micro-batch that lie before
 * it on its way. */
static gboolean follows(const PipesimInstance *x, guint rank, guint code, guint before)
{
	const guint lane = rank * x->chunks + code / x->kinds;
	const guint other = rank * x->chunks + before / x->kinds;
	const guint kind = code % x->kinds, other_kind = before % x->kinds;

	if (lane != other && x->shape.copies > 1)
		return FALSE;
	if (other_kind == F)
		return kind != F || x->depth[other] < x->depth[lane];
	if (other_kind == I)
		return (kind == I && x->depth[other] > x->depth[lane]) ||
		       (kind > I && x->depth[other] >= x->depth[lane]);
	return FALSE;
}

gboolean exact_states_allow(
	const PipesimInstance *x, guint rank, const guint *state, guint code)
{
	const guint n_codes = x->chunks * x->kinds;

	if (state[code] == x->count)
		return FALSE;
	for (guint before = 0; before < n_codes; before++)
		if (follows(x, rank, code, before) && state[before] <= state[code])
			return FALSE;
	if (code % x->kinds != F)
		return TRUE;
	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		gint64 held = room->held[rank * x->chunks + code / x->kinds];

		for (guint c = 0; c < x->chunks; c++) {
			const guint lane = rank * x->chunks + c;
			const guint *of = &state[c * x->kinds];

			held += of[F] * room->held[lane] - of[I] * room->freed[lane];
			if (x->kinds > 2)
				held -= of[2] * (room->held[lane] - room->freed[lane]);
		}
		if (held > room->limit[rank])
			return FALSE;
	}
	return TRUE;
}

static guint hash_state(gconstpointer data)
{
	const guint *state = data;
	guint hash = 1;

	for (guint i = 1; i <= state[0]; i++)
		hash = hash * 31 + state[i];
	return hash;
}

static gboolean equal_states(gconstpointer a, gconstpointer b)
{
	const guint *x = a, *y = b;

	return memcmp(x, y, (x[0] + 1) * sizeof *x) == 0;
}

/* Whether the end can be reached from @state: 1 no, 2 yes, remembered. */
static gboolean reaches_end(
	const PipesimInstance *x, guint rank, guint *state, GHashTable *known)
{
	const guint known_as = GPOINTER_TO_UINT(g_hash_table_lookup(known, state));
	const guint n_codes = state[0];
	gboolean reaches = TRUE;

	if (known_as != 0)
		return known_as == 2;
	for (guint i = 1; i <= n_codes; i++)
		reaches &= state[i] == x->count;
	for (guint code = 0; code < n_codes; code++) {
		if (!exact_states_allow(x, rank, state + 1, code))
			continue;
		state[code + 1]++;
		reaches |= reaches_end(x, rank, state, known);
		state[code + 1]--;
	}
	g_hash_table_insert(known, g_memdup2(state, (n_codes + 1) * sizeof *state),
		GUINT_TO_POINTER(reaches ? 2 : 1));
	return reaches;
}

ExactStates *exact_states_new(const PipesimInstance *x, guint rank)
{
	ExactStates *states = g_new0(ExactStates, 1);
	GHashTableIter iter;
	gpointer key, value;
	guint *begin;

	states->n_codes = x->chunks * x->kinds;
	states->states = g_ptr_array_new();
	states->index = g_hash_table_new_full(hash_state, equal_states, g_free, NULL);
	begin = g_new0(guint, states->n_codes + 1);
	begin[0] = states->n_codes;
	reaches_end(x, rank, begin, states->index);
	g_free(begin);
	g_hash_table_iter_init(&iter, states->index);
	while (g_hash_table_iter_next(&iter, &key, &value))
		if (GPOINTER_TO_UINT(value) == 2)
			g_ptr_array_add(states->states, (guint *)key + 1);
	return states;
}

gboolean exact_states_has(const ExactStates *states, const guint *state)
{
	g_autofree guint *key = g_new(guint, states->n_codes + 1);

	key[0] = states->n_codes;
	memcpy(key + 1, state, states->n_codes * sizeof *state);
	return GPOINTER_TO_UINT(g_hash_table_lookup(states->index, key)) == 2;
}

void exact_states_free(ExactStates *states)
{
	g_ptr_array_unref(states->states);
	g_hash_table_unref(states->index);
	g_free(states);
}
