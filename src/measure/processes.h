/* A profile in which several processes left something: ranks that were merged into one file, workers of a data loader. */
#pragma once
#include "measure/profile.h"

/** pipesim_trace_of_processes: what @profile has as traces, each of a rank, the first with the
 * others behind it (next); as pipesim_trace_add_profile() makes them, where no GPU did anything
 * of the outermost operators of the host. @trace is empty but for its metadata, which all have,
 * and becomes the function's; @rules may be NULL.
 * A process of the host is of the rank that its events are tagged with, or that its number
 * names in words: "[TP00-PP01] 4711", "4711_1". GPUs have processes of their own: each is the
 * rank's that has the same tag, number or words, or that launched what it did (correlation),
 * which also tells ranks where the GPU of each has the same number and their files stand one
 * behind the other. A process that launched and sent nothing and has no range of an op, as the
 * workers of a data loader, is left out. Ranks that neither tags nor names tell have none.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE where ranks cannot be told apart,
 * and with the errors of pipesim_trace_add_profile(). */
PipesimTrace *pipesim_trace_of_processes(PipesimTrace *trace, PipesimProfile *profile,
	const PipesimRangeRules *rules, GError **error);

/** pipesim_number_ranks: gives @traces, of which none tells its rank, numbers by their lowest stages, those without stages by when
 * their first forward began, of replicas as they stand or as the numbers in their paths do, and a notice. Where one tells its own nothing is changed. */
void pipesim_number_ranks(GPtrArray *traces);
