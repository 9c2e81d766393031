/* Units out of timetables: micro-batches are put into one period after the other, each of their ops in the
 * first gap of its rank, wherever in the period that is (modulo scheduling: Rau, MICRO 1994). */
#pragma once
#include "optimize/cycle.h"

/** pipesim_cycle_draw: a unit of about @period ns, whose micro-batches start at times drawn at random.
 * FALSE where there is no room for it in the period or in memory: as pipesim_cycle_take(). */
gboolean pipesim_cycle_draw(PipesimCycle *cycle, double period);
