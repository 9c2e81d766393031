/* What lies between the ops of a profile that names none: ranges of optimizers ("Optimizer.step#AdamW.step"), and the begins
 * of steps that torch.profiler marks ("ProfilerStep#5"). */
#pragma once
#include "measure/profile.h"

/* What a walk over launches, in their order, has come by. */
typedef struct {
	const GArray *breaks; /* pipesim_breaks_list() */
	guint next;
	gint64 optimizer; /* until when ranges of it are open; at first G_MININT64 */
	gboolean steps;   /* the profile says where they begin */
	gboolean
		after; /* behind the optimizer of a step, before the next, where steps are said */
	gboolean began; /* a step, since the walker took this back */
} PipesimBetween;

/** pipesim_breaks_list: of PipesimEvent, by start. */
GArray *pipesim_breaks_list(const PipesimProfile *profile);
/** pipesim_breaks_pass: goes on to what began until @at, ns. */
void pipesim_breaks_pass(PipesimBetween *between, gint64 at);
