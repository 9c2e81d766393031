/* The critical path of the timeline, and a bound that no order of the same ops can beat. */
#include "config.h"

#include "analysis/parts.h"

/* The op whose end let @op start at its time, or PIPESIM_NO_OP where it starts at 0. */
static guint32 cause_of(const PipesimSubject *subject, guint32 op)
{
	const PipesimProgram *program = subject->program;
	const PipesimTimeline *timeline = subject->timeline;
	const guint32 rank = program->ops[op].rank;

	for (guint32 e = program->input_begin[op]; e < program->input_begin[op + 1]; e++) {
		const guint32 input = program->inputs[e];
		const gint64 hop = program->ops[input].rank == rank ? 0 : subject->times->p2p;

		if (timeline->end[input] + hop == timeline->start[op])
			return input;
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
	guint n = 0;

	for (guint32 op = last_op(subject); op != PIPESIM_NO_OP; op = cause_of(subject, op))
		n++;
	report->n_critical = n;
	report->critical = g_new(guint32, MAX(n, 1u));
	for (guint32 op = last_op(subject); op != PIPESIM_NO_OP; op = cause_of(subject, op))
		report->critical[--n] = op;
}

/* Data dependencies alone, without the order on ranks. */
typedef struct {
	const PipesimSubject *subject;
	guint32 *succ_begin, *succ;
	guint32 *order; /* every op after its inputs */
	gint64 *head;   /* earliest start with infinitely many ranks */
	gint64 *tail;   /* least time from the op's end to the end of the step */
} Graph;

static gint64 duration(const Graph *graph, guint32 op)
{
	return graph->subject->timeline->end[op] - graph->subject->timeline->start[op];
}

static gint64 hop(const Graph *graph, guint32 from, guint32 to)
{
	const PipesimOp *ops = graph->subject->program->ops;

	return ops[from].rank == ops[to].rank ? 0 : graph->subject->times->p2p;
}

/* Sorts by dependency and finds heads on the way. */
static void find_heads(Graph *graph)
{
	const PipesimProgram *program = graph->subject->program;
	guint8 *waiting = (guint8 *)graph->tail; /* not needed before find_tails() */
	guint n = 0;

	for (guint32 op = 0; op < program->n_ops; op++) {
		waiting[op] = (guint8)(program->input_begin[op + 1] - program->input_begin[op]);
		graph->head[op] = 0;
		if (waiting[op] == 0)
			graph->order[n++] = op;
	}
	for (guint i = 0; i < n; i++) {
		const guint32 op = graph->order[i];
		const gint64 end = graph->head[op] + duration(graph, op);

		for (guint32 e = graph->succ_begin[op]; e < graph->succ_begin[op + 1]; e++) {
			const guint32 to = graph->succ[e];

			graph->head[to] = MAX(graph->head[to], end + hop(graph, op, to));
			if (--waiting[to] == 0)
				graph->order[n++] = to;
		}
	}
}

static void find_tails(Graph *graph)
{
	for (guint i = graph->subject->program->n_ops; i-- > 0;) {
		const guint32 op = graph->order[i];

		graph->tail[op] = 0;
		for (guint32 e = graph->succ_begin[op]; e < graph->succ_begin[op + 1]; e++) {
			const guint32 to = graph->succ[e];
			const gint64 after =
				hop(graph, op, to) + duration(graph, to) + graph->tail[to];

			graph->tail[op] = MAX(graph->tail[op], after);
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
		gint64 head = G_MAXINT64, tail = G_MAXINT64;

		if (program->rank_begin[rank] == program->rank_begin[rank + 1])
			continue;
		for (guint32 i = program->rank_begin[rank]; i < program->rank_begin[rank + 1];
			i++) {
			head = MIN(head, graph->head[i]);
			tail = MIN(tail, graph->tail[i]);
			best = MAX(best, graph->head[i] + duration(graph, i) + graph->tail[i]);
		}
		best = MAX(best, head + report->busy[rank] + tail);
	}
	return best;
}

gboolean pipesim_report_paths(
	const PipesimSubject *subject, PipesimReport *report, GError **error)
{
	const gsize n = MAX(subject->program->n_ops, 1u);
	Graph graph = {.subject = subject};

	if (!pipesim_program_successors(
		    subject->program, &graph.succ_begin, &graph.succ, error))
		return FALSE;
	graph.order = g_try_new(guint32, n);
	graph.head = g_try_new(gint64, n);
	graph.tail = g_try_new(gint64, n);
	if (graph.order != NULL && graph.head != NULL && graph.tail != NULL) {
		find_critical_path(subject, report);
		find_heads(&graph);
		find_tails(&graph);
		report->lower_bound = bound(&graph, report);
	} else {
		pipesim_fail(error, PIPESIM_ERROR_LIMIT, "%u ops do not fit in memory",
			subject->program->n_ops);
	}
	g_free(graph.succ_begin);
	g_free(graph.succ);
	g_free(graph.order);
	g_free(graph.head);
	g_free(graph.tail);
	return report->critical != NULL;
}
