/* Points of a sweep solved on several threads and handed out in order. */
#pragma once
#include "layout/family.h"
#include "output/figures.h"

/* What is known of one schedule at one point, or of a candidate of a plan. Plain but for @error, so that it can travel. */
typedef struct {
	union {
		PipesimValue values
			[PIPESIM_N_SWEPT]; /* by PipesimFigureId; unset where @error is set */
		PipesimBrief brief;        /* of a candidate */
	};
	gboolean halves; /* the model has fewer layers than this has stages */
	char *error; /* why there is no result, or NULL; owned by the one who holds the result */
} PipesimSweepResult;

/* The results of points @first to @first + n_points - 1, @width of each point. */
typedef struct {
	guint64 first;
	guint n_points, width;
	PipesimSweepResult *results;
} PipesimSweepBlock;

PipesimSweepBlock *pipesim_sweep_block_new(guint64 first, guint n_points, guint width);
PIPESIM_FREED(PipesimSweepBlock, pipesim_sweep_block_free)

/* What is to be done. */
typedef struct {
	guint64 first, end; /* points [first, end) */
	guint width;        /* results of a point */
	guint block;        /* points of a block, >= 1 */
	guint part, parts;  /* only blocks number part, part + parts ...; 0, 1 = all */
	guint threads;      /* >= 1 */
	guint together;     /* points that a thread solves at once at first; 0 = 1 */
	/* Fills @width results for each of @n points from @first on; called on any thread,
	 * several at once. */
	void (*solve)(gpointer data, guint64 first, guint n, PipesimSweepResult *results);
	gpointer data;
	const gint *stop; /* atomic: not 0 = hand out what is done, begin nothing more */
} PipesimSweepWork;

/** pipesim_sweep_blocks: blocks of the whole of @work, of all parts. */
guint64 pipesim_sweep_blocks(const PipesimSweepWork *work);

typedef struct _PipesimPool PipesimPool;

/** pipesim_pool_new: starts the threads; *@work must outlive it. */
PipesimPool *pipesim_pool_new(const PipesimSweepWork *work);

/** pipesim_pool_next: waits for the next block of this part.
 * Returns: (transfer full): NULL after the last, or where it was stopped: a block that was
 * cut short holds the points that were done. */
PipesimSweepBlock *pipesim_pool_next(PipesimPool *pool);

/** pipesim_pool_free: waits for the threads, which begin nothing more. */
PIPESIM_FREED(PipesimPool, pipesim_pool_free)
