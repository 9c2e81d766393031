/* One schedule from shape to report, and several beside each other. */
#pragma once
#include "analysis/report.h"
#include "analysis/samples.h"

/* A stretch of time that a rank lost, of a step that was measured; ns from its start. */
typedef struct {
	guint rank;
	const char *cause; /* static */
	gint64 start, end;
} PipesimLost;

/* Everything about one schedule of a comparison. Where error is set, what follows comm is NULL.
 */
struct _PipesimRun {
	char *name;                      /* canonical name, or the path of a schedule file */
	const PipesimSchedule *schedule; /* NULL for a schedule file */
	PipesimShape shape;              /* ranks 0 where the schedule refused */
	GError *error;                   /* why there is no result, or NULL */
	const PipesimRuntime *runtime;   /* never NULL, nor native */
	PipesimTimes *times;
	char *layers;            /* what is to be said of layers in stages, or NULL */
	PipesimNetwork *network; /* that it ran over; NULL: P2P alone */
	PipesimStep *step;       /* has ops where the scenario keeps them */
	PipesimReport *report;
	PipesimSamples *samples; /* NULL where none were asked for */
	GArray *lost;            /* of PipesimLost, by rank and start; NULL: nothing is told */
	/* Makespan by the rules of the runtime that it comes from, ns; 0: it has none, or see
	 * pipesim_comparison_run_native(). */
	gint64 native;
	gboolean native_hangs,
		native_left_out; /* it deadlocks; it has too many ops that do not repeat */
};

/** pipesim_run_split: whether overlapped pairs of @run ran in halves. */
static inline gboolean pipesim_run_split(const PipesimRun *run)
{
	return run->step != NULL && run->step->split;
}

/* What a schedule is run at. */
typedef struct {
	const PipesimScenario *scenario;
	const PipesimCosts *costs;
	PipesimShared **kept; /* of calls: pipesim_step_run_beside(); NULL: nothing */
} PipesimPoint;

/** pipesim_run_points: runs @schedule at @n points. Neighbours that differ in costs alone share
 * an order, and run side by side where no single op is asked for.
 * @runs: (out) (array length=n): as pipesim_run_schedule() of each gives them, but for what
 *   repeats (PipesimStep.steady) */
void pipesim_run_points(const PipesimSchedule *schedule, const PipesimPoint *points, guint n,
	PipesimRun **runs);

/** pipesim_run_schedule: never NULL; a refusal is in its error. */
PipesimRun *pipesim_run_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs);

/** pipesim_run_check: FALSE with why @run has no result. */
gboolean pipesim_run_check(const PipesimRun *run, GError **error);

/** pipesim_run_of_order, pipesim_run_program: an order from a file, or its ops; @name as it is to be shown. Ranks
 * and micro-batches are the file's, whatever @scenario says.
 * @messages: (nullable): as the file lists them: run so under all rules but
 * async; they must outlive the run. Native is PIPESIM_RUNTIME_OF_FILES. */
PipesimRun *pipesim_run_of_order(const char *name, const PipesimOrder *order,
	const PipesimLowering *messages, const PipesimScenario *scenario,
	const PipesimCosts *costs);
PipesimRun *pipesim_run_program(const char *name, const PipesimProgram *program,
	const PipesimLowering *messages, const PipesimScenario *scenario,
	const PipesimCosts *costs);

/** pipesim_layers_of_schedule, pipesim_layers_of_order: what PipesimRun.layers of such a run
 * is, without running anything; NULL also where it is refused. For g_free(). */
char *pipesim_layers_of_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs);
char *pipesim_layers_of_order(
	const PipesimOrder *order, const PipesimScenario *scenario, const PipesimCosts *costs);

