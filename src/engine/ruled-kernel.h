/* What runs at one set of times and many side by side share: private to ruled.c and ruled-lanes.c. */
#pragma once
#include "engine/durations.h"
#include "engine/edges.h"
#include "engine/ruled.h"

/* What ops and the rest of a list take. */
typedef struct {
	gint64 p2p, host;
	gint64 *shard[2]; /* by stage: gathered, reduced; NULL = none */
	const PipesimTimes *times;
	PipesimDurations durations;
	PipesimEdges edges;
	gboolean one_by_one; /* not all ops of a kind and chunk take the same */
} PipesimRuledTimes;

/* What a run needs. */
typedef struct {
	PipesimArena *arena;
	PipesimRuledTimes times;
	PipesimShards shards;
	PipesimTimeline *timeline; /* whose shards these are */
} PipesimRuledRun;

/** pipesim_ruled_begin: a run at @times that lays out the shards of @timeline (nullable: another run
 * does). Ends with pipesim_ruled_end(), also where it fails: PIPESIM_ERROR_LIMIT. */
gboolean pipesim_ruled_begin(PipesimRuledRun *run, const PipesimRuled *ruled,
	const PipesimTimes *times, PipesimTimeline *timeline, GError **error);
void pipesim_ruled_end(PipesimRuledRun *run);

/** pipesim_ruled_fits: whether no path through the list can come near the end of gint64. */
gboolean pipesim_ruled_fits(const PipesimRuled *ruled, const PipesimRuledTimes *times);

/** pipesim_ruled_steps: ops of the timeline: of a pair that runs in halves two. */
guint32 pipesim_ruled_steps(const PipesimRuled *ruled);

/** pipesim_ruled_look_up: what op @index of @rank takes, or a half of it (PIPESIM_FB: all of it), the one with the
 * number @step in the timeline, whatever that hangs on. @last: of that what runs behind its sends, where some
 * does. */
void pipesim_ruled_look_up(const PipesimRuledTimes *times, const PipesimRuled *ruled,
	guint rank, guint32 index, PipesimKind half, guint32 step, gint64 *took, gint64 *last);
