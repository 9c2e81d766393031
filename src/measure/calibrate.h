/* From measured repetitions to costs. */
#pragma once
#include "measure/effects.h"
#include "measure/range-rules.h"
#include "measure/select.h"
#include "model/costs.h"

/* All 0: nothing wished. */
typedef struct {
	guint layers; /* of a rank's share of the model; 0 = layers_per_chunk of the first
			 trace, else 1 */
	/* Which rows; tokens are those of the first trace where 0. */
	PipesimTraceWish wish;
	guint resident_sms; /* of the receive whose cost counts, the nearest; 0 = NCCL's, else the
			       one on most */
	void (*progress)(guint done, guint all); /* of pipesim_traces_read() */
} PipesimCalibrateOptions;

typedef struct {
	PipesimCosts *costs;
	GPtrArray *notices;              /* of char *: what was chosen, assumed or not found */
	guint rows;                      /* in all traces */
	guint dropped[PIPESIM_N_STATUS]; /* see pipesim_trace_groups() */
	PipesimEffects *effects;
} PipesimCalibration;

void pipesim_calibration_free(PipesimCalibration *calibration);

/**
 * pipesim_calibrate: costs from @n >= 1 traces taken together.
 *
 * Only rows of status ok count. The time of a component and phase is the median over
 * repetitions, ranks and layers of its busy time without waiting for peers, measured alone;
 * which rows where there are several sorts: pipesim_trace_select(). Then, times @layers:
 *
 * - F, I, W: sums over attn, dispatch, mlp, combine and whatever else has been measured; where
 *   whole chunks were measured (component "chunk"), over the chunks of the rank instead.
 * - B: its own measurement where there is one, else I + W.
 * - FB: the measured pair (chunk, FB), else F + B. Where a pair was measured at other SM splits
 *   than wished, the two nearest points are interpolated, or the nearest is taken; a notice
 *   says which.
 * - P2P: the pipeline message, where p2p was measured, else 0; not times @layers.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE where a component that a layer needs
 * was not measured (attn and mlp F, I, W; dispatch and combine F, I where the model has
 * experts), PIPESIM_ERROR_USAGE as for pipesim_trace_select() or where a sum is too large.
 */
PipesimCalibration *pipesim_calibrate(PipesimTrace *const *traces, guint n,
	const PipesimCalibrateOptions *options, GError **error);

/** pipesim_calibrate_named: the same of @traces (of PipesimTrace) that were read with @rules, which may be
 * NULL. PIPESIM_ERROR_USAGE too where what @rules name spreads by more than its mean, or has more
 * forwards than backwards or fewer. */
PipesimCalibration *pipesim_calibrate_named(const GPtrArray *traces,
	const PipesimRangeRules *rules, const PipesimCalibrateOptions *options, GError **error);

/** pipesim_costs_from_traces: reads @paths (NULL-terminated, not empty) with @rules, which may be NULL, and
 * calibrates. Errors of pipesim_trace_read() too. */
PipesimCalibration *pipesim_costs_from_traces(const char *const *paths,
	const PipesimRangeRules *rules, const PipesimCalibrateOptions *options, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimCalibration, pipesim_calibration_free)
