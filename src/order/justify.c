#include "order/justify.h"
#include "base/phases.h"

/* Times are off by less than so many average ops, either way; in a part of the order that is at most so many
 * parts in a hundred of it to either side, but once in so many times everywhere. */
#define MOST_OFF   2
#define LEAST_PART 2
#define MOST_PART  22
#define EVERYWHERE 5
/* Fewer pairs than this are made or taken apart. */
#define CHANGES 16

static guint32 draw(PipesimJustifier *j, guint32 below)
{
	return pipesim_random_below(j->random, j->drawn++, below);
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

	for (guint code = 0; code < codes; code++) {
		gint64 hop;
		const guint32 from = pipesim_instance_input(x, code, &hop);

		j->op += x->time[code % x->kinds][code / x->kinds] / codes;
		for (guint back = FALSE; back <= TRUE; back++) {
			PipesimPutting *p = &j->putting[back][code];

			p->rank = code / x->kinds / x->chunks;
			for (guint r = 0; r < x->n_rooms; r++)
				p->takes[r] = takes(x, &x->room[r], back, code);
			if (from == PIPESIM_NO_LANE)
				continue;
			/* Looking backwards an op waits for those that wait for it. */
			p = &j->putting[back][back ? from : code];
			p->input[p->n_inputs] = back ? code : from;
			p->lag[p->n_inputs++] = hop;
		}
	}
}

void pipesim_justifier_init(PipesimJustifier *j, const PipesimInstance *x, guint64 seed,
	guint64 number, PipesimArena *arena)
{
	const gsize n = (gsize)x->ranks * x->per_rank, codes = (gsize)x->lanes * x->kinds;

	*j = (PipesimJustifier){.x = x,
		.n = (guint)n,
		.random = pipesim_sample_key(seed, number),
		.start = pipesim_arena_array(arena, gint64, n),
		.other = pipesim_arena_array(arena, gint64, n),
		.key = pipesim_arena_array(arena, gint64, n),
		.took = pipesim_arena_array(arena, gint64, n),
		.first = pipesim_arena_array(arena, guint32, n),
		.next = pipesim_arena_array(arena, guint32, n),
		.stays = pipesim_arena_array(arena, PipesimStay, n),
		.turnovers = pipesim_arena_array(arena, PipesimTurnover, 2 * n),
		.n_stays = pipesim_arena_array(arena, guint, x->ranks),
		.n_turnovers = pipesim_arena_array(arena, guint, x->ranks),
		.held = pipesim_arena_array(arena, gint64, (gsize)x->ranks * PIPESIM_MAX_ROOMS),
		.done = pipesim_arena_array(arena, guint32, codes),
		.heap = pipesim_arena_array(arena, PipesimNextPut, codes),
		.queued = pipesim_arena_array(arena, guint8, codes),
		.blocked = pipesim_arena_array(arena, guint8, codes)};
	if (x->pair != NULL) {
		j->was_first = pipesim_arena_array(arena, guint32, n);
		j->was_next = pipesim_arena_array(arena, guint32, n);
		j->was_took = pipesim_arena_array(arena, gint64, n);
	}
	for (guint way = 0; way < 2; way++)
		j->putting[way] = pipesim_arena_array(arena, PipesimPutting, codes);
	if (pipesim_arena_check(arena, NULL, "ops"))
		find_puttings(j);
}

/* Codes are those of all lanes: lane * kinds + kind. */

/* The op of @code that comes next. */
static inline guint32 op_of(const PipesimJustifier *j, gboolean back, guint code)
{
	const guint32 i = j->done[code];

	return code * j->x->count + (back ? j->x->count - 1 - i : i);
}

/* The first of what the next op of @code runs as one with. */
static inline guint32 first_of(const PipesimJustifier *j, gboolean back, guint code)
{
	return j->first[op_of(j, back, code)];
}

static inline gboolean comes_before(const PipesimNextPut *a, const PipesimNextPut *b)
{
	return a->key < b->key || (a->key == b->key && a->code < b->code);
}

static void push(PipesimJustifier *j, guint32 op)
{
	const guint code = op / j->x->count;
	const PipesimNextPut next = {j->key[op], code};
	guint at = j->n_heap++;

	for (; at > 0 && comes_before(&next, &j->heap[(at - 1) / 2]); at = (at - 1) / 2)
		j->heap[at] = j->heap[(at - 1) / 2];
	j->heap[at] = next;
	j->queued[code] = TRUE;
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
	j->queued[first] = FALSE;
	return first;
}

