/* Pictures of a sweep, drawn by gnuplot; the script and its data stay beside them. */
#pragma once
#include "sweep/rows.h"

typedef enum {
	/* A panel a schedule, the last of two swept numbers across, the other upwards, the value in
	 * each cell where it fits; bare: no result. Of three the first has a panel a value. */
	PIPESIM_SWEEP_HEAT_MAP,
	/* A line a schedule over the last swept number, a panel for each combination of the
	 * others. */
	PIPESIM_SWEEP_LINES,
	/* The schedule that is fastest, as in the table, and by how much; axes and panels as of a
	 * heat map. */
	PIPESIM_SWEEP_WINNERS,
} PipesimSweepPicture;

/** pipesim_sweep_picture_check: FALSE with PIPESIM_ERROR_USAGE where too few or too many numbers are
 * swept, or gnuplot does not draw what @path ends with.
 * @path: (nullable): NULL is not drawn, here and below */
gboolean pipesim_sweep_picture_check(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const char *path, GError **error);

/** pipesim_sweep_picture_draw: what was checked. @blocks: of PipesimSweepBlock. @metric:
 * what is drawn of a result, by the words of --metric. Errors as pipesim_gnuplot_draw(). */
gboolean pipesim_sweep_picture_draw(PipesimSweepPicture kind, const PipesimSweepTitles *titles,
	const GPtrArray *blocks, guint metric, const char *path, GError **error);
