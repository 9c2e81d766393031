#include "config.h"

#include "base/kind.h"
#include "diagnosis/what-if.h"
#include <stdlib.h>
#include <string.h>

#define SECOND 1e9
/* A transfer that ended so long before the last of those that take part began is none, seconds. */
#define NO_TRANSFER -0.01

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
	const char *name; /* in the file */
	guint what;       /* S_t of it and others is one: the first type of these */
	const char *called;
	gboolean mean;  /* ideal: the mean, else the median */
	gboolean wide;  /* waits for all replicas */
	gboolean group; /* waits for others */
} types[N_TYPES] = {
	[F_COMPUTE] = {"", F_COMPUTE, "forward-compute", TRUE, FALSE, FALSE},
	[B_COMPUTE] = {"", B_COMPUTE, "backward-compute", TRUE, FALSE, FALSE},
	[F_SEND] = {"forward-send", F_SEND, "forward-pp-comm", FALSE, FALSE, TRUE},
	[F_RECV] = {"forward-recv", F_SEND, "", FALSE, FALSE, TRUE},
	[B_SEND] = {"backward-send", B_SEND, "backward-pp-comm", FALSE, FALSE, TRUE},
	[B_RECV] = {"backward-recv", B_SEND, "", FALSE, FALSE, TRUE},
	[ALL_GATHER] = {"params-all-gather", ALL_GATHER, "params-all-gather", FALSE, TRUE,
		TRUE},
	[REDUCE_SCATTER] = {"grads-reduce-scatter", REDUCE_SCATTER, "grads-reduce-scatter",
		FALSE, TRUE, TRUE},
	[LAYERNORM] = {"layernorm-grads-all-reduce", LAYERNORM, "layernorm-grads-all-reduce",
		FALSE, FALSE, FALSE},
	[EMBEDDING] = {"embedding-grads-all-reduce", EMBEDDING, "embedding-grads-all-reduce",
		FALSE, FALSE, TRUE},
	[CLIP] = {"optimizer-clip-main-grad", CLIP, "optimizer-clip-main-grad", FALSE, TRUE,
		TRUE},
	[OPTIMIZER] = {"optimizer", OPTIMIZER, "optimizer", TRUE, FALSE, FALSE},
	[GC] = {"gc", GC, "gc", TRUE, FALSE, FALSE},
};

/* What starts at one moment, when the last of its members is ready, in every replica or in all at once. */
typedef struct {
	guint32 first, n; /* of @members */
	gboolean wide;
} Unit;

/* Nodes are the ops of one replica: of stage s and type t those from first[s * N_TYPES + t] on. */
typedef struct {
	const PipesimRecord *record;
	guint stages, replicas, steps;
	guint32 n;      /* nodes */
	guint32 *first; /* stages * N_TYPES + 1 */
	guint8 *type;   /* by node */
	guint32 *stage;
	GArray **before; /* guint32: the nodes that a node waits for */
	guint32 *unit_of;
	GArray *units;   /* of Unit, in an order in which each comes behind what it waits for */
	GArray *members; /* guint32: nodes */
	/* Seconds, [(step * replicas + replica) * n + node]. */
	double *start, *end, *real;
	double ideal[N_TYPES];
	double *ends, *took; /* of one step, [replica * n + node] */
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

/* Reading ---------------------------------------------------------------------------------- */

static guint type_of(const char *name)
{
	guint type = F_SEND;

	while (type < N_TYPES && strcmp(types[type].name, name) != 0)
		type++;
	return type;
}

static gboolean fail_unlike(const Graph *graph, guint step, guint replica, GError **error)
{
	return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		"what-if: replica %u of step %" G_GINT64_FORMAT
		" has not the same ops as the first step",
		replica, g_array_index(graph->record->steps, PipesimRecordStep, step).number);
}

