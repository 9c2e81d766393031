#include "config.h"

#include "analysis/footing.h"
#include "analysis/run.h"
#include <math.h>

/* Where a runtime runs pairs in halves, the ops of the run are these. */
static gboolean split_pairs(PipesimRun *run)
{
	PipesimProgram *split = pipesim_program_split_pairs(run->program, &run->error);

	if (split == NULL)
		return FALSE;
	run->split = split->n_ops > run->program->n_ops;
	pipesim_program_free(run->program);
	run->program = split;
	return TRUE;
}

/* @given: messages of a file, or NULL. */
static void simulate(PipesimRun *run, const PipesimLowering *given)
{
	g_autoptr(PipesimLowering) derived = NULL;

	if (run->comm == PIPESIM_COMM_ASYNC) {
		run->timeline = pipesim_engine_run(run->program, run->times, &run->error);
		return;
	}
	if (given == NULL)
		given = derived = pipesim_lower(run->program, run->comm, &run->error);
	if (given != NULL)
		run->timeline = pipesim_comm_run(given, run->times, NULL, &run->error);
	if (run->timeline != NULL && pipesim_comm_splits_pairs(given->comm) &&
		!split_pairs(run))
		g_clear_pointer(&run->timeline, pipesim_timeline_free);
}

static void report_comm(PipesimRun *run)
{
	run->report->comm = pipesim_comm_report_new(
		run->program, run->timeline, run->times, run->comm, &run->error);
	if (run->report->comm == NULL)
		g_clear_pointer(&run->report, pipesim_report_free);
}

static void finish(PipesimRun *run, const PipesimLowering *given, const PipesimFooting *footing)
{
	simulate(run, given);
	if (run->timeline != NULL)
		run->report = pipesim_report_new(run->program, run->timeline, run->schedule,
			footing->costs, run->times, footing->scenario.memory_limit,
			&run->error);
	if (run->report != NULL && run->comm != PIPESIM_COMM_ASYNC)
		report_comm(run);
	if (run->report != NULL)
		pipesim_footing_units(footing, run->report);
	if (run->error != NULL)
		g_prefix_error(&run->error, "%s: ", run->name);
}

PipesimRun *pipesim_run_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	PipesimRun *run = g_new0(PipesimRun, 1);
	PipesimFooting footing;

	run->name = g_strdup(schedule->name);
	run->schedule = schedule;
	run->comm = scenario->comm == PIPESIM_COMM_NATIVE ? schedule->comm : scenario->comm;
	if (!pipesim_footing_init(&footing, schedule->name,
		    pipesim_schedule_stages_per_rank(schedule, scenario), scenario, costs,
		    &run->error) ||
		!pipesim_schedule_shape(
			schedule, &footing.scenario, &run->shape, &run->error)) {
		run->shape.ranks = 0;
		pipesim_footing_clear(&footing);
		return run;
	}
	run->times = pipesim_times_new(footing.costs, &run->shape);
	run->program = pipesim_schedule_program(schedule, &run->shape, run->times, &run->error);
	if (run->program != NULL)
		finish(run, NULL, &footing);
	pipesim_footing_clear(&footing);
	return run;
}

/* Of a file: 1 where it does not divide. */
static guint stages_per_rank(const PipesimShape *shape)
{
	return shape->copies == 1 && shape->stages % shape->ranks == 0
		       ? shape->stages / shape->ranks
		       : 1;
}

PipesimRun *pipesim_run_program(const char *name, PipesimProgram *program,
	const PipesimLowering *lowering, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	PipesimRun *run = g_new0(PipesimRun, 1);
	PipesimFooting footing;

	run->name = g_strdup(name);
	run->program = program;
	run->comm = scenario->comm == PIPESIM_COMM_NATIVE ? PIPESIM_COMM_QUEUE : scenario->comm;
	if (lowering != NULL && run->comm != PIPESIM_COMM_ASYNC)
		run->comm = lowering->comm;
	run->shape = program->shape;
	if (pipesim_footing_init(&footing, name, stages_per_rank(&run->shape), scenario, costs,
		    &run->error)) {
		run->times = pipesim_times_new(footing.costs, &run->shape);
		finish(run, lowering, &footing);
	}
	pipesim_footing_clear(&footing);
	return run;
}

