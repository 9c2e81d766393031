/* PyTorch's rounds (runtime/rounds.h) as they run. */
#include "engine/flow.h"
#include "runtime/rounds.h"

typedef struct {
	PipesimFlow *flow;
	PipesimRounds rounds;
	PipesimList *todo;          /* by rank: what is done to its stages */
	PipesimLeap *leap;          /* NULL: nothing is leapt over */
	PipesimPileLeap *pile_leap; /* instead of that, where messages pile up */
	gboolean faulty;            /* a backward came before its forward */
} Teller;

/* What micro-batch @n of @place needs; NULL: nothing. */
static inline PipesimMoment *input(
	const PipesimFlow *flow, const PipesimPlace *place, guint backward, guint32 n)
{
	if (place->in[backward] != NULL)
		return place->in[backward] + (n & flow->mask);
	return place->pile[backward] != NULL ? pipesim_pile_front(place->pile[backward]) : NULL;
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
	PipesimFlowRank *from = &flow->ranks[rank], *other = &flow->ranks[to];
	PipesimMoment moment = {from->now + 1, free + 1};

	if (place->out[backward] == NULL && place->gives[backward] == NULL)
		return;
	if (to != rank) {
		from->queue = other->queue =
			MAX(MAX(from->now, from->queue), MAX(other->now, other->queue)) +
			flow->p2p;
		moment = (PipesimMoment){from->queue + 1, free + flow->p2p + 1};
		pipesim_rounds_call(&t->rounds, rank, to);
	}
	if (place->out[backward] != NULL)
		place->out[backward][n & flow->mask] = moment;
	else
		pipesim_pile_put(place->gives[backward], moment);
}

static void pass_stage(Teller *t, guint rank)
{
	PipesimFlowRank *r = &t->flow->ranks[rank];
	const PipesimList *todo = &t->todo[rank];

	r->n_todo++;
	r->todo_at = r->n_todo < todo->n ? todo->actions[r->n_todo].wait -
						   t->flow->program->rank_begin[rank]
					 : PIPESIM_NO_OP;
}

static gboolean visit(PipesimLeap *leap, gpointer data, guint rank)
{
	Teller *t = data;
	PipesimFlowRank *r = &t->flow->ranks[rank];

	r->queue = MAX(r->queue, r->now); /* as whoever asks for it has it */
	if (r->todo_at != PIPESIM_NO_OP)
		pipesim_leap_limit(leap, (r->todo_at - r->at) / pipesim_leap_ops(leap, rank));
	return pipesim_leap_word(leap, r->n_todo) && pipesim_leap_time(leap, &r->queue, FALSE);
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
	if (rank == 0 && t->pile_leap != NULL && !pipesim_pile_leap_look(t->pile_leap))
		return FALSE;
	if (r->at == r->todo_at) {
		pass_stage(t, rank);
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

		if (!pipesim_flow_scan(flow, rank, &uses) ||
			(flow->counts && !pipesim_sharding_keeps_all(shape, &rules)) ||
			!pipesim_sharding_list(
				&lowerer, rank, &rules, &uses, &t->todo[rank], error))
			return FALSE;
		flow->ranks[rank].n_todo = G_MAXUINT32; /* before the first */
		pass_stage(t, rank);
	}
	return TRUE;
}

gboolean pipesim_flow_rounds(PipesimFlow *flow, gboolean *done, GError **error)
{
	const guint ranks = flow->program->shape.ranks;
	Teller t = {.flow = flow,
		.rounds = pipesim_rounds_begin(ranks, flow->arena),
		.todo = pipesim_arena_array(flow->arena, PipesimList, ranks)};
	GError *own = NULL;

	*done = FALSE;
	if (!pipesim_arena_check(flow->arena, error, "%u ranks", ranks))
		return FALSE;
	if (pipesim_flow_lay(flow, 0) && begin(&t, &own)) {
		if (flow->piles != NULL)
			t.pile_leap = pipesim_pile_leap_new(flow);
		else
			t.leap = pipesim_leap_new(flow,
				(PipesimLeapState){.visit = visit, .data = &t, .behind = 1});
		if (t.leap != NULL || t.pile_leap != NULL || !flow->leaps)
			pipesim_rounds_run(&t.rounds, act, &t);
		pipesim_leap_free(t.leap);
		pipesim_pile_leap_free(t.pile_leap);
		*done = !t.faulty;
	}
	for (guint rank = 0; rank < ranks; rank++)
		g_free(t.todo[rank].actions);
	if (own != NULL)
		g_propagate_error(error, own);
	return own == NULL;
}
