/* Megatron-LM's schedules (runtime/megatron.h) as they run. In a communicator of two ranks what is first in line at both ends
 * is the same message: it moves when both have come to it and the one before it is there. Messages of a batch wait for
 * each other's ends alone, as the batch before is waited for. */
#include "engine/flow.h"
#include "runtime/megatron.h"
#include "runtime/rounds.h"

/* Messages that one end of a communicator may be ahead of the other. */
#define MOST_AHEAD 64
/* More messages of a stage than may be on their way, or wait for their op, beside those that are received ahead: each end
 * is issued one op before the message is needed, and waited for at once or one op later. */
#define SLACK 16

typedef struct {
	gint64 done;                     /* when its last message that has moved was there */
	guint32 n[2];                    /* issued at each end */
	PipesimMoment *line[MOST_AHEAD]; /* those that one end alone has come to */
} Communicator;

/* Arrays of four go by the kind of a message. */
typedef struct {
	PipesimMegatronSeat seat;
	PipesimFlowRank *rank;
	PipesimPlace *places;
	Communicator *communicator[4];
	guint8 end[4];          /* which of the communicator it is */
	guint32 other[4];       /* rank */
	PipesimMoment *open[4]; /* what it issued last, in order */
	guint n_open;
	const PipesimMoment *waits; /* for that message */
	gint64 free
		[2]; /* when its last op of a direction ends, where messages wait for nothing */
} Member;

typedef struct {
	PipesimFlow *flow;
	const PipesimMegatron *all;
	Communicator *communicators; /* two a rank */
	gint64 host;                 /* behind each batch */
	Member *members;             /* by rank */
	PipesimRounds rounds;
	gboolean
		other; /* it runs another order than Megatron's, or messages cross: not to be told so */
} Teller_run;

/* Counts one half of what @member runs, which is the @k-th of its direction; returns when its input is there where
 * messages wait for nothing. */
static inline gint64 take_half(
	Teller_run *t, Member *member, guint backward, guint32 k, guint8 chunk, guint32 written)
{
	const PipesimMegatronOp *op = &t->all->ops[backward][k];
	PipesimPlace *place = &member->places[chunk];

	t->other |= chunk != op->chunk ||
		    op->microbatch != pipesim_flow_number(t->flow, place, backward, written);
	place->n[backward]++;
	return t->other || place->in[backward] == NULL
		       ? 0
		       : place->in[backward][op->microbatch & t->flow->mask].free - 1;
}

static inline void run_run(
	Teller_run *t, const PipesimMegatronSeat *s, guint32 forward, guint32 backward)
{
	Member *member = &t->members[s->rank];
	PipesimFlowRank *r = member->rank;
	const PipesimOp *op = r->verb;
	const guint kind = forward == PIPESIM_NONE    ? PIPESIM_B
			   : backward == PIPESIM_NONE ? PIPESIM_F
						      : PIPESIM_FB;
	gint64 there = 0, b_there = 0, took;

	if (r->rounds == 0 || op->kind != kind) {
		t->other = TRUE;
		return;
	}
	if (kind != PIPESIM_B)
		there = take_half(t, member, 0, forward, op->chunk, op->microbatch);
	if (kind != PIPESIM_F)
		b_there = take_half(t, member, 1, backward, pipesim_op_backward_chunk(op),
			pipesim_op_backward_microbatch(op));
	if (r->at == 0)
		t->flow->step->first_start[s->rank] = r->now;
	took = kind == PIPESIM_FB ? pipesim_durations_get(&t->flow->durations, s->rank, op)
				  : member->places[op->chunk].took[kind];
	r->last_end = r->now += took;
	r->free = MAX(r->free, MAX(there, b_there)) + took;
	if (kind != PIPESIM_B)
		member->free[0] = r->free;
	if (kind != PIPESIM_F)
		member->free[1] = r->free;
	pipesim_flow_verb(t->flow, s->rank);
}

/* The message of @kind of the @k-th op of @member; NULL: none. */
static inline PipesimMoment *message_of(
	const Teller_run *t, const Member *member, guint kind, guint32 k)
{
	const guint backward = pipesim_action_is_backward(kind);

	if (k == PIPESIM_NONE)
		return NULL;
	const PipesimMegatronOp *op = &t->all->ops[backward][k];
	PipesimMoment *first = pipesim_action_is_send(kind)
				       ? member->places[op->chunk].out[backward]
				       : member->places[op->chunk].in[backward];
	return first != NULL ? first + (op->microbatch & t->flow->mask) : NULL;
}

