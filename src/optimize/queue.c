#include "config.h"

#include "base/phases.h"
#include "optimize/queue.h"
#include <string.h>

#define NO_OP PIPESIM_NO_OP

/* States kept of an order, at most, and rounds between two of them, at least. */
#define STATES 96
#define APART  2
/* Stages that PyTorch keeps gathered: with more of them lists depend on which comes when. */
#define ACTIVE 3
/* From what nothing else hangs on to the end. */
#define NOTHING (G_MININT64 / 4)

/* Where the ranks stand; followed by how many of each code have been taken, and one more that is never reached. */
typedef struct {
	gint64 free; /* when the last op ends */
	gint64 idle; /* when the last message has moved */
	/* Of the order taken last: the longest paths from these to its end. */
	gint64 from_free, from_idle;
	guint32 at;   /* the next op */
	guint32 skip; /* rounds that something else takes */
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
		.n_ops = (guint32)n,
		.behind = runtime->waits_for_sends ? 3 : 2,
		.of = pipesim_arena_array(arena, PipesimQueueCode, codes),
		.arrival = pipesim_arena_array(arena, gint64, n),
		.from_input = pipesim_arena_array(arena, gint64, n),
		.from_sent = pipesim_arena_array(arena, gint64, n),
		.rest = pipesim_arena_array(arena, gint64, n),
		.input_place = pipesim_arena_array(arena, guint32, n),
		.sent_place = pipesim_arena_array(arena, guint32, n),
		.next = pipesim_arena_array(arena, guint32, n),
		.size = (sizeof(PipesimQueueState) + sizeof(Rank) * x->ranks +
				sizeof(guint32) * (codes + 1) + 7) /
			8 * 8,
		.every = MAX(APART, 2 * x->per_rank / STATES),
		.known = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.fresh = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.turns = pipesim_arena_array(arena, PipesimQueueTurn, n),
		.fresh_turns = pipesim_arena_array(arena, PipesimQueueTurn, n),
		.changed = pipesim_arena_array(arena, guint32, n),
		.changed_from = pipesim_arena_array(arena, gint64, n)};
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	for (guint32 i = 0; i < codes; i++)
		queue->of[i] = (PipesimQueueCode){.source = (guint32)codes,
			.target = NO_OP,
			.sent = NO_OP,
			.time = x->time[i % x->kinds][i / x->kinds]};
	for (guint32 code = 0; code < codes; code++) {
		gint64 hop;
		const guint32 from = pipesim_instance_input(x, code, &hop);

		if (from != PIPESIM_NO_LANE)
			queue->of[code].source = from;
		if (from == PIPESIM_NO_LANE || from / x->kinds == code / x->kinds)
			continue;
		queue->of[from].target = code;
		queue->of[from].lag = hop;
		queue->of[from].rank = code / queue->codes;
		if (runtime->waits_for_sends && from % x->kinds == F &&
			code / queue->codes != from / queue->codes)
			queue->of[from + 1].sent = code;
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
	counts(queue, queue->known[0])[codes] = G_MAXUINT32;
	queue->n_known = 1;
}

/* The output of the @k-th op of a code, which has ended on @from, sets off. */
static inline void send(PipesimQueue *queue, const PipesimQueueCode *of, Rank *from, guint32 k)
{
	const gsize at = (gsize)of->target * queue->x->count + k;
	Rank *here = &queue->now->rank[of->rank];
	gint64 time = from->free;

	if (here != from) {
		time = MAX(time, from->idle);
		time = MAX(time, here->idle);
		time = MAX(time, here->free);
		time += of->lag;
		from->idle = here->idle = time;
	}
	queue->changed[queue->n_changed] = (guint32)at;
	queue->changed_from[queue->n_changed++] = queue->arrival[at];
	queue->arrival[at] = time;
}

static gboolean is_joined(const PipesimQueue *queue, guint8 code)
{
	return queue->x->whole != NULL && (code & PIPESIM_CODE_JOINED) != 0;
}

/* The next op of @rank is taken, if what it needs has been. */
static inline gboolean take_next(PipesimQueue *queue, const guint8 *codes, guint rank)
{
	const PipesimInstance *x = queue->x;
	PipesimQueueState *now = queue->now;
	Rank *here = &now->rank[rank];
	guint32 *count = counts(queue, now);
	const guint32 place = rank * x->per_rank + here->at;
	const guint32 own =
		rank * queue->codes + (codes[place] & pipesim_instance_code_mask(x));
	const PipesimQueueCode *of = &queue->of[own];
	const guint32 k = count[own];
	const gboolean joined = is_joined(queue, codes[place]);

	if (count[of->source] <= k)
		return FALSE;
	count[own]++;
	queue->fresh_turns[queue->n_ops - now->left] =
		(PipesimQueueTurn){rank, place, own, joined};
	/* Of what comes from nowhere, or from the lane itself, it stays 0. */
	here->free = MAX(here->free, queue->arrival[(gsize)own * x->count + k]);
	here->free += joined ? x->whole[own / x->kinds] : of->time;
	here->at++;
	now->left--;
	if (joined) {
		queue->fresh_turns[queue->n_ops - now->left].place = NO_OP;
		here->at++;
		now->left--;
		count[own + 1]++;
	}
	if (of->sent != NO_OP) {
		const gint64 sent = queue->arrival[(gsize)of->sent * x->count + k];

		here->free = MAX(here->free, sent);
	}
	if (of->target != NO_OP)
		send(queue, of, here, k);
	/* Behind the last gradient of a chunk. */
	if (k + 1 == x->count && (own % x->kinds == x->kinds - 1 || joined))
		here->skip = queue->behind;
	return TRUE;
}

