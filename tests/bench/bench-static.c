/* Static orders: the whole path, the timeline alone, beside the simple engine. */
#include "bench.h"
#include "engine/fast.h"
#include "engine/stream.h"
#include "reference-engine.h"

typedef struct {
	const PipesimSchedule *schedule;
	PipesimScenario scenario;
	PipesimShape shape;
	PipesimCosts *costs;
	PipesimTimes *times;
	PipesimOrder *order;
	PipesimProgram *program; /* NULL where it is not kept op by op */
} Case;

/* FALSE for orders that are found by a search, and for shapes that are refused. */
static gboolean case_init(Case *at, const PipesimSchedule *schedule, guint ranks,
	guint microbatches, gboolean expand)
{
	*at = (Case){.schedule = schedule,
		.scenario = {.ranks = ranks, .microbatches = microbatches}};
	if (schedule->generate == NULL ||
		!pipesim_schedule_shape(schedule, &at->scenario, &at->shape, NULL))
		return FALSE;
	at->costs = pipesim_costs_default();
	at->times = pipesim_times_new(at->costs, &at->shape);
	at->order = pipesim_schedule_order(schedule, &at->shape, at->times, NULL);
	if (at->order == NULL || !at->order->is_closed)
		return FALSE;
	if (expand)
		at->program = pipesim_order_expand(at->order, NULL);
	return !expand || at->program != NULL;
}

static void case_clear(Case *at)
{
	pipesim_program_unref(at->program);
	pipesim_order_unref(at->order);
	pipesim_times_free(at->times);
	pipesim_costs_free(at->costs);
}

/* What is kept of one op: itself, what finds it, its start and end. */
static double bytes_per_op(const Case *at)
{
	const double slots = (double)at->shape.stages * at->shape.microbatches;

	return sizeof(PipesimOp) + 2 * sizeof(gint64) +
	       2 * sizeof(guint32) * slots / at->program->n_ops;
}

static void run_whole(gpointer data)
{
	const Case *at = data;

	pipesim_run_free(pipesim_run_schedule(at->schedule, &at->scenario, at->costs));
}

static void run_simple(gpointer data)
{
	const Case *at = data;

	pipesim_timeline_free(reference_run(at->program, at->times, NULL));
}

static void run_fast(gpointer data)
{
	const Case *at = data;

	pipesim_timeline_free(pipesim_fast_run(at->program, at->times, NULL));
}

static void run_leaping(gpointer data)
{
	const Case *at = data;

	pipesim_step_free(
		pipesim_step_run(&(PipesimJob){.order = at->order, .times = at->times},
			PIPESIM_WANT_FIGURES, NULL));
}

static void print_case(Case *at, BenchWork work, gint64 simple_ns)
{
	const BenchRow row = {
		.what = at->schedule->name,
		.ns = bench_median(work, at),
		.n = (double)at->order->n_ops,
		.unit = "ops",
		.bytes = at->program != NULL ? bytes_per_op(at) : 0,
		.simple_ns = simple_ns,
	};

	bench_row(&row);
}

/* Every closed-form schedule; the simple engine beside it where it can. */
static void print_all(const char *title, BenchWork work, guint ranks, guint microbatches)
{
	const gboolean simple = (guint64)ranks * microbatches <= 1u << 22;

	bench_title(title);
	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++) {
		Case at;

		if (case_init(&at, *s, ranks, microbatches, simple))
			print_case(&at, work, simple ? bench_median(run_simple, &at) : 0);
		case_clear(&at);
	}
}

void bench_static(void)
{
	print_all("Generate, validate, timeline and report, PP 64, 1024 micro-batches (beside "
		  "the simple engine's timeline alone)",
		run_whole, 64, 1024);
	print_all("Timeline of any program, PP 64, 1024 micro-batches", run_fast, 64, 1024);
	print_all("Timeline of any program, PP 64, 16384 micro-batches", run_fast, 64, 16384);
	print_all("Makespan and bubble, no timeline, leaps, PP 64, 1048576 micro-batches",
		run_leaping, 64, 1 << 20);
	print_all("The same, PP 64, 1073741824 micro-batches", run_leaping, 64, 1 << 30);
}
