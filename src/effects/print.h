/* What a calibration found of power, receives and messages, for people and for programs. */
#pragma once
#include "effects/effects.h"

/** pipesim_effects_text: tables, appended to @out; nothing where no series was measured. @full: beside every receive and
 * message too that does not count. */
void pipesim_effects_text(
	const PipesimEffects *effects, const PipesimCosts *costs, gboolean full, GString *out);

/** pipesim_effects_members: "power", "residence", "host_times_ns" and "step" of the object that is open; null
 * where they were not measured. Both are NULL where @json asks for names alone. */
void pipesim_effects_members(
	PipesimJson *json, const PipesimEffects *effects, const PipesimCosts *costs);

/** pipesim_text_ranges: kind by kind the shortest and the longest time of @n_parts parts of the model, PIPESIM_FB each, the
 * rest of a line. */
void pipesim_text_ranges(const gint64 *parts, guint n_parts, GString *out);

/** pipesim_text_hosts: what hosts take to launch ops, in a line; nothing where costs do not know it. */
void pipesim_text_hosts(const PipesimCosts *costs, GString *out);
