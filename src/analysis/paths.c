/* The critical path of the timeline, and a bound that no order of the same ops can beat. */
#include "config.h"

#include "analysis/parts.h"

/* The same where the engine tells: back over the messages in between. */
static guint32 told_cause_of(const PipesimTimeline *timeline, guint32 op)
{
	guint64 cause = timeline->cause[op];

	while (cause != PIPESIM_NO_CAUSE && (cause & PIPESIM_BY_TRANSFER) != 0)
		cause = timeline->transfers[(guint32)cause].cause;
	return cause == PIPESIM_NO_CAUSE ? PIPESIM_NO_OP : (guint32)cause;
}

/* The rank of @op, which mostly is @near or a neighbour. */
static guint rank_of(const PipesimProgram *program, guint32 op, guint near)
{
	const guint32 *begin = program->rank_begin;

	if (op >= begin[near] && op < begin[near + 1])
		return near;
	if (near > 0 && op >= begin[near - 1] && op < begin[near])
		return near - 1;
	if (near + 1 < program->shape.ranks && op >= begin[near + 1] && op < begin[near + 2])
		return near + 1;
	return pipesim_program_rank(program, op);
}

/* When input @i of @op of @rank is there, with the waiting for links. */
static gint64 arrival(
	const PipesimSubject *subject, const guint32 inputs[2], guint i, guint32 op, guint rank)
{
	const PipesimTimeline *timeline = subject->timeline;
	const guint from = rank_of(subject->program, inputs[i], rank);

	if (from == rank)
		return timeline->end[inputs[i]];
	if (timeline->traffic == NULL)
		return timeline->end[inputs[i]] + subject->times->p2p;
	return timeline->moving[i][op] +
	       pipesim_network_hop(subject->costs->network, from, rank);
}

/* The op whose end let @op start at its time, or PIPESIM_NO_OP where it starts at 0. */
static guint32 cause_of(const PipesimSubject *subject, guint rank, guint32 op)
{
	const PipesimProgram *program = subject->program;
	const PipesimTimeline *timeline = subject->timeline;
	guint32 inputs[2];
	const guint n = pipesim_program_inputs(program, rank, &program->ops[op], inputs);

	if (timeline->cause != NULL)
		return told_cause_of(timeline, op);
	for (guint i = 0; i < n; i++) {
		if (arrival(subject, inputs, i, op, rank) == timeline->start[op])
			return inputs[i];
	}
	if (op > program->rank_begin[rank] && timeline->end[op - 1] == timeline->start[op])
		return op - 1;
	return PIPESIM_NO_OP;
}

static guint32 last_op(const PipesimSubject *subject)
{
	const PipesimProgram *program = subject->program;

	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 end = program->rank_begin[rank + 1];

		if (end > program->rank_begin[rank] &&
			subject->timeline->end[end - 1] == subject->timeline->makespan)
			return end - 1;
	}
	return PIPESIM_NO_OP;
}

static void find_critical_path(const PipesimSubject *subject, PipesimReport *report)
{
	GArray *path = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint rank = 0;

	for (guint32 op = last_op(subject); op != PIPESIM_NO_OP;) {
		g_array_append_val(path, op);
		rank = rank_of(subject->program, op, rank);
		op = cause_of(subject, rank, op);
	}
	report->n_critical = path->len;
	report->critical = (guint32 *)(void *)g_array_free(path, FALSE);
	for (guint i = 0; i < report->n_critical / 2; i++) {
		const guint32 op = report->critical[i];

		report->critical[i] = report->critical[report->n_critical - 1 - i];
		report->critical[report->n_critical - 1 - i] = op;
	}
}

/* Data dependencies alone, without the order on ranks. */
typedef struct {
	const PipesimSubject *subject;
	guint32 *sequence; /* every op after its inputs */
	gint64 *head;      /* earliest start with infinitely many ranks */
	gint64 *tail;      /* least time from the op's end to the end of the step */
} Graph;

static gint64 duration(const Graph *graph, guint32 op)
{
	const PipesimSubject *subject = graph->subject;

	/* Messages may have slowed it. */
	if (subject->timeline->traffic != NULL)
		return pipesim_op_duration(subject->program, subject->times,
			pipesim_program_rank(subject->program, op), &subject->program->ops[op]);
	return subject->timeline->end[op] - subject->timeline->start[op];
}

