/* PyTorch's rounds (runtime/rounds.h) as they run. */
#include "engine/flow.h"
#include "runtime/rounds.h"

typedef struct {
	guint32 todo_at;  /* ops before the next thing that is done to one of its stages, */
	guint32 n_done;   /* how many were, */
	PipesimList todo; /* of these */
	gint64 queue;     /* when its messages are done, too */
} Member;

typedef struct {
	PipesimFlow *flow;
	PipesimRounds rounds;
	Member *members;   /* by rank */
	PipesimLeap *leap; /* NULL: nothing is leapt over */
	gboolean faulty;   /* a backward came before its forward */
} Teller;

/* What micro-batch @n of @place needs; NULL: nothing. */
static inline PipesimMoment *input(
	const PipesimFlow *flow, const PipesimPlace *place, guint backward, guint32 n)
{
	return place->in[backward] != NULL ? place->in[backward] + (n & flow->mask) : NULL;
}

/* @kind of @place, a half of a pair too, behind its input; NULL: it has none. */
static inline void run_half(
	PipesimFlow *flow, guint rank, const PipesimPlace *place, guint kind, PipesimMoment *in)
{
	PipesimFlowRank *r = &flow->ranks[rank];

	if (in != NULL) {
		r->now = MAX(r->now, in->ruled - 1);
		r->free = MAX(r->free, in->free - 1);
		in->ruled = 0;
	}
	if (r->at == 0 && (kind != PIPESIM_B || r->verb->kind != PIPESIM_FB))
		flow->step->first_start[rank] = r->now;
	r->now += place->took[kind];
	r->free += place->took[kind];
}

/* What micro-batch @n of @place gives, and is there at @free, leaves at once: both ends. */
static inline void send(Teller *t, guint rank, const PipesimPlace *place, guint backward,
	guint32 n, gint64 free)
{
	const PipesimFlow *flow = t->flow;
	const guint to = place->to[backward];
	PipesimMoment *out = place->out[backward];
	gint64 there;

	if (out == NULL)
		return;
	if (to == rank) {
		out[n & flow->mask] = (PipesimMoment){flow->ranks[rank].now + 1, free + 1};
		return;
	}
	there = MAX(MAX(flow->ranks[rank].now, t->members[rank].queue),
			MAX(flow->ranks[to].now, t->members[to].queue)) +
		flow->p2p;
	t->members[rank].queue = t->members[to].queue = there;
	out[n & flow->mask] = (PipesimMoment){there + 1, free + flow->p2p + 1};
	pipesim_rounds_call(&t->rounds, rank, to);
}

static void pass_stage(Member *member, guint32 begin)
{
	const PipesimList *todo = &member->todo;

	member->n_done++;
	member->todo_at = member->n_done < todo->n ? todo->actions[member->n_done].wait - begin
						   : PIPESIM_NO_OP;
}

static gboolean visit(PipesimLeap *leap, gpointer data, guint rank)
{
	Teller *t = data;
	Member *member = &t->members[rank];
	const PipesimFlowRank *r = &t->flow->ranks[rank];

	member->queue = MAX(member->queue, r->now); /* as whoever asks for it has it */
	if (member->todo_at != PIPESIM_NO_OP)
		pipesim_leap_limit(
			leap, (member->todo_at - r->at) / pipesim_leap_ops(leap, rank));
	return pipesim_leap_word(leap, member->n_done) &&
	       pipesim_leap_time(leap, &member->queue, FALSE);
}

