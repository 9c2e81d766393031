/* Memory against time of a plan, drawn by gnuplot; the script and its data stay beside the picture. */
#pragma once
#include "plan/planner.h"

/** pipesim_plan_picture_check: FALSE with PIPESIM_ERROR_USAGE where gnuplot does not draw what @path ends with; NULL is
 * not drawn, here and below. */
gboolean pipesim_plan_picture_check(const char *path, GError **error);

/** pipesim_plan_picture_draw: a point for each candidate of @planned that was simulated, in the colour of its schedule,
 * bare where it does not fit; a line through those that no other beats in both. The wish asked for the frontier. Errors as
 * pipesim_gnuplot_draw(). */
gboolean pipesim_plan_picture_draw(const PipesimWish *wish, const PipesimPlanned *planned,
	const char *path, GError **error);
