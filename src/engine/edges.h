/* Which ops of a program begin and end what a step does only once, and what that adds to them:
 * model/edges.h. */
#pragma once
#include "order/program.h"

typedef struct {
	const PipesimProgram *program;
	const PipesimTimes *times; /* NULL: nothing is added */
	/* [rank * chunks + chunk]: the first and the last op with its backward; PIPESIM_NO_OP =
	 * none */
	guint32 *op[PIPESIM_N_EDGES];
} PipesimEdges;

/** pipesim_edges_init: of @program at @times; memory from @arena, which says whether it
 * sufficed. */
void pipesim_edges_init(PipesimEdges *edges, const PipesimProgram *program,
	const PipesimTimes *times, PipesimArena *arena);

/** pipesim_edges_add: what @op of @rank takes with what begins or ends with it, where it takes
 * @duration without.
 * @half: PIPESIM_F or PIPESIM_B of a pair that runs in halves; PIPESIM_FB = all of @op */
gint64 pipesim_edges_add(
	const PipesimEdges *edges, guint rank, guint32 op, PipesimKind half, gint64 duration);