/* Whether @op is the next of its code, and all that it waits for but what it runs as one with has been put. */
static inline gboolean is_ready(const PipesimJustifier *j, gboolean back, guint32 op)
{
	const guint code = op / j->x->count;
	const PipesimPutting *p = &j->putting[back][code];

	if (j->done[code] == j->x->count || op != op_of(j, back, code))
		return FALSE;
	return !pipesim_any(i, p->n_inputs,
		j->done[p->input[i]] <= j->done[code] &&
			first_of(j, back, p->input[i]) != j->first[op]);
}

/* Lets @code have its turn, if all that its next op runs as one with is ready. */
static void offer(PipesimJustifier *j, gboolean back, guint code)
{
	guint32 first, op;

	if (j->done[code] == j->x->count)
		return;
	op = first = first_of(j, back, code);
	if (j->queued[first / j->x->count] || j->blocked[first / j->x->count])
		return;
	do {
		if (!is_ready(j, back, op))
			return;
		op = j->next[op];
	} while (op != first);
	push(j, first);
}

/* What counts behind the last op of @rank. */
static gint64 behind(const PipesimJustifier *j, guint rank)
{
	return j->x->behind != NULL ? j->x->behind[rank] : 0;
}

/* When all is there that @op waits for. */
static gint64 ready_at(const PipesimJustifier *j, gboolean back, guint32 op)
{
	const guint32 count = j->x->count, code = op / count, k = op - code * count;
	const PipesimPutting *p = &j->putting[back][code];
	gint64 ready = back ? behind(j, p->rank) : 0;

	for (guint i = 0; i < p->n_inputs; i++) {
		const guint32 from = p->input[i] * count + k;
		const gint64 end = j->other[from] + j->took[from] + p->lag[i];

		if (j->first[from] != j->first[op])
			ready = MAX(ready, end);
	}
	if (j->done[code] > 0) {
		const guint32 before = back ? op + 1 : op - 1;
		const gint64 end = j->other[before] + j->took[before];

		ready = MAX(ready, end);
	}
	return ready;
}

