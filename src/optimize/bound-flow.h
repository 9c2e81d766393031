/* What a rank's memory and its queue of messages let through at most, of all micro-batches together. Private to the
 * bound.
 *
 * Memory: of each activation a rank holds as much for as long as its micro-batch is on its way, at least: from F down
 * to the last stage and back, and what I leaves until W. All that, amount times time, has to fit below the limit, of
 * which little is of use before so many forwards can have started, and after so many backwards must have ended.
 * Overlapped pairs make a rank's work shorter, and the way of their micro-batches longer: let a rank have too much to
 * do without. It then runs so many pairs that these save what is too much, and of every two micro-batches in one the
 * first waits for all of it, and the other too. Of pairs that differ those count that save the most for that.
 *
 * Queue: where all messages of a rank go one after the other, they do so between the first one, which some forwards
 * come before, and the last, which some backwards follow. */
#pragma once
#include "optimize/bound-proof.h"

/** pipesim_flow_to, pipesim_flow_from: from the first F of a step to the start of one of @lane, at least, and from the
 * end of an I of it to that of the same micro-batch at the first stage, ns. */
gint64 pipesim_flow_to(const PipesimInstance *instance, guint32 lane);
gint64 pipesim_flow_from(const PipesimInstance *instance, guint32 lane);

/** pipesim_flow_trip: from the end of F of @from to the start of I of @to, down to the last stage and back, ns. */
gint64 pipesim_flow_trip(const PipesimInstance *instance, guint32 from, guint32 to);

/** pipesim_flow_find: raises claim->time, what no order is known to be below, and says by which of both rules; else
 * changes nothing. */
void pipesim_flow_find(const PipesimInstance *instance, PipesimClaim *claim);
