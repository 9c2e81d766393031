/* The discrete-event simulator. */
#pragma once
#include "model/costs.h"
#include "program/program.h"

/* When each op ran, by op index, ns from the start of the step. end - start is the op's
 * duration, no two ops of a rank overlap, and an op starts when its rank is free and every
 * input is there: P2P later than its end where the input comes from another rank. */
typedef struct {
	guint n_ops;
	gint64 *start, *end;
	gint64 makespan; /* last end; the first start is 0 */
	guint64 events;  /* completions and arrivals that left the queue */
} PipesimTimeline;

/**
 * pipesim_engine_run: op completions and message arrivals leave one queue in the order (time,
 * rank, op index); a rank starts its next op when its inputs are there.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK (the message shows the cycle) or
 *   PIPESIM_ERROR_LIMIT where time would pass 2^62 ns or memory does not suffice.
 */
PipesimTimeline *pipesim_engine_run(
	const PipesimProgram *program, const PipesimTimes *times, GError **error);
void pipesim_timeline_free(PipesimTimeline *timeline);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimTimeline, pipesim_timeline_free)