/* Of the first pipeline, how many nodes there are of each sort. */
static void count_nodes(Graph *graph)
{
	const PipesimRecordPipeline *pipeline = pipesim_record_pipeline(graph->record, 0, 0);
	guint32 *count = graph->first + 1;

	for (guint stage = 0; stage < graph->stages; stage++) {
		const guint rank = graph->record->joined.rank_of[stage];

		for (guint32 i = pipeline->op_begin[rank]; i < pipeline->op_begin[rank + 1];
			i++)
			count[stage * N_TYPES +
				(pipeline->ops[i].kind == PIPESIM_F ? F_COMPUTE : B_COMPUTE)]++;
		for (guint32 i = pipeline->span_begin[rank]; i < pipeline->span_begin[rank + 1];
			i++) {
			const guint type = type_of(
				g_array_index(pipeline->spans, PipesimRecordSpan, i).name);

			if (type < N_TYPES)
				count[stage * N_TYPES + type]++;
		}
	}
	for (gsize i = 1; i <= (gsize)graph->stages * N_TYPES; i++)
		graph->first[i] += graph->first[i - 1];
	graph->n = graph->first[(gsize)graph->stages * N_TYPES];
}

/* Of all stages. */
static guint32 count_type(const Graph *graph, guint type)
{
	guint32 sum = 0;

	for (guint stage = 0; stage < graph->stages; stage++)
		sum += count_of(graph, stage, type);
	return sum;
}

/* Start and end of every node of one pipeline. FALSE where it has other ops than the first. */
static gboolean read_stage(Graph *graph, const PipesimRecordPipeline *pipeline, guint stage)
{
	const guint rank = graph->record->joined.rank_of[stage];
	const gsize base =
		((gsize)pipeline->step * graph->replicas + pipeline->replica) * graph->n;
	guint32 seen[N_TYPES] = {0};

	for (guint32 i = pipeline->op_begin[rank]; i < pipeline->op_begin[rank + 1]; i++) {
		const PipesimRecordOp *op = &pipeline->ops[i];
		const guint type = op->kind == PIPESIM_F ? F_COMPUTE : B_COMPUTE;
		const gsize node = base + node_of(graph, stage, type, seen[type]);

		if (seen[type]++ >= count_of(graph, stage, type))
			return FALSE;
		graph->start[node] = (double)op->start / SECOND;
		graph->end[node] = (double)op->end / SECOND;
	}
	for (guint32 i = pipeline->span_begin[rank]; i < pipeline->span_begin[rank + 1]; i++) {
		const PipesimRecordSpan *span =
			&g_array_index(pipeline->spans, PipesimRecordSpan, i);
		const guint type = type_of(span->name);
		guint32 at;

		if (type >= N_TYPES)
			continue;
		at = span->seq >= 0 ? (guint32)span->seq : seen[type];
		if (seen[type]++ >= count_of(graph, stage, type) ||
			at >= count_of(graph, stage, type))
			return FALSE;
		graph->start[base + node_of(graph, stage, type, at)] =
			(double)span->start / SECOND;
		graph->end[base + node_of(graph, stage, type, at)] = (double)span->end / SECOND;
	}
	for (guint type = 0; type < N_TYPES; type++)
		if (seen[type] != count_of(graph, stage, type))
			return FALSE;
	return TRUE;
}

static gboolean read_nodes(Graph *graph, GError **error)
{
	const gsize all = (gsize)graph->steps * graph->replicas * graph->n;

	graph->start = g_try_new0(double, all);
	graph->end = g_try_new0(double, all);
	graph->real = g_try_new0(double, all);
	graph->ends = g_new0(double, (gsize)graph->replicas * graph->n);
	graph->took = g_new0(double, (gsize)graph->replicas * graph->n);
	if (graph->start == NULL || graph->end == NULL || graph->real == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_LIMIT,
			"what-if: %" G_GSIZE_FORMAT " ops do not fit in memory", all);
	for (guint i = 0; i < graph->record->pipelines->len; i++) {
		const PipesimRecordPipeline *pipeline = graph->record->pipelines->pdata[i];

		for (guint stage = 0; stage < graph->stages; stage++)
			if (!read_stage(graph, pipeline, stage))
				return fail_unlike(
					graph, pipeline->step, pipeline->replica, error);
	}
	return TRUE;
}

/* The graph -------------------------------------------------------------------------------- */

static void add_edge(Graph *graph, guint32 before, guint32 node)
{
	g_array_append_val(graph->before[node], before);
}

