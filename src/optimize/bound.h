/* What no order of an instance is shorter than, with the proof.
 *
 * A proof is a list of steps. Each says of some op, or of the n-th op of a kind on a rank whichever
 * that is, that it cannot start before a time; or, of those that look backwards, that so much time
 * must follow its end. It follows from steps before it by one of five rules:
 *
 *   message   what it waits for on another rank (or its own) starts no earlier, runs, and its
 *             message takes its time
 *   rank      ops of its rank that must come before it, all of which start no earlier than some
 *             time, run one after the other: that time and what they take. Which come before it:
 *             its own stages' ops of the same micro-batch, those of the same kind before, and what
 *             the memory limit asks to be given back before one more forward has room. As many of
 *             them as can be run in overlapped pairs, which take less
 *   any       the n-th op of a kind: fewer than n of the chunks' ops can start before
 *   member    an op of a chunk before which n - 1 of its kind must have run is the n-th or later
 *   turn      by PyTorch's queues: while a rank runs forwards of one chunk alone, each stands behind the one before
 *             it, whose message leaves first, and its own message then comes
 *
 * In a pair F takes all of its time, I begins with it and W ends with it: no op takes less than
 * PipesimInstance.least, and what they take together is less by PipesimInstance.saved.
 *
 * The last step is the bound itself, by one of two rules:
 *
 *   work      ops of one rank, none of which starts before a time and all of which leave another
 *             behind their end, run one after the other, or in pairs, in between
 *   passing   with one stage a rank: so many micro-batches are on their way at a time, of any two the
 *             earlier one's backward passes the later one's forward somewhere, and wherever they do
 *             some rank is not done before (bound-passing.h)
 *   room      what a rank must hold, for as long as it must, does not fit below its limit in less
 *   queue     nor do the messages that go by a rank's queue (both bound-flow.h)
 *   only      the runtime runs one order alone, which takes so long (PipesimRuntime.only) */
#pragma once
#include "order/instance.h"

typedef enum {
	PIPESIM_BY_NOTHING, /* 0 */
	PIPESIM_BY_MESSAGE,
	PIPESIM_BY_RANK,
	PIPESIM_BY_ANY,
	PIPESIM_BY_MEMBER,
	PIPESIM_BY_TURN,
	PIPESIM_BY_WORK,    /* the bound */
	PIPESIM_BY_PASSING, /* the bound too, as those below */
	PIPESIM_BY_ROOM,
	PIPESIM_BY_QUEUE,
	PIPESIM_BY_ONLY,
} PipesimBoundRule;

/** pipesim_bound_rule_is_last: whether the bound itself follows by @rule. */
static inline gboolean pipesim_bound_rule_is_last(PipesimBoundRule rule)
{
	return rule >= PIPESIM_BY_WORK;
}

#define PIPESIM_ANY_CHUNK G_MAXUINT32

/* Some ops of a rank: of a kind, from the @first to the @last of them, from 1 on; counted from
 * the end in steps that look backwards, and from the start in the bound. */
typedef struct {
	guint kind;  /* PIPESIM_CODE_F ... */
	guint chunk; /* PIPESIM_ANY_CHUNK: of all chunks of the rank together */
	guint first, last;
	gint64 time; /* that they take at least, together, with messages of a turn, ns; of passing: what the step says */
	/* The step that says so much of the first of them; of the bound also the step that says what
	 * follows the last of them; of passing that of backwards. */
	guint32 step, after;
} PipesimBoundOps;

typedef struct {
	PipesimBoundRule rule;
	gboolean back; /* looks backwards */
	guint rank;
	/* The op, as above; not of work. Of passing: before F k + n of the rank the k-th of this kind has run. */
	guint kind, chunk, n;
	gint64 time; /* what it says, ns */
	/* Of rank and work: that all of the ops have at least; of passing: that F starts after I at least; of queue: that
	 * comes before all messages; of room: for how long so much of the limit can be held in less than the bound, ns. */
	gint64 from;
	/* Of work: what follows all of them; of queue: of the messages; of room: for how long it must be held, ns. */
	gint64 until;
	/* Of rank and work: what pairs save of them at most; of room: what pairs of all ranks must save then, ns. */
	gint64 saved;
	guint32 step;           /* of message, member and turn: the step that it follows from */
	guint first_ops, n_ops; /* of rank, any, turn and both bounds: in PipesimBound.ops */
} PipesimBoundStep;

typedef struct {
	gint64 time; /* the bound, ns */
	GArray *steps; /* of PipesimBoundStep; each follows from those before it; the last is the bound */
	GArray *ops; /* of PipesimBoundOps */
} PipesimBound;

/* How long to go on: asked now and then. */
typedef struct {
	gint64 deadline;                  /* g_get_monotonic_time() at which it ends; 0: none */
	gboolean rough;                   /* one look at each op is enough */
	gboolean (*go_on)(gpointer data); /* (nullable) */
	gpointer data;
} PipesimBoundUntil;

static inline gboolean pipesim_bound_is_late(const PipesimBoundUntil *until)
{
	return until != NULL &&
	       ((until->deadline > 0 && g_get_monotonic_time() >= until->deadline) ||
		       (until->go_on != NULL && !until->go_on(until->data)));
}

/** pipesim_bound_new: the best bound that these rules give.
 * @explain: the steps are wanted; else both arrays are empty
 * @until: (nullable): what is known by then is a bound too, if maybe a lower one
 * Returns: (transfer full): NULL with PIPESIM_ERROR_LIMIT where memory does not suffice. */
PipesimBound *pipesim_bound_new(const PipesimInstance *instance, gboolean explain,
	const PipesimBoundUntil *until, GError **error);

/** pipesim_bound_period: of steps that follow each other without a barrier: no period of an order is shorter, ns.
 * @between: by rank, the optimizer, ns */
gint64 pipesim_bound_period(const PipesimInstance *instance, const gint64 *between);

/** pipesim_bound_bare: the time of @bound alone. */
PipesimBound *pipesim_bound_bare(const PipesimBound *bound);
PIPESIM_FREED(PipesimBound, pipesim_bound_free)

/** pipesim_bound_print: the proof in words, a line or two a step. */
void pipesim_bound_print(
	const PipesimBound *bound, const PipesimInstance *instance, GString *out);
