/* Chips at their power limit: an op takes longer the less its rank idled before it, which another schedule changes. */
#pragma once
#include "diagnosis/doctor.h"

/* Chips whose clocks swing by less (pipesim_clock_swing()) are below their power limit: profiles of such show 1.2 to 1.7 %,
 * those of chips at their limit 2.9 % and more (docs/diagnose.md). */
#define PIPESIM_LEAST_SWING 20000

/**
 * pipesim_govern: where they do, makes the times of stages in the costs of the diagnosis, medians of what ops took, sustained
 * ones, adds the governor to them and names it in the diagnosis, so that a schedule is simulated at the clocks that its own idle time leaves. What
 * an op would have taken sustained follows from what its rank did before it, step after step, by the governor that captures of
 * other models on such chips told. Halves of backwards that were not recorded follow from whole ones, and these from them, as
 * captures tell, too; and so does what receives cost beside ops where nothing in the record shows it.
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT.
 */
gboolean pipesim_govern(PipesimDoctor *doctor, GError **error);
