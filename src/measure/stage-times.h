/* Times of every stage, where not every rank was measured. */
#pragma once
#include "measure/join.h"

/**
 * pipesim_stage_times_fill: gives stages of which @joined has no op the times of another one, and
 * says so in @notices.
 * @parts: gint64, F, I, W, B of every stage, ns; 0 where none was measured
 * @path: how messages call the trace
 *
 * Returns: FALSE with PIPESIM_ERROR_PARSE where a stage that was measured lacks its forward or
 *   backward.
 */
gboolean pipesim_stage_times_fill(const PipesimJoined *joined, GArray *parts, const char *path,
	GPtrArray *notices, GError **error);

/** pipesim_stage_times_notice: says in @notices which ranks the files speak of and none is from. */
void pipesim_stage_times_notice(const PipesimJoined *joined, GPtrArray *notices);
