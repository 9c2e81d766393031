/* Bounds by how micro-batches pass each other, found another way: all orders of forwards and backwards are gone
 * through, with longest paths. */
#pragma once
#include "order/instance.h"

typedef struct {
	const PipesimInstance *x; /* one stage a rank */
	guint flight;             /* forward k + flight of rank 0 waits for backward k */
	gint64 wait; /* and so long for other I and W, each one more W than the one before, ns */
	const gint64 *starts, *after; /* [count]: of forwards and backwards of rank 0 */
	gint64 time;
} PassingClaim;

typedef enum {
	PASSING_HOLDS,
	PASSING_FAILS,
	PASSING_UNKNOWN, /* too many orders */
} PassingAnswer;

/** passing_check: whether all orders take @time. */
PassingAnswer passing_check(const PassingClaim *claim);
