/* A bound that no order of the same ops can beat, from their data dependencies alone, without
 * the order on ranks. */
#include "config.h"

#include "analysis/parts.h"

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
	gint64 took;
	guint32 rank;
	guint32 inputs[3]; /* steps; the rest is itself: no branch depends on how many there are
			    */
} Step;

typedef struct {
	const PipesimSubject *subject;
	const PipesimProgram *program;
	guint32 *place; /* by op: its step */
	Step *steps;
	gint64 *ended; /* by step: earliest end with infinitely many ranks */
	gint64 *tail;  /* by step: least time from its end to the end of the whole */
	Rank *ranks;
} Graph;

static inline gint64 duration(const Graph *graph, guint rank, guint32 op)
{
	const PipesimTimeline *timeline = graph->subject->timeline;

	/* Messages may have slowed it. */
	if (G_UNLIKELY(timeline->traffic != NULL))
		return pipesim_op_duration(
			graph->program, graph->subject->times, rank, &graph->program->ops[op]);
	return timeline->end[op] - timeline->start[op];
}

static inline gint64 hop(const Graph *graph, guint from, guint to)
{
	const PipesimSubject *subject = graph->subject;

	if (G_UNLIKELY(subject->timeline->traffic != NULL))
		return from == to ? 0 : pipesim_network_hop(subject->costs->network, from, to);
	return subject->times->p2p & -(gint64)(from != to); /* which no processor foresees */
}

/* The same: a branch for every other message is one too many. */
static inline gint64 later(gint64 a, gint64 b)
{
	const gint64 by = b - a;

	return a + (by & ~(by >> 63));
}

/* What an op needs: of other stages, and of its own what B and W follow on. */
static inline guint inputs_of(
	const PipesimProgram *program, guint rank, const PipesimOp *op, guint32 inputs[3])
{
	guint n = pipesim_program_inputs(program, rank, op, inputs);

	if (op->kind == PIPESIM_W)
		inputs[n++] = program->backward[pipesim_op_forward_slot(program, rank, op)];
	else if (pipesim_op_has_backward(op))
		inputs[n++] = program->forward[pipesim_op_backward_slot(program, rank, op)];
	return n;
}

/* The steps of @rank before step @until. */
static void fill_rank(Graph *graph, guint rank, guint32 until)
{
	const PipesimProgram *program = graph->program;
	const guint32 end = program->rank_begin[rank + 1];
	guint32 i = graph->ranks[rank].next;

	for (; i < end && graph->place[i] < until; i++) {
		const guint32 place = graph->place[i];
		Step *step = &graph->steps[place];
		guint32 inputs[3];
		const guint n = inputs_of(program, rank, &program->ops[i], inputs);

		step->took = duration(graph, rank, i);
		step->rank = rank;
		for (guint k = 0; k < 3; k++)
			step->inputs[k] = k < n ? graph->place[inputs[k]] : place;
	}
	graph->ranks[rank].next = i;
}

static void find_heads(Graph *graph, guint32 from, guint32 until)
{
	for (guint32 i = from; i < until; i++) {
		const Step *step = &graph->steps[i];
		Rank *rank = &graph->ranks[step->rank];
		gint64 head = 0;

		graph->ended[i] = G_MININT64 / 2; /* what waits for itself waits for nothing */
		for (guint k = 0; k < 3; k++) {
			const guint32 input = step->inputs[k];
			const gint64 ready = graph->ended[input] +
					     hop(graph, graph->steps[input].rank, step->rank);

			head = later(head, ready);
		}
		graph->ended[i] = head + step->took;
		rank->head = MIN(rank->head, head);
		rank->busy += step->took;
	}
}

static void find_tails(Graph *graph)
{
	for (guint32 i = graph->program->n_ops; i-- > 0;) {
		const Step *step = &graph->steps[i];
		const gint64 tail = graph->tail[i], left = step->took + tail;
		Rank *rank = &graph->ranks[step->rank];

		for (guint k = 0; k < 3; k++) {
			const guint32 input = step->inputs[k];
			const gint64 after =
				left + hop(graph, graph->steps[input].rank, step->rank);

			graph->tail[input] = later(graph->tail[input], after);
		}
		rank->tail = MIN(rank->tail, tail);
	}
}

