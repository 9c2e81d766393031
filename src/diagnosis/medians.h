/* What ops usually take in a record, without what messages beside cost them and waits of collectives within: medians by stage and kind, of a pair by the
 * stage of its forward half. Times in ns; -1: the stage never ran the kind. The record must outlive them. */
#pragma once
#include "diagnosis/record.h"

typedef struct {
	const PipesimJoined *joined;  /* the record's */
	gint64 even[PIPESIM_N_KINDS]; /* the mean of all stages; 0: none ran it */
	/* [stage * PIPESIM_N_KINDS + kind]: where it is usual, of replicas of two the faster; over all the time that
	 * ops stood still inside; and what the first is of its median over all, in millionths, of kinds that never ran, too. */
	gint64 *stage, *idle, *share;
	gint64 *on_rank; /* [(replica * joined->held->len + place) * PIPESIM_N_KINDS + kind] */
	gint64 average; /* what all but the shares were made longer by for that, in millionths; 0: they were not */
	gboolean at_usual_speed; /* stages are as long as on a rank of usual speed */
	gboolean split;          /* some backward ran in halves, I and W */
} PipesimMedians;

/* A time, and what it is one of. */
typedef struct {
	guint32 group;
	gint64 value;
} PipesimSample;

/** pipesim_sample_medians: into @out, by group, the medians of @samples (of PipesimSample), which are sorted: of two values in
 * the middle the mean, of two that differ by more than a fifth the shorter one. Groups without a sample keep what they have. */
void pipesim_sample_medians(GArray *samples, gint64 *out);

/** pipesim_medians_new: over all steps, replicas and micro-batches of @record; for
 * pipesim_medians_free(). */
PipesimMedians *pipesim_medians_new(const PipesimRecord *record);
PIPESIM_FREED(PipesimMedians, pipesim_medians_free)

/** pipesim_median_on_rank: of a stage on one of its ranks in one replica. */
gint64 pipesim_median_on_rank(
	const PipesimMedians *medians, guint replica, guint rank, guint stage, guint kind);

/** pipesim_median_lengths: how long each micro-batch of @pipeline is against their average, in millionths: of what its ops
 * take of their medians the median. @medians become those of a micro-batch of average length. For g_free(); NULL where they are
 * as good as equal, or where that does not explain half of what ops differ. */
gint64 *pipesim_median_lengths(PipesimMedians *medians, const PipesimRecord *record,
	const PipesimRecordPipeline *pipeline);

/** pipesim_median_share: the share of @part of the costs, a stage and a kind below PIPESIM_FB. */
static inline gint64 pipesim_median_share(const PipesimMedians *medians, guint part)
{
	return medians->share[part / PIPESIM_FB * PIPESIM_N_KINDS + part % PIPESIM_FB];
}
