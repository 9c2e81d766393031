/* What the points of a sweep ask for, and their results. */
#pragma once
#include "cli/choice.h"
#include "sweep/grid.h"
#include "sweep/pool.h"

/* The same for all points; read by several threads at once. */
typedef struct _PipesimSweepPoints PipesimSweepPoints;

/**
 * pipesim_sweep_points_new: @setup as it was given, not read: its texts may hold swept numbers.
 * Borrows all arguments.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE, also where the first point does not
 * make sense, or what reading files gives.
 */
PipesimSweepPoints *pipesim_sweep_points_new(
	const PipesimSetup *setup, const GPtrArray *choices, GError **error);
void pipesim_sweep_points_free(PipesimSweepPoints *points);

const PipesimGrid *pipesim_sweep_points_grid(const PipesimSweepPoints *points);

/** pipesim_sweep_points_solve: for PipesimSweepWork.solve, with the points as data. */
void pipesim_sweep_points_solve(gpointer points, guint64 point, PipesimSweepResult *results);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimSweepPoints, pipesim_sweep_points_free)