PipesimRun *pipesim_simulate(const PipesimSchedule *schedule, guint ranks, guint microbatches,
	const PipesimCosts *costs, GError **error)
{
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimRun *run;

	g_return_val_if_fail(schedule != NULL && costs != NULL, NULL);
	if (ranks < 1 || ranks > PIPESIM_MAX_RANKS || microbatches < 1 ||
		microbatches > PIPESIM_MAX_MICROBATCHES) {
		pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%u ranks and %u micro-batches; at least 1 of each", ranks,
			microbatches);
		return NULL;
	}
	run = pipesim_run_schedule(schedule, &scenario, costs);
	if (run->error == NULL)
		return run;
	g_propagate_error(error, g_steal_pointer(&run->error));
	pipesim_run_free(run);
	return NULL;
}

void pipesim_run_free(PipesimRun *run)
{
	if (run == NULL)
		return;
	g_free(run->name);
	g_clear_error(&run->error);
	pipesim_times_free(run->times);
	pipesim_program_free(run->program);
	pipesim_timeline_free(run->timeline);
	pipesim_report_free(run->report);
	g_free(run);
}

gint64 pipesim_run_makespan(const PipesimRun *run)
{
	return run->report->makespan;
}

gint64 pipesim_run_bubble(const PipesimRun *run, guint rank)
{
	g_return_val_if_fail(rank < run->report->ranks, -1);
	return run->report->idle[rank];
}

double pipesim_run_peak_activations(const PipesimRun *run, guint rank)
{
	const PipesimReport *report = run->report;

	g_return_val_if_fail(rank < report->ranks, -1);
	return (double)report->peak[rank] * (double)report->unit.num / (double)report->unit.den;
}

PipesimComparison *pipesim_comparison_new(
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	PipesimComparison *comparison = g_new0(PipesimComparison, 1);

	comparison->scenario = *scenario;
	comparison->costs = costs;
	comparison->runs = g_ptr_array_new_with_free_func((GDestroyNotify)pipesim_run_free);
	comparison->baseline = -1;
	return comparison;
}

void pipesim_comparison_free(PipesimComparison *comparison)
{
	if (comparison == NULL)
		return;
	g_ptr_array_unref(comparison->runs);
	g_free(comparison->command);
	g_free(comparison);
}

void pipesim_comparison_finish(PipesimComparison *comparison)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("1f1b", NULL);
	PipesimRun *run;

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *candidate = g_ptr_array_index(comparison->runs, i);

		if (candidate->schedule == schedule && candidate->report != NULL) {
			comparison->baseline = candidate->report->makespan;
			return;
		}
	}
	run = pipesim_run_schedule(schedule, &comparison->scenario, comparison->costs);
	if (run->report != NULL)
		comparison->baseline = run->report->makespan;
	pipesim_run_free(run);
}

int pipesim_comparison_best(const PipesimComparison *comparison)
{
	double best_rate = -1;
	int best = -1;

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);
		double rate;

		if (run->report == NULL || !run->report->fits)
			continue;
		/* Files may have their own number of micro-batches: rates compare, makespans
		 * not. */
		rate = (double)run->shape.microbatches / (double)MAX(run->report->makespan, 1) /
		       run->shape.ranks;
		if (rate > best_rate) {
			best_rate = rate;
			best = (int)i;
		}
	}
	return best;
}

double pipesim_throughput(const PipesimComparison *comparison, const PipesimRun *run)
{
	const double base = (double)comparison->baseline / comparison->scenario.microbatches;

	if (run->report == NULL || comparison->baseline <= 0 || run->report->makespan <= 0)
		return NAN;
	return base * run->shape.microbatches / (double)run->report->makespan *
	       comparison->scenario.ranks / run->shape.ranks;
}
