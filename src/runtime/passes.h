/* What PyTorch 2.15 does to lists of ops, sends and receives, pass by pass. Private to the
 * room. */
#pragma once
#include "runtime/lists.h"

/** pipesim_pass_defer_receives: each receive goes right before the op that needs it; before a
 * send to a higher rank all that come from there. (defer_pp_recv; it can exchange messages:
 * pipesim_lowering_check().) */
void pipesim_pass_defer_receives(PipesimLowerer *lowerer);

/** pipesim_pass_limit_sends: brings waits for sends forward so that no rank ever has more than
 * @most sends that it has not waited for, both directions together (max_outstanding_sends).
 * Returns: FALSE with PIPESIM_ERROR_CONSTRAINT where no wait can come forward without a
 * deadlock, naming the send, or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_pass_limit_sends(PipesimLowerer *lowerer, guint most, GError **error);
