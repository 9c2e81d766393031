/* Loops of a capture of a GPU that does not exist: what is put into it comes out. And what a step takes at its edges. */
#include "effects/loops.h"
#include "effects/print.h"
#include "engine/comm.h"
#include "engine/dynamic.h"
#include "engine/slowdown.h"
#include "grid.h"
#include "model/costs-file.h"
#include "suites.h"

#include <math.h>
#include <string.h>

#define CYCLE  5
#define STAGES 2

/* Sustained, ns; full clock; beside a receive, at the same clock. */
static const double sustained[] = {2.9e6, 3.9e6, 2.95e6, 6.7e6};
static const double full[] = {0.88, 0.88, 0.90, 0.89};
static const double slower[] = {1.35, 1.30, 1.20, 1.25};
static const PipesimKind cycle[CYCLE] = {PIPESIM_F, PIPESIM_B, PIPESIM_F, PIPESIM_I, PIPESIM_W};

typedef struct {
	PipesimTrace *trace;
	double mean;          /* running load, of one time constant */
	double level, beside; /* what messages cost, load beside a receive */
	guint32 random;
	gint64 rep;
} Gpu;

static PipesimCosts *new_costs(void)
{
	PipesimCosts *costs = pipesim_costs_default();

	costs->power = pipesim_power_new();
	costs->power->time_constant[0] = 34000000;
	costs->power->threshold = 800000;
	costs->contention = pipesim_contention_new();
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		costs->power->full_speed[kind] = (gint64)(1e6 * full[kind]);
	costs->n_parts = STAGES;
	costs->part = g_new0(gint64, STAGES * PIPESIM_FB);
	return costs;
}

static PipesimCosts *read_costs(const char *text)
{
	g_autoptr(GError) error = NULL;
	PipesimCosts *costs = pipesim_costs_read_ini(
		pipesim_ini_parse(text, strlen(text), "x.ini", &error), &error);

	ck_assert_msg(costs != NULL, "%s", error != NULL ? error->message : "");
	return costs;
}

static double noise(Gpu *gpu)
{
	gpu->random = gpu->random * 1664525 + 1013904223;
	return 1 + 0.02 * ((double)(gpu->random >> 8) / (1 << 24) - 0.5);
}

/* One op, of which the trace has a row. */
static PipesimTraceRow *play(Gpu *gpu, guint series, PipesimKind kind, gboolean beside)
{
	const double load = beside ? gpu->beside : 1, tau = 34e6;
	const double most = series == PIPESIM_SERIES_NONE ? 1 : gpu->level;
	PipesimTraceRow row;
	double took = sustained[kind], x, u;

	pipesim_trace_row_init(&row);
	for (guint i = 0; i < 3; i++) {
		x = load + (gpu->mean - load) * exp(-took / 2 / tau);
		u = CLAMP((x - 0.8) / 0.2, 0, 1);
		took = sustained[kind] * (full[kind] + (most - full[kind]) * u) *
		       (beside ? slower[kind] : 1);
	}
	gpu->mean = load + (gpu->mean - load) * exp(-took / tau);
	row.run_id = "loop";
	row.rep = gpu->rep++;
	row.rank = 0;
	row.what.series = (guint8)series;
	row.what.component = "chunk";
	row.what.phase = (guint8)kind;
	row.what.stage = 1;
	row.duration = (gint64)llround(took * noise(gpu));
	g_array_append_val(gpu->trace->rows, row);
	return &g_array_index(gpu->trace->rows, PipesimTraceRow, gpu->trace->rows->len - 1);
}

/* In turns of two cycles alone and beside a receive. */
static void play_turns(Gpu *gpu, guint turns)
{
	for (guint turn = 0; turn < turns; turn++)
		for (guint i = 0; i < 2 * CYCLE; i++) {
			PipesimTraceRow *row =
				play(gpu, PIPESIM_SERIES_RESIDENT, cycle[i % CYCLE], turn % 2);

			row->what.load_mode = "steady";
			row->resident = turn % 2 ? PIPESIM_UNKNOWN : 0;
			row->what.impl = turn % 2 ? "nccl" : "";
			if (i == 0)
				row->status = PIPESIM_STATUS_WARMUP;
		}
}

/* Bursts of a chip that has rested, in turn alone and beside a receive. */
static void play_rested(Gpu *gpu, guint bursts)
{
	for (guint burst = 0; burst < bursts; burst++) {
		gpu->mean = 0;
		for (guint i = 1; i < CYCLE; i++) {
			PipesimTraceRow *row =
				play(gpu, PIPESIM_SERIES_RESIDENT, cycle[i], burst % 2);

			row->what.load_mode = "rested";
			row->resident = burst % 2 ? PIPESIM_UNKNOWN : 0;
			row->what.impl = burst % 2 ? "nccl" : "";
		}
	}
}

