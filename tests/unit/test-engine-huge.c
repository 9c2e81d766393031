/* Times near the largest: every engine gives the right sum, or refuses. */
#include "engine/dynamic.h"
#include "engine/fast.h"
#include "engine/lanes.h"
#include "engine/stream.h"
#include "grid.h"
#include "reference-engine.h"
#include "suites.h"
#include <string.h>

__extension__ typedef __int128 Wide;

/* The longest path in numbers that cannot overflow. */
static Wide wide_makespan(const PipesimProgram *program, const PipesimTimes *times)
{
	const guint ranks = program->shape.ranks;
	g_autofree Wide *end = g_new(Wide, program->n_ops), *now = g_new0(Wide, ranks);
	g_autofree guint32 *next = g_memdup2(program->rank_begin, ranks * sizeof *next);
	g_autofree gboolean *ran = g_new0(gboolean, program->n_ops);
	Wide most = 0;

	for (guint32 left = program->n_ops, rank = 0; left > 0; rank = (rank + 1) % ranks)
		for (; next[rank] < program->rank_begin[rank + 1]; next[rank]++, left--) {
			const PipesimOp *op = &program->ops[next[rank]];
			guint32 inputs[2];
			guint n = pipesim_program_inputs(program, rank, op, inputs);
			Wide start = now[rank];

			for (; n > 0 && ran[inputs[n - 1]]; n--)
				start = MAX(start,
					end[inputs[n - 1]] + (pipesim_program_rank(program,
								      inputs[n - 1]) != rank
									     ? times->p2p
									     : 0));
			if (n > 0)
				break;
			now[rank] = start + pipesim_op_duration(program, times, rank, op);
			end[next[rank]] = now[rank];
			ran[next[rank]] = TRUE;
			most = MAX(most, now[rank]);
		}
	return most;
}

/* @makespan: -1 = refused, with @error. */
static void assert_right_or_refused(
	Wide expected, gboolean fits, gint64 makespan, GError *error, const char *what)
{
	if (makespan < 0) {
		ck_assert_msg(error != NULL && error->domain == PIPESIM_ERROR &&
				      error->code == PIPESIM_ERROR_LIMIT,
			"%s: %s", what, error != NULL ? error->message : "no error");
		ck_assert_msg(!fits, "%s: refused without need: %s", what, error->message);
		g_error_free(error);
		return;
	}
	ck_assert_ptr_null(error);
	ck_assert_msg(makespan == expected, "%s: %ld, should be %.0Lf", what, (long)makespan,
		(long double)expected);
}

static gint64 timeline_makespan(PipesimTimeline *timeline)
{
	const gint64 makespan = timeline != NULL ? timeline->makespan : -1;

	if (timeline != NULL)
		for (guint i = 0; i < timeline->n_ops; i++)
			ck_assert(0 <= timeline->start[i] &&
				  timeline->start[i] <= timeline->end[i] &&
				  timeline->end[i] <= makespan);
	pipesim_timeline_free(timeline);
	return makespan;
}

static gint64 stream_makespan(PipesimStep *step)
{
	const gint64 makespan = step != NULL ? step->makespan : -1;

	if (step != NULL)
		for (guint rank = 0; rank < step->job.order->shape.ranks; rank++)
			ck_assert(0 <= step->busy[rank] && step->busy[rank] <= makespan &&
				  0 <= step->first_start[rank] &&
				  step->last_end[rank] <= makespan);
	pipesim_step_free(step);
	return makespan;
}

static gint64 lanes_makespan(
	const PipesimProgram *program, const PipesimCosts *costs, GError **error)
{
	g_autoptr(PipesimLanes) lanes = pipesim_lanes_new(program, NULL);
	PipesimOutcome outcome;

	return pipesim_lanes_evaluate(lanes, &costs, 1, 1, &outcome, error) ? outcome.makespan
									    : -1;
}

/* 0 to 2^60, every length of number as often. */
static gint64 any_time(GRand *random)
{
	const guint bits = (guint)g_rand_int_range(random, 28, 61);
	const guint64 number = (guint64)g_rand_int(random) << 32 | g_rand_int(random);

	return (gint64)(number >> (64 - bits));
}

/* Whether no sum that any path has comes near the limit: a factor of 1.5 is the largest here.
 */
static gboolean fits_easily(const PipesimProgram *program, const PipesimCosts *costs)
{
	Wide most = 0;

	for (guint kind = 0; kind < PIPESIM_N_KINDS; kind++)
		most = MAX(most, costs->time[kind]);
	return program->n_ops * (2 * most + costs->p2p) < (Wide)1 << 62;
}

