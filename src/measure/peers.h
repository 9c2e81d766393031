/* What ranks lose to collectives that wait for another rank of their group, of tensor, context, expert or data parallelism:
 * within ops, and behind the last, where gradients are reduced. That wait is no work, and nothing of the pipeline. */
#pragma once
#include "measure/trace.h"

/** pipesim_peers_measure: of each collective of @traces the wait for the last of its group.
 * Where files of several ranks of the group are among them, it took as much longer than on
 * the rank where it was shortest, which came last: no clock is needed. Else it took as much
 * longer than it usually does. Sets what each op lost by those within it while no other
 * kernel ran, PipesimTraceRow.peers, what those beside ops did, PipesimTraceSpan.wait, and
 * of each trace for whom it waited most; the collectives are dropped. */
void pipesim_peers_measure(PipesimTrace *const *traces, guint n);

/** pipesim_peers_name: what collectives beside the ops of @trace waited is of ops that were named since, where it lies within. */
void pipesim_peers_name(PipesimTrace *trace);
