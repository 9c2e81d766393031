/* Where the search of a long step begins: at the shortest units that are found, repeated. */
#pragma once
#include "order/instance.h"

typedef struct {
	const PipesimInstance *instance;
	guint64 seed;
	guint threads;   /* as in PipesimSearchOf: changes nothing else */
	guint64 visits;  /* of ops, of about 10 ns each; 0: only time counts */
	gint64 deadline; /* g_get_monotonic_time() at which it ends; 0: only visits count */
} PipesimUnitsOf;

/** pipesim_units: for each number of micro-batches that a unit may have, the order whose steps are the
 * shortest: codes as of pipesim_walk_begin(), that fit and have no cycle.
 * @looks: (out) (nullable): units that were looked at
 *
 * Returns: (transfer full): of guint8 *, maybe none. */
GPtrArray *pipesim_units(const PipesimUnitsOf *of, guint64 *looks);
