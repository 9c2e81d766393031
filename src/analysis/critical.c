/* Why a step takes as long as it does: the critical path of its timeline, and a bound that no
 * order of the same ops can beat, from their data dependencies alone: a rank cannot begin
 * before its first input exists (its head), has all its work to do, and what follows its last
 * op takes its time (its tail). */
#include "analysis/parts.h"

/* The bound without single ops: where no pair couples micro-batches, each of them takes the same
 * way through the stages, in the same times. -------------------------------------------------- */

/* A chunk of a rank: what it runs, and when that is possible at the earliest. */
typedef struct {
	guint rank;
	gboolean whole, split; /* full backwards; backwards in two halves */
	gint64 took[PIPESIM_FB], head[PIPESIM_FB], tail[PIPESIM_FB];
} Place;

typedef struct {
	const PipesimOrder *order;
	const PipesimProgram *places; /* shape and stage_of */
	Place *place;                 /* [rank * chunks + chunk] */
	guint32 *where;               /* [copy * stages + stage]: index of place */
	gint64 p2p;
} Chains;

/* FALSE where micro-batches of one stage do not all go the same way. */
static gboolean note_verbs(Chains *chains)
{
	const PipesimOrder *order = chains->order;
	const guint chunks = order->shape.chunks;

	pipesim_each_rank_of (l, order->rank_begin, rank, order->shape.ranks)
		for (guint32 v = 0; v < order->loops[l].n; v++) {
			const PipesimOp *op = &order->verbs[order->loops[l].first + v];
			Place *places = &chains->place[(gsize)rank * chunks];

			if (op->kind == PIPESIM_FB)
				return FALSE;
			if (op->kind == PIPESIM_B)
				places[op->chunk].whole = TRUE;
			if (op->kind == PIPESIM_I)
				places[op->chunk].split = TRUE;
		}
	return !pipesim_any(at, (gsize)order->shape.ranks * chunks,
		chains->place[at].whole && chains->place[at].split);
}

static void find_places(Chains *chains, const PipesimTimes *times)
{
	const PipesimShape *shape = &chains->order->shape;

	for (guint32 at = 0; at < shape->ranks * shape->chunks; at++) {
		const gsize copy = shape->copies > 1 ? at % shape->chunks : 0;
		Place *place = &chains->place[at];
		PipesimOp op = {.chunk = (guint8)(at % shape->chunks)};

		place->rank = at / shape->chunks;
		for (op.kind = 0; op.kind < PIPESIM_FB; op.kind++)
			place->took[op.kind] =
				pipesim_op_duration(chains->places, times, place->rank, &op);
		chains->where[copy * shape->stages + chains->places->stage_of[at]] = at;
	}
}

static gint64 chain_hop(const Chains *chains, const Place *a, const Place *b)
{
	return a->rank == b->rank ? 0 : chains->p2p;
}

static PipesimKind backward_of(const Place *place)
{
	return place->split ? PIPESIM_I : PIPESIM_B;
}

/* Forwards go from the first stage to the last, backwards come back; from the end of a chain to
 * its begin it is the other way round. */
static void walk(Chains *chains)
{
	const PipesimShape *shape = &chains->order->shape;
	const gsize n = (gsize)shape->copies * shape->stages;

	for (gsize i = 0; i < n; i++) {
		Place *place = &chains->place[chains->where[i]];
		gint64 tail = place->split ? place->took[PIPESIM_W] : 0;

		if (i % shape->stages > 0) {
			const Place *before = &chains->place[chains->where[i - 1]];
			const PipesimKind kind = backward_of(before);
			const gint64 hop = chain_hop(chains, before, place);

			place->head[PIPESIM_F] =
				before->head[PIPESIM_F] + before->took[PIPESIM_F] + hop;
			tail = MAX(tail, hop + before->took[kind] + before->tail[kind]);
		}
		place->tail[backward_of(place)] = tail;
	}
	for (gsize i = n; i-- > 0;) {
		Place *place = &chains->place[chains->where[i]];
		const PipesimKind backward = backward_of(place);
		gint64 head = place->head[PIPESIM_F] + place->took[PIPESIM_F];
		gint64 tail = place->took[backward] + place->tail[backward];

		if ((i + 1) % shape->stages > 0) {
			const Place *next = &chains->place[chains->where[i + 1]];
			const PipesimKind kind = backward_of(next);
			const gint64 hop = chain_hop(chains, place, next);

			head = MAX(head, next->head[kind] + next->took[kind] + hop);
			tail = MAX(tail, hop + next->took[PIPESIM_F] + next->tail[PIPESIM_F]);
		}
		place->head[backward] = head;
		place->head[PIPESIM_W] = head + place->took[backward];
		place->tail[PIPESIM_F] = tail;
	}
}

