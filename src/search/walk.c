#include "config.h"

#include "search/walk.h"
#include <math.h>
#include <string.h>

#define F     PIPESIM_CODE_F
#define I     PIPESIM_CODE_I
#define W     PIPESIM_CODE_W
#define NO_OP PIPESIM_NO_OP

static guint32 draw(PipesimWalk *walk, guint32 below)
{
	return pipesim_random_below(walk->key, walk->drawn++, below);
}

static guint code_of(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count % (walk->x->chunks * walk->x->kinds);
}

static guint kind_of(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count % walk->x->kinds;
}

static guint lane_of(const PipesimWalk *walk, guint32 op)
{
	return op / walk->x->count / walk->x->kinds;
}

static void connect(PipesimWalk *walk, guint32 from, guint32 to, gint64 lag)
{
	walk->input[to] = from;
	walk->lag[to] = lag;
	walk->output[from] = to;
}

static void connect_all(PipesimWalk *walk)
{
	const PipesimInstance *x = walk->x;
	const guint32 count = x->count;

	for (guint32 op = 0; op < walk->n; op++) {
		walk->took[op] = x->time[kind_of(walk, op)][lane_of(walk, op)];
		walk->input[op] = walk->output[op] = NO_OP;
	}
	for (guint32 lane = 0; lane < x->lanes; lane++)
		for (guint32 k = 0; k < count; k++) {
			const guint32 forward = lane * x->kinds * count + k;
			const guint32 backward = forward + count;

			if (x->before[lane] != PIPESIM_NO_LANE)
				connect(walk, x->before[lane] * x->kinds * count + k, forward,
					x->hop[lane]);
			if (x->after[lane] != PIPESIM_NO_LANE)
				connect(walk, (x->after[lane] * x->kinds + I) * count + k,
					backward, x->hop_back[lane]);
			else
				connect(walk, forward, backward, 0);
		}
}

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
	if (pipesim_arena_check(arena, NULL, "ops"))
		connect_all(walk);
}

/* Longest paths -------------------------------------------------------------------------- */

/* The op before @op on its rank. */
static guint32 previous(const PipesimWalk *walk, guint32 op)
{
	const guint32 place = walk->place[op];

	return place % walk->per_rank > 0 ? walk->seq[place - 1] : NO_OP;
}

static guint32 next_of(const PipesimWalk *walk, guint32 op)
{
	const guint32 place = walk->place[op];

	return (place + 1) % walk->per_rank > 0 ? walk->seq[place + 1] : NO_OP;
}

static gboolean is_glued(const PipesimWalk *walk, guint32 op)
{
	return walk->glues && walk->glued[op] != 0;
}

/* Whether @op is an F that waits for the input of the I behind it too. */
static gboolean is_paired(const PipesimWalk *walk, guint32 op)
{
	return is_glued(walk, op) && kind_of(walk, op) == F;
}

/* What waits for the input of @op: the first op of its pair, or @op. */
static guint32 entry(const PipesimWalk *walk, guint32 op)
{
	const guint32 before = walk->glues ? previous(walk, op) : NO_OP;

	return before != NO_OP && walk->glued[before] != 0 ? before : op;
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
	guint32 first;

	if (output == NO_OP)
		return 0;
	first = entry(walk, output);
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
			const guint32 before = previous(walk, op), after = next_of(walk, op);
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
				mark(walk, entry(walk, walk->output[op]));
		}
}

/* From turn @last back. */
static void find_tails(PipesimWalk *walk, guint32 last)
{
	gint64 longest = 0;

	for (guint32 word = last / 64 + 1; word-- > 0;)
		while (walk->dirty[word] != 0) {
			const guint32 bit = 63 - (guint32)__builtin_clzll(walk->dirty[word]);
			const guint32 op = walk->turns[word * 64 + bit];
			const guint32 before = previous(walk, op), after = next_of(walk, op);
			const gint64 left = departure(walk, op);
			const gint64 rest = after == NO_OP
						    ? 0
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
		const gint64 end = walk->head[op] + walk->took[op];

		longest = MAX(longest, end);
	}
	walk->makespan = longest;
}

