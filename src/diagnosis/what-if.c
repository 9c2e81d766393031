#include "diagnosis/what-if.h"

/* A transfer that ended so long before the last of those that take part began is none, ns. */
#define NO_TRANSFER G_GINT64_CONSTANT(-10000000)
/* That an op waits for by itself: what ran before it, a message, and the parameters. */
#define MOST_BEFORE 3

/* Kinds of ops. */
enum {
	F_COMPUTE,
	B_COMPUTE,
	F_SEND,
	F_RECV,
	B_SEND,
	B_RECV,
	ALL_GATHER,
	REDUCE_SCATTER,
	LAYERNORM,
	EMBEDDING,
	CLIP,
	OPTIMIZER,
	GC,
	N_TYPES,
};

static const struct {
	const char *name;   /* in the file */
	guint what;         /* S_t of it and others is one: the first type of these */
	const char *called; /* NULL: as in the file */
	gboolean mean;      /* ideal: the mean, else the median */
	gboolean wide;      /* waits for all replicas */
	gboolean group;     /* waits for others */
} types[N_TYPES] = {
	[F_COMPUTE] = {"", F_COMPUTE, "forward-compute", TRUE, FALSE, FALSE},
	[B_COMPUTE] = {"", B_COMPUTE, "backward-compute", TRUE, FALSE, FALSE},
	[F_SEND] = {"forward-send", F_SEND, "forward-pp-comm", FALSE, FALSE, TRUE},
	[F_RECV] = {"forward-recv", F_SEND, NULL, FALSE, FALSE, TRUE},
	[B_SEND] = {"backward-send", B_SEND, "backward-pp-comm", FALSE, FALSE, TRUE},
	[B_RECV] = {"backward-recv", B_SEND, NULL, FALSE, FALSE, TRUE},
	[ALL_GATHER] = {"params-all-gather", ALL_GATHER, NULL, FALSE, TRUE, TRUE},
	[REDUCE_SCATTER] = {"grads-reduce-scatter", REDUCE_SCATTER, NULL, FALSE, TRUE, TRUE},
	[LAYERNORM] = {"layernorm-grads-all-reduce", LAYERNORM, NULL, FALSE, FALSE, FALSE},
	[EMBEDDING] = {"embedding-grads-all-reduce", EMBEDDING, NULL, FALSE, FALSE, TRUE},
	[CLIP] = {"optimizer-clip-main-grad", CLIP, NULL, FALSE, TRUE, TRUE},
	[OPTIMIZER] = {"optimizer", OPTIMIZER, NULL, TRUE, FALSE, FALSE},
	[GC] = {"gc", GC, NULL, TRUE, FALSE, FALSE},
};

/* An op of one replica. Those of a group, linked in a ring, start together, when the last of them is ready, in each
 * replica or in all at once. */
typedef struct {
	guint8 type, n_before;
	guint32 stage, next;
	guint32 before[MOST_BEFORE];
} Node;

/* Of stage s and type t they are those from first[s * N_TYPES + t] on. */
typedef struct {
	const PipesimRecord *record;
	guint stages, replicas, steps;
	guint32 n;      /* nodes */
	guint32 *first; /* stages * N_TYPES + 1 */
	Node *nodes;
	GArray *order; /* guint32: the first node of each group, each behind what it waits for */
	/* ns, [(step * replicas + replica) * n + node]: when it started; when it ended, from
	 * measure_durations() on what it took without waiting for others */
	gint64 *start, *real;
	gint64 ideal[N_TYPES];
	gint64 *ends;        /* of one step, [replica * n + node] */
	PipesimArena *arena; /* holds these times */
} Graph;

static guint32 count_of(const Graph *graph, guint stage, guint type)
{
	const guint32 *first = &graph->first[(gsize)stage * N_TYPES + type];

	return first[1] - first[0];
}

static guint32 node_of(const Graph *graph, guint stage, guint type, guint32 i)
{
	return graph->first[(gsize)stage * N_TYPES + type] + i;
}

static gsize place_of(const Graph *graph, guint step, guint replica, guint32 node)
{
	return ((gsize)step * graph->replicas + replica) * graph->n + node;
}

