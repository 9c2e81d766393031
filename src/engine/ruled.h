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
