/* How much messages slow what runs beside them, as measured. */
#pragma once
#include "model/costs.h"

/** pipesim_costs_interference: for each kind of op what a transfer beside it makes of its time,
 * to three decimals: over the components of a layer of that kind (B: those of I and W), time
 * inside an overlapped pair over time alone, in proportion to their times. What communicates
 * itself (dispatch, combine) counts as not slowed, and nothing as made faster. Where no
 * component was measured inside a pair the compute stream as a whole is taken for every kind. 1
 * for FB: a measured pair has its slowdown in it.
 * @what: how messages call what asks for it, "--interference"
 * Returns: FALSE with PIPESIM_ERROR_USAGE where nothing was measured inside a pair. */
gboolean pipesim_costs_interference(const PipesimCosts *costs, const char *what,
	PipesimFraction slowdown[PIPESIM_N_KINDS], GError **error);
