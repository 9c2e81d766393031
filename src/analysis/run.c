#include "analysis/run.h"
#include "analysis/best-order.h"
#include "analysis/footing.h"
#include "engine/mixed.h"
#include "model/split.h"
#include "order/offload.h"
#include "transformer/cutter.h"

/* Where a micro-batch runs in @parts and there are links, makes messages of so many times fewer
 * bytes, and P2P that of the slowest hop. */
static void divide_messages(PipesimFooting *footing, guint parts)
{
	PipesimNetwork *network;

	if (parts == 1 || footing->costs->network == NULL)
		return;
	if (footing->own == NULL)
		footing->costs = footing->own = pipesim_costs_copy(footing->costs);
	network = footing->own->network;
	network->message_bytes = (network->message_bytes + parts - 1) / parts;
	footing->own->p2p = pipesim_network_slowest_hop(network, footing->scenario.ranks);
}

/* Of a described model the vocabulary is cut where its passes are, and only there. */
static gboolean divide_vocabulary(
	const char *name, guint barriers, PipesimFooting *footing, GError **error)
{
	const PipesimCutter *cutter = footing->costs->cutter;

	if (barriers == 0 || cutter == NULL)
		return TRUE;
	if (cutter->divide == NULL)
		return pipesim_fail(error, PIPESIM_ERROR_CONSTRAINT,
			"%s: its passes are of an output layer that all ranks have a part of, "
			"but the last stage has all of it; add --vocab-parallel%s",
			name,
			pipesim_transformer_encodes(pipesim_cutter_model(cutter))
				? " and leave the encoder out"
				: "");
	if (footing->own == NULL)
		footing->own = pipesim_costs_copy(footing->costs);
	footing->costs = footing->own;
	if (cutter->divide(cutter, barriers, footing->scenario.ranks, footing->own, error))
		return TRUE;
	g_prefix_error(error, "%s: ", name);
	return FALSE;
}

static void multiply(PipesimFraction *value, guint factor)
{
	const gint64 common = MAX(pipesim_gcd(value->num * factor, value->den), 1);

	*value = (PipesimFraction){value->num * factor / common, value->den / common};
}

/* What is to be known of single ops: no more than was asked for, but what waits for messages or
 * is drawn at random goes op by op. */
static PipesimWant want_of(const PipesimJob *job, const PipesimScenario *scenario)
{
	const gboolean streams = job->network == NULL && !pipesim_times_vary(job->times) &&
				 scenario->samples == 0;
	const gboolean enough =
		scenario->keep >= (pipesim_runtime_waits(job->runtime)
						  ? PIPESIM_KEEP_RULES
						  : PIPESIM_KEEP_NOTHING) ||
		(scenario->keep != PIPESIM_KEEP_OPS && job->order->n_ops > PIPESIM_MAX_OPS);

	return streams && enough ? PIPESIM_WANT_FIGURES : PIPESIM_WANT_MESSAGES;
}

static gboolean report(PipesimRun *run, const PipesimFooting *footing)
{
	const PipesimSubject subject = {.step = run->step,
		.schedule = run->schedule,
		.costs = footing->costs,
		.memory_limit = footing->scenario.memory_limit,
		.rules = footing->scenario.keep < PIPESIM_KEEP_FIGURES,
		.checks = footing->scenario.keep < PIPESIM_KEEP_STEP,
		.critical = footing->scenario.critical};

	run->report = pipesim_report_new(&subject, &run->error);
	if (run->report == NULL)
		return FALSE;
	/* Activations count in stages of the comparison. */
	multiply(&run->report->held.unit, footing->factor);
	if (run->report->published.has_activations)
		multiply(&run->report->published.activations, footing->factor);
	if (footing->scenario.samples == 0)
		return TRUE;
	run->samples =
		pipesim_samples_new(run->step, footing->costs, &footing->scenario, &run->error);
	if (run->samples == NULL)
		g_clear_pointer(&run->report, pipesim_report_free);
	return run->samples != NULL;
}