/* As bound_from_ops() below, over the kinds of ops of a rank. */
static gint64 bound_rank(const Chains *chains, guint rank, gint64 busy)
{
	const guint chunks = chains->order->shape.chunks;
	gint64 head = G_MAXINT64, tail = G_MAXINT64, best = 0;

	for (guint chunk = 0; chunk < chunks; chunk++) {
		const Place *place = &chains->place[(gsize)rank * chunks + chunk];

		for (guint kind = 0; kind < PIPESIM_FB; kind++) {
			if (kind != PIPESIM_F && (kind == PIPESIM_B) == place->split)
				continue;
			head = MIN(head, place->head[kind]);
			tail = MIN(tail, place->tail[kind]);
			best = MAX(best,
				place->head[kind] + place->took[kind] + place->tail[kind]);
		}
	}
	return MAX(best, head + busy + tail);
}

/* FALSE where that cannot be told so. */
static gboolean bound_from_order(const PipesimStep *step, gint64 *bound)
{
	const PipesimOrder *order = step->job.order;
	g_autofree Place *place = NULL;
	g_autofree guint32 *where = NULL;
	g_autoptr(PipesimProgram) places = NULL;
	Chains chains = {.order = order, .p2p = step->job.times->p2p};

	/* Over a network hops differ, and not every micro-batch need take as long. */
	if (!order->is_closed || step->program != step->whole || step->job.network != NULL ||
		step->job.times->each != NULL)
		return FALSE;
	chains.place = place =
		g_try_new0(Place, (gsize)order->shape.ranks * order->shape.chunks);
	chains.where = where =
		g_try_new(guint32, (gsize)order->shape.stages * order->shape.copies);
	chains.places = places = pipesim_program_new(&order->shape, 0, NULL);
	if (place == NULL || where == NULL || places == NULL || !note_verbs(&chains))
		return FALSE;
	find_places(&chains, step->job.times);
	walk(&chains);
	for (guint rank = 0; rank < order->shape.ranks; rank++)
		*bound = MAX(*bound, bound_rank(&chains, rank, step->busy[rank]));
	return TRUE;
}

/* The bound from the data dependencies of all ops, for any program. --------------------------- */

/* Most buckets that ops are sorted into, for each op. */
#define BUCKETS_PER_OP 4
/* Steps that stay in the caches from one loop over them to the next. */
#define WINDOW 8192u

/* What bounds a rank. */
typedef struct {
	gint64 head; /* before its first op can start */
	gint64 tail; /* least time after the end of its last */
	gint64 busy;
	guint32 next; /* op that is no step yet */
} Rank;

/* An op. Steps stand in an order in which each follows its inputs, soon after them: what is
 * looked at together stands together, where ops of a rank would lie in as many places as there
 * are ranks. */
typedef struct {
	gint64 took; /* -1: it does not compute */
	guint32 rank;
	guint32 inputs[3]; /* steps; the rest is itself: no branch depends on how many there are
			    */
} Step;

typedef struct {
	const PipesimStep *step;
	const PipesimProgram *program;
	guint32 *place; /* by op: its step */
	Step *steps;
	gint64 *ended; /* by step: earliest end with infinitely many ranks */
	gint64 *tail;  /* by step: least time from its end to the end of the whole */
	Rank *ranks;
} Graph;