static void play_alone(Gpu *gpu, guint cycles)
{
	for (guint i = 0; i < cycles * CYCLE; i++)
		play(gpu, PIPESIM_SERIES_NONE, cycle[i % CYCLE], FALSE);
}

static void play_exchange(Gpu *gpu, guint cycles)
{
	const double level = gpu->level;

	for (guint i = 0; i < 4 * cycles * CYCLE; i++) {
		const gboolean with = i / (cycles * CYCLE) % 2;
		PipesimTraceRow *row;

		gpu->level = with ? level : 1;
		row = play(gpu, PIPESIM_SERIES_EXCHANGE, cycle[i % CYCLE], FALSE);
		row->what.payload_bytes = with ? 1 << 25 : 0;
		/* What is slower beside the message itself counts for nothing. */
		if (with && cycle[i % CYCLE] == PIPESIM_F)
			row->duration += row->duration / 10;
	}
	gpu->level = level;
}

static void play_steps(Gpu *gpu, guint steps, gint64 less, gint64 more, gint64 begin)
{
	for (guint i = 0; i < steps * STAGES; i++) {
		PipesimTraceRow *row;

		for (guint m = 0; m < 2; m++)
			for (guint b = 0; b < 2; b++) {
				row = play(gpu, PIPESIM_SERIES_STEP, b ? PIPESIM_B : PIPESIM_W,
					FALSE);
				row->microbatch = m;
				row->what.stage = i % STAGES;
				row->duration -= m == 0 ? less : 0;
			}
		row = play(gpu, PIPESIM_SERIES_STEP, PIPESIM_B, FALSE);
		row->what.component = "scale";
		row->what.stage = i % STAGES;
		row->duration = more;
		row = play(gpu, PIPESIM_SERIES_STEP, PIPESIM_F, FALSE);
		row->what.component = "begin";
		row->duration = begin;
		for (guint m = 0; m < 4; m++)
			play(gpu, PIPESIM_SERIES_STEP, PIPESIM_F, FALSE)->microbatch = m;
	}
}

START_TEST(loops_of_a_known_chip)
{
	static const double loads[] = {0.6, 0.75, 0.9};
	static const double levels[] = {1, 1.02, 1.04};
	Gpu gpu = {pipesim_trace_new("fake.csv"), 1, levels[_i % 3], loads[_i / 3], 7, 0};
	g_autoptr(PipesimTrace) trace = gpu.trace;
	g_autoptr(PipesimCosts) costs = new_costs();
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	PipesimTrace *traces[] = {trace};
	PipesimLoops loops;

	play_alone(&gpu, 100);
	play_exchange(&gpu, 60);
	play_turns(&gpu, 200);
	play_steps(&gpu, 40, 300000, 207000, 450000);
	pipesim_loops_calibrate(traces, 1, costs, notices, &loops);
	ck_assert_uint_eq(notices->len, 0);
	ck_assert_double_eq_tol((double)costs->power->exchanging / 1e6, gpu.level, 0.005);
	ck_assert_double_eq_tol((double)costs->power->beside_load / 1e6, gpu.beside, 0.01);
	for (guint kind = 0; kind < PIPESIM_FB; kind++)
		ck_assert_double_eq_tol((double)costs->contention->slowdown[kind] / 1e6,
			slower[kind], 0.01 * slower[kind]);
	/* A pair is a forward and a backward. */
	ck_assert_int_eq(costs->contention->slowdown[PIPESIM_FB],
		(costs->contention->slowdown[PIPESIM_F] +
			costs->contention->slowdown[PIPESIM_B]) /
			2);
	ck_assert_int_eq(loops.slowdown[PIPESIM_FB], costs->contention->slowdown[PIPESIM_FB]);
	ck_assert_double_eq_tol((double)costs->step->begin, 450000, 30000);
	ck_assert_uint_eq(costs->step->n_parts, STAGES);
	for (guint stage = 0; stage < STAGES; stage++) {
		const gint64 *edge = &costs->step->part[stage * PIPESIM_N_EDGES];

		ck_assert_double_eq_tol((double)edge[PIPESIM_EDGE_FIRST], 300000, 30000);
		ck_assert_int_eq(edge[PIPESIM_EDGE_LAST], 207000);
	}
}
END_TEST

/* The form that the governor was taken for need not be its own: bursts of a rested chip show what a receive does all the
 * same. */
