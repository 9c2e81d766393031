#include "config.h"

#include "base/phases.h"
#include "optimize/queue.h"
#include <string.h>

#define NO_OP PIPESIM_NO_OP

/* States kept of an order, at most, and rounds between two of them, at least. */
#define STATES 32
#define APART  6
/* Stages that PyTorch keeps gathered: with more of them lists depend on which comes when. */
#define ACTIVE 3

/* Where the ranks stand; followed by how many of each code have been taken. */
typedef struct {
	gint64 free;  /* when the last op ends */
	gint64 idle;  /* when the last message has moved */
	guint32 at;   /* the next op */
	guint32 skip; /* rounds that something else takes */
	guint32 root; /* of the last message */
} Rank;

struct _PipesimQueueState {
	guint32 left; /* ops, of all ranks */
	guint32 round;
	Rank rank[];
};

static guint32 *counts(const PipesimQueue *queue, PipesimQueueState *state)
{
	return (guint32 *)&state->rank[queue->x->ranks];
}

gboolean pipesim_queue_takes(
	const PipesimInstance *x, const PipesimRuntime *runtime, const PipesimIssuing *issuing)
{
	return runtime != NULL && runtime->runs_files &&
	       issuing->communicators == PIPESIM_COMMUNICATOR_RANK && !issuing->defer_recv &&
	       issuing->max_sends == 0 && !issuing->defer_reduce_wait &&
	       issuing->ahead == PIPESIM_AHEAD_FULL && x->chunks <= ACTIVE &&
	       (issuing->active_stages == 0 || issuing->active_stages >= x->chunks) &&
	       x->pair == NULL;
}

void pipesim_queue_init(PipesimQueue *queue, const PipesimInstance *x,
	const PipesimRuntime *runtime, PipesimArena *arena)
{
	const gsize codes = (gsize)x->lanes * x->kinds, n = codes * x->count;

	*queue = (PipesimQueue){.x = x,
		.codes = x->chunks * x->kinds,
		.behind = runtime->waits_for_sends ? 3 : 2,
		.waits = runtime->waits_for_sends,
		.source = pipesim_arena_array(arena, guint32, codes),
		.target = pipesim_arena_array(arena, guint32, codes),
		.lag = pipesim_arena_array(arena, gint64, codes),
		.arrival = pipesim_arena_array(arena, gint64, n),
		.root = pipesim_arena_array(arena, guint32, n),
		.cause = pipesim_arena_array(arena, guint32, n),
		.size = (sizeof(PipesimQueueState) + sizeof(Rank) * x->ranks +
				sizeof(guint32) * codes + 7) /
			8 * 8,
		.every = MAX(APART, 2 * x->per_rank / STATES),
		.known = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.fresh = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.changed = pipesim_arena_array(arena, guint32, n),
		.changed_from = pipesim_arena_array(arena, gint64, n)};
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	for (guint32 i = 0; i < codes; i++)
		queue->source[i] = queue->target[i] = NO_OP;
	for (guint32 code = 0; code < codes; code++) {
		gint64 hop;
		const guint32 from = pipesim_instance_input(x, code, &hop);

		if (from == PIPESIM_NO_LANE || code % x->kinds == W)
			continue;
		queue->source[code] = from;
		if (from / x->kinds != code / x->kinds) {
			queue->target[from] = code;
			queue->lag[from] = hop;
		}
	}
	for (guint i = 0; i < STATES; i++) {
		queue->known[i] = (PipesimQueueState *)pipesim_arena_array(
			arena, guint64, queue->size / 8);
		queue->fresh[i] = (PipesimQueueState *)pipesim_arena_array(
			arena, guint64, queue->size / 8);
	}
	queue->now = (PipesimQueueState *)pipesim_arena_array(arena, guint64, queue->size / 8);
	if (queue->now == NULL)
		return;
	queue->known[0]->left = (guint32)n;
	queue->n_known = 1;
}

/* The output of the @k-th op of @code, which has ended on @rank, sets off. */
static inline void send(PipesimQueue *queue, guint rank, guint32 code, guint32 k)
{
	const guint32 to = queue->target[code];
	const guint other = to / queue->codes;
	const gsize at = (gsize)to * queue->x->count + k;
	Rank *from = &queue->now->rank[rank], *here = &queue->now->rank[other];
	guint32 root = rank * queue->x->per_rank + from->at - 1;
	gint64 time = from->free;

	if (other != rank) {
		if (from->idle > time) {
			time = from->idle;
			root = from->root;
		}
		if (here->idle > time) {
			time = here->idle;
			root = here->root;
		}
		if (here->free > time) {
			time = here->free;
			root = other * queue->x->per_rank + here->at - 1;
		}
		time += queue->lag[code];
		from->idle = here->idle = time;
		from->root = here->root = root;
	}
	queue->changed[queue->n_changed] = (guint32)at;
	queue->changed_from[queue->n_changed++] = queue->arrival[at];
	queue->arrival[at] = time;
	queue->root[at] = root;
}

