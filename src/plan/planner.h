/* From a model, a number of GPUs, a batch and a limit of memory to the ten best ways to train: every
 * combination of sizes, micro-batch, recomputation and schedule that the rules allow is bounded, and those
 * that could be among the best are simulated. */
#pragma once
#include "layout/family.h"
#include "transformer/cutter.h"

/* Who runs what is planned. */
typedef struct {
	const char *name;              /* after --framework */
	const char *words;             /* what people call it */
	const PipesimRuntime *runtime; /* NULL: messages wait for nothing */
	const char *runtimes; /* those of --runtime that are its own, a blank around each */
	/* PyTorch's own modules and FSDP, whose states are shared; whole layers are computed again, or none, and experts have
	 * no TP of their own, but at least as many ranks as TP: torchtitan's rules. */
	gboolean eager;
	gboolean no_tp, no_cp; /* it has none */
	const char *modules; /* after --modules, unless others are given; NULL: Megatron-LM's */
	/* Types of --precision that it has not, each ahead of what it runs, up to the first NULL. */
	const char *instead[12];
	gboolean experts; /* not asked for, it is for models with experts alone */
} PipesimFramework;

/** pipesim_frameworks: NULL-terminated; the last is any. */
extern const PipesimFramework *const pipesim_frameworks[];

/** pipesim_framework_of: whose @runtime is (NULL: async); that of any where it is nobody's. */
const PipesimFramework *pipesim_framework_of(const PipesimRuntime *runtime);

/** pipesim_framework_precision: what @framework runs where @asked (nullable) stands after --precision. */
const char *pipesim_framework_precision(const PipesimFramework *framework, const char *asked);

/* What is asked. Of sizes 0 = searched. */
typedef struct {
	const PipesimFramework *framework; /* NULL: any */
	const PipesimTransformer *model;
	PipesimTraining
		training; /* sequence, precision, optimizer ...; sizes and microbatch 0 = searched */
	gboolean recompute_given; /* as in training; else searched */
	gboolean zero_given;      /* the same */
	PipesimDevice *device;
	const PipesimRates *capture; /* of a trace; NULL: of the device */
	guint gpus, per_node, ranks, chunks, microbatches;
	guint node;    /* GPUs of one as asked for; 0 = as pipesim_planner_node() says */
	gint64 batch;  /* sequences of a step */
	gint64 memory; /* bytes of a GPU */
	/* Of these not for tensors: so many bytes, or where it is negative what transformer/reserve.h says. */
	gint64 reserve;
	const PipesimSchedule *const *schedules; /* NULL-terminated */
	const PipesimRuntime *runtime;           /* whose rules messages follow; NULL = async */
	PipesimIssuing issuing;                  /* what is asked of it */
	gboolean post_validation;                /* no barrier at the optimizer */
	gboolean pairs; /* schedules that can run a forward and a backward as one op do */
	PipesimFraction
		offload_part; /* of activations, that orders copy to the host; num 0: what their schedules copy */
	gint64 copies; /* bytes a second to the host and back; 0 = not known: nothing is copied */
	/* Lay out every candidate that could be among the best so, not only those that are best with balanced layers. */
	gboolean layouts;
	gboolean frontier; /* also find those that none beats in step and memory both */
	gboolean every;    /* simulate and keep all candidates, whatever they lose by or hold */
	guint most;        /* of the best, up to PIPESIM_BEST; 0: as many */
	guint threads;     /* 0 = one a core */
	PipesimPeers peers;
	void (*progress)(guint done, guint all, gpointer data); /* now and then; or NULL */
	gpointer data;
} PipesimWish;

/* What measured steps made of described ones. */
typedef struct {
	guint steps, factors;
	double pace
		[2]; /* as of training: what kernels, and messages within ops, take over what is described */
	double before, after; /* mean errors of these steps: shares */
} PipesimPlanMeasured;

/** pipesim_planner_measure: takes steps that were run from @path, a CSV with columns pp, dp,
 * microbatches, schedule, step_ms and, where they are not 1 or as @wish says, tp, cp, ep,
 * microbatch_size, chunks, recompute; finds the pace of training by them, under the rules of
 * @wish.
 * FALSE with PIPESIM_ERROR_PARSE, PIPESIM_ERROR_CONSTRAINT or what opening the file gives. */
gboolean pipesim_planner_measure(
	const PipesimWish *wish, const char *path, PipesimPlanMeasured *found, GError **error);

/** pipesim_framework: of @wish, never NULL. */
const PipesimFramework *pipesim_framework(const PipesimWish *wish);

/* One way to train. */
typedef struct {
	PipesimTraining training;
	const PipesimSchedule *schedule;
	guint ranks, chunks, microbatches; /* chunks 0 = the schedule's own */
	gint64 bound; /* no step is shorter, ns: balanced, or under any layout */
	gint64 least; /* bytes that its fullest rank has at least, balanced */
	gint64 mean; /* bytes that ranks hold all the time in the mean, where any layout may come */
	/* Where it was simulated: step 0 = not. */
	gint64 step, makespan, tokens, memory;
	gint64 reserve;  /* bytes of a GPU besides memory, that are not for tensors */
	guint fullest;   /* rank */
	double mfu;      /* NAN = unknown */
	double bubble;   /* shares of the step: idle ranks, */
	double again;    /* recomputation, */
	double messages; /* of tensor and expert parallelism, */
	double after;    /* reduction and optimizer */
	gint64 parameters, activations, transient; /* of the fullest rank at its peak, bytes */
	gboolean fits;
	const char *
		layout; /* as --layout takes it, where that was searched, for ever; NULL: balanced */
	double gap; /* share by which another layout of whole layers may be shorter at most; 1 = not known */
	const char *
		alike; /* what takes as long but for 1 %, ", " between them, for ever; NULL: nothing */
} PipesimCandidate;

