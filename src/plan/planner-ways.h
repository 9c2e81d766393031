/* The ways to train that a plan looks at, with bounds of each. Private to planner*.c. */
#pragma once
#include "plan/planner.h"

/* One training on so many ranks, and all schedules at it. */
typedef struct {
	PipesimTraining training;
	guint ranks;
	PipesimCosts *costs; /* NULL: refused */
	/* Seconds of all ranks for a micro-batch: of TP's and EP's messages, of recomputation, of all ops with nothing
	 * beside them. */
	double messages, again, alone;
	GArray *candidates; /* of PipesimCandidate */
	GError *refusal;    /* of the first that a rule refused, or NULL */
} PipesimPlanWay;

/** pipesim_plan_ways: all ways to divide what @wish asks for, each with its candidates and their bounds, found on all cores,
 * in the order of the search. (transfer full): of PipesimPlanWay; NULL with PIPESIM_ERROR_LIMIT. */
GArray *pipesim_plan_ways(const PipesimWish *wish, GError **error);

/** pipesim_plan_way_measure: what of a micro-batch is no model FLOPs, where its costs are known. */
void pipesim_plan_way_measure(PipesimPlanWay *way);

/** pipesim_plan_fail_to_divide: FALSE with the first rule that the sizes of @wish break. */
gboolean pipesim_plan_fail_to_divide(const PipesimWish *wish, GError **error);

/** pipesim_plan_refuse: into @refusal @fault, which it takes: the first stays. */
void pipesim_plan_refuse(GError **refusal, GError *fault);

/** pipesim_plan_insert: into @list, by step, of which @most are kept, one of each way; of equals that with less memory, then the
 * first. */
void pipesim_plan_insert(GArray *list, const PipesimCandidate *candidate, guint most);

/** pipesim_plan_is_beaten: whether one of @frontier has no longer a step than @step and no more memory than @memory. */
gboolean pipesim_plan_is_beaten(const GArray *frontier, gint64 step, gint64 memory);
void pipesim_plan_add_to_frontier(GArray *frontier, const PipesimCandidate *candidate);
