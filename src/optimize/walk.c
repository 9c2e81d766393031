#include "base/phases.h"
#include "optimize/walk-inner.h"

#define NO_OP PIPESIM_NO_OP

void pipesim_walk_init(PipesimWalk *walk, const PipesimInstance *x, guint64 seed,
	guint64 number, PipesimArena *arena)
{
	const gsize n = (gsize)x->ranks * x->per_rank;

	*walk = (PipesimWalk){.x = x,
		.n = (guint)n,
		.per_rank = x->per_rank,
		.most_shift = MIN(x->per_rank - 1, 3 * x->chunks * x->kinds),
		.glues = x->whole != NULL || x->pair != NULL,
		.key = pipesim_sample_key(seed, number),
		.took = pipesim_arena_array(arena, gint64, n),
		.input = pipesim_arena_array(arena, guint32, n),
		.output = pipesim_arena_array(arena, guint32, n),
		.lag = pipesim_arena_array(arena, gint64, n),
		.head = pipesim_arena_array(arena, gint64, n),
		.tail = pipesim_arena_array(arena, gint64, n),
		.place = pipesim_arena_array(arena, guint32, n),
		.turn = pipesim_arena_array(arena, guint32, n),
		.seq = pipesim_arena_array(arena, guint32, n),
		.turns = pipesim_arena_array(arena, guint32, n),
		.best = pipesim_arena_array(arena, guint8, n),
		.window = pipesim_arena_array(arena, guint32, 2 * (gsize)x->per_rank),
		.window_head = pipesim_arena_array(arena, gint64, x->per_rank),
		.queue = pipesim_arena_array(arena, guint32, n),
		.waits = pipesim_arena_array(arena, guint8, n),
		.dirty = pipesim_arena_array(arena, guint64, n / 64 + 1)};
	for (guint i = 0; i < x->n_rooms; i++)
		walk->level[i] = pipesim_arena_array(arena, gint64, n);
	walk->step = walk->took;
	if (walk->glues) {
		walk->step = pipesim_arena_array(arena, gint64, n);
		walk->glued = pipesim_arena_array(arena, guint8, n);
	}
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	for (guint32 op = 0; op < walk->n; op++) {
		walk->took[op] =
			x->time[pipesim_walk_kind(walk, op)][pipesim_walk_lane(walk, op)];
		walk->input[op] = walk->output[op] = NO_OP;
	}
	for (guint32 code = 0; code < x->lanes * x->kinds; code++) {
		gint64 hop;
		const guint32 from = pipesim_instance_input(x, code, &hop);

		for (guint32 k = 0;
			k < x->count && from != PIPESIM_NO_LANE && code % x->kinds != W; k++) {
			walk->input[code * x->count + k] = from * x->count + k;
			walk->output[from * x->count + k] = code * x->count + k;
			walk->lag[code * x->count + k] = hop;
		}
	}
}

/* Longest paths -------------------------------------------------------------------------- */

/* Whether @op is an F that waits for the input of the I behind it too. */
static gboolean is_paired(const PipesimWalk *walk, guint32 op)
{
	return pipesim_walk_is_glued(walk, op) && pipesim_walk_kind(walk, op) == F;
}

static gint64 arrival(const PipesimWalk *walk, guint32 op)
{
	const guint32 input = walk->input[op];

	return input == NO_OP ? 0 : walk->head[input] + walk->took[input] + walk->lag[op];
}

/* What follows the message of @op. */
static gint64 departure(const PipesimWalk *walk, guint32 op)
{
	const guint32 output = walk->output[op];

	if (output == NO_OP)
		return 0;
	guint32 first = pipesim_walk_entry(walk, output);
	return walk->tail[first] + walk->took[first] + walk->lag[output];
}

/* Longest paths are looked for anew where something has changed that they hang on. */
static void mark(PipesimWalk *walk, guint32 op)
{
	const guint32 turn = walk->turn[op];

	walk->dirty[turn / 64] |= G_GUINT64_CONSTANT(1) << turn % 64;
}

static void mark_turns(PipesimWalk *walk, guint32 first, guint32 last)
{
	for (guint32 turn = first; turn <= last; turn++)
		walk->dirty[turn / 64] |= G_GUINT64_CONSTANT(1) << turn % 64;
}