static gboolean is_between(const PipesimWalk *walk, guint32 op, guint32 first, guint32 last)
{
	return op != NO_OP && walk->turn[op] >= first && walk->turn[op] <= last;
}

/* Ops of turns @first to @last that @op waits for. */
static guint8 count_waits(const PipesimWalk *walk, guint32 op, guint32 first, guint32 last)
{
	guint8 waits = is_between(walk, previous(walk, op), first, last);

	/* A pair's backward waits for its forward alone, which waits for the input of both. */
	if (entry(walk, op) == op || kind_of(walk, op) != I)
		waits += is_between(walk, walk->input[op], first, last);
	if (is_paired(walk, op))
		waits += is_between(walk, walk->input[next_of(walk, op)], first, last);
	return waits;
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

		walk->waits[op] = count_waits(walk, op, first, last);
		if (walk->waits[op] == 0)
			queue[end++] = op;
	}
	for (guint32 at = 0; at < end; at++) {
		const guint32 output = walk->output[queue[at]];
		const guint32 after[2] = {next_of(walk, queue[at]),
			output == NO_OP ? NO_OP : entry(walk, output)};

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
		codes[place] = (guint8)code_of(walk, walk->seq[place]);
	for (guint32 place = 0; walk->glues && place < walk->n; place++)
		if (walk->glued[walk->seq[place]] != 0)
			codes[place] |= kind_of(walk, walk->seq[place]) == F
						? PIPESIM_CODE_PAIRED
						: PIPESIM_CODE_JOINED;
}

static void keep_best(PipesimWalk *walk)
{
	walk->best_makespan = walk->makespan;
	pipesim_walk_codes(walk, walk->best);
}

/* Whether @op is of a full backward. */
static gboolean is_joined(const PipesimWalk *walk, guint32 op)
{
	const guint kind = kind_of(walk, op);

	return kind != F && is_glued(walk, kind == W ? op - walk->x->count : op);
}

static gint64 change(const PipesimWalk *walk, guint room, guint32 op)
{
	return pipesim_room_change(&walk->x->room[room], lane_of(walk, op), kind_of(walk, op),
		walk->glues && is_joined(walk, op));
}

/* From place @first on, to before @end. */
static void find_levels(PipesimWalk *walk, guint32 first, guint32 end)
{
	for (guint i = 0; i < walk->x->n_rooms; i++)
		for (guint32 place = first; place < end; place++) {
			const guint32 before = place - 1;

			walk->level[i][place] =
				place % walk->per_rank == 0
					? 0
					: walk->level[i][before] +
						  change(walk, i, walk->seq[before]);
		}
}

/* Whether @i and its W run as one, and whether @f does with them; without @f (NO_OP): the former alone. */
static void glue(PipesimWalk *walk, guint32 f, guint32 i, gboolean joined, gboolean paired)
{
	const PipesimInstance *x = walk->x;
	const guint lane = lane_of(walk, i);

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
	walk->took[f] = walk->step[f] = x->time[F][lane_of(walk, f)];
	if (paired) {
		const guint chunk = lane % x->chunks;

		walk->took[f] = pipesim_instance_pair(x, lane_of(walk, f), chunk);
		walk->step[f] = 0;
		walk->took[i] = walk->step[i] = walk->took[f];
	}
}

static void glue_all(PipesimWalk *walk, const guint8 *codes)
{
	memset(walk->glued, 0, walk->n);
	for (guint32 op = 0; op < walk->n; op++)
		walk->took[op] = walk->step[op] =
			walk->x->time[kind_of(walk, op)][lane_of(walk, op)];
	for (guint32 place = walk->n; place-- > 0;) {
		const guint32 op = walk->seq[place];

		if ((codes[place] & PIPESIM_CODE_JOINED) != 0)
			glue(walk, NO_OP, op, TRUE, FALSE);
		else if ((codes[place] & PIPESIM_CODE_PAIRED) != 0)
			glue(walk, op, walk->seq[place + 1], TRUE, TRUE);
	}
}

