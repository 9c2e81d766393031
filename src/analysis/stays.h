/* When receives and sends sit on a rank and wait for their other ends: their kernels hold part
 * of the chip meanwhile, and ops that run beside them are slower. */
#pragma once
#include "engine/step.h"

/* A stretch in which a message waits, or several do, ns from the start of the step. */
typedef struct {
	gint64 begin, end;
	guint32 op; /* that runs on the rank meanwhile, all the time; PIPESIM_NO_OP: none does */
} PipesimStay;

/** pipesim_message_stays: of the receives and sends of @rank, of a step that has ops, each from
 * when it is issued until its message begins to move: stretches apart and ascending, cut where
 * ops begin and end.
 * Returns: (transfer full): of PipesimStay; empty where no message waits for another. */
GArray *pipesim_message_stays(const PipesimStep *step, guint rank);
