#include "config.h"

#include "analysis/whatif.h"
#include "engine/lanes.h"
#include "runtime/runtime.h"

struct _PipesimWhatif {
	PipesimProgram *program;
	PipesimLanes *lanes;
};

static gboolean prepare(PipesimWhatif *whatif, const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	g_autoptr(PipesimTimes) times = NULL;
	PipesimShape shape;

	if (!pipesim_schedule_shape(schedule, scenario, &shape, error))
		return FALSE;
	times = pipesim_times_new(costs, &shape);
	whatif->program = pipesim_schedule_program(schedule, &shape, times, error);
	if (whatif->program != NULL)
		whatif->lanes = pipesim_lanes_new(whatif->program, error);
	return whatif->lanes != NULL;
}

PipesimWhatif *pipesim_whatif_for(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs, GError **error)
{
	g_autoptr(PipesimWhatif) whatif = NULL;

	if (pipesim_runtime_waits(scenario->runtime) ||
		scenario->compare_at != PIPESIM_AT_RANKS) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"many costs at once are for messages that do not wait (async) and for "
			"equal ranks");
		return NULL;
	}
	whatif = g_new0(PipesimWhatif, 1);
	return prepare(whatif, schedule, scenario, costs, error) ? g_steal_pointer(&whatif)
								 : NULL;
}

PipesimWhatif *pipesim_whatif_new(const PipesimSchedule *schedule, guint ranks,
	guint microbatches, const PipesimCosts *costs, GError **error)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};

	g_return_val_if_fail(schedule != NULL && costs != NULL, NULL);
	if (ranks < 1 || ranks > PIPESIM_MAX_RANKS || microbatches < 1 ||
		microbatches > PIPESIM_MAX_MICROBATCHES) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u ranks and %u micro-batches; at least 1 of each", ranks,
			microbatches);
		return NULL;
	}
	return pipesim_whatif_for(schedule, &scenario, costs, error);
}

gboolean pipesim_whatif_run(const PipesimWhatif *whatif, const PipesimCosts *const *costs,
	gsize n, guint threads, PipesimOutcome *outcomes, GError **error)
{
	g_return_val_if_fail(whatif != NULL && (n == 0 || costs != NULL), FALSE);
	return pipesim_lanes_evaluate(whatif->lanes, costs, n, threads, outcomes, error);
}

void pipesim_whatif_free(PipesimWhatif *whatif)
{
	if (whatif == NULL)
		return;
	pipesim_program_unref(whatif->program);
	pipesim_lanes_free(whatif->lanes);
	g_free(whatif);
}