gboolean pipesim_walk_begin(PipesimWalk *walk, const guint8 *codes)
{
	const PipesimInstance *x = walk->x;
	const guint n_codes = x->chunks * x->kinds;
	const guint mask = walk->glues ? PIPESIM_CODE_MASK : G_MAXUINT8;
	g_autofree guint32 *done = g_new0(guint32, n_codes);

	for (guint32 place = 0; place < walk->n; place++) {
		const guint rank = place / walk->per_rank, code = codes[place] & mask;
		guint32 op;

		if (place % walk->per_rank == 0)
			memset(done, 0, n_codes * sizeof *done);
		op = (rank * n_codes + code) * x->count + done[code]++;
		walk->seq[place] = op;
		walk->place[op] = place;
		walk->turns[place] = op;
		walk->turn[op] = place;
	}
	if (walk->glues)
		glue_all(walk, codes);
	if (!sort_turns(walk, 0, walk->n - 1))
		return FALSE;
	find_levels(walk, 0, walk->n);
	mark_turns(walk, 0, walk->n - 1);
	find_heads(walk, 0);
	mark_turns(walk, 0, walk->n - 1);
	find_tails(walk, walk->n - 1);
	keep_best(walk);
	return TRUE;
}

/* Moves ---------------------------------------------------------------------------------- */

/* Whether @a, before @b on its rank, may come after it: no other way leads from one to the other. */
static gboolean may_pass(const PipesimWalk *walk, guint32 a, guint32 b)
{
	const guint32 output = walk->output[a], input = walk->input[b];

	if (code_of(walk, a) == code_of(walk, b) || output == b)
		return FALSE;
	if (kind_of(walk, a) == I && kind_of(walk, b) == W && b == a + walk->x->count)
		return FALSE;
	/* A way would begin with what follows a and end with what b waits for: no later. */
	return output == NO_OP || input == NO_OP || walk->head[input] < walk->head[output];
}

/* What is held stays within the limit while the window runs from place @first on. */
static gboolean has_room(const PipesimWalk *walk, guint32 first, guint n)
{
	const guint rank = first / walk->per_rank;

	for (guint i = 0; i < walk->x->n_rooms; i++) {
		const PipesimRoom *room = &walk->x->room[i];
		gint64 level = walk->level[i][first];

		for (guint k = 0; k < n; k++) {
			const guint32 op = walk->window[k];

			if (!pipesim_room_hold(room, rank, lane_of(walk, op), kind_of(walk, op),
				    walk->glues && is_joined(walk, op), &level))
				return FALSE;
		}
	}
	return TRUE;
}

/* The longest path through an op of the window, were it to run from place @first on; more than @most
 * where it is above that. */
static gint64 longest_through(PipesimWalk *walk, guint32 first, guint n, gint64 most)
{
	const guint32 end = first + n;
	gint64 at = 0, rest = 0, longest = 0;

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
		gint64 through;

		rest += walk->step[op];
		rest = MAX(rest, left);
		through = walk->window_head[k] + rest;
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
			other = entry(walk, other);
		mark(walk, other);
		last = MAX(last, walk->turn[other]);
	}
	return last;
}

/* Takes the move. FALSE where it makes a cycle: nothing has then changed.
 * @retimed: ops of the window take another time than they did */
static gboolean take(PipesimWalk *walk, guint32 first, guint n, gboolean retimed)
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

/* A place whose op is on a longest path, in most cases. */
static guint32 draw_place(PipesimWalk *walk)
{
	guint32 place = draw(walk, walk->n);

	for (guint i = 0; i < 32; i++) {
		const guint32 op = walk->seq[place];

		if (walk->head[op] + walk->took[op] + walk->tail[op] == walk->makespan)
			break;
		place = draw(walk, walk->n);
	}
	return place;
}

/* Where what runs as one with the op at @place begins, and where it is over. */
static guint32 block_begin(const PipesimWalk *walk, guint32 place)
{
	while (place % walk->per_rank > 0 && is_glued(walk, walk->seq[place - 1]))
		place--;
	return place;
}

