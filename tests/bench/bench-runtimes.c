/* Lists of runtimes: the whole path of a table (order, list, run, report), the run alone in items of the list a second
 * beside the plain engine, leaps, samples; and what goes by events, in ops. */
#include "bench.h"
#include "engine/comm.h"
#include "engine/draw.h"
#include "engine/ruled.h"
#include "reference-comm.h"

typedef struct {
	const PipesimSchedule *schedule;
	const PipesimRuntime *runtime;
	PipesimScenario scenario;
	PipesimCosts *costs;
	PipesimShape shape;
	PipesimTimes *times;
	PipesimNetwork *network; /* NULL: P2P */
	PipesimIssuing issuing;
	PipesimProgram *program;
	PipesimLowering *lowering;
	PipesimRuled *ruled;
	PipesimStep *step;
	gint64 *of_ranks;
	gint64 *drawn; /* what ops take, of one sample; NULL: no jitter */
} Case;

static const char *const names[] = {"1f1b", "interleaved-1f1b", "dualpipe"};

static void run_table(gpointer data)
{
	const Case *at = data;

	pipesim_run_free(pipesim_run_schedule(at->schedule, &at->scenario, at->costs));
}

static void run_ruled(gpointer data)
{
	Case *at = data;
	const guint ranks = at->shape.ranks;
	PipesimRuledFigures figures = {.busy = at->of_ranks,
		.first_start = at->of_ranks + ranks,
		.last_end = at->of_ranks + 2 * (gsize)ranks};
	gboolean done;

	pipesim_ruled_figures(at->ruled, at->times, &figures, &done, NULL);
}

static void run_plain(gpointer data)
{
	const Case *at = data;

	pipesim_timeline_free(reference_comm_run(
		at->lowering, &at->issuing, at->times, at->network, 0, NULL, NULL));
}

static void run_events(gpointer data)
{
	const Case *at = data;

	pipesim_timeline_free(pipesim_comm_run(
		at->lowering, &at->issuing, at->times, at->network, 0, NULL, NULL));
}

static void run_limit(gpointer data)
{
	const Case *at = data;

	pipesim_lowering_free(pipesim_lower(at->program, at->runtime, &at->issuing, NULL));
}

#define SAMPLES 4096

static void run_samples(gpointer data)
{
	Case *at = data;
	PipesimOutcome results[SAMPLES];
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){1, 20});

	pipesim_step_sample(at->step, jitter, 1, SAMPLES, results, NULL);
}

/* FALSE where @runtime has no such order, or hangs. */
static gboolean case_init(Case *at, const char *name, const PipesimRuntime *runtime,
	guint ranks, guint microbatches, gboolean lower)
{
	g_autoptr(PipesimOrder) order = NULL;

	*at = (Case){.schedule = pipesim_schedule_find(name, NULL),
		.runtime = runtime,
		.scenario = {.ranks = ranks,
			.microbatches = microbatches,
			.runtime = runtime,
			.keep = PIPESIM_KEEP_RULES},
		.costs = pipesim_costs_default()};
	if (!pipesim_schedule_shape(at->schedule, &at->scenario, &at->shape, NULL))
		return FALSE;
	at->times = pipesim_times_new(at->costs, &at->shape);
	at->issuing = pipesim_runtime_asked(runtime, &at->scenario.issuing);
	if (!lower)
		return TRUE;
	order = pipesim_schedule_order(at->schedule, &at->shape, at->times, NULL);
	at->program = pipesim_order_expand(order, NULL);
	at->lowering = pipesim_lower(at->program, runtime, &at->issuing, NULL);
	if (at->lowering == NULL || !pipesim_lowering_check(at->lowering,
					    at->issuing.communicators, NULL, NULL, NULL))
		return FALSE;
	at->ruled = pipesim_ruled_new(at->lowering, &at->issuing, NULL);
	at->step = pipesim_step_run(&(PipesimJob){.order = order,
					    .times = at->times,
					    .runtime = runtime,
					    .issuing = at->issuing},
		PIPESIM_WANT_MESSAGES, NULL);
	at->of_ranks = g_new(gint64, 3 * (gsize)ranks);
	return TRUE;
}

static void case_clear(Case *at)
{
	pipesim_step_free(at->step);
	pipesim_ruled_free(at->ruled);
	pipesim_lowering_free(at->lowering);
	pipesim_program_unref(at->program);
	pipesim_network_free(at->network);
	pipesim_times_free(at->times);
	pipesim_costs_free(at->costs);
	g_free(at->of_ranks);
	g_free(at->drawn);
}

static void print(const Case *at, const char *more, BenchWork work, double n, const char *unit,
	gint64 simple_ns)
{
	g_autofree char *what =
		g_strdup_printf("%s, %s%s", at->schedule->name, at->runtime->name, more);

	bench_row(&(BenchRow){.what = what,
		.ns = bench_median(work, (gpointer)at),
		.n = n,
		.unit = unit,
		.simple_ns = simple_ns});
}

/* Waits for sends that come forward. */
static void measure_limits(void)
{
	static const char *const limited[] = {
		"gpipe", "1f1b", "interleaved-1f1b", "looped-bfs", "zb-v"};

	bench_title("List under a limit of 2 sends, PP 16, 1024 micro-batches");
	for (guint i = 0; i < G_N_ELEMENTS(limited); i++) {
		Case at;

		if (!case_init(&at, limited[i], &pipesim_runtime_pytorch_2_15, 16, 1024, TRUE))
			continue;
		at.issuing.max_sends = 2;
		print(&at, "", run_limit, at.program->n_ops, "ops", 0);
		case_clear(&at);
	}
}