/* Reading ---------------------------------------------------------------------------------- */

typedef struct {
	guint type;
	gint64 seq; /* which of its type; PIPESIM_UNKNOWN: as they come */
	gint64 start, end;
} Seen;

/* What @pipeline has of @stage. */
static GArray *list_seen(const Graph *graph, const PipesimRecordPipeline *pipeline, guint stage)
{
	const guint rank = graph->record->joined.rank_of[stage];
	GArray *all = g_array_new(FALSE, FALSE, sizeof(Seen));

	pipesim_each_of (i, pipeline->op_begin, rank) {
		const PipesimRecordOp *op = &pipeline->ops[i];
		const Seen seen = {op->kind == PIPESIM_F ? F_COMPUTE : B_COMPUTE,
			PIPESIM_UNKNOWN, op->start, op->end};

		g_array_append_val(all, seen);
	}
	pipesim_each_of (i, pipeline->span_begin, rank) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);
		Seen seen = {F_SEND, span->seq, span->start, span->end};

		while (seen.type < N_TYPES && strcmp(types[seen.type].name, span->name) != 0)
			seen.type++;
		if (seen.type < N_TYPES)
			g_array_append_val(all, seen);
	}
	return all;
}

/* Of the first pipeline, how many nodes there are of each sort. */
static void count_nodes(Graph *graph)
{
	graph->first = g_new0(guint32, (gsize)graph->stages * N_TYPES + 1);
	for (guint stage = 0; stage < graph->stages; stage++) {
		g_autoptr(GArray) all =
			list_seen(graph, pipesim_record_pipeline(graph->record, 0, 0), stage);

		for (guint i = 0; i < all->len; i++)
			graph->first[stage * N_TYPES + g_array_index(all, Seen, i).type + 1]++;
	}
	for (gsize i = 1; i <= (gsize)graph->stages * N_TYPES; i++)
		graph->first[i] += graph->first[i - 1];
	graph->n = graph->first[(gsize)graph->stages * N_TYPES];
	graph->nodes = g_new0(Node, graph->n);
	for (guint stage = 0; stage < graph->stages; stage++)
		for (guint type = 0; type < N_TYPES; type++)
			for (guint32 i = 0; i < count_of(graph, stage, type); i++) {
				const guint32 node = node_of(graph, stage, type, i);

				graph->nodes[node] = (Node){
					.type = (guint8)type, .stage = stage, .next = node};
			}
}

/* Of all stages. */
static guint32 count_type(const Graph *graph, guint type)
{
	return pipesim_sum(stage, graph->stages, count_of(graph, stage, type));
}

/* Start and end of every node of @stage. FALSE where @pipeline has other ops than the first. */
static gboolean read_stage(Graph *graph, const PipesimRecordPipeline *pipeline, guint stage)
{
	g_autoptr(GArray) all = list_seen(graph, pipeline, stage);
	guint32 n[N_TYPES] = {0};

	pipesim_each (const Seen, seen, all) {
		const gint64 at = seen->seq >= 0 ? seen->seq : n[seen->type];

		n[seen->type]++;
		if (at >= count_of(graph, stage, seen->type))
			return FALSE;
		gsize place = place_of(graph, pipeline->step, pipeline->replica,
			node_of(graph, stage, seen->type, (guint32)at));
		graph->start[place] = seen->start;
		graph->real[place] = seen->end;
	}
	return pipesim_all(type, N_TYPES, n[type] == count_of(graph, stage, type));
}

static gboolean read_nodes(Graph *graph, GError **error)
{
	const gsize all = (gsize)graph->steps * graph->replicas * graph->n;

	graph->start = pipesim_arena_array(graph->arena, gint64, all);
	graph->real = pipesim_arena_array(graph->arena, gint64, all);
	graph->ends =
		pipesim_arena_array(graph->arena, gint64, (gsize)graph->replicas * graph->n);
	if (!pipesim_arena_check(graph->arena, error, "what-if: %" G_GSIZE_FORMAT " ops", all))
		return FALSE;
	pipesim_each_in (const PipesimRecordPipeline, pipeline, graph->record->pipelines)
		for (guint stage = 0; stage < graph->stages; stage++)
			if (!read_stage(graph, pipeline, stage))
				return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
					"what-if: replica %u of step %" G_GINT64_FORMAT
					" has not the same ops as the first step",
					pipeline->replica,
					pipesim_record_step(graph->record, pipeline->step)
						->number);
	return TRUE;
}