static guint32 block_end(const PipesimWalk *walk, guint32 place)
{
	while (is_glued(walk, walk->seq[place]))
		place++;
	return place + 1;
}

/* The same of all ops from place @a on before @b, and those from @b on before @end. */
static gboolean blocks_may_pass(
	const PipesimWalk *walk, guint32 a, guint32 a_end, guint32 b, guint32 b_end)
{
	for (guint32 i = a; i < a_end; i++)
		for (guint32 k = b; k < b_end; k++)
			if (!may_pass(walk, walk->seq[i], walk->seq[k]))
				return FALSE;
	return TRUE;
}

static guint fill_later(PipesimWalk *walk, guint32 place, guint shift, guint32 *first)
{
	const guint32 end = place - place % walk->per_rank + walk->per_rank;
	const guint32 from = block_begin(walk, place), until = block_end(walk, place);
	guint32 at = until;
	guint n = 0;

	for (guint i = 0; i < shift && at < end; i++) {
		const guint32 next = block_end(walk, at);

		if (!blocks_may_pass(walk, from, until, at, next))
			break;
		while (at < next)
			walk->window[n++] = walk->seq[at++];
	}
	if (n == 0)
		return 0;
	*first = from;
	for (at = from; at < until; at++)
		walk->window[n++] = walk->seq[at];
	return n;
}

static guint fill_earlier(PipesimWalk *walk, guint32 place, guint shift, guint32 *first)
{
	const guint32 begin = place - place % walk->per_rank;
	const guint32 from = block_begin(walk, place), until = block_end(walk, place);
	guint32 at = from;
	guint n = 0;

	for (guint i = 0; i < shift && at > begin; i++) {
		const guint32 next = block_begin(walk, at - 1);

		if (!blocks_may_pass(walk, next, at, from, until))
			break;
		at = next;
	}
	if (at == from)
		return 0;
	*first = at;
	for (guint32 k = from; k < until; k++)
		walk->window[n++] = walk->seq[k];
	while (at < from)
		walk->window[n++] = walk->seq[at++];
	return n;
}

/* Moves what runs as one past up to @shift others, later or earlier. */
static gboolean try_shift(
	PipesimWalk *walk, guint32 place, guint shift, gboolean later, gint64 most)
{
	guint32 first = 0;
	const guint n = later ? fill_later(walk, place, shift, &first)
			      : fill_earlier(walk, place, shift, &first);

	return n >= 2 && has_room(walk, first, n) &&
	       longest_through(walk, first, n, most) <= most && take(walk, first, n, FALSE);
}

/* The window: all from the first of @n_ops ops to the last, these together at the place @at of one of them. Its
 * length; 0: not all the others may run before or after them. */
static guint fill_together(
	PipesimWalk *walk, const guint32 *ops, guint n_ops, guint32 at, guint32 *first)
{
	guint32 last = at;
	guint n = 0;

	*first = at;
	for (guint i = 0; i < n_ops; i++) {
		*first = MIN(*first, walk->place[ops[i]]);
		last = MAX(last, walk->place[ops[i]]);
	}
	if (last - *first > 2 * walk->most_shift)
		return 0;
	for (guint32 place = *first; place <= last; place++) {
		const guint32 op = walk->seq[place];
		gboolean own = FALSE;

		for (guint i = 0; i < n_ops; i++)
			own |= op == ops[i];
		for (guint i = 0; i < n_ops && !own; i++)
			if (place < at ? place > walk->place[ops[i]] &&
						 !may_pass(walk, ops[i], op)
				       : place < walk->place[ops[i]] &&
						 !may_pass(walk, op, ops[i]))
				return 0;
		for (guint i = 0; i < n_ops && place == at; i++)
			walk->window[n++] = ops[i];
		if (!own)
			walk->window[n++] = op;
	}
	return n;
}

