/* Lists that hold nothing between two ops of a rank but what the one gives and what the other one needs, all of a rank in
 * one queue (PipesimBetween), as they run. What its queue has come to a rank waits for before it looks at its next op:
 * that cannot be in the way, as what an op gives stands behind in the same queue. */
#include "config.h"

#include "engine/flow.h"
#include "runtime/rounds.h"

/* One end of a message. */
typedef struct {
	PipesimMoment *message;
	guint32 other; /* rank */
} End;

/* What a rank does next. */
typedef enum {
	SEND, /* what its last op gave, or all that stands before its next op */
	RECEIVE,
	RUN,
} Next;

typedef struct {
	gint64 queue; /* when all that it has issued is done */
	End gives[2], needs[2], issued[4];
	guint n_gives, n_needs, n_issued;
	const PipesimOp *last; /* that ran; NULL: none yet */
	guint32 n[2];          /* micro-batches of what it runs next, by direction */
	Next next;
	gboolean waited; /* what is issued, by all that comes behind */
} Member;

typedef struct {
	PipesimFlow *flow;
	PipesimBetween how;
	PipesimRounds rounds;
	Member *members; /* by rank */
	gboolean faulty; /* a backward came before its forward */
} Teller;

static inline PipesimPlace *place_of(const PipesimFlow *flow, guint rank, guint8 chunk)
{
	return &flow->places[(gsize)rank * flow->program->shape.chunks + chunk];
}

/* What the next op of @rank needs from others. FALSE where it needs something of its own rank that is not there. */
static inline gboolean find_needs(Teller *t, guint rank)
{
	const PipesimFlow *flow = t->flow;
	const PipesimOp *op = flow->ranks[rank].verb;
	Member *member = &t->members[rank];

	member->n_needs = 0;
	for (guint back = 0; back < 2; back++) {
		const PipesimPlace *place;
		PipesimMoment *in;

		if (back ? !pipesim_op_has_backward(op) : !pipesim_op_has_forward(op))
			continue;
		place = place_of(flow, rank, back ? pipesim_op_backward_chunk(op) : op->chunk);
		member->n[back] = pipesim_flow_number(flow, place, back,
			back ? pipesim_op_backward_microbatch(op) : op->microbatch);
		if (place->in[back] == NULL)
			continue;
		in = place->in[back] + (member->n[back] & flow->mask);
		if (place->from[back] != rank)
			member->needs[member->n_needs++] = (End){in, place->from[back]};
		else if (in->ruled == 0)
			return FALSE;
	}
	return TRUE;
}

static inline void issue(Teller *t, guint rank, const End *ends, guint n, gint64 now)
{
	Member *member = &t->members[rank];

	for (guint i = 0; i < n; i++) {
		PipesimMoment *message = ends[i].message;

		member->issued[member->n_issued++] = ends[i];
		/* That of a micro-batch before may still stand there. */
		if (message->ruled >= 0) {
			message->ruled = -1 - now;
			continue;
		}
		message->ruled = MAX(-1 - message->ruled, now) + t->flow->p2p + 1;
		pipesim_rounds_call(&t->rounds, rank, ends[i].other);
	}
}

/* Whether all that @rank has issued is done. */
static inline gboolean settle(Teller *t, guint rank)
{
	Member *member = &t->members[rank];
	PipesimFlowRank *r = &t->flow->ranks[rank];

	for (guint i = 0; i < member->n_issued; i++)
		if (member->issued[i].message->ruled < 0)
			return FALSE;
	for (guint i = 0; i < member->n_issued; i++)
		member->queue = MAX(member->queue, member->issued[i].message->ruled - 1);
	if (member->waited && member->n_issued > 0)
		r->now = MAX(r->now, member->queue);
	member->n_issued = 0;
	return TRUE;
}

