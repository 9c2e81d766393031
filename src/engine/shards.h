/* What FSDP does to the stages of ranks beside their compute, in the lists of PyTorch's
 * runtime.
 * The model. UNSHARD and REDUCE_GRAD of a rank run one after the other, in the order of its
 * list: they share the communicator of its data-parallel ranks, which are taken to do the
 * same at the same time. Each is issued when all stops before it in the list are done
 * (runtime/lowering.h), as it follows the compute stream. An op waits for the last UNSHARD
 * of its stage before it, either half of a pair for that of its own; a WAIT_REDUCE_GRAD for
 * the reduction of its stage. A REDUCE_GRAD without such a wait, as up to PyTorch 2.11,
 * waits itself. RESHARD takes no time. The step ends no earlier than the last reduction. */
#pragma once
#include "engine/timeline.h"
#include "runtime/lowering.h"

/* How many of a rank. */
typedef struct {
	guint32 issued, started, done;
} PipesimShardSeat;

typedef struct {
	const PipesimLowering *lowering;
	const PipesimTimes *times;
	PipesimTimeline *timeline; /* whose shards these are */
	PipesimShardSeat *seats;   /* by rank */
	/* By action, two each: how many of its rank must be done for it, or for the forward
	 * half of a pair, and for the backward half; of an UNSHARD or REDUCE_GRAD the second is
	 * 1 + its number on its rank. NULL: nothing takes time. */
	guint32 *need;
} PipesimShards;

/** pipesim_shards_begin: counts what is done to the stages of @lowering into @timeline, where
 * @times say that it takes time; none of it has been issued. FALSE without memory, of which the
 * rest is @arena's: pipesim_arena_check(). */
gboolean pipesim_shards_begin(PipesimShards *shards, const PipesimLowering *lowering,
	const PipesimTimes *times, PipesimTimeline *timeline, PipesimArena *arena);

/** pipesim_shards_issue: action @at of @rank, one of whole stages, is reached at @now. */
void pipesim_shards_issue(PipesimShards *shards, guint rank, guint32 at, gint64 now);

/** pipesim_shards_start: the next of @rank starts at @now, let go by @cause. Returns it by its
 * index in the timeline; PIPESIM_NO_OP: none is issued, or one runs. */
guint32 pipesim_shards_start(PipesimShards *shards, guint rank, gint64 now, guint64 cause);

/** pipesim_shards_end: the one of @rank that runs ends at @now. */
void pipesim_shards_end(PipesimShards *shards, guint rank, gint64 now);

/** pipesim_shards_time: what the shard of that index takes, ns. */
gint64 pipesim_shards_time(const PipesimShards *shards, guint32 index);

/** pipesim_shards_allow: whether what action @at of @rank, or its @backward half, waits for is
 * done. */
static inline gboolean pipesim_shards_allow(
	const PipesimShards *shards, guint rank, guint32 at, gboolean backward)
{
	return shards->need == NULL ||
	       shards->seats[rank].done >= shards->need[2 * (gsize)at + backward];
}
