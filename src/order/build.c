#include "config.h"

#include "base/phases.h"
#include "base/tournament.h"
#include "order/build.h"

/* What tells one way from another. */
typedef struct {
	guint quarters;   /* of the room that forwards may take */
	gboolean shallow; /* forwards of the first chunks go first, else of the last */
	gboolean fill; /* weight gradients run in any gap, else in those that they fit into */
} Way;

typedef struct {
	const PipesimInstance *x;
	Way way;
	guint n_codes;   /* of a rank */
	guint *done;     /* [rank * n_codes + code] */
	gint64 *end;     /* [lane * kinds + kind][count] */
	gint64 *free_at; /* [rank] */
	gint64 *held[PIPESIM_MAX_ROOMS];
	guint *placed;           /* [rank] */
	guint *next;             /* [rank]: what it would run next, n_codes: nothing */
	gint64 *start;           /* [rank]: and when */
	PipesimTournament queue; /* the same */
} Build;

#define NEVER PIPESIM_NEVER

static gint64 ready_at(const Build *b, guint lane, guint kind)
{
	const PipesimInstance *x = b->x;
	const guint code = lane * x->kinds + kind, k = b->done[code];
	gint64 hop;
	const guint32 from = pipesim_instance_input(x, code, &hop);

	if (k == x->count || (from != PIPESIM_NO_LANE && b->done[from] <= k))
		return NEVER;
	return from == PIPESIM_NO_LANE ? 0 : b->end[(gsize)from * x->count + k] + hop;
}

/* Room that ops need besides while they run, a W that is apart from its I, and what stays. */
static gint64 besides(const PipesimInstance *x, const PipesimRoom *room, guint rank)
{
	gint64 passing = 0, between = 0, stays = 0;

	for (guint chunk = 0; chunk < x->chunks && room->between != NULL; chunk++) {
		const guint lane = pipesim_instance_lane(x, rank, chunk);

		for (guint kind = 0; kind < x->kinds; kind++)
			passing = MAX(passing, room->passing[kind][lane]);
		between = MAX(between, room->between[lane]);
		stays += room->stays[lane] * x->count;
	}
	return passing + between + stays;
}

/* A forward leaves room for one of each chunk of its rank that lies further down the stages: these can
 * always go on, and give back what they hold. */
static gboolean has_room(const Build *b, guint rank, guint lane)
{
	const PipesimInstance *x = b->x;

	for (guint i = 0; i < x->n_rooms; i++) {
		const PipesimRoom *room = &x->room[i];
		const gint64 limit = room->limit[rank] - besides(x, room, rank);
		gint64 held = b->held[i][rank] + room->held[lane], least = 0;

		for (guint chunk = 0; chunk < x->chunks; chunk++) {
			const guint other = pipesim_instance_lane(x, rank, chunk);

			least += room->held[other];
			if (x->depth[other] > x->depth[lane] ||
				(x->depth[other] == x->depth[lane] && other > lane))
				held += room->held[other];
		}
		if (held > limit ||
			(held > least && held - least > (limit - least) / 4 * b->way.quarters +
								(limit - least) % 4))
			return FALSE;
	}
	return TRUE;
}

/* What @rank would run next, and when. */
static void choose(Build *b, guint rank)
{
	const PipesimInstance *x = b->x;
	const gint64 free_at = b->free_at[rank];
	guint code = b->n_codes, weight = x->chunks;
	gint64 best = NEVER, oldest = NEVER;

	for (guint kind = I + 1; kind-- > F;)
		for (guint i = 0; i < x->chunks; i++) {
			const guint chunk =
				(kind == F) == b->way.shallow ? i : x->chunks - 1 - i;
			const guint lane = pipesim_instance_lane(x, rank, chunk);
			const gint64 ready = ready_at(b, lane, kind);

			/* Before what goes first so far, on a rank that is free at @free_at. */
			if (ready == NEVER || MAX(ready, free_at) >= MAX(best, free_at) ||
				(kind == F && !has_room(b, rank, lane)))
				continue;
			best = ready;
			code = chunk * x->kinds + kind;
		}
	/* The weight gradient that has waited longest. */
	for (guint chunk = 0; chunk < x->chunks && x->kinds > 2; chunk++) {
		const gint64 ready = ready_at(b, pipesim_instance_lane(x, rank, chunk), W);

		if (ready < oldest) {
			oldest = ready;
			weight = chunk;
		}
	}
	if (weight < x->chunks && best > free_at) {
		const guint lane = pipesim_instance_lane(x, rank, weight);

		if (b->way.fill || best == NEVER || best - free_at >= x->time[W][lane]) {
			code = weight * x->kinds + W;
			best = free_at;
		}
	}
	b->next[rank] = code;
	b->start[rank] = MAX(best, free_at);
	pipesim_tournament_set(
		&b->queue, rank, code < b->n_codes ? b->start[rank] : PIPESIM_NEVER);
}

