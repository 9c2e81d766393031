/* One clock for the ranks of a run, by the messages between them. */
#pragma once
#include "diagnosis/record.h"

/** pipesim_clocks_set: moves the times of ranks of @record so that no op starts before the op
 * of another rank that it needs has ended, in any step. Messages go both ways between
 * neighbours: a clock may lie anywhere between what the earliest arrivals of either way allow,
 * and is set in the middle; half of that room is how far it may be off, which a notice says.
 * Clocks that agree stay. Where no setting suits all steps each is set by itself, and one that
 * no setting suits is left out.
 * Returns: FALSE with PIPESIM_ERROR_PARSE where no setting suits any step. */
gboolean pipesim_clocks_set(PipesimRecord *record, GError **error);
