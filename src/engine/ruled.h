/* Lists of a runtime's ops, sends, receives and waits as longest paths: where no message waits for
 * another one's turn but by the order of the lists, who waits for whom does not depend on times.
 * Nothing is sorted by time: a rank goes through its list as far as it gets, then another one. */
#pragma once
#include "engine/lanes.h"
#include "engine/shards.h"

/* A lowering made ready for runs at any times. */
typedef struct {
	const PipesimLowering *lowering; /* the caller's */
	PipesimIssuing issuing;
	gboolean split;      /* pairs run in halves */
	gboolean host_waits; /* for groups that are stops */
	gint64 delay_wgrad;  /* of a pair, behind its sends */
	guint32 n_communicators;
	guint32 *communicator_begin; /* by rank; NULL: each has one, of its number */
	guint32 *communicator_of;    /* by action, with communicator_begin */
	PipesimArena *arena;         /* of these */
} PipesimRuled;

/** pipesim_ruled_new: @lowering, of a runtime where messages wait, over the communicators of @issuing;
 * NULL with PIPESIM_ERROR_LIMIT. */
PipesimRuled *pipesim_ruled_new(
	const PipesimLowering *lowering, const PipesimIssuing *issuing, GError **error);
PIPESIM_FREED(PipesimRuled, pipesim_ruled_free)

/* What a run comes to; arrays by rank, in ns. */
typedef struct {
	gint64 makespan;
	gint64 *busy, *first_start, *last_end;
	/* All NULL, or: by op of the timeline, when it starts and what it takes; by message, when it is there. */
	gint64 *start, *took, *there;
	guint32 *
		stopped; /* NULL, or by rank: the action that it has come to, where the run stops before its end too */
} PipesimRuledFigures;

/** pipesim_ruled_figures: of a run at @times with which nothing varies that runs
 * (pipesim_pace_rules_init()).
 * @done: (out): FALSE where sums might come near the end of gint64: for pipesim_comm_run()
 *
 * Returns: FALSE with PIPESIM_ERROR_DEADLOCK, as pipesim_lowering_check() tells it, or PIPESIM_ERROR_LIMIT. */
gboolean pipesim_ruled_figures(const PipesimRuled *ruled, const PipesimTimes *times,
	PipesimRuledFigures *figures, gboolean *done, GError **error);

/* Runs that go side by side, and as many one by one as take no longer than they do. */
#define PIPESIM_RULED_LANES 16
#define PIPESIM_RULED_WORTH 4

/** pipesim_ruled_lanes: the figures of @n runs side by side, each at its own @times, as
 * pipesim_ruled_figures() gives them. FALSE where one has none, or they are to be run one by one. */
gboolean pipesim_ruled_lanes(const PipesimRuled *ruled, const PipesimTimes *const *times,
	guint n, PipesimRuledFigures *figures);

/** pipesim_ruled_record: lanes of @ruled, whose list runs to its end, for runs at times that gather
 * and reduce stages where @times do: what runs, with pairs in halves where the rules have it so, is
 * @program. NULL where they are to be run another way. */
PipesimLanes *pipesim_ruled_record(
	const PipesimRuled *ruled, const PipesimProgram *program, const PipesimTimes *times);

/** pipesim_ruled_flow: figures of @step, in which nothing varies with what runs. What rounds tell stands behind all
 * that it waits for (runtime/rounds.h), so that it is known when it is done as soon as it is told.
 * @verbs: by the loops of its order, where it has any; else op by op
 * @leaps: only where what repeats can be left out
 * @done: (out): FALSE where its rules, or its times, are to be run by lists
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT. */
gboolean pipesim_ruled_flow(
	PipesimStep *step, gboolean verbs, gboolean leaps, gboolean *done, GError **error);

/** pipesim_ruled_leap: figures of @step, whose order has loops, under the rules of its job, with nothing that
 * varies with what runs.
 *
 * The long loops are cut short, by as many micro-batches on every rank, and their lists run. Where then, in
 * neighbouring stretches of all lists, each of one period of each rank, everything is as in the stretch before:
 * what is issued, who meets whom, what waits for what, and every time later by the same, so that no message or
 * wait reaches further back than the stretches that were compared, each further stretch is as much later
 * again: those that were cut away are put back by multiplying.
 * @done: (out): FALSE where that does not pay or nothing repeats so
 *
 * Where a list cut short stops before any rank has come to what was cut away, all of it stops there too.
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where time would pass 2^62 ns, with PIPESIM_ERROR_CONSTRAINT where the
 * runtime does not run such an order, and with PIPESIM_ERROR_DEADLOCK, the same that a run of all has. */
gboolean pipesim_ruled_leap(PipesimStep *step, gboolean *done, GError **error);
