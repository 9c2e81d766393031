#include "config.h"

#include "search/justify.h"
#include <string.h>

#define F PIPESIM_CODE_F
#define I PIPESIM_CODE_I
#define W PIPESIM_CODE_W

/* Times are off by less than so many average ops, either way; in a part of the order that is at most so many
 * parts in a hundred of it to either side, but once in so many times everywhere. */
#define MOST_OFF   2
#define LEAST_PART 2
#define MOST_PART  22
#define EVERYWHERE 5

static guint32 draw(PipesimJustifier *j, guint32 below)
{
	return pipesim_random_below(j->random, j->drawn++, below);
}

/* The codes that the ops of @code wait for, looking one way. */
static void find_inputs(const PipesimInstance *x, gboolean back, guint code, PipesimPutting *p)
{
	const guint lane = code / x->kinds, kind = code % x->kinds;
	const guint32 before = x->before[lane], after = x->after[lane];

	if (!back && kind == F && before != PIPESIM_NO_LANE) {
		p->input[p->n_inputs] = before * x->kinds + F;
		p->lag[p->n_inputs++] = x->hop[lane];
	} else if (!back && kind == I && after != PIPESIM_NO_LANE) {
		p->input[p->n_inputs] = after * x->kinds + I;
		p->lag[p->n_inputs++] = x->hop_back[lane];
	} else if (!back && kind != F) {
		p->input[p->n_inputs++] = code - 1;
	} else if (back && kind == F && after != PIPESIM_NO_LANE) {
		p->input[p->n_inputs] = after * x->kinds + F;
		p->lag[p->n_inputs++] = x->hop[after];
	} else if (back && kind == F) {
		p->input[p->n_inputs++] = code + 1;
	} else if (back && kind == I) {
		if (x->kinds > 2)
			p->input[p->n_inputs++] = code + 1;
		if (before != PIPESIM_NO_LANE) {
			p->input[p->n_inputs] = before * x->kinds + I;
			p->lag[p->n_inputs++] = x->hop_back[before];
		}
	}
}

static gint64 takes(
	const PipesimInstance *x, const PipesimRoom *room, gboolean back, guint code)
{
	const guint lane = code / x->kinds, kind = code % x->kinds;

	if (!back)
		return kind == F ? room->held[lane] : 0;
	if (kind == F)
		return 0;
	if (x->kinds == 2)
		return room->held[lane];
	return kind == I ? room->freed[lane] : room->held[lane] - room->freed[lane];
}

static void find_puttings(PipesimJustifier *j)
{
	const PipesimInstance *x = j->x;
	const guint codes = x->lanes * x->kinds;

	for (guint code = 0; code < 2 * codes; code++) {
		const gboolean back = code >= codes;
		const guint of = code % codes;
		PipesimPutting *p = &j->putting[back][of];

		*p = (PipesimPutting){.rank = of / x->kinds / x->chunks,
			.took = x->time[of % x->kinds][of / x->kinds]};
		j->op += back ? 0 : p->took / codes;
		find_inputs(x, back, of, p);
		for (guint r = 0; r < x->n_rooms; r++)
			p->takes[r] = takes(x, &x->room[r], back, of);
	}
}