#define PIPESIM_BEST 10
#define PIPESIM_NEAR 1.3

typedef struct {
	/* Of PipesimCandidate: those that fit as pipesim_plan_group() puts them together, shortest step first, at most
	 * PIPESIM_BEST. Found with balanced layers; these and the misses then have the layout that is best for their schedule. */
	GArray *best;
	/* The shortest that would beat the best and need at most PIPESIM_NEAR more memory than there is; at most 3, each of
	 * other sizes. */
	GArray *misses;
	/* Of each of these: the shortest that fits with the same sizes; step 0: none does. */
	GArray *remedies;
	/* Where it was asked for: those that fit and that no other beats or equals in both step and memory,
	 * shortest step first. */
	GArray *frontier;
	GArray *all; /* where every one was asked for: in the order of the search; else of a frontier those simulated */
	PipesimCandidate smallest; /* whose fullest rank has least at least */
	guint candidates;
	guint too_large; /* of these: no schedule makes them fit */
	guint beaten;    /* whose bound says that they cannot be among the best */
	guint simulated;
	guint laid_out; /* where that was asked for: of these, those whose layout was looked for */
} PipesimPlanned;

/** pipesim_plan_group: of @found, PipesimCandidates, sorted by step: the first @most ways to train. What has the same sizes and
 * takes as long but for 1 % is one row, the simplest, with the others as ->alike: other schedules, chunks, and more that is
 * computed again; other chunks and recomputation alone are never another row. @shortest (nullable) takes the shortest of each row
 * and of each schedule in it the simplest, which are then not among ->alike. (transfer full). */
GArray *pipesim_plan_group(
	const PipesimWish *wish, const GArray *found, guint most, GArray *shortest);

/** pipesim_plan_same_way: whether @a and @b have the same sizes, of micro-batches too, and share the same between ranks. */
gboolean pipesim_plan_same_way(const PipesimCandidate *a, const PipesimCandidate *b);

/** pipesim_planner_node: wish->per_node: wish->node, or 8, or all GPUs where they are fewer. FALSE with
 * PIPESIM_ERROR_CONSTRAINT. */
gboolean pipesim_planner_node(PipesimWish *wish, GError **error);

/** pipesim_planner_run: the same result whatever the number of threads and processes. (transfer full): NULL with errors of
 * pipesim_planner_new(). */
PipesimPlanned *pipesim_planner_run(const PipesimWish *wish, GError **error);
PIPESIM_FREED(PipesimPlanned, pipesim_planned_free)

typedef struct _PipesimPlanner PipesimPlanner;

/** pipesim_planner_new: all candidates of @wish, which must outlive it, bounded, one at
 * least. (transfer full): NULL with PIPESIM_ERROR_LIMIT, or where there is none with that of the first rule that refused
 * one, or that no sizes divide the GPUs. */
PipesimPlanner *pipesim_planner_new(const PipesimWish *wish, GError **error);
PIPESIM_FREED(PipesimPlanner, pipesim_planner_free)

/** pipesim_planner_count: how many there are. */
guint pipesim_planner_count(const PipesimPlanner *planner);

/** pipesim_planner_simulate: candidates @first to @first + @n - 1, in the order of the search; from several threads at once. */
void pipesim_planner_simulate(
	PipesimPlanner *planner, guint first, guint n, PipesimBrief *briefs);

/** pipesim_planner_candidate: number @index, as @brief says it ran; NULL: not simulated. */
PipesimCandidate pipesim_planner_candidate(
	const PipesimPlanner *planner, guint index, const PipesimBrief *brief);

/** pipesim_planner_costs: the costs of @candidate: its stages' times and bytes, and P2P at the network of a
 * GPU, or its links where all GPUs are one node. (transfer full): errors of
 * pipesim_cutter_take(). */
PipesimCosts *pipesim_planner_costs(
	const PipesimWish *wish, const PipesimCandidate *candidate, GError **error);

/** pipesim_planner_balanced: the same of @training on @ranks ranks, with balanced layers. */
PipesimCosts *pipesim_planner_balanced(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks, GError **error);

/** pipesim_planner_reduce: bytes per second between data-parallel ranks: as asked for, or where nothing was (0) the
 * links of a GPU where they are of one node; else the network of all of them that are of one node, each on a ring of its
 * own, up to the links. Ranks are numbered by TP, CP, DP and PP, or by TP of experts, EP, their DP and PP, as
 * Megatron-LM and torchtitan do: those of the fewer in a node count, of dense layers or of experts. */
gint64 pipesim_planner_reduce(const PipesimWish *wish, const PipesimTraining *training);

/** pipesim_planner_reserved: bytes of a GPU that are not for tensors, where these take @peak. */
gint64 pipesim_planner_reserved(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks, gint64 peak);

/** pipesim_planner_limit: bytes that tensors of a rank may take, at least 1. */
gint64 pipesim_planner_limit(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks);

/** pipesim_planner_scenario: what it is run at. */
PipesimScenario pipesim_planner_scenario(
	const PipesimWish *wish, const PipesimCandidate *candidate);