/* What others would run changes on the rank alone that waits for it. */
static void put(Build *b, guint rank, guint8 *codes)
{
	const PipesimInstance *x = b->x;
	const guint code = b->next[rank];
	const guint lane = pipesim_instance_lane(x, rank, code / x->kinds);
	const guint kind = code % x->kinds;
	const guint to = kind == F   ? x->after[lane]
			 : kind == I ? x->before[lane]
				     : PIPESIM_NO_LANE;
	const gsize at = (gsize)lane * x->kinds + kind;

	codes[(gsize)rank * x->per_rank + b->placed[rank]++] = (guint8)code;
	b->free_at[rank] = b->start[rank] + x->time[kind][lane];
	b->end[at * x->count + b->done[at]++] = b->free_at[rank];
	for (guint i = 0; i < x->n_rooms; i++)
		b->held[i][rank] += pipesim_room_change(&x->room[i], lane, kind, FALSE);
	choose(b, rank);
	if (to != PIPESIM_NO_LANE && to / x->chunks != rank)
		choose(b, to / x->chunks);
}

/* On each rank the forwards of a micro-batch as its stages lie, then what comes back. */
static void run_one_by_one(const PipesimInstance *x, guint8 *codes)
{
	const guint ways = x->shape.copies;

	for (guint rank = 0; rank < x->ranks; rank++)
		for (guint k = 0; k < x->count * ways; k++)
			for (guint i = 0; i < x->chunks * x->kinds; i++) {
				/* Chunks lie in the order of their stages; of pipelines each has one. */
				const guint n = ways > 1 ? 1 : x->chunks;
				guint chunk = ways > 1 ? k % ways : i;
				guint kind = F;

				if (i >= n * x->kinds)
					break;
				if (i >= n) {
					chunk = ways > 1 ? k % ways
							 : n - 1 - (i - n) / (x->kinds - 1);
					kind = I + (i - n) % (x->kinds - 1);
				}
				*codes = (guint8)(chunk * x->kinds + kind);
				if (kind == I &&
					pipesim_instance_is_leaner(
						x, pipesim_instance_lane(x, rank, chunk)) &&
					x->whole != NULL)
					*codes |= PIPESIM_CODE_JOINED;
				codes++;
			}
}

gboolean pipesim_build(const PipesimInstance *x, guint way, guint8 *codes)
{
	Build b = {.x = x,
		.way = {.quarters = 4 - way % 3,
			.shallow = way / 3 % 2 == 1,
			.fill = way / 6 % 2 == 0},
		.n_codes = x->chunks * x->kinds};
	const gsize n = (gsize)x->ranks * x->per_rank;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	gsize placed = 0;
	gboolean ok;

	if (way + 1 == PIPESIM_BUILDS) {
		run_one_by_one(x, codes);
		return TRUE;
	}
	b.done = pipesim_arena_array(arena, guint, (gsize)x->ranks * b.n_codes);
	b.end = pipesim_arena_array(arena, gint64, n);
	b.free_at = pipesim_arena_array(arena, gint64, x->ranks);
	b.placed = pipesim_arena_array(arena, guint, x->ranks);
	b.next = pipesim_arena_array(arena, guint, x->ranks);
	b.start = pipesim_arena_array(arena, gint64, x->ranks);
	for (guint i = 0; i < x->n_rooms; i++)
		b.held[i] = pipesim_arena_array(arena, gint64, x->ranks);
	ok = pipesim_arena_check(arena, NULL, "ops") &&
	     pipesim_tournament_init(&b.queue, x->ranks);
	for (guint rank = 0; rank < x->ranks && ok; rank++)
		choose(&b, rank);
	/* All ops, as long as some can run. */
	for (; ok; placed++) {
		const PipesimMatch first = pipesim_tournament_first(&b.queue);

		if (first.time == PIPESIM_NEVER)
			break;
		put(&b, first.rank, codes);
	}
	pipesim_tournament_clear(&b.queue);
	return placed == n;
}
