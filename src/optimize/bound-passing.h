/* What micro-batches that pass each other cost, with one stage a rank. Private to the bound.
 *
 * Forwards go down the ranks, backwards come up. With room for A activations forward k + A of rank 0 waits
 * for backward k there, and for its weight gradient; until then others begin. Of two on their way, the
 * earlier one's backward must pass the later one's forward: for some n, of the ops of both that a rank runs,
 * the forward is first on the n first ranks and the backward on the others. Then
 *
 *   the backward k reaches rank n - 1 no earlier than the end of forward j there, and
 *   the forward j reaches rank n no earlier than the end of backward k there.
 *
 * Or some rank runs both as an overlapped pair: it starts when both are there, and either takes all of the pair.
 *
 * Seen from their starts on rank 0, with what a trip takes without waits taken off, each of two that pass has
 * a delay; unless the difference of both is one of those that belong to some n, one of them waits until it
 * is, and what it waits counts for all that it has yet to pass. Trips end in the order in which they began. So
 * one may take backwards one after the other, the first on its way first, and let it pass all the others: at each
 * there are two ways that are no worse than all others (the largest n at which the forward does not wait, and
 * one less), besides a pair on each of the ranks, and of what delays are left only those are kept that no other is at
 * least as good as throughout. The least of what all ways come to is a bound.
 *
 * What a forward waits for besides: let I free a part of what is held, W the rest, r; and after forward k + A starts let k + 1 + e
 * backwards be over, so that A - e micro-batches are held whole, and those whose W has not run have room for s of r: then
 * k + 1 + e - s of W have run. All these ops of rank 0 but k of each kind come after backward k, so the forward starts no earlier
 * than e I + (1 + e - s) W after it; the least of all e is the wait. Of later ones as many more forwards, I and W lie between.
 *
 * Why what each has waited may be carried from one passing to the next: where the next is further along its
 * trip, it has waited already. Where two follow each other at the same n the second one is behind the first on
 * the rank before, and so no earlier than it would be. What a pair takes longer is waited on its own rank, and all that
 * either passes after it lies further along. */
#pragma once
#include "optimize/bound-needs.h"

typedef struct {
	const PipesimInstance *x;
	guint flight;    /* backward k is over before forward k + flight of rank 0 begins */
	gboolean weight; /* so is its weight gradient */
	/* How long after backward k forward k + flight can start, where either is waited for that gives back enough, ns; if
	 * that is more than 0 each further forward waits for one more weight gradient. */
	gint64 wait;
	/* [count]: of rank 0: when forwards start, and what follows the end of backwards, at least, ns */
	const gint64 *starts, *after;
	const PipesimBoundUntil *until; /* (nullable) */
} PipesimPassing;

/** pipesim_passing_find: sets all but @starts and @after, of @needs that look forwards. FALSE where stages lie otherwise, where no forward waits for a
 * backward, or where the ranks' work says more. */
gboolean pipesim_passing_find(PipesimPassing *passing, const PipesimNeeds *needs);

/** pipesim_passing_time: what no order is shorter than, ns. Where there are too many ways, some are taken together
 * and count as no longer than the shortest of them. */
gint64 pipesim_passing_time(const PipesimPassing *passing);