/* Whether bytes that ranks hold hang on what a runtime's list says op by op: analysis/besides.c. */
static gboolean holds_by_lists(const PipesimTimes *times, const PipesimCosts *costs)
{
	return pipesim_costs_has_bytes(costs) &&
	       (costs->cutter != NULL || times->gathered != NULL || times->late != NULL);
}

/* @messages: of a file, or NULL. */
static PipesimJob make_job(PipesimRun *run, const PipesimOrder *order,
	const PipesimLowering *messages, const PipesimFooting *footing)
{
	run->network = pipesim_network_copy(footing->costs->network);
	return (PipesimJob){.order = order,
		.times = run->times,
		.network = run->network,
		.runtime = run->runtime,
		.issuing = pipesim_runtime_asked(run->runtime, &footing->scenario.issuing),
		.messages = messages,
		.first_step = footing->scenario.first_step,
		.pause = footing->scenario.pause,
		.most_ops = holds_by_lists(run->times, footing->costs) ? 0 : PIPESIM_MAX_OPS};
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

/* What --offload-fraction asks for is not another part than an order has that copies its @own one. */
static gboolean check_part(PipesimRun *run, PipesimFraction own)
{
	const PipesimFraction asked = run->shape.offload_part;

	return own.num == 0 || (asked.num == own.num && asked.den == own.den) ||
	       pipesim_fail(&run->error, PIPESIM_ERROR_USAGE,
		       "%s: its copies are of another part of the activations than "
		       "--offload-fraction; leave that out",
		       run->name);
}

static gboolean can_split(PipesimRun *run, const PipesimFooting *footing)
{
	if (pipesim_split_check(footing->costs, &run->shape, &run->error))
		return TRUE;
	g_prefix_error(&run->error, "%s: ", run->name);
	return FALSE;
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
			schedule, &footing->scenario, &run->shape, &run->error) ||
		!divide_vocabulary(schedule->name, schedule->barriers, footing, &run->error) ||
		!can_split(run, footing)) {
		run->shape.ranks = 0;
		return run;
	}
	divide_messages(footing, pipesim_shape_parts(&run->shape));
	run->times = pipesim_times_new(footing->costs, &run->shape);
	run->layers = pipesim_split_describe(footing->costs, &run->shape, run->times);
	return run;
}

/* @n runs of one order, side by side if the engines will. */
static void run_jobs(PipesimRun **runs, const PipesimOrder *order,
	const PipesimFooting *footings, guint n, PipesimShared **kept)
{
	g_autofree PipesimJob *jobs = g_new(PipesimJob, n);
	g_autofree PipesimStep **steps = g_new(PipesimStep *, n);
	gboolean figures = TRUE; /* are all that is wanted */

	for (guint i = 0; i < n; i++) {
		jobs[i] = make_job(runs[i], order, NULL, &footings[i]);
		figures &= want_of(&jobs[i], &footings[i].scenario) == PIPESIM_WANT_FIGURES;
	}
	figures = figures && pipesim_step_run_beside(jobs, n, kept, steps);
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

		/* Those that go by its order: some are made for the times. */
		for (next = first + 1; next < n && run->error == NULL &&
				       runs[next]->error == NULL &&
				       !pipesim_schedule_goes_by_times(schedule) &&
				       !pipesim_shape_offloads(&run->shape) &&
				       pipesim_shape_equal(&run->shape, &runs[next]->shape);)
			next++;
		if (run->error == NULL)
			order = pipesim_best_order(schedule, &run->shape, run->times,
				&footings[first].scenario, footings[first].costs, &run->error);
		if (order != NULL)
			run_jobs(&runs[first], order, &footings[first], next - first,
				points[first].kept);
		for (guint i = first + 1; i < next && order == NULL; i++)
			runs[i]->error = g_error_copy(run->error);
	}
	for (guint i = 0; i < n; i++)
		pipesim_costs_free(footings[i].own);
}

