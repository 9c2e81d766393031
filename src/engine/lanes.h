/* Many runs of one program side by side: an order that is fixed is a longest path, and a vector
 * register holds the same op of several runs. The same nanoseconds as pipesim_fast_run(), or, of
 * what pipesim_ruled_record() gives, as the rules of a runtime. */
#pragma once
#include "engine/step.h"

/* Runs that go side by side. */
#define PIPESIM_LANES 16

/* How an op finds the random number of the micro-batch before, where that may stay. */
typedef enum {
	PIPESIM_LANE_FRESH,  /* it cannot */
	PIPESIM_LANE_FOLLOW, /* that of the op before of the same chunk and kind */
	PIPESIM_LANE_SEEK,   /* drawn again, as far back as it takes */
} PipesimLaneMode;

/* One op; "where" counts in vectors of PIPESIM_LANES. */
typedef struct {
	guint32 rank;
	guint32 inputs[2]; /* where what it waits for arrives; 0 = nothing */
	guint32 output;    /* where its end is sent to; 1 = nowhere */
	guint32 place;     /* of its random number */
	guint32 microbatch;
	guint32 chain; /* where the random number of its chunk and kind is kept */
	guint32 table : 30, mode : 2; /* of its duration; PipesimLaneMode */
} PipesimLaneOp;

/* Spans of a block where there are any. */
enum {
	PIPESIM_SPAN_NONE,
	PIPESIM_SPAN_P2P,
	PIPESIM_SPAN_HOST,
	PIPESIM_SPAN_SHARDS, /* by stage: gathered, then reduced */
};

/* A moment between ops: the later of two, and a span more; "where" as of an op. */
typedef struct {
	guint32 inputs[2], output;
	guint32 span; /* of those of the block */
} PipesimLaneMove;

/* Neighbours none of which waits for another: moves first. */
typedef struct {
	guint32 n_moves, n_ops;
} PipesimLaneWave;

/* Ops in an order in which they can run, and as few places for messages as are under way at a
 * time. */
typedef struct {
	const PipesimProgram *program; /* the caller's */
	PipesimLaneOp *ops;
	PipesimLaneMove *moves;
	PipesimLaneWave *waves; /* one of all ops where there are no moves */
	guint32 *order;         /* op of the program, by place in ops */
	guint32 *example; /* by table, as long as nothing is drawn: an op of the program ... */
	guint32 *example_rank; /* ... and its rank */
	/* By rank: place in ops of its first op, whose slot nobody else gets. */
	guint32 *first;
	guint32 latest; /* where the end of the step arrives that comes after all ops; 0: none */
	guint n_ops, n_moves, n_waves, n_tables, n_slots, n_chains;
	guint n_spans; /* of a block; 0: there are no moves, and messages take P2P behind an op */
	gint64 host;   /* one of these */
	struct _PipesimArena *arena;               /* of the arrays */
	const struct _PipesimLaneKernels *kernels; /* code for this processor */
} PipesimLanes;

/** pipesim_lanes_new: @program in wavefronts: what can run at the same time stands together.
 * Ops of one rank, chunk and kind share a table.
 * Returns: (transfer full): NULL with PIPESIM_ERROR_DEADLOCK or PIPESIM_ERROR_LIMIT. */
PipesimLanes *pipesim_lanes_new(const PipesimProgram *program, GError **error);
PIPESIM_FREED(PipesimLanes, pipesim_lanes_free)

/* Who comes behind whom. Node 0 is time 0; those up to the number of ops are the ops of a program
 * by index, 1 higher; others are moves. */
typedef struct {
	/* That it comes behind; an op also behind the one before it on its rank. */
	guint32 inputs[2];
	guint32 span;  /* of a move */
	guint32 level; /* above all that it comes behind */
} PipesimLaneNode;

typedef struct {
	const PipesimProgram *program;
	PipesimLaneNode *nodes;
	guint32 n_nodes;
	guint32 latest; /* the end of the step where that is more than the last op's; 0: it is not */
	guint n_spans;
	gint64 host;
} PipesimLaneGraph;

/** pipesim_lanes_of: @graph in wavefronts; moves that nothing comes behind are left out. NULL
 * with PIPESIM_ERROR_LIMIT. */
PipesimLanes *pipesim_lanes_of(const PipesimLaneGraph *graph, GError **error);

/** pipesim_lanes_evaluate: @n runs, each with the costs @costs[i], in @results; on @threads
 * threads, 0 = one a core, whose number changes nothing. FALSE with PIPESIM_ERROR_LIMIT as
 * pipesim_fast_run(). */
gboolean pipesim_lanes_evaluate(const PipesimLanes *lanes, const PipesimCosts *const *costs,
	gsize n, guint threads, PipesimOutcome *results, GError **error);

/** pipesim_lanes_run: figures of the ranks of @n @steps on this thread, each at the times of
 * its job. FALSE where sums might not fit or memory does not suffice: @steps are then of no
 * use. */
gboolean pipesim_lanes_run(const PipesimLanes *lanes, PipesimStep *const *steps, gsize n);

/** pipesim_lanes_sum_fits: whether no sum of durations up to @longest and of what else a run at
 * @times is of can come near the end of gint64. */
gboolean pipesim_lanes_sum_fits(
	const PipesimLanes *lanes, gint64 longest, const PipesimTimes *times);

/** pipesim_lane_result_by: the figures of a run in which each of @ranks is @busy so long, ns. */
void pipesim_lane_result_by(
	PipesimOutcome *result, gint64 makespan, const gint64 *busy, guint ranks);

/** pipesim_lane_result_of: the same figures of a timeline. */
void pipesim_lane_result_of(
	PipesimOutcome *result, const PipesimProgram *program, const PipesimTimeline *timeline);
