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

/* Where the ranks stand, and one that nobody looks at; followed by how many of each code have been taken, and one more that is never reached, and in
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
	return (guint32 *)&state->rank[queue->x->ranks + 1];
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
		.arrival = pipesim_arena_array(arena, gint64, n + 2 * x->count),
		.soonest = pipesim_arena_array(arena, gint64, n + 2 * x->count),
		.busy = pipesim_arena_array(arena, gint64, n + x->ranks),
		.settled = pipesim_arena_array(arena, gint64, n),
		.message = pipesim_arena_array(arena, PipesimQueueMessage, n),
		.rest = pipesim_arena_array(arena, gint64, n),
		.next = pipesim_arena_array(arena, guint32, n),
		.size = (sizeof(PipesimQueueState) + sizeof(Rank) * (x->ranks + 1) +
				sizeof(guint32) * (codes + 1) + 7) /
			8 * 8,
		.every = MAX(APART, 2 * x->per_rank / STATES),
		.known = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.fresh = pipesim_arena_array(arena, PipesimQueueState *, STATES),
		.turns = pipesim_arena_array(arena, PipesimQueueTurn, n),
		.fresh_turns = pipesim_arena_array(arena, PipesimQueueTurn, n),
		.changed = pipesim_arena_array(arena, guint32, n + 1)};
	if (!pipesim_arena_check(arena, NULL, "ops"))
		return;
	for (guint32 i = 0; i <= codes; i++)
		queue->of[i] = (PipesimQueueCode){.source = (guint32)codes,
			.input = i * x->count,
			.target = (guint32)n + x->count,
			.sent = (guint32)n,
			.rank = (guint16)(i / queue->codes),
			.from = (guint16)(i / queue->codes),
			.to = (guint16)x->ranks,
			.time = i < codes ? x->time[i % x->kinds][i / x->kinds] : 0};
	for (guint32 code = 0; code < codes; code++) {
		gint64 hop;
		const guint32 source = pipesim_instance_input(x, code, &hop);
		PipesimQueueCode *to = &queue->of[code], *from = &queue->of[source];

		if (source != PIPESIM_NO_LANE)
			to->source = source;
		if (source == PIPESIM_NO_LANE || source / x->kinds == code / x->kinds)
			continue;
		from->target = to->input;
		from->lag = hop;
		from->sends = to->receives = TRUE;
		from->apart = from->rank != to->rank;
		if (!from->apart)
			continue;
		from->to = to->rank;
		to->from = from->rank;
		from[1].waits = runtime->waits_for_sends && source % x->kinds == F;
		if (from[1].waits)
			from[1].sent = to->input;
	}
	for (guint32 code = 0; code < codes; code++) {
		guint32 before = queue->of[code].source;

		while (before < codes && queue->of[before].rank != queue->of[code].rank)
			before = queue->of[before].source;
		queue->of[code].before = before;
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

/* How long the op takes that is the first place of @code, of those that @of says. */
static inline gint64 time_of(
	const PipesimQueue *queue, const PipesimQueueCode *of, gboolean joined)
{
	return joined ? queue->x->whole[(of - queue->of) / queue->x->kinds] : of->time;
}

