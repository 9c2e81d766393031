#include "optimize/queue-walk.h"
#include "base/phases.h"

static guint32 draw(PipesimQueueWalk *walk, guint32 below)
{
	return pipesim_random_below(walk->key, walk->drawn++, below);
}

void pipesim_queue_walk_init(PipesimQueueWalk *walk, const PipesimInstance *x,
	const PipesimRuntime *runtime, guint64 seed, guint64 number, PipesimArena *arena)
{
	const gsize n = (gsize)x->ranks * x->per_rank;

	*walk = (PipesimQueueWalk){.x = x,
		.n = (guint)n,
		.most_shift = MIN(x->per_rank - 1, 3 * x->chunks * x->kinds),
		.codes = pipesim_arena_array(arena, guint8, n),
		.best = pipesim_arena_array(arena, guint8, n),
		.chain = pipesim_arena_array(arena, guint32, n),
		.nth = pipesim_arena_array(arena, guint32, n),
		.before = pipesim_arena_array(arena, guint8, x->per_rank),
		.done = pipesim_arena_array(arena, guint, G_MAXUINT8 + 1),
		.key = pipesim_sample_key(seed, number)};
	for (guint i = 0; i < x->n_rooms; i++)
		walk->level[i] = pipesim_arena_array(arena, gint64, n);
	pipesim_queue_init(&walk->queue, x, runtime, arena);
}

static void keep_best(PipesimQueueWalk *walk)
{
	walk->best_makespan = walk->makespan;
	memcpy(walk->best, walk->codes, walk->n);
}

static gboolean is_joined(const PipesimQueueWalk *walk, guint place)
{
	return walk->x->whole != NULL && (walk->codes[place] & PIPESIM_CODE_JOINED) != 0;
}

/* Whether the op before @place is an I of a full backward. */
static gboolean is_behind_joined(const PipesimQueueWalk *walk, guint place)
{
	return place % walk->x->per_rank > 0 && is_joined(walk, place - 1);
}

/* From place @first on, to before @end, where walk->done of each code have run before. */
static void number_ops(PipesimQueueWalk *walk, guint first, guint end)
{
	const guint mask = pipesim_instance_code_mask(walk->x);

	for (guint place = first; place < end; place++)
		walk->nth[place] = walk->done[walk->codes[place] & mask]++;
}

/* What a rank holds behind each of its places from @first on, to before @end. */
static void find_levels(PipesimQueueWalk *walk, guint first, guint end)
{
	const PipesimInstance *x = walk->x;
	const guint mask = pipesim_instance_code_mask(x);
	const guint rank = first / x->per_rank, last = (rank + 1) * x->per_rank - 1;

	for (guint place = first; place < MIN(end, last); place++) {
		const guint code = walk->codes[place] & mask, kind = code % x->kinds;
		const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
		const gboolean glued = (walk->codes[place] & ~mask) != 0 ||
				       (kind == W && is_behind_joined(walk, place));

		for (guint i = 0; i < x->n_rooms; i++)
			walk->level[i][place + 1] =
				walk->level[i][place] +
				pipesim_room_change(&x->room[i], lane, kind, glued);
	}
}

gboolean pipesim_queue_walk_begin(PipesimQueueWalk *walk, const guint8 *codes)
{
	const guint per_rank = walk->x->per_rank;

	memcpy(walk->codes, codes, walk->n);
	for (guint place = 0; place < walk->n; place += per_rank) {
		memset(walk->done, 0, (G_MAXUINT8 + 1) * sizeof *walk->done);
		number_ops(walk, place, place + per_rank);
		find_levels(walk, place, place + per_rank);
	}
	pipesim_queue_forget(&walk->queue);
	walk->makespan = pipesim_queue_run(
		&walk->queue, walk->codes, 0, 0, walk->x->per_rank, G_MAXINT64);
	pipesim_queue_take(&walk->queue);
	walk->n_chain = 0;
	keep_best(walk);
	return walk->makespan < G_MAXINT64;
}

