/* A schedule: one file and one line in list.h. */
#pragma once
#include "order/emit.h"

/* Durations of one chunk that formulae are written in, ns (PipesimTimes.chunk). */
typedef const gint64 *PipesimChunkTimes;

/* Something that must hold for a formula to be exact. */
typedef struct {
	const char *rule; /* as it is printed: "W <= F" */
	/* Compares times only, so those of a rank's whole share, which are not rounded, serve
	 * as well as those of a chunk. */
	gboolean (*holds)(const PipesimShape *shape, PipesimChunkTimes t);
	/* What happens where it does not, whatever other conditions are broken; may be NULL. */
	const char *consequence;
} PipesimCondition;

/* A published formula for the bubble of the worst rank. */
typedef struct {
	const char *text;    /* "(PP/2-1)(F&B+B-3W)" */
	const char *letters; /* what its letters mean, one paragraph */
	/* In ns at the chunk times @t; may be negative where the authors' conditions do not
	 * hold. */
	gint64 (*value)(const PipesimShape *shape, PipesimChunkTimes t);
	gboolean is_span; /* the formula counts the span bubble, not makespan - busy */
	PipesimCondition conditions[8]; /* ends with rule NULL */
	const char *uneven; /* why ranks may idle for different times, and which the formula
			       means; or NULL */
	const char *approximate; /* why it is not meant to be exact, in a sentence's words; or
				    NULL */
	const char *exact;       /* when it is exact, one paragraph */
} PipesimBubbleFormula;

/* A published formula for peak activations, in whole-stage units, largest rank. */
typedef struct {
	const char *text;
	PipesimFraction (*value)(const PipesimShape *shape);
	gboolean is_approximate; /* a leading term: a rank may hold more */
	gboolean is_most;        /* no rank holds more, but none need hold as much */
	const char *exact;
} PipesimActivationFormula;

/* How runs may go beyond what the authors describe. */
typedef struct {
	/* Of the shapes that they describe, as in a condition; NULL = of none. */
	gboolean (*within)(const PipesimShape *shape, PipesimChunkTimes t);
	const char *what; /* a sentence's words */
} PipesimExtension;

/* What of a scenario a schedule uses; others leave it alone. */
typedef enum {
	PIPESIM_TAKES_CHUNKS = 1 << 0,    /* --chunks */
	PIPESIM_TAKES_GROUP = 1 << 1,     /* --group */
	PIPESIM_TAKES_PIPELINES = 1 << 2, /* --pipelines: chunks of a bidirectional one */
	PIPESIM_TAKES_LIMIT = 1 << 3,     /* --max-activations */
	PIPESIM_TAKES_PAIRS = 1 << 4,     /* --overlap-fb */
	PIPESIM_TAKES_SLICES = 1 << 5,    /* --slices */
	PIPESIM_TAKES_OFFLOAD = 1 << 6,   /* --offload-chunks */
	PIPESIM_TAKES_RECOMPUTE = 1 << 7, /* --recompute-chunks, --recompute-as-ops */
	PIPESIM_TAKES_SPARING = PIPESIM_TAKES_OFFLOAD | PIPESIM_TAKES_RECOMPUTE,
	PIPESIM_TAKES_COPIES =
		1 << 8, /* --offload-bandwidth: of the one before the last, and files */
	PIPESIM_TAKES_EXCHANGE = 1 << 9, /* --context-exchange */
	PIPESIM_TAKES_PART = 1 << 10,    /* --offload-fraction: all without passes, and files */
	PIPESIM_TAKES_INFLIGHT =
		1 << 11, /* --offload-inflight, --offload-delta: where a part is asked for */
} PipesimTakes;

#define PIPESIM_SLICES_PP G_MAXUINT

/* What a schedule copies to the host where nothing is asked for. */
typedef enum {
	PIPESIM_OFFLOADS_NOTHING,
	PIPESIM_OFFLOADS_HALF, /* of the chunks of a rank, rounded down, but one */
	PIPESIM_OFFLOADS_ALL,
} PipesimOffloads;

/* Schedules that cut sequences, as messages name them, and why no others do. */
#define PIPESIM_SLICED                                                             \
	"gpipe, 1f1b, zb-h1, seq1f1b, slimpipe and terapipe: backwards of slices " \
	"go from the last to the first, and orders of the others leave no time "   \
	"for that; interleaved orders of slices are seq1f1b and slimpipe with --chunks"

/* Those that may copy chunks to the host, and compute them once more. */
#define PIPESIM_OFFLOADING                                                        \
	"gpipe, 1f1b, interleaved-1f1b, zb-h1, zb-v, v-half, v-min, gis, gis-h, " \
	"po-h and po-f"
#define PIPESIM_RECOMPUTING                                                             \
	"all schedules but dualpipe, dualpipev, chimera-halving, the searches zb-auto " \
	"and zb-v-auto, and those with passes over the vocabulary or copies of their own"

