/* The search within one limit alone. */
#pragma once
#include "optimize/search.h"

/* Orders of more ops are long: each time that one is gone through is felt. */
#define PIPESIM_SEARCH_LONG (1u << 17)

/** pipesim_search_within: as pipesim_search(), but nothing is looked for within tighter limits.
 * @bound: (transfer full) (nullable): of the instance, where it is known */
PipesimFound *pipesim_search_within(
	const PipesimSearchOf *of, PipesimBound *bound, GError **error);

/** pipesim_search_bound: of @instance, for which there is no more than a part of the time of @of. NULL with
 * PIPESIM_ERROR_LIMIT where memory does not suffice.
 * @rough: maybe a lower one, in less time */
PipesimBound *pipesim_search_bound(const PipesimSearchOf *of, const PipesimInstance *instance,
	gboolean rough, GError **error);

/** pipesim_search_instance: what orders are sought for, for pipesim_instance_free(). NULL with errors as
 * pipesim_instance_new(), or of the shape. */
PipesimInstance *pipesim_search_instance(const PipesimSearchOf *of, GError **error);

/** pipesim_search_has_shape: whether @program is of @shape, its stages where that has them. */
gboolean pipesim_search_has_shape(const PipesimShape *shape, const PipesimProgram *program);

/** pipesim_search_sort: @starts, as of PipesimFound, the shortest first. */
void pipesim_search_sort(const PipesimSearchOf *of, GPtrArray *starts);