/* The next op of @rank is taken, if what it needs has been. */
static inline gboolean take_next(PipesimQueue *queue, const guint8 *codes, guint rank)
{
	const PipesimInstance *x = queue->x;
	Rank *here = &queue->now->rank[rank];
	guint32 *count = counts(queue, queue->now);
	const guint32 place = rank * x->per_rank + here->at;
	const guint code = codes[place] & pipesim_instance_code_mask(x);
	const gboolean joined = x->whole != NULL && (codes[place] & PIPESIM_CODE_JOINED) != 0;
	const guint kind = code % x->kinds;
	const guint32 own = rank * queue->codes + code, source = queue->source[own];
	const guint32 lane = own / x->kinds, k = count[own];

	if (source != NO_OP && count[source] <= k)
		return FALSE;
	count[own]++;
	queue->cause[place] = here->at > 0 ? place - 1 : NO_OP;
	if (source != NO_OP && queue->target[source] == own) {
		const gsize input = (gsize)own * x->count + k;

		if (queue->arrival[input] > here->free) {
			here->free = queue->arrival[input];
			queue->cause[place] = queue->root[input];
		}
	}
	here->free += joined ? x->whole[lane] : x->time[kind][lane];
	here->at++;
	queue->now->left--;
	if (joined) {
		queue->cause[place + 1] = place;
		here->at++;
		queue->now->left--;
		count[own + 1]++;
	}
	if (queue->waits && kind == I && queue->target[own - 1] != NO_OP &&
		queue->target[own - 1] / queue->codes != rank) {
		const gint64 sent =
			queue->arrival[(gsize)queue->target[own - 1] * x->count + k];

		here->free = MAX(here->free, sent);
	}
	if (queue->target[own] != NO_OP)
		send(queue, rank, own, k);
	/* Behind the last gradient of a chunk. */
	if ((kind == x->kinds - 1 || joined) && k + 1 == x->count)
		here->skip = queue->behind;
	return TRUE;
}

/* Whether a rank ends after @most whatever comes. */
static gboolean is_too_long(PipesimQueue *queue, gint64 most)
{
	const PipesimInstance *x = queue->x;
	const guint32 *count = counts(queue, queue->now);

	for (guint rank = 0; rank < x->ranks; rank++) {
		gint64 end = queue->now->rank[rank].free;

		for (guint i = rank * x->chunks; i < (rank + 1) * x->chunks; i++)
			for (guint kind = 0; kind < x->kinds; kind++)
				end += (gint64)(x->count - count[i * x->kinds + kind]) *
				       x->apart[kind][i];
		if (end > most)
			return TRUE;
	}
	return FALSE;
}

void pipesim_queue_forget(PipesimQueue *queue)
{
	queue->n_known = 1;
}

gint64 pipesim_queue_run(
	PipesimQueue *queue, const guint8 *codes, guint rank, guint place, gint64 most)
{
	const guint ranks = queue->x->ranks, per_rank = queue->x->per_rank;
	guint from = queue->n_known - 1;
	gint64 longest = 0;

	/* A rank that stands at the place may have waited there for what another op needs. */
	while (from > 0 && queue->known[from]->rank[rank].at >= place)
		from--;
	queue->begun = from;
	queue->n_fresh = from + 1;
	queue->n_changed = 0;
	memcpy(queue->now, queue->known[from], queue->size);
	while (queue->now->left > 0) {
		gboolean any = FALSE; /* could be taken in this round */

		for (guint i = 0; i < ranks; i++) {
			Rank *here = &queue->now->rank[i];

			if (here->at == per_rank)
				continue;
			any |= here->skip > 0 || take_next(queue, codes, i);
			here->skip -= here->skip > 0;
		}
		if (!any)
			return G_MAXINT64;
		if (++queue->now->round % queue->every > 0 || queue->n_fresh == STATES)
			continue;
		if (is_too_long(queue, most))
			return G_MAXINT64;
		memcpy(queue->fresh[queue->n_fresh++], queue->now, queue->size);
	}
	for (guint i = 0; i < ranks; i++)
		longest = MAX(longest, queue->now->rank[i].free);
	return longest;
}

void pipesim_queue_take(PipesimQueue *queue)
{
	for (guint i = queue->begun + 1; i < queue->n_fresh; i++) {
		PipesimQueueState *const swap = queue->known[i];

		queue->known[i] = queue->fresh[i];
		queue->fresh[i] = swap;
	}
	queue->n_known = queue->n_fresh;
}

void pipesim_queue_leave(PipesimQueue *queue)
{
	while (queue->n_changed > 0) {
		queue->n_changed--;
		queue->arrival[queue->changed[queue->n_changed]] =
			queue->changed_from[queue->n_changed];
	}
}

guint pipesim_queue_critical(const PipesimQueue *queue, guint32 *places)
{
	const PipesimInstance *x = queue->x;
	const Rank *rank = queue->now->rank;
	guint last = 0, n = 0;
	guint32 at;

	for (guint i = 1; i < x->ranks; i++)
		if (rank[i].free > rank[last].free)
			last = i;
	/* Causes of ops that the last run has not told again may be of an order that was left: not for ever. */
	for (at = (last + 1) * x->per_rank - 1; at != NO_OP && n < x->ranks * x->per_rank;
		at = queue->cause[at])
		places[n++] = at;
	return n;
}
