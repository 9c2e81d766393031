#include "config.h"

#include "analysis/footing.h"
#include "analysis/losses.h"
#include "analysis/run.h"
#include "engine/dynamic.h"
#include "engine/fast.h"
#include <math.h>

/* What a run is simulated by, and again each sample of it. */
typedef struct {
	const PipesimProgram *program;   /* with its pairs whole */
	const PipesimOrder *order;       /* that it was expanded from, if it can be streamed */
	const PipesimLowering *lowering; /* NULL: messages do not wait for each other */
	const PipesimNetwork *network;   /* NULL: P2P alone */
	guint flags;                     /* PipesimTrafficFlags */
} Simulator;

static PipesimTimeline *simulate(gconstpointer data, const PipesimTimes *times, GError **error)
{
	const Simulator *simulator = data;

	if (simulator->lowering != NULL && simulator->network != NULL)
		return pipesim_comm_run_links(simulator->lowering, times, simulator->network,
			simulator->flags, error);
	if (simulator->lowering != NULL)
		return pipesim_comm_run(simulator->lowering, times, NULL, error);
	if (simulator->network != NULL)
		return pipesim_dynamic_run(
			simulator->program, times, simulator->network, simulator->flags, error);
	if (simulator->order != NULL)
		return pipesim_stream_timeline(
			simulator->order, simulator->program, times, error);
	return pipesim_fast_run(simulator->program, times, error);
}

/* Where a runtime runs pairs in halves, the ops of the run are these. */
static gboolean split_pairs(PipesimRun *run)
{
	PipesimProgram *split = pipesim_program_split_pairs(run->program, &run->error);

	if (split == NULL)
		return FALSE;
	run->split = split->n_ops > run->program->n_ops;
	run->program = split;
	return TRUE;
}

static void run_usual(PipesimRun *run, const Simulator *simulator)
{
	Simulator keeping = *simulator;

	keeping.flags |= PIPESIM_KEEP_MOVES;
	run->timeline = simulate(&keeping, run->times, &run->error);
	if (run->timeline == NULL)
		return;
	if ((run->network != NULL &&
		    !pipesim_run_losses(run, simulator->lowering, &run->error)) ||
		(simulator->lowering != NULL &&
			pipesim_comm_splits_pairs(simulator->lowering->comm) &&
			!split_pairs(run)))
		g_clear_pointer(&run->timeline, pipesim_timeline_free);
}

static void report_comm(PipesimRun *run)
{
	run->report->comm = pipesim_comm_report_new(
		run->program, run->timeline, run->times, run->network, run->comm, &run->error);
	if (run->report->comm == NULL)
		g_clear_pointer(&run->report, pipesim_report_free);
}

static void draw_samples(
	PipesimRun *run, const Simulator *simulator, const PipesimFooting *footing)
{
	run->samples = pipesim_samples_new(run->program, run->times, footing->costs,
		&footing->scenario,
		simulator->lowering != NULL || simulator->network != NULL ? simulate : NULL,
		simulator, &run->error);
	if (run->samples == NULL)
		g_clear_pointer(&run->report, pipesim_report_free);
}

static PipesimSubject subject_of(const PipesimRun *run, const PipesimFooting *footing)
{
	return (PipesimSubject){.schedule = run->schedule,
		.costs = footing->costs,
		.times = run->times,
		.memory_limit = footing->scenario.memory_limit};
}

static void report(PipesimRun *run, const Simulator *simulator, const PipesimFooting *footing)
{
	PipesimSubject subject = subject_of(run, footing);

	subject.program = run->program;
	subject.timeline = run->timeline;
	subject.order = simulator->order;
	run->report = pipesim_report_of(&subject, &run->error);
	if (run->report != NULL && run->comm != PIPESIM_COMM_ASYNC)
		report_comm(run);
	if (run->report != NULL)
		pipesim_footing_units(footing, run->report);
	if (run->report != NULL && footing->scenario.samples > 0)
		draw_samples(run, simulator, footing);
}

/* @order: of the program, where it can be streamed; @given: messages of a file. Or NULL. */
static void finish(PipesimRun *run, const PipesimOrder *order, const PipesimLowering *given,
	const PipesimFooting *footing)
{
	PipesimProgram *whole = run->program;
	g_autoptr(PipesimLowering) derived = NULL;
	Simulator simulator = {.program = whole};

	run->network = pipesim_network_copy(footing->costs->network);
	simulator.network = run->network;

	if (run->comm != PIPESIM_COMM_ASYNC && given == NULL)
		given = derived = pipesim_lower(whole, run->comm, &run->error);
	if (run->comm != PIPESIM_COMM_ASYNC)
		simulator.lowering = given;
	else if (run->network == NULL)
		simulator.order = order;
	if (run->error == NULL)
		run_usual(run, &simulator);
	if (run->timeline != NULL)
		report(run, &simulator, footing);
	if (run->error != NULL)
		g_prefix_error(&run->error, "%s: ", run->name);
	if (run->program != whole)
		run->whole = whole;
}

/* Whether the figures of ranks are all that is asked for, or all that fits. */
static gboolean is_enough(
	const PipesimRun *run, const PipesimOrder *order, const PipesimFooting *footing)
{
	const PipesimScenario *scenario = &footing->scenario;

	if (run->comm != PIPESIM_COMM_ASYNC || footing->costs->network != NULL ||
		scenario->samples > 0)
		return FALSE;
	return scenario->keep == PIPESIM_KEEP_NOTHING ||
	       (scenario->keep == PIPESIM_KEEP_FITTING && order->n_ops > PIPESIM_MAX_OPS);
}

