/* Figures of a diagnosis that it is told in, whatever the format. */
#pragma once
#include "diagnosis/diagnosis.h"

/** pipesim_told_causes: the causes by what the step would take less without them, from the
 * largest down; of equals in their order. */
void pipesim_told_causes(const PipesimDiagnosis *diagnosis, guint order[PIPESIM_N_CAUSES]);
/** pipesim_told_step: as its file numbers it. */
gint64 pipesim_told_step(const PipesimDiagnosis *diagnosis);
/** pipesim_told_mean_error: over all steps that were simulated of simulated / measured - 1, or of its size. */
double pipesim_told_mean_error(const PipesimDiagnosis *diagnosis, gboolean absolute);
/** pipesim_told_median_error: the same as a median. */
double pipesim_told_median_error(const PipesimDiagnosis *diagnosis);
/** pipesim_told_activations: that a rank of @run holds at most, in micro-batches of a stage of its share. */
double pipesim_told_activations(const PipesimRun *run);
/** pipesim_told_awaited: the rank of the job that collectives in ops waited most for; -1: not among the files. */
gint64 pipesim_told_awaited(const PipesimDiagnosis *diagnosis);
/** pipesim_told_op: "3B3", which of its rank lost most to @cause; NULL: none did. For g_free(). */
char *pipesim_told_op(const PipesimDiagnosis *diagnosis, const PipesimCause *cause);
