/* What a chip drew lately, at every moment of a history: means that governors go by. */
#pragma once
#include "effects/history.h"

/**
 * pipesim_running_load: the exponential mean with time constant @tau, ns, of what ops of @histories draw, in the
 * middle of each. Nobody knows what was before a run: as much, on average, as in it.
 * @load: by sort what its ops draw, and behind the last sort what a waiting receive does
 */
void pipesim_running_load(
	const PipesimHistories *histories, double tau, const double *load, double *x);
