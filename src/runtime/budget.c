/* Waits for sends that come forward (max_outstanding_sends). A wait that stands too early makes
 * a cycle: the rank waits for a message that is only received after something that it has yet
 * to send. So all lists are one graph: each action before the next one of its rank, a send
 * before its receive, and that before what comes after the wait for the send. Waits are no
 * nodes of it.
 * A topological order of the graph bounds each search for a path: only what stands between
 * its ends in that order can be on it. A new edge against it moves those alone that stand
 * between its ends and hang on them (Pearce and Kelly, doi:10.1145/1187436.1210590). */
#include "runtime/passes.h"

#define NONE G_MAXUINT32

typedef struct {
	PipesimLowerer *lowerer;
	const PipesimProgram *program;
	guint32 n;
	guint32 *begin;        /* by rank: its first node; ranks + 1 */
	PipesimAction *action; /* by node */
	/* By node: of a send its receive, of a receive the node that waits for it; NONE. Of
	 * nothing else. */
	guint32 *next;
	guint32 *wait_at; /* by node, of a send: the node before which it is waited for; the end
			     of its rank: behind all */
	guint8 *moved;    /* by node, of a send: its wait has come forward */
	guint32 *send_of; /* by 2 * the op whose result leaves, + 1 of a gradient */
	/* By node, the first receive whose wait it stands behind, and by receive the one after it; NONE. */
	guint32 *first, *more;
	guint32 *place; /* by node: in the topological order */
	guint32 *at;    /* by place: the node */
	guint32 *stack; /* nodes */
	guint32 *
		degree; /* nodes before a node that are not in the order yet; then room for places */
	guint32 *seen; /* by node: the last search that came by */
	guint32 search;
} Graph;

static gboolean is_last(const Graph *graph, guint32 node, guint rank)
{
	return node + 1 == graph->begin[rank + 1];
}

/* Puts all nodes in order. FALSE where there is a cycle. */
static gboolean sort(Graph *graph)
{
	const guint ranks = graph->program->shape.ranks;
	guint32 height = 0, n = 0;

	pipesim_each_rank_of (i, graph->begin, rank, ranks) {
		graph->degree[i] += i > graph->begin[rank];
		if (graph->next[i] != NONE)
			graph->degree[graph->next[i]]++;
	}
	for (guint rank = 0; rank < ranks; rank++)
		if (graph->begin[rank] < graph->begin[rank + 1] &&
			graph->degree[graph->begin[rank]] == 0)
			graph->stack[height++] = graph->begin[rank];
	/* Receives soon behind their sends, before which most of them are wanted. */
	while (height > 0) {
		const guint32 node = graph->stack[--height], other = graph->next[node];
		const guint rank = pipesim_rank_in(graph->begin, ranks, node);

		graph->at[n] = node;
		graph->place[node] = n++;
		if (!is_last(graph, node, rank) && --graph->degree[node + 1] == 0)
			graph->stack[height++] = node + 1;
		if (other != NONE && --graph->degree[other] == 0)
			graph->stack[height++] = other;
	}
	return n == graph->n;
}

/* Where a search goes on at @node, if it has not been there and that does not stand beyond @most in the order. */
static void visit(Graph *graph, guint32 node, gboolean back, guint32 most, guint32 *height)
{
	if (node == NONE || graph->seen[node] == graph->search ||
		(back ? graph->place[node] < most : graph->place[node] > most))
		return;
	graph->seen[node] = graph->search;
	graph->stack[(*height)++] = node;
}

/* The places of @node and of what comes behind it, or before it if @back, as far as @most, into @found. Returns how
 * many. */
static guint32 collect(Graph *graph, guint32 node, gboolean back, guint32 most, guint32 *found)
{
	const guint ranks = graph->program->shape.ranks;
	guint32 height = 0, n = 0;

	graph->search++;
	visit(graph, node, back, most, &height);
	while (height > 0) {
		const guint32 here = graph->stack[--height];
		const guint rank = pipesim_rank_in(graph->begin, ranks, here);
		const PipesimAction *action = &graph->action[here];

		found[n++] = graph->place[here];
		if (!back) {
			visit(graph, is_last(graph, here, rank) ? NONE : here + 1, back, most,
				&height);
			visit(graph, graph->next[here], back, most, &height);
			continue;
		}
		if (here > graph->begin[rank])
			visit(graph, here - 1, back, most, &height);
		if (pipesim_action_is_message(action->kind) &&
			!pipesim_action_is_send(action->kind))
			visit(graph,
				graph->send_of[2 * (gsize)action->peer +
					       pipesim_action_is_backward(action->kind)],
				back, most, &height);
		for (guint32 i = graph->first[here]; i != NONE; i = graph->more[i])
			visit(graph, i, back, most, &height);
	}
	return n;
}

PIPESIM_COMPARE(compare_places, guint32, pipesim_compare(*x, *y))