/* The graph -------------------------------------------------------------------------------- */

static void add_edge(Graph *graph, guint32 before, guint32 node)
{
	graph->nodes[node].before[graph->nodes[node].n_before++] = before;
}

/* Messages of one direction between the computing. */
static void add_messages(Graph *graph, guint stage, guint compute, guint send, guint recv)
{
	const guint32 n = count_of(graph, stage, compute);

	for (guint32 i = 0; i < n; i++) {
		const guint32 node = node_of(graph, stage, compute, i);

		if (i < count_of(graph, stage, recv)) {
			add_edge(graph, node_of(graph, stage, recv, i), node);
			if (i > 0)
				add_edge(graph, node - 1, node_of(graph, stage, recv, i));
		}
		if (i < count_of(graph, stage, send))
			add_edge(graph, node, node_of(graph, stage, send, i));
	}
}

/* The computing of a stage in the order in which the first step of the first replica ran it, and what
 * hangs on that order. Returns the last. */
static guint32 add_computing(Graph *graph, guint stage)
{
	const PipesimRecordPipeline *pipeline = pipesim_record_pipeline(graph->record, 0, 0);
	const guint rank = graph->record->joined.rank_of[stage];
	guint32 seen[2] = {0}, last[2] = {G_MAXUINT32, G_MAXUINT32};

	pipesim_each_of (i, pipeline->op_begin, rank) {
		const guint type = pipeline->ops[i].kind == PIPESIM_F ? F_COMPUTE : B_COMPUTE;
		const guint32 node = node_of(graph, stage, type, seen[type]);

		if (last[0] != G_MAXUINT32)
			add_edge(graph, last[0], node);
		/* The first backward's messages wait for the computing two before it. */
		for (guint message = B_SEND; message <= B_RECV; message++)
			if (type == B_COMPUTE && seen[type] == 0 && last[1] != G_MAXUINT32 &&
				count_of(graph, stage, message) > 0)
				add_edge(graph, last[1], node_of(graph, stage, message, 0));
		seen[type]++;
		last[1] = last[0];
		last[0] = node;
	}
	return last[0];
}

static void add_stage(Graph *graph, guint stage)
{
	static const guint tail[] = {GC, LAYERNORM, EMBEDDING, REDUCE_SCATTER, CLIP, OPTIMIZER};
	guint32 last = add_computing(graph, stage);

	/* One after the other; those of the tail are anyway. */
	for (guint type = F_SEND; type <= ALL_GATHER; type++)
		for (guint32 i = 1; i < count_of(graph, stage, type); i++)
			add_edge(graph, node_of(graph, stage, type, i - 1),
				node_of(graph, stage, type, i));
	add_messages(graph, stage, F_COMPUTE, F_SEND, F_RECV);
	add_messages(graph, stage, B_COMPUTE, B_SEND, B_RECV);
	if (count_of(graph, stage, ALL_GATHER) > 0)
		add_edge(graph, node_of(graph, stage, ALL_GATHER, 0),
			node_of(graph, stage, F_COMPUTE, 0));
	for (guint i = 0; i < G_N_ELEMENTS(tail); i++)
		for (guint32 k = 0; k < count_of(graph, stage, tail[i]); k++) {
			add_edge(graph, last, node_of(graph, stage, tail[i], k));
			last = node_of(graph, stage, tail[i], k);
		}
}

/* Each node of @type on @stage starts with that of @other on @with. */
static void join(Graph *graph, guint stage, guint type, guint with, guint other)
{
	const guint32 n = MIN(count_of(graph, stage, type), count_of(graph, with, other));

	for (guint32 i = 0; i < n; i++) {
		Node *a = &graph->nodes[node_of(graph, stage, type, i)];
		Node *b = &graph->nodes[node_of(graph, with, other, i)];
		const guint32 next = a->next;

		a->next = b->next;
		b->next = next;
	}
}