/* Of each type its nodes one after the other. */
static void chain_types(Graph *graph, guint stage)
{
	for (guint type = F_SEND; type < N_TYPES; type++)
		for (guint32 i = 1; i < count_of(graph, stage, type); i++)
			add_edge(graph, node_of(graph, stage, type, i - 1),
				node_of(graph, stage, type, i));
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
	const guint32 begin = pipeline->op_begin[rank], end = pipeline->op_begin[rank + 1];
	g_autofree guint32 *order = g_new(guint32, end - begin);
	guint32 seen[2] = {0};

	for (guint32 i = begin; i < end; i++) {
		const guint type = pipeline->ops[i].kind == PIPESIM_F ? F_COMPUTE : B_COMPUTE;

		order[i - begin] = node_of(graph, stage, type, seen[type]);
		if (i > begin)
			add_edge(graph, order[i - begin - 1], order[i - begin]);
		/* The first backward's messages wait for the computing two before it. */
		if (type == B_COMPUTE && seen[type] == 0 && i - begin >= 2) {
			for (guint message = B_SEND; message <= B_RECV; message++)
				if (count_of(graph, stage, message) > 0)
					add_edge(graph, order[i - begin - 2],
						node_of(graph, stage, message, 0));
		}
		seen[type]++;
	}
	return order[end - begin - 1];
}

static void add_stage(Graph *graph, guint stage)
{
	static const guint tail[] = {GC, LAYERNORM, EMBEDDING, REDUCE_SCATTER, CLIP, OPTIMIZER};
	guint32 last = add_computing(graph, stage);

	chain_types(graph, stage);
	add_messages(graph, stage, F_COMPUTE, F_SEND, F_RECV);
	add_messages(graph, stage, B_COMPUTE, B_SEND, B_RECV);
	if (count_of(graph, stage, ALL_GATHER) > 0)
		add_edge(graph, node_of(graph, stage, ALL_GATHER, 0),
			node_of(graph, stage, F_COMPUTE, 0));
	for (guint i = 0; i < G_N_ELEMENTS(tail); i++)
		for (guint32 k = 0; k < count_of(graph, stage, tail[i]); k++) {
			const guint32 node = node_of(graph, stage, tail[i], k);

			add_edge(graph, last, node);
			last = node;
		}
}

/* The nodes that start together with @node, of its replica, into @out. */
static void find_group(const Graph *graph, guint32 node, GArray *out)
{
	const guint type = graph->type[node], stage = graph->stage[node];
	const guint32 i = node - graph->first[(gsize)stage * N_TYPES + type];
	const guint last = graph->stages - 1;

	g_array_set_size(out, 0);
	g_array_append_val(out, node);
	for (guint other = 0; other < graph->stages; other++) {
		const gboolean next = type == F_SEND || type == B_RECV;
		const gboolean ahead = next ? other == stage + 1 : other + 1 == stage;
		guint with = type;
		guint32 member;

		if (other == stage)
			continue;
		if (type >= F_SEND && type <= B_RECV) {
			if (!ahead)
				continue;
			with = type == F_SEND   ? F_RECV
			       : type == F_RECV ? F_SEND
			       : type == B_SEND ? B_RECV
						: B_SEND;
		} else if (type == EMBEDDING) {
			if ((stage != 0 && stage != last) || (other != 0 && other != last))
				continue;
		} else if (type != CLIP) {
			continue;
		}
		if (i >= count_of(graph, other, with))
			continue;
		member = node_of(graph, other, with, i);
		g_array_append_val(out, member);
	}
}

/* Every node into its unit; then units in an order in which they can run. FALSE: there is a cycle. */
static gboolean find_units(Graph *graph)
{
	g_autoptr(GArray) group = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Unit));
	g_autofree gboolean *done = NULL;
	gboolean more = TRUE;

	memset(graph->unit_of, 0xff, graph->n * sizeof *graph->unit_of);
	for (guint32 node = 0; node < graph->n; node++) {
		const Unit unit = {graph->members->len, 0, types[graph->type[node]].wide};

		if (graph->unit_of[node] != G_MAXUINT32)
			continue;
		find_group(graph, node, group);
		for (guint k = 0; k < group->len; k++)
			graph->unit_of[g_array_index(group, guint32, k)] = found->len;
		g_array_append_vals(graph->members, group->data, group->len);
		g_array_append_val(found, unit);
		g_array_index(found, Unit, found->len - 1).n = group->len;
	}
	done = g_new0(gboolean, found->len);
	while (more) {
		more = FALSE;
		for (guint u = 0; u < found->len; u++) {
			const Unit *unit = &g_array_index(found, Unit, u);
			gboolean ready = !done[u];

			for (guint32 k = unit->first; ready && k < unit->first + unit->n; k++) {
				const GArray *before = graph->before[g_array_index(
					graph->members, guint32, k)];

				for (guint b = 0; b < before->len; b++)
					ready &= done[graph->unit_of[g_array_index(
						before, guint32, b)]];
			}
			if (!ready)
				continue;
			done[u] = more = TRUE;
			g_array_append_val(graph->units, *unit);
		}
	}
	return graph->units->len == found->len;
}

