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
	const guint32 bits = pipesim_random(walk->key, walk->drawn++ * PIPESIM_PLACE_STEP);

	return (guint32)((guint64)bits * below >> 32);
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
		.window = pipesim_arena_array(arena, guint32, x->per_rank),
		.window_head = pipesim_arena_array(arena, gint64, x->per_rank),
		.queue = pipesim_arena_array(arena, guint32, n),
		.waits = pipesim_arena_array(arena, guint8, n),
		.dirty = pipesim_arena_array(arena, guint64, n / 64 + 1)};
	for (guint i = 0; i < x->n_rooms; i++)
		walk->level[i] = pipesim_arena_array(arena, gint64, n);
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

static gint64 arrival(const PipesimWalk *walk, guint32 op)
{
	const guint32 input = walk->input[op];

	return input == NO_OP ? 0 : walk->head[input] + walk->took[input] + walk->lag[op];
}

/* What follows the message of @op. */
static gint64 departure(const PipesimWalk *walk, guint32 op)
{
	const guint32 output = walk->output[op];

	return output == NO_OP ? 0
			       : walk->tail[output] + walk->took[output] + walk->lag[output];
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
				before == NO_OP ? 0 : walk->head[before] + walk->took[before];
			const gint64 head = MAX(ready, free_at);

			walk->dirty[word] &= walk->dirty[word] - 1;
			if (head == walk->head[op])
				continue;
			walk->head[op] = head;
			if (after != NO_OP)
				mark(walk, after);
			if (walk->output[op] != NO_OP)
				mark(walk, walk->output[op]);
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
			const gint64 rest =
				after == NO_OP ? 0 : walk->tail[after] + walk->took[after];
			const gint64 tail = MAX(left, rest);

			walk->dirty[word] &= ~(G_GUINT64_CONSTANT(1) << bit);
			if (tail == walk->tail[op])
				continue;
			walk->tail[op] = tail;
			if (before != NO_OP)
				mark(walk, before);
			if (walk->input[op] != NO_OP)
				mark(walk, walk->input[op]);
		}
	/* Every path ends with a rank's last op. */
	for (guint rank = 0; rank < walk->x->ranks; rank++) {
		const guint32 op = walk->seq[(rank + 1) * walk->per_rank - 1];
		const gint64 end = walk->head[op] + walk->took[op];

		longest = MAX(longest, end);
	}
	walk->makespan = longest;
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
		const guint32 op = walk->turns[t], before = previous(walk, op);
		const guint32 input = walk->input[op];
		guint8 waits = 0;

		waits += before != NO_OP && walk->turn[before] >= first &&
			 walk->turn[before] <= last;
		waits += input != NO_OP && walk->turn[input] >= first &&
			 walk->turn[input] <= last;
		walk->waits[op] = waits;
		if (waits == 0)
			queue[end++] = op;
	}
	for (guint32 at = 0; at < end; at++) {
		const guint32 after[2] = {next_of(walk, queue[at]), walk->output[queue[at]]};

		for (guint i = 0; i < 2; i++)
			if (after[i] != NO_OP && walk->turn[after[i]] >= first &&
				walk->turn[after[i]] <= last && --walk->waits[after[i]] == 0)
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
}

static void keep_best(PipesimWalk *walk)
{
	walk->best_makespan = walk->makespan;
	pipesim_walk_codes(walk, walk->best);
}

static gint64 change(const PipesimWalk *walk, guint room, guint32 op)
{
	const PipesimRoom *of = &walk->x->room[room];
	const guint lane = lane_of(walk, op), kind = kind_of(walk, op);

	return kind == F   ? of->held[lane]
	       : kind == I ? -of->freed[lane]
			   : of->freed[lane] - of->held[lane];
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

gboolean pipesim_walk_begin(PipesimWalk *walk, const guint8 *codes)
{
	const PipesimInstance *x = walk->x;
	const guint n_codes = x->chunks * x->kinds;
	g_autofree guint32 *done = g_new0(guint32, n_codes);

	for (guint32 place = 0; place < walk->n; place++) {
		const guint rank = place / walk->per_rank;
		guint32 op;

		if (place % walk->per_rank == 0)
			memset(done, 0, n_codes * sizeof *done);
		op = (rank * n_codes + codes[place]) * x->count + done[codes[place]]++;
		walk->seq[place] = op;
		walk->place[op] = place;
		walk->turns[place] = op;
		walk->turn[op] = place;
	}
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
		const gint64 limit = walk->x->room[i].limit[rank];
		gint64 level = walk->level[i][first];

		for (guint k = 0; k < n; k++) {
			level += change(walk, i, walk->window[k]);
			if (level > limit)
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

		at = walk->head[before] + walk->took[before];
	}
	for (guint k = 0; k < n; k++) {
		const gint64 ready = arrival(walk, walk->window[k]);

		at = MAX(at, ready);
		walk->window_head[k] = at;
		at += walk->took[walk->window[k]];
	}
	if (end % walk->per_rank > 0) {
		const guint32 after = walk->seq[end];

		rest = walk->tail[after] + walk->took[after];
	}
	for (guint k = n; k-- > 0 && longest <= most;) {
		const guint32 op = walk->window[k];
		const gint64 left = departure(walk, op);
		gint64 through;

		rest = MAX(rest, left) + walk->took[op];
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

/* Takes the move. FALSE where it makes a cycle: nothing has then changed. */
static gboolean take(PipesimWalk *walk, guint32 first, guint n)
{
	guint32 *before =
		&walk->window[walk->per_rank - n]; /* the window is at most half of a rank */
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
	find_heads(walk, 0);
	last = mark_window(walk, first, n);
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

/* Fills the window with the op at @place moved past up to @shift others, later or earlier. Returns its
 * length, 0 or 1 where it cannot move; *first: where it begins. */
static guint fill_window(
	PipesimWalk *walk, guint32 place, guint shift, gboolean later, guint32 *first)
{
	const guint32 begin = place - place % walk->per_rank, end = begin + walk->per_rank;
	const guint32 op = walk->seq[place];
	guint n = 0;

	if (later) {
		while (n < shift && place + n + 1 < end &&
			may_pass(walk, op, walk->seq[place + n + 1])) {
			walk->window[n] = walk->seq[place + n + 1];
			n++;
		}
		walk->window[n] = op;
		*first = place;
		return n + 1;
	}
	while (n < shift && place - n > begin && may_pass(walk, walk->seq[place - n - 1], op))
		n++;
	walk->window[0] = op;
	for (guint k = 0; k < n; k++)
		walk->window[k + 1] = walk->seq[place - n + k];
	*first = place - n;
	return n + 1;
}

/* One move at random, which is taken if the order is then no longer than @most. */
static gboolean try_move(PipesimWalk *walk, gint64 most)
{
	const guint32 place = draw_place(walk);
	const guint32 bits = draw(walk, G_MAXUINT32);
	/* Short ones are the most. */
	const guint shift =
		1 + (guint)((guint64)draw(walk, walk->most_shift) * (bits >> 8) >> 24);
	guint32 first;
	const guint n = fill_window(walk, place, shift, (bits & 1) != 0, &first);

	walk->moves++;
	return n >= 2 && has_room(walk, first, n) &&
	       longest_through(walk, first, n, most) <= most && take(walk, first, n);
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
