/* Zero-bubble search: the order of F, I and W on every rank of a plain pipeline that idles
 * least within a limit of memory, with a bound that no order is below. */
#pragma once
#include "order/instance.h"

typedef struct {
	/* Codes of each rank in turn: per_rank of the instance; of each kind micro-batches ascend. */
	guint8 *order;
	gint64 span;     /* longest time between a rank's first start and its last end, ns */
	gint64 makespan; /* ns */
	/* What no order within the limit is below: found from the first round trip, the last
	 * one, and the memory that every micro-batch takes for the time of its own. Where span
	 * and makespan are these, the order is the best there is. */
	gint64 span_bound, makespan_bound;
} PipesimZbResult;

/**
 * pipesim_zb_search: tries the rules of the zero-bubble authors' search, then others, and keeps
 * an order of theirs unless another is better in span or makespan and worse in neither. Does so
 * within the limit and, from the highest down, within tighter ones, and keeps the shortest makespan, or the shortest
 * span: more memory makes it no longer, but where many rungs promise a shorter one and the effort ends. Stops when the bounds are reached, or after an effort that
 * depends on the number of ops alone: the same input gives the same order everywhere.
 * @instance: one chunk a rank, rank r holding stage r, limited in activations; its limits change. Below what 1F1B holds
 *   orders are put together anew by its times
 * @by_span: steps follow each other without a barrier
 *
 * Returns: FALSE with PIPESIM_ERROR_LIMIT where memory does not suffice. The order lives in @arena.
 */
gboolean pipesim_zb_search(PipesimArena *arena, PipesimInstance *instance, gboolean by_span,
	PipesimZbResult *result, GError **error);