static gboolean build(Graph *graph, GError **error)
{
	for (guint stage = 0; stage < graph->stages; stage++)
		for (guint type = 0; type < N_TYPES; type++)
			for (guint32 i = 0; i < count_of(graph, stage, type); i++) {
				const guint32 node = node_of(graph, stage, type, i);

				graph->type[node] = (guint8)type;
				graph->stage[node] = stage;
				graph->before[node] =
					g_array_new(FALSE, FALSE, sizeof(guint32));
			}
	for (guint stage = 0; stage < graph->stages; stage++)
		add_stage(graph, stage);
	return find_units(graph) ||
	       pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
		       "what-if: messages and ops of the first step wait for each other");
}

/* Durations -------------------------------------------------------------------------------- */

/* When the last of those that @unit is of had begun, in @replica or, where it is wide, in all. */
static double latest_start(const Graph *graph, const Unit *unit, guint step, guint replica)
{
	const guint from = unit->wide ? 0 : replica;
	const guint to = unit->wide ? graph->replicas : replica + 1;
	double latest = -G_MAXDOUBLE;

	for (guint r = from; r < to; r++)
		for (guint32 k = unit->first; k < unit->first + unit->n; k++) {
			const gsize at = ((gsize)step * graph->replicas + r) * graph->n +
					 g_array_index(graph->members, guint32, k);

			latest = MAX(latest, graph->start[at]);
		}
	return latest;
}

/* The all-gathers and reduce-scatters of a stage, which have no partner in their replica, are wide too. */
static void measure_durations(Graph *graph)
{
	for (guint step = 0; step < graph->steps; step++)
		for (guint replica = 0; replica < graph->replicas; replica++)
			for (guint u = 0; u < graph->units->len; u++) {
				const Unit *unit = &g_array_index(graph->units, Unit, u);
				const guint32 first =
					g_array_index(graph->members, guint32, unit->first);
				const gboolean group = types[graph->type[first]].group;
				const double latest =
					group ? latest_start(graph, unit, step, replica) : 0;

				for (guint32 k = unit->first; k < unit->first + unit->n; k++) {
					const gsize at =
						((gsize)step * graph->replicas + replica) *
							graph->n +
						g_array_index(graph->members, guint32, k);
					const double took = graph->end[at] -
							    (group ? latest : graph->start[at]);

					graph->real[at] =
						group && took <= NO_TRANSFER ? 0 : took;
				}
			}
}

static void find_ideal(Graph *graph)
{
	const gsize runs = (gsize)graph->steps * graph->replicas;
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(double));

	for (guint type = 0; type < N_TYPES; type++) {
		double sum = 0;

		g_array_set_size(values, 0);
		for (guint32 node = 0; node < graph->n; node++)
			for (gsize run = 0; run < runs && graph->type[node] == type; run++)
				g_array_append_val(values, graph->real[run * graph->n + node]);
		if (values->len == 0)
			continue;
		for (guint i = 0; i < values->len; i++)
			sum += g_array_index(values, double, i);
		g_array_sort(values, pipesim_compare_double);
		graph->ideal[type] =
			types[type].mean
				? sum / values->len
				: (g_array_index(values, double, (values->len - 1) / 2) +
					  g_array_index(values, double, values->len / 2)) /
					  2;
	}
}

/* Replays ---------------------------------------------------------------------------------- */

/* Which nodes take their real time; the others take the ideal one. */
typedef struct {
	gboolean (*is_real)(
		const Graph *graph, guint32 node, guint replica, gconstpointer data);
	gconstpointer data;
} Choice;

