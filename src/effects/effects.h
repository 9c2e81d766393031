/* What the series of a capture say of costs: power, receives, speeds of chips, bytes of stages. */
#pragma once
#include "effects/fit-contention.h"
#include "effects/fit-power.h"
#include "effects/loops.h"
#include "measure/calibrate.h"

/* What was found, for reports; what simulations need of it is in the costs. */
typedef struct {
	gboolean any; /* rows of some series */
	PipesimPowerFit *power;
	PipesimContentionFit *contention;
	PipesimLoops loops;
} PipesimEffects;

PIPESIM_FREED(PipesimEffects, pipesim_effects_free)

/** pipesim_effects_calibrate: fills power, contention, step and launches of the costs of
 * @calibration from the series of @traces, which it was made of, measured ranks and bytes of
 * stages from their metadata, and says in its notices what is missing or strange.
 * @sms: that a receive is to hold: the nearest counts; 0: NCCL's, else the one on most
 * A kind's full speed, load and slowdown are those of its whole chunk or layer where a series
 * has it, else of its components by their times.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE: series of another device than the
 *   times; SMs are asked for and no receive was measured; PIPESIM_ERROR_PARSE: histories
 *   that overlap; metadata that is no list, or a list of another length. */
PipesimEffects *pipesim_effects_calibrate(PipesimTrace *const *traces, guint n,
	PipesimCalibration *calibration, gint64 sms, GError **error);

/** pipesim_costs_from_traces: reads @paths (NULL-terminated, not empty) and calibrates, effects and all. Errors of
 * pipesim_trace_read() too. */
PipesimCalibration *pipesim_costs_from_traces(
	const char *const *paths, const PipesimCalibrateOptions *options, GError **error);