static void join_groups(Graph *graph)
{
	const guint last = graph->stages - 1;

	for (guint stage = 0; stage < last; stage++) {
		join(graph, stage, F_SEND, stage + 1, F_RECV);
		join(graph, stage, B_RECV, stage + 1, B_SEND);
		join(graph, stage, CLIP, stage + 1, CLIP);
	}
	if (last > 0)
		join(graph, 0, EMBEDDING, last, EMBEDDING);
}

/* An order in which groups can run. FALSE: there is a cycle. */
static gboolean order_groups(Graph *graph)
{
	g_autofree gboolean *done = g_new0(gboolean, graph->n);
	guint32 n_done = 0, before;

	do {
		before = n_done;
		for (guint32 first = 0; first < graph->n; first++) {
			gboolean ready = !done[first];
			guint32 node = first;

			do {
				const Node *of = &graph->nodes[node];

				for (guint b = 0; b < of->n_before && ready; b++)
					ready = done[of->before[b]];
				node = of->next;
			} while (ready && node != first);
			if (!ready)
				continue;
			g_array_append_val(graph->order, first);
			do {
				done[node] = TRUE;
				n_done++;
				node = graph->nodes[node].next;
			} while (node != first);
		}
	} while (n_done > before);
	return n_done == graph->n;
}

/* Durations -------------------------------------------------------------------------------- */

/* When the last of the group of @node had begun, in @replica or, where it is wide, in all. */
static gint64 latest_start(const Graph *graph, guint32 node, guint step, guint replica)
{
	const gboolean wide = types[graph->nodes[node].type].wide;
	gint64 latest = G_MININT64;

	for (guint r = wide ? 0 : replica; r < (wide ? graph->replicas : replica + 1); r++) {
		guint32 member = node;

		do {
			latest = MAX(latest, graph->start[place_of(graph, step, r, member)]);
			member = graph->nodes[member].next;
		} while (member != node);
	}
	return latest;
}

static void measure_durations(Graph *graph)
{
	for (guint step = 0; step < graph->steps; step++)
		for (guint replica = 0; replica < graph->replicas; replica++)
			for (guint32 node = 0; node < graph->n; node++) {
				const gsize at = place_of(graph, step, replica, node);
				const gboolean group = types[graph->nodes[node].type].group;

				graph->real[at] -=
					group ? latest_start(graph, node, step, replica)
					      : graph->start[at];
				if (group && graph->real[at] <= NO_TRANSFER)
					graph->real[at] = 0;
			}
}

static void find_ideal(Graph *graph)
{
	const gsize runs = (gsize)graph->steps * graph->replicas;
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint type = 0; type < N_TYPES; type++) {
		double sum = 0;

		g_array_set_size(values, 0);
		for (guint32 node = 0; node < graph->n; node++)
			for (gsize run = 0; run < runs && graph->nodes[node].type == type;
				run++) {
				const gint64 real = graph->real[run * graph->n + node];

				g_array_append_val(values, real);
				sum += (double)real;
			}
		if (values->len == 0)
			continue;
		g_array_sort(values, pipesim_compare_int64);
		graph->ideal[type] =
			types[type].mean
				? (gint64)llround(sum / values->len)
				: (g_array_index(values, gint64, (values->len - 1) / 2) +
					  g_array_index(values, gint64, values->len / 2)) /
					  2;
	}
}

/* Replays ---------------------------------------------------------------------------------- */

#define ANY G_MAXUINT

/* Which nodes take their real time; the others take the ideal one. */
typedef struct {
	guint what, replica, stage; /* ANY: of all */
	const gboolean *ranks;      /* [replica * stages + stage]: not of these; NULL: of all */
	gboolean none;
} Choice;

