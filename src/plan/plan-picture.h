/* Memory against time of a plan, drawn by gnuplot; the script and its data stay beside the picture. */
#pragma once
#include "plan/planner.h"

/** pipesim_plan_picture_draw: a point for each candidate of @planned that was simulated, in the colour of its schedule,
 * bare where it does not fit; a line through those that no other beats in both; nothing where @path is NULL. The wish asked
 * for the frontier. Errors as pipesim_gnuplot_draw(). */
gboolean pipesim_plan_picture_draw(const PipesimWish *wish, const PipesimPlanned *planned,
	const char *path, GError **error);
