/* How chips under a power limit slow down and recover, and how costs files say so. */
#include "engine/comm.h"
#include "engine/dynamic.h"
#include "grid.h"
#include "model/costs-file.h"
#include "power-oracle.h"
#include "suites.h"

#include <math.h>
#include <string.h>

#define MS 1000000

static gint64 share(double x)
{
	return (gint64)(x * (double)PIPESIM_LOAD_ONE);
}

/* Against the exponential of the C library: 1e-9 of full load. */
START_TEST(means_are_exponential)
{
	static const gint64 constants[] = {
		1000, 4999999, 70 * MS, G_GINT64_CONSTANT(1000000000000)};
	g_autoptr(PipesimPower) power = pipesim_power_new();

	for (guint c = 0; c < G_N_ELEMENTS(constants); c++) {
		power->time_constant[0] = constants[c];
		for (double y = 1e-6; y < 60; y = y * 1.07 + 1e-4) {
			const gint64 dt = (gint64)(y * (double)constants[c]);
			const double left = exp(-(double)dt / (double)constants[c]);
			PipesimPowerState down = {{PIPESIM_LOAD_ONE}}, up = {{share(0.25)}};

			pipesim_power_advance(power, &down, dt, 0);
			pipesim_power_advance(power, &up, dt, 750000);
			ck_assert_int_le(
				ABS(down.mean[0] - share(left)), PIPESIM_LOAD_ONE / 1000000000);
			ck_assert_int_le(ABS(up.mean[0] - share(0.75 - 0.5 * left)),
				PIPESIM_LOAD_ONE / 1000000000);
		}
	}
}
END_TEST

START_TEST(means_stay_within_loads)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();
	PipesimPowerState state = {{0}};
	gint64 before = 0;

	for (guint i = 0; i < 2000; i++) {
		pipesim_power_advance(power, &state, MS, PIPESIM_PPM);
		ck_assert_int_ge(state.mean[0], before);
		ck_assert_int_le(state.mean[0], PIPESIM_LOAD_ONE);
		before = state.mean[0];
	}
	ck_assert_int_eq(state.mean[0], PIPESIM_LOAD_ONE);
	pipesim_power_advance(power, &state, 0, 0);
	ck_assert_int_eq(state.mean[0], PIPESIM_LOAD_ONE);
	pipesim_power_advance(power, &state, PIPESIM_MAX_END, 0);
	ck_assert_int_eq(state.mean[0], 0);
}
END_TEST

/* From the threshold up the time rises in proportion; below it stays. */
START_TEST(time_follows_load)
{
	static const struct {
		double x;
		gint64 took;
	} cases[] = {{0, 900}, {0.5, 900}, {0.6, 900}, {0.7, 925}, {0.8, 950}, {1, 1000}};
	g_autoptr(PipesimPower) power = pipesim_power_new();

	power->threshold = 600000;
	power->full_speed[PIPESIM_W] = 900000;
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		const PipesimPowerState state = {{share(cases[i].x)}};

		ck_assert_int_eq(
			pipesim_power_duration(power, &state, PIPESIM_W, 1000), cases[i].took);
		ck_assert_int_eq(pipesim_power_duration(power, &state, PIPESIM_F, 1000), 1000);
		ck_assert_int_eq(
			pipesim_power_duration(power, &state, PIPESIM_F, PIPESIM_MAX_END),
			PIPESIM_MAX_END);
		ck_assert_int_eq(pipesim_power_duration(power, &state, PIPESIM_W, 0), 0);
	}
}
END_TEST

/* A long op slows down while it runs: as many short ones in a row. */
START_TEST(long_ops_slow_down)
{
	static const gint64 lengths[] = {200000, 3 * MS, 40 * MS, 250 * MS, 30000 * (gint64)MS};

	for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
		g_autoptr(PipesimPower) power = pipesim_power_new();
		PipesimPowerState state = {{share(0.3)}}, whole = state;
		gint64 took = 0;

		power->time_constant[0] = 40 * MS;
		power->full_speed[PIPESIM_B] = 850000;
		power->load[PIPESIM_B] = 950000;
		for (gint64 left = lengths[i]; left > 0; left -= 100000) {
			const gint64 part =
				pipesim_power_duration(power, &state, PIPESIM_B, 100000);

			pipesim_power_advance(power, &state, part, 950000);
			took += part;
		}
		const gint64 at_once =
			pipesim_power_duration(power, &whole, PIPESIM_B, lengths[i]);
		ck_assert_int_le(ABS(at_once - took), took / 2000);
		ck_assert_int_ge(at_once, 850000 * (lengths[i] / PIPESIM_PPM));
	}
}
END_TEST

