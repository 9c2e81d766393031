/* Whole layers over stages so that a step is as short as it can be under one schedule and runtime: every cut is
 * simulated that could be shorter than the best so far, as far as that can be afforded. */
#pragma once
#include "analysis/run.h"
#include "transformer/layout.h"

/**
 * pipesim_layouts_search: the layout with the shortest step, of equals that with the least memory; of those that fit the
 * memory limit, where one does, else that with the least memory. No stage is empty.
 * @shape: of @schedule in @scenario
 * @costs: whose cutter balances
 * @below: ns: a layout whose step is no shorter is of no interest; G_MAXINT64: any is
 * @gap: (out): by which share of its step another may be shorter at most; 0: none is, by more than rounding; 1: not known
 *
 * Returns: (transfer full): NULL where the model cannot be cut so, or the order of @schedule goes by the times that it is
 *   to decide; and with @gap 0 where no layout has a step below @below, whether it fits or not.
 */
PipesimStages *pipesim_layouts_search(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimShape *shape, const PipesimCosts *costs,
	gint64 below, double *gap);
