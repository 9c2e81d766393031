/* From measured repetitions to costs. */
#pragma once
#include "measure/beside.h"
#include "measure/range-rules.h"
#include "measure/select.h"

/* All 0: nothing wished. */
typedef struct {
	guint layers; /* of a rank's share of the model; 0 = layers_per_chunk of the first
			 trace, else 1, */
	guint whole; /* and of single layers then as many more as make a multiple of this; 0 = no more */
	/* Which rows; tokens are those of the first trace where 0. */
	PipesimTraceWish wish;
	void (*progress)(guint done, guint all); /* of pipesim_traces_read() */
} PipesimCalibrateOptions;

typedef struct {
	PipesimCosts *costs;
	GPtrArray *notices; /* of char *: what was chosen, assumed or not found */
	guint long_pair; /* which of them, from 1, says that the pair is long: moot where another is taken; 0 = none */
	guint rows;                      /* in all traces */
	guint dropped[PIPESIM_N_STATUS]; /* see pipesim_trace_groups() */
	GPtrArray *groups;               /* of PipesimTraceGroup; they belong to the traces */
	GPtrArray *chosen;               /* those of them that F, I, W and B are made of */
	guint stages, ranks;   /* that times are told apart of; of the run; 0 stages = none */
	gint64 message_bytes;  /* of a pipeline message; PIPESIM_UNKNOWN = not told */
	gboolean means;        /* times of stages are means, not medians */
	gboolean tells_beside; /* what messages beside ops cost */
	PipesimBeside beside;  /* valid where told */
} PipesimCalibration;

PIPESIM_FREED(PipesimCalibration, pipesim_calibration_free)

/** pipesim_calibrate: costs from @n >= 1 traces taken together.
 * Only rows of status ok count. The time of a component and phase is the median over
 * repetitions, ranks and layers of its busy time without waiting for peers, measured alone;
 * which rows where there are several sorts: pipesim_trace_select(). Then, times @layers:
 * - F, I, W: sums over attn, dispatch, mlp, combine and whatever else has been measured; where
 *   whole chunks were measured (component "chunk"), over the chunks of the rank instead.
 * - B: its own measurement where there is one, else I + W.
 * - FB: the measured pair (chunk, FB), else F + B. Where a pair was measured at other SM splits
 *   than wished, the two nearest points are interpolated, or the nearest is taken; a notice
 *   says which.
 * - P2P: the pipeline message, where p2p was measured, else 0; not times @layers.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE where a component that a layer
 *   needs was not measured (attn and mlp F, I, W; dispatch and combine F, I where the model
 *   has experts), PIPESIM_ERROR_USAGE as for pipesim_trace_select() or where a sum is too
 *   large. */
PipesimCalibration *pipesim_calibrate(PipesimTrace *const *traces, guint n,
	const PipesimCalibrateOptions *options, GError **error);

/** pipesim_calibration_check_named: for traces that were read with rules of names. FALSE with PIPESIM_ERROR_USAGE where
 * what they name spreads by more than its mean, or has more forwards than backwards or fewer. */
gboolean pipesim_calibration_check_named(const PipesimCalibration *calibration, GError **error);
