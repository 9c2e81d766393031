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
	PIPESIM_ERROR_PARSE,      /* correct that file; the message begins path:line:column: if
				     there is such a place */
	PIPESIM_ERROR_USAGE,      /* correct the option or name that the message quotes */
	PIPESIM_ERROR_CONSTRAINT, /* the schedule refuses this shape; the message names another
				   */
	PIPESIM_ERROR_INCOMPLETE, /* an op is missing or appears twice */
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
} PipesimKind; /* of an op that ran also a number from PIPESIM_N_KINDS on: recomputation, copies, passes of the vocabulary */

/** pipesim_kind_name: the word of @kind in schedule files: "F", "R", "OFFLOAD_START"; NULL from the first number on that is none. */
PIPESIM_API const char *pipesim_kind_name(guint kind);

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

/**
 * pipesim_costs_read: a costs file, as `pipesim calibrate` writes it, at @path ("-" = standard
 * input).
 *
 * F, I and W must be there; what else is missing follows: B = I + W, FB = F + B, the rest
 * unknown. A group or key that is not of the format is refused, so that a misspelt one is not
 * passed over.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_PARSE ("path:line:column: [group] key:
 * ..."), PIPESIM_ERROR_LIMIT for a file that is too large, or G_FILE_ERROR or G_IO_ERROR.
 */
PIPESIM_API PipesimCosts *pipesim_costs_read(const char *path, GError **error);

/**
 * pipesim_costs_set_bytes: of one rank's whole share of the model; 0 = unknown.
 * @until_input, @until_weight: activations of one micro-batch that are freed with the backward for
 *   input, and with the weight gradient
 * @parameters: parameters, gradients and optimizer state of one copy
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE where one is negative.
 */
PIPESIM_API gboolean pipesim_costs_set_bytes(PipesimCosts *costs, gint64 until_input,
	gint64 until_weight, gint64 parameters, GError **error);

/* What is to be simulated ------------------------------------------------------------------ */

/* Built up call by call, by one thread at a time, and run as often as one likes. */
typedef struct _PipesimSetup PipesimSetup;

/* At least this much. */
typedef enum {
	PIPESIM_WANT_FIGURES,  /* of ranks: memory need not grow with micro-batches */
	PIPESIM_WANT_OPS,      /* and when each op ran */
	PIPESIM_WANT_MESSAGES, /* and when each message moved, over a network too */
} PipesimWant;

/** pipesim_setup_new: nothing asked for yet. For pipesim_setup_free(). */
PIPESIM_API PipesimSetup *pipesim_setup_new(void);
PIPESIM_API void pipesim_setup_free(PipesimSetup *setup);

/**
 * pipesim_setup_set: asks for what an option of `pipesim compare` asks for (the manual has each):
 * shape (pp, microbatches, chunks, group, pipelines, max-activations), times and bytes (times,
 * model-times, stage-times, costs, trace, activation-bytes, memory-limit and so on), links
 * (message-bytes, topology and so on), runtime, the one by whose rules messages wait, and
 * compare-at. A run needs pp and microbatches.
 * @option: "pp" or "--pp"
 * @value: (nullable): as the program takes it: bare times are ms; "" for an option without a value, as
 *   pairs; NULL: no longer asked for. Of options that may be repeated, trace, one more.
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE where no such option is, or where @value means nothing by
 *   itself; what goes by costs and files is read by pipesim_setup_run(). @setup is then unchanged.
 */
PIPESIM_API gboolean pipesim_setup_set(
	PipesimSetup *setup, const char *option, const char *value, GError **error);

/** pipesim_setup_set_costs: costs to start from, copied, where neither "costs" nor "trace" is asked
 * for; other options change them as they change those of a file. NULL: none again. */
PIPESIM_API void pipesim_setup_set_costs(PipesimSetup *setup, const PipesimCosts *costs);

/**
 * pipesim_setup_set_stages: as "stage-times", from memory: what @n equal parts of the whole model
 * take for one micro-batch, ns, in place of F, I and W of the costs. @n 0: no longer.
 * @forward, @input, @weight: (array length=n): copied
 *
 * Returns: FALSE with PIPESIM_ERROR_USAGE for a time that is negative or too large to add up.
 */
