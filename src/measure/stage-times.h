/* Times of every stage, where not every rank was measured. */
#pragma once
#include "measure/group.h"
#include "measure/join.h"

/** pipesim_stage_times_set: @parts into @costs, beside FB in proportion to the F and B of an
 * average stage where @costs have a pair, else as long. Stages of which @joined has no op get
 * the times of another one, which is said in @notices.
 * @parts: gint64, F, I, W, B of every stage, ns; 0 where none was measured
 * @path: how messages call the trace
 * Returns: FALSE with PIPESIM_ERROR_PARSE where a stage that was measured lacks its forward
 * or backward; errors of pipesim_costs_set_parts(). */
gboolean pipesim_stage_times_set(const PipesimJoined *joined, GArray *parts, const char *path,
	PipesimCosts *costs, GPtrArray *notices, GError **error);

/** pipesim_stage_times_pair: FB of @costs, of an average stage: as much longer or shorter than
 * its F and B as pairs were, all together, than the F and the B of both their stages.
 * @groups: of PipesimTraceGroup, pairs of stages; @means: see pipesim_stage_times_figure()
 * Returns: FALSE with PIPESIM_ERROR_USAGE where that is too long. */
gboolean pipesim_stage_times_pair(const PipesimJoined *joined, const GArray *parts,
	const GPtrArray *groups, gboolean means, PipesimCosts *costs, GError **error);

/** pipesim_stage_times_notice: says in @notices which ranks the files speak of and none is from. */
void pipesim_stage_times_notice(const PipesimJoined *joined, GPtrArray *notices);

/** pipesim_stage_times_figure: sets @means where metadata stage_figure of one of @traces says
 * mean: the times of its stages are means then, else medians.
 * Returns: FALSE with PIPESIM_ERROR_FORMAT where it says anything but mean or median. */
gboolean pipesim_stage_times_figure(
	PipesimTrace *const *traces, guint n, gboolean *means, GError **error);