/* What the outputs print. */
typedef struct {
	PipesimScenario scenario;
	const PipesimCosts *costs; /* the caller's */
	PipesimCosts
		*laid_out; /* with the layers of 1F1B, owned; NULL: they are those of all */
	GPtrArray *runs;   /* of PipesimRun, owned, in the order in which they are shown */
	gboolean
		critical; /* show people what the makespan hangs on (PipesimScenario.critical) */
	gint64 baseline; /* step of 1F1B at the same shape and costs (pipesim_report_step()), ns; -1 = none */
	PipesimRun *base; /* that run, where it is none of @runs; NULL: it is one, or refused */
	gboolean named;   /* the runs were asked for by name: people are shown them all */
	/* Of a page, or NULL: the answer of its command as JSON, in place of which schedule is best; all that it says as text. */
	char *answer, *about;
	char *command; /* the command line that made it, for headers of files */
	const GPtrArray
		*notices; /* of char *: what was said of the costs; the caller's, or NULL */
	/* What the caller says itself, of char *, or NULL: sentences in place of those that say which run is best,
	 * notes before all others, and what more there is to ask for. */
	const GPtrArray *verdict, *remarks, *more;
} PipesimComparison;

PipesimComparison *pipesim_comparison_new(
	const PipesimScenario *scenario, const PipesimCosts *costs);
PIPESIM_FREED(PipesimComparison, pipesim_comparison_free)

/** pipesim_comparison_find: the first of @schedule that has a report, or NULL. */
const PipesimRun *pipesim_comparison_find(
	const PipesimComparison *comparison, const PipesimSchedule *schedule);

/** pipesim_comparison_needs_base: whether none of the runs is 1F1B with whole sequences and all that it holds, which
 * others are compared with.
 * @scenario: (out): its */
gboolean pipesim_comparison_needs_base(
	const PipesimComparison *comparison, PipesimScenario *scenario);

/** pipesim_comparison_room: bytes of the described GPU that a rank runs on, where nobody set a limit; else 0. */
gint64 pipesim_comparison_room(const PipesimComparison *comparison);

/** pipesim_comparison_fits: whether @run, which has a result, fits the limit and that. */
gboolean pipesim_comparison_fits(const PipesimComparison *comparison, const PipesimRun *run);

/** pipesim_run_has_layers: whether the model of @costs has a layer for each stage of @run; TRUE where it is not told how
 * many it has. */
gboolean pipesim_run_has_layers(const PipesimRun *run, const PipesimCosts *costs);

/** pipesim_run_exists: whether there is a model for @run, FALSE where it has fewer layers than stages, and a GPU. */
gboolean pipesim_run_exists(const PipesimComparison *comparison, const PipesimRun *run);

/** pipesim_run_step: what decides: the median of its samples where it has any, else pipesim_report_step(); ns. */
gint64 pipesim_run_step(const PipesimRun *run);

/** pipesim_run_memory: of the fullest rank: bytes where these are known, else activations in whole stages. */
double pipesim_run_memory(const PipesimRun *run);

/** pipesim_comparison_choose: index of the run that exists, fits the memory limit and has most micro-batches a second
 * and rank; of equals that which holds least, then the first; where none exists, of all; -1: none fits.
 * @native: by the rules of native, where they were run */
int pipesim_comparison_choose(const PipesimComparison *comparison, gboolean native);

/* Most ops of all runs together that are run once more by the rules of their runtimes: about half a second. */
#define PIPESIM_MAX_NATIVE_OPS (3u << 20)

/** pipesim_comparison_run_native: where the scenario names no rules for messages, and a barrier ends steps, finds what
 * the makespan of each run would be by those of its own runtime: the plain figures flatter
 * schedules whose messages would wait. Not of runs with more than their part of PIPESIM_MAX_NATIVE_OPS that do
 * not repeat. */
void pipesim_comparison_run_native(PipesimComparison *comparison);

/** pipesim_comparison_finish: called once all runs are in: sorts them as the scenario says
 * (refused ones last), finds the makespan of 1F1B, simulated where it is not among them, and
 * which run wins how many samples. */
void pipesim_comparison_finish(PipesimComparison *comparison);

/** pipesim_comparison_layers: what is to be said of the layers of stages, once for all runs of
 * which it is true: "zb-v, hanayo: 80 layers in 32 stages ...".
 * @existing: only of runs that exist (pipesim_run_exists())
 * Returns: (transfer full): of char *. */
GPtrArray *pipesim_comparison_layers(const PipesimComparison *comparison, gboolean existing);

/** pipesim_throughput: of a rank of @run against one of 1F1B: (its micro-batches / its makespan
 * / its ranks) over 1F1B's; NAN where there is no baseline. */
double pipesim_throughput(const PipesimComparison *comparison, const PipesimRun *run);