static void find_heads_and_tails(Graph *graph)
{
	const PipesimProgram *program = graph->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++)
		graph->ranks[rank] =
			(Rank){G_MAXINT64, G_MAXINT64, 0, program->rank_begin[rank]};
	for (guint32 from = 0; from < program->n_ops; from += WINDOW) {
		const guint32 until = from + MIN(program->n_ops - from, WINDOW);

		for (guint rank = 0; rank < program->shape.ranks; rank++)
			fill_rank(graph, rank, until);
		find_heads(graph, from, until);
	}
	find_tails(graph);
}

/* A rank cannot begin before its earliest input exists, must do all its work, and what follows
 * its last op takes its time. */
static gint64 bound(const Graph *graph)
{
	const guint32 *begin = graph->program->rank_begin;
	gint64 best = 0;

	for (guint32 i = 0; i < graph->program->n_ops; i++)
		best = MAX(best, graph->ended[i]);
	for (guint r = 0; r < graph->program->shape.ranks; r++) {
		const Rank *rank = &graph->ranks[r];

		if (begin[r] < begin[r + 1])
			best = MAX(best, rank->head + rank->busy + rank->tail);
	}
	return best;
}

/* Ops of which none starts later than the next by more than its bucket of 2^@shift ns is wide:
 * no longer than any op takes, so that none needs another one of its bucket. */
static void sort_by_start(Graph *graph, guint shift, guint32 *counts, gsize n_buckets)
{
	const PipesimProgram *program = graph->program;
	const gint64 *start = graph->subject->timeline->start;
	guint32 sum = 0;

	for (guint32 i = 0; i < program->n_ops; i++)
		counts[start[i] >> shift]++;
	for (gsize i = 0; i < n_buckets; i++) {
		const guint32 n = counts[i];

		counts[i] = sum;
		sum += n;
	}
	for (guint32 i = 0; i < program->n_ops; i++)
		graph->place[i] = counts[start[i] >> shift]++;
}

static gint64 shortest(const PipesimTimeline *timeline)
{
	gint64 least = G_MAXINT64;

	for (guint32 i = 0; i < timeline->n_ops; i++)
		least = MIN(least, timeline->end[i] - timeline->start[i]);
	return least;
}

/* FALSE where ops are too short for that, in a step as long as this one. */
static gboolean order_by_start(Graph *graph)
{
	const PipesimTimeline *timeline = graph->subject->timeline;
	const gint64 least = shortest(timeline);
	g_autofree guint32 *counts = NULL;
	gint64 n_buckets;
	guint shift = 0;

	if (least <= 0)
		return FALSE;
	while (least >> (shift + 1) > 0)
		shift++;
	n_buckets = (timeline->makespan >> shift) + 1;
	if (n_buckets / BUCKETS_PER_OP > timeline->n_ops)
		return FALSE;
	counts = g_try_new0(guint32, n_buckets);
	if (counts != NULL)
		sort_by_start(graph, shift, counts, (gsize)n_buckets);
	return counts != NULL;
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

static gboolean find_bound(Graph *graph, PipesimReport *report, GError **error)
{
	if (graph->place == NULL || graph->steps == NULL || graph->ended == NULL ||
		graph->tail == NULL || graph->ranks == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			graph->program->n_ops);
	if (!order_by_start(graph) && !order_by_ranks(graph, error))
		return FALSE;
	find_heads_and_tails(graph);
	report->path.lower_bound = bound(graph);
	report->path.has_bound = TRUE;
	return TRUE;
}

gboolean pipesim_report_search_bound(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const gsize n = MAX(subject->program->n_ops, 1u);
	Graph graph = {
		.subject = subject,
		.program = subject->program,
		.place = g_try_new(guint32, n),
		.steps = g_try_new(Step, n),
		.ended = g_try_new(gint64, n),
		.tail = g_try_new0(gint64, n),
		.ranks = g_try_new(Rank, subject->program->shape.ranks),
	};
	const gboolean ok = find_bound(&graph, report, error);

	g_free(graph.place);
	g_free(graph.steps);
	g_free(graph.ended);
	g_free(graph.tail);
	g_free(graph.ranks);
	return ok;
}