static double run_step(Graph *graph, guint step, const Choice *choice)
{
	double last = 0;

	for (guint replica = 0; replica < graph->replicas; replica++)
		for (guint32 node = 0; node < graph->n; node++)
			graph->took[(gsize)replica * graph->n + node] =
				choice->is_real(graph, node, replica, choice->data)
					? graph->real[((gsize)step * graph->replicas +
							      replica) *
							      graph->n +
						      node]
					: graph->ideal[graph->type[node]];
	for (guint u = 0; u < graph->units->len; u++) {
		const Unit *unit = &g_array_index(graph->units, Unit, u);
		double ready = 0;

		for (guint replica = 0; replica < graph->replicas; replica++) {
			double *ends = &graph->ends[(gsize)replica * graph->n];

			if (!unit->wide)
				ready = 0;
			for (guint32 k = unit->first; k < unit->first + unit->n; k++) {
				const GArray *before = graph->before[g_array_index(
					graph->members, guint32, k)];

				for (guint b = 0; b < before->len; b++)
					ready = MAX(
						ready, ends[g_array_index(before, guint32, b)]);
			}
			for (guint32 k = unit->first; !unit->wide && k < unit->first + unit->n;
				k++) {
				const guint32 node = g_array_index(graph->members, guint32, k);

				ends[node] =
					ready + graph->took[(gsize)replica * graph->n + node];
				last = MAX(last, ends[node]);
			}
		}
		for (guint replica = 0; unit->wide && replica < graph->replicas; replica++)
			for (guint32 k = unit->first; k < unit->first + unit->n; k++) {
				const gsize at = (gsize)replica * graph->n +
						 g_array_index(graph->members, guint32, k);

				graph->ends[at] = ready + graph->took[at];
				last = MAX(last, graph->ends[at]);
			}
	}
	return last;
}

/* T of @choice. */
static double run_all(Graph *graph, const Choice *choice)
{
	double sum = 0;

	for (guint step = 0; step < graph->steps; step++)
		sum += run_step(graph, step, choice);
	return sum / graph->steps;
}

static gboolean all_real(const Graph *graph G_GNUC_UNUSED, guint32 node G_GNUC_UNUSED,
	guint replica G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
	return TRUE;
}

static gboolean none_real(const Graph *graph G_GNUC_UNUSED, guint32 node G_GNUC_UNUSED,
	guint replica G_GNUC_UNUSED, gconstpointer data G_GNUC_UNUSED)
{
	return FALSE;
}

static gboolean of_kind(
	const Graph *graph, guint32 node, guint replica G_GNUC_UNUSED, gconstpointer data)
{
	return types[graph->type[node]].what == *(const guint *)data;
}

static gboolean of_replica(const Graph *graph G_GNUC_UNUSED, guint32 node G_GNUC_UNUSED,
	guint replica, gconstpointer data)
{
	return replica == *(const guint *)data;
}

static gboolean of_stage(
	const Graph *graph, guint32 node, guint replica G_GNUC_UNUSED, gconstpointer data)
{
	return graph->stage[node] == *(const guint *)data;
}

static gboolean not_last_stage(const Graph *graph, guint32 node, guint replica G_GNUC_UNUSED,
	gconstpointer data G_GNUC_UNUSED)
{
	return graph->stage[node] + 1 < graph->stages;
}

/* @data: gboolean of each rank: it is one of the worst */
static gboolean not_worst(const Graph *graph, guint32 node, guint replica, gconstpointer data)
{
	return !((const gboolean *)data)[replica * graph->stages + graph->stage[node]];
}

/* Figures ---------------------------------------------------------------------------------- */

static gint compare_kinds(gconstpointer a, gconstpointer b)
{
	const PipesimWhatIfKind *x = a, *y = b;

	return (x->slowdown < y->slowdown) - (x->slowdown > y->slowdown);
}

/* The mean step as measured, and what the graph leaves of it. */
static void find_launch(const Graph *graph, PipesimWhatIf *out)
{
	for (guint i = 0; i < graph->steps; i++) {
		const PipesimRecordStep *step =
			&g_array_index(graph->record->steps, PipesimRecordStep, i);

		out->measured += (double)(step->end - step->start) / SECOND / graph->steps;
	}
	out->launch = out->measured / out->real;
}

