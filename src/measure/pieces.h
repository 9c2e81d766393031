/* Profiles whose ops have no names. */
#pragma once
#include "measure/profile.h"

/**
 * pipesim_trace_add_pieces: the kernels of @profile as pieces that follow each other: what the thread that sends and receives
 * launched between two messages is a forward, what another thread (autograd's) did a backward. Which micro-batch each is of only
 * an order can say: pipesim_name_ops(). Collectives, other streams than that of most kernels, and what is launched in a range of
 * the optimizer, or behind it in a step whose end is told, are in none. Adds spans and kernels too. @profile is sorted as
 * pipesim_trace_add_profile() leaves it.
 */
void pipesim_trace_add_pieces(PipesimTrace *trace, const PipesimProfile *profile);
