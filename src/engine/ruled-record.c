/* Who waits for whom in a run of a list, written down: moments are nodes of a graph for lanes. */
#include "engine/ruled-kernel.h"

/* Nodes that are looked at to see whether one comes behind another. Where that is not seen, there
 * is a move more than it takes. */
#define MOST_LOOKED_AT 8

/* What is added to moments are numbers above all nodes: a span of the block, or what a step of the
 * timeline takes. */
#define SPAN 0x80000000u
#define STEP 0xc0000000u

typedef struct {
	PipesimLaneGraph graph;
	guint32 n_steps;
	guint32 *before; /* by node of a step: that of the step before on its rank; 0: none */
	gsize room;      /* of nodes; 0: there was no memory for more */
} Recorder;

/* What the kernel has for times. */
typedef struct {
	guint32 p2p, host;
	guint32 *shard[2];
	Recorder *recorder;
} Recording;

/* Whether @node, of a level above @level, that of @other, is no earlier than that at any times. */
static gboolean is_behind(
	const Recorder *r, guint32 node, guint32 other, guint32 level, guint *left)
{
	const PipesimLaneNode *nodes = r->graph.nodes;
	const guint32 before[] = {node <= r->n_steps ? r->before[node] : 0,
		nodes[node].inputs[0], nodes[node].inputs[1]};

	--*left;
	return pipesim_any(i, G_N_ELEMENTS(before),
		before[i] == other || (*left > 0 && nodes[before[i]].level > level &&
					      is_behind(r, before[i], other, level, left)));
}

static inline gboolean comes_behind(const Recorder *r, guint32 node, guint32 other)
{
	const guint32 level = r->graph.nodes[other].level;
	guint left = MOST_LOOKED_AT;

	return node == other || other == 0 ||
	       (r->graph.nodes[node].level > level && is_behind(r, node, other, level, &left));
}

static guint32 add_move(Recorder *r, guint32 a, guint32 b, guint32 span)
{
	PipesimLaneGraph *graph = &r->graph;
	const PipesimLaneNode node = {
		{a, b}, span, MAX(graph->nodes[a].level, graph->nodes[b].level) + 1};

	if (graph->n_nodes == r->room) {
		PipesimLaneNode *more = r->room < SPAN / 2 ? g_try_renew(PipesimLaneNode,
								     graph->nodes, 2 * r->room)
							   : NULL;

		if (more == NULL) {
			r->room = 0;
			graph->n_nodes = r->n_steps + 1;
			return 0;
		}
		graph->nodes = more;
		r->room *= 2;
	}
	graph->nodes[graph->n_nodes] = node;
	return graph->n_nodes++;
}

/* Whether @node is the later of two, and no more. */
static gboolean is_later(const Recorder *r, guint32 node)
{
	return node > r->n_steps && r->graph.nodes[node].span == PIPESIM_SPAN_NONE;
}

static guint32 later_of(Recorder *r, guint32 a, guint32 b)
{
	if (r->room == 0 || comes_behind(r, a, b))
		return a;
	if (comes_behind(r, b, a))
		return b;
	for (guint i = 0; i < 2; i++) {
		const guint32 *of = r->graph.nodes[i == 0 ? a : b].inputs;
		const guint32 other = i == 0 ? b : a;

		for (guint k = 0; k < 2 && is_later(r, i == 0 ? a : b); k++)
			if (comes_behind(r, other, of[k]))
				return later_of(r, of[1 - k], other);
	}
	return add_move(r, a, b, PIPESIM_SPAN_NONE);
}

