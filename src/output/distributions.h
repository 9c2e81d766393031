/* A picture of how measured times are spread. */
#pragma once
#include "model/costs.h"

/**
 * pipesim_distributions_write: a box for each component and phase of @costs that was measured
 * more than once: quarters (the box), 5 % and 95 % (the line), median, minimum and maximum,
 * against its median, so that long and short components compare. Through @gnuplot to @path:
 * svg, png or pdf; its .gp and .dat stay beside it.
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE for another extension, PIPESIM_ERROR_CONSTRAINT where
 * nothing was measured twice, PIPESIM_ERROR_EXTERNAL where gnuplot is missing or fails,
 * PIPESIM_ERROR_WRITE.
 */
gboolean pipesim_distributions_write(
	const PipesimCosts *costs, const char *path, const char *gnuplot, GError **error);
