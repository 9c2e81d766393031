/* What a timeline means: bubble by both definitions, activations, the published formulae beside
 * them and why they differ, memory, the critical path, a lower bound. */
#pragma once
#include "engine/period.h"
#include "schedule/schedule.h"

/* What links do to a step (engine/traffic.h has the model). Times in ns. */
typedef struct {
	PipesimLinkUse *link; /* every link that a message took, by id */
	guint n;
	guint busiest; /* that was held longest; the first of equals */
	guint64 messages;
	gint64 waited;  /* by messages, from ready to moving, all together */
	gint64 longest; /* of these waits */
	/* What waiting costs the step: its makespan (without slowdown) minus that over links
	 * which hold any number of messages at once; >= 0. This is in the bubble of every
	 * rank. */
	gint64 queueing;
	/* What the slowdown of ops beside messages costs: makespan minus that without. */
	gint64 slowing;
} PipesimLinkReport;

/* What waiting for messages costs where a runtime's rules are simulated (--runtime). The
 * idle time of a rank is what data dependencies force, its bubble at P2P = 0 without such
 * rules, plus @moves, plus @rules, plus @sharding. */
typedef struct {
	const PipesimRuntime *runtime; /* never async, nor native */
	/* Makespan minus that where gathering and reducing stages (FSDP) take no time, ns; 0
	 * where they take none. */
	gint64 sharding;
	gint64 rules; /* makespan without @sharding minus that of the same ops where no message
			 waits for another, ns */
	gint64 moves; /* that makespan minus the one at P2P = 0 too: what hops take, ns */
	/* By rank, ns: of the time it stands still between its ops, the part after all that the
	 * next op needs has been computed: @moving while it could not have been there, as the
	 * message takes that long; @waiting after that. What has been computed late, because
	 * other ranks wait, is in neither. */
	gint64 *waiting, *moving;
	gint64 max_waiting;
	/* By rank, ns: while receives sit on it and wait for their senders (analysis/stays.h),
	 * and how much of that ops run beside them. */
	gint64 *resident, *beside;
	gint64 max_beside;
	/* 0, and what is by rank NULL, where times of ops are not there. */
	guint32 n_messages;
} PipesimCommReport;

/* What the power of chips, receives that wait and hosts that launch ops do to a step: its
 * makespan minus that without, ns. Below 0 where ops are faster after idle time. */
typedef struct {
	gboolean has_power, has_contention, has_launches; /* the costs know them */
	gint64 power, contention, launches;
} PipesimPowerReport;

/* Idle time, ns; of steps without a barrier of their period, in place of the makespan, without the optimizer. */
typedef struct {
	gint64 *busy;
	gint64 *idle;      /* makespan minus busy */
	gint64 *span_idle; /* last end minus first start minus busy */
	gint64 max_idle, max_span_idle;
	/* Idle of all ranks / (ranks * makespan); 0/1 where the makespan is 0. */
	PipesimFraction ratio;
} PipesimBubble;

/* Most activations held at once, in chunks, or where a part of them is copied to the host in pieces of them; times @unit
 * in whole-stage units. A pair holds both of its micro-batches from its start to its end. */
typedef struct {
	guint pieces, copied; /* of a chunk; those that are copied to the host where it is */
	guint *host; /* most of them there, from when a copy out begins to the weight gradient; NULL: none are copied */
	guint max_host;
	guint *peak;             /* freed when the weight gradient is done (W or B ends) */
	guint *peak_until_input; /* freed when the backward for input is done (I or B ends) */
	/* Op that starts when peak is first reached; PIPESIM_NO_OP: no work. NULL where no
	 * single op is known. */
	guint32 *peak_op;
	char **peak_name;     /* "0F3", by rank; NULL with it, and where there is no work */
	PipesimFraction unit; /* one of them in whole-stage units: PP / S, of a part less */
	guint max_peak;
} PipesimActivations;

/* What a rank holds besides activations and parameters, bytes: while an op runs of messages and
 * of gathered stages, and of both together from its end on. Below 0 where messages are part of
 * activations. */
typedef struct {
	gint64 messages, gathered;
	gint64 behind;
	gint64 absent
		[2]; /* of the parameters' gradients: what is not there yet, and from its end on */
} PipesimBesides;

/* What bytes that a rank holds are of, in the order in which pictures pile them up. */
typedef enum {
	PIPESIM_HELD_PARAMETERS, /* with gradients, optimizer states and what else stays */
	PIPESIM_HELD_UNTIL_INPUT,
	PIPESIM_HELD_UNTIL_WEIGHT,
	PIPESIM_HELD_WAITING, /* from I to W, and until the step ends */
	PIPESIM_HELD_MESSAGES,
	PIPESIM_HELD_GATHERED,
	PIPESIM_HELD_TRANSIENT, /* while an op runs */
	PIPESIM_N_HELD,
} PipesimHeldPart;

/* pipesim_held_names: "parameters", "activations until dgrad" ...; pipesim_held_keys: "parameters",
 * "until_input" ... */
extern const char *const pipesim_held_names[PIPESIM_N_HELD];
extern const char *const pipesim_held_keys[PIPESIM_N_HELD];

/* What a rank holds while an op runs. */
typedef struct {
	gint64 bytes; /* 0: there is no such moment */
	gint64 part[PIPESIM_N_HELD];
	guint32 op; /* of the step's program; PIPESIM_NO_OP where ops are not known, or before the first */
	PipesimKind kind;
	guint microbatch, stage; /* of the half of a pair that needs more */
	gint slice;              /* and of the sequence; -1: it is not cut */
	const char *
		transient; /* the largest transient tensor: "logits and loss"; static, or NULL */
} PipesimMoment;