PIPESIM_API gboolean pipesim_setup_set_stages(PipesimSetup *setup, guint n,
	const gint64 *forward, const gint64 *input, const gint64 *weight, GError **error);

/* One simulated schedule ------------------------------------------------------------------- */

typedef struct _PipesimRun PipesimRun;

/**
 * pipesim_setup_run: runs one schedule as @setup asks for.
 * @schedule: the name or alias of a built-in one, or the path of a file of op orders in PyTorch's
 *   format: with a slash, or ending in .csv or .csv.gz
 * @want: PIPESIM_WANT_OPS and more: PIPESIM_ERROR_LIMIT where there are too many to keep
 *
 * Returns: (transfer full): for pipesim_run_free(), of its own: @setup may be changed or freed. NULL
 *   with PIPESIM_ERROR_USAGE for options that are missing, contradict each other or change nothing
 *   about @schedule; PIPESIM_ERROR_PARSE, PIPESIM_ERROR_INCOMPLETE, PIPESIM_ERROR_DEADLOCK,
 *   G_FILE_ERROR or G_IO_ERROR for a file; else as pipesim_simulate().
 */
PIPESIM_API PipesimRun *pipesim_setup_run(
	PipesimSetup *setup, const char *schedule, PipesimWant want, GError **error);

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
/** pipesim_run_bubble: makespan minus the busy time of @rank, ns; @rank < ranks. */
PIPESIM_API gint64 pipesim_run_bubble(const PipesimRun *run, guint rank);
/** pipesim_run_peak_activations: most activations held at once on @rank until their weight
 * gradient is done, in units of one whole-stage activation. */
PIPESIM_API double pipesim_run_peak_activations(const PipesimRun *run, guint rank);
/** pipesim_run_peak_bytes: most bytes of activations and parameters held at once on @rank; -1 where
 * the costs have no bytes. */
PIPESIM_API gint64 pipesim_run_peak_bytes(const PipesimRun *run, guint rank);
/** pipesim_run_fits: whether every rank stays within the memory limit; TRUE without one. */
PIPESIM_API gboolean pipesim_run_fits(const PipesimRun *run);
/** pipesim_run_waiting: how long @rank stands still for messages that could have been there, but
 * wait for each other, ns; 0 where none do. */
PIPESIM_API gint64 pipesim_run_waiting(const PipesimRun *run, guint rank);

/** pipesim_run_ranks, pipesim_run_stages, pipesim_run_microbatches: what it ran on: of a file what
 * the file says; of a schedule that halves micro-batches its halves. */
PIPESIM_API guint pipesim_run_ranks(const PipesimRun *run);
PIPESIM_API guint pipesim_run_stages(const PipesimRun *run);
PIPESIM_API guint pipesim_run_microbatches(const PipesimRun *run);
/** pipesim_run_runtime: by whose rules messages waited: "async" where they did not. */
PIPESIM_API const char *pipesim_run_runtime(const PipesimRun *run);

/* When one op of a rank ran. */
typedef struct {
	PipesimKind kind; /* pipesim_kind_name() has all */
	guint stage,
		microbatch; /* of a pair: of its forward half; where the whole rank runs it, as passes of the
				    vocabulary, stage is the rank */
	guint b_stage, b_microbatch; /* of a pair: of its backward half; else 0 */
	guint slice;                 /* of the micro-batch's sequence; 0 where it is not cut */
	gint64 start, end;           /* ns from the start of the step */
} PipesimRunOp;

/** pipesim_run_n_ops: how many ops @rank ran; 0 where they were not wanted. */
PIPESIM_API guint pipesim_run_n_ops(const PipesimRun *run, guint rank);
/** pipesim_run_op: op @index of @rank, in the order in which they ran, into @op. */
PIPESIM_API void pipesim_run_op(
	const PipesimRun *run, guint rank, guint index, PipesimRunOp *op);
/** pipesim_run_ops: all ops of @rank into @ops, which has room for pipesim_run_n_ops(). */
PIPESIM_API void pipesim_run_ops(const PipesimRun *run, guint rank, PipesimRunOp *ops);

