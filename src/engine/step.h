/* The one door to the simulators: a job goes in, a step comes out. Which of them runs it (what
 * repeats leapt over, longest paths, links, a runtime's rules) is decided behind the door. */
#pragma once
#include "engine/timeline.h"
#include "model/jitter.h"
#include "order/order.h"
#include "runtime/runtime.h"

/* Nothing of it is changed. The step shares the order; the rest is the caller's and must
 * outlive whatever looks at it: pipesim_step_again(), pipesim_step_sample(), reports. */
typedef struct {
	const PipesimOrder *order;
	const PipesimTimes *times;     /* of the order's shape */
	const PipesimNetwork *network; /* that messages take; NULL: P2P alone */
	/* Whose rules messages wait by; NULL: async; never native. */
	const PipesimRuntime *runtime;
	PipesimIssuing issuing; /* what is asked of it */
	/* Messages as a file lists them, for any runtime but async; NULL: they follow
	 * from the rules. */
	const PipesimLowering *messages;
	guint traffic; /* PipesimTrafficFlags: what is left out */
	/* The chips of all ranks have rested at its begin; else a step like it came right
	 * before. */
	gboolean first_step;
	gint64 pause; /* for which they idle between the two, ns */
	/* Not 0: where nothing but figures is wanted under a runtime's rules, what repeats is leapt over, and ops and
	 * lists are then not there; no more ops than these are run one by one: PIPESIM_ERROR_LIMIT. */
	guint64 most_ops;
	gboolean
		period; /* what repeats is asked for (PipesimStep.steady), also where it is found no faster */
} PipesimJob;

#define PIPESIM_MOST_STEPS 64

/* What repeats in the longest loops of an order. */
typedef struct {
	gboolean found;
	guint64 transient; /* micro-batches of the step before what repeats begins, at most */
	guint64 period;    /* micro-batches of one repetition */
	gint64 time;       /* that it takes, ns */
} PipesimSteady;

/* Arrays have one element a rank; times in ns from the start of the step. */
typedef struct {
	PipesimJob job;
	gint64 makespan; /* the latest end; the first start is 0 */
	gint64 free;     /* what that were if messages waited for nothing; 0: not known */
	gint64 *busy;    /* all its ops together */
	gint64 *first_start, *last_end; /* 0 and 0 where it runs nothing */
	PipesimSteady steady; /* what repeats, where no ops were kept; else not found */
	gboolean split;       /* pairs ran in halves, as the rules have it */
	/* The ops that ran, and when: those of the order, with pairs in halves where the rules
	 * run them so. Both NULL where they were not wanted and not needed; under a runtime's rules the ops
	 * stand alone then. */
	PipesimProgram *program;
	PipesimTimeline *timeline;
	/* By rank: the state of its chip at the begin; NULL where power does not count. */
	PipesimPowerState *states;
	/* For pipesim_step_again(): the ops with pairs whole, and the messages. */
	PipesimProgram *whole;
	PipesimLowering *derived;
	/* The order with pairs in halves, where they ran so and no ops are there; else NULL. */
	PipesimOrder *parted;
} PipesimStep;

/** pipesim_step_run: simulates one step. Where times have power the chips begin it as they end
 * it, as if it followed on others like it, with the pause of its job between them: it is run
 * until that is so to a millionth of their load, at most PIPESIM_MOST_STEPS times, each time
 * from the state that would repeat if its loads did.
 * Returns: (transfer full): for pipesim_step_free(). NULL with PIPESIM_ERROR_DEADLOCK, whose
 *   message goes once round the cycle, PIPESIM_ERROR_INCOMPLETE for an order that leaves a
 *   micro-batch out, or PIPESIM_ERROR_LIMIT where time would pass 2^62 ns or memory does not
 *   suffice. */
PipesimStep *pipesim_step_run(const PipesimJob *job, PipesimWant want, GError **error);
PIPESIM_FREED(PipesimStep, pipesim_step_free)

/* What steps of one order share under a runtime's rules: its ops and its list. */
typedef struct _PipesimShared PipesimShared;

/** pipesim_step_run_beside: simulates @n jobs of one order side by side, where that is faster
 * than one by one. Each step is as pipesim_step_run() of PIPESIM_WANT_FIGURES gives it, but for
 * what repeats.
 * @kept: (nullable) (inout): what jobs before shared, NULL: nothing; then what the next may share
 *   where their order is the same. For pipesim_shared_free(), and for one thread at a time
 * @steps: (out) (array length=n): for pipesim_step_free()
 *
 * Returns: FALSE, and no step, where they are to be run one by one. */
gboolean pipesim_step_run_beside(
	const PipesimJob *jobs, guint n, PipesimShared **kept, PipesimStep **steps);

/** pipesim_shared_new: of the order of @job and its runtime, where nothing hangs on when it runs.
 * (transfer full) (nullable): where jobs like it are to be run one by one. */
PipesimShared *pipesim_shared_new(const PipesimJob *job);
PIPESIM_FREED(PipesimShared, pipesim_shared_free)

/** pipesim_shared_run: the same as pipesim_step_run_beside() of @n jobs that differ from that of @shared in times alone, all
 * with stages that are gathered or all without. From any thread. */
gboolean pipesim_shared_run(
	PipesimShared *shared, const PipesimJob *jobs, guint n, PipesimStep **steps);

/** pipesim_step_measure: what the ranks of @step, which has ops, did by its timeline: makespan,
 * busy, first start and last end. */
void pipesim_step_measure(PipesimStep *step);

/** pipesim_step_messages: the list that @step ran by, or that its job brought: a file's own is
 * there whatever the rules, and under async is not run. NULL: none. */
static inline const PipesimLowering *pipesim_step_messages(const PipesimStep *step)
{
	return step->derived != NULL ? step->derived : step->job.messages;
}

/** pipesim_step_order: the order of @step, with pairs as they ran, where no ops are there. */
static inline const PipesimOrder *pipesim_step_order(const PipesimStep *step)
{
	return step->parted != NULL ? step->parted : step->job.order;
}

/** pipesim_step_forget_ops: lets go of single ops and messages; figures of ranks stay. */
void pipesim_step_forget_ops(PipesimStep *step);

/** pipesim_step_again: the ops and messages of @step, which has ops, once more at other times;
 * where these have power, until it repeats.
 * @times: of the same shape; durations drawn are by index of step->program
 * @flags: of PipesimTrafficFlags
 * Returns: (transfer full): their timeline; errors as above. */
PipesimTimeline *pipesim_step_again(
	const PipesimStep *step, const PipesimTimes *times, guint flags, GError **error);

/** pipesim_step_sample: @n times @step, which has ops, with durations drawn at random, on one
 * thread a core: figures of each in @results, the same whatever the number of threads. Chips
 * begin each as they begin @step.
 * Returns: FALSE with PIPESIM_ERROR_LIMIT; @results are then undefined. */
gboolean pipesim_step_sample(const PipesimStep *step, const PipesimJitter *jitter, guint64 seed,
	guint n, PipesimOutcome *results, GError **error);