/* Issues what stands before the next op of @rank, or of that what comes first. FALSE where that op is not ready. */
static inline gboolean come_to_next(Teller *t, guint rank)
{
	Member *member = &t->members[rank];
	const PipesimFlowRank *r = &t->flow->ranks[rank];
	const gint64 now = MAX(r->now, member->queue);
	gboolean joined = FALSE;

	member->n_needs = 0;
	if (r->rounds > 0 && !find_needs(t, rank))
		return FALSE;
	if (member->n_gives > 0 && member->n_needs > 0)
		joined = (t->how & PIPESIM_BETWEEN_JOINED) ||
			 pipesim_op_turns(member->last, r->verb);
	member->waited =
		(t->how & PIPESIM_BETWEEN_WAITED) || (joined && r->verb->kind != PIPESIM_FB);
	issue(t, rank, member->gives, member->n_gives, now);
	member->next = joined || member->n_gives == 0 ? RUN : RECEIVE;
	if (member->next == RUN)
		issue(t, rank, member->needs, member->n_needs, now);
	member->n_gives = 0;
	return TRUE;
}

/* What @rank runs next, or a half of it, takes @took; it @needs what has been received. */
static inline void run_part(Teller *t, guint rank, gboolean needs, gint64 took)
{
	PipesimFlowRank *r = &t->flow->ranks[rank];

	if (needs)
		r->now = MAX(r->now, t->members[rank].queue);
	if (r->at == 0 && t->members[rank].last == NULL)
		t->flow->step->first_start[rank] = r->now;
	t->members[rank].last = r->verb;
	r->now += took;
	r->free += took;
}

/* When what the @backward half of the next op of @rank takes is there where messages wait for nothing. */
static inline gint64 free_of(
	const Teller *t, guint rank, const PipesimPlace *place, guint backward)
{
	PipesimMoment *in = place->in[backward];

	if (in == NULL)
		return 0;
	in += t->members[rank].n[backward] & t->flow->mask;
	if (place->from[backward] == rank)
		in->ruled = 0;
	return in->free - 1;
}

/* What the @backward half of the op that @rank has run gives. */
static inline void give(
	Teller *t, guint rank, const PipesimPlace *place, guint backward, gint64 free)
{
	Member *member = &t->members[rank];
	PipesimMoment *out = place->out[backward];

	if (out == NULL)
		return;
	out += member->n[backward] & t->flow->mask;
	if (place->to[backward] == rank) {
		*out = (PipesimMoment){t->flow->ranks[rank].now + 1, free + 1};
		return;
	}
	out->free = free + t->flow->p2p + 1;
	member->gives[member->n_gives++] = (End){out, place->to[backward]};
}

static inline void run_next(Teller *t, guint rank)
{
	PipesimFlow *flow = t->flow;
	PipesimFlowRank *r = &flow->ranks[rank];
	Member *member = &t->members[rank];
	const PipesimOp *op = r->verb;
	const gboolean forward = pipesim_op_has_forward(op),
		       backward = pipesim_op_has_backward(op);
	const gboolean pair = op->kind == PIPESIM_FB;
	const gboolean split = pair && flow->step->job.runtime->splits_pairs;
	PipesimPlace *f = place_of(flow, rank, op->chunk);
	PipesimPlace *b = place_of(flow, rank, pipesim_op_backward_chunk(op));
	gint64 free;

	if (forward)
		r->free = MAX(r->free, free_of(t, rank, f, 0));
	if (backward && !split)
		r->free = MAX(r->free, free_of(t, rank, b, 1));
	if (split) {
		run_part(t, rank, f->in[0] != NULL && f->from[0] != rank, f->took[PIPESIM_F]);
		free = r->free;
		r->free = MAX(r->free, free_of(t, rank, b, 1));
		run_part(t, rank, b->in[1] != NULL && b->from[1] != rank, b->took[PIPESIM_B]);
	} else {
		run_part(t, rank, member->n_needs > 0,
			pair ? pipesim_durations_get(&flow->durations, rank, op)
			     : f->took[op->kind]);
		free = r->free;
	}
	r->last_end = r->now;
	if (forward) {
		f->n[0]++;
		give(t, rank, f, 0, free);
	}
	if (backward) {
		/* Of an order whose ops have numbers that has been seen to. */
		t->faulty |= member->n[1] >= b->n[0] && flow->counts;
		b->n[1]++;
		give(t, rank, b, 1, r->free);
	}
	pipesim_flow_verb(flow, rank);
}

