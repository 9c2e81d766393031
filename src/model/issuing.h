/* What a user may change of the way in which a runtime issues sends, receives and the rest.
 * Which runtime takes which of them its row says (runtime/runtime.h). */
#pragma once
#include "base/base.h"

/* Which messages of a rank share one queue: a communicator with its stream. */
typedef enum {
	PIPESIM_COMMUNICATOR_OWN,  /* as the runtime does it unasked */
	PIPESIM_COMMUNICATOR_RANK, /* all of them */
	PIPESIM_COMMUNICATOR_PAIR, /* those that go to or come from the same rank */
	PIPESIM_COMMUNICATOR_EDGE, /* those that go to the same rank, and those that come from the same */
} PipesimCommunicators;

/* How many stages ahead parameters are gathered. */
typedef enum {
	PIPESIM_AHEAD_FULL, /* as many as are kept */
	PIPESIM_AHEAD_AUTO, /* rank + 2, at most as many as are kept */
	PIPESIM_AHEAD_LIST, /* as said rank by rank */
} PipesimAhead;

/* Plain values: copied by assignment. All 0: as the runtime does it unasked. */
typedef struct {
	PipesimCommunicators communicators;
	guint active_stages; /* of a rank, whose parameters are kept gathered; 0 = 3 */
	PipesimAhead ahead;
	const guint32 *ahead_of;    /* by rank, for PIPESIM_AHEAD_LIST; the caller's */
	guint n_ahead;              /* entries of @ahead_of */
	gboolean defer_reduce_wait; /* a reduction is waited for as late as possible */
	gboolean defer_recv;        /* each receive stands right before the op that needs it */
	guint max_sends; /* of a rank that have not been waited for; 0 = any number */
	/* Of Megatron. */
	gboolean no_overlap;    /* what goes between two ops is one batch, waited for */
	gboolean overlap_flush; /* receives are one op ahead in warm-up and cool-down too */
	gboolean keep_outputs;  /* a forward's send is waited for one send later */
	gboolean no_host_sync;  /* the host does not wait for batches */
	gint64 delay_wgrad; /* of an overlapped pair: its last part, of its W, behind its sends, ns */
	gint64 host_time; /* from the end of a batch to the next op, where it does, ns */
} PipesimIssuing;

/** pipesim_communicators_name: "rank", "pair" or "edge"; "own" where nothing was asked. */
static inline const char *pipesim_communicators_name(PipesimCommunicators communicators)
{
	static const char *const names[] = {"own", "rank", "pair", "edge"};

	return names[communicators];
}
