/* The search for the shortest order: from all that are known, by moves of single ops, on all cores. */
#pragma once
#include "analysis/run.h"
#include "optimize/bound.h"

/* How it stands. */
typedef struct {
	gint64 makespan; /* of the best order, ns; 0: none is known yet */
	gint64 bound;    /* no order is shorter, ns; 0: the same */
	guint64 moves;   /* looked at */
} PipesimSearchNews;

typedef struct {
	const PipesimScenario *scenario; /* ranks, micro-batches, limits, rules of messages */
	const PipesimCosts *costs;
	PipesimPlacement placement;
	guint chunks;
	gboolean whole; /* backwards are not split */
	/* What is to be short: the makespan at usual times, or this quantile of the scenario's samples. */
	gboolean by_quantile;
	guint quantile; /* index as in PipesimSamples.makespan */
	/* Orders to begin from, of PipesimProgram; those of another shape, or that do not fit, are left
	 * out. */
	const GPtrArray *programs;
	guint64 seed;
	guint threads;    /* 0: one a core; changes nothing else */
	guint64 moves;    /* to look at, within each limit that is searched; 0: none */
	gint64 deadline;  /* g_get_monotonic_time() at which it ends; 0: only moves count */
	gboolean explain; /* with the proof of the bound */
	/* Told now and then; FALSE, from then on, stops it: what is known then is the result, and the orders made by
	 * hand are known in any case. (nullable) */
	gboolean (*tell)(const PipesimSearchNews *news, gpointer data);
	gpointer data;
	/* Not 0, which a signal may make it: stops it as tell does, at once on all threads. (nullable) */
	const gint *stop;
} PipesimSearchOf;

/* What a search may take of this machine's memory, and of it an op, whatever the chunks of a rank and by chunk, bytes;
 * measured. */
#define PIPESIM_SEARCH_BYTES   (G_GUINT64_CONSTANT(1) << 32)
#define PIPESIM_SEARCH_OP      180
#define PIPESIM_SEARCH_OP_PART 24

typedef struct {
	PipesimInstance *instance;
	PipesimBound *bound;
	GPtrArray *starts; /* of PipesimRun: orders made by hand that fit; the shortest first */
	GArray *left_out; /* of guint: those of programs that are of another shape, do not fit or do not run */
	PipesimProgram *program; /* the best order */
	char *from; /* whose order it is where no move made it shorter, else NULL */
	/* "5 activations" where no shorter one was found with more than that; "full backwards alone", maybe
	 * within so many, where none was with split ones; NULL: it was found within the limit itself. */
	char *limit;
	gint64 makespan; /* what was to be short, by the rules and links of the scenario, ns */
	guint64 moves;
	gboolean stopped; /* by tell */
} PipesimFound;

/** pipesim_search: the same order for the same moves and seed, whatever the number of threads.
 * Full backwards in place of I and W, and overlapped pairs where the runtime runs them as one
 * op, are searched for where they take less. Where messages wait, or share links, or times are
 * drawn, the engine has the last word on what is shorter. The bound is of usual times: it says
 * nothing of quantiles.
 * Without a deadline more memory never makes the makespan longer, nor does it that backwards
 * may be split: the result is the shortest of what is found within all limits up to the one
 * that is asked for, with split and with full backwards, and what is found within each depends
 * on nothing but that limit. Those whose bound is above what is found already are left out,
 * which are most. Limits are those at which one more activation of a stage has room, or one
 * more of which I has freed its part, if that is a third or more of it; of others, and where
 * ranks differ in bytes, whole activations and the limit itself. Of activations and bytes
 * together bytes stay as they are. With a deadline, one eighth of the time goes to the limit
 * below, in the same way, and no more than a third to the bound, which is then as high as it is
 * by then. Of long orders it ends the list of schedules to begin from too, once one fits.
 * Returns: (transfer full): for pipesim_found_free(). NULL with errors as
 *   pipesim_instance_new() and pipesim_bound_new(), PIPESIM_ERROR_LIMIT where there are more
 *   ops than PIPESIM_SEARCH_BYTES have room for, PIPESIM_ERROR_USAGE where nothing is known
 *   to draw from, and PIPESIM_ERROR_DEADLOCK where no order runs by the rules of messages. */
PipesimFound *pipesim_search(const PipesimSearchOf *of, GError **error);
PIPESIM_FREED(PipesimFound, pipesim_found_free)

/** pipesim_search_known: what the schedules that are begun from are run at: as they are asked for, but where bytes
 * alone are the limit schedules that search may hold as many activations as these leave. */
PipesimScenario pipesim_search_known(const PipesimSearchOf *of);

/** pipesim_search_start_value: what @start, of found->starts, has of what was to be short, ns. */
gint64 pipesim_search_start_value(const PipesimSearchOf *of, const PipesimRun *start);

/** pipesim_found_gap: how much longer @makespan is than the bound, as a part of it. */
double pipesim_found_gap(const PipesimFound *found, gint64 makespan);