/* What @op of @rank needs: of other stages, and of its own what B and W follow on. */
static guint inputs_of(
	const PipesimProgram *program, guint rank, const PipesimOp *op, guint32 inputs[3])
{
	guint n = pipesim_program_inputs(program, rank, op, inputs);

	if (op->kind == PIPESIM_W)
		inputs[n++] = program->backward[pipesim_op_forward_slot(program, rank, op)];
	else if (pipesim_op_has_backward(op))
		inputs[n++] = program->forward[pipesim_op_backward_slot(program, rank, op)];
	return n;
}

static gint64 hop(const Graph *graph, guint32 from, guint rank)
{
	const PipesimSubject *subject = graph->subject;
	const guint from_rank = rank_of(subject->program, from, rank);

	if (from_rank == rank)
		return 0;
	return subject->timeline->traffic != NULL
		       ? pipesim_network_hop(subject->costs->network, from_rank, rank)
		       : subject->times->p2p;
}

static void find_heads(Graph *graph)
{
	const PipesimProgram *program = graph->subject->program;
	guint32 inputs[3];
	guint rank = 0, n;

	for (guint32 i = 0; i < program->n_ops; i++) {
		const guint32 op = graph->sequence[i];

		rank = rank_of(program, op, rank);
		n = inputs_of(program, rank, &program->ops[op], inputs);
		graph->head[op] = 0;
		for (guint k = 0; k < n; k++) {
			const gint64 ready = graph->head[inputs[k]] +
					     duration(graph, inputs[k]) +
					     hop(graph, inputs[k], rank);

			graph->head[op] = MAX(graph->head[op], ready);
		}
	}
}

static void find_tails(Graph *graph)
{
	const PipesimProgram *program = graph->subject->program;
	guint32 inputs[3];
	guint rank = 0, n;

	for (guint32 i = program->n_ops; i-- > 0;) {
		const guint32 op = graph->sequence[i];

		rank = rank_of(program, op, rank);
		n = inputs_of(program, rank, &program->ops[op], inputs);
		for (guint k = 0; k < n; k++) {
			const gint64 after = hop(graph, inputs[k], rank) + duration(graph, op) +
					     graph->tail[op];

			graph->tail[inputs[k]] = MAX(graph->tail[inputs[k]], after);
		}
	}
}

/* A rank cannot begin before its earliest input exists, must do all its work, and what follows
 * its last op takes its time. */
static gint64 bound(const Graph *graph, const PipesimReport *report)
{
	const PipesimProgram *program = graph->subject->program;
	gint64 best = 0;

	for (guint rank = 0; rank < report->ranks; rank++) {
		gint64 head = G_MAXINT64, tail = G_MAXINT64, busy = 0;

		if (program->rank_begin[rank] == program->rank_begin[rank + 1])
			continue;
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			busy += duration(graph, i);
			head = MIN(head, graph->head[i]);
			tail = MIN(tail, graph->tail[i]);
			best = MAX(best, graph->head[i] + duration(graph, i) + graph->tail[i]);
		}
		best = MAX(best, head + busy + tail);
	}
	return best;
}

static gboolean find_bound(Graph *graph, PipesimReport *report, GError **error)
{
	if (graph->sequence == NULL || graph->head == NULL || graph->tail == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			graph->subject->program->n_ops);
	if (pipesim_program_sequence(graph->subject->program, graph->sequence, error) ==
		G_MAXUINT32)
		return FALSE;
	find_heads(graph);
	find_tails(graph);
	report->lower_bound = bound(graph, report);
	report->has_bound = TRUE;
	return TRUE;
}

static gboolean search_bound(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const gsize n = MAX(subject->program->n_ops, 1u);
	Graph graph = {
		.subject = subject,
		.sequence = g_try_new(guint32, n),
		.head = g_try_new(gint64, n),
		.tail = g_try_new0(gint64, n),
	};
	const gboolean ok = find_bound(&graph, report, error);

	g_free(graph.sequence);
	g_free(graph.head);
	g_free(graph.tail);
	return ok;
}

gboolean pipesim_report_paths(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	if (!report->has_bound && !search_bound(subject, report, error))
		return FALSE;
	find_critical_path(subject, report);
	return TRUE;
}
