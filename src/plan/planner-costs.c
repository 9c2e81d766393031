/* What a candidate of a plan is run at: costs of its stages, and where its messages go. */
#include "plan/planner.h"
#include "transformer/reserve.h"

gint64 pipesim_planner_reduce(const PipesimWish *wish, const PipesimTraining *training)
{
	if (training->reduce > 0)
		return training->reduce;
	return wish->device != NULL ? (gint64)pipesim_device_reduce(wish->device, training,
					      training->ep * training->etp > training->tp)
				    : (gint64)PIPESIM_NETWORK;
}

PipesimCosts *pipesim_planner_balanced(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks, GError **error)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimRates rates = wish->capture != NULL
				     ? *wish->capture
				     : pipesim_device_rates(wish->device, training);
	/* With ZeRO-3 stages are gathered and reduced within the step. */
	const gboolean shards = training->zero == PIPESIM_ZERO_3;
	const gint64 message = pipesim_stage_message(wish->model, training);

	costs->p2p = wish->device != NULL
			     ? pipesim_device_hop(wish->device, training, message, ranks)
			     : (gint64)rint((double)message / PIPESIM_NETWORK * 1e9);
	costs->post_validation = wish->post_validation;
	if (wish->capture != NULL || shards)
		rates.reduce[0] = rates.reduce[1] =
			shards ? 0 : (double)pipesim_planner_reduce(wish, training);
	rates.overlap = training->overlap;
	PipesimCutter *cutter = pipesim_cutter_new(
		pipesim_transformer_copy(wish->model), training, NULL, &rates);
	pipesim_cutter_set_auto(cutter);
	if (shards)
		costs->sharding.bandwidth = pipesim_planner_reduce(wish, training);
	if (!pipesim_cutter_take(cutter, ranks, costs, error))
		return NULL;
	if (wish->copies > 0)
		pipesim_own_set(costs->own, PIPESIM_COPY_TIME,
			MIN(pipesim_time_scale(
				    costs->bytes_until_input + costs->bytes_until_weight,
				    1000000000, wish->copies),
				PIPESIM_MAX_TIME_NS));
	return g_steal_pointer(&costs);
}

PipesimCosts *pipesim_planner_costs(
	const PipesimWish *wish, const PipesimCandidate *candidate, GError **error)
{
	PipesimCosts *costs =
		pipesim_planner_balanced(wish, &candidate->training, candidate->ranks, error);
	PipesimStages *layout = NULL;

	if (costs != NULL && candidate->layout != NULL)
		layout = pipesim_stages_parse(
			wish->model, TRUE, candidate->layout, "layout", NULL);
	if (layout != NULL)
		pipesim_costs_set_cutter(
			costs, pipesim_cutter_fix(costs->cutter, layout, NULL));
	return costs;
}

gint64 pipesim_planner_reserved(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks, gint64 peak)
{
	PipesimReserve reserve;

	if (wish->reserve >= 0)
		return wish->reserve;
	reserve = pipesim_reserve(training, ranks, wish->per_node, peak, PIPESIM_RESERVE_USUAL);
	return pipesim_reserve_sum(&reserve);
}

gint64 pipesim_planner_limit(
	const PipesimWish *wish, const PipesimTraining *training, guint ranks)
{
	const gint64 fixed = pipesim_planner_reserved(wish, training, ranks, 0);
	/* Bytes more for each thousand of the peak. */
	const gint64 more = pipesim_planner_reserved(wish, training, ranks, 1000) - fixed;

	return MAX((wish->memory - fixed) / (1000 + more) * 1000, 1);
}

PipesimScenario pipesim_planner_scenario(
	const PipesimWish *wish, const PipesimCandidate *candidate)
{
	return (PipesimScenario){.ranks = candidate->ranks,
		.microbatches = candidate->microbatches,
		.chunks = candidate->chunks,
		.pairs = wish->pairs && candidate->training.ep_overlap,
		.runtime = wish->runtime,
		.issuing = wish->issuing,
		.offload_part = wish->offload_part,
		.memory_limit =
			pipesim_planner_limit(wish, &candidate->training, candidate->ranks),
		.keep = PIPESIM_KEEP_FIGURES,
		.seed = 1};
}
