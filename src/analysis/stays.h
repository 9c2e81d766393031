/* When receives sit on a rank and wait: their kernels hold part of the chip meanwhile, and ops that run beside them are
 * slower. */
#pragma once
#include "engine/step.h"

/* A stretch in which a receive waits, or several do, ns from the start of the step. */
typedef struct {
	gint64 begin, end;
	guint32 op; /* that runs on the rank meanwhile, all the time; PIPESIM_NO_OP: none does */
} PipesimStay;

/** pipesim_receive_stays: of the receives of @rank, of a step that has ops, each from when it is issued until its message
 * begins to move (pipesim_transfer_waits()): stretches apart and ascending, cut where ops begin and end.
 *
 * Returns: (transfer full): of PipesimStay; empty where no message waits for another. */
GArray *pipesim_receive_stays(const PipesimStep *step, guint rank);
