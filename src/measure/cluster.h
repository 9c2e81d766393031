/* What measurements tell of several GPUs: how fast each is, and what messages between them take. */
#pragma once
#include "measure/group.h"
#include "model/costs.h"

/** pipesim_cluster_ranks: sets what each rank took against the mean in @costs, where every one of 2
 * to PIPESIM_MAX_MEASURED_RANKS ranks measured all of @chosen, of PipesimTraceGroup. */
void pipesim_cluster_ranks(PipesimCosts *costs, const GPtrArray *chosen);

/** pipesim_cluster_message_bytes: between neighbours for one micro-batch: as the first of the
 * traces that knows tells, or its tokens * hidden in BF16; PIPESIM_UNKNOWN where none does. */
gint64 pipesim_cluster_message_bytes(PipesimTrace *const *traces, guint n);

/** pipesim_cluster_link: sets the time of a pipeline message of @bytes in @costs, and latency and
 * bandwidth where sizes suffice for a line. @messages: at least one PipesimTraceGroup, all measured
 * one way at different sizes. @notices: of char *: where the time comes from, if not from @bytes.
 */
void pipesim_cluster_link(
	PipesimCosts *costs, const GPtrArray *messages, gint64 bytes, GPtrArray *notices);
