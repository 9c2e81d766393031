/* The governor series of traces as histories: what a chip did, op by op, and when it had nothing to do. */
#pragma once
#include "measure/trace.h"

/* Longer without work, a burst of ops has ended, and the first op of the next one pays for launch and cold
 * caches. */
#define PIPESIM_BURST_GAP_NS G_GINT64_CONSTANT(1000000)

/* The same work on the same rank: one of these has one time at each state of the chip. Texts are those of
 * the trace. */
typedef struct {
	PipesimMeasured what; /* of the first such row */
	gint64 rank;
	guint trace;    /* which of them */
	gboolean waits; /* not work: the chip holds a receive that waits */
	guint n;        /* ops of it that are fitted */
	gint64 median;  /* that they take, ns */
	/* Mean of rows of no series of the same op of a stage on this rank, back to back for long, without those a quarter
	 * off their median: its sustained time, ns; 0 = there are none. */
	gint64 steady;
} PipesimHistorySort;

typedef struct {
	gint64 gap;          /* without work before it, ns; >= 0 */
	gboolean waited;     /* the gap was spent in a receive that waits */
	gint64 duration;     /* ns */
	gint64 clock, power; /* SMs' MHz, mW; PIPESIM_UNKNOWN where the row lacks them */
	guint32 sort;        /* of PipesimHistories.sorts */
	guint32 burst;       /* counts through all histories */
	gboolean fitted;     /* its duration is one to explain; else it only uses power */
} PipesimHistoryOp;

/* One run of one rank: ops[begin] to ops[end - 1], by start. */
typedef struct {
	guint begin, end;
	gint64 length, busy; /* from first start to last end, and how much of it is work; ns */
} PipesimHistory;

typedef struct {
	GArray *sorts; /* of PipesimHistorySort, in order of first appearance */
	GArray *ops;   /* of PipesimHistoryOp */
	GArray *runs;  /* of PipesimHistory */
	guint bursts;
	guint first_ops, outliers; /* left out: first of a burst; far from their neighbours */
	guint ranks;               /* (trace, rank) that have one */
} PipesimHistories;

/** pipesim_histories_new: the rows of series governor and waiting of @traces. Ops are fitted
 * unless they are not of status ok, wait, begin a burst or the first 300 ms of a run, whose
 * state nobody knows, or are outliers: more than a quarter off the median of the ops of their
 * sort around them. A chip that has rested is up to a sixth faster than one that has not, so
 * that closer ones may be as they should.
 * Returns: (transfer full): without runs where there is no such row. NULL with
 *   PIPESIM_ERROR_PARSE where ops of one run_id and rank overlap, or a run lasts longer than
 *   PIPESIM_MAX_TIME_NS. */
PipesimHistories *pipesim_histories_new(PipesimTrace *const *traces, guint n, GError **error);
PIPESIM_FREED(PipesimHistories, pipesim_histories_free)