static inline gint64 hop(const Graph *graph, guint from, guint to)
{
	const PipesimStep *step = graph->step;

	if (G_UNLIKELY(step->timeline->traffic != NULL))
		return from == to ? 0 : pipesim_network_hop(step->job.network, from, to);
	return step->job.times->p2p & -(gint64)(from != to); /* which no processor foresees */
}

/* The same: a branch for every other message is one too many. */
static inline gint64 later(gint64 a, gint64 b)
{
	const gint64 by = b - a;

	return a + (by & ~(by >> 63));
}

/* The steps of @rank before step @until. */
static void fill_rank(Graph *graph, guint rank, guint32 until)
{
	const PipesimProgram *program = graph->program;
	const PipesimTimeline *timeline = graph->step->timeline;
	const guint32 end = program->rank_begin[rank + 1];
	guint32 i = graph->ranks[rank].next;

	for (; i < end && graph->place[i] < until; i++) {
		const PipesimOp *op = &program->ops[i];
		const guint32 place = graph->place[i];
		Step *step = &graph->steps[place];
		guint32 inputs[3];
		guint n = pipesim_program_inputs(program, rank, op, inputs);

		/* Of its own stage, what W and a backward follow on. */
		if (op->kind == PIPESIM_W)
			inputs[n++] =
				program->backward[pipesim_op_forward_slot(program, rank, op)];
		else if (pipesim_op_has_backward(op))
			inputs[n++] =
				program->forward[pipesim_op_backward_slot(program, rank, op)];
		/* Messages may have slowed it. */
		if (G_UNLIKELY(pipesim_op_rows[op->kind].resource != PIPESIM_ON_RANK))
			step->took = -1;
		else if (G_UNLIKELY(timeline->traffic != NULL))
			step->took =
				pipesim_op_duration(program, graph->step->job.times, rank, op);
		else
			step->took = timeline->end[i] - timeline->start[i];
		step->rank = rank;
		for (guint k = 0; k < 3; k++)
			step->inputs[k] = k < n ? graph->place[inputs[k]] : place;
	}
	graph->ranks[rank].next = i;
}

static void find_heads(Graph *graph)
{
	const PipesimProgram *program = graph->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		graph->ranks[rank] =
			(Rank){G_MAXINT64, G_MAXINT64, 0, program->rank_begin[rank]};
	for (guint32 i = 0; i < program->n_ops; i++) {
		const Step *step = &graph->steps[i];
		gint64 head = 0;
		Rank *rank;

		if (i % WINDOW == 0)
			for (guint r = 0; r < program->shape.ranks; r++)
				fill_rank(graph, r, i + MIN(program->n_ops - i, WINDOW));
		rank = &graph->ranks[step->rank];
		graph->ended[i] = G_MININT64 / 2; /* what waits for itself waits for nothing */
		for (guint k = 0; k < 3; k++) {
			const guint32 input = step->inputs[k];
			const gint64 ready = graph->ended[input] +
					     hop(graph, graph->steps[input].rank, step->rank);

			head = later(head, ready);
		}
		graph->ended[i] = head + MAX(step->took, 0);
		rank->head = step->took < 0 ? rank->head : MIN(rank->head, head);
		rank->busy += MAX(step->took, 0);
	}
}

static void find_tails(Graph *graph)
{
	for (guint32 i = graph->program->n_ops; i-- > 0;) {
		const Step *step = &graph->steps[i];
		const gint64 tail = graph->tail[i], left = MAX(step->took, 0) + tail;
		Rank *rank = &graph->ranks[step->rank];

		for (guint k = 0; k < 3; k++) {
			const guint32 input = step->inputs[k];
			const gint64 after =
				left + hop(graph, graph->steps[input].rank, step->rank);

			graph->tail[input] = later(graph->tail[input], after);
		}
		rank->tail = step->took < 0 ? rank->tail : MIN(rank->tail, tail);
	}
}

