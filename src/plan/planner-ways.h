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

/** pipesim_plan_way_measure: what of a micro-batch is no model FLOPs, where its costs are known, of @stages that compute as many
 * layers again each, where training says how many. */
void pipesim_plan_way_measure(PipesimPlanWay *way, guint stages);

/** pipesim_plan_take_brief: what @brief says of @candidate at @way; nothing where it did not run. */
void pipesim_plan_take_brief(const PipesimWish *wish, const PipesimPlanWay *way,
	const PipesimBrief *brief, PipesimCandidate *candidate);

/** pipesim_plan_is_ours: whether this process is to do number @item of what all share; pipesim_plan_exchange: hands all the
 * results of each. */
static inline gboolean pipesim_plan_is_ours(const PipesimWish *wish, gsize item)
{
	return wish->peers.size < 2 || item % wish->peers.size == wish->peers.rank;
}

static inline void pipesim_plan_exchange(
	const PipesimWish *wish, gpointer results, gsize each, gsize n)
{
	if (wish->peers.size > 1)
		wish->peers.exchange(results, each, n);
}

/** pipesim_plan_exchange_found: the same of @n of @candidates, whose layouts and recomputation by stage are texts of each
 * process's own; what schedule each has all know. */
void pipesim_plan_exchange_found(
	const PipesimWish *wish, PipesimCandidate *candidates, guint n);

/** pipesim_plan_lay_out: gives @n of @candidates the layouts that are best for their schedules, in place of balanced ones, on all
 * cores; step 0 where none is below @below, ns. */
gboolean pipesim_plan_lay_out(const PipesimWish *wish, PipesimCandidate *candidates, guint n,
	gint64 below, GError **error);

/** pipesim_plan_fit: into @best, if that is shorter or empty, @candidate, of @family, with its layout and the fewest layers of each
 * stage, the first ones, computed again that make it fit. How many micro-batches a rank holds is of the order alone, so that ranks
 * have nothing to do with each other. Nothing where that does not say what ranks hold, or none fits. */
void pipesim_plan_fit(const PipesimWish *wish, PipesimFamily *family,
	const PipesimCandidate *candidate, PipesimCandidate *best);

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