/* @ops, a backward with its W, behind an F or not, come together at the place @at, and run as one or no longer. */
static gboolean try_together(PipesimWalk *walk, const guint32 *ops, guint n_ops, guint32 at,
	gboolean joined, gboolean paired, gint64 most)
{
	const guint32 f = kind_of(walk, ops[0]) == F ? ops[0] : NO_OP;
	const guint32 i = f != NO_OP ? ops[1] : ops[0];
	const gboolean was_joined = walk->x->kinds > 2 && is_glued(walk, i);
	guint32 first;
	const guint n = fill_together(walk, ops, n_ops, at, &first);

	if (n == 0)
		return FALSE;
	glue(walk, f, i, joined, paired);
	if (has_room(walk, first, n) && longest_through(walk, first, n, most) <= most &&
		take(walk, first, n, TRUE))
		return TRUE;
	glue(walk, f, i, was_joined, !paired);
	return FALSE;
}

/* The @n-th backward in no pair from @op on, or back. NO_OP: there is none near. */
static guint32 find_backward(const PipesimWalk *walk, guint32 op, guint n, gboolean later)
{
	for (guint i = 0; i < 2 * walk->most_shift; i++) {
		op = later ? next_of(walk, op) : previous(walk, op);
		if (op == NO_OP)
			break;
		if (kind_of(walk, op) == I && entry(walk, op) == op && --n == 0)
			return op;
	}
	return NO_OP;
}

/* @f and a backward near it become a pair, where either of them stands, or the other way round. */
static gboolean try_pair(PipesimWalk *walk, guint32 f, gint64 most)
{
	const guint32 bits = draw(walk, 64);
	const gboolean paired = is_glued(walk, f);
	const guint n = 1 + (bits >> 3 & 1) * (bits >> 4);
	const guint32 i =
		paired ? next_of(walk, f) : find_backward(walk, f, n, (bits & 1) != 0);
	const guint32 ops[] = {f, i, i + walk->x->count};
	const guint32 at = paired || (bits & 2) != 0 ? f : i;

	if (i == NO_OP ||
		(!paired && !(walk->place[f] < walk->place[i] ? may_pass(walk, f, i)
							      : may_pass(walk, i, f))))
		return FALSE;
	return try_together(walk, ops, walk->x->kinds, walk->place[at], TRUE, !paired, most);
}

/* Other ops run as one around the op at @place: a pair, or an I and its W. */
static gboolean try_glue(PipesimWalk *walk, guint32 place, gint64 most)
{
	const guint32 first = walk->seq[block_begin(walk, place)];
	const guint kind = kind_of(walk, first);
	const guint32 i = kind == W ? first - walk->x->count : first;
	const guint32 ops[] = {i, i + walk->x->count};

	if (kind == F)
		return walk->x->pair != NULL && try_pair(walk, first, most);
	return walk->x->kinds > 2 &&
	       try_together(walk, ops, 2, walk->place[i], !is_glued(walk, i), FALSE, most);
}

/* One move at random, which is taken if the order is then no longer than @most. */
static gboolean try_move(PipesimWalk *walk, gint64 most)
{
	const guint32 place = draw_place(walk);
	const guint32 bits = draw(walk, G_MAXUINT32);
	/* Short ones are the most. */
	const guint shift =
		1 + (guint)((guint64)draw(walk, walk->most_shift) * (bits >> 8) >> 24);

	walk->moves++;
	if (walk->glues && (bits >> 1 & 7u) == 0)
		return try_glue(walk, place, most);
	return try_shift(walk, place, shift, (bits & 1) != 0, most);
}

void pipesim_walk_run(PipesimWalk *walk, guint n, double heat, gint64 bound)
{
	for (guint i = 0; i < n && walk->best_makespan > bound; i++) {
		const double luck = (draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
		const gint64 most = walk->makespan + (gint64)(-log(luck) * heat);

		if (try_move(walk, most) && walk->makespan < walk->best_makespan)
			keep_best(walk);
	}
}

gboolean pipesim_walk_step(PipesimWalk *walk, gint64 most)
{
	for (guint i = 0; i < 1000; i++)
		if (try_move(walk, most))
			return TRUE;
	return FALSE;
}