PipesimRun *pipesim_run_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	PipesimRun *run;

	pipesim_run_points(
		schedule, &(PipesimPoint){.scenario = scenario, .costs = costs}, 1, &run);
	return run;
}

static guint stages_per_rank(const PipesimShape *shape)
{
	return shape->copies == 1 && shape->stages % shape->ranks == 0
		       ? shape->stages / shape->ranks
		       : 1;
}

/* As pipesim_times_new_placed() takes it. */
static const guint32 *stage_of(const PipesimOrder *order)
{
	return order->program != NULL ? order->program->stage_of : NULL;
}

/* @order with the copies that @run asks for; NULL where it has an error. */
static PipesimOrder *add_copies(PipesimRun *run, const PipesimOrder *order)
{
	const gboolean told = order->shape.offload_part.num > 0;
	const gboolean asked = run->shape.offload_part.num > 0 && !told;
	PipesimOrder *with = NULL;

	if (!asked && (!told || pipesim_times_check_copy(run->times,
					"an order with copies of a part", &run->error)))
		return pipesim_order_ref(order);
	if (asked)
		with = pipesim_order_offload_part(order, &run->shape, run->times, &run->error);
	if (with == NULL)
		g_prefix_error(&run->error, "%s: ", run->name);
	return with;
}

PipesimRun *pipesim_run_of_order(const char *name, const PipesimOrder *given,
	const PipesimLowering *messages, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	g_autoptr(PipesimOrder) order = NULL;
	PipesimRun *run = g_new0(PipesimRun, 1);
	const PipesimShape *shape = &given->shape;
	PipesimFooting footing = {.own = NULL};
	PipesimJob job;

	run->name = g_strdup(name);
	run->runtime = pipesim_runtime_resolve(scenario->runtime, PIPESIM_RUNTIME_OF_FILES);
	if (messages != NULL && run->runtime->waits)
		run->runtime = messages->runtime;
	run->shape = *shape;
	if (scenario->offload_part.num > 0)
		run->shape.offload_part = scenario->offload_part;
	run->shape.offload_inflight = scenario->offload_inflight;
	run->shape.offload_delta = scenario->offload_delta;
	if (check_part(run, shape->offload_part) &&
		pipesim_footing_init(
			&footing, name, stages_per_rank(shape), scenario, costs, &run->error) &&
		(given->program == NULL ||
			divide_vocabulary(name, pipesim_mixed_barriers(given->program),
				&footing, &run->error)) &&
		can_split(run, &footing)) {
		divide_messages(&footing, pipesim_shape_parts(shape));
		run->times =
			pipesim_times_new_placed(footing.costs, &run->shape, stage_of(given));
		run->layers = pipesim_split_describe(footing.costs, &run->shape, run->times);
		order = add_copies(run, given);
	}
	if (order != NULL) {
		job = make_job(run, order, messages, &footing);
		run_job(run, &job, &footing);
	}
	pipesim_costs_free(footing.own);
	return run;
}

PipesimRun *pipesim_run_program(const char *name, const PipesimProgram *program,
	const PipesimLowering *messages, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);

	return pipesim_run_of_order(name, order, messages, scenario, costs);
}

/* What is to be said of layers of @shape at @footing, which ends here; NULL where it is not @good. */
static char *word_layers(gboolean good, PipesimFooting *footing, const PipesimShape *shape,
	const guint32 *places)
{
	char *words = NULL;

	if (good && pipesim_split_check(footing->costs, shape, NULL)) {
		g_autoptr(PipesimTimes) times =
			pipesim_times_new_placed(footing->costs, shape, places);

		words = pipesim_split_describe(footing->costs, shape, times);
	}
	pipesim_costs_free(footing->own);
	return words;
}

char *pipesim_layers_of_schedule(const PipesimSchedule *schedule,
	const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const guint v = pipesim_schedule_stages_per_rank(schedule, scenario);
	PipesimShape shape;
	PipesimFooting footing;
	const gboolean good =
		pipesim_footing_init(&footing, schedule->name, v, scenario, costs, NULL) &&
		pipesim_schedule_shape(schedule, &footing.scenario, &shape, NULL);

	return word_layers(good, &footing, &shape, NULL);
}