gboolean pipesim_justifier_init(PipesimJustifier *j, const PipesimInstance *x, guint64 seed,
	guint64 number, PipesimArena *arena)
{
	const gsize n = (gsize)x->ranks * x->per_rank, codes = (gsize)x->lanes * x->kinds;

	if (x->whole != NULL || x->pair != NULL)
		return FALSE;
	*j = (PipesimJustifier){.x = x,
		.n = (guint)n,
		.random = pipesim_sample_key(seed, number),
		.start = pipesim_arena_array(arena, gint64, n),
		.other = pipesim_arena_array(arena, gint64, n),
		.key = pipesim_arena_array(arena, gint64, n),
		.stays = pipesim_arena_array(arena, PipesimStay, n),
		.turnovers = pipesim_arena_array(arena, PipesimTurnover, 2 * n),
		.n_stays = pipesim_arena_array(arena, guint, x->ranks),
		.n_turnovers = pipesim_arena_array(arena, guint, x->ranks),
		.held = pipesim_arena_array(arena, gint64, (gsize)x->ranks * PIPESIM_MAX_ROOMS),
		.done = pipesim_arena_array(arena, guint32, codes),
		.heap = pipesim_arena_array(arena, PipesimNextPut, codes),
		.blocked = pipesim_arena_array(arena, guint8, codes)};
	for (guint way = 0; way < 2; way++)
		j->putting[way] = pipesim_arena_array(arena, PipesimPutting, codes);
	if (pipesim_arena_check(arena, NULL, "ops"))
		find_puttings(j);
	return TRUE;
}

/* Codes are those of all lanes: lane * kinds + kind. */

/* The op of @code that comes next, or the one put last where @before is 1. */
static inline guint32 op_of(const PipesimJustifier *j, gboolean back, guint code, guint before)
{
	const guint32 i = j->done[code] - before;

	return code * j->x->count + (back ? j->x->count - 1 - i : i);
}

static inline gboolean comes_before(const PipesimNextPut *a, const PipesimNextPut *b)
{
	return a->key < b->key || (a->key == b->key && a->code < b->code);
}

static void push(PipesimJustifier *j, gboolean back, guint code)
{
	const PipesimNextPut next = {j->key[op_of(j, back, code, 0)], code};
	guint at = j->n_heap++;

	for (; at > 0 && comes_before(&next, &j->heap[(at - 1) / 2]); at = (at - 1) / 2)
		j->heap[at] = j->heap[(at - 1) / 2];
	j->heap[at] = next;
}

static guint pop(PipesimJustifier *j)
{
	const PipesimNextPut last = j->heap[--j->n_heap];
	const guint first = j->heap[0].code;
	guint at = 0;

	for (;;) {
		guint child = 2 * at + 1;

		if (child + 1 < j->n_heap && comes_before(&j->heap[child + 1], &j->heap[child]))
			child++;
		if (child >= j->n_heap || !comes_before(&j->heap[child], &last))
			break;
		j->heap[at] = j->heap[child];
		at = child;
	}
	j->heap[at] = last;
	return first;
}

/* Whether all that its next op waits for has been put. */
static inline gboolean is_ready(const PipesimJustifier *j, gboolean back, guint code)
{
	const PipesimPutting *p = &j->putting[back][code];

	for (guint i = 0; i < p->n_inputs; i++)
		if (j->done[p->input[i]] <= j->done[code])
			return FALSE;
	return TRUE;
}

/* When it is there. */
static gint64 ready_at(const PipesimJustifier *j, gboolean back, guint code, guint32 op)
{
	const PipesimPutting *p = &j->putting[back][code];
	const guint32 count = j->x->count, k = op - code * count;
	gint64 ready = 0;

	for (guint i = 0; i < p->n_inputs; i++) {
		const guint from = p->input[i];
		const gint64 end =
			j->other[from * count + k] + j->putting[back][from].took + p->lag[i];

		ready = MAX(ready, end);
	}
	if (j->done[code] > 0) {
		const gint64 end = j->other[op_of(j, back, code, 1)] + p->took;

		ready = MAX(ready, end);
	}
	return ready;
}