static void find_parts(Graph *graph, PipesimWhatIf *out)
{
	for (guint type = 0; type < N_TYPES; type++) {
		const Choice choice = {of_kind, &type};
		PipesimWhatIfKind kind = {types[type].called, 0};
		if (types[type].what != type || count_type(graph, type) == 0)
			continue;
		kind.slowdown = run_all(graph, &choice) / out->ideal;
		g_array_append_val(out->kinds, kind);
	}
	g_array_sort(out->kinds, compare_kinds);
	for (guint replica = 0; replica < graph->replicas; replica++)
		out->replica[replica] =
			run_all(graph, &(Choice){of_replica, &replica}) / out->ideal;
	for (guint stage = 0; stage < graph->stages; stage++)
		out->stage[stage] = run_all(graph, &(Choice){of_stage, &stage}) / out->ideal;
	for (guint replica = 0; replica < graph->replicas; replica++)
		for (guint stage = 0; stage < graph->stages; stage++)
			out->rank[replica * graph->stages + stage] =
				MIN(out->replica[replica], out->stage[stage]);
}

/* The 3 % of ranks with the highest S_w; of equals that of the lower rank, stage by stage. */
static void find_worst(Graph *graph, PipesimWhatIf *out)
{
	const guint n = graph->replicas * graph->stages;
	const guint wanted = (3 * n + 99) / 100;
	g_autofree gboolean *is_worst = g_new0(gboolean, n);

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
	if (out->real > out->ideal)
		out->worst_ranks =
			(out->real - run_all(graph, &(Choice){not_worst, is_worst})) /
			(out->real - out->ideal);
}

static PipesimWhatIf *find_figures(Graph *graph)
{
	PipesimWhatIf *out = g_new0(PipesimWhatIf, 1);

	out->n_replicas = graph->replicas;
	out->n_stages = graph->stages;
	out->kinds = g_array_new(FALSE, FALSE, sizeof(PipesimWhatIfKind));
	out->worst = g_array_new(FALSE, FALSE, sizeof(guint32));
	out->replica = g_new0(double, graph->replicas);
	out->stage = g_new0(double, graph->stages);
	out->rank = g_new0(double, (gsize)graph->replicas * graph->stages);
	out->real = run_all(graph, &(Choice){all_real, NULL});
	out->ideal = run_all(graph, &(Choice){none_real, NULL});
	out->slowdown = out->real / out->ideal;
	find_launch(graph, out);
	find_parts(graph, out);
	if (out->real > out->ideal)
		out->last_stage =
			(out->real - run_all(graph, &(Choice){not_last_stage, NULL})) /
			(out->real - out->ideal);
	find_worst(graph, out);
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
	for (guint32 node = 0; graph->before != NULL && node < graph->n; node++)
		g_clear_pointer(&graph->before[node], g_array_unref);
	g_free(graph->before);
	g_free(graph->first);
	g_free(graph->type);
	g_free(graph->stage);
	g_free(graph->unit_of);
	g_clear_pointer(&graph->units, g_array_unref);
	g_clear_pointer(&graph->members, g_array_unref);
	g_free(graph->start);
	g_free(graph->end);
	g_free(graph->real);
	g_free(graph->ends);
	g_free(graph->took);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Graph, clear_graph)

PipesimWhatIf *pipesim_what_if(const PipesimRecord *record, GError **error)
{
	g_auto(Graph) graph = {.record = record,
		.stages = record->joined.stages,
		.replicas = record->n_replicas,
		.steps = record->steps->len};

	if (!check(record, error))
		return NULL;
	graph.first = g_new0(guint32, (gsize)graph.stages * N_TYPES + 1);
	count_nodes(&graph);
	if (count_type(&graph, F_SEND) == 0 && graph.stages > 1) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"what-if: the traces have no forward-send and the like");
		return NULL;
	}
	graph.type = g_new0(guint8, graph.n);
	graph.stage = g_new0(guint32, graph.n);
	graph.unit_of = g_new0(guint32, graph.n);
	graph.before = g_new0(GArray *, graph.n);
	graph.units = g_array_new(FALSE, FALSE, sizeof(Unit));
	graph.members = g_array_new(FALSE, FALSE, sizeof(guint32));
	if (!build(&graph, error) || !read_nodes(&graph, error))
		return NULL;
	measure_durations(&graph);
	find_ideal(&graph);
	return find_figures(&graph);
}

void pipesim_what_if_free(PipesimWhatIf *what_if)
{
	if (what_if == NULL)
		return;
	g_array_unref(what_if->kinds);
	g_array_unref(what_if->worst);
	g_free(what_if->replica);
	g_free(what_if->stage);
	g_free(what_if->rank);
	g_free(what_if);
}
