/* When a rank has run a set of ops that grows, none of which starts before its time: what it runs one after the
 * other, as early as can be, is kept as stretches without a break, so that one more op costs little. Private to the
 * bound. */
#pragma once
#include "base/base.h"

typedef struct {
	gint64 from, to;
} PipesimBusyStretch;

typedef struct {
	PipesimBusyStretch *stretches; /* the first first, with a break between each two */
	guint n, room;
} PipesimBusy;

static inline void pipesim_busy_clear(PipesimBusy *busy)
{
	busy->n = 0;
}

/** pipesim_busy_free: what @busy points to. */
static inline void pipesim_busy_free(PipesimBusy *busy)
{
	g_free(busy->stretches);
}

/** pipesim_busy_end: when all ops have run; 0: there are none. */
static inline gint64 pipesim_busy_end(const PipesimBusy *busy)
{
	return busy->n > 0 ? busy->stretches[busy->n - 1].to : 0;
}

/** pipesim_busy_add: an op that takes @time and does not start before @at. */
void pipesim_busy_add(PipesimBusy *busy, gint64 at, gint64 time);