char *pipesim_layers_of_order(
	const PipesimOrder *order, const PipesimScenario *scenario, const PipesimCosts *costs)
{
	const guint v = stages_per_rank(&order->shape);
	PipesimFooting footing;
	const gboolean good = pipesim_footing_init(&footing, "", v, scenario, costs, NULL);

	return word_layers(good, &footing, &order->shape, stage_of(order));
}

gboolean pipesim_run_check(const PipesimRun *run, GError **error)
{
	if (run->error != NULL)
		g_propagate_error(error, g_error_copy(run->error));
	return run->error == NULL;
}

PIPESIM_FREES(PipesimRun, pipesim_run_free, run)
{
	g_clear_error(&run->error);
	pipesim_step_free(run->step);
	pipesim_times_free(run->times);
	pipesim_network_free(run->network);
	pipesim_report_free(run->report);
	pipesim_samples_free(run->samples);
	g_clear_pointer(&run->lost, g_array_unref);
	pipesim_free_all(run->name, run->layers, run);
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

PIPESIM_FREES(PipesimComparison, pipesim_comparison_free, comparison)
{
	g_ptr_array_unref(comparison->runs);
	pipesim_run_free(comparison->base);
	pipesim_costs_free(comparison->laid_out);
	pipesim_free_all(
		comparison->answer, comparison->about, comparison->command, comparison);
}

const PipesimRun *pipesim_comparison_find(
	const PipesimComparison *comparison, const PipesimSchedule *schedule)
{
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		if (run->schedule == schedule && run->report != NULL)
			return run;
	return NULL;
}

gboolean pipesim_comparison_needs_base(
	const PipesimComparison *comparison, PipesimScenario *scenario)
{
	const PipesimRun *run =
		pipesim_comparison_find(comparison, pipesim_schedule_find("1f1b", NULL));

	*scenario = comparison->scenario;
	scenario->samples = 0;
	scenario->slices = scenario->offload = scenario->recompute = 0;
	scenario->offload_part = (PipesimFraction){0};
	scenario->keep = MAX(scenario->keep, PIPESIM_KEEP_NOTHING);
	return run == NULL || run->shape.sliced || pipesim_shape_offloads(&run->shape) ||
	       (run->shape.recompute > 0 && !scenario->recompute_ops);
}

static void find_baseline(PipesimComparison *comparison)
{
	const PipesimSchedule *schedule = pipesim_schedule_find("1f1b", NULL);
	const PipesimRun *run = pipesim_comparison_find(comparison, schedule);
	PipesimScenario scenario;

	if (pipesim_comparison_needs_base(comparison, &scenario))
		run = comparison->base = pipesim_run_schedule(schedule, &scenario,
			comparison->laid_out != NULL ? comparison->laid_out
						     : comparison->costs);
	comparison->baseline = run->report != NULL ? pipesim_report_step(run->report) : -1;
	if (run->report == NULL)
		g_clear_pointer(&comparison->base, pipesim_run_free);
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

/* Refused ones last, but by name; equal ones stay in the order asked for. */
static int compare_runs(gconstpointer a, gconstpointer b, gpointer data)
{
	const PipesimSort *by = data;
	const PipesimRun *x = *(const PipesimRun *const *)a, *y = *(const PipesimRun *const *)b;
	gint64 of_x, of_y;

	if (*by == PIPESIM_BY_NAME)
		return strcmp(x->name, y->name);
	if (x->report == NULL || y->report == NULL)
		return (x->report == NULL) - (y->report == NULL);
	if (*by == PIPESIM_BY_MAKESPAN) {
		of_x = pipesim_report_step(x->report);
		of_y = pipesim_report_step(y->report);
	} else if (x->report->memory.peak != NULL) {
		of_x = x->report->memory.max;
		of_y = y->report->memory.max;
	} else {
		const PipesimActivations *held = &x->report->held, *other = &y->report->held;

		of_x = held->max_peak * held->unit.num * other->unit.den;
		of_y = other->max_peak * other->unit.num * held->unit.den;
	}
	return pipesim_compare(of_x, of_y);
}

void pipesim_comparison_finish(PipesimComparison *comparison)
{
	if (comparison->scenario.sort != PIPESIM_UNSORTED)
		g_ptr_array_sort_with_data(
			comparison->runs, compare_runs, &comparison->scenario.sort);
	find_baseline(comparison);
	/* Of equals the first wins. */
	for (guint sample = 0; sample < comparison->scenario.samples; sample++) {
		PipesimRun *best = NULL;

		pipesim_each_in (PipesimRun, run, comparison->runs)
			if (run->samples != NULL && pipesim_comparison_fits(comparison, run) &&
				(best == NULL || is_faster(run, best, sample)))
				best = run;
		if (best != NULL)
			best->samples->wins++;
	}
}

/* Whose messages wait in the runtime that @run comes from; NULL: they do not, or it has
 * none. */
static const PipesimRuntime *waiting_runtime(const PipesimRun *run)
{
	const PipesimRuntime *runtime = pipesim_runtime_resolve(&pipesim_native_runtime,
		run->schedule != NULL ? run->schedule->runtime : PIPESIM_RUNTIME_OF_FILES);

	return run->error == NULL && runtime->waits ? runtime : NULL;
}

/* @most_ops: of it, one by one */
static void run_native(PipesimRun *run, guint64 most_ops)
{
	const PipesimRuntime *runtime = waiting_runtime(run);
	g_autoptr(PipesimStep) step = NULL;
	g_autoptr(GError) error = NULL;
	PipesimJob job;

	if (runtime == NULL)
		return;
	job = run->step->job;
	job.runtime = job.messages != NULL ? job.messages->runtime : runtime;
	job.issuing = pipesim_runtime_asked(
		job.runtime, &(PipesimIssuing){.communicators = PIPESIM_COMMUNICATOR_OWN});
	job.most_ops = most_ops;
	step = pipesim_step_run(&job, PIPESIM_WANT_FIGURES, &error);
	run->native = step != NULL ? step->makespan : 0;
	run->native_hangs = g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_DEADLOCK);
	run->native_left_out = g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_LIMIT);
}