/* Where what runs as one with the op at @place, its first, is over. */
static guint block_end(const PipesimQueueWalk *walk, guint place)
{
	return place + 1 + is_joined(walk, place);
}

/* Of the places from @first to before @end a move changes some. */
static void open_window(PipesimQueueWalk *walk, guint first, guint end)
{
	walk->first = first;
	walk->end = end;
	memcpy(walk->before, &walk->codes[first], end - first);
}

/* Puts the @n codes from @from on, of one rank, behind or before others, so that they begin at @to. */
static void put(PipesimQueueWalk *walk, guint from, guint n, guint to)
{
	guint8 *codes = walk->codes, moved[2];

	memcpy(moved, &codes[from], n);
	if (to > from)
		memmove(&codes[from], &codes[from + n], to - from);
	else
		memmove(&codes[to + n], &codes[to], from - to);
	memcpy(&codes[to], moved, n);
}

/* Moves what is at @place past up to @shift others. */
static void shift_block(PipesimQueueWalk *walk, guint place, guint shift, gboolean later)
{
	const guint begin = place - place % walk->x->per_rank, end = begin + walk->x->per_rank;
	const guint from = place - is_behind_joined(walk, place), until = block_end(walk, from);
	guint at = later ? until : from;

	for (; shift > 0 && at < end && later; shift--)
		at = block_end(walk, at);
	for (; shift > 0 && at > begin && !later; shift--)
		at -= 1 + is_behind_joined(walk, at - 1);
	open_window(walk, MIN(from, at), MAX(until, at));
	put(walk, from, until - from, later ? at - (until - from) : at);
}

/* An I and its W become one full backward, or the other way round. */
static void join(PipesimQueueWalk *walk, guint place)
{
	const guint begin = place - place % walk->x->per_rank;
	guint8 *codes = walk->codes;
	guint code, ahead = 0, weight;

	place -= is_behind_joined(walk, place);
	code = codes[place] & PIPESIM_CODE_MASK;
	open_window(walk, place, place + 1);
	if ((codes[place] & pipesim_instance_code_mask(walk->x)) % walk->x->kinds != I)
		return;
	codes[place] ^= PIPESIM_CODE_JOINED;
	if (!is_joined(walk, place))
		return;
	codes[place] ^= PIPESIM_CODE_JOINED;
	/* Its W comes behind those of the I before it. */
	for (guint at = begin; at < place; at++)
		ahead += (codes[at] & PIPESIM_CODE_MASK) == code;
	for (weight = begin; ahead > 0 || codes[weight] != code + 1; weight++)
		ahead -= codes[weight] == code + 1;
	open_window(walk, place, weight + 1);
	put(walk, weight, 1, place + 1);
	codes[place] |= PIPESIM_CODE_JOINED;
}

/* Whether each full backward of @codes is of one micro-batch. */
static gboolean joins_fit(const PipesimQueueWalk *walk, const guint8 *codes)
{
	guint open[PIPESIM_MAX_CHUNKS] = {0}; /* I whose W is to come */

	for (guint i = 0; i < walk->x->per_rank && walk->x->whole != NULL; i++) {
		const guint code = codes[i] & PIPESIM_CODE_MASK, chunk = code / walk->x->kinds;

		if (code % walk->x->kinds == W)
			open[chunk]--;
		if (code % walk->x->kinds == I && open[chunk]++ > 0 &&
			(codes[i] & PIPESIM_CODE_JOINED) != 0)
			return FALSE;
	}
	return TRUE;
}