static gboolean visit_ends(PipesimLeap *leap, End *ends, guint n)
{
	gboolean same = pipesim_leap_word(leap, n);

	for (guint i = 0; i < n && same; i++)
		same = pipesim_leap_message(leap, &ends[i].message) &&
		       pipesim_leap_word(leap, ends[i].other);
	return same;
}

static gboolean visit(PipesimLeap *leap, gpointer data, guint rank)
{
	Teller *t = data;
	Member *member = &t->members[rank];

	/* As whoever asks for it has it. */
	member->queue = MAX(member->queue, t->flow->ranks[rank].now);
	return pipesim_leap_word(leap, member->next) &&
	       pipesim_leap_word(leap, member->waited) &&
	       pipesim_leap_word(leap, (gint64)GPOINTER_TO_SIZE(member->last)) &&
	       pipesim_leap_time(leap, &member->queue, FALSE) &&
	       pipesim_leap_microbatch(leap, &member->n[0]) &&
	       pipesim_leap_microbatch(leap, &member->n[1]) &&
	       visit_ends(leap, member->gives, member->n_gives) &&
	       visit_ends(leap, member->needs, member->n_needs) &&
	       visit_ends(leap, member->issued, member->n_issued);
}

/* As far as @rank comes. */
static inline gboolean act(gpointer data, guint rank)
{
	Teller *t = data;
	Member *member = &t->members[rank];
	const PipesimFlowRank *r = &t->flow->ranks[rank];

	while (settle(t, rank)) {
		switch (member->next) {
		case SEND:
			if (!come_to_next(t, rank))
				return FALSE;
			break;
		case RECEIVE:
			issue(t, rank, member->needs, member->n_needs,
				MAX(r->now, member->queue));
			member->next = RUN;
			break;
		case RUN:
			if (r->rounds == 0 || r->at == r->limit)
				return FALSE;
			run_next(t, rank);
			member->next = SEND;
		}
	}
	return FALSE;
}

gboolean pipesim_flow_between(PipesimFlow *flow, gboolean *done, GError **error)
{
	const PipesimJob *job = &flow->step->job;
	const guint ranks = flow->program->shape.ranks;
	PipesimChunkUses uses;
	PipesimLeap *leap;
	Teller t = {.flow = flow,
		.how = job->runtime->between(flow->program, &job->issuing),
		.rounds = pipesim_rounds_begin(ranks, flow->arena),
		.members = pipesim_arena_array(flow->arena, Member, ranks)};

	*done = FALSE;
	if (!pipesim_arena_check(flow->arena, error, "%u ranks", ranks))
		return FALSE;
	/* Who waits for all asks how an order begins, which its ops alone say. */
	if (t.how == PIPESIM_BETWEEN_MORE ||
		(flow->counts && (t.how & PIPESIM_BETWEEN_WAITED) != 0))
		return TRUE;
	for (guint rank = 0; rank < ranks; rank++)
		if (!pipesim_flow_scan(flow, rank, &uses))
			return TRUE;
	if (pipesim_flow_lay(flow, 0)) {
		leap = pipesim_leap_new(
			flow, (PipesimLeapState){
				      .visit = visit, .data = &t, .limits = TRUE, .behind = 1});
		for (gboolean goes = leap != NULL || !flow->leaps; goes;
			goes = pipesim_leap_next(leap)) {
			pipesim_rounds_call_all(&t.rounds);
			pipesim_rounds_run(&t.rounds, act, &t);
		}
		pipesim_leap_free(leap);
		*done = !t.faulty;
	}
	return TRUE;
}