/* Ops in buckets of 2^shift ns by their starts: no wider than any op takes, so that none needs
 * another one of its bucket. FALSE where ops are too short for that, in a step as long as this
 * one. */
static gboolean order_by_start(Graph *graph)
{
	const PipesimTimeline *timeline = graph->step->timeline;
	const guint32 n_ops = timeline->n_ops;
	gint64 least = G_MAXINT64, n_buckets;
	guint32 sum = 0;
	guint shift = 0;

	for (guint32 i = 0; i < n_ops; i++)
		least = MIN(least, timeline->end[i] - timeline->start[i]);
	if (least <= 0)
		return FALSE;
	while (least >> (shift + 1) > 0)
		shift++;
	n_buckets = (timeline->makespan >> shift) + 1;
	if (n_buckets / BUCKETS_PER_OP > n_ops)
		return FALSE;
	g_autofree guint32 *counts = g_try_new0(guint32, n_buckets);
	if (counts == NULL)
		return FALSE;
	for (guint32 i = 0; i < n_ops; i++)
		counts[timeline->start[i] >> shift]++;
	for (gint64 i = 0; i < n_buckets; i++) {
		const guint32 n = counts[i];

		counts[i] = sum;
		sum += n;
	}
	for (guint32 i = 0; i < n_ops; i++)
		graph->place[i] = counts[timeline->start[i] >> shift]++;
	return TRUE;
}

static gboolean order_by_ranks(Graph *graph, GError **error)
{
	const PipesimProgram *program = graph->program;
	g_autofree guint32 *sequence = g_try_new(guint32, MAX(program->n_ops, 1u));

	if (sequence == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			program->n_ops);
	if (pipesim_program_sequence(program, sequence, error) == G_MAXUINT32)
		return FALSE;
	for (guint32 i = 0; i < program->n_ops; i++)
		graph->place[sequence[i]] = i;
	return TRUE;
}

static gboolean bound_from_ops(const PipesimStep *step, gint64 *bound, GError **error)
{
	const guint32 *begin = step->program->rank_begin;
	const gsize n = MAX(step->program->n_ops, 1u);
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Graph graph = {
		.step = step,
		.program = step->program,
		.place = pipesim_arena_array(arena, guint32, n),
		.steps = pipesim_arena_array(arena, Step, n),
		.ended = pipesim_arena_array(arena, gint64, n),
		.tail = pipesim_arena_array(arena, gint64, n),
		.ranks = pipesim_arena_array(arena, Rank, step->program->shape.ranks),
	};

	if (!pipesim_arena_check(arena, error, "%u ops", step->program->n_ops) ||
		(!order_by_start(&graph) && !order_by_ranks(&graph, error)))
		return FALSE;
	find_heads(&graph);
	find_tails(&graph);
	for (guint32 i = 0; i < step->program->n_ops; i++)
		*bound = MAX(*bound, graph.ended[i]);
	for (guint rank = 0; rank < step->program->shape.ranks; rank++)
		if (begin[rank] < begin[rank + 1])
			*bound = MAX(*bound, graph.ranks[rank].head + graph.ranks[rank].busy +
						     graph.ranks[rank].tail);
	return TRUE;
}

/* The critical path. -------------------------------------------------------------------------- */

/* What @rank did last before @op, of a step with copies, began: that may be a copy, which another one may have
 * kept waiting. */
static guint64 cause_beside(const PipesimStep *step, guint rank, guint32 op)
{
	const PipesimTimeline *timeline = step->timeline;
	const guint kind = step->program->ops[op].kind;
	const PipesimResource on = pipesim_op_rows[kind].resource;
	const gint64 began = on == PIPESIM_ON_COPY_OUT || on == PIPESIM_ON_COPY_IN
				     ? timeline->end[op] - step->job.times->own[kind]
				     : timeline->start[op];

	while (op-- > step->program->rank_begin[rank])
		if (timeline->end[op] == began)
			return op;
	return PIPESIM_NO_CAUSE;
}

