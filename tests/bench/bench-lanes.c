/* Many runs side by side: samples of a step, and one schedule at many costs. */
#include "analysis/best-order.h"
#include "bench.h"
#include "engine/draw.h"
#include "engine/lanes-kernel.h"
#include "reference-engine.h"

/* The simple engine does this part of the work, and its time counts so many times. */
#define PART 64

typedef struct {
	PipesimProgram *program;
	PipesimTimes *times;
	PipesimDraw *draw;
	PipesimWhatif *whatif;
	const PipesimCosts **costs;
	PipesimOutcome *outcomes;
	gint64 *durations;
	guint n, threads;
} Lanes;

static void draw_samples(gpointer data)
{
	Lanes *lanes = data;

	pipesim_draw_run(lanes->draw, 1, 0, lanes->n, lanes->threads, lanes->outcomes, NULL);
}

static void draw_one_by_one(gpointer data)
{
	Lanes *lanes = data;
	PipesimTimes drawn = *lanes->times;

	drawn.drawn = lanes->durations;
	for (guint i = 0; i < lanes->n / PART; i++) {
		pipesim_draw_durations(lanes->draw, 1, i, lanes->durations);
		pipesim_timeline_free(reference_run(lanes->program, &drawn, NULL));
	}
}

static void run_costs(gpointer data)
{
	Lanes *lanes = data;

	pipesim_whatif_run(
		lanes->whatif, lanes->costs, lanes->n, lanes->threads, lanes->outcomes, NULL);
}

static void run_costs_one_by_one(gpointer data)
{
	Lanes *lanes = data;

	for (guint i = 0; i < lanes->n / PART; i++) {
		g_autoptr(PipesimTimes) times =
			pipesim_times_new(lanes->costs[i], &lanes->program->shape);

		pipesim_timeline_free(reference_run(lanes->program, times, NULL));
	}
}

static void lanes_init(Lanes *lanes, const char *name, guint ranks, guint microbatches, guint n)
{
	const PipesimSchedule *schedule = pipesim_schedule_find(name, NULL);
	const PipesimScenario scenario = {.ranks = ranks, .microbatches = microbatches};
	PipesimShape shape;

	lanes->n = n;
	lanes->threads = 1;
	lanes->costs = g_new(const PipesimCosts *, n);
	for (guint i = 0; i < n; i++)
		lanes->costs[i] = pipesim_costs_new(1000000 + i * 7, 1100000 + i * 3,
			900000 + i, 2500000 + i * 5, 10000 + i, NULL);
	pipesim_schedule_shape(schedule, &scenario, &shape, NULL);
	lanes->times = pipesim_times_new(lanes->costs[0], &shape);
	lanes->program = pipesim_best_program(schedule, &scenario, lanes->costs[0], NULL);
	lanes->whatif =
		pipesim_whatif_new(schedule, ranks, microbatches, lanes->costs[0], NULL);
	lanes->outcomes = g_new(PipesimOutcome, n);
	lanes->durations = g_new(gint64, lanes->program->n_ops);
}

static void lanes_clear(Lanes *lanes)
{
	for (guint i = 0; i < lanes->n; i++)
		pipesim_costs_free((PipesimCosts *)lanes->costs[i]);
	g_free(lanes->costs);
	pipesim_times_free(lanes->times);
	pipesim_draw_free(lanes->draw);
	pipesim_whatif_free(lanes->whatif);
	pipesim_program_unref(lanes->program);
	g_free(lanes->outcomes);
	g_free(lanes->durations);
}

static void sample_row(
	const char *name, guint ranks, guint microbatches, guint n, guint stay, guint threads)
{
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){3, 100});
	g_autofree char *what = g_strdup_printf("%s %u/%u%s%s", name, ranks, microbatches,
		stay > 0 ? ", lag 0.3" : "", threads == 1 ? "" : ", all cores");
	Lanes lanes = {0};
	BenchRow row = {.what = what, .unit = "op-samples"};

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		jitter->kind[kind].stay = stay;
	lanes_init(&lanes, name, ranks, microbatches, n);
	lanes.draw = pipesim_draw_new(lanes.program, lanes.times, jitter, NULL);
	lanes.threads = threads;
	row.n = (double)n * lanes.program->n_ops;
	row.ns = bench_median(draw_samples, &lanes);
	row.simple_ns = bench_median(draw_one_by_one, &lanes) * PART;
	bench_row(&row);
	lanes_clear(&lanes);
}

static void cost_row(const char *name, guint ranks, guint microbatches, guint n, guint threads)
{
	g_autofree char *what = g_strdup_printf("%s %u/%u, %u costs%s", name, ranks,
		microbatches, n, threads == 1 ? "" : ", all cores");
	Lanes lanes = {0};
	BenchRow row = {.what = what, .unit = "runs", .n = n};

	lanes_init(&lanes, name, ranks, microbatches, n);
	lanes.threads = threads;
	row.ns = bench_median(run_costs, &lanes);
	row.simple_ns = bench_median(run_costs_one_by_one, &lanes) * PART;
	bench_row(&row);
	lanes_clear(&lanes);
}

void bench_lanes(void)
{
	g_autofree char *title = g_strdup_printf("Samples of a step, drawing included (%s)",
		pipesim_lane_kernels_list()[0]->name);

	bench_title(title);
	sample_row("1f1b", 16, 128, 4096, 0, 1);
	sample_row("1f1b", 16, 128, 4096, 9830, 1);
	sample_row("zb-h1", 16, 128, 4096, 0, 1);
	sample_row("dualpipe", 16, 128, 4096, 0, 1);
	sample_row("1f1b", 64, 1024, 128, 0, 1);
	sample_row("1f1b", 16, 128, 4096, 0, 0);
	bench_title("One schedule at many costs");
	cost_row("1f1b", 8, 32, 8192, 1);
	cost_row("zb-h1", 8, 32, 8192, 1);
	cost_row("dualpipe", 8, 32, 8192, 1);
	cost_row("1f1b", 8, 32, 8192, 0);
}