void pipesim_comparison_run_native(PipesimComparison *comparison)
{
	guint n = 1;

	if (comparison->scenario.runtime != NULL || comparison->costs->post_validation)
		return;
	pipesim_each_in (const PipesimRun, run, comparison->runs)
		n += waiting_runtime(run) != NULL;
	pipesim_each_in (PipesimRun, run, comparison->runs)
		run_native(run, PIPESIM_MAX_NATIVE_OPS / n);
	if (comparison->base != NULL)
		run_native(comparison->base, PIPESIM_MAX_NATIVE_OPS / n);
}

gint64 pipesim_comparison_room(const PipesimComparison *comparison)
{
	const PipesimCutter *cutter = comparison->costs->cutter;

	return cutter != NULL && comparison->scenario.memory_limit == 0 ? cutter->room : 0;
}

/* Whether a rank of @run needs more than its GPU has. */
static gboolean is_crowded(const PipesimComparison *comparison, const PipesimRun *run)
{
	const gint64 room = pipesim_comparison_room(comparison);

	return room > 0 && run->report != NULL && run->report->memory.max > room;
}

gboolean pipesim_comparison_fits(const PipesimComparison *comparison, const PipesimRun *run)
{
	return run->report->memory.fits && !is_crowded(comparison, run);
}

gboolean pipesim_run_has_layers(const PipesimRun *run, const PipesimCosts *costs)
{
	return costs->cutter != NULL || costs->model_layers == 0 ||
	       costs->model_layers >= run->shape.stages;
}

gboolean pipesim_run_exists(const PipesimComparison *comparison, const PipesimRun *run)
{
	return !is_crowded(comparison, run) && pipesim_run_has_layers(run, comparison->costs);
}

