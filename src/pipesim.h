/* libpipesim: simulate and analyse pipeline-parallel training schedules.
 *
 * Everything here is const in, one new object out, GError last. Objects are freed by the
 * function named after them; what is returned by a getter belongs to its parent. Time is int64
 * nanoseconds. */
#pragma once
#include <glib.h>

G_BEGIN_DECLS

#define PIPESIM_API __attribute__((visibility("default")))

/**
 * PIPESIM_ERROR: every failure of this library. The code says what the caller can do about it;
 * the message is one line, lower case, without final stop.
 */
#define PIPESIM_ERROR (pipesim_error_quark())
typedef enum {
	PIPESIM_ERROR_PARSE,      /* correct that file; the message begins path:line:column: */
	PIPESIM_ERROR_USAGE,      /* correct the option or name that the message quotes */
	PIPESIM_ERROR_CONSTRAINT, /* the schedule refuses this shape; the message names another
				   */
	PIPESIM_ERROR_INCOMPLETE, /* an op is missing or stands twice */
	PIPESIM_ERROR_DEADLOCK,   /* the order has a cycle, which the message shows op by op */
	PIPESIM_ERROR_LIMIT,      /* too large for this engine or this machine */
	PIPESIM_ERROR_EXTERNAL,   /* another program is missing or failed; the message has its
				     words */
	PIPESIM_ERROR_WRITE,      /* the result could not be written */
} PipesimErrorCode;
PIPESIM_API GQuark pipesim_error_quark(void);

/* What a rank does. The letters are PyTorch's: B is the full backward, I + W. */
typedef enum {
	PIPESIM_F,  /* forward */
	PIPESIM_I,  /* backward for input */
	PIPESIM_W,  /* backward for weights */
	PIPESIM_B,  /* full backward */
	PIPESIM_FB, /* a forward and a full backward of another micro-batch, overlapped */
	PIPESIM_N_KINDS,
} PipesimKind;

/* Largest ranks and micro-batches that an option takes; what fits in memory is less. */
#define PIPESIM_MAX_RANKS        (1u << 20)
#define PIPESIM_MAX_MICROBATCHES (1u << 30)

/* Schedules -------------------------------------------------------------------------------- */

typedef struct _PipesimSchedule PipesimSchedule;

/**
 * pipesim_schedule_find: the built-in schedule of that name or alias, in any case of letters.
 *
 * Returns: (transfer none): the schedule; NULL with PIPESIM_ERROR_USAGE, whose message suggests
 *   the nearest name, if there is none.
 */
PIPESIM_API const PipesimSchedule *pipesim_schedule_find(const char *name, GError **error);

/** pipesim_schedule_list: every built-in schedule, NULL-terminated, in the order of the table.
 */
PIPESIM_API const PipesimSchedule *const *pipesim_schedule_list(void);

/** pipesim_schedule_name: its canonical name. */
PIPESIM_API const char *pipesim_schedule_name(const PipesimSchedule *schedule);

/* Costs ------------------------------------------------------------------------------------ */

typedef struct _PipesimCosts PipesimCosts;

/**
 * pipesim_costs_new: times in ns of one rank's whole share of the model for one micro-batch.
 * @forward, @input, @weight: F, I, W
 * @overlapped: F&B, one overlapped forward and full backward; negative = F + I + W
 * @p2p: added to every dependency that crosses ranks
 *
 * Returns: (transfer full): for pipesim_costs_free(). NULL with PIPESIM_ERROR_USAGE where a
 * time is negative or one of F, I, W, P2P is too large to add up.
 */
PIPESIM_API PipesimCosts *pipesim_costs_new(gint64 forward, gint64 input, gint64 weight,
	gint64 overlapped, gint64 p2p, GError **error);
PIPESIM_API void pipesim_costs_free(PipesimCosts *costs);

/* One simulated schedule ------------------------------------------------------------------- */

typedef struct _PipesimRun PipesimRun;

/**
 * pipesim_simulate: runs @schedule over @ranks and @microbatches.
 *
 * Returns: (transfer full): for pipesim_run_free(). NULL with PIPESIM_ERROR_CONSTRAINT for a
 * shape that the schedule refuses, or PIPESIM_ERROR_LIMIT for one that is too large.
 */
PIPESIM_API PipesimRun *pipesim_simulate(const PipesimSchedule *schedule, guint ranks,
	guint microbatches, const PipesimCosts *costs, GError **error);
PIPESIM_API void pipesim_run_free(PipesimRun *run);

/** pipesim_run_makespan: from the first start to the last end, ns. */
PIPESIM_API gint64 pipesim_run_makespan(const PipesimRun *run);
/** pipesim_run_bubble: makespan less the busy time of @rank, ns; @rank < ranks. */
PIPESIM_API gint64 pipesim_run_bubble(const PipesimRun *run, guint rank);
/** pipesim_run_peak_activations: most activations held at once on @rank until their weight
 * gradient is done, in units of one whole-stage activation. */
PIPESIM_API double pipesim_run_peak_activations(const PipesimRun *run, guint rank);

/* One schedule at many costs --------------------------------------------------------------- */

typedef struct _PipesimWhatif PipesimWhatif;

/* What one run came to, ns. */
typedef struct {
	gint64 makespan; /* from the first start to the last end */
	gint64 max_idle; /* makespan less busy time of the rank where that is largest */
	gint64 idle;     /* the same of all ranks together */
} PipesimOutcome;

/**
 * pipesim_whatif_new: prepares @schedule over @ranks and @microbatches to be run at many costs.
 * @costs: what a schedule that searches for its order goes by; that order then stays
 *
 * Returns: (transfer full): for pipesim_whatif_free(). Errors as pipesim_simulate().
 */
PIPESIM_API PipesimWhatif *pipesim_whatif_new(const PipesimSchedule *schedule, guint ranks,
	guint microbatches, const PipesimCosts *costs, GError **error);
PIPESIM_API void pipesim_whatif_free(PipesimWhatif *whatif);

/**
 * pipesim_whatif_run: @n runs, each at its own costs, the same nanoseconds as of
 * pipesim_simulate() with that order. May be called by several threads at once.
 * @costs: (array length=n): may repeat
 * @threads: 1 = the calling one alone, 0 = one a core; changes nothing but the time it takes
 * @outcomes: (out caller-allocates) (array length=n)
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where one of them takes too long, or memory does not
 * suffice; @outcomes are then undefined.
 */
PIPESIM_API gboolean pipesim_whatif_run(const PipesimWhatif *whatif,
	const PipesimCosts *const *costs, gsize n, guint threads, PipesimOutcome *outcomes,
	GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimWhatif, pipesim_whatif_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimCosts, pipesim_costs_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimRun, pipesim_run_free)

G_END_DECLS