/* What comes @span behind @node. */
static guint32 come_behind(Recorder *r, guint32 node, guint32 span)
{
	guint32 a = node, b = 0;

	if (r->room == 0)
		return 0;
	if (is_later(r, node)) {
		a = r->graph.nodes[node].inputs[0];
		b = r->graph.nodes[node].inputs[1];
	}
	if (span < STEP)
		return add_move(r, a, b, span - SPAN);
	span -= STEP;
	PipesimLaneNode *op = &r->graph.nodes[span];
	op->inputs[0] = comes_behind(r, r->before[span], a) ? 0 : a;
	op->inputs[1] = comes_behind(r, r->before[span], b) ? 0 : b;
	for (guint k = 0; k < 2; k++)
		op->level = MAX(op->level, r->graph.nodes[op->inputs[k]].level);
	op->level = MAX(op->level, r->graph.nodes[r->before[span]].level) + 1;
	return span;
}

#define MAKE(name) name##_recorded
#define TARGET
#define Time  guint32
#define Times Recording
#define time_op(times, ruled, rank, index, half, step, took, last) \
	(*(took) = *(last) = STEP + 1 + (step))
#define SET(at, to) (*(at) = *(to))
#define START(at)   (*(at) = 0)
#define RELEASE(k, rank, seat)
/* Lanes add up themselves what ranks run. */
#define ADD(at, span)
#define TAKE(at, other) (*(at) = later_of(k->times->recorder, *(at), *(other)))
#define PASS(at, span)  (*(at) = come_behind(k->times->recorder, *(at), *(span)))
#include "engine/ruled-kernel.inc"

/* Numbers of spans, and the nodes of all steps. */
static gboolean begin(Recorder *r, Recording *times, PipesimArena *arena)
{
	const PipesimProgram *program = r->graph.program;
	const guint stages = program->shape.stages;

	r->n_steps = program->n_ops;
	r->room = 4 * (gsize)program->n_ops + 64;
	r->graph.n_nodes = program->n_ops + 1;
	r->graph.n_spans = PIPESIM_SPAN_SHARDS + 2 * stages;
	r->graph.nodes = g_try_new0(PipesimLaneNode, r->room);
	r->before = pipesim_arena_array(arena, guint32, (gsize)program->n_ops + 1);
	*times = (Recording){.p2p = SPAN + PIPESIM_SPAN_P2P,
		.host = SPAN + PIPESIM_SPAN_HOST,
		.recorder = r};
	for (guint way = 0; way < 2; way++) {
		times->shard[way] = pipesim_arena_array(arena, guint32, stages);
		for (guint stage = 0; times->shard[way] != NULL && stage < stages; stage++)
			times->shard[way][stage] =
				SPAN + PIPESIM_SPAN_SHARDS + way * stages + stage;
	}
	if (r->graph.nodes == NULL || times->shard[1] == NULL || program->n_ops >= SPAN / 8)
		return FALSE;
	pipesim_each_rank_of (op, program->rank_begin, rank, program->shape.ranks)
		r->before[op + 1] = op > program->rank_begin[rank] ? op : 0;
	return TRUE;
}

PipesimLanes *pipesim_ruled_record(
	const PipesimRuled *ruled, const PipesimProgram *program, const PipesimTimes *times)
{
	g_autoptr(PipesimArena) arena = pipesim_arena_new();
	g_autoptr(PipesimTimeline) timeline = g_new0(PipesimTimeline, 1);
	Recorder recorder = {.graph = {.program = program, .host = ruled->issuing.host_time}};
	PipesimShards shards;
	Recording recording;
	Kernel_recorded k = {.ruled = ruled, .times = &recording, .shards = &shards};
	PipesimLanes *lanes = NULL;

	if (ruled->delay_wgrad == 0 && !times->has_edges && times->released == NULL &&
		begin(&recorder, &recording, arena) &&
		pipesim_shards_begin(&shards, ruled->lowering, times, timeline, arena) &&
		run_recorded(&k, arena) && recorder.room > 0 && k.n_done == program->n_ops) {
		recorder.graph.latest = k.makespan;
		lanes = pipesim_lanes_of(&recorder.graph, NULL);
	}
	g_free(recorder.graph.nodes);
	return lanes;
}
