/* pipesim optimize --curve memory: how long a step is for each activation more that ranks may hold. */
#pragma once
#include "optimize/mixed.h"
#include "output/screen.h"

/** pipesim_curve_new: the shortest orders within 1, 2 ... twice PP activations, each of which begins from the one before,
 * so that none is longer with more memory; limits that no order fits are left out. @of: its effort is shared out.
 *
 * Returns: rows, for g_array_unref(); NULL with an error of pipesim_search() where no limit has one. */
GArray *pipesim_curve_new(const PipesimSearchOf *of, GError **error);

/** pipesim_curve_members: what JSON has of one. */
void pipesim_curve_members(PipesimJson *json, const GArray *curve);
void pipesim_curve_text(const GArray *curve, const PipesimStyle *style, GString *out);
void pipesim_curve_csv(const GArray *curve, GString *out);

/** pipesim_curve_answer: what a page shows of one, for pipesim_page_answer(). */
void pipesim_curve_answer(
	const GArray *curve, const PipesimScenario *scenario, GString *answer);

/** pipesim_curve_draw: at @path, a picture by gnuplot; errors as of pipesim_gnuplot_draw(). */
gboolean pipesim_curve_draw(const GArray *curve, const char *path, GError **error);
