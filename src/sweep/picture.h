/* Pictures of a sweep, drawn by gnuplot; the script and its data stay beside them. */
#pragma once
#include "sweep/rows.h"

/* What is drawn of a result: one of the metrics that pipesim_metric_find() knows. */
typedef guint PipesimMetric;

/** pipesim_metric_find: NULL is the bubble. FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_metric_find(const char *name, PipesimMetric *metric, GError **error);

/** pipesim_sweep_heat_map_check: two numbers are swept, and gnuplot draws what @path ends with.
 * FALSE with PIPESIM_ERROR_USAGE. */
gboolean pipesim_sweep_heat_map_check(
	const PipesimSweepTitles *titles, const char *path, GError **error);

/** pipesim_sweep_heat_map: a panel a schedule, the last swept number across, the one before it
 * upwards; white: no result. @blocks: of PipesimSweepBlock. Errors as
 * pipesim_gnuplot_draw(). */
gboolean pipesim_sweep_heat_map(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	PipesimMetric metric, const char *path, const char *gnuplot, GError **error);

/** pipesim_sweep_lines_check: at least one number is swept, the others have few values. */
gboolean pipesim_sweep_lines_check(
	const PipesimSweepTitles *titles, const char *path, GError **error);

/** pipesim_sweep_lines: a line a schedule over the last swept number, a panel for each
 * combination of the others. */
gboolean pipesim_sweep_lines(const PipesimSweepTitles *titles, const GPtrArray *blocks,
	PipesimMetric metric, const char *path, const char *gnuplot, GError **error);