START_TEST(two_means_are_weighted)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();
	PipesimPowerState state = {{0}};

	power->n_constants = 2;
	power->time_constant[0] = 10 * MS;
	power->time_constant[1] = 300 * MS;
	power->weight[0] = 250000;
	power->weight[1] = 750000;
	pipesim_power_advance(power, &state, 30 * MS, PIPESIM_PPM);
	ck_assert_int_le(ABS(pipesim_power_load(power, &state) -
				 share(0.25 * (1 - exp(-3)) + 0.75 * (1 - exp(-0.1)))),
		2000);
}
END_TEST

/* 30 ms of work and 20 ms of idle time: from there the next cycle ends where it began. */
START_TEST(repeating_is_found)
{
	g_autoptr(PipesimPower) power = pipesim_power_new();

	for (gint64 constant = MS; constant < 100000 * (gint64)MS; constant *= 3) {
		PipesimPowerState begin = {{0}}, end = {{0}};

		power->time_constant[0] = constant;
		pipesim_power_advance(power, &end, 30 * MS, PIPESIM_PPM);
		pipesim_power_advance(power, &end, 20 * MS, 0);
		begin = pipesim_power_repeat(power, &begin, &end, 50 * MS);
		end = begin;
		pipesim_power_advance(power, &end, 30 * MS, PIPESIM_PPM);
		pipesim_power_advance(power, &end, 20 * MS, 0);
		ck_assert_int_le(ABS(begin.mean[0] - end.mean[0]), 1000);
		begin.mean[0] = share(0.3);
		end = pipesim_power_repeat(power, &begin, &begin, 0);
		ck_assert_int_eq(end.mean[0], begin.mean[0]);
	}
}
END_TEST

/* Against the same law in floating point; its own limit changes nothing. */
START_TEST(limits_follow_a_law)
{
	static const gint64 limits[] = {175, 300, 600, 699, 700, 701, 800, 999, 1000, 5000};
	static const gint64 full[PIPESIM_N_KINDS] = {890000, 700000, 1000000, 999000, 500000};

	for (guint i = 0; i < G_N_ELEMENTS(limits); i++) {
		g_autoptr(PipesimPower) power = pipesim_power_new();
		const PipesimPowerState busy = {{PIPESIM_LOAD_ONE}}, rested = {{0}};

		power->limit = 700;
		memcpy(power->full_speed, full, sizeof full);
		ck_assert(pipesim_power_set_limit(power, limits[i], "x", NULL));
		ck_assert_int_eq(power->limit, limits[i]);
		ck_assert_int_eq(power->threshold, MIN(1000 * limits[i], PIPESIM_PPM - 1));
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
			const double share = (double)full[kind] / 1e6;
			const double law = pow(700. / (double)limits[i], log(share) / log(0.7));
			const gint64 sustained = power->sustained[kind];

			ck_assert_int_le(
				ABS(sustained - (gint64)rint(1e6 * MAX(law, share))), 2);
			ck_assert(limits[i] != 700 || sustained == PIPESIM_PPM);
			ck_assert_int_eq(pipesim_power_duration(
						 power, &busy, (PipesimKind)kind, 1000000),
				sustained);
			ck_assert_int_eq(pipesim_power_duration(
						 power, &rested, (PipesimKind)kind, 1000000),
				full[kind]);
		}
	}
}
END_TEST

/* What the costs do not tell. */
START_TEST(limits_are_refused)
{
	static const char *const words[] = {"at which limit", "no op of the costs depends",
		"the threshold in [power] is 0", "174 W; from 175 W, a quarter of the 700 W",
		"999999, is so near to a million that 600 W would slow ops down more than 16"};
	g_autoptr(PipesimPower) power = pipesim_power_new();
	g_autoptr(GError) error = NULL;

	power->limit = _i == 0 ? 0 : 700;
	power->full_speed[PIPESIM_F] = _i == 1 ? PIPESIM_PPM : 900000;
	power->threshold = _i == 2 ? 0 : _i == 4 ? 999999 : 700000;
	ck_assert(!pipesim_power_set_limit(power, _i == 3 ? 174 : 600, "--x", &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_USAGE));
	ck_assert_ptr_nonnull(strstr(error->message, words[_i]));
	ck_assert_int_eq(power->sustained[PIPESIM_F], PIPESIM_PPM);
}
END_TEST

#define HEAD  "[pipesim-costs]\nversion=1\n[times]\nF=1\nI=1\nW=1\n"
#define LOADS "load_ppm=1000000;900000;800000;850000;990000\n"
#define FULL  "full_speed_ppm=890000;900000;880000;890000;1000000\n"
#define POWER                                                                      \
	"[power]\ntime_constant_ns=20000000;300000000\nweight_ppm=400000;600000\n" \
	"threshold_ppm=700000\n" FULL LOADS "waiting_load_ppm=300000\n"
