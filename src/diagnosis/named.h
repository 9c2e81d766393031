/* Ops of profiles that have no names, by the order that was run. */
#pragma once
#include "measure/trace.h"
#include "schedule/schedule.h"

/** pipesim_name_ops: makes ops of the segments of @traces, each of one rank (as it says, else
 * by its place), in the order in which @schedule, with as many chunks a rank as fit, runs
 * forwards and backwards: those of every step. Of the pieces of the thread that sends between
 * two backwards the largest are forwards; what stands between a backward and the messages
 * before and behind it is of it, and others are left beside. Ranks are those of one pipeline,
 * or where they do not fit of several, as many ranks of each stage with numbers that follow
 * each other. A weight gradient on its own is many pieces of few kernels, by turns of both
 * threads; of several in a row each has as many. The first stage has all of its backward in it.
 * @microbatches: of a step; 0: as many as there are backwards, or forwards if those are fewer,
 *   in one step
 * @notices: gets what share of the time of kernels was placed
 * Returns: FALSE with PIPESIM_ERROR_USAGE where the schedule has pairs or needs times, or
 *   splits backwards and has two stages that follow each other on a rank; where it does not
 *   take that shape, the segments do not follow its order, or less than nine tenths of the
 *   time would be placed; @traces are then as before. */
gboolean pipesim_name_ops(PipesimTrace *const *traces, guint n, const PipesimSchedule *schedule,
	guint microbatches, GPtrArray *notices, GError **error);

/** pipesim_infer_ops: the same by the first schedule that the segments of all @traces follow,
 * of those that are run most, as a step or several that follow each other, before others such
 * whose ops send and receive as much as the traces show.
 * Returns: that schedule; NULL where none does, and then there are no ops. */
const PipesimSchedule *pipesim_infer_ops(
	PipesimTrace *const *traces, guint n, guint microbatches, GPtrArray *notices);
