/* One order under way where messages go by queues (search/queue.h): ops are moved within their ranks, and the whole is
 * told again from there. */
#pragma once
#include "model/random.h"
#include "optimize/queue.h"

typedef struct {
	const PipesimInstance *x;
	PipesimQueue queue;
	guint n, most_shift; /* ops; that one is moved past */
	guint from; /* ops of each rank, its first ones, that stay unless others are moved past them */
	guint8 *codes; /* as it is now */
	gint64 makespan;
	guint8 *best; /* the shortest so far */
	gint64 best_makespan;
	guint64 looks;                    /* moves looked at */
	guint32 *chain;                   /* places of ops that make it as long as it is */
	guint n_chain;                    /* 0: to be found */
	guint32 *nth;                     /* [place]: the micro-batch of that op */
	gint64 *level[PIPESIM_MAX_ROOMS]; /* [place]: held before it */
	/* At work: places that a move changes, from first to before end, what they were, and by code how many have
	 * run before. */
	guint first, end;
	guint8 *before;
	guint *done;
	PipesimSampleKey key; /* of its random numbers */
	guint32 drawn;
} PipesimQueueWalk;

/** pipesim_queue_walk_init: everything in @arena, whose memory sufficed or not the caller asks. */
void pipesim_queue_walk_init(PipesimQueueWalk *walk, const PipesimInstance *instance,
	const PipesimRuntime *runtime, guint64 seed, guint64 number, PipesimArena *arena);

/** pipesim_queue_walk_begin: from the order @codes, which fit and are tidy. FALSE where it does not end. */
gboolean pipesim_queue_walk_begin(PipesimQueueWalk *walk, const guint8 *codes);

/** pipesim_queue_walk_run: tells @n orders; takes one that is longer by d with probability exp(-d / @heat). */
void pipesim_queue_walk_run(PipesimQueueWalk *walk, guint n, double heat);