/* @receive comes before @send from now on, from which no path leads there. */
static void put_before(Graph *graph, guint32 receive, guint32 send)
{
	const guint32 low = graph->place[send], high = graph->place[receive];
	guint32 *places = graph->degree, *nodes = graph->stack, n_back, n;

	if (high < low)
		return;
	n_back = collect(graph, receive, TRUE, low, places);
	n = n_back + collect(graph, send, FALSE, high, places + n_back);
	qsort(places, n_back, sizeof *places, compare_places);
	qsort(places + n_back, n - n_back, sizeof *places, compare_places);
	for (guint32 i = 0; i < n; i++)
		nodes[i] = graph->at[places[i]];
	qsort(places, n, sizeof *places, compare_places);
	for (guint32 i = 0; i < n; i++) {
		graph->place[nodes[i]] = places[i];
		graph->at[places[i]] = nodes[i];
	}
}

/* The send that @receive belongs to is waited for before @node. */
static void set_wait(Graph *graph, guint32 receive, guint32 node)
{
	guint32 *link =
		graph->next[receive] != NONE ? &graph->first[graph->next[receive]] : NULL;

	while (link != NULL && *link != receive)
		link = &graph->more[*link];
	if (link != NULL)
		*link = graph->more[receive];
	graph->next[receive] = node;
	graph->more[receive] = graph->first[node];
	graph->first[node] = receive;
}

/* Whether there is a path; the way of @from to another rank is left out if @along its own
 * rank. */
static gboolean reaches(Graph *graph, guint32 from, guint32 to, gboolean along)
{
	const guint ranks = graph->program->shape.ranks;
	guint32 height = 0;

	if (graph->place[from] >= graph->place[to])
		return from == to;
	graph->search++;
	graph->stack[height++] = from;
	graph->seen[from] = graph->search;
	while (height > 0) {
		const guint32 node = graph->stack[--height];
		const guint rank = pipesim_rank_in(graph->begin, ranks, node);
		const guint32 nodes[2] = {is_last(graph, node, rank) ? NONE : node + 1,
			along && node == from ? NONE : graph->next[node]};

		for (guint i = 0; i < 2; i++) {
			const guint32 other = nodes[i];

			if (other == to)
				return TRUE;
			if (other == NONE || graph->seen[other] == graph->search ||
				graph->place[other] > graph->place[to])
				continue;
			graph->seen[other] = graph->search;
			graph->stack[height++] = other;
		}
	}
	return FALSE;
}

/* The nodes, without the waits; nothing is connected yet. */
static gboolean add_nodes(Graph *graph, PipesimArena *arena, GError **error)
{
	const guint ranks = graph->program->shape.ranks;
	guint32 n = 0;

	graph->begin = pipesim_arena_array(arena, guint32, (gsize)ranks + 1);
	for (guint rank = 0; rank < ranks; rank++)
		n += graph->lowerer->lists[rank].n;
	graph->action = pipesim_arena_array(arena, PipesimAction, n);
	graph->next = pipesim_arena_array(arena, guint32, n);
	graph->wait_at = pipesim_arena_array(arena, guint32, n);
	graph->moved = pipesim_arena_array(arena, guint8, n);
	graph->place = pipesim_arena_array(arena, guint32, n);
	graph->stack = pipesim_arena_array(arena, guint32, n);
	graph->first = pipesim_arena_array(arena, guint32, n);
	graph->more = pipesim_arena_array(arena, guint32, n);
	graph->at = pipesim_arena_array(arena, guint32, n);
	graph->degree = pipesim_arena_array(arena, guint32, n);
	graph->seen = pipesim_arena_array(arena, guint32, n);
	if (!pipesim_arena_check(arena, error, "%u ops, sends and receives", n))
		return FALSE;
	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimList *list = &graph->lowerer->lists[rank];

		graph->begin[rank] = graph->n;
		for (guint32 i = 0; i < list->n; i++)
			if (!pipesim_action_is_wait(list->actions[i].kind))
				graph->action[graph->n++] = list->actions[i];
	}
	graph->begin[ranks] = graph->n;
	return TRUE;
}

/* Which of the messages of the op that @action is about. */
static gsize end_of(const PipesimAction *action)
{
	return 2 * (gsize)action->op + pipesim_action_is_backward(action->kind);
}