gint64 pipesim_run_step(const PipesimRun *run)
{
	return run->samples != NULL ? (gint64)run->samples->makespan[PIPESIM_MEDIAN].value
				    : pipesim_report_step(run->report);
}

double pipesim_run_memory(const PipesimRun *run)
{
	const PipesimReport *report = run->report;
	const PipesimFraction unit = report->held.unit;

	return report->memory.peak != NULL
		       ? (double)report->memory.max
		       : (double)report->held.max_peak * (double)unit.num / (double)unit.den;
}

/* Nobody pays for nothing: of runs that are as fast that with fewer copies of the weights, where their bytes do not
 * tell, and less memory. */
static gboolean is_cheaper(const PipesimRun *a, const PipesimRun *b)
{
	if (a->report->memory.peak == NULL && a->shape.copies != b->shape.copies)
		return a->shape.copies < b->shape.copies;
	return pipesim_run_memory(a) < pipesim_run_memory(b);
}

/* @all: those that do not exist too */
static int find_best(const PipesimComparison *comparison, gboolean native, gboolean all)
{
	const GPtrArray *runs = comparison->runs;
	double best_rate = -1;
	int best = -1;

	for (guint i = 0; i < runs->len; i++) {
		const PipesimRun *run = runs->pdata[i];

		if (run->report == NULL || !run->report->memory.fits ||
			(native && (run->native_hangs || run->native_left_out)) ||
			(!all && !pipesim_run_exists(comparison, run)))
			continue;
		gint64 makespan =
			native && run->native > 0 ? run->native : pipesim_run_step(run);
		/* Files may have their own number of micro-batches: rates compare, makespans
		 * not. */
		double rate = (double)pipesim_shape_whole(&run->shape) /
			      (double)MAX(makespan, 1) / run->shape.ranks;
		if (rate > best_rate ||
			(rate == best_rate && is_cheaper(run, runs->pdata[best]))) {
			best_rate = rate;
			best = (int)i;
		}
	}
	return best;
}

int pipesim_comparison_choose(const PipesimComparison *comparison, gboolean native)
{
	const int best = find_best(comparison, native, FALSE);

	return best >= 0 ? best : find_best(comparison, native, TRUE);
}

GPtrArray *pipesim_comparison_layers(const PipesimComparison *comparison, gboolean existing)
{
	GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
	const GPtrArray *runs = comparison->runs;
	const int best = pipesim_comparison_choose(comparison, FALSE);

	/* Where none exists all are shown. */
	existing &= best >= 0 && pipesim_run_exists(comparison, runs->pdata[best]);
	for (guint i = 0; i < runs->len; i++) {
		const PipesimRun *run = g_ptr_array_index(runs, i);
		GString *line = NULL;

		if (existing && run->error == NULL && !pipesim_run_exists(comparison, run))
			continue;
		for (guint k = 0; run->error == NULL && run->layers != NULL && k < runs->len;
			k++) {
			const PipesimRun *other = g_ptr_array_index(runs, k);

			if (other->error != NULL || g_strcmp0(other->layers, run->layers) != 0)
				continue;
			if (k < i)
				break; /* it has said so */
			if (line == NULL)
				line = g_string_new(other->name);
			else
				g_string_append_printf(line, ", %s", other->name);
		}
		if (line == NULL)
			continue;
		g_string_append_printf(line, ": %s", run->layers);
		g_ptr_array_add(lines, g_string_free(line, FALSE));
	}
	return lines;
}

double pipesim_throughput(const PipesimComparison *comparison, const PipesimRun *run)
{
	const double base = (double)comparison->baseline / comparison->scenario.microbatches;

	const gint64 step = run->report != NULL ? pipesim_report_step(run->report) : 0;

	if (comparison->baseline <= 0 || step <= 0)
		return NAN;
	return base * pipesim_shape_whole(&run->shape) / (double)step *
	       comparison->scenario.ranks / run->shape.ranks;
}
