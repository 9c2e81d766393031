/* What a deal is made of, for what searches and bounds it. */
#pragma once
#include "optimize/microbatches.h"

/* An op, after all that it waits for. */
typedef struct {
	guint32 before, input[2]; /* on its rank, and of other stages; n: nothing */
	gint64 lag[2];
	guint32 place;       /* of its micro-batch in the schedule */
	const gint64 *takes; /* by micro-batch, PIPESIM_FB apart */
} PipesimDealOp;

struct _PipesimDeal {
	guint n, m; /* ops, micro-batches */
	PipesimDealOp *ops;
	/* [(rank * chunks + chunk) * (m + 1) + microbatch]: by kind, with what slow ranks take more; behind the last
	 * micro-batch what is usual. */
	gint64 *each;
	guint lanes;
	gint64 *took;   /* [op] */
	gint64 *end;    /* [op]; behind the last 0, for what waits for nothing */
	gint64 *weight; /* [micro-batch]: all its ops together */
};

/* The paths so far: [place * columns + i]: what the i-th micro-batch of @batch adds to them there; and what
 * messages do. */
typedef struct {
	PipesimDeal *deal;
	const guint *batch;
	guint columns;
	gint64 *cost;
	gint64 lag;
	guint n;
} PipesimPaths;

/** pipesim_deal_relax: the end of the last op where each takes @took and a message as many times as long as usual. */
gint64 pipesim_deal_relax(PipesimDeal *deal, const gint64 *took, gint64 times);

/** pipesim_paths_add: the longest path of the last run; ops took @took, messages @times as long as usual. */
void pipesim_paths_add(PipesimPaths *paths, const gint64 *took, gint64 times);

/** pipesim_order_move: exchanges two of @order, or moves one to another place and those between by one. */
void pipesim_order_move(guint *order, guint from, guint to, gboolean swap);
