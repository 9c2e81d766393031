/* The engines beside each other: simple, fast, streaming, leaping. Same nanoseconds. */
#include "engine/fast.h"
#include "engine/stream.h"
#include "grid.h"
#include "reference-engine.h"
#include "suites.h"

static void assert_timelines(
	const PipesimTimeline *a, const PipesimTimeline *b, const char *what)
{
	ck_assert_msg(b != NULL, "%s: no timeline", what);
	ck_assert_uint_eq(a->n_ops, b->n_ops);
	for (guint i = 0; i < a->n_ops; i++)
		ck_assert_msg(a->start[i] == b->start[i] && a->end[i] == b->end[i],
			"%s: op %u from %ld to %ld, should be %ld to %ld", what, i,
			(long)b->start[i], (long)b->end[i], (long)a->start[i], (long)a->end[i]);
	ck_assert_int_eq(a->makespan, b->makespan);
}

static void assert_stream(const PipesimProgram *program, const PipesimTimeline *timeline,
	const PipesimStep *stream, const char *what)
{
	ck_assert_msg(stream != NULL, "%s: no result", what);
	ck_assert_msg(stream->makespan == timeline->makespan, "%s: makespan %ld, should be %ld",
		what, (long)stream->makespan, (long)timeline->makespan);
	for (guint rank = 0; rank < program->shape.ranks; rank++) {
		const guint32 begin = program->rank_begin[rank],
			      end = program->rank_begin[rank + 1];
		gint64 busy = 0;

		for (guint32 i = begin; i < end; i++)
			busy += timeline->end[i] - timeline->start[i];
		ck_assert_int_eq(stream->busy[rank], busy);
		ck_assert_int_eq(stream->first_start[rank], timeline->start[begin]);
		ck_assert_int_eq(stream->last_end[rank], timeline->end[end - 1]);
	}
}

static void assert_engines(const PipesimSchedule *schedule, const PipesimScenario *scenario,
	const PipesimCosts *costs)
{
	g_autoptr(GError) error = NULL;
	g_autofree char *what = g_strdup_printf(
		"%s %u/%u", schedule->name, scenario->ranks, scenario->microbatches);
	PipesimShape shape;
	g_autoptr(PipesimTimes) times = NULL;
	g_autoptr(PipesimOrder) order = NULL;
	g_autoptr(PipesimProgram) program = NULL;
	g_autoptr(PipesimTimeline) simple = NULL, fast = NULL;
	g_autoptr(PipesimStep) stream = NULL;

	if (schedule->barriers > 0 || !pipesim_schedule_shape(schedule, scenario, &shape, NULL))
		return;
	times = pipesim_times_new(costs, &shape);
	order = pipesim_schedule_order(schedule, &shape, times, NULL);
	program = pipesim_order_expand(order, NULL);
	simple = reference_run(program, times, NULL);
	fast = pipesim_fast_run(program, times, NULL);
	assert_timelines(simple, fast, what);
	if (!pipesim_stream_takes(order))
		return;
	stream = pipesim_step_run(
		&(PipesimJob){.order = order, .times = times}, PIPESIM_WANT_FIGURES, &error);
	ck_assert_msg(error == NULL, "%s: %s", what, error != NULL ? error->message : "");
	assert_stream(program, simple, stream, what);
}

#define PARTS 16 /* of the grid: a test each */

START_TEST(engines_agree_on_grid)
{
	int count;
	const GridCase *grid = grid_accepted(&count);

	for (int i = _i; i < count; i += PARTS)
		for (guint32 seed = 0; seed < 3; seed++) {
			const PipesimScenario scenario = {
				.ranks = grid[i].ranks, .microbatches = grid[i].microbatches};
			g_autoptr(PipesimCosts) costs = grid_random_costs(
				(guint32)i * 16 + seed, grid[i].ranks, seed % 2 == 1);

			assert_engines(grid[i].schedule, &scenario, costs);
		}
}
END_TEST

/* Long enough for supersteps to repeat. */
START_TEST(engines_agree_on_long_steps)
{
	static const guint shapes[][2] = {
		{1, 200}, {2, 300}, {4, 256}, {5, 300}, {8, 320}, {16, 512}};
	const PipesimScenario scenario = {
		.ranks = shapes[_i][0], .microbatches = shapes[_i][1]};

	for (const PipesimSchedule *const *s = pipesim_schedule_list(); *s != NULL; s++)
		for (guint32 seed = 0; seed < 3; seed++) {
			g_autoptr(PipesimCosts) costs = grid_random_costs(
				(guint32)_i * 64 + seed, scenario.ranks, seed % 2 == 1);

			assert_engines(*s, &scenario, costs);
		}
}
END_TEST

Suite *engine_fast_suite(void)
{
	Suite *suite = suite_create("engine-fast");
	TCase *tcase = tcase_create("equal");
	tcase_add_loop_test(tcase, engines_agree_on_grid, 0, PARTS);
	tcase_add_loop_test(tcase, engines_agree_on_long_steps, 0, 6);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}