/* A message between two ranks. Times in ns from the start of the step. */
typedef struct {
	guint from_rank, from_op; /* whose result it is: pipesim_run_op() */
	guint to_rank, to_op;     /* and which needs it */
	gboolean backward;        /* a gradient, not an activation */
	gint64 sent, received;    /* when its two ends were issued */
	gint64 start, end;        /* it moves from here to there */
} PipesimRunMessage;

/** pipesim_run_n_messages: how many messages between ranks are known one by one: those that were
 * wanted and wait for each other or take links; others arrive P2P after their op. */
PIPESIM_API guint pipesim_run_n_messages(const PipesimRun *run);
PIPESIM_API void pipesim_run_message(
	const PipesimRun *run, guint index, PipesimRunMessage *message);

/** pipesim_run_order: the op order as a schedule file that pipesim_setup_run() and PyTorch read; for
 * g_free(). NULL where ops were not wanted. */
PIPESIM_API char *pipesim_run_order(const PipesimRun *run);

/* One schedule at many costs --------------------------------------------------------------- */

typedef struct _PipesimWhatif PipesimWhatif;

/* What one run came to, ns. */
typedef struct {
	gint64 makespan; /* from the first start to the last end */
	gint64 max_idle; /* makespan minus busy time of the rank where that is largest */
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
 * pipesim_whatif_run: @n runs, each at its own costs, of which sustained times count alone (docs/metrics.md), the same nanoseconds as of
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

/* Any command ----------------------------------------------------------------------------- */

typedef enum {
	PIPESIM_TOLD_OUTPUT,   /* a piece of the output, as soon as it is there */
	PIPESIM_TOLD_PROGRESS, /* how far the work is, one line; several times a second at most */
} PipesimTold;

/** PipesimTell: called on the thread that called pipesim_call(). Returns FALSE to stop: sweeps, searches and plans then end
 * with what they have. */
typedef gboolean (*PipesimTell)(PipesimTold what, const char *text, gpointer data);

/* What a command said. */
typedef struct _PipesimAnswer PipesimAnswer;

/**
 * pipesim_call: runs what `pipesim ARGUMENTS` would run, in this process: `compare --pp 8 --microbatches 20 --format json` gives
 * what the program prints, to the byte. Nothing is printed, no signal is handled, MPI is not used; files that
 * options name are read and written, and "-" as an input is standard input. May be called by several threads at once.
 * @arguments: (array zero-terminated=1): as the program takes them, without its name
 * @tell: (nullable): gets the output in pieces, which the answer then does not have, and progress
 * @data: for @tell
 *
 * Returns: (transfer full): for pipesim_answer_free(). NULL with the error that the program would print.
 */
PIPESIM_API PipesimAnswer *pipesim_call(
	const char *const *arguments, PipesimTell tell, gpointer data, GError **error);
PIPESIM_API void pipesim_answer_free(PipesimAnswer *answer);
/** pipesim_answer_status: the program's exit status: 0; 1 where the answer is no, as of a plan that does not fit or a schedule
 * file that would hang; 130 where @tell stopped it. */
PIPESIM_API int pipesim_answer_status(const PipesimAnswer *answer);
/** pipesim_answer_output: what the program writes to standard output; @length (out) (nullable): its bytes. */
PIPESIM_API const char *pipesim_answer_output(const PipesimAnswer *answer, gsize *length);
/** pipesim_answer_said: what it writes to standard error, in lines: notices, and the faults of files. */
PIPESIM_API const char *pipesim_answer_said(const PipesimAnswer *answer);

/** pipesim_error_status: the program's exit status for @error: 2 usage, 3 input, 4 another program, 5 output. */
PIPESIM_API int pipesim_error_status(const GError *error);

/** pipesim_error_free, pipesim_free: g_error_free() and g_free(), for callers that have no GLib beside the one in this library.
 */
PIPESIM_API void pipesim_error_free(GError *error);
PIPESIM_API void pipesim_free(gpointer memory);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimAnswer, pipesim_answer_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimWhatif, pipesim_whatif_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimCosts, pipesim_costs_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimSetup, pipesim_setup_free)
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimRun, pipesim_run_free)

G_END_DECLS