START_TEST(rest_shows_what_a_receive_does)
{
	double off[2] = {0, 0};

	for (guint rested = 0; rested < 2; rested++) {
		Gpu gpu = {pipesim_trace_new("fake.csv"), 1, 1.02, 0.75, 7, 0};
		g_autoptr(PipesimTrace) trace = gpu.trace;
		g_autoptr(PipesimCosts) costs = new_costs();
		g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
		PipesimTrace *traces[] = {trace};
		PipesimLoops loops;

		costs->power->threshold = 500000;
		costs->power->time_constant[0] = 60000000;
		play_alone(&gpu, 100);
		play_exchange(&gpu, 60);
		play_turns(&gpu, 200);
		if (rested)
			play_rested(&gpu, 40);
		pipesim_loops_calibrate(traces, 1, costs, notices, &loops);
		ck_assert_uint_eq(loops.rested_ops, rested * 40 * (CYCLE - 1));
		for (guint kind = 0; kind < PIPESIM_FB; kind++)
			off[rested] = MAX(off[rested],
				fabs((double)loops.slowdown[kind] / 1e6 / slower[kind] - 1));
	}
	ck_assert_double_gt(off[0], 0.015);
	ck_assert_double_lt(off[1], 0.005);
}
END_TEST

START_TEST(nothing_measured_changes_nothing)
{
	Gpu gpu = {pipesim_trace_new("fake.csv"), 1, 1, 1, 7, 0};
	g_autoptr(PipesimTrace) trace = gpu.trace;
	g_autoptr(PipesimCosts) costs = new_costs();
	g_autoptr(GPtrArray) notices = g_ptr_array_new_with_free_func(g_free);
	PipesimTrace *traces[] = {trace};
	PipesimLoops loops;

	play_alone(&gpu, 10);
	pipesim_loops_calibrate(traces, 1, costs, notices, &loops);
	ck_assert_uint_eq(loops.exchange_ops + loops.beside_ops + loops.step_ops, 0);
	ck_assert_int_eq(costs->power->exchanging, PIPESIM_PPM);
	ck_assert_int_eq(costs->power->beside_load, PIPESIM_PPM);
	ck_assert_ptr_null(costs->step);
	/* A loop of ops whose stage was not measured says nothing, and says so. */
	g_array_set_size(trace->rows, 0);
	play_turns(&gpu, 20);
	play_steps(&gpu, 2, 0, 1000, 1000);
	costs->n_parts = 1;
	pipesim_loops_calibrate(traces, 1, costs, notices, &loops);
	ck_assert_uint_eq(notices->len, 2);
	ck_assert_int_eq(costs->power->beside_load, PIPESIM_PPM);
	ck_assert_ptr_null(costs->step->part);
}
END_TEST

#define BESIDE "\nloops beside a waiting receive: ops draw 0.64 there, what "
#define STEPS                                                                                \
	"\nsteps: 0.450 ms at the begin; first backwards of stages less 0.300, 0.100, last " \
	"ones "                                                                              \
	"more 0.207, 0.005\n"

/* Each line by itself, and loops where a governor was fitted alone. */
static const struct {
	PipesimLoops loops;
	gboolean fitted;
	const char *wanted;
} told[] = {
	{{0}, TRUE, ""},
	{{.exchange_ops = 80, .beside_ops = 40, .step_ops = 10}, FALSE, STEPS},
	{{.exchange_ops = 80}, TRUE,
		"\nranks that exchange messages: sustained times +2.1%, 80 ops\n"},
	{{.beside_ops = 40, .beside_left = 15000, .slowdown = {1350000, 0, 1200000, 0, 9}},
		TRUE,
		BESIDE
		"ops alone take is 1.5% off; slower at the same clock: F +35.0% W +20.0%\n"},
	{{.beside_ops = 40, .rested_ops = 8, .beside_left = 2000, .step_ops = 10}, TRUE,
		BESIDE "all ops take is 0.2% off; slower at full clock:\n" STEPS},
};

START_TEST(loops_are_told)
{
	const PipesimEffects effects = {.loops = told[_i].loops};
	g_autoptr(GString) text = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs =
		read_costs("[pipesim-costs]\nversion=1\n\n[times]\nF=100\nI=100\nW=100\n\n"
			   "[step]\nbegin_ns=450000\nfirst_backward_less_ns=300000;100000\n"
			   "last_backward_more_ns=207000;5000\n");

	if (told[_i].fitted) {
		costs->power = pipesim_power_new();
		costs->power->beside_load = 640000;
		costs->power->exchanging = 1021000;
	}
	pipesim_effects_text(&effects, costs, TRUE, text);
	ck_assert_str_eq(text->str, told[_i].wanted);
}
END_TEST

/* Two parts, whose edges stages share out. */
#define EDGES                                                            \
	"[pipesim-costs]\nversion=1\n\n[times]\nF=100\nI=100\nW=100\n\n" \
	"[step]\nbegin_ns=40\nfirst_backward_less_ns=30;10\n"            \
	"last_backward_more_ns=5;7\n"

