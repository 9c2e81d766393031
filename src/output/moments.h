/* What ranks hold at their fullest, and where they first hold more than the limit: in words and
 * as JSON. */
#pragma once
#include "analysis/run.h"

/** pipesim_moment_has: whether ranks of @report may hold bytes of @part. */
gboolean pipesim_moment_has(const PipesimReport *report, PipesimHeldPart part);

/** pipesim_moment_words: "rank 0, micro-batch 7 (F of stage 0): 92.1 GiB, of it parameters 40
 * GiB, ... logits and loss 3.9 GiB" of the moment of @rank; what it is not told is left out. For
 * g_free(). */
char *pipesim_moment_words(const PipesimMoment *moment, guint rank);

/** pipesim_moment_over: the same of the first moment of @run above the limit, on the rank where
 * that is most, with the limit and the number of further ranks; NULL where none is. For
 * g_free(). */
char *pipesim_moment_over(const PipesimRun *run, gint64 limit);

/** pipesim_moments_members: "memory_moments", a line a rank, and, where there is a limit,
 * "out_of_memory": the first moments above it. Nothing where bytes are not known. @report: NULL
 * where @json asks for names alone. */
void pipesim_moments_members(PipesimJson *json, const PipesimReport *report);
