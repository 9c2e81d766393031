#include "engine/edges.h"

/* Whether gradients of weights come out of @op. */
static gboolean weighs(const PipesimOp *op)
{
	return op->kind == PIPESIM_W || op->kind == PIPESIM_B || op->kind == PIPESIM_FB;
}

void pipesim_edges_init(PipesimEdges *edges, const PipesimProgram *program,
	const PipesimTimes *times, PipesimArena *arena)
{
	const guint chunks = program->shape.chunks;
	const gsize n = (gsize)program->shape.ranks * chunks;

	*edges = (PipesimEdges){.program = program};
	if (!times->has_edges)
		return;
	for (guint edge = 0; edge < PIPESIM_N_EDGES; edge++) {
		edges->op[edge] = pipesim_arena_array(arena, guint32, n);
		if (edges->op[edge] == NULL)
			return;
		for (gsize i = 0; i < n; i++)
			edges->op[edge][i] = PIPESIM_NO_OP;
	}
	edges->times = times;
	pipesim_each_rank_of (op, program->rank_begin, rank, program->shape.ranks) {
		const gsize at =
			(gsize)rank * chunks + pipesim_op_backward_chunk(&program->ops[op]);

		if (!weighs(&program->ops[op]))
			continue;
		if (edges->op[PIPESIM_EDGE_FIRST][at] == PIPESIM_NO_OP)
			edges->op[PIPESIM_EDGE_FIRST][at] = op;
		edges->op[PIPESIM_EDGE_LAST][at] = op;
	}
}

gint64 pipesim_edges_add(
	const PipesimEdges *edges, guint rank, guint32 op, PipesimKind half, gint64 duration)
{
	const PipesimProgram *program = edges->program;
	const PipesimOp *of = &program->ops[op];
	guint32 inputs[2];

	if (edges->times == NULL)
		return duration;
	if (weighs(of) && half != PIPESIM_F) {
		const gsize at =
			(gsize)rank * program->shape.chunks + pipesim_op_backward_chunk(of);
		const guint stage = program->stage_of[at];
		gint64 *const *edge = edges->times->edge;

		if (edges->op[PIPESIM_EDGE_FIRST][at] == op && edge[PIPESIM_EDGE_FIRST] != NULL)
			duration = MAX(duration - edge[PIPESIM_EDGE_FIRST][stage], 0);
		if (edges->op[PIPESIM_EDGE_LAST][at] == op && edge[PIPESIM_EDGE_LAST] != NULL)
			duration = pipesim_add_capped(duration, edge[PIPESIM_EDGE_LAST][stage]);
	}
	if (op == program->rank_begin[rank] && half != PIPESIM_B &&
		pipesim_program_inputs(program, rank, of, inputs) == 0)
		duration = pipesim_add_capped(duration, edges->times->begin);
	return duration;
}