/* Whether @message, which an end of @communicator comes to, is the one that is first in line there. */
static inline gboolean line_up(Communicator *communicator, guint end, PipesimMoment *message)
{
	PipesimMoment **line = &communicator->line[communicator->n[end] % MOST_AHEAD];

	if (message->ruled < 0)
		return communicator->n[end]++ < communicator->n[!end] && *line == message;
	*line = message;
	return communicator->n[end]++ - communicator->n[!end] < MOST_AHEAD;
}

/* @member comes to its end of @message, one of @kind; it moves where the other end has been come to. */
static inline void issue_one(Teller_run *t, Member *member, guint kind, PipesimMoment *message)
{
	const guint i = kind - PIPESIM_ACTION_SEND_F;
	Communicator *communicator = member->communicator[i];
	gint64 start = member->rank->now;

	if (pipesim_action_is_send(kind))
		message->free =
			member->free[pipesim_action_is_backward(kind)] + t->flow->p2p + 1;
	if (communicator != NULL && !line_up(communicator, member->end[i], message))
		t->other = TRUE;
	/* That of a micro-batch before may still stand there. */
	if (message->ruled >= 0) {
		message->ruled = -1 - start;
		return;
	}
	start = MAX(start, -1 - message->ruled);
	if (communicator != NULL) {
		start = MAX(start, communicator->done);
		communicator->done = start + t->flow->p2p;
	}
	message->ruled = start + t->flow->p2p + 1;
	if (t->members[member->other[i]].waits == message)
		pipesim_rounds_call(&t->rounds, member->seat.rank, member->other[i]);
}

static inline void issue_run(Teller_run *t, const PipesimMegatronSeat *s, PipesimExchange what)
{
	Member *member = &t->members[s->rank];
	const guint8 *kinds = pipesim_megatron_kinds(t->all, s->rank);

	member->n_open = 0;
	for (guint i = 0; i < 4; i++) {
		PipesimMoment *message = message_of(
			t, member, kinds[i], what.ops[kinds[i] - PIPESIM_ACTION_SEND_F]);

		if (message == NULL)
			continue;
		issue_one(t, member, kinds[i], message);
		member->open[member->n_open++] = message;
	}
}

/* Whether @message is there, so that @member may go on. */
static inline gboolean wait_one(Member *member, const PipesimMoment *message)
{
	if (message->ruled <= 0) {
		member->waits = message;
		return FALSE;
	}
	member->rank->now = MAX(member->rank->now, message->ruled - 1);
	return TRUE;
}

static inline gboolean wait_run(
	Teller_run *t, const PipesimMegatronSeat *s, guint kind, guint32 k)
{
	Member *member = &t->members[s->rank];
	const PipesimMoment *message = message_of(t, member, kind, k);

	return member->rank->at < member->rank->limit &&
	       (message == NULL || wait_one(member, message));
}

static inline gboolean ended_run(Teller_run *t, PipesimMegatronSeat *s)
{
	Member *member = &t->members[s->rank];

	if (member->rank->at >= member->rank->limit)
		return FALSE;
	for (; s->n_ended < member->n_open; s->n_ended++)
		if (!wait_one(member, member->open[s->n_ended]))
			return FALSE;
	member->rank->now += member->n_open > 0 ? t->host : 0;
	return TRUE;
}

#define MAKE(name) name##_run
#include "runtime/megatron.inc"
#undef MAKE