struct _PipesimSchedule {
	const char *name;        /* canonical, [a-z0-9-], unique over all names and aliases */
	const char *aliases;     /* "a, b", or NULL */
	const char *summary;     /* one line for `pipesim list`, no final stop */
	const char *constraints; /* the shapes it takes, one line: "PP even, M >= 2 PP" */
	const char *idea; /* three sentences: what it does, what that gains, what it costs */
	const char *reference; /* paper or code it comes from */
	guint chunks;          /* per rank where none are asked for; directions count; 0 = 1 */
	PipesimPlacement placement;
	guint parts; /* that a micro-batch runs in (PipesimShape.parts); 0 = 1 */
	guint slices; /* of a sequence where none are asked for; 0 = it is not cut, PIPESIM_SLICES_PP = PP */
	PipesimOffloads offloads;
	gboolean
		whole; /* every backward is one op, with its weight gradient: a step ends with them */
	guint takes; /* PipesimTakes, of what a scenario may ask for */
	guint barriers; /* of passes over parts of the vocabulary, a micro-batch: its order goes by F and B, and
			   is simulated by engine/mixed.h alone; 0 = it has no passes */
	const char *runtime; /* name of the one that it comes from (runtime/list.h); NULL where
				none is known */
	/* FALSE with PIPESIM_ERROR_CONSTRAINT, naming the broken rule and the nearest shape
	 * that satisfies it; NULL = every shape. Here alone micro-batches are still whole; how many
	 * slices each has is known. */
	gboolean (*check)(const PipesimShape *shape, GError **error);
	/* Order of one rank, with loops; or of all ranks at once, where it searches from the
	 * times of ops. One of the two. Deterministic; must not fail once check() passed, but
	 * for memory. */
	PipesimGenerate generate;
	PipesimPlan plan;
	/* Where copies to the host are planned in slots (PipesimOffload.slots): in which one, as long as an F,
	 * @op runs; < 0: where the order alone puts it. NULL = copies are not. */
	gint64 (*slot)(const PipesimShape *shape, guint rank, const PipesimOp *op);
	/* Of a plan that searches: those made by hand for the same placement, whose orders are
	 * taken where they are shorter (analysis/best-order.h); ends with NULL. */
	const PipesimSchedule *starts[5];
	PipesimBubbleFormula bubble;          /* text NULL where none is published */
	PipesimActivationFormula activations; /* text NULL where none is published */
	/* The micro-batches that an order is made for where that is more than the shape has:
	 * those that do not exist are left out. NULL = made for those of the shape. */
	guint (*padded)(const PipesimShape *shape);
	PipesimExtension extensions[3]; /* the first that a shape is not within is noted */
	const char *notes; /* more paragraphs for `pipesim explain`, separated by \n\n; may be
			      NULL */
};

/** pipesim_schedule_is_search: whether times and memory decide its order; else its shape alone
 * does. */
static inline gboolean pipesim_schedule_is_search(const PipesimSchedule *schedule)
{
	return schedule->starts[0] != NULL;
}

/** pipesim_schedule_goes_by_times: whether its order may be another one at other times. */
static inline gboolean pipesim_schedule_goes_by_times(const PipesimSchedule *schedule)
{
	return pipesim_schedule_is_search(schedule) || schedule->barriers > 0 ||
	       schedule->offloads != PIPESIM_OFFLOADS_NOTHING;
}

/** pipesim_schedule_is_plain: whether it runs whole micro-batches, each as F, I, W and B alone; others are
 * taken where they are asked for. */
static inline gboolean pipesim_schedule_is_plain(const PipesimSchedule *schedule)
{
	return schedule->slices == 0 && schedule->barriers == 0 &&
	       schedule->offloads == PIPESIM_OFFLOADS_NOTHING;
}

#define SCHEDULE(id) extern const PipesimSchedule pipesim_schedule_##id;
#include "schedule/list.h"
#undef SCHEDULE

/** pipesim_schedule_shape: the shape that @schedule has in @scenario.
 * Returns: FALSE with PIPESIM_ERROR_CONSTRAINT (message begins "NAME: ") or
 * PIPESIM_ERROR_LIMIT. */
gboolean pipesim_schedule_shape(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, PipesimShape *shape, GError **error);

/** pipesim_schedule_stages_per_rank: different stages that a rank has in @scenario. */
guint pipesim_schedule_stages_per_rank(
	const PipesimSchedule *schedule, const PipesimScenario *scenario);

/** pipesim_schedule_extension: how a run at @shape goes beyond what the authors describe, or
 * NULL. */
const char *pipesim_schedule_extension(
	const PipesimSchedule *schedule, const PipesimShape *shape);

/** pipesim_schedule_order: the order at @shape; of a search what it finds itself.
 * @times: of @shape; what schedules with a plan go by, and copies to the host; others do not
 *   look. NULL: without copies
 * Errors as pipesim_order_generate(), and those of a plan (message begins "NAME: "). */
PipesimOrder *pipesim_schedule_order(const PipesimSchedule *schedule, const PipesimShape *shape,
	const PipesimTimes *times, GError **error);
