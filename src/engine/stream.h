/* Orders with loops, simulated in memory that does not grow with micro-batches: ranks pass each
 * other times, no op is kept. */
#pragma once
#include "engine/timeline.h"
#include "order/order.h"

/* What repeats in the longest loops of an order. */
typedef struct {
	gboolean found;
	guint64 transient; /* micro-batches of the step before what repeats begins, at most */
	guint64 period;    /* micro-batches of one repetition */
	gint64 time;       /* that it takes, ns */
	guint64 leapt;     /* passes that were not simulated one by one */
} PipesimSteady;

/* Arrays have one element a rank; times in ns. */
typedef struct {
	guint ranks;
	guint64 n_ops;
	gint64 makespan;
	gint64 *busy, *first_start, *last_end;
	PipesimSteady steady;
} PipesimStream;

typedef enum {
	PIPESIM_STREAM_ALL,  /* every op is simulated */
	PIPESIM_STREAM_LEAP, /* what repeats exactly is simulated once and multiplied */
} PipesimStreamMode;

/** pipesim_stream_takes: whether @order can be streamed: it counts its micro-batches, backwards
 * all one way. */
gboolean pipesim_stream_takes(const PipesimOrder *order);

/**
 * pipesim_stream_run: the same times as pipesim_fast_run() of the expanded @order has.
 *
 * Memory: O(ranks * chunks + verbs of @order + messages on their way). PIPESIM_STREAM_LEAP is
 * exact too. A superstep adds the same number of rounds to the longest loop of every rank. It
 * maps times to times by sums and largest values only. Where a state is an earlier one with a
 * constant added to all times of a rank, the superstep is run once more with growth rates
 * beside times: rates that reproduce themselves, and no largest value of which a smaller one
 * grows faster, prove that everything goes on so; and a smaller one that grows faster says
 * until when.
 *
 * Returns: (transfer full): NULL with PIPESIM_ERROR_CONSTRAINT where @order cannot be streamed
 *   (it names micro-batches), PIPESIM_ERROR_INCOMPLETE, PIPESIM_ERROR_DEADLOCK, or
 *   PIPESIM_ERROR_LIMIT where memory does not suffice or times could pass 2^62 ns: checked
 *   before the run.
 */
PipesimStream *pipesim_stream_run(const PipesimOrder *order, const PipesimTimes *times,
	PipesimStreamMode mode, GError **error);
/** pipesim_stream_new: of @ranks ranks that do nothing. */
PipesimStream *pipesim_stream_new(guint ranks, guint64 n_ops);
void pipesim_stream_free(PipesimStream *stream);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(PipesimStream, pipesim_stream_free)
