/* What the series of a capture say of costs: power, receives, speeds of chips, bytes of stages. */
#pragma once
#include "measure/beside.h"
#include "measure/fit-power.h"
#include "measure/fit-residence.h"
#include "measure/loops.h"
#include "model/costs.h"

/* What was found, for reports; what simulations need of it is in the costs. */
typedef struct {
	gboolean any; /* rows of some series */
	PipesimPowerFit *power;
	PipesimResidenceFit *residence;
	PipesimLoops loops;
} PipesimEffects;

/* What they are for. */
typedef struct {
	guint stages;   /* that what times are made of tells apart; 0 = none */
	guint ranks;    /* of the run that these are of */
	gint64 bytes;   /* of a pipeline message; PIPESIM_UNKNOWN = not told */
	gboolean means; /* times are means, not medians */
	gint64 sms;     /* that a receive is to hold; 0 = as pipesim_residence_fit() chooses */
	const PipesimBeside *beside; /* as profiles tell it; NULL = they do not */
} PipesimEffectsWish;

void pipesim_effects_free(PipesimEffects *effects);

/**
 * pipesim_effects_calibrate: fills power, residence and step of @costs from the series of @traces, measured ranks and
 * bytes of stages from their metadata, and says in @notices what is missing or strange.
 * @chosen: of PipesimTraceGroup: what F, I, W and B are made of
 *
 * A kind's full speed, load and slowdown are those of its whole chunk or layer where a series has it, else of its
 * components by their times.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE: series of another device than the times; SMs
 *   are asked for and no receive was measured; PIPESIM_ERROR_PARSE: histories that overlap; metadata that is no list,
 *   or a list of another length.
 */
PipesimEffects *pipesim_effects_calibrate(PipesimTrace *const *traces, guint n,
	const GPtrArray *chosen, const PipesimEffectsWish *wish, PipesimCosts *costs,
	GPtrArray *notices, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimEffects, pipesim_effects_free)
