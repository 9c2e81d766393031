/* Ops that run slower while messages move on their rank, in exact integers. */
#pragma once
#include "engine/traffic.h"

/* From begin until before end, ns. */
typedef struct {
	gint64 begin, end;
} PipesimSpan;

/* One rank: when messages move on it, and what its op has left to do. */
typedef struct {
	PipesimSpan *span; /* apart and ascending; from [first] on not over yet */
	guint first, n, size;
	PipesimFraction slowdown;    /* of the op that runs */
	gint64 from;                 /* up to when its work is counted, ns */
	__extension__ __int128 left; /* work from then on, units of 1 / slowdown.num ns */
} PipesimPace;

/** pipesim_pace_add: a message moves on the rank from @begin until before @end. FALSE without
 * memory. */
gboolean pipesim_pace_add(PipesimPace *pace, gint64 begin, gint64 end);

/** pipesim_pace_start: an op of @duration ns starts at @start. Returns when it ends if no
 * further message moves until then; capped at PIPESIM_MAX_END. */
gint64 pipesim_pace_start(
	PipesimPace *pace, gint64 start, gint64 duration, PipesimFraction slowdown);

/** pipesim_pace_reach: the op would end @now. Returns the same where no message that was added
 * since slowed it, else when it ends now, later. Every message that begins to move before @now
 * must have been added. */
gint64 pipesim_pace_reach(PipesimPace *pace, gint64 now);