/* Bytes. */
typedef struct {
	gint64 *peak; /* both kinds of activations together, plus parameters; NULL where costs
			 carry no bytes */
	/* By op of the step, where a runtime's list tells of messages whose size is known or of
	 * stages that are gathered, else NULL; and which of both it tells of. */
	PipesimBesides *besides;
	gboolean has_messages, has_gathered;
	gint64 *parameters; /* of all its stages, and what else stays; NULL with it */
	gint64 max_parameters;
	PipesimMoment *fullest; /* of each rank, the first; NULL with peak */
	PipesimMoment *over;    /* of each rank, the first above the limit; NULL without one */
	/* By PipesimBytes: what a micro-batch holds of each stage, [rank * chunks + chunk]; NULL where
	 * all hold the same, or where that is known only of a model that is described and none is. */
	gint64 *of[PIPESIM_N_STAGE_BYTES];
	gint64 *tokens; /* of each of @slices of a sequence, which bytes of ops follow; NULL = all have as many */
	guint slices;
	gint64 *host; /* most on the host of each rank; NULL with peak, and where nothing is copied there */
	gint64 max_host;
	gint64 *absent; /* by rank: of gradients what no op has brought yet as the step begins; NULL = none */
	guint chunks; /* of a rank */
	gint64 max;
	/* Most activations of both kinds on any rank, were all stages alike: what a limit of
	 * activations is compared with. */
	gint64 even;
	gboolean fits; /* max <= limit; TRUE without a limit */
} PipesimMemory;

/* Of the step of a described model whose stages have times. */
typedef struct {
	gint64 step;   /* makespan with reduction of gradients and optimizer, ns; 0 = unknown */
	gint64 tail;   /* the longest of what follows the ops of a rank, ns */
	gint64 tokens; /* per second, of all GPUs */
	double flops;  /* of the model, per second and GPU; NAN */
	double mfu;    /* these over the peak; NAN */
} PipesimTrainingReport;

/* What has been published about the schedule, at these times. */
typedef struct {
	gboolean has_bubble;
	gint64 bubble;      /* ns */
	gint64 difference;  /* max_idle minus that, ns */
	GPtrArray *reasons; /* of char *: why difference is not 0, or idle not the same on every
			       rank */
	gboolean has_activations;
	PipesimFraction activations; /* whole-stage units */
} PipesimPublished;

/* Why the step takes as long as it does. */
typedef struct {
	/* One chain of ops without slack, from a start at 0 to the makespan, in order of time.
	 * NULL where no single op is known. */
	guint32 *ops;
	guint n_ops;
	gboolean has_bound;
	gint64 lower_bound; /* no order of the same ops on the same ranks is shorter, ns */
} PipesimCriticalPath;

/* Steps that follow each other without a barrier. */
typedef struct {
	PipesimPeriod found;
	gint64 *between;  /* by rank: of the optimizer, ns */
	gint64 optimizer; /* the most of these */
} PipesimPeriodReport;

/* Arrays have one element a rank. Ratios stay numerator and denominator until they are
 * printed. */
typedef struct {
	guint ranks;
	gint64 makespan; /* ns */
	PipesimBubble bubble;
	PipesimActivations held;
	PipesimMemory memory;
	PipesimTrainingReport training;
	PipesimPublished published;
	PipesimCriticalPath path;
	gint64 *exposed; /* by rank: waits for copies that are not over, ns; NULL: none takes time */
	gint64 max_exposed;
	PipesimCommReport *comm;     /* NULL: messages do not wait for each other */
	PipesimLinkReport *links;    /* NULL where P2P alone is charged */
	PipesimPowerReport *power;   /* NULL: every op takes its time */
	PipesimPeriodReport *period; /* NULL: a barrier ends the step */
} PipesimReport;

/** pipesim_report_step: what a step comes to, ns: its period without a barrier, else its makespan. */
static inline gint64 pipesim_report_step(const PipesimReport *report)
{
	return report->period != NULL ? report->period->found.time : report->makespan;
}

/** pipesim_step_between: what follows the last op of a step without a barrier, ns, by rank: as
 * asked for, else reductions and the optimizer. For g_free(). */
gint64 *pipesim_step_between(const PipesimStep *step);

/* What a report is of. */
typedef struct {
	const PipesimStep *step;
	const PipesimSchedule
		*schedule; /* whose formulae stand beside it; NULL: a schedule file */
	const PipesimCosts *costs;
	gint64 memory_limit; /* bytes a rank; 0 = none */
	gboolean critical;   /* the critical path and the lower bound are asked for */
	gboolean
		rules; /* what a runtime's rules cost is asked for where no times of ops are there */
	gboolean checks; /* what checks of steps without a barrier cost is, too */
} PipesimSubject;

/** pipesim_report_new: of a step without ops, what needs single ops is left out; every other
 * figure is the same.
 * Returns: (transfer full): for pipesim_report_free(); NULL with PIPESIM_ERROR_LIMIT. */
PipesimReport *pipesim_report_new(const PipesimSubject *subject, GError **error);
PIPESIM_FREED(PipesimReport, pipesim_report_free)

/** pipesim_report_cause: what ended at the moment at which @op of @rank started and let it
 * start, as in PipesimTimeline.cause: an input rather than the op before it on its rank. @step
 * has ops. */
guint64 pipesim_report_cause(const PipesimStep *step, guint rank, guint32 op);
