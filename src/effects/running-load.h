/* What a chip drew lately, at every moment of a history: means that governors go by. */
#pragma once
#include "effects/history.h"

/**
 * pipesim_running_load: the exponential mean with time constant @tau, ns, of what ops of @histories draw, at
 * samples within each: op i has those from @sample[i] to @sample[i + 1] - 1, in the middle of as many equal
 * parts of it. Nobody knows what was before a run: as much, on average, as in it.
 * @load: by sort what its ops draw, and behind the last sort what a waiting receive does
 */
void pipesim_running_load(const PipesimHistories *histories, const guint32 *sample, double tau,
	const double *load, double *x);