/* What the first rank runs, all run. FALSE where its stages, or its order, are not Megatron's. */
static gboolean read_order(PipesimFlow *flow, PipesimMegatron *all)
{
	const guint32 *begin = flow->loop_begin;
	guint32 n[2] = {0, 0};

	for (guint i = 0; i < all->ranks * all->chunks; i++)
		if (flow->program->stage_of[i] !=
			i % all->chunks * all->ranks + i / all->chunks)
			return FALSE;
	for (guint32 l = begin[0]; l < begin[1]; l++)
		for (guint32 i = 0; i < flow->loops[l].n * flow->loops[l].count; i++) {
			const PipesimOp *op =
				&flow->verbs[flow->loops[l].first + i % flow->loops[l].n];

			if (op->kind == PIPESIM_I || op->kind == PIPESIM_W)
				return FALSE;
			for (guint back = 0; back < 2; back++) {
				const guint8 chunk =
					back ? pipesim_op_backward_chunk(op) : op->chunk;
				PipesimPlace *place = &flow->places[chunk];

				if (back ? !pipesim_op_has_backward(op)
					 : !pipesim_op_has_forward(op))
					continue;
				guint32 number = pipesim_flow_number(flow, place, back,
					back ? pipesim_op_backward_microbatch(op)
					     : op->microbatch);
				if (n[back] == all->n || number >= all->m)
					return FALSE;
				place->n[back]++;
				pipesim_megatron_take(all, back, n[back]++, chunk, number);
			}
		}
	for (guint chunk = 0; chunk < all->chunks; chunk++)
		flow->places[chunk].n[0] = flow->places[chunk].n[1] = 0;
	return n[0] == all->n && n[1] == all->n;
}

/* Seats, and between two ranks a communicator for what goes either way or, with @edges, one for each; none for batches. */
static void sit_down(Teller_run *t, gboolean edges, Communicator *communicators)
{
	const PipesimMegatron *all = t->all;
	const guint ranks = all->ranks;

	for (guint rank = 0; rank < ranks; rank++) {
		Member *member = &t->members[rank];
		const guint next = (rank + 1) % ranks, last = (rank + ranks - 1) % ranks;

		member->seat = pipesim_megatron_seat(all, rank);
		member->rank = &t->flow->ranks[rank];
		member->places = &t->flow->places[(gsize)rank * all->chunks];
		for (guint chunk = 0; ranks == 1 && chunk < all->chunks; chunk++)
			for (guint i = 0; i < 2; i++)
				member->places[chunk].in[i] = member->places[chunk].out[i] =
					NULL;
		for (guint i = 0; i < 4; i++) {
			const guint kind = PIPESIM_ACTION_SEND_F + i;
			const gboolean sends = pipesim_action_is_send(kind);
			const gboolean behind = i == 0 || i == 3;
			const guint other = behind ? next : last, from = sends ? rank : other;

			member->other[i] = other;
			if (all->batched)
				continue;
			member->end[i] = edges ? !sends : !behind;
			/* Of two ranks each is behind the other. */
			member->communicator[i] =
				&communicators[edges ? 2 * from +
							       (ranks == 2 || sends == behind)
					       : behind ? rank
							: last];
		}
	}
}

/* The number of an op, or none. */
static gboolean visit_number(PipesimLeap *leap, const PipesimMegatron *all, guint32 *k)
{
	return pipesim_leap_word(leap, *k == PIPESIM_NONE) &&
	       (*k == PIPESIM_NONE ||
		       pipesim_leap_count(leap, k, pipesim_leap_added(leap) * all->chunks));
}

static gboolean visit_communicator(PipesimLeap *leap, Communicator *c)
{
	gboolean same = pipesim_leap_word(leap, (gint64)c->n[0] - c->n[1]) &&
			pipesim_leap_word(leap, c->n[0] > 0) &&
			(c->n[0] == 0 || pipesim_leap_time(leap, &c->done, FALSE));

	for (guint32 i = MIN(c->n[0], c->n[1]); i < MAX(c->n[0], c->n[1]) && same; i++)
		same = pipesim_leap_message(leap, &c->line[i % MOST_AHEAD]);
	return same;
}

/* As far as all ops are those of a superstep before, with more micro-batches, and nobody asks for others. */
static void limit(const Teller_run *t, PipesimLeap *leap)
{
	const PipesimMegatron *all = t->all;
	const guint32 added = pipesim_leap_added(leap), by = added * all->chunks;
	const guint32 ahead = pipesim_megatron_ahead(all) + SLACK;

	for (guint back = 0; back < 2; back++) {
		const PipesimMegatronOp *ops = all->ops[back];
		guint32 end = G_MAXUINT32, most = 0;

		for (guint rank = 0; rank < all->ranks; rank++) {
			guint32 n = 0;

			for (guint chunk = 0; chunk < all->chunks; chunk++)
				n += t->members[rank].places[chunk].n[back];
			most = MAX(most, n);
			end = MIN(end, n);
		}
		/* What a rank is told of comes from no further back. */
		end -= MIN(end, all->ranks + SLACK);
		end += by;
		while (end < all->n && ops[end].chunk == ops[end - by].chunk &&
			ops[end].microbatch == ops[end - by].microbatch + added)
			end++;
		pipesim_leap_limit(leap, (end - MIN(end, most + by + ahead)) / by);
	}
}

