#include "config.h"

#include "analysis/footing.h"
#include "analysis/run.h"
#include <math.h>

/* What is to be known of single ops: no more than was asked for, but what waits for messages or
 * is drawn at random goes op by op. */
static PipesimWant want_of(const PipesimJob *job, const PipesimScenario *scenario)
{
	const gboolean streams = !pipesim_runtime_waits(job->runtime) && job->network == NULL &&
				 scenario->samples == 0;
	const gboolean enough =
		scenario->keep == PIPESIM_KEEP_NOTHING ||
		(scenario->keep != PIPESIM_KEEP_OPS && job->order->n_ops > PIPESIM_MAX_OPS);

	return streams && enough ? PIPESIM_WANT_FIGURES : PIPESIM_WANT_MESSAGES;
}

static gboolean report(PipesimRun *run, const PipesimFooting *footing)
{
	const PipesimSubject subject = {.step = run->step,
		.schedule = run->schedule,
		.costs = footing->costs,
		.memory_limit = footing->scenario.memory_limit,
		.critical = footing->scenario.critical};

	run->report = pipesim_report_new(&subject, &run->error);
	if (run->report == NULL)
		return FALSE;
	pipesim_footing_units(footing, run->report);
	if (footing->scenario.samples == 0)
		return TRUE;
	run->samples =
		pipesim_samples_new(run->step, footing->costs, &footing->scenario, &run->error);
	if (run->samples == NULL)
		g_clear_pointer(&run->report, pipesim_report_free);
	return run->samples != NULL;
}

/* @messages: of a file, or NULL. */
static PipesimJob make_job(PipesimRun *run, const PipesimOrder *order,
	const PipesimLowering *messages, const PipesimFooting *footing)
{
	run->order = pipesim_order_ref(order);
	run->network = pipesim_network_copy(footing->costs->network);
	return (PipesimJob){.order = order,
		.times = run->times,
		.network = run->network,
		.runtime = run->runtime,
		.messages = messages};
}

/* What the step of @run means, or that there is none. */
static void finish(PipesimRun *run, const PipesimFooting *footing)
{
	if (run->step == NULL || !report(run, footing)) {
		g_clear_pointer(&run->step, pipesim_step_free);
		g_prefix_error(&run->error, "%s: ", run->name);
	} else if (footing->scenario.keep >= PIPESIM_KEEP_REPORT) {
		pipesim_step_forget_ops(run->step);
	}
}

static void run_job(PipesimRun *run, const PipesimJob *job, const PipesimFooting *footing)
{
	run->step = pipesim_step_run(job, want_of(job, &footing->scenario), &run->error);
	finish(run, footing);
}

/* A run of @schedule that has its shape and times, or an error. */
static PipesimRun *begin(
	const PipesimSchedule *schedule, const PipesimPoint *point, PipesimFooting *footing)
{
	const PipesimScenario *scenario = point->scenario;
	PipesimRun *run = g_new0(PipesimRun, 1);

	run->name = g_strdup(schedule->name);
	run->schedule = schedule;
	run->runtime = pipesim_runtime_resolve(scenario->runtime, schedule->runtime);
	if (!pipesim_footing_init(footing, schedule->name,
		    pipesim_schedule_stages_per_rank(schedule, scenario), scenario,
		    point->costs, &run->error) ||
		!pipesim_schedule_shape(
			schedule, &footing->scenario, &run->shape, &run->error)) {
		run->shape.ranks = 0;
		return run;
	}
	pipesim_footing_parts(footing, pipesim_shape_parts(&run->shape));
	run->times = pipesim_times_new(footing->costs, &run->shape);
	return run;
}

/* Whether both go by one order: that of a plan is made for the times. */
static gboolean share_order(const PipesimRun *a, const PipesimRun *b)
{
	return a->error == NULL && b->error == NULL && a->schedule->plan == NULL &&
	       pipesim_shape_equal(&a->shape, &b->shape);
}

/* @n runs of one order, side by side if the engines will. */
static void run_jobs(
	PipesimRun **runs, const PipesimOrder *order, const PipesimFooting *footings, guint n)
{
	g_autofree PipesimJob *jobs = g_new(PipesimJob, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	gboolean figures = TRUE; /* are all that is wanted */

	for (guint i = 0; i < n; i++) {
		jobs[i] = make_job(runs[i], order, NULL, &footings[i]);
		figures &= want_of(&jobs[i], &footings[i].scenario) == PIPESIM_WANT_FIGURES;
	}
	figures = figures && pipesim_step_run_beside(jobs, n, steps);
	for (guint i = 0; i < n; i++) {
		if (figures) {
			runs[i]->step = steps[i];
			finish(runs[i], &footings[i]);
		} else {
			run_job(runs[i], &jobs[i], &footings[i]);
		}
	}
}

void pipesim_run_points(
	const PipesimSchedule *schedule, const PipesimPoint *points, guint n, PipesimRun **runs)
{
	g_autofree PipesimFooting *footings = g_new(PipesimFooting, n);

	for (guint i = 0; i < n; i++)
		runs[i] = begin(schedule, &points[i], &footings[i]);
	for (guint first = 0, next; first < n; first = next) {
		PipesimRun *run = runs[first];
		g_autoptr(PipesimOrder) order = NULL;

		for (next = first + 1; next < n && share_order(run, runs[next]);)
			next++;
		if (run->error == NULL)
			order = pipesim_schedule_order(
				schedule, &run->shape, run->times, &run->error);
		if (order != NULL)
			run_jobs(&runs[first], order, &footings[first], next - first);
		for (guint i = first + 1; i < next && order == NULL; i++)
			runs[i]->error = g_error_copy(run->error);
	}
	for (guint i = 0; i < n; i++)
		pipesim_footing_clear(&footings[i]);
}

PipesimRun *pipesim_run_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	PipesimRun *run;

	pipesim_run_points(schedule, &(PipesimPoint){scenario, costs}, 1, &run);
	return run;
}

/* Of a file: 1 where it does not divide. */
static guint stages_per_rank(const PipesimShape *shape)
{
	return shape->copies == 1 && shape->stages % shape->ranks == 0
		       ? shape->stages / shape->ranks
		       : 1;
}

PipesimRun *pipesim_run_program(const char *name, const PipesimProgram *program,
	const PipesimLowering *messages, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	PipesimRun *run = g_new0(PipesimRun, 1);
	PipesimFooting footing;
	PipesimJob job;

	run->name = g_strdup(name);
	run->runtime = pipesim_runtime_resolve(scenario->runtime, PIPESIM_RUNTIME_OF_FILES);
	if (messages != NULL && run->runtime->waits)
		run->runtime = messages->runtime;
	run->shape = program->shape;
	if (pipesim_footing_init(&footing, name, stages_per_rank(&run->shape), scenario, costs,
		    &run->error)) {
		run->times = pipesim_times_new(footing.costs, &run->shape);
		job = make_job(run, order, messages, &footing);
		run_job(run, &job, &footing);
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
	g_clear_error(&run->error);
	pipesim_step_free(run->step);
	pipesim_order_unref(run->order);
	pipesim_times_free(run->times);
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