/* Longest paths --------------------------------------------------------------------------- */

/* The longest path from somewhere to the end, and the place of the first op on it. */
typedef struct {
	gint64 time;
	guint32 place;
} Path;

/* Member by member: what has just been written so is slow to be read as a whole. */
static inline void lengthen(Path *path, gint64 time, guint32 place)
{
	const gboolean more = time > path->time;

	path->time = more ? time : path->time;
	path->place = more ? place : path->place;
}

typedef struct {
	Path free, idle;
} Ends;

/* What hangs on the message @at of a code that has been sent from @rank. */
static inline void trace_send(
	PipesimQueue *queue, const PipesimQueueCode *of, guint rank, gsize at, Ends *ends)
{
	Ends *from = &ends[rank], *to = &ends[of->rank];
	Path path = {queue->from_input[at], queue->input_place[at]};

	if (to != from) {
		lengthen(&path, queue->from_sent[at], queue->sent_place[at]);
		lengthen(&path, from->idle.time, from->idle.place);
		lengthen(&path, to->idle.time, to->idle.place);
		path.time += of->lag;
		from->idle.time = to->idle.time = path.time;
		from->idle.place = to->idle.place = path.place;
		lengthen(&to->free, path.time, path.place);
	}
	lengthen(&from->free, path.time, path.place);
}

/* All that comes behind @turn is told. */
static inline void trace_op(PipesimQueue *queue, const PipesimQueueTurn *turn, Ends *ends)
{
	const PipesimInstance *x = queue->x;
	const PipesimQueueCode *of = &queue->of[turn->own];
	guint32 *count = counts(queue, queue->now);
	const guint32 k = --count[turn->own], behind = turn->place + 1 + turn->joined;
	const gint64 took = turn->joined ? x->whole[turn->own / x->kinds] : of->time;
	const gsize at = (gsize)turn->own * x->count + k;
	gint64 rest = behind != (turn->rank + 1) * x->per_rank ? queue->rest[behind] : 0;
	Path *path = &ends[turn->rank].free;

	if (turn->joined)
		count[turn->own + 1]--;
	if (of->target != NO_OP) {
		const gsize input = (gsize)of->target * x->count + k;
		const gint64 beyond = queue->rest[queue->input_place[input]] + of->lag;

		trace_send(queue, of, turn->rank, input, ends);
		rest = MAX(rest, beyond);
	}
	if (of->sent != NO_OP) {
		queue->from_sent[(gsize)of->sent * x->count + k] = path->time;
		queue->sent_place[(gsize)of->sent * x->count + k] = path->place;
	}
	queue->next[turn->place] = path->place;
	queue->rest[turn->place] = rest + took;
	*path = (Path){path->time + took, turn->place};
	queue->from_input[at] = path->time;
	queue->input_place[at] = turn->place;
}

/* From the end of the order taken last on. */
static void trace(PipesimQueue *queue)
{
	const guint ranks = queue->x->ranks;
	g_autofree Ends *ends = g_new(Ends, ranks);
	guint state = queue->n_known;

	for (guint i = 0; i < ranks; i++)
		ends[i] = (Ends){{0, NO_OP}, {NOTHING, NO_OP}};
	for (guint32 i = queue->n_ops; i-- > 0;) {
		if (queue->turns[i].place == NO_OP)
			continue;
		trace_op(queue, &queue->turns[i], ends);
		while (state > 0 && queue->known[state - 1]->left == queue->n_ops - i) {
			state--;
			for (guint r = 0; r < ranks; r++) {
				queue->known[state]->rank[r].from_free = ends[r].free.time;
				queue->known[state]->rank[r].from_idle = ends[r].idle.time;
			}
		}
	}
	queue->first = NO_OP;
	for (guint i = 0, longest = 0; i < ranks; i++)
		if (ends[i].free.time > ends[longest].free.time || i == 0) {
			longest = i;
			queue->first = ends[i].free.place;
		}
}

/* As it stands, if all that is to come is as in the order taken last, of which @known has come as far: how long it will
 * be. */
