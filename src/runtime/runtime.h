/* Runtimes: who issues sends and receives, in which order, and what waits for what. One file a
 * runtime and its line in list.h; what users ask for with --runtime, and what the schedules name. */
#pragma once
#include "runtime/lists.h"

/* What may be asked of a runtime: the fields of PipesimIssuing. Above what schedules take
 * (PipesimTakes), so that both go into one number. */
typedef enum {
	PIPESIM_ASK_COMMUNICATORS = 1 << 16,
	PIPESIM_ASK_ACTIVE_STAGES = 1 << 17,
	PIPESIM_ASK_AHEAD = 1 << 18,
	PIPESIM_ASK_DEFER_REDUCE_WAIT = 1 << 19,
	PIPESIM_ASK_DEFER_RECV = 1 << 20,
	PIPESIM_ASK_MAX_SENDS = 1 << 21,
	PIPESIM_ASK_NO_OVERLAP = 1 << 22,
	PIPESIM_ASK_OVERLAP_FLUSH = 1 << 23,
	PIPESIM_ASK_KEEP_OUTPUTS = 1 << 24,
	PIPESIM_ASK_NO_HOST_SYNC = 1 << 25,
	PIPESIM_ASK_HOST_TIME = 1 << 26,
	PIPESIM_ASK_DELAY_WGRAD = 1 << 28,
	PIPESIM_ASK_SHARDING = 1 << 27, /* of the costs: what FSDP does to stages */
} PipesimAsks;

/* How long a gradient stays that was sent: a variable, a list or a buffer of the runtime has it. */
typedef enum {
	PIPESIM_SENT_WAITED, /* until the list waits for it */
	PIPESIM_SENT_NEXT, /* until the rank's next backward has run, too, whose gradient takes its place */
	PIPESIM_SENT_BUFFER, /* it goes when it is sent; that of a split backward stays with the buffer of the
				input that it is of, to the end of the step */
} PipesimSent;

/* What stands between two ops of a rank: what the first one sends, then what the second one needs, each waited for where
 * it is needed. */
typedef enum {
	PIPESIM_BETWEEN_MORE, /* something else, or not everywhere */
	/* Of a forward and a backward both go as one, of others one by one. */
	PIPESIM_BETWEEN_PLAIN = 1 << 0,
	PIPESIM_BETWEEN_JOINED = 1 << 1, /* both always go as one */
	PIPESIM_BETWEEN_WAITED = 1 << 2, /* whatever comes behind waits for both */
	PIPESIM_BETWEEN_RUNS = 1 << 3,   /* something else, which runs to its end */
} PipesimBetween;

/** pipesim_op_turns: whether the direction turns between @last and the @next op of its rank. Forward after forward and
 * backward after backward send and receive one by one; where it turns, neighbours do so towards each other and must do
 * both at once: what it sends and what the next one receives, where there is both. */
static inline gboolean pipesim_op_turns(const PipesimOp *last, const PipesimOp *next)
{
	return (pipesim_op_has_forward(last) && pipesim_op_has_backward(next)) ||
	       (pipesim_op_has_backward(last) && pipesim_op_has_forward(next));
}

/* What is known of one order for all runtimes. */
typedef enum {
	PIPESIM_PROVEN_NONE, /* at first */
	/* It runs where messages go one by one and are all waited for. Each other rule lets things go sooner than that,
	 * never later: it runs by these too. */
	PIPESIM_PROVEN_RUNS,
	PIPESIM_PROVEN_HANGS, /* by that one */
	PIPESIM_PROVEN_LISTS, /* it is of another kind */
} PipesimProven;