/* From turn @first on, of ops that are marked. */
static void find_heads(PipesimWalk *walk, guint32 first)
{
	const guint32 words = (walk->n + 63) / 64;

	for (guint32 word = first / 64; word < words; word++)
		while (walk->dirty[word] != 0) {
			const guint32 bit = (guint32)__builtin_ctzll(walk->dirty[word]);
			const guint32 op = walk->turns[word * 64 + bit];
			const guint32 before = pipesim_walk_previous(walk, op),
				      after = pipesim_walk_next(walk, op);
			const gint64 ready = arrival(walk, op);
			const gint64 free_at =
				before == NO_OP ? 0 : walk->head[before] + walk->step[before];
			gint64 head = MAX(ready, free_at);

			walk->dirty[word] &= walk->dirty[word] - 1;
			if (is_paired(walk, op)) {
				const gint64 other = arrival(walk, after);

				head = MAX(head, other);
			}
			if (head == walk->head[op])
				continue;
			walk->head[op] = head;
			if (after != NO_OP)
				mark(walk, after);
			if (walk->output[op] != NO_OP)
				mark(walk, pipesim_walk_entry(walk, walk->output[op]));
		}
}

/* What counts behind the last op of @rank. */
static gint64 behind(const PipesimWalk *walk, guint rank)
{
	return walk->x->behind != NULL ? walk->x->behind[rank] : 0;
}

