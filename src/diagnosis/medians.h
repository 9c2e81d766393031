/* What ops usually take in a record, without what messages beside cost them: medians by stage and kind. Times in ns. The record must outlive them. */
#pragma once
#include "diagnosis/record.h"

typedef struct _PipesimMedians PipesimMedians;

/** pipesim_medians_new: over all steps, replicas and micro-batches of @record; for
 * pipesim_medians_free(). */
PipesimMedians *pipesim_medians_new(const PipesimRecord *record);
void pipesim_medians_free(PipesimMedians *medians);

/* Of a pair they go by the stage of its forward half. */

/** pipesim_median_even: of ops of @kind the mean of all stages. */
gint64 pipesim_median_even(const PipesimMedians *medians, guint kind);
/** pipesim_median_stage: of a stage, over all replicas. */
gint64 pipesim_median_stage(const PipesimMedians *medians, guint stage, guint kind);
/** pipesim_median_on_rank: of a stage on one of its ranks in one replica. */
gint64 pipesim_median_on_rank(
	const PipesimMedians *medians, guint replica, guint rank, guint stage, guint kind);
/** pipesim_median_idle: of the time that ops stood still inside. */
gint64 pipesim_median_idle(const PipesimMedians *medians, guint stage, guint kind);

/** pipesim_medians_split: whether some backward ran in halves, I and W. */
gboolean pipesim_medians_split(const PipesimMedians *medians);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimMedians, pipesim_medians_free)