static gint64 span_from(const PipesimQueue *queue, PipesimQueueState *known)
{
	const PipesimInstance *x = queue->x;
	const guint32 *count = counts(queue, queue->now);
	gint64 longest = 0;

	for (guint i = 0; i < x->ranks; i++) {
		const Rank *rank = &queue->now->rank[i];
		const gint64 by_op = rank->free + known->rank[i].from_free;
		const gint64 by_message = rank->idle + known->rank[i].from_idle;

		longest = MAX(longest, MAX(by_op, by_message));
	}
	for (guint32 own = 0; own < x->lanes * x->kinds; own++) {
		const PipesimQueueCode *of = &queue->of[own];
		const gsize to = (gsize)of->target * x->count,
			    sent = (gsize)of->sent * x->count;

		for (guint32 k = of->target != NO_OP ? count[of->target] : x->count;
			k < count[own]; k++) {
			const gint64 span = queue->arrival[to + k] + queue->from_input[to + k];

			longest = MAX(longest, span);
		}
		for (guint32 k = count[own]; of->sent != NO_OP && k < count[own - 1]; k++) {
			const gint64 span =
				queue->arrival[sent + k] + queue->from_sent[sent + k];

			longest = MAX(longest, span);
		}
	}
	return longest;
}

/* Whether all ranks stand in @a where they do in @b. */
static gboolean stand_alike(
	const PipesimQueue *queue, const PipesimQueueState *a, const PipesimQueueState *b)
{
	for (guint i = 0; i < queue->x->ranks; i++)
		if (a->rank[i].at != b->rank[i].at || a->rank[i].skip != b->rank[i].skip)
			return FALSE;
	return TRUE;
}

/* Behind all that differs from the order taken last: whether the order is longer than @most. Sets @said where that is
 * known for good.
 * @known: (inout): a state of that order; the next one to be come to */
static gboolean is_too_long(PipesimQueue *queue, gint64 most, guint *known, gboolean *said)
{
	const guint per_rank = queue->x->per_rank;

	for (guint i = 0; i < queue->x->ranks; i++) {
		const Rank *rank = &queue->now->rank[i];

		if (rank->at < per_rank &&
			rank->free + queue->rest[i * per_rank + rank->at] > most)
			return TRUE;
	}
	while (*known < queue->n_known && queue->known[*known]->left > queue->now->left)
		++*known;
	if (*known == queue->n_known || queue->known[*known]->left < queue->now->left ||
		!stand_alike(queue, queue->now, queue->known[*known]))
		return FALSE;
	*said = TRUE;
	return span_from(queue, queue->known[*known]) > most;
}

void pipesim_queue_forget(PipesimQueue *queue)
{
	queue->n_known = 1;
	queue->knows = FALSE;
}

gint64 pipesim_queue_run(PipesimQueue *queue, const guint8 *codes, guint rank, guint place,
	guint end, gint64 most)
{
	const guint ranks = queue->x->ranks, per_rank = queue->x->per_rank;
	gboolean said = !queue->knows;
	guint from = queue->n_known - 1, known;
	gint64 longest = 0;

	/* A rank that stands at the place may have waited there for what another op needs. */
	while (from > 0 && queue->known[from]->rank[rank].at >= place)
		from--;
	known = queue->begun = from;
	queue->n_fresh = from + 1;
	queue->n_changed = 0;
	memcpy(queue->now, queue->known[from], queue->size);
	while (queue->now->left > 0) {
		gboolean any = FALSE; /* could be taken in this round */

		for (guint i = 0; i < ranks; i++) {
			Rank *here = &queue->now->rank[i];

			if (here->at == per_rank)
				continue;
			if (here->skip > 0)
				any = here->skip-- > 0;
			else
				any |= take_next(queue, codes, i);
		}
		if (!any || (!said && queue->now->rank[rank].at >= end &&
				    is_too_long(queue, most, &known, &said)))
			return G_MAXINT64;
		if (++queue->now->round % queue->every == 0 && queue->n_fresh < STATES &&
			queue->now->left > 0)
			memcpy(queue->fresh[queue->n_fresh++], queue->now, queue->size);
	}
	for (guint i = 0; i < ranks; i++)
		longest = MAX(longest, queue->now->rank[i].free);
	return longest;
}

void pipesim_queue_take(PipesimQueue *queue)
{
	const guint32 from = queue->n_ops - queue->known[queue->begun]->left;

	memcpy(queue->turns + from, queue->fresh_turns + from,
		(queue->n_ops - from) * sizeof *queue->turns);
	for (guint i = queue->begun + 1; i < queue->n_fresh; i++) {
		PipesimQueueState *const swap = queue->known[i];

		queue->known[i] = queue->fresh[i];
		queue->fresh[i] = swap;
	}
	queue->n_known = queue->n_fresh;
	queue->knows = queue->now->left == 0;
	if (queue->knows)
		trace(queue);
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
	guint n = 0;

	for (guint32 at = queue->first; at != NO_OP; at = queue->next[at])
		places[n++] = at;
	return n;
}