/* From when on, @ready or later, the rank has room for it and keeps it; -1: what gives it back has not been put. */
static gint64 room_at(const PipesimJustifier *j, const PipesimPutting *p, gint64 ready)
{
	const PipesimInstance *x = j->x;
	const PipesimTurnover *of = &j->turnovers[2 * (gsize)p->rank * x->per_rank];

	for (guint r = 0; r < x->n_rooms; r++) {
		const gint64 most = x->room[r].limit[p->rank] - p->takes[r];
		gint64 held = j->held[p->rank * PIPESIM_MAX_ROOMS + r];

		if (p->takes[r] == 0)
			continue;
		if (held > most)
			return -1;
		for (guint i = j->n_turnovers[p->rank]; i-- > 0 && of[i].at > ready;) {
			held -= of[i].change[r];
			if (held > most) {
				ready = of[i].at;
				break;
			}
		}
	}
	return ready;
}

/* Puts it into the first gap of its rank from @ready on. Returns when it starts. */
static gint64 stay_at(PipesimJustifier *j, guint rank, gint64 ready, gint64 took)
{
	PipesimStay *stays = &j->stays[(gsize)rank * j->x->per_rank];
	const guint n = j->n_stays[rank]++;
	guint at = n;

	while (at > 0 && stays[at - 1].to > ready)
		at--;
	while (at < n && stays[at].from < ready + took) {
		ready = MAX(ready, stays[at].to);
		at++;
	}
	memmove(&stays[at + 1], &stays[at], sizeof *stays * (n - at));
	stays[at] = (PipesimStay){ready, ready + took};
	return ready;
}

static void turn_over(PipesimJustifier *j, guint rank, PipesimTurnover change)
{
	PipesimTurnover *of = &j->turnovers[2 * (gsize)rank * j->x->per_rank];
	guint at = j->n_turnovers[rank]++;

	for (; at > 0 && of[at - 1].at > change.at; at--)
		of[at] = of[at - 1];
	of[at] = change;
	for (guint r = 0; r < PIPESIM_MAX_ROOMS; r++)
		j->held[rank * PIPESIM_MAX_ROOMS + r] += change.change[r];
}

/* Those of the rank that had to wait may have room now. */
static void unblock(PipesimJustifier *j, gboolean back, guint rank)
{
	const guint codes = j->x->chunks * j->x->kinds;

	for (guint code = rank * codes; code < (rank + 1) * codes; code++)
		if (j->blocked[code]) {
			j->blocked[code] = FALSE;
			push(j, back, code);
		}
}

static void hold(PipesimJustifier *j, gboolean back, guint code, gint64 start, gint64 end)
{
	const PipesimPutting *p = &j->putting[back][code], *other = &j->putting[!back][code];
	PipesimTurnover taken = {.at = start}, given = {.at = end};
	gboolean takes_some = FALSE, gives_some = FALSE;

	for (guint r = 0; r < j->x->n_rooms; r++) {
		taken.change[r] = p->takes[r];
		given.change[r] = -other->takes[r];
		takes_some |= taken.change[r] != 0;
		gives_some |= given.change[r] != 0;
	}
	if (takes_some)
		turn_over(j, p->rank, taken);
	if (gives_some) {
		turn_over(j, p->rank, given);
		unblock(j, back, p->rank);
	}
}

/* Codes of which one more can be put after that of @code. What waits for it is what it waits for looking the other
 * way; of these only those are new that waited for this one. */
static void push_next(PipesimJustifier *j, gboolean back, guint code)
{
	const PipesimPutting *other = &j->putting[!back][code];

	if (j->done[code] < j->x->count && is_ready(j, back, code))
		push(j, back, code);
	for (guint i = 0; i < other->n_inputs; i++) {
		const guint to = other->input[i];

		if (j->done[to] + 1 == j->done[code] && is_ready(j, back, to))
			push(j, back, to);
	}
}

static void forget_all(PipesimJustifier *j)
{
	const guint ranks = j->x->ranks, codes = j->x->lanes * j->x->kinds;

	memset(j->n_stays, 0, sizeof *j->n_stays * ranks);
	memset(j->n_turnovers, 0, sizeof *j->n_turnovers * ranks);
	memset(j->held, 0, sizeof *j->held * ranks * PIPESIM_MAX_ROOMS);
	memset(j->done, 0, sizeof *j->done * codes);
	memset(j->blocked, 0, codes);
	j->n_heap = 0;
}

