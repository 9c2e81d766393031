/* What PyTorch 2.15 does to lists of ops, sends and receives, pass by pass. Private to the room. */
#pragma once
#include "runtime/lists.h"

/** pipesim_pass_wait_for_sends: adds the wait for every send: for an output behind the backward, or the
 * backward for input, of the same stage and micro-batch (behind the pair that holds it); for a gradient
 * at the end of the list, in order of sending. */
void pipesim_pass_wait_for_sends(PipesimLowerer *lowerer);