static gint64 makespan(const PipesimCosts *costs, guint ranks, const PipesimRuntime *runtime)
{
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &(PipesimIssuing){0});
	g_autoptr(PipesimProgram) program =
		make_program(pipesim_schedule_find("1f1b", NULL), ranks, 4, NULL);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	g_autoptr(PipesimTimeline) timeline = NULL;

	if (runtime->waits) {
		g_autoptr(PipesimLowering) lowering =
			pipesim_lower(program, runtime, &issuing, NULL);

		timeline = pipesim_comm_run(lowering, &issuing, times, NULL, 0, NULL, NULL);
	} else {
		timeline = pipesim_dynamic_run(program, times, network, 0, NULL, NULL);
	}
	ck_assert_ptr_nonnull(timeline);
	return timeline->makespan;
}

/* The begin and the first backward of rank 1 are on the way of all, and the last ones of both ranks; on one rank all
 * are. */
START_TEST(edges_are_added)
{
	static const PipesimRuntime *const runtimes[] = {
		&pipesim_runtime_async, &pipesim_runtime_single};
	g_autoptr(GString) again = g_string_new(NULL);
	g_autoptr(PipesimCosts) costs = read_costs(EDGES);
	g_autoptr(PipesimCosts) bare = read_costs(EDGES);

	pipesim_costs_write(costs, again);
	ck_assert_ptr_nonnull(strstr(again->str, strstr(EDGES, "[step]")));
	ck_assert(pipesim_costs_sustain(bare));
	ck_assert_ptr_null(bare->step);
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		ck_assert_int_eq(makespan(costs, 1, runtimes[i]),
			makespan(bare, 1, runtimes[i]) + 40 - 40 + 12);
		ck_assert_int_eq(makespan(costs, 2, runtimes[i]),
			makespan(bare, 2, runtimes[i]) + 40 - 10 + 7 + 5);
	}
}
END_TEST

/* Without an input to go back to W is all of the backward. */
START_TEST(whole_backwards_are_slowed_as_such)
{
	g_autoptr(PipesimCosts) costs = pipesim_costs_default();
	PipesimShape shape = make_shape(2, 1, 4, PIPESIM_LOOPED);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &shape);

	ck_assert_int_eq(pipesim_pace_kind(times, 0, PIPESIM_W), PIPESIM_W);
	times->stage[PIPESIM_I][0] = 3;
	ck_assert_int_eq(pipesim_pace_kind(times, 0, PIPESIM_W), PIPESIM_B);
	ck_assert_int_eq(pipesim_pace_kind(times, 1, PIPESIM_W), PIPESIM_W);
	ck_assert_int_eq(pipesim_pace_kind(times, 0, PIPESIM_F), PIPESIM_F);
}
END_TEST

/* Ranks that exchange messages take longer at the limit alone; one rank exchanges none. */
START_TEST(messages_cost_power)
{
	g_autoptr(PipesimCosts) costs = new_costs();
	PipesimShape shape = make_shape(1, 1, 4, PIPESIM_LOOPED);
	PipesimPowerState rested = {0}, loaded = {{PIPESIM_LOAD_ONE}};

	g_clear_pointer(&costs->part, g_free);
	costs->n_parts = 0;
	costs->power->exchanging = 1020000;
	g_autoptr(PipesimTimes) alone = pipesim_times_new(costs, &shape);
	shape = make_shape(2, 1, 4, PIPESIM_LOOPED);
	g_autoptr(PipesimTimes) with = pipesim_times_new(costs, &shape);
	ck_assert_int_eq(
		pipesim_power_duration(alone->power, &loaded, PIPESIM_F, 1000000), 1000000);
	ck_assert_int_eq(
		pipesim_power_duration(with->power, &loaded, PIPESIM_F, 1000000), 1020000);
	ck_assert_int_eq(pipesim_power_duration(with->power, &rested, PIPESIM_F, 1000000),
		pipesim_power_duration(alone->power, &rested, PIPESIM_F, 1000000));
}
END_TEST

Suite *effects_loops_suite(void)
{
	Suite *suite = suite_create("effects-loops");
	TCase *loops = tcase_create("loops");

	tcase_add_loop_test(loops, loops_of_a_known_chip, 0, 9);
	tcase_add_test(loops, rest_shows_what_a_receive_does);
	tcase_add_test(loops, nothing_measured_changes_nothing);
	tcase_add_loop_test(loops, loops_are_told, 0, G_N_ELEMENTS(told));
	tcase_add_test(loops, edges_are_added);
	tcase_add_test(loops, whole_backwards_are_slowed_as_such);
	tcase_add_test(loops, messages_cost_power);
	suite_add_tcase(suite, loops);
	return suite;
}