static gboolean visit(PipesimLeap *leap, gpointer data, guint rank)
{
	Teller_run *t = data;
	const PipesimMegatron *all = t->all;
	Member *member = &t->members[rank];
	PipesimMegatronSeat *seat = &member->seat;
	gboolean same =
		pipesim_leap_word(leap, seat->at) && pipesim_leap_word(leap, seat->n_ended) &&
		visit_number(leap, all, &seat->k) && visit_number(leap, all, &seat->sent[0]) &&
		visit_number(leap, all, &seat->sent[1]) &&
		pipesim_leap_time(leap, &member->free[0], TRUE) &&
		pipesim_leap_time(leap, &member->free[1], TRUE) &&
		pipesim_leap_word(leap, member->n_open);

	for (guint i = 0; i < member->n_open && same; i++)
		same = pipesim_leap_message(leap, &member->open[i]);
	for (guint i = 2 * rank; i < 2 * rank + 2 && same; i++)
		same = visit_communicator(leap, &t->communicators[i]);
	if (same && rank + 1 == all->ranks)
		limit(t, leap);
	return same;
}

static inline gboolean act(gpointer data, guint rank)
{
	Teller_run *t = data;

	t->members[rank].waits = NULL;
	if (!t->other)
		tell_run(t, &t->members[rank].seat);
	return FALSE;
}

gboolean pipesim_flow_megatron(PipesimFlow *flow, gboolean *done, GError **error)
{
	const PipesimJob *job = &flow->step->job;
	const guint ranks = flow->program->shape.ranks;
	const gboolean edges =
		ranks == 2 || job->issuing.communicators == PIPESIM_COMMUNICATOR_EDGE;
	PipesimMegatron all = pipesim_megatron_new(
		flow->program, &job->issuing, pipesim_order_has_pairs(job->order), flow->arena);
	Communicator *communicators =
		pipesim_arena_array(flow->arena, Communicator, 2 * (gsize)ranks);
	PipesimMegatron whole; /* with what was cut away */
	PipesimChunkUses uses;
	Teller_run t = {.flow = flow,
		.all = &all,
		.communicators = communicators,
		.host = all.batched && !job->issuing.no_host_sync ? job->issuing.host_time : 0,
		.rounds = pipesim_rounds_begin(ranks, flow->arena),
		.members = pipesim_arena_array(flow->arena, Member, ranks)};

	*done = FALSE;
	if (!pipesim_arena_check(flow->arena, error, "%u ranks", ranks))
		return FALSE;
	if (all.n == 0 || flow->program->shape.copies > 1 || job->issuing.delay_wgrad > 0 ||
		(all.chunks == 1 ? all.pairs && ranks > 1 : all.batched && ranks <= 2) ||
		(!all.batched && !edges &&
			job->issuing.communicators <= PIPESIM_COMMUNICATOR_RANK))
		return TRUE;
	for (guint rank = 0; rank < ranks; rank++)
		if (!pipesim_flow_scan(flow, rank, &uses))
			return TRUE;
	if (!read_order(flow, &all))
		return TRUE;
	whole = all;
	whole.m = job->order->shape.microbatches;
	if (!pipesim_megatron_check(&whole, NULL))
		return TRUE;
	if (!pipesim_flow_lay(flow, pipesim_megatron_ahead(&all) + SLACK))
		return TRUE;
	sit_down(&t, edges, communicators);
	PipesimLeap *leap =
		pipesim_leap_new(flow, (PipesimLeapState){.visit = visit,
					       .data = &t,
					       .limits = TRUE,
					       .ahead = pipesim_megatron_ahead(&all) + 1,
					       .behind = 3});
	for (gboolean goes = leap != NULL || !flow->leaps; goes;
		goes = pipesim_leap_next(leap)) {
		pipesim_rounds_call_all(&t.rounds);
		pipesim_rounds_run(&t.rounds, act, &t);
	}
	pipesim_leap_free(leap);
	*done = !t.other;
	return TRUE;
}
