/* What a timeline means: bubble by both definitions, activations, the published formulae beside
 * them and why they differ, memory, the critical path, a lower bound. */
#pragma once
#include "engine/engine.h"
#include "engine/stream.h"
#include "schedule/schedule.h"

/* What links do to a step (engine/traffic.h has the model). Times in ns. */
typedef struct {
	PipesimLinkUse *link; /* every link that a message took, by id */
	guint n;
	guint busiest; /* that was held longest; the first of equals */
	guint64 messages;
	gint64 waited;  /* by messages, from ready to moving, all together */
	gint64 longest; /* of these waits */
	/* What waiting costs the step: its makespan (without slowdown) less that over links
	 * which hold any number of messages at once; >= 0. This is in the bubble of every
	 * rank. */
	gint64 queueing;
	/* What the slowdown of ops beside messages costs: makespan less that without. */
	gint64 slowing;
} PipesimLinkReport;

/* Arrays have one element a rank. Ratios stay numerator and denominator until they are printed.
 */
/* What waiting for messages costs where a runtime's rules are simulated (--comm). The idle time
 * of a rank is what data dependencies force, its bubble at P2P = 0 without such rules, plus
 * @moves, plus @rules. */
typedef struct {
	PipesimComm comm; /* never async, nor native */
	gint64 rules; /* makespan less that of the same ops where no message waits for another,
			 ns */
	gint64 moves; /* that makespan less the one at P2P = 0 too: what hops take, ns */
	/* By rank, ns: of the time it stands still between its ops, the part after all that the
	 * next op needs has been computed: @moving while it could not have been there, as the
	 * message takes that long; @waiting after that. What has been computed late, because
	 * other ranks wait, is in neither. */
	gint64 *waiting, *moving;
	gint64 max_waiting;
	guint32 n_messages;
} PipesimCommReport;

typedef struct {
	guint ranks;
	gint64 makespan;

	/* Bubble, ns. */
	gint64 *busy;
	gint64 *idle;      /* makespan - busy */
	gint64 *span_idle; /* last end - first start - busy */
	gint64 max_idle, max_span_idle;
	PipesimFraction
		ratio; /* idle of all ranks / (ranks * makespan); 0/1 where makespan is 0 */

	/* Most activations held at once: in chunks; divide by chunks_per_share for whole-stage
	 * units. A pair holds both of its micro-batches from its start to its end. */
	guint *peak;             /* freed when the weight gradient is done (W or B ends) */
	guint *peak_until_input; /* freed when the backward for input is done (I or B ends) */
	guint32 *peak_op; /* op that starts when peak is first reached; PIPESIM_NO_OP: no work.
			     NULL where no single op is known */
	PipesimFraction unit; /* one chunk in whole-stage units: PP / S, of a part less */
	guint max_peak;

	/* Memory, bytes; NULL where costs carry none. */
	gint64 *memory; /* peak of both kinds of activations together, plus parameters */
	gint64 *memory_until_input, *memory_until_weight; /* the two kinds at that moment */
	gint64 parameters; /* parameter_bytes * copies; the same on every rank */
	gint64 max_memory;
	gboolean fits; /* max_memory <= limit; TRUE without a limit */

	/* Published formulae. */
	gboolean has_formula;
	gint64 formula;     /* ns */
	gint64 difference;  /* max_idle - formula, ns */
	GPtrArray *reasons; /* of char *: why difference is not 0, or idle not the same on every
			       rank */
	gboolean has_activation_formula;
	PipesimFraction activation_formula;

	/* One chain of ops without slack, from a start at 0 to the makespan, in order of time.
	 * NULL where no single op is known. */
	guint n_critical;
	guint32 *critical;
	gboolean has_bound;
	gint64 lower_bound; /* no order of the same ops on the same ranks is shorter, ns */

	PipesimCommReport *comm;  /* NULL: messages do not wait for each other */
	PipesimLinkReport *links; /* NULL where P2P alone is charged */
} PipesimReport;

/* What a report is made of: @program with its @timeline, or @order with its @stream. */
typedef struct {
	const PipesimProgram *program;
	const PipesimTimeline *timeline;
	const PipesimOrder *order; /* beside a program: what it was expanded from, or NULL */
	const PipesimStream *stream;
	const PipesimSchedule *schedule; /* NULL for a schedule file */
	const PipesimCosts *costs;
	const PipesimTimes *times;
	gint64 memory_limit; /* bytes a rank; 0 = none */
} PipesimSubject;

static inline const PipesimShape *pipesim_subject_shape(const PipesimSubject *subject)
{
	return subject->program != NULL ? &subject->program->shape : &subject->order->shape;
}

/**
 * pipesim_report_of: of an order and its stream alone, what needs single ops is left out; every
 * other figure is the same.
 *
 * Returns: (transfer full): for pipesim_report_free(); NULL with PIPESIM_ERROR_LIMIT.
 */
PipesimReport *pipesim_report_of(const PipesimSubject *subject, GError **error);

/**
 * pipesim_report_new:
 * @schedule: for its formulae; NULL for a schedule file
 * @memory_limit: bytes a rank; 0 = none
 *
 * Returns: (transfer full): for pipesim_report_free(); NULL with PIPESIM_ERROR_LIMIT.
 */
PipesimReport *pipesim_report_new(const PipesimProgram *program,
	const PipesimTimeline *timeline, const PipesimSchedule *schedule,
	const PipesimCosts *costs, const PipesimTimes *times, gint64 memory_limit,
	GError **error);
void pipesim_report_free(PipesimReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimReport, pipesim_report_free)

/**
 * pipesim_comm_report_new: of a @timeline of pipesim_comm_run() under @comm, whose ops are
 * those of @program.
 * @network: (nullable): that it ran over
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT.
 */
PipesimCommReport *pipesim_comm_report_new(const PipesimProgram *program,
	const PipesimTimeline *timeline, const PipesimTimes *times,
	const PipesimNetwork *network, PipesimComm comm, GError **error);
void pipesim_comm_report_free(PipesimCommReport *report);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimCommReport, pipesim_comm_report_free)