/* From turn @last back. */
static void find_tails(PipesimWalk *walk, guint32 last)
{
	gint64 longest = 0;

	for (guint32 word = last / 64 + 1; word-- > 0;)
		while (walk->dirty[word] != 0) {
			const guint32 bit = 63 - (guint32)__builtin_clzll(walk->dirty[word]);
			const guint32 op = walk->turns[word * 64 + bit];
			const guint32 before = pipesim_walk_previous(walk, op),
				      after = pipesim_walk_next(walk, op);
			const gint64 left = departure(walk, op);
			const gint64 rest =
				after == NO_OP ? behind(walk, walk->place[op] / walk->per_rank)
					       : walk->tail[after] + walk->took[after] +
							 walk->step[op] - walk->took[op];
			const gint64 tail = MAX(left, rest);

			walk->dirty[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
			if (tail == walk->tail[op])
				continue;
			walk->tail[op] = tail;
			if (before != NO_OP)
				mark(walk, before);
			if (walk->input[op] != NO_OP)
				mark(walk, walk->input[op]);
			if (is_paired(walk, op) && walk->input[after] != NO_OP)
				mark(walk, walk->input[after]);
		}
	/* Every path ends with a rank's last op. */
	for (guint rank = 0; rank < walk->x->ranks; rank++) {
		const guint32 op = walk->seq[(rank + 1) * walk->per_rank - 1];
		const gint64 end = walk->head[op] + walk->took[op] + behind(walk, rank);

		longest = MAX(longest, end);
	}
	walk->makespan = longest;
}

static gboolean is_between(const PipesimWalk *walk, guint32 op, guint32 first, guint32 last)
{
	return op != NO_OP && walk->turn[op] >= first && walk->turn[op] <= last;
}

/* Puts turns @first to @last into an order again in which each op comes after what it waits for, where
 * only neighbours on one rank within them have changed places. FALSE where there is none: turns are then
 * as they were. */
static gboolean sort_turns(PipesimWalk *walk, guint32 first, guint32 last)
{
	const guint32 n = last + 1 - first;
	guint32 *queue = walk->queue;
	guint32 end = 0;

	for (guint32 t = first; t <= last; t++) {
		const guint32 op = walk->turns[t];
		guint8 waits = is_between(walk, pipesim_walk_previous(walk, op), first, last);

		/* A pair's backward waits for its forward alone, which waits for the input of both. */
		if (pipesim_walk_entry(walk, op) == op || pipesim_walk_kind(walk, op) != I)
			waits += is_between(walk, walk->input[op], first, last);
		if (is_paired(walk, op))
			waits += is_between(
				walk, walk->input[pipesim_walk_next(walk, op)], first, last);
		walk->waits[op] = waits;
		if (waits == 0)
			queue[end++] = op;
	}
	for (guint32 at = 0; at < end; at++) {
		const guint32 output = walk->output[queue[at]];
		const guint32 after[2] = {pipesim_walk_next(walk, queue[at]),
			output == NO_OP ? NO_OP : pipesim_walk_entry(walk, output)};

		for (guint i = 0; i < 2; i++)
			if (is_between(walk, after[i], first, last) &&
				--walk->waits[after[i]] == 0)
				queue[end++] = after[i];
	}
	if (end < n)
		return FALSE;
	for (guint32 i = 0; i < n; i++) {
		walk->turns[first + i] = queue[i];
		walk->turn[queue[i]] = first + i;
	}
	return TRUE;
}

void pipesim_walk_codes(const PipesimWalk *walk, guint8 *codes)
{
	for (guint32 place = 0; place < walk->n; place++)
		codes[place] = (guint8)pipesim_walk_code(walk, walk->seq[place]);
	for (guint32 place = 0; walk->glues && place < walk->n; place++)
		if (walk->glued[walk->seq[place]] != 0)
			codes[place] |= pipesim_walk_kind(walk, walk->seq[place]) == F
						? PIPESIM_CODE_PAIRED
						: PIPESIM_CODE_JOINED;
}

void pipesim_walk_keep_best(PipesimWalk *walk)
{
	walk->best_makespan = walk->makespan;
	pipesim_walk_codes(walk, walk->best);
}

/* As pipesim_room_hold() has it. */
static gboolean is_of_glued(const PipesimWalk *walk, guint32 op)
{
	return pipesim_walk_is_glued(
		walk, pipesim_walk_kind(walk, op) == W ? op - walk->x->count : op);
}

/* From place @first on, to before @end. */
static void find_levels(PipesimWalk *walk, guint32 first, guint32 end)
{
	for (guint i = 0; i < walk->x->n_rooms; i++)
		for (guint32 place = first; place < end; place++) {
			walk->level[i][place] = 0;
			if (place % walk->per_rank == 0)
				continue;
			guint32 op = walk->seq[place - 1];
			walk->level[i][place] = walk->level[i][place - 1] +
						pipesim_room_change(&walk->x->room[i],
							pipesim_walk_lane(walk, op),
							pipesim_walk_kind(walk, op),
							walk->glues && is_of_glued(walk, op));
		}
}

void pipesim_walk_glue(
	PipesimWalk *walk, guint32 f, guint32 i, gboolean joined, gboolean paired)
{
	const PipesimInstance *x = walk->x;
	const guint lane = pipesim_walk_lane(walk, i);

	walk->took[i] = x->time[I][lane];
	if (x->kinds > 2) {
		const guint32 w = i + x->count;

		walk->glued[i] = joined;
		walk->took[w] = walk->step[w] = joined ? 0 : x->time[W][lane];
		if (joined)
			walk->took[i] = x->whole[lane];
	}
	walk->step[i] = walk->took[i];
	if (f == NO_OP)
		return;
	walk->glued[f] = paired;
	walk->took[f] = walk->step[f] = x->time[F][pipesim_walk_lane(walk, f)];
	if (paired) {
		const guint chunk = lane % x->chunks;

		walk->took[f] = pipesim_instance_pair(x, pipesim_walk_lane(walk, f), chunk);
		walk->step[f] = 0;
		walk->took[i] = walk->step[i] = walk->took[f];
	}
}

gboolean pipesim_walk_begin(PipesimWalk *walk, const guint8 *codes)
{
	const PipesimInstance *x = walk->x;
	const guint n_codes = x->chunks * x->kinds;
	const guint mask = pipesim_instance_code_mask(x);
	g_autofree guint32 *done = g_new0(guint32, n_codes);

	for (guint32 place = 0; place < walk->n; place++) {
		const guint rank = place / walk->per_rank, code = codes[place] & mask;

		if (place % walk->per_rank == 0)
			memset(done, 0, n_codes * sizeof *done);
		guint32 op = (rank * n_codes + code) * x->count + done[code]++;
		walk->seq[place] = op;
		walk->place[op] = place;
		walk->turns[place] = op;
		walk->turn[op] = place;
	}
	for (guint32 op = 0; op < walk->n && walk->glues; op++) {
		walk->glued[op] = 0;
		walk->took[op] = walk->step[op] =
			x->time[pipesim_walk_kind(walk, op)][pipesim_walk_lane(walk, op)];
	}
	for (guint32 place = walk->n; place-- > 0 && walk->glues;) {
		const guint32 op = walk->seq[place];

		if ((codes[place] & PIPESIM_CODE_JOINED) != 0)
			pipesim_walk_glue(walk, NO_OP, op, TRUE, FALSE);
		else if ((codes[place] & PIPESIM_CODE_PAIRED) != 0)
			pipesim_walk_glue(walk, op, walk->seq[place + 1], TRUE, TRUE);
	}
	if (!sort_turns(walk, 0, walk->n - 1))
		return FALSE;
	find_levels(walk, 0, walk->n);
	mark_turns(walk, 0, walk->n - 1);
	find_heads(walk, 0);
	mark_turns(walk, 0, walk->n - 1);
	find_tails(walk, walk->n - 1);
	pipesim_walk_keep_best(walk);
	return TRUE;
}

/* Another window ---------------------------------------------------------------------------------- */

gboolean pipesim_walk_has_room(const PipesimWalk *walk, guint32 first, guint n)
{
	const guint rank = first / walk->per_rank;

	for (guint i = 0; i < walk->x->n_rooms; i++) {
		const PipesimRoom *room = &walk->x->room[i];
		gint64 level = walk->level[i][first];

		for (guint k = 0; k < n; k++) {
			const guint32 op = walk->window[k];

			if (!pipesim_room_hold(room, rank, pipesim_walk_lane(walk, op),
				    pipesim_walk_kind(walk, op),
				    walk->glues && is_of_glued(walk, op), &level))
				return FALSE;
		}
	}
	return TRUE;
}

gint64 pipesim_walk_longest_through(PipesimWalk *walk, guint32 first, guint n, gint64 most)
{
	const guint32 end = first + n;
	gint64 at = 0, rest = behind(walk, first / walk->per_rank), longest = 0;

	if (first % walk->per_rank > 0) {
		const guint32 before = walk->seq[first - 1];

		at = walk->head[before] + walk->step[before];
	}
	for (guint k = 0; k < n; k++) {
		const gint64 ready = arrival(walk, walk->window[k]);

		at = MAX(at, ready);
		if (is_paired(walk, walk->window[k])) {
			const gint64 other = arrival(walk, walk->window[k + 1]);

			at = MAX(at, other);
		}
		walk->window_head[k] = at;
		at += walk->step[walk->window[k]];
	}
	if (end % walk->per_rank > 0) {
		const guint32 after = walk->seq[end];

		rest = walk->tail[after] + walk->took[after];
	}
	for (guint k = n; k-- > 0 && longest <= most;) {
		const guint32 op = walk->window[k];
		const gint64 left = departure(walk, op) + walk->took[op];

		rest += walk->step[op];
		rest = MAX(rest, left);
		gint64 through = walk->window_head[k] + rest;
		longest = MAX(longest, through);
	}
	return longest;
}

static void put(PipesimWalk *walk, const guint32 *window, guint32 first, guint n)
{
	for (guint k = 0; k < n; k++) {
		walk->seq[first + k] = window[k];
		walk->place[window[k]] = first + k;
	}
}

/* The ops of the window and that after it, or before it: others have changed no neighbour. Returns the
 * last of their turns. */
static guint32 mark_window(PipesimWalk *walk, guint32 first, guint n)
{
	const guint32 begin = first - first % walk->per_rank;
	const guint32 from = MAX(first, begin + 1) - 1;
	const guint32 end = MIN(first + n + 1, begin + walk->per_rank);
	guint32 last = 0;

	for (guint32 place = from; place < end; place++) {
		mark(walk, walk->seq[place]);
		last = MAX(last, walk->turn[walk->seq[place]]);
	}
	return last;
}

/* What hangs on how long the ops of the window take. Returns the last of their turns. */
static guint32 mark_neighbours(PipesimWalk *walk, guint32 first, guint n, gboolean outputs)
{
	guint32 last = 0;

	for (guint32 place = first; place < first + n; place++) {
		const guint32 op = walk->seq[place];
		guint32 other = outputs ? walk->output[op] : walk->input[op];

		if (other == NO_OP)
			continue;
		if (outputs)
			other = pipesim_walk_entry(walk, other);
		mark(walk, other);
		last = MAX(last, walk->turn[other]);
	}
	return last;
}

gboolean pipesim_walk_take(PipesimWalk *walk, guint32 first, guint n, gboolean retimed)
{
	guint32 *before = &walk->window[walk->per_rank];
	guint32 from = G_MAXUINT32, until = 0, last;

	memcpy(before, &walk->seq[first], n * sizeof *before);
	for (guint k = 0; k < n; k++) {
		from = MIN(from, walk->turn[before[k]]);
		until = MAX(until, walk->turn[before[k]]);
	}
	put(walk, walk->window, first, n);
	if (!sort_turns(walk, from, until)) {
		put(walk, before, first, n);
		return FALSE;
	}
	find_levels(walk, first + 1, first + n);
	mark_window(walk, first, n);
	if (retimed)
		mark_neighbours(walk, first, n, TRUE);
	find_heads(walk, 0);
	last = mark_window(walk, first, n);
	if (retimed)
		mark_neighbours(walk, first, n, FALSE);
	find_tails(walk, last);
	walk->taken++;
	return TRUE;
}