/* Puts all ops by j->key, in j->other. Returns when the last one ends; -1: some never found room. */
static gint64 put_all(PipesimJustifier *j, gboolean back)
{
	gint64 makespan = 0;
	guint put = 0;

	forget_all(j);
	for (guint code = 0; code < j->x->lanes * j->x->kinds; code++)
		if (is_ready(j, back, code))
			push(j, back, code);
	while (j->n_heap > 0) {
		const guint code = pop(j);
		const PipesimPutting *p = &j->putting[back][code];
		const guint32 op = op_of(j, back, code, 0);
		gint64 at = room_at(j, p, ready_at(j, back, code, op));

		if (at < 0) {
			j->blocked[code] = TRUE;
			continue;
		}
		at = stay_at(j, p->rank, at, p->took);
		j->other[op] = at;
		makespan = MAX(makespan, at + p->took);
		j->done[code]++;
		hold(j, back, code, at, at + p->took);
		push_next(j, back, code);
		put++;
	}
	return put == j->n ? makespan : -1;
}

/* When an op ends looking backwards, the later the less; off at random. */
static void set_keys(PipesimJustifier *j, gboolean noise)
{
	const guint32 count = j->x->count;
	const gint64 off = j->op * MOST_OFF * draw(j, 1 << 10) / (1 << 10);
	const gboolean all = draw(j, EVERYWHERE) == 0;
	const gint64 middle = (gint64)((double)j->makespan * draw(j, 1 << 16) / (1 << 16));
	const gint64 part = j->makespan / 100 * (LEAST_PART + draw(j, MOST_PART - LEAST_PART));

	for (guint32 op = 0; op < j->n; op++) {
		j->key[op] = -j->start[op] - j->putting[0][op / count].took;
		if (noise && off > 0 && (all || ABS(j->start[op] - middle) < part))
			j->key[op] += off * ((gint64)draw(j, 1 << 11) - (1 << 10)) / (1 << 10);
	}
}

void pipesim_justifier_begin(PipesimJustifier *j, const gint64 *starts, gint64 makespan)
{
	memcpy(j->start, starts, sizeof *starts * j->n);
	j->makespan = makespan;
}

gboolean pipesim_justifier_run(PipesimJustifier *j, gboolean noise)
{
	const gint64 before = j->makespan;
	gint64 makespan;

	set_keys(j, noise);
	makespan = put_all(j, TRUE);
	if (makespan < 0)
		return FALSE;
	for (guint32 op = 0; op < j->n; op++)
		j->key[op] = makespan - j->other[op] - j->putting[1][op / j->x->count].took;
	makespan = put_all(j, FALSE);
	if (makespan < 0 || makespan > before)
		return FALSE;
	memcpy(j->start, j->other, sizeof *j->start * j->n);
	j->makespan = makespan;
	return makespan < before;
}

void pipesim_justifier_codes(const PipesimJustifier *j, guint8 *codes)
{
	const PipesimInstance *x = j->x;
	const guint per_code = x->chunks * x->kinds;
	g_autofree guint32 *done = g_new(guint32, per_code);

	for (guint rank = 0; rank < x->ranks; rank++) {
		memset(done, 0, sizeof *done * per_code);
		for (guint i = 0; i < x->per_rank; i++) {
			gint64 first = G_MAXINT64;
			guint next = 0;

			/* Of those that take no time what others wait for comes first. */
			for (guint code = 0; code < per_code; code++) {
				const gsize op =
					(gsize)(rank * per_code + code) * x->count + done[code];

				if (done[code] < x->count && j->start[op] < first) {
					first = j->start[op];
					next = code;
				}
			}
			done[next]++;
			codes[(gsize)rank * x->per_rank + i] = (guint8)next;
		}
	}
}
