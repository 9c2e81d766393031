/* The order that a schedule runs. */
#pragma once
#include "schedule/schedule.h"

/** pipesim_best_order: as pipesim_schedule_order(); but of a schedule that is a search the
 * shortest order that fits what a rank may hold, by activations and by bytes: its own or one of
 * those that it starts from, with messages as @scenario has them. Its own stands where no other
 * is shorter. Where none fits it is the search's own without the memory limit. The order's note
 * says which.
 * @shape, @times: of @schedule in @scenario
 * @costs: of the run: bytes and links
 * Returns: (transfer full): NULL with errors as pipesim_schedule_order(), and
 *   PIPESIM_ERROR_CONSTRAINT where no order is known that holds so few activations. */
PipesimOrder *pipesim_best_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, const PipesimScenario *scenario, const PipesimCosts *costs,
	GError **error);

/** pipesim_best_program: the same of @schedule in @scenario, op by op.
 * Returns: (transfer full): NULL with errors as pipesim_schedule_shape() and
 *   pipesim_order_expand(); messages begin "NAME: ". */
PipesimProgram *pipesim_best_program(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error);