#define ONE_MEAN "[power]\ntime_constant_ns=70000000\nweight_ppm=1000000\n"

static PipesimCosts *read_text(const char *text, GError **error)
{
	return pipesim_costs_read_ini(
		pipesim_ini_parse(text, strlen(text), "x.ini", error), error);
}

START_TEST(files_say_it)
{
	static const char text[] = HEAD POWER
		"device=NVIDIA H200\nlimit_w=700\nexplained_ppm=930000\nresidual_ppm=4000\n"
		"[residence]\nslowdown_ppm=1190000;1200000;1210000;1205000;1000000\n"
		"moving_ppm=1010000;1010000;1020000;1010000;1000000\nsms=16\n"
		"[stage-bytes]\nuntil_input=5;6\nuntil_weight=0;9\nparameters=70;80\n"
		"[host-times]\nF=1;2;3\nI=4;5;6\nW=7;8;9\n";
	g_autoptr(PipesimCosts) costs = read_text(text, NULL), again = NULL, copy = NULL;
	g_autoptr(GString) first = g_string_new(NULL), second = g_string_new(NULL);

	ck_assert_ptr_nonnull(costs);
	pipesim_costs_write(costs, first);
	again = read_text(first->str, NULL);
	ck_assert_ptr_nonnull(again);
	copy = pipesim_costs_copy(again);
	g_clear_pointer(&again, pipesim_costs_free);
	pipesim_costs_write(copy, second);
	ck_assert_str_eq(first->str, second->str);
	ck_assert_uint_eq(copy->power->n_constants, 2);
	ck_assert_int_eq(copy->power->time_constant[1], 300 * MS);
	ck_assert_int_eq(copy->power->weight[0], 400000);
	ck_assert_int_eq(copy->power->load[PIPESIM_FB], 990000);
	ck_assert_int_eq(copy->power->full_speed[PIPESIM_W], 880000);
	ck_assert_int_eq(copy->power->limit, 700);
	ck_assert_int_eq(copy->power->explained, 930000);
	ck_assert_str_eq(copy->power->device, "NVIDIA H200");
	ck_assert_int_eq(copy->contention->slowdown[PIPESIM_I], 1200000);
	ck_assert_int_eq(copy->contention->moving[PIPESIM_W], 1020000);
	ck_assert_int_eq(copy->contention->sms, 16);
	ck_assert_uint_eq(copy->n_part_bytes, 2);
	ck_assert_int_eq(copy->part_bytes[PIPESIM_N_BYTES + PIPESIM_UNTIL_WEIGHT], 9);
	ck_assert_int_eq(copy->part_bytes[PIPESIM_PARAMETERS], 70);
	ck_assert_uint_eq(copy->n_launches, 3);
	ck_assert_int_eq(copy->launch[PIPESIM_FB + PIPESIM_F], 2);
	ck_assert_int_eq(copy->launch[2 * PIPESIM_FB + PIPESIM_B], 15);
}
END_TEST

START_TEST(files_need_not)
{
	g_autoptr(PipesimCosts) costs = read_text(HEAD
		"[residence]\nslowdown_ppm=1000000;1000000;1000000;1000000;1100000\n",
		NULL);

	ck_assert_ptr_nonnull(costs);
	ck_assert_ptr_null(costs->power);
	ck_assert_ptr_null(costs->part_bytes);
	ck_assert_int_eq(costs->contention->moving[PIPESIM_F], PIPESIM_PPM);
}
END_TEST

