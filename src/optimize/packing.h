/* Which sequences share a micro-batch, and in which order these run, where the schedule is fixed. A micro-batch takes its share
 * of the times given, on every stage alike. */
#pragma once
#include "optimize/microbatches.h"

/* Most sequences all of whose packings are looked at, and most that are packed. */
#define PIPESIM_PACKED_EXACT 8
#define PIPESIM_MAX_PACKED   256

typedef struct {
	guint n;
	const gint64 *tokens; /* of each, 1 to limit */
	gint64 limit;         /* of a micro-batch */
	/* Of a micro-batch: c + the sum of b x + a x^2 over its sequences; of which @whole takes the times given. */
	PipesimSliceTimes cost;
	double whole;
} PipesimSequences;

typedef enum {
	PIPESIM_PACK_ALONE,     /* each sequence a micro-batch */
	PIPESIM_PACK_FIRST_FIT, /* into the first micro-batch with room, as given */
	PIPESIM_PACK_SORTED,    /* the same, longest first */
	/* As many as the tokens need, or more until all fit: the largest differencing method (Karmarkar and Karp, 1982) by
	 * cost; the longest in the middle. verl does so. */
	PIPESIM_PACK_BALANCED,
	PIPESIM_N_PACK_RULES,
} PipesimPackRule;

/** pipesim_pack_rule_names: "alone", "first-fit", "sorted-first-fit", "balanced". */
extern const char *const pipesim_pack_rule_names[PIPESIM_N_PACK_RULES];

/** pipesim_pack_fewest: micro-batches that the tokens need: none has fewer. */
guint pipesim_pack_fewest(const PipesimSequences *of);

/** pipesim_pack_arrange: puts into @place, [n], which micro-batch each sequence is in, in the order in which they run.
 * @m: how many balanced ones are tried first, 0 = the fewest
 *
 * Returns: how many there are. */
guint pipesim_pack_arrange(
	const PipesimSequences *of, PipesimPackRule rule, guint m, guint *place);

/** pipesim_pack_run: the makespan of @deal with what @place says, ns; it has as many micro-batches. */
gint64 pipesim_pack_run(PipesimDeal *deal, const PipesimSequences *of, const guint *place);

/** pipesim_pack_search: the best packing into the micro-batches of @deal, into @place: all of
 * up to PIPESIM_PACKED_EXACT sequences are looked at, unless there are hardly any moves, and of
 * more as many as @moves.
 * @all: (out): whether all were
 * Returns: its makespan, ns; G_MAXINT64 where none was found. */
gint64 pipesim_pack_search(PipesimDeal *deal, const PipesimSequences *of, guint64 moves,
	guint64 seed, guint *place, gboolean *all);

/**
 * pipesim_pack_bound: what no packing into the micro-batches of @deal is shorter than, ns, or @makespan where that is less: the least
 * over all places that the longest sequence may have, unless there are too many for @work. As with pipesim_deal_bound() the length of an average of paths is a sum over
 * places of what stands there. Of a packing these things hold: the place of the longest sequence has no less than that, no other
 * less than the cheapest, none more than as many tokens as there is room for of those that cost most, and all together what
 * all sequences cost. Of all that is so shared out, whole sequences or not, the least sum has in the places where it counts
 * least as much as may be there: no packing has a smaller one.
 * @work: ops of paths that are looked at, about */
gint64 pipesim_pack_bound(
	PipesimDeal *deal, const PipesimSequences *of, gint64 makespan, guint64 work);