/* Every other place is of an op of the chain. */
static guint draw_place(PipesimQueueWalk *walk)
{
	const guint moved = walk->x->per_rank - walk->from;
	guint i;

	if (draw(walk, 2) != 0) {
		guint n = walk->n_chain > 0 ? 0
					    : pipesim_queue_critical(&walk->queue, walk->chain);

		/* Of the chain that part which may be moved. */
		for (i = 0; i < n; i++)
			if (walk->chain[i] % walk->x->per_rank >= walk->from)
				walk->chain[walk->n_chain++] = walk->chain[i];
		if (walk->n_chain > 0)
			return walk->chain[draw(walk, walk->n_chain)];
	}
	i = draw(walk, walk->x->ranks * moved);
	return i / moved * walk->x->per_rank + walk->from + i % moved;
}

/* By code, how many have run before the window; those that are not in it have all run. */
static void count_before(PipesimQueueWalk *walk)
{
	const guint mask = pipesim_instance_code_mask(walk->x);

	memset(walk->done, 0xff, walk->x->chunks * walk->x->kinds * sizeof *walk->done);
	for (guint place = walk->end; place-- > walk->first;)
		walk->done[walk->before[place - walk->first] & mask] = walk->nth[place];
}

/* Whether the window, as far as @end, keeps the order within a chunk and stays within what the rank may hold. */
static gboolean window_fits(PipesimQueueWalk *walk, guint end)
{
	const PipesimInstance *x = walk->x;
	const guint rank = walk->first / x->per_rank;
	gint64 held[PIPESIM_MAX_ROOMS];

	for (guint i = 0; i < x->n_rooms; i++)
		held[i] = walk->level[i][walk->first];
	count_before(walk);
	return pipesim_instance_fits_on(x, rank, &walk->codes[walk->first], end - walk->first,
		       is_behind_joined(walk, walk->first), walk->done, held) &&
	       joins_fit(walk, &walk->codes[(gsize)rank * x->per_rank]);
}

/* One move at random, which is taken if the order is then no longer than @most. */
static gboolean try_move(PipesimQueueWalk *walk, gint64 most)
{
	const guint per_rank = walk->x->per_rank;
	const guint place = draw_place(walk), rank = place / per_rank;
	const guint32 bits = draw(walk, G_MAXUINT32);
	/* Short ones are the most. */
	const guint shift =
		1 + (guint)((guint64)draw(walk, walk->most_shift) * (bits >> 8) >> 24);
	const guint8 *codes = walk->codes, *before = walk->before;
	gint64 makespan = G_MAXINT64;
	guint first, end;

	if (walk->x->whole != NULL && (bits >> 1 & 7u) == 0)
		join(walk, place);
	else
		shift_block(walk, place, shift, (bits & 1) != 0);
	first = walk->first;
	end = walk->end;
	while (first < end && codes[first] == before[first - walk->first])
		first++;
	while (first < end && codes[end - 1] == before[end - 1 - walk->first])
		end--;
	if (first == end)
		return FALSE;
	if (window_fits(walk, end)) {
		makespan = pipesim_queue_run(&walk->queue, codes, rank, first - rank * per_rank,
			end - rank * per_rank, most);
		if (makespan > most)
			pipesim_queue_leave(&walk->queue);
	}
	if (makespan > most) {
		memcpy(&walk->codes[walk->first], walk->before, walk->end - walk->first);
		return FALSE;
	}
	count_before(walk);
	number_ops(walk, walk->first, walk->end);
	/* What a W behind the window holds depends on whether the I before it runs with it. */
	find_levels(walk, walk->first, end + 1);
	pipesim_queue_take(&walk->queue);
	walk->makespan = makespan;
	walk->n_chain = 0;
	return TRUE;
}

void pipesim_queue_walk_run(PipesimQueueWalk *walk, guint n, double heat)
{
	walk->looks += n;
	for (guint i = 0; i < n; i++) {
		const double luck = (draw(walk, G_MAXUINT32) + 1.0) / 4294967296.0;
		const gint64 most = walk->makespan + (gint64)(-log(luck) * heat);

		if (try_move(walk, most) && walk->makespan < walk->best_makespan)
			keep_best(walk);
	}
}