static gint64 time_of(
	const Graph *graph, guint step, guint replica, guint32 node, const Choice *choice)
{
	const Node *of = &graph->nodes[node];
	const gboolean ideal =
		choice->none || (choice->what != ANY && choice->what != types[of->type].what) ||
		(choice->replica != ANY && choice->replica != replica) ||
		(choice->stage != ANY && choice->stage != of->stage) ||
		(choice->ranks != NULL && choice->ranks[replica * graph->stages + of->stage]);

	return ideal ? graph->ideal[of->type]
		     : graph->real[place_of(graph, step, replica, node)];
}

/* When the last of what the group of @first waits for in @replica has ended. */
static gint64 ready_at(const Graph *graph, guint replica, guint32 first)
{
	const gint64 *ends = &graph->ends[(gsize)replica * graph->n];
	gint64 ready = 0;
	guint32 node = first;

	do {
		const Node *of = &graph->nodes[node];

		for (guint b = 0; b < of->n_before; b++)
			ready = MAX(ready, ends[of->before[b]]);
		node = of->next;
	} while (node != first);
	return ready;
}

static gint64 run_step(Graph *graph, guint step, const Choice *choice)
{
	gint64 last = 0;

	for (guint i = 0; i < graph->order->len; i++) {
		const guint32 first = g_array_index(graph->order, guint32, i);
		const gboolean wide = types[graph->nodes[first].type].wide;
		gint64 ready = 0;

		for (guint replica = 0; replica < graph->replicas && wide; replica++)
			ready = MAX(ready, ready_at(graph, replica, first));
		for (guint replica = 0; replica < graph->replicas; replica++) {
			const gint64 from = wide ? ready : ready_at(graph, replica, first);
			guint32 node = first;

			do {
				gint64 *end = &graph->ends[(gsize)replica * graph->n + node];

				*end = from + time_of(graph, step, replica, node, choice);
				last = MAX(last, *end);
				node = graph->nodes[node].next;
			} while (node != first);
		}
	}
	return last;
}

/* T of @choice, ns. */
static double run_all(Graph *graph, const Choice *choice)
{
	return pipesim_sum(step, graph->steps, (double)run_step(graph, step, choice)) /
	       graph->steps;
}

/* Figures ---------------------------------------------------------------------------------- */

PIPESIM_COMPARE(compare_kinds, PipesimWhatIfKind, pipesim_compare(y->slowdown, x->slowdown))

static void find_parts(Graph *graph, double ideal, PipesimWhatIf *out)
{
	for (guint type = 0; type < N_TYPES; type++) {
		PipesimWhatIfKind kind = {types[type].called ?: types[type].name, 0};

		if (types[type].what != type || count_type(graph, type) == 0)
			continue;
		kind.slowdown = run_all(graph, &(Choice){type, ANY, ANY, NULL, FALSE}) / ideal;
		g_array_append_val(out->kinds, kind);
	}
	g_array_sort(out->kinds, compare_kinds);
	for (guint replica = 0; replica < graph->replicas; replica++)
		out->replica[replica] =
			run_all(graph, &(Choice){ANY, replica, ANY, NULL, FALSE}) / ideal;
	for (guint stage = 0; stage < graph->stages; stage++)
		out->stage[stage] =
			run_all(graph, &(Choice){ANY, ANY, stage, NULL, FALSE}) / ideal;
	for (guint replica = 0; replica < graph->replicas; replica++)
		for (guint stage = 0; stage < graph->stages; stage++)
			out->rank[replica * graph->stages + stage] =
				MIN(out->replica[replica], out->stage[stage]);
}

/* The 3 % of ranks with the highest S_w; of equals that of the lower rank, stage by stage. */
static void find_worst(const Graph *graph, gboolean *is_worst, PipesimWhatIf *out)
{
	const guint wanted = (3 * graph->replicas * graph->stages + 99) / 100;

	while (out->worst->len < wanted) {
		guint32 best = G_MAXUINT32;

		for (guint stage = 0; stage < graph->stages; stage++)
			for (guint replica = 0; replica < graph->replicas; replica++) {
				const guint32 i = replica * graph->stages + stage;

				if (!is_worst[i] &&
					(best == G_MAXUINT32 || out->rank[i] > out->rank[best]))
					best = i;
			}
		is_worst[best] = TRUE;
		g_array_append_val(out->worst, best);
	}
}