/* The next op of @rank, which stands @here, is taken, if what it needs has been. What most ops do is done for all. */
static inline gboolean take_next(
	PipesimQueue *queue, const guint8 *codes, guint rank, Rank *here)
{
	PipesimQueueState *now = queue->now;
	gint64 *arrival = queue->arrival;
	guint32 *count = counts(queue, now);
	const guint32 place = rank * queue->x->per_rank + here->at, code = codes[place];
	const guint32 own = rank * queue->codes + (code & queue->mask);
	const PipesimQueueCode *of = &queue->of[own];
	const guint32 k = count[own], at = of->target + k;
	const gboolean joined = (code & queue->joined) != 0;
	PipesimQueueTurn *turn = &queue->fresh_turns[queue->n_ops - now->left];
	Rank *there = &now->rank[of->to];

	if (count[of->source] <= k)
		return FALSE;
	turn[0] = (PipesimQueueTurn){place, own, joined};
	if (joined) {
		turn[1].place = NO_OP;
		count[own + 1]++;
	}
	count[own] = k + 1;
	here->at += 1 + joined;
	now->left -= 1 + joined;
	here->skip = queue->passes[place + joined];
	/* Behind the last gradient of a chunk. */
	if (k + 1 == queue->x->count &&
		(own % queue->x->kinds == queue->x->kinds - 1 || joined))
		here->skip += queue->behind;
	/* Of what comes from nowhere, or from the lane itself, it stays 0. */
	gint64 free = MAX(here->free, arrival[of->input + k]);
	free += time_of(queue, of, joined);
	free = MAX(free, arrival[of->sent + k]);
	/* Its output sets off. */
	const gint64 ready = of->apart ? MAX(free, there->free) : free;
	gint64 time = MAX(here->idle, there->idle);
	time = MAX(of->apart ? time : 0, ready) + of->lag;
	there->idle = time;
	here->idle = of->apart ? time : here->idle;
	here->free = free;
	arrival[at] = time;
	queue->changed[queue->n_changed] = at;
	queue->n_changed += of->sends;
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

/* What hangs on a message of a code that has been sent. */
static inline void trace_send(PipesimQueue *queue, const PipesimQueueCode *of,
	PipesimQueueMessage *message, Ends *ends)
{
	Ends *from = &ends[of->rank], *to = &ends[of->to];
	Path path = {.time = message->from_input, .place = message->input_place};

	queue->n_differ -= message->input_differs + message->sent_differs;
	message->input_differs = message->sent_differs = 0;
	if (of->apart) {
		Path idle = {.time = from->idle.time, .place = from->idle.place};

		/* Of what is as long the first of these four; each message goes on from idle of the one before it. */
		lengthen(&path, message->from_sent, message->sent_place);
		lengthen(&idle, to->idle.time, to->idle.place);
		lengthen(&path, idle.time, idle.place);
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
	const gint64 took = time_of(queue, of, turn->joined);
	gint64 rest = behind != (of->rank + 1u) * x->per_rank ? queue->rest[behind] : 0;
	Path *path = &ends[of->rank].free;

	if (turn->joined)
		count[turn->own + 1]--;
	if (of->sends) {
		PipesimQueueMessage *message = &queue->message[of->target + k];
		const gint64 beyond = queue->rest[message->input_place] + of->lag;

		trace_send(queue, of, message, ends);
		rest = MAX(rest, beyond);
	}
	if (of->waits) {
		PipesimQueueMessage *message = &queue->message[of->sent + k];

		message->sent_differs =
			message->from_sent != path->time || message->sent_place != path->place;
		queue->n_differ += message->sent_differs;
		message->from_sent = path->time;
		message->sent_place = path->place;
	}
	queue->next[turn->place] = path->place;
	path->differs = queue->rest[turn->place] != rest + took;
	queue->rest[turn->place] = rest + took;
	path->time += took;
	path->place = turn->place;
	if (of->receives) {
		PipesimQueueMessage *message = &queue->message[of->input + k];

		message->input_differs = path->differs || message->from_input != path->time ||
					 message->input_place != path->place;
		queue->n_differ += message->input_differs;
		message->from_input = path->time;
		message->input_place = path->place;
	}
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

/* The longest of @longest and of what goes on with what arrives from @first to before @end. Unsets @settled where some of that
 * is there at another time. */
static inline gint64 span_of(const PipesimQueue *queue, gboolean sent, guint32 first,
	guint32 end, gint64 longest, gboolean *settled)
{
	for (guint32 at = first; at < end; at++) {
		const PipesimQueueMessage *message = &queue->message[at];
		const gint64 span =
			queue->arrival[at] + (sent ? message->from_sent : message->from_input);

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

		if (of->receives)
			longest = span_of(queue, FALSE, of->input + count[own],
				of->input + count[of->source], longest, settled);
		if (of->waits)
			longest = span_of(queue, TRUE, of->sent + count[own],
				of->sent + count[own - 1], longest, settled);
	}
	return longest;
}

/* Whether all ranks stand in @a where they do in @b; @free: and have come to an end there when they do. */
static gboolean stand_alike(const PipesimQueue *queue, const PipesimQueueState *a,
	const PipesimQueueState *b, gboolean free)
{
	return !pipesim_any(i, queue->x->ranks,
		a->rank[i].at != b->rank[i].at || a->rank[i].skip != b->rank[i].skip ||
			(free && a->rank[i].free != b->rank[i].free));
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

/* The rank that an op of @of gets its @k-th input from goes on to where it sends that, each op no later than it will be: what
 * was sent before @known is there when it is, and the rest soon enough. FALSE where it waits there for an op of the rank of @of
 * that is none of those before. */
static gboolean come_up_to(PipesimQueue *queue, const guint8 *codes, const guint32 *known,
	const PipesimQueueCode *of, guint32 k)
{
	guint32 *count = counts(queue, queue->now);
	Rank *there = &queue->now->rank[of->from];

	while (count[of->source] <= k) {
		const guint32 code = codes[of->from * queue->x->per_rank + there->at];
		const guint32 own = of->from * queue->codes + (code & queue->mask);
		const PipesimQueueCode *other = &queue->of[own];
		const guint32 n = count[own]++;
		const gboolean joined = (code & queue->joined) != 0;

		if (known[other->source] > n)
			there->free = MAX(there->free, queue->arrival[other->input + n]);
		else if (other->from == of->rank && count[other->source] <= n)
			return FALSE;
		there->free += time_of(queue, other, joined);
		there->at += 1 + joined;
		count[own + 1] += joined;
		queue->soonest[other->target + n] = there->free + other->lag;
	}
	return TRUE;
}

/* Whether the order, which differs from the one taken last behind the known state @from and before @end of @rank, is longer
 * than @most for sure, or does not end: by that rank and those that it gets its inputs from alone. */
static gboolean is_longer(PipesimQueue *queue, const guint8 *codes, guint rank, guint end,
	gint64 most, guint from)
{
	const guint per_rank = queue->x->per_rank, first = rank * queue->codes;
	const guint32 *known = counts(queue, queue->known[from]);
	guint32 *count = counts(queue, queue->now);
	Rank *here = &queue->now->rank[rank];
	const PipesimQueueState
		*behind; /* nothing that is to be taken there leads to what differs */

	while (from < queue->n_known && queue->known[from]->rank[rank].at < end)
		from++;
	behind = from < queue->n_known ? queue->known[from] : NULL;
	while (here->at < end) {
		const guint32 code = codes[rank * per_rank + here->at];
		const PipesimQueueCode *of = &queue->of[first + (code & queue->mask)];
		const guint32 k = count[of - queue->of]++;
		const gboolean joined = (code & queue->joined) != 0;

		if (count[of->before] <= k)
			return TRUE;
		if (of->from != rank) {
			const gint64 *when =
				known[of->source] > k ? queue->arrival : queue->soonest;

			if (!come_up_to(queue, codes, known, of, k))
				return TRUE;
			here->free = MAX(here->free, when[of->input + k]);
		}
		here->free += time_of(queue, of, joined);
		here->at += 1 + joined;
		count[of - queue->of + 1] += joined;
		if (of->waits && known[of - queue->of - 1] > k)
			here->free = MAX(here->free, queue->arrival[of->sent + k]);
		if (!of->apart)
			continue;
		const guint at = queue->message[of->target + k].input_place - of->to * per_rank;
		const guint next = behind != NULL ? MAX(behind->rank[of->to].at, at) : per_rank;
		const gint64 *busy = &queue->busy[of->to * (per_rank + 1)];
		const gint64 rest = next < per_rank ? queue->rest[of->to * per_rank + next] : 0;

		here->idle = MAX(here->idle, here->free) + of->lag;
		if (here->idle + busy[next] - busy[at] + rest > most)
			return TRUE;
	}
	end = rank * per_rank + here->at;
	return here->free + (here->at < per_rank ? queue->rest[end] : 0) > most;
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
	queue->codes_run = codes;
	queue->changed_rank = rank;
	queue->changed_end = end;
	memcpy(queue->now, queue->known[from], queue->size);
	if (queue->knows) {
		if (is_longer(queue, codes, rank, end, most, from))
			return G_MAXINT64;
		memcpy(queue->now, queue->known[from], queue->size);
	}
	while (queue->now->left > 0) {
		gboolean any = FALSE; /* could be taken in this round */

		for (guint i = 0; i < ranks; i++) {
			Rank *here = &queue->now->rank[i];

			if (here->at == per_rank)
				continue;
			if (here->skip > 0)
				any = here->skip-- > 0;
			else
				any |= take_next(queue, codes, i, here);
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

/* What ops before others of @rank take, as far as that is not what it was. */
static void add_up(PipesimQueue *queue, guint rank, guint begin, guint end)
{
	const guint per_rank = queue->x->per_rank;
	gint64 *busy = &queue->busy[rank * (per_rank + 1)];

	for (guint i = begin; i < end; i++) {
		const guint32 code = queue->codes_run[rank * per_rank + i];
		const gboolean joined = (code & queue->joined) != 0;
		const PipesimQueueCode *of =
			&queue->of[rank * queue->codes + (code & queue->mask)];

		busy[i + 1] = busy[i] + time_of(queue, of, joined);
		if (joined && ++i < per_rank)
			busy[i + 1] = busy[i];
	}
}

void pipesim_queue_take(PipesimQueue *queue)
{
	const guint32 from = queue->n_ops - queue->known[queue->begun]->left;

	memcpy(queue->turns + from, queue->fresh_turns + from,
		(queue->n_ops - queue->now->left - from) * sizeof *queue->turns);
	for (guint i = 0; i < queue->n_changed; i++)
		queue->settled[queue->changed[i]] = queue->arrival[queue->changed[i]];
	for (guint i = 0; i < queue->x->ranks; i++)
		if (!queue->knows)
			add_up(queue, i, 0, queue->x->per_rank);
		else if (i == queue->changed_rank)
			/* As one a backward takes something else: all behind it is moved. */
			add_up(queue, i, queue->known[queue->begun]->rank[i].at,
				queue->joined != 0 ? queue->x->per_rank : queue->changed_end);
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
