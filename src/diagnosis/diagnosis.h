/* Where the time of a recorded step went: what it took beside what it had to take, cause by cause.
 *
 * Each cause is the difference of two simulated steps, of the order that was executed, in one fixed
 * order (docs/metrics.md):
 *
 *	even		every op takes the average of all stages		-> schedule
 *	stages		... what its stage takes on a rank of usual speed	-> imbalance
 *	ranks		... on its rank						-> slow-rank
 *	beside		... and what messages beside it cost it			-> contention
 *	ops		... what it took itself					-> ops
 *	messages	... and starts when its messages had come		-> messages
 *	peers		... and its collectives for other ranks			-> peers
 *	host		... when it started: the pipeline as measured		-> host
 *	all		the whole step as measured				-> outside
 *
 * The first has the work of a rank taken off: work and all causes are what was measured, to the ns. */
#pragma once
#include "diagnosis/executed.h"

typedef enum {
	PIPESIM_CAUSE_SCHEDULE,
	PIPESIM_CAUSE_IMBALANCE,
	PIPESIM_CAUSE_SLOW_RANK,
	PIPESIM_CAUSE_CONTENTION,
	PIPESIM_CAUSE_LENGTHS,
	PIPESIM_CAUSE_OPS,
	PIPESIM_CAUSE_MESSAGES,
	PIPESIM_CAUSE_PEERS,
	PIPESIM_CAUSE_HOST,
	PIPESIM_CAUSE_OUTSIDE,
	PIPESIM_N_CAUSES,
} PipesimCauseKind;

/** pipesim_cause_name: "slow-rank". */
const char *pipesim_cause_name(PipesimCauseKind kind);

typedef struct {
	gint64 ns; /* of the step; may be negative: the cause shortened it */
	gint rank; /* that it comes from most; -1: none more than others */
	guint32 op; /* that lost most to it, of that rank; PIPESIM_NO_OP: none did, or it is of no op */
	gint64 without; /* the step as measured less this cause alone, ns; -1: nothing to take off */
	gint64 *idle; /* of each rank's idle time, ns */
} PipesimCause;

/* One op that lost time, by one cause. */
typedef struct {
	PipesimCauseKind cause; /* OPS, MESSAGES, PEERS or HOST */
	guint32 op;             /* of the pipeline */
	guint rank;
	gint64 at, ns; /* when it began, from the first op on, and what it lost */
	gint64 step;   /* what the step would gain without */
} PipesimOpLoss;
#define PIPESIM_LOSSES 3

/* A schedule on the same ranks, ns; -1: it has no result there. */
typedef struct {
	PipesimRun *run;
	gint64 makespan; /* with the causes that stay whatever the order is */
	gint64 fixed;    /* without them */
} PipesimOther;

/* A runtime whose rules were tried, and how far its steps are off in the median, in size. */
typedef struct {
	const PipesimRuntime *runtime;
	double error;
} PipesimTried;

typedef enum {
	PIPESIM_RULES_ASKED,
	PIPESIM_RULES_OF_FILE,
	PIPESIM_RULES_FOUND, /* as those that explain the steps */
} PipesimRulesFrom;

/* What a diagnosis may lack. */
#define PIPESIM_MOST_MISSING 12

typedef struct _PipesimStepSpread PipesimStepSpread;

typedef struct {
	const PipesimRecord *record;           /* the caller's */
	const PipesimRecordPipeline *pipeline; /* the slowest of the step */
	PipesimProgram *program;
	guint step;         /* index */
	gint64 measured;    /* the whole step, ns */
	gint64 pipeline_ns; /* its slowest pipeline */
	gint64 simulated; /* the pipeline and what is outside, with each op's own time and messages
			     that take what they usually take */
	gint64 work;      /* of a rank in the mean, at equal stages */
	gint64 message; /* what a message usually takes from op to op, ns */
	PipesimCause cause[PIPESIM_N_CAUSES];
	gint64 *busy; /* of each rank, ns */
	/* Of each op, ns from the first start of the pipeline: as measured, and as simulated. */
	gint64 *measured_start, *measured_end, *simulated_start, *simulated_end;
	/* Of each op what it lost by OPS, MESSAGES, PEERS and HOST, ns; may be negative. */
	gint64 *lost[PIPESIM_CAUSE_HOST - PIPESIM_CAUSE_OPS + 1];
	gint64 *length; /* of each of so many micro-batches against their average, in millionths */
	guint n_lengths; /* 0: they are of one length */
	PipesimOpLoss loss[PIPESIM_LOSSES];
	guint n_losses;
	/* Of every whole step: what it took, and what is simulated as above. */
	gint64 *step_measured, *step_simulated;
	/* Medians of stages on ranks of usual speed, how slow each rank was, and the message. */
	PipesimCosts *costs;
	PipesimRun *executed; /* the order that was executed, at these */
	PipesimNearest nearest;
	const PipesimRuntime *rules; /* that messages waited by */
	PipesimRulesFrom rules_from;
	GArray *tried;    /* of PipesimTried */
	PipesimOther now; /* the executed order; its run is @executed */
	GArray *others;   /* of PipesimOther: every built-in schedule, by makespan */
	gboolean stays[PIPESIM_N_CAUSES]; /* the causes that stay in them */
	const char *
		governor; /* chip at whose clocks they run: governed.h; NULL: at those of the record */
	const char *confidence;                    /* "high", "medium" or "low" */
	const char *missing[PIPESIM_MOST_MISSING]; /* what it would be surer with */
	guint n_missing;
	PipesimStepSpread *
		spread; /* over all steps: set by who wants it, spread.h; NULL: not, or too few */
	gboolean
		left_out; /* schedules whose backwards are split, or not, other than here: activations are recomputed */
	gboolean halved;      /* full backwards alone were measured: their halves are guesses */
	guint other_order;    /* steps that ran their ops in another order than this one */
	gboolean tells_ranks; /* slow ranks can be told from long stages */
} PipesimDiagnosis;

/* What is to be diagnosed. */
typedef struct {
	const PipesimRecord *record;
	const PipesimCosts *costs; /* as calibrated from the same traces */
	gint64 step;               /* as its file numbers it; -1: the one of median length */
	const PipesimRuntime *
		runtime; /* whose rules messages wait by; NULL: async; native: as files tell, else found */
	gboolean brief;    /* causes alone: no schedules, and no other steps */
	gboolean inferred; /* which ops ran was worked out */
} PipesimPatient;

/**
 * pipesim_diagnose: Returns: (transfer full): NULL with PIPESIM_ERROR_USAGE where there is no such step,
 *   PIPESIM_ERROR_INCOMPLETE or _DEADLOCK where the recorded order cannot have run, PIPESIM_ERROR_LIMIT.
 */
PipesimDiagnosis *pipesim_diagnose(const PipesimPatient *patient, GError **error);
PIPESIM_FREED(PipesimDiagnosis, pipesim_diagnosis_free)