/* What ops take in one sample, by op of the timeline. */
static gint64 *draw_one(const Case *at)
{
	g_autofree PipesimJitter *jitter = pipesim_jitter_normal((PipesimFraction){1, 20});
	PipesimDraw *draw = pipesim_draw_new(at->step->program, at->times, jitter, NULL);
	gint64 *durations = g_new(gint64, at->step->program->n_ops);

	pipesim_draw_durations(draw, 1, 0, durations);
	pipesim_draw_free(draw);
	return durations;
}

/* What makes times hang on what else runs: bits, and the letters that rows have for them. */
enum {
	LINKS = 1 << 0,
	RECEIVES = 1 << 1,
	LAUNCHES = 1 << 2,
	POWER = 1 << 3,
	JITTER = 1 << 4,
	EFFECTS = 1 << 5, /* all are below */
};

static const char letters[] = "lrhpj";

static void set_effects(Case *at, guint effects)
{
	PipesimCosts *costs = at->costs;

	if (effects & LINKS) {
		at->network = pipesim_network_new();
		at->network->message_bytes = 32 << 20;
		at->network->ranks_per_node = 8;
		at->network->intra = (PipesimLinkSpeed){5000, 300000000000, FALSE};
		at->network->inter = (PipesimLinkSpeed){10000, 50000000000, FALSE};
	}
	if (effects & RECEIVES) {
		costs->contention = pipesim_contention_new();
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			costs->contention->slowdown[kind] = 1040000;
	}
	if (effects & POWER) {
		costs->power = pipesim_power_new();
		costs->power->full_speed[PIPESIM_F] = 900000;
	}
	if (effects & LAUNCHES) {
		costs->n_launches = 1;
		costs->launch = g_new0(gint64, PIPESIM_FB);
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			costs->launch[kind] = 100000;
	}
	pipesim_times_free(at->times);
	at->times = pipesim_times_new(costs, &at->shape);
	if (effects & JITTER)
		at->times->drawn = at->drawn = draw_one(at);
}

static void measure_effects(const char *name, const PipesimRuntime *runtime, guint effects)
{
	const gboolean beside = (effects & (effects - 1)) == 0 || effects == EFFECTS - 1;
	char more[] = ", .....";
	Case at;

	for (guint i = 0; 1u << i < EFFECTS; i++)
		if (effects & 1u << i)
			more[2 + i] = letters[i];
	if (case_init(&at, name, runtime, 64, 1024, TRUE)) {
		set_effects(&at, effects);
		print(&at, more, run_events, at.program->n_ops, "ops",
			beside ? bench_median(run_plain, &at) : 0);
	}
	case_clear(&at);
}

void bench_events(void)
{
	bench_title("By events, PP 64, 1024 micro-batches: links, receives, launches of the "
		    "host (h), "
		    "power, jitter (simple: the plain engine)");
	for (guint k = 0; pipesim_runtime_list()[k] != NULL; k++)
		for (guint i = 0; i < G_N_ELEMENTS(names); i++)
			for (guint effects = 1; effects < EFFECTS; effects++)
				if (pipesim_runtime_list()[k]->waits &&
					pipesim_runtime_names(
						pipesim_runtime_list()[k], names[i]))
					measure_effects(
						names[i], pipesim_runtime_list()[k], effects);
}

/* What is measured of each runtime and its schedules. */
typedef struct {
	const char *title;
	guint ranks, microbatches;
	BenchWork work; /* by run_table() of the schedule's name alone; else of its list */
} Section;

static void measure_case(
	const Section *section, const char *name, const PipesimRuntime *runtime)
{
	const gboolean table = section->work == run_table;
	Case at;

	if (!case_init(&at, name, runtime, section->ranks, section->microbatches, !table)) {
	} else if (table) {
		print(&at, "", run_table, 2.0 * at.shape.stages * at.shape.microbatches, "ops",
			0);
	} else if (section->work == run_ruled) {
		print(&at, "", run_ruled, at.lowering->n_actions, "items",
			bench_median(run_plain, &at));
	} else {
		print(&at, "", run_samples, SAMPLES * (double)at.step->program->n_ops,
			"op-samples", 0);
	}
	case_clear(&at);
}

static void measure(const Section *section)
{
	bench_title(section->title);
	for (guint k = 0; pipesim_runtime_list()[k] != NULL; k++)
		for (guint i = 0; i < G_N_ELEMENTS(names); i++)
			if (pipesim_runtime_list()[k]->waits &&
				pipesim_runtime_names(pipesim_runtime_list()[k], names[i]))
				measure_case(section, names[i], pipesim_runtime_list()[k]);
}

void bench_runtimes(void)
{
	static const Section sections[] = {
		{"Table under a runtime: order, list, run and report, PP 64, 1024 "
		 "micro-batches",
			64, 1024, run_table},
		{"Table under a runtime, PP 64, 16384 micro-batches", 64, 16384, run_table},
		{"Table under a runtime, leaps, PP 8, 1000000000 micro-batches", 8, 1000000000,
			run_table},
		{"Run of a list, items a second, PP 64, 1024 (simple: the plain engine)", 64,
			1024, run_ruled}};

	for (guint t = 0; t < G_N_ELEMENTS(sections); t++)
		measure(&sections[t]);
	measure_limits();
}

void bench_samples(void)
{
	static const Section section = {
		"4096 samples under a runtime, PP 16, 128 micro-batches", 16, 128, run_samples};

	measure(&section);
}