static void summarise(PipesimRun *run, const PipesimOrder *order, const PipesimFooting *footing)
{
	PipesimSubject subject = subject_of(run, footing);
	g_autoptr(PipesimStream) stream =
		pipesim_stream_run(order, run->times, PIPESIM_STREAM_LEAP, &run->error);

	subject.order = order;
	subject.stream = stream;
	if (stream != NULL)
		run->report = pipesim_report_of(&subject, &run->error);
	if (run->report != NULL)
		pipesim_footing_units(footing, run->report);
	if (run->error != NULL)
		g_prefix_error(&run->error, "%s: ", run->name);
}

static void run_order(PipesimRun *run, const PipesimOrder *order, const PipesimFooting *footing)
{
	const gboolean streams = pipesim_stream_takes(order);

	run->note = g_strdup(order->note);
	if (streams && is_enough(run, order, footing)) {
		summarise(run, order, footing);
		return;
	}
	run->program = pipesim_order_expand(order, &run->error);
	if (run->program != NULL)
		finish(run, streams ? order : NULL, NULL, footing);
	else
		g_prefix_error(&run->error, "%s: ", run->name);
}

PipesimRun *pipesim_run_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	g_autoptr(PipesimOrder) order = NULL;
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
	pipesim_footing_parts(&footing, pipesim_shape_parts(&run->shape));
	run->times = pipesim_times_new(footing.costs, &run->shape);
	order = pipesim_schedule_order(schedule, &run->shape, run->times, &run->error);
	if (order != NULL)
		run_order(run, order, &footing);
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
		finish(run, NULL, lowering, &footing);
	}
	pipesim_footing_clear(&footing);
	return run;
}

PipesimRun *pipesim_simulate(const PipesimSchedule *schedule, guint ranks, guint microbatches,
	const PipesimCosts *costs, GError **error)
{
	const PipesimScenario scenario = {
		.ranks = ranks, .microbatches = microbatches, .keep = PIPESIM_KEEP_NOTHING};
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
	g_free(run->note);
	g_clear_error(&run->error);
	pipesim_times_free(run->times);
	pipesim_program_free(run->program);
	pipesim_program_free(run->whole);
	pipesim_timeline_free(run->timeline);
	pipesim_network_free(run->network);
	pipesim_report_free(run->report);
	pipesim_samples_free(run->samples);
	g_free(run);
}

gint64 pipesim_run_makespan(const PipesimRun *run)
{
	return run->report->makespan;
}

gint64 pipesim_run_bubble(const PipesimRun *run, guint rank)
{
	g_return_val_if_fail(rank < run->report->ranks, -1);
	return run->report->bubble.idle[rank];
}

double pipesim_run_peak_activations(const PipesimRun *run, guint rank)
{
	const PipesimReport *report = run->report;

	g_return_val_if_fail(rank < report->ranks, -1);
	return (double)report->held.peak[rank] * (double)report->held.unit.num /
	       (double)report->held.unit.den;
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

static gint64 find_baseline(const PipesimComparison *comparison)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("1f1b", NULL);
	PipesimScenario scenario = comparison->scenario;
	PipesimRun *run;
	gint64 baseline;

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *candidate = g_ptr_array_index(comparison->runs, i);

		if (candidate->schedule == schedule && candidate->report != NULL)
			return candidate->report->makespan;
	}
	scenario.samples = 0;
	scenario.keep = PIPESIM_KEEP_NOTHING;
	run = pipesim_run_schedule(schedule, &scenario, comparison->costs);
	baseline = run->report != NULL ? run->report->makespan : -1;
	pipesim_run_free(run);
	return baseline;
}

/* Whether @run does more micro-batches a second and rank in @sample than @best. */
static gboolean is_faster(const PipesimRun *run, const PipesimRun *best, guint sample)
{
	__extension__ typedef unsigned __int128 Wide;
	const gint64 took = run->samples->results[sample].makespan;
	const gint64 best_took = best->samples->results[sample].makespan;

	return (Wide)pipesim_shape_whole(&run->shape) * (Wide)best_took * best->shape.ranks >
	       (Wide)pipesim_shape_whole(&best->shape) * (Wide)took * run->shape.ranks;
}

/* The first of equals. */
static void count_wins(const PipesimComparison *comparison)
{
	for (guint sample = 0; sample < comparison->scenario.samples; sample++) {
		PipesimRun *best = NULL;

		for (guint i = 0; i < comparison->runs->len; i++) {
			PipesimRun *run = g_ptr_array_index(comparison->runs, i);

			if (run->samples != NULL && run->report->memory.fits &&
				(best == NULL || is_faster(run, best, sample)))
				best = run;
		}
		if (best != NULL)
			best->samples->wins++;
	}
}

void pipesim_comparison_finish(PipesimComparison *comparison)
{
	comparison->baseline = find_baseline(comparison);
	count_wins(comparison);
}

int pipesim_comparison_best(const PipesimComparison *comparison)
{
	double best_rate = -1;
	int best = -1;

	for (guint i = 0; i < comparison->runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(comparison->runs, i);
		double rate;

		if (run->report == NULL || !run->report->memory.fits)
			continue;
		/* Files may have their own number of micro-batches: rates compare, makespans
		 * not. */
		rate = (double)pipesim_shape_whole(&run->shape) /
		       (double)MAX(run->report->makespan, 1) / run->shape.ranks;
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
	return base * pipesim_shape_whole(&run->shape) / (double)run->report->makespan *
	       comparison->scenario.ranks / run->shape.ranks;
}