static const struct {
	const char *text, *message;
} bad_files[] = {
	{HEAD "[power]\n", "x.ini:7:1: [power]: key 'time_constant_ns' is missing"},
	{HEAD ONE_MEAN FULL LOADS "waiting_load_ppm=0\n",
		"x.ini:7:1: [power]: key 'threshold_ppm' is missing"},
	{HEAD POWER "threshold_ppm=1000000\n",
		"x.ini:14:15: [power] threshold_ppm: '1000000' is out of range"},
	{HEAD POWER "waiting_load_ppm=-1\n",
		"x.ini:14:18: [power] waiting_load_ppm: '-1' is out of range"},
	{HEAD POWER "weight_ppm=400000;500000\n", "x.ini:14:12: [power] weight_ppm: the "
						  "weights sum to 900000; one million is all"},
	{HEAD POWER "weight_ppm=1000000\n",
		"x.ini:14:12: [power] weight_ppm: 1 numbers, but 2 before it; one for each"},
	{HEAD POWER "time_constant_ns=1;2;3\n",
		"x.ini:14:18: [power] time_constant_ns: '1;2;3' is not one or two whole"},
	{HEAD POWER "time_constant_ns=999\n",
		"x.ini:14:18: [power] time_constant_ns: '999' is not one or two whole numbers "
		"from 1000"},
	{HEAD POWER "load_ppm=1;2;3;4\n",
		"x.ini:14:10: [power] load_ppm: '1;2;3;4' is not five whole numbers from 0 to "
		"2000000, of F;I;W;B;FB"},
	{HEAD POWER "full_speed_ppm=1;2;3;4;1000001\n",
		"x.ini:14:16: [power] full_speed_ppm: '1;2;3;4;1000001' is not five"},
	{HEAD POWER "explained_ppm=2000000\n", "[power] explained_ppm: '2000000' is out of"},
	{HEAD POWER "speed=1\n", "x.ini:14:7: [power] speed: no such key"},
	{HEAD "[residence]\nslowdown_ppm=1;1;1;1;1\n",
		"x.ini:8:14: [residence] slowdown_ppm: '1;1;1;1;1' is not five whole numbers "
		"from 1000000"},
	{HEAD "[residence]\nsms=1\n", "x.ini:7:1: [residence]: key 'slowdown_ppm' is missing"},
	{HEAD "[stage-bytes]\nuntil_input=1\nuntil_weight=1;2\nparameters=1\n",
		"x.ini:9:14: [stage-bytes] until_weight: 2 sizes, but 1 before it"},
	{HEAD "[stage-bytes]\nuntil_input=-1\nuntil_weight=1\nparameters=1\n",
		"x.ini:8:13: [stage-bytes] until_input: 1 to"},
	{HEAD "[host-times]\nF=1;2\nI=1;2\nW=1;2;3\n",
		"x.ini:10:3: [host-times] W: 3 times, but 2 before it; one for each part"},
	{HEAD "[host-times]\nF=1\nI=-1\nW=1\n", "x.ini:9:3: [host-times] I: 1 to"},
	{HEAD "[host-times]\nF=1\nW=1\n", "x.ini:7:1: [host-times]: key 'I' is missing"},
	{HEAD "[stage-bytes]\nuntil_input=1\n",
		"x.ini:7:1: [stage-bytes]: key 'until_weight' is missing"},
};

START_TEST(bad_files_are_told)
{
	g_autoptr(GError) error = NULL;

	ck_assert_ptr_null(read_text(bad_files[_i].text, &error));
	ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_PARSE));
	ck_assert_msg(strstr(error->message, bad_files[_i].message) != NULL, "%s in: %s",
		bad_files[_i].message, error->message);
}
END_TEST

/* Steps --------------------------------------------------------------------------------- */

static const PipesimRuntime *const runtimes[] = {&pipesim_runtime_async,
	&pipesim_runtime_pytorch_2_11, &pipesim_runtime_single, &pipesim_runtime_deepseek,
	&pipesim_runtime_pytorch_2_15};

/* Whether Megatron issues messages for it; the queues of two ranks are its own. */
static gboolean is_megatrons(const GridCase *point)
{
	return point->ranks > 2 &&
	       (strcmp(point->schedule->name, "1f1b") == 0 ||
		       strcmp(point->schedule->name, "interleaved-1f1b") == 0);
}

static guint32 draw(guint32 *seed, guint32 least, guint32 most)
{
	*seed = *seed * 1664525u + 1013904223u;
	return least + (*seed >> 8) % (most - least + 1);
}

/* A chip that heats up and rests in about as many nanoseconds as a step of the grid takes. */
static PipesimPower *random_power(guint32 seed)
{
	PipesimPower *power = pipesim_power_new();

	power->n_constants = 1 + seed % 2;
	power->time_constant[0] = draw(&seed, 1000, 3000);
	power->time_constant[1] = draw(&seed, 3000, 9000);
	power->weight[1] = power->n_constants == 2 ? draw(&seed, 0, PIPESIM_PPM) : 0;
	power->weight[0] = PIPESIM_PPM - power->weight[1];
	power->threshold = draw(&seed, 200000, 800000);
	power->waiting_load = draw(&seed, 0, 600000);
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		power->full_speed[kind] = draw(&seed, 700000, PIPESIM_PPM);
		power->load[kind] = draw(&seed, 500000, PIPESIM_PPM);
	}
	return power;
}

static PipesimContention *random_contention(guint32 seed)
{
	PipesimContention *contention = pipesim_contention_new();

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++) {
		contention->slowdown[kind] = draw(&seed, PIPESIM_PPM, 1500000);
		contention->moving[kind] = draw(&seed, PIPESIM_PPM, 1100000);
	}
	return contention;
}

