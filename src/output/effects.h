/* What a calibration found of power, receives and messages, for people and for programs. */
#pragma once
#include "base/json.h"
#include "measure/effects.h"

/** pipesim_effects_text: tables, appended to @out; nothing where no series was measured. @full: beside every receive and
 * message too that does not count. */
void pipesim_effects_text(
	const PipesimEffects *effects, const PipesimCosts *costs, gboolean full, GString *out);

/** pipesim_effects_json: members "power", "residence" and "host_times_ns" of the object that is open; null where
 * they were not measured. */
void pipesim_effects_json(
	const PipesimEffects *effects, const PipesimCosts *costs, PipesimJson *json);
