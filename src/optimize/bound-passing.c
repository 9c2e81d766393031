#include "optimize/bound-passing.h"
#include "base/phases.h"

/* Comparisons of states in one run, about: a tenth of a second. */
#define MOST_LOOKS   (G_GUINT64_CONSTANT(1) << 28)
#define MOST_STATES  2048
#define LEAST_STATES 16
#define MOST_RUNS    24

/* A state: what the step takes if nobody waits any more, when the last backward of rank 0 has ended, when the
 * last forward that waited for one could start, and then the delays of those on their way, the first one
 * first. */
enum {
	VALUE,
	ENDED,
	READY,
	DELAYS,
};

typedef struct {
	gint64 *of; /* [n * width] */
	gsize n, room;
} States;

typedef struct {
	guint ranks, count, flight;
	/* [rank]: what a forward takes and a backward, and by which the latter is behind the former of a trip without
	 * waits; both in a pair, NULL: there are none. */
	const gint64 *f, *i, *pair;
	gint64 *between;
	/* On rank 0 W ends with the pair, and counts as what follows I: by so much its end comes before the
	 * pair's, or, looking backwards, its start behind that. */
	gint64 late, early;
	gint64 trip; /* of a micro-batch: all ranks and messages */
	/* On rank 0: of a backward, of what a forward waits for behind it, and of all between two that wait. */
	gint64 input, weight, work;
	gint64 *starts, *after; /* [count] */
	gint64 *least; /* [count]: the least delay that a forward started with, in the last run */
	gint64 target; /* states that come to so much are left out */
	guint width;
	gsize most; /* states */
	gboolean merged;
	States now, next;
	gint64 **sorted;
	gsize sorted_room;
} Game;

static gint64 *row(const Game *game, const States *states, gsize i)
{
	return &states->of[i * game->width];
}

static gint64 *add_row(Game *game, States *states)
{
	if (states->n == states->room) {
		states->room = MAX(64, 2 * states->room);
		states->of = g_renew(gint64, states->of, states->room * game->width);
	}
	return row(game, states, states->n++);
}