/* Up to as long as ops take, of one to three parts of the model. */
static void add_launches(PipesimCosts *costs, guint ranks, guint32 seed, gint64 scale)
{
	costs->n_launches = 1 + seed % 3;
	costs->launch = g_new(gint64, costs->n_launches * PIPESIM_FB);
	for (guint i = 0; i < costs->n_launches * PIPESIM_FB; i++)
		costs->launch[i] =
			scale * ranks * draw(&seed, 0, costs->n_launches % 2 == 0 ? 150 : 400);
}

/* @scale: of all times, 1 = some hundred ns an op */
static PipesimCosts *random_costs(guint32 seed, guint ranks, gint64 scale)
{
	guint32 state = seed + 1;
	const gint64 f = scale * draw(&state, 60, 300), b = scale * draw(&state, 60, 300);
	const gint64 w = scale * draw(&state, 60, 300);
	PipesimCosts *costs = grid_costs(f, b, w, f + b + w, scale * draw(&state, 0, 60));

	if (seed % 3 == 1)
		ck_assert(pipesim_costs_parse_slow(
			costs, ranks > 1 ? "0=1.2,1=0.9" : "0=1.1", "x", ranks, NULL));
	if (seed % 5 != 4)
		costs->power = random_power(seed);
	for (guint i = 0; costs->power != NULL && i < PIPESIM_POWER_CONSTANTS; i++)
		costs->power->time_constant[i] *= scale;
	if (seed % 4 != 3)
		costs->contention = random_contention(seed);
	if (seed % 7 < 4)
		add_launches(costs, ranks, seed, scale);
	return costs;
}

static PipesimTimeline *run_alone(const PipesimLowering *lowering, const PipesimTimes *times,
	const PipesimIssuing *issuing, PipesimPowerState *states)
{
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	PipesimTimeline *timeline;

	if (lowering->runtime->waits)
		return pipesim_comm_run(lowering, issuing, times, NULL, 0, states, NULL);
	network->intra.latency = times->p2p;
	timeline = pipesim_dynamic_run(lowering->program, times, network, 0, states, NULL);
	if (timeline != NULL)
		g_clear_pointer(&timeline->traffic, pipesim_traffic_free);
	return timeline;
}

/* The state of the chips at the begin, and what the oracle makes of it, too. */
static void assert_oracle(
	const PipesimProgram *program, const PipesimRuntime *runtime, guint32 seed)
{
	const guint ranks = program->shape.ranks;
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime,
		&(PipesimIssuing){.host_time = seed % 3 * 40, .no_host_sync = seed % 4 == 0});
	const gboolean waits =
		(runtime->takes & PIPESIM_ASK_HOST_TIME) != 0 && !issuing.no_host_sync;
	g_autoptr(PipesimCosts) costs = random_costs(seed, ranks, 1);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autofree PipesimPowerState *states = g_new0(PipesimPowerState, ranks);
	g_autofree double(*mean)[PIPESIM_POWER_CONSTANTS] =
		g_malloc0(ranks * sizeof(double[PIPESIM_POWER_CONSTANTS]));
	g_autoptr(PipesimTimeline) timeline = NULL;
	g_autoptr(PowerOracle) oracle = NULL;

	if (runtime == &pipesim_runtime_megatron && lowering == NULL)
		return; /* it does not take such groups */
	ck_assert_ptr_nonnull(lowering);
	for (guint rank = 0; rank < ranks; rank++)
		for (guint i = 0; i < PIPESIM_POWER_CONSTANTS; i++) {
			mean[rank][i] = (double)((seed + rank + i) % 5) / 4;
			states[rank].mean[i] = share(mean[rank][i]);
		}
	timeline = run_alone(lowering, times, &issuing, states);
	oracle = power_oracle_new(lowering, times,
		issuing.communicators == PIPESIM_COMMUNICATOR_PAIR,
		waits ? issuing.host_time : -1, mean);
	ck_assert_int_eq(timeline == NULL, oracle->stuck);
	if (timeline == NULL)
		return;
	ck_assert_uint_eq(timeline->n_ops, oracle->n_ops);
	for (guint op = 0; op < oracle->n_ops; op++) {
		ck_assert_int_eq(timeline->start[op], oracle->start[op]);
		ck_assert_int_eq(timeline->end[op], oracle->end[op]);
	}
	ck_assert_int_eq(timeline->makespan, oracle->makespan);
	/* No op runs beside a receive that waits where the runtime waits before it computes. */
	if (runtime == &pipesim_runtime_single || runtime == &pipesim_runtime_deepseek)
		ck_assert_int_eq(oracle->beside, 0);
	for (guint rank = 0; rank < ranks && costs->power != NULL; rank++)
		for (guint i = 0; i < costs->power->n_constants; i++)
			ck_assert_int_le(ABS(states[rank].mean[i] - share(mean[rank][i])),
				PIPESIM_LOAD_ONE / 1000000);
}