static void assert_never_wraps(const GridCase *point, const PipesimCosts *costs)
{
	g_autoptr(PipesimProgram) program = grid_program(point);
	g_autoptr(PipesimTimes) times = pipesim_times_new(costs, &program->shape);
	g_autoptr(PipesimOrder) order =
		pipesim_schedule_order(point->schedule, &program->shape, times, NULL);
	g_autoptr(PipesimNetwork) network = pipesim_network_new();
	const Wide expected = wide_makespan(program, times);
	const gboolean fits = fits_easily(program, costs);
	GError *error = NULL;
	gint64 got;

#define CHECK(call)                                                 \
	got = call;                                                 \
	assert_right_or_refused(expected, fits, got, error, #call); \
	error = NULL
	CHECK(timeline_makespan(reference_run(program, times, &error)));
	CHECK(timeline_makespan(pipesim_fast_run(program, times, &error)));
	CHECK(lanes_makespan(program, costs, &error));
	network->intra.latency = costs->p2p;
	CHECK(timeline_makespan(pipesim_dynamic_run(program, times, network, 0, NULL, &error)));
	if (!pipesim_stream_takes(order))
		return;
	CHECK(stream_makespan(pipesim_step_run(
		&(PipesimJob){.order = order, .times = times}, PIPESIM_WANT_FIGURES, &error)));
#undef CHECK
}

#define PARTS 16 /* of the grid: a test each */

START_TEST(huge_times_never_wrap)
{
	int count;
	const GridCase *grid = grid_accepted(&count);

	for (int i = _i; i < count; i += PARTS) {
		GRand *random = g_rand_new_with_seed((guint32)i);

		/* orders that do not depend on times */
		for (guint round = 0; grid[i].schedule->generate != NULL && round < 4;
			round++) {
			g_autoptr(PipesimCosts) costs = grid_costs(any_time(random),
				any_time(random), any_time(random),
				round % 2 == 0 ? -1 : any_time(random), any_time(random));

			if (round == 3)
				ck_assert(pipesim_costs_parse_slow(
					costs, "0=1.5", "x", grid[i].ranks, NULL));
			assert_never_wraps(&grid[i], costs);
		}
		g_rand_free(random);
	}
}
END_TEST

/* Reports of what is not refused add up without a wrap either. */
START_TEST(huge_reports_add_up)
{
	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
		for (guint bits = 40; bits <= 60; bits++) {
			const gint64 time = G_GINT64_CONSTANT(1) << bits;
			g_autoptr(PipesimCosts) costs =
				grid_costs(time, time, time, -1, time / 3);
			g_autoptr(GError) error = NULL;
			g_autoptr(PipesimRun) run = pipesim_simulate(*s, 4, 12, costs, &error);

			if (run == NULL) {
				ck_assert_msg(
					error->code == PIPESIM_ERROR_CONSTRAINT || bits > 52,
					"2^%u ns: %s", bits, error->message);
				continue;
			}
			for (guint rank = 0; rank < 4; rank++) {
				const gint64 idle = pipesim_run_bubble(run, rank);

				ck_assert_int_ge(idle, 0);
				ck_assert_int_le(idle, pipesim_run_makespan(run));
			}
		}
}
END_TEST

/* No ranks, no micro-batches, and more than there may be, are refused where callers of the library ask. */
START_TEST(sizes_have_ends)
{
	const guint sizes[][2] = {
		{0, 8}, {4, 0}, {PIPESIM_MAX_RANKS + 1, 8}, {4, PIPESIM_MAX_MICROBATCHES + 1}};
	g_autoptr(PipesimCosts) costs = grid_costs(1000, 1000, 1000, -1, 0);

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autoptr(GError) error = NULL;

		ck_assert_ptr_null(pipesim_simulate(pipesim_schedule_find("1f1b", NULL),
			sizes[i][0], sizes[i][1], costs, &error));
		ck_assert(g_error_matches(error, PIPESIM_ERROR, PIPESIM_ERROR_CONSTRAINT));
		ck_assert_ptr_nonnull(strstr(error->message, "from 1 to "));
	}
}
END_TEST

Suite *engine_huge_suite(void)
{
	Suite *suite = suite_create("engine-huge");
	TCase *tcase = tcase_create("huge");

	tcase_add_loop_test(tcase, huge_times_never_wrap, 0, PARTS);
	tcase_add_test(tcase, huge_reports_add_up);
	tcase_add_test(tcase, sizes_have_ends);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
