/* One schedule and shape at many costs, where candidates are only compared: order, ops and what ranks hold are found
 * once, and candidates run side by side. */
#pragma once
#include "analysis/run.h"

/* What is known of one candidate: figures of pipesim_run_schedule(). */
typedef struct {
	gint64 makespan; /* ns; 0: it did not run; without a barrier what the period is without the optimizer */
	gint64 step;   /* with what follows the ops, ns; 0: unknown */
	gint64 tokens; /* a second */
	double mfu;    /* NAN = unknown */
	double bubble; /* idle time of all ranks over that much of theirs */
	/* Of the fullest rank, the first of equals, at its peak, bytes; 0 where bytes are not known. */
	guint fullest;
	gint64 memory, parameters, transient;
	gboolean fits;
} PipesimBrief;

/* Candidates that run in one pass. */
#define PIPESIM_TOGETHER 16

typedef struct _PipesimFamily PipesimFamily;

/** pipesim_family_new: of @schedule at @scenario, which it copies; @expected: how many candidates may come. */
PipesimFamily *pipesim_family_new(
	const PipesimSchedule *schedule, const PipesimScenario *scenario, guint expected);
PIPESIM_FREED(PipesimFamily, pipesim_family_free)

/** pipesim_family_run: a brief of each of @n candidates. From several threads at once. */
void pipesim_family_run(
	PipesimFamily *family, const PipesimCosts *const *costs, guint n, PipesimBrief *briefs);

/* A path through the ops and messages of a candidate that takes as long as its step, as what it is made of. */
typedef struct {
	gint64 step;    /* ns */
	gint64 fixed;   /* of it messages, ns */
	guint rank;     /* on which it ends, with what follows its ops */
	gboolean pairs; /* overlapped pairs are on it, which some runtimes run in halves */
	guint *count;   /* [stage * 3 + phase]: how often F, I and W of a stage are on it */
} PipesimFamilyPath;

/** pipesim_family_path: of the candidate of @costs. path->count: (out caller-allocates). FALSE where no candidate of the
 * family ran, or where a step is more than the longest path over an order that all share. */
gboolean pipesim_family_path(
	PipesimFamily *family, const PipesimCosts *costs, PipesimFamilyPath *path);

/** pipesim_family_held: how many micro-batches @rank keeps of each chunk when it holds most, where the candidate of @costs
 * runs: until I, until W, from the one to the other. @counts: (out caller-allocates): [3 * chunks]. FALSE as above. */
gboolean pipesim_family_held(
	PipesimFamily *family, const PipesimCosts *costs, guint rank, gint *counts);

/** pipesim_family_peaks: what each rank holds at most where the candidate of @costs runs, bytes, which its order decides. @peaks:
 * (out caller-allocates): by rank. FALSE as above, but that none needs to have run. */
gboolean pipesim_family_peaks(PipesimFamily *family, const PipesimCosts *costs, gint64 *peaks);

/** pipesim_family_ops: ops that it has at hand; pipesim_family_forget: lets go of them. While none of it runs. */
guint64 pipesim_family_ops(const PipesimFamily *family);
void pipesim_family_forget(PipesimFamily *family);