START_TEST(steps_equal_oracle)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimProgram) program = NULL;

	if (point->ranks * point->microbatches > 32)
		return;
	program = grid_program(point);
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++)
		if ((_i + (int)i) % 2 == 0)
			assert_oracle(program, runtimes[i], (guint32)_i * 5 + i);
	if (is_megatrons(point))
		assert_oracle(program, &pipesim_runtime_megatron, (guint32)_i);
}
END_TEST

static PipesimStep *run_step(const PipesimOrder *order, const PipesimTimes *times,
	const PipesimNetwork *network, const PipesimRuntime *runtime, gboolean first)
{
	const PipesimJob job = {.order = order,
		.times = times,
		.network = network,
		.runtime = runtime,
		.issuing = pipesim_runtime_asked(runtime, &(PipesimIssuing){0}),
		.first_step = first};

	return pipesim_step_run(&job, PIPESIM_WANT_MESSAGES, NULL);
}

static void assert_same_times(const PipesimStep *a, const PipesimStep *b)
{
	ck_assert_int_eq(a == NULL, b == NULL);
	if (a == NULL)
		return;
	ck_assert_int_eq(a->makespan, b->makespan);
	ck_assert_mem_eq(a->timeline->start, b->timeline->start,
		a->timeline->n_ops * sizeof *a->timeline->start);
	ck_assert_mem_eq(a->timeline->end, b->timeline->end,
		a->timeline->n_ops * sizeof *a->timeline->end);
	ck_assert_uint_eq(a->timeline->n_transfers, b->timeline->n_transfers);
	for (guint i = 0; i < a->timeline->n_transfers; i++) {
		const PipesimTransfer *of_a = &a->timeline->transfers[i];
		const PipesimTransfer *of_b = &b->timeline->transfers[i];

		ck_assert_int_eq(of_a->sent, of_b->sent);
		ck_assert_int_eq(of_a->received, of_b->received);
		ck_assert_int_eq(of_a->start, of_b->start);
		ck_assert_int_eq(of_a->end, of_b->end);
	}
}

/* Shared links with a bandwidth and a slowdown of their own. */
static PipesimNetwork *some_network(void)
{
	PipesimNetwork *network = pipesim_network_new();

	network->message_bytes = 1000;
	network->intra.latency = 7;
	network->intra.bandwidth = G_GINT64_CONSTANT(20000000000);
	network->share = PIPESIM_LINK_NODE;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		network->slowdown[kind] = (PipesimFraction){27, 25};
	return network;
}

/* Chips that do not depend on their load, beside receives that take nothing, and hosts that launch in no
 * time. */
START_TEST(nothing_changes_nothing)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimNetwork) network = some_network();
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimOrder) order = NULL;

	if (point->ranks * point->microbatches > 64)
		return;
	program = grid_program(point);
	order = pipesim_order_of_program(program);
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimCosts) costs =
			grid_random_costs((guint32)_i + i, point->ranks, i % 2 == 1);
		g_autoptr(PipesimTimes) off = pipesim_times_new(costs, &program->shape), on;
		const PipesimNetwork *links = _i % 2 == 0 ? network : NULL;
		g_autoptr(PipesimStep) without = NULL;
		g_autoptr(PipesimStep) with = NULL;

		costs->power = random_power((guint32)_i);
		for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
			costs->power->full_speed[kind] = PIPESIM_PPM;
		costs->contention = pipesim_contention_new();
		costs->n_launches = 1;
		costs->launch = g_new0(gint64, PIPESIM_FB);
		on = pipesim_times_new(costs, &program->shape);
		without = run_step(order, off, links, runtimes[i], FALSE);
		with = run_step(order, on, links, runtimes[i], FALSE);
		if (runtimes[i]->waits || links != NULL)
			assert_same_times(without, with);
		else
			ck_assert_int_eq(without->makespan, with->makespan);
	}
}
END_TEST

/* Links that each two ranks have to themselves, with the latency of a hop. */
START_TEST(unshared_links_are_p2p)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimOrder) order = NULL;

	if (point->ranks * point->microbatches > 32)
		return;
	program = grid_program(point);
	order = pipesim_order_of_program(program);
	for (guint i = 0; i < G_N_ELEMENTS(runtimes); i++) {
		g_autoptr(PipesimCosts) costs =
			random_costs((guint32)_i * 3 + i, point->ranks, 1);
		g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
		g_autoptr(PipesimStep) p2p = NULL, linked = NULL;

		network->intra.latency = times->p2p;
		p2p = run_step(order, times, NULL, runtimes[i], _i % 2 == 0);
		linked = run_step(order, times, network, runtimes[i], _i % 2 == 0);
		if (runtimes[i]->waits)
			assert_same_times(p2p, linked);
		else
			ck_assert_int_eq(p2p->makespan, linked->makespan);
	}
}
END_TEST

