/* What runs PIPESIM_LANES runs over the ops: private to the engines lanes and draw. Made once
 * for each kind of processor by lanes-kernel.inc, chosen when first used. */
#pragma once
#include "engine/draw.h"

/* Runs of one register: of durations, which take 64 bits, and of random numbers, which take 32.
 * Even runs are in the first of two registers of times, odd ones in the second: the numbers of
 * both then need no moving about. */
typedef gint64 PipesimLaneTimes __attribute__((vector_size(64)));
typedef guint32 PipesimLaneWords __attribute__((vector_size(64)));

typedef struct {
	PipesimLaneTimes half[2];
} PipesimLanePair;

/* What the runs of one block need; arrays are aligned to 64 bytes. */
typedef struct {
	PipesimLanePair *clock, *busy;  /* by rank */
	PipesimLanePair *slot;          /* what is under way; 0 is always time 0 */
	PipesimLanePair *span;          /* of moves */
	PipesimLaneWords *chain;        /* random numbers that may stay */
	PipesimLanePair *duration;      /* by table, where nothing is drawn */
	const PipesimDrawTable *tables; /* else */
	PipesimLaneWords *speed;        /* by rank, of the draw; where has_speeds */
	gboolean has_speeds;
	PipesimLanePair p2p;
	PipesimLaneWords key_a, key_b;
	PipesimLanePair makespan, least_busy, all_busy; /* what comes out */
	struct _PipesimArena *arena;                    /* of the arrays */
} PipesimLaneBlock;

typedef void (*PipesimLaneKernel)(const PipesimLanes *lanes, PipesimLaneBlock *block);

/* Where lane @i of a pair is. */
static inline gint64 *pipesim_lane_at(PipesimLanePair *pair, guint i)
{
	return (gint64 *)&pair->half[i & 1] + (i >> 1);
}

/** pipesim_lane_fill: what messages take in a run at @times, and other spans, in @lane of @block. */
void pipesim_lane_fill(const PipesimLanes *lanes, const PipesimTimes *times,
	PipesimLaneBlock *block, guint lane);

/* The code for one kind of processor: with given durations, and with drawn ones. */
typedef struct _PipesimLaneKernels {
	const char *name;
	PipesimLaneKernel given, drawn;
} PipesimLaneKernels;

/** pipesim_lane_kernels_list: all that this processor runs, the fastest first, NULL-terminated.
 */
const PipesimLaneKernels *const *pipesim_lane_kernels_list(void);

/* Work for several threads: blocks of PIPESIM_LANES runs, each by itself. */
typedef struct {
	const PipesimLanes *lanes;
	gsize n;
	/* Fills the block for the runs from @first on, @n <= PIPESIM_LANES of them. */
	void (*fill)(gconstpointer data, PipesimLaneBlock *block, gsize first, guint n);
	/* Takes what came out of them; NULL: what it came to, into @results. */
	void (*take)(gconstpointer data, PipesimLaneBlock *block, gsize first, guint n);
	gconstpointer data;
	gboolean draws;
	PipesimOutcome *results;
} PipesimLaneWork;

/** pipesim_lane_work_run: on @threads threads, 0 = one a core. FALSE with PIPESIM_ERROR_LIMIT.
 */
gboolean pipesim_lane_work_run(const PipesimLaneWork *work, guint threads, GError **error);