/* The turn of @rank: the next of its ops, or what comes before it and takes no time, goes, if it is ready. */
static inline gboolean act(gpointer data, guint rank)
{
	Teller *t = data;
	PipesimFlow *flow = t->flow;
	PipesimFlowRank *r = &flow->ranks[rank];
	const PipesimOp *op = r->verb;
	PipesimPlace *own = &flow->places[(gsize)rank * flow->program->shape.chunks];
	PipesimPlace *f = own, *b = own;
	PipesimMoment *f_in = NULL, *b_in = NULL;
	guint32 f_n = 0, b_n = 0;
	gboolean forward, backward, pair;
	gint64 free;

	if (rank == 0 && t->leap != NULL && !pipesim_leap_look(t->leap))
		return FALSE;
	if (r->at == t->members[rank].todo_at) {
		pass_stage(&t->members[rank], flow->program->rank_begin[rank]);
		return TRUE;
	}
	if (r->rounds == 0)
		return FALSE;
	pair = op->kind == PIPESIM_FB;
	forward = pipesim_op_has_forward(op);
	backward = pipesim_op_has_backward(op);
	if (forward) {
		f += op->chunk;
		f_n = pipesim_flow_number(flow, f, 0, op->microbatch);
		f_in = input(flow, f, 0, f_n);
		if (f_in != NULL && f_in->ruled == 0)
			return FALSE;
	}
	if (backward) {
		b += pipesim_op_backward_chunk(op);
		b_n = pipesim_flow_number(flow, b, 1, pipesim_op_backward_microbatch(op));
		b_in = input(flow, b, 1, b_n);
		if (b_in != NULL && b_in->ruled == 0)
			return FALSE;
		/* Of an order whose ops have numbers that has been seen to. */
		t->faulty |= b_n >= b->n[0] && flow->counts;
		b->n[1]++;
	}
	if (!backward && !forward)
		run_half(flow, rank, own + op->chunk, op->kind, NULL);
	if (forward) {
		run_half(flow, rank, f, PIPESIM_F, f_in);
		f->n[0]++;
	}
	free = r->free;
	if (backward)
		run_half(flow, rank, b, pair ? PIPESIM_B : op->kind, b_in);
	r->last_end = r->now;
	pipesim_flow_verb(flow, rank);
	if (forward)
		send(t, rank, f, 0, f_n, free);
	if (!backward)
		return TRUE;
	/* The output of its forward, which some versions wait for here, has come to where its gradient is from. */
	send(t, rank, b, 1, b_n, r->free);
	return TRUE;
}

/* FALSE where that is not to be told by verbs, or there is no memory: @error. */
static gboolean begin(Teller *t, GError **error)
{
	PipesimFlow *flow = t->flow;
	const PipesimJob *job = &flow->step->job;
	const PipesimShape *shape = &flow->program->shape;
	PipesimLowerer lowerer = {.program = flow->program,
		.runtime = job->runtime,
		.issuing = &job->issuing,
		.arena = flow->arena};
	PipesimChunkUses uses;

	for (guint rank = 0; rank < shape->ranks; rank++) {
		const PipesimShardingRules rules =
			pipesim_rounds_sharding(job->runtime, &job->issuing, rank);
		Member *member = &t->members[rank];

		if (!pipesim_flow_scan(flow, rank, &uses) ||
			(flow->counts && !pipesim_sharding_keeps_all(shape, &rules)) ||
			!pipesim_sharding_list(
				&lowerer, rank, &rules, &uses, &member->todo, error))
			return FALSE;
		member->n_done = G_MAXUINT32; /* before the first */
		pass_stage(member, flow->program->rank_begin[rank]);
	}
	return TRUE;
}

gboolean pipesim_flow_rounds(PipesimFlow *flow, gboolean *done, GError **error)
{
	const guint ranks = flow->program->shape.ranks;
	Teller t = {.flow = flow,
		.rounds = pipesim_rounds_begin(ranks, flow->arena),
		.members = pipesim_arena_array(flow->arena, Member, ranks)};
	GError *own = NULL;

	*done = FALSE;
	if (!pipesim_arena_check(flow->arena, error, "%u ranks", ranks))
		return FALSE;
	if (pipesim_flow_lay(flow, 0) && begin(&t, &own)) {
		t.leap = pipesim_leap_new(
			flow, (PipesimLeapState){.visit = visit, .data = &t, .behind = 1});
		if (t.leap != NULL || !flow->leaps)
			pipesim_rounds_run(&t.rounds, act, &t);
		pipesim_leap_free(t.leap);
		*done = !t.faulty;
	}
	for (guint rank = 0; rank < ranks; rank++)
		g_free(t.members[rank].todo.actions);
	if (own != NULL)
		g_propagate_error(error, own);
	return own == NULL;
}