static PipesimWhatIf *find_figures(Graph *graph)
{
	PipesimWhatIf *out = g_new0(PipesimWhatIf, 1);
	const gsize n = (gsize)graph->replicas * graph->stages;
	g_autofree gboolean *worst = g_new0(gboolean, n), *last = g_new0(gboolean, n);
	const double real = run_all(graph, &(Choice){ANY, ANY, ANY, NULL, FALSE});
	const double ideal = run_all(graph, &(Choice){ANY, ANY, ANY, NULL, TRUE});
	const double measured = pipesim_sum(i, graph->steps,
		(double)(pipesim_record_step(graph->record, i)->end -
			 pipesim_record_step(graph->record, i)->start) /
			graph->steps);

	out->n_replicas = graph->replicas;
	out->n_stages = graph->stages;
	out->kinds = g_array_new(FALSE, FALSE, sizeof(PipesimWhatIfKind));
	out->worst = g_array_new(FALSE, FALSE, sizeof(guint32));
	out->replica = g_new0(double, graph->replicas);
	out->stage = g_new0(double, graph->stages);
	out->rank = g_new0(double, n);
	out->slowdown = real / ideal;
	out->launch = measured / real;
	find_parts(graph, ideal, out);
	find_worst(graph, worst, out);
	for (guint replica = 0; replica < graph->replicas; replica++)
		last[replica * graph->stages + graph->stages - 1] = TRUE;
	if (real > ideal) {
		out->last_stage =
			(real - run_all(graph, &(Choice){ANY, ANY, ANY, last, FALSE})) /
			(real - ideal);
		out->worst_ranks =
			(real - run_all(graph, &(Choice){ANY, ANY, ANY, worst, FALSE})) /
			(real - ideal);
	}
	return out;
}

/* All of it -------------------------------------------------------------------------------- */

static gboolean check(const PipesimRecord *record, GError **error)
{
	const PipesimRecordPipeline *pipeline = pipesim_record_pipeline(record, 0, 0);

	if (!record->has_messages)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"what-if: the traces show no sends and receives");
	if (record->joined.chunks > 1)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"what-if is defined for one stage a rank; there are %u",
			record->joined.chunks);
	for (guint32 i = 0; i < pipeline->op_begin[record->joined.ranks]; i++)
		if (pipeline->ops[i].kind != PIPESIM_F && pipeline->ops[i].kind != PIPESIM_B)
			return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
				"what-if is defined for full backwards; these are split");
	return TRUE;
}

static void clear_graph(Graph *graph)
{
	pipesim_free_all(graph->first, graph->nodes);
	g_array_unref(graph->order);
	pipesim_arena_free(graph->arena);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Graph, clear_graph)

PipesimWhatIf *pipesim_what_if(const PipesimRecord *record, GError **error)
{
	g_auto(Graph) graph = {.record = record,
		.stages = record->joined.stages,
		.replicas = record->n_replicas,
		.steps = record->steps->len,
		.order = g_array_new(FALSE, FALSE, sizeof(guint32)),
		.arena = pipesim_arena_new()};

	if (!check(record, error))
		return NULL;
	count_nodes(&graph);
	if (count_type(&graph, F_SEND) == 0 && graph.stages > 1)
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"what-if: the traces have no forward-send and the like");
	for (guint stage = 0; stage < graph.stages; stage++)
		add_stage(&graph, stage);
	join_groups(&graph);
	if (!order_groups(&graph))
		return pipesim_fail_null(error, PIPESIM_ERROR_CONSTRAINT,
			"what-if: messages and ops of the first step wait for each other");
	if (!read_nodes(&graph, error))
		return NULL;
	measure_durations(&graph);
	find_ideal(&graph);
	return find_figures(&graph);
}

PIPESIM_FREES(PipesimWhatIf, pipesim_what_if_free, what_if)
{
	g_array_unref(what_if->kinds);
	g_array_unref(what_if->worst);
	pipesim_free_all(what_if->replica, what_if->stage, what_if->rank, what_if);
}