/* Sends to receives, and these to what waits for them. */
static gboolean connect(Graph *graph, PipesimArena *arena, GError **error)
{
	const guint ranks = graph->program->shape.ranks;
	const gsize n_ends = 2 * (gsize)graph->program->n_ops;
	guint32 *receives = pipesim_arena_array(arena, guint32, n_ends);

	graph->send_of = pipesim_arena_array(arena, guint32, n_ends);
	if (!pipesim_arena_check(arena, error, "%u ops", graph->program->n_ops))
		return FALSE;
	for (guint32 i = 0; i < graph->n; i++) {
		graph->next[i] = graph->first[i] = NONE;
		if (pipesim_action_is_message(graph->action[i].kind))
			(pipesim_action_is_send(graph->action[i].kind)
					? graph->send_of
					: receives)[end_of(&graph->action[i])] = i;
	}
	for (guint rank = 0; rank < ranks; rank++) {
		const PipesimList *list = &graph->lowerer->lists[rank];
		guint32 node = graph->begin[rank];

		for (guint32 i = 0; i < list->n; i++) {
			const PipesimAction *action = &list->actions[i];
			const gboolean wait = pipesim_action_is_wait(action->kind);

			node += !wait;
			if (wait)
				graph->wait_at[graph->send_of[end_of(action)]] = node;
			else if (pipesim_action_is_send(action->kind))
				graph->next[node - 1] =
					receives[2 * (gsize)action->peer +
						 pipesim_action_is_backward(action->kind)];
			else
				continue;
			if (wait && node < graph->begin[rank + 1])
				set_wait(graph, graph->next[graph->send_of[end_of(action)]],
					node);
		}
	}
	return TRUE;
}

static gboolean fail(const Graph *graph, guint rank, guint32 send, guint most, GError **error)
{
	g_autoptr(GString) name = g_string_new(NULL);

	pipesim_action_print(&(PipesimLowering){.program = graph->program}, rank,
		&graph->action[send], name);
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"--max-sends %u: before %s on rank %u no send can be waited for without a "
		"deadlock; allow more",
		most, name->str, rank);
}

static gboolean limit_rank(Graph *graph, guint rank, guint most, GError **error)
{
	const guint32 end = graph->begin[rank + 1];
	g_autofree guint32 *pending = g_new(guint32, MIN(most, end - graph->begin[rank]) + 1);
	guint n = 0;

	for (guint32 i = graph->begin[rank]; i < end; i++) {
		guint kept = 0;

		if (!pipesim_action_is_send(graph->action[i].kind))
			continue;
		for (guint k = 0; k < n; k++)
			if (graph->wait_at[pending[k]] > i)
				pending[kept++] = pending[k];
		n = kept;
		if (n == most) {
			guint32 receive, chosen = NONE;
			gboolean must = FALSE;

			/* Of the pending ones the first that must have arrived by then, else the first that
			 * can have. */
			for (guint k = 0; k < n && !must; k++) {
				receive = graph->next[pending[k]];
				must = reaches(graph, receive, i, TRUE);
				if (must ||
					(chosen == NONE && !reaches(graph, i, receive, FALSE)))
					chosen = pending[k];
			}
			if (chosen == NONE)
				return fail(graph, rank, i, most, error);
			receive = graph->next[chosen];
			set_wait(graph, receive, i);
			graph->wait_at[chosen] = i;
			graph->moved[chosen] = TRUE;
			put_before(graph, receive, i);
			for (kept = 0; pending[kept] != chosen; kept++)
				;
			memmove(pending + kept, pending + kept + 1,
				(n - kept - 1) * sizeof *pending);
			n--;
		}
		pending[n++] = i;
	}
	return TRUE;
}

/* The list of @rank with the waits where they stand now. */
static void write_rank(Graph *graph, guint rank)
{
	PipesimLowerer *lowerer = graph->lowerer;
	const PipesimList old = lowerer->lists[rank];
	PipesimList list = {NULL, 0, 0};
	guint32 *moved_to = graph->stack; /* by node: the send that is waited for before it */
	guint32 node = graph->begin[rank];

	for (guint32 i = node; i < graph->begin[rank + 1]; i++)
		moved_to[i] = NONE;
	for (guint32 i = node; i < graph->begin[rank + 1]; i++)
		if (graph->moved[i])
			moved_to[graph->wait_at[i]] = i;
	for (guint32 i = 0; i < old.n; i++) {
		const PipesimAction *action = &old.actions[i];

		if (pipesim_action_is_wait(action->kind)) {
			if (graph->moved[graph->send_of[end_of(action)]])
				continue;
		} else if (moved_to[node++] != NONE) {
			PipesimAction wait = graph->action[moved_to[node - 1]];

			wait.kind += PIPESIM_ACTION_TO_WAIT;
			wait.peer_rank = 0;
			pipesim_lower_take(lowerer, &list, &wait);
		}
		pipesim_lower_take(lowerer, &list, action);
	}
	g_free(old.actions);
	lowerer->lists[rank] = list;
}

gboolean pipesim_pass_limit_sends(PipesimLowerer *lowerer, guint most, GError **error)
{
	const guint ranks = lowerer->program->shape.ranks;
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	Graph graph = {.lowerer = lowerer, .program = lowerer->program};

	if (!add_nodes(&graph, arena, error) || !connect(&graph, arena, error))
		return FALSE;
	if (!sort(&graph))
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"--max-sends: the order of sends and receives deadlocks as it is");
	for (guint rank = 0; rank < ranks; rank++)
		if (!limit_rank(&graph, rank, most, error))
			return FALSE;
	for (guint rank = 0; rank < ranks; rank++)
		write_rank(&graph, rank);
	return TRUE;
}