/* Chips begin a step as they end it, and after a pause too. */
START_TEST(steps_end_as_they_begin)
{
	int count;
	const GridCase *point = &grid_accepted(&count)[_i];
	const PipesimRuntime *runtime = runtimes[_i % (int)G_N_ELEMENTS(runtimes)];
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &(PipesimIssuing){0});
	const gint64 pause = _i % 3 == 0 ? 35 * MS : 0;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimLowering) lowering = NULL;
	g_autoptr(PipesimCosts) costs = random_costs((guint32)_i * 5, point->ranks, 50000);
	g_autoptr(PipesimTimes) times = NULL;
	g_autofree PipesimPowerState *states = NULL;
	g_autoptr(PipesimTimeline) timeline = NULL;
	g_autoptr(PipesimStep) step = NULL;

	if (point->ranks * point->microbatches > 64)
		return;
	program = grid_program(point);
	order = pipesim_order_of_program(program);
	lowering = pipesim_lower(program, runtime, &issuing, NULL);
	times = pipesim_times_new(costs, &program->shape);
	step = pipesim_step_run(&(PipesimJob){.order = order,
					.times = times,
					.runtime = runtime,
					.issuing = issuing,
					.pause = pause},
		PIPESIM_WANT_MESSAGES, NULL);
	if (step == NULL)
		return; /* a deadlock */
	states = g_memdup2(step->states, point->ranks * sizeof *states);
	timeline = run_alone(lowering, times, &issuing, states);
	ck_assert_int_eq(timeline->makespan, step->makespan);
	for (guint rank = 0; rank < point->ranks; rank++) {
		pipesim_power_advance(costs->power, &states[rank], pause, 0);
		for (guint i = 0; i < costs->power->n_constants; i++)
			ck_assert_int_le(ABS(states[rank].mean[i] - step->states[rank].mean[i]),
				PIPESIM_LOAD_ONE / 1000000);
	}
}
END_TEST

/* Step after step from rested chips on comes to what is looked for: after 200 steps to within a millionth. */
START_TEST(steps_repeat)
{
	static const char *const names[] = {"1f1b", "gpipe", "zb-h1"};
	const PipesimRuntime *runtime = runtimes[_i % (int)G_N_ELEMENTS(runtimes)];
	const PipesimIssuing issuing = pipesim_runtime_asked(runtime, &(PipesimIssuing){0});
	g_autoptr(PipesimProgram) program = make_program(
		pipesim_schedule_find(names[_i % (int)G_N_ELEMENTS(names)], NULL), 4, 8, NULL);
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	g_autoptr(PipesimLowering) lowering = pipesim_lower(program, runtime, &issuing, NULL);
	g_autoptr(PipesimCosts) costs = grid_costs(10 * MS, 11 * MS, 9 * MS, 30 * MS, MS / 5);
	g_autoptr(PipesimTimes) times = NULL;
	g_autofree PipesimPowerState *states = g_new0(PipesimPowerState, 4);
	g_autoptr(PipesimStep) step = NULL, first = NULL;
	gint64 makespan = 0, rested = 0;

	costs->power = random_power((guint32)_i);
	costs->power->time_constant[0] = 3 * MS << _i % 10;
	costs->power->time_constant[1] = 300 * MS;
	costs->contention = random_contention((guint32)_i);
	times = pipesim_times_new(costs, &program->shape);
	for (guint i = 0; i < 200; i++) {
		g_autoptr(PipesimTimeline) timeline =
			run_alone(lowering, times, &issuing, states);

		makespan = timeline->makespan;
		if (i == 0)
			rested = makespan;
	}
	step = run_step(order, times, NULL, runtime, FALSE);
	ck_assert_int_le(ABS(step->makespan - makespan), makespan / 1000000);
	first = run_step(order, times, NULL, runtime, TRUE);
	ck_assert_int_eq(first->makespan, rested);
	/* Chips that begin warm are no faster. */
	ck_assert_int_ge(step->makespan, rested);
}
END_TEST

