#include "optimize/queue.h"
#include "base/phases.h"

#define NO_OP PIPESIM_NO_OP

/* States kept of an order, at most, and rounds between two of them, at least. */
#define STATES 96
#define APART  2
/* Stages of a rank that PyTorch keeps gathered, unless it is asked to keep others. */
#define ACTIVE 3
/* From what nothing else hangs on to the end. */
#define NOTHING (G_MININT64 / 4)

/* The longest path from somewhere to the end, and the place of the first op on it. */
typedef struct {
	gint64 time;
	guint32 place;
	gboolean differs; /* what is besides at least left is not what it was before */
} Path;

typedef struct {
	Path free, idle;
} Ends;

/* Where the ranks stand; followed by how many of each code have been taken, and one more that is never reached, and in
 * known states by how long the order taken last goes on from there, of each rank. */
typedef struct {
	gint64 free;  /* when the last op ends */
	gint64 idle;  /* when the last message has moved */
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

static Ends *ends_of(const PipesimQueue *queue, PipesimQueueState *state)
{
	return (Ends *)((char *)state + queue->size);
}

gboolean pipesim_queue_takes(
	const PipesimInstance *x, const PipesimRuntime *runtime, const PipesimIssuing *issuing)
{
	return runtime != NULL && runtime->runs_files &&
	       issuing->communicators == PIPESIM_COMMUNICATOR_RANK && !issuing->defer_recv &&
	       issuing->max_sends == 0 && !issuing->defer_reduce_wait &&
	       issuing->ahead == PIPESIM_AHEAD_FULL &&
	       (issuing->active_stages == 0 ||
		       (x->chunks <= ACTIVE && issuing->active_stages >= x->chunks)) &&
	       x->pair == NULL;
}

void pipesim_queue_init(PipesimQueue *queue, const PipesimInstance *x,
	const PipesimRuntime *runtime, PipesimArena *arena)
{
	const gsize codes = (gsize)x->lanes * x->kinds, n = codes * x->count;

	*queue = (PipesimQueue){.x = x,
		.codes = x->chunks * x->kinds,
		.mask = pipesim_instance_code_mask(x),
		.joined = x->whole != NULL ? PIPESIM_CODE_JOINED : 0,
		.n_ops = (guint32)n,
		.behind = runtime->waits_for_sends ? 3 : 2,
		.passes = pipesim_arena_array(arena, guint8, n),
		.passed = pipesim_arena_array(arena, guint8, x->per_rank),
		.of = pipesim_arena_array(arena, PipesimQueueCode, codes + 1),
		.arrival = pipesim_arena_array(arena, gint64, n),
		.settled = pipesim_arena_array(arena, gint64, n),
		.differs = pipesim_arena_array(arena, guint8, n),
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
		.changed = pipesim_arena_array(arena, guint32, n)};
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	for (guint32 i = 0; i <= codes; i++)
		queue->of[i] = (PipesimQueueCode){.source = (guint32)codes,
			.input = i * x->count,
			.target = NO_OP,
			.sent = NO_OP,
			.time = i < codes ? x->time[i % x->kinds][i / x->kinds] : 0};
	for (guint32 code = 0; code < codes; code++) {
		gint64 hop;
		const guint32 from = pipesim_instance_input(x, code, &hop);

		if (from != PIPESIM_NO_LANE)
			queue->of[code].source = from;
		if (from == PIPESIM_NO_LANE || from / x->kinds == code / x->kinds)
			continue;
		queue->of[from].target = queue->of[code].input;
		queue->of[from].lag = hop;
		queue->of[from].rank = code / queue->codes;
		if (runtime->waits_for_sends && from % x->kinds == F &&
			code / queue->codes != from / queue->codes)
			queue->of[from + 1].sent = queue->of[code].input;
	}
	for (guint i = 0; i < STATES; i++) {
		const gsize size = queue->size + sizeof(Ends) * x->ranks;

		queue->known[i] = pipesim_arena_take(arena, 1, size);
		queue->fresh[i] = pipesim_arena_take(arena, 1, size);
	}
	queue->now = pipesim_arena_take(arena, 1, queue->size);
	if (queue->now == NULL)
		return;
	queue->known[0]->left = (guint32)n;
	counts(queue, queue->known[0])[codes] = G_MAXUINT32;
	queue->n_known = 1;
}

/* The output of the @k-th op of a code, which has ended on @from, sets off. */
static inline void send(PipesimQueue *queue, const PipesimQueueCode *of, Rank *from, guint32 k)
{
	const guint32 at = of->target + k;
	Rank *here = &queue->now->rank[of->rank];
	gint64 time = from->free;

	if (here != from) {
		time = MAX(time, from->idle);
		time = MAX(time, here->idle);
		time = MAX(time, here->free);
		time += of->lag;
		from->idle = here->idle = time;
	}
	queue->changed[queue->n_changed++] = at;
	queue->arrival[at] = time;
}

/* The next op of @rank is taken, if what it needs has been. */
static inline gboolean take_next(PipesimQueue *queue, const guint8 *codes, guint rank)
{
	PipesimQueueState *now = queue->now;
	const gint64 *arrival = queue->arrival;
	Rank *here = &now->rank[rank];
	guint32 *count = counts(queue, now);
	const guint32 place = rank * queue->x->per_rank + here->at;
	const guint32 own = rank * queue->codes + (codes[place] & queue->mask);
	const PipesimQueueCode *of = &queue->of[own];
	const guint32 k = count[own];
	const gboolean joined = (codes[place] & queue->joined) != 0;

	if (count[of->source] <= k)
		return FALSE;
	count[own] = k + 1;
	queue->fresh_turns[queue->n_ops - now->left] =
		(PipesimQueueTurn){rank, place, own, joined};
	/* Of what comes from nowhere, or from the lane itself, it stays 0. */
	here->free = MAX(here->free, arrival[of->input + k]);
	here->free += joined ? queue->x->whole[own / queue->x->kinds] : of->time;
	here->at++;
	now->left--;
	if (joined) {
		queue->fresh_turns[queue->n_ops - now->left].place = NO_OP;
		here->at++;
		now->left--;
		count[own + 1]++;
	}
	if (of->sent != NO_OP)
		here->free = MAX(here->free, arrival[of->sent + k]);
	if (of->target != NO_OP)
		send(queue, of, here, k);
	here->skip = queue->passes[place + joined];
	/* Behind the last gradient of a chunk. */
	if (k + 1 == queue->x->count &&
		(own % queue->x->kinds == queue->x->kinds - 1 || joined))
		here->skip += queue->behind;
	return TRUE;
}

/* Longest paths --------------------------------------------------------------------------- */

/* Member by member: what has just been written so is slow to be read as a whole. */
static inline void lengthen(Path *path, gint64 time, guint32 place)
{
	const gboolean more = time > path->time;

	path->time = more ? time : path->time;
	path->place = more ? place : path->place;
}

/* What hangs on the message @at of a code that has been sent from @rank. */
static inline void trace_send(
	PipesimQueue *queue, const PipesimQueueCode *of, guint rank, gsize at, Ends *ends)
{
	Ends *from = &ends[rank], *to = &ends[of->rank];
	Path path = {.time = queue->from_input[at], .place = queue->input_place[at]};

	queue->n_differ -= (queue->differs[at] & 1) + (queue->differs[at] >> 1);
	queue->differs[at] = 0;
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

/* Sets what is known of the message @at. @bit: of differs */
static inline void set_path(PipesimQueue *queue, gsize at, guint8 bit, gboolean differs,
	const Path *path, gint64 *time, guint32 *place)
{
	if (differs || time[at] != path->time || place[at] != path->place) {
		queue->differs[at] |= bit;
		queue->n_differ++;
	}
	time[at] = path->time;
	place[at] = path->place;
}

/* All that comes behind @turn is told. */
static inline void trace_op(PipesimQueue *queue, const PipesimQueueTurn *turn, Ends *ends)
{
	const PipesimInstance *x = queue->x;
	const PipesimQueueCode *of = &queue->of[turn->own];
	guint32 *count = counts(queue, queue->now);
	const guint32 k = --count[turn->own], behind = turn->place + 1 + turn->joined;
	const gint64 took = turn->joined ? x->whole[turn->own / x->kinds] : of->time;
	gint64 rest = behind != (turn->rank + 1) * x->per_rank ? queue->rest[behind] : 0;
	Path *path = &ends[turn->rank].free;

	if (turn->joined)
		count[turn->own + 1]--;
	if (of->target != NO_OP) {
		const guint32 input = of->target + k;
		const gint64 beyond = queue->rest[queue->input_place[input]] + of->lag;

		trace_send(queue, of, turn->rank, input, ends);
		rest = MAX(rest, beyond);
	}
	if (of->sent != NO_OP)
		set_path(queue, of->sent + k, 2, FALSE, path, queue->from_sent,
			queue->sent_place);
	queue->next[turn->place] = path->place;
	path->differs = queue->rest[turn->place] != rest + took;
	queue->rest[turn->place] = rest + took;
	path->time += took;
	path->place = turn->place;
	if (queue->of[of->source].target == of->input)
		set_path(queue, of->input + k, 1, path->differs, path, queue->from_input,
			queue->input_place);
}

static gboolean is_same(const Path *a, const Path *b)
{
	return a->time == b->time && a->place == b->place;
}

/* Keeps what goes on from @state; whether all of it, and of what comes before it, is as it was. */
static gboolean keep_ends(PipesimQueue *queue, PipesimQueueState *state, const Ends *ends)
{
	gboolean same = queue->n_differ == 0;
	Ends *kept = ends_of(queue, state);

	for (guint i = 0; i < queue->x->ranks; i++) {
		same &= !ends[i].free.differs && is_same(&ends[i].free, &kept[i].free) &&
			is_same(&ends[i].idle, &kept[i].idle);
		kept[i] = ends[i];
	}
	return same;
}

/* From the known state @from on, or the end, back to where nothing differs from what is known. */
static void trace(PipesimQueue *queue, guint from)
{
	const guint ranks = queue->x->ranks;
	g_autofree Ends *ends = g_new0(Ends, ranks);
	const gboolean whole = from == queue->n_known;

	for (guint i = 0; i < ranks; i++) {
		ends[i] = (Ends){{.place = NO_OP}, {.time = NOTHING, .place = NO_OP}};
		if (!whole)
			ends[i] = ends_of(queue, queue->known[from])[i];
		ends[i].free.differs = FALSE;
	}
	for (guint32 i = queue->n_ops - (whole ? 0 : queue->known[from]->left);; i--) {
		/* Several where ranks pass rounds. */
		while (from > 0 && queue->known[from - 1]->left == queue->n_ops - i)
			if (keep_ends(queue, queue->known[--from], ends) && queue->knows &&
				from <= queue->begun)
				return;
		if (i == 0)
			break;
		if (queue->turns[i - 1].place != NO_OP)
			trace_op(queue, &queue->turns[i - 1], ends);
	}
	queue->first = NO_OP;
	for (guint i = 0, longest = 0; i < ranks; i++)
		if (ends[i].free.time > ends[longest].free.time || i == 0) {
			longest = i;
			queue->first = ends[i].free.place;
		}
}

/* The longest of @longest and of what goes on as @from says with what arrives from @first to before @end. Unsets @settled
 * where some of that is there at another time. */
static inline gint64 span_of(const PipesimQueue *queue, const gint64 *from, guint32 first,
	guint32 end, gint64 longest, gboolean *settled)
{
	for (guint32 at = first; at < end; at++) {
		const gint64 span = queue->arrival[at] + from[at];

		*settled &= queue->arrival[at] == queue->settled[at];
		longest = MAX(longest, span);
	}
	return longest;
}

/* As it stands, if all that is to come is as in the order taken last, of which @known has come as far: how long it will
 * be. Sets @settled to whether all is there as soon as there. */
static gint64 span_from(const PipesimQueue *queue, PipesimQueueState *known, gboolean *settled)
{
	const PipesimInstance *x = queue->x;
	const Ends *ends = ends_of(queue, known);
	const guint32 *count = counts(queue, queue->now);
	gint64 longest = 0;

	*settled = TRUE;
	for (guint i = 0; i < x->ranks; i++) {
		const Rank *rank = &queue->now->rank[i], *other = &known->rank[i];
		const gint64 by_op = rank->free + ends[i].free.time;
		const gint64 by_message = rank->idle + ends[i].idle.time;

		*settled &= rank->free == other->free && rank->idle == other->idle;
		longest = MAX(longest, MAX(by_op, by_message));
	}
	for (guint32 own = 0; own < x->lanes * x->kinds; own++) {
		const PipesimQueueCode *of = &queue->of[own];

		if (queue->of[of->source].target == of->input)
			longest = span_of(queue, queue->from_input, of->input + count[own],
				of->input + count[of->source], longest, settled);
		if (of->sent != NO_OP)
			longest = span_of(queue, queue->from_sent, of->sent + count[own],
				of->sent + count[own - 1], longest, settled);
	}
	return longest;
}

/* Whether all ranks stand in @a where they do in @b; @free: and have come to an end there when they do. */
static gboolean stand_alike(const PipesimQueue *queue, const PipesimQueueState *a,
	const PipesimQueueState *b, gboolean free)
{
	for (guint i = 0; i < queue->x->ranks; i++)
		if (a->rank[i].at != b->rank[i].at || a->rank[i].skip != b->rank[i].skip ||
			(free && a->rank[i].free != b->rank[i].free))
			return FALSE;
	return TRUE;
}

/* Behind all that differs from the order taken last: whether no more of the order is to be told. Sets @span once that is
 * known, to G_MAXINT64 where it is above @most.
 * @known: (inout): a state of that order; the next one to be come to, or that all goes on from */
static gboolean is_told(PipesimQueue *queue, gint64 most, guint *known, gint64 *span)
{
	const guint per_rank = queue->x->per_rank;
	gboolean settled;

	for (guint i = 0; i < queue->x->ranks && *span < 0; i++) {
		const Rank *rank = &queue->now->rank[i];

		if (rank->at < per_rank &&
			rank->free + queue->rest[i * per_rank + rank->at] > most) {
			*span = G_MAXINT64;
			return TRUE;
		}
	}
	while (*known < queue->n_known && queue->known[*known]->left > queue->now->left)
		++*known;
	if (*known == queue->n_known || queue->known[*known]->left < queue->now->left ||
		!stand_alike(queue, queue->now, queue->known[*known], *span >= 0))
		return FALSE;
	gint64 time = span_from(queue, queue->known[*known], &settled);
	*span = time > most ? G_MAXINT64 : time;
	return time > most || settled;
}

void pipesim_queue_forget(PipesimQueue *queue)
{
	queue->n_known = 1;
	queue->knows = FALSE;
}

/* What @rank passes behind each op besides the gradients of a chunk that is done. Where it has more chunks than are kept,
 * one that is not among the next ones is let go of, and one that comes among them is gathered (runtime/sharding.h); each
 * takes a round. What stands before the first op is as much on every rank. */
static void fill_passes(PipesimQueue *queue, const guint8 *codes, guint rank)
{
	const PipesimInstance *x = queue->x;
	guint8 next[PIPESIM_MAX_CHUNKS]; /* the nearest first */
	guint n = 0;

	for (guint32 i = (rank + 1) * x->per_rank; i-- > rank * x->per_rank;) {
		const guint8 chunk = (guint8)((codes[i] & queue->mask) / x->kinds);
		guint at = 0;

		while (at < n && next[at] != chunk)
			at++;
		/* What it takes to let go of a chunk that is done is told elsewhere. */
		queue->passes[i] = n < ACTIVE || at < ACTIVE ? 0 : at < n ? 2 : 1;
		n += at == n;
		memmove(next + 1, next, at);
		next[0] = chunk;
	}
}

/* Also where the order that differs from the one taken last from @place to before @end of @rank does so in these. */
static void change_passes(
	PipesimQueue *queue, const guint8 *codes, guint rank, guint *place, guint *end)
{
	const guint per_rank = queue->x->per_rank;
	const guint8 *passes = &queue->passes[rank * per_rank];

	queue->changed_rank = rank;
	memcpy(queue->passed, passes, per_rank);
	for (guint i = 0; i < queue->x->ranks; i++)
		if (i == rank || !queue->knows)
			fill_passes(queue, codes, i);
	for (guint i = 0; i < per_rank; i++)
		if (passes[i] != queue->passed[i]) {
			*place = MIN(*place, i + 1);
			*end = MAX(*end, i + 1);
		}
}

gint64 pipesim_queue_run(PipesimQueue *queue, const guint8 *codes, guint rank, guint place,
	guint end, gint64 most)
{
	const guint ranks = queue->x->ranks, per_rank = queue->x->per_rank;
	guint from = 0, known = queue->n_known;
	gint64 span = -1;

	if (queue->x->chunks > ACTIVE)
		change_passes(queue, codes, rank, &place, &end);
	/* A rank that stands at the place may have waited there for what another op needs. */
	while (from + 1 < known) {
		const guint middle = (from + known) / 2;

		if (queue->known[middle]->rank[rank].at < place)
			from = middle;
		else
			known = middle;
	}
	known = queue->begun = from;
	queue->n_fresh = from + 1;
	queue->n_changed = 0;
	queue->met = queue->n_known;
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
		if (!any)
			return G_MAXINT64;
		if (queue->knows && queue->now->rank[rank].at >= end &&
			is_told(queue, most, &known, &span)) {
			queue->met = known;
			return span;
		}
		if (++queue->now->round % queue->every == 0 && queue->n_fresh < STATES &&
			queue->now->left > 0)
			memcpy(queue->fresh[queue->n_fresh++], queue->now, queue->size);
	}
	for (guint i = 0; i < ranks; i++)
		span = MAX(span, queue->now->rank[i].free);
	return span;
}

/* Fresh states take the place of known ones from where the run has begun to where it has ended. */
static void keep_states(PipesimQueue *queue)
{
	const guint begin = queue->begun + 1, n_kept = queue->n_known - queue->met;
	const guint n_fresh = MIN(queue->n_fresh, STATES - n_kept) - begin;
	const guint n_gone = queue->met - begin;
	PipesimQueueState **known = queue->known, *all[2 * STATES];

	memcpy(all, &queue->fresh[begin], n_fresh * sizeof *all);
	memcpy(all + n_fresh, &known[queue->met], n_kept * sizeof *all);
	memcpy(all + n_fresh + n_kept, &known[begin], n_gone * sizeof *all);
	memcpy(all + n_fresh + n_kept + n_gone, &known[queue->n_known],
		(STATES - queue->n_known) * sizeof *all);
	memcpy(&known[begin], all, (STATES - begin) * sizeof *all);
	memcpy(&queue->fresh[begin], all + STATES - begin, n_fresh * sizeof *all);
	queue->n_known = begin + n_fresh + n_kept;
	queue->met = begin + n_fresh;
}

void pipesim_queue_take(PipesimQueue *queue)
{
	const guint32 from = queue->n_ops - queue->known[queue->begun]->left;

	memcpy(queue->turns + from, queue->fresh_turns + from,
		(queue->n_ops - queue->now->left - from) * sizeof *queue->turns);
	for (guint i = 0; i < queue->n_changed; i++)
		queue->settled[queue->changed[i]] = queue->arrival[queue->changed[i]];
	keep_states(queue);
	if (queue->now->left == 0 || queue->knows)
		trace(queue, queue->met);
	queue->knows |= queue->now->left == 0;
}

void pipesim_queue_leave(PipesimQueue *queue)
{
	for (guint i = 0; i < queue->n_changed; i++)
		queue->arrival[queue->changed[i]] = queue->settled[queue->changed[i]];
	if (queue->x->chunks > ACTIVE)
		memcpy(&queue->passes[queue->changed_rank * queue->x->per_rank], queue->passed,
			queue->x->per_rank);
}

guint pipesim_queue_critical(const PipesimQueue *queue, guint32 *places)
{
	guint n = 0;

	for (guint32 at = queue->first; at != NO_OP; at = queue->next[at])
		places[n++] = at;
	return n;
}
