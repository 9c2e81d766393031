/* Whose rules a recorded step followed, and what other schedules would take with the causes that stay. */
#pragma once
#include "diagnosis/doctor.h"

/** pipesim_find_rules: fills the costs, the nearest schedule and the rules of the diagnosis,
 * and the steps of @doctor. Asked for, or told by the files (PyTorch's names of ranges), rules
 * are taken as they are. Else the steps are simulated under each runtime that can run the
 * order, each op with its own time, and the one is taken that explains them best; of those that
 * do so equally well Megatron-LM's where it has the schedule, as tables of ops come from there,
 * then that which the schedule comes from.
 * Returns: FALSE with PIPESIM_ERROR_LIMIT, _DEADLOCK or _INCOMPLETE where the order cannot
 * run. */
gboolean pipesim_find_rules(PipesimDoctor *doctor, GError **error);

/** pipesim_find_others: what every built-in schedule takes on these ranks, once levels and
 * causes are known. What stays: ranks are as slow as they were, wherever a schedule puts its
 * stages, and what hosts were late comes at the same place in the list of their rank. Stages
 * may be cut elsewhere; ops take what they usually take, and so do messages.
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where not even the executed order fits. */
gboolean pipesim_find_others(PipesimDoctor *doctor, GError **error);

/** pipesim_judge: how sure the diagnosis is, and what it lacks, once its steps are simulated. */
void pipesim_judge(PipesimDoctor *doctor);