guint64 pipesim_report_cause(const PipesimStep *step, guint rank, guint32 op)
{
	const PipesimProgram *program = step->program;
	const PipesimTimeline *timeline = step->timeline;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, &program->ops[op], inputs);

	if (timeline->cause != NULL) /* the engine tells */
		return pipesim_timeline_cause(timeline, timeline->cause[op]);
	for (guint i = 0; i < n; i++) {
		const guint from = pipesim_program_rank_near(program, inputs[i], rank);
		gint64 there = timeline->end[inputs[i]];

		if (from != rank && timeline->traffic != NULL)
			there = timeline->moving[i][op] +
				pipesim_network_hop(step->job.network, from, rank);
		else if (from != rank)
			there += step->job.times->p2p;
		if (there == timeline->start[op])
			return inputs[i];
	}
	if (program->has_more)
		return cause_beside(step, rank, op);
	/* What its host launches late starts later than the op before it ends. */
	if (op > program->rank_begin[rank] &&
		(timeline->end[op - 1] == timeline->start[op] ||
			step->job.times->launch[PIPESIM_F] != NULL))
		return op - 1;
	return PIPESIM_NO_CAUSE;
}

/* The op that @cause is, back over messages and shards in between; PIPESIM_NO_OP where that
 * began at 0. */
static guint32 op_of(const PipesimTimeline *timeline, guint64 cause)
{
	cause = pipesim_timeline_cause(timeline, cause);
	while (cause != PIPESIM_NO_CAUSE && (cause & PIPESIM_BY_TRANSFER) != 0)
		cause = pipesim_timeline_cause(
			timeline, timeline->transfers[(guint32)cause].cause);
	return cause == PIPESIM_NO_CAUSE ? PIPESIM_NO_OP : (guint32)cause;
}

/* Back from an op behind which the step ends: the last of the first rank that ends then, or one whose
 * gradients are reduced until then. */
static void find_critical_path(const PipesimStep *step, PipesimCriticalPath *path)
{
	const PipesimTimeline *timeline = step->timeline;
	const guint32 *begin = step->program->rank_begin;
	GArray *ops = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint32 op = PIPESIM_NO_OP;
	guint rank = step->program->shape.ranks;

	while (rank-- > 0)
		if (begin[rank + 1] > begin[rank] &&
			timeline->end[begin[rank + 1] - 1] == step->makespan)
			op = begin[rank + 1] - 1;
	for (guint32 i = 0; op == PIPESIM_NO_OP && i < timeline->n_shards; i++)
		if (timeline->shards[i].end == step->makespan)
			op = op_of(timeline, timeline->shards[i].cause);
	for (rank = 0; op != PIPESIM_NO_OP;
		op = op_of(timeline, pipesim_report_cause(step, rank, op))) {
		g_array_append_val(ops, op);
		rank = pipesim_program_rank_near(step->program, op, rank);
	}
	path->n_ops = ops->len;
	path->ops = (guint32 *)(void *)g_array_free(ops, FALSE);
	for (guint i = 0; i < path->n_ops / 2; i++) {
		op = path->ops[i];
		path->ops[i] = path->ops[path->n_ops - 1 - i];
		path->ops[path->n_ops - 1 - i] = op;
	}
}

gboolean pipesim_report_critical(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const PipesimStep *step = subject->step;
	PipesimCriticalPath *path = &report->path;

	/* What an op takes hangs on the order: the durations of this one bound no other. */
	if (pipesim_times_vary(step->job.times)) {
		if (step->timeline != NULL)
			find_critical_path(step, path);
		return TRUE;
	}
	path->has_bound = bound_from_order(step, &path->lower_bound);
	if (step->timeline == NULL)
		return TRUE;
	if (!path->has_bound && !bound_from_ops(step, &path->lower_bound, error))
		return FALSE;
	path->has_bound = TRUE;
	find_critical_path(step, path);
	return TRUE;
}
