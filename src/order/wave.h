/* Which rank goes on next where ranks run as far as their inputs let them: one rank after the
 * other in long stretches, and none is looked at again before what it waits for has run. */
#pragma once
#include "order/program.h"

typedef struct {
	const PipesimProgram *program;
	guint32 *next;                 /* by rank: its first op that has not run */
	guint32 *waits_for;            /* by rank: the op that it waits for */
	guint32 *waiter, *next_waiter; /* by rank: list of the ranks that wait for its ops */
	guint32 *queue;                /* ring of ranks that can go on */
	guint head, n_queued;
} PipesimWave;

/** pipesim_wave_init: every rank at its first op; ended with pipesim_wave_clear(), also where
 * it fails: PIPESIM_ERROR_LIMIT. */
gboolean pipesim_wave_init(PipesimWave *wave, const PipesimProgram *program, GError **error);
void pipesim_wave_clear(PipesimWave *wave);

/** pipesim_wave_take: a rank that can go on from wave->next[rank]; FALSE where none can. */
gboolean pipesim_wave_take(PipesimWave *wave, guint *rank);

/** pipesim_wave_put: @rank ran up to before @next, which waits for op @waits_for; PIPESIM_NO_OP
 * at its end. What waited for what it ran goes on. */
void pipesim_wave_put(PipesimWave *wave, guint rank, guint32 next, guint32 waits_for);