struct _PipesimRuntime {
	const char *name;  /* after --runtime */
	const char *alias; /* the same; NULL: none */
	const char *rule;  /* what a rank does, for titles: no capital, no final stop */
	/* What is looked at under it where no schedule is named: names, a comma between them. */
	const char *schedules;
	gboolean runs_files;      /* PyTorch's: it runs an order of ops that a file has */
	gboolean waits_for_sends; /* its lists have a wait for every send */
	/* Messages wait for each other and their ranks by the rules of lowering.h. FALSE: a
	 * message moves as soon as its op is done, and its lists are written, never run. */
	gboolean waits;
	/* An overlapped pair runs as its forward and then its backward, with the sends of both
	 * behind it: PyTorch does so, unless told how to overlap them. */
	gboolean splits_pairs;
	gboolean runs_whole; /* it has no order with split backwards */
	/* Over several ranks with one stage each it runs the order of this schedule alone, whichever micro-batches come first;
	 * NULL: others too. */
	const PipesimSchedule *only;
	/* Every op waits for all groups that stand before it, whether it needs them or not. */
	gboolean waits_for_groups;
	/* What every micro-batch receives has a buffer for the whole step, and what is sent stays until its backward. */
	gboolean keeps_buffers;
	/* What a split backward for input has used stays until its weight gradient: the output, and the gradient received. */
	gboolean keeps_for_weight;
	PipesimSent gradients;
	/* Over two ranks what goes one way and what goes the other never share a queue, where messages
	 * of several chunks are issued one by one. */
	gboolean two_ways;
	guint takes; /* of PipesimAsks: what may be asked of it */
	PipesimCommunicators
		communicators; /* unasked; PIPESIM_COMMUNICATOR_OWN: as PIPESIM_COMMUNICATOR_RANK */
	/* Fills the lists of all ranks. FALSE with PIPESIM_ERROR_LIMIT. */
	gboolean (*lower)(PipesimLowerer *lowerer, GError **error);
	/* Of an order without pairs: what its lists hold, all of a rank in one queue; NULL: something else. */
	PipesimBetween (*between)(const PipesimProgram *program, const PipesimIssuing *issuing);
};

#define RUNTIME(id) extern const PipesimRuntime pipesim_runtime_##id;
#include "runtime/list.h"
#undef RUNTIME

/* Not in the list: as the runtime that the schedule comes from does it, which
 * pipesim_runtime_resolve() finds. */
extern const PipesimRuntime pipesim_native_runtime;

/* What runs a file that does not say how: PyTorch's multi-stage schedules. */
#define PIPESIM_RUNTIME_OF_FILES "pytorch-2.11"

/** pipesim_runtime_list: NULL-terminated, in the order of list.h. */
const PipesimRuntime *const *pipesim_runtime_list(void);

/** pipesim_runtime_find: the one called @name, or native. NULL with PIPESIM_ERROR_USAGE, whose
 * message begins with @what, where the name stands. */
const PipesimRuntime *pipesim_runtime_find(const char *name, const char *what, GError **error);

/** pipesim_runtime_resolve: @asked, NULL: async; where that is native the one called @own, NULL:
 * async. Never NULL or native. */
const PipesimRuntime *pipesim_runtime_resolve(const PipesimRuntime *asked, const char *own);

/** pipesim_runtime_asked: what is asked of @runtime (NULL: async) of what @issuing says: what it does not take
 * is left out, and its own communicators stand where none are asked for. */
PipesimIssuing pipesim_runtime_asked(
	const PipesimRuntime *runtime, const PipesimIssuing *issuing);

/** pipesim_runtime_names: whether @schedule is one of its schedules. */
gboolean pipesim_runtime_names(const PipesimRuntime *runtime, const char *schedule);

/** pipesim_runtime_waits: whether messages wait for each other under @runtime; NULL: async. */
static inline gboolean pipesim_runtime_waits(const PipesimRuntime *runtime)
{
	return runtime != NULL && runtime->waits;
}

/** pipesim_lower: derives the messages of @program, which must be linked and have passed
 * pipesim_program_check_order(), as @runtime issues them; not native.
 * @issuing: (nullable): what is asked of it; of that what @runtime takes
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT, or with PIPESIM_ERROR_CONSTRAINT
 * where @issuing cannot be followed. */
PipesimLowering *pipesim_lower(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, GError **error);

/** pipesim_runtime_runs: whether @program, as pipesim_lower() takes it, runs as @runtime issues it over the communicators of
 * @issuing, which pipesim_runtime_asked() gave: pipesim_lower() and pipesim_lowering_check(), where rules do not
 * settle it. Errors as of both; a deadlock without @locate need not name its cycle.
 * @proven: (inout): from one runtime to the next */
gboolean pipesim_runtime_runs(const PipesimProgram *program, const PipesimRuntime *runtime,
	const PipesimIssuing *issuing, PipesimProven *proven, PipesimLocate locate,
	gpointer data, GError **error);