/* A step of two ranks and one micro-batch, by hand: rank 1 posts its receive, then runs nothing. */
START_TEST(waiting_warms_up)
{
	static const char csv[] = "0F0,0B0\n1F0,1B0\n";
	g_autoptr(PipesimProgram) program = parse_program(csv, strlen(csv), "x.csv", NULL);
	g_autoptr(PipesimLowering) lowering =
		pipesim_lower(program, &pipesim_runtime_single, NULL, NULL);
	g_autoptr(PipesimCosts) costs = grid_costs(10000, 10000, 10000, 30000, 0);
	g_autoptr(PipesimTimes) times = NULL;
	PipesimPowerState states[2] = {{{0}}, {{0}}};
	g_autoptr(PipesimTimeline) timeline = NULL;
	PipesimPowerState rested = {{0}};
	gint64 first, second;

	costs->power = pipesim_power_new();
	costs->power->time_constant[0] = 4000;
	costs->power->waiting_load = 850000;
	costs->power->full_speed[PIPESIM_F] = 800000;
	times = pipesim_times_new(costs, &program->shape);
	timeline = run_alone(lowering, times,
		&(PipesimIssuing){.communicators = PIPESIM_COMMUNICATOR_RANK}, states);
	/* Rank 0 begins rested; rank 1 has waited at 0.85 for as long as that took. */
	first = pipesim_power_duration(costs->power, &rested, PIPESIM_F, 10000);
	pipesim_power_advance(costs->power, &rested, first, 850000);
	second = pipesim_power_duration(costs->power, &rested, PIPESIM_F, 10000);
	ck_assert_int_eq(timeline->end[0], first);
	ck_assert_int_eq(timeline->end[2] - timeline->start[2], second);
	ck_assert_int_ge(second, first + 300);
}
END_TEST

/* Ranks that are held up draw less than all others: as if the loads of their ops were less. */
START_TEST(held_ranks_draw_less)
{
	static const PipesimRuntime *const both[] = {
		&pipesim_runtime_async, &pipesim_runtime_single};
	static const char csv[] = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n";
	g_autoptr(PipesimProgram) program = parse_program(csv, strlen(csv), "x.csv", NULL);
	g_autoptr(PipesimOrder) order = pipesim_order_of_program(program);
	g_autoptr(PipesimCosts) costs = grid_costs(MS, MS, MS, 3 * MS, 0);
	g_autoptr(PipesimTimes) held = NULL, all = NULL, less = NULL;

	costs->power = pipesim_power_new();
	costs->power->time_constant[0] = 4 * MS;
	costs->power->full_speed[PIPESIM_F] = costs->power->full_speed[PIPESIM_B] = 800000;
	all = pipesim_times_new(costs, &program->shape);
	costs->power->held = g_new(gint64, 2);
	costs->power->held[0] = costs->power->held[1] = 800000;
	costs->power->n_held = 2;
	held = pipesim_times_new(costs, &program->shape);
	costs->power->n_held = 0;
	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		costs->power->load[kind] = 800000;
	less = pipesim_times_new(costs, &program->shape);
	for (guint i = 0; i < G_N_ELEMENTS(both); i++) {
		g_autoptr(PipesimStep) a = run_step(order, held, NULL, both[i], FALSE);
		g_autoptr(PipesimStep) b = run_step(order, less, NULL, both[i], FALSE);
		g_autoptr(PipesimStep) c = run_step(order, all, NULL, both[i], FALSE);

		assert_same_times(a, b);
		ck_assert_int_lt(a->makespan, c->makespan);
	}
}
END_TEST

Suite *engine_power_suite(void)
{
	int n_cases;

	Suite *suite = suite_create("engine-power");
	TCase *model = tcase_create("model");
	TCase *files = tcase_create("files");
	TCase *steps = tcase_create("steps");

	tcase_add_test(model, means_are_exponential);
	tcase_add_test(model, means_stay_within_loads);
	tcase_add_test(model, time_follows_load);
	tcase_add_test(model, long_ops_slow_down);
	tcase_add_test(model, two_means_are_weighted);
	tcase_add_test(model, repeating_is_found);
	tcase_add_test(model, limits_follow_a_law);
	tcase_add_loop_test(model, limits_are_refused, 0, 5);
	tcase_add_test(files, files_say_it);
	tcase_add_test(files, files_need_not);
	tcase_add_loop_test(files, bad_files_are_told, 0, G_N_ELEMENTS(bad_files));
	suite_add_tcase(suite, model);
	suite_add_tcase(suite, files);
	grid_accepted(&n_cases);
	tcase_add_loop_test(steps, steps_equal_oracle, 0, n_cases);
	tcase_add_loop_test(steps, nothing_changes_nothing, 0, n_cases);
	tcase_add_loop_test(steps, unshared_links_are_p2p, 0, n_cases);
	tcase_add_loop_test(steps, steps_repeat, 0, 20);
	tcase_add_loop_test(steps, steps_end_as_they_begin, 0, n_cases);
	tcase_add_test(steps, waiting_warms_up);
	tcase_add_test(steps, held_ranks_draw_less);
	tcase_set_timeout(steps, 60);
	suite_add_tcase(suite, steps);
	return suite;
}