/* From when on, @ready or later, @rank has room for @takes and keeps it; -1: what gives it back has not been put. */
static gint64 room_at(const PipesimJustifier *j, guint rank, const gint64 *takes, gint64 ready)
{
	const PipesimInstance *x = j->x;
	const PipesimTurnover *of = &j->turnovers[2 * (gsize)rank * x->per_rank];

	for (guint r = 0; r < x->n_rooms; r++) {
		const gint64 most = x->room[r].limit[rank] - takes[r];
		gint64 held = j->held[rank * PIPESIM_MAX_ROOMS + r];

		if (takes[r] == 0)
			continue;
		if (held > most)
			return -1;
		for (guint i = j->n_turnovers[rank]; i-- > 0 && of[i].at > ready;) {
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

/* Returns whether that is anything. */
static gboolean turn_over(PipesimJustifier *j, guint rank, PipesimTurnover change)
{
	PipesimTurnover *of = &j->turnovers[2 * (gsize)rank * j->x->per_rank];
	gboolean any = FALSE;

	for (guint r = 0; r < PIPESIM_MAX_ROOMS; r++)
		any |= change.change[r] != 0;
	if (!any)
		return FALSE;
	guint at = j->n_turnovers[rank]++;
	for (; at > 0 && of[at - 1].at > change.at; at--)
		of[at] = of[at - 1];
	of[at] = change;
	for (guint r = 0; r < PIPESIM_MAX_ROOMS; r++)
		j->held[rank * PIPESIM_MAX_ROOMS + r] += change.change[r];
	return TRUE;
}

/* Puts @first and what runs as one with it, in j->other. Returns when they end; -1: there is no room for them yet. */
static gint64 put(PipesimJustifier *j, gboolean back, guint32 first)
{
	const guint32 count = j->x->count, codes = j->x->chunks * j->x->kinds;
	const guint rank = j->putting[back][first / count].rank;
	const gint64 took = j->took[first];
	PipesimTurnover taken = {0}, given = {0}; /* at both ends of it */
	guint32 op = first;
	gint64 at = 0;

	do {
		const gint64 ready = ready_at(j, back, op);

		at = MAX(at, ready);
		for (guint r = 0; r < j->x->n_rooms; r++) {
			taken.change[r] += j->putting[back][op / count].takes[r];
			given.change[r] -= j->putting[!back][op / count].takes[r];
		}
		op = j->next[op];
	} while (op != first);
	at = room_at(j, rank, taken.change, at);
	if (at < 0)
		return -1;
	at = stay_at(j, rank, at, took);
	do {
		j->other[op] = at;
		j->done[op / count]++;
		op = j->next[op];
	} while (op != first);
	taken.at = at;
	given.at = at + took;
	turn_over(j, rank, taken);
	if (turn_over(j, rank, given))
		/* Those of the rank that had to wait may have room now. */
		for (guint code = rank * codes; code < (rank + 1) * codes; code++)
			if (j->blocked[code]) {
				j->blocked[code] = FALSE;
				push(j, op_of(j, back, code));
			}
	/* Codes of which one more can be put now. What waits for an op is what it waits for looking the other way;
	 * of these only those are new that waited for this one. */
	do {
		const guint code = op / count;
		const PipesimPutting *other = &j->putting[!back][code];

		offer(j, back, code);
		for (guint i = 0; i < other->n_inputs; i++)
			if (j->done[other->input[i]] + 1 == j->done[code])
				offer(j, back, other->input[i]);
		op = j->next[op];
	} while (op != first);
	return at + took;
}

/* Puts all ops by j->key. Returns when the last one ends; -1: some never found room. */
static gint64 put_all(PipesimJustifier *j, gboolean back)
{
	const guint ranks = j->x->ranks, codes = j->x->lanes * j->x->kinds;
	gint64 makespan = 0;

	memset(j->n_stays, 0, sizeof *j->n_stays * ranks);
	memset(j->n_turnovers, 0, sizeof *j->n_turnovers * ranks);
	memset(j->held, 0, sizeof *j->held * ranks * PIPESIM_MAX_ROOMS);
	memset(j->done, 0, sizeof *j->done * codes);
	memset(j->blocked, 0, codes);
	memset(j->queued, 0, codes);
	j->n_heap = 0;
	for (guint code = 0; code < codes; code++)
		offer(j, back, code);
	while (j->n_heap > 0) {
		const guint code = pop(j);
		gint64 end = put(j, back, op_of(j, back, code));

		j->blocked[code] = end < 0;
		if (end >= 0 && !back)
			end += behind(j, j->putting[back][code].rank);
		makespan = MAX(makespan, end);
	}
	for (guint code = 0; code < codes; code++)
		if (j->done[code] < j->x->count)
			return -1;
	return makespan;
}

void pipesim_justifier_begin(
	PipesimJustifier *j, const guint8 *codes, const gint64 *starts, gint64 makespan)
{
	const PipesimInstance *x = j->x;
	const guint per_code = x->chunks * x->kinds;
	const guint mask = pipesim_instance_code_mask(x);
	g_autofree guint32 *done = g_new(guint32, per_code);

	memcpy(j->start, starts, sizeof *starts * j->n);
	j->makespan = makespan;
	/* What ops run as one with, and how long. */
	for (guint rank = 0; rank < x->ranks; rank++, codes += x->per_rank) {
		guint32 before = 0;
		gboolean glued = FALSE;

		memset(done, 0, sizeof *done * per_code);
		for (guint i = 0; i < x->per_rank; i++) {
			const guint code = codes[i] & mask, flags = codes[i] & ~mask;
			const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
			const guint32 op = (rank * per_code + code) * x->count + done[code]++;

			j->first[op] = glued ? j->first[before] : op;
			j->next[op] = j->first[op];
			if (glued)
				j->next[before] = op;
			j->took[op] = x->time[code % x->kinds][lane];
			if (glued)
				j->took[op] = j->took[before];
			else if ((flags & PIPESIM_CODE_PAIRED) != 0)
				j->took[op] = pipesim_instance_pair(
					x, lane, (codes[i + 1] & mask) / x->kinds);
			else if (flags != 0)
				j->took[op] = x->whole[lane];
			glued = flags != 0;
			before = op;
		}
	}
}

/* Overlapped pairs ---------------------------------------------------------------------------- */

/* The @n @ops run as one for @took. */
static void join(PipesimJustifier *j, const guint32 *ops, guint n, gint64 took)
{
	for (guint i = 0; i < n; i++) {
		j->first[ops[i]] = ops[0];
		j->next[ops[i]] = ops[(i + 1) % n];
		j->took[ops[i]] = took;
	}
}

/* The backward of the rank of @f that starts nearest to it, of those in no pair; PIPESIM_NO_OP: there is none near. */
static guint32 nearest_backward(const PipesimJustifier *j, guint32 f)
{
	const PipesimInstance *x = j->x;
	const guint rank = f / x->count / x->kinds / x->chunks;
	guint32 found = PIPESIM_NO_OP;
	gint64 least = 2 * j->took[f] + 1;

	for (guint chunk = 0; chunk < x->chunks; chunk++) {
		const guint32 code = (rank * x->chunks + chunk) * x->kinds + PIPESIM_CODE_I;
		const gint64 *start = &j->start[code * x->count];
		guint from;

		/* The first that does not start before it, and the one before. */
		pipesim_skip(from, x->count, start[from] < j->start[f]);
		for (guint32 i = code * x->count + from - (from > 0);
			i <= code * x->count + from && i < (code + 1) * x->count; i++) {
			const gint64 off = ABS(j->start[i] - j->start[f]);

			/* Its own waits for it. */
			if (off < least && j->first[i] == i && i != f + x->count) {
				least = off;
				found = i;
			}
		}
	}
	return found;
}

/* A forward and a backward near it become a pair, or none any longer. */
static void change_pair(PipesimJustifier *j, guint32 f)
{
	const PipesimInstance *x = j->x;
	const guint32 i = j->next[f] != f ? j->next[f] : nearest_backward(j, f);
	const guint32 w = i + x->count, ops[] = {f, i, w};
	const guint lane = f / x->count / x->kinds, back = i / x->count / x->kinds;

	if (i == PIPESIM_NO_OP)
		return;
	if (j->next[f] == f) {
		join(j, ops, x->kinds, pipesim_instance_pair(x, lane, back % x->chunks));
		return;
	}
	join(j, &f, 1, x->time[F][lane]);
	if (x->kinds > 2 && draw(j, 2) > 0) {
		join(j, &i, 1, x->time[I][back]);
		join(j, &w, 1, x->time[W][back]);
	} else {
		join(j, ops + 1, x->kinds - 1,
			x->kinds > 2 ? x->whole[back] : x->time[I][back]);
	}
}

/* Some that start less than @part from @middle. */
static void change_pairs(PipesimJustifier *j, gint64 middle, gint64 part)
{
	const PipesimInstance *x = j->x;

	for (guint tries = draw(j, CHANGES); tries > 0; tries--) {
		const guint32 lane = draw(j, x->lanes);
		const guint32 f = lane * x->kinds * x->count + draw(j, x->count);

		if (ABS(j->start[f] - middle) < part)
			change_pair(j, f);
	}
}

/* What runs as one becomes what it was, or, if not @back, the other way round. */
static void keep_pairs(PipesimJustifier *j, gboolean back)
{
	memcpy(back ? j->first : j->was_first, back ? j->was_first : j->first,
		sizeof *j->first * j->n);
	memcpy(back ? j->next : j->was_next, back ? j->was_next : j->next,
		sizeof *j->next * j->n);
	memcpy(back ? j->took : j->was_took, back ? j->was_took : j->took,
		sizeof *j->took * j->n);
}

gboolean pipesim_justifier_run(PipesimJustifier *j, gboolean noise)
{
	const gint64 before = j->makespan;
	const gint64 off = j->op * MOST_OFF * draw(j, 1 << 10) / (1 << 10);
	const gboolean all = draw(j, EVERYWHERE) == 0;
	const gint64 middle = (gint64)((double)before * draw(j, 1 << 16) / (1 << 16));
	const gint64 part = before / 100 * (LEAST_PART + draw(j, MOST_PART - LEAST_PART));

	if (j->was_took != NULL) {
		keep_pairs(j, FALSE);
		if (noise)
			change_pairs(j, middle, all ? G_MAXINT64 : part);
	}
	/* By when an op ends looking backwards, the later the less; off at random. */
	for (guint32 op = 0; op < j->n; op++) {
		j->key[op] = -j->start[op] - j->took[op];
		if (noise && off > 0 && (all || ABS(j->start[op] - middle) < part))
			j->key[op] += off * ((gint64)draw(j, 1 << 11) - (1 << 10)) / (1 << 10);
	}
	gint64 makespan = put_all(j, TRUE);
	if (makespan >= 0) {
		for (guint32 op = 0; op < j->n; op++)
			j->key[op] = makespan - j->other[op] - j->took[op];
		makespan = put_all(j, FALSE);
	}
	if (makespan < 0 || makespan > before) {
		if (j->was_took != NULL)
			keep_pairs(j, TRUE);
		return FALSE;
	}
	memcpy(j->start, j->other, sizeof *j->start * j->n);
	j->makespan = makespan;
	return makespan < before;
}

/* Whether all that runs as one with @op comes next. */
static gboolean is_next(const PipesimJustifier *j, guint32 op)
{
	const guint32 count = j->x->count, first = op;

	do {
		if (op % count != j->done[op / count])
			return FALSE;
		op = j->next[op];
	} while (op != first);
	return TRUE;
}

void pipesim_justifier_codes(PipesimJustifier *j, guint8 *codes)
{
	const PipesimInstance *x = j->x;
	const guint per_code = x->chunks * x->kinds;

	memset(j->done, 0, sizeof *j->done * x->lanes * x->kinds);
	for (guint rank = 0; rank < x->ranks; rank++, codes += x->per_rank)
		for (guint i = 0; i < x->per_rank;) {
			guint32 first = 0, op;
			gint64 start = G_MAXINT64;

			/* Of those that take no time what others wait for comes first. */
			for (guint code = rank * per_code; code < (rank + 1) * per_code;
				code++) {
				op = code * x->count + j->done[code];
				if (j->done[code] < x->count && j->first[op] == op &&
					j->start[op] < start && is_next(j, op)) {
					start = j->start[op];
					first = op;
				}
			}
			op = first;
			do {
				const guint code = op / x->count;

				codes[i] = (guint8)(code % per_code);
				if (j->next[op] != first)
					codes[i] |= code % x->kinds == F ? PIPESIM_CODE_PAIRED
									 : PIPESIM_CODE_JOINED;
				j->done[code]++;
				op = j->next[op];
				i++;
			} while (op != first);
		}
}

/* Of an order by itself --------------------------------------------------------------------- */

typedef struct {
	const PipesimInstance *x;
	gint64 *start;       /* [op] */
	guint32 *done;       /* [code of all lanes] */
	guint *at;           /* [rank]: ops so far */
	gint64 *begin, *end; /* [rank] */
} Run;

/* When what the next op of @code waits for is there; -1: it has not run. */
static gint64 input_at(const Run *run, guint32 code)
{
	const guint32 count = run->x->count, k = run->done[code];
	gint64 hop;
	const guint32 from = pipesim_instance_input(run->x, code, &hop);

	if (from == PIPESIM_NO_LANE)
		return 0;
	if (run->done[from] <= k)
		return -1;
	return run->start[from * count + k] +
	       run->x->time[from % run->x->kinds][from / run->x->kinds] + hop;
}

/* Runs @codes, which come to an end. */
static void run_codes(Run *run, const guint8 *codes, gint64 *makespan, gint64 *span)
{
	const PipesimInstance *x = run->x;
	const guint per_code = x->chunks * x->kinds;
	gboolean more;

	memset(run->done, 0, sizeof *run->done * x->lanes * x->kinds);
	memset(run->at, 0, sizeof *run->at * x->ranks);
	memset(run->end, 0, sizeof *run->end * x->ranks);
	do {
		more = FALSE;
		for (guint rank = 0; rank < x->ranks; rank++)
			for (guint *at = &run->at[rank]; *at < x->per_rank; (*at)++) {
				const guint32 code = rank * per_code +
						     codes[(gsize)rank * x->per_rank + *at];
				const gint64 ready = input_at(run, code);
				const gint64 start = MAX(ready, run->end[rank]);

				if (ready < 0)
					break;
				if (*at == 0)
					run->begin[rank] = start;
				run->start[code * x->count + run->done[code]++] = start;
				run->end[rank] =
					start + x->time[code % x->kinds][code / x->kinds];
				more = TRUE;
			}
	} while (more);
	*makespan = *span = 0;
	for (guint rank = 0; rank < x->ranks; rank++) {
		*makespan = MAX(*makespan, run->end[rank]);
		*span = MAX(*span, run->end[rank] - run->begin[rank]);
	}
}

void pipesim_justify(
	const PipesimInstance *x, guint8 *codes, guint times, gint64 *makespan, gint64 *span)
{
	const gsize n = (gsize)x->ranks * x->per_rank;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Run run = {.x = x,
		.start = pipesim_arena_array(arena, gint64, n),
		.done = pipesim_arena_array(arena, guint32, (gsize)x->lanes * x->kinds),
		.at = pipesim_arena_array(arena, guint, x->ranks),
		.begin = pipesim_arena_array(arena, gint64, x->ranks),
		.end = pipesim_arena_array(arena, gint64, x->ranks)};
	guint8 *anew = pipesim_arena_array(arena, guint8, n);
	PipesimJustifier j;

	pipesim_justifier_init(&j, x, 0, 0, arena);
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	run_codes(&run, codes, makespan, span);
	pipesim_justifier_begin(&j, codes, run.start, *makespan);
	for (guint i = 0; i < times; i++)
		pipesim_justifier_run(&j, i > 0);
	if (j.makespan >= *makespan)
		return;
	pipesim_justifier_codes(&j, anew);
	/* It may not fit where codes hold more than rooms say. */
	if (!pipesim_instance_all_fit(x, anew))
		return;
	memcpy(codes, anew, n);
	run_codes(&run, codes, makespan, span);
}