static int compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const gint64 *x = *(gint64 *const *)a, *y = *(gint64 *const *)b;
	const guint width = *(const guint *)data;

	for (guint i = ENDED; i < width; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static gboolean is_no_better(const gint64 *state, const gint64 *than, guint width)
{
	for (guint i = ENDED; i < width; i++)
		if (state[i] < than[i])
			return FALSE;
	return TRUE;
}

/* Keeps of game->next those that none is as good as throughout, in game->now. */
static void keep_best(Game *game)
{
	const guint width = game->width;
	const States *from = &game->next;
	gsize n = 0;

	if (game->sorted_room < from->n) {
		game->sorted_room = from->n;
		game->sorted = g_renew(gint64 *, game->sorted, from->n);
	}
	for (gsize i = 0; i < from->n; i++)
		game->sorted[i] = row(game, from, i);
	g_qsort_with_data(
		game->sorted, (gint)from->n, sizeof *game->sorted, compare, &game->width);
	for (gsize i = 0; i < from->n; i++) {
		gsize k = n;

		while (k > 0 && !is_no_better(game->sorted[i], game->sorted[k - 1], width))
			k--;
		if (k == 0)
			game->sorted[n++] = game->sorted[i];
	}
	/* Neighbours of so many are taken together until few are left. */
	for (; n > game->most; n = (n + 1) / 2) {
		for (gsize i = 0; i < n / 2; i++) {
			gint64 *first = game->sorted[2 * i];

			for (guint k = 0; k < width; k++)
				first[k] = MIN(first[k], game->sorted[2 * i + 1][k]);
			game->sorted[i] = first;
		}
		if (n % 2 == 1)
			game->sorted[n / 2] = game->sorted[n - 1];
		game->merged = TRUE;
	}
	game->now.n = 0;
	for (gsize i = 0; i < n; i++)
		memcpy(add_row(game, &game->now), game->sorted[i], sizeof(gint64) * width);
}

/* Of @from one more way: the first on its way, backward @k, then has the delay @first, and the @j-th behind it @other. */
static void add_way(
	Game *game, const gint64 *from, guint k, guint j, gint64 first, gint64 other)
{
	const gint64 value = MAX(first + game->after[k], other + game->after[k + j]);
	gint64 *to;

	if (value + game->trip >= game->target)
		return;
	to = add_row(game, &game->next);
	memcpy(to, from, sizeof *to * game->width);
	to[DELAYS] = first;
	to[DELAYS + j] = other;
	to[VALUE] = MAX(to[VALUE], value + game->trip);
}

/* Both pass each other, in game->now: all ways into game->next. */
static void pass(Game *game, guint k, guint j)
{
	game->next.n = 0;
	for (gsize i = 0; i < game->now.n; i++) {
		const gint64 *from = row(game, &game->now, i);
		const gint64 first = from[DELAYS], other = from[DELAYS + j];
		gint64 waits = first;
		guint n = game->ranks;

		while (n > 0 && game->between[n - 1] + game->i[n - 1] <= other - first)
			n--;
		if (n > 0)
			waits = MAX(first, other - game->between[n - 1] + game->f[n - 1]);
		add_way(game, from, k, j, waits, other);
		if (waits == first)
			continue;
		add_way(game, from, k, j, first, first + game->between[n - 1] + game->i[n - 1]);
		for (n = 0; n < game->ranks && game->pair != NULL; n++) {
			const gint64 ready = other - (n == 0 ? game->early : 0);
			const gint64 start = MAX(ready, first + game->between[n]);
			const gint64 late = n == 0 ? game->late : 0;

			add_way(game, from, k, j,
				start - game->between[n] + game->pair[n] - game->i[n] - late,
				start + game->pair[n] - game->f[n]);
		}
	}
	keep_best(game);
}

/* Backward @k of rank 0, the first on its way, ends there, and one more forward can start. */
static void end_trip(Game *game, guint k)
{
	const guint more = k + game->flight;

	game->next.n = 0;
	if (more < game->count)
		game->least[more] = G_MAXINT64;
	for (gsize i = 0; i < game->now.n; i++) {
		gint64 *to = add_row(game, &game->next);
		const gint64 *from = row(game, &game->now, i);

		memcpy(to, from, sizeof *to * game->width);
		to[ENDED] = from[DELAYS] + game->trip;
		if (k > 0)
			to[ENDED] = MAX(to[ENDED], from[ENDED] + game->input);
		to[READY] = to[ENDED] + game->weight;
		if (k > 0)
			to[READY] = MAX(to[READY], from[READY] + game->work);
		to[VALUE] = MAX(from[VALUE], to[ENDED] + game->after[k]);
		memmove(&to[DELAYS], &to[DELAYS + 1], sizeof *to * (game->flight - 1));
		to[DELAYS + game->flight - 1] = 0;
		if (more < game->count) {
			const gint64 start = MAX(to[READY], game->starts[more]);

			to[DELAYS + game->flight - 1] = start;
			game->least[more] = MIN(game->least[more], start);
			to[VALUE] = MAX(to[VALUE], start + game->trip + game->after[more]);
		}
		if (to[VALUE] >= game->target)
			game->next.n--;
	}
	keep_best(game);
}

/* What the best of the states left at the end comes to, or game->target where none is left: then all ways come
 * to that. What forwards start with goes into game->least. */
static gint64 run(Game *game)
{
	gint64 best = game->target;

	game->now.n = 0;
	game->merged = FALSE;
	gint64 *first = add_row(game, &game->now);
	memset(first, 0, sizeof *first * game->width);
	for (guint j = 0; j < game->flight; j++) {
		first[DELAYS + j] = game->least[j] = game->starts[j];
		first[VALUE] = MAX(first[VALUE], game->starts[j] + game->trip + game->after[j]);
	}
	for (guint k = 0; k < game->count && game->now.n > 0; k++) {
		for (guint j = 1; j < MIN(game->flight, game->count - k); j++)
			pass(game, k, j);
		end_trip(game, k);
	}
	for (gsize i = 0; i < game->now.n; i++)
		best = MIN(best, row(game, &game->now, i)[VALUE]);
	return best;
}

/* See the head of bound-passing.h. */
static gint64 find_wait(const PipesimInstance *x, guint flight)
{
	gint64 wait = 0;

	for (guint i = 0; i < x->n_rooms && x->kinds > 2; i++) {
		const PipesimRoom *room = &x->room[i];
		const gint64 held = room->held[0], rest = held - room->freed[0];
		gint64 least = G_MAXINT64;

		for (guint e = 0; e < flight && rest > 0 && room->between == NULL; e++) {
			const gint64 left = room->limit[0] - (flight - e) * held;
			const gint64 weights = 1 + (gint64)e - left / rest;

			if (left >= 0)
				least = MIN(
					least, e * x->least[I][0] + weights * x->least[W][0]);
		}
		if (least < G_MAXINT64)
			wait = MAX(wait, least);
	}
	return wait;
}

gboolean pipesim_passing_find(PipesimPassing *passing, const PipesimNeeds *needs)
{
	const PipesimInstance *x = needs->x;
	gint64 work = 0, trip = 0, step = 0;
	guint flight = 1;

	if (x->chunks != 1 || x->shape.copies != 1 || x->together > 1)
		return FALSE;
	for (guint k = 0; k < x->count; k++)
		flight = MAX(flight, k + 1 - pipesim_needs_of(needs, 0, F, k)[I]);
	passing->x = x;
	passing->flight = flight;
	passing->weight = x->kinds > 2;
	for (guint k = flight; k < x->count && passing->weight; k++)
		if (pipesim_needs_of(needs, 0, F, k)[W] + flight < k + 1)
			passing->weight = FALSE;
	passing->wait = passing->weight ? x->least[W][0] : find_wait(x, flight);
	for (guint r = 0; r < x->ranks; r++) {
		const gint64 weight = x->kinds > 2 ? x->least[W][r] : 0;
		const gint64 on = x->least[F][r] + x->least[I][r] + x->hop[r] + x->hop_back[r];

		trip += on;
		step = MAX(step, on);
		work = MAX(work, x->apart[F][r] + x->apart[I][r] + weight);
	}
	return flight < x->count && work * flight < trip + 3 * step;
}

/* Turns @game to look backwards, or forwards again: what its last run says of starts is then what follows the
 * ends. */
static void turn(Game *game, const PipesimPassing *p, gboolean back)
{
	const PipesimInstance *x = p->x;
	const guint last = x->ranks - 1;
	const gint64 *f = x->least[back ? I : F], *i = x->least[back ? F : I];
	const gint64 weight = x->kinds > 2 ? x->least[W][0] : 0;
	g_autofree gint64 *down = g_new0(gint64, x->ranks), *up = g_new0(gint64, x->ranks);

	for (guint k = 0; k < game->count; k++) {
		const guint of = back ? game->count - 1 - k : k;

		game->starts[k] = back ? p->after[of] : p->starts[of];
		game->after[k] = back ? p->starts[of] : p->after[of];
	}
	/* When ops start on each rank, of a trip without waits, forwards or, looking backwards, what follows them. */
	for (guint r = 1; r <= last; r++)
		down[r] = down[r - 1] + f[r - 1] + (back ? x->hop_back[r - 1] : x->hop[r]);
	up[last] = down[last] + f[last];
	for (guint r = last; r-- > 0;)
		up[r] = up[r + 1] + i[r + 1] + (back ? x->hop[r + 1] : x->hop_back[r]);
	game->trip = up[0] + i[0];
	game->input = i[0];
	for (guint r = 0; r <= last; r++)
		game->between[r] = up[r] - down[r];
	game->f = f;
	game->i = i;
	game->late = back ? 0 : weight;
	game->early = back ? weight : 0;
}

/* What all ways come to at least. First looking backwards, for what follows each backward; then it is asked
 * whether all come to some time, which is raised while they do: what is left of the ways that do not is soon
 * little. */
static gint64 find_time(Game *game, const PipesimPassing *p)
{
	g_autofree gint64 *after = g_new(gint64, game->count);
	gint64 proven = 0, reached = G_MAXINT64, step;

	game->target = G_MAXINT64;
	turn(game, p, TRUE);
	run(game);
	for (guint k = 0; k < game->count; k++)
		after[k] = MAX(p->after[k], game->least[game->count - 1 - k]);
	turn(game, p, FALSE);
	memcpy(game->after, after, sizeof *after * game->count);
	for (guint k = 0; k < game->count; k++)
		proven = MAX(proven, game->starts[k] + game->trip + after[k]);
	step = MAX(game->trip / 64, 1);
	for (guint i = 0; i < MOST_RUNS && proven < reached && step > 0 &&
			  !pipesim_bound_is_late(p->until);
		i++) {
		game->target = MIN(proven + step, reached);
		gint64 best = run(game);
		if (best >= game->target) {
			proven = game->target;
			step *= 2;
		} else if (!game->merged) {
			reached = best;
		} else {
			step = step > game->trip >> 10 ? step / 4 : 0;
		}
	}
	return proven;
}

gint64 pipesim_passing_time(const PipesimPassing *p)
{
	const PipesimInstance *x = p->x;
	const guint64 looks = (guint64)x->count * p->flight * p->flight;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Game game = {.ranks = x->ranks,
		.count = x->count,
		.flight = p->flight,
		.pair = x->pair,
		.between = pipesim_arena_array(arena, gint64, x->ranks),
		.weight = p->wait,
		.starts = pipesim_arena_array(arena, gint64, x->count),
		.after = pipesim_arena_array(arena, gint64, x->count),
		.least = pipesim_arena_array(arena, gint64, x->count),
		.width = DELAYS + p->flight,
		.most = MOST_STATES};

	if (!pipesim_arena_check(arena, NULL, "ways"))
		return 0;
	game.work = x->apart[F][0] + x->apart[I][0] + (p->wait > 0 ? x->apart[W][0] : 0);
	while (game.most > LEAST_STATES && game.most * game.most > MOST_LOOKS / looks)
		game.most /= 2;
	gint64 time = find_time(&game, p);
	g_free(game.now.of);
	g_free(game.next.of);
	g_free(game.sorted);
	return time;
}
